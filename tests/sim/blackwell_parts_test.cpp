// The parts by themselves: barrier set-up, tensor memory of every legal size, the rings' other methods, roles,
// contexts.
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/blackwell_kernel.h"
#include "sim/rules.h"

namespace warpwright::blackwell {

namespace m = machine;
using rules::verdict;
using simulator::Fault;
using simulator::Options;

constexpr OutputPipelineConfig kConfig{.num_stages = 2, .stage_stride_cols = 32};
using Ring = pipeline::OutputTilePipeline<kConfig>;

// Nothing that carries a position can be copied or moved, and what get_pipeline gives cannot be stepped.
static_assert(!std::is_copy_constructible_v<Ring> && !std::is_move_constructible_v<Ring>);
static_assert(!std::is_copy_constructible_v<Ring::Pipeline> && !std::is_move_constructible_v<Ring::Pipeline>);
static_assert(!std::is_copy_constructible_v<warp::MmaWarp<kConfig, 32, 128>>);
static_assert(!std::is_move_constructible_v<warp::MmaWarp<kConfig, 32, 128>>);
static_assert(!std::is_move_constructible_v<warp::EpilogueWarp<kConfig, 32, 128>>);
static_assert(!std::is_copy_constructible_v<pipeline::MmaStage<kConfig>>);
static_assert(!std::is_copy_constructible_v<pipeline::EpilogueStage<kConfig>>);
static_assert(std::is_same_v<decltype(std::declval<const Ring&>().get_pipeline()), const Ring::Pipeline&>);
static_assert(!std::is_default_constructible_v<warp::EpilogueWarp<kConfig, 32, 128>::Token>);
// The member types of the pages.
static_assert(std::is_same_v<Ring::Pipeline, pipeline::ProducerConsumerPipeline<2>>);
static_assert(std::is_same_v<Ring::Stage, pipeline::OutputStage<kConfig>>);
static_assert(std::is_same_v<Ring::Tmem, pipeline::TmemAllocation<1, 64>>);
static_assert(std::is_same_v<Ring::BarrierArray, pipeline::BarrierArray<4>>);
static_assert(Ring::num_stages == 2 && Ring::stage_stride_cols == 32 && Ring::cta_group == 1);
static_assert(std::is_same_v<warp::MmaWarp<kConfig, 32, 128>::Sync, pipeline::WarpGroupBarrier<160, 1>>);
static_assert(std::is_same_v<warp::EpilogueWarp<kConfig, 32, 128>::Dealloc, pipeline::TmemDeallocBarrier<1>>);

// Four barriers side by side, initialised by the ring itself: one round of arrivals on each completes a phase.
std::string init_by_the_ring(uint32_t consumer_arrivals) {
  return verdict(rules::block(5, Arch::sm100), [=] {
    const Ring::BarrierArray barriers{rules::bar()};
    if (rules::thread() == 0) {
      Ring::init_barriers(barriers, 1, consumer_arrivals);
      m::fence_mbarrier_init();
    }
    m::sync_block();
    Ring::Pipeline ring(barriers);
    if (rules::warp() == 4) {
      for (int i = 0; i < 5; ++i) {
        ring.wait_empty();
        if (m::elect_one()) m::mbarrier_arrive(ring.full(ring.producer_stage()));
        ring.producer_step();
      }
    } else {
      for (int i = 0; i < 5; ++i) ring.consumer_signal_and_step();
    }
  });
}
TEST(BlackwellParts, InitBarriersSetsTheCounts) {
  EXPECT_EQ(init_by_the_ring(128), "");
  EXPECT_EQ(init_by_the_ring(129), "deadlock");
  EXPECT_EQ(init_by_the_ring(64), "mbarrier.missing_wait");
}

// A ring between two warps that carries one word per stage, by the methods that define what a hand-over means.
std::string words_through_a_ring(std::vector<Fault> faults = {}) {
  Options options;
  options.faults = std::move(faults);
  BlockPlan plan("words", Arch::sm100);
  plan.role("writer", 1).role("reader", 1).region("data", 8, 1, 8);
  plan.barrier("full", 2, 32, "reader", {"writer", 32}).barrier("empty", 2, 32, "writer", {"reader", 32});
  static constexpr int kRounds = 6;
  return verdict(
      plan,
      [] {
        const Shared<uint32_t> data{m::shared_base()};
        const pipeline::Ring<2> barriers = pipeline::ring_at<2>(m::shared_base(), 8, 24);
        if (rules::thread() == 0) {
          pipeline::ProducerConsumerPipeline<2>::init_barriers(barriers, 32, 32);
          m::fence_mbarrier_init();
        }
        m::sync_block();
        pipeline::ProducerConsumerPipeline<2> ring(barriers);
        using Write = pipeline::PublishByThread<pipeline::To::threads>;
        using Read = pipeline::ReleaseByThread<pipeline::Readers::threads>;
        for (int i = 0; i < kRounds; ++i) {
          if (rules::warp() == 0) {
            const auto fill = [&](int stage) {
              if (m::lane_index() == 0) m::store(data + stage, uint32_t(i));
            };
            if (i % 2) {
              ring.produce<Write>([&](auto stage) {
                fill(stage->index());
                return stdx::move(stage).release();
              });
            } else {
              auto stage = ring.acquire_producer<Write>();
              fill(stage->index());
              stdx::move(stage).release();
            }
          } else if (i % 2) {
            ring.consume<Read>([&](auto stage) {
              if (m::load(data + stage->index()) != uint32_t(i)) m::trap("wrong word");
              return stdx::move(stage).release();
            });
          } else {
            auto stage = ring.acquire_consumer<Read>();
            if (m::load(data + stage->index()) != uint32_t(i)) m::trap("wrong word");
            stdx::move(stage).release();
          }
        }
        if (rules::warp() == 0) ring.drain_producer();
      },
      {}, options);
}
TEST(BlackwellParts, ProducerConsumerPipelineCarriesWords) {
  EXPECT_EQ(words_through_a_ring(), "");
  EXPECT_EQ(words_through_a_ring({{"mbarrier_arrive", "full", "writer"}}), "deadlock");
  EXPECT_EQ(words_through_a_ring({{"mbarrier_arrive", "empty", "reader"}}), "deadlock");
  EXPECT_EQ(words_through_a_ring({{"mbarrier_wait", "full", "reader"}}), "uninitialised.shared");
  EXPECT_EQ(words_through_a_ring({{"mbarrier_wait", "empty", "writer"}}), "mbarrier.missing_wait");
}

// Allocates, signals from `signalling` of the 128 epilogue threads, frees.
template <uint32_t columns>
std::string life_of_tensor_memory(uint32_t signalling) {
  BlockPlan plan("tmem", Arch::sm100);
  plan.role("epilogue", 4).role("mma", 1).region("slot", 16, 1, 16);
  plan.barrier("tmem.done", 1, 128, "mma", {"epilogue", 128}).named_barrier("tmem.allocated", 160);
  plan.tensor_memory("tmem", columns);
  return verdict(plan, [=] {
    const Shared<uint32_t> slot{m::shared_base()};
    const Shared<Mbarrier> done{m::shared_base() + 16};
    if (rules::thread() == 0) {
      m::mbarrier_init(done, 128);
      m::fence_mbarrier_init();
    }
    m::sync_block();
    using Sync = pipeline::WarpGroupBarrier<160, 1>;
    using Tmem = pipeline::TmemAllocation<1, columns>;
    const pipeline::TmemDeallocBarrier<1> barrier(done);
    if (rules::warp() == 4) {
      const Tmem tmem = Tmem::allocate(slot);
      Sync::arrive();
      barrier.complete_dealloc(tmem);
    } else {
      static_cast<void>(Sync::wait());
      const Tmem tmem = Tmem::from_shared(slot);
      m::TmemRegisters<1> zero;
      zero.set(0, 0u);
      // Every column of the allocation is there.
      m::tcgen05_st<m::TmemShape::b32x32, 1>(tmem.base().lane(32 * rules::warp()).column(columns - 1), zero);
      m::tcgen05_wait_st();
      if (rules::thread() < signalling) barrier.signal_complete();
    }
  });
}
TEST(BlackwellParts, TensorMemoryOfEveryLegalSize) {
  EXPECT_EQ(life_of_tensor_memory<32>(128), "");
  EXPECT_EQ(life_of_tensor_memory<64>(128), "");
  EXPECT_EQ(life_of_tensor_memory<128>(128), "");
  EXPECT_EQ(life_of_tensor_memory<256>(128), "");
  EXPECT_EQ(life_of_tensor_memory<512>(128), "");
}
TEST(BlackwellParts, OneThreadOfTheEpilogueSignals) { EXPECT_EQ(life_of_tensor_memory<64>(1), "deadlock.role_exited"); }

TEST(BlackwellParts, ConfigDerivesTheAllocation) {
  EXPECT_EQ((OutputPipelineConfig{.num_stages = 1, .stage_stride_cols = 8}.allocated_columns()), 32u);
  EXPECT_EQ((OutputPipelineConfig{.num_stages = 3, .stage_stride_cols = 64}.allocated_columns()), 256u);
  EXPECT_EQ((OutputPipelineConfig{.num_stages = 2, .stage_stride_cols = 128, .first_column = 4}.allocated_columns()),
            512u);
  EXPECT_TRUE((OutputPipelineConfig{.num_stages = 2, .stage_stride_cols = 256}.columns_are_legal()));
  EXPECT_FALSE((OutputPipelineConfig{.num_stages = 3, .stage_stride_cols = 256}.columns_are_legal()));
  EXPECT_FALSE(
      (OutputPipelineConfig{.num_stages = 2, .stage_stride_cols = 64, .tmem_columns = 96}.columns_are_legal()));
  EXPECT_FALSE(
      (OutputPipelineConfig{.num_stages = 2, .stage_stride_cols = 64, .tmem_columns = 64}.columns_are_legal()));
}

TEST(BlackwellParts, PayloadsGiveTheAddressOfEachTile) {
  constexpr TileBytes bytes{1024, 512, 256, 128};
  const pipeline::BlockScaledPayload<bytes> scaled({0}, {10000}, {20000}, {30000});
  EXPECT_EQ(scaled.tile(3).a.address, 3072u);
  EXPECT_EQ(scaled.tile(3).b.address, 11536u);
  EXPECT_EQ(scaled.tile(3).a_scales.address, 20768u);
  EXPECT_EQ(scaled.tile(3).b_scales.address, 30384u);
  EXPECT_EQ(scaled.tile_bytes, 1920u);
  const pipeline::StandardPayload<TileBytes{1024, 512}> standard({0}, {10000});
  EXPECT_EQ(standard.tile(2).a.address, 2048u);
  EXPECT_EQ(standard.tile(2).b.address, 11024u);
  EXPECT_EQ(standard.tile_bytes, 1536u);
  const pipeline::BlockwiseFP8Payload<TileBytes{1024, 512, 256}> blockwise({0}, {10000}, {20000});
  EXPECT_EQ(blockwise.tile(2).a_scales.address, 20512u);
  EXPECT_EQ(blockwise.tile_bytes, 1792u);
}

}  // namespace warpwright::blackwell

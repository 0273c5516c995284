// The lines of use of docs/types.md, compiled and run, and the mistakes that the page shows. tests/docs/types_test.py
// compares both with the page: each block of code stands here, and each report is what this program prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "warpwright/core/descriptor.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/schedule/block_pipeline.h"
#include "warpwright/schedule/text.h"
#include "warpwright/sim/simulator.h"
#include "warpwright/warp/epilogue_warp.h"
#include "warpwright/warp/mma_warp.h"
#include "warpwright/warp/warp_role.h"

namespace warpwright {
namespace {

using simulator::Fault;

constexpr int kRows = 128, kColumns = 64, kDepth = 16, kTiles = 5;

// What the page leaves out: operands of ones in shared memory, so that every sum is 16.
struct Page {
  using Role = warp::WarpRole1D1D<>;
  static constexpr OutputPipelineConfig opc{.num_stages = 2, .stage_stride_cols = kColumns};
  static constexpr BlockPlan plan = [] {
    BlockPlan p("types_page", Arch::sm100);
    Role::declare(p, false);
    p.region("a", kRows * kDepth * 2, 1, 1024).region("b", kColumns * kDepth * 2, 1, 1024);
    p.barrier("filled", 1, 1, "mma", {"load", 1});
    declare_output(p, opc);
    return p;
  }();
  using Mma = warp::MmaWarp<opc, Role::NUM_MMA_THREADS, Role::NUM_EPILOGUE_THREADS>;
  using Epilogue = warp::EpilogueWarp<opc, Role::NUM_MMA_THREADS, Role::NUM_EPILOGUE_THREADS>;
  using Storage = warp::OutputStorage<opc>;
  static constexpr uint16_t mask = 1;

  static void multiply(uint32_t sums) {
    constexpr uint32_t a_at = plan.region("a").offset, b_at = plan.region("b").offset;
    constexpr uint32_t shape = encode_idesc(InstrDesc{.a = DType::bf16, .b = DType::bf16, .m = kRows, .n = kColumns});
    const uint32_t base = machine::shared_base();
    const uint64_t a = encode_sm100(k_major_desc(DType::bf16, Swizzle::b32, kRows, base + a_at));
    const uint64_t b = encode_sm100(k_major_desc(DType::bf16, Swizzle::b32, kColumns, base + b_at));
    machine::tcgen05_mma<machine::MmaKind::f16, 1>(Tmem{sums}, a, b, shape, false);
  }
  static void add_up(uint32_t sums, float& total) {
    machine::TmemRegisters<kColumns> row;
    machine::tcgen05_ld<machine::TmemShape::b32x32, kColumns>(row, Tmem{sums}.lane(machine::warp_index() * 32));
    machine::tcgen05_wait_ld();
    for (int i = 0; i < kColumns; ++i) total += row.get(i);
  }
  static void fill(uint32_t base) {
    constexpr uint32_t a = plan.region("a").offset, b = plan.region("b").offset;
    const Vec<uint32_t, 4> ones{{0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80}};
    for (int i = int(machine::lane_index()); i < kRows * kDepth / 8; i += 32)
      machine::store(Shared<Vec<uint32_t, 4>>{base + a} + i, ones);
    for (int i = int(machine::lane_index()); i < kColumns * kDepth / 8; i += 32)
      machine::store(Shared<Vec<uint32_t, 4>>{base + b} + i, ones);
    machine::fence_proxy_async<ProxySpace::shared_cta>();
    machine::sync_warp();
  }

  // clang-format off
  static void mma_warp(Storage at) {
    auto mma = Mma::create(at, mask);              // allocates, tells the epilogue where, meets the peer of a pair
    for (int tile = 0; tile < kTiles; ++tile) {
      auto sums = mma.acquire_k_stage_linear();    // waits until the epilogue has read this accumulator
      if (machine::elect_one()) multiply(sums->tmem_offset());
      stdx::move(sums).release();                  // one commit: it arrives when the MMAs are complete
    }
    stdx::move(mma).release();                     // waits for the epilogue, then frees
  }

  static float epilogue_warps(Storage at) {
    auto epilogue = Epilogue::create(Epilogue::Sync::wait(), at, mask);  // without the wait there is no token
    float total = 0;
    for (int tile = 0; tile < kTiles; ++tile) {
      auto sums = epilogue.acquire_k_stage_linear();                     // waits for the commit
      add_up(sums->tmem_offset(), total);
      stdx::move(sums).release();                                        // each thread says that it has read
    }
    stdx::move(epilogue).release();                                      // nothing reads any more
    return total;
  }

  static void with_scopes(warp::MmaWarpContext<opc, 32, 128>::Pipeline& output) {
    for (int tile = 0; tile < kTiles; ++tile) {
      output.producer().produce([&](auto sums) {   // waits for accum.empty, then fences
        if (machine::elect_one()) multiply(sums->tmem().address().address);
        return stdx::move(sums).release();         // leave this out and it does not compile
      });
    }
  }

  static void roles(Storage at, float* result) {
    if (Role::is_load()) {
      publish_operands();
    } else if (Role::is_mma()) {
      mma_warp(at);
    } else if (Role::is_epilogue()) {
      result[machine::thread_index()] = epilogue_warps(at);
    }
  }
  // clang-format on

  static void publish_operands() {
    constexpr uint32_t filled = plan.barrier("filled").offset;
    const uint32_t base = machine::shared_base();
    fill(base);
    if (machine::lane_index() == 0) machine::mbarrier_arrive(Shared<Mbarrier>{base + filled});
  }

  enum class How { flat, scoped, shifted };
  template <How how>
  static void body(float* result) {
    constexpr uint32_t filled = plan.barrier("filled").offset;
    const uint32_t base = machine::shared_base();
    const Storage at = warp::output_storage<Page, opc>(base);
    pipeline::run_block<Page>(base, [&] {
      // The warp that the number 5 meant before a warp was added in front of it.
      if constexpr (how == How::shifted) {
        if (machine::warp_index() == 5) publish_operands();
        if (Role::is_load()) return;
      }
      if (Role::is_mma()) machine::mbarrier_wait(Shared<Mbarrier>{base + filled}, machine::Phase::consumer());
      if constexpr (how == How::scoped) {
        if (Role::is_mma()) {
          warp::MmaWarpContext<opc, 32, 128>::run(at, mask, [&](auto mma) {
            with_scopes(mma->output());
            return stdx::move(mma).release();
          });
          return;
        }
      }
      roles(at, result);
    });
  }
};

template <Page::How how = Page::How::flat>
simulator::Result run(std::vector<Fault> faults = {}) {
  float result[Page::Role::NUM_EPILOGUE_THREADS] = {};
  simulator::Launch launch;
  launch.plan = &Page::plan;
  simulator::Options options;
  options.landing = simulator::Landing::late;
  options.faults = std::move(faults);
  const simulator::Result r = simulator::run(launch, options, [&] { Page::body<how>(result); });
  if (r.ok()) {
    for (const float total : result) EXPECT_EQ(total, float(kTiles * kColumns * kDepth));
  }
  return r;
}
Fault drop(const char* word, const char* object, const char* role) {
  Fault f;
  f.action = Fault::Action::drop;
  f.word = word;
  f.object = object;
  f.role = role;
  return f;
}

TEST(TypesPage, UseIsRight) {
  EXPECT_TRUE(run().ok());
  EXPECT_TRUE(run<Page::How::scoped>().ok());
}

// Printed for the page.
void reported(const simulator::Result& r) {
  ASSERT_FALSE(r.ok());
  fmt::print("{}: {}\n", r.findings.front().rule, r.findings.front().message);
}

TEST(TypesPage, MistakesAreReported) {
  reported(run({drop("mbarrier_wait", "tmem.done", "mma")}));
  reported(run({drop("named_barrier_sync", "", "epilogue")}));
  reported(run({drop("mbarrier_arrive", "accum.empty", "epilogue")}));
  reported(run({drop("tcgen05_fence_before", "", "epilogue")}));
  reported(run<Page::How::shifted>());
}

using namespace schedule;

TEST(TypesPage, BlocksAreJudged) {
  const BodySpec body = ping_pong(targets::gfx950);
  // clang-format off
  PipelineProgram program = ping_pong_blocks(body.costs);
  MMABlockSpec& last = program.blocks[3];        // loads, then waits for what the next tile needs, then multiplies
  EXPECT_EQ(last.entry_count(), 8);              // LB01 LA00 VM6 BAR PR1 MMA11 PR0 BAR
  EXPECT_EQ(last.mma_position(), 5);
  last.pre_sync = OpDesc::wait_vm(8);            // one load too many may still be in flight
  const Pipeline p = compile(body, program, 2, targets::gfx950);
  for (const Diagnostic& d : verify(p, 2)) fmt::print("{}\n", to_text(d));
  // clang-format on
  EXPECT_FALSE(verify(p, 2).empty());
}

}  // namespace
}  // namespace warpwright

// What the seven forms of blackwell_kernel.h leave out: the rounds that carry no data, two stages of one ring held at
// once, and scale factors that travel through the input ring. Each is right as it stands and is reported when its
// synchronization is broken. docs/reference-methods.md has the whole table.
#include <cmath>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/rules.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/core/numeric.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/input_tile.h"
#include "warpwright/warp/epilogue_warp.h"
#include "warpwright/warp/mma_warp.h"

namespace warpwright {
namespace {

namespace m = machine;
using simulator::Buffer;
using simulator::Fault;
using simulator::Options;
using Action = Fault::Action;
using Rules = std::set<std::string>;

// No context exists before its ring: none can be made empty, and only the ring makes those that hold a position.
constexpr OutputPipelineConfig kOpc{.num_stages = 2, .stage_stride_cols = 64};
static_assert(!std::is_default_constructible_v<pipeline::MmaKStage<kOpc>>);
static_assert(!std::is_default_constructible_v<pipeline::PerKConsumerStage<kOpc>>);
static_assert(!std::is_default_constructible_v<pipeline::OutputKPipeline<kOpc>>);
static_assert(!std::is_default_constructible_v<pipeline::EpilogueKContext<kOpc, 2>>);
static_assert(!std::is_default_constructible_v<pipeline::OutputProducer<kOpc>>);
static_assert(!std::is_default_constructible_v<pipeline::OutputConsumer<kOpc>>);
static_assert(!std::is_constructible_v<pipeline::OutputProducer<kOpc>, pipeline::OutputTilePipeline<kOpc>*>);
static_assert(!std::is_default_constructible_v<pipeline::MmaStage<kOpc>>);
static_assert(!std::is_default_constructible_v<pipeline::EpilogueStage<kOpc>>);
static_assert(!std::is_constructible_v<pipeline::EpilogueStage<kOpc>, pipeline::OutputStage<kOpc>>);
static_assert(!std::is_default_constructible_v<warp::MmaWarp<kOpc, 32, 128>>);
static_assert(!std::is_default_constructible_v<warp::EpilogueWarp<kOpc, 32, 128>>);

// A throttle: each round is an arrival on full and one on empty.
std::string rounds(std::vector<Fault> faults, bool try_first) {
  BlockPlan plan("rounds", Arch::sm100);
  plan.role("ahead", 1).role("behind", 1);
  plan.barrier("full", 2, 32, "behind", {"ahead", 32}).barrier("empty", 2, 32, "ahead", {"behind", 32});
  Options options;
  options.faults = std::move(faults);
  return rules::verdict(
      plan,
      [=] {
        const auto ring = pipeline::ring_at<2>(m::shared_base(), 0, 16);
        using Pipe = pipeline::ProducerConsumerPipeline<2>;
        if (rules::thread() == 0) {
          Pipe::init_barriers(ring, 32, 32);
          m::fence_mbarrier_init();
        }
        m::sync_block();
        Pipe throttle(ring);
        for (int i = 0; i < 7; ++i) {
          if (!try_first) {
            rules::warp() == 0 ? throttle.producer_signal_and_step() : throttle.consumer_signal_and_step();
          } else if (rules::warp() == 0) {
            const bool ready = throttle.try_empty();
            throttle.wait_empty_unless(ready);
            m::mbarrier_arrive(throttle.full(throttle.producer_stage()));
            throttle.producer_step();
          } else {
            const bool ready = throttle.try_full();
            throttle.wait_full_unless(ready);
            m::mbarrier_arrive(throttle.empty(throttle.consumer_stage()));
            throttle.consumer_step();
          }
        }
        if (rules::warp() == 0) throttle.drain_producer();
      },
      {}, options);
}
TEST(ReferenceMethods, SignalAndStep) {
  for (bool try_first : {false, true}) {
    EXPECT_EQ(rounds({}, try_first), "");
    EXPECT_EQ(rounds({{"mbarrier_arrive", "full", "ahead"}}, try_first), "deadlock");
    EXPECT_EQ(rounds({{"mbarrier_arrive", "empty", "behind"}}, try_first), "deadlock");
    EXPECT_EQ(rounds({{"mbarrier_arrive", "full", "ahead", Action::duplicate}}, try_first), "mbarrier.missing_wait");
    EXPECT_EQ(rounds({{"mbarrier_init", "full", "", Action::alter, 31}}, try_first), "mbarrier.missing_wait");
    EXPECT_EQ(rounds({{"mbarrier_init", "empty", "", Action::alter, 33}}, try_first), "deadlock");
    const std::string early = rounds({{"mbarrier_wait", "full", "behind", Action::alter, -1}}, try_first);
    EXPECT_TRUE(early.rfind("phase.", 0) == 0 || early == "mbarrier.missing_wait") << early;
  }
  EXPECT_EQ(rounds({{"mbarrier_wait", "empty", "ahead"}}, false), "mbarrier.missing_wait");
}

// The small GEMM that carries accumulators and tiles through both rings: one K step per tile, with scale factors.
constexpr int kM = 128, kN = 64, kK = 32, kTiles = 5, kStages = 2;
constexpr TileBytes kBytes{kM * kK, kN* kK, 512, 512};

enum class Hold { one, two_accumulators, two_inputs, two_filled };

template <Hold H>
struct ScaledKernel {
  static constexpr OutputPipelineConfig kOutput{.num_stages = 2, .stage_stride_cols = kN, .tmem_columns = 256};
  static constexpr BlockPlan plan = [] {
    BlockPlan p("scaled_ring", Arch::sm100);
    p.role("epilogue", 4).role("load", 1).role("mma", 1);
    p.region("input.a", kBytes.a, kStages, 128).region("input.b", kBytes.b, kStages, 128);
    p.region("input.a_scales", kBytes.a_scales, kStages, 128).region("input.b_scales", kBytes.b_scales, kStages, 128);
    p.barrier("input.full", kStages, 1, "mma", {"load", 1}).barrier("input.empty", kStages, 1, "load", {"mma", 1});
    declare_output(p, kOutput);
    return p;
  }();
  using Payload = pipeline::BlockScaledPayload<kBytes>;
  using Input = pipeline::InputTilePipeline<Payload, kStages>;
  using Mma = warp::MmaWarp<kOutput, 32, 128>;
  using Epilogue = warp::EpilogueWarp<kOutput, 32, 128>;
  static constexpr uint32_t kScalesA = 128, kScalesB = 132;  // columns after the accumulators

  struct Args {
    const uint8_t* tiles;  // kTiles times A, B, scales of A, scales of B, as they lie in shared memory
    float* d;              // one partial sum per tile
  };

  static void fill(const Args& args, const auto& stage, int tile) {
    if (!m::elect_one()) return;
    stage.expect_tiles();
    const uint8_t* from = args.tiles + size_t(tile) * kBytes.total();
    const auto to = stage.tile();
    for (auto [place, bytes] : {std::pair{to.a, kBytes.a},
                                {to.b, kBytes.b},
                                {to.a_scales, kBytes.a_scales},
                                {to.b_scales, kBytes.b_scales}}) {
      m::bulk_load(place, Global<const uint8_t>{from}, bytes, stage.full());
      from += bytes;
    }
  }
  static void load(const Args& args, Input& input) {
    const auto producer = input.producer();
    for (int tile = 0; tile < kTiles; ++tile) {
      auto stage = producer.acquire_stage();
      fill(args, *stage, tile);
      if constexpr (H == Hold::two_filled) {
        if (tile + 1 < kTiles) {
          auto second = producer.acquire_stage();
          fill(args, *second, ++tile);
          stdx::move(second).release();
        }
      }
      stdx::move(stage).release();
    }
    producer.drain();
  }

  static void issue(const auto& sums, const typename Payload::Tile& tile) {
    if (!m::elect_one()) return;
    const Tmem base = sums.tmem().address();
    const Tmem scales_a = Tmem{base.address & ~0x7fu}.column(kScalesA), scales_b = scales_a.column(kScalesB - kScalesA);
    const auto scales = [](Shared<uint8_t> at) { return encode_sm100({at.address, 0, 128, Swizzle::none, 0}); };
    m::tcgen05_cp<m::TmemCopy::s32x128b_warpx4, 1>(scales_a, scales(tile.a_scales));
    m::tcgen05_cp<m::TmemCopy::s32x128b_warpx4, 1>(scales_b, scales(tile.b_scales));
    constexpr uint32_t shape = encode_idesc({MmaKind::mxf8f6f4, DType::e4m3, DType::e4m3, Accumulator::f32, kM, kN});
    m::tcgen05_mma_scaled<MmaKind::mxf8f6f4, 1>(
        base, encode_sm100(k_major_desc(DType::e4m3, Swizzle::none, kM, tile.a.address)),
        encode_sm100(k_major_desc(DType::e4m3, Swizzle::none, kN, tile.b.address)), shape, scales_a, scales_b, false);
  }
  static void multiply(Input& input, Mma& mma WW_LINEAR_LEND) {
    for (int tile = 0; tile < kTiles; ++tile) {
      auto sums = mma.acquire_k_stage_linear();
      auto stage = input.consumer().acquire_stage();
      issue(*sums, stage->tile());
      // A last odd tile has no second.
      if (H == Hold::two_inputs && tile + 1 < kTiles) {
        auto next = input.consumer().acquire_stage();
        stdx::move(stage).release();
        stdx::move(sums).release();
        auto other = mma.acquire_k_stage_linear();
        issue(*other, next->tile());
        stdx::move(next).release();
        stdx::move(other).release();
        ++tile;
      } else if (H == Hold::two_accumulators && tile + 1 < kTiles) {
        auto other = mma.acquire_k_stage_linear();
        stdx::move(stage).release();
        auto next = input.consumer().acquire_stage();
        issue(*other, next->tile());
        stdx::move(next).release();
        stdx::move(other).release();  // before the first: they are not in order
        stdx::move(sums).release();
        ++tile;
      } else {
        stdx::move(stage).release();
        stdx::move(sums).release();
      }
    }
  }

  static void store(const Args& args, const auto& sums, int tile) {
    m::TmemRegisters<kN> r;
    m::tcgen05_ld<m::TmemShape::b32x32, kN>(r, sums.tmem().lane(32 * rules::warp()));
    m::tcgen05_wait_ld();
    for (int n = 0; n < kN; ++n)
      m::store(Global<float>{args.d} + ((tile * kM + int(rules::thread())) * kN + n), r.get(n));
  }
  static void read(const Args& args, Epilogue& epilogue WW_LINEAR_LEND) {
    for (int tile = 0; tile < kTiles; ++tile) {
      auto sums = epilogue.acquire_k_stage_linear();
      if (H == Hold::two_accumulators && tile + 1 < kTiles) {
        auto other = epilogue.acquire_k_stage_linear();
        store(args, *other, tile + 1);
        store(args, *sums, tile);
        stdx::move(sums).release();
        stdx::move(other).release();
        ++tile;
      } else {
        store(args, *sums, tile);
        stdx::move(sums).release();
      }
    }
  }

  static void body(const Args& args) {
    check_block_plan<ScaledKernel>();
    const uint32_t base = m::shared_base();
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr uint32_t a = plan.region("input.a").offset, b = plan.region("input.b").offset;
    constexpr uint32_t sa = plan.region("input.a_scales").offset, sb = plan.region("input.b_scales").offset;
    Input input(pipeline::ring_at<kStages>(base, full, empty),
                Payload({base + a}, {base + b}, {base + sa}, {base + sb}));
    const auto storage = warp::output_storage<ScaledKernel, kOutput>(base);
    pipeline::set_up_barriers<ScaledKernel>(base);
    if (rules::warp() == 4) load(args, input);
    if (rules::warp() == 5) {
      auto mma = Mma::create(storage, 1);
      multiply(input, mma);
      stdx::move(mma).release();
    }
    if (rules::warp() < 4) {
      auto epilogue = Epilogue::create(Epilogue::Sync::wait(), storage, 1);
      read(args, epilogue);
      stdx::move(epilogue).release();
    }
  }
};

float a_of(int tile, int row, int k) { return float((tile + row * 3 + k) % 7 - 3); }
float b_of(int tile, int n, int k) { return float((tile * 2 + n + k * 5) % 5 - 2); }
int exponent(int tile, int row) { return (tile + row) % 4 - 1; }

struct Outcome {
  std::string rule;
  int wrong = 0;
};
template <Hold H>
Outcome run(std::vector<Fault> faults = {}) {
  struct alignas(128) Line {
    uint8_t bytes[128];
  };
  std::vector<Line> memory(size_t(kTiles) * kBytes.total() / 128);
  auto* tiles = reinterpret_cast<uint8_t*>(memory.data());
  for (int t = 0; t < kTiles; ++t) {
    uint8_t* at = tiles + size_t(t) * kBytes.total();
    const auto element = [](uint8_t* tile, int rows, int row, int k) -> uint8_t& {
      return tile[k / 16 * rows * 16 + row / 8 * 128 + row % 8 * 16 + k % 16];
    };
    for (int k = 0; k < kK; ++k) {
      for (int r = 0; r < kM; ++r) element(at, kM, r, k) = from_float<e4m3>(a_of(t, r, k)).bits;
      for (int n = 0; n < kN; ++n) element(at + kBytes.a, kN, n, k) = from_float<e4m3>(b_of(t, n, k)).bits;
    }
    uint8_t* scales = at + kBytes.a + kBytes.b;
    for (int r = 0; r < 128; ++r) scales[r % 32 * 16 + r / 32 * 4] = uint8_t(127 + exponent(t, r));
    for (int n = 0; n < 128; ++n) scales[512 + n % 32 * 16 + n / 32 * 4] = uint8_t(127 - exponent(t, 3 * n));
  }
  std::vector<float> d(size_t(kTiles * kM * kN));
  using K = ScaledKernel<H>;
  const typename K::Args args{tiles, d.data()};
  Options options;
  options.faults = std::move(faults);
  Outcome o;
  o.rule = rules::verdict(
      K::plan, [&] { K::body(args); },
      {{tiles, size_t(kTiles) * kBytes.total(), "tiles", Buffer::Use::input, false},
       {d.data(), d.size() * 4, "D", Buffer::Use::output, false}},
      options);
  for (int t = 0; o.rule.empty() && t < kTiles; ++t)
    for (int r = 0; r < kM; ++r)
      for (int n = 0; n < kN; ++n) {
        float want = 0;
        for (int k = 0; k < kK; ++k) want += a_of(t, r, k) * b_of(t, n, k);
        want = std::ldexp(want, exponent(t, r) - exponent(t, 3 * n));
        o.wrong += want != d[size_t((t * kM + r) * kN + n)];
      }
  return o;
}

TEST(ReferenceMethods, ScaleFactorsTravelThroughTheInputRing) {
  const Outcome o = run<Hold::one>();
  EXPECT_EQ(o.rule, "");
  EXPECT_EQ(o.wrong, 0);
}
TEST(ReferenceMethods, BrokenInputRingOfScaleFactorsIsReported) {
  const auto rule = [](Fault f) { return run<Hold::one>({std::move(f)}).rule; };
  EXPECT_EQ(rule({"mbarrier_arrive_expect_tx", "input.full", "load"}), "deadlock.bytes");
  EXPECT_EQ(rule({"mbarrier_arrive_expect_tx", "input.full", "load", Action::alter, kBytes.a + kBytes.b}),
            "mbarrier.tx_phase")
      << "the bytes of the scale factors are not announced";
  EXPECT_EQ(rule({"bulk_load", "input.a_scales", "load"}), "deadlock.bytes");
  EXPECT_EQ(rule({"bulk_load", "input.b_scales", "load"}), "deadlock.bytes");
  EXPECT_EQ(rule({"tcgen05_commit", "input.empty", "mma"}), "deadlock");
  const std::string early = rule({"tcgen05_commit", "input.empty", "mma", Action::postpone});
  EXPECT_TRUE((Rules{"race.in_flight", "race.completion"}.count(early))) << "tcgen05.cp still reads: " << early;
  const std::string blind = rule({"mbarrier_wait", "input.full", "mma"});
  EXPECT_TRUE((Rules{"race.in_flight", "race.completion", "uninitialised.shared"}.count(blind))) << blind;
  EXPECT_EQ(rule({"mbarrier_wait", "input.empty", "load", Action::alter, -1}), "phase.missed");
}

TEST(ReferenceMethods, TwoAccumulatorsAreHeldAtOnce) {
  const Outcome o = run<Hold::two_accumulators>();
  EXPECT_EQ(o.rule, "");
  EXPECT_EQ(o.wrong, 0);
  const auto rule = [](Fault f) { return run<Hold::two_accumulators>({std::move(f)}).rule; };
  EXPECT_EQ(rule({"mbarrier_arrive", "accum.empty", "epilogue", Action::drop, 0, 1}), "deadlock");
  EXPECT_EQ(rule({"tcgen05_commit", "accum.full", "mma", Action::drop, 0, 2}), "deadlock");
}
TEST(ReferenceMethods, TwoInputStagesAreHeldAtOnce) {
  const Outcome o = run<Hold::two_inputs>();
  EXPECT_EQ(o.rule, "");
  EXPECT_EQ(o.wrong, 0);
  EXPECT_EQ(run<Hold::two_inputs>({{"tcgen05_commit", "input.empty", "mma", Action::drop, 0, 1}}).rule, "deadlock");
}
// A producer moves on when it releases: it holds one stage, and filling that twice is noticed.
TEST(ReferenceMethods, TwoStagesOfAProducerAreTheSameAndReported) {
  EXPECT_EQ(run<Hold::two_filled>().rule, "phase.repeated");
}

}  // namespace
}  // namespace warpwright

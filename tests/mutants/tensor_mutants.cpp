// E: completion of the tensor cores. What wgmma and tcgen05 read or write is free only when their own wait says so.
#include <string>
#include <vector>

#include "kernels_ef.h"

namespace warpwright::mutants {
using namespace ef;
namespace {

namespace m = machine;
using pipeline::Consumer;
using pipeline::Producer;
using pipeline::PublishByTma;
using pipeline::Readers;
using pipeline::ReleaseByWarp;

// A load warp and an MMA warpgroup with a ring of two stages. BStages: how many of B there are.
template <int BStages>
struct WgmmaRing {
  static constexpr int kN = 32, kDepth = 4;
  static constexpr uint32_t kABytes = 64 * kRowBytes, kBBytes = kN * kRowBytes;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("wgmma_ring", Arch::sm90);
    p.role("mma", 4).role("load", 1);
    p.region("a", kABytes, 2, 1024).region("b", kBBytes, BStages, 1024);
    p.barrier("full", 2, 1, "mma", {"load", 1}).barrier("empty", 2, 4, "load", {"mma", 4});
    return p;
  }();
  static constexpr uint32_t kA = plan.region("a").offset, kB = plan.region("b").offset;
  static uint32_t b_at(uint32_t base, int stage) { return base + kB + kBBytes * uint32_t(stage % BStages); }

  static void body(Global<const uint8_t> a, Global<const uint8_t> b, Global<float> out, bool release_early) {
    const uint32_t base = m::shared_base();
    pipeline::set_up_barriers<WgmmaRing>(base);
    const auto ring = pipeline::ring_at<2>(base, plan.barrier("full").offset, plan.barrier("empty").offset);
    if (m::warp_index() == 4) {
      if (!m::elect_one()) return;
      Producer<2, PublishByTma> input(ring);
      for (int k = 0; k < kDepth; ++k)
        input.produce([&](auto stage) {
          stage->expect_bytes(kABytes + kBBytes);
          m::bulk_load(Shared<uint8_t>{base + kA + kABytes * uint32_t(stage->index())}, a, kABytes, stage->full());
          m::bulk_load(Shared<uint8_t>{b_at(base, stage->index())}, b, kBBytes, stage->full());
          return stdx::move(stage).release();
        });
      return;
    }
    Consumer<2, ReleaseByWarp<Readers::async>> input(ring);
    m::Accumulator<kN> sums;
    for (int k = 0; k < kDepth; ++k) {
      input.consume([&](auto stage) {
        m::wgmma_fence();
        m::wgmma_ss<DType::bf16>(sums, operand_sm90(64, base + kA + kABytes * uint32_t(stage->index())),
                                 operand_sm90(kN, b_at(base, stage->index())), k != 0);
        m::wgmma_commit();
        if (!release_early) m::wgmma_wait<0>();
        return stdx::move(stage).release();
      });
      if (release_early) m::wgmma_wait<0>();
    }
    m::store(out + m::thread_index(), sums.get(0));
  }
  static Result run(const Options& o, bool release_early) {
    Memory a(kABytes), b(kBBytes), out(128 * 4);
    return launch(
        plan,
        {a.buffer("A", Buffer::Use::input), b.buffer("B", Buffer::Use::input), out.buffer("out", Buffer::Use::output)},
        o, [&] { body(a.as<const uint8_t>(), b.as<const uint8_t>(), out.as<float>(), release_early); });
  }
};

constexpr DenseGemmConfig kSmallGemm{.tile_m = 64, .tile_n = 64, .stages = 2, .cluster = 1};
Result small_gemm(const Options& o) { return run_dense_gemm<kSmallGemm>(o, 64, 64, 256); }

// A comes from registers, which the warpgroup refills for every step; B stays.
struct RegisterOperand {
  static constexpr int kN = 32;
  static constexpr uint32_t kBBytes = kN * kRowBytes;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("register_operand", Arch::sm90);
    p.role("mma", 4).region("b", kBBytes, 1, 1024);
    p.barrier("full", 1, 1, "mma", {"mma", 1});
    return p;
  }();
  static void body(Global<const uint8_t> b, Global<float> out) {
    const uint32_t base = m::shared_base(), full = base + plan.barrier("full").offset;
    pipeline::set_up_barriers<RegisterOperand>(base);
    if (m::thread_index() == 0) {
      m::mbarrier_arrive_expect_tx(Shared<Mbarrier>{full}, kBBytes);
      m::bulk_load(Shared<uint8_t>{base}, b, kBBytes, {full});
    }
    m::mbarrier_wait(Shared<Mbarrier>{full}, m::Phase::consumer());
    m::Accumulator<kN> sums;
    m::AFragment a;
    for (int k = 0; k < 3; ++k) {
      for (int i = 0; i < 4; ++i) a.set(i, uint32_t(k + i));
      m::wgmma_fence();
      m::wgmma_rs<DType::bf16>(sums, a, operand_sm90(kN, base), k != 0);
      m::wgmma_commit();
      m::wgmma_wait<0>();
    }
    m::store(out + m::thread_index(), sums.get(0));
  }
  static Result run(const Options& o) {
    Memory b(kBBytes), out(128 * 4);
    return launch(plan, {b.buffer("B", Buffer::Use::input), out.buffer("out", Buffer::Use::output)}, o,
                  [&] { body(b.as<const uint8_t>(), out.as<float>()); });
  }
};

// Two warpgroups multiply by one B, which the first of them refills in place.
struct SharedOperand {
  static constexpr int kN = 32;
  static constexpr uint32_t kABytes = 64 * kRowBytes, kBBytes = kN * kRowBytes;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("shared_operand", Arch::sm90);
    p.role("mma", 8).region("a", kABytes, 2, 1024).region("b", kBBytes, 1, 1024);
    p.named_barrier("filled", 256).named_barrier("read", 256);
    return p;
  }();
  static void body(Global<float> out) {
    const uint32_t base = m::shared_base(), thread = m::thread_index(), b = base + plan.region("b").offset;
    using Row = Vec<uint32_t, 4>;
    m::store(Shared<Row>{base + 16 * thread}, Row{});
    m::Accumulator<kN> sums;
    for (int k = 0; k < 3; ++k) {
      if (thread < kBBytes / 16) m::store(Shared<Row>{b + 16 * thread}, Row{});
      m::fence_proxy_async<ProxySpace::shared_cta>();
      m::named_barrier_sync(plan.named_barrier("filled").id, 256);
      m::wgmma_fence();
      m::wgmma_ss<DType::bf16>(sums, operand_sm90(64, base + kABytes * (thread / 128)), operand_sm90(kN, b), k != 0);
      m::wgmma_commit();
      m::wgmma_wait<0>();
      m::named_barrier_sync(plan.named_barrier("read").id, 256);
    }
    m::store(out + thread, sums.get(0));
  }
  static Result run(const Options& o) {
    Memory out(256 * 4);
    return launch(plan, {out.buffer("out", Buffer::Use::output)}, o, [&] { body(out.as<float>()); });
  }
};

// Scale factors go through shared memory into tensor memory; a stage is free when the copy has read it.
struct ScaleRing {
  static constexpr int kDepth = 4;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("scale_ring", Arch::sm100);
    p.role("load", 1).role("mma", 1);
    p.region("sfb", kScaleBytes, 2, 128).region("tmem.address", 4, 1, 16);
    p.barrier("sfb.full", 2, 1, "mma", {"load", 1}).barrier("sfb.empty", 2, 1, "load", {"mma", 1});
    p.barrier("done", 1, 1, "mma", {"mma", 1});
    return p;
  }();
  static void body(Global<const uint8_t> scales) {
    const uint32_t base = m::shared_base();
    pipeline::set_up_barriers<ScaleRing>(base);
    const auto ring = pipeline::ring_at<2>(base, plan.barrier("sfb.full").offset, plan.barrier("sfb.empty").offset);
    if (m::warp_index() == 0) {
      if (!m::elect_one()) return;
      Producer<2, PublishByTma> input(ring);
      for (int k = 0; k < kDepth; ++k)
        input.produce([&](auto stage) {
          stage->expect_bytes(kScaleBytes);
          m::bulk_load(Shared<uint8_t>{base + kScaleBytes * uint32_t(stage->index())}, scales, kScaleBytes,
                       stage->full());
          return stdx::move(stage).release();
        });
      return;
    }
    const Shared<uint32_t> slot{base + plan.region("tmem.address").offset};
    const Shared<Mbarrier> done{base + plan.barrier("done").offset};
    m::tcgen05_alloc<1>(slot, 32);
    m::tcgen05_relinquish<1>();
    m::sync_warp();
    const Tmem memory{m::load(slot)};
    if (m::elect_one()) {
      Consumer<2, pipeline::ReleaseByCommit<1>> input(ring);
      for (int k = 0; k < kDepth; ++k)
        input.consume([&](auto stage) {
          m::tcgen05_cp<m::TmemCopy::s32x128b_warpx4, 1>(memory,
                                                         scale_desc(base + kScaleBytes * uint32_t(stage->index())));
          return stdx::move(stage).release();
        });
      m::tcgen05_commit<1>(done);
    }
    m::sync_warp();
    m::mbarrier_wait(done, m::Phase::consumer());
    m::tcgen05_fence_after();
    m::tcgen05_dealloc<1>(memory, 32);
  }
  static Result run(const Options& o) {
    Memory scales(kScaleBytes);
    return launch(plan, {scales.buffer("SFB", Buffer::Use::input)}, o, [&] { body(scales.as<const uint8_t>()); });
  }
};

// Attention's second product: the softmax warps store P to tensor memory, where the MMA reads it as A.
struct StoredOperand {
  static constexpr int kN = 32;
  static constexpr uint32_t kColumns = 64, kSums = 32;
  static constexpr BlockPlan plan = [] {
    BlockPlan p("stored_operand", Arch::sm100);
    p.role("softmax", 4).role("mma", 1);
    p.region("v", kN * kRowBytes, 1, 1024).region("tmem.address", 4, 1, 16);
    p.barrier("p.full", 1, 128, "mma", {"softmax", 128}).barrier("o.full", 1, 1, "softmax", {"mma", 1});
    return p;
  }();
  static void body(Global<float> out) {
    const uint32_t base = m::shared_base(), thread = m::thread_index();
    const Shared<uint32_t> slot{base + plan.region("tmem.address").offset};
    const Shared<Mbarrier> p_full{base + plan.barrier("p.full").offset}, o_full{base + plan.barrier("o.full").offset};
    using Row = Vec<uint32_t, 4>;
    if (thread < kN * kRowBytes / 16) m::store(Shared<Row>{base + 16 * thread}, Row{});
    m::fence_proxy_async<ProxySpace::shared_cta>();
    if (m::warp_index() == 4) m::tcgen05_alloc<1>(slot, kColumns);
    pipeline::set_up_barriers<StoredOperand>(base);
    const Tmem memory{m::load(slot)};
    if (m::warp_index() < 4) {
      const uint32_t lanes = m::warp_index() * 32;
      m::TmemRegisters<8> p;
      for (int i = 0; i < 8; ++i) p.set(i, 0u);
      m::tcgen05_st<m::TmemShape::b32x32, 8>(memory.lane(lanes), p);
      m::tcgen05_wait_st();
      m::tcgen05_fence_before();
      m::mbarrier_arrive(p_full);
      m::mbarrier_wait(o_full, m::Phase::consumer());
      m::tcgen05_fence_after();
      m::TmemRegisters<kN> o;
      m::tcgen05_ld<m::TmemShape::b32x32, kN>(o, memory.column(kSums).lane(lanes));
      m::tcgen05_wait_ld();
      m::store(out + thread, o.get(0));
      m::tcgen05_fence_before();
    } else if (m::elect_one()) {
      constexpr uint32_t shape = encode_idesc(InstrDesc{.m = 128, .n = kN});
      m::mbarrier_wait(p_full, m::Phase::consumer());
      m::tcgen05_fence_after();
      m::tcgen05_mma_ts<MmaKind::f16, 1>(memory.column(kSums), memory, operand_sm100(kN, base), shape, false);
      m::tcgen05_commit<1>(o_full);
    }
    m::sync_block();
    if (m::warp_index() == 4) {
      m::tcgen05_fence_after();
      m::tcgen05_dealloc<1>(memory, kColumns);
    }
  }
  static Result run(const Options& o) {
    Memory out(128 * 4);
    return launch(plan, {out.buffer("out", Buffer::Use::output)}, o, [&] { body(out.as<float>()); });
  }
};

// A pair of CTAs: the leader copies the scale factors of both into both tensor memories. Each CTA has its own half, by
// TMA or written by its threads, and the follower tells the leader when it is there.
struct PairScales {
  enum class Filled { by_tma, by_threads };
  static constexpr BlockPlan plan = [] {
    BlockPlan p("pair_scales", Arch::sm100, 2);
    p.role("mma", 1).region("sfb", kScaleBytes, 1, 128).region("tmem.address", 4, 1, 16);
    p.barrier("sfb.full", 1, 1, "mma", {"mma", 1})
        .barrier("peer.full", 1, 1, "mma", {"mma", 1})
        .barrier("done", 1, 1, "mma", {"mma", 1});
    return p;
  }();
  static void body(Global<const uint8_t> scales, Filled filled, Scope scope) {
    const uint32_t base = m::shared_base(), lane = m::lane_index();
    const Shared<uint32_t> slot{base + plan.region("tmem.address").offset};
    const Shared<Mbarrier> full{base + plan.barrier("sfb.full").offset},
        peer_full{base + plan.barrier("peer.full").offset}, done{base + plan.barrier("done").offset};
    pipeline::detail::enter_block<PairScales>(base, m::here{});  // it ends in a barrier of its own
    m::tcgen05_alloc<2>(slot, 32);
    m::tcgen05_relinquish<2>();
    m::cluster_sync();
    const Tmem memory{m::load(slot)};
    if (filled == Filled::by_tma) {
      if (lane == 0) {
        m::mbarrier_arrive_expect_tx(full, kScaleBytes);
        m::bulk_load(Shared<uint8_t>{base}, scales, kScaleBytes, full);
      }
      m::mbarrier_wait(full, m::Phase::consumer());
    } else {
      using Row = Vec<uint32_t, 4>;
      m::store(Shared<Row>{base + 16 * lane}, Row{});
      m::fence_proxy_async<ProxySpace::shared_cluster>();
      m::sync_warp();
    }
    if (lane == 0) {
      if (m::cluster_rank() == 1) {
        const auto leader = m::map_to_rank(peer_full, 0);
        if (scope == Scope::cluster) {
          m::mbarrier_arrive<Scope::cluster>(leader);
        } else {
          m::mbarrier_arrive<Scope::cta>(leader);
        }
      } else {
        m::mbarrier_wait<Scope::cluster>(peer_full, m::Phase::consumer());
        m::tcgen05_cp<m::TmemCopy::s32x128b_warpx4, 2>(memory, scale_desc(base));
        m::tcgen05_commit_multicast<2>(done, 0b11);
      }
    }
    m::sync_warp();
    m::mbarrier_wait(done, m::Phase::consumer());
    m::tcgen05_fence_after();
    m::cluster_sync();
    m::tcgen05_dealloc<2>(memory, 32);
  }
  static Result run(const Options& o, Filled filled, Scope scope) {
    Memory scales(kScaleBytes);
    return launch(plan, {scales.buffer("SFB", Buffer::Use::input)}, o,
                  [&] { body(scales.as<const uint8_t>(), filled, scope); });
  }
};

Run wgmma_ring(bool release_early) {
  return [=](const Options& o) { return WgmmaRing<2>::run(o, release_early); };
}
Run pair_scales(PairScales::Filled filled, Scope scope) {
  return [=](const Options& o) { return PairScales::run(o, filled, scope); };
}

}  // namespace

void add_tensor_mutants(std::vector<Mutant>& list) {
  const std::vector<std::string> unfinished{"race.in_flight", "race.completion"};
  const std::vector<std::string> tmem_roles{"epilogue", "load", "mma"};
  list.push_back({"M52",
                  "the empty barrier was arrived at before the wgmma that reads the stage was waited for",
                  "release above wgmma.wait_group",
                  unfinished,
                  {"mma", "load"},
                  wgmma_ring(false),
                  wgmma_ring(true)});
  list.push_back({"M53",
                  "the wait before a release left one wgmma group too many pending",
                  "wgmma.wait_group 1 becomes 2",
                  unfinished,
                  {"mma", "load", "store"},
                  small_gemm,
                  with_faults(small_gemm, {fault(Action::postpone, "wgmma_wait", "mma", {}, 1, 1)})});
  list.push_back({"M54",
                  "registers of A were refilled while the wgmma that reads them was in flight",
                  "wgmma.wait_group 0 becomes 1",
                  {"wgmma.register"},
                  {"mma"},
                  RegisterOperand::run,
                  with_faults(RegisterOperand::run, {fault(Action::alter, "wgmma_wait", "", {}, 1, 1)})});
  list.push_back({"M55",
                  "a warpgroup refilled an operand that another warpgroup's wgmma still reads",
                  "drop the barrier between the warpgroups after the wait",
                  {"race", "race.in_flight", "race.completion"},
                  {"mma"},
                  SharedOperand::run,
                  with_faults(SharedOperand::run, {fault(Action::drop, "named_barrier_sync", "", "2")})});
  list.push_back({"M56",
                  "only one of the two operands was double-buffered",
                  "one buffer of B in a ring of two stages",
                  unfinished,
                  {"mma", "load"},
                  wgmma_ring(false),
                  [](const Options& o) { return WgmmaRing<1>::run(o, false); }});
  list.push_back({"M57",
                  "scale factors were released by an arrive at issue, not by the completion of the copy",
                  "tcgen05.commit becomes an arrive",
                  unfinished,
                  {"load", "mma"},
                  ScaleRing::run,
                  with_faults(ScaleRing::run, {fault(Action::postpone, "tcgen05_commit", "mma", "sfb.empty")})});
  list.push_back({"M58",
                  "P was signalled to the MMA before its tcgen05.st were complete",
                  "drop tcgen05.wait::st",
                  {"tcgen05.wait", "race.in_flight"},
                  {"softmax", "mma"},
                  StoredOperand::run,
                  with_faults(StoredOperand::run, {fault(Action::drop, "tcgen05_wait_st", "softmax")})});
  list.push_back({"M59",
                  "an accumulator was handed back while tcgen05.ld still read it",
                  "drop tcgen05.wait::ld before the release",
                  {"tcgen05.wait", "race.in_flight"},
                  tmem_roles,
                  run_tmem_lifecycle,
                  with_faults(run_tmem_lifecycle, {fault(Action::postpone, "tcgen05_wait_ld", "epilogue")})});
  list.push_back({"M60.fence",
                  "the hand-over of an accumulator lacked its tcgen05 fence",
                  "drop tcgen05.fence::before_thread_sync",
                  {"race.tcgen_fence"},
                  tmem_roles,
                  run_tmem_lifecycle,
                  with_faults(run_tmem_lifecycle, {fault(Action::drop, "tcgen05_fence_before", "epilogue")})});
  list.push_back({"M60.fence_after",
                  "the MMA warp did not order its accumulation after the epilogue's loads",
                  "drop tcgen05.fence::after_thread_sync",
                  {"race.tcgen_fence"},
                  tmem_roles,
                  run_tmem_lifecycle,
                  with_faults(run_tmem_lifecycle, {fault(Action::drop, "tcgen05_fence_after", "mma")})});
  list.push_back({"M60.elect",
                  "all 32 lanes issued the MMA",
                  "nobody is elected",
                  {"tcgen05.elect"},
                  tmem_roles,
                  run_tmem_lifecycle,
                  with_faults(run_tmem_lifecycle, {fault(Action::alter, "elect_one", "mma")})});
  using Filled = PairScales::Filled;
  list.push_back({"M61.local",
                  "a copy of a CTA pair read the peer's scale factors, whose arrival only the peer had seen",
                  "wait on the local barrier only",
                  unfinished,
                  {"mma"},
                  pair_scales(Filled::by_tma, Scope::cluster),
                  with_faults(pair_scales(Filled::by_tma, Scope::cluster),
                              {fault(Action::drop, "mbarrier_wait", "", "peer.full")})});
  list.push_back({"M61.scope",
                  "the peer announced scale factors that its threads wrote by an arrive at CTA scope",
                  "remote arrive at .cta scope",
                  {"race"},
                  {"mma"},
                  pair_scales(Filled::by_threads, Scope::cluster),
                  pair_scales(Filled::by_threads, Scope::cta)});
}

}  // namespace warpwright::mutants

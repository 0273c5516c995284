// A bf16 GEMM written in words alone: load warp, two m64n256 MMA warpgroups, a store warp each, clusters of two that
// share B by multicast. check_words.py demands that ptxas neither serialises its wgmmas nor spills.
#include "warpwright/core/descriptor.h"
#include "warpwright/kernel/entry.h"
#include "warpwright/launch.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::words {
using namespace machine;

struct GemmShape {
  static constexpr int kRows = 128, kColumns = 256, kDepth = 64, kStages = 4, kOutStages = 2, kCluster = 2;
  static constexpr int kMmaWarps = 8;
  static constexpr uint32_t kABytes = kRows * kDepth * 2, kBBytes = kColumns * kDepth * 2, kOutBytes = 64 * 64 * 2;
};

constexpr BlockPlan make_block_plan() {
  using S = GemmShape;
  BlockPlan p("gemm_loop", Arch::sm90, S::kCluster);
  p.role("mma", S::kMmaWarps, 232).role("load", 1, 40).role("store", 2, 40).role("spare", 1, 40);
  p.region("a", S::kABytes, S::kStages, 1024).region("b", S::kBBytes, S::kStages, 1024);
  p.region("out", S::kOutBytes, 2 * S::kOutStages, 1024);
  p.barrier("input.full", S::kStages, 1, "mma", {"load", 1});
  p.barrier("input.empty", S::kStages, S::kMmaWarps * S::kCluster, "load", {"mma", S::kMmaWarps * S::kCluster});
  p.barrier("out.full", 2 * S::kOutStages, 128, "store", {"mma", 128});
  p.barrier("out.empty", 2 * S::kOutStages, 1, "mma", {"store", 1});
  return p;
}

struct GemmLoop : GemmShape {
  static constexpr BlockPlan plan = make_block_plan();
  struct Args {
    TensorMap a, b, c;
    int tiles_m, tiles_n, steps;
  };
  struct Ring {
    int index = 0;
    Phase phase;
    WW_FN void next(int stages) {
      index = index + 1 == stages ? 0 : index + 1;
      phase.advance_if(index == 0);
    }
  };
  static WW_FN Shared<Mbarrier> bar(uint32_t offset, int i) { return Shared<Mbarrier>{shared_base() + offset} + i; }
  static constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
  static constexpr uint32_t out_full = plan.barrier("out.full").offset, out_empty = plan.barrier("out.empty").offset;

  static WW_FN void load_role(const Args& args, uint32_t rank) {
    Ring ring{0, Phase::producer()};
    for (int tile = int(cluster_index()); tile < args.tiles_m * args.tiles_n; tile += int(cluster_count())) {
      const int row = (tile % args.tiles_m * kCluster + int(rank)) * kRows, column = tile / args.tiles_m * kColumns;
      for (int k = 0; k < args.steps; ++k) {
        const Shared<Mbarrier> ready = bar(full, ring.index);
        mbarrier_wait(bar(empty, ring.index), ring.phase);
        mbarrier_arrive_expect_tx(ready, kABytes + kBBytes);
        const Shared<uint16_t> a{shared_base() + plan.region("a").offset + uint32_t(ring.index) * kABytes};
        const Shared<uint16_t> b{shared_base() + plan.region("b").offset + uint32_t(ring.index) * kBBytes +
                                 rank * (kBBytes / kCluster)};
        tma_load<CacheHint::evict_last>(a, &args.a, Coords{k * kDepth, row}, ready);
        tma_load_multicast(b, &args.b, Coords{k * kDepth, column + int(rank) * (kColumns / kCluster)}, ready,
                           uint16_t((1 << kCluster) - 1));
        ring.next(kStages);
      }
    }
  }
  static WW_FN void store_role(const Args& args, uint32_t rank, int group) {
    Ring ring{0, Phase::consumer()};
    for (int tile = int(cluster_index()); tile < args.tiles_m * args.tiles_n; tile += int(cluster_count())) {
      const int row = (tile % args.tiles_m * kCluster + int(rank)) * kRows, column = tile / args.tiles_m * kColumns;
      for (int c = 0; c < kColumns; c += 64) {
        const int slot = group * kOutStages + ring.index;
        mbarrier_wait(bar(out_full, slot), ring.phase);
        tma_store(&args.c, Coords{column + c, row + group * 64},
                  Shared<uint16_t>{shared_base() + plan.region("out").offset + uint32_t(slot) * kOutBytes});
        bulk_commit();
        bulk_wait_read<0>();
        mbarrier_arrive(bar(out_empty, slot));
        ring.next(kOutStages);
      }
    }
    bulk_wait<0>();
  }
  static WW_FN void free_slot(int index, uint32_t rank) {
    const uint32_t lane = lane_index();
    if (lane < kCluster) {
      if (lane == rank) {
        mbarrier_arrive(bar(empty, index));
      } else {
        mbarrier_arrive(map_to_rank(bar(empty, index), lane));
      }
    }
  }
  static WW_FN void mma_role(const Args& args, uint32_t rank, int group) {
    Accumulator<kColumns> d;
    Ring ring{0, Phase::consumer()}, out{0, Phase::producer()};
    for (int tile = int(cluster_index()); tile < args.tiles_m * args.tiles_n; tile += int(cluster_count())) {
      int previous = -1;
      for (int k = 0; k < args.steps; ++k) {
        mbarrier_wait(bar(full, ring.index), ring.phase);
        const uint64_t a =
            encode_sm90(k_major_desc(DType::bf16, Swizzle::b128, 64,
                                     shared_base() + plan.region("a").offset + uint32_t(ring.index) * kABytes +
                                         uint32_t(group) * (kABytes / 2)));
        const uint64_t b =
            encode_sm90(k_major_desc(DType::bf16, Swizzle::b128, kColumns,
                                     shared_base() + plan.region("b").offset + uint32_t(ring.index) * kBBytes));
        wgmma_fence();
#pragma unroll
        for (int kk = 0; kk < kDepth / 16; ++kk)
          wgmma_ss<DType::bf16>(d, advance_desc(a, uint32_t(kk) * 32), advance_desc(b, uint32_t(kk) * 32),
                                (k | kk) != 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (previous >= 0) free_slot(previous, rank);
        previous = ring.index;
        ring.next(kStages);
      }
      wgmma_wait<0>();
      free_slot(previous, rank);
      const uint32_t lane = lane_index(), row = warp_index() % 4 * 16 + lane % 16;
#pragma unroll
      for (int c = 0; c < kColumns / 64; ++c) {
        const int slot = group * kOutStages + out.index;
        mbarrier_wait(bar(out_empty, slot), out.phase);
        const uint32_t base = shared_base() + plan.region("out").offset + uint32_t(slot) * kOutBytes + row * 128;
#pragma unroll
        for (uint32_t j = 0; j < 8; j += 2) {
          uint32_t packed[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int first = c * 32 + int(j) * 4 + i * 2;
            packed[i] = __byte_perm(__float_as_uint(d.get(first)), __float_as_uint(d.get(first + 1)), 0x7632);
          }
          stmatrix(Shared<Vec<uint32_t, 4>>{base + (((j + lane / 16) ^ (row % 8)) << 4)}, packed);
        }
        fence_proxy_async<ProxySpace::shared_cta>();
        mbarrier_arrive(bar(out_full, slot));
        out.next(kOutStages);
      }
    }
  }
  static WW_FN void body(const Args& args) {
    check_block_plan<GemmLoop>();
    const uint32_t warp = warp_uniform(warp_index()), rank = cluster_rank();
    if (thread_index() == 0) {
      for (int i = 0; i < kStages; ++i) mbarrier_init(bar(full, i), plan.barrier("input.full").count);
      for (int i = 0; i < kStages; ++i) mbarrier_init(bar(empty, i), plan.barrier("input.empty").count);
      for (int i = 0; i < 2 * kOutStages; ++i) mbarrier_init(bar(out_full, i), plan.barrier("out.full").count);
      for (int i = 0; i < 2 * kOutStages; ++i) mbarrier_init(bar(out_empty, i), plan.barrier("out.empty").count);
      fence_mbarrier_init();
    }
    cluster_sync();
    if (warp < kMmaWarps) {
      registers_increase<232>();
      mma_role(args, rank, int(warp / 4));
    } else {
      registers_decrease<40>();
      if (warp == kMmaWarps && elect_one()) load_role(args, rank);
      if ((warp == kMmaWarps + 1 || warp == kMmaWarps + 2) && elect_one())
        store_role(args, rank, int(warp) - kMmaWarps - 1);
    }
    cluster_sync();
  }
};

}  // namespace warpwright::inline WW_WORLD::words

cudaError_t launch_gemm_loop(const warpwright::words::GemmLoop::Args& args, cudaStream_t stream) {
  using warpwright::words::GemmLoop;
  const int clusters = warpwright::max_active_clusters<GemmLoop>();
  return warpwright::launch_kernel<GemmLoop>(args, unsigned(clusters * GemmLoop::kCluster), stream);
}

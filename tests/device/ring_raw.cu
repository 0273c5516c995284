// The ring kernel of kernel/demo/ring_copy.h with its barriers written out by hand: stage and parity are two integers a
// role, no ring, no handle, no block plan. The shipped kernel must compile to the same machine code.
#include "warpwright/kernel/demo/ring_copy.h"

using namespace warpwright;
using namespace warpwright::machine;

namespace {

constexpr int kStages = 4, kOutputStages = 2, kThreads = 128, kStageBytes = 32 * 64 * 4;
constexpr uint32_t kOutput = kStages * kStageBytes, kInputFull = kOutput + kOutputStages * kStageBytes,
                   kInputEmpty = kInputFull + 8 * kStages, kOutputFull = kInputEmpty + 8 * kStages,
                   kOutputEmpty = kOutputFull + 8 * kOutputStages;
using Copy = kernel::sm90::RingCopy<RingCopyConfig{}>;

__device__ __forceinline__ Shared<Mbarrier> barrier(uint32_t base, uint32_t offset, int stage) {
  return Shared<Mbarrier>{base + offset} + stage;
}

template <int S>
__device__ __forceinline__ void step(int& stage, Phase& phase) {
  const bool wrapped = stage + 1 == S;
  stage = wrapped ? 0 : stage + 1;
  phase.advance_if(wrapped);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(192, 1) ring(const __grid_constant__ RingCopyArgs args) {
  const uint32_t base = shared_base();
  const int warp = int(warp_uniform(warp_index()));
  if (thread_index() == 0) {
#pragma unroll
    for (int i = 0; i < kStages; ++i) mbarrier_init(barrier(base, kInputFull, i), 1);
#pragma unroll
    for (int i = 0; i < kStages; ++i) mbarrier_init(barrier(base, kInputEmpty, i), 4);
#pragma unroll
    for (int i = 0; i < kOutputStages; ++i) mbarrier_init(barrier(base, kOutputFull, i), kThreads);
#pragma unroll
    for (int i = 0; i < kOutputStages; ++i) mbarrier_init(barrier(base, kOutputEmpty, i), 1);
    fence_mbarrier_init();
  }
  sync_block();
  if (warp == 4) {
    if (elect_one()) {
      int stage = 0;
      Phase phase = Phase::producer();
      tile::PersistentTiles walk = Copy::tiles(args);
      for (tile::TileCoord tile; walk.next(tile);) {
        mbarrier_wait(barrier(base, kInputEmpty, stage), phase);
        mbarrier_arrive_expect_tx(barrier(base, kInputFull, stage), kStageBytes);
        tma_load(Copy::input_stage(base, stage), &args.x, Copy::origin(tile), barrier(base, kInputFull, stage));
        step<kStages>(stage, phase);
      }
    }
  } else if (warp == 5) {
    if (elect_one()) {
      int stage = 0;
      Phase phase = Phase::consumer();
      tile::PersistentTiles walk = Copy::tiles(args);
      const int n = walk.remaining();
      const auto take = [&] {
        const int s = stage;
        mbarrier_wait(barrier(base, kOutputFull, s), phase);
        step<kOutputStages>(stage, phase);
        return s;
      };
      const auto send = [&](int s) {
        tile::TileCoord tile;
        walk.next(tile);
        tma_store(&args.y, Copy::origin(tile), Copy::output_stage(base, s));
        bulk_commit();
      };
      if (n > 0) {
        int previous = take();
        send(previous);
        for (int i = 1; i < n; ++i) {
          const int current = take();
          send(current);
          bulk_wait_read<1>();
          mbarrier_arrive(barrier(base, kOutputEmpty, previous));
          previous = current;
        }
        bulk_wait_read<0>();
        mbarrier_arrive(barrier(base, kOutputEmpty, previous));
      }
      bulk_wait<0>();
    }
  } else {
    int in = 0, out = 0;
    Phase in_phase = Phase::consumer(), out_phase = Phase::producer();
    const int thread = int(thread_index());
    for (int left = Copy::tiles(args).remaining(); left > 0; --left) {
      const int from = in;
      mbarrier_wait(barrier(base, kInputFull, from), in_phase);
      step<kStages>(in, in_phase);
      mbarrier_wait(barrier(base, kOutputEmpty, out), out_phase);
      const Shared<Copy::Vector> x = Copy::input_stage(base, from), y = Copy::output_stage(base, out);
#pragma unroll
      for (int i = 0; i < Copy::kVectors; i += kThreads)
        store(y + (i + thread), Copy::transform(load(x + (i + thread)), args.alpha, args.beta));
      fence_proxy_async<ProxySpace::shared_cta>();
      mbarrier_arrive(barrier(base, kOutputFull, out));
      step<kOutputStages>(out, out_phase);
      fence_proxy_async<ProxySpace::shared_cta>();
      sync_warp();
      if (lane_index() == 0) mbarrier_arrive(barrier(base, kInputEmpty, from));
    }
  }
}

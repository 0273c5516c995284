// The GEMM of kernel/sm90/dense/dense_gemm.h at one configuration (bf16, 128 x 256 x 64, 4 stages, cluster of 2),
// written by hand in CUDA and PTX: no header of the library, no handles, roles, rings or plan. It does the same steps
// in the same order; what the library's kernel takes more than this one is what its words cost.
// tests/device/handwritten_gemm.py compares their instructions, twin.cu their results and times.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace handwritten {

struct Args {
  CUtensorMap a, b, d;
  int m, n, k;
  float alpha;
  const float* alpha_at;  // instead of alpha, if it is not null
};

constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4, kOutputStages = 2, kBandRows = 8;
constexpr int kThreads = 384;  // two MMA warpgroups; a warp that loads, two that store, one that idles
constexpr uint32_t kABytes = kTileM * kTileK * 2, kBBytes = kTileN * kTileK * 2, kSubtileBytes = 64 * 64 * 2;
constexpr uint32_t kA = 0, kB = kA + kStages * kABytes, kOutput = kB + kStages * kBBytes;
constexpr uint32_t kFull = kOutput + 2 * kOutputStages * kSubtileBytes, kEmpty = kFull + 8 * kStages;
constexpr uint32_t kOutputFull = kEmpty + 8 * kStages, kOutputEmpty = kOutputFull + 2 * 8 * kOutputStages;
constexpr uint32_t kSharedBytes = kOutputEmpty + 2 * 8 * kOutputStages;

__device__ __forceinline__ void init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_at_peer(uint32_t barrier, uint32_t rank) {
  uint32_t remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(barrier), "r"(rank));
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
}
__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "AGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, %2;\n"
      "@done bra READY;\n"
      "bra AGAIN;\n"
      "READY:\n"
      "}" ::"r"(barrier),
      "r"(parity), "r"(0x989680)
      : "memory");
}
__device__ __forceinline__ bool elect() {
  uint32_t elected;
  asm volatile(
      "{\n"
      ".reg .pred mine;\n"
      "elect.sync _|mine, 0xffffffff;\n"
      "selp.b32 %0, 1, 0, mine;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
__device__ __forceinline__ int cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ int first_tile() {
  int index;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(index));
  return index;
}
__device__ __forceinline__ int tile_step() {
  int count;
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(count));
  return count;
}

// Avoids the overflow of (a + b - 1) / b.
__device__ __forceinline__ int ceil_div(int a, int b) { return a / b + (a % b != 0); }

// Tiles of the cluster, 256 x 256, in bands of 8 rows that are walked column by column, every second one backwards.
struct Walk {
  int rows, columns, index, step;
  __device__ __forceinline__ explicit Walk(const Args& args)
      : rows(ceil_div(args.m, 2 * kTileM)), columns(ceil_div(args.n, kTileN)), index(first_tile()), step(tile_step()) {}
  __device__ __forceinline__ int left() const {
    const int tiles = rows * columns - index;
    return tiles > 0 ? ceil_div(tiles, step) : 0;
  }
  // False after the last one.
  __device__ __forceinline__ bool next(int& row, int& column) {
    if (index >= rows * columns) return false;
    const int band = index / (kBandRows * columns), first = band * kBandRows;
    const int height = min(rows - first, kBandRows), inside = index - first * columns, across = inside / height;
    row = ((first + inside - across * height) * 2 + cluster_rank()) * kTileM;
    column = (band % 2 == 0 ? across : columns - 1 - across) * kTileN;
    index += step;
    return true;
  }
};

// Both operands are K-major with the 128-byte swizzle: 8 rows are 1024 bytes.
__device__ __forceinline__ uint64_t descriptor(uint32_t address) {
  return uint64_t(address >> 4 & 0x3fff) | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}

#define HW_F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define HW_F16(i) HW_F4(i), HW_F4(i + 4), HW_F4(i + 8), HW_F4(i + 12)
#define HW_F64(i) HW_F16(i), HW_F16(i + 16), HW_F16(i + 32), HW_F16(i + 48)
__device__ __forceinline__ void multiply(float (&d)[128], uint64_t a, uint64_t b, uint32_t accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
      "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"
      "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
      "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,"
      "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
      "}, %128, %129, p, 1, 1, 0, 0;}"
      : HW_F64(0), HW_F64(64)
      : "l"(a), "l"(b), "r"(accumulate)
      : "memory");
}
#undef HW_F64
#undef HW_F16
#undef HW_F4

// The MMAs of one stage.
__device__ __forceinline__ void issue(float (&sums)[128], uint32_t base, int group, int stage, bool fresh) {
  const uint64_t a = descriptor(base + kA + stage * kABytes + group * (kABytes / 2));
  const uint64_t b = descriptor(base + kB + stage * kBBytes);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 4; ++i) multiply(sums, a + 2 * i, b + 2 * i, i != 0 || !fresh);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Lane 0 of each warp tells CTA 0, lane 1 CTA 1: both loaded a part of this stage.
__device__ __forceinline__ void hand_back(uint32_t base, int stage) {
  const uint32_t lane = threadIdx.x % 32;
  if (lane < 2) {
    const uint32_t empty = base + kEmpty + 8 * stage;
    if (int(lane) == cluster_rank()) {
      arrive(empty);
    } else {
      arrive_at_peer(empty, lane);
    }
  }
}

__device__ __forceinline__ void advance(int& stage, uint32_t& parity, int stages) {
  const bool wrapped = stage + 1 == stages;
  stage = wrapped ? 0 : stage + 1;
  parity ^= uint32_t(wrapped);
}

// The sums of a warpgroup, 64 columns at a time, as bf16 into a ring that its store warp empties.
template <bool Scaled>
__device__ __forceinline__ void put_out(float (&sums)[128], float alpha, uint32_t base, int group, int& stage,
                                        uint32_t& parity) {
  const auto value = [&](int i) {
    float v = sums[i];
    asm volatile("" : "+f"(v));  // not before the wait for the MMAs
    return Scaled ? alpha * v : v;
  };
  const int lane = int(threadIdx.x % 32), row = int(threadIdx.x / 32) % 4 * 16 + lane % 16;
#pragma unroll
  for (int s = 0; s < 4; ++s) {
    const int slot = group * kOutputStages + stage;
    wait(base + kOutputEmpty + 8 * slot, parity);
    const uint32_t to = base + kOutput + slot * kSubtileBytes;
#pragma unroll
    for (int column = 0; column < 64; column += 16) {
      uint32_t packed[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int r = s * 32 + column / 2 + 2 * i;
        const __nv_bfloat162 pair = __floats2bfloat162_rn(value(r), value(r + 1));
        packed[i] = reinterpret_cast<const uint32_t&>(pair);
      }
      const uint32_t at = to + uint32_t(row * 128 + ((column / 8 + lane / 16) ^ (row % 8)) * 16);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(packed[0]),
                   "r"(packed[1]), "r"(packed[2]), "r"(packed[3])
                   : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    arrive(base + kOutputFull + 8 * slot);
    advance(stage, parity, kOutputStages);
  }
}

__global__ void __launch_bounds__(kThreads, 1) dense_gemm(const __grid_constant__ Args args) {
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t base = uint32_t(__cvta_generic_to_shared(shared));
  const int warp = __shfl_sync(~0u, int(threadIdx.x / 32), 0);
  const int depth = ceil_div(args.k, kTileK);
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");

  if (warp == 8) {
    const bool elected = elect();
    if (elected) {
      if (args.k > 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&args.a) : "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&args.b) : "memory");
      }
      for (int i = 0; i < kStages; ++i) init(base + kFull + 8 * i, 1);
      for (int i = 0; i < kStages; ++i) init(base + kEmpty + 8 * i, 16);
      for (int i = 0; i < 2 * kOutputStages; ++i) init(base + kOutputFull + 8 * i, 128);
      for (int i = 0; i < 2 * kOutputStages; ++i) init(base + kOutputEmpty + 8 * i, 1);
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    cluster_arrive();
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (!elected) {
      cluster_wait();
      return;
    }
    Walk walk(args);
    const int rank = cluster_rank();
    int stage = 0, row = 0, column = 0;
    uint32_t parity = 1;
    const bool any = walk.next(row, column);
    cluster_wait();
    asm volatile("griddepcontrol.wait;" ::: "memory");
    for (bool more = any; more; more = walk.next(row, column)) {
      for (int k = 0; k < depth; ++k) {
        wait(base + kEmpty + 8 * stage, parity);
        const uint32_t full = base + kFull + 8 * stage;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(kABytes + kBBytes)
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
            "[%2];" ::"r"(base + kA + stage * kABytes),
            "l"(&args.a), "r"(full), "r"(k * kTileK), "r"(row)
            : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
            "[%1, {%3, %4}], [%2], %5;" ::"r"(base + kB + stage * kBBytes + rank * (kBBytes / 2)),
            "l"(&args.b), "r"(full), "r"(k * kTileK), "r"(column + rank * (kTileN / 2)), "h"(uint16_t(3))
            : "memory");
        advance(stage, parity, kStages);
      }
    }
    // The peer hands stages back until the last one.
    for (int i = 0; i < kStages; ++i) {
      wait(base + kEmpty + 8 * stage, parity);
      advance(stage, parity, kStages);
    }
    return;
  }

  if (warp == 9 && elect()) asm volatile("prefetch.tensormap [%0];" ::"l"(&args.d) : "memory");
  __syncwarp();
  cluster_arrive();
  cluster_wait();

  if (warp < 8) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int group = warp / 4;
    const float alpha = args.alpha_at != nullptr ? *args.alpha_at : args.alpha;
    float sums[128];
    int stage = 0, output_stage = 0;
    uint32_t parity = 0, output_parity = 1;
    for (int left = Walk(args).left(); left > 0; --left) {
      if (depth == 0) {
#pragma unroll
        for (int i = 0; i < 128; ++i) {
          float zero = 0;
          asm volatile("" : "+f"(zero));  // or the compiler keeps zeros for the MMAs that overwrite them
          sums[i] = zero;
        }
      } else {
        int previous = stage;
        wait(base + kFull + 8 * stage, parity);
        advance(stage, parity, kStages);
        issue(sums, base, group, previous, true);
        for (int k = 1; k < depth; ++k) {
          const int current = stage;
          wait(base + kFull + 8 * stage, parity);
          advance(stage, parity, kStages);
          issue(sums, base, group, current, false);
          asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
          hand_back(base, previous);
          previous = current;
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        hand_back(base, previous);
      }
      if (alpha == 1.f) {
        put_out<false>(sums, alpha, base, group, output_stage, output_parity);
      } else {
        put_out<true>(sums, alpha, base, group, output_stage, output_parity);
      }
    }
    return;
  }

  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  if (warp == 11 || !elect()) return;
  const int group = warp - 9;
  Walk walk(args);
  const int subtiles = walk.left() * 4;
  int stage = 0, s = 0, row = 0, column = 0;
  uint32_t parity = 0;
  // Waits for the next subtile and sends it on its way; returns its slot.
  const auto send = [&] {
    const int slot = group * kOutputStages + stage;
    wait(base + kOutputFull + 8 * slot, parity);
    advance(stage, parity, kOutputStages);
    if (s == 0) walk.next(row, column);
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&args.d),
                 "r"(column + s * 64), "r"(row + group * 64), "r"(base + kOutput + slot * kSubtileBytes)
                 : "memory");
    s = s + 1 == 4 ? 0 : s + 1;
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    return slot;
  };
  if (subtiles > 0) {
    int previous = send();
    for (int i = 1; i < subtiles; ++i) {
      const int current = send();
      asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      arrive(base + kOutputEmpty + 8 * previous);
      previous = current;
    }
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    arrive(base + kOutputEmpty + 8 * previous);
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace handwritten

// The few instructions that the SASS comparison needs, the same for the hand-written and the typed kernels.
#pragma once

#include <cstdint>

namespace words {

inline constexpr int kStages = 4;
inline constexpr int kFloats = 1024;  // per stage
inline constexpr uint32_t kBytes = kFloats * sizeof(float);
inline constexpr int kConsumers = 128;

#define WORD __device__ __forceinline__

WORD uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

WORD void barrier_init(uint64_t* barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count));
}

WORD void barrier_wait(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{\n\t.reg .pred done;\n\t"
      "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra again;\n\t}" ::"r"(
          shared_address(barrier)),
      "r"(parity)
      : "memory");
}

WORD void barrier_arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

WORD void barrier_expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

WORD void bulk_load(const float* shared, const float* global, uint32_t bytes, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(shared)),
               "l"(global), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// D (64x8, fp32) += A (64x16, bf16) B (16x8, bf16), both from shared memory, unswizzled.
WORD uint64_t descriptor(const float* shared) {
  return ((shared_address(shared) & 0x3FFFF) >> 4) | (uint64_t{8} << 16) | (uint64_t{16} << 32);
}
WORD void wgmma(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(a), "l"(b)
               : "memory");
}
WORD void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
WORD void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
WORD void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// One k-step on a stage: A in its first half, B in the second.
WORD void multiply(float (&d)[4], const float* stage) {
  wgmma_fence();
  wgmma(d, descriptor(stage), descriptor(stage + kFloats / 2));
  wgmma_commit();
}

struct Barriers {
  uint64_t full[kStages];
  uint64_t empty[kStages];
  WORD void init() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < kStages; ++i) {
        barrier_init(&full[i], 1);
        barrier_init(&empty[i], kConsumers);
      }
    }
    __syncthreads();
  }
};

}  // namespace words

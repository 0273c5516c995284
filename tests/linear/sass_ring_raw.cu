// The ring with raw barriers, as one writes it by hand: what sass_ring_typed.cu must compile to.
#include "sass_words.cuh"

using namespace words;

extern "C" __global__ void __launch_bounds__(160)
    scoped(const float* __restrict__ in, float* __restrict__ out, int tiles) {
  extern __shared__ __align__(128) float storage[];
  __shared__ Barriers barriers;
  barriers.init();
  int slot = 0;
  uint32_t phase = 0;
  if (threadIdx.x >= kConsumers) {
    if (threadIdx.x == kConsumers) {
      for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        barrier_wait(&barriers.empty[slot], phase ^ 1);
        barrier_expect(&barriers.full[slot], kBytes);
        bulk_load(storage + slot * kFloats, in + static_cast<size_t>(t) * kFloats, kBytes, &barriers.full[slot]);
        if (++slot == kStages) {
          slot = 0;
          phase ^= 1;
        }
      }
    }
  } else {
    float sum = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      barrier_wait(&barriers.full[slot], phase);
      const float* data = storage + slot * kFloats;
#pragma unroll
      for (int i = 0; i < kFloats / kConsumers; ++i) sum += data[i * kConsumers + threadIdx.x];
      barrier_arrive(&barriers.empty[slot]);
      if (++slot == kStages) {
        slot = 0;
        phase ^= 1;
      }
    }
    out[blockIdx.x * kConsumers + threadIdx.x] = sum;
  }
}

__device__ __forceinline__ void multiply_overlapped(float (&d)[4], const float* storage, Barriers& barriers,
                                                    int tiles) {
  int slot = 0;
  uint32_t phase = 0;
  if (tiles < 1) return;
  barrier_wait(&barriers.full[slot], phase);
  int previous = slot;
  if (++slot == kStages) {
    slot = 0;
    phase ^= 1;
  }
  multiply(d, storage + previous * kFloats);
  for (int t = 1; t < tiles; ++t) {
    barrier_wait(&barriers.full[slot], phase);
    int current = slot;
    if (++slot == kStages) {
      slot = 0;
      phase ^= 1;
    }
    multiply(d, storage + current * kFloats);
    wgmma_wait<1>();
    barrier_arrive(&barriers.empty[previous]);
    previous = current;
  }
  wgmma_wait<0>();
  barrier_arrive(&barriers.empty[previous]);
}

extern "C" __global__ void overlapped(float* __restrict__ out, int tiles) {
  extern __shared__ __align__(128) float storage[];
  __shared__ Barriers barriers;
  barriers.init();
  float d[4] = {};
  multiply_overlapped(d, storage, barriers, tiles);
  for (int i = 0; i < 4; ++i) out[i * kConsumers + threadIdx.x] = d[i];
}

extern "C" __global__ void flat(float* __restrict__ out, int tiles) {
  extern __shared__ __align__(128) float storage[];
  __shared__ Barriers barriers;
  barriers.init();
  float d[4] = {};
  multiply_overlapped(d, storage, barriers, tiles);
  for (int i = 0; i < 4; ++i) out[i * kConsumers + threadIdx.x] = d[i];
}

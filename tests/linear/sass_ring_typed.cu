// The ring of sass_ring_raw.cu through the handles: scoped, overlapped and flat.
#include "sass_words.cuh"
#include "warpwright/core/linear.h"
#include "warpwright/core/linear_overlap.h"
#include "warpwright/core/linear_owned.h"

using namespace words;
namespace linear = warpwright::linear;

struct Ring;

struct ProducerStage {
  using Here = linear::Nowhere;
  Ring* ring;
  WORD float* data() const;
  WORD uint64_t* full() const;
  WORD static void release(ProducerStage& stage, Here);
};

struct ConsumerStage {
  using Here = linear::Nowhere;
  Ring* ring;
  WORD const float* data() const;
  WORD static void release(ConsumerStage& stage, Here);
};

// A stage that may outlive the ring's position, as two stages held at once need it.
struct HeldStage {
  using Here = linear::Nowhere;
  Ring* ring;
  int slot;
  WORD const float* data() const;
  WORD static void release(HeldStage& stage, Here);
};

struct Ring {
  float* storage;
  Barriers& barriers;
  int slot = 0;
  uint32_t phase = 0;

  WORD void advance() {
    if (++slot == kStages) {
      slot = 0;
      phase ^= 1;
    }
  }
  template <class Body>
  WORD auto produce(Body&& body) {
    barrier_wait(&barriers.empty[slot], phase ^ 1);
    return linear::scope(ProducerStage{this}, body);
  }
  template <class Body>
  WORD auto consume(Body&& body) {
    barrier_wait(&barriers.full[slot], phase);
    return linear::scope(ConsumerStage{this}, body);
  }
  WORD HeldStage next() {
    barrier_wait(&barriers.full[slot], phase);
    HeldStage stage{this, slot};
    advance();
    return stage;
  }
  WW_LINEAR_MAKES WORD linear::Owned<HeldStage> acquire_linear() { return linear::Owned<HeldStage>(next()); }
};

WORD float* ProducerStage::data() const { return ring->storage + ring->slot * kFloats; }
WORD uint64_t* ProducerStage::full() const { return &ring->barriers.full[ring->slot]; }
WORD void ProducerStage::release(ProducerStage& stage, Here) { stage.ring->advance(); }
WORD const float* ConsumerStage::data() const { return ring->storage + ring->slot * kFloats; }
WORD void ConsumerStage::release(ConsumerStage& stage, Here) {
  barrier_arrive(&stage.ring->barriers.empty[stage.ring->slot]);
  stage.ring->advance();
}
WORD const float* HeldStage::data() const { return ring->storage + slot * kFloats; }
WORD void HeldStage::release(HeldStage& stage, Here) { barrier_arrive(&stage.ring->barriers.empty[stage.slot]); }

extern "C" __global__ void __launch_bounds__(160)
    scoped(const float* __restrict__ in, float* __restrict__ out, int tiles) {
  extern __shared__ __align__(128) float storage[];
  __shared__ Barriers barriers;
  barriers.init();
  Ring ring{storage, barriers};
  if (threadIdx.x >= kConsumers) {
    if (threadIdx.x == kConsumers) {
      for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        ring.produce([&](auto stage) {
          barrier_expect(stage->full(), kBytes);
          bulk_load(stage->data(), in + static_cast<size_t>(t) * kFloats, kBytes, stage->full());
          return std::move(stage).release();
        });
      }
    }
  } else {
    float sum = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      ring.consume([&](auto stage) {
        const float* data = stage->data();
#pragma unroll
        for (int i = 0; i < kFloats / kConsumers; ++i) sum += data[i * kConsumers + threadIdx.x];
        return std::move(stage).release();
      });
    }
    out[blockIdx.x * kConsumers + threadIdx.x] = sum;
  }
}

extern "C" __global__ void overlapped(float* __restrict__ out, int tiles) {
  extern __shared__ __align__(128) float storage[];
  __shared__ Barriers barriers;
  barriers.init();
  Ring ring{storage, barriers};
  float d[4] = {};
  linear::overlap(
      tiles, [&] { return ring.next(); },
      [&](auto current) {
        multiply(d, current->data());
        return std::move(current).keep();
      },
      [&](auto previous, auto current) {
        multiply(d, current->data());
        wgmma_wait<1>();
        return std::move(previous).release_keep(std::move(current));
      },
      [&](auto previous) {
        wgmma_wait<0>();
        return std::move(previous).release();
      });
  for (int i = 0; i < 4; ++i) out[i * kConsumers + threadIdx.x] = d[i];
}

extern "C" __global__ void flat(float* __restrict__ out, int tiles) {
  extern __shared__ __align__(128) float storage[];
  __shared__ Barriers barriers;
  barriers.init();
  Ring ring{storage, barriers};
  float d[4] = {};
  if (tiles >= 1) {
    auto previous = ring.acquire_linear();
    multiply(d, previous->data());
    for (int t = 1; t < tiles; ++t) {
      auto current = ring.acquire_linear();
      multiply(d, current->data());
      wgmma_wait<1>();
      std::move(previous).release();
      previous = std::move(current);
    }
    wgmma_wait<0>();
    std::move(previous).release();
  }
  for (int i = 0; i < 4; ++i) out[i * kConsumers + threadIdx.x] = d[i];
}

// Quantization: every element is read once, eight neighbours of a row by a thread, and stays in registers while the
// largest magnitude of its block is found. launch/quantize.h says which entry serves which problem.
#include "gpu/kernels/quantize_source.cuh"
#include "launch/quantize_grid.h"
#include "warpwright/core/unroll.h"

namespace warpwright {
namespace {

using quantizing::kAtOnce;
using quantizing::kCtaRows;
using quantizing::kElements;
using quantizing::kThreads;
using quantizing::kWarpColumns;
using quantizing::kWarps;
using quantizing::kWords;
using quantizing::load;
using quantizing::Raw;
using quantizing::Scale;

constexpr int kBlock = 128;  // rows and columns of a block
constexpr int kBlockLanes = kBlock / kElements;
constexpr int kBlockSteps = kBlock * kBlockLanes / kThreads;

__device__ uint32_t exchange(uint32_t x, int offset) { return __shfl_xor_sync(~0u, x, offset); }

// The largest magnitudes of four rows, each over `Lanes` neighbouring lanes. Lanes take over different rows as they
// combine them: in the end lane l has row_of(l), or with two lanes row_of(l) and the one after it, and a factor is
// computed once, not by every lane for every row.
template <int Lanes>
struct FourRows {
  static constexpr int kHeld = Lanes == 2 ? 2 : 1;
  __device__ static int row_of(int lane) { return Lanes == 2 ? lane % 2 * 2 : lane % 2 * 2 + lane / 2 % 2; }
  // The lane that has the row, among those of lane l.
  __device__ static int holder(int lane, int row) {
    return (lane & -Lanes) | (Lanes == 2 ? row / 2 : row / 2 + row % 2 * 2);
  }
  __device__ static bool stores(int lane) { return lane % Lanes < 4; }

  __device__ static void combine(int lane, const uint32_t (&rows)[kAtOnce], uint32_t (&held)[kHeld]) {
    const bool second = lane % 2 != 0, fourth = lane / 2 % 2 != 0;
    const uint32_t low = max(second ? rows[2] : rows[0], exchange(second ? rows[0] : rows[2], 1));
    const uint32_t high = max(second ? rows[3] : rows[1], exchange(second ? rows[1] : rows[3], 1));
    if constexpr (Lanes == 2) {
      held[0] = low;
      held[1] = high;
    } else {
      held[0] = max(fourth ? high : low, exchange(fourth ? low : high, 2));
      WW_UNROLL
      for (int offset = 4; offset < Lanes; offset *= 2) held[0] = max(held[0], exchange(held[0], offset));
    }
  }
};
static_assert(kAtOnce == 4);

// The largest of neighbouring lanes, a power of two of them.
template <int Lanes>
__device__ uint32_t largest_of_lanes(uint32_t largest) {
  WW_UNROLL
  for (int offset = Lanes / 2; offset > 0; offset /= 2) largest = max(largest, exchange(largest, offset));
  return largest;
}

template <DType T, bool Vectors, DType S>
__device__ void store(const QuantizeArgs& p, int64_t row, int64_t column, const Raw<S>& raw, float by) {
  if (row >= p.rows || column >= p.columns) return;
  float x[kElements];
  raw.floats(x);
  uint32_t words[kWords<T>];
  quantizing::convert<T>(x, by, words);
  uint8_t* const to = p.values + (row * p.columns + column) * bits(T) / 8;
  if constexpr (Vectors && kWords<T> == 2) {
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
  } else if constexpr (Vectors) {
    *reinterpret_cast<uint32_t*>(to) = words[0];
  } else {
    constexpr int each = 8 / bits(T);  // elements of a byte
    WW_UNROLL
    for (int i = 0; i < kElements / each; ++i) {
      if (column + i * each < p.columns) to[i] = uint8_t(words[i / 4] >> (i % 4 * 8));
    }
  }
}

template <Quantization Q>
__device__ void store_scale(const QuantizeArgs& p, const ScaleExtents& extents, int64_t row, int64_t column,
                            uint32_t code) {
  if (row >= extents.padded_rows || column >= extents.padded_columns) return;
  if (row >= extents.rows || column >= extents.columns) code = 0;
  const int64_t at = extents.at(p.layout, row, column);
  if constexpr (scale_dtype(Q) == DType::fp32) {
    static_cast<uint32_t*>(p.scales)[at] = code;
  } else {
    static_cast<uint8_t*>(p.scales)[at] = uint8_t(code);
  }
}

// Blocks of one row: a warp has 256 columns.
template <Quantization Q, DType T, DType S, bool Vectors>
__device__ __forceinline__ void quantize_rows(const QuantizeArgs& p) {
  constexpr int lanes = block_columns(Q) / kElements;
  using Rows = FourRows<lanes>;
  const ScaleExtents extents = ScaleExtents::of(Q, p.layout, p.rows, p.columns);
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  const int64_t column = int64_t(blockIdx.x) * kWarpColumns + lane * kElements;
  float inverse_tensor_scale = 1;
  if constexpr (Q == Quantization::nvfp4) inverse_tensor_scale = tile::reciprocal(*p.tensor_scale);
  for (int64_t first = int64_t(blockIdx.y) * kCtaRows; first < extents.padded_rows;
       first += int64_t(gridDim.y) * kCtaRows) {
    const int64_t row = first + warp;
    Raw<S> raw[kAtOnce];
    load<S, Vectors>(p, row, kWarps, column, raw);
    uint32_t largest[kAtOnce], held[Rows::kHeld];
    WW_UNROLL
    for (int i = 0; i < kAtOnce; ++i) largest[i] = raw[i].largest();
    Rows::combine(lane, largest, held);
    float by[Rows::kHeld];
    WW_UNROLL
    for (int h = 0; h < Rows::kHeld; ++h) {
      const Scale factor = quantizing::scale_of<Q, T>(held[h], inverse_tensor_scale);
      by[h] = factor.by;
      if (Rows::stores(lane)) {
        const int64_t scale_row = row + (Rows::row_of(lane) + h) * kWarps;
        store_scale<Q>(p, extents, scale_row, column / block_columns(Q), factor.code);
      }
    }
    WW_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const float mine = __shfl_sync(~0u, by[i % Rows::kHeld], Rows::holder(lane, i));
      store<T, Vectors>(p, row + i * kWarps, column, raw[i], mine);
    }
  }
}

// Blocks of 128 x 128, one for each CTA at a time.
template <DType T, DType S, bool Vectors>
__device__ __forceinline__ void quantize_squares(const QuantizeArgs& p) {
  __shared__ uint32_t largest_of_warp[2][kWarps];
  const ScaleExtents extents = ScaleExtents::of(Quantization::block, p.layout, p.rows, p.columns);
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  const int64_t column = int64_t(blockIdx.x) * kBlock + int(threadIdx.x) % kBlockLanes * kElements;
  int turn = 0;  // two slots, so that a slow reader of the last one is not overtaken
  for (int64_t block = blockIdx.y; block < extents.padded_rows; block += gridDim.y, turn ^= 1) {
    const int64_t row = block * kBlock + int(threadIdx.x) / kBlockLanes;
    constexpr int apart = kThreads / kBlockLanes;
    Raw<S> raw[kBlockSteps];
    load<S, Vectors>(p, row, apart, column, raw);
    uint32_t largest = 0;
    WW_UNROLL
    for (int i = 0; i < kBlockSteps; ++i) largest = max(largest, raw[i].largest());
    largest = largest_of_lanes<32>(largest);
    if (lane == 0) largest_of_warp[turn][warp] = largest;
    __syncthreads();
    largest = largest_of_lanes<kWarps>(largest_of_warp[turn][lane % kWarps]);
    const Scale factor = quantizing::scale_of<Quantization::block, T>(largest, 1.f);
    if (threadIdx.x == 0) store_scale<Quantization::block>(p, extents, block, blockIdx.x, factor.code);
    WW_UNROLL
    for (int i = 0; i < kBlockSteps; ++i) store<T, Vectors>(p, row + i * apart, column, raw[i], factor.by);
  }
}

// Factors are positive, so their bits are ordered as they are.
template <DType S, bool Vectors>
__device__ __forceinline__ void find_tensor_scale(const QuantizeArgs& p) {
  __shared__ uint32_t largest_of_warp[kWarps];
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  const int64_t column = int64_t(blockIdx.x) * kWarpColumns + lane * kElements;
  uint32_t largest = 0;
  for (int64_t first = int64_t(blockIdx.y) * kCtaRows; first < p.rows; first += int64_t(gridDim.y) * kCtaRows) {
    Raw<S> raw[kAtOnce];
    load<S, Vectors>(p, first + warp, kWarps, column, raw);
    WW_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      float x[kElements];
      raw[i].floats(x);
      WW_UNROLL
      for (int e = 0; e < kElements; ++e) {
        const uint32_t size = quantizing::magnitude(x[e]);
        largest = max(largest, size < quantizing::kInfinity ? size : 0);
      }
    }
  }
  largest = largest_of_lanes<32>(largest);
  if (lane == 0) largest_of_warp[warp] = largest;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const uint32_t l : largest_of_warp) largest = max(largest, l);
  atomicMax(reinterpret_cast<uint32_t*>(p.tensor_scale), __float_as_uint(quantizing::tensor_scale_of(largest)));
}

}  // namespace
}  // namespace warpwright

// The entries. A source of vectors has one for each type, any other one for all.
using warpwright::DType;
using warpwright::Quantization;
using warpwright::QuantizeArgs;

#define WW_FOR_SOURCES(X, ...)                    \
  X(bf16_vectors, DType::bf16, true, __VA_ARGS__) \
  X(fp16_vectors, DType::fp16, true, __VA_ARGS__) \
  X(fp32_vectors, DType::fp32, true, __VA_ARGS__) \
  X(elements, DType::fp32, false, __VA_ARGS__)

#define WW_ROWS(source, S, vectors, kind, type)                                  \
  extern "C" __global__ void __launch_bounds__(warpwright::quantizing::kThreads) \
      quantize_##kind##_##type##_##source(const QuantizeArgs p) {                \
    warpwright::quantize_rows<Quantization::kind, DType::type, S, vectors>(p);   \
  }
#define WW_SQUARES(source, S, vectors, type)                                                               \
  extern "C" __global__ void __launch_bounds__(warpwright::quantizing::kThreads, S == DType::fp32 ? 2 : 4) \
      quantize_block_##type##_##source(const QuantizeArgs p) {                                             \
    warpwright::quantize_squares<DType::type, S, vectors>(p);                                              \
  }
#define WW_TENSOR(source, S, vectors, ...)                                       \
  extern "C" __global__ void __launch_bounds__(warpwright::quantizing::kThreads) \
      find_tensor_scale_##source(const QuantizeArgs p) {                         \
    warpwright::find_tensor_scale<S, vectors>(p);                                \
  }

WW_FOR_SOURCES(WW_ROWS, token, e4m3)
WW_FOR_SOURCES(WW_ROWS, token, e5m2)
WW_FOR_SOURCES(WW_SQUARES, e4m3)
WW_FOR_SOURCES(WW_SQUARES, e5m2)
WW_FOR_SOURCES(WW_ROWS, mx, e4m3)
WW_FOR_SOURCES(WW_ROWS, mx, e5m2)
WW_FOR_SOURCES(WW_ROWS, mx, e2m1)
WW_FOR_SOURCES(WW_ROWS, nvfp4, e2m1)
WW_FOR_SOURCES(WW_TENSOR, )
extern "C" __global__ void begin_tensor_scale(float* tensor_scale) {
  *tensor_scale = warpwright::quantizing::kSmallest;
}

// Quantization: every element is read once, eight neighbours of a row by a thread, and stays in registers while the
// largest magnitude of its block is found.
#include <algorithm>

#include "device/launch_quantize.h"
#include "warpwright/pipeline/unroll.h"

namespace warpwright::device {
namespace {

using quantizing::Factor;
using quantizing::kElements;
using quantizing::kWords;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kWarpColumns = 32 * kElements;
constexpr int kAtOnce = 4;  // rows of a warp whose loads are under way together
constexpr int kCtaRows = kWarps * kAtOnce;
constexpr int kBlock = 128;  // rows and columns of a block
constexpr int kBlockLanes = kBlock / kElements;
constexpr int kBlockSteps = kBlock * kBlockLanes / kThreads;
constexpr int64_t kMostCtas = 65535;  // along y

// Eight elements of a row as they were loaded. They are converted later, so that the loads of several rows are under
// way together.
template <DType S>
struct Raw {
  static constexpr int kVectors = bits(S) / 16;
  uint4 vectors[kVectors];

  __device__ void floats(float (&x)[kElements]) const {
    WW_UNROLL
    for (int i = 0; i < kVectors; ++i) {
      const uint32_t words[4] = {vectors[i].x, vectors[i].y, vectors[i].z, vectors[i].w};
      WW_UNROLL
      for (int w = 0; w < 4; ++w) {
        if constexpr (S == DType::fp32) {
          x[4 * i + w] = __uint_as_float(words[w]);
        } else {
          const tile::FloatPair pair = tile::unpack2<S>(words[w]);
          x[2 * w] = pair.low;
          x[2 * w + 1] = pair.high;
        }
      }
    }
  }
  // The largest magnitude, as the bits of a float. Those of 16-bit types are ordered as the numbers are, too.
  __device__ uint32_t largest() const {
    if constexpr (S == DType::fp32) {
      float x[kElements];
      floats(x);
      uint32_t all = 0;
      WW_UNROLL
      for (int e = 0; e < kElements; ++e) all = max(all, quantizing::magnitude(x[e]));
      return all;
    } else {
      constexpr uint32_t signs = 0x7fff'7fff;
      const uint4& v = vectors[0];
      const uint32_t three = __vimax3_u16x2(v.x & signs, v.y & signs, v.z & signs);
      const uint32_t pair = __vimax3_u16x2(three, v.w & signs, v.w & signs);
      const uint32_t code = max(pair >> 16, pair & 0xffff);
      return S == DType::bf16 ? code << 16 : __float_as_uint(tile::unpack2<S>(code).low);
    }
  }
};

__device__ float widened(DType type, const void* source, int64_t at) {
  switch (type) {
    case DType::bf16:
      return to_float(bf16{static_cast<const uint16_t*>(source)[at]});
    case DType::fp16:
      return tile::widen<DType::fp16>(fp16{static_cast<const uint16_t*>(source)[at]});
    default:
      return static_cast<const float*>(source)[at];
  }
}

// Eight columns of N rows that are `apart` rows apart; zeros beyond the matrix. Without vectors elements of any source
// become fp32 one by one.
template <DType S, bool Vectors, int N>
__device__ void load(const QuantizeArgs& p, int64_t row, int apart, int64_t column, Raw<S> (&raw)[N]) {
  const int64_t first = row * p.stride + column, step = apart * p.stride;
  WW_UNROLL
  for (int i = 0; i < N; ++i) {
    if constexpr (Vectors) {
      const bool inside = row + i * apart < p.rows && column < p.columns;
      const auto* const from =
          reinterpret_cast<const uint4*>(static_cast<const uint8_t*>(p.source) + (first + i * step) * (bits(S) / 8));
      WW_UNROLL
      for (int v = 0; v < Raw<S>::kVectors; ++v) raw[i].vectors[v] = inside ? __ldg(from + v) : make_uint4(0, 0, 0, 0);
    } else {
      static_assert(S == DType::fp32);
      uint32_t words[kElements];
      WW_UNROLL
      for (int e = 0; e < kElements; ++e) {
        const bool inside = row + i * apart < p.rows && column + e < p.columns;
        words[e] = inside ? __float_as_uint(widened(p.source_type, p.source, first + i * step + e)) : 0;
      }
      raw[i].vectors[0] = make_uint4(words[0], words[1], words[2], words[3]);
      raw[i].vectors[1] = make_uint4(words[4], words[5], words[6], words[7]);
    }
  }
}

__device__ uint32_t exchange(uint32_t x, int offset) { return __shfl_xor_sync(~0u, x, offset); }

// The largest magnitudes of four rows, each over `Lanes` neighbouring lanes. Lanes take different rows over as they
// combine them: in the end lane l has row_of(l), or with two lanes row_of(l) and the one behind it, and a factor is
// made once, not by every lane for every row.
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

// Of neighbouring lanes, a power of two of them.
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
__global__ void __launch_bounds__(kThreads) quantize_rows(const QuantizeArgs p) {
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
      const Factor factor = quantizing::factor_of<Q, T>(held[h], inverse_tensor_scale);
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
__global__ void __launch_bounds__(kThreads, S == DType::fp32 ? 2 : 4) quantize_squares(const QuantizeArgs p) {
  __shared__ uint32_t largest_of_warp[2][kWarps];
  const ScaleExtents extents = ScaleExtents::of(Quantization::block, p.layout, p.rows, p.columns);
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  const int64_t column = int64_t(blockIdx.x) * kBlock + int(threadIdx.x) % kBlockLanes * kElements;
  int turn = 0;  // two slots: who is still reading the last one is not overtaken
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
    const Factor factor = quantizing::factor_of<Quantization::block, T>(largest, 1.f);
    if (threadIdx.x == 0) store_scale<Quantization::block>(p, extents, block, blockIdx.x, factor.code);
    WW_UNROLL
    for (int i = 0; i < kBlockSteps; ++i) store<T, Vectors>(p, row + i * apart, column, raw[i], factor.by);
  }
}

__global__ void begin_tensor_scale(float* tensor_scale) { *tensor_scale = quantizing::kSmallest; }

// Factors are positive, so their bits are ordered as they are.
template <DType S, bool Vectors>
__global__ void __launch_bounds__(kThreads) find_tensor_scale(const QuantizeArgs p) {
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

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
dim3 grid_of(int64_t across, int64_t down) {
  return dim3(unsigned(across), unsigned(std::clamp<int64_t>(down, 1, kMostCtas)));
}

// Calls call.template operator()<S, Vectors>() for what the loads are made for.
template <class Call>
void with_source(const QuantizeArgs& p, Call&& call) {
  if (!p.by_vectors) return call.template operator()<DType::fp32, false>();
  if (p.source_type == DType::bf16) return call.template operator()<DType::bf16, true>();
  if (p.source_type == DType::fp16) return call.template operator()<DType::fp16, true>();
  call.template operator()<DType::fp32, true>();
}

}  // namespace

Status launch_quantize(Quantization kind, DType type, bool given_tensor_scale, const QuantizeArgs& p, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  const bool empty = p.rows == 0 || p.columns == 0;
  const int64_t across = ceil_div(p.columns, kWarpColumns);
  if (kind == Quantization::nvfp4 && !given_tensor_scale) {
    begin_tensor_scale<<<1, 1, 0, on>>>(p.tensor_scale);
    if (!empty) {
      // Each CTA ends with one atomic operation on the same word: a few rounds of CTAs, not one for every 32 rows.
      constexpr int64_t ctas = 2048;
      const dim3 grid = grid_of(across, std::min(std::max<int64_t>(ctas / across, 1), ceil_div(p.rows, kCtaRows)));
      with_source(p, [&]<DType S, bool Vectors>() { find_tensor_scale<S, Vectors><<<grid, kThreads, 0, on>>>(p); });
    }
  }
  if (!empty) {
    const ScaleExtents extents = ScaleExtents::of(kind, p.layout, p.rows, p.columns);
    const dim3 rows = grid_of(across, ceil_div(extents.padded_rows, kCtaRows));
    const dim3 squares = grid_of(extents.columns, extents.padded_rows);
    quantizing::with_kind(kind, type, [&]<Quantization Q, DType T>() {
      with_source(p, [&]<DType S, bool Vectors>() {
        if constexpr (Q == Quantization::block) {
          quantize_squares<T, S, Vectors><<<squares, kThreads, 0, on>>>(p);
        } else {
          quantize_rows<Q, T, S, Vectors><<<rows, kThreads, 0, on>>>(p);
        }
      });
    });
  }
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return {};
  return std::string("the quantization could not be launched: ") + cudaGetErrorString(error) + ".";
}

}  // namespace warpwright::device

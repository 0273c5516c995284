#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>

#include "gpu/device_check.h"
#include "warpwright/epilogue/activation.h"

namespace warpwright::device_check {
namespace {

__device__ uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

__device__ float get(DType type, const void* data, int64_t i) {
  switch (type) {
    case DType::bf16:
      return __uint_as_float(uint32_t(static_cast<const uint16_t*>(data)[i]) << 16);
    case DType::fp16:
      return __half2float(static_cast<const __half*>(data)[i]);
    case DType::e4m3:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<const uint8_t*>(data)[i], __NV_E4M3)));
    case DType::e5m2:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<const uint8_t*>(data)[i], __NV_E5M2)));
    default:
      return static_cast<const float*>(data)[i];
  }
}
__device__ void put(DType type, void* data, int64_t i, float v) {
  switch (type) {
    case DType::bf16:
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(v);
      return;
    case DType::fp16:
      static_cast<__half*>(data)[i] = __float2half_rn(v);
      return;
    case DType::e4m3:
      static_cast<uint8_t*>(data)[i] = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3);
      return;
    case DType::e5m2:
      static_cast<uint8_t*>(data)[i] = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E5M2);
      return;
    default:
      static_cast<float*>(data)[i] = v;
  }
}
__device__ float rounded(DType type, float v) {
  uint32_t slot;
  put(type, &slot, 0, v);
  return get(type, &slot, 0);
}
// The most that rounding to the type can move a value of this size: half of the distance between its neighbours.
__device__ double half_ulp(DType type, double v) {
  struct Format {
    int mantissa, least_exponent;
  };
  const Format format = type == DType::bf16   ? Format{7, -126}
                        : type == DType::fp16 ? Format{10, -14}
                        : type == DType::e4m3 ? Format{3, -6}
                                              : Format{23, -126};
  const int exponent = v == 0 ? format.least_exponent : max(ilogb(v), format.least_exponent);
  return ldexp(1., exponent - format.mantissa - 1);
}

__global__ void fill_kernel(Matrix m, Values values, uint64_t seed) {
  const int64_t elements = m.rows * m.columns * m.count, step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += step) {
    const int64_t column = i % m.columns, row = i / m.columns % m.rows, batch = i / m.columns / m.rows;
    const uint64_t bits = mix(seed * 0x632be59bd9b4e019ull ^ uint64_t(i));
    float v;
    if (values == Values::integers) {
      v = float(int(bits % 7) - 3);
    } else if (values == Values::powers_of_two) {
      v = float(1 << bits % 3) * 0.5f;
    } else {  // Box and Muller
      const float u = (float(uint32_t(bits) >> 8) + 1) * 0x1p-24f, w = float(uint32_t(bits >> 32) >> 8) * 0x1p-24f;
      v = sqrtf(-2 * logf(u)) * cospif(2 * w);
    }
    put(m.type, m.data, batch * m.batch_stride + row * m.stride + column, v);
  }
}

__global__ void checksum_kernel(const ulonglong2* data, size_t count, unsigned long long* sum) {
  unsigned long long mine = 0;
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const ulonglong2 v = data[i];
    mine += (v.x ^ (v.y * 0x9e3779b97f4a7c15ull)) * (2 * i + 1);
  }
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_xor_sync(~0u, mine, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

// A tile of D: sums in float64, four by four for each thread, then the epilogue and the comparison.
constexpr int kTile = kRowBlock, kDepth = 16, kEach = 4;

__device__ double activated(Activation f, double v) {
  switch (f) {
    case Activation::relu:
      return fmax(v, 0.);
    // The functions are part of the promise, bit by bit; the simulator's tests hold them to the true ones.
    case Activation::gelu_tanh:
      return double(epilogue::gelu_tanh(float(v)));
    case Activation::gelu_erf:
      return double(epilogue::gelu_erf(float(v)));
    case Activation::silu:
      return double(epilogue::silu(float(v)));
    default:
      return v;
  }
}

// How far a sum may be from the true one. The tensor core aligns the products of one step, and what it has, to the
// largest of them and cuts off: 8-bit types keep 14 bits of fraction, the others as much as fp32. `reach` is the
// largest sum of a prefix, so no partial sum of any order of contiguous parts exceeds twice that.
__device__ double sum_error(const Product& p, double reach) {
  constexpr double products = 64;  // no product of normal values is larger
  if (bits(p.a.type) == 16) return 0x1p-22 * double(p.k / 16 + 2) * (2 * reach + products);
  // Promoted sums begin again every 128 elements.
  const double within = p.promoted ? fmin(2 * reach, 128.) : 2 * reach;
  return 0x1p-13 * double(p.k / 32 + 2) * (within + products);
}

// Compares element `at` of D with the true value, which may be off by `before` ahead of the last rounding.
__device__ void settle(const Matrix& d, bool exact, int64_t at, double v, double before, unsigned long long index,
                       Findings& mine) {
  const float have = get(d.type, d.data, at);
  bool right;
  if (have != have) {
    ++mine.unwritten;
    right = false;
  } else if (exact) {
    right = have == rounded(d.type, float(v));
  } else {
    const double rounding = half_ulp(d.type, fabs(v) + before);
    // Beyond the range 8-bit results stay at its end.
    const double error = fabs(double(have) - (d.type == DType::e4m3 ? fmin(fmax(v, -448.), 448.) : v));
    right = error <= before + rounding;
    mine.worst = fmax(mine.worst, (error - rounding) / before);
  }
  if (!right) {
    ++mine.wrong;
    mine.first_wrong = index < mine.first_wrong ? index : mine.first_wrong;
  }
}

// One thread's findings become those of all, by whole warps.
__device__ void add(Findings* findings, Findings& mine, bool exact) {
  if (mine.wrong > 0) {
    atomicAdd(&findings->wrong, mine.wrong);
    atomicAdd(&findings->unwritten, mine.unwritten);
    atomicMin(&findings->first_wrong, mine.first_wrong);
  }
  if (exact) return;
  for (int offset = 16; offset > 0; offset /= 2) {
    mine.worst = fmax(mine.worst, __shfl_xor_sync(~0u, mine.worst, offset));
  }
  // Positive doubles are ordered like their bits.
  if (threadIdx.x % 32 == 0) {
    atomicMax(reinterpret_cast<unsigned long long*>(&findings->worst),
              (unsigned long long)__double_as_longlong(mine.worst));
  }
}

__device__ void judge(const Product& p, int64_t batch, int64_t row, int64_t column, double sum, double reach,
                      Findings& mine) {
  double v = sum, scale = 1;
  if (p.scaling == Scaling::tensor) scale = double(p.a_scales[0]) * double(p.b_scales[0]);
  if (p.scaling == Scaling::row_column) {
    scale = double(p.a_scales[batch * p.m + row]) * double(p.b_scales[batch * p.n + column]);
  }
  scale *= double(p.alpha);
  v *= scale;
  double terms = fabs(v);
  if (p.c.data != nullptr) {
    const double c =
        double(p.beta) * double(get(p.c.type, p.c.data, batch * p.c.batch_stride + row * p.c.stride + column));
    v += c;
    terms += fabs(c);
  }
  if (p.bias_kind != Bias::none) {
    const double b =
        double(get(p.bias_type, p.bias, batch * p.bias_batch_stride + (p.bias_kind == Bias::per_row ? row : column)));
    v += b;
    terms += fabs(b);
  }
  v = activated(p.activation, v);
  if (p.residual.data != nullptr) {
    const double r = double(
        get(p.residual.type, p.residual.data, batch * p.residual.batch_stride + row * p.residual.stride + column));
    v = double(float(v + r));  // each node rounds once, as the kernels do
    terms += fabs(r);
  }
  const double factor = p.quantize ? double(p.d_scale) : 1;
  if (p.quantize) v = double(float(v * factor));
  // No activation is steeper than 1.13; the nodes round to fp32 five times at most.
  const double before = (1.13 * fabs(scale) * sum_error(p, reach) + 0x1p-20 * terms) * fabs(factor);
  settle(p.d, p.exact, batch * p.d.batch_stride + row * p.d.stride + column, v, before,
         (unsigned long long)((batch * p.m + row) * p.n + column), mine);
}

__global__ void __launch_bounds__(256) compare_kernel(Product p, Findings* findings) {
  __shared__ double a[kDepth][kTile + 2], b[kDepth][kTile + 2];
  const int64_t batch = blockIdx.z, row = int64_t(blockIdx.y) * kTile, column = int64_t(blockIdx.x) * kTile;
  const int tx = int(threadIdx.x % 16), ty = int(threadIdx.x / 16);
  double sums[kEach][kEach] = {}, reach[kEach][kEach] = {};
  const auto load = [&](double(&to)[kDepth][kTile + 2], const Matrix& m, Major major, int64_t line, int64_t lines,
                        int64_t k) {
    for (int i = int(threadIdx.x); i < kTile * kDepth; i += 256) {
      const int depth = major == Major::K ? i % kDepth : i / kTile, at = major == Major::K ? i / kDepth : i % kTile;
      double v = 0;
      if (line + at < lines && k + depth < p.k) {
        const int64_t from =
            major == Major::K ? (line + at) * m.stride + k + depth : (k + depth) * m.stride + line + at;
        v = double(get(m.type, m.data, (m.count == 1 ? 0 : batch * m.batch_stride) + from));
      }
      to[depth][at] = v;
    }
  };
  for (int64_t k = 0; k < p.k; k += kDepth) {
    load(a, p.a, p.a_major, row, p.m, k);
    load(b, p.b, p.b_major, column, p.n, k);
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < kDepth; ++depth) {
      double x[kEach], y[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        x[i] = a[depth][ty + 16 * i];
        y[i] = b[depth][tx + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) sums[i][j] = fma(x[i], y[j], sums[i][j]);
    }
    if (!p.exact) {
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) reach[i][j] = fmax(reach[i][j], fabs(sums[i][j]));
    }
    __syncthreads();
  }
  Findings mine;
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int64_t r = row + ty + 16 * i, c = column + tx + 16 * j;
      if (r < p.m && c < p.n) judge(p, batch, r, c, sums[i][j], reach[i][j], mine);
    }
  add(findings, mine, p.exact);
}

// The sums of rows of groups, and how far each may be off. Blocks of 128 elements along k are summed apart, each with
// its factors.
__global__ void __launch_bounds__(256) sum_groups_kernel(GroupedProduct p) {
  __shared__ double a[kDepth][kTile + 2], b[kDepth][kTile + 2];
  constexpr int64_t block_k = 128;
  const RowBlock block = p.blocks[blockIdx.x];
  const int64_t column = int64_t(blockIdx.y) * kTile, k_blocks = (p.k + block_k - 1) / block_k;
  const int64_t b_lines = (p.n + p.b_scale_rows - 1) / p.b_scale_rows;
  const bool scaled = p.a_scales != nullptr;
  const int tx = int(threadIdx.x % 16), ty = int(threadIdx.x / 16);
  double sums[kEach][kEach] = {}, reach[kEach][kEach] = {}, allowed[kEach][kEach] = {};
  for (int64_t first_k = block.first_k; first_k < block.end_k; first_k += block_k) {
    double part[kEach][kEach] = {}, part_reach[kEach][kEach] = {};
    const int64_t k_end = min(first_k + block_k, block.end_k);
    for (int64_t k = first_k; k < k_end; k += kDepth) {
      for (int i = int(threadIdx.x); i < kTile * kDepth; i += 256) {
        const int depth = i % kDepth, line = i / kDepth;
        const bool deep = k + depth < k_end;
        a[depth][line] =
            deep && line < block.rows ? double(get(p.a.type, p.a.data, (block.row + line) * p.k + k + depth)) : 0;
        b[depth][line] = deep && column + line < p.n
                             ? double(get(p.b.type, p.b.data, (block.matrix * p.n + column + line) * p.k + k + depth))
                             : 0;
      }
      __syncthreads();
      for (int depth = 0; depth < kDepth; ++depth) {
#pragma unroll
        for (int i = 0; i < kEach; ++i)
#pragma unroll
          for (int j = 0; j < kEach; ++j) part[i][j] = fma(a[depth][ty + 16 * i], b[depth][tx + 16 * j], part[i][j]);
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) part_reach[i][j] = fmax(part_reach[i][j], fabs(part[i][j]));
      __syncthreads();
    }
    const int64_t kb = first_k / block_k;
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const int64_t r = ty + 16 * i, c = column + tx + 16 * j;
        if (r >= block.rows || c >= p.n) continue;
        const double scale =
            !scaled ? 1
                    : double(p.a_scales[(block.row + r) * k_blocks + kb]) *
                          double(p.b_scales[(block.matrix * b_lines + c / p.b_scale_rows) * k_blocks + kb]);
        sums[i][j] += scale * part[i][j];
        reach[i][j] = fmax(reach[i][j], fabs(sums[i][j]) + fabs(scale) * part_reach[i][j]);
        allowed[i][j] += fabs(scale) * (2 * part_reach[i][j] + 64);
      }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int64_t r = ty + 16 * i, c = column + tx + 16 * j;
      if (r >= block.rows || c >= p.n) continue;
      const int64_t at = (block.out_row + r) * p.n + c, depth = block.end_k - block.first_k;
      // As in sum_error: four steps of the tensor core in a block of 128 bytes, then one addition in fp32 for each.
      p.sums[at] = sums[i][j];
      p.bounds[at] = scaled ? 0x1p-13 * 6 * allowed[i][j] + 0x1p-22 * double(depth / block_k + 1) * reach[i][j]
                            : 0x1p-22 * double(depth / 16 + 2) * (2 * reach[i][j] + 64);
    }
}

// A number and how far it may be off.
struct Bounded {
  double v, error;
};
__device__ Bounded biased(const GroupedProduct& p, const RowBlock& block, int64_t at, int64_t column) {
  Bounded x{p.sums[at + column], p.bounds[at + column]};
  if (p.bias != nullptr) {
    const double bias = double(get(p.bias_type, p.bias, (p.shared_bias ? 0 : block.matrix * p.n) + column));
    x = {x.v + bias, x.error + 0x1p-23 * (fabs(x.v) + fabs(bias))};
  }
  return x;
}
__device__ Bounded finished(const GroupedProduct& p, const RowBlock& block, int64_t row, int64_t column) {
  const int64_t columns = p.swiglu ? p.n / 2 : p.n, at = row * p.n;
  Bounded x = biased(p, block, at, column);
  if (p.swiglu) {
    const Bounded up = biased(p, block, at, columns + column);
    const double gate = double(epilogue::silu(float(x.v)));
    // No part of it is steeper than 1.1.
    const double error = 1.1 * x.error * (fabs(up.v) + up.error) + fabs(gate) * up.error;
    const double v = p.exact ? double(float(gate) * float(up.v)) : gate * up.v;
    x = {v, error + 0x1p-20 * (fabs(v) + fabs(up.v) * 0x1p-20)};
  }
  if (p.addend != nullptr) {
    const double before = double(p.addend[row * columns + column]);
    x = {x.v + before, x.error + 0x1p-23 * (fabs(x.v) + fabs(before))};
  }
  return x;
}

// What becomes of the sums, and whether D has it: a warp has 128 columns of a row, which share a scale in e4m3.
__global__ void __launch_bounds__(256) judge_groups_kernel(GroupedProduct p, Findings* findings) {
  constexpr int each = 4;
  const RowBlock block = p.blocks[blockIdx.x];
  const int64_t columns = p.swiglu ? p.n / 2 : p.n, first = int64_t(blockIdx.y) * 32 * each;
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  Findings mine;
  for (int64_t row = block.out_row + warp; row < block.out_row + block.rows; row += 256 / 32) {
    Bounded x[each];
    float largest = 0;
    double most_error = 0;
    for (int i = 0; i < each; ++i) {
      const int64_t c = first + lane + 32 * i;
      x[i] = c < columns ? finished(p, block, row, c) : Bounded{0, 0};
      largest = fmaxf(largest, fabsf(float(x[i].v)));
      most_error = fmax(most_error, x[i].error);
    }
    double inverse = 1;
    if (p.d_scales != nullptr) {
      for (int offset = 16; offset > 0; offset /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, offset));
        most_error = fmax(most_error, __shfl_xor_sync(~0u, most_error, offset));
      }
      const float have = p.d_scales[row * (columns / 128) + blockIdx.y];
      const float want = largest == 0 ? 1.f : fmaxf(largest * (1.f / 448), 0x1p-126f);
      const bool right =
          p.exact || largest == 0 ? have == want : fabs(double(have) * 448 - largest) <= most_error + 0x1p-20 * largest;
      if (!right && lane == 0) {
        ++mine.wrong;
        mine.first_wrong = min(mine.first_wrong, (unsigned long long)(row * columns + first));
      }
      inverse = p.exact ? double(1.f / have) : 1 / double(have);
    }
    for (int i = 0; i < each; ++i) {
      const int64_t c = first + lane + 32 * i, at = row * columns + c;
      if (c >= columns) continue;
      const double v = p.exact ? double(float(x[i].v) * float(inverse)) : x[i].v * inverse;
      // The multiplication rounds, too.
      const double error = p.d_scales != nullptr ? x[i].error + 0x1p-21 * fabs(x[i].v) : x[i].error;
      settle(p.d, p.exact, at, v, error * inverse + 0x1p-60, (unsigned long long)at, mine);
    }
  }
  add(findings, mine, p.exact);
}

template <class Element>
__global__ void stray_kernel(Matrix d, const Element* region, int64_t count, int64_t first, Findings* findings) {
  unsigned long long mine = 0;
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    if (region[i] == Element(~Element(0))) continue;
    const int64_t at = i - first;
    bool inside = false;
    if (at >= 0 && d.rows > 0 && d.columns > 0 && d.count > 0) {
      const int64_t batch = d.count == 1 ? 0 : min(at / d.batch_stride, d.count - 1);
      const int64_t within = at - batch * d.batch_stride;
      const int64_t row = d.rows == 1 ? 0 : within / d.stride;
      inside = row < d.rows && within - row * d.stride < d.columns;
    }
    mine += !inside;
  }
  if (mine > 0) atomicAdd(&findings->stray, mine);
}

__global__ void hold_kernel(uint64_t nanoseconds) {
  uint64_t begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

unsigned blocks_for(int64_t elements) { return unsigned(std::clamp<int64_t>((elements + 255) / 256, 1, 1056)); }

}  // namespace

void fill(const Matrix& m, Values values, uint64_t seed, cudaStream_t stream) {
  const int64_t elements = m.rows * m.columns * m.count;
  if (elements > 0) fill_kernel<<<blocks_for(elements), 256, 0, stream>>>(m, values, seed);
}

void add_checksum(const void* data, size_t bytes, unsigned long long* sum, cudaStream_t stream) {
  if (bytes == 0) return;
  checksum_kernel<<<blocks_for(int64_t(bytes / 16)), 256, 0, stream>>>(static_cast<const ulonglong2*>(data), bytes / 16,
                                                                       sum);
}

void compare(const Product& p, Findings* findings, cudaStream_t stream) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  const dim3 grid(unsigned((p.n + kTile - 1) / kTile), unsigned((p.m + kTile - 1) / kTile), unsigned(p.batch));
  compare_kernel<<<grid, 256, 0, stream>>>(p, findings);
}

void compare(const GroupedProduct& p, Findings* findings, cudaStream_t stream) {
  if (p.n == 0 || p.block_count == 0) return;
  const auto grid = [&](int64_t columns, int64_t wide) {
    return dim3(unsigned(p.block_count), unsigned((columns + wide - 1) / wide));
  };
  sum_groups_kernel<<<grid(p.n, kTile), 256, 0, stream>>>(p);
  judge_groups_kernel<<<grid(p.swiglu ? p.n / 2 : p.n, 128), 256, 0, stream>>>(p, findings);
}

void count_stray(const Matrix& d, const void* region, size_t bytes, Findings* findings, cudaStream_t stream) {
  const auto run = [&]<class Element>(Element) {
    const auto* const from = static_cast<const Element*>(region);
    const int64_t count = int64_t(bytes / sizeof(Element));
    stray_kernel<<<blocks_for(count), 256, 0, stream>>>(d, from, count, static_cast<const Element*>(d.data) - from,
                                                        findings);
  };
  switch (bits(d.type)) {
    case 8:
      return run(uint8_t{});
    case 16:
      return run(uint16_t{});
    default:
      return run(uint32_t{});
  }
}

void hold_multiprocessors(int blocks, uint64_t nanoseconds, cudaStream_t stream) {
  constexpr int shared = 227 * 1024;
  (void)cudaFuncSetAttribute(hold_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  hold_kernel<<<unsigned(blocks), 32, shared, stream>>>(nanoseconds);
}

}  // namespace warpwright::device_check

#include <algorithm>
#include <cmath>

#include "gpu/device_check.h"
#include "gpu/device_check_parts.cuh"

namespace warpwright::device_check {
namespace {

__device__ uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
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

// A sum after the nodes ahead of the activation.
struct Sum {
  double v, error;  // how far the tensor core's sum may be off
  double terms;     // what the roundings of the nodes go by
};
// `line` is a row of B; `column` that of D.
__device__ Sum finished(const Product& p, int64_t batch, int64_t row, int64_t line, int64_t column, double sum,
                        double reach) {
  double scale = 1;
  if (p.scaling == Scaling::tensor) scale = double(p.a_scales[0]) * double(p.b_scales[0]);
  if (p.scaling == Scaling::row_column) {
    scale = double(p.a_scales[batch * p.m + row]) * double(p.b_scales[batch * p.n + line]);
  }
  scale *= double(p.alpha);
  Sum s{sum * scale, fabs(scale) * sum_error(p, reach), fabs(sum * scale)};
  if (p.c.data != nullptr) {
    const double c =
        double(p.beta) * double(get(p.c.type, p.c.data, batch * p.c.batch_stride + row * p.c.stride + column));
    s.v += c;
    s.terms += fabs(c);
  }
  if (p.bias_kind != Bias::none) {
    const double b =
        double(get(p.bias_type, p.bias, batch * p.bias_batch_stride + (p.bias_kind == Bias::per_row ? row : line)));
    s.v += b;
    s.terms += fabs(b);
  }
  return s;
}

// From one sum for each element of D, or from two, a gate and an up.
template <int Parts>
__device__ void judge(const Product& p, int64_t batch, int64_t row, int64_t column, const Sum (&sums)[Parts],
                      Findings& mine) {
  // The nodes round to fp32 five times at most.
  constexpr double rounding = 0x1p-20;
  Bounded x;
  if constexpr (Parts == 2) {
    x = gated({sums[0].v, sums[0].error + rounding * sums[0].terms},
              {sums[1].v, sums[1].error + rounding * sums[1].terms}, p.exact);
  } else {
    // No activation is steeper than 1.13.
    x = {activated(p.activation, sums[0].v), 1.13 * sums[0].error + rounding * sums[0].terms};
  }
  if (p.residual.data != nullptr) {
    const double r = double(
        get(p.residual.type, p.residual.data, batch * p.residual.batch_stride + row * p.residual.stride + column));
    x = {double(float(x.v + r)), x.error + rounding * fabs(r)};  // each node rounds once, as the kernels do
  }
  if (p.quantize) x = {double(float(x.v * double(p.d_scale))), x.error * fabs(double(p.d_scale))};
  settle(p.d, p.exact, batch * p.d.batch_stride + row * p.d.stride + column, x.v, x.error,
         (unsigned long long)((batch * p.m + row) * p.d.columns + column), mine);
}

template <int Parts>
__global__ void __launch_bounds__(256) compare_kernel(Product p, Findings* findings) {
  __shared__ double a[kDepth][kTile + 2], b[Parts][kDepth][kTile + 2];
  const int64_t columns = p.d.columns;
  const int64_t batch = blockIdx.z, row = int64_t(blockIdx.y) * kTile, column = int64_t(blockIdx.x) * kTile;
  const int tx = int(threadIdx.x % 16), ty = int(threadIdx.x / 16);
  double sums[Parts][kEach][kEach] = {}, reach[Parts][kEach][kEach] = {};
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
    // For a pair, B is [gates; ups].
    for (int part = 0; part < Parts; ++part) {
      load(b[part], p.b, p.b_major, part * columns + column, (part + 1) * columns, k);
    }
    __syncthreads();
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
#pragma unroll
      for (int depth = 0; depth < kDepth; ++depth) {
        double x[kEach], y[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          x[i] = a[depth][ty + 16 * i];
          y[i] = b[part][depth][tx + 16 * i];
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i)
#pragma unroll
          for (int j = 0; j < kEach; ++j) sums[part][i][j] = fma(x[i], y[j], sums[part][i][j]);
      }
      if (p.exact) continue;
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) reach[part][i][j] = fmax(reach[part][i][j], fabs(sums[part][i][j]));
    }
    __syncthreads();
  }
  Findings mine;
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int64_t r = row + ty + 16 * i, c = column + tx + 16 * j;
      if (r >= p.m || c >= columns) continue;
      Sum of_parts[Parts];
#pragma unroll
      for (int part = 0; part < Parts; ++part) {
        of_parts[part] = finished(p, batch, r, part * columns + c, c, sums[part][i][j], reach[part][i][j]);
      }
      judge(p, batch, r, c, of_parts, mine);
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
  const dim3 grid(unsigned((p.d.columns + kTile - 1) / kTile), unsigned((p.m + kTile - 1) / kTile), unsigned(p.batch));
  if (is_pair(p.activation)) {
    compare_kernel<2><<<grid, 256, 0, stream>>>(p, findings);
  } else {
    compare_kernel<1><<<grid, 256, 0, stream>>>(p, findings);
  }
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

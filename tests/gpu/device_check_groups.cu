// The comparison of products by groups.
#include "gpu/device_check_parts.cuh"

namespace warpwright::device_check {
namespace {

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
  if (p.swiglu) x = gated(x, biased(p, block, at, columns + column), p.exact);
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

}  // namespace

void compare(const GroupedProduct& p, Findings* findings, cudaStream_t stream) {
  if (p.n == 0 || p.block_count == 0) return;
  const auto grid = [&](int64_t columns, int64_t wide) {
    return dim3(unsigned(p.block_count), unsigned((columns + wide - 1) / wide));
  };
  sum_groups_kernel<<<grid(p.n, kTile), 256, 0, stream>>>(p);
  judge_groups_kernel<<<grid(p.swiglu ? p.n / 2 : p.n, 128), 256, 0, stream>>>(p, findings);
}

}  // namespace warpwright::device_check

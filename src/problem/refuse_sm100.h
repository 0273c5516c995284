// What the Blackwell GEMM cannot take, refused before anything is launched: the tensor, its shape and the rule.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "problem/refused.h"
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/status.h"

namespace warpwright::problem {

// The matrices of a batch; strides count elements, and 0 shares a matrix of A or B among all of them.
struct GemmBatch {
  int count = 0;  // 0: not a batch
  int64_t a_stride = 0, b_stride = 0, d_stride = 0;
};

namespace detail {
inline Status refuse_operand(const char* which, DType type, int64_t rows, int64_t columns, const void* data,
                             int batches, int64_t batch_stride) {
  const std::string shape =
      batches > 0 ? fmt::format("{} x [{}, {}]", batches, rows, columns) : fmt::format("[{}, {}]", rows, columns);
  const std::string tensor = fmt::format("{} is {} of {}", which, shape, name(type));
  const int64_t unit = 128 / bits(type);
  if (columns % unit != 0)
    return refused(fmt::format("{}: its rows must be whole 16-byte units, so they must have a multiple of {} elements.",
                               tensor, unit));
  if (reinterpret_cast<uintptr_t>(data) % 16 != 0)
    return refused(fmt::format("{} at address {}: it must begin at a multiple of 16 bytes.", tensor, fmt::ptr(data)));
  if (batch_stride % unit != 0)
    return refused(fmt::format("{} with {} elements from one matrix to the next: that must be a multiple of {}.",
                               tensor, batch_stride, unit));
  if (batch_stride < 0)
    return refused(fmt::format("{} with a negative stride of {} between matrices.", tensor, batch_stride));
  return {};
}
}  // namespace detail

// A [m, k], B [n, k] and D [m, n], or batches of them.
inline Status refuse(const DenseGemmSm100Config& c, int m, int n, int k, const void* a, const void* b,
                     const GemmBatch& batch = {}) {
  if (m < 0 || n < 0 || k < 0) return refused(fmt::format("m = {}, n = {}, k = {}: an extent is negative.", m, n, k));
  const int batches = c.batched ? batch.count : 0;
  if (c.batched && batches < 1)
    return refused(fmt::format("batches = {}: a batched product has at least one matrix.", batches));
  if (k > 0) {
    if (Status s = detail::refuse_operand("A", c.type, m, k, a, batches, batch.a_stride); !s) return s;
    if (Status s = detail::refuse_operand("B", b_dtype(c.scaling, c.type), n, k, b, batches, batch.b_stride); !s)
      return s;
    if (c.scaling == BlockScaling::w4a8 && k % 128 != 0)
      return refused(
          fmt::format("k = {}: the TMA spreads rows of 128 e2m1 elements, so k must be a multiple of 128.", k));
    if (c.scaling == BlockScaling::w4a8 && reinterpret_cast<uintptr_t>(b) % 32 != 0)
      return refused(fmt::format("B at address {}: e2m1 elements that the TMA spreads begin at a multiple of 32 bytes.",
                                 fmt::ptr(b)));
  }
  constexpr int64_t most = INT32_MAX;
  if (c.jobs(m, n, k, c.batched ? batches : 1, 1) > most)
    return refused(fmt::format("D is [{}, {}]: it has more than {} tiles of {} x {}.", m, n, most,
                               c.tile_m * c.cluster_m, c.tile_n * c.cluster_n));
  return {};
}

// What a kernel whose clusters share the depth of a tile needs beside.
inline Status refuse_workspace(const DenseGemmSm100Config& c, const DenseGemmSm100Args& args, int64_t bytes,
                               int clusters) {
  if (c.split == DepthSplit::none) return {};
  if (c.split == DepthSplit::split_k && args.splits < 1)
    return refused(fmt::format("splits = {}: the depth is cut into at least 1 part.", args.splits));
  const int64_t need = c.workspace_bytes(args.m, args.n, args.batches, args.splits, clusters);
  if (need > 0 && args.workspace == nullptr)
    return refused(fmt::format("workspace is missing: sharing the depth of [{}, {}] x {} needs {} bytes.", args.m,
                               args.n, args.k, need));
  if (bytes < need) return refused(fmt::format("workspace has {} bytes: sharing the depth needs {}.", bytes, need));
  if (reinterpret_cast<uintptr_t>(args.workspace) % 128 != 0)
    return refused(
        fmt::format("workspace at address {}: it must begin at a multiple of 128 bytes.", fmt::ptr(args.workspace)));
  return {};
}

}  // namespace warpwright::problem

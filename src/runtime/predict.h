// The predicted time of a product on a whole H200: the grid is what a launch would take. docs/evidence/prediction.md
// compares these times with measurements.
#pragma once
#include <algorithm>
#include <stdexcept>

#include "runtime/simulate.h"
#include "sim/predict.h"
#include "warpwright/kernel/sm90/dense_gemm.h"
#include "warpwright/kernel/sm90/skinny_gemm.h"

namespace warpwright::runtime {

// Clusters do not span a GPC: cudaOccupancyMaxActiveClusters on an H200 gives these (docs/evidence/hopper-log.md).
inline int resident_clusters_h200(int cluster) {
  switch (cluster) {
    case 1:
      return 132;
    case 2:
      return 66;
    case 3:
      return 39;
    default:
      return 120 / cluster;
  }
}

// The plain product of two matrices by the kernel K of configuration C, which has `tiles` for its clusters.
template <class K, auto C>
simulator::Prediction predict(int m, int n, int k, int64_t tiles) {
  // Where the operands would lie: far apart, and nobody reads them.
  const auto operand = [](int i) { return reinterpret_cast<void*>(uintptr_t(i + 1) << 40); };
  typename K::Args args;
  if (auto why = fill(args, C, operand(0), operand(1), operand(2), m, n, k, 1.f, EncodeForSimulator{})) {
    throw std::runtime_error(*why);
  }
  const auto bytes = [](int64_t rows, int64_t columns, DType type) {
    return uint64_t(rows * columns * bits(type) / 8);
  };
  using simulator::Buffer;
  std::vector<Buffer> buffers = {{operand(0), bytes(m, k, C.type), "A"},
                                 {operand(1), bytes(n, k, C.type), "B"},
                                 {operand(2), bytes(m, n, C.out_type()), "D", Buffer::Use::output}};
  const auto clusters = uint32_t(std::min<int64_t>(resident_clusters_h200(K::plan.cluster), tiles));
  auto p = simulator::predict_kernel<K>(args, {clusters * uint32_t(K::plan.cluster), 1, 1}, std::move(buffers));
  if (!p.result.ok()) throw std::runtime_error(p.result.findings.front().text());
  return p;
}

template <DenseGemmConfig C>
simulator::Prediction predict_dense(int m, int n, int k) {
  return predict<kernel::sm90::DenseGemm<C>, C>(m, n, k, C.tiles(m, n));
}
template <SkinnyGemmConfig C>
simulator::Prediction predict_skinny(int m, int n, int k) {
  return predict<kernel::sm90::SkinnyGemm<C>, C>(m, n, k, C.tiles(m, n));
}

}  // namespace warpwright::runtime

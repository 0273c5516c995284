// Which matrices of a product `check` spreads in memory, or where it begins them, so that offsets have more than 32
// bits.
#pragma once
#include <cstdint>

#include "catalog/instance.h"
#include "reference/workload.h"
#include "warpwright/gemm.h"

namespace warpwright::simulate {

// Matrices that threads find by strides: rows of which the third begins beyond 2^31 elements or, of a batch, matrices
// of which the second does. AMD's kernels see the rows of a matrix as a whole, and take no such distances of them.
class FarRows {
 public:
  explicit FarRows(const catalog::Instance& instance) {
    const auto* const dense = instance.as<DenseGemmConfig>();
    const auto* const blackwell = instance.as<DenseGemmSm100Config>();
    const auto* const cdna = instance.as<CdnaMatmulConfig>();
    const bool copies = copies_ = instance.as<MmaSyncGemmConfig>() != nullptr;
    only_batches_ = cdna != nullptr;
    by_threads_ = dense != nullptr && dense->load == Mover::threads;
    rows_of_operands_ = by_threads_;
    operands_ = by_threads_ || copies || (cdna != nullptr && cdna->general);
    result_ = copies || (cdna != nullptr && cdna->general) || (dense != nullptr && dense->store == Mover::threads) ||
              (blackwell != nullptr && blackwell->store_stages == 0);
    addends_ = copies || cdna != nullptr || dense != nullptr || instance.as<SkinnyGemmConfig>() != nullptr ||
               (blackwell != nullptr && blackwell->epilogue_load_stages == 0);
    half_aligned_ = copies || blackwell != nullptr;
  }
  bool any(const GemmProblem& p) const {
    if (p.batch == 1 && only_batches_) return false;
    const bool bias = p.batch > 1 && p.epilogue.bias != Bias::none;
    return (p.batch == 1 ? rows_of_operands_ : operands_) || result_ ||
           (addends_ && (p.beta != 0 || p.epilogue.residual || bias));
  }
  GemmProblem of(GemmProblem p) const {
    const bool batch = p.batch > 1;
    const int64_t batch_distance = (int64_t(3) << 31) + 64 + (by_threads_ ? 1 : 0);
    const auto spread = [&](MatrixLayout& m) {
      if (!batch) m.stride = (int64_t(1) << 30) + 64 + (by_threads_ ? 1 : 0);
      if (batch && m.batch_stride != 0) m.batch_stride = batch_distance;
    };
    if (batch ? operands_ : rows_of_operands_) spread(p.a), spread(p.b);
    // The farthest that rows along k may lie apart.
    if (copies_ && !batch) p.a.stride = p.b.stride = (int64_t(1) << 26) / bits(p.a.type) - 128 / bits(p.a.type);
    if (result_) spread(p.d);
    // Rows at every second half of a vector.
    if (result_ && half_aligned_ && !batch) p.d.stride += 64 / bits(p.d.type);
    if (addends_ && p.beta != 0) spread(p.c);
    if (addends_ && p.epilogue.residual) spread(p.epilogue.residual_layout);
    if (addends_ && batch && p.epilogue.bias != Bias::none) p.epilogue.bias_batch_stride = batch_distance;
    return p;
  }

 private:
  bool only_batches_ = false, rows_of_operands_ = false, operands_ = false, result_ = false, addends_ = false,
       by_threads_ = false, half_aligned_ = false, copies_ = false;
};

// For groups of rows: so many rows of A and D lie ahead of the first group and do not exist, with which the first
// offset in D is beyond 2^31. 0: none.
inline int64_t rows_ahead(const catalog::Instance& instance, reference::Case s) {
  const auto* const c = instance.as<GroupedGemmSm100Config>();
  const auto* const blockwise = instance.as<BlockwiseFp8Sm100Config>();
  const bool rows_alone = (c != nullptr && !c->by_depth && !c->pointers && !c->gathered) ||
                          (blockwise != nullptr && blockwise->grouped && !blockwise->by_depth && !blockwise->gathered &&
                           blockwise->split == DepthSplit::none);
  if (s.condition != reference::Condition::far || !rows_alone) return 0;
  const bool pairs = c != nullptr && (c->epilogue.pair() || c->out_scaling != BlockScaling::none);
  return (int64_t(1) << 31) / (pairs ? s.n / 2 : s.n) / 4 * 4 + 4;
}

}  // namespace warpwright::simulate

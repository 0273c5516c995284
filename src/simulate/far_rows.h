// Which matrices of a product `check` spreads in memory, so that offsets have more than 32 bits.
#pragma once
#include <cstdint>

#include "catalog/instance.h"
#include "warpwright/gemm.h"

namespace warpwright::simulate {

// Matrices whose rows threads find by a stride, and a stride at which the third row begins beyond 2^31 elements; of a
// batch, the third matrix. AMD's kernels take no such distances, and see a matrix as a whole.
class FarRows {
 public:
  explicit FarRows(const catalog::Instance& instance) {
    const auto* const dense = instance.as<DenseGemmConfig>();
    const auto* const blackwell = instance.as<DenseGemmSm100Config>();
    const bool copies = instance.as<MmaSyncGemmConfig>() != nullptr;
    by_threads_ = dense != nullptr && dense->load == Mover::threads;
    operands_ = by_threads_;
    result_ = copies || (dense != nullptr && dense->store == Mover::threads) ||
              (blackwell != nullptr && blackwell->store_stages == 0);
    addends_ = copies || dense != nullptr || instance.as<SkinnyGemmConfig>() != nullptr ||
               (blackwell != nullptr && blackwell->epilogue_load_stages == 0);
  }
  bool any(const GemmProblem& p) const {
    const bool bias = p.batch > 1 && p.epilogue.bias != Bias::none;
    return operands_ || result_ || (addends_ && (p.beta != 0 || p.epilogue.residual || bias));
  }
  GemmProblem of(GemmProblem p) const {
    const int64_t distance = (int64_t(1) << 30) + 64 + (by_threads_ ? 1 : 0);
    const auto spread = [&](MatrixLayout& m) {
      if (p.batch == 1) m.stride = distance;
      if (p.batch > 1 && m.batch_stride != 0) m.batch_stride = distance;
    };
    if (operands_) spread(p.a), spread(p.b);
    if (result_) spread(p.d);
    if (addends_ && p.beta != 0) spread(p.c);
    if (addends_ && p.epilogue.residual) spread(p.epilogue.residual_layout);
    if (addends_ && p.batch > 1 && p.epilogue.bias != Bias::none) p.epilogue.bias_batch_stride = distance;
    return p;
  }

 private:
  bool operands_ = false, result_ = false, addends_ = false, by_threads_ = false;
};

}  // namespace warpwright::simulate

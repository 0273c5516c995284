// Which matrices of a product `check` spreads in memory, so that offsets have more than 32 bits.
#pragma once
#include <cstdint>

#include "catalog/instance.h"
#include "warpwright/gemm.h"

namespace warpwright::simulate {

// Matrices whose rows threads find by a stride, and a stride at which the third row begins beyond 2^31 elements. AMD's
// kernels take no such distances, and see a matrix as a whole.
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
    return p.batch == 1 && (operands_ || result_ || (addends_ && (p.beta != 0 || p.epilogue.residual)));
  }
  GemmProblem of(GemmProblem p) const {
    const auto spread = [&](MatrixLayout& m) { m.stride = (int64_t(1) << 30) + 64 + (by_threads_ ? 1 : 0); };
    if (operands_) spread(p.a), spread(p.b);
    if (result_) spread(p.d);
    if (addends_ && p.beta != 0) spread(p.c);
    if (addends_ && p.epilogue.residual) spread(p.epilogue.residual_layout);
    return p;
  }

 private:
  bool operands_ = false, result_ = false, addends_ = false, by_threads_ = false;
};

}  // namespace warpwright::simulate

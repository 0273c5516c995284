// The factor of a plain epilogue.
#pragma once
#include "warpwright/core/dtype.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/kernel/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Alpha, and the factors of the two operands where each has one for all of its elements: a kernel reads them once and
// not in the epilogue of every tile. Operands without factors have null. Returns 1 where the epilogue of configuration
// C is not plain and reads them itself.
template <auto C>
WW_FN float plain_factor(const EpilogueArgs& epilogue, const float* first_scale, const float* second_scale) {
  if constexpr (!C.plain_epilogue()) return 1.f;
  float factor = epilogue.alpha;
  if (epilogue.alpha_at != nullptr)  // unreached: the API has no alpha in device memory
    factor = machine::load(Global<const float>{epilogue.alpha_at});
  if constexpr (C.scaling == Scaling::tensor) {
    if (first_scale != nullptr) {
      factor = tile::multiply(factor, tile::multiply(machine::load(Global<const float>{first_scale}),
                                                     machine::load(Global<const float>{second_scale})));
    }
  }
  return factor;
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

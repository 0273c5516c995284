#include <cstdint>

#include "launch/other_dense.h"

namespace warpwright::launch {

void fill(CdnaMatmulArgs& args, const GemmProblem& p, const problem::Lowered& low, const GemmPointers& pointers) {
  const auto row_bytes = [](const problem::StoredMatrix& m) { return uint32_t(m.stride * bits(m.type) / 8); };
  args = {};
  args.a = {static_cast<const uint8_t*>(pointers.a)};
  args.b = {static_cast<const uint8_t*>(pointers.b)};
  args.d = {static_cast<uint8_t*>(pointers.d)};
  args.m = uint32_t(p.m);
  args.n = uint32_t(p.n);
  args.k = uint32_t(p.k);
  args.a_row_bytes = row_bytes(low.a);
  args.b_row_bytes = row_bytes(low.b);
  args.d_row_bytes = row_bytes(low.d);
  args.alpha = p.alpha;
}

}  // namespace warpwright::launch

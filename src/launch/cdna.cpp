#include <cstdint>

#include "launch/other_dense.h"

namespace warpwright::launch {

void fill(CdnaMatmulArgs& args, const CdnaMatmulConfig& c, const GemmProblem& p, const problem::Lowered& low,
          const GemmPointers& pointers) {
  const auto bytes = [](const problem::StoredMatrix& m, int64_t elements) { return elements * bits(m.type) / 8; };
  // The stride of a single row is never used, and may be anything.
  const auto stride = [](const problem::StoredMatrix& m) { return m.rows > 1 ? m.stride : 0; };
  const auto batch_bytes = [&](const problem::StoredMatrix& m) { return m.count > 1 ? bytes(m, m.batch_stride) : 0; };
  // From a row of A, or a column of B, to the next. Without depth none of them is read, whatever the strides are.
  const auto row_bytes = [&](const problem::StoredMatrix& m, Major major) {
    return p.k == 0 ? 0 : uint32_t(bytes(m, major == Major::K ? stride(m) : 1));
  };
  const auto k_bytes = [&](const problem::StoredMatrix& m, Major major) {
    return uint32_t(bytes(m, major == Major::K ? 1 : stride(m)));
  };
  args.a = {static_cast<const uint8_t*>(p.k == 0 ? nullptr : pointers.a)};
  args.b = {static_cast<const uint8_t*>(p.k == 0 ? nullptr : pointers.b)};
  args.d = {static_cast<uint8_t*>(pointers.d)};
  args.m = uint32_t(p.m);
  args.n = uint32_t(p.n);
  args.k = uint32_t(p.k);
  args.a_row_bytes = row_bytes(low.a, p.a.major);
  args.b_row_bytes = row_bytes(low.b, p.b.major);
  args.d_row_bytes = uint32_t(bytes(low.d, stride(low.d)));
  args.alpha = p.alpha;
  if (!c.general) return;
  args.a_k_bytes = k_bytes(low.a, p.a.major);
  args.b_k_bytes = k_bytes(low.b, p.b.major);
  args.batches = uint32_t(p.batch);
  args.a_batch_bytes = batch_bytes(low.a);
  args.b_batch_bytes = batch_bytes(low.b);
  args.d_batch_bytes = batch_bytes(low.d);
  args.nodes = low.shape.epilogue;
  args.epilogue = epilogue_of(p, low);
  set_addresses(args.epilogue, p, pointers);
}

}  // namespace warpwright::launch

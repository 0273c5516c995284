#include <cstdint>

#include "launch/other_dense.h"
#include "launch/refuse_sm80.h"

namespace warpwright::launch {

Status fill(MmaSyncGemmArgs& args, const MmaSyncGemmConfig& c, const GemmProblem& p, const problem::Lowered& low,
            const GemmPointers& pointers) {
  const auto step = [](const problem::StoredMatrix& m) { return m.count == 1 ? 0 : m.batch_stride; };
  args.a = pointers.a;
  args.b = pointers.b;
  args.d = pointers.d;
  // The stride of a single row is never used, and may be anything.
  const auto rows = [](const problem::StoredMatrix& m) { return m.rows > 1 ? m.stride : 0; };
  args.a_stride = rows(low.a);
  args.b_stride = rows(low.b);
  args.d_stride = rows(low.d);
  args.a_batch_stride = step(low.a);
  args.b_batch_stride = step(low.b);
  args.d_batch_stride = step(low.d);
  args.batches = int(p.batch);
  args.m = int(p.m);
  args.n = int(p.n);
  args.k = int(p.k);
  args.epilogue = epilogue_of(p, low);
  set_addresses(args.epilogue, p, pointers);
  return p.k == 0 ? Status() : refuse_rows(c, args);
}

}  // namespace warpwright::launch

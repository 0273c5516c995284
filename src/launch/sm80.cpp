#include <cstdint>

#include "launch/other_dense.h"
#include "launch/refuse_sm80.h"

namespace warpwright::launch {

Status fill(MmaSyncGemmArgs& args, const MmaSyncGemmConfig& c, const GemmProblem& p, const problem::Lowered& low,
            const GemmPointers& pointers) {
  args = {};
  args.a = pointers.a;
  args.b = pointers.b;
  args.d = pointers.d;
  args.a_stride = low.a.stride;
  args.b_stride = low.b.stride;
  args.d_stride = low.d.stride;
  args.m = int(p.m);
  args.n = int(p.n);
  args.k = int(p.k);
  args.epilogue = epilogue_of(p, low);
  set_addresses(args.epilogue, pointers);
  return p.k == 0 ? Status() : refuse_rows(c, args);
}

}  // namespace warpwright::launch

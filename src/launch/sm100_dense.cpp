#include <cstdint>
#include <string>

#include "launch/host_kernels.h"
#include "launch/other_dense.h"

namespace warpwright::launch {

Status fill(DenseGemmSm100Args& args, const DenseGemmSm100Config& c, const GemmProblem& p, const problem::Lowered& low,
            const GemmPointers& pointers, const MapEncoder& maps) {
  const auto step = [](const problem::StoredMatrix& m) { return m.count == 1 ? 0 : m.batch_stride; };
  const int splits = args.splits;
  DenseGemmSm100Config operands = c;  // the maps of the epilogue follow when it knows its matrices
  operands.store_stages = operands.epilogue_load_stages = 0;
  const problem::GemmBatch batch{c.batched ? int(p.batch) : 0, step(low.a), step(low.b), step(low.d)};
  if (Status s = fill(args, operands, const_cast<void*>(pointers.a), const_cast<void*>(pointers.b), pointers.d,
                      int(p.m), int(p.n), int(p.k), p.alpha, maps, batch);
      !s) {
    return s;
  }
  args.splits = splits;
  args.weights_are_constant = p.b_is_constant;
  args.d_row_stride = low.d.stride;
  args.epilogue = epilogue_of(p, low);
  set_addresses(args.epilogue, p, pointers);
  if (Status s = fill_epilogue_maps(args, c, args.batches, args.d_batch_stride, maps); !s) return s;
  if (!c.scaled()) return {};
  return fill_block_scales(args, c, const_cast<void*>(pointers.a_block_scales),
                           const_cast<void*>(pointers.b_block_scales), maps);
}

}  // namespace warpwright::launch

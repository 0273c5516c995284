#include <cstdint>
#include <optional>
#include <string>

#include "launch/host_kernels.h"
#include "launch/other_dense.h"

namespace warpwright::launch {

Status fill(DenseGemmSm100Args& args, const DenseGemmSm100Config& c, const GemmProblem& p, const problem::Lowered& low,
            const GemmPointers& pointers, const MapEncoder& maps) {
  const auto encode = [&](const MatrixMap& matrix, TensorMap& map) -> std::optional<std::string> {
    const Status s = maps.encode(spec_of(matrix), map);
    return s ? std::nullopt : std::optional(s.message());
  };
  const auto step = [](const problem::StoredMatrix& m) { return m.count == 1 ? 0 : m.batch_stride; };
  const auto failed = [](const std::optional<std::string>& why) {
    return why ? Status(Code::invalid_argument, *why) : Status();
  };
  const int splits = args.splits;
  DenseGemmSm100Config operands = c;  // the maps of the epilogue follow when it knows its matrices
  operands.store_stages = operands.epilogue_load_stages = 0;
  const problem::GemmBatch batch{c.batched ? int(p.batch) : 0, step(low.a), step(low.b), step(low.d)};
  if (auto why = fill(args, operands, const_cast<void*>(pointers.a), const_cast<void*>(pointers.b), pointers.d,
                      int(p.m), int(p.n), int(p.k), p.alpha, encode, batch)) {
    return failed(why);
  }
  args.splits = splits;
  args.weights_are_constant = p.b_is_constant;
  args.d_row_stride = low.d.stride;
  args.epilogue = epilogue_of(p, low);
  set_addresses(args.epilogue, pointers);
  if (auto why = fill_epilogue_maps(args, c, args.batches, args.d_batch_stride, encode)) return failed(why);
  if (!c.scaled()) return {};
  return failed(fill_block_scales(args, c, const_cast<void*>(pointers.a_block_scales),
                                  const_cast<void*>(pointers.b_block_scales), encode));
}

}  // namespace warpwright::launch

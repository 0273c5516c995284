// The arguments of Blackwell's products by groups and with blockwise scales.
#include <algorithm>

#include "launch/grouped.h"
#include "launch/host_grouped.h"

namespace warpwright::launch {
namespace {

GroupedOperands operands_of(const GroupedProblem& p, const GroupedPointers& pointers) {
  GroupedOperands o;
  const bool blocks = p.scaling != BlockScaling::none;
  o.a = const_cast<void*>(pointers.a);
  o.b = const_cast<void*>(pointers.b);
  o.a_scales = const_cast<void*>(blocks ? pointers.a_block_scales : pointers.a_scales);
  o.b_scales = const_cast<void*>(blocks ? pointers.b_block_scales : pointers.b_scales);
  o.d = pointers.d;
  o.a_scale_tiles = pointers.a_block_rows;
  o.n = int(p.n);
  o.k = int(p.k);
  o.table = table_of(p, pointers);
  o.accumulate = p.accumulate;
  if (p.bias != Bias::none) o.bias = pointers.bias;
  o.bias_stride = p.bias == Bias::per_row || p.shared_bias ? 0 : p.n;
  o.beta = p.beta;
  o.matrix_alpha = pointers.matrix_alpha;
  o.d_scales = p.out_scaling != BlockScaling::none ? pointers.d_block_scales : pointers.d_scales;
  o.d_scale_tiles = pointers.d_block_rows;
  if (p.gathered) {
    o.index = pointers.index;
    o.a_rows = int(p.a_rows);
  }
  return o;
}

}  // namespace

Status fill_sm100(Arguments& args, const catalog::Instance& instance, const GroupedProblem& p,
                  const GroupedPointers& pointers, const MapEncoder& maps) {
  const GroupedOperands o = operands_of(p, pointers);
  if (const auto* c = instance.as<GroupedGemmSm100Config>()) {
    return fill(args.emplace<GroupedGemmSm100Args>(), *c, o, maps);
  }
  const auto& blockwise = *instance.as<BlockwiseFp8Sm100Config>();
  auto& to = args.emplace<BlockwiseFp8Sm100Args>();
  EpilogueArgs nodes;
  fill_nodes(nodes, o);
  const Status s = blockwise.grouped ? fill(to, blockwise, o, maps)
                                     : fill(to, blockwise, o.a, o.b, o.a_scales, o.b_scales, o.d, int(p.m), int(p.n),
                                            int(p.k), maps, nodes);
  to.splits = std::max(1, instance.splits);
  return s;
}

}  // namespace warpwright::launch

#include "problem/check_depth_groups.h"

#include <fmt/format.h>

#include <cstdint>

#include "problem/refused.h"
#include "warpwright/kernel/sm90/grouped/config.h"

namespace warpwright::problem {

Status check_depth_groups(const GroupedProblem& p) {
  if (p.matrix_count > 1) {
    return refused(fmt::format("matrix_count = {}: groups along k are columns of one B.", p.matrix_count));
  }
  if (p.out == DType::e4m3) return refused("out = e4m3: D of groups along k must be fp32 or bf16.");
  if (p.activation != Activation::none || p.bias != Bias::none) {
    return refused("groups = by_depth: groups along k have neither a bias nor an activation.");
  }
  if (p.type == DType::e4m3 && p.b_scale_rows != 1) {
    return refused(fmt::format("b_scale_rows = {}: groups along k have a scale for each row of B, so it must be 1.",
                               p.b_scale_rows));
  }
  if (p.type == DType::e4m3 && p.k % kScaleBlock != 0) {
    return refused(fmt::format(
        "k = {}: groups along k of e4m3 are whole blocks that share a scale, so k must be a multiple of 128.", p.k));
  }
  if (p.accumulate && p.out != DType::fp32) {
    return refused(fmt::format("out = {}: D must be fp32 to be added to.", name(p.out)));
  }
  if (p.group_count * p.m > INT32_MAX) {
    return refused(fmt::format("m = {}: {} matrices D of that many rows have more than {} rows together.", p.m,
                               p.group_count, INT32_MAX));
  }
  return {};
}

Status check_depth_majors(const GroupedProblem& p) {
  if (p.a_major == p.b_major) return {};
  const bool b = p.b_major == Major::MN;
  return refused(fmt::format("{} = MN: A and B of groups along k are stored the same way, so {} must be MN too.",
                             b ? "b_major" : "a_major", b ? "a_major" : "b_major"));
}

}  // namespace warpwright::problem

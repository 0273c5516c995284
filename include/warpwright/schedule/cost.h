// What an op costs on a target. A body is written without costs; annotate() fills them in from one table, and an op
// that the table does not know is an error, never an op that no rule sees.
#pragma once
#include "warpwright/schedule/op.h"

namespace warpwright::schedule {

// What an op costs: which unit it takes, for how long, and which registers it defines and frees.
struct OpCost {
  ResourceKind resource = ResourceKind::none;
  int latency = 0;  // issue to result, cycles
  OpRole role = OpRole::none;
  int vgpr_def = 0;
  int vgpr_kill = 0;
  int occupancy = -1;  // cycles the unit is taken; -1: as long as the latency
  int ticks = 1;       // by how much the op raises the counter that tracks it
  OpLabel label = {};

  constexpr OpCost named(const char* stem, int digits = 2) const {
    OpCost c = *this;
    c.label = {stem, int8_t(digits)};
    return c;
  }
  constexpr bool is_known() const { return role != OpRole::none; }
  constexpr int unit_cycles() const { return occupancy < 0 ? latency : occupancy; }
};

// The costs of all ops on one target, by tag.
struct TargetCostModel {
  OpCost costs[kDataTags] = {};
  Diagnostic error = {};

  constexpr TargetCostModel& set(Tag tag, const OpCost& cost) {
    if (tag.is_data()) {
      costs[tag.value] = cost;
    } else if (error.ok()) {
      error = {
          .code = Code::tag_range, .a = Name("tag ").add(int(tag.value)), .have = tag.value, .need = kDataTags - 1};
    }
    return *this;
  }
  constexpr const OpCost& operator[](Tag tag) const { return costs[tag.is_data() ? tag.value : 0]; }
  constexpr bool knows(Tag tag) const { return tag.is_data() && costs[tag.value].is_known(); }
  constexpr Name name(const OpDesc& op) const {
    return op_name(op, op.tag.is_data() ? (*this)[op.tag].label : OpLabel{});
  }
};

// The word for an op, with the labels of a model where there is one.
constexpr Name name_with(const TargetCostModel* names, const OpDesc& op) {
  return names == nullptr ? op_name(op) : names->name(op);
}

// Framework ops carry their own cost.
constexpr Diagnostic annotate(OpDesc& op, const TargetCostModel& model) {
  if (!op.tag.is_data()) return {};
  if (!model.knows(op.tag)) return {.code = Code::cost_missing, .a = op_name(op)};
  const OpCost& c = model[op.tag];
  op.resource = c.resource;
  op.latency = c.latency;
  op.role = c.role;
  op.vgpr_def = int16_t(c.vgpr_def);
  op.vgpr_kill = int16_t(c.vgpr_kill);
  return {};
}

// The first op without a cost; the others are annotated all the same.
constexpr Diagnostic annotate(List<OpDesc>& ops, const TargetCostModel& model) {
  Diagnostic first = model.error;
  for (OpDesc& op : ops) {
    const Diagnostic d = annotate(op, model);
    if (first.ok()) first = d;
  }
  return first;
}

}  // namespace warpwright::schedule

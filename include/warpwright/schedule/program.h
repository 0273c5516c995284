// PipelineProgram: the blocks of one loop iteration. A block is expanded from its spec, unless an explicit list of ops
// replaces it; such a list must do the work of the spec it replaces.
#pragma once
#include "warpwright/schedule/block.h"

namespace warpwright::schedule {

// The blocks of one iteration, in order.
struct PipelineProgram {
  List<MMABlockSpec> blocks = {};
  List<List<OpDesc>> explicit_blocks = {};  // empty, or one (possibly empty) list for each block
  bool trailing_barrier = false;

  constexpr int size() const { return int(blocks.size()); }
  constexpr bool is_explicit(int i) const {
    return i < int(explicit_blocks.size()) && !explicit_blocks[size_t(i)].empty();
  }
  constexpr int block_entry_count(int i) const {
    return is_explicit(i) ? int(explicit_blocks[size_t(i)].size()) : blocks[size_t(i)].entry_count();
  }
  constexpr int block_start(int i) const {
    int n = 0;
    for (int j = 0; j < i; ++j) n += block_entry_count(j);
    return n;
  }
  constexpr int total_entries() const { return block_start(size()) + trailing_barrier; }

  // Position of the block's MMA; of an explicit block without one, its start.
  constexpr int mma_entry(int i) const {
    const int start = block_start(i);
    if (!is_explicit(i)) return start + blocks[size_t(i)].mma_position();
    const List<OpDesc>& ops = explicit_blocks[size_t(i)];
    for (size_t j = 0; j < ops.size(); ++j)
      if (ops[j].role == OpRole::compute) return start + int(j);
    return start;
  }

  constexpr EntryList expand(Phase phase) const {
    EntryList out;
    for (int i = 0; i < size(); ++i) {
      if (is_explicit(i)) {
        for (const OpDesc& op : explicit_blocks[size_t(i)]) append(out, op, phase);
      } else {
        blocks[size_t(i)].expand_to_list(out, phase);
      }
    }
    if (trailing_barrier) append(out, OpDesc::barrier(), phase);
    return out;
  }

  constexpr Diagnostic validate(const TargetCostModel* names = nullptr) const {
    if (!explicit_blocks.empty() && explicit_blocks.size() != blocks.size()) {
      return {.code = Code::program_shape, .a = "explicit blocks", .have = int(explicit_blocks.size()), .need = size()};
    }
    for (int i = 0; i < size(); ++i) {
      if (const Diagnostic d = blocks[size_t(i)].validate(names); !d.ok()) return d;
      if (is_explicit(i)) {
        if (const Diagnostic d = same_work(i, names); !d.ok()) return d;
      }
    }
    return {};
  }

 private:
  constexpr Diagnostic same_work(int i, const TargetCostModel* names) const {
    EntryList spec;
    blocks[size_t(i)].expand_to_list(spec, Phase::kernel);
    List<OpDesc> wanted;
    for (const ScheduleEntry& e : spec) wanted.push_back(e.op);
    return lost_op(wanted, explicit_blocks[size_t(i)], names);
  }

 public:
  // The first data op that one list has more often than the other. `have` is its count in `got`, `need` in `wanted`.
  static constexpr Diagnostic lost_op(const List<OpDesc>& wanted, const List<OpDesc>& got,
                                      const TargetCostModel* names = nullptr) {
    for (const List<OpDesc>* list : {&wanted, &got}) {
      for (const OpDesc& op : *list) {
        if (!op.tag.is_data()) continue;
        int need = 0, have = 0;
        for (const OpDesc& o : wanted) need += o.same_work(op);
        for (const OpDesc& o : got) have += o.same_work(op);
        if (have != need) return {.code = Code::op_lost, .a = name_with(names, op), .have = have, .need = need};
      }
    }
    return {};
  }
};

}  // namespace warpwright::schedule

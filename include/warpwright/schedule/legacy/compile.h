// The reference's compiler: body, edges, blocks or recipes, phases. A schedule is any type with config() and
// build_body(); schedule_config(), derive_edges(body), transform_kernel(entries, body), build_explicit_blocks(program)
// and bootstrap_frags() are optional, and so is repair(program), which the reference does not have.
#pragma once
#include "warpwright/schedule/legacy/phases.h"

namespace warpwright::schedule::legacy {

struct Compiled : Schedule {
  PipelineConfig config = {};
  ScheduleConfig schedule_config = {};
  TargetCostModel costs = {};
  List<OpDesc> declared = {};  // before any reordering
  LoopBody body = {};
  PipelineProgram program = {};  // depth >= 2
  DerivedWaits waits = {};
  List<KernelDep> kernel_deps = {};
  Diagnostics findings = {};  // what the derivation itself found; audit() adds what it never looks at
};

constexpr int stagger_index(const PipelineConfig& config, const List<OpDesc>& body, int prologue_length) {
  if (!config.warp_stagger.enabled) return prologue_length + 1;
  if (!config.warp_stagger.compute_from_body) return config.warp_stagger.fixed_amount;
  int n = 0;
  for (const OpDesc& op : body) {
    n += op.role == OpRole::global_load && op.k_offset != KOffset::k_prev && op.k_offset != KOffset::none &&
         op.stage == 0;
  }
  return n;
}

template <class S>
constexpr Compiled compile(const S& spec) {
  Compiled out;
  out.config = spec.config();
  if constexpr (requires { spec.schedule_config(); }) out.schedule_config = spec.schedule_config();
  out.costs = spec.costs();
  List<OpDesc> ops = spec.build_body();
  if (const Diagnostic d = annotate(ops, out.costs); !d.ok()) out.findings.push_back(d);
  out.declared = ops;
  if constexpr (requires { spec.logical_body(); }) {
    out.declared = spec.logical_body();
    if (const Diagnostic d = annotate(out.declared, out.costs); !d.ok()) out.findings.push_back(d);
  }
  out.body = LoopBody(ops, out.costs);
  if constexpr (requires { spec.derive_edges(ops); }) {
    out.body.edges = spec.derive_edges(ops);
  } else if (out.config.depth >= 2) {
    out.body.edges = apply_edge_rules(ops, double_buffer_rules(), out.config);
  } else {
    out.body.edges = apply_edge_rules(ops, single_buffer_rules(), out.config);
  }

  if (out.config.depth >= 2) {
    out.body.tiles_per_iteration = out.config.num_partitions;
    KernelProgram built = build_kernel_program(out.body, out.config, out.schedule_config);
    for (const Diagnostic& d : built.findings) out.findings.push_back(d);
    out.program = built.program;
    out.waits = built.waits;
    if constexpr (requires { spec.repair(out.program); }) spec.repair(out.program);
    if constexpr (requires { spec.build_explicit_blocks(out.program); }) {
      out.program.explicit_blocks = spec.build_explicit_blocks(out.program);
    }
    if (const Diagnostic d = out.program.validate(&out.costs); !d.ok()) out.findings.push_back(d);
    List<OpDesc> bootstrap;
    if constexpr (requires { spec.bootstrap_frags(); }) {
      bootstrap = spec.bootstrap_frags();
      if (const Diagnostic d = annotate(bootstrap, out.costs); !d.ok()) out.findings.push_back(d);
    }
    out.prologue = prologue_from_program(out.program, out.config, out.schedule_config, bootstrap);
    out.kernel = out.program.expand(Phase::kernel);
    out.epilogue = epilogue_from_program(out.program, out.config);
    out.kernel_deps = scan_kernel_deps(out.kernel, out.config.num_partitions);
  } else {
    const LoopCarriedSpec carried = out.config.loop_carried;
    out.prologue = follow_recipe(single_buffer_prologue_recipe(), ops, carried, Phase::prologue);
    for (const OpDesc& op : ops) append(out.kernel, op, Phase::kernel);
    if constexpr (requires { spec.transform_kernel(out.kernel, ops); }) {
      out.kernel = spec.transform_kernel(out.kernel, ops);
    }
    out.epilogue = follow_recipe(single_buffer_epilogue_recipe(), ops, carried, Phase::epilogue);
    for (const DepEdge& e : out.body.edges) out.kernel_deps.push_back({e.producer, e.consumer});
  }
  out.warp_stagger_index = stagger_index(out.config, ops, int(out.prologue.size()));
  return out;
}

}  // namespace warpwright::schedule::legacy

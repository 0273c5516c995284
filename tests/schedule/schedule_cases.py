#!/usr/bin/env python3
"""A wrong schedule does not compile: the message is the rule, and it shows the names of the ops.

usage: schedule_cases.py --compiler CXX

exit status: 0 all passed, 1 some failed, 77 the compiler is not here
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAME = """#include "warpwright/schedule/legacy/audit.h"
#include "warpwright/schedule/legacy/standing.h"
#include "warpwright/schedule/schedule.h"
using namespace warpwright::schedule;
using namespace warpwright::schedule::legacy;
namespace schedule = warpwright::schedule;
namespace db = warpwright::schedule::legacy::double_buffer;
constexpr OpDesc op(Tag tag, int stage = 0, int subtile = 0) {
  OpDesc d = OpDesc::logical(tag, 0, stage, subtile);
  annotate(d, db::mi355x_costs());
  return d;
}
constexpr Diagnostic check_edges(List<DepEdge> edges) {
  LoopBody b({op(db::load_a), op(db::mma_load_a, 0, 1), op(db::mma, 1, 1)}, db::mi355x_costs());
  b.edges = edges;
  return b.validate();
}
template <class S>
constexpr Diagnostics hazards_of(const S& s, int n) {
  const Compiled c = compile(s);
  return find_hazards(c, shape_of(s), n, model_of(s, n), c.costs);
}
constexpr PingPong sized(int heavy, int light) {
  PingPong p = PingPong::fp8();
  p.strategy = Strategy::identity;
  p.sizing = {heavy, light, 0};
  return p;
}
constexpr PingPong identity_one() {
  PingPong p;
  p.strategy = Strategy::identity;
  return p;
}
struct ThreeFrags : PingPong {
  constexpr List<OpDesc> build_body() const {
    List<OpDesc> ops = PingPong::build_body();
    const OpDesc third = ops[4];  // FB00 FA00 LA11 MMA00 FB01: the first block takes the next block's fragment
    for (size_t i = 4; i > 2; --i) ops[i] = ops[i - 1];
    ops[2] = third;
    return ops;
  }
};
constexpr ThreeFrags three_frags() {
  ThreeFrags p;
  p.strategy = Strategy::identity;
  p.max_globals = 0;
  return p;
}
constexpr Pipeline tma() { return schedule::compile(tma_ring(targets::sm90a), targets::sm90a); }
constexpr List<ScheduleEntry>& consumer(Pipeline& p) { return p.programs[kConsumer].schedule.kernel; }
// One number for all entries, the same whichever compiler evaluates it.
constexpr Diagnostic pinned(const Pipeline& p, uint32_t wanted) {
  uint32_t digest = 2166136261u;
  const auto add = [&digest](const Schedule& s) {
    for (const EntryList* list : {&s.prologue, &s.kernel, &s.epilogue}) {
      for (const ScheduleEntry& e : *list) {
        for (const int v : {int(e.op.tag.value), int(e.op.stage), int(e.op.subtile), int(e.op.wait_value),
                            int(e.source), int(e.shift)}) {
          digest = (digest ^ uint32_t(v)) * 16777619u;
        }
      }
    }
  };
  add(p.schedule);
  for (const RoleProgram& r : p.programs) add(r.schedule);
  return digest == wanted ? Diagnostic{} : Diagnostic{.code = Code::config_invalid, .a = p.name, .have = int(digest)};
}
constexpr PingPong permuted() {
  PingPong p;
  p.load_order = {1, 2, 3, 0};
  return p;
}
"""


class Case:
    """`code` is the body of a constexpr function whose result is required to be without an error."""

    def __init__(self, name, code, rule=None, names=(), plain=False):
        self.name, self.code, self.rule, self.names, self.plain = name, code, rule, names, plain

    def text(self):
        if self.plain:
            return f"#line 1 \"case_{self.name}\"\n{self.code}\n"
        return (f"#line 1 \"case_{self.name}\"\nconstexpr auto case_{self.name}() {{ {self.code} }}\n"
                f"static_assert(require<case_{self.name}>());\n")


CASES = [
    Case("right_body", "return check_edges({{0, 1}, {1, 2}, {2, 0, DepKind::anti, 1}});"),
    Case("right_block", "return MMABlockSpec{.mma = op(db::mma), .pre_op_0 = op(db::mma_load_a)}.validate();"),
    Case("safe_ping_pong", "return hazards_of(SafePingPong{}, 2);"),
    Case("safe_four_wave", "return hazards_of(SafeFourWave{}, 2);"),
    Case("default_matmul", "return hazards_of(DefaultMatmul{2}, 3);"),
    Case("safe_audit", "return audit(compile(SafePingPong{}), targets::gfx950);"),
    Case("interval_of_32", "LoopBody b({op(db::mma), op(db::mma)}, db::mi355x_costs()); "
         "return check_interval(b, targets::gfx950, {0, 16}, 32);"),
    Case("fits", "return KernelGeometry{}.check(targets::gfx950, 2);"),
    Case("compiled_ring", "return verify(compile(copy_ring(targets::sm80), targets::sm80), 3);"),
    Case("compiled_default", "return verify(compile(default_matmul(targets::gfx942), targets::gfx942), 3);"),
    Case("compiled_ping_pong", "return verify(compile(ping_pong(targets::gfx950), targets::gfx950), 2);"),
    Case("compiled_four_wave", "return verify(compile(four_wave(targets::gfx950), targets::gfx950), 3);"),
    Case("compiled_24_ops", "return verify(compile(four_wave(targets::gfx950), targets::gfx950, {.unroll = 2}), 2);"),
    Case("compiled_24_staggered", "return verify(compile(ping_pong(targets::gfx950), targets::gfx950, "
         "{.unroll = 2}), 2);"),
    Case("compiled_tma", "return verify(tma(), 6);"),
    Case("same_default", "return pinned(compile(default_matmul(targets::gfx942), targets::gfx942), 399119820u);"),
    Case("same_ping_pong", "return pinned(compile(ping_pong(targets::gfx950), targets::gfx950), 1029048930u);"),
    Case("same_four_wave", "return pinned(compile(four_wave(targets::gfx950), targets::gfx950), 2340457198u);"),
    Case("same_copy_ring", "return pinned(compile(copy_ring(targets::sm80), targets::sm80), 201604879u);"),
    Case("same_tma_ring", "return pinned(compile(tma_ring(targets::sm90a), targets::sm90a), 4168353566u);"),
    Case("same_attention", "return pinned(compile(attention_ring(targets::sm90a), targets::sm90a), 3266313726u);"),
    Case("compiled_waves", "return simulate_waves(compile(copy_ring(targets::sm80), targets::sm80), 3);"),
    Case("compiled_attention", "return verify(compile(attention_ring(targets::sm90a), targets::sm90a), 4);"),

    Case("tag", "constexpr Tag wrong = data_tag(128);", "tag_range_a_kernel_op_tag_is_0_to_127", plain=True),
    Case("tag_run_time", "return make_data_tag(200);", "TAG_RANGE", ["tag 200"]),
    Case("framework_cost", "TargetCostModel m; m.set(tags::wait_vm, {}); return m.error;", "TAG_RANGE", ["tag 129"]),
    Case("cycle", "return check_edges({{0, 1}, {1, 2}, {2, 1}});", "GRAPH_CYCLE", ["FA01", "MMA11"]),
    Case("index", "return check_edges({{0, 3}});", "GRAPH_INDEX", ["LA00", "op 3"]),
    Case("negative_index", "return check_edges({{-1, 0}});", "GRAPH_INDEX", ["op -1", "LA00"]),
    Case("self", "return check_edges({{1, 1}});", "GRAPH_SELF", ["FA01"]),
    Case("distance", "return check_edges({{0, 1, DepKind::flow, -1}});", "GRAPH_DISTANCE", ["LA00", "FA01"]),
    Case("no_cost", "PipelineBody b; b.load(data_tag(77), 0, 1, 0); return b.done(db::mi355x_costs());",
         "COST_MISSING", ["tag77.10"]),
    Case("role", "return MMABlockSpec{.mma = op(db::load_a)}.validate();", "OP_ROLE", ["tag0.00", "mma"]),
    Case("overflow", "EntryBuilder<5, Phase::kernel> b; MMABlockSpec{.mma = op(db::mma)}.expand(b); return b.error;",
         "ENTRY_OVERFLOW", ["BAR"]),
    Case("accesses", "AccessList a; for (int i = 0; i < 5; ++i) a.add({}); return a.error;", "ACCESS_CAPACITY"),
    Case("shape", "PipelineProgram p; p.blocks = {{.mma = op(db::mma)}}; p.explicit_blocks = {{}, {}}; "
         "return p.validate();", "PROGRAM_SHAPE", ["explicit blocks"]),
    Case("explicit_lost", "PipelineProgram p; p.blocks = {{.mma = op(db::mma)}}; "
         "p.explicit_blocks = {{OpDesc::barrier()}}; return p.validate();", "OP_LOST", ["tag5.00"]),
    Case("heavy_six", "return first_of(audit(compile(sized(6, 2)), targets::gfx950), Code::op_lost);",
         "OP_LOST", ["LB00@K0"]),
    Case("heavy_two", "return first_of(audit(compile(sized(2, 2)), targets::gfx950), Code::op_lost);",
         "OP_LOST", ["LA00@K0"]),
    Case("heavy_seven", "return first_of(audit(compile(sized(7, 2)), targets::gfx950), Code::op_lost);",
         "OP_LOST", ["LB00@K0"]),
    Case("three_frags", "return compile(three_frags()).findings;", "BLOCK_CAPACITY", ["FB01", "block 0"]),
    Case("identity_anti", "return audit(compile(identity_one()), targets::gfx950);", "ORDER_ANTI",
         ["FA01", "LA00@K0"]),
    Case("capacity", "return compile(sized(7, 2)).findings;", "BLOCK_CAPACITY", ["LB00@K0", "block 0"]),
    Case("anti", "return audit(compile(permuted()), targets::gfx950);", "ORDER_ANTI", ["FB01", "LB01@K0"]),
    Case("weak_wait", "return first_of(audit(compile(permuted()), targets::gfx950), Code::wait_too_weak);",
         "WAIT_TOO_WEAK", ["LA11@K-1", "FA10"]),
    Case("counter", "return check_wait(targets::gfx950, OpDesc::wait_lgkm(16));", "COUNTER_RANGE", ["LG16", "lgkmcnt"]),
    Case("wgmma", "return check_count(targets::sm90a, Counter::wgmma_group, 8, \"wait_group\");",
         "COUNTER_RANGE", ["wait_group", "wgmma"]),
    Case("no_counter", "return check_wait(targets::sm80, OpDesc::wait_lgkm(0));", "UNIT_MISSING", ["LG0", "sm80"]),
    Case("depth", "return check_shared(targets::gfx942, 3, 24 * 1024);", "SMEM_CAPACITY", ["depth 3", "gfx942"]),
    Case("geometry", "return KernelGeometry{}.check(targets::gfx950, 3);", "SMEM_CAPACITY", ["depth 3", "gfx950"]),
    Case("registers", "return check_registers(targets::gfx950, 300, 2, \"MMA00\");", "REGISTER_CAPACITY",
         ["MMA00", "gfx950"]),
    Case("trip", "return trip_count(192, 64, 2, 2);", "TRIP_COUNT", ["K 192"]),
    Case("short_trip", "return trip_count(64, 64, 1, 2);", "TRIP_COUNT", ["K 64"]),
    Case("grid", "return greedy_schedule(LoopBody({op(db::mma), op(db::mma)}));", "STRATEGY_UNSUPPORTED", ["greedy"]),
    Case("budget", "return search_order(compile(PingPong::bf16()).body, identity_order(24), "
         "{.halves = true, .penalty = 20, .node_budget = 50});", "SEARCH_BUDGET", ["FB00"]),
    Case("bf16_race", "return hazards_of(PingPong::bf16(), 1);", "HAZARD_WAR", ["FB01", "LB00@K0"]),
    Case("four_wave_race", "return first_of(hazards_of(FourWave{}, 1), Code::hazard_raw);", "HAZARD_RAW",
         ["LB01@K0", "FB01"]),
    Case("four_wave_reuse", "return first_of(hazards_of(FourWave{}, 2), Code::hazard_war);", "HAZARD_WAR",
         ["FB00", "LB00@K0"]),
    Case("four_wave_no_iteration", "return hazards_of(FourWave{}, 0);", "HAZARD_RAW", ["LB01@K0", "FB01"]),
    Case("interval", "LoopBody b({op(db::mma), op(db::mma)}, db::mi355x_costs()); "
         "return check_interval(b, targets::gfx950, {0, 16}, 31);", "II_INFEASIBLE", ["MMA00", "mma_unit"]),
    Case("compiled_interval", "return compile(copy_ring(targets::sm80), targets::sm80, {.interval = 511});",
         "II_INFEASIBLE", ["mma_unit"]),
    Case("compiled_depth", "return compile(copy_ring(targets::sm80), targets::sm80, {.depth = 11});",
         "SMEM_CAPACITY", ["depth 11", "sm80"]),
    Case("compiled_lds", "return compile(ping_pong(targets::gfx942), targets::gfx942);", "SMEM_CAPACITY",
         ["depth 2", "gfx942"]),
    Case("compiled_unit", "return compile(four_wave(targets::gfx942), targets::gfx942);", "UNIT_MISSING",
         ["16-byte LDS DMA", "gfx942"]),
    Case("compiled_registers", "BodySpec s = ping_pong(targets::gfx950); s.waves_per_simd = 4; "
         "return compile(s, targets::gfx950);", "REGISTER_CAPACITY", ["gfx950"]),
    Case("compiled_cost", "BodySpec s = copy_ring(targets::sm80); s.loop.ops[2].op.role = OpRole::none; "
         "return compile(s, targets::sm80);", "COST_MISSING", ["FA0"]),
    Case("compiled_cycle", "BodySpec s = copy_ring(targets::sm80); s.loop.ops[0].accesses.add({.space = "
         "Space::registers, .buffer = kSharedA, .regions = 1}); return compile(s, targets::sm80);",
         "GRAPH_CYCLE", ["LA", "FA0"]),
    Case("barrier_removed", "Pipeline p = compile(copy_ring(targets::sm80), targets::sm80); "
         "p.schedule.kernel.erase(1); return first_of(verify(p, 4), Code::hazard_war);", "HAZARD_WAR", ["FA1", "LA"]),
    Case("wait_weakened", "Pipeline p = compile(copy_ring(targets::sm80), targets::sm80); "
         "p.schedule.kernel[0].op.wait_value = 2; return verify(p, 4);", "HAZARD_RAW", ["LA", "FA0"]),
    Case("stale_tile", "Pipeline p = compile(copy_ring(targets::sm80), targets::sm80); "
         "p.schedule.kernel[0].op.wait_value = 2; return simulate_waves(p, 3);", "STALE_TILE", ["FA0"]),
    Case("compiled_counter", "Pipeline p = compile(four_wave(targets::gfx950), targets::gfx950); "
         "for (ScheduleEntry& e : p.schedule.kernel) if (e.op == OpDesc::wait_lgkm(8)) e.op.wait_value = 16; "
         "return first_of(verify(p, 4), Code::counter_range);", "COUNTER_RANGE", ["LG16", "lgkmcnt"]),
    Case("op_removed", "Pipeline p = compile(copy_ring(targets::sm80), targets::sm80); p.schedule.kernel.erase(10); "
         "return verify(p, 4);", "OP_LOST", ["MMA1", "tile 0"]),
    Case("priority_left_raised", "Pipeline p = compile(ping_pong(targets::gfx950), targets::gfx950); "
         "p.schedule.kernel.pop_back(); return verify(p, 2);", "PRIORITY_BALANCE", ["PR1"]),
    Case("priority_raised_twice", "Pipeline p = compile(ping_pong(targets::gfx950), targets::gfx950); "
         "for (ScheduleEntry& e : p.schedule.kernel) if (e.op == OpDesc::set_prio(0)) e.op = OpDesc::set_prio(1); "
         "return check_priorities(p.schedule.kernel);", "PRIORITY_BALANCE", ["PR1"]),
    Case("parity", "Pipeline p = tma(); consumer(p)[0].op.wait_value = 1; return verify(p, 4);", "PHASE_PARITY",
         ["full0.wait", "parity"]),
    Case("deeper_ring", "Pipeline p = tma(); consumer(p)[0].op.stage = 4; return verify(p, 6);", "PHASE_PARITY",
         ["full0.wait", "slot"]),
    Case("shallower_ring", "Pipeline p = tma(); p.programs[kProducer].schedule.kernel[0].op.stage = 2; "
         "return verify(p, 6);", "PHASE_PARITY", ["empty0.wait", "slot"]),
    Case("early_release", "Pipeline p = tma(); const ScheduleEntry wait = consumer(p)[4]; consumer(p)[4] = "
         "consumer(p)[5]; consumer(p)[5] = wait; return verify(p, 8);", "HAZARD_WAR", ["MMA", "LA"]),
    Case("weak_group_wait", "Pipeline p = tma(); consumer(p)[4].op.wait_value = 2; return verify(p, 8);",
         "HAZARD_WAR", ["MMA", "LA"]),
    Case("vacuous_group_wait", "Pipeline p = tma(); consumer(p)[4].op.wait_value = 5; return find_vacuous_waits(p);",
         "SYNC_VACUOUS", ["WG5"]),
    Case("missing_full_wait", "Pipeline p = tma(); consumer(p).erase(0); return first_of(verify(p, 4), "
         "Code::hazard_raw);", "HAZARD_RAW", ["LA", "MMA"]),
    Case("missing_empty_wait", "Pipeline p = tma(); p.programs[kProducer].schedule.kernel.erase(0); "
         "return first_of(verify(p, 8), Code::hazard_war);", "HAZARD_WAR", ["MMA", "LA"]),
    Case("arrivals", "Pipeline p = tma(); p.rings[0].empty_arrivals = 1; return verify(p, 4);", "ARRIVAL_COUNT",
         ["empty0.arrive", "A+B"]),
    Case("expected_bytes", "Pipeline p = tma(); p.rings[0].tile_bytes = 16; return verify(p, 1);", "ARRIVAL_COUNT",
         ["bytes", "A+B"]),
    Case("deadlock", "Pipeline p = tma(); p.rings[0].empty_arrivals = 3; return first_of(verify(p, 8), "
         "Code::deadlock);", "DEADLOCK", ["empty0.wait"]),
    Case("fence", "Pipeline p = tma(); consumer(p).erase(1); return verify(p, 4);", "FENCE_MISSING", ["MMA"]),
    Case("exact_size", "return modulo_schedule(compile(PingPong::fp8()).body, targets::gfx950, Exact{});",
         "STRATEGY_UNSUPPORTED", ["exact"]),
    Case("versions", "const Compiled c = compile(identity_one()); return simulate_versions(c, PingPongModel::shape(), "
         "1, model_of(identity_one(), 1), c.costs);", "VERSION_MISMATCH", ["MMA10"]),
]


def family(compiler):
    name = pathlib.Path(compiler).name
    return "nvcc" if "nvcc" in name else "clang" if "clang" in name else "gcc"


def shows(log, name, kind):
    """nvcc prints a character array element by element."""
    return ", ".join(f"'{c}'" for c in name) in log if kind == "nvcc" else f'"{name}"' in log


def problem(case, log, kind):
    if case.rule is None:
        return "must compile" if log else ""
    if not log:
        return "must not compile, but does"
    if case.rule not in log:
        return f"refused without {case.rule}"
    missing = [name for name in case.names if not shows(log, name, kind)]
    return f"the message does not show {', '.join(missing)}" if missing else ""


def compile_all(compiler, kind, folder, cases):
    """The errors of a compilation, or an empty string."""
    source = pathlib.Path(folder) / ("case.cu" if kind == "nvcc" else "case.cpp")
    source.write_text(FRAME + "".join(case.text() for case in cases))
    flags = (["--expt-relaxed-constexpr", "-gencode", "arch=compute_90a,code=sm_90a", "-ptx", "-o",
              str(source.with_suffix(".ptx"))] if kind == "nvcc" else ["-fsyntax-only", "-ftemplate-backtrace-limit=0"])
    run = subprocess.run([compiler, "-std=c++20", *flags, f"-I{ROOT / 'include'}", str(source)], capture_output=True,
                         text=True, errors="replace", check=False)
    log = run.stderr + run.stdout
    return "" if run.returncode == 0 else log or "failed"


def logs_by_case(compiler, kind, folder, cases):
    """nvcc goes on after an error, so wrong cases share a compilation; each block names its case. It ends at a hundred
    errors, and says the same refusal only once."""
    batches = []
    for case in cases:
        refusal = (case.rule, tuple(case.names))
        free = [b for b in batches if len(b) < 12 and refusal not in [(c.rule, tuple(c.names)) for c in b]]
        if not free:
            batches.append([])
            free = batches[-1:]
        free[0].append(case)
    logs = {}
    for batch in batches:
        log = compile_all(compiler, kind, folder, batch)
        for block in re.split(r"^(?=\S.*?\(\d+\): (?:error|warning))", log, flags=re.M):
            for name in set(re.findall(r"\bcase_(\w+)", block)):
                logs[name] = logs.get(name, "") + block
    return logs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--only", default="", metavar="REGEX")
    options = parser.parse_args()
    compiler, kind = shutil.which(options.compiler), family(options.compiler)
    if not compiler:
        print(f"{options.compiler} is not installed")
        return 77
    cases = [case for case in CASES if re.search(options.only, case.name)]
    good, bad = [c for c in cases if c.rule is None], [c for c in cases if c.rule is not None]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        together = compile_all(compiler, kind, folder, good)
        logs = logs_by_case(compiler, kind, folder, bad) if kind == "nvcc" else None
        for case in cases:
            if case.rule is None:
                log = together and compile_all(compiler, kind, folder, [case])
            else:
                log = logs.get(case.name, "") if logs is not None else compile_all(compiler, kind, folder, [case])
            found = problem(case, log, kind)
            detail = f": {found}\n{log[:2000]}" if found else ""
            print(f"{'FAIL' if found else 'ok  '} {case.name}{detail}", flush=True)
            passed, failed = passed + (not found), failed + bool(found)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

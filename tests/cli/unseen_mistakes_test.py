"""Mistakes in kernels of one's own that were all written before the tool was run on any of them; what it said then, and
what it says now, is in docs/evidence/planted-unseen.txt.

A mistake is a change of examples/your_kernel. Whatever it is, the tool ends in time, ends itself, leaves no file behind,
and says in one line what is wrong, with the file and the line where there is one.

Usage: unseen_mistakes_test.py TOOL [--record]
--record prints an outcome for each, and fails for none.
"""
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

from own_kernel import EXAMPLE, HEADER, SOURCE, in_parallel, tool_of

SECONDS = 500  # arrange may compute for 30 s of processor time, of which a busy machine gives little
SUM = "    float sum = 0;\n"
STORE = "    if (first_row + row < args.rows) machine::store("
READ = "const float x = machine::load(stage_at(base, stage->index()) + (row * kColumns + column));"
BODY = "    check_block_plan<RowNorms>();\n"
ONCE = "#pragma once\n"
ARRANGE = "  args.rows = int(shape.m);\n"
EXPECTED = "  std::vector<float> expected(size_t(shape.m));\n"
GRID = "return (args.rows + your::kRows - 1) / your::kRows;"
SHAPES = "{{.m = 300, .n = 512}, {.m = 1, .n = 4}, {.m = 128, .n = 36}}"
REGISTER = f'  registry.add<your::RowNorms>("row_norms", {SHAPES}, arrange);\n'
INPUT = 'arrays.input<float>("x", shape.m * shape.n)'
SOURCE_TOP = "static int arrange("
RING = "  static constexpr BlockPlan plan = make_block_plan();\n"


@dataclasses.dataclass
class Mistake:
    """What is changed, what may be said (one of the rules; none: it cannot be run, exit code 2), the words that the
    first line must have, and a text of the line that it must name."""
    changes: list
    rules: list
    names: list
    at: str = ""
    file: str = HEADER


def in_math(code):
    return [(SUM, code + SUM)]


def including(header, *changes):
    return [(ONCE, f"{ONCE}#include <{header}>\n"), *changes]


MISTAKES = {
    "a kernel throws":
        Mistake(including("stdexcept", *in_math('    if (row == 7) throw std::runtime_error("row seven");\n')),
                ["exception"], ["row seven", "math", "its last word was at row_norms\\.h:\\d+"]),
    "a kernel prints":
        Mistake(including("cstdio", *in_math('    std::printf("row %d\\n", row);\n')), ["clean"], []),
    "a kernel exits":
        Mistake(including("cstdlib", *in_math("    if (row == 7) std::exit(0);\n")),
                ["exit", "trap", "exception", "bounds.bare"], ["exit"], "std::exit(0)"),
    "a kernel aborts":
        Mistake(including("cstdlib", *in_math("    if (row == 7) std::abort();\n")),
                ["trap", "exception", "bounds.bare"], ["math"], "std::abort()"),
    "a kernel terminates":
        Mistake(including("exception", *in_math("    if (row == 7) std::terminate();\n")),
                ["trap", "exception", "bounds.bare"], ["math"], "std::terminate()"),
    "recursion without an end":
        Mistake([(BODY, BODY + "    if (deep(args.rows) == 3) return;\n"),
                 (RING, RING + "  WW_FN static int deep(int n) {\n    volatile int here = n;\n"
                               "    return deep(here + 1) + here;\n  }\n")],
                ["bounds.bare", "exception", "trap", "hang", "stack"], ["(stack|recurs)"], "volatile int here = n;"),
    "a local array of 64 MiB":
        Mistake(in_math("    volatile float many[1 << 24];\n    many[row] = 1;\n    many[(1 << 24) - 1 - row] = 2;\n"),
                ["bounds.bare", "exception", "trap", "stack"], ["stack"], "WW_FN static void math"),
    "arrange recurses without an end":
        Mistake([(SOURCE_TOP, "static int deep(int n) {\n  volatile int here = n;\n  return deep(here + 1) + here;\n}\n\n"
                  + SOURCE_TOP, SOURCE), (ARRANGE, ARRANGE + "  args.rows += deep(0);\n", SOURCE)],
                [], ["arrange", "stack"], file=SOURCE),
    "arrange throws":
        Mistake([(ARRANGE, ARRANGE + "  expected.at(expected.size()) = 1;\n", SOURCE)], [], ["arrange threw", "range_check"],
                file=SOURCE),
    "an array of fewer than no elements":
        Mistake([(INPUT, 'arrays.input<float>("x", shape.m * shape.n - 1000)', SOURCE)], [],
                ["x", "-(996|1000|488)"], file=SOURCE),
    "the output has a row too few":
        Mistake([(EXPECTED, EXPECTED.replace("shape.m", "shape.m + (shape.m > 128 ? -1 : 0)"), SOURCE),
                 ("i < x.values.size(); ++i)", "i < x.values.size() && i / size_t(shape.n) < expected.size(); ++i)", SOURCE)],
                ["bounds.global"], ["norms", "math"], "args.norms + (first_row + row)"),
    "the input has an element too few":
        Mistake([(INPUT, 'arrays.input<float>("x", shape.m * shape.n - 1)', SOURCE)], ["bounds.global"], ["x", "load"],
                "machine::tma_load("),
    "the output is not given to the kernel":
        Mistake([("args.norms = arrays", "(void)arrays", SOURCE)], ["bounds.global", "bounds.bare"], ["math", "st\\.global"],
                "args.norms + (first_row + row)"),
    "rows and columns of what is expected change places":
        Mistake([("expected[i / size_t(shape.n)]", "expected[i % size_t(shape.m)]", SOURCE)], ["result"], ["norms"]),
    "the last block is not launched":
        Mistake([(GRID, "return args.rows < your::kRows ? 1 : args.rows / your::kRows;", SOURCE)], ["result"],
                ["44 of 300", "never written"]),
    "a grid of no blocks":
        Mistake([(GRID, "return args.rows / your::kRows;", SOURCE)], [], ["arrange returned 0"], file=SOURCE),
    "a grid of a billion blocks":
        Mistake([(GRID, "return 1 << 30;", SOURCE)], [], ["arrange returned 1073741824"], file=SOURCE),
    "a ring without stages":
        Mistake([("kStages = 4,", "kStages = 0,")], [], ["stage"]),
    "no shapes":
        Mistake([(SHAPES, "{}", SOURCE)], [], ["row_norms", "shape"], file=SOURCE),
    "no kernel is registered":
        Mistake([(REGISTER, "  (void)registry;\n  (void)arrange;\n", SOURCE)], [], ["registers no kernel"], file=SOURCE),
    "two kernels with one name":
        Mistake([(REGISTER, REGISTER + REGISTER, SOURCE)], [], ["row_norms", "twice|two"], file=SOURCE),
    "the entry is misspelt":
        Mistake([("void warpwright_kernels(", "void warpwright_kernel(", SOURCE)], [], ["warpwright_kernels"], file=SOURCE),
    "two barriers with one name":
        Mistake([('plan.barrier("x.empty", kStages', 'plan.barrier("x.full", kStages'),
                 ('empty = plan.barrier("x.empty").offset', 'empty = plan.barrier("x.full").offset')],
                [], ["one name", "x\\.full"]),
    # Legal: the others meet it at their next sync_warp, and need not come when they have left.
    "half of a warp synchronizes": Mistake(in_math("    if (row % 32 < 16) machine::sync_warp();\n"), ["clean"], []),
    "odd rows elect":
        Mistake(in_math("    if (row % 2 == 1 && machine::elect_one()) return;\n"),
                ["deadlock.partial_warp", "warp.diverged", "warp.mask"], ["math"], "machine::elect_one()) return"),
    "an index that nobody set":
        Mistake([(READ, "int at;\n          if (args.columns > 4096) at = row * kColumns + column;\n"
                        "          const float x = machine::load(stage_at(base, stage->index()) + at);")],
                ["result", "bounds.shared", "bounds.region", "bounds.alignment", "race", "race.completion", "uninitialised.shared"],
                ["(math|norms)"]),
    "an offset that overflows":
        Mistake([(STORE, "    const int at = (first_row + row) * 16777216;\n" + STORE),
                 ("args.norms + (first_row + row)", "args.norms + at / 16777216")],
                ["bounds.global", "race", "result", "exception"], ["(norms|overflow)", "math"], "const int at ="),
    "a box more is loaded":
        Mistake([("for (int i = 0; i < steps(args); ++i) {\n      boxes.produce", "for (int i = 0; i <= steps(args); ++i) {\n      boxes.produce")],
                ["deadlock", "deadlock.role_exited", "exit.pending_load", "cluster.exited", "exit.pending_store", "race.in_flight", "mbarrier.inval_in_use"],
                ["load", "x"], ""),
    "math forgets the tail":
        Mistake([("for (int i = 0; i < steps(args); ++i) {\n      boxes.consume", "for (int i = 0; i < args.columns / kColumns; ++i) {\n      boxes.consume")],
                ["result", "deadlock", "deadlock.role_exited", "exit.pending_load", "cluster.exited"], ["(norms|load)"]),
    "the roles change places":
        Mistake([('plan.role("math", kMathWarps).role("load", 1);', 'plan.role("load", 1).role("math", kMathWarps);')],
                ["bounds.shared", "bounds.region", "race.completion", "race", "uninitialised.shared", "result"],
                ["(math|norms)"]),
    "a stage of another ring":
        Mistake([("constexpr TensorBox kBox", "constexpr int kOther = 7;\nconstexpr TensorBox kBox"),
                 (READ, READ.replace("stage->index()", "(stage->index() + kOther * i) % kStages"))],
                ["race.completion", "race", "uninitialised.shared", "race.in_flight"], ["x\\[", "math"], "kOther * i"),
    "a loop that never ends":
        Mistake(in_math("    for (volatile int i = 0; i >= 0;) i = 0;\n"), ["hang"], ["math"], "volatile int i"),
    "a loop of words that never ends":
        Mistake(in_math("    for (volatile int i = 0; i >= 0;) machine::sync_warp();\n"), ["livelock"], ["math"],
                "machine::sync_warp()"),
    "more memory than there is":
        Mistake(including("vector", *in_math("    std::vector<char> all(size_t(1) << 46);\n    if (all[size_t(row)] != 0) return;\n")),
                ["exception"], ["bad_alloc", "math", "its last word was at row_norms\\.h:\\d+"]),
    "a division by zero":
        Mistake(in_math("    if (row / (args.rows - 300) == 9) return;\n"), ["trap", "exception", "bounds.bare"],
                ["(division|divi|SIGFPE|Floating)", "math"], "args.rows - 300"),
    "four floats at an odd place":
        Mistake([(STORE, "    if (row % 8 == 1) machine::store((args.norms + (first_row + row)).as<Vec<float, 4>>(), Vec<float, 4>{});\n" + STORE)],
                ["bounds.alignment"], ["norms", "16"], "row % 8 == 1"),
    "a header that is not there":
        Mistake([(ONCE, ONCE + '#include "nowhere.h"\n')], [], ["nowhere\\.h", "row_norms\\.h:\\d+"]),
    "a brace too few":
        Mistake([("  static constexpr BlockPlan plan", "  void nothing() {\n  static constexpr BlockPlan plan")], [],
                ["row_norms\\.(h|cpp):\\d+"]),
    "templates without an end":
        Mistake([(RING, "  template <int N>\n  static constexpr int deep() {\n    return deep<N + 1>();\n  }\n" + RING),
                 (BODY, BODY + "    if (deep<0>() == 3) return;\n")], [], ["row_norms\\.h:\\d+", "(depth|instantiation|recurs)"]),
    "a plan without an end":
        Mistake([('  plan.role("math"', '  for (int i = 0; i >= 0; i = 1) plan.role("idle", 1);\n  plan.role("math"')], [],
                ["row_norms\\.h:\\d+"]),
    "a vector in Args":
        Mistake(including("vector", ("Global<float> norms;", "Global<float> norms;\n    std::vector<int> sizes;")), [],
                ["(row_norms\\.(h|cpp):\\d+)", "(Args|pointer|trivial)"]),
    "a function that nobody defines":
        Mistake([(RING, "  static int helper(int);\n" + RING), (BODY, BODY + "    if (helper(args.rows) == 3) return;\n")], [],
                ["helper"]),
    "a constructor of the file crashes":
        Mistake([(SOURCE_TOP, "static volatile int* nowhere = reinterpret_cast<int*>(~std::uintptr_t(63));\nstatic int bad = *nowhere;\n\n" + SOURCE_TOP, SOURCE),
                 (ARRANGE, ARRANGE + "  args.rows += bad;\n", SOURCE)], [], ["row_norms\\.cpp"], file=SOURCE),
    "a constructor of the file throws":
        Mistake([("#include <vector>", "#include <stdexcept>\n#include <vector>", SOURCE),
                 (SOURCE_TOP, 'static int fails() { throw std::runtime_error("no table"); }\nstatic int bad = fails();\n\n' + SOURCE_TOP, SOURCE),
                 (ARRANGE, ARRANGE + "  args.rows += bad;\n", SOURCE)], [], ["row_norms\\.cpp", "no table"], file=SOURCE),
}


def run(tool, mistake):
    """What the tool said, and what it left."""
    with tempfile.TemporaryDirectory() as folder:
        home, scratch = pathlib.Path(folder) / "kernel", pathlib.Path(folder) / "scratch"
        home.mkdir()
        scratch.mkdir()
        sources = {name: (EXAMPLE / name).read_text() for name in (HEADER, SOURCE)}
        for old, new, *named in mistake.changes:
            where = named[0] if named else HEADER
            assert sources[where].count(old) == 1, (old, sources[where].count(old))
            sources[where] = sources[where].replace(old, new)
        for name, text in sources.items():
            (home / name).write_text(text)
        begin = time.monotonic()
        try:
            done = subprocess.run([tool, "check", SOURCE, "--json"], cwd=home, capture_output=True, text=True,
                                  timeout=SECONDS, env={**os.environ, "TMPDIR": str(scratch)})
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            code, out, err = None, "", ""
        left = [str(p.relative_to(folder)) for p in (*home.iterdir(), *scratch.iterdir()) if p.name not in sources]
        line = next((i for i, text in enumerate(sources[mistake.file].splitlines(), 1) if mistake.at and mistake.at in text), 0)
    return {"code": code, "out": out, "err": err, "left": left, "line": line, "seconds": time.monotonic() - begin}


def judge(mistake, said):
    """An outcome and why."""
    code, err = said["code"], said["err"].strip()
    if code is None:
        return "hangs", f"it did not end in {SECONDS} s"
    if code < 0:
        return "crashes", f"the tool ended by signal {-code}"
    if said["left"]:
        return "leaves files", ", ".join(said["left"])
    last = err.splitlines()[-1] if err else ""
    if not mistake.rules:
        if code != 2:
            return "MISSED" if code == 0 else "misleading", f"exit code {code}: {last or said['out'][:200]}"
        missing = [name for name in mistake.names if not re.search(name, last)]
        return ("misleading", f"no /{'/, /'.join(missing)}/ in: {last}") if missing else ("caught", last)
    try:
        document = json.loads(said["out"])
        verdict, report, finding = document["verdict"], document["report"] or "", document["finding"] or {}
    except (ValueError, KeyError):
        return "misleading", f"exit code {code}, no document: {last or said['out'][:200]}"
    first = report.splitlines()[0] if report else ""
    if mistake.rules == ["clean"]:
        return ("caught", "clean") if verdict == "clean" else ("misleading", first)
    if verdict == "clean":
        return "MISSED", "the verdict is clean"
    if finding.get("rule") not in mistake.rules:
        return "misleading", f"{verdict}: {first}"
    missing = [name for name in mistake.names if not re.search(name, first)]
    if missing:
        return "misleading", f"no /{'/, /'.join(missing)}/ in: {first}"
    place = f"{mistake.file}:{said['line']}"
    if mistake.at and place not in first and place != f"{finding.get('file')}:{finding.get('line')}":
        return "misleading", f"{finding.get('file')}:{finding.get('line')}, not {place}: {first}"
    return "caught", first


def main(mistakes):
    """The test of all mistakes or, with --record, what is said of each."""
    tool = tool_of(sys.argv)
    results = in_parallel({name: lambda mistake=mistake: run(tool, mistake) for name, mistake in mistakes.items()})
    judged = {name: judge(mistake, results[name]) for name, mistake in mistakes.items()}
    if "--record" not in sys.argv:
        class Mistakes(unittest.TestCase):
            def test_each_is_named_in_one_line(self):
                for name, (outcome, why) in judged.items():
                    with self.subTest(name):
                        self.assertEqual(outcome, "caught", why)

        sys.exit(not unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(Mistakes)).wasSuccessful())
    counts = {}
    for name, (outcome, why) in judged.items():
        counts[outcome] = counts.get(outcome, 0) + 1
        print(f"{name:<50} {outcome:<13} {results[name]['seconds']:.1f} s\n    {why}")
    print(f"{len(mistakes)} mistakes: " + ", ".join(f"{n} {o}" for o, n in sorted(counts.items())))


if __name__ == "__main__":
    main(MISTAKES)

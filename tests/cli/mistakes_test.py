"""Mistakes of a user, each with what the tool says: the rule, the user's file and line, the object.

A mistake is a change of examples/your_kernel; docs/write-a-kernel.md explains some of them. The lines are looked up in
the changed file, so that a report of another line fails.

Usage: mistakes_test.py TOOL [unittest arguments]
"""
import dataclasses
import functools
import re
import sys
import unittest

from own_kernel import HEADER, SOURCE, check, in_parallel, tool_of

TOOL = None
SUM = "    float sum = 0;\n"
CONSUMED = "        return stdx::move(stage).release();\n      });\n    }\n    if (first_row"
PRODUCED = "        return stdx::move(stage).release();\n      });\n    }\n  }"
STORE = "if (first_row + row < args.rows) machine::store("
FULL = 'plan.barrier("x.full", kStages, 1, "math", {"load", 1});'
EMPTY = 'kMathWarps, "load", {"math", kMathWarps}'
STEPS = "for (int i = 0; i < steps(args); ++i) {\n      boxes."
GRID = "return (args.rows + your::kRows - 1) / your::kRows;"
MAP = "  arrays.map(args.x, your::kBox, x.data, shape.m, shape.n);\n"
LOAD = "machine::tma_load(stage_at(base, stage->index()), &args.x"
READ = "machine::load(stage_at(base, stage->index()) + (row * kColumns + column))"


@dataclasses.dataclass
class Finding:
    """A change, the rule it breaks, what the first line names, and a text of the line that is reported."""
    changes: list
    rule: str
    names: list
    at: str = ""  # empty: the report is of no line; CONSUMED: that where math hands its stage back
    role: str = "math"
    object: str = ""  # empty: the finding has none
    file: str = HEADER
    arguments: tuple = ()
    verdict: str = "failed"


@dataclasses.dataclass
class CompileError:
    changes: list
    sentence: str
    at: str
    file: str = HEADER


@dataclasses.dataclass
class Refusal:
    """What cannot be run: exit 2, and the sentence."""
    changes: list
    sentence: str
    file: str = SOURCE


def before_sum(code):
    return [(SUM, code + SUM)]


COMPILE_ERRORS = {
    "the consumer does not return its stage":
        CompileError([(CONSUMED, CONSUMED.replace("        return stdx::move(stage).release();\n", ""))],
                     "linear: every path of the body must return stdx::move(handle).release() of its own handle",
                     "boxes.consume("),
    "the producer does not return its stage":
        CompileError([(PRODUCED, PRODUCED.replace("        return stdx::move(stage).release();\n", ""))],
                     "linear: every path of the body must return stdx::move(handle).release() of its own handle",
                     "boxes.produce("),
    "a stage is returned on one path":
        CompileError([(PRODUCED, PRODUCED.replace("return", "if (i > 0) return"))],
                     "control reaches end of non-void function", "AFTER if (i > 0) return stdx"),
    "a receipt is dropped":
        CompileError([(CONSUMED, CONSUMED.replace("return stdx", "stdx"))],
                     "linear: a receipt is only ever returned: end the body in return stdx::move(handle).release()",
                     "        stdx::move(stage).release();"),
    "a receipt has a name":
        CompileError([(CONSUMED, CONSUMED.replace("return", "auto receipt = stdx::move(stage).release();\n        return"))],
                     "unused variable 'receipt'; it holds a receipt: linear: a receipt is only ever returned",
                     "auto receipt"),
    "a stage is released where it stands":
        CompileError([(CONSUMED, CONSUMED.replace("stdx::move(stage).release()", "stage.release()"))],
                     "linear: release() ends the handle: write stdx::move(handle).release()", "return stage.release()"),
    "a barrier is misspelt":
        CompileError([('plan.barrier("x.full").offset', 'plan.barrier("x.ful").offset')],
                     "the plan has no barrier 'x.ful'", 'plan.barrier("x.ful").offset'),
    "the second barrier of a line is misspelt":
        CompileError([('plan.barrier("x.empty").offset', 'plan.barrier("empty").offset')],
                     "the plan has no barrier 'empty'", 'plan.barrier("empty").offset'),
    "a role is misspelt":
        CompileError([('plan.role("load").first_warp', 'plan.role("laod").first_warp')],
                     "the plan has no role 'laod'", 'plan.role("laod")'),
    "a region is misspelt":
        CompileError([('plan.region("x").offset', 'plan.region("y").offset')], "the plan has no region 'y'",
                     'plan.region("y").offset'),
    "the waiter of a barrier is no role":
        CompileError([(EMPTY, EMPTY.replace('"load"', '"lod"'))],
                     "plan: a barrier names a role that the plan does not have ('x.empty', 'lod')", "check_block_plan"),
    "who arrives is no role":
        CompileError([(FULL, FULL.replace('{"load"', '{"loader"'))],
                     "plan: a barrier names a role that the plan does not have ('x.full', 'loader')", "check_block_plan"),
    "arrivals do not add up":
        CompileError([(EMPTY, EMPTY.replace('kMathWarps, "load"', 'kMathWarps - 1, "load"'))],
                     "plan: the arrivals of the roles must sum to the barrier's count ('x.empty': 4 arrivals, a count of 3)",
                     "check_block_plan"),
    "two regions have one name":
        CompileError([('plan.region("x", kBox.bytes(), kStages, 128);',
                       'plan.region("x", kBox.bytes(), kStages, 128).region("x", 16, 1, 16);')],
                     "plan: two barriers or two regions have one name ('x')", "check_block_plan"),
    "more shared memory than there is":
        CompileError([("kStages = 4,", "kStages = 16,")], "plan: shared memory exceeds 232448 bytes", "check_block_plan"),
    "a raw pointer in Args":
        CompileError([("Global<float> norms;", "Global<float> norms;\n    const float* weights;", HEADER)],
                     "Args holds a raw pointer, which code could follow without a word: declare the member as Global<T>",
                     "registry.add<", file=SOURCE),
    "a raw pointer deep in Args":
        CompileError([("Global<float> norms;", "Global<float> norms;\n    struct Part {\n      int count;\n      "
                       "const float* list[2];\n    } parts[2];", HEADER)],
                     "Args holds a raw pointer, which code could follow without a word: declare the member as Global<T>",
                     "registry.add<", file=SOURCE),
    "a word is misspelt":
        CompileError([("machine::tma_load", "machine::tma_laod")], "'tma_laod'", "machine::tma_laod"),
}

FINDINGS = {
    "half of the bytes are expected":
        Finding([("expect_bytes(kBox.bytes())", "expect_bytes(kBox.bytes() / 2)")], "mbarrier.tx_over", ["x.full[0]", "8192"],
                at="machine::tma_load", role="", object="x.full[0]"),
    "twice the bytes are expected":
        Finding([("expect_bytes(kBox.bytes())", "expect_bytes(kBox.bytes() * 2)")], "deadlock.bytes",
                ["x.full[0]", "16384 bytes were announced and never delivered"], at="boxes.consume(", object="x.full[0]"),
    "no bytes are expected":
        Finding([("        stage->expect_bytes(kBox.bytes());\n", "")], "deadlock.bytes",
                ["x.full[0]", "16384 bytes were delivered that no expect_tx announced"], at="boxes.consume(", object="x.full[0]"),
    "a count that is too low":
        Finding([(EMPTY, EMPTY.replace("kMathWarps", "kMathWarps - 1"))], "mbarrier.missing_wait", ["x.empty[0]"],
                at="CONSUMED", object="x.empty[0]"),
    "the wrong role arrives":
        Finding([('"load", {"math", kMathWarps}', '"math", {"load", kMathWarps}')], "mbarrier.foreign_arrival", ["x.empty[0]"],
                at="CONSUMED", object="x.empty[0]"),
    "each thread releases":
        Finding([("pipeline::ReleaseByWarp<", "pipeline::ReleaseByThread<")], "mbarrier.missing_wait", ["x.empty[0]"],
                at="CONSUMED", object="x.empty[0]"),
    "nobody is elected":
        Finding([("if (machine::elect_one()) load(", "load(")], "mbarrier.over_arrival", ["x.full[0]"],
                at="stage->expect_bytes", role="load", object="x.full[0]"),
    "barriers are not set up":
        Finding([("    pipeline::set_up_barriers<RowNorms>(base);\n", "")], "mbarrier.invalid", ["x.full[0]"],
                at="boxes.consume(", object="x.full[0]"),
    "readers are said to be asynchronous":
        Finding([("Readers::threads", "Readers::async")], "race.proxy", ["x[0]+0", "fence.proxy.async"], at="machine::tma_load",
                role="load", object="x[0]+0"),
    "a stage is read after its release":
        Finding([(CONSUMED, CONSUMED.replace("      });\n", "      });\n      sum += machine::load(stage_at(base, i % kStages) + row);\n"))],
                "race", ["x[0]"], at="machine::tma_load", role="load", object="x[0]+0"),
    "the next stage is read":
        Finding([(READ, READ.replace("stage->index()", "stage->index() + 1"))], "race.completion", ["x[1]+0"],
                at="stage->index() + 1", object="x[1]+0"),
    "a stage is read before it was filled":
        Finding([(SUM, "    float sum = machine::load(stage_at(base, 0) + row);\n")], "uninitialised.shared", ["x[0]+124"],
                at="float sum =", object="x[0]+124"),
    "shared memory is read past its end":
        Finding([(READ, READ.replace("stage->index()", "stage->index() + 9"))], "bounds.shared", ["shared offset 147456"],
                at="stage->index() + 9"),
    "four floats at the address of one":
        Finding([(SUM, "    float sum = machine::load((stage_at(base, 0) + 1).as<Vec<float, 4>>())[0];\n")],
                "bounds.alignment", ["x[0]+4, which is not a multiple of 16"], at="float sum =", object="x[0]+4"),
    "a box lands between two places":
        Finding([(LOAD, LOAD.replace("stage->index())", "stage->index()) + 1"))], "tma.alignment", ["x[0]+4"],
                at="machine::tma_load", role="load"),
    "the tensor map is not filled":
        Finding([(MAP, "")], "tma.map", ["not a tensor map"], at="machine::tma_load", role="load", file=SOURCE),
    "the tensor map has more rows than the array":
        Finding([(MAP, MAP.replace("shape.m,", "shape.m + 5,"))], "bounds.global", ["the end of x, which has 614400 bytes"],
                at="machine::tma_load", role="load", object="x", file=SOURCE),
    "the store is not guarded":
        Finding([(STORE, "machine::store(")], "bounds.global", ["16 bytes past the end of norms"],
                at="    machine::store(", object="norms"),
    "two blocks store to one place":
        Finding([("args.norms + (first_row + row)", "args.norms + row")], "race", ["norms+"],
                at="args.norms + row", object="norms+64"),
    "the output is read":
        Finding([(SUM, "    float sum = machine::load(args.norms) * 0;\n")], "uninitialised.global", ["norms+0"],
                at="float sum =", object="norms"),
    "an input is written":
        Finding([("Global<float> norms;", "Global<float> norms, in;"), ("  args.rows =", "  args.in = x.data;\n  args.rows =", SOURCE),
                 (SUM, SUM + "    machine::store(args.in + row, sum);\n")], "bounds.input", ["x, which"],
                at="machine::store(args.in", object="x"),
    "memory that is not there":
        Finding([(SUM, "    float sum = row == 3 ? *reinterpret_cast<volatile float*>(64) : 0;\n")], "bounds.bare",
                ["math (cta 0 warp 0 lane 3)", "without a word"], at="reinterpret_cast<volatile float*>"),
    "an array is written without a word":
        Finding([(STORE + "args.norms + (first_row + row), sum);", "pointer_of(args.norms)[first_row + row] = sum;")],
                "bounds.bare", ["math (cta 0 warp", "touches memory without a word (norms+"], at="pointer_of(args.norms)[first_row + row]",
                object="norms"),
    "an array is read past its end, without a word":
        Finding([(SUM, "    float sum = pointer_of(args.norms)[args.rows + 4];\n")], "bounds.bare",
                ["16 bytes past the end of norms, which has 1200 bytes"], at="float sum =", object="norms"),
    "a loop without words":
        Finding(before_sum("    volatile int more = 1;\n    while (more != 0 && row == 37) {\n    }\n"), "hang",
                ["math (cta 0 warp 1 lane 5) computes", "without a word"], at="while (more"),
    "a loop with words that does not end":
        Finding(before_sum("    while (args.rows > 0) machine::sync_warp();\n"), "livelock", ["math (cta 0 warp"],
                at="machine::sync_warp()", arguments=("--max-seconds", "2"), verdict="incomplete"),
    "the kernel throws":
        Finding(before_sum("    if (row == 5) throw 3;\n"), "exception", ["not a std::exception"], at="machine::warp_uniform("),
    "the loader makes a step less":
        Finding([(STEPS + "produce", STEPS.replace("i < ", "i + 1 < ") + "produce")], "deadlock.role_exited",
                ["x.full[3] phase 3", "load has exited"], at="boxes.consume(", object="x.full[3]"),
    "the loader makes a step more":
        Finding([(STEPS + "produce", STEPS.replace("steps(args)", "steps(args) + 1") + "produce")], "cluster.exited",
                ["TMA load of load"], at="machine::tma_load", role="load"),
    "a warp leaves early":
        Finding(before_sum("    if (machine::warp_index() == 3) return;\n"), "deadlock.role_exited",
                ["load (cta 0", "x.empty[0] phase 0", "1 of 4 arrivals", "math has exited"], at="boxes.produce(", role="load",
                object="x.empty[0]"),
    "one role waits for all":
        Finding(before_sum("    machine::sync_block();\n"), "deadlock.named", ["__syncthreads", "128 of 160", "x.empty[0]"],
                at="machine::sync_block", object="__syncthreads"),
    "a step of the consumer is left out":
        Finding([(STEPS + "consume", STEPS.replace("i < ", "i + 1 < ") + "consume")], "result",
                ["300 of 300 elements of norms are wrong"], role="", object="norms"),
    "wrong arithmetic":
        Finding([("sum += x * x;", "sum += x;")], "result", ["300 of 300 elements of norms are wrong, 0 of them were never written"],
                role="", object="norms"),
    "a row is never written":
        Finding([("if (first_row + row < args.rows)", "if (first_row + row < args.rows - 1)")], "result",
                ["1 of 300 elements of norms are wrong, 1 of them were never written"], role="", object="norms"),
    "a lane leaves early":
        Finding(before_sum("    if (row == 77) return;\n"), "result", ["2 of 300", "2 of them were never written"], role="",
                object="norms"),
    "a block too few":
        Finding([(GRID, "return args.rows / your::kRows + (args.rows < your::kRows);")], "result", ["44 of 300"], role="",
                object="norms", file=SOURCE),
}

REFUSALS = {
    "no block": Refusal([(GRID, "return -1;")], "row_norms 300x512x1: arrange returned -1 CTAs: a launch has at least 1"),
    "arrange throws":
        Refusal([(GRID, 'throw std::runtime_error("no such problem");'), ("#include <vector>", "#include <stdexcept>\n#include <vector>")],
                "row_norms 300x512x1: arrange threw: no such problem"),
    "arrange reads what is the kernel's":
        Refusal([("x.values[i] * x.values[i]", "x.data[i] * x.values[i]")],
                "arrange was stopped by signal 11 (Segmentation fault)"),
    "no output":
        Refusal([('args.norms = arrays.output<float>("norms", expected);', "args.norms = nullptr;")],
                "row_norms 300x512x1: it declares no output"),
    "no shape":
        Refusal([("{{.m = 300, .n = 512}, {.m = 1, .n = 4}, {.m = 128, .n = 36}}", "{}")], "row_norms names no shape"),
    "rows and columns exchanged":
        Refusal([(MAP, MAP.replace("shape.m, shape.n", "shape.n, shape.m"))],
                "row_norms 1x4x1: strides[1] must be a multiple of 16 bytes, it is 4"),
    "no kernel is registered":
        Refusal([("registry.add", "(void)registry; if (false) registry.add")], "'row_norms.cpp' registers no kernel"),
}


def consumed_line(checked):
    """Where math hands its stage back."""
    lines = checked.sources[HEADER].splitlines()
    return [i for i, line in enumerate(lines, 1) if "return stdx::move(stage).release();" in line][-1]


class Mistakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        def call(mistake, *arguments):
            return functools.partial(check, TOOL, *mistake.changes, file=mistake.file, arguments=arguments)

        cls.results = in_parallel({
            **{name: call(m) for name, m in (COMPILE_ERRORS | REFUSALS).items()},
            **{name: call(m, "--json", "--seeds", "1", *m.arguments) for name, m in FINDINGS.items()}})

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(COMPILE_ERRORS) + len(FINDINGS) + len(REFUSALS), 40)

    def test_what_does_not_compile(self):
        for name, mistake in COMPILE_ERRORS.items():
            with self.subTest(name):
                result = self.results[name]
                self.assertEqual((result.code, result.out), (2, ""), result.err)
                # A path that falls off the end is reported at the closing brace.
                after = mistake.at.startswith("AFTER ")
                line = result.line_of(mistake.at.removeprefix("AFTER "), mistake.file) + after
                self.assertIn(f"warpwright check: {mistake.file}:{line}: this does not compile: ", result.summary())
                self.assertIn(mistake.sentence, result.summary())

    def test_what_is_found(self):
        for name, mistake in FINDINGS.items():
            with self.subTest(name):
                self.assert_finding(mistake, self.results[name])

    def assert_finding(self, mistake, result):
        self.assertEqual(result.code, 1, result.out + result.err)
        document = result.document()
        finding, first = document["finding"], document["report"].splitlines()[0]
        self.assertEqual((document["verdict"], finding["rule"]), (mistake.verdict, mistake.rule), document["report"])
        if mistake.verdict == "failed":
            self.assertTrue(first.startswith(f"row_norms on 300x512x1: {mistake.rule}: "), first)
        for word in mistake.names:
            self.assertIn(word, finding["message"])
        line = consumed_line(result) if mistake.at == "CONSUMED" else mistake.at and result.line_of(mistake.at)
        self.assertEqual(finding["line"], line or None, document["report"])
        self.assertEqual(finding["file"], HEADER if line else None)
        self.assertEqual(finding["role"] or "", mistake.role)
        self.assertEqual(finding["objects"], [mistake.object] if mistake.object else [], document["report"])
        if mistake.role:
            self.assertRegex(document["report"], rf"by {mistake.role} in CTA \d+, warp \d+, lane \d+|{mistake.role} \(cta")
            self.assertTrue(all(isinstance(finding[key], int) for key in ("cta", "warp", "lane")), finding)
        if mistake.rule == "result":
            self.assertRegex(finding["details"][0], r"norms\[\d+\]: expected -?\d+, (got -?\d+|and it was never written)")

    def test_what_is_refused(self):
        for name, mistake in REFUSALS.items():
            with self.subTest(name):
                result = self.results[name]
                self.assertEqual((result.code, result.out), (2, ""), result.err)
                self.assertIn(mistake.sentence, result.summary())
                self.assertTrue(re.match(r"warpwright check: 'row_norms\.cpp'", result.summary()), result.summary())


if __name__ == "__main__":
    TOOL = tool_of(sys.argv)
    unittest.main()

"""A second round of mistakes in kernels of one's own, all written before the tool was run on any of them; what it said
then, and what it says now, is in docs/evidence/planted-unseen2.txt. What a mistake is, and how it is judged, is in
unseen_mistakes_test.py.

Usage: unseen2_mistakes_test.py TOOL [--record]
"""
from own_kernel import SOURCE
from unseen_mistakes_test import (ARRANGE, READ, SHAPES, STORE, SUM, Mistake, in_math, including, main)

PRODUCER = "    pipeline::Producer<kStages, pipeline::PublishByTma> boxes(ring);\n"
CONSUMER = "    pipeline::Consumer<kStages, pipeline::ReleaseByWarp<pipeline::Readers::threads>> boxes(ring);\n"
LOOP_OF_LOAD = "    for (int i = 0; i < steps(args); ++i) {\n      boxes.produce([&](auto stage) {\n"
LOOP_OF_MATH = "    for (int i = 0; i < steps(args); ++i) {\n      boxes.consume([&](auto stage) {\n"
EXPECT = "        stage->expect_bytes(kBox.bytes());\n"
LOAD = "machine::tma_load(stage_at(base, stage->index()), &args.x, machine::Coords{i * kColumns, first_row},"
BOX = "{DType::fp32, kColumns, kRows, Swizzle::none}"
REGION = 'plan.region("x", kBox.bytes(), kStages, 128);'
SET_UP = "    pipeline::set_up_barriers<RowNorms>(base);\n"
MAP = "arrays.map(args.x, your::kBox, x.data, shape.m, shape.n);"
# The sums of neighbouring rows, exchanged through shared memory by way of nothing, of a barrier, ...
SUMS = REGION + '\n  plan.region("sums", kRows * 4, 1, 16);'
SHARED = [(REGION, SUMS + '\n  plan.named_barrier("sums", kMathWarps * 32);')]
EXCHANGE = ('    const Shared<float> sums{{base + plan.region("sums").offset}};\n    machine::store(sums + row, sum);\n'
            "    {}\n    sum += 0.f * machine::load(sums + (kRows - 1 - row));\n")


def exchanged(meeting):
    return [*SHARED, (STORE, EXCHANGE.format(meeting) + STORE)]


MISTAKES = {
    "half of the lanes exchange":
        Mistake([(STORE, "    if (row % 2 == 0) sum += machine::shuffle_xor(sum, 1u) * 0.f;\n" + STORE)],
                ["deadlock.partial_warp", "warp.diverged", "warp.mask"], ["math", "shfl"], "row % 2 == 0"),
    # Legal: the swizzle moves what a row has within the row, and a sum does not mind.
    "a swizzled box is read as it lies":
        Mistake([(BOX, BOX.replace("none", "b128")), (REGION, REGION.replace("128)", "1024)"))], ["clean"], []),
    "a region that is not aligned":
        Mistake([(REGION, 'plan.region("first", 48, 1, 16).region("x", kBox.bytes(), kStages, 16);')],
                ["tma.alignment"], ["x", "128"], "machine::tma_load("),
    "coordinates change places":
        Mistake([("machine::Coords{i * kColumns, first_row}", "machine::Coords{first_row, i * kColumns}")], ["result"],
                ["norms"]),
    "the rows and columns of the map change places":
        Mistake([(MAP, MAP.replace("shape.m, shape.n", "shape.n, shape.m"), SOURCE)], [], ["row_norms 1x4x1", "strides\\[1\\]", "16"],
                file=SOURCE),
    "sums are exchanged without a barrier":
        Mistake(exchanged(""), ["race", "uninitialised.shared"], ["sums", "math"], "kRows - 1 - row"),
    "a warp meets itself where all should meet":
        Mistake(exchanged("machine::sync_warp();"), ["race", "uninitialised.shared"], ["sums", "math"], "kRows - 1 - row"),
    # Legal: the loader comes to its end without the others, and threads that have returned are not waited for.
    "one role synchronizes the block":
        Mistake([(REGION, SUMS), (STORE, EXCHANGE.format("machine::sync_block();") + STORE)], ["clean"], []),
    "a named barrier expects the loader too":
        Mistake(exchanged('machine::named_barrier_sync(plan.named_barrier("sums").id, 160);'),
                ["deadlock.named", "named.count"], ["math", "sums"], "named_barrier_sync"),
    "a named barrier that the plan does not have":
        Mistake(exchanged("machine::named_barrier_sync(9, 64);"), ["deadlock.named", "named.over", "named.count", "race"],
                ["math", "(named barrier 9|sums)"]),
    "a phase that changes at every step":
        Mistake([(CONSUMER, CONSUMER + "    machine::Phase phase = machine::Phase::consumer();\n"),
                 (LOOP_OF_MATH, "    for (int i = 0; i < steps(args); ++i) {\n      machine::mbarrier_wait(ring.full + i % kStages, phase);\n"
                                "      phase.advance();\n      boxes.consume([&](auto stage) {\n")],
                ["phase.alias", "phase.repeated", "phase.missed", "deadlock"], ["math", "x\\.full"], "ring.full + i % kStages"),
    "a box lands in the next stage":
        Mistake([(LOAD, LOAD.replace("stage->index()", "(stage->index() + 1) % kStages"))],
                ["race", "race.in_flight", "race.completion", "uninitialised.shared"], ["x\\[", "(load|math)"]),
    "full and empty change places":
        Mistake([("ring_at<kStages>(base, full, empty)", "ring_at<kStages>(base, empty, full)")],
                ["mbarrier.foreign_arrival", "mbarrier.role_arrivals"], ["x\\.(full|empty)"]),
    "rows and columns of the arguments change places":
        Mistake([(ARRANGE, ARRANGE.replace("shape.m", "shape.n"), SOURCE), ("args.columns = int(shape.n)", "args.columns = int(shape.m)", SOURCE)],
                ["result", "bounds.global"], ["norms"]),
    "what is expected has another type":
        Mistake([("std::vector<float> expected", "std::vector<double> expected", SOURCE)], [], ["row_norms\\.cpp:\\d+", "(double|float)"],
                file=SOURCE),
    "a warp too few":
        Mistake([("kMathWarps = 4", "kMathWarps = 3")], ["result"], ["norms", "never written"]),
    "twice as many warps as rows":
        Mistake([("kMathWarps = 4", "kMathWarps = 8")],
                ["bounds.shared", "bounds.region", "race", "race.completion", "uninitialised.shared"], ["x\\["], READ),
    "more registers than there are":
        Mistake([("    } else {\n      math(", "    } else {\n      machine::registers_increase<240>();\n      math(")],
                ["deadlock.registers", "registers.direction", "registers.mismatch"], ["math"], "registers_increase"),
    "half of the warps consume":
        Mistake([(LOOP_OF_MATH, LOOP_OF_MATH.replace("steps(args)", "(row < 64 ? steps(args) : 0)"))],
                ["deadlock", "deadlock.role_exited", "result"], ["(x\\.empty|norms)"]),
    "a row more than there are":
        Mistake([(ARRANGE, "  args.rows = int(shape.m) + 1;\n", SOURCE)], ["bounds.global"], ["norms", "math"],
                "args.norms + (first_row + row)"),
    "a shape of fewer than no rows":
        Mistake([(SHAPES, "{{.m = -1, .n = 4}}", SOURCE)], [], ["row_norms", "-1"], file=SOURCE),
    "a shape of sixteen terabytes":
        Mistake([(SHAPES, "{{.m = 1 << 22, .n = 1 << 20}}", SOURCE)], [], ["arrange", "(bad_alloc|memory|length)"], file=SOURCE),
    "a kernel traps":
        Mistake(in_math("    if (row == 7) __builtin_trap();\n"), ["trap", "exception"], ["math"], "__builtin_trap()"),
    "a kernel sleeps":
        Mistake(including("thread", *in_math("    if (row == 7) std::this_thread::sleep_for(std::chrono::hours(1));\n")),
                ["hang"], ["math", "sleeps", "its last word was at row_norms\\.h:\\d+"]),
    "arrange never ends":
        Mistake([(ARRANGE, ARRANGE + "  for (volatile int i = 0; i >= 0;) i = 0;\n", SOURCE)], [], ["arrange"], file=SOURCE),
    "a box whose rows are no multiple of 16 bytes":
        Mistake([("kColumns = 32", "kColumns = 33")], [], ["(box|row_norms)", "16"]),
    "a map that begins between two units":
        Mistake([(MAP, MAP.replace("x.data,", "x.data + 1,"), SOURCE)], [], ["row_norms", "16"], file=SOURCE),
    "a sum that nobody set":
        Mistake([(SUM, "    float sum;\n")], ["result", "exception"], ["norms"]),
    "an array that is too short":
        Mistake(in_math("    float parts[4] = {};\n    parts[row / 32 + 1] = 1;\n    if (parts[0] != 0) return;\n"),
                ["exception"], ["math", "array"], "row / 32 + 1"),
    "a shift that is too far":
        Mistake(in_math("    if ((1 << row) == 12) return;\n"), ["exception"], ["math", "shift"], "1 << row"),
    "an array of nothing":
        Mistake(in_math("    const Global<float> nowhere{};\n    if (machine::load(nowhere + row) == 3) return;\n"),
                ["bounds.global"], ["math", "ld\\.global"], "nowhere + row"),
    "a box of another type":
        Mistake([(BOX, BOX.replace("fp32", "bf16"))], [], ["row_norms 1x4x1", "strides\\[1\\]", "16"], file=SOURCE),
    "bytes are announced twice":
        Mistake([(EXPECT, EXPECT + EXPECT)], ["mbarrier.over_arrival", "mbarrier.role_arrivals"], ["x\\.full", "load"]),
    "a box is loaded twice":
        Mistake([("stage->full());\n", "stage->full());\n        " + LOAD + "\n                          stage->full());\n")],
                ["mbarrier.tx_over", "race.in_flight", "race", "race.completion", "mbarrier.tx_phase"], ["x"]),
    "every second box is loaded":
        Mistake([("        " + LOAD, "        if (i % 2 == 0)\n          " + LOAD)], ["deadlock.bytes"], ["x\\.full", "math"]),
    "a producer for every step":
        Mistake([(PRODUCER, ""), (LOOP_OF_LOAD, LOOP_OF_LOAD.replace("      boxes", "  " + PRODUCER + "      boxes"))],
                ["mbarrier.over_arrival", "mbarrier.missing_wait", "phase.alias", "phase.repeated", "deadlock", "mbarrier.role_arrivals"],
                ["x\\.(full|empty)", "load"]),
    "a consumer for every step":
        Mistake([(CONSUMER, ""), (LOOP_OF_MATH, LOOP_OF_MATH.replace("      boxes", "  " + CONSUMER + "      boxes"))],
                ["phase.repeated", "phase.alias", "phase.missed", "mbarrier.missing_wait", "deadlock", "race", "mbarrier.over_arrival"],
                ["x(\\.full|\\.empty|\\[)", "(math|load)"]),
    "barriers are set up twice":
        Mistake([(SET_UP, SET_UP + SET_UP)], ["mbarrier.init_twice"], ["x\\.full"]),
    "a counter that outlives the kernel":
        Mistake(in_math("    static int calls = 0;\n    if (++calls % 100 == 7) return;\n"),
                ["result", "deadlock", "deadlock.role_exited", "warp.diverged", "deadlock.partial_warp"], ["(norms|math|x\\.empty)"]),
}

if __name__ == "__main__":
    main(MISTAKES)

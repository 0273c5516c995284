"""The programs that the linear headers must accept and the ones they must refuse.

Each case is the body of a function `KERNEL void case_X(int* out, int c)` that has a `Pipe pipe` (case_base.h). `first`
is what the first error must contain, as a regular expression per front end; ANY stands for all of them. (A regular
expression that begins with (?s) sees all errors, the first one first.) A front end named in `proof` needs the proving
pass for this case, and `rule` is the violation that this pass must report, at a line of the case.
"""

from dataclasses import dataclass, field

ANY, GCC, CLANG, NVCC = "any", "gcc", "clang", "nvcc"

BODY = r"linear: every path of the body must return stdx::move\(handle\)\.release\(\) of its own handle"
FIRST = r"linear: every path of first must return stdx::move\(current\)\.keep\(\)"
STEP = r"linear: every path of step must return stdx::move\(previous\)\.release_keep\(stdx::move\(current\)\)"
LAST = r"linear: every path of last must return stdx::move\(previous\)\.release\(\) without a value, because n may be 0"
RVALUE = r"linear: release\(\) ends the handle: write stdx::move\(handle\)\.release\(\)"
COPIED = r"use of deleted function|call to (implicitly-)?deleted|cannot be referenced -- it is a deleted function"
PRIVATE = r"is private within this context|calling a private constructor|is inaccessible"
CONSUMED = r"in the 'consumed' state|observed 'consumed'"
LIVE = r"in the 'unconsumed' state"
NO_RECEIPT_DESTRUCTOR = r"::~Receipt\(\).*is inaccessible"  # what nvcc says of a receipt that is not returned
DROPPED = {ANY: r"linear: a receipt is only ever returned: end the body in return stdx::move\(handle\)\.release\(\);",
           NVCC: NO_RECEIPT_DESTRUCTOR}
NAMED = {GCC: r"unused variable 't'", CLANG: r"unused variable 't'|" + CONSUMED, NVCC: NO_RECEIPT_DESTRUCTOR}
RETURNED_LATER = {ANY: COPIED, NVCC: NO_RECEIPT_DESTRUCTOR}
SILENCED = {CLANG: CONSUMED, NVCC: NO_RECEIPT_DESTRUCTOR}  # nothing for g++: left to the proof
MIXED = {GCC: r"inconsistent types 'void' and", CLANG: r"deduced as 'void' in earlier return statement",
         NVCC: r'conflicts with previously deduced type "void"'}
NO_RETURN = {GCC: r"control reaches end of non-void function", CLANG: r"does not return a value in all control paths",
             NVCC: r"missing return statement"}


def or_live(sentence):
    """clang analyses the body's flow before it comes to the rule about its result; the rule follows."""
    return {ANY: sentence, CLANG: rf"(?s)\A[^\n]*(?:{LIVE}.*)?{sentence}"}


LEAK, TWICE, LATE, OVERWRITTEN = "not_released", "released_twice", "used_after_release", "overwritten_while_live"


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    code: str
    first: dict = field(default_factory=dict)  # empty: the case must compile everywhere
    proof: tuple = ()
    rule: str = ""

    def accepted_by(self, family):
        return not self.first and not self.rule or (family not in self.first and ANY not in self.first
                                                    and family not in self.proof)

    def sentence(self, family):
        return self.first.get(family) or self.first.get(ANY)


def must(name, title, code, **except_by):
    return Case(name, title, code, first=except_by)


def must_not(name, title, code, first=None, proof=(), rule=""):
    return Case(name, title, code, first={ANY: first} if isinstance(first, str) else dict(first or {}), proof=proof,
                rule=rule)


SCOPED = [
    must("P0", "release in tail position",
         "pipe.stage([&](auto s) { *out += s->data(); return std::move(s).release(); });"),
    must("P1", "release on both arms",
         "pipe.stage([&](auto s) { if (c) return std::move(s).release(); *out += s->data();"
         " return std::move(s).release(); });"),
    must("P2", "a value carried out",
         "int v = pipe.stage([&](auto s) { int d = s->data(); return std::move(s).release(d); }); *out += v;"),
    must("P3", "auto&& parameter",
         "pipe.stage([&](auto&& s) { *out += s->data(); return std::move(s).release(); });"),
    must("P4", "release in a conditional expression",
         "pipe.stage([&](auto s) { return c ? std::move(s).release() : std::move(s).release(); });"),
    must("P5", "nested stages",
         "pipe.stage([&](auto s) { pipe.stage([&](auto t) { *out += s->data() + t->data();"
         " return std::move(t).release(); }); return std::move(s).release(); });"),
    # A false alarm of consumed analysis: std::move(s) counts as the end of s before the argument is read.
    must("P6", "value computed in the argument of release",
         "*out += pipe.stage([&](auto s) { return std::move(s).release(s->data()); });", clang=CONSUMED),
    must("P7", "a role with a name", "pipe.stage(AddRole{out});"),
    must("P8", "helpers that borrow and that release",
         "pipe.stage([&](auto s) { *out += peek(s); if (c) return finish(std::move(s));"
         " return std::move(s).release(); });"),
    must("P9", "a move-only Impl",
         "pipe.only_stage([&](auto s) { *out += (*s).data(); return std::move(s).release(); });"),
    must("P10", "the value carried out ends a loop",
         "for (int i = 0; i < c; ++i) { if (pipe.stage([&](auto s) { bool stop = s->data() == 3;"
         " return std::move(s).release(stop); })) break; } *out = pipe.freed;"),
    must("P11", "a value carried out may be ignored",
         "pipe.stage([&](auto s) { return std::move(s).release(1); });"),
    must_not("N1", "no release", "pipe.stage([&](auto s) { *out += s->data(); });", or_live(BODY)),
    must_not("N2", "released, receipt dropped",
             "pipe.stage([&](auto s) { *out += s->data(); std::move(s).release(); });",
             DROPPED),
    must_not("N3", "early return without release",
             "pipe.stage([&](auto s) { if (c) return; *out += s->data(); return std::move(s).release(); });",
             MIXED),
    must_not("N4", "released twice, first receipt dropped",
             "pipe.stage([&](auto s) { std::move(s).release(); return std::move(s).release(); });",
             DROPPED),
    must_not("N5", "released twice, first receipt named",
             "pipe.stage([&](auto s) { auto t = std::move(s).release(); return std::move(s).release(); });", NAMED),
    must_not("N6", "used after release, receipt returned later",
             "pipe.stage([&](auto s) { auto t = std::move(s).release(); *out += s->data(); return t; });",
             RETURNED_LATER),
    must_not("N6b", "the same with std::move(receipt)",
             "pipe.stage([&](auto s) { auto t = std::move(s).release(); *out += s->data(); return std::move(t); });",
             RETURNED_LATER),
    must_not("N7", "the inner stage's result for the outer one",
             "pipe.stage([&](auto s) { *out += s->data();"
             " return pipe.stage([&](auto t) { return std::move(t).release(); }); });", or_live(BODY)),
    must_not("N7b", "the inner body returns the outer stage's receipt",
             "pipe.stage([&](auto s) { return pipe.stage([&](auto t) { (void)t->data();"
             " return std::move(s).release(); }); });", or_live(BODY)),
    must_not("N7c", "the inner body returns the outer stage's receipt, and the outer body as well",
             "pipe.stage([&](auto s) { pipe.stage([&](auto t) { (void)t->data(); return std::move(s).release(); });"
             " return std::move(s).release(); });", or_live(BODY)),
    must_not("N8", "one path falls off the end",
             "pipe.stage([&](auto s) { if (c) return std::move(s).release(); *out += s->data(); });",
             NO_RETURN),
    must_not("N8b", "released only inside a loop",
             "pipe.stage([&](auto s) { for (int i = 0; i < c; ++i) return std::move(s).release(); });",
             NO_RETURN),
    must_not("N9", "handle copied",
             "pipe.stage([&](auto s) { auto t = s; return std::move(s).release(); });", COPIED),
    must_not("N9b", "handle moved",
             "pipe.stage([&](auto s) { auto t = std::move(s); return std::move(t).release(); });", COPIED),
    must_not("N10", "receipt forged",
             "pipe.stage([&](auto s) { using R = decltype(std::move(s).release()); return R(linear::Nothing{}); });",
             PRIVATE),
    must_not("N10b", "handle forged",
             "pipe.stage([&](auto s) { using H = decltype(s); H h(pipe.next()); return std::move(h).release(); });",
             PRIVATE),
    must_not("N10c", "second owner made from a handle's content",
             "pipe.only_stage([&](auto s) { linear::Owned<OnlyStage> o(*s); std::move(o).release();"
             " return std::move(s).release(); });", COPIED),
    must_not("N11", "release on an lvalue", "pipe.stage([&](auto s) { return s.release(); });", RVALUE),
    must_not("N12", "released twice, first receipt cast to void",
             "pipe.stage([&](auto s) { (void)std::move(s).release(); return std::move(s).release(); });",
             SILENCED, proof=(GCC,), rule=TWICE),
    must_not("N12b", "released twice, first receipt [[maybe_unused]]",
             "pipe.stage([&](auto s) { [[maybe_unused]] auto t = std::move(s).release();"
             " return std::move(s).release(); });",
             SILENCED, proof=(GCC,), rule=TWICE),
    must_not("N13", "used after release, receipt cast to void",
             "pipe.stage([&](auto s) { (void)std::move(s).release(); *out += s->data();"
             " return std::move(s).release(); });",
             SILENCED, proof=(GCC,), rule=LATE),
    # N14, a pointer to the content that outlives the body, is seen by no layer: see linear.h on what access gives.
    must_not("N15", "released in a nested lambda and again",
             "pipe.stage([&](auto s) { auto r = [&] { return std::move(s).release(); }; r();"
             " return std::move(s).release(); });", DROPPED),
    must_not("N16", "receipt returned from a stored nested lambda after use",
             "pipe.stage([&](auto s) { auto r = [&] { return std::move(s).release(); }; auto t = r();"
             " *out += s->data(); return t; });", RETURNED_LATER),
    must_not("N17", "a local's destructor uses the handle after the return expression",
             "pipe.stage([&](auto s) { LateReader<decltype(s)> late{s, out}; return std::move(s).release(); });",
             proof=(GCC, CLANG, NVCC), rule=LATE),
    must_not("N18", "a sink called twice",
             "pipe.stage([&](auto s) { (void)finish(std::move(s)); return finish(std::move(s)); });",
             SILENCED, proof=(GCC,), rule=TWICE),
]

NEXT = "[&] { return pipe.next(); }"
GOOD_FIRST = "[&](auto current) { *out += current->data(); return std::move(current).keep(); }"
GOOD_STEP = ("[&](auto previous, auto current) { *out += current->data() - previous->data();"
             " return std::move(previous).release_keep(std::move(current)); }")
GOOD_LAST = "[&](auto previous) { *out += previous->data(); return std::move(previous).release(); }"


def window(first=GOOD_FIRST, step=GOOD_STEP, last=GOOD_LAST, following=NEXT):
    return f"linear::overlap(c, {following}, {first}, {step}, {last});"


OVERLAP = [
    must("V0", "overlap: first, step, last", window()),
    must("V1", "overlap: step with two ends",
         window(step="[&](auto previous, auto current) { if (*out > 9) return"
                     " std::move(previous).release_keep(std::move(current)); *out += current->data(); return"
                     " std::move(previous).release_keep(std::move(current)); }")),
    must("V2", "overlap: a move-only Impl", window(following="[&] { return pipe.next_only(); }")),
    must("V3", "overlap: work behind the release",
         window(step="[&](auto previous, auto current) { return std::move(previous).release_keep_then("
                     "std::move(current), [&](const auto& kept) { *out += kept.data(); }); }")),
    must_not("W1", "overlap: step forgets previous",
             window(step="[&](auto previous, auto current) { *out += previous->data();"
                         " return std::move(current).keep(); }"), or_live(STEP)),
    must_not("W2", "overlap: first returns nothing", window(first="[&](auto current) { *out += current->data(); }"),
             FIRST),
    must_not("W3", "overlap: kept twice, first receipt dropped",
             window(first="[&](auto current) { std::move(current).keep(); return std::move(current).keep(); }"),
             DROPPED),
    must_not("W4", "overlap: kept twice, first receipt cast to void",
             window(first="[&](auto current) { (void)std::move(current).keep(); return std::move(current).keep(); }"),
             SILENCED, proof=(GCC,), rule=TWICE),
    must_not("W5", "overlap: previous released twice",
             window(step="[&](auto previous, auto current) {"
                         " (void)std::move(previous).release_keep(std::move(current));"
                         " return std::move(previous).release_keep(std::move(current)); }"),
             SILENCED, proof=(GCC,), rule=TWICE),
    must_not("W6", "overlap: step returns an inner stage's result",
             window(step="[&](auto previous, auto current) { *out += previous->data() + current->data();"
                         " return pipe.stage([&](auto s) { return std::move(s).release(); }); }"), or_live(STEP)),
    must_not("W7", "overlap: last carries a value out",
             window(last="[&](auto previous) { return std::move(previous).release(1); }"), LAST),
    must_not("W8", "overlap: last forgets previous", window(last="[&](auto previous) { *out += previous->data(); }"),
             LAST),
    must_not("W9", "overlap: first keeps on one path only",
             window(first="[&](auto current) { if (*out) return; return std::move(current).keep(); }"),
             MIXED),
    must_not("W10", "overlap: previous used after release_keep",
             window(step="[&](auto previous, auto current) {"
                         " auto r = std::move(previous).release_keep(std::move(current));"
                         " *out += previous->data(); return r; }"), RETURNED_LATER),
    must_not("W11", "overlap: released before and with work",
             window(step="[&](auto previous, auto current) {"
                         " (void)std::move(previous).release_keep(std::move(current));"
                         " return std::move(previous).release_keep_then(std::move(current), [](const auto&) {}); }"),
             SILENCED, proof=(GCC,), rule=TWICE),
]

FLOW = (GCC, NVCC)  # clang refuses a flat handle's misuse by consumed analysis, the others by proof

OWNED = [
    must("Q0", "flat: acquire, use, release",
         "auto s = pipe.acquire(); *out += s->data(); std::move(s).release();"),
    must("Q1", "flat: released on both arms",
         "auto s = pipe.acquire(); if (c) { std::move(s).release(); return; } *out += (*s).data();"
         " std::move(s).release();"),
    must("Q2", "flat: overlapped by hand",
         "auto previous = pipe.acquire(); for (int i = 1; i < c; ++i) { auto current = pipe.acquire();"
         " *out += current->data(); std::move(previous).release(); previous = std::move(current); }"
         " std::move(previous).release();"),
    must_not("O1", "flat: leaked", "auto s = pipe.acquire(); *out += s->data();", {CLANG: LIVE}, FLOW, LEAK),
    must_not("O2", "flat: released twice",
             "auto s = pipe.acquire(); std::move(s).release(); std::move(s).release();", {CLANG: CONSUMED}, FLOW,
             TWICE),
    must_not("O3", "flat: used after release",
             "auto s = pipe.acquire(); std::move(s).release(); *out += s->data();", {CLANG: CONSUMED}, FLOW, LATE),
    must_not("O4", "flat: overwritten while live",
             "auto s = pipe.acquire(); auto t = pipe.acquire(); s = std::move(t); std::move(s).release();",
             {CLANG: LIVE}, FLOW, OVERWRITTEN),
    must_not("O5", "flat: leaked on one path of a loop",
             "for (int i = 0; i < c; ++i) { auto s = pipe.acquire(); if (out[i] < 0) continue; *out += s->data();"
             " std::move(s).release(); }", {CLANG: LIVE}, FLOW, LEAK),
    must_not("O6", "flat: leaked by an early return",
             "auto s = pipe.acquire(); if (c) return; *out += s->data(); std::move(s).release();", {CLANG: LIVE}, FLOW,
             LEAK),
    must_not("O7", "flat: leaked as a member", "struct Pair { linear::Owned<Stage> a; int b; };"
             " Pair p{pipe.acquire(), c}; *out += p.b;", proof=(GCC, CLANG, NVCC), rule=LEAK),
    must_not("O8", "flat: used through the moved-from name",
             "auto s = pipe.acquire(); auto t = std::move(s); *out += s->data(); std::move(t).release();",
             {CLANG: CONSUMED}, FLOW, LATE),
    must_not("O9", "flat: release on an lvalue", "auto s = pipe.acquire(); s.release();", RVALUE),
    must_not("O10", "flat: result of acquire dropped", "pipe.acquire();",
             {ANY: r"linear: this handle must be released|" + LIVE}),
]

CASES = SCOPED + OVERLAP + OWNED

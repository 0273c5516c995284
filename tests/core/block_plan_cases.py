#!/usr/bin/env python3
"""A wrong block plan does not compile, and the message is the rule: one compile a case."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compile_cases import compiler_of, run_cases  # noqa: E402

FRAME = """#include "warpwright/core/block_plan.h"
using namespace warpwright;
constexpr BlockPlan base() {{
  BlockPlan p("test", Arch::sm90);
  p.role("load", 1).role("compute", 4).region("tile", 1024, 2, 1024);
  p.barrier("in.full", 2, 1, "compute", {{"load", 1}}).barrier("in.empty", 2, 4, "load", {{"compute", 4}});
  {change}
  return p;
}}
struct K {{ static constexpr BlockPlan plan = base(); }};
void use() {{ check_block_plan<K>(); {use} }}
"""
# name, change to the plan, use, text that the error must contain (None: must compile)
CASES = [
    ("a right plan", "", "[[maybe_unused]] constexpr auto o = K::plan.barrier(\"in.full\").offset;", None),
    ("arrivals do not sum", 'p.barrier("x", 1, 2, "load", {"compute", 1});', "", "arrivals of the roles must sum"),
    ("unknown role", 'p.barrier("x", 1, 1, "nobody", {"compute", 1});', "", "a role that the plan does not have"),
    ("name twice", 'p.region("tile", 16, 1, 16);', "", "have one name"),
    ("too much shared memory", 'p.region("x", 240000, 1, 16);', "", "shared memory exceeds"),
    ("too much tensor memory", 'p.tensor_memory("x", 600);', "", "tensor memory exceeds"),
    ("named barrier threads", 'p.named_barrier("x", 40);', "", "named barrier's threads"),
    ("unknown name", "", "[[maybe_unused]] constexpr auto o = K::plan.barrier(\"absent\").offset;", "no_such_name"),
]


def main():
    return run_cases(compiler_of(__doc__),
                     [(name, FRAME.format(change=change, use=use), want) for name, change, use, want in CASES])


if __name__ == "__main__":
    sys.exit(main())

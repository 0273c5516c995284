#!/usr/bin/env python3
"""A wrong Plan does not compile, and the message is the rule: one compile a case."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAME = """#include "warpwright/core/plan.h"
using namespace warpwright;
constexpr Plan base() {{
  Plan p("test", Arch::sm90);
  p.role("load", 1).role("compute", 4).region("tile", 1024, 2, 1024);
  p.barrier("in.full", 2, 1, "compute", {{"load", 1}}).barrier("in.empty", 2, 4, "load", {{"compute", 4}});
  {change}
  return p;
}}
struct K {{ static constexpr Plan plan = base(); }};
void use() {{ check_plan<K>(); {use} }}
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    compiler = parser.parse_args().compiler
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, change, use, want in CASES:
            source = pathlib.Path(folder) / "case.cpp"
            source.write_text(FRAME.format(change=change, use=use))
            try:
                run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'include'}", str(source)],
                                     capture_output=True, text=True, check=False)
            except FileNotFoundError:
                print(f"{compiler} is not installed")
                return 77
            good = run.returncode == 0 if want is None else run.returncode != 0 and want in run.stderr
            print(f"{'ok  ' if good else 'FAIL'} {name}" + ("" if good else f"\n{run.stderr[:800]}"))
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The two worlds offer the same words, and docs/vocabulary.md lists them all."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = ["identity", "warp", "lanes", "memory", "atomics", "mbarrier", "barrier", "fence", "tma", "matrix", "mma", "control", "wgmma", "tcgen05"]
# Helpers that are constants or types of one world, not words.
NOT_WORDS = {"wgmma_k", "tmem_registers", "here", "registers", "state", "get", "set", "bits", "parity", "lap", "advance", "advance_if",
             "consumer", "producer", "of_parity", "parity_only"}


def words(world, name):
    text = (ROOT / "include/warpwright/machine" / world / f"{name}.h").read_text()
    text = re.sub(r"//[^\n]*", "", text)
    # Leave out what is in `namespace detail` and in anonymous namespaces.
    kept, depth, skip = [], 0, None
    for piece in re.split(r"(namespace\s+\w*\s*\{|[{}])", text):
        if re.match(r"namespace\s+(detail)?\s*\{", piece):
            depth += 1
            skip = depth if skip is None else skip
        elif piece.endswith("{"):
            depth += 1
        elif piece == "}":
            if skip == depth:
                skip = None
            depth -= 1
        elif skip is None and piece:
            kept.append(piece)
    found = set(re.findall(r"(?:void|bool|uint32_t|uint64_t|Index3|T|Lanes|BufferResource|remove_const_t<T>|ClusterShared<T>)\s+([a-z][a-z0-9_]*)\s*\(", "".join(kept)))
    return found - NOT_WORDS


def main():
    documented = (ROOT / "docs/vocabulary.md").read_text()
    failed = passed = 0
    for name, device in [(f, "cuda") for f in FILES] + [("cdna", "amdgcn")]:
        sim, gpu = words("sim", name), words(device, name)
        problems = [f"{w} is missing in machine/{device}" for w in sorted(sim - gpu)]
        # nvcc's world has words that only a GPU needs.
        problems += [f"{w} is missing in machine/sim" for w in sorted(gpu - sim) if device == "amdgcn"]
        problems += [f"{w} is not in docs/vocabulary.md" for w in sorted(sim) if f"`{w}`" not in documented]
        if not sim:
            problems.append("no word was found: the test cannot read the header")
        print(f"{'FAIL' if problems else 'ok  '} {name}: {len(sim)} words" + "".join(f"\n     {p}" for p in problems))
        failed, passed = failed + bool(problems), passed + (not problems)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares the machine code of the kernels in two cubins, and the instruction mix of two PTX files.

usage: sass_compare.py A.cubin B.cubin [--ptx A.ptx B.ptx]

For each kernel (a .text section of the ELF file) it says `identical` when the bytes agree, `same opcodes` when only
registers, constants or order differ, and `different` otherwise. The PTX files are compared by their histogram of
instructions.

exit status: 0 all kernels have the same opcodes and the PTX histograms agree, 1 they do not, 2 unreadable input
"""

import argparse
import re
import struct
import sys
from collections import Counter
from pathlib import Path

IDENTICAL, SAME_OPCODES, DIFFERENT, MISSING = "identical", "same opcodes", "different", "missing"
INSTRUCTION = 16  # bytes, since Volta
OPCODE_MASK = 0xFFF  # the opcode and its operand form lie in the low twelve bits of an instruction


class NotACubin(Exception):
    pass


def text_sections(path):
    """The bytes of each kernel in a cubin, by kernel name."""
    data = Path(path).read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise NotACubin(f"{path} is not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    # An entry: name, type, flags, address, offset, size, then fields that do not matter here.
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    strings = headers[names][4]
    sections = {}
    for name, _, _, _, offset, length in headers:
        begin = strings + name
        label = data[begin:data.index(b"\0", begin)].decode()
        if label.startswith(".text."):
            sections[label.removeprefix(".text.")] = data[offset:offset + length]
    return sections


def opcodes(code):
    """Histogram of the opcode field; trailing padding is counted too, so sections of unequal length never agree."""
    return Counter(struct.unpack_from("<Q", code, i)[0] & OPCODE_MASK for i in range(0, len(code), INSTRUCTION))


def compare(a, b):
    if a is None or b is None:
        return MISSING
    if a == b:
        return IDENTICAL
    return SAME_OPCODES if opcodes(a) == opcodes(b) else DIFFERENT


def differing_instructions(a, b):
    return sum(a[i:i + INSTRUCTION] != b[i:i + INSTRUCTION] for i in range(0, max(len(a), len(b)), INSTRUCTION))


def ptx_histograms(path):
    """Histogram of PTX instructions by kernel name."""
    kernels, current = {}, Counter()
    for line in Path(path).read_text().splitlines():
        if m := re.match(r"\s*(?:\.\w+\s+)*\.entry\s+([\w$]+)", line):
            current = kernels.setdefault(m[1], Counter())
        else:
            m = re.match(r"\s*(?:\{\s*)?(?:@!?%p\d+\s+)?([a-z][a-z0-9_.:]*)\b.*;", line)
            if m:
                current[m[1]] += 1
    return kernels


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0],
                                     description=__doc__.splitlines()[0])
    parser.add_argument("cubins", nargs=2)
    parser.add_argument("--ptx", nargs=2, default=None)
    options = parser.parse_args()
    try:
        a, b = map(text_sections, options.cubins)
        pa, pb = map(ptx_histograms, options.ptx) if options.ptx else ({}, {})
    except (OSError, NotACubin, struct.error, IndexError) as error:
        print(f"sass_compare: {error}", file=sys.stderr)
        return 2
    good = bool(a)
    for kernel in sorted(a.keys() | b.keys()):
        verdict = compare(a.get(kernel), b.get(kernel))
        good &= verdict in (IDENTICAL, SAME_OPCODES)
        x, y = a.get(kernel, b""), b.get(kernel, b"")
        print(f"{kernel}: SASS {verdict}, {len(x)} and {len(y)} bytes, "
              f"{differing_instructions(x, y)} instructions differ")
    for kernel in sorted(pa.keys() | pb.keys()):
        x, y = pa.get(kernel, Counter()), pb.get(kernel, Counter())
        good &= x == y
        delta = {op: (x[op], y[op]) for op in sorted(x.keys() | y.keys()) if x[op] != y[op]}
        print(f"{kernel}: PTX {x.total()} and {y.total()} instructions, "
              + ("same histogram" if x == y else f"histograms differ: {delta}"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

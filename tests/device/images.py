#!/usr/bin/env python3
"""What ptxas made of the Hopper kernels of a build, read from their machine code: no tool but Python is needed.

Usage: images.py FOLDER     FOLDER has the images of the build, BUILD/images

- A thread has no memory of its own: nothing is spilled and no array is indexed at run time. Kernels that have are listed
  in tools/machine_code.py.
- wgmmas run behind each other's back. Where ptxas cannot prove that their registers are left alone it waits for each one
  (warning C7510, which stops no build), and a kernel is several times slower.
- Registers move between the three warpgroups of dense and grouped kernels: a setmaxnreg that ptxas ignores (C7508) leaves
  the warps that multiply with too few.

Exit 0: all is as it should be, 1: it is not, 77: the build has no device code.
"""
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import machine_code  # noqa: E402

# The low 12 bits of an instruction of 16 bytes.
SET_REGISTERS = 0x9C8
WGMMA = {0x9F0: "HGMMA", 0x9F1: "IGMMA", 0x9F3: "QGMMA"}
NO_GROUP = 7  # three bits of a wgmma that say which group ends with it
MOST_THREADS = 0x05  # EIATTR_MAX_THREADS of .nv.info.KERNEL


def instructions(code):
    for at in range(0, len(code) - 15, 16):
        low, high = struct.unpack_from("<QQ", code, at)
        yield low & 0xFFF, low, high


def threads_of(info):
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != 4:  # the value stands in the place of the size
            continue
        if attribute == MOST_THREADS:
            return struct.unpack_from("<I", info, at)[0]
        at += size
    return 0


def faults(code, moves_registers, most_local=0):
    """Sentences about the machine code of one kernel."""
    local = machine_code.local_accesses(code)
    multiplied = waited = moved = 0
    for opcode, _, high in instructions(code):
        moved += opcode == SET_REGISTERS
        if opcode in WGMMA:
            multiplied += 1
            waited += (high >> 20) & 7 != NO_GROUP
    if local > most_local:
        yield f"{local} accesses to local memory, {most_local} at most"
    if multiplied < 2 * waited or (multiplied and not waited):
        yield f"{waited} of {multiplied} wgmmas end a group: ptxas waits for each"
    if moves_registers and not moved:
        yield "no registers move between warpgroups"


def has_one_warpgroup(name):
    """Whether one warpgroup multiplies the tile of a dense kernel: beside it other warps may load, and none gives registers."""
    tile = re.match(r"sm90/dense-(\d+)x(\d+)-([^/]*)/", name)
    if tile is None or "pingpong" in tile[3] or "halves" in tile[3]:
        return False
    group = re.search(r"(?:^|-)g(\d+)(?:-|$)", tile[3])
    return int(tile[2] if "swapped" in tile[3] else tile[1]) == (int(group[1]) if group else 64)


def check(file, name):
    text, info = {}, {}
    for label, body, _, _ in machine_code.sections(file.read_bytes()):
        for prefix, table in ((".text.", text), (".nv.info.", info)):
            if label.startswith(prefix):
                table[label.removeprefix(prefix)] = body
    for kernel, code in text.items():
        moves = (name.startswith(("sm90/dense-", "sm90/grouped-")) and not has_one_warpgroup(name)
                 and threads_of(info.get(kernel, b"")) >= 384)
        yield from faults(code, moves, machine_code.MOST_LOCAL.get(name, 0))


def made(*opcodes_and_groups):
    return b"".join(struct.pack("<QQ", opcode, group << 20) for opcode, group in opcodes_and_groups)


def test_itself():
    """Each sentence for code that deserves it, and none for code that does not."""
    good = made((SET_REGISTERS, 0), (0x9F0, NO_GROUP), (0x9F0, 0))
    cases = [(good, True, 0), (made((0x9F0, 0), (0x9F0, 0)), False, 1), (made((machine_code.LOAD_LOCAL, 0)), False, 1),
             (made((0x9F3, NO_GROUP), (0x9F3, 0)), True, 1), (made((0x9F3, NO_GROUP)), False, 1)]
    for code, moves, count in cases:
        assert len(list(faults(code, moves))) == count, list(faults(code, moves))
    one = ["sm90/dense-16x128-c1-s4-g128-swapped-splitk/bf16-nt-by_threads", "sm90/dense-64x64-c1-s4/bf16-nt"]
    more = ["sm90/dense-128x128-c1-s4/bf16-nt-by_threads", "sm90/dense-64x128-c2-s8-pingpong/bf16-nt",
            "sm90/dense-48x192-c4n-s6-swapped/bf16-nt-swiglu"]
    assert [has_one_warpgroup(name) for name in one + more] == [True, True, False, False, False]


def main():
    test_itself()
    folder = pathlib.Path(sys.argv[1])
    files = sorted(folder.rglob("*.sm_90a.cubin")) if folder.is_dir() else []
    if not files:
        print(f"there are no images for sm_90a below {folder}")
        return 77
    wrong = 0
    for file in files:
        name = str(file.relative_to(folder)).removesuffix(".sm_90a.cubin")
        for sentence in check(file, name):
            print(f"{name}: {sentence}")
            wrong += 1
    print(f"{len(files)} images for sm_90a, {wrong} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What the compiled CDNA kernels use, from the notes of their ELF files: no spills, no scratch, LDS and registers fit.

Usage: code_objects.py BUILD_FOLDER    The notes are MessagePack (AMDGPU usage guide, code object V3 and later)."""
import struct
import sys
from pathlib import Path

# architecture: LDS bytes of a workgroup
LDS = {"gfx942": 64 * 1024, "gfx950": 160 * 1024}
# kernel: LDS bytes, threads. Waves of 512 threads share each SIMD two by two, so they have half of the registers.
KERNELS = {
    "matmul_pingpong_bf16": (128 * 1024, 512), "matmul_pingpong_e4m3": (128 * 1024, 512),
    "matmul_blocks_bf16": (128 * 1024, 512), "matmul_blocks_e4m3": (128 * 1024, 512),
    "matmul_4wave_bf16": (96 * 1024, 256), "matmul_4wave_e4m3": (96 * 1024, 256),
    "matmul_default_bf16": (32 * 1024, 256), "matmul_default_e4m3": (32 * 1024, 256),
    "matmul_pingpong_bf16_to_fp32": (128 * 1024, 512), "matmul_default_bf16_to_fp32": (32 * 1024, 256),
}
for dtype in ("bf16", "fp16", "e4m3"):
    KERNELS[f"matmul_pingpong_{dtype}_general"] = (128 * 1024, 512)
    KERNELS[f"matmul_4wave_splitk_{dtype}_general"] = (96 * 1024, 256)
    KERNELS[f"matmul_default_splitk_{dtype}_general_by_elements"] = (32 * 1024, 256)
for dtype in ("bf16", "fp16"):
    KERNELS[f"matmul_default_splitk_{dtype}_general"] = (32 * 1024, 256)
ONLY_GFX942 = ["matmul_default_bf16_to_fp32", "matmul_default_splitk_bf16_general", "matmul_default_splitk_fp16_general"]
GFX942 = ONLY_GFX942 + ["matmul_default_bf16", "matmul_default_e4m3",
                        "matmul_default_splitk_bf16_general_by_elements", "matmul_default_splitk_fp16_general_by_elements"]
EXPECTED = {"gfx950": [kernel for kernel in KERNELS if kernel not in ONLY_GFX942], "gfx942": GFX942}
NT_AMDGPU_METADATA = 32
SKIPPED = 77


def unpack(data, at=0):
    """The MessagePack value at a position, and the position after it."""
    tag = data[at]
    at += 1
    if tag <= 0x7F:
        return tag, at
    if tag >= 0xE0:
        return tag - 256, at
    if 0x80 <= tag <= 0x8F or tag in (0xDE, 0xDF):
        count, at = length(data, at, tag, 0x80, {0xDE: ">H", 0xDF: ">I"})
        out = {}
        for _ in range(count):
            key, at = unpack(data, at)
            out[key], at = unpack(data, at)
        return out, at
    if 0x90 <= tag <= 0x9F or tag in (0xDC, 0xDD):
        count, at = length(data, at, tag, 0x90, {0xDC: ">H", 0xDD: ">I"})
        items = []
        for _ in range(count):
            item, at = unpack(data, at)
            items.append(item)
        return items, at
    if 0xA0 <= tag <= 0xBF or tag in (0xD9, 0xDA, 0xDB):
        size, at = length(data, at, tag, 0xA0, {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"})
        return data[at:at + size].decode(), at + size
    simple = {0xC0: None, 0xC2: False, 0xC3: True}
    if tag in simple:
        return simple[tag], at
    form = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}[tag]
    return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)


def length(data, at, tag, fixed, forms):
    if tag in forms:
        return struct.unpack_from(forms[tag], data, at)[0], at + struct.calcsize(forms[tag])
    return tag - fixed, at


def metadata(path):
    data = path.read_bytes()
    assert data[:5] == b"\x7fELF\x02", f"{path} is not a 64-bit ELF file"
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for i in range(count):
        kind, = struct.unpack_from("<I", data, table + i * size + 4)
        if kind != 7:  # SHT_NOTE
            continue
        at, bytes_ = struct.unpack_from("<QQ", data, table + i * size + 0x18)
        end = at + bytes_
        while at + 12 <= end:
            name, descriptor, kind = struct.unpack_from("<III", data, at)
            body = at + 12 + (name + 3) // 4 * 4
            if kind == NT_AMDGPU_METADATA:
                return unpack(data, body)[0]
            at = body + (descriptor + 3) // 4 * 4
    raise AssertionError(f"{path} has no AMDGPU metadata")


def check(folder, arch, kernel):
    found = metadata(folder / arch / f"{kernel}.co")["amdhsa.kernels"]
    lds, threads = KERNELS[kernel]
    problems = []
    if [k[".name"] for k in found] != [kernel]:
        return [f"it holds {[k['.name'] for k in found]}"], ""
    k = found[0]
    for counter in (".vgpr_spill_count", ".sgpr_spill_count", ".private_segment_fixed_size"):
        if k[counter] != 0:
            problems.append(f"{counter} = {k[counter]}")
    if k[".group_segment_fixed_size"] != lds or lds > LDS[arch]:
        problems.append(f"LDS {k['.group_segment_fixed_size']}, {lds} is planned and {LDS[arch]} is there")
    if k[".max_flat_workgroup_size"] != threads or k[".wavefront_size"] != 64:
        problems.append(f"{k['.max_flat_workgroup_size']} threads in waves of {k['.wavefront_size']}")
# 512 registers of a SIMD's lane, ordinary and accumulation registers together.
    limit = 512 // (threads // 256)
    if not 100 < k[".vgpr_count"] <= limit:
        problems.append(f"{k['.vgpr_count']} registers, {limit} are there")
    if k[".kernarg_segment_size"] < 52:
        problems.append(f"{k['.kernarg_segment_size']} bytes of arguments")
    return problems, (f"{k['.vgpr_count']} VGPR of {limit}, {k['.agpr_count']} AGPR, {k['.sgpr_count']} SGPR, "
                      f"{k['.group_segment_fixed_size']} B LDS of {LDS[arch]}, {k['.vgpr_spill_count']} spills")


def main():
    folder = Path(sys.argv[1]) / "cdna"
    if not any(folder.glob("*/*.co")):
        print("no code objects: clang++-22 or ld.lld-22 was not found when the build was configured")
        return SKIPPED
    failed = passed = 0
    for arch, kernels in EXPECTED.items():
        for kernel in kernels:
            problems, text = check(folder, arch, kernel)
            print(f"{'FAIL' if problems else 'ok  '} {arch} {kernel}: {text}")
            print("".join(f"     {p}\n" for p in problems), end="")
            failed, passed = failed + bool(problems), passed + (not problems)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

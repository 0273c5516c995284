#!/usr/bin/env python3
"""Records and compares the machine code of kernels.

usage: machine_code.py record FOLDER > code.tsv        a row for each kernel of the cubins below FOLDER
       machine_code.py compare OLD.tsv NEW.tsv         which kernel of OLD is which one of NEW

A row has the kernel, the architecture, the digest and the length of its .text section, and its registers, shared bytes
and constant bytes (parameters). Two kernels are the same when all of that agrees; `compare` prints `old name -> new
name` for those that are, and says which kernels of OLD are not in NEW. A count of 0 registers was not recorded and is not
compared.

exit status: 0 every kernel of OLD is in NEW, 1 some are not, 2 bad usage
"""

import argparse
import hashlib
import struct
import sys
from pathlib import Path

COLUMNS = ["kernel", "text_sha256", "text_bytes", "registers", "shared_bytes", "constant_bytes"]
# The low 12 bits of an instruction of 16 bytes.
LOAD_LOCAL, STORE_LOCAL = 0x983, 0x387
# Accesses to local memory of an instance, at most. Of the first three, which ran on an H200 with them, docs/evidence says
# what each costs; the last has 128 results of a thread, for which 255 registers do not suffice.
MOST_LOCAL = {
    "sm90/dense-128x192-c2-s4-g128-pingpong/bf16-nt": 26,
    "sm90/dense-128x256-c2-s4-streamk/bf16-nt": 340,
    "sm90/grouped-128x192-c2-s4/e4m3-to_fp32-along_k-row_scales": 87,
    "sm90/dense-128x192-c2-s4-g128-pingpong/e4m3-nt-tensor": 26,
    "sm90/dense-128x208-c2-s5-g128-pingpong/bf16-nt": 26,
    "sm90/dense-192x96-c2n-s5/bf16-nt": 6,
    "sm90/dense-192x160-c2n-s4/bf16-nt": 6,
    "sm90/dense-192x192-c2n-s3/bf16-nt": 6,
    "sm90/dense-144x192-c2n-s4-swapped/bf16-nt": 6,
    "sm90/dense-152x192-c2-s4-swapped/bf16-nt": 4,
    "sm90/grouped-128x128-c2n-s5/e4m3-contiguous-any_rows-row_scales": 4,
    "sm100/blockwise-n256-s4-e8/e4m3-to_e4m3-alpha-swiglu-grouped-gathered": 52,
}
REGISTER_COUNT = 0x2F  # EIATTR_REGCOUNT of .nv.info: a symbol and a number


def sections(data):
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQII", data, table + i * size) for i in range(count)]
    strings = headers[names][4]
    for name, kind, _, _, offset, length, link, _ in headers:
        begin = strings + name
        body = data[offset:offset + length] if kind != 8 else b""  # a section without bytes in the file
        yield data[begin:data.index(b"\0", begin)].decode(), body, length, link


def symbols(data):
    listed = list(sections(data))
    for label, body, _, link in listed:
        if label != ".symtab":
            continue
        strings = listed[link][1]
        for at in range(0, len(body), 24):
            (name,) = struct.unpack_from("<I", body, at)
            yield strings[name:strings.index(b"\0", name)].decode()


def registers(data):
    """Registers of a thread, by kernel."""
    names = list(symbols(data))
    counts = {}
    for label, body, _, _ in sections(data):
        if label != ".nv.info":
            continue
        at = 0
        while at + 4 <= len(body):
            form, attribute, size = struct.unpack_from("<BBH", body, at)
            at += 4
            if form != 4:  # the value stands in the place of the size
                continue
            if attribute == REGISTER_COUNT:
                symbol, count = struct.unpack_from("<II", body, at)
                counts[names[symbol]] = count
            at += size
    return counts


def local_accesses(code):
    opcodes = (struct.unpack_from("<Q", code, at)[0] & 0xFFF for at in range(0, len(code) - 15, 16))
    return sum(opcode in (LOAD_LOCAL, STORE_LOCAL) for opcode in opcodes)


def kernels(data):
    text, shared, constant = {}, {}, {}
    for label, body, length, _ in sections(data):
        for prefix, table, value in ((".text.", text, body), (".nv.shared.", shared, length),
                                     (".nv.constant0.", constant, length)):
            if label.startswith(prefix):
                table[label.removeprefix(prefix)] = value
    count = registers(data)
    for name, code in text.items():
        digest = hashlib.sha256(code).hexdigest()[:24]
        yield name, [digest, len(code), count.get(name, 0), shared.get(name, 0), constant.get(name, 0)]


def record(folder):
    print("\t".join(COLUMNS))
    for file in sorted(Path(folder).rglob("*.cubin")):
        image = str(file.relative_to(folder)).removesuffix(".cubin")
        for name, facts in kernels(file.read_bytes()):
            whole = image if name == "warpwright_kernel" else f"{image}:{name}"
            print("\t".join(map(str, [whole, *facts])))


def read(path):
    lines = Path(path).read_text().splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]]
    return {row["kernel"]: tuple(row[c] for c in COLUMNS[1:]) for row in rows}


def compare(old_path, new_path):
    old, new = read(old_path), read(new_path)
    by_code = {}
    for name, code in new.items():
        by_code.setdefault(code[:2] + code[3:], []).append((name, code[2]))
    missing = []
    for name, code in old.items():
        found = [n for n, registers in by_code.get(code[:2] + code[3:], []) if code[2] in ("0", registers)]
        if found:
            print(f"{name} -> {', '.join(found)}")
        else:
            missing.append(name)
    for name in missing:
        print(f"{name}: not found")
    print(f"{len(old) - len(missing)} of {len(old)} kernels have the same machine code; {len(new)} kernels are there now")
    return 1 if missing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("paths", nargs="+")
    given = parser.parse_args()
    if given.what == "record" and len(given.paths) == 1:
        return record(given.paths[0])
    if given.what == "compare" and len(given.paths) == 2:
        return compare(*given.paths)
    parser.error("record takes a folder, compare two files")
    return 2


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A row for every instance that is compiled ahead and every chip that its image is for: what `check` says of it, whether
the launch that the library hands to a driver is the simulator's, and whether its registers and shared memory fit the chip.

usage: catalogue_table.py BUILD [--programs FOLDER] [--ptxas PTXAS] > docs/evidence/catalogue.tsv
       catalogue_table.py --judge [TABLE]       says what is wrong in a table; exit 1 if anything is

BUILD is a build folder with every image: cmake --preset release -DWARPWRIGHT_INSTANCES=ALL. The verdicts are read in
docs/evidence/check-catalogue.txt (tools/check_catalogue.py), and what `check --all` does not list the tool is asked
for; launches are compared by the tests of the recording drivers, which this runs (tool and tests are those of BUILD/bin, or
of another build's folder: images that a build lacks have stand-ins in these tests); the rest is read in cubins, in what ptxas makes of PTX for each chip, and in code objects.
"""
import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "evidence" / "catalogue.tsv"
CHECKED = ROOT / "docs" / "evidence" / "check-catalogue.txt"
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "cdna")]
import code_objects  # noqa: E402
import machine_code  # noqa: E402

COLUMNS = ["instance", "chip", "check", "launch", "launches", "threads", "registers", "of_registers", "local",
           "shared_bytes", "of_shared_bytes"]
KiB = 1024
# What a block may have of shared memory, as tests/driver/recorder/chip.cpp and hip_recorder/chip.cpp have it.
SHARED = {"sm_80": 163 * KiB, "sm_86": 99 * KiB, "sm_89": 99 * KiB, "sm_120": 99 * KiB, "sm_90": 227 * KiB,
          "sm_100": 227 * KiB, "sm_103": 227 * KiB, "gfx942": 64 * KiB, "gfx950": 160 * KiB}
# The targets of images, and the chips whose rows they are. PTX is compiled here as the driver would.
CHIPS = {"sm_90a": ["sm_90"], "sm_100f": ["sm_100", "sm_103"], "sm_100a": ["sm_100"], "sm_103a": ["sm_103"],
         "compute_80": ["sm_80", "sm_86", "sm_89", "sm_120"], "compute_89": ["sm_89", "sm_120"]}
ARCHITECTURES = {"sm_80 class": ["sm_80", "sm_86", "sm_89", "sm_120"], "sm_90": ["sm_90"],
                 "sm_100 and sm_103": ["sm_100", "sm_103"], "gfx942 and gfx950": ["gfx942", "gfx950"]}
FACTS = ("threads", "shared_bytes", "cluster", "blocks_per_sm", "argument_bytes")
# Nothing but `check` knows them: a kernel that teaches how tensor memory is held, and one for groups at addresses of their
# own, which the API does not have.
NOT_LAUNCHED = {"sm100/tmem_lifecycle-n128-s4/bf16-to_fp32", "sm100/tmem_lifecycle-n128-s4/bf16",
                "sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8-pointers"}
# gfx942 has other 8-bit codes than the API: src/amd runs its machine code, `check` has no problem for it.
NOT_CHECKED = {"gfx942/matmul-default/e4m3"}


def listed():
    """The instances that are compiled ahead, by the lists of the catalogue."""
    names = []
    for file in sorted((ROOT / "src" / "catalog").glob("*.def")):
        names += re.findall(r'^(?:INSTANCE|COVER|BUILT_IN|CODE_OBJECT)\("([^"]+)"\)', file.read_text(), flags=re.M)
    return names


def chips_of(name):
    """The chips for which a build has an image of it: cmake/images.cmake and gpu::target_of() say the same."""
    architecture = name.split("/")[0]
    if architecture == "sm80":
        return CHIPS["compute_89" if re.match(r"sm80/[^/]*/e[45]m[23]", name) else "compute_80"] + ["sm_90"]
    return {"sm90": ["sm_90"], "sm100": ["sm_100", "sm_103"]}.get(architecture, [architecture])


def verdict_of(tool, name):
    """The verdict on an instance that `check --all` does not list."""
    run = subprocess.run([tool, "check", name, "--json"], capture_output=True, text=True)
    return json.loads(run.stdout).get("verdict", "none") if run.stdout else "none"


def verdicts():
    rows = {}
    for line in CHECKED.read_text().splitlines():
        words = line.split()
        if not line.startswith(("#", "instance", " ")) and len(words) == 6:
            rows[words[0]] = words[1]
    return rows


def launches(programs):
    """What the tests of the recording drivers found: (how, launches) by instance and chip."""
    found = {}
    for program in ("same_launch", "hip_same_launch", "moe"):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / f"{program}.json"
            run = subprocess.run([programs / f"test_driver_{program}", "--gtest_brief=1", f"--gtest_output=json:{report}"],
                                 cwd=folder, capture_output=True, text=True)
            if not report.exists():
                sys.exit(f"catalogue_table.py: test_driver_{program} has ended with {run.returncode}: {run.stdout}{run.stderr}")
            suites = json.loads(report.read_text())["testsuites"]
        tests = [test for suite in suites for test in suite["testsuite"]]
        texts = [value for holder in (*suites, *tests) for key, value in holder.items() if key.startswith("launches")]
        for line in "".join(texts).splitlines():
            chip, instance, how, _, count = line.split("\t")
            before, so_far = found.get((instance, chip), (how, 0))
            found[instance, chip] = (how if before == how else "differs", so_far + int(count))
    return found


def most_registers(threads, blocks):
    """A quarter of an SM has 512 registers for each of 32 lanes, and hands them out to warps eight by eight."""
    warps = -(-threads * blocks // 128)
    return min(255, 512 // warps // 8 * 8)


def facts_of_elf(data):
    listed_sections = list(machine_code.sections(data))
    for label, body, _, link in listed_sections:
        if label != ".symtab":
            continue
        strings = listed_sections[link][1]
        for at in range(0, len(body), 24):
            name, _, _, section, value, size = struct.unpack_from("<IBBHQQ", body, at)
            if strings[name:strings.index(b"\0", name)] == b"warpwright_facts":
                return dict(zip(FACTS, struct.unpack_from("<5I", listed_sections[section][1], value)))
    return None


def facts_of_ptx(text):
    found = re.search(r"\.b8 warpwright_facts\[20\] = \{([^}]*)\}", text)
    values = bytes(int(number) for number in found[1].split(","))
    return dict(zip(FACTS, struct.unpack("<5I", values.ljust(20, b"\0"))))


def local_accesses(data):
    code = next(body for label, body, _, _ in machine_code.sections(data) if label == ".text.warpwright_kernel")
    return machine_code.local_accesses(code)


def of_cubin(data):
    facts = facts_of_elf(data)
    return [facts["threads"], machine_code.registers(data)["warpwright_kernel"],
            most_registers(facts["threads"], facts["blocks_per_sm"]), local_accesses(data), facts["shared_bytes"]]


def of_ptx(path, chip, ptxas):
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder) / "image.cubin"
        subprocess.run([ptxas, f"-arch={chip}", path, "-o", cubin], check=True)
        return of_cubin(cubin.read_bytes())


def of_code_object(build, name):
    architecture, plan, features = name.split("/")
    kernel = f"{plan}_{features}".replace("-", "_")
    (notes,) = code_objects.metadata(build / "cdna" / architecture / f"{kernel}.co")["amdhsa.kernels"]
    threads = notes[".max_flat_workgroup_size"]
    # A SIMD has 512 registers for each lane, ordinary and accumulation registers together, for its waves.
    spills = notes[".vgpr_spill_count"] + notes[".sgpr_spill_count"] + notes[".private_segment_fixed_size"]
    return [threads, notes[".vgpr_count"], 512 // max(1, threads // 256), spills, notes[".group_segment_fixed_size"]]


def image_of(build, name, chip, ptxas):
    """What is read in the image of an instance for a chip."""
    if chip.startswith("gfx"):
        return of_code_object(build, name)
    folder = build / "images"
    for target in sorted(CHIPS):
        if chip not in CHIPS[target]:
            continue
        cubin, ptx = folder / f"{name}.{target}.cubin", folder / f"{name}.{target}.ptx"
        if cubin.exists():
            return of_cubin(cubin.read_bytes())
        if ptx.exists():
            facts = facts_of_ptx(ptx.read_text())
            # The library refuses it there, and no driver compiles it.
            if facts["shared_bytes"] > SHARED[chip]:
                registers = most_registers(facts["threads"], facts["blocks_per_sm"])
                return [facts["threads"], 0, registers, 0, facts["shared_bytes"]]
            return of_ptx(ptx, chip, ptxas)
    sys.exit(f"catalogue_table.py: {folder} has no image of {name} for {chip}: build it with -DWARPWRIGHT_INSTANCES=ALL")


def rows_of(build, programs, ptxas):
    checked, launched, tool = verdicts(), launches(programs), programs / "warpwright-tool"
    for name in listed():
        verdict = checked.get(name) or verdict_of(tool, name)
        for chip in chips_of(name):
            threads, registers, most, local, shared = image_of(build, name, chip, ptxas)
            how, count = launched.get((name, chip), ("none", 0))
            if shared > SHARED[chip]:
                how = "refused"
            yield [name, chip, verdict, how, count, threads, registers, most, local, shared, SHARED[chip]]


def read(path):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    numbers = set(COLUMNS[4:])
    return [{key: int(cell) if key in numbers else cell for key, cell in zip(COLUMNS, line.split("\t"))} for line in lines[1:]]


def faults(rows):
    """Sentences about rows that should not be so, and rows that should be there."""
    have = {(row["instance"], row["chip"]) for row in rows}
    for name in listed():
        yield from (f"{name} for {chip}: the table has no row" for chip in chips_of(name) if (name, chip) not in have)
    for row in rows:
        where = f"{row['instance']} for {row['chip']}"
        if row["check"] != ("none" if row["instance"] in NOT_CHECKED else "clean"):
            yield f"{where}: check says {row['check']}"
        # Only tiles of mma.sync have chips on which they are refused.
        too_large = row["shared_bytes"] > row["of_shared_bytes"]
        refused = row["launch"] == "refused" and row["instance"].startswith("sm80/") and row["chip"] != "sm_80"
        if too_large and not refused:
            yield f"{where}: {row['shared_bytes']} shared bytes, a block may have {row['of_shared_bytes']}"
        unlaunched = row["launch"] == "none" and row["instance"] in NOT_LAUNCHED
        if row["launch"] not in ("equal", "as planned") and not (too_large and refused) and not unlaunched:
            yield f"{where}: the recorded launch is not the simulator's: {row['launch']}"
        if row["registers"] > row["of_registers"]:
            yield f"{where}: {row['registers']} registers, a thread may have {row['of_registers']}"
        most_local = machine_code.MOST_LOCAL.get(row["instance"], 0)
        if row["local"] > most_local:
            yield f"{where}: {row['local']} accesses to local memory, {most_local} at most"


def sums(rows):
    """What a page says of each class of chips; a row is an instance for a chip."""
    for architecture, chips in ARCHITECTURES.items():
        of = [row for row in rows if row["chip"] in chips]
        runs = [row for row in of if row["launch"] != "refused"]
        yield architecture, {
            "instances": len({row["instance"] for row in of}),
            "clean": len({row["instance"] for row in of if row["check"] == "clean"}),
            "rows": len(of),
            "equal": sum(row["launch"] in ("equal", "as planned") for row in of),
            "refused": len(of) - len(runs),
            "launches": sum(row["launches"] for row in of),
            "local": len({row["instance"] for row in runs if row["local"] > 0}),
            "registers": max(row["registers"] for row in runs),
            "shared": max(row["shared_bytes"] for row in runs) // KiB,
        }


def text_of(rows):
    lines = ["\t".join(COLUMNS)] + ["\t".join(map(str, row)) for row in rows]
    for architecture, s in sums([dict(zip(COLUMNS, row)) for row in rows]):
        lines.append(f"# {architecture}: {s['instances']} instances, {s['clean']} clean; of {s['rows']} for a chip {s['equal']} are launched "
                     f"as the simulator has it ({s['launches']} launches) and {s['refused']} refused; {s['local']} with local memory; "
                     f"at most {s['registers']} registers and {s['shared']} KiB")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--ptxas", default="/usr/local/cuda/bin/ptxas")
    parser.add_argument("--judge", nargs="?", const=TABLE, type=pathlib.Path)
    given = parser.parse_args()
    if (given.build is None) == (given.judge is None):
        parser.error("a build folder or --judge is needed")
    if given.judge is not None:
        found = list(faults(read(given.judge)))
        print("".join(sentence + "\n" for sentence in found), end="")
        return 1 if found else 0
    build = given.build.resolve()
    rows = list(rows_of(build, (given.programs or build / "bin").resolve(), given.ptxas))
    print("# tools/catalogue_table.py BUILD, of a build with every image (-DWARPWRIGHT_INSTANCES=ALL); nvcc and ptxas 13.0, clang 22.")
    print("# launch: what a recording driver saw equals what the simulator was given; of kernels that no problem asks for by itself grid,")
    print("# threads and shared bytes are as planned; none: nothing launches it; refused: it is too large for the chip, and the library says so.")
    print("# local: accesses to local memory in the machine code, of AMD's spilled registers and bytes of scratch.")
    print(text_of(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

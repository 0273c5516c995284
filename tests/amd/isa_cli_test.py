"""`schedule verify --isa`: exit codes, the JSON document and the sentences. Arguments: the tool, the build folder."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

tool, build = sys.argv[1], pathlib.Path(sys.argv[2])
objects = build / "cdna" / "gfx950"
if not shutil.which("llvm-objdump-22"):
    print("skipped: llvm-objdump-22 is not installed")
    sys.exit(77)
if not (objects / "matmul_pingpong_bf16.co").exists():
    print("skipped: the CDNA code objects are not built")
    sys.exit(77)


def run(schedule, target, file, *more):
    command = [tool, "schedule", "verify", schedule, "--target", target, "--isa", str(file), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


for schedule, name in (("ping-pong", "matmul_pingpong_bf16"), ("blocks", "matmul_blocks_bf16")):
    done = run(schedule, "gfx950", objects / f"{name}.co", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["proven"] is True
    (kernel,) = document["isa"]
    assert kernel["kernel"] == name and kernel["proven"] is True
    assert kernel["registers"]["spills"] == 0
    assert kernel["order"]["verified"] is True and kernel["order"]["waves"] == 8 and kernel["order"]["mismatches"] == []
    assert [e["landing"] for e in kernel["executions"]] == ["earliest", "latest", "seeded"]
    for execution in kernel["executions"]:
        assert execution["wrong"] == 0 and execution["findings"] == [] and execution["error"] == "", execution

done = run("ping-pong", "gfx950", objects / "matmul_pingpong_bf16.co")
assert done.returncode == 0 and "order verified" in done.stdout and "not on hardware" in done.stdout, done.stdout

# A weaker wait, written into the machine code: every vmcnt of the file is raised by one. s_waitcnt is 0xbf8cNNNN with
# vmcnt in bits 3:0 (its upper bits 15:14 are set when it is not meant).
code = bytearray((objects / "matmul_pingpong_bf16.co").read_bytes())
changed = 0
for at in range(0, len(code) - 3, 4):
    word = int.from_bytes(code[at : at + 4], "little")
    if word >> 16 == 0xBF8C and word >> 14 & 3 == 0 and word & 15 < 15:
        code[at : at + 4] = (word + 1).to_bytes(4, "little")
        changed += 1
assert changed > 0
with tempfile.TemporaryDirectory() as folder:
    broken = pathlib.Path(folder) / "broken.co"
    broken.write_bytes(code)
    done = run("ping-pong", "gfx950", broken)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "waits for vmcnt(" in done.stdout and "lds-raw" in done.stdout, done.stdout

for schedule, target, file, sentence in (
    ("4-wave", "gfx950", objects / "matmul_pingpong_bf16.co", "has no kernel made from '4-wave'"),
    ("blocks", "gfx950", objects / "matmul_pingpong_bf16.co", "has no kernel made from 'blocks'"),
    ("default", "gfx942", objects / "matmul_default_bf16.co", "is for gfx950, not for gfx942"),
    ("default", "sm80", objects / "matmul_default_bf16.co", "has no AMD code objects"),
    ("legacy/ping-pong", "gfx950", objects / "matmul_pingpong_bf16.co", "no kernel is made from the schedule"),
    ("default", "gfx950", "/does/not/exist.co", "is not a file"),
):
    done = run(schedule, target, file)
    assert done.returncode == 2 and sentence in done.stderr, (schedule, target, done.returncode, done.stdout, done.stderr)
print("schedule verify --isa: all cases as expected")

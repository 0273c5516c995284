"""The Python package describes the structures of the C interface again: both must be the same, and a failure of the
library must arrive as its sentence, in the benchmarks too. The words of types and options are those of one table.
Needs neither torch nor a GPU.

Usage: python_abi_test.py libwarpwright.so TOOL
"""
import contextlib
import ctypes
import importlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

library_path, tool = sys.argv[1:]
root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "bench"))
peer, peer_torch = importlib.import_module("peer"), importlib.import_module("peer_torch")
abi = peer.load_interface(library_path)
errors = importlib.import_module("warpwright._errors")
descriptions = list(abi.STRUCTURES.items())

# Every field of every structure lies where the C compiler puts it.
program = ['#include <stdio.h>', '#include "warpwright/c_api.h"', "int main(void) {"]
for name, structure in descriptions:
    program.append(f'printf("{name} %zu\\n", sizeof({name}));')
    for field, *_ in structure._fields_:
        program.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
program.append("}")
with tempfile.TemporaryDirectory() as folder:
    source, binary = pathlib.Path(folder) / "abi.c", pathlib.Path(folder) / "abi"
    source.write_text("\n".join(program))
    try:
        subprocess.run(["cc", "-std=c11", "-I", str(root / "include"), str(source), "-o", str(binary)], check=True)
    except FileNotFoundError:
        print("no C compiler")
        sys.exit(77)
    stated = dict(line.split() for line in subprocess.run([binary], check=True, capture_output=True,
                                                          text=True).stdout.splitlines())
for name, structure in descriptions:
    assert int(stated[name]) == ctypes.sizeof(structure), name
    for field, *_ in structure._fields_:
        assert int(stated[f"{name}.{field}"]) == getattr(structure, field).offset, f"{name}.{field}"

# One table of words: what the library tells Python is what the enumerations of C say, and what the tool and the page of
# gemm offer.
program = ['#include <stdio.h>', '#include "warpwright/c_api.h"', "int main(void) {"]
ENUMERATORS = {"dtype": "WW_", "activation": "WW_ACTIVATION_", "bias": "WW_BIAS_", "scaling": "WW_SCALING_",
               "accumulation": "WW_ACCUMULATE_", "quantization": "WW_QUANTIZE_", "scale_layout": "WW_SCALES_"}
OTHER_NAMES = {"gelu": "gelu_tanh", "row_bias": "per_row", "bias": "per_column"}
for table, prefix in ENUMERATORS.items():
    words = abi.words(table)
    assert len(words) > 1 and len(set(words.values())) == len(words), table
    for word, value in words.items():
        program.append(f"_Static_assert({prefix}{OTHER_NAMES.get(word, word).upper()} == {value}, \"{table} {word}\");")
program.append("}")
with tempfile.TemporaryDirectory() as folder:
    source = pathlib.Path(folder) / "words.c"
    source.write_text("\n".join(program))
    subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-I", str(root / "include"), str(source)], check=True)


def listed(text, begin):
    """The words of a sentence from `begin` to its end, as a help page breaks it into lines."""
    sentence = re.search(re.escape(begin) + r"([^;]*);", " ".join(text.split()))
    return set(re.findall(r"[a-z0-9_]+", sentence.group(1))) - {"or", "and"}


page = subprocess.run([tool, "gemm", "--help"], check=True, capture_output=True, text=True).stdout
epilogues = listed(page, "what happens to a sum on its way out:")
activations, biases = set(abi.words("activation")) - {"none"}, set(abi.words("bias")) - {"none"}
assert epilogues == activations | biases | {"residual", "quantize"}, epilogues
assert set(abi.words("scaling")) < listed(page, "factors of narrow operands:")
text = (root / "python" / "warpwright" / "_gemm.py").read_text()
line = re.search(r"^ +activation +('none'.*)$", text, re.MULTILINE).group(1)
assert set(re.findall(r"'(\w+)'", line)) == activations | {"none"}, line

for size, word in ((-1, "m = -1"), (1 << 40, "at most")):
    try:
        peer_torch.OurPlan(abi, "e4m3", size, 64, 64, "")
    except ValueError as error:
        assert word in str(error), error
    else:
        raise AssertionError(f"m = {size} was accepted")


def ending(failure):
    """How a benchmark ends that fails so: its exit code and its sentence."""
    def run(_):
        raise failure
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = peer.main(run, None)
    return code, json.loads(text.getvalue())["error"]


assert ending(ValueError("a")) == (2, "a")
assert ending(errors.MissingError("b")) == (3, "b")
assert ending(errors.WarpwrightError("c")) == (1, "c")
assert ending(peer.Fault(3, "d")) == (3, "d")

abi.library.cache_clear()
os.environ["WARPWRIGHT_LIBRARY"] = "/nonexistent.so"
try:
    abi.library()
except errors.MissingError as error:
    assert "/nonexistent.so" in str(error), error
else:
    raise AssertionError("a library that is not there was loaded")

# The tool's failures are documents too; they arrive as exceptions with its sentence.
from_tool = importlib.import_module("warpwright._tool")
with tempfile.TemporaryDirectory() as folder:
    stand_in = pathlib.Path(folder) / "tool"
    for code, kind in ((1, errors.WarpwrightError), (2, ValueError), (3, errors.MissingError)):
        stand_in.write_text("#!/bin/sh\necho 'warpwright gemm: it stopped.' >&2\n"
                            f"""echo '{{"error": {{"message": "it stopped.", "exit_code": {code}}}}}'\nexit {code}\n""")
        stand_in.chmod(0o755)
        os.environ["WARPWRIGHT_TOOL"] = str(stand_in)
        from_tool._path.cache_clear()
        try:
            from_tool.run("gemm")
        except kind as error:
            assert str(error) == "it stopped.", error
        else:
            raise AssertionError(f"exit code {code} was taken for a result")

low, high = peer.median_interval([5, 1, 4, 2, 3, 6, 9, 8, 7])
assert (low, high) == (2, 8), "as bench_stats.cpp: the second of nine on either side"
assert peer.median_interval([3, 1, 2]) == (1, 3)
print("ok")

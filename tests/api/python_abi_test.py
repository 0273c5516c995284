"""bench/peer_torch.py and the Python package describe the structures of the C interface again: all must be the same, and
a failure of the library must arrive as its sentence. Needs neither torch nor a GPU.

Usage: python_abi_test.py libwarpwright.so
"""
import ctypes
import importlib
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import types

library_path = sys.argv[1]
root = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("peer_torch", root / "bench" / "peer_torch.py")
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)
# The package's description alone: the package itself needs NumPy and the tool.
package = types.ModuleType("warpwright")
package.__path__ = [str(root / "python" / "warpwright")]
sys.modules["warpwright"] = package
abi = importlib.import_module("warpwright._abi")
descriptions = [("ww_matrix_layout", peer.MatrixLayout), ("ww_gemm_problem", peer.Problem),
                ("ww_gemm_pointers", peer.Pointers), *abi.STRUCTURES.items()]

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

library = peer.Library(library_path)
for size, code, word in ((-1, 2, "m = -1"), (1 << 40, 2, "at most")):
    try:
        peer.OurPlan(library, "e4m3", size, 64, 64, "")
    except peer.Fault as fault:
        assert fault.code == code and word in str(fault), fault
    else:
        raise AssertionError(f"m = {size} was accepted")
try:
    peer.Library("/nonexistent.so")
except peer.Fault as fault:
    assert fault.code == 3 and "/nonexistent.so" in str(fault)
else:
    raise AssertionError("a library that is not there was loaded")

low, high = peer.median_interval([5, 1, 4, 2, 3, 6, 9, 8, 7])
assert (low, high) == (2, 8), "as bench_stats.cpp: the second of nine on either side"
assert peer.median_interval([3, 1, 2]) == (1, 3)
print("ok")

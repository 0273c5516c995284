"""Several processes over gloo on the CPU: DTensors, parallelize_module and experts over ranks give what one process does.

The cases are in distributed_*_cases.py. They are all run by one set of processes, since each takes seconds to begin.
"""

import functools
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


@functools.lru_cache(maxsize=None)
def results(module, world):
    """What went wrong in each case, of all ranks."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        logs = [open(pathlib.Path(folder) / f"{rank}.log", "w+") for rank in range(world)]
        command = [sys.executable, str(HERE / "distributed_process.py"), module]
        ranks = [subprocess.Popen([*command, str(rank), str(world), folder], env=environment, stdout=log,
                                  stderr=subprocess.STDOUT) for rank, log in enumerate(logs)]
        codes = []
        try:
            codes = [process.wait(900) for process in ranks]
        finally:
            for process in ranks:
                process.kill()
        said = {}
        for rank, log in enumerate(logs):
            path = pathlib.Path(folder) / f"{rank}.json"
            for case, wrong in (json.loads(path.read_text()) if path.exists() else {}).items():
                said.setdefault(case, []).append(wrong and f"rank {rank}: {wrong}")
            log.seek(0)
            said.setdefault("", []).append(f"rank {rank} ended with {codes[rank]}\n{log.read()[-4000:]}")
            log.close()
        return said


CASES = [(module, world, case.__name__) for module in ("gemm", "nn", "moe") for world, cases in importlib.import_module(
    f"distributed_{module}_cases").CASES.items() for case in cases]


@pytest.mark.parametrize("module, world, case", CASES)
def test_ranks_agree_with_one_process(library, module, world, case):
    said = results(f"distributed_{module}_cases", world)
    found = said.get(case, [])
    assert not any(found), "\n".join(x for x in found if x)
    assert len(found) == world, "it was not run by all ranks:\n" + "\n".join(said[""])


def test_torch_distributed_is_imported_by_those_who_use_it():
    code = "import sys, warpwright; assert not any(name.startswith('torch') for name in sys.modules); import warpwright.nn; " \
           "assert not {f'warpwright.{name}' for name in ('distributed', '_torch_sharding', '_torch_parallel')} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={**os.environ, "PYTHONPATH": str(HERE.parent), "PYTHONDONTWRITEBYTECODE": "1"})

"""One process of those that test_distributed.py starts: runs the cases of a file and writes what went wrong.

Usage: distributed_process.py MODULE RANK WORLD FOLDER
"""

import datetime
import importlib
import json
import pathlib
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import torch
import torch.distributed as dist


def main():
    module, rank, world, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=world,
                            timeout=datetime.timedelta(seconds=60))
    wrong = {}
    for case in importlib.import_module(module).CASES[world]:
        try:
            torch.manual_seed(1)
            case(world)
            wrong[case.__name__] = None
        except Exception:
            wrong[case.__name__] = traceback.format_exc()
        (folder / f"{rank}.json").write_text(json.dumps(wrong))
        print(rank, case.__name__, wrong[case.__name__] or "right", flush=True)
        if wrong[case.__name__]:
            return  # the others may be elsewhere now
    dist.destroy_process_group()


main()

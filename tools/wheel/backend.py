"""How pip builds the package: by scikit-build-core, and the wheel is then given the name of the oldest system it runs on.

auditwheel looks for that in the binaries; where it finds a library that not every system has, the wheel keeps the name
of this machine alone, and prints what was found.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from scikit_build_core import build as builder
from scikit_build_core.build import *  # noqa: F403  the other hooks are its own

# A package index refuses more than 100 MB; we promise this much.
LARGEST = 60_000_000


def _repaired(wheel: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    done = subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder), str(wheel)],
                          capture_output=True, text=True, check=False)
    made = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(made) == 1:
        return made[0]
    print(f"{wheel.name} runs on this system only: {(done.stderr or done.stdout).strip()}", file=sys.stderr)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        wheel = folder / builder.build_wheel(str(folder), config_settings, metadata_directory)
        (folder / "repaired").mkdir()
        wheel = _repaired(wheel, folder / "repaired")
        if (size := wheel.stat().st_size) > LARGEST:
            print(f"{wheel.name} has {size / 1e6:.1f} MB, more than {LARGEST / 1e6:.0f}", file=sys.stderr)
        return pathlib.Path(shutil.copy(wheel, wheel_directory)).name

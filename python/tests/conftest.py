import pathlib
import sys

# From a checkout the package is used as it lies there, with the tool and the library of the build tree.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


def pytest_configure(config):
    config.addinivalue_line("markers", "real_launch: without the stand-in for the library's kernels")

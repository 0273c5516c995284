import pathlib
import sys

# From a checkout the package is used as it lies there, with the tool and the library of the build tree.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


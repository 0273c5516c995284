import pathlib
import sys

import pytest

# From a checkout the package is used as it lies there, with the tool and the library of the build tree.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


@pytest.fixture
def library():
    """The library, which has the rules; without a build of it a test is skipped."""
    import warpwright
    from warpwright import _abi

    try:
        return _abi.library()
    except warpwright.MissingError as error:
        pytest.skip(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Where there is no compiler, as where a wheel is tried, a kernel that is not inside the tool cannot be run."""
    import warpwright

    try:
        return (yield)
    except warpwright.MissingError as error:
        if "a C++20 compiler is needed" not in str(error):
            raise
        pytest.skip(str(error))

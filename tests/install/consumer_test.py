"""Installs the build into an empty folder, builds examples/first_ring and, where the CUDA runtime is, examples/gemm against
it with find_package and by pkg-config, and runs them."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

cmake, build, compiler, version, sanitizers, prefix_path = sys.argv[1:7]
sanitizers = sanitizers.partition("=")[2]
prefix_path = prefix_path.partition("=")[2].replace("|", ";")  # where the build found its dependencies
root = pathlib.Path(__file__).resolve().parents[2]
example = root / "examples" / "first_ring"


def run(*command):
    print("+", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


with tempfile.TemporaryDirectory() as folder:
    prefix = pathlib.Path(folder) / "prefix"
    project = pathlib.Path(folder) / "project"
    run(cmake, "--install", build, "--prefix", prefix)
    flags = [f"-DCMAKE_CXX_FLAGS=-fsanitize={sanitizers}"] if sanitizers else []
    searched = ";".join(map(str, filter(None, [prefix, prefix_path])))
    run(cmake, "-S", example, "-B", project, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={searched}",
        f"-DCMAKE_CXX_COMPILER={compiler}", *flags)
    run(cmake, "--build", project)
    assert run(project / "first_ring").startswith("right:")
    broken = subprocess.run([project / "first_ring", "broken"], stdout=subprocess.PIPE, text=True, check=False)
    assert broken.returncode == 1 and broken.stdout.startswith("deadlock") and "rows.empty" in broken.stdout, broken.stdout
    assert "main.cpp:" in broken.stdout, broken.stdout
    toolkit = next((folder for folder in (pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")), pathlib.Path("/usr"))
                    if (folder / "include" / "cuda_runtime_api.h").exists()), None)
    if toolkit and not sanitizers:
        products = pathlib.Path(folder) / "products"
        run(cmake, "-S", root / "examples" / "gemm", "-B", products, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={searched};{toolkit}",
            f"-DCMAKE_CXX_COMPILER={compiler}")
        run(cmake, "--build", products)
        programs = [products / "gemm"]
        (pc,) = prefix.rglob("warpwright.pc")
        if shutil.which("pkg-config"):
            environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
            flags = subprocess.run(["pkg-config", "--cflags", "--libs", "warpwright"], env=environment, check=True,
                                   stdout=subprocess.PIPE, text=True).stdout.split()
            linked = pathlib.Path(folder) / "linked"
            run(compiler, root / "examples" / "gemm" / "main.cpp", *flags, f"-I{toolkit}/include", f"-L{toolkit}/lib64",
                "-lcudart", f"-Wl,-rpath,{pc.parent.parent}", f"-Wl,-rpath,{toolkit}/lib64", "-o", linked)
            programs.append(linked)
        for program in programs:
            done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False)
            shown = (done.returncode, done.stdout)
            assert shown == (0, "launched\n") or (done.returncode == 1 and "no GPU can be used" in done.stdout), shown
    stated = (prefix / "lib" / "cmake" / "warpwright" / "warpwright-config-version.cmake").read_text()
    assert version in stated, stated
    shown = run(prefix / "bin" / "warpwright", "--version")
    assert version in shown, f"the installed tool says {shown!r}, the project is {version}"
    headers = {path.relative_to(prefix / "include") for path in (prefix / "include").rglob("*.h")}
    source = root / "include"
    # The reference's own derivations are there to be compared with, not to be used.
    expected = {path.relative_to(source) for path in source.rglob("*.h") if path.parent.name != "legacy"}
    assert headers == expected, f"headers missing or too many: {sorted(map(os.fspath, expected ^ headers))}"

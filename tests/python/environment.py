"""Virtual environments of the build tree for tests that need packages."""
import subprocess
import sys
import venv


def prepared(folder, packages):
    """Its interpreter; ends with 77 (skipped) where the packages cannot be installed."""
    python = folder / "bin" / "python"
    imports = "import " + ", ".join(packages)
    if python.exists() and subprocess.run([python, "-c", imports], capture_output=True).returncode == 0:
        return python
    try:
        venv.create(folder, with_pip=True, clear=True)
    except subprocess.CalledProcessError:
        print("a virtual environment with pip could not be made; Debian's python3-venv makes it possible")
        sys.exit(77)
    if subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]).returncode:
        print("the packages could not be installed:", *packages)
        sys.exit(77)
    return python

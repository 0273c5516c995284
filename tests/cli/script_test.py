"""The script at the root: what it refuses before it builds anything, and what it passes through.

Usage: script_test.py SCRIPT [unittest arguments]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = None

# Stand-ins for the programs that the script calls; each writes its name and arguments to $CALLS.
RECORD = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
"""
CMAKE = RECORD + """
while [ $# -gt 0 ]; do
  if [ "$1" = -B ]; then build=$2; fi
  shift
done
mkdir -p "$build/bin" && : > "$build/build.ninja"
"""
# Makes the programs it is asked for: each prints its name and its arguments.
NINJA = RECORD + """
echo "[1/1] building"
[ "${NINJA_EXIT:-0}" = 0 ] || exit "$NINJA_EXIT"
build=$2
for target; do
  case $target in
    all) target=warpwright-tool ;;
    warpwright-*) ;;
    *) continue ;;
  esac
  printf '#!/bin/sh\\necho "%s $*"\\nexit ${TOOL_EXIT:-0}\\n' "${target#warpwright-}" > "$build/bin/$target"
  chmod +x "$build/bin/$target"
done
"""
CTEST = RECORD + """
case "$*" in
  *-N*) echo "Total Tests: ${FOUND:-1}"; exit 0 ;;
esac
echo "100% tests passed, 0 tests failed out of 4"
exit ${CTEST_EXIT:-0}
"""
# Nothing is missing, except what $ABSENT names.
DPKG_QUERY = """#!/bin/sh
shift 2
for name; do
  if [ "$name" != "${ABSENT:-}" ]; then printf 'installed:%s ' "$name"; fi
done
"""
# No password-less root.
SUDO = "#!/bin/sh\nexit 1\n"
APT = RECORD + "exit 0\n"


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = self.folder / "calls"
        fakes = self.folder / "fakes"
        fakes.mkdir()
        for name, text in {"cmake": CMAKE, "ninja": NINJA, "ctest": CTEST, "dpkg-query": DPKG_QUERY, "sudo": SUDO,
                           "apt-get": APT, "apt-cache": APT, "nvcc": APT}.items():
            path = fakes / name
            path.write_text(text)
            path.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{fakes}:{os.environ['PATH']}", "CALLS": str(self.calls),
                            "WARPWRIGHT_BUILD_DIR": str(self.folder / "build")}
        for name in ("WARPWRIGHT_CUDA", "WARPWRIGHT_PRESET", "CUDACXX"):
            self.environment.pop(name, None)
        # The script with device files of our own: a machine that has a GPU, until the file is taken away.
        self.gpu = self.folder / "dev" / "nvidia0"
        self.gpu.parent.mkdir()
        self.gpu.touch()
        self.script = self.folder / "warpwright"
        text = pathlib.Path(SCRIPT).read_text()
        self.assertEqual(text.count("/dev/nvidia[0-9]*"), 1)
        text = text.replace("/dev/nvidia[0-9]*", f"{self.gpu.parent}/nvidia[0-9]*").replace("/dev/dxg", "/nowhere")
        self.script.write_text(text)
        self.script.chmod(0o755)

    def run_script(self, *arguments, cwd="/", **environment):
        return subprocess.run([self.script, *arguments], capture_output=True, text=True, cwd=cwd, timeout=30,
                              env={**self.environment, **environment})

    def called(self):
        return self.calls.read_text() if self.calls.exists() else ""

    def test_stdout_belongs_to_the_tool(self):
        result = self.run_script("gemm", "--m", "3 4", "")
        self.assertEqual((result.returncode, result.stdout), (0, "tool gemm --m 3 4 \n"))
        self.assertIn("[1/1] building", result.stderr)

    def test_the_page_of_the_demo_is_in_the_build_folder(self):
        page = "build/warpwright-demo.html"
        self.assertEqual(self.run_script("demo").stdout, f"tool demo --timeline {self.folder}/{page}\n")
        self.assertEqual(self.run_script("demo", "--json", cwd=self.folder).stdout, f"tool demo --json --timeline {page}\n")
        for arguments in (["--timeline", "x.html"], ["--timeline=x.html"], ["--help"]):
            self.assertEqual(self.run_script("demo", *arguments).stdout, f"tool demo {' '.join(arguments)}\n")
        self.assertEqual(self.run_script("devices").stdout, "tool devices\n")

    def test_errors_are_documents_with_json(self):
        for code, arguments, environment in ((2, ["demo"], {"WARPWRIGHT_CUDA": 'a "b\\c'}), (1, ["demo"], {"NINJA_EXIT": "1"}),
                                             (3, ["test", "--gpu"], {"WARPWRIGHT_CUDA": "off"})):
            result = self.run_script(*arguments, "--json", **environment)
            self.assertEqual(result.returncode, code)
            error = json.loads(result.stdout)["error"]
            self.assertEqual(error["exit_code"], code)
            self.assertTrue(result.stderr.endswith(f"warpwright: {error['message']}\n"), result.stderr)

    def test_a_compiler_that_is_not_there(self):
        result = self.run_script("demo", CXX="nowhere-c++ -O2")
        self.assertEqual((result.returncode, result.stdout, self.called()), (3, "", ""))
        self.assertRegex(result.stderr, r"\Awarpwright: CXX = 'nowhere-c\+\+ -O2': nowhere-c\+\+ cannot be run; .*\n\Z")
        self.assertEqual(self.run_script("demo", CXX="env c++").returncode, 0)

    def test_exit_codes_pass_through(self):
        for code in (0, 1, 2, 3):
            self.assertEqual(self.run_script("demo", TOOL_EXIT=str(code)).returncode, code)

    def test_second_run_does_not_configure(self):
        self.run_script("demo")
        first = self.called()
        self.assertEqual(first.count("cmake "), 1)
        self.run_script("demo")
        self.assertEqual(self.called().count("cmake "), 1)
        self.assertEqual(self.called().count("ninja "), 2)

    def test_cuda_off_has_its_own_folder(self):
        self.run_script("demo")
        self.run_script("demo", WARPWRIGHT_CUDA="off")
        self.run_script("demo")
        self.assertEqual(self.called().count("cmake "), 2)
        self.assertTrue((self.folder / "build-nocuda" / "bin").is_dir())
        self.assertIn("-DWARPWRIGHT_CUDA=OFF", self.called())

    def test_without_a_gpu_the_tool_is_built_without_device_code(self):
        self.gpu.unlink()
        result = self.run_script("devices")
        self.assertEqual((result.returncode, result.stdout), (0, "tool devices\n"))
        self.assertIn("No GPU was found", result.stderr)
        self.assertIn("-DWARPWRIGHT_CUDA=OFF", self.called())
        self.assertTrue((self.folder / "build-nocuda" / "bin").is_dir())
        # The same folder as when CUDA is switched off, for the help of `test` too, and it is configured once.
        page = self.folder / "build-nocuda" / "warpwright-demo.html"
        for environment in ({}, {"WARPWRIGHT_CUDA": "off"}):
            self.assertEqual(self.run_script("demo", **environment).stdout, f"tool demo --timeline {page}\n")
        self.assertEqual(self.run_script("test", "--help").returncode, 0)
        self.assertEqual(self.called().count("cmake "), 1)
        self.assertFalse((self.folder / "build").exists())

    def test_without_a_gpu_the_whole_is_built_for_the_tests_and_then_taken(self):
        self.gpu.unlink()
        self.run_script("test", "core")
        self.run_script("demo")
        self.assertEqual(self.called().count("cmake "), 1)
        self.assertNotIn("-DWARPWRIGHT_CUDA", self.called())
        self.assertTrue((self.folder / "build" / "bin").is_dir())

    def test_demo_alone_comes_before_the_tool(self):
        self.gpu.unlink()
        page = self.folder / "build-nocuda" / "warpwright-demo.html"
        for _ in range(2):
            self.assertEqual(self.run_script("demo").stdout, f"demo demo --timeline {page}\n")
        self.assertEqual(self.run_script("demo", "--help").stdout, "demo demo --help\n")
        self.assertEqual(self.run_script("demo", "--timeline", "x.html", "--json").stdout,
                         "demo demo --timeline x.html --json\n")
        for code in (1, 2, 3):
            self.assertEqual(self.run_script("demo", TOOL_EXIT=str(code)).returncode, code)
        self.assertEqual(self.called().count("cmake "), 1)
        self.assertNotIn("warpwright-tool", self.called())
        # In the same folder, with the same configuration; from then on it is the tool.
        self.assertEqual(self.run_script("devices").stdout, "tool devices\n")
        self.assertEqual(self.run_script("demo").stdout, f"tool demo --timeline {page}\n")
        self.assertEqual(self.called().count("cmake "), 1)

    def test_demo_alone_is_for_nobody_who_would_miss_something(self):
        # Who has a GPU sees it measured, who asks for device code or another preset gets it.
        self.assertTrue(self.run_script("demo").stdout.startswith("tool demo "))
        self.gpu.unlink()
        for number, environment in enumerate(({"WARPWRIGHT_CUDA": "on"}, {"WARPWRIGHT_PRESET": "dev"})):
            result = self.run_script("demo", WARPWRIGHT_BUILD_DIR=str(self.folder / str(number)), **environment)
            self.assertTrue(result.stdout.startswith("tool demo "), result.stdout)
        self.assertNotIn("warpwright-demo\n", self.called())

    def test_a_gpu_that_is_switched_off_is_not_measured(self):
        self.assertTrue(self.run_script("demo", WARPWRIGHT_CUDA="off").stdout.startswith("demo demo "))

    def test_two_first_demos_at_once(self):
        self.gpu.unlink()
        both = [subprocess.Popen([self.script, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=self.environment) for _ in range(2)]
        for one in both:
            self.assertTrue(one.communicate(timeout=30)[0].startswith("demo demo "))
            self.assertEqual(one.returncode, 0)
        self.assertEqual(self.called().count("cmake "), 1)

    def test_demo_alone_that_cannot_be_built(self):
        self.gpu.unlink()
        result = self.run_script("demo", NINJA_EXIT="1")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        result = self.run_script("demo", WARPWRIGHT_BUILD_DIR="/proc/nowhere")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"\Awarpwright: the build folder /proc/nowhere-nocuda cannot be written; .*\n\Z")

    def test_tests_are_configured_when_they_are_wanted(self):
        self.gpu.unlink()
        off = {"WARPWRIGHT_CUDA": "off"}
        self.run_script("demo", **off)
        self.run_script("devices", **off)
        self.assertEqual(self.called().count("-DBUILD_TESTING=OFF"), 1)
        self.run_script("test", "core", **off)
        self.assertEqual(self.called().count("-DBUILD_TESTING=ON"), 1)
        self.run_script("devices", **off)
        self.run_script("test", "core", **off)
        self.assertEqual(self.called().count("cmake "), 2)
        # What was compiled stays.
        self.assertNotIn("--fresh", self.called())

    def test_device_code_on_request(self):
        self.gpu.unlink()
        result = self.run_script("demo", WARPWRIGHT_CUDA="ON")
        self.assertEqual((result.returncode, self.called().count("-DWARPWRIGHT_CUDA=ON")), (0, 1))
        self.assertTrue((self.folder / "build" / "bin").is_dir())

    def test_a_word_that_switches_nothing(self):
        result = self.run_script("demo", WARPWRIGHT_CUDA="maybe")
        self.assertEqual((result.returncode, result.stdout, self.called()), (2, "", ""))
        self.assertIn("'maybe': it must be auto, on or off", result.stderr)

    def test_relative_build_folder_and_any_working_directory(self):
        result = self.run_script("demo", cwd=self.folder, WARPWRIGHT_BUILD_DIR="here/below")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.folder / "here" / "below" / "bin").is_dir())

    def test_build_folder_that_cannot_be_made(self):
        (self.folder / "file").write_text("")
        result = self.run_script("demo", WARPWRIGHT_BUILD_DIR=str(self.folder / "file" / "build"))
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual(self.called(), "")

    def test_a_failed_build_is_reported(self):
        result = self.run_script("demo", NINJA_EXIT="1")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("the build failed", result.stderr)

    def test_suite_leaves_gpu_tests_out(self):
        result = self.run_script("test", "core", "sim")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.endswith("100% tests passed, 0 tests failed out of 4\n"))
        self.assertIn("-LE ^(gpu|full)$", self.called())
        self.assertIn("-R core|sim", self.called())

    def test_long_tests_are_asked_for(self):
        self.assertEqual(self.run_script("test", "--full").returncode, 0)
        self.assertIn("-LE ^(gpu)$", self.called())

    def test_tests_of_the_tool_build_the_tool_only(self):
        self.assertEqual(self.run_script("test", "--tool").returncode, 0)
        self.assertRegex(self.called(), r"ninja .* warpwright-tool\n")
        self.assertIn("-L ^tool$", self.called())

    def test_lint_builds_nothing(self):
        (self.folder / "tools").symlink_to(pathlib.Path(SCRIPT).resolve().parent / "tools")
        result = self.run_script("lint", "--help")
        self.assertEqual((result.returncode, self.called()), (0, ""), result.stderr)
        self.assertIn("origin/main", result.stdout)
        self.assertEqual(self.run_script("lint", "--frob").returncode, 2)
        self.assertEqual(self.called(), "")

    def test_failing_suite_exits_1(self):
        self.assertEqual(self.run_script("test", CTEST_EXIT="8").returncode, 1)

    def test_suite_as_json(self):
        result = self.run_script("test", "--json")
        self.assertEqual(result.stdout, '{"ok": true, "total": 4, "failed": 0, "closing_line": '
                                        '"100% tests passed, 0 tests failed out of 4"}\n')

    def test_name_without_a_test(self):
        result = self.run_script("test", "nowhere", FOUND="0")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("'nowhere'", result.stderr)

    def test_unknown_option_of_test_builds_nothing(self):
        result = self.run_script("test", "--frob")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("'--frob'", result.stderr)
        self.assertEqual(self.called(), "")

    def test_gpu_tests_without_cuda(self):
        result = self.run_script("test", "--gpu", WARPWRIGHT_CUDA="off")
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertEqual(self.called(), "")

    @unittest.skipIf(os.geteuid() != 0, "installs only as root")
    def test_missing_package_is_installed_as_root(self):
        result = self.run_script("demo", ABSENT="libfmt-dev")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(self.called(), r"apt-get install .*libfmt-dev")

    @unittest.skipIf(os.geteuid() != 0, "installs only as root")
    def test_only_the_tests_need_the_packages_of_tests(self):
        self.assertEqual(self.run_script("demo", ABSENT="libgtest-dev").returncode, 0)
        self.assertNotIn("apt-get", self.called())
        self.assertEqual(self.run_script("test", ABSENT="libgtest-dev").returncode, 0)
        self.assertRegex(self.called(), r"apt-get install .*libgtest-dev")

    @unittest.skipIf(os.geteuid() == 0, "root may install")
    def test_missing_package_is_named_without_root(self):
        result = self.run_script("demo", ABSENT="libfmt-dev")
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("apt-get install -y --no-install-recommends libfmt-dev", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    SCRIPT = sys.argv.pop(1)
    unittest.main()

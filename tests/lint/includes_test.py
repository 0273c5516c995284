"""tools/check_includes.py finds what it is there for, and nothing else, in small files; --fix mends what it finds."""
import importlib.util
import pathlib
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A file's text, and the headers it lacks.
CASES = {
    "range_for": ("void f() { for (int i : {1, 2}) g(i); }", ["initializer_list"]),
    "range_for_in_lines": ("void f() {\n  for (const auto& [a, b] :\n       {p, q}) g(a);\n}", ["initializer_list"]),
    "range_for_brought": ("#include <vector>\nvoid f() { for (int i : {1, 2}) g(i); }", []),
    "loop_over_values": ("void f() { for (int i : list) g(i); for (int i = 0; i < n; ++i) { h(i); } }", []),
    "max_of_list": ("#include <cmath>\nint f() { return std::max({1, 2}); }", ["algorithm"]),
    "deduced_list": ("auto list = {1, 2};", ["initializer_list"]),
    "names": ("std::vector<std::string> f(std::uint32_t);", ["cstdint", "string", "vector"]),
    "comment": ("// std::vector\n/* std::map\n std::set */ const char* s = \"std::string\"; char c = '\"';", []),
    "raw_string": ("const char* s = R\"(std::vector \" )\";", []),
    "separator": ("int million = 1'000'000; std::vector<int> v;", ["vector"]),
    "c_header": ("#include <stdint.h>\nstd::uint8_t x; uint16_t y;", []),
    "bare_integer": ("uint16_t y;", ["cstdint"]),
    "integer_of_ours": ("#include \"warpwright/core/std.h\"\nuint16_t y;", []),
    "address": ("#include \"warpwright/core/std.h\"\nuintptr_t y;", ["cstdint"]),
    "member": ("int f(File x) { return x.printf() + y->memcpy() + ours::getenv(); }", []),
    "macro": ("int f() { return errno == EINTR; }", ["cerrno"]),
    "ranges": ("auto f() { return std::ranges::sort(x); }", ["algorithm"]),
    "unknown": ("std::nothing_like_this x;", [None]),
    "own_header": ("#include \"own_header.h\"\nstd::map<int, int> m;", []),
    "another_header": ("#include \"own_header.h\"\nstd::map<int, int> m;", ["map"]),
}
HEADERS = {"src/own_header.h": "#pragma once\n#include <map>\n",
           "include/warpwright/core/std.h": "#pragma once\n#include <utility>\nusing std::uint16_t;\n"}
UNMENDED = "// Why.\n#include \"mended.h\"\n\n#include <unistd.h>\n\n#include \"other.h\"\n\nstd::vector<std::string> f() {}\n"
MENDED = UNMENDED.replace("#include \"other.h\"", "#include <string>\n#include <vector>\n\n#include \"other.h\"")


def main():
    spec = importlib.util.spec_from_file_location("check_includes", ROOT / "tools" / "check_includes.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    table = tool.Table(ROOT / "tools" / "std_names.txt")
    with tempfile.TemporaryDirectory() as folder:
        tool.ROOT = pathlib.Path(folder).resolve()
        for name, text in HEADERS.items():
            (tool.ROOT / name).parent.mkdir(parents=True)
            (tool.ROOT / name).write_text(text)
        for name, (text, lacking) in CASES.items():
            path = tool.ROOT / "src" / f"{name}.cpp"
            path.write_text(text + "\n")
            found = sorted((headers[0] if headers else None for _, _, headers in tool.check(path, table)), key=str)
            assert found == lacking, f"{name}: {found}, expected {lacking}"
        path = tool.ROOT / "src" / "mended.cpp"
        (tool.ROOT / "src" / "mended.h").write_text("#pragma once\n")
        path.write_text(UNMENDED)
        tool.insert(path, [headers[0] for _, _, headers in tool.check(path, table)])
        assert path.read_text() == MENDED, path.read_text()
        tool.includes_of.cache_clear()
        assert not tool.check(path, table)
        kernel = tool.ROOT / "include" / "warpwright" / "tile" / "x.h"
        kernel.parent.mkdir()
        kernel.write_text("#include \"warpwright/core/std.h\"\nstdx::pair<int, int> p; stdx::vector<int> v;\n")
        found = [what for _, what, _ in tool.check(kernel, table)]
        assert found == ["stdx::vector"], found
    print(f"{len(CASES)} cases as expected")


if __name__ == "__main__":
    main()

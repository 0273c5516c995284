"""docs/api/ is what tools/api_reference.py makes of the headers today, and every public name there has a comment.

Usage: api_test.py [unittest arguments]
"""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import header_reader  # noqa: E402

# What the reader must see, and what it must not show.
HEADER = '''// What the file is for.
//
//   an example();
#pragma once
#define WW_GUARD
// An extent without a limit.
#define WW_ENDLESS (-1)

namespace warpwright::inline WW_WORLD::room {
class Later;
namespace detail {
struct Hidden {};
}  // namespace detail

// Where it lies.
struct Place {
  int row = 0;  // counted from 0
  int hash() const { return row * 31; }
};

// Owns; it cannot be copied.
template <class T, int N = (3 > 2 ? 1 : 2)>
requires(N > 0) class WW_LINEAR_HANDLE Owner final : private Place {
 public:
  // Takes "{" and '}' in its stride.
  explicit Owner(T value, int n = {}) : value_{value}, n_(n) { use("}"); }
  Owner(const Owner&) = delete;
  WW_FN auto operator()(int x) const -> int { return [&] { return x; }(); }
  friend struct Other;
  static_assert(N > 0);
#if FAST
  int quick() { return 1; }
#endif

 private:
  // Nobody's business.
  T value_;
#if SLOW
  int n_;
#endif
};

// Both are sums.
constexpr int add(int a, int b) { return a + b; }
constexpr int add_all(std::initializer_list<int> list);
inline constexpr int table[] = {1, 2, 3};  // in order

enum class Colour : uint8_t { red, green };  // of a lamp
WW_WORDS(Major, kMajors, WW_MAJORS)
template <class T>
concept Small = sizeof(T) < 8 && requires(T t) { t.go(); };
inline void (*callback)(const char* text) = nullptr;
}  // namespace warpwright::inline WW_WORLD::room
int warpwright::room::Owner::outside() { return 1; }
extern "C" void entry(int argument);
'''


class Reader(unittest.TestCase):
    def setUp(self):
        self.reader = header_reader.Reader(HEADER)
        self.found = {name: d for d in self.reader.declarations() for name in d.names}

    def test_it_finds_the_public_names(self):
        self.assertEqual(list(self.found), ["Place", "Owner", "add", "add_all", "table", "Colour", "Major", "kMajors",
                                            "Small", "callback", "entry"])
        self.assertEqual([d.names for d in self.reader.macros()], [["WW_ENDLESS"]])
        self.assertEqual(self.reader.file_comment(), ["What the file is for.", "", "  an example();"])

    def test_comments_belong_to_what_follows_or_stands_before(self):
        self.assertEqual(self.found["Owner"].comment, ["Owns; it cannot be copied."])
        self.assertEqual(self.found["add_all"].comment, [])
        self.assertEqual(self.found["Colour"].trailing, "of a lamp")
        self.assertEqual(self.found["callback"].comment, [])

    def test_bodies_and_private_parts_are_not_shown(self):
        self.assertEqual(self.found["Place"].text, """struct Place {
  int row = 0;  // counted from 0
  int hash() const;
};""")
        self.assertEqual(self.found["Owner"].text, """template <class T, int N = (3 > 2 ? 1 : 2)>
requires(N > 0) class WW_LINEAR_HANDLE Owner final : private Place {
  // Takes "{" and '}' in its stride.
  explicit Owner(T value, int n = {});
  Owner(const Owner&) = delete;
  WW_FN auto operator()(int x) const -> int;
#if FAST
  int quick();
#endif
};""")
        self.assertEqual(self.found["add"].text, "constexpr int add(int a, int b);")
        self.assertEqual(self.found["table"].text, "inline constexpr int table[] = {1, 2, 3};")


class Pages(unittest.TestCase):
    def test_they_are_those_of_the_headers(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "tools" / "api_reference.py", "--check"],
                              capture_output=True, text=True)
        print(done.stdout.splitlines()[-1] if done.stdout else "")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()

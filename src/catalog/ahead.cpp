#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "catalog/instance.h"

// The lists, one for each family. To compile another instance ahead, add its name to the list of its family; nothing
// else changes. CMake reads the same lines (cmake/images.cmake).
//
//   INSTANCE("sm90/dense-128x192-c2-s4/bf16-nt")   compiled for an install or a wheel
//   COVER("sm90/dense-64x64-c1-s4/bf16-nt")        compiled for the tests too: one for each family and form
//   BUILT_IN("sm90/dense-128x256-c2-s4/bf16-nt")   the same, and what demo shows (simulate/dense/shown.h)
//   CODE_OBJECT("gfx950/matmul-pingpong/bf16")     compiled for AMD by every build that has clang++-22 (cdna.def)
//
// What is not compiled ahead is compiled when it is first used.
namespace warpwright::catalog {

const std::vector<std::string>& ahead_names() {
  static const std::vector<std::string> names = {
#define INSTANCE(name) name,
#define COVER(name) name,
#define BUILT_IN(name) name,
// The order counts: where several serve a problem equally well the first is taken, and kernels that teach come last.
// clang-format off
#include "catalog/sm90_dense.def"
#include "catalog/sm90_skinny.def"
#include "catalog/sm90_grouped.def"
#include "catalog/sm100_dense.def"
#include "catalog/sm100_grouped.def"
#include "catalog/sm80_dense.def"
#include "catalog/demo.def"
#include "catalog/tools.def"
// clang-format on
#undef BUILT_IN
#undef COVER
#undef INSTANCE
  };
  return names;
}

namespace {

std::vector<Instance> parsed(const std::vector<std::string>& names) {
  std::vector<Instance> all;
  for (const std::string& name : names) {
    auto instance = parse_instance(name);
    // The lists are part of the program: a name that cannot be read is found by the first test that runs.
    if (!instance) throw std::logic_error(instance.status().message());
    all.push_back(*instance);
  }
  return all;
}

}  // namespace

const std::vector<Instance>& ahead() {
  static const std::vector<Instance> list = parsed(ahead_names());
  return list;
}

const std::vector<Instance>& cdna_instances() {
  static const std::vector<Instance> list = parsed({
#define CODE_OBJECT(name) name,
#include "catalog/cdna.def"
#undef CODE_OBJECT
  });
  return list;
}

bool is_ahead(const Instance& instance) {
  return std::any_of(ahead().begin(), ahead().end(),
                     [&](const Instance& other) { return other.config == instance.config; });
}

}  // namespace warpwright::catalog

// The source of an instance: which template, which configuration. kernel/instance.h makes of it what the world needs
// that compiles it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "catalog/family.h"
#include "catalog/instance.h"
#include "formula/formula.h"

namespace warpwright::catalog {
namespace {

// The bytes of a configuration with zeros in its padding, whose content is arbitrary: a byte that can be zero without
// making another configuration is zero. Zero is a value of every member, so each trial is a configuration too.
template <class C>
auto canonical_bytes(const C& config) {
  static_assert(std::is_trivially_copyable_v<C>);
  auto bytes = std::bit_cast<std::array<uint8_t, sizeof(C)>>(config);
  for (uint8_t& byte : bytes) {
    const uint8_t kept = std::exchange(byte, uint8_t(0));
    if (!(std::bit_cast<C>(bytes) == config)) byte = kept;
  }
  return bytes;
}

}  // namespace

// The configuration travels as its bytes, so that a field added to it needs no edit here. Host and device compilers lay
// it out alike; otherwise an assertion in kernel/instance.h would fail.
std::string source_of(const Instance& instance) {
  // Problems with a text that cannot be read were refused long before.
  std::string own;
  if (const auto formula = formula::parse(instance.formula); own_of(instance) != 0 && formula) own = formula->source();
  return std::visit(
      [&]<class C>(const C& c) {
        const Family<C>& f = family<C>();
        return fmt::format(
            "// {}\n#include \"warpwright/kernel/instance.h\"\n#include \"warpwright/kernel/{}\"\n{}"
            "WW_INSTANCE({}, {}, {})\n",
            image_name(instance), f.header, own, f.kernel, f.config, fmt::join(canonical_bytes(c), ", "));
      },
      instance.config);
}

}  // namespace warpwright::catalog

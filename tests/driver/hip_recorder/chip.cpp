#include "driver/hip_recorder/chip.h"

namespace hip_recorder {
namespace {

constexpr int KiB = 1024, MiB = 1024 * KiB;
constexpr size_t GiB = size_t(1024) * MiB;

}  // namespace

std::optional<Chip> chip_named(std::string_view name) {
  if (name == "gfx942")
    return Chip{"AMD Instinct MI300X", "gfx942:sramecc+:xnack-", 0x4c, 304, 64 * KiB, 4 * MiB, 192 * GiB};
  if (name == "gfx950")
    return Chip{"AMD Instinct MI355X", "gfx950:sramecc+:xnack-", 0x4f, 256, 160 * KiB, 4 * MiB, 288 * GiB};
  if (name == "gfx90a")
    return Chip{"AMD Instinct MI250X", "gfx90a:sramecc+:xnack-", 0x3f, 110, 64 * KiB, 8 * MiB, 64 * GiB};
  if (name == "gfx1100") return Chip{"AMD Radeon RX 7900 XTX", "gfx1100", 0x41, 96, 64 * KiB, 6 * MiB, 24 * GiB};
  return std::nullopt;
}

}  // namespace hip_recorder

#include "driver/recorder/chip.h"

namespace recorder {
namespace {

constexpr int KiB = 1024, MiB = 1024 * KiB;
constexpr size_t GiB = size_t(1024) * MiB;

}  // namespace

std::optional<Chip> chip_named(std::string_view name) {
  if (name == "sm_80") return Chip{"NVIDIA A100", 8, 0, 108, 163 * KiB, 164 * KiB, 40 * MiB, 2048, 32, 80 * GiB};
  if (name == "sm_86") return Chip{"NVIDIA RTX A6000", 8, 6, 84, 99 * KiB, 100 * KiB, 6 * MiB, 1536, 16, 48 * GiB};
  if (name == "sm_89") return Chip{"NVIDIA L40S", 8, 9, 142, 99 * KiB, 100 * KiB, 96 * MiB, 1536, 24, 48 * GiB};
  if (name == "sm_90") return Chip{"NVIDIA H200", 9, 0, 132, 227 * KiB, 228 * KiB, 50 * MiB, 2048, 32, 141 * GiB};
  if (name == "sm_100") return Chip{"NVIDIA B200", 10, 0, 148, 227 * KiB, 228 * KiB, 126 * MiB, 2048, 32, 180 * GiB};
  if (name == "sm_103") return Chip{"NVIDIA B300", 10, 3, 148, 227 * KiB, 228 * KiB, 126 * MiB, 2048, 32, 270 * GiB};
  if (name == "sm_120") {
    return Chip{"NVIDIA GeForce RTX 5090", 12, 0, 170, 99 * KiB, 100 * KiB, 96 * MiB, 1536, 24, 32 * GiB};
  }
  return std::nullopt;
}

}  // namespace recorder

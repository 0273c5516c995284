// The AMD devices that the recorder pretends to be, as their data sheets, the ISA manuals of CDNA 3 and 4 and LLVM's
// "User Guide for AMDGPU Backend" describe them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hip_recorder {

struct Chip {
  std::string name;
  std::string architecture;  // "gfx942:sramecc+:xnack-": the features that the device has switched on and off
  uint32_t machine = 0;      // EF_AMDGPU_MACH of its images
  int compute_units = 0;
  int lds_bytes = 0;  // of a compute unit, and of a workgroup
  int l2_bytes = 0;
  size_t memory = 0;
};

inline constexpr unsigned kWave = 64;
inline constexpr unsigned kSimds = 4;            // of a compute unit
inline constexpr unsigned kRegisters = 512;      // of a lane of a SIMD, of both kinds, for all waves on it
inline constexpr unsigned kRegisterGranule = 8;  // in which they are handed out
inline constexpr unsigned kMostThreads = 1024;   // of a workgroup

// "gfx942". "gfx90a" and "gfx1100" are there to be refused.
std::optional<Chip> chip_named(std::string_view name);

}  // namespace hip_recorder

// What a runtime learns from a code object: for which chips it is, and what each of its kernels needs. A reading of its
// own, by LLVM's "User Guide for AMDGPU Backend": nothing here is shared with src/amd.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/hip_recorder/chip.h"
#include "driver/hip_recorder/rules.h"

namespace hip_recorder {

struct Kernel {
  std::string name;
  // From the kernel descriptor:
  unsigned lds_bytes = 0;
  unsigned argument_bytes = 0;
  unsigned registers = 0;  // of a lane, of both kinds, as they are handed out
  // From the notes:
  unsigned argument_alignment = 0;
  unsigned most_threads = 0;  // of a workgroup
  unsigned wave = 0;
  struct Parameter {
    unsigned offset = 0, bytes = 0;
  };
  std::vector<Parameter> parameters;
  bool agrees = false;  // notes and descriptor say the same of what both have
};

struct CodeObject {
  uint32_t flags = 0;  // of the ELF header: machine and features
  std::string target;  // "gfx950"
  std::vector<Kernel> kernels;

  bool runs_on(const Chip& chip) const;
  const Kernel* find(std::string_view name) const;
};

// How many bytes `data` has, by what it says itself: the runtime is given an address alone. 0: it is no ELF file.
size_t extent_of(const void* data);
// The rule that it breaks, if it is no code object of ours to load.
recorder::Verdict read_code_object(std::span<const uint8_t> bytes, CodeObject& out);

}  // namespace hip_recorder

// The parts of an AMD code object's ELF that matter here: loadable segments, symbols and the metadata note.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "text/json.h"
#include "warpwright/status.h"

namespace warpwright::amd {

struct ElfSymbol {
  std::string name;
  uint64_t value = 0;
  uint64_t size = 0;
};

struct ElfFile {
  std::vector<uint8_t> image;  // segments at their virtual addresses, from 0
  std::vector<ElfSymbol> symbols;
  Json metadata;
  uint32_t flags = 0;

  const ElfSymbol* find(const std::string& name) const;
};

// A failure says why the file is not an AMD code object.
Status read_elf(const std::string& path, ElfFile& out);

}  // namespace warpwright::amd

#include "gpu/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

namespace warpwright::gpu {
namespace {

Status malformed(const char* why) {
  return Status(Code::failed, fmt::format("a compiled kernel cannot be read: {}.", why));
}

template <class T>
bool read(std::span<const uint8_t> file, uint64_t at, T& to) {
  if (at > file.size() || file.size() - at < sizeof(T)) return false;
  std::memcpy(&to, file.data() + at, sizeof(T));
  return true;
}

std::string_view text_at(std::span<const uint8_t> file, uint64_t at) {
  if (at >= file.size()) return {};
  const auto* const begin = reinterpret_cast<const char*>(file.data() + at);
  return {begin, strnlen(begin, file.size() - at)};
}

}  // namespace

Result<std::span<const uint8_t>> constant_of(std::span<const uint8_t> cubin, std::string_view symbol, size_t bytes) {
  Elf64_Ehdr header;
  if (!read(cubin, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return malformed("it is not a 64-bit ELF file");
  }
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i) {
    if (!read(cubin, header.e_shoff + i * header.e_shentsize, sections[i]))
      return malformed("its sections are cut off");
  }
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym entry;
      if (!read(cubin, table.sh_offset + at, entry)) return malformed("its symbols are cut off");
      if (text_at(cubin, sections[table.sh_link].sh_offset + entry.st_name) != symbol) continue;
      if (entry.st_shndx >= sections.size() || entry.st_size != bytes) return malformed("a constant has another size");
      const uint64_t begin = sections[entry.st_shndx].sh_offset + entry.st_value;
      if (begin > cubin.size() || cubin.size() - begin < bytes) return malformed("a constant is cut off");
      return cubin.subspan(begin, bytes);
    }
  }
  return malformed(fmt::format("it has no {}", symbol).c_str());
}

Result<InstanceFacts> facts_of(std::span<const uint8_t> cubin) {
  const auto bytes = constant_of(cubin, "warpwright_facts", sizeof(InstanceFacts));
  if (!bytes) return bytes.status();
  InstanceFacts facts;
  std::memcpy(&facts, bytes->data(), sizeof facts);
  return facts;
}

}  // namespace warpwright::gpu

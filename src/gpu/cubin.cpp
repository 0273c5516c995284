#include "gpu/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
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

// PTX writes a constant as its bytes, and leaves zeros at the end out:
//   .const .align 4 .b8 warpwright_facts[20] = {0, 1, 0, 0, 0, 200};
Result<std::vector<uint8_t>> constant_of_ptx(std::string_view text, std::string_view symbol, size_t bytes) {
  const std::string declaration = fmt::format(" .b8 {}[{}] = {{", symbol, bytes);
  const size_t begin = text.find(declaration);
  if (begin == std::string_view::npos) return malformed(fmt::format("it has no {}", symbol).c_str());
  const size_t end = text.find('}', begin);
  if (end == std::string_view::npos) return malformed("a constant is cut off");
  std::vector<uint8_t> values;
  unsigned value = 0;
  for (const char c : text.substr(begin + declaration.size(), end + 1 - begin - declaration.size())) {
    if (c >= '0' && c <= '9') value = 10 * value + unsigned(c - '0');
    if (c != ',' && c != '}') continue;
    if (value > 255 || values.size() == bytes) return malformed("a constant has another size");
    values.push_back(uint8_t(value));
    value = 0;
  }
  values.resize(bytes);
  return values;
}

bool is_ptx(std::span<const uint8_t> image) {
  constexpr std::string_view word = ".version";
  const std::string_view head(reinterpret_cast<const char*>(image.data()), std::min<size_t>(image.size(), 4096));
  return head.find(word) != std::string_view::npos && head.substr(0, SELFMAG) != ELFMAG;
}

}  // namespace

Result<std::vector<uint8_t>> constant_of(std::span<const uint8_t> cubin, std::string_view symbol, size_t bytes) {
  if (is_ptx(cubin)) {
    return constant_of_ptx({reinterpret_cast<const char*>(cubin.data()), cubin.size()}, symbol, bytes);
  }
  Elf64_Ehdr header;
  if (!read(cubin, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return malformed("it is neither a 64-bit ELF file nor PTX");
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
      return std::vector<uint8_t>(cubin.begin() + ptrdiff_t(begin), cubin.begin() + ptrdiff_t(begin + bytes));
    }
  }
  return malformed(fmt::format("it has no {}", symbol).c_str());
}

Result<InstanceFacts> facts_of(std::span<const uint8_t> image) {
  const auto bytes = constant_of(image, "warpwright_facts", sizeof(InstanceFacts));
  if (!bytes) return bytes.status();
  InstanceFacts facts;
  std::memcpy(&facts, bytes->data(), sizeof facts);
  return facts;
}

}  // namespace warpwright::gpu

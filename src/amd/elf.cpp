#include "amd/elf.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace warpwright::amd {
namespace {

constexpr uint16_t kMachineAmdGpu = 224;
constexpr uint32_t kMetadataNote = 32;
constexpr uint64_t kLargestImage = uint64_t(1) << 28;

using Bytes = std::vector<uint8_t>;

// Every offset comes from the file, so every access is checked.
template <class T>
bool read_at(const Bytes& file, uint64_t offset, T& out) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, file.data() + offset, sizeof(T));
  return true;
}

std::string string_at(const Bytes& file, const Elf64_Shdr& strings, uint64_t offset) {
  std::string text;
  if (offset >= strings.sh_size) return text;
  for (uint64_t i = strings.sh_offset + offset; i < file.size() && file[i] != 0; ++i) text.push_back(char(file[i]));
  return text;
}

std::string load_segments(const Bytes& file, const Elf64_Ehdr& header, Bytes& image) {
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(file, header.e_phoff + uint64_t(i) * sizeof(segment), segment)) return "a program header is cut off";
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_vaddr > kLargestImage || segment.p_memsz > kLargestImage || segment.p_filesz > segment.p_memsz ||
        segment.p_offset > file.size() || file.size() - segment.p_offset < segment.p_filesz) {
      return "a segment lies outside the file";
    }
    if (image.size() < segment.p_vaddr + segment.p_memsz) image.resize(segment.p_vaddr + segment.p_memsz);
    if (segment.p_filesz > 0) {
      std::memcpy(image.data() + segment.p_vaddr, file.data() + segment.p_offset, segment.p_filesz);
    }
  }
  return {};
}

void read_symbols(const Bytes& file, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& table,
                  std::vector<ElfSymbol>& out) {
  if (table.sh_link >= sections.size()) return;
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    if (!read_at(file, table.sh_offset + at, symbol)) return;
    std::string name = string_at(file, sections[table.sh_link], symbol.st_name);
    if (!name.empty()) out.push_back({std::move(name), symbol.st_value, symbol.st_size});
  }
}

void read_notes(const Bytes& file, const Elf64_Shdr& section, Json& metadata) {
  uint64_t at = section.sh_offset;
  const uint64_t end = std::min<uint64_t>(file.size(), section.sh_offset + section.sh_size);
  const auto padded = [](uint64_t n) { return (n + 3) & ~uint64_t(3); };
  Elf64_Nhdr note;
  while (at + sizeof(note) <= end && read_at(file, at, note)) {
    const uint64_t description = at + sizeof(note) + padded(note.n_namesz);
    if (description > end || end - description < note.n_descsz) return;
    if (note.n_type == kMetadataNote) {
      metadata = Json::parse_msgpack({file.data() + description, note.n_descsz}).value_or(Json());
    }
    at = description + padded(note.n_descsz);
  }
}

Status refused(std::string why) { return Status(Code::invalid_argument, std::move(why)); }

}  // namespace

const ElfSymbol* ElfFile::find(const std::string& name) const {
  for (const ElfSymbol& s : symbols)
    if (s.name == name) return &s;
  return nullptr;
}

Status read_elf(const std::string& path, ElfFile& out) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return refused(fmt::format("cannot read '{}'", path));
  const Bytes file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  Elf64_Ehdr header;
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return refused(fmt::format("'{}' is not a 64-bit ELF file", path));
  }
  if (header.e_machine != kMachineAmdGpu)
    return refused(fmt::format("'{}' is an ELF file of another machine than AMDGPU", path));
  if (header.e_type != ET_DYN) {
    return refused(
        fmt::format("'{}' is not linked: a code object is a shared object, as clang makes it without -c", path));
  }
  out.flags = header.e_flags;
  if (std::string error = load_segments(file, header, out.image); !error.empty()) {
    return refused(fmt::format("'{}': {}", path, error));
  }
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i) {
    if (!read_at(file, header.e_shoff + i * sizeof(Elf64_Shdr), sections[i])) {
      return refused(fmt::format("'{}': a section header is cut off", path));
    }
  }
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) {
      read_symbols(file, sections, section, out.symbols);
    } else if (section.sh_type == SHT_NOTE) {
      read_notes(file, section, out.metadata);
    }
  }
  if (!out.metadata.is_object() || !out.metadata.contains("amdhsa.kernels")) {
    return refused(fmt::format("'{}' has no AMDGPU metadata note", path));
  }
  return {};
}

}  // namespace warpwright::amd

#include "driver/hip_recorder/code_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace hip_recorder {
namespace {

using nlohmann::json;
using recorder::Verdict;
using Bytes = std::span<const uint8_t>;

constexpr uint16_t kMachineAmdGpu = 224;
constexpr uint8_t kOsAbiHsa = 64;
// ELFABIVERSION_AMDGPU_HSA_V4 to V6.
constexpr uint8_t kFirstVersion = 2, kLastVersion = 4;
constexpr uint32_t kMetadataNote = 32;  // NT_AMDGPU_METADATA

constexpr uint32_t kMachineMask = 0xff;
constexpr uint32_t kXnackMask = 0x300, kXnackNone = 0, kXnackAny = 0x100, kXnackOff = 0x200, kXnackOn = 0x300;
constexpr uint32_t kEccMask = 0xc00, kEccNone = 0, kEccAny = 0x400, kEccOff = 0x800, kEccOn = 0xc00;

template <class T>
std::optional<T> at(Bytes bytes, uint64_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
template <class T>
T word(Bytes bytes, uint64_t offset) {
  return at<T>(bytes, offset).value_or(T{});
}

std::vector<Elf64_Shdr> sections_of(Bytes file) {
  std::vector<Elf64_Shdr> list;
  const auto header = word<Elf64_Ehdr>(file, 0);
  for (int i = 0; i < header.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(file, header.e_shoff + uint64_t(i) * sizeof(Elf64_Shdr));
    if (section) list.push_back(*section);
  }
  return list;
}

Bytes content(Bytes file, const Elf64_Shdr& s) {
  if (s.sh_offset > file.size() || file.size() - s.sh_offset < s.sh_size) return {};
  return file.subspan(s.sh_offset, s.sh_size);
}

json notes_of(Bytes file) {
  for (const Elf64_Shdr& section : sections_of(file)) {
    if (section.sh_type != SHT_NOTE) continue;
    Bytes rest = content(file, section);
    while (const auto note = at<Elf64_Nhdr>(rest, 0)) {
      const uint64_t name = (note->n_namesz + 3u) / 4 * 4, text = (note->n_descsz + 3u) / 4 * 4;
      const uint64_t begin = sizeof *note + name;
      if (begin > rest.size() || rest.size() - begin < note->n_descsz) break;
      if (note->n_type == kMetadataNote) {
        const Bytes packed = rest.subspan(begin, note->n_descsz);
        return json::from_msgpack(packed.begin(), packed.end(), true, false);
      }
      rest = rest.subspan(std::min<uint64_t>(rest.size(), begin + text));
    }
  }
  return {};
}

// Where a symbol lies in the file.
std::optional<uint64_t> find_symbol(Bytes file, const std::string& name) {
  const auto sections = sections_of(file);
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_DYNSYM || table.sh_link >= sections.size()) continue;
    const Bytes symbols = content(file, table), names = content(file, sections[table.sh_link]);
    for (uint64_t i = 0; i + sizeof(Elf64_Sym) <= symbols.size(); i += sizeof(Elf64_Sym)) {
      const auto symbol = word<Elf64_Sym>(symbols, i);
      if (symbol.st_name >= names.size() || symbol.st_shndx >= sections.size()) continue;
      const auto* const text = reinterpret_cast<const char*>(names.data() + symbol.st_name);
      if (std::string_view(text, strnlen(text, names.size() - symbol.st_name)) != name) continue;
      const Elf64_Shdr& in = sections[symbol.st_shndx];
      return symbol.st_value - in.sh_addr + in.sh_offset;
    }
  }
  return std::nullopt;
}

std::optional<Kernel> read_kernel(Bytes file, const json& notes) {
  Kernel k;
  k.name = notes.value(".name", "");
  const auto descriptor = find_symbol(file, notes.value(".symbol", ""));
  if (!descriptor) return std::nullopt;
  k.lds_bytes = word<uint32_t>(file, *descriptor);
  k.argument_bytes = word<uint32_t>(file, *descriptor + 8);
  const auto resources = word<uint32_t>(file, *descriptor + 48);  // compute_pgm_rsrc1
  k.registers = ((resources & 63) + 1) * kRegisterGranule;
  k.argument_alignment = notes.value(".kernarg_segment_align", 0u);
  k.most_threads = notes.value(".max_flat_workgroup_size", 0u);
  k.wave = notes.value(".wavefront_size", 0u);
  for (const json& one : notes.value(".args", json::array())) {
    k.parameters.push_back({one.value(".offset", 0u), one.value(".size", 0u)});
  }
  // Registers of the notes are those in use, the descriptor's those that are handed out.
  k.agrees = k.lds_bytes == notes.value(".group_segment_fixed_size", 0u) &&
             k.argument_bytes == notes.value(".kernarg_segment_size", 0u) &&
             k.registers >= notes.value(".vgpr_count", 0u);
  return k;
}

}  // namespace

bool CodeObject::runs_on(const Chip& chip) const {
  if ((flags & kMachineMask) != chip.machine) return false;
  const auto has = [&](const char* feature) { return chip.architecture.find(feature) != std::string::npos; };
  const uint32_t xnack = flags & kXnackMask, ecc = flags & kEccMask;
  const bool xnack_fits = xnack == kXnackNone || xnack == kXnackAny || (xnack == kXnackOn && has(":xnack+")) ||
                          (xnack == kXnackOff && has(":xnack-"));
  const bool ecc_fits =
      ecc == kEccNone || ecc == kEccAny || (ecc == kEccOn && has(":sramecc+")) || (ecc == kEccOff && has(":sramecc-"));
  return xnack_fits && ecc_fits;
}

const Kernel* CodeObject::find(std::string_view name) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

size_t extent_of(const void* data) {
  if (std::memcmp(data, ELFMAG, SELFMAG) != 0) return 0;
  Elf64_Ehdr h;
  std::memcpy(&h, data, sizeof h);
  uint64_t end = std::max(h.e_shoff + uint64_t(h.e_shnum) * h.e_shentsize, uint64_t(sizeof h));
  for (int i = 0; i < h.e_shnum; ++i) {
    Elf64_Shdr s;
    std::memcpy(&s, static_cast<const uint8_t*>(data) + h.e_shoff + size_t(i) * h.e_shentsize, sizeof s);
    if (s.sh_type != SHT_NOBITS) end = std::max(end, s.sh_offset + s.sh_size);
  }
  return end;
}

Verdict read_code_object(Bytes bytes, CodeObject& out) {
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return refused(Rule::no_elf);
  if (header->e_machine != kMachineAmdGpu || header->e_ident[EI_OSABI] != kOsAbiHsa) {
    return refused(Rule::other_machine);
  }
  const uint8_t version = header->e_ident[EI_ABIVERSION];
  if (version < kFirstVersion || version > kLastVersion) return refused(Rule::other_version);
  if (header->e_type != ET_DYN) return refused(Rule::not_linked);
  out.flags = header->e_flags;
  const json notes = notes_of(bytes);
  if (!notes.is_object() || !notes.contains("amdhsa.kernels")) return refused(Rule::no_notes);
  const std::string target = notes.value("amdhsa.target", "");  // "amdgcn-amd-amdhsa--gfx950"
  out.target = target.substr(target.rfind('-') + 1);
  for (const json& one : notes["amdhsa.kernels"]) {
    auto kernel = read_kernel(bytes, one);
    if (!kernel) return refused(Rule::no_descriptor);
    if (!kernel->agrees) return refused(Rule::descriptor_disagrees);
    out.kernels.push_back(std::move(*kernel));
  }
  return {};
}

}  // namespace hip_recorder

#include "driver/stand_in.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "gpu/image.h"
#include "jit/compiler.h"

namespace warpwright::recorded {
namespace {

using Bytes = std::vector<uint8_t>;

void append(Bytes& to, const void* from, size_t bytes) {
  const auto* const begin = static_cast<const uint8_t*>(from);
  to.insert(to.end(), begin, begin + bytes);
}
template <class T>
void append(Bytes& to, const T& value) {
  append(to, &value, sizeof value);
}

// An attribute of an .nv.info section: format 4 has words after it, format 2 one byte.
void attribute(Bytes& to, uint8_t id, std::initializer_list<uint32_t> words) {
  to.insert(to.end(), {4, id});
  append(to, uint16_t(4 * words.size()));
  for (const uint32_t w : words) append(to, w);
}
void attribute(Bytes& to, uint8_t id, uint8_t value) { to.insert(to.end(), {2, id, value, 0}); }

class Elf {
 public:
  Elf() { sections_.push_back({}); }

  // The number of the section.
  uint16_t add(const std::string& name, uint32_t type, const Bytes& bytes, uint32_t link = 0) {
    Elf64_Shdr s = {};
    s.sh_name = uint32_t(names_.size());
    names_ += name + '\0';
    s.sh_type = type;
    s.sh_link = link;
    contents_.push_back(bytes);
    sections_.push_back(s);
    return uint16_t(sections_.size() - 1);
  }
  Bytes finish(int sm) {
    Bytes names(names_.begin(), names_.end());
    const std::string own = ".shstrtab";
    const auto at = uint32_t(names.size());
    append(names, own.c_str(), own.size() + 1);
    const uint16_t index = add(own, SHT_STRTAB, names);
    sections_[index].sh_name = at;
    Elf64_Ehdr h = {};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = ET_EXEC;
    h.e_machine = 190;
    h.e_version = EV_CURRENT;
    h.e_flags = uint32_t(sm) << 8;
    h.e_ehsize = sizeof h;
    h.e_shentsize = sizeof(Elf64_Shdr);
    h.e_shnum = uint16_t(sections_.size());
    h.e_shstrndx = index;
    Bytes file(sizeof h);
    for (size_t i = 1; i < sections_.size(); ++i) {
      file.resize((file.size() + 7) / 8 * 8);
      sections_[i].sh_offset = file.size();
      sections_[i].sh_size = contents_[i - 1].size();
      append(file, contents_[i - 1].data(), contents_[i - 1].size());
    }
    file.resize((file.size() + 7) / 8 * 8);
    h.e_shoff = file.size();
    append(file, sections_.data(), sections_.size() * sizeof(Elf64_Shdr));
    std::memcpy(file.data(), &h, sizeof h);
    return file;
  }

 private:
  std::vector<Elf64_Shdr> sections_;
  std::vector<Bytes> contents_;
  std::string names_ = std::string(1, '\0');
};

// As many as the launch bounds leave for a thread.
uint32_t registers_of(const InstanceFacts& facts) {
  return std::min(255u, 65536 / (facts.threads * facts.blocks_per_sm) / 8 * 8);
}

Bytes image_of(const InstanceFacts& facts, int sm, bool exact) {
  const std::string kernel = "warpwright_kernel", constant = "warpwright_facts";
  Elf elf;
  const std::string names = '\0' + kernel + '\0' + constant + '\0';
  const uint16_t strings = elf.add(".strtab", SHT_STRTAB, Bytes(names.begin(), names.end()));
  Bytes facts_bytes;
  append(facts_bytes, facts);
  const uint16_t constants = elf.add(".nv.constant3", SHT_PROGBITS, facts_bytes);
  const uint16_t code = elf.add(".text." + kernel, SHT_PROGBITS, Bytes(16));
  Elf64_Sym symbols[3] = {};
  symbols[1] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0x10, code, 0, 16};
  symbols[2] = {uint32_t(kernel.size() + 2), ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, constants, 0, sizeof facts};
  Bytes table;
  append(table, symbols);
  elf.add(".symtab", SHT_SYMTAB, table, strings);
  Bytes common, own, compat;
  attribute(common, 0x2f, {1, registers_of(facts)});
  attribute(own, 0x17, {0, 0, facts.argument_bytes << 18});
  attribute(own, 0x05, {facts.threads, 1, 1});
  attribute(compat, 0x09, uint8_t(exact));
  constexpr uint32_t info = SHT_LOPROC;
  elf.add(".nv.info", info, common);
  elf.add(".nv.info." + kernel, info, own);
  elf.add(".nv.compat", info, compat);
  return elf.finish(sm);
}

unsigned long bytes_of(const DenseGemmSm100Config&) { return sizeof(DenseGemmSm100Args); }
unsigned long bytes_of(const BlockwiseFp8Sm100Config&) { return sizeof(BlockwiseFp8Sm100Args); }
unsigned long bytes_of(const GroupedGemmSm100Config&) { return sizeof(GroupedGemmSm100Args); }
unsigned long bytes_of(const MmaSyncGemmConfig&) { return sizeof(MmaSyncGemmArgs); }
unsigned long bytes_of(const RingCopyConfig&) { return sizeof(RingCopyArgs); }
unsigned long bytes_of(const ClusterRingConfig&) { return sizeof(ClusterRingArgs); }
template <class Config>
unsigned long bytes_of(const Config&) {
  return 0;  // no family whose images are put there as a whole
}

}  // namespace

bool put_images(Arch arch) {
  const auto device = gpu::this_device();
  if (!device) return false;
  bool all = true;
  for (const catalog::Instance& instance : catalog::ahead()) {
    if (catalog::arch_of(instance) != arch) continue;
    const unsigned long bytes = std::visit([](const auto& c) { return bytes_of(c); }, instance.config);
    if (bytes > 0) all = put_image(instance, gpu::target_of(instance, *device), bytes) && all;
  }
  return all;
}

bool put_image(const catalog::Instance& instance, const gpu::ImageTarget& for_device, unsigned long argument_bytes) {
  static std::set<std::string> there;
  const std::string& target = for_device.on_demand;
  const std::string name = catalog::image_name(instance) + " for " + target;
  if (there.count(name) > 0 || !gpu::embedded_image(catalog::image_name(instance), for_device.ahead).empty()) {
    return true;
  }
  if (!jit::toolkit().status()) return false;
  there.insert(name);
  const InstanceFacts facts = facts_of(catalog::block_plan(instance), argument_bytes);
  const int sm = std::stoi(target.substr(3));  // "sm_90a"
  const Bytes image = image_of(facts, sm, target.back() == 'a');
  return jit::Cache(jit::cache_folder())
      .store(jit::key_of({catalog::source_of(instance), target}, jit::toolkit()), image);
}

}  // namespace warpwright::recorded

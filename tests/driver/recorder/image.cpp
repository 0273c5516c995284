#include "driver/recorder/image.h"

#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "driver/recorder/chip.h"

namespace recorder {
namespace {

constexpr uint16_t kMachineCuda = 190;

// Attributes of .nv.info sections.
constexpr uint8_t kMaxThreads = 0x05;
constexpr uint8_t kParameter = 0x17;
constexpr uint8_t kRegisterCount = 0x2f;
// In .nv.compat: the image uses what only this very chip has.
constexpr uint8_t kArchitectureSpecific = 0x09;

struct Attribute {
  uint8_t id = 0;
  uint16_t value = 0;  // or the bytes of the payload
  std::span<const uint8_t> payload;

  uint32_t word(size_t i) const {
    uint32_t v = 0;
    if (payload.size() >= 4 * (i + 1)) std::memcpy(&v, payload.data() + 4 * i, 4);
    return v;
  }
};

// {format, id, value} and, where the format says so, `value` bytes.
std::optional<std::vector<Attribute>> attributes_of(std::span<const uint8_t> section) {
  constexpr uint8_t with_payload = 4;
  std::vector<Attribute> list;
  while (!section.empty()) {
    if (section.size() < 4) return std::nullopt;
    Attribute a;
    a.id = section[1];
    std::memcpy(&a.value, section.data() + 2, 2);
    const bool payload = section[0] == with_payload;
    section = section.subspan(4);
    if (payload) {
      if (section.size() < a.value) return std::nullopt;
      a.payload = section.first(a.value);
      section = section.subspan(a.value);
    }
    list.push_back(a);
  }
  return list;
}

class Elf {
 public:
  static std::optional<Elf> open(std::span<const uint8_t> file) {
    Elf elf;
    elf.file_ = file;
    if (file.size() < sizeof elf.header_) return std::nullopt;
    std::memcpy(&elf.header_, file.data(), sizeof elf.header_);
    const Elf64_Ehdr& h = elf.header_;
    if (std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_machine != kMachineCuda) return std::nullopt;
    if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shoff + size_t(h.e_shnum) * sizeof(Elf64_Shdr) > file.size()) {
      return std::nullopt;
    }
    elf.sections_.resize(h.e_shnum);
    std::memcpy(elf.sections_.data(), file.data() + h.e_shoff, h.e_shnum * sizeof(Elf64_Shdr));
    if (h.e_shstrndx >= h.e_shnum) return std::nullopt;
    return elf;
  }

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name(const Elf64_Shdr& s) const { return text(sections_[header_.e_shstrndx], s.sh_name); }
  std::span<const uint8_t> bytes(const Elf64_Shdr& s) const {
    if (s.sh_type == SHT_NOBITS || s.sh_offset > file_.size() || file_.size() - s.sh_offset < s.sh_size) return {};
    return file_.subspan(s.sh_offset, s.sh_size);
  }
  const Elf64_Shdr* find(std::string_view wanted) const {
    for (const Elf64_Shdr& s : sections_)
      if (name(s) == wanted) return &s;
    return nullptr;
  }
  // Functions that can be launched, and their numbers in the table of symbols.
  struct Symbol {
    std::string name;
    uint32_t number;
  };
  std::vector<Symbol> kernels() const {
    constexpr uint8_t entry = 0x10;  // st_other of a __global__ function
    std::vector<Symbol> list;
    const Elf64_Shdr* const table = find(".symtab");
    if (table == nullptr || table->sh_link >= sections_.size()) return list;
    const auto symbols = bytes(*table);
    for (size_t i = 0; (i + 1) * sizeof(Elf64_Sym) <= symbols.size(); ++i) {
      Elf64_Sym s;
      std::memcpy(&s, symbols.data() + i * sizeof s, sizeof s);
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || (s.st_other & entry) == 0) continue;
      list.push_back({std::string(text(sections_[table->sh_link], s.st_name)), uint32_t(i)});
    }
    return list;
  }

 private:
  std::string_view text(const Elf64_Shdr& table, uint64_t at) const {
    const auto all = bytes(table);
    if (at >= all.size()) return {};
    const auto* const begin = reinterpret_cast<const char*>(all.data() + at);
    return {begin, strnlen(begin, all.size() - at)};
  }

  std::span<const uint8_t> file_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Shdr> sections_;
};

std::optional<Kernel> read_kernel(const Elf& elf, const Elf::Symbol& symbol, int target) {
  Kernel k;
  k.name = symbol.name;
  const Elf64_Shdr* const own = elf.find(".nv.info." + symbol.name);
  const Elf64_Shdr* const common = elf.find(".nv.info");
  if (own == nullptr || common == nullptr) return std::nullopt;
  const auto attributes = attributes_of(elf.bytes(*own)), shared_by_all = attributes_of(elf.bytes(*common));
  if (!attributes || !shared_by_all) return std::nullopt;
  for (const Attribute& a : *attributes) {
    if (a.id == kParameter) k.parameters.push_back({a.word(1) >> 16, a.word(2) >> 18});
    if (a.id == kMaxThreads) k.most_threads = a.word(0) * a.word(1) * a.word(2);
  }
  std::sort(k.parameters.begin(), k.parameters.end(),
            [](const Parameter& a, const Parameter& b) { return a.offset < b.offset; });
  if (!k.parameters.empty()) {
    const unsigned first = k.parameters.front().offset;  // parameters begin where the first one is aligned
    for (Parameter& p : k.parameters) p.offset -= first;
  }
  for (const Attribute& a : *shared_by_all)
    if (a.id == kRegisterCount && a.word(0) == symbol.number) k.registers = a.word(1);
  if (const Elf64_Shdr* const shared = elf.find(".nv.shared." + symbol.name)) {
    k.static_shared = unsigned(shared->sh_size);
    if (target >= 90) k.static_shared -= std::min<unsigned>(k.static_shared, kSystemShared);
  }
  return k;
}

std::optional<Image> read_cubin(std::span<const uint8_t> bytes) {
  const auto elf = Elf::open(bytes);
  if (!elf) return std::nullopt;
  Image image;
  image.target = int(elf->header().e_flags >> 8 & 0xff);
  if (const Elf64_Shdr* const compat = elf->find(".nv.compat")) {
    const auto attributes = attributes_of(elf->bytes(*compat));
    if (!attributes) return std::nullopt;
    for (const Attribute& a : *attributes)
      if (a.id == kArchitectureSpecific) image.exact = a.value % 256 != 0;
  }
  for (const Elf::Symbol& symbol : elf->kernels()) {
    auto kernel = read_kernel(*elf, symbol, image.target);
    if (!kernel) return std::nullopt;
    image.kernels.push_back(std::move(*kernel));
  }
  return image;
}

// The words of PTX: names, numbers, directives and single signs. Comments are left out.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  // Empty at the end.
  std::string_view next() {
    skip();
    if (text_.empty()) return {};
    const auto in_a_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
    };
    size_t length = 1;
    if (in_a_word(text_[0]) || text_[0] == '.') {
      while (length < text_.size() && in_a_word(text_[length])) ++length;
    }
    const std::string_view word = text_.substr(0, length);
    text_.remove_prefix(length);
    return word;
  }

 private:
  void skip() {
    const std::string_view before[2][2] = {{"//", "\n"}, {"/*", "*/"}};
    for (bool again = true; again;) {
      again = false;
      while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t' || text_[0] == '\r')) {
        text_.remove_prefix(1);
      }
      for (const auto& [begin, end] : before) {
        if (text_.substr(0, begin.size()) != begin) continue;
        const size_t found = text_.find(end, begin.size());
        text_.remove_prefix(found == std::string_view::npos ? text_.size() : found + end.size());
        again = true;
      }
    }
  }
  std::string_view text_;
};

unsigned number_of(std::string_view word) { return unsigned(std::strtoul(std::string(word).c_str(), nullptr, 10)); }

// Variables in shared memory, up to the bracket that ends the kernel.
void read_body(Words& words, Kernel& k) {
  std::string_view before = "{";
  for (int open = 1; open > 0;) {
    const std::string_view word = words.next();
    if (word.empty()) return;
    if (word == "{") ++open;
    if (word == "}") --open;
    const bool declares = word == ".shared" && (before == "{" || before == "}" || before == ";");
    before = word;
    if (!declares) continue;
    unsigned size = 0;
    for (before = words.next(); !before.empty() && before != ";"; before = words.next()) {
      if (before == ".align") {
        (void)words.next();
      } else if (before == "[") {
        k.static_shared += size * number_of(words.next());
      } else if (before[0] == '.') {
        size = number_of(before.substr(2)) / 8;
      }
    }
  }
}

// Behind ".entry": a name, parameters in parentheses, directives, the body.
Kernel read_entry(Words& words) {
  Kernel k;
  k.name = words.next();
  unsigned at = 0;
  for (std::string_view word = words.next(); !word.empty() && word != "{"; word = words.next()) {
    if (word == ".param") {
      unsigned alignment = 0, size = 0, count = 1;
      for (word = words.next(); !word.empty() && word != "," && word != ")"; word = words.next()) {
        if (word == ".align") {
          alignment = number_of(words.next());
        } else if (word == "[") {
          count = number_of(words.next());
        } else if (word[0] == '.' && word.size() > 2 && size == 0) {
          size = number_of(word.substr(2)) / 8;  // ".b8", ".u64"
        }
      }
      alignment = std::max({alignment, size, 1u});
      at = (at + alignment - 1) / alignment * alignment;
      k.parameters.push_back({at, size * count});
      at += size * count;
      if (word == ")") continue;
    } else if (word == ".maxntid" || word == ".reqntid") {
      k.most_threads = number_of(words.next());
    }
  }
  read_body(words, k);
  return k;
}

std::optional<Image> read_ptx(std::string_view text) {
  Image image;
  image.kind = Image::Kind::ptx;
  Words words(text);
  if (words.next() != ".version") return std::nullopt;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ".target") {
      const std::string_view target = words.next();  // "sm_90a"
      if (target.substr(0, 3) != "sm_") return std::nullopt;
      image.target = int(number_of(target.substr(3)));
      image.exact = target.back() == 'a';
      image.family = target.back() == 'f';
    } else if (word == ".entry") {
      image.kernels.push_back(read_entry(words));
    }
  }
  return image.target == 0 ? std::nullopt : std::optional(image);
}

}  // namespace

bool Image::runs_on(int major, int minor) const {
  const int of_image = target / 10, chip = 10 * major + minor;
  if (exact) return target == chip;
  if (kind == Kind::cubin || family) return of_image == major && target <= chip;
  return target <= chip;
}

const Kernel* Image::find(std::string_view name) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

std::span<const uint8_t> extent_of(const void* data) {
  const auto* const begin = static_cast<const uint8_t*>(data);
  if (std::memcmp(begin, ELFMAG, SELFMAG) != 0) {
    return {begin, std::strlen(reinterpret_cast<const char*>(begin))};
  }
  Elf64_Ehdr h;
  std::memcpy(&h, begin, sizeof h);
  const uint64_t sections = h.e_shoff + uint64_t(h.e_shnum) * h.e_shentsize;
  const uint64_t segments = h.e_phoff + uint64_t(h.e_phnum) * h.e_phentsize;
  uint64_t end = std::max({sections, segments, uint64_t(sizeof h)});
  for (int i = 0; i < h.e_shnum; ++i) {
    Elf64_Shdr s;
    std::memcpy(&s, begin + h.e_shoff + size_t(i) * h.e_shentsize, sizeof s);
    if (s.sh_type != SHT_NOBITS) end = std::max(end, s.sh_offset + s.sh_size);
  }
  return {begin, end};
}

std::optional<Image> read_image(std::span<const uint8_t> bytes) {
  if (bytes.size() > SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0) return read_cubin(bytes);
  return read_ptx({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace recorder

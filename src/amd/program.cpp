#include "amd/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "amd/elf.h"
#include "system/process.h"

namespace warpwright::amd {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

// At commas (or blanks) that are outside of brackets.
std::vector<std::string> split(std::string_view text, bool at_blanks) {
  std::vector<std::string> pieces;
  std::string piece;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    const bool separator = at_blanks ? std::isspace(static_cast<unsigned char>(c)) != 0 : c == ',';
    if (depth == 0 && separator) {
      if (!at_blanks || !piece.empty()) pieces.emplace_back(trimmed(piece));
      piece.clear();
    } else {
      piece.push_back(c);
    }
  }
  if (!trimmed(piece).empty()) pieces.emplace_back(trimmed(piece));
  return pieces;
}

bool parse_integer(const std::string& text, int64_t& out) {
  if (text.empty()) return false;
  char* end = nullptr;
  const bool negative = text[0] == '-';
  const std::string digits = negative ? text.substr(1) : text;
  const uint64_t magnitude = std::strtoull(digits.c_str(), &end, 0);
  if (end == digits.c_str() || *end != '\0') return false;
  out = negative ? -int64_t(magnitude) : int64_t(magnitude);
  return true;
}

const std::unordered_map<std::string, int>& part_words() {
  static const std::unordered_map<std::string, int> words = {{"DWORD", int(Part::dword)},  {"WORD_0", int(Part::word0)},
                                                             {"WORD_1", int(Part::word1)}, {"BYTE_0", int(Part::byte0)},
                                                             {"BYTE_1", int(Part::byte1)}, {"BYTE_2", int(Part::byte2)},
                                                             {"BYTE_3", int(Part::byte3)}, {"UNUSED_PAD", 0},
                                                             {"UNUSED_SEXT", 1},           {"UNUSED_PRESERVE", 2}};
  return words;
}

// "offset:16", "op_sel:[0,1]", "offen", "vmcnt(3)".
void add_modifier(const std::string& token, Instruction& out) {
  const size_t colon = token.find_first_of(":(");
  if (colon == std::string::npos) {
    out.modifiers[token] = {};
    return;
  }
  std::string values = token.substr(colon + 1);
  values.erase(std::remove_if(values.begin(), values.end(), [](char c) { return std::strchr("[]()", c) != nullptr; }),
               values.end());
  std::vector<int>& list = out.modifiers[token.substr(0, colon)];
  for (const std::string& v : split(values, false)) {
    int64_t number = 0;
    if (const auto word = part_words().find(v); word != part_words().end()) {
      list.push_back(word->second);
    } else if (parse_integer(v, number)) {
      list.push_back(int(number));
    }
  }
}

bool special_register(const std::string& word, Operand& out) {
  struct Named {
    const char* word;
    int16_t index, count;
  };
  static constexpr Named named[] = {{"vcc", kVccIndex, 2},   {"vcc_lo", kVccIndex, 1},   {"vcc_hi", kVccIndex + 1, 1},
                                    {"exec", kExecIndex, 2}, {"exec_lo", kExecIndex, 1}, {"exec_hi", kExecIndex + 1, 1},
                                    {"m0", kM0Index, 1}};
  for (const Named& n : named) {
    if (word != n.word) continue;
    out.place = Place::sgpr;
    out.index = n.index;
    out.count = n.count;
    return true;
  }
  return false;
}

// "v7", "a[0:3]", "s[8:11]".
bool register_range(const std::string& word, Operand& out) {
  if (word.size() < 2) return false;
  const Place place = word[0] == 'v' ? Place::vgpr : word[0] == 'a' ? Place::agpr : Place::sgpr;
  if (word[0] != 'v' && word[0] != 'a' && word[0] != 's') return false;
  int first = 0, last = 0;
  char close = 0;
  if (std::isdigit(static_cast<unsigned char>(word[1]))) {
    if (std::sscanf(word.c_str() + 1, "%d", &first) != 1) return false;
    last = first;
  } else if (std::sscanf(word.c_str() + 1, "[%d:%d%c", &first, &last, &close) != 3 || close != ']') {
    return false;
  }
  out.place = place;
  out.index = int16_t(first);
  out.count = int16_t(last - first + 1);
  return true;
}

Operand parse_operand(std::string word) {
  Operand out;
  const auto peel = [&](const char* open, const char* close, bool& flag) {
    const size_t n = std::strlen(open);
    if (word.size() <= n + std::strlen(close) || word.compare(0, n, open) != 0 || word.back() != *close) return;
    flag = true;
    word = word.substr(n, word.size() - n - 1);
  };
  if (word.size() > 1 && word[0] == '-' && !std::isdigit(static_cast<unsigned char>(word[1]))) {
    out.negate = true;
    word.erase(0, 1);
  }
  peel("neg(", ")", out.negate);
  peel("|", "|", out.absolute);
  peel("abs(", ")", out.absolute);
  peel("sext(", ")", out.extend);
  bool literal = false;  // a number that the disassembler tells from a constant of the instruction
  peel("lit(", ")", literal);
  if (special_register(word, out) || register_range(word, out)) return out;
  int64_t number = 0;
  if (parse_integer(word, number)) {
    out.place = Place::literal;
    out.value = number;
    return out;
  }
  char* end = nullptr;
  const double real = std::strtod(word.c_str(), &end);
  if (end != word.c_str() && *end == '\0') {
    out.place = Place::literal;
    out.is_float = true;
    out.real = real;
    out.value = int64_t(std::bit_cast<uint32_t>(float(real)));
  }
  return out;
}

void strip_encoding(Instruction& out) {
  const auto strip = [&](std::string_view suffix) {
    if (out.opcode.size() <= suffix.size() || !std::string_view(out.opcode).ends_with(suffix)) return false;
    out.opcode.resize(out.opcode.size() - suffix.size());
    return true;
  };
  out.dpp = strip("_dpp");
  out.sdwa = strip("_sdwa");
  if (!strip("_e32")) strip("_e64");
}

// "<gemm+0x8ec>" after the encoding; `base` is the address of the symbol.
int64_t branch_offset(const std::string& line) {
  const size_t open = line.rfind('<');
  if (open == std::string::npos || line.back() != '>') return -1;
  const size_t plus = line.find('+', open);
  return plus == std::string::npos ? 0 : int64_t(std::strtoull(line.c_str() + plus + 1, nullptr, 16));
}

template <class T>
T image_at(const std::vector<uint8_t>& image, uint64_t address) {
  T value = {};
  if (address <= image.size() && image.size() - address >= sizeof(T)) {
    std::memcpy(&value, image.data() + address, sizeof(T));
  }
  return value;
}

// The fields of the kernel descriptor, by their byte offset (AMDGPU ABI, code object version 3 and later).
void read_descriptor(const std::vector<uint8_t>& image, uint64_t at, CodeObjectKernel& k) {
  k.lds_bytes = int(image_at<uint32_t>(image, at));
  k.scratch_bytes = int(image_at<uint32_t>(image, at + 4));
  k.kernarg_bytes = int(image_at<uint32_t>(image, at + 8));
  k.entry = at + uint64_t(image_at<int64_t>(image, at + 16));
  const uint32_t rsrc3 = image_at<uint32_t>(image, at + 44);
  const uint32_t rsrc2 = image_at<uint32_t>(image, at + 52);
  k.accum_offset = int((rsrc3 & 63) + 1) * 4;
  k.user_sgprs = int(rsrc2 >> 1 & 31);
  for (int i = 0; i < 3; ++i) k.group_id[i] = (rsrc2 >> (7 + i) & 1) != 0;
  k.properties = image_at<uint16_t>(image, at + 56);
  const uint16_t preload = image_at<uint16_t>(image, at + 58);
  k.kernarg_preload = preload & 127;
  k.kernarg_preload_offset = preload >> 7;
}

Status disassemble(const std::string& tool, const std::string& path, CodeObjectKernel& k) {
  std::string output;
  if (Status s = system::run_program({tool, "-d", "--disassemble-symbols=" + k.name, path}, output); !s) return s;
  std::vector<int64_t> offsets;
  std::unordered_map<uint64_t, int> index;
  size_t at = 0;
  while (at < output.size()) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    at = end + 1;
    Instruction i;
    if (!parse_line(line, i)) continue;
    index[i.address] = int(k.code.size());
    offsets.push_back(branch_offset(line));
    k.code.push_back(std::move(i));
  }
  if (k.code.empty()) {
    return Status(Code::failed, fmt::format("{} printed no instruction of kernel '{}'", tool, k.name));
  }
  const uint64_t base = k.code.front().address;
  for (size_t i = 0; i < k.code.size(); ++i) {
    if (offsets[i] < 0) continue;
    const auto target = index.find(base + uint64_t(offsets[i]));
    if (target != index.end()) k.code[i].target = target->second;
  }
  return {};
}

}  // namespace

int CodeObjectKernel::index_of(uint64_t address) const {
  const auto at = std::lower_bound(code.begin(), code.end(), address,
                                   [](const Instruction& i, uint64_t a) { return i.address < a; });
  return at == code.end() || at->address != address ? -1 : int(at - code.begin());
}

const CodeObjectKernel* CodeObject::find(const std::string& name) const {
  for (const CodeObjectKernel& k : kernels)
    if (k.name == name) return &k;
  return nullptr;
}

std::string find_disassembler() {
  if (const char* named = std::getenv("WARPWRIGHT_LLVM_OBJDUMP"); named != nullptr && system::program_exists(named))
    return named;
  for (const char* name : {"llvm-objdump-22", "llvm-objdump-23", "llvm-objdump-21", "llvm-objdump-20"})
    if (system::program_exists(name)) return name;
  return {};
}

bool parse_line(const std::string& line, Instruction& out) {
  const size_t comment = line.find("// ");
  if (comment == std::string::npos || line.empty() || line[0] != '\t') return false;
  out.address = std::strtoull(line.c_str() + comment + 3, nullptr, 16);
  const std::string_view text = trimmed(std::string_view(line).substr(0, comment));
  out.text = std::string(text);
  const size_t blank = text.find_first_of(" \t");
  out.opcode = std::string(text.substr(0, blank));
  strip_encoding(out);
  if (blank == std::string_view::npos) return true;
  // Every piece is an operand; the modifiers follow the last one.
  for (const std::string& piece : split(text.substr(blank), false)) {
    const std::vector<std::string> words = split(piece, true);
    for (size_t i = 0; i < words.size(); ++i) {
      const bool counter = words[i].find("cnt(") != std::string::npos;
      if (i == 0 && !counter) {
        out.operands.push_back(parse_operand(words[i]));
      } else {
        add_modifier(words[i], out);
      }
    }
  }
  if (out.sdwa) {
    const char* names[2] = {"src0_sel", "src1_sel"};
    for (size_t s = 0; s < 2; ++s) {
      // The destination (and a second one, of a carry) comes first.
      const size_t first = out.opcode.find("_co_") != std::string::npos ? 2 : 1;
      if (first + s < out.operands.size()) out.operands[first + s].part = Part(out.modifier(names[s]));
    }
  }
  return true;
}

Result<CodeObject> load_code_object(const std::string& path) {
  CodeObject object;
  ElfFile elf;
  if (Status s = read_elf(path, elf); !s) return s;
  const std::string tool = find_disassembler();
  if (tool.empty()) {
    return Status(Code::missing, "no llvm-objdump of version 20 or later was found: install the package llvm-22");
  }
  const std::string triple = elf.metadata.value("amdhsa.target", std::string());
  object.chip_name = triple.substr(triple.rfind('-') + 1);
  object.chip_name = object.chip_name.substr(0, object.chip_name.find(':'));
  object.chip = object.chip_name == "gfx942" ? Chip::gfx942 : object.chip_name == "gfx950" ? Chip::gfx950 : Chip::other;
  for (const Json& entry : elf.metadata["amdhsa.kernels"]) {
    CodeObjectKernel k;
    k.name = entry.value(".name", std::string());
    const ElfSymbol* descriptor = elf.find(entry.value(".symbol", k.name + ".kd"));
    if (descriptor == nullptr) {
      return Status(Code::invalid_argument, fmt::format("'{}': kernel '{}' has no descriptor", path, k.name));
    }
    read_descriptor(elf.image, descriptor->value, k);
    k.vgprs = entry.value(".vgpr_count", 0);
    k.agprs = entry.value(".agpr_count", 0);
    k.sgprs = entry.value(".sgpr_count", 0);
    k.vgpr_spills = entry.value(".vgpr_spill_count", 0);
    k.sgpr_spills = entry.value(".sgpr_spill_count", 0);
    k.max_workgroup = entry.value(".max_flat_workgroup_size", 0);
    if (Status s = disassemble(tool, path, k); !s) return s;
    object.kernels.push_back(std::move(k));
  }
  object.image = std::move(elf.image);
  if (object.kernels.empty()) return Status(Code::invalid_argument, fmt::format("'{}' has no kernel", path));
  return object;
}

}  // namespace warpwright::amd

// A linked AMD code object as instructions: what the disassembler prints, taken apart once, and the kernel descriptors
// and metadata that a dispatch needs.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "warpwright/status.h"

namespace warpwright::amd {

// gfx942 and gfx950 differ in the fp8 format (FNUZ against OCP) and in the widest LDS DMA.
enum class Chip { gfx942, gfx950, other };

enum class Place : uint8_t { none, vgpr, agpr, sgpr, literal };

// Special scalar registers have their encoding as index, so that s[0:105], vcc, m0 and exec are one file.
inline constexpr int kVccIndex = 106;
inline constexpr int kM0Index = 124;
inline constexpr int kExecIndex = 126;
inline constexpr int kScalarRegisters = 128;

// Part of a register that an SDWA operand selects.
enum class Part : uint8_t { dword, word0, word1, byte0, byte1, byte2, byte3 };

struct Operand {
  Place place = Place::none;
  int16_t index = 0;
  int16_t count = 1;  // registers
  bool negate = false;
  bool absolute = false;
  bool extend = false;  // sext()
  Part part = Part::dword;
  int64_t value = 0;  // for a literal: the integer, or the bits of a float
  bool is_float = false;
  double real = 0;

  bool is_register() const { return place == Place::vgpr || place == Place::agpr || place == Place::sgpr; }
  bool is_vector() const { return place == Place::vgpr || place == Place::agpr; }
  bool operator==(const Operand&) const = default;
};

struct Instruction {
  uint64_t address = 0;
  std::string opcode;  // without the encoding suffix _e32, _e64, _sdwa
  std::string text;    // as printed
  std::vector<Operand> operands;
  std::map<std::string, std::vector<int>> modifiers;  // offset:16 -> {16}, offen -> {}, op_sel:[0,1] -> {0,1}
  int64_t target = -1;                                // for a branch: the index of an instruction
  bool sdwa = false;
  bool dpp = false;

  bool has(const std::string& modifier) const { return modifiers.count(modifier) != 0; }
  int modifier(const std::string& name, int otherwise = 0) const {
    const auto found = modifiers.find(name);
    return found == modifiers.end() || found->second.empty() ? otherwise : found->second.front();
  }
  // s_waitcnt: the count it names, or -1.
  int wait(const std::string& counter) const { return modifier(counter, -1); }
};

struct CodeObjectKernel {
  std::string name;
  uint64_t entry = 0;
  std::vector<Instruction> code;

  int vgprs = 0;  // VGPRs and AGPRs together
  int agprs = 0;
  int accum_offset = 0;  // where the accumulation registers begin in the unified file
  int sgprs = 0;
  int lds_bytes = 0;
  int scratch_bytes = 0;  // per lane
  int kernarg_bytes = 0;
  int vgpr_spills = 0;
  int sgpr_spills = 0;
  int max_workgroup = 0;

  // compute_pgm_rsrc2 and kernel_code_properties: what the dispatcher puts in which SGPRs.
  int user_sgprs = 0;
  uint16_t properties = 0;
  bool group_id[3] = {false, false, false};
  int kernarg_preload = 0;  // dwords
  int kernarg_preload_offset = 0;

  int index_of(uint64_t address) const;  // -1: no instruction begins there
};

struct CodeObject {
  Chip chip = Chip::other;
  std::string chip_name;
  std::vector<uint8_t> image;  // loaded segments, image[0] at virtual address 0
  std::vector<CodeObjectKernel> kernels;

  const CodeObjectKernel* find(const std::string& name) const;
};

// Reads an ELF file; disassembles with llvm-objdump (version 22, or what WARPWRIGHT_LLVM_OBJDUMP names).
Result<CodeObject> load_code_object(const std::string& path);

// The disassembler's name, empty if there is none on this machine.
std::string find_disassembler();

// One line of llvm-objdump: "s_add_u32 s0, s1, 4  // 000000001600: 80008401". False: not an instruction.
bool parse_line(const std::string& line, Instruction& out);

}  // namespace warpwright::amd

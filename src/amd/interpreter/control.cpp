// Branches, waits, barriers and what has no effect here; and the table of all operations.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

enum Condition { kAlways, kScc0, kScc1, kVccZero, kVccNonzero, kExecZero, kExecNonzero };

void branch(Machine& m, Wave& w, const Op& op) {
  const uint64_t vcc = w.s[kVccIndex] | uint64_t(w.s[kVccIndex + 1]) << 32;
  bool taken = true;
  switch (op.entry.a) {
    case kScc0:
      taken = w.scc == 0;
      break;
    case kScc1:
      taken = w.scc != 0;
      break;
    case kVccZero:
      taken = vcc == 0;
      break;
    case kVccNonzero:
      taken = vcc != 0;
      break;
    case kExecZero:
      taken = w.exec() == 0;
      break;
    case kExecNonzero:
      taken = w.exec() != 0;
      break;
    default:
      break;
  }
  if (!taken) return;
  if (op.instruction->target < 0) return m.stop("a branch leaves the kernel: " + Machine::place_of(op));
  w.pc = int(op.instruction->target);
}

void wait(Machine& m, Wave& w, const Op& op) {
  const Instruction& in = *op.instruction;
  if (!in.operands.empty()) {
    // Printed as a number: vmcnt in bits 3:0 and 15:14, lgkmcnt in 11:8.
    const auto code = uint32_t(in.operands[0].value);
    m.wait_vm(w, int((code & 15) | (code >> 14 & 3) << 4));
    m.wait_lgkm(w, int(code >> 8 & 15));
    return;
  }
  if (in.wait("vmcnt") >= 0) m.wait_vm(w, in.wait("vmcnt"));
  if (in.wait("lgkmcnt") >= 0) m.wait_lgkm(w, in.wait("lgkmcnt"));
}

void nothing(Machine&, Wave&, const Op&) {}

void unknown(Machine& m, Wave&, const Op& op) {
  m.stop(fmt::format("the opcode {} is not supported: {}", op.instruction->opcode, Machine::place_of(op)));
}

bool has_modifiers(const Instruction& in) {
  return std::any_of(in.operands.begin(), in.operands.end(),
                     [](const Operand& o) { return o.negate || o.absolute || o.extend || o.part != Part::dword; });
}

}  // namespace

void add_control_ops(OpTable& t) {
  t["s_branch"] = {.run = branch, .a = kAlways};
  t["s_cbranch_scc0"] = {.run = branch, .a = kScc0};
  t["s_cbranch_scc1"] = {.run = branch, .a = kScc1};
  t["s_cbranch_vccz"] = {.run = branch, .a = kVccZero};
  t["s_cbranch_vccnz"] = {.run = branch, .a = kVccNonzero};
  t["s_cbranch_execz"] = {.run = branch, .a = kExecZero};
  t["s_cbranch_execnz"] = {.run = branch, .a = kExecNonzero};
  t["s_waitcnt"] = {.run = wait};
  t["s_barrier"] = {.run = [](Machine&, Wave& w, const Op&) { w.at_barrier = true; }};
  t["buffer_wbl2"] = {.run = [](Machine&, Wave& w, const Op&) { w.unwritten = false; }};
  t["buffer_inv"] = {.run = [](Machine&, Wave& w, const Op&) { w.stale = false; }};
  t["s_endpgm"] = {.run = [](Machine& m, Wave& w, const Op&) {
    m.wait_vm(w, 0);
    m.wait_lgkm(w, 0);
    w.done = true;
  }};
  for (const char* name : {"s_nop", "s_sleep", "s_setprio", "s_sethalt", "s_setreg_b32", "s_setreg_imm32_b32", "v_nop",
                           "s_dcache_wb", "s_icache_inv", "s_code_end"}) {
    t[name] = {.run = nothing};
  }
}

const OpTable& op_table() {
  static const OpTable table = [] {
    OpTable t;
    add_scalar_ops(t);
    add_control_ops(t);
    add_vector_ops(t);
    add_wide_vector_ops(t);
    add_convert_ops(t);
    add_divide_ops(t);
    add_matrix_ops(t);
    add_global_ops(t);
    add_lds_ops(t);
    return t;
  }();
  return table;
}

std::vector<std::string> supported_opcodes() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : op_table())
    if (name.find('/') == std::string::npos) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Op> decode(const CodeObjectKernel& kernel) {
  std::vector<Op> code;
  code.reserve(kernel.code.size());
  for (const Instruction& in : kernel.code) {
    Op op;
    op.instruction = &in;
    op.index = int(code.size());
    op.plain = !has_modifiers(in);
    op.offset = in.modifier("offset");
    const auto found = op_table().find(in.has("clamp") ? in.opcode + kClampSuffix : in.opcode);
    const bool known = found != op_table().end();
    // A form that the handler would ignore is as unknown as an opcode.
    const bool exotic = in.dpp || in.has("mul") || in.has("div") || (known && !found->second.modifiers && !op.plain) ||
                        (in.sdwa && !known);
    if (known) op.entry = found->second;
    op.run = known && !exotic ? op.entry.run : unknown;
    code.push_back(op);
  }
  return code;
}

}  // namespace warpwright::amd

// The interpreter's insides: waves, the operations they have in flight, and the access to their registers.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "amd/interpreter/interpreter.h"
#include "amd/interpreter/lds.h"

namespace warpwright::amd {

inline constexpr int kLanes = 64;
inline constexpr int kFirstAgpr = 256;
inline constexpr int kVectorRegisters = 512;
inline constexpr uint64_t kAllLanes = ~uint64_t(0);

class Machine;
struct Wave;
struct Op;
using Handler = void (*)(Machine&, Wave&, const Op&);
using Lanes = uint32_t[kLanes];
// A lane-wise function of up to three sources.
using LaneFunction = void (*)(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c);
using ScalarFunction = uint64_t (*)(uint64_t a, uint64_t b, uint32_t& scc);

// What kind of access to memory or to the LDS it is, in OpEntry::b.
enum AccessFlag { kSigned = 1, kHalf = 2, kHighHalf = 4, kBuffer = 8, kStore = 16, kTwo = 32, kStride64 = 64 };

struct OpEntry {
  Handler run = nullptr;
  LaneFunction lanes = nullptr;
  ScalarFunction scalar = nullptr;
  int a = 0, b = 0, c = 0;  // what the handler wants to know: widths, shapes, formats
  bool modifiers = false;   // takes negation, absolute value and SDWA parts of 32-bit sources
};
// By opcode; the saturating form of an instruction, whose modifier is "clamp", has a name of its own.
using OpTable = std::unordered_map<std::string, OpEntry>;
inline constexpr const char* kClampSuffix = "/clamp";

void add_scalar_ops(OpTable& table);
void add_control_ops(OpTable& table);
void add_vector_ops(OpTable& table);
void add_wide_vector_ops(OpTable& table);
void add_convert_ops(OpTable& table);
void add_divide_ops(OpTable& table);
void add_matrix_ops(OpTable& table);
void add_global_ops(OpTable& table);
void add_lds_ops(OpTable& table);
const OpTable& op_table();

// An instruction with its handler, ready to run.
struct Op {
  Handler run = nullptr;
  OpEntry entry;
  const Instruction* instruction = nullptr;
  int index = 0;
  bool plain = true;  // no source has a modifier
  int offset = 0;     // for a memory instruction

  const Operand& operand(size_t i) const { return instruction->operands[i]; }
  size_t size() const { return instruction->operands.size(); }
};
std::vector<Op> decode(const CodeObjectKernel& kernel);

// An operation that vmcnt or lgkmcnt counts.
struct Flight {
  enum class Kind : uint8_t { scalar_load, load, store, dma, ds_read, ds_write, lane_exchange } kind = Kind::load;
  const Op* op = nullptr;
  bool landed = false;
  uint64_t lanes = 0;                             // lanes that take part
  uint32_t ticket = 0;                            // the ticket of its LDS access
  int words = 0;                                  // registers per lane
  int bytes = 4;                                  // per lane; less than 4: one part of a register
  int first = 0;                                  // register
  bool sign = false, high = false, keep = false;  // for a narrow load: sign-extend; into the upper half; keep the rest
  uint32_t lds_base = 0;
  uint64_t address[kLanes];      // global
  uint32_t in_range[kLanes];     // one bit per word
  uint32_t lds_address[kLanes];  // the second address of ds_read2
  uint32_t lds_second[kLanes];
  bool two = false;
  uint32_t data[4][kLanes];
};

struct Wave {
  int id = 0;
  int group = 0;
  int pc = 0;
  int passed = 0;  // barriers
  bool done = false;
  bool at_barrier = false;
  bool unwritten = false;  // has stored something that no write-back of the cache has covered
  bool stale = false;      // has come to a counter, and not invalidated its caches since
  uint32_t scc = 0;
  uint64_t steps = 0;
  uint32_t s[kScalarRegisters] = {};
  int32_t s_flight[kScalarRegisters];  // index of the instruction whose load is in flight, -1: none
  int32_t v_flight[kVectorRegisters];
  std::deque<Flight> vm, lgkm;
  alignas(64) uint32_t v[kVectorRegisters][kLanes];

  uint64_t exec() const { return s[kExecIndex] | uint64_t(s[kExecIndex + 1]) << 32; }
  void set_exec(uint64_t mask) {
    s[kExecIndex] = uint32_t(mask);
    s[kExecIndex + 1] = uint32_t(mask >> 32);
  }
};

class Machine {
 public:
  Machine(const CodeObject& object, const CodeObjectKernel& kernel, const Launch& launch);
  RunResult run();

  // Registers. Every access looks at what is in flight.
  uint32_t scalar(Wave& w, const Operand& o, int word = 0) {
    if (o.place == Place::literal) return word == 0 ? uint32_t(o.value) : literal_high(o);
    if (o.place != Place::sgpr) return 0;
    const int index = o.index + word;
    if (w.s_flight[index] >= 0) report_flight(w, 's', index, w.s_flight[index]);
    return w.s[index];
  }
  uint64_t scalar64(Wave& w, const Operand& o) {
    if (o.place == Place::literal && o.is_float) return std::bit_cast<uint64_t>(o.real);
    if (o.place == Place::literal) return uint64_t(o.value);
    return scalar(w, o) | (o.count > 1 ? uint64_t(scalar(w, o, 1)) << 32 : 0);
  }
  void set_scalar(Wave& w, const Operand& o, uint32_t value, int word = 0) {
    const int index = o.index + word;
    if (w.s_flight[index] >= 0) report_flight(w, 's', index, w.s_flight[index]);
    w.s[index] = value;
  }
  void set_scalar64(Wave& w, const Operand& o, uint64_t value) {
    set_scalar(w, o, uint32_t(value));
    if (o.count > 1) set_scalar(w, o, uint32_t(value >> 32), 1);
  }
  static int vector_index(const Operand& o, int word = 0) {
    return o.index + word + (o.place == Place::agpr ? kFirstAgpr : 0);
  }
  // The 64 values of a source, in its register or, if it is a scalar, in `room`.
  const uint32_t* lanes(Wave& w, const Operand& o, Lanes& room, int word = 0) {
    if (!o.is_vector()) {
      const uint32_t value = scalar(w, o, word);
      for (uint32_t& x : room) x = value;
      return room;
    }
    const int index = vector_index(o, word);
    if (w.v_flight[index] >= 0) report_flight(w, 'v', index, w.v_flight[index]);
    return w.v[index];
  }
  // With negation, absolute value and SDWA parts applied.
  const uint32_t* modified_lanes(Wave& w, const Operand& o, Lanes& room);
  uint32_t* destination(Wave& w, const Operand& o, int word = 0) {
    const int index = vector_index(o, word);
    if (w.v_flight[index] >= 0) report_flight(w, 'v', index, w.v_flight[index]);
    return w.v[index];
  }
  void store_lanes(Wave& w, const Operand& o, const uint32_t* values, int word = 0) {
    uint32_t* d = destination(w, o, word);
    const uint64_t mask = w.exec();
    for (int l = 0; l < kLanes; ++l) d[l] = mask >> l & 1 ? values[l] : d[l];
  }

  // Memory.
  uint8_t* global(Wave& w, const Op& op, uint64_t address, size_t bytes, bool write, int lane);
  Lds& lds() { return *lds_; }
  void report_lds(Wave& w, const Op& op, const LdsConflict& conflict, const char* what);
  void launch_flight(Wave& w, std::deque<Flight>& queue, Flight&& flight);
  void mark_flight(Wave& w, const Flight& f, bool open);
  void wait_vm(Wave& w, int count);
  void wait_lgkm(Wave& w, int count);

  void report(Wave& w, const Op& op, Rule rule, const std::string& text);
  void stop(const std::string& error) {
    if (result_.error.empty()) result_.error = error;
  }
  bool stopped() const { return !result_.error.empty(); }
  Chip chip() const { return object_.chip; }
  uint64_t code_address(uint64_t address) const { return reinterpret_cast<uint64_t>(object_.image.data()) + address; }
  const CodeObjectKernel& kernel() const { return kernel_; }
  static std::string place_of(const Op& op);

 private:
  static uint32_t literal_high(const Operand& o) {
    return o.is_float ? uint32_t(std::bit_cast<uint64_t>(o.real) >> 32) : uint32_t(o.value >> 32);
  }
  void report_flight(Wave& w, char file, int index, int instruction);
  void land(Wave& w, Flight& f);
  void retire(Wave& w, Flight& f);
  void land_some(Wave& w);
  void start(Wave& w, int id, int group, const uint32_t (&group_id)[3]);
  void step(Wave& w);
  void run_group(int group, const uint32_t (&group_id)[3]);
  bool release_barrier();
  uint64_t random();

  const CodeObject& object_;
  const CodeObjectKernel& kernel_;
  const Launch& launch_;
  std::vector<Op> code_;
  std::vector<uint8_t> executed_;
  std::vector<MemoryRegion> regions_;
  size_t last_region_ = 0;
  std::vector<Wave> waves_;
  std::unique_ptr<Lds> lds_;
  const Op* current_ = nullptr;
  uint64_t random_state_ = 0;
  std::map<std::pair<int, uint64_t>, size_t> found_;
  RunResult result_;
};

}  // namespace warpwright::amd

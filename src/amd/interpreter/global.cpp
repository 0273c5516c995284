// Scalar, buffer and global memory instructions.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "amd/interpreter/bits.h"
#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

// entry.a: words.
void scalar_load(Machine& m, Wave& w, const Op& op) {
  const uint64_t base = m.scalar64(w, op.operand(1)) & ~uint64_t(3);
  const Operand& index = op.operand(2);
  const int64_t extra = index.place == Place::literal ? index.value : int64_t(m.scalar(w, index)) + op.offset;
  Flight flight;
  flight.kind = Flight::Kind::scalar_load;
  flight.op = &op;
  flight.words = op.entry.a;
  flight.first = op.operand(0).index;
  flight.address[0] =
      reinterpret_cast<uint64_t>(m.global(w, op, base + uint64_t(extra), size_t(4 * op.entry.a), false, 0));
  m.launch_flight(w, w.lgkm, std::move(flight));
}

// Where the lanes' data lie: pointers into the launch's memory, and which words are in range.
void buffer_addresses(Machine& m, Wave& w, const Op& op, size_t address_operand, bool write, Flight& f) {
  const Instruction& in = *op.instruction;
  const Operand& resource = op.operand(address_operand + 1);
  U word[4];
  for (int i = 0; i < 4; ++i) word[i] = m.scalar(w, resource, i);
  if ((word[1] >> 16) != 0 || in.has("idxen")) {
    return m.stop("a buffer with a stride or an index is not supported: " + Machine::place_of(op));
  }
  const uint64_t base = word[0] | uint64_t(word[1] & 0xffff) << 32;
  const uint64_t scalar_offset = m.scalar(w, op.operand(address_operand + 2));
  Lanes room = {};
  const U* lane_offset = in.has("offen") ? m.lanes(w, op.operand(address_operand), room) : room;
  const int piece = f.bytes < 4 ? f.bytes : 4;
  bool doubtful = false;
  for (int l = 0; l < kLanes; ++l) {
    f.in_range[l] = 0;
    f.address[l] = 0;
    if ((f.lanes >> l & 1) == 0) continue;
    const uint64_t offset = uint64_t(lane_offset[l]) + uint64_t(op.offset);
    int last = -1;
    for (int n = 0; n < f.words; ++n) {
      const uint64_t end = offset + uint64_t(4 * n + piece);
      const bool in_range = end + scalar_offset <= word[2];
      doubtful |= !in_range && end <= word[2];
      if (in_range) f.in_range[l] |= 1u << n, last = n;
    }
    if (last < 0) continue;
    const uint64_t address = base + offset + scalar_offset;
    f.address[l] = reinterpret_cast<uint64_t>(m.global(w, op, address, size_t(4 * last + piece), write, l));
    if (f.address[l] == 0) f.in_range[l] = 0;
  }
  if (doubtful) {
    m.report(w, op, Rule::buffer_range,
             "is beyond the end of its buffer only if soffset takes part in the range check, which the documents of "
             "the chips do not agree on");
  }
}

void global_addresses(Machine& m, Wave& w, const Op& op, size_t address_operand, size_t base_operand, bool write,
                      Flight& f) {
  const Operand &address = op.operand(address_operand), &base = op.operand(base_operand);
  Lanes room[2];
  const bool has_base = base.place == Place::sgpr;
  const U* low = m.lanes(w, address, room[0]);
  const U* high = has_base ? nullptr : m.lanes(w, address, room[1], 1);
  const uint64_t start = has_base ? m.scalar64(w, base) : 0;
  for (int l = 0; l < kLanes; ++l) {
    f.in_range[l] = 0;
    f.address[l] = 0;
    if ((f.lanes >> l & 1) == 0) continue;
    const uint64_t at = start + low[l] + (has_base ? 0 : uint64_t(high[l]) << 32) + uint64_t(int64_t(op.offset));
    f.address[l] = reinterpret_cast<uint64_t>(m.global(w, op, at, size_t(f.bytes), write, l));
    if (f.address[l] != 0) f.in_range[l] = ~0u;
  }
}

Flight begin(Wave& w, const Op& op, Flight::Kind kind) {
  Flight f;
  f.kind = kind;
  f.op = &op;
  f.bytes = op.entry.a;
  f.words = (op.entry.a + 3) / 4;
  f.lanes = w.exec();
  f.sign = (op.entry.b & kSigned) != 0;
  f.high = (op.entry.b & kHighHalf) != 0;
  f.keep = (op.entry.b & (kHalf | kHighHalf)) != 0;
  return f;
}

// LDS[M0 + offset + lane * bytes] = memory. The offset of the instruction counts on both sides.
void direct_to_lds(Machine& m, Wave& w, const Op& op) {
  Flight f = begin(w, op, Flight::Kind::dma);
  if (op.entry.b & kBuffer) {
    buffer_addresses(m, w, op, 0, false, f);
  } else {
    global_addresses(m, w, op, 0, 1, false, f);
  }
  if (m.stopped()) return;
  const Operand m0{.place = Place::sgpr, .index = kM0Index};
  f.lds_base = (m.scalar(w, m0) & 0x3ffff) + U(op.offset);
  const U size = U(f.bytes);
  if (uint64_t(f.lds_base) + kLanes * size > m.lds().bytes()) {
    m.report(w, op, Rule::lds_range,
             fmt::format("writes LDS up to byte {:#x}, the workgroup has {:#x}", f.lds_base + kLanes * size,
                         m.lds().bytes()));
    return;
  }
  f.ticket = m.lds().open(w.id, w.passed, op.index, LdsActor::dma);
  LdsConflict conflict;
  if (f.lanes == kAllLanes) {
    m.lds().write(w.id, f.ticket, w.passed, f.lds_base, kLanes * size, conflict);
  } else {
    for (int l = 0; l < kLanes; ++l) {
      if (f.lanes >> l & 1) m.lds().write(w.id, f.ticket, w.passed, f.lds_base + U(l) * size, size, conflict);
    }
  }
  m.report_lds(w, op, conflict, "writes");
  m.launch_flight(w, w.vm, std::move(f));
}

void load_or_store(Machine& m, Wave& w, const Op& op) {
  const bool buffer = (op.entry.b & kBuffer) != 0, store = (op.entry.b & kStore) != 0;
  if (buffer && op.instruction->has("lds")) return direct_to_lds(m, w, op);
  Flight f = begin(w, op, store ? Flight::Kind::store : Flight::Kind::load);
  if (store) {
    w.unwritten = true;
  } else if (w.stale) {
    m.report(w, op, Rule::memory_order, "reads after a counter, and no buffer_inv lies between");
  }
  if (buffer) {
    buffer_addresses(m, w, op, 1, store, f);
  } else {
    global_addresses(m, w, op, store ? 0 : 1, 2, store, f);
  }
  const Operand& data = op.operand(buffer || !store ? 0 : 1);
  f.first = Machine::vector_index(data);
  if (store) {
    Lanes room;
    for (int n = 0; n < f.words; ++n) std::memcpy(f.data[n], m.lanes(w, data, room, n), sizeof(Lanes));
  }
  m.launch_flight(w, w.vm, std::move(f));
}

// A counter of several workgroups: what was stored before it must have been released, what is loaded after it
// acquired.
constexpr int kCount = 5;
// Takes effect at once; the old value, if it is asked for, is in flight. entry.a: 0 add, 1 add floats, 2 exchange, 3
// or, 4 unsigned maximum, 5 count and begin again at 0 after the data.
void atomic(Machine& m, Wave& w, const Op& op) {
  if (op.entry.a == kCount) {
    const bool open =
        std::any_of(w.vm.begin(), w.vm.end(), [](const Flight& f) { return f.kind == Flight::Kind::store; });
    if (open) m.report(w, op, Rule::memory_order, "counts while a store is in flight: no vmcnt wait lies between");
    if (w.unwritten) m.report(w, op, Rule::memory_order, "counts after a store, and no buffer_wbl2 lies between");
    w.stale = true;
  }
  const bool returns = op.instruction->has("sc0");
  const size_t first = returns ? 1 : 0;
  Flight f;
  f.kind = Flight::Kind::lane_exchange;
  f.op = &op;
  f.words = returns ? 1 : 0;
  f.lanes = w.exec();
  global_addresses(m, w, op, first, first + 2, true, f);
  Lanes room;
  const U* data = m.lanes(w, op.operand(first + 1), room);
  for (int l = 0; l < kLanes; ++l) {
    if (f.in_range[l] == 0) continue;
    U* at = reinterpret_cast<U*>(f.address[l]);
    const U old = *at;
    f.data[0][l] = old;
    switch (op.entry.a) {
      case 0:
        *at = old + data[l];
        break;
      case 1:
        *at = std::bit_cast<U>(std::bit_cast<float>(old) + std::bit_cast<float>(data[l]));
        break;
      case 2:
        *at = data[l];
        break;
      case 3:
        *at = old | data[l];
        break;
      case kCount:
        *at = old >= data[l] ? 0 : old + 1;
        break;
      default:
        *at = old > data[l] ? old : data[l];
    }
  }
  if (returns) f.first = Machine::vector_index(op.operand(0));
  m.launch_flight(w, w.vm, std::move(f));
}

}  // namespace

void add_global_ops(OpTable& t) {
  for (const auto& [suffix, words] : {std::pair{"", 1}, {"x2", 2}, {"x4", 4}, {"x8", 8}, {"x16", 16}}) {
    t[std::string("s_load_dword") + suffix] = {.run = scalar_load, .a = words};
  }
  struct Form {
    const char* name;
    int bytes, flags;
  };
  const Form loads[] = {{"dword", 4, 0},         {"dwordx2", 8, 0},
                        {"dwordx3", 12, 0},      {"dwordx4", 16, 0},
                        {"ubyte", 1, 0},         {"sbyte", 1, kSigned},
                        {"ushort", 2, 0},        {"sshort", 2, kSigned},
                        {"ubyte_d16", 1, kHalf}, {"ubyte_d16_hi", 1, kHighHalf},
                        {"short_d16", 2, kHalf}, {"short_d16_hi", 2, kHighHalf}};
  for (const Form& f : loads) {
    t[std::string("buffer_load_") + f.name] = {.run = load_or_store, .a = f.bytes, .b = f.flags | kBuffer};
    t[std::string("global_load_") + f.name] = {.run = load_or_store, .a = f.bytes, .b = f.flags};
  }
  const Form stores[] = {{"dword", 4, 0},    {"dwordx2", 8, 0},
                         {"dwordx3", 12, 0}, {"dwordx4", 16, 0},
                         {"byte", 1, 0},     {"byte_d16_hi", 1, kHighHalf},
                         {"short", 2, 0},    {"short_d16_hi", 2, kHighHalf}};
  for (const Form& f : stores) {
    t[std::string("buffer_store_") + f.name] = {.run = load_or_store, .a = f.bytes, .b = f.flags | kBuffer | kStore};
    t[std::string("global_store_") + f.name] = {.run = load_or_store, .a = f.bytes, .b = f.flags | kStore};
  }
  for (const auto& [suffix, bytes] : {std::pair{"", 4}, {"x3", 12}, {"x4", 16}}) {
    t[std::string("global_load_lds_dword") + suffix] = {.run = direct_to_lds, .a = bytes};
  }
  const char* atomics[] = {"add", "add_f32", "swap", "or", "umax", "inc"};
  for (int n = 0; n < 6; ++n) t[std::string("global_atomic_") + atomics[n]] = {.run = atomic, .a = n};
}

}  // namespace warpwright::amd

// LDS instructions of a wave.
#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "amd/interpreter/bits.h"
#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

// Byte addresses of the lanes. False: one of them is outside the LDS of the workgroup.
bool addresses(Machine& m, Wave& w, const Op& op, const U* base, U offset, U bytes, uint64_t lanes, U* out) {
  for (int l = 0; l < kLanes; ++l) {
    out[l] = base[l] + offset;
    if ((lanes >> l & 1) == 0 || uint64_t(out[l]) + bytes <= m.lds().bytes()) continue;
    m.report(w, op, Rule::lds_range,
             fmt::format("touches LDS byte {:#x} in lane {}, the workgroup has {:#x}", out[l] + bytes - 1, l,
                         m.lds().bytes()));
    return false;
  }
  return true;
}

// entry.a: bytes of one access; entry.b: flags; entry.c: 1 for a write.
void access(Machine& m, Wave& w, const Op& op) {
  const bool write = op.entry.c != 0, two = (op.entry.b & kTwo) != 0;
  const U bytes = U(op.entry.a);
  Flight f;
  f.kind = write ? Flight::Kind::ds_write : Flight::Kind::ds_read;
  f.op = &op;
  f.bytes = int(bytes);
  f.words = int(bytes + 3) / 4 * (two ? 2 : 1);
  f.lanes = w.exec();
  f.two = two;
  f.sign = (op.entry.b & kSigned) != 0;
  f.high = (op.entry.b & kHighHalf) != 0;
  f.keep = !write && (op.entry.b & (kHalf | kHighHalf)) != 0;
  Lanes room;
  const U* base = m.lanes(w, op.operand(write ? 0 : 1), room);
  const U unit = op.entry.b & kStride64 ? 64 * bytes : bytes;
  const Instruction& in = *op.instruction;
  const U first = two ? unit * U(in.modifier("offset0")) : U(op.offset);
  if (!addresses(m, w, op, base, first, bytes, f.lanes, f.lds_address)) return;
  if (two && !addresses(m, w, op, base, unit * U(in.modifier("offset1")), bytes, f.lanes, f.lds_second)) return;
  f.ticket = m.lds().open(w.id, w.passed, op.index, LdsActor::ds);
  LdsConflict conflict;
  for (int part = 0; part < (two ? 2 : 1); ++part) {
    const U* at = part == 0 ? f.lds_address : f.lds_second;
    for (int l = 0; l < kLanes; ++l) {
      if ((f.lanes >> l & 1) == 0) continue;
      if (write) {
        m.lds().write(w.id, f.ticket, w.passed, at[l], bytes, conflict);
      } else {
        m.lds().read(w.id, f.ticket, w.passed, at[l], bytes, conflict);
      }
    }
  }
  m.report_lds(w, op, conflict, write ? "writes" : "reads");
  if (write) {
    Lanes spare;
    const int each = two ? f.words / 2 : f.words;
    for (int n = 0; n < f.words; ++n) {
      const Operand& data = op.operand(two && n >= each ? 2 : 1);
      std::memcpy(f.data[n], m.lanes(w, data, spare, two ? n % each : n), sizeof(Lanes));
    }
  } else {
    f.first = Machine::vector_index(op.operand(0));
  }
  m.launch_flight(w, w.lgkm, std::move(f));
}

// Lane l gets the value of the lane that it names (entry.a == 0), or gives its value to it.
void permute(Machine& m, Wave& w, const Op& op) {
  Lanes room[2];
  const U* lane = m.lanes(w, op.operand(1), room[0]);
  const U* data = m.lanes(w, op.operand(2), room[1]);
  Flight f;
  f.kind = Flight::Kind::lane_exchange;
  f.op = &op;
  f.words = 1;
  f.lanes = w.exec();
  f.first = Machine::vector_index(op.operand(0));
  std::memset(f.data[0], 0, sizeof(Lanes));
  for (int l = 0; l < kLanes; ++l) {
    const int other = int((lane[l] + U(op.offset)) / 4 & 63);
    if ((f.lanes >> l & 1) == 0) continue;
    if (op.entry.a == 0) {
      f.data[0][l] = f.lanes >> other & 1 ? data[other] : 0;
    } else {
      f.data[0][other] = data[l];
    }
  }
  m.launch_flight(w, w.lgkm, std::move(f));
}

}  // namespace

void add_lds_ops(OpTable& t) {
  const auto op = [&](const std::string& name, int bytes, int flags, bool write) {
    t[name] = {.run = access, .a = bytes, .b = flags, .c = write};
  };
  for (const auto& [name, bytes] : {std::pair{"b32", 4}, {"b64", 8}, {"b96", 12}, {"b128", 16}}) {
    op(std::string("ds_read_") + name, bytes, 0, false);
    op(std::string("ds_write_") + name, bytes, 0, true);
    if (bytes > 8) continue;
    op(std::string("ds_read2_") + name, bytes, kTwo, false);
    op(std::string("ds_write2_") + name, bytes, kTwo, true);
    op(std::string("ds_read2st64_") + name, bytes, kTwo | kStride64, false);
    op(std::string("ds_write2st64_") + name, bytes, kTwo | kStride64, true);
  }
  op("ds_read_u8", 1, 0, false);
  op("ds_read_i8", 1, kSigned, false);
  op("ds_read_u16", 2, 0, false);
  op("ds_read_i16", 2, kSigned, false);
  op("ds_read_u8_d16", 1, kHalf, false);
  op("ds_read_u8_d16_hi", 1, kHighHalf, false);
  op("ds_read_u16_d16", 2, kHalf, false);
  op("ds_read_u16_d16_hi", 2, kHighHalf, false);
  op("ds_write_b8", 1, 0, true);
  op("ds_write_b8_d16_hi", 1, kHighHalf, true);
  op("ds_write_b16", 2, 0, true);
  op("ds_write_b16_d16_hi", 2, kHighHalf, true);
  t["ds_bpermute_b32"] = {.run = permute, .a = 0};
  t["ds_permute_b32"] = {.run = permute, .a = 1};
}

}  // namespace warpwright::amd

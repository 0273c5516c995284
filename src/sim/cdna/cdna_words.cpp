// The words of a CDNA wave, and what its MFMAs compute.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "cdna_engine.h"
#include "sim/buffers/buffers.h"
#include "warpwright/core/numeric.h"

namespace warpwright::inline WW_WORLD::machine::cdna {
namespace {

using simulator::Buffer;
using simulator::cdna::Engine;
using simulator::cdna::Kind;
using simulator::cdna::Wave;

// Cycles of a matrix unit for one v_mfma_f32_16x16x32_bf16, 16x16x16_bf16 or 16x16x32_fp8_fp8; 16x16x128_f8f6f4 takes
// two of them.
constexpr uint32_t kMfma = 16;

// The range check of a raw buffer is made for each 32-bit word.
bool inside(const BufferResource& b, uint32_t offset, uint32_t bytes) { return uint64_t(offset) + bytes <= b.bytes; }

void fetch(uint8_t* to, const BufferResource& from, uint32_t offset, uint32_t count) {
  const uint8_t* const bytes = Engine::self().host(from.base);
  const uint32_t step = std::min(count, 4u);
  for (uint32_t i = 0; i < count; i += step) {
    if (inside(from, offset + i, step)) {
      std::memcpy(to + i, bytes + offset + i, step);
    } else {
      std::memset(to + i, 0, step);
    }
  }
}
// Words begin at multiples of their size, of four bytes at most: the chips have a mode in which they need not, and
// nothing here relies on it.
void aligned(const char* word, const BufferResource& b, uint32_t offset, uint32_t bytes, int lane, here at) {
  const uint32_t unit = std::min(bytes, 4u);
  if (!inside(b, offset, unit) || (reinterpret_cast<uintptr_t>(b.base) + offset) % unit == 0) return;
  Engine& e = Engine::self();
  e.fail("bounds.alignment",
         fmt::format("{} of {} bytes at {}, which is not a multiple of {}", word, bytes,
                     simulator::name_of_global(e.launch().buffers, static_cast<const uint8_t*>(b.base) + offset, unit),
                     unit),
         at, {}, {}, lane);
}
void reads(const char* word, const BufferResource& from, const Lanes& offset, uint32_t bytes, here at) {
  Engine& e = Engine::self();
  const uint32_t step = std::min(bytes, 4u);
  for (int lane = 0; lane < kWave; ++lane) {
    aligned(word, from, offset.v[lane], bytes, lane, at);
    for (uint32_t i = 0; i < bytes; i += step)
      if (inside(from, offset.v[lane] + i, step)) e.loaded(from.base + offset.v[lane] + i, step, at);
  }
}

template <int Words, int Bytes>
void put(const BufferResource& to, const Lanes& offset, const Lanes* const (&data)[Words], here at) {
  Engine& e = Engine::self();
  if (!e.word("buffer_store", at)) return;
  e.store();
  uint8_t* const bytes = e.host(to.base);
  for (int lane = 0; lane < kWave; ++lane) {
    for (int i = 0; i < Words; ++i) {
      const uint32_t o = offset.v[lane] + 4 * uint32_t(i);
      if (!inside(to, o, Bytes)) continue;
      aligned("buffer_store", to, o, Bytes, lane, at);
      e.stored(to.base + o, Bytes, at);
      std::memcpy(bytes + o, &data[i]->v[lane], Bytes);
    }
  }
}

BufferResource checked_buffer(const uint8_t* base, uint32_t bytes, here at) {
  Engine& e = Engine::self();
  if (bytes > 0 && e.buffer_of(base, bytes) == nullptr) {
    e.fail("bounds.global",
           fmt::format("a buffer of {} bytes does not lie inside any array of the launch: it begins {}", bytes,
                       simulator::name_of_global(e.launch().buffers, base, bytes)),
           at);
  }
  return {const_cast<uint8_t*>(base), bytes};
}

constexpr uint32_t kAllBytes = 0xffff;
uint32_t bytes_of(int i, int bytes) { return ((1u << bytes) - 1) << (i * bytes); }

void needed(const Fragment& f, const char* word, const char* operand, here at, uint32_t bytes = kAllBytes) {
  const bool filled = (f.written & bytes) == bytes;
  if (filled && f.in_flight == 0) return;
  Engine& e = Engine::self();
  if (!filled) {
    e.fail("wave.register", fmt::format("{} reads {}, which no load has filled", word, operand), at);
  }
  for (const bool vm : {true, false}) {
    for (const simulator::cdna::Flight& flight : vm ? Engine::wave().vm : Engine::wave().lgkm) {
      if (flight.fills != &f) continue;
      const std::string by = fmt::format("{} ({})", vm ? "buffer_load" : "ds_read", flight.place.report());
      e.fail("wave.register",
             fmt::format("{} reads {} while {} still fills it: {} is missing or lets too many stay in flight", word,
                         operand, by, vm ? "wait_vm" : "wait_lgkm"),
             at, Engine::wave().place.text());
    }
  }
}

// A code of gfx942: the exponent's bias is 8, 0x80 is NaN, there is no infinity and no negative zero.
float fnuz(uint8_t code) {
  if (code == 0x80) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const float magnitude =
      exponent == 0 ? float(mantissa) * 0x1p-10f : float(8 + mantissa) * 0x1p-11f * float(uint32_t(1) << exponent);
  return code & 0x80 ? -magnitude : magnitude;
}
const std::array<float, 256>& fp8_table(Arch arch) {
  static const std::array<std::array<float, 256>, 2> tables = [] {
    std::array<std::array<float, 256>, 2> t{};
    for (int i = 0; i < 256; ++i) {
      t[0][size_t(i)] = to_float(e4m3{uint8_t(i)});
      t[1][size_t(i)] = fnuz(uint8_t(i));
    }
    return t;
  }();
  return tables[arch == Arch::gfx942];
}

// Rows of 16 lanes each hold a quarter of the K positions. d[row of a][row of b] lies in lane 16 * (row of a / 4) +
// row of b, element row of a % 4.
template <int K>
void multiply(Accumulator& d, const float (&a)[16][K], const float (&b)[K][16]) {
  float sum[16][16];
  for (int lane = 0; lane < kWave; ++lane)
    for (int i = 0; i < 4; ++i) sum[4 * (lane / 16) + i][lane % 16] = d.v[lane][i];
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < K; ++k) {
      const float x = a[i][k];
      for (int j = 0; j < 16; ++j) sum[i][j] += x * b[k][j];
    }
  }
  for (int lane = 0; lane < kWave; ++lane)
    for (int i = 0; i < 4; ++i) d.v[lane][i] = sum[4 * (lane / 16) + i][lane % 16];
}

void multiply_fp8(Accumulator& d, const Fragment& a, const Fragment& b) {
  const std::array<float, 256>& value = fp8_table(Engine::self().launch().plan->arch);
  float x[16][64], y[64][16];
  for (int lane = 0; lane < kWave; ++lane) {
    for (int i = 0; i < 16; ++i) {
      x[lane % 16][16 * (lane / 16) + i] = value[a.bytes[lane][i]];
      y[16 * (lane / 16) + i][lane % 16] = value[b.bytes[lane][i]];
    }
  }
  multiply<64>(d, x, y);
}

template <class T>
void multiply_halves(Accumulator& d, const Fragment& a, const Fragment& b, here at) {
  Engine& e = Engine::self();
  if (!e.word("mfma", at)) return;
  needed(a, "mfma", "its first operand", at);
  needed(b, "mfma", "its second operand", at);
  e.multiply(e.launch().plan->arch == Arch::gfx942 ? 2 * kMfma : kMfma);
  float x[16][32], y[32][16];
  for (int lane = 0; lane < kWave; ++lane) {
    T p[8], q[8];
    std::memcpy(p, a.bytes[lane], 16);
    std::memcpy(q, b.bytes[lane], 16);
    for (int i = 0; i < 8; ++i) {
      x[lane % 16][8 * (lane / 16) + i] = to_float(p[i]);
      y[8 * (lane / 16) + i][lane % 16] = to_float(q[i]);
    }
  }
  multiply<32>(d, x, y);
}

// When a wave's fragments go out of scope, their registers are given to something else.
void forget(Wave& w, const Fragment* f) {
  for (auto* queue : {&w.vm, &w.lgkm}) {
    for (simulator::cdna::Flight& flight : *queue) {
      if (flight.fills != f) continue;
      flight.fills = nullptr;
      flight.landed = true;
    }
  }
}

}  // namespace

Fragment::~Fragment() {
  if (in_flight > 0) forget(Engine::wave(), this);
}

Lanes lane_index() {
  Lanes r;
  for (int i = 0; i < kWave; ++i) r.v[i] = uint32_t(i);
  return r;
}
uint32_t wave_index() { return uint32_t(Engine::wave().index); }
uint32_t workgroup_index() { return Engine::self().workgroup(); }

BufferResource make_buffer(Global<const uint8_t> base, uint32_t bytes, here at) {
  return checked_buffer(pointer_of(base), bytes, at);
}
BufferResource make_buffer(Global<uint8_t> base, uint32_t bytes, here at) {
  return checked_buffer(pointer_of(base), bytes, at);
}

void buffer_load_lds(const BufferResource& from, uint32_t to, const Lanes& offset, here at) {
  Engine& e = Engine::self();
  if (!e.word("buffer_load_lds", at)) return;
  reads("buffer_load_lds", from, offset, 16, at);
  const int access = e.access(Kind::copy, at);
  e.touch(access, to, kWave * 16);
  e.poison(to, kWave * 16);
  e.issue(true, {.land =
                     [&e, from, to, offset] {
                       for (int lane = 0; lane < kWave; ++lane)
                         fetch(e.lds() + to + lane * 16, from, offset.v[lane], 16);
                     },
                 .access = access,
                 .at = at});
}

void buffer_load(Fragment& to, const BufferResource& from, const Lanes& offset, here at) {
  Engine& e = Engine::self();
  if (!e.word("buffer_load", at)) return;
  reads("buffer_load", from, offset, 16, at);
  to.written = kAllBytes;
  ++to.in_flight;
  std::memset(to.bytes, 0xff, sizeof(to.bytes));
  e.issue(true, {.land =
                     [&to, from, offset] {
                       for (int lane = 0; lane < kWave; ++lane) fetch(to.bytes[lane], from, offset.v[lane], 16);
                     },
                 .fills = &to,
                 .at = at});
}

void detail::buffer_load_element(Fragment& to, int i, int bytes, const BufferResource& from, const Lanes& offset,
                                 here at) {
  Engine& e = Engine::self();
  if (!e.word("buffer_load_element", at)) return;
  reads("buffer_load_element", from, offset, uint32_t(bytes), at);
  to.written |= bytes_of(i, bytes);
  ++to.in_flight;
  for (auto& lane : to.bytes) std::memset(lane + i * bytes, 0xff, size_t(bytes));
  e.issue(true, {.land =
                     [&to, from, offset, i, bytes] {
                       for (int lane = 0; lane < kWave; ++lane)
                         fetch(to.bytes[lane] + i * bytes, from, offset.v[lane], uint32_t(bytes));
                     },
                 .fills = &to,
                 .at = at});
}
Lanes detail::element(const Fragment& from, int i, int bytes, here at) {
  needed(from, "element", "its register", at, bytes_of(i, bytes));
  Lanes r(0);
  for (int lane = 0; lane < kWave; ++lane) std::memcpy(&r.v[lane], from.bytes[lane] + i * bytes, size_t(bytes));
  return r;
}

void buffer_store(const BufferResource& to, const Lanes& offset, const Lanes& a, const Lanes& b, const Lanes& c,
                  const Lanes& d, here at) {
  put<4, 4>(to, offset, {&a, &b, &c, &d}, at);
}
void buffer_store(const BufferResource& to, const Lanes& offset, const Lanes& a, const Lanes& b, here at) {
  put<2, 4>(to, offset, {&a, &b}, at);
}
void buffer_store(const BufferResource& to, const Lanes& offset, const Lanes& a, here at) {
  put<1, 4>(to, offset, {&a}, at);
}
void buffer_store_short(const BufferResource& to, const Lanes& offset, const Lanes& a, here at) {
  put<1, 2>(to, offset, {&a}, at);
}
void buffer_store_byte(const BufferResource& to, const Lanes& offset, const Lanes& a, here at) {
  put<1, 1>(to, offset, {&a}, at);
}

void ds_read(Fragment& to, const Lanes& address, here at) {
  Engine& e = Engine::self();
  if (!e.word("ds_read", at)) return;
  const int access = e.access(Kind::read, at);
  for (const uint32_t a : address.v) e.touch(access, a, 16);
  to.written = kAllBytes;
  ++to.in_flight;
  std::memset(to.bytes, 0xff, sizeof(to.bytes));
  e.issue(false, {.land =
                      [&e, &to, address] {
                        for (int lane = 0; lane < kWave; ++lane)
                          std::memcpy(to.bytes[lane], e.lds() + address.v[lane], 16);
                      },
                  .access = access,
                  .fills = &to,
                  .at = at});
}

void ds_write(const Lanes& address, const Fragment& from, here at) {
  Engine& e = Engine::self();
  if (!e.word("ds_write", at)) return;
  needed(from, "ds_write", "its data", at);
  const int access = e.access(Kind::write, at);
  for (const uint32_t a : address.v) {
    e.touch(access, a, 16);
    e.poison(a, 16);
  }
  std::array<std::array<uint8_t, 16>, kWave> data;
  std::memcpy(data.data(), from.bytes, sizeof(from.bytes));
  e.issue(false, {.land =
                      [&e, address, data] {
                        for (size_t lane = 0; lane < kWave; ++lane)
                          std::memcpy(e.lds() + address.v[lane], data[lane].data(), 16);
                      },
                  .access = access,
                  .at = at});
}

void clear(Accumulator& d) { std::memset(d.v, 0, sizeof(d.v)); }
Lanes element(const Accumulator& d, int i) {
  Lanes r;
  for (int lane = 0; lane < kWave; ++lane) r.v[lane] = std::bit_cast<uint32_t>(d.v[lane][i]);
  return r;
}
void add(Accumulator& d, const Fragment& a, here at) {
  needed(a, "add", "its addend", at);
  for (int lane = 0; lane < kWave; ++lane) {
    float addend[4];
    std::memcpy(addend, a.bytes[lane], 16);
    for (int i = 0; i < 4; ++i) d.v[lane][i] += addend[i];
  }
}
Lanes scaled_bits(const Accumulator& d, int i, float factor) {
  Lanes r;
  for (int lane = 0; lane < kWave; ++lane) r.v[lane] = std::bit_cast<uint32_t>(d.v[lane][i] * factor);
  return r;
}
Lanes scaled_bf16_pair(const Accumulator& d, int i, float factor) {
  Lanes r;
  for (int lane = 0; lane < kWave; ++lane) {
    r.v[lane] =
        from_float<bf16>(d.v[lane][i] * factor).bits | uint32_t(from_float<bf16>(d.v[lane][i + 1] * factor).bits) << 16;
  }
  return r;
}

void mfma_bf16(Accumulator& d, const Fragment& a, const Fragment& b, here at) { multiply_halves<bf16>(d, a, b, at); }
void mfma_fp16(Accumulator& d, const Fragment& a, const Fragment& b, here at) { multiply_halves<fp16>(d, a, b, at); }

void mfma_fp8(Accumulator& d, const Fragment& a, const Fragment& b, here at) {
  if (!Engine::self().word("mfma", at)) return;
  needed(a, "mfma", "its first operand", at);
  needed(b, "mfma", "its second operand", at);
  Engine::self().multiply(2 * kMfma);
  multiply_fp8(d, a, b);
}

void mfma_fp8_wide(Accumulator& d, const Fragment& a0, const Fragment& a1, const Fragment& b0, const Fragment& b1,
                   here at) {
  if (!Engine::self().word("mfma", at)) return;
  for (const Fragment* f : {&a0, &a1}) needed(*f, "mfma", "its first operand", at);
  for (const Fragment* f : {&b0, &b1}) needed(*f, "mfma", "its second operand", at);
  Engine::self().multiply(2 * kMfma);
  multiply_fp8(d, a0, b0);
  multiply_fp8(d, a1, b1);
}

void release_device(here at) {
  if (Engine::self().word("release_device", at)) Engine::self().release();
}
void acquire_device(here at) {
  if (Engine::self().word("acquire_device", at)) Engine::self().acquire();
}
uint32_t count_arrival(Global<uint32_t> counter, uint32_t last, here at) {
  return Engine::self().word("count_arrival", at) ? Engine::self().count(counter, last, at) : last;
}

void workgroup_barrier(here at) {
  Engine& e = Engine::self();
  if (e.word("workgroup_barrier", at)) e.block_at_barrier(Engine::wave());
}

void at_entry(const char* phase, int slot, const char* op) {
  const int turn = Engine::wave().place.turn + (slot == 0 && std::strcmp(phase, "kernel") == 0);
  Engine::self().enter({phase, slot, op, turn});
}

void expect_barriers_ahead(uint32_t count, here at) {
  Engine& e = Engine::self();
  if (e.word("expect_barriers_ahead", at)) e.declare_stagger(count, at);
}

void detail::wait(bool vm, int count, here at) {
  Engine& e = Engine::self();
  const simulator::Fault* struck = nullptr;
  if (!e.word(vm ? "wait_vm" : "wait_lgkm", at, &struck)) return;
  using enum simulator::Fault::Action;
  if (struck != nullptr && (struck->action == alter || struck->action == add)) count += int(struck->value);
  e.wait(vm, count);
}

void detail::set_priority(int, here at) { Engine::self().word("set_priority", at); }

}  // namespace warpwright::inline WW_WORLD::machine::cdna

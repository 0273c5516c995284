// The words of a CDNA kernel in the simulator. A wave is one fiber whose 64 lanes are arrays of values.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/machine/sim/here.h"

namespace warpwright::inline WW_WORLD::machine::cdna {

inline constexpr int kWave = 64;

struct Mask {
  bool v[kWave];
};

struct Lanes {
  uint32_t v[kWave];

  Lanes() = default;
  Lanes(uint32_t x) {
    for (uint32_t& e : v) e = x;
  }

#define WW_LANES_OPERATOR(OP)                                  \
  friend Lanes operator OP(const Lanes& a, const Lanes& b) {   \
    Lanes r;                                                   \
    for (int i = 0; i < kWave; ++i) r.v[i] = a.v[i] OP b.v[i]; \
    return r;                                                  \
  }
  WW_LANES_OPERATOR(+)
  WW_LANES_OPERATOR(-)
  WW_LANES_OPERATOR(*)
  WW_LANES_OPERATOR(&)
  WW_LANES_OPERATOR(|)
  WW_LANES_OPERATOR(^)
  WW_LANES_OPERATOR(<<)
  WW_LANES_OPERATOR(>>)
#undef WW_LANES_OPERATOR
  friend Mask operator<(const Lanes& a, const Lanes& b) {
    Mask r;
    for (int i = 0; i < kWave; ++i) r.v[i] = a.v[i] < b.v[i];
    return r;
  }
};

// Four registers that a load fills: they hold nothing until the load has been waited for.
class Fragment {
 public:
  Fragment() = default;
  Fragment(const Fragment&) = delete;
  Fragment& operator=(const Fragment&) = delete;
  ~Fragment();

  uint8_t bytes[kWave][16];
  uint32_t written = 0;  // a bit for each byte of a lane
  int in_flight = 0;     // loads
};
// Sixteen bytes of a lane in elements of this many bytes, loaded one by one.
template <int Bytes>
struct Gathered {
  Fragment whole;
};
struct Accumulator {
  float v[kWave][4];
};
struct BufferResource {
  uint8_t* base = nullptr;
  uint32_t bytes = 0;
};

namespace detail {
void buffer_load_element(Fragment& to, int i, int bytes, const BufferResource& from, const Lanes& offset, here at);
Lanes element(const Fragment& from, int i, int bytes, here at);
void wait(bool vm, int count, here at);
void set_priority(int value, here at);
}  // namespace detail

Lanes lane_index();
uint32_t wave_index();
uint32_t workgroup_index();
inline Lanes select(const Mask& which, const Lanes& yes, const Lanes& no) {
  Lanes r;
  for (int i = 0; i < kWave; ++i) r.v[i] = which.v[i] ? yes.v[i] : no.v[i];
  return r;
}
template <class T>
T settled(T value) {
  return value;
}
inline uint32_t uniform(uint32_t value) { return value; }
template <class T>
T read_again(const T& given) {
  return given;
}
inline Lanes opaque(const Lanes& value) { return value; }

BufferResource make_buffer(Global<const uint8_t> base, uint32_t bytes, here at = {});
BufferResource make_buffer(Global<uint8_t> base, uint32_t bytes, here at = {});

void buffer_load_lds(const BufferResource& from, uint32_t to, const Lanes& offset, here at = {});
void buffer_load(Fragment& to, const BufferResource& from, const Lanes& offset, here at = {});
template <int Bytes>
void buffer_load_element(Gathered<Bytes>& to, int i, const BufferResource& from, const Lanes& offset, here at = {}) {
  detail::buffer_load_element(to.whole, i, Bytes, from, offset, at);
}
void buffer_store(const BufferResource& to, const Lanes& offset, const Lanes& a, const Lanes& b, const Lanes& c,
                  const Lanes& d, here at = {});
void buffer_store(const BufferResource& to, const Lanes& offset, const Lanes& a, const Lanes& b, here at = {});
void buffer_store(const BufferResource& to, const Lanes& offset, const Lanes& a, here at = {});
void buffer_store_short(const BufferResource& to, const Lanes& offset, const Lanes& a, here at = {});
void buffer_store_byte(const BufferResource& to, const Lanes& offset, const Lanes& a, here at = {});

void ds_read(Fragment& to, const Lanes& address, here at = {});
void ds_write(const Lanes& address, const Fragment& from, here at = {});
template <int Bytes>
void ds_write(const Lanes& address, const Gathered<Bytes>& from, here at = {}) {
  ds_write(address, from.whole, at);
}
template <int Bytes>
Lanes element(const Gathered<Bytes>& from, int i, here at = {}) {
  return detail::element(from.whole, i, Bytes, at);
}

template <class F, class... L>
Lanes map(F&& function, const L&... lanes) {
  Lanes r;
  for (int i = 0; i < kWave; ++i) r.v[i] = function(lanes.v[i]...);
  return r;
}

void clear(Accumulator& d);
Lanes element(const Accumulator& d, int i);
void add(Accumulator& d, const Fragment& a, here at = {});
Lanes scaled_bits(const Accumulator& d, int i, float factor);
Lanes scaled_bf16_pair(const Accumulator& d, int i, float factor);

void mfma_bf16(Accumulator& d, const Fragment& a, const Fragment& b, here at = {});
void mfma_fp16(Accumulator& d, const Fragment& a, const Fragment& b, here at = {});
void mfma_fp8(Accumulator& d, const Fragment& a, const Fragment& b, here at = {});
void mfma_fp8_wide(Accumulator& d, const Fragment& a0, const Fragment& a1, const Fragment& b0, const Fragment& b1,
                   here at = {});

template <int N>
void wait_vm(here at = {}) {
  static_assert(N >= 0 && N <= 63, "vmcnt has 6 bits");
  detail::wait(true, N, at);
}
template <int N>
void wait_lgkm(here at = {}) {
  static_assert(N >= 0 && N <= 15, "lgkmcnt has 4 bits");
  detail::wait(false, N, at);
}
void release_device(here at = {});
void acquire_device(here at = {});
uint32_t count_arrival(Global<uint32_t> counter, uint32_t last, here at = {});
void workgroup_barrier(here at = {});
template <int N>
void set_priority(here at = {}) {
  detail::set_priority(N, at);
}
inline void order_fence() {}
// The texts live as long as the run.
void at_entry(const char* phase, int slot, const char* op);
void expect_barriers_ahead(uint32_t count, here at = {});

}  // namespace warpwright::inline WW_WORLD::machine::cdna

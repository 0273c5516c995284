// Device memory under a CDNA kernel: who wrote which byte of it, and whether a wave of another workgroup may read that.
//
// A wave may read what another has written if the writer released it before coming to a counter, and the reader has
// seen that counter and has acquired since.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cdna_engine.h"

namespace warpwright::simulator::cdna {
namespace {

void join(Releases& into, const Releases& other) {
  for (const auto& [wave, release] : other) into[wave] = std::max(into[wave], release);
}

}  // namespace

std::string Engine::place_in(const Buffer& b, const void* p) const {
  return fmt::format("{}+{}", b.name, static_cast<const uint8_t*>(p) - static_cast<const uint8_t*>(b.data));
}

void Engine::stored(const void* p, uint32_t bytes, here at) {
  if (!options_.check) return;
  const Buffer* b = buffer_of(p, bytes);
  if (b == nullptr) return;
  if (b->use == Buffer::Use::input) {
    fail("bounds.input", fmt::format("{} writes {}, which is an input", who(wave()), b->name), at, b->name);
  }
  std::vector<Writer>& writers = writers_[b];
  if (writers.empty()) writers.resize(b->bytes);
  const uint32_t me = number_of(wave()), release = released_[me];
  const auto place = size_t(static_cast<const uint8_t*>(p) - static_cast<const uint8_t*>(b->data));
  for (uint32_t i = 0; i < bytes; ++i) {
    Writer& writer = writers[place + i];
    if (writer.wave != 0 && writer.wave != me) {
      fail("race",
           fmt::format("{} of workgroup {} writes {}, which wave {} of workgroup {} has written", who(wave()),
                       workgroup_, place_in(*b, p), (writer.wave - 1) % 64, (writer.wave - 1) / 64),
           at, b->name);
    }
    writer = {me, release};
  }
}

void Engine::loaded(const void* p, uint32_t bytes, here at) {
  if (!options_.check) return;
  const Buffer* b = buffer_of(p, bytes);
  if (b == nullptr) return;
  const auto written = writers_.find(b);
  if (written == writers_.end()) return;
  const auto place = size_t(static_cast<const uint8_t*>(p) - static_cast<const uint8_t*>(b->data));
  const uint32_t me = number_of(wave());
  for (uint32_t i = 0; i < bytes; ++i) {
    const Writer& writer = written->second[place + i];
    if (writer.wave == 0 || writer.wave == me) continue;
    const auto known = wave().acquired.find(writer.wave);
    if (known != wave().acquired.end() && known->second > writer.release) continue;
    const auto met = wave().seen.find(writer.wave);
    const bool released = released_[writer.wave] > writer.release;
    const char* const missing = !released                      ? "it has not released that"
                                : met == wave().seen.end()     ? "no counter has shown that it came"
                                : met->second > writer.release ? "this wave has not acquired since"
                                                               : "it came to the counter before";
    fail("race",
         fmt::format("{} of workgroup {} reads {}, which wave {} of workgroup {} has written: {}", who(wave()),
                     workgroup_, place_in(*b, p), (writer.wave - 1) % 64, (writer.wave - 1) / 64, missing),
         at, b->name);
  }
}

void Engine::release() { ++released_[number_of(wave())]; }
void Engine::acquire() { join(wave().acquired, wave().seen); }

uint32_t Engine::count(Global<uint32_t> counter, uint32_t last, here at) {
  const uint32_t* const p = pointer_of(counter);
  const Buffer* const b = buffer_of(p, 4);
  if (b == nullptr || b->use == Buffer::Use::input) {
    fail("bounds.global", fmt::format("{} counts at a place that no array of the launch has for it", who(wave())), at);
  }
  uint32_t before = 0;
  std::memcpy(&before, host(p), 4);
  const uint32_t now = before >= last ? 0 : before + 1;
  std::memcpy(host(p), &now, 4);
  Releases& there = arrivals_[p];
  join(wave().seen, there);
  const uint32_t me = number_of(wave());
  there[me] = released_[me];
  return before;
}

}  // namespace warpwright::simulator::cdna

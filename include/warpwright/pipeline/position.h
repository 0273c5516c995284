// Where one role stands in a ring.
#pragma once
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::pipeline {

// Private to a role and never copied: two holders of one position would wait for the same phase twice.
template <int Stages>
class RingPosition {
 public:
  WW_FN explicit RingPosition(machine::Phase phase) : phase_(phase) {}
  RingPosition(const RingPosition&) = delete;
  RingPosition& operator=(const RingPosition&) = delete;

  WW_FN int stage() const { return stage_; }
  WW_FN machine::Phase phase() const { return phase_; }
  WW_FN void advance() {
    const bool wrapped = stage_ + 1 == Stages;
    stage_ = wrapped ? 0 : stage_ + 1;
    phase_.advance_if(wrapped);
  }
  WW_FN void advance(int stages) {
    stage_ += stages;
    for (; stage_ >= Stages; stage_ -= Stages) phase_.advance();
  }

 private:
  int stage_ = 0;
  machine::Phase phase_;
};

// The two arrays of barriers that make a ring, as the block plan placed them. No position: it may be passed around.
template <int Stages>
struct Ring {
  Shared<Mbarrier> full;
  Shared<Mbarrier> empty;
};

// A ring whose barriers stand side by side: full[0..Stages), then empty[0..Stages).
template <int Barriers>
struct BarrierArray {
  static_assert(Barriers % 2 == 0, "a ring has as many full barriers as empty ones");
  Shared<Mbarrier> first;
  WW_FN operator Ring<Barriers / 2>() const { return {first, first + Barriers / 2}; }
};

// `first` selects one of several rings whose barriers stand in one array.
template <int Stages>
WW_FN Ring<Stages> ring_at(uint32_t base, uint32_t full_offset, uint32_t empty_offset, int first = 0) {
  return {Shared<Mbarrier>{base + full_offset} + first, Shared<Mbarrier>{base + empty_offset} + first};
}

}  // namespace warpwright::inline WW_WORLD::pipeline

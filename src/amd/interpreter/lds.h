// The LDS of a workgroup with its shadow: for every granule who wrote it last and, for every wave, that wave's last
// read.
//
// s_barrier stops the whole workgroup, so the vector clocks of its waves are equal right after it and one number says
// it all: the barriers that a wave has passed. An access is over when its wave has waited for it; it is ordered before
// an access of another wave if that wave has passed a barrier since, that is, has passed more barriers than the first
// wave had when its wait returned. Within a wave LDS instructions are in order; a DMA is ordered by a vmcnt wait only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace warpwright::amd {

enum class LdsActor : uint8_t { ds, dma };

struct LdsTicket {
  int32_t done_at = kOpen;  // barriers that the wave had passed when it had waited for the access
  int32_t issued_at = 0;    // when that wave had issued it
  int32_t instruction = 0;
  LdsActor actor = LdsActor::ds;

  static constexpr int32_t kOpen = INT32_MAX;
};

// What is wrong with an access, and with which earlier one.
struct LdsConflict {
  enum class Kind { none, raw, war, waw, uninitialised } kind = Kind::none;
  int other_wave = -1;
  int other_instruction = -1;
  bool barrier = false;  // a barrier lies between the two, so that only the wait in front of it is missing
  uint32_t byte = 0;
};

class Lds {
 public:
  Lds(size_t bytes, size_t granule, int waves);

  size_t bytes() const { return data_.size(); }
  uint8_t* data() { return data_.data(); }

  // A ticket for an access that is about to be made; `passed` is the number of barriers the wave has passed.
  uint32_t open(int wave, int passed, int instruction, LdsActor actor);
  void close(int wave, uint32_t ticket, int passed) { tickets_[size_t(wave)][ticket].done_at = passed; }

  // Records the access of [first, first + bytes) and tells the first conflict into `conflict`, if none is there yet.
  void read(int wave, uint32_t ticket, int passed, uint32_t first, uint32_t bytes, LdsConflict& conflict);
  void write(int wave, uint32_t ticket, int passed, uint32_t first, uint32_t bytes, LdsConflict& conflict);

  // (reader << 32 | writer), instruction indices.
  const std::unordered_set<uint64_t>& flow() const { return flow_; }

 private:
  static constexpr uint8_t kNobody = 0xff;

  const LdsTicket& ticket(int wave, uint32_t t) const { return tickets_[size_t(wave)][t]; }
  void blame(LdsConflict& conflict, LdsConflict::Kind kind, int wave, const LdsTicket& t, int passed,
             size_t granule) const;

  std::vector<uint8_t> data_;
  size_t granule_;
  std::vector<uint8_t> writer_;
  std::vector<uint32_t> write_ticket_;
  std::vector<std::vector<uint32_t>> read_ticket_;  // [wave][granule], 0: never read
  std::vector<std::vector<LdsTicket>> tickets_;     // [wave]
  std::unordered_set<uint64_t> flow_;
  uint64_t last_flow_ = ~uint64_t(0);
};

}  // namespace warpwright::amd

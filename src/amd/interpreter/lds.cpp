#include "amd/interpreter/lds.h"

#include <cstddef>

namespace warpwright::amd {

Lds::Lds(size_t bytes, size_t granule, int waves)
    : data_(bytes),
      granule_(granule),
      writer_(bytes / granule + 1, kNobody),
      write_ticket_(bytes / granule + 1),
      read_ticket_(size_t(waves), std::vector<uint32_t>(bytes / granule + 1)),
      tickets_(size_t(waves), std::vector<LdsTicket>(1)) {}

uint32_t Lds::open(int wave, int passed, int instruction, LdsActor actor) {
  std::vector<LdsTicket>& list = tickets_[size_t(wave)];
  list.push_back({LdsTicket::kOpen, passed, instruction, actor});
  return uint32_t(list.size() - 1);
}

void Lds::blame(LdsConflict& conflict, LdsConflict::Kind kind, int wave, const LdsTicket& t, int passed,
                size_t granule) const {
  if (conflict.kind != LdsConflict::Kind::none) return;
  conflict = {kind, wave, t.instruction, t.issued_at < passed, uint32_t(granule * granule_)};
}

void Lds::read(int wave, uint32_t mine, int passed, uint32_t first, uint32_t bytes, LdsConflict& conflict) {
  std::vector<uint32_t>& reads = read_ticket_[size_t(wave)];
  const size_t end = (first + bytes + granule_ - 1) / granule_;
  for (size_t g = first / granule_; g < end; ++g) {
    reads[g] = mine;
    const int writer = writer_[g];
    if (writer == kNobody) {
      if (conflict.kind == LdsConflict::Kind::none) {
        conflict = {LdsConflict::Kind::uninitialised, -1, -1, false, uint32_t(g * granule_)};
      }
      continue;
    }
    const LdsTicket& t = ticket(writer, write_ticket_[g]);
    const bool ordered = writer == wave ? t.actor == LdsActor::ds || t.done_at != LdsTicket::kOpen : t.done_at < passed;
    if (!ordered) blame(conflict, LdsConflict::Kind::raw, writer, t, passed, g);
    const uint64_t edge = uint64_t(uint32_t(ticket(wave, mine).instruction)) << 32 | uint32_t(t.instruction);
    if (edge != last_flow_) {
      flow_.insert(edge);
      last_flow_ = edge;
    }
  }
}

void Lds::write(int wave, uint32_t mine, int passed, uint32_t first, uint32_t bytes, LdsConflict& conflict) {
  const LdsActor actor = ticket(wave, mine).actor;
  const size_t begin = first / granule_, end = (first + bytes + granule_ - 1) / granule_;
  for (size_t u = 0; u < read_ticket_.size(); ++u) {
    const std::vector<uint32_t>& reads = read_ticket_[u];
    for (size_t g = begin; g < end; ++g) {
      if (reads[g] == 0) continue;
      const LdsTicket& t = ticket(int(u), reads[g]);
      const bool ordered = int(u) == wave ? actor == LdsActor::ds || t.done_at != LdsTicket::kOpen : t.done_at < passed;
      if (!ordered) blame(conflict, LdsConflict::Kind::war, int(u), t, passed, g);
    }
  }
  for (size_t g = begin; g < end; ++g) {
    if (writer_[g] != kNobody) {
      const int writer = writer_[g];
      const LdsTicket& t = ticket(writer, write_ticket_[g]);
      const bool ordered = writer == wave ? t.actor == actor || t.done_at != LdsTicket::kOpen : t.done_at < passed;
      if (!ordered) blame(conflict, LdsConflict::Kind::waw, writer, t, passed, g);
    }
    writer_[g] = uint8_t(wave);
    write_ticket_[g] = mine;
  }
}

}  // namespace warpwright::amd

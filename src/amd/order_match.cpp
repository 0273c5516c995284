#include "amd/order_match.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace warpwright::amd {
namespace {

using schedule::Access;
using schedule::Space;

bool is_wait(EventKind kind) { return kind == EventKind::wait_vm || kind == EventKind::wait_lgkm; }

// Consumes the events entry by entry. Waits for LDS that the schedule does not have are the compiler's, which knows
// what each register needs; a vmcnt wait is never its business, because no register waits for an LDS DMA.
class Matcher {
 public:
  Matcher(const CodeObjectKernel& kernel, const std::vector<ExpectedEntry>& entries, const std::vector<Event>& events)
      : kernel_(kernel), entries_(entries), events_(events), used_(events.size()) {}

  Match run() {
    for (size_t e = 0; e < entries_.size() && out_.ok(); ++e) {
      if (is_wait(entries_[e].kind)) {
        match_wait(e);
      } else {
        match_instructions(e);
      }
    }
    if (out_.ok()) finish();
    return std::move(out_);
  }

 private:
  std::string at(size_t event) const {
    if (event >= events_.size()) return "the end of the loop";
    const Instruction& in = kernel_.code[size_t(events_[event].instruction)];
    return fmt::format("'{}' at {:#x}", in.text, in.address);
  }
  std::string entry(size_t e) const { return fmt::format("entry {} {}", e, entries_[e].name); }
  void skip_used() {
    while (next_ < events_.size() && used_[next_]) ++next_;
  }

  void extra_wait() {
    const Event& e = events_[next_];
    if (e.kind == EventKind::wait_vm) {
      out_.mismatches.push_back(fmt::format("{} waits for vmcnt and is in no entry of the schedule", at(next_)));
    } else {
      out_.notes.push_back(fmt::format("the compiler added {}", at(next_)));
    }
    used_[next_] = true;
  }

  void match_instructions(size_t e) {
    const ExpectedEntry& want = entries_[e];
    for (int n = 0; n < want.instructions && out_.ok(); ++n) {
      skip_used();
      while (next_ < events_.size() && events_[next_].kind == EventKind::wait_lgkm) {
        extra_wait();
        skip_used();
      }
      if (next_ >= events_.size() || events_[next_].kind != want.kind) {
        out_.mismatches.push_back(fmt::format("{} is {} x {}, and {} were found: next is {}", entry(e),
                                              want.instructions, word(want.kind), n, at(next_)));
        return;
      }
      if (want.kind == EventKind::priority && events_[next_].value != want.value) {
        out_.mismatches.push_back(fmt::format("{} sets priority {}, {} does not", entry(e), want.value, at(next_)));
        return;
      }
      out_.entry_of[events_[next_].instruction] = int(e);
      used_[next_] = true;
    }
  }

  // One instruction may carry both waits, in either order of the entries.
  void match_wait(size_t e) {
    const ExpectedEntry& want = entries_[e];
    skip_used();
    for (size_t i = next_; i < events_.size() && (used_[i] || is_wait(events_[i].kind)); ++i) {
      const Event& have = events_[i];
      if (used_[i] || have.kind != want.kind) continue;
      if (have.value == want.value || (want.kind == EventKind::wait_lgkm && have.value < want.value)) {
        if (have.value != want.value) {
          out_.notes.push_back(
              fmt::format("{} asks for lgkmcnt({}), the compiler made it {}", entry(e), want.value, at(i)));
        }
        used_[i] = true;
        out_.entry_of[have.instruction] = int(e);
        return;
      }
      if (want.kind == EventKind::wait_vm) {
        out_.mismatches.push_back(fmt::format("{} waits for vmcnt({}), {} does not", entry(e), want.value, at(i)));
        return;
      }
    }
    if (want.kind == EventKind::wait_lgkm && already_waited(want.value)) {
      out_.notes.push_back(fmt::format("{} has no instruction: an earlier wait has done its work", entry(e)));
      return;
    }
    out_.mismatches.push_back(fmt::format("{} is a {}, next is {}", entry(e), word(want.kind), at(next_)));
  }

  // Whether, since the last LDS instruction, a wait has been met that allows no more than `value` in flight.
  bool already_waited(int value) const {
    for (size_t i = next_; i-- > 0;) {
      const Event& e = events_[i];
      if (e.kind == EventKind::wait_lgkm && e.value <= value) return true;
      if (e.kind == EventKind::fragment_read || e.kind == EventKind::shared_store) return false;
    }
    return false;
  }

  void finish() {
    for (; next_ < events_.size(); ++next_) {
      if (used_[next_]) continue;
      if (is_wait(events_[next_].kind)) {
        extra_wait();
      } else {
        out_.mismatches.push_back(fmt::format("{} comes after the last entry of the schedule", at(next_)));
        return;
      }
    }
  }

  const CodeObjectKernel& kernel_;
  const std::vector<ExpectedEntry>& entries_;
  const std::vector<Event>& events_;
  std::vector<bool> used_;
  size_t next_ = 0;
  Match out_;
};

constexpr int kRegisters = 512;
constexpr int kAccumulators = 256;
constexpr int kNobody = -1;

// Follows values through the registers of the loop. The loop is walked twice: the second time every register that the
// loop writes has an owner.
class Dataflow {
 public:
  Dataflow(const CodeObjectKernel& kernel, const Loop& loop, const std::vector<ExpectedEntry>& entries,
           const std::map<int, int>& entry_of, OrderReport& report)
      : kernel_(kernel), loop_(loop), entries_(entries), entry_of_(entry_of), report_(report) {
    owner_.fill(kNobody);
    accumulator_.fill(kNobody);
    loader_.fill(kNobody);
  }

  void run() {
    for (int pass = 0; pass < 2; ++pass) {
      checking_ = pass == 1;
      for (int i = loop_.first; i <= loop_.last; ++i) visit(i);
    }
  }

 private:
  static int index(const Operand& o, int word = 0) {
    return o.index + word + (o.place == Place::agpr ? kAccumulators : 0);
  }
  std::string at(int i) const {
    const Instruction& in = kernel_.code[size_t(i)];
    return fmt::format("'{}' at {:#x}", in.text, in.address);
  }
  std::string name(int entry) const {
    return entry == kNobody ? "no entry of the loop" : fmt::format("entry {} {}", entry, entries_[size_t(entry)].name);
  }

  void visit(int i) {
    const Instruction& in = kernel_.code[size_t(i)];
    const auto found = entry_of_.find(i);
    const int entry = found == entry_of_.end() ? kNobody : found->second;
    const EventKind kind = entry == kNobody ? EventKind::barrier : entries_[size_t(entry)].kind;
    if (entry != kNobody && kind == EventKind::multiply) {
      multiply(i, in, entry);
    } else if (entry != kNobody && kind == EventKind::shared_store) {
      for (size_t o = 1; o < in.operands.size(); ++o) origin(i, in.operands[o], entry, std::nullopt);
    } else if (entry != kNobody && kind == EventKind::fragment_read) {
      own(i, in.operands[0], entry);
    } else if (entry != kNobody && kind == EventKind::load) {
      if (!in.has("lds") && in.opcode.find("_lds_") == std::string::npos) own(i, in.operands[0], entry);
    } else if (in.opcode.rfind("v_", 0) == 0 && !in.operands.empty() && in.operands[0].is_vector()) {
      pass_on(in);
    }
  }

  void own(int i, const Operand& o, int entry) {
    for (int n = 0; n < o.count; ++n) {
      overwrite(index(o, n));
      owner_[size_t(index(o, n))] = entry;
      loader_[size_t(index(o, n))] = i;
    }
  }

  // A value that was loaded and never taken should have been multiplied. By the second iteration every load of the
  // first has had its chance.
  void overwrite(int reg) {
    const auto r = size_t(reg);
    if (checking_ && loader_[r] != kNobody && !used_[r] && reported_.insert(loader_[r]).second) {
      report_.mismatches.push_back(fmt::format("{}: {} loads {}{}, which nothing uses", name(owner_[r]), at(loader_[r]),
                                               reg >= kAccumulators ? 'a' : 'v', reg % kAccumulators));
    }
    loader_[r] = kNobody;
    used_[r] = false;
  }

  // A result that is made of values of one entry is that entry's; moves keep accumulators too.
  void pass_on(const Instruction& in) {
    const Operand& d = in.operands[0];
    for (int n = 0; n < d.count; ++n) {
      int owner = kNobody, accumulator = kNobody;
      for (size_t o = 1; o < in.operands.size(); ++o) {
        const Operand& s = in.operands[o];
        if (!s.is_vector()) continue;
        const auto from = size_t(index(s, s.count == d.count ? n : 0));
        if (owner_[from] != kNobody) owner = owner_[from];
        if (accumulator_[from] != kNobody) accumulator = accumulator_[from];
        used_[from] = true;
      }
      overwrite(index(d, n));
      owner_[size_t(index(d, n))] = owner;
      accumulator_[size_t(index(d, n))] = accumulator;
    }
  }

  // Which of the entry's register accesses the owner of a register serves; nothing if it serves none.
  std::optional<int> served(int owner, int entry) const {
    const schedule::AccessList& reads = entries_[size_t(entry)].accesses;
    for (int a = 0; a < reads.count; ++a) {
      if (reads.list[a].space != Space::registers || !reads.list[a].reads()) continue;
      for (const Access& write : entries_[size_t(owner)].accesses) {
        if (write.space == Space::registers && write.writes() && write.overlaps(reads.list[a])) return a;
      }
    }
    return std::nullopt;
  }

  // Every register of the operand must come from an entry that the schedule says; all of them for one access.
  std::optional<int> origin(int i, const Operand& o, int entry, std::optional<int> not_this) {
    std::optional<int> access;
    if (!o.is_vector()) return access;
    for (int n = 0; n < o.count; ++n) {
      const int owner = owner_[size_t(index(o, n))];
      used_[size_t(index(o, n))] = true;
      const std::optional<int> a = owner == kNobody ? std::nullopt : served(owner, entry);
      const bool good = a && (!access || *access == *a) && (!not_this || *not_this != *a);
      if (checking_ && !good) {
        report_.mismatches.push_back(fmt::format("{}: {} uses {}{}, which {} has loaded; the schedule says otherwise",
                                                 name(entry), at(i), o.place == Place::agpr ? 'a' : 'v', o.index + n,
                                                 name(owner)));
        return access;
      }
      if (a) access = a;
    }
    if (checking_) report_.dataflow += o.count;
    return access;
  }

  void multiply(int i, const Instruction& in, int entry) {
    int reads = 0, region = kNobody;
    for (const Access& a : entries_[size_t(entry)].accesses) {
      reads += a.space == Space::registers && a.reads();
      if (a.space == Space::accumulator) region = a.regions;
    }
    if (reads > 0) {
      const std::optional<int> first = origin(i, in.operands[1], entry, std::nullopt);
      origin(i, in.operands[2], entry, reads > 1 ? first : std::nullopt);
    }
    const Operand &d = in.operands[0], &c = in.operands[3];
    for (int n = 0; n < d.count; ++n) {
      if (c.is_vector() && checking_ && region != kNobody) {
        const int was = accumulator_[size_t(index(c, n))];
        // Slices of K add to the same registers in turn, so only another quadrant is wrong.
        if (was != kNobody && reads > 1 && was != region) {
          report_.mismatches.push_back(
              fmt::format("{}: {} adds to {}{}, which belongs to another part of the accumulator", name(entry), at(i),
                          c.place == Place::agpr ? 'a' : 'v', c.index + n));
          break;
        }
      }
      overwrite(index(d, n));
      accumulator_[size_t(index(d, n))] = region;
      owner_[size_t(index(d, n))] = kNobody;
    }
  }

  const CodeObjectKernel& kernel_;
  const Loop& loop_;
  const std::vector<ExpectedEntry>& entries_;
  const std::map<int, int>& entry_of_;
  OrderReport& report_;
  bool checking_ = false;
  std::array<int, kRegisters> owner_;
  std::array<int, kRegisters> accumulator_;
  std::array<int, kRegisters> loader_;  // instruction
  std::array<bool, kRegisters> used_ = {};
  std::set<int> reported_;
};

// One resource belongs to one operand: A's loads and B's go through descriptors of their own.
void check_resources(const CodeObjectKernel& kernel, const std::vector<ExpectedEntry>& entries,
                     const std::map<int, int>& entry_of, OrderReport& report) {
  std::map<int, int> buffer_of;  // first SGPR of the descriptor -> shared buffer
  for (const auto& [i, entry] : entry_of) {
    const ExpectedEntry& e = entries[size_t(entry)];
    const Instruction& in = kernel.code[size_t(i)];
    if (e.kind != EventKind::load || in.opcode.rfind("buffer_load", 0) != 0 || !in.has("lds")) continue;
    for (const Access& a : e.accesses) {
      if (a.space != Space::shared) continue;
      const auto [known, fresh] = buffer_of.emplace(in.operands[1].index, a.buffer);
      if (!fresh && known->second != a.buffer) {
        report.mismatches.push_back(fmt::format("entry {} {}: '{}' at {:#x} uses the descriptor of the other operand",
                                                entry, e.name, in.text, in.address));
      }
    }
  }
}

// What a run saw in LDS: a fragment may only contain what a load of the same buffer and part has written.
void check_lds_flow(const CodeObjectKernel& kernel, const std::vector<ExpectedEntry>& entries,
                    const std::map<int, int>& entry_of, const std::set<std::pair<int, int>>& flow,
                    OrderReport& report) {
  for (const auto& [reader, writer] : flow) {
    const auto read = entry_of.find(reader), write = entry_of.find(writer);
    if (read == entry_of.end() || write == entry_of.end()) continue;
    const ExpectedEntry &r = entries[size_t(read->second)], &w = entries[size_t(write->second)];
    bool meant = false;
    for (const Access& a : r.accesses) {
      for (const Access& b : w.accesses) {
        meant |= a.space == Space::shared && a.reads() && b.writes() && a.overlaps(b);
      }
    }
    if (!meant) {
      const Instruction &ri = kernel.code[size_t(reader)], &wi = kernel.code[size_t(writer)];
      report.mismatches.push_back(
          fmt::format("entry {} {}: '{}' at {:#x} read LDS that entry {} {} had written ('{}' at {:#x}); the schedule "
                      "says otherwise",
                      read->second, r.name, ri.text, ri.address, write->second, w.name, wi.text, wi.address));
    } else {
      ++report.dataflow;
    }
  }
}

}  // namespace

Match match_entries(const CodeObjectKernel& kernel, const std::vector<ExpectedEntry>& entries,
                    const std::vector<Event>& events) {
  return Matcher(kernel, entries, events).run();
}

void check_dataflow(const CodeObjectKernel& kernel, const Loop& loop, const std::vector<ExpectedEntry>& entries,
                    const std::map<int, int>& entry_of, const std::set<std::pair<int, int>>* lds_flow,
                    OrderReport& report) {
  Dataflow(kernel, loop, entries, entry_of, report).run();
  check_resources(kernel, entries, entry_of, report);
  if (lds_flow != nullptr) check_lds_flow(kernel, entries, entry_of, *lds_flow, report);
}

}  // namespace warpwright::amd

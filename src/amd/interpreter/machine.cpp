// Waves, what they have in flight, and who runs next.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "amd/interpreter/state.h"

namespace warpwright::amd {
namespace {

size_t lds_granule(const std::vector<Op>& code) {
  size_t granule = 4;
  for (const Op& op : code) {
    if (op.instruction->opcode.rfind("ds_", 0) == 0 && op.entry.a > 0) granule = std::min(granule, size_t(op.entry.a));
  }
  return granule;
}

uint32_t narrow(const Flight& f, uint32_t loaded, uint32_t old) {
  if (f.bytes >= 4) return loaded;
  const uint32_t mask = f.bytes == 1 ? 0xff : 0xffff;
  uint32_t value = loaded & mask;
  if (f.sign) value = f.bytes == 1 ? uint32_t(int32_t(int8_t(value))) : uint32_t(int32_t(int16_t(value)));
  if (!f.keep) return value;
  value &= 0xffff;
  return f.high ? (old & 0xffff) | value << 16 : (old & 0xffff0000) | value;
}

uint32_t peek(const uint8_t* from, int bytes) {
  uint32_t value = 0;
  std::memcpy(&value, from, size_t(std::min(bytes, 4)));
  return value;
}

void poke(const Flight& f, uint8_t* to, uint32_t value) {
  if (f.bytes < 4 && f.high) value >>= 16;
  std::memcpy(to, &value, size_t(std::min(f.bytes, 4)));
}

}  // namespace

const char* word(Rule rule) {
  constexpr const char* words[] = {"register-in-flight", "lds-raw",      "lds-war",      "lds-waw", "lds-uninitialised",
                                   "lds-range",          "global-range", "buffer-range", "barrier", "memory-order"};
  return words[int(rule)];
}

Machine::Machine(const CodeObject& object, const CodeObjectKernel& kernel, const Launch& launch)
    : object_(object), kernel_(kernel), launch_(launch), code_(decode(kernel)), executed_(code_.size()) {
  regions_ = launch.memory;
  regions_.push_back({const_cast<uint8_t*>(launch.kernarg.data()), launch.kernarg.size(), false});
  regions_.push_back({const_cast<uint8_t*>(object.image.data()), object.image.size(), false});
  random_state_ = launch.seed * 0x9e3779b97f4a7c15ull + 1;
}

uint64_t Machine::random() {
  random_state_ ^= random_state_ << 13;
  random_state_ ^= random_state_ >> 7;
  random_state_ ^= random_state_ << 17;
  return random_state_;
}

std::string Machine::place_of(const Op& op) {
  return fmt::format("'{}' at {:#x}", op.instruction->text, op.instruction->address);
}

void Machine::report(Wave& w, const Op& op, Rule rule, const std::string& text) {
  const auto key = std::make_pair(int(rule), op.instruction->address);
  if (const auto known = found_.find(key); known != found_.end()) {
    ++result_.findings[known->second].times;
    return;
  }
  found_[key] = result_.findings.size();
  result_.findings.push_back({rule, op.instruction->address, w.group, w.id, 1,
                              fmt::format("{} in wave {} of workgroup {} {}", place_of(op), w.id, w.group, text)});
}

void Machine::report_flight(Wave& w, char file, int index, int instruction) {
  const bool agpr = file == 'v' && index >= kFirstAgpr;
  const Op& load = code_[size_t(instruction)];
  const std::string& opcode = load.instruction->opcode;
  const bool vm = opcode.rfind("buffer_", 0) == 0 || opcode.rfind("global_", 0) == 0;
  report(w, *current_, Rule::register_in_flight,
         fmt::format("touches {}{} while {} is in flight: no {} wait lies between", agpr ? 'a' : file,
                     agpr ? index - kFirstAgpr : index, place_of(load), vm ? "vmcnt" : "lgkmcnt"));
}

void Machine::report_lds(Wave& w, const Op& op, const LdsConflict& conflict, const char* what) {
  using Kind = LdsConflict::Kind;
  if (conflict.kind == Kind::none) return;
  if (conflict.kind == Kind::uninitialised) {
    return report(w, op, Rule::lds_uninitialised,
                  fmt::format("reads LDS byte {:#x}, which nobody has written", conflict.byte));
  }
  const Op& other = code_[size_t(conflict.other_instruction)];
  const bool dma = other.instruction->opcode.rfind("ds_", 0) != 0;
  const std::string wait = fmt::format("a {} wait", dma ? "vmcnt" : "lgkmcnt");
  const std::string missing = conflict.other_wave == w.id ? wait + " is missing between them"
                              : conflict.barrier ? wait + " is missing before the barrier that lies between them"
                                                 : "no barrier lies between them";
  const Rule rule = conflict.kind == Kind::raw   ? Rule::lds_raw
                    : conflict.kind == Kind::war ? Rule::lds_war
                                                 : Rule::lds_waw;
  report(w, op, rule,
         fmt::format("{} LDS byte {:#x}, which {} of wave {} {}; {}", what, conflict.byte, place_of(other),
                     conflict.other_wave, conflict.kind == Kind::war ? "reads" : "writes", missing));
}

uint8_t* Machine::global(Wave& w, const Op& op, uint64_t address, size_t bytes, bool write, int lane) {
  const auto inside = [&](const MemoryRegion& r) {
    const auto base = reinterpret_cast<uint64_t>(r.base);
    return address >= base && address - base <= r.bytes && r.bytes - (address - base) >= bytes &&
           (r.writable || !write);
  };
  if (inside(regions_[last_region_])) return reinterpret_cast<uint8_t*>(address);
  for (size_t i = 0; i < regions_.size(); ++i) {
    if (!inside(regions_[i])) continue;
    last_region_ = i;
    return reinterpret_cast<uint8_t*>(address);
  }
  report(w, op, Rule::global_range,
         fmt::format("{} {} bytes at {:#x} in lane {}, outside of every buffer of the launch{}",
                     write ? "writes" : "reads", bytes, address, lane, write ? " that may be written" : ""));
  return nullptr;
}

void Machine::mark_flight(Wave& w, const Flight& f, bool open) {
  if (f.kind == Flight::Kind::store || f.kind == Flight::Kind::dma || f.kind == Flight::Kind::ds_write) return;
  int32_t* marks = f.kind == Flight::Kind::scalar_load ? w.s_flight : w.v_flight;
  const char file = f.kind == Flight::Kind::scalar_load ? 's' : 'v';
  for (int i = f.first; i < f.first + f.words; ++i) {
    if (open && marks[i] >= 0) report_flight(w, file, i, marks[i]);
    if (open || marks[i] == f.op->index) marks[i] = open ? f.op->index : -1;
  }
}

void Machine::launch_flight(Wave& w, std::deque<Flight>& queue, Flight&& flight) {
  mark_flight(w, flight, true);
  queue.push_back(std::move(flight));
  result_.most_vm = std::max(result_.most_vm, int(w.vm.size()));
  result_.most_lgkm = std::max(result_.most_lgkm, int(w.lgkm.size()));
  if (launch_.completion == Completion::earliest) land(w, queue.back());
}

void Machine::land(Wave& w, Flight& f) {
  f.landed = true;
  uint8_t* shared = lds_->data();
  const int each = f.two ? f.words / 2 : f.words;
  switch (f.kind) {
    case Flight::Kind::scalar_load:
      if (f.address[0] != 0) std::memcpy(&w.s[f.first], reinterpret_cast<uint8_t*>(f.address[0]), size_t(4 * f.words));
      return;
    case Flight::Kind::lane_exchange:
      for (int l = 0; l < kLanes && f.words > 0; ++l)
        if (f.lanes >> l & 1) w.v[f.first][l] = f.data[0][l];
      return;
    case Flight::Kind::load:
      for (int l = 0; l < kLanes; ++l) {
        if ((f.lanes >> l & 1) == 0) continue;
        const auto* from = reinterpret_cast<const uint8_t*>(f.address[l]);
        for (int n = 0; n < f.words; ++n) {
          uint32_t& d = w.v[f.first + n][l];
          d = narrow(f, f.in_range[l] >> n & 1 ? peek(from + 4 * n, f.bytes) : 0, d);
        }
      }
      return;
    case Flight::Kind::store:
      for (int l = 0; l < kLanes; ++l) {
        if ((f.lanes >> l & 1) == 0) continue;
        for (int n = 0; n < f.words; ++n)
          if (f.in_range[l] >> n & 1) poke(f, reinterpret_cast<uint8_t*>(f.address[l]) + 4 * n, f.data[n][l]);
      }
      return;
    case Flight::Kind::dma:
      for (int l = 0; l < kLanes; ++l) {
        if ((f.lanes >> l & 1) == 0) continue;
        uint8_t* to = shared + f.lds_base + size_t(l) * size_t(f.bytes);
        const auto* from = reinterpret_cast<const uint8_t*>(f.address[l]);
        for (int n = 0; n < f.words; ++n) {
          const uint32_t value = f.in_range[l] >> n & 1 ? peek(from + 4 * n, f.bytes) : 0;
          std::memcpy(to + 4 * n, &value, sizeof(value));
        }
      }
      return;
    case Flight::Kind::ds_read:
    case Flight::Kind::ds_write:
      for (int n = 0; n < f.words; ++n) {
        const uint32_t* at = n < each ? f.lds_address : f.lds_second;
        for (int l = 0; l < kLanes; ++l) {
          if ((f.lanes >> l & 1) == 0) continue;
          uint8_t* place = shared + at[l] + 4 * (n % each);
          if (f.kind == Flight::Kind::ds_write) {
            poke(f, place, f.data[n][l]);
          } else {
            uint32_t& d = w.v[f.first + n][l];
            d = narrow(f, peek(place, f.bytes), d);
          }
        }
      }
      return;
  }
}

void Machine::retire(Wave& w, Flight& f) {
  if (!f.landed) land(w, f);
  mark_flight(w, f, false);
  if (f.ticket != 0) lds_->close(w.id, f.ticket, w.passed);
}

void Machine::wait_vm(Wave& w, int count) {
  while (int(w.vm.size()) > count) {
    retire(w, w.vm.front());
    w.vm.pop_front();
  }
}

// LDS instructions return in order, scalar loads in any: while one of them is open, a wait that leaves something in
// flight proves only what would be complete had all of them returned first.
void Machine::wait_lgkm(Wave& w, int count) {
  int over = int(w.lgkm.size()) - count;
  if (over <= 0) return;
  const auto is_scalar = [](const Flight& f) { return f.kind == Flight::Kind::scalar_load; };
  if (count > 0) over -= int(std::count_if(w.lgkm.begin(), w.lgkm.end(), is_scalar));
  for (auto f = w.lgkm.begin(); f != w.lgkm.end() && over > 0;) {
    if (count > 0 && is_scalar(*f)) {
      ++f;
      continue;
    }
    retire(w, *f);
    f = w.lgkm.erase(f);
    --over;
  }
}

// Each queue's oldest operation may land alone; a scalar load is as good as any other for the purpose.
void Machine::land_some(Wave& w) {
  for (std::deque<Flight>* queue : {&w.vm, &w.lgkm}) {
    if (random() % 8 != 0) continue;
    for (Flight& f : *queue) {
      if (f.landed) continue;
      land(w, f);
      break;
    }
  }
}

void Machine::start(Wave& w, int id, int group, const uint32_t (&group_id)[3]) {
  w.id = id;
  w.group = group;
  w.pc = std::max(0, kernel_.index_of(kernel_.entry));
  std::fill(std::begin(w.s_flight), std::end(w.s_flight), -1);
  std::fill(std::begin(w.v_flight), std::end(w.v_flight), -1);
  // A register that nothing has written has a value that is easy to see.
  std::fill_n(&w.s[0], kVccIndex, 0xdeadbeefu);
  std::fill_n(&w.v[0][0], kVectorRegisters * kLanes, 0x7fc0deadu);
  // The user SGPRs come in the order of the property bits.
  constexpr int sizes[7] = {4, 2, 2, 2, 2, 2, 1};
  constexpr int kernarg_pointer = 3;
  int at = 0;
  for (int bit = 0; bit < 7; ++bit) {
    if ((kernel_.properties >> bit & 1) == 0) continue;
    if (bit == kernarg_pointer) {
      const auto address = reinterpret_cast<uint64_t>(launch_.kernarg.data());
      w.s[at] = uint32_t(address);
      w.s[at + 1] = uint32_t(address >> 32);
    }
    at += sizes[bit];
  }
  at = kernel_.user_sgprs;
  for (int i = 0; i < 3; ++i)
    if (kernel_.group_id[i]) w.s[at++] = group_id[i];
  const uint32_t threads = launch_.threads[0] * launch_.threads[1] * launch_.threads[2];
  uint64_t mask = 0;
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t t = uint32_t(id * kLanes + l);
    if (t >= threads) break;
    mask |= uint64_t(1) << l;
    const uint32_t x = t % launch_.threads[0], y = t / launch_.threads[0] % launch_.threads[1],
                   z = t / launch_.threads[0] / launch_.threads[1];
    w.v[0][l] = x | y << 10 | z << 20;
  }
  w.set_exec(mask);
}

void Machine::step(Wave& w) {
  const Op& op = code_[size_t(w.pc)];
  current_ = &op;
  executed_[size_t(w.pc)] = 1;
  if (launch_.trace && w.group == 0) result_.trace[size_t(w.id)].push_back(w.pc);
  ++w.pc;
  ++result_.instructions;
  if (++w.steps > launch_.step_limit) {
    return stop(fmt::format("wave {} of workgroup {} ran {} instructions and did not end; it is at {}", w.id, w.group,
                            launch_.step_limit, place_of(op)));
  }
  op.run(*this, w, op);
  if (!w.done && w.pc >= int(code_.size())) stop("the code of the kernel ends without s_endpgm");
  if (launch_.completion == Completion::seeded) land_some(w);
}

// True: every wave that has not ended stood at a barrier, and they have passed it.
bool Machine::release_barrier() {
  const Wave *waiting = nullptr, *ended = nullptr;
  for (const Wave& w : waves_) {
    if (w.done)
      ended = &w;
    else if (!w.at_barrier)
      return false;
    else
      waiting = &w;
  }
  if (waiting == nullptr) return false;
  for (Wave& w : waves_) {
    if (w.done) continue;
    if (ended != nullptr) {
      const Op& op = code_[size_t(w.pc - 1)];
      report(w, op, Rule::barrier,
             fmt::format("waits for its barrier number {}, wave {} has ended after {}", w.passed + 1, ended->id,
                         ended->passed));
    }
    w.at_barrier = false;
    ++w.passed;
  }
  return true;
}

void Machine::run_group(int group, const uint32_t (&group_id)[3]) {
  for (size_t i = 0; i < waves_.size(); ++i) {
    waves_[i] = Wave();
    start(waves_[i], int(i), group, group_id);
  }
  lds_ = std::make_unique<Lds>(size_t(kernel_.lds_bytes), lds_granule(code_), int(waves_.size()));
  const bool seeded = launch_.completion == Completion::seeded;
  while (!stopped()) {
    bool ran = false;
    const size_t first = seeded ? random() % waves_.size() : 0;
    for (size_t i = 0; i < waves_.size() && !stopped(); ++i) {
      Wave& w = waves_[(first + i) % waves_.size()];
      uint64_t slice = seeded ? 1 + random() % 64 : ~uint64_t(0);
      while (!w.done && !w.at_barrier && slice-- > 0 && !stopped()) {
        step(w);
        ran = true;
      }
    }
    if (!release_barrier() && !ran) break;
  }
  for (const uint64_t edge : lds_->flow()) result_.lds_flow.emplace(int(edge >> 32), int(edge & 0xffffffff));
}

RunResult Machine::run() {
  const uint32_t threads = launch_.threads[0] * launch_.threads[1] * launch_.threads[2];
  if (threads == 0 || (kernel_.max_workgroup > 0 && threads > uint32_t(kernel_.max_workgroup))) {
    stop(fmt::format("a workgroup of {} threads, kernel '{}' takes 1 to {}", threads, kernel_.name,
                     kernel_.max_workgroup));
  } else if (launch_.kernarg.size() < size_t(kernel_.kernarg_bytes)) {
    stop(fmt::format("{} bytes of arguments, kernel '{}' takes {}", launch_.kernarg.size(), kernel_.name,
                     kernel_.kernarg_bytes));
  } else if (kernel_.scratch_bytes > 0) {
    stop(fmt::format("kernel '{}' uses {} bytes of scratch memory per lane, which is not supported", kernel_.name,
                     kernel_.scratch_bytes));
  }
  waves_.resize((threads + kLanes - 1) / kLanes);
  if (launch_.trace) result_.trace.resize(waves_.size());
  int group = 0;
  for (uint32_t z = 0; z < launch_.groups[2] && !stopped(); ++z)
    for (uint32_t y = 0; y < launch_.groups[1] && !stopped(); ++y)
      for (uint32_t x = 0; x < launch_.groups[0] && !stopped(); ++x) run_group(group++, {x, y, z});
  std::set<std::string> opcodes;
  for (size_t i = 0; i < code_.size(); ++i)
    if (executed_[i]) opcodes.insert(code_[i].instruction->opcode);
  result_.opcodes = int(opcodes.size());
  return std::move(result_);
}

RunResult execute(const CodeObject& object, const CodeObjectKernel& kernel, const Launch& launch) {
  return Machine(object, kernel, launch).run();
}

}  // namespace warpwright::amd

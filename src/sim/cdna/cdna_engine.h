// The simulated CDNA workgroup: one fiber per wave, the two counters of each wave, LDS with a shadow. Workgroups run
// one after the other, in one order or another; no wave waits for another workgroup.
//
// Two accesses of different waves are ordered by barriers alone: the first must be complete, that is covered by a wait
// of its wave, before its wave passes a barrier that the other wave passes before the second is issued. A barrier is
// the j-th one of every wave, so a count of barriers on either side decides, and the verdict does not depend on the
// order in which the simulator happens to run the waves.
#pragma once
#include <algorithm>
#include <boost/context/fiber.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/guard/guard.h"
#include "sim/timing.h"
#include "warpwright/machine/sim/cdna.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulator::cdna {

using machine::here;
using machine::cdna::Fragment;
using machine::cdna::Lanes;

struct Wave;

// The place in its schedule where a wave is.
struct Place {
  const char* phase = "";
  int slot = -1;
  const char* op = "";
  int turn = 0;                // turn of the kernel phase
  std::string text() const;    // "kernel[13] VM0"
  std::string report() const;  // the same with the turn
};

enum class Kind : uint8_t { copy, write, read };  // buffer_load ... lds, ds_write, ds_read

// One instruction that touches LDS.
struct Access {
  const Wave* by = nullptr;
  Kind kind = Kind::read;
  here at{"", 0};
  Place place;
  int64_t complete = -1;  // barriers its wave had passed when a wait covered it; -1: no wait has
};

struct Flight {  // counted by vmcnt or lgkmcnt
  std::function<void()> land;
  bool landed = false;
  int access = -1;
  Fragment* fills = nullptr;
  here at{"", 0};
  Place place = {};
  uint64_t due = 0;  // when it is complete by the clock
  int span = -1;     // bar of the timeline
};

// Indexed by the number of a wave in the grid.
using Releases = std::map<uint32_t, uint32_t>;

struct Wave {
  int index = 0;
  const RoleSpec* role = nullptr;
  boost::context::fiber self, back;
  const void* stack_bottom = nullptr;
  size_t stack_size = 0;
  bool done = false, at_barrier = false;
  int64_t barriers = 0;
  std::deque<Flight> vm, lgkm;
  Place place;
  here where{"", 0};
  uint64_t rank = 0;                    // pct
  uint64_t time = 0, product_done = 0;  // cycles: of its next instruction, and of its last MFMA
  uint64_t entered = 0;                 // its place
  // Bars of the timeline: what its place has on the units so far, and the one whose end last let it go on.
  int loads = -1, reads = -1, products = -1, released_by = -1;
  Releases seen, acquired;  // of other waves: at counters, and before its last acquire
  std::map<const Fault*, int> fault_counts;
  GivenUp given_up;
};

class Engine final : public Guarded {
 public:
  Engine(const Launch& launch, const Options& options, const std::function<void()>& body);
  Result run();
  static Engine& self();
  static Wave& wave();
  uint64_t beat() const override { return result_.stats.words + result_.stats.switches; }
  bool is_inside() const override { return inside_; }
  void give_up(GivenUp why) override;

  const Launch& launch() const { return launch_; }
  bool checks() const { return options_.check; }
  uint32_t workgroup() const { return workgroup_; }
  uint8_t* lds() { return lds_.data(); }
  uint32_t lds_bytes() const { return uint32_t(lds_.size()); }

  // Accounts for a word and lets others run. False: a fault takes the word away; another kind of fault is handed on.
  bool word(const char* name, here at, const Fault** struck = nullptr);
  void block_at_barrier(Wave& w);
  void declare_stagger(uint32_t ahead, here at);
  int access(Kind kind, here at);
  void touch(int access, uint32_t address, uint32_t bytes);
  void issue(bool vm, Flight flight);
  void wait(bool vm, int count);
  // The matrix unit of the wave's SIMD, which takes one MFMA after another.
  void multiply(uint32_t cycles);
  void store();
  void enter(const Place& place);
  void poison(uint32_t address, uint32_t bytes);
  const Buffer* buffer_of(const void* p, uint64_t bytes) const;
  uint8_t* host(const void* p) const;  // where the bytes at an address that the kernel was given lie
  // Bytes of device memory that a wave has written, or reads.
  void stored(const void* p, uint32_t bytes, here at);
  void loaded(const void* p, uint32_t bytes, here at);
  // What orders the memory that waves of different workgroups share.
  void release();
  void acquire();
  uint32_t count(Global<uint32_t> counter, uint32_t last, here at);

  [[noreturn]] void fail(const char* rule, std::string message, here at, std::string object = {},
                         std::vector<std::string> details = {}, int lane = -1);
  std::string region(uint32_t address) const;

 private:
  struct Cell {  // 16 bytes of LDS
    int write = -1;
    std::vector<int> reads;  // the last of each wave
  };
  std::vector<uint32_t> order_of_workgroups();
  void run_workgroup();
  void start(Wave& w);
  void resume(Wave& w);
  void report_given_up(Wave& w);
  Finding finding_by(const Wave* w) const;  // without a rule: who, and how to repeat it
  void yield(Wave& w);
  Wave* pick();
  void order(const Access& before, const Access& now, uint32_t address);
  bool ordered(const Access& before, const Access& now) const;
  void land_some();
  uint32_t number_of(const Wave& w) const { return workgroup_ * 64 + uint32_t(w.index) + 1; }
  std::string place_in(const Buffer& b, const void* p) const;
  const Fault* fault(const char* name, here at);
  uint64_t random();
  void account();
  uint64_t due(bool vm);  // when a load or an LDS access that is issued now is complete
  void await_products() { wave().time = std::max(wave().time, wave().product_done); }
  double microseconds(uint64_t cycles) const { return double(cycles) / (timing_.clock_ghz * 1e3); }
  std::string track(const Wave& w) const;
  int bar(const std::string& track, std::string name, uint64_t begin, uint64_t end, bool waiting = false);
  // On a lane of a unit: one bar for everything that a place of the schedule does there.
  void on_unit(int& bar, const char* unit, uint64_t begin, uint64_t end);

  Launch launch_;
  Options options_;
  const std::function<void()>& body_;
  Result result_;
  uint32_t workgroup_ = 0;
  std::vector<uint8_t> lds_;
  std::vector<Cell> cells_;
  std::vector<Access> accesses_;
  std::vector<std::unique_ptr<Wave>> waves_;
  // Which wave wrote a byte of a buffer, and how many releases it had made.
  struct Writer {
    uint32_t wave = 0;
    uint32_t release = 0;
  };
  std::map<const Buffer*, std::vector<Writer>> writers_;
  Releases released_;                         // how many, for every wave
  std::map<const void*, Releases> arrivals_;  // at a counter: the releases of those that have come
  std::map<std::tuple<std::string, std::string, std::string, std::string, uint32_t>, FaultSite> sites_;
  BarrierProof met_{"workgroup_barrier", 0, 0, 0, {}};  // the barriers of all workgroups
  size_t turn_ = 0;
  uint64_t rng_ = 0, steps_ = 0;
  const Wave* first_ = nullptr;    // the first wave to say how far ahead it is
  int64_t common_ = 0;             // the barriers that it had passed, less those
  std::vector<uint64_t> changes_;  // pct: steps at which the running wave falls behind
  bool dying_ = false, inside_ = false;
  std::chrono::steady_clock::time_point begin_;

  ChipTiming timing_;
  Server simd_[4], lds_port_, memory_;  // units of the workgroup's CU
  std::vector<uint64_t> cu_;            // when each CU is free
};

std::string who(const Wave& w);

}  // namespace warpwright::simulator::cdna

// Running a kernel in the simulator. The kernel is ordinary code: K::body(args), compiled in the sim world.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "warpwright/core/address.h"
#include "warpwright/core/block_plan.h"
#include "warpwright/core/tensor_box.h"

namespace warpwright::simulator {

// When asynchronous effects land. `timed` follows the virtual clock and is what predicts a time; the others explore.
enum class Landing : uint8_t { eager, late, seeded, timed };
// Which ready warp runs next: the first in line; as fifo, with one role held back; any; any with few, well-placed
// changes of priority (`pct`); or lanes instead of warps, each only when its warp waits for it in a word of all lanes
// or when no lane with a lower number can do anything in any warp, so that lanes come apart as far as they are let.
enum class Scheduling : uint8_t { fifo, freeze, random, pct, lanes };

// Alters one word at the machine boundary: the bug corpus is made of these.
struct Fault {
  enum class Action : uint8_t {
    drop,
    duplicate,
    alter,     // sets it to `value`, whose meaning depends on the word: a count, bytes, a parity, who is elected...
    postpone,  // depends on the word: a commit signals when it is issued, a barrier is reached but not waited for...
    add,       // `value` more than the word says: groups of a wait, bytes of an announcement, threads of a barrier
    stage,     // at the barrier `value` stages further; for a named barrier, with an id larger by `value`
    peer,      // in its own CTA instead of another one; for a multicast, in the CTA next to each that is meant
    scope,     // for its own CTA only, where the word reaches further; for a wait on bulk groups, for their reads only
    advance,   // before the last access or fence of its thread, which it then does not publish
  };
  std::string word;    // name of the word, e.g. "mbarrier_arrive"
  std::string object;  // name of the barrier or region in the block plan; empty: any
  std::string role;    // empty: any
  Action action = Action::drop;
  int64_t value = 0;  // see Action
  int nth = 0;        // 1-based among matching calls of one thread; 0: all
  int cta = -1;       // only in this CTA rank; -1: any
  // The call: a line of the source. Empty: any.
  std::string file = {};
  uint32_t line = 0;
  int warp = -1;  // the warp's number in the block; -1: any
};

// A call of a word by a role at which faults can strike.
struct FaultSite : Fault {
  uint32_t can = 0;     // a bit for each Action beyond drop that would change the call
  int first_warp = -1;  // the first warp that makes the call
  bool by_several_warps = false;
};

// How a kernel is run. The defaults give one timed run with all checks.
struct Options {
  Landing landing = Landing::timed;
  Scheduling scheduling = Scheduling::fifo;
  std::string frozen_role;  // Scheduling::freeze
  int pct_depth = 3;        // Scheduling::pct
  uint64_t seed = 1;
  bool check = true;          // races, proxies, uninitialised reads
  int max_findings = 1;       // the run stops after this many
  int resident_clusters = 0;  // 0: as many as the simulated chip holds
  uint64_t step_limit = 200'000'000;
  double max_seconds = 0;   // real time after which the run is abandoned; 0: no limit
  double hang_seconds = 0;  // real time that a thread may compute between two words; 0: no limit
  bool timeline = false;
  bool primary_pending = false;  // a preceding kernel of a dependent launch is still writing its outputs (see Buffer)
  std::vector<Fault> faults;
  bool list_fault_sites = false;  // Result::fault_sites
  bool certify = false;           // Result::certificate; needs check
};

// An array in device memory that the launch may touch. Any access outside of all buffers is reported.
struct Buffer {
  void* data = nullptr;  // its address for the kernel
  uint64_t bytes = 0;
  std::string name;
  enum class Use : uint8_t { input, output, inout };
  Use use = Use::input;       // input: never written; output: reading before a write is reported
  bool from_primary = false;  // written by the preceding kernel: readable after grid_dependency_wait only
  // Where its bytes lie, if not at `data`: then the kernel reaches them by words alone (sim/addresses.h).
  void* host = nullptr;
};

// What the checker reports: the rule, a sentence, who did it and where, and how to repeat the run.
struct Finding {
  std::string rule;     // stable identifier, e.g. "race.proxy"; docs/rules.md explains each
  std::string message;  // one sentence
  std::vector<std::string> details;
  std::string role;
  int cta = -1, warp = -1, lane = -1;
  std::string object;  // barrier or address by its name in the block plan
  std::string file;
  uint32_t line = 0;
  // Set for a fault between words; file and line are then those of the last word before it.
  const void* instruction = nullptr;
  // Where code outside of the simulator called the word that found it, and the line of that call, if it is known and
  // not the one above: a function that the kernel called there.
  const void* call = nullptr;
  std::string called_file = {};
  uint32_t called_line = 0;
  uint64_t seed = 0;
  std::string mode;  // landing and scheduling
  std::string text() const;
};

// A bar of the timeline.
struct Span {         // one bar of the timeline
  std::string track;  // "cta 0 / load / warp 4", "cta 0 / TMA", ...
  std::string name;
  double begin_us = 0, end_us = 0;
  std::string detail;
  bool waiting = false;
  std::string by = {};  // for an engine: the track of the warp that issued the operation
};
// An arrow of the timeline.
struct Edge {  // what released a wait -> the wait
  int from_span = -1, to_span = -1;
};
// A moment at which a phase of a barrier completes.
struct PhaseEnd {  // a phase of a barrier completes
  std::string barrier;
  int cta = 0;
  double at_us = 0;
};

// What a run did and how long it took.
struct Stats {
  uint64_t switches = 0;
  uint64_t words = 0;  // calls of machine words by threads
  uint64_t warp_instructions = 0;
  uint64_t events = 0;            // asynchronous effects landed
  uint64_t checks = 0;            // ordered pairs tested by the race checker
  double predicted_us = 0;        // Landing::timed
  uint64_t predicted_cycles = 0;  // the same in SM cycles, launch included
  double wall_s = 0;
  uint64_t tensor_busy_cycles = 0;
};

// What the certificate rests on for one barrier: all of its stages, in all CTAs.
struct BarrierProof {
  std::string name;  // its name in the block plan
  int64_t phases = 0, arrivals = 0, waits = 0;
  std::vector<std::string> gaps;  // phases that could go differently
};

// Whether the phases of every barrier would be the same in any other interleaving of the run's instructions. Then a run
// without findings stands for all of them: no other order deadlocks or races. It holds for the run's inputs and path.
struct Certificate {
  bool asked = false;
  std::vector<std::string> gaps;  // the gaps of all barriers
  std::vector<std::string> path;  // what could lead to other instructions: the run speaks for its own path only
  std::vector<BarrierProof> barriers = {};  // the barriers that were used
  bool proven() const { return asked && gaps.empty() && path.empty(); }
};

// How far a run used a stage of a barrier, in the CTA that used it most.
struct BarrierUse {
  std::string name;  // its name in the block plan
  int stage = 0;
  int64_t phases = 0;  // completed
};

// What came of a run.
struct Result {
  std::vector<Finding> findings;
  Stats stats;
  std::vector<Span> spans;
  std::vector<Edge> edges;
  std::vector<PhaseEnd> phases;        // in order of time; with Options::timeline
  std::vector<FaultSite> fault_sites;  // what mutants are generated from
  Certificate certificate;
  std::vector<BarrierUse> barriers;  // those of the block plan, each stage; then the named ones
  bool ok() const { return findings.empty(); }
};

// What run() starts: a kernel's block plan, the extents of the grid and the buffers it may touch.
struct Launch {
  const BlockPlan* plan = nullptr;
  Index3 grid{1, 1, 1};
  uint32_t threads = 0;       // default: the plan's
  uint32_t shared_bytes = 0;  // default: the plan's
  std::vector<Buffer> buffers;
};

// Runs `body` once for every thread of the launch, as a fiber.
Result run(const Launch&, const Options&, const std::function<void()>& body);

// A tensor map of a row-major matrix for the simulated TMA, whose rows are `row_bytes` apart (0: without gaps). Returns
// a sentence if the hardware's encoder would refuse it.
std::optional<std::string> encode_tensor_map(const TensorBox& box, void* base, int64_t rows, int64_t columns,
                                             TensorMap& out, uint64_t row_bytes = 0);
// A map of three dimensions, for `batches` such matrices that are `batch_bytes` apart.
std::optional<std::string> encode_tensor_map(const TensorBox& box, void* base, int64_t rows, int64_t columns,
                                             int64_t batches, int64_t batch_bytes, TensorMap& out,
                                             uint64_t row_bytes = 0);

// Runs K::body(args) on a grid; threads and shared memory come from the plan of K.
template <class K>
Result run_kernel(const typename K::Args& args, Index3 grid, std::vector<Buffer> buffers, const Options& options) {
  Launch launch{&K::plan, grid, uint32_t(K::plan.threads()), K::plan.shared_bytes, std::move(buffers)};
  return run(launch, options, [&args] { K::body(args); });
}

}  // namespace warpwright::simulator

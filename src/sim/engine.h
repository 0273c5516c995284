// The simulated machine: threads as fibers, warps, CTAs, clusters; asynchronous effects as events; who waits for what.
#pragma once
#include <boost/context/fiber.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clock.h"
#include "guard/guard.h"
#include "lanes/lanes.h"
#include "shadow.h"
#include "timing.h"
#include "warpwright/machine/machine.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulator {

struct Cta;
struct Cluster;
class Engine;

struct Abort {};  // thrown through a fiber when the run is over

// --- barriers
struct Arrival {
  const Thread* by = nullptr;  // null: an asynchronous operation
  here at;
  const char* what = "";
  bool asynchronous = false;  // made when an operation of that thread completed
};

// What had been executed when an operation that completes later was issued.
struct Issue {
  View view;
  Channel self = 0;
};

struct Bar {  // an mbarrier object
  Cta* cta = nullptr;
  uint32_t offset = 0;
  const BarrierSpec* spec = nullptr;  // null: not in the plan
  int index = 0;                      // stage
  size_t number = 0;                  // among the barriers of its CTA
  bool valid = false;
  int64_t count = 0, pending = 0, tx = 0;
  int64_t generation = 0;  // completed phases
  bool observed = true;    // a wait has returned true for the latest completed phase
  Channel channel = 0;
  const Thread* initialised_by = nullptr;
  Stamp init;
  here init_at;
  bool init_fenced = false;
  uint64_t announced = 0;  // cluster-barrier generation in which a relaxed arrival told of the fenced initialisation
  // A release at cluster scope from another CTA publishes its thread's accesses only to waits at cluster scope.
  SyncBuilder collecting, collecting_cluster;
  SyncClocks released[2], released_cluster[2];  // of generation g at [g & 1]
  uint64_t completed_at = 0;
  int completing_span = -1;
  std::vector<Thread*> waiters;
  std::vector<Arrival> arrivals;                       // in the current phase
  std::vector<Arrival> last_arrivals;                  // in the previous one
  std::vector<const Thread*> copiers, last_copiers;    // who issued copies that land on it, likewise
  bool awaited = false;                                // somebody has waited on it
  std::vector<std::pair<Stamp, const Thread*>> waits;  // that passed on the current generation, for the certificate
  int64_t in_flight_bytes = 0;
  std::string name() const;
};

struct NamedBarrier {
  int need = 0, got = 0;  // threads
  uint64_t generation = 0;
  bool aligned = false;
  here first_at;
  std::vector<const Warp*> arrived;
  std::vector<const Warp*> last_arrived;  // in the previous generation
  Channel channel = 0;                    // its completions
  std::vector<Thread*> waiters;
  SyncBuilder collecting;
  SyncClocks released;
  uint64_t completed_at = 0;
  int completing_span = -1;
};

// --- asynchronous operations
struct WgmmaOp {
  machine::detail::WgmmaOp op;
  uint64_t a_desc = 0, b_desc = 0;
  bool accumulate = false, from_registers = false;
  int warps = 0;  // how many of the four have issued it
  uint32_t issued_mask = 0;
  float* acc[128] = {};
  const uint32_t* a_regs[128] = {};
  uint32_t group = 0;  // commit group of the warpgroup, 1-based; 0: not committed
  uint32_t access = 0;
  bool landed = false;
  here at;
  uint64_t begin = 0, end = 0;
};
struct Warpgroup {
  Cta* cta = nullptr;
  int index = 0;
  Channel channel = 0;
  std::deque<WgmmaOp> ops;  // ops[i] is number first_op + i
  uint64_t first_op = 0;
  uint64_t landed_ops = 0;  // all ops below have landed
  uint64_t last_due = 0;
  std::vector<uint64_t> group_end;  // group g (0-based) holds ops below group_end[g]
  int last_span = -1;               // bar of the operation that landed last
  std::vector<Thread*> waiters;
  int registers = 0;                        // per thread, at present
  int set_max_warps = 0, set_max_want = 0;  // warps that have reached a setmaxnreg
};

struct BulkOp {  // a bulk store of one thread
  uint32_t read_access = 0, write_access = 0;
  uint32_t group = 0;  // 1-based; 0: not committed
  bool read_done = false, write_done = false;
};

// --- the hierarchy
enum class Wait : uint8_t { none, mbarrier, named, cluster, warp, wgmma, bulk, tmem, registers, poll, cp_async, done };

struct Thread {
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  uint32_t index = 0;  // in the block
  int lane() const { return int(index % 32); }
  Channel channel = 0;
  uint32_t epoch = 1;
  View view[kViews];
  ClockRef tcgen_pending;  // acquired, becomes known at tcgen05.fence::after_thread_sync
  ClockRef fence_pending;  // acquired by relaxed loads, becomes known at fence.acquire

  boost::context::fiber self, back;
  const void* stack_bottom = nullptr;
  size_t stack_size = 0;
  bool ready = true, done = false;
  Wait waiting = Wait::none;
  const void* wait_object = nullptr;
  uint64_t polled = 0;  // the value that it last saw there
  int64_t wait_phase = 0;
  uint64_t waiting_since = 0;  // which wait of the run it is; a poll that comes again keeps its number
  here where{"", 0};
  uint64_t time = 0;
  uint64_t loads_due = 0;  // when the last of its global loads in flight arrives
  uint32_t sums_read = 0;  // sums of MMAs, since its latest word
  int polls = 0;

  // what this thread has in flight
  std::vector<std::shared_ptr<BulkOp>> bulk_ops;
  uint32_t bulk_groups = 0;
  Channel bulk_read_channel = 0, bulk_write_channel = 0;
  Channel tcgen_channel = 0;  // mma and cp issued by this thread, in order
  uint32_t tcgen_seq = 0;
  uint64_t tcgen_last_due = 0;
  int tcgen_last_span = -1;  // bar of the operation that landed last
  int bulk_last_span = -1;
  ClockRef tcgen_known;  // tensor-memory accesses ordered before this thread's next one
  struct CpOp {
    uint32_t access = 0, group = 0;
    bool done = false, tracked = false;  // tracked: an arrival at a barrier makes it known
  };
  std::vector<std::shared_ptr<CpOp>> cp_ops;
  uint32_t cp_groups = 0;
  Channel cp_channel = 0;
  uint64_t wgmma_fences = 0;
  GivenUp given_up;
  bool orphaned_fragment = false;  // registers of a wgmma in flight went out of scope
  uint64_t cluster_phase = 0;      // cluster barrier generation that its arrive waits for; 0: none
  uint64_t cluster_seen = 0;       // the last one it waited for
  const void* loaded = nullptr;    // by the last ordinary load of global memory,
  uint64_t loaded_again = 0;       // and how often since then without another address
  uint32_t fence_epoch = 0;        // own epoch covered by the last release fence
  ClockRef fence_base;
  bool primary_waited = false;
  bool has_waited = false;  // on an mbarrier since its warp met; for the certificate
  std::unordered_map<const Fault*, int> fault_counts;
  struct Moment {  // what a release at that time would have published
    View view[kViews];
    uint32_t epoch = 0;
    bool waits = false;     // the word that followed was a wait on a barrier
  } word_began, last_step;  // the running word's; that of the last one that accessed or learned something
  bool touched = false;     // since word_began
  bool releases_early = false;
  uint32_t last_access = 0;  // reused while epoch, place and kind stay the same
  here last_access_at{"", 0};
  uint32_t last_access_epoch = 0;
  uint8_t last_access_kind = 0;
  std::vector<int64_t> observed;  // generation on which its latest wait passed, by Bar::number; -1: none has
  // The latest wait on this barrier passed on a generation that this thread had passed before. Legal, but if an arrival
  // or an access of this thread turns out wrong, this is the likely cause.
  struct Repeated {
    const Bar* bar = nullptr;
    int64_t generation = 0;
    uint32_t epoch = 0;  // of the thread: later accesses relied on this wait
    here at{"", 0};
  } repeated;
  Trail trail;
};

struct Warp {
  Cta* cta = nullptr;
  int index = 0;
  const RoleSpec* role = nullptr;
  Thread* lanes[32] = {};
  bool queued = false;
  uint64_t runs = 0;  // how often the scheduler has picked it
  uint32_t live = 0xffff'ffffu;
  bool waited = false;  // a lane has waited since they were last together
  Collective collective;
  std::map<uint32_t, LaneGroup> groups;  // by mask: they meet independently of each other
  uint32_t matrix[32 * 4] = {};          // registers of an ldmatrix or stmatrix
  MmaLane mma[32] = {};
  uint64_t mma_until = 0;  // timed: when the tensor cores are done with its latest mma.sync
  uint64_t priority = 0;   // pct: larger runs first; timed: when its next lane runs; lanes: its first ready lane
  uint64_t wgmma_issued = 0, wgmma_groups = 0,
           wgmma_completed = 0;  // ops issued / groups committed / ops known complete by this warp
  Channel tmem_ld_channel = 0, tmem_st_channel = 0;
  uint32_t tmem_ld_seq = 0, tmem_st_seq = 0, tmem_ld_waited = 0;
  std::vector<uint32_t> tmem_lds, tmem_sts;  // accesses in flight
  const char* role_name() const { return role ? role->name : "warp"; }
};

struct TmemAllocation {
  uint32_t column = 0, columns = 0;
  int cta_group = 1;
  here at{"", 0};
  uint32_t number = 0;  // among the allocations of its CTA
};

struct Cta {
  Engine* engine = nullptr;
  Cluster* cluster = nullptr;
  uint32_t id = 0;    // index in launch order, names its clock chunk
  uint32_t rank = 0;  // in the cluster
  Index3 block;
  std::vector<uint8_t> storage;
  uint8_t* shared = nullptr;  // start of the window
  uint32_t window = 0;        // bytes
  Shadow shadow;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<std::unique_ptr<Warpgroup>> warpgroups;
  std::map<uint32_t, std::unique_ptr<Bar>> bars;
  uint32_t bars_begin = ~0u, bars_end = 0;  // all of them lie in this range
  NamedBarrier named[16];
  int alive = 0;
  uint32_t channels = 0;
  int register_pool = 0;
  // tensor memory
  std::vector<uint32_t> tmem;
  Shadow tmem_shadow;
  std::vector<TmemAllocation> allocations;
  bool permit = true;
  int cta_group = 0;
  uint32_t last_alloc_columns = 0;
  struct Allocated {
    Stamp when;
    uint32_t columns;
  };
  std::vector<Allocated> allocated;  // every allocation so far, in order
  uint32_t deallocations = 0;
  std::vector<Thread*> dealloc_waiters;  // cta_group::2: until the peer deallocates as well
  struct Remote {                        // an access by another CTA, which must be over before this CTA exits
    uint32_t access = 0;
    Stamp stamp;  // if it is a thread's own access
    const Thread* by = nullptr;
    const char* word = "";
    here at{"", 0};
    const Bar* bar = nullptr;  // an arrival: a wait of this CTA that saw this generation shows that it is over
    int64_t generation = 0;
  };
  std::vector<Remote> remote;
  Server tensor;
  Path ingest, loads, store, peers;
  std::unordered_map<uint64_t, uint64_t> l1;  // when each unit of 32 bytes that threads have loaded arrives
  std::vector<bool> fetched;                  // by Engine::place: what was executed
  bool clc_failed = false;
  std::map<const TensorMap*, uint64_t> seen_maps;  // version seen through the tensor-map proxy
  Channel new_channel() { return (id << kChannelBits) | channels++; }
};

struct Cluster {
  uint32_t id = 0;
  std::vector<Cta*> ctas;
  int alive = 0;  // threads
  int arrived = 0;
  std::vector<const Thread*> arrived_threads;
  uint64_t generation = 0;
  Channel channel = 0;  // its completions
  SyncBuilder collecting;
  SyncClocks released;
  std::vector<Thread*> waiters;
  uint64_t completed_at = 0;
  int completing_span = -1;
};

struct Event {
  uint64_t due = 0, seq = 0;
  std::function<void()> land;
  bool operator>(const Event& o) const { return due != o.due ? due > o.due : seq > o.seq; }
};

class Engine final : public Guarded {
 public:
  Engine(const Launch&, const Options&, const std::function<void()>& body);
  ~Engine();
  Result run();

  uint64_t beat() const override { return stats.words + stats.switches; }
  bool is_inside() const override { return inside_; }
  void give_up(GivenUp why) override;

  // --- for the words
  // --------------------------------------------------------------------------------------------------
  static Thread& self();
  const Options& options() const { return options_; }
  const Launch& launch() const { return launch_; }
  Clocks clocks;
  Timing timing;
  AccessLog log;
  bool dying = false;
  bool data = true;   // false: a prediction; the TMA copies no tiles, MMAs compute nothing
  bool meets = true;  // false: lanes do not meet where they issue a wgmma, but come in their order and meet in the wait

  void block(Thread& t, Wait why, const void* object, here at);  // returns when woken
  void wake(Thread& t, uint64_t time);
  void wake_all(std::vector<Thread*>& list, uint64_t time);
  void maybe_yield(Thread& t);
  // In a timed run: threads that are behind this one run first, those of its own warp too. For words whose time depends
  // on what others have requested.
  void let_earlier_run(Thread& t);
  void word(Thread& t, uint64_t cycles, here at);  // accounts for one word
  // The same for a load from global memory. Loads that follow each other are in flight together: a thread waits where
  // it uses a value, and the first word after a run of loads is taken for that place.
  void load_word(Thread& t, const void* p, uint32_t bytes, here at);
  // When the bytes of a load arrive through the L1, if the L2 has them at `in_l2`.
  uint64_t through_l1(Thread& t, uint64_t address, uint32_t bytes, uint64_t in_l2);
  // Schedules an effect. `latency` in cycles matters in timed runs; `in_order` keeps effects of one queue in order.
  void async(uint64_t due, std::function<void()> land, uint64_t* in_order = nullptr);
  uint64_t now() const { return now_; }
  bool timed() const { return options_.landing == Landing::timed; }
  uint64_t random();
  // Whether a word that waits for a limited time returns without success (PTX 9.7.13.15.16: try_wait may).
  bool gives_up() {
    return (options_.scheduling == Scheduling::random || options_.scheduling == Scheduling::pct) && (random() & 1);
  }

  void release(Thread& t, SyncBuilder& to, bool async_only = false);
  // certificate.cpp; they do nothing unless it was asked for.
  void release_control(Thread& t, SyncBuilder& to);
  Issue issue(Thread& t);
  void meet(Warp& w, uint32_t lanes);
  BarrierProof& proof(const char* barrier);
  Certificate certificate() const;
  void certify_arrival(Bar& b, const Arrival& who, const Issue* issued);
  void certify_wait(Thread& t, Bar& b, here at);
  void certify_completion(Bar& b);
  void gap(const Bar& of, std::string why);
  void path_may_change(std::string why);
  void acquire(Thread& t, const SyncClocks& from);
  // The same for a barrier in which the thread's own release took part: what was collected contains all it knew.
  void adopt(Thread& t, const SyncClocks& from);

  [[noreturn]] void fail(std::string rule, std::string message, const Thread* t, here at, std::string object = {},
                         std::vector<std::string> details = {});
  // Records; returns normally if more findings are wanted.
  void report(Finding f);
  bool has_faults() const { return !options_.faults.empty() || options_.list_fault_sites; }
  // fault/fault.cpp
  struct Call {
    const char* word;
    here at;
    uint32_t can = 0;  // FaultSite::can
  };
  bool looks_at(const Call& call) const;  // whether fault() has anything to do for it
  const Fault* fault(Thread& t, const Call& call, const std::string& object = {});
  void keep_moment(Thread& t);

  Bar& bar(Cta& cta, uint32_t offset, const Thread* t, here at, const char* what);
  Cta& cta_at(Thread& t, uint32_t cluster_address, here at, const char* what);
  void arrive(Bar& b, int64_t count, Arrival who, const Issue* issued = nullptr);
  void complete_tx(Bar& b, int64_t bytes, here at, const Issue* issued = nullptr);
  void check_phase(Bar& b);
  std::string name_of(const Cta& cta, uint32_t offset) const;  // name of a shared address in the block plan
  std::string name_of_global(const void* p, uint64_t bytes = 1) const;
  std::string name_near(const void* p) const;  // of the buffer that an address was meant for; empty: none
  // Whether shared bytes, counted from the plan's first, lie in one stage of one region of the block plan.
  bool in_one_stage(uint32_t at, uint32_t bytes) const;
  const Buffer* buffer_of(const void* p, uint64_t bytes) const;
  uint8_t* host(const void* p) const;  // where the bytes at an address that the kernel was given lie
  // A thread learns from griddepcontrol.wait that the kernel ahead of a dependent launch has ended, and passes this on
  // like everything else it knows.
  void learn_primary_ended(Thread& t);
  bool knows_primary_ended(const Thread& t) const;
  // Where an address would lie on a GPU: there the buffers of a launch begin at multiples of 256 bytes. The clock
  // counts cache lines by it, so that a time does not depend on the host's heap.
  uint64_t device_address(const void* p) const;
  Shadow& shadow_of(const Buffer* b);
  std::vector<Thread*>& pollers() { return pollers_; }
  void wake_pollers(const void* p, uint64_t time);  // when a value in global memory was written
  void progress() { ++last_progress_; }
  int ctas_at_once() const { return ctas_at_once_; }
  // -1 without Options::timeline.
  int span(const std::string& track, std::string name, uint64_t begin, uint64_t end, std::string detail = {},
           bool waiting = false);
  // An operation of an engine of the issuing thread's CTA.
  int engine_span(const Thread& by, const char* engine, std::string name, uint64_t begin, uint64_t end, here at);
  // The arrival that completes a barrier.
  int arrival_span(const Thread& t, const std::string& barrier, here at);
  std::string track(const Thread& t) const;
  std::vector<Span> spans;
  std::vector<Edge> edges;
  std::vector<PhaseEnd> phases;
  Stats stats;
  std::set<std::string> certificate_path;
  std::map<const void*, SyncBuilder> global_sync;     // releases through global memory, by address
  std::map<const TensorMap*, uint64_t> map_versions;  // tensor maps used so far, and how often each was rewritten
  std::map<const TensorMap*, std::vector<uint32_t>>
      map_uses;  // copies that use a map in device memory, since it was last rewritten
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::deque<std::unique_ptr<Cta>> ctas;
  uint32_t next_block_cluster = 0;  // clusters not yet launched (also what clusterlaunchcontrol cancels)
  uint32_t total_clusters = 0;

 private:
  void start_cluster();
  uint64_t start_of_cta() const;  // cycles until its first instruction
  size_t place(here at);          // a number for each line of the source
  void run_warp(Warp& w);
  void enter(Thread& t);  // switches to the thread, and back when it blocks or ends
  void leave(Thread& t);
  bool land_next(bool anything);
  Warp* pick();
  bool by_lanes() const;  // Scheduling::lanes decides who runs
  void enqueue(Warp& w);
  void thread_finished(Thread& t);
  std::vector<BarrierUse> barrier_use() const;
  void report_given_up(Thread& t);
  void report_thrown(Thread& t, const std::string& what);
  Finding finding_of(std::string rule, std::string message, const Thread* t, here at) const;
  bool stands_still();
  bool is_late();  // Options::max_seconds have passed

  Launch launch_;
  Options options_;
  const std::function<void()>& body_;
  int ctas_at_once_ = 1;
  std::vector<const char*> files_;
  std::vector<Warp*> queue_;
  std::vector<Event> events_;
  uint64_t now_ = 0, seq_ = 0, steps_ = 0, last_progress_ = 0, progress_seen_ = 0, progress_step_ = 0;
  bool inside_ = false;
  std::chrono::steady_clock::time_point begin_;
  uint64_t waits_ = 0;
  uint64_t words_in_a_row_ = 0;  // by the running thread, since it was switched to
  uint64_t rng_ = 0;
  std::vector<Finding> findings_;
  std::map<const Buffer*, std::unique_ptr<Shadow>> global_shadow_;
  Channel primary_ = 0;  // has one completion, the end of the kernel ahead; 0: nobody has waited for it
  SyncClocks primary_end_;
  std::vector<uint64_t> pct_changes_;
  uint64_t pct_low_ = 0;
  std::vector<Thread*> pollers_;
  static constexpr uint32_t kStageGrain = 4;
  std::vector<uint16_t> stage_at_;  // for each grain of shared memory, a number for its stage of a region; 0: in none
  std::map<std::tuple<std::string, std::string, std::string, std::string, uint32_t>, FaultSite> fault_sites_;
  bool keeps_moments_ = false;  // of threads, for Fault::Action::advance
  std::map<std::string, BarrierProof, std::less<>> proofs_;
};

std::string where(here at);
std::string who(const Thread& t);
std::string repeated_wait(const Thread& t);  // the end of a sentence that blames it, or empty

}  // namespace warpwright::simulator

// The block plan: one constexpr source of truth for a kernel. Roles with their thread ranges, shared-memory and TMEM
// maps, every barrier with its count, who arrives and who waits, named-barrier ids. Barrier initialisation, storage
// layout and the simulator's names are all derived from it; check_block_plan<K>() turns its rules into static_asserts.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/chip.h"

namespace warpwright {

// Columns of tensor memory and 32-bit registers of an SM.
inline constexpr uint32_t kTmemColumns = 512;
inline constexpr uint32_t kRegisterFile = 65536;

// A role: consecutive warps that do the same thing.
struct RoleSpec {
  const char* name = nullptr;
  int first_warp = 0;
  int warps = 0;
  int registers = 0;  // registers of a thread after setmaxnreg; 0: as launched
  constexpr int first_thread() const { return first_warp * 32; }
  constexpr int threads() const { return warps * 32; }
  constexpr bool holds_warp(int w) const { return w >= first_warp && w < first_warp + warps; }
};

// How many arrivals a role contributes to one phase, over all CTAs that reach the barrier.
struct ArrivalSpec {
  const char* role = nullptr;
  int per_phase = 0;
};

// An mbarrier for each stage of a ring: how many arrivals complete a phase, who arrives and who waits.
struct BarrierSpec {
  const char* name = nullptr;
  int stages = 0;
  int count = 0;
  uint32_t offset = 0;  // where stage 0 begins, from the start of dynamic shared memory
  ArrivalSpec arrivals[5] = {};
  const char* waiter = nullptr;
  bool once = false;  // it has one phase in the life of a block
  constexpr int arrivals_per_phase() const {
    int n = 0;
    for (const ArrivalSpec& a : arrivals) n += a.per_phase;
    return n;
  }
};

// A region of shared memory, one piece for each stage.
struct RegionSpec {
  const char* name = nullptr;
  uint32_t offset = 0;
  uint32_t stage_bytes = 0;
  int stages = 0;
  uint32_t alignment = 0;
  constexpr uint32_t bytes() const { return stage_bytes * uint32_t(stages); }
};

// A hardware barrier (`bar.sync id`) and how many threads it counts.
struct NamedBarrierSpec {
  const char* name = nullptr;
  int id = 0;
  int threads = 0;
  bool once = false;
};

// A range of columns of tensor memory.
struct TmemSpec {
  const char* name = nullptr;
  uint32_t column = 0;
  uint32_t columns = 0;
};

namespace detail {
constexpr bool same_text(const char* a, const char* b) {
  if (a == nullptr || b == nullptr) return a == b;
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}
inline void no_such_name() {}
template <class T, size_t N>
constexpr T find_by_name(const T (&list)[N], int count, const char* name) {
  for (int i = 0; i < count; ++i)
    if (same_text(list[i].name, name)) return list[i];
  no_such_name();  // not a constant expression, so a name that is not there does not compile
  return list[0];
}
}  // namespace detail

// What a kernel's block is made of. Declare roles first: barriers name them.
struct BlockPlan {
  const char* kernel = nullptr;
  Arch arch = Arch::sm90;
  int cluster = 1;
  int blocks_per_sm = 1;
  RoleSpec roles[12] = {};
  BarrierSpec barriers[16] = {};
  RegionSpec regions[16] = {};
  NamedBarrierSpec named[15] = {};
  TmemSpec tmem[8] = {};
  int role_count = 0, barrier_count = 0, region_count = 0, named_count = 0, tmem_count = 0;
  uint32_t shared_bytes = 0;
  uint32_t tmem_columns = 0;  // columns that are allocated: a power of two >= 32, or 0
  int warps = 0;

  constexpr BlockPlan(const char* name, Arch a, int cluster_size = 1) : kernel(name), arch(a), cluster(cluster_size) {}

  // A wave of CDNA takes the place of a warp.
  constexpr int lanes() const { return is_cdna(arch) ? 64 : 32; }
  constexpr int threads() const { return warps * lanes(); }

  // --- declarations, in order
  // -----------------------------------------------------------------------------------------
  constexpr BlockPlan& role(const char* name, int warp_count, int registers = 0) {
    roles[role_count++] = {name, warps, warp_count, registers};
    warps += warp_count;
    return *this;
  }
  constexpr BlockPlan& region(const char* name, uint32_t stage_bytes, int stages, uint32_t alignment) {
    const uint32_t at = (shared_bytes + alignment - 1) / alignment * alignment;
    regions[region_count++] = {name, at, stage_bytes, stages, alignment};
    shared_bytes = at + stage_bytes * uint32_t(stages);
    return *this;
  }
  constexpr BlockPlan& barrier(const char* name, int stages, int count, const char* waiter, ArrivalSpec a,
                               ArrivalSpec b = {}, ArrivalSpec c = {}, ArrivalSpec d = {}, ArrivalSpec e = {}) {
    const uint32_t at = (shared_bytes + 7) / 8 * 8;
    barriers[barrier_count++] = {name, stages, count, at, {a, b, c, d, e}, waiter};
    shared_bytes = at + 8 * uint32_t(stages);
    return *this;
  }
  constexpr BlockPlan& named_barrier(const char* name, int thread_count) {
    named[named_count] = {name, named_count + 1, thread_count};  // id 0 is __syncthreads
    ++named_count;
    return *this;
  }
  // The barrier of this name, of either sort, has one phase in the life of a block.
  constexpr BlockPlan& used_once(const char* name) {
    for (int i = 0; i < barrier_count; ++i) barriers[i].once |= detail::same_text(barriers[i].name, name);
    for (int i = 0; i < named_count; ++i) named[i].once |= detail::same_text(named[i].name, name);
    return *this;
  }
  constexpr BlockPlan& tensor_memory(const char* name, uint32_t columns) {
    uint32_t used = 0;
    for (int i = 0; i < tmem_count; ++i) used = tmem[i].column + tmem[i].columns;
    tmem[tmem_count++] = {name, used, columns};
    tmem_columns = 32;
    while (tmem_columns < used + columns) tmem_columns *= 2;
    return *this;
  }

  // --- look-ups, at compile time only; by value, because nvcc 13 crashes on consteval functions that return references
  // -----
  consteval RoleSpec role(const char* name) const { return detail::find_by_name(roles, role_count, name); }
  consteval BarrierSpec barrier(const char* name) const { return detail::find_by_name(barriers, barrier_count, name); }
  consteval RegionSpec region(const char* name) const { return detail::find_by_name(regions, region_count, name); }
  consteval NamedBarrierSpec named_barrier(const char* name) const {
    return detail::find_by_name(named, named_count, name);
  }
  consteval TmemSpec tensor_memory(const char* name) const { return detail::find_by_name(tmem, tmem_count, name); }

  // --- rules
  // ------------------------------------------------------------------------------------------------------------
  constexpr bool arrivals_match_counts() const { return wrong_arrivals() == barrier_count; }
  constexpr bool roles_are_known() const { return unknown_role().role == nullptr; }
  constexpr bool names_are_unique() const { return repeated_name() == nullptr; }

  // What breaks them: the first barrier whose arrivals do not sum to its count (barrier_count: there is none), the
  // first role that does not exist and the barrier that names it, the first name that is used twice.
  constexpr int wrong_arrivals() const {
    int i = 0;
    while (i < barrier_count && barriers[i].arrivals_per_phase() == barriers[i].count && barriers[i].count >= 1) ++i;
    return i;
  }
  struct UnknownRole {
    const char* barrier = nullptr;
    const char* role = nullptr;
  };
  constexpr UnknownRole unknown_role() const {
    for (int i = 0; i < barrier_count; ++i) {
      if (!has_role(barriers[i].waiter)) return {barriers[i].name, barriers[i].waiter ? barriers[i].waiter : ""};
      for (const ArrivalSpec& a : barriers[i].arrivals)
        if (a.role != nullptr && !has_role(a.role)) return {barriers[i].name, a.role};
    }
    return {};
  }
  constexpr const char* repeated_name() const {
    for (int i = 0; i < barrier_count; ++i)
      for (int j = 0; j < i; ++j)
        if (detail::same_text(barriers[i].name, barriers[j].name)) return barriers[i].name;
    for (int i = 0; i < region_count; ++i)
      for (int j = 0; j < i; ++j)
        if (detail::same_text(regions[i].name, regions[j].name)) return regions[i].name;
    return nullptr;
  }
  // The first ring or region that has no stage.
  constexpr const char* without_stages() const {
    for (int i = 0; i < barrier_count; ++i)
      if (barriers[i].stages < 1) return barriers[i].name;
    for (int i = 0; i < region_count; ++i)
      if (regions[i].stages < 1) return regions[i].name;
    return nullptr;
  }
  constexpr bool shared_memory_fits() const { return shared_bytes * uint32_t(blocks_per_sm) <= kMaxSharedBytes; }
  constexpr bool tensor_memory_fits() const { return tmem_columns <= kTmemColumns; }
  constexpr bool named_barriers_are_legal() const {
    for (int i = 0; i < named_count; ++i)
      if (named[i].threads % 32 != 0 || named[i].threads < 32 || named[i].threads > threads()) return false;
    return true;
  }
  // What the hardware gives each thread at launch under __launch_bounds__(threads, blocks_per_sm).
  constexpr int launch_registers() const {
    if (is_cdna(arch)) return 512 / ((warps + 3) / 4);  // four SIMDs share the waves, each has 512 for a lane
    const int r = int(kRegisterFile) / (threads() * blocks_per_sm) / 8 * 8;
    return r > 255 ? 255 : r;
  }
  // setmaxnreg moves the registers of the launch from one role to another; there are no more.
  constexpr bool registers_fit() const {
    int total = 0;
    for (int i = 0; i < role_count; ++i)
      total += roles[i].threads() * (roles[i].registers ? roles[i].registers : launch_registers());
    return total <= launch_registers() * threads() && warps <= 32;
  }

 private:
  constexpr bool has_role(const char* name) const {
    for (int i = 0; i < role_count; ++i)
      if (detail::same_text(roles[i].name, name)) return true;
    return false;
  }
};

// A name of a plan as a template argument: a compiler's error then spells it.
struct PlanName {
  char text[32] = {};
  constexpr PlanName() = default;
  constexpr PlanName(const char* name) {
    for (int i = 0; name != nullptr && name[i] != '\0' && i < 31; ++i) text[i] = name[i];
  }
  constexpr bool empty() const { return text[0] == '\0'; }
};

namespace detail {
template <PlanName Barrier, int Arrivals, int Count>
struct PlanArrivals {
  static_assert(Arrivals == Count && Count >= 1, "plan: the arrivals of the roles must sum to the barrier's count");
  static constexpr bool checked = true;
};
template <PlanName Barrier, PlanName Role>
struct PlanRole {
  static_assert(Barrier.empty(), "plan: a barrier names a role that the plan does not have");
  static constexpr bool checked = true;
};
template <PlanName Repeated>
struct PlanUnique {
  static_assert(Repeated.empty(), "plan: two barriers or two regions have one name");
  static constexpr bool checked = true;
};
template <PlanName Empty>
struct PlanStages {
  static_assert(Empty.empty(), "plan: a barrier and a region have at least one stage");
  static constexpr bool checked = true;
};
// A plan without a wrong barrier is asked about one that is right.
template <class K>
consteval bool plan_names_hold() {
  constexpr int wrong = K::plan.wrong_arrivals();
  constexpr BarrierSpec barrier =
      wrong < K::plan.barrier_count ? K::plan.barriers[wrong] : BarrierSpec{"", 0, 1, 0, {{"", 1}}};
  constexpr BlockPlan::UnknownRole unknown = K::plan.unknown_role();
  return PlanArrivals<PlanName(barrier.name), barrier.arrivals_per_phase(), barrier.count>::checked &&
         PlanRole<PlanName(unknown.barrier), PlanName(unknown.role)>::checked &&
         PlanUnique<PlanName(K::plan.repeated_name())>::checked &&
         PlanStages<PlanName(K::plan.without_stages())>::checked;
}
}  // namespace detail

// Every kernel K has `static constexpr BlockPlan plan`. Called once in the body.
template <class K>
WW_HD constexpr void check_block_plan() {
  static_assert(detail::plan_names_hold<K>());
  static_assert(K::plan.shared_memory_fits(), "plan: shared memory exceeds 232448 bytes");
  static_assert(K::plan.tensor_memory_fits(), "plan: tensor memory exceeds 512 columns");
  static_assert(K::plan.named_barriers_are_legal(),
                "plan: a named barrier's threads are not a multiple of 32 in the block");
  static_assert(K::plan.registers_fit(), "plan: the roles' registers exceed those of the launch");
}

}  // namespace warpwright

// Section B: roles that disagree, empty tiles, scheduling (M10..M22).
#include <string>
#include <utility>
#include <vector>

#include "role_kernels.h"
#include "scheduling_kernels.h"

namespace warpwright::mutants {
using namespace ab;
namespace {

template <class K>
void add_by_bug(std::vector<Mutant>& all, const char* id, const char* bug, const char* mutation,
                std::vector<std::string> expected, decltype(K::bug) which) {
  K mutated;
  mutated.bug = which;
  all.push_back({id, bug, mutation, std::move(expected), roles_of<K>(), run_of(K{}), run_of(mutated)});
}

}  // namespace

void add_role_mutants(std::vector<Mutant>& all) {
  using Action = Fault::Action;
  add_by_flag<SplitKeys>(all, "M10", "load and MMA take the packed split word for the index and see an empty range",
                         "two roles compute the trip count from a value that is not decoded", {"deadlock.role_exited"});
  add_by_flag<EmptyTiles>(all, "M11",
                          "the path of an empty tile arrives on a barrier that nobody waits for in that tile",
                          "an extra arrival on p.full for an empty tile",
                          {"mbarrier.missing_wait", "mbarrier.over_arrival", "mbarrier.role_arrivals", "phase.*"});
  add_by_flag<PeeledLast>(all, "M12", "an unsigned n - 1 underflows for a tile without blocks",
                          "no early exit at n == 0", {"livelock"});
  add_by_bug<PagePerInstruction>(all, "M13.never", "a page is not given back when start > end", "`==` for `>=`",
                                 {"deadlock"}, PagePerInstruction::Bug::released_on_equal_only);
  add_by_bug<PagePerInstruction>(all, "M13.twice", "a page is given back by the early path and again at the end",
                                 "the early path does not end the instruction",
                                 {"mbarrier.missing_wait", "mbarrier.over_arrival", "mbarrier.role_arrivals"},
                                 PagePerInstruction::Bug::released_twice);
  add_by_flag<OrderedLoads>(all, "M14",
                            "the epilogue's load warp waits for an order that is given only when C is needed",
                            "the ordering wait leaves its guard", {"deadlock.role_exited"});
  add_by_fault<BroadcastTile>(all, "M15", "the validity flag arrives as garbage in one role's broadcast",
                              "the epilogue's second tile is taken for invalid", {"deadlock.role_exited"},
                              {{"shuffle", "", "epilogue", Action::alter, 0, 4}});
  add_by_flag<GroupedK>(all, "M16", "the CTAs of a pair belong to groups with different K",
                        "three tiles a group with clusters of two", {"deadlock*"});
  add_by_fault<DependentLaunch>(all, "M17", "a role reads what the preceding kernel writes before griddepcontrol.wait",
                                "the epilogue does not wait", {"dependent_launch.stale"},
                                {{"grid_dependency_wait", "", "epilogue", Action::drop}});
  add_by_bug<PaddedTiles>(all, "M18", "invalid tiles are skipped role by role",
                          "only the consumer skips an invalid tile", {"deadlock.role_exited"},
                          PaddedTiles::Bug::consumer_skips_alone);
  add_by_flag<TwoGroups>(all, "M19", "a group closes a ring that it does not produce for",
                         "group 0 drains the load warp's ring", {"phase.*"});
  add_by_bug<PaddedTiles>(all, "M20.producer", "splitting the roles leaves the producer empty",
                          "the loads stand in the consumer's branch behind a dead predicate", {"deadlock.role_exited"},
                          PaddedTiles::Bug::producer_empty);
  add_by_fault<PaddedTiles>(all, "M20.issue", "the copy is predicated out, its announcement is not",
                            "the bulk copy is not issued", {"deadlock.bytes"},
                            {{"bulk_load", "input", "load", Action::drop}});
  add_by_fault<Mailbox>(all, "M21", "the scheduler overwrites the mailbox before all roles have read it",
                        "no wait for mailbox.free", {"race", "mbarrier.missing_wait"},
                        {{"mbarrier_wait", "mailbox.free", "scheduler", Action::drop}});
  add_by_bug<LaunchControl>(all, "M22.single", "the next response lands in the slot that others still read",
                            "both stages share one response slot", {"race", "race.in_flight", "race.completion"},
                            LaunchControl::Bug::one_slot);
  add_by_fault<LaunchControl>(all, "M22.fence", "the response is read and its slot refilled without a proxy fence",
                              "the readers drop fence.proxy.async", {"race.proxy"},
                              {{"fence_proxy_async", "", "compute", Action::drop}});
}

}  // namespace warpwright::mutants

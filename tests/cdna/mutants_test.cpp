// Each wait and each barrier of each schedule is load-bearing: taken away or weakened, the simulator names the place.
#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "cdna/matmul_problem.h"

namespace warpwright::cdna_test {
namespace {

using simulator::Fault;
using simulator::Landing;
using simulator::Options;

template <CdnaMatmulConfig C>
Shape long_enough() {
  return {uint32_t(C.tile_m()), uint32_t(C.tile_n()),
          uint32_t(C.tile_k() * kernel::cdna::Matmul<C>::facts.tiles * (kernel::cdna::Matmul<C>::facts.stages + 3))};
}

// The entries of the schedule at which a word can be struck.
template <CdnaMatmulConfig C>
std::set<std::string> places_of(const std::string& word) {
  Options o = in_mode(Landing::late);
  o.list_fault_sites = true;
  std::set<std::string> places;
  for (const Fault& f : multiply<C>(long_enough<C>(), o).sim.fault_sites)
    if (f.word == word && !f.object.empty()) places.insert(f.object);
  return places;
}

template <CdnaMatmulConfig C>
Product with_fault(const std::string& word, const std::string& place, Fault::Action action = Fault::Action::drop,
                   int value = 0) {
  Fault f;
  f.word = word;
  f.object = place;
  f.action = action;
  f.value = value;
  Options o = in_mode(Landing::late);
  o.faults = {f};
  return multiply<C>(long_enough<C>(), o);
}

template <CdnaMatmulConfig C>
int last_mma() {
  const auto& phase = kernel::cdna::Matmul<C>::facts.epilogue;
  int at = int(phase.count) - 1;
  while (phase.entries[at].op.role != schedule::OpRole::compute) --at;
  return at;
}
// As the simulator names it.
template <CdnaMatmulConfig C>
std::string entry_name(schedule::Phase phase, int at) {
  const auto& facts = kernel::cdna::Matmul<C>::facts;
  const schedule::OpDesc& op = facts.phase(phase).entries[at].op;
  return fmt::format("{}[{}] {}", schedule::word(phase), at, schedule::op_name(op, facts.labels[op.tag.value]).c_str());
}

bool names_a_race(const Product& r) {
  return r.rule() == "race" || r.rule() == "race.in_flight" || r.rule() == "wave.register" ||
         r.rule() == "wave.barriers" || r.rule() == "wave.stagger" || r.rule() == "uninitialised.shared";
}

TEST(CdnaMutants, each_wait_one_too_high_is_named) {
  int mutants = 0;
  for_each_config([&]<CdnaMatmulConfig C> {
    for (const char* word : {"wait_vm", "wait_lgkm"}) {
      for (const std::string& place : places_of<C>(word)) {
        for (const auto& [action, value] : {std::pair{Fault::Action::alter, 1}, {Fault::Action::drop, 0}}) {
          const Product run = with_fault<C>(word, place, action, value);
          EXPECT_TRUE(names_a_race(run)) << word << " at " << place << (value ? " one too high: " : " dropped: ")
                                         << run.first();
          ++mutants;
        }
      }
    }
  });
  fmt::print("{} mutants\n", mutants);
  EXPECT_GT(mutants, 80);
}

// A barrier of the kernel that orders no data, but hands the matrix units from one group to the other.
template <CdnaMatmulConfig C>
bool ends_a_turn(const std::string& place) {
  schedule::Pipeline p = cdna::pipeline_of(cdna::schedule_key(C));
  for (schedule::ScheduleEntry& e : p.schedule.kernel)
    if (place == fmt::format("kernel[{}] BAR", e.time_slot)) e.op = schedule::OpDesc::schedule_barrier();
  return count_of(verify(p, p.stages() + 1), schedule::Code::turn_shared) > 0;
}

TEST(CdnaMutants, each_missing_barrier_is_named) {
  int mutants = 0, turns = 0;
  for_each_config([&]<CdnaMatmulConfig C> {
    for (const std::string& place : places_of<C>("workgroup_barrier")) {
      const Product run = with_fault<C>("workgroup_barrier", place);
      const bool raced = names_a_race(run);
      EXPECT_TRUE(raced || ends_a_turn<C>(place)) << place << ": " << run.first();
      turns += !raced;
      ++mutants;
    }
  });
  // Both types of the kernel of blocks. Six barriers order no data. Four keep one group from overwriting fragments of B
  // that the other reads; in this kernel the rows of those fragments happen to be loaded by the group that reads them.
  EXPECT_EQ(turns, 2 * 10);
  fmt::print("{} mutants\n", mutants);
  EXPECT_GT(mutants, 20);
}

// Without any stagger nothing races, but the two groups want the matrix unit at the same time.
template <CdnaVariant Variant>
void drop_the_stagger() {
  constexpr CdnaMatmulConfig c{.variant = Variant};
  EXPECT_EQ(with_fault<c>("workgroup_barrier", "stagger[0] BAR").rule(), "wave.stagger");
  for (const char* role : {"leading", "trailing"}) {
    Options o = in_mode(Landing::late);
    Fault f;
    f.word = "workgroup_barrier";
    f.object = "stagger[0] BAR";
    f.role = role;
    o.faults = {f};
    const Product run = multiply<c>(long_enough<c>(), o);
    EXPECT_EQ(run.rule(), role == std::string("leading") ? "wave.barriers" : "wave.stagger") << run.first();
  }
}
TEST(CdnaMutants, missing_stagger_is_named) {
  drop_the_stagger<ping_pong>();
  drop_the_stagger<blocks>();
}

TEST(CdnaMutants, report_names_line_entry_and_reason) {
  constexpr CdnaMatmulConfig c{.variant = ping_pong};
  const Product run = with_fault<c>("wait_vm", "prologue[4] VM0");
  ASSERT_FALSE(run.sim.ok());
  const simulator::Finding& f = run.sim.findings.front();
  EXPECT_EQ(f.rule, "race.in_flight");
  EXPECT_NE(f.file.find("matmul.h"), std::string::npos);
  EXPECT_GT(f.line, 0u);
  EXPECT_NE(f.message.find("no wait_vm of"), std::string::npos) << f.text();
  EXPECT_NE(f.message.find("prologue[0] LA00"), std::string::npos) << f.text();
  EXPECT_EQ(f.object.substr(0, 2), "A[");
  fmt::print("{}\n", f.text());
}

TEST(CdnaMutants, missing_copy_or_read_is_named) {
  for_each_config([]<CdnaMatmulConfig C> {
    using schedule::Phase;
    const std::string first = entry_name<C>(Phase::prologue, 0);
    if constexpr (C.uses_dma()) {
      EXPECT_EQ(with_fault<C>("buffer_load_lds", first).rule(), "uninitialised.shared");
    } else {
      EXPECT_EQ(with_fault<C>(C.by_elements ? "buffer_load_element" : "buffer_load", first).rule(), "wave.register");
    }
    EXPECT_GT(with_fault<C>("mfma", entry_name<C>(Phase::epilogue, last_mma<C>())).wrong, 0);
  });
}

}  // namespace
}  // namespace warpwright::cdna_test

#include "choice/grouped.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "choice/wave_model.h"
#include "problem/lower.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

uint64_t own_of(const GroupedProblem& p) { return p.formula.empty() ? 0 : own_id(p.formula.c_str()); }
// Whether more happens to a sum than its conversion, and there is no function of the user's own.
bool fused(const GroupedProblem& p) {
  return p.formula.empty() && (p.activation != Activation::none || p.bias != Bias::none || p.out == DType::e4m3);
}
bool serves(const GroupedGemmConfig& c, const GroupedProblem& p) {
  const bool grouped_so = c.groups == p.groups || (c.any_rows && p.groups != Groups::by_depth);
  const bool scaled_so = p.type != DType::e4m3 || c.b_scale_rows == p.b_scale_rows;
  const bool stored_so = c.a_major == p.a_major && c.b_major == p.b_major;
  const bool adds_so = c.adds_to_result() || !p.accumulate;
  const bool biased_so = p.formula.empty() ? c.bias == fused(p) : c.bias == (p.bias == Bias::per_column);
  return c.type == p.type && c.out == p.out && grouped_so && scaled_so && stored_so && adds_so && biased_so &&
         c.own == own_of(p) && c.row_bias == (p.bias == Bias::per_row) &&
         c.swiglu == (p.activation == Activation::swiglu) && c.gathered == p.gathered;
}
bool serves(const SkinnyBlockwiseConfig& c, const GroupedProblem& p) {
  // Two tiles of 64 tokens fill the chip where one of 128 does not.
  const int most = c.tokens == 64 ? 128 : c.tokens;
  // A TMA takes its time for rows that a matrix does not have.
  const int least = c.tokens > 64 ? 65 : 1;
  return p.groups == Groups::none && p.type == DType::e4m3 && c.out == p.out && p.m >= least && p.m <= most &&
         p.b_scale_rows == kScaleBlock && !fused(p) && p.formula.empty() && !p.accumulate;
}
bool serves(const Instance& instance, const GroupedProblem& p) {
  if (const auto* c = instance.as<GroupedGemmConfig>()) return serves(*c, p);
  const auto* c = instance.as<SkinnyBlockwiseConfig>();
  return c != nullptr && serves(*c, p);
}

// With the bias of the problem and the function of the user's own, where it has one.
GroupedGemmConfig with_own(GroupedGemmConfig c, const GroupedProblem& p) {
  c.own = own_of(p);
  c.bias = p.formula.empty() ? fused(p) : p.bias == Bias::per_column;
  c.row_bias = p.bias == Bias::per_row;
  return c;
}

// What the problem fixes, for the tile that a plan names.
Instance features_of(const GroupedProblem& p) {
  GroupedGemmConfig c;
  c.type = p.type;
  c.out = p.out;
  c.groups = p.groups;
  c.b_scale_rows = p.type == DType::e4m3 ? p.b_scale_rows : kScaleBlock;
  c = with_own(c, p);
  c.swiglu = p.activation == Activation::swiglu;
  c.gathered = p.gathered;
  c.a_major = p.a_major;
  c.b_major = p.b_major;
  c.adds = p.accumulate && p.groups == Groups::none;
  return Instance{c};
}

std::string described(const GroupedProblem& p) {
  std::string text = fmt::format("{} products of {} with D in {}",
                                 p.groups == Groups::none       ? "single"
                                 : p.groups == Groups::by_depth ? "depth-grouped"
                                                                : "grouped",
                                 name(p.type), name(p.out));
  if (p.type == DType::e4m3 && p.b_scale_rows == 1) text += ", a scale for each row of B";
  if (p.activation == Activation::swiglu) text += ", swiglu";
  if (p.bias != Bias::none) text += ", a bias";
  if (p.accumulate) text += ", added to D";
  if (p.b_major == Major::MN) text += p.a_major == Major::MN ? ", A stored [k, m] and B [k, n]" : ", B stored [k, n]";
  if (p.gathered) text += ", of gathered rows";
  if (!p.formula.empty()) text += ", an epilogue of your own";
  return text;
}

// SMs, where only the order of plans matters.
constexpr int kWholeChip = chip_figures(Arch::sm90).multiprocessors;

const Fit& fit_of(const GroupedProblem& p) { return p.groups == Groups::none ? kBlockwiseFit : kGroupedFit; }

// What the model reads of the instances compiled ahead, made once.
const PlanFacts& listed_facts(const Instance& listed, const GroupedProblem& p) {
  static const auto make = [](const Fit& fit) {
    std::vector<PlanFacts> list;
    for (const Instance& i : catalog::ahead()) {
      const bool modelled = i.as<GroupedGemmConfig>() != nullptr || i.as<SkinnyBlockwiseConfig>() != nullptr;
      list.push_back(modelled ? plan_facts(i, fit) : PlanFacts{});
    }
    return list;
  };
  static const std::vector<PlanFacts> single = make(kBlockwiseFit), grouped = make(kGroupedFit);
  return (p.groups == Groups::none ? single : grouped)[size_t(&listed - catalog::ahead().data())];
}

// Calls `with` for every instance compiled ahead that serves the problem.
template <class With>
void for_each_listed(const GroupedProblem& p, With with) {
  for (const Instance& instance : catalog::ahead()) {
    if (serves(instance, p)) with(instance);
  }
}

// The instance that the problem's plan names: one of the list, or any that can be compiled.
Result<Instance> named_instance(const GroupedProblem& p, const std::vector<RankedInstance>& list) {
  for (const auto& [instance, us] : list) {
    if (p.plan == catalog::plan_name(instance) || p.plan == catalog::name_of(instance)) return instance;
  }
  const bool whole = p.plan.find('/') != std::string::npos;
  auto named = whole ? catalog::parse_instance(p.plan) : catalog::parse_plan(p.plan, features_of(p));
  if (named && !whole) {
    // The blockwise kernel for few rows has D as its only feature.
    if (const auto* few = named->as<SkinnyBlockwiseConfig>()) {
      SkinnyBlockwiseConfig c = *few;
      c.out = p.out;
      named->config = c;
    }
  }
  const auto near = [&] {
    std::vector<std::string> names;
    for (const auto& [instance, us] : list) names.push_back(catalog::plan_name(instance));
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.size() > 3) names.resize(3);
    return fmt::format("Plans for this problem are {} and others.", fmt::join(names, ", "));
  };
  const auto with_near = [&](const Status& s) { return Status(s.code(), fmt::format("{} {}", s.message(), near())); };
  if (!named) return with_near(named.status());
  if (const Status s = catalog::refuse(*named); !s) {
    // The user's own words for it.
    const size_t rule = s.message().find(": ");
    return with_near(Status(s.code(), fmt::format("plan = {}{}", p.plan, s.message().substr(rule))));
  }
  if (!serves(*named, p)) {
    return with_near(Status(Code::unsupported, fmt::format("plan = {}: it does not serve {}.", p.plan, described(p))));
  }
  return *named;
}

}  // namespace

GroupedProblem without_own(GroupedProblem p) {
  if (p.formula.empty()) return p;
  p.formula.clear();
  p.beta = 0;
  p.bias = Bias::none;
  return p;
}

std::vector<Instance> instances_for(const GroupedProblem& p) {
  std::vector<Instance> list;
  if (!p.formula.empty()) {
    // The tiles that are listed for the same product, compiled with the text.
    for (const Instance& instance : instances_for(without_own(p))) {
      const auto* c = instance.as<GroupedGemmConfig>();
      if (c == nullptr) continue;
      Instance own{with_own(*c, p)};
      own.formula = p.formula;
      if (catalog::refuse(own)) list.push_back(std::move(own));
    }
    return list;
  }
  for_each_listed(p, [&](const Instance& instance) { list.push_back(instance); });
  return list;
}

double estimated_us(const Instance& instance, const GroupedProblem& p, int multiprocessors) {
  const WaveModel model(wave_work(p), multiprocessors);
  const PlanFacts plan = plan_facts(instance, fit_of(p));
  const Terms terms = model.terms(plan, 1);
  double us = terms.us;
  if (terms.jobs > 0) model.correct({&terms, 1}, {&us, 1});
  return us;
}

std::vector<RankedInstance> rank(const GroupedProblem& p, int multiprocessors) {
  struct Row {
    const Instance* instance;
    Terms terms;
  };
  const WaveModel model(wave_work(p), multiprocessors);
  std::vector<Row> rows;
  // A function of the user's own is computed by the tiles that are listed for the same product without.
  std::vector<Instance> own;
  std::vector<PlanFacts> own_facts;
  if (p.formula.empty()) {
    for_each_listed(p, [&](const Instance& i) { rows.push_back({&i, model.terms(listed_facts(i, p), 1)}); });
  } else {
    own = instances_for(p);
    for (const Instance& i : own) own_facts.push_back(plan_facts(i, fit_of(p)));
    for (size_t i = 0; i < own.size(); ++i) rows.push_back({&own[i], model.terms(own_facts[i], 1)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) { return x.terms.us < y.terms.us; });
  // The trees are asked for the best ones, among which they decide.
  const size_t compared = std::min<size_t>(rows.size(), size_t(kListed));
  std::vector<Terms> terms;
  for (const Row& row : rows) terms.push_back(row.terms);
  std::vector<double> us;
  for (const Row& row : rows) us.push_back(row.terms.us + row.terms.own_us);
  if (compared > 0 && terms[0].jobs > 0) model.correct(std::span(terms).first(compared), std::span(us).first(compared));
  std::vector<RankedInstance> ranked;
  for (size_t i = 0; i < rows.size(); ++i) ranked.push_back({*rows[i].instance, us[i]});
  std::stable_sort(ranked.begin(), ranked.begin() + std::ptrdiff_t(compared),
                   [](const RankedInstance& x, const RankedInstance& y) { return x.us < y.us; });
  return ranked;
}

Result<GroupedChoice> choose(const GroupedProblem& p, int multiprocessors) {
  const std::vector<RankedInstance> list = rank(p, multiprocessors);
  if (list.empty()) {
    return Status(Code::unsupported,
                  fmt::format("out = {}: no kernel of this version makes {}.", name(p.out), described(p)));
  }
  if (!p.plan.empty()) {
    auto named = named_instance(p, list);
    if (!named) return named.status();
    return GroupedChoice{*named, "named by the caller", 0, ChosenBy::name};
  }
  const auto& [best, us] = list.front();
  return GroupedChoice{best, fmt::format("the fastest of {} by the model, {:.1f} us", list.size(), us)};
}

}  // namespace warpwright::choice

#include "choice/grouped.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "choice/dense.h"
#include "problem/lower.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

// What the estimate rests on, fitted to brief times of every instance on an H200 (docs/evidence/blockwise-log.md).
constexpr double kGroupedBytesPerUs = 4.2e6;  // by all SMs together
constexpr double kCacheBytesPerUs = 7.5e6;    // from the L2
constexpr double kLaunchUs = 2.2;             // launch (an early one), first bytes, last store
// For the skinny kernel: an SM takes no more bytes than this, and fewer where its ring has few stages; a block along k
// takes at least this long; the shorter one of loading and reading memory hides but for this part, and the end of a
// tile's results but for this time.
constexpr double kSmBytesPerUs = 97e3, kShortRingBytesPerUs = 75e3, kTokensFirstBytesPerUs = 135e3;
constexpr double kLeastBlockUs = 0.106;
constexpr double kNotHidden = 0.3;
constexpr double kTileEndUs = 0.1;
constexpr double kExchangeUs = 0.9, kExchangeUsPerToken = 0.0078;  // exchanging partial sums in a cluster, 64 weights
constexpr double kScaledPerUs = 5.9e6;  // multiplications of e4m3 with blockwise scales, in an SM
constexpr double kBf16PerUs = 2.65e6;
constexpr double kStoreUs = 0.026;        // for each KiB of a tile's result: its end, which the next one does not hide
constexpr double kOddStore = 2.9;         // how much longer where boxes of a tile have no whole lines of 128 bytes
constexpr double kGroupedLaunchUs = 4.0;  // kLaunchUs with the table of groups and wider first stages
constexpr double kWaitingStore =
    0.3;  // this part of the end is left where all of a tile's result has room to wait for its store
constexpr double kDeferredStore =
    0.2;  // this part of the end is left where results are stored during the next tile's MMAs
constexpr double kShortRing = 1.015;  // how much longer with three stages of bf16
// For groups: memory's share of the SMs' idle time in the last round; what it costs that both are busy equally long.
constexpr double kUnevenMemory = 0.35, kBothBusy = 0.19;

int64_t rows_of_a_group(const GroupedProblem& p) {
  return std::max<int64_t>(p.usual_rows > 0 ? p.usual_rows : p.group_count > 0 ? p.m / p.group_count : 0, 1);
}
// Rows of tiles over all groups, if each has the usual number of rows.
int64_t row_tiles(const GroupedProblem& p, int64_t tall) {
  if (p.groups == Groups::none) return ceil_div(p.m, tall);
  if (p.groups == Groups::by_depth) return p.group_count * ceil_div(p.m, tall);
  return p.group_count * ceil_div(rows_of_a_group(p), tall);
}
// How much of a tile is multiplied: blocks of 64 rows without rows are left out, if nobody waits for a peer that has
// more of them, and on the average half of the last block is there.
double filled(const GroupedGemmConfig& c, const GroupedProblem& p) {
  if (c.scaled() || c.group_rows == 64 || p.groups == Groups::none || p.groups == Groups::by_depth) return 1;
  const int64_t usual = rows_of_a_group(p);
  return std::min(1.0, double(usual + 32) / double(ceil_div(usual, c.tile_m) * c.tile_m));
}

// What a function of the user's own costs a tile: the schedulers of an SM issue for 128 lanes a cycle, and while they
// compute it the tensor core stands still.
double own_us(const GroupedGemmConfig& c, const GroupedProblem& p) {
  if (p.formula.empty()) return 0;
  constexpr double lanes = 128;
  const double cycles = double(c.tile_m) * c.out_columns() * problem::operations_of(p.formula) / lanes;
  return cycles / (chip_figures(Arch::sm90).clock_ghz * 1e3);
}

double skinny_us(const SkinnyBlockwiseConfig& c, const GroupedProblem& p, int sms) {
  const int64_t rounds = ceil_div(c.tiles(int(p.m), int(p.n)), resident_clusters(sms, c.split));
  const double blocks = double(ceil_div(ceil_div(p.k, kScaleBlock), c.split));
  const double rate = c.stages < 5 ? kShortRingBytesPerUs : c.tokens > 64 ? kTokensFirstBytesPerUs : kSmBytesPerUs;
  const double loads = double(rounds) * blocks * std::max(kLeastBlockUs, c.skinny().stage_bytes() / rate);
  const double memory = (double(p.n) * double(p.k) + double(p.m * p.n) * bits(c.out) / 8) / kGroupedBytesPerUs;
  const double exchange = c.split > 1 ? kExchangeUs + kExchangeUsPerToken * c.tokens * c.rows / 64 : 0;
  return kLaunchUs + std::max(loads, memory) + kNotHidden * std::min(loads, memory) +
         double(rounds) * (exchange + kTileEndUs);
}

double grouped_us(const GroupedGemmConfig& c, const GroupedProblem& p, int sms) {
  const int64_t clusters =
      row_tiles(p, c.tile_m * c.cluster_m()) * ceil_div(p.n / c.column_blocks(), c.out_columns() * c.cluster_n());
  const int64_t rounds = ceil_div(clusters, resident_clusters(sms, c.cluster));
  // A narrow tile reads more shared memory for a multiplication than the port carries; a warpgroup alone has nobody who
  // multiplies while it promotes.
  const double half = c.group_rows == 64 ? 1.2 : 1.12;
  const double narrow = c.out_columns() >= 192 ? 1 : c.out_columns() >= 128 ? half : half * 128 / c.out_columns();
  const double groups = p.groups == Groups::none ? 1 : double(p.group_count);
  const double depth = double(p.k) / (c.by_depth() && p.group_count > 0 ? groups : 1);
  const double alone = c.scaled() && c.warpgroups() == 1 ? 1.26 : 1;
  const double ring = !c.scaled() && c.stages < 4 ? kShortRing : 1;
  const double multiply =
      double(c.tile_m) * c.tile_n * depth * narrow * alone * ring / (c.scaled() ? kScaledPerUs : kBf16PerUs);
  // What the cluster shares is read once for all of it.
  const double active = double(std::min(clusters, resident_clusters(sms, c.cluster))) * c.cluster;
  const double bytes = double(c.a_share() + c.b_share()) * depth * bits(c.type) / 8;
  const double tile = std::max(multiply * filled(c, p), active * bytes / kCacheBytesPerUs);
  const bool single = p.groups == Groups::none || clusters == 0;
  const double idle = single ? 0 : double(rounds * resident_clusters(sms, c.cluster)) / double(clusters) - 1;
  // A product of its own is stored when all of it was read.
  const double stored = single ? double(p.m * p.n) * bits(c.out) / 8 / kGroupedBytesPerUs : 0;
  const double memory =
      groups * double(p.n) * depth * bits(c.type) / 8 / kGroupedBytesPerUs * (1 + kUnevenMemory * idle) + stored;
  const double result = double(c.tile_m) * c.out_columns() * bits(c.out) / 8 / 1024;
  const bool waits = c.output_stages >= c.outputs();
  const bool whole_lines = c.d_box().swizzle == Swizzle::b128;
  const double end = kStoreUs * result * (whole_lines ? 1 : kOddStore) * (waits ? kWaitingStore : 1);
  // Behind the last tile there are no MMAs, and while memory is waited for nothing is hidden by them.
  const double all = double(rounds) * (tile + end + own_us(c, p));
  const double hidden = c.defers() && rounds > 0 ? (1 - kDeferredStore) * double(rounds - 1) * end : 0;
  const double busy = all > memory ? std::max(all - hidden, memory) : all;
  const double most = std::max(busy, memory + (single ? kStoreUs * result : 0));
  const double least = std::min(busy, memory);
  return kGroupedLaunchUs + most * (single ? 1 : 1 + kBothBusy * std::pow(least / std::max(most, 1e-9), 4));
}

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

// The instance that the problem's plan names: one of the list, or any that can be compiled.
Result<Instance> named_instance(const GroupedProblem& p, const std::vector<Instance>& list) {
  for (const Instance& instance : list) {
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
  // The model's choice first.
  const auto near = [&] {
    std::vector<std::string> names;
    for (const Instance& instance : list) names.push_back(catalog::plan_name(instance));
    const auto best = std::min_element(list.begin(), list.end(), [&](const Instance& x, const Instance& y) {
      return estimated_us(x, p, kWholeChip) < estimated_us(y, p, kWholeChip);
    });
    std::rotate(names.begin(), names.begin() + (best - list.begin()), names.begin() + (best - list.begin()) + 1);
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
  for (const Instance& instance : catalog::ahead()) {
    if (serves(instance, p)) list.push_back(instance);
  }
  return list;
}

double estimated_us(const Instance& instance, const GroupedProblem& problem, int multiprocessors) {
  if (const auto* c = instance.as<SkinnyBlockwiseConfig>()) return skinny_us(*c, problem, multiprocessors);
  return grouped_us(*instance.as<GroupedGemmConfig>(), problem, multiprocessors);
}

Result<GroupedChoice> choose(const GroupedProblem& p, int multiprocessors) {
  const std::vector<Instance> list = instances_for(p);
  if (list.empty()) {
    return Status(Code::unsupported,
                  fmt::format("out = {}: no kernel of this version makes {}.", name(p.out), described(p)));
  }
  if (!p.plan.empty()) {
    auto named = named_instance(p, list);
    if (!named) return named.status();
    return GroupedChoice{*named, "named by the caller", 0, ChosenBy::name};
  }
  const auto us = [&](const Instance& instance) { return estimated_us(instance, p, multiprocessors); };
  const Instance best =
      *std::min_element(list.begin(), list.end(), [&](const auto& a, const auto& b) { return us(a) < us(b); });
  return GroupedChoice{best, fmt::format("the fastest of {} by the model, {:.1f} us", list.size(), us(best))};
}

}  // namespace warpwright::choice

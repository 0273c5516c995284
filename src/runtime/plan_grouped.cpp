#include "runtime/plan_grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "device/launch_grouped_sm90.h"

namespace warpwright::runtime {
namespace {

// What the estimate rests on. Those of the skinny kernel are measured on an H200 (docs/evidence/blockwise-log.md),
// those of the grouped kernel are the rates of the chip under its power limit.
constexpr double kMemoryBytesPerUs = 4.2e6;  // by all SMs together
constexpr double kCacheBytesPerUs = 6.0e6;   // from the L2
constexpr double kLaunchUs = 3.0;            // launch, first bytes, last store
constexpr double kBlockUs = 0.16;            // a block along k in a CTA of the skinny kernel: wait, multiply, promote
constexpr double kTokenUs = 0.001;           // the same, for each token more
constexpr double kExchangeUs = 0.9;          // of partial sums in a cluster
constexpr double kScaledPerUs = 4.9e6;       // multiplications of e4m3 with blockwise scales, in an SM
constexpr double kBf16PerUs = 2.65e6;
constexpr double kTileUs = 0.35;  // the end of a tile that the next one does not hide

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

const GroupedGemmConfig& grouped(const GroupedKernel& k) { return device::kGroupedGemmSm90[k.index]; }
const SkinnyBlockwiseConfig& skinny(const GroupedKernel& k) { return device::kSkinnyBlockwiseSm90[k.index]; }

// Rows of tiles over all groups, if each has the usual number of rows.
int64_t row_tiles(const GroupedProblem& p, int64_t tall) {
  if (p.groups == Groups::none) return ceil_div(p.m, tall);
  const int64_t usual = p.usual_rows > 0 ? p.usual_rows : p.group_count > 0 ? p.m / p.group_count : 0;
  return p.group_count * ceil_div(std::max<int64_t>(usual, 1), tall);
}

// Clusters that run at once: one never spans the processing clusters of the chip, of which there are eight.
int64_t resident(int sms, int cluster) {
  constexpr int parts = 8;
  if (cluster <= 2 || sms < parts * cluster) return std::max(sms / cluster, 1);
  return int64_t(sms / parts / cluster) * parts;
}

double skinny_us(const SkinnyBlockwiseConfig& c, const GroupedProblem& p, int sms) {
  const int64_t clusters = c.skinny().tiles(int(p.m), int(p.n)), at_once = resident(sms, c.split);
  const int64_t rounds = ceil_div(clusters, at_once);
  const double blocks = double(ceil_div(ceil_div(p.k, kScaleBlock), c.split));
  const double active = double(std::min(clusters, at_once)) * c.split;
  const double alone = kBlockUs + kTokenUs * c.tokens;
  const double memory = active * c.rows * kScaleBlock / kMemoryBytesPerUs;
  const double cache = active * (c.rows + c.tokens) * kScaleBlock / kCacheBytesPerUs;
  return kLaunchUs + double(rounds) * (blocks * std::max({alone, memory, cache}) + (c.split > 1 ? kExchangeUs : 0));
}

double grouped_us(const GroupedGemmConfig& c, const GroupedProblem& p, int sms) {
  const int64_t clusters = row_tiles(p, c.tile_m * c.cluster_m()) * ceil_div(p.n, c.tile_n * c.cluster_n());
  const int64_t rounds = ceil_div(clusters, resident(sms, c.cluster));
  // A narrow tile reads more shared memory for a multiplication than the port carries; a warpgroup alone has nobody who
  // multiplies while it promotes.
  const double narrow = c.tile_n >= 128 ? 1 : 128.0 / c.tile_n;
  const double alone = c.scaled() && c.warpgroups() == 1 ? 1.25 : 1;
  const double multiply =
      double(c.tile_m) * c.tile_n * double(p.k) * narrow * alone / (c.scaled() ? kScaledPerUs : kBf16PerUs);
  // What the cluster shares is read once for all of it.
  const double active = double(std::min(clusters, resident(sms, c.cluster))) * c.cluster;
  const double bytes = double(c.a_share() + c.b_share()) * double(p.k) * bits(c.type) / 8;
  const double tile = std::max(multiply, active * bytes / kCacheBytesPerUs);
  const double groups = p.groups == Groups::none ? 1 : double(p.group_count);
  const double memory = groups * double(p.n) * double(p.k) * bits(c.type) / 8 / kMemoryBytesPerUs;
  return kLaunchUs + std::max(double(rounds) * (tile + kTileUs), memory);
}

}  // namespace

std::string plan_name(const GroupedKernel& kernel) {
  if (kernel.skinny) {
    const SkinnyBlockwiseConfig& c = skinny(kernel);
    return fmt::format("skinny-{}x{}-k{}-s{}", c.rows, c.tokens, c.split, c.stages);
  }
  const GroupedGemmConfig& c = grouped(kernel);
  return fmt::format("grouped-{}x{}-c{}{}-s{}", c.tile_m, c.tile_n, c.cluster,
                     c.cluster > 1 && c.axis == ClusterAxis::n ? "n" : "", c.stages);
}

std::vector<GroupedKernel> kernels_for(const GroupedProblem& p) {
  std::vector<GroupedKernel> list;
  for (size_t i = 0; i < std::size(device::kGroupedGemmSm90); ++i) {
    const GroupedGemmConfig& c = device::kGroupedGemmSm90[i];
    if (c.type == p.type && c.out == p.out && c.groups == p.groups) list.push_back({false, int(i)});
  }
  if (p.groups != Groups::none || p.type != DType::e4m3) return list;
  for (size_t i = 0; i < std::size(device::kSkinnyBlockwiseSm90); ++i) {
    const SkinnyBlockwiseConfig& c = device::kSkinnyBlockwiseSm90[i];
    if (c.out == p.out && p.m <= c.tokens) list.push_back({true, int(i)});
  }
  return list;
}

double estimated_us(const GroupedKernel& kernel, const GroupedProblem& problem, int multiprocessors) {
  return kernel.skinny ? skinny_us(skinny(kernel), problem, multiprocessors)
                       : grouped_us(grouped(kernel), problem, multiprocessors);
}

Result<GroupedChoice> choose(const GroupedProblem& p, int multiprocessors) {
  const std::vector<GroupedKernel> list = kernels_for(p);
  if (list.empty()) {
    return Status(Code::unsupported,
                  fmt::format("out = {}: no kernel of this version stores {} products of {} so.", name(p.out),
                              p.groups == Groups::none ? "single" : "grouped", name(p.type)));
  }
  if (!p.plan.empty()) {
    std::vector<std::string> names;
    for (const GroupedKernel& kernel : list) {
      names.push_back(plan_name(kernel));
      if (names.back() == p.plan) return GroupedChoice{kernel, "named by the caller"};
    }
    return Status(Code::invalid_argument,
                  fmt::format("plan = {}: it is not one of {}.", p.plan, fmt::join(names, ", ")));
  }
  const auto us = [&](const GroupedKernel& k) { return estimated_us(k, p, multiprocessors); };
  const GroupedKernel best =
      *std::min_element(list.begin(), list.end(), [&](const auto& a, const auto& b) { return us(a) < us(b); });
  return GroupedChoice{best, fmt::format("the fastest of {} by the model, {:.1f} us", list.size(), us(best))};
}

}  // namespace warpwright::runtime

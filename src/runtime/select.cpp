#include "runtime/select.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/timing.h"

namespace warpwright::runtime {
namespace {

struct DenseKernel {
  const char* name;
  int tile_m, tile_n;
  DType type, out_type;
  bool scales;  // multiplies by alpha
};

// From the largest tile to the smallest; a kernel of the cluster comes before the same one without.
constexpr DenseKernel kDense[] = {
    {"gemm_sm90", 128, 256, DType::bf16, DType::bf16, true},
    {"gemm_sm90_single", 128, 256, DType::bf16, DType::bf16, true},
    {"gemm_sm90_small", 64, 64, DType::bf16, DType::bf16, true},
    {"tmem_lifecycle", 128, 128, DType::bf16, DType::fp32, false},
};

const char* chip_word(Arch arch) { return arch == Arch::sm100 ? "sm100" : "sm90"; }

const DenseKernel* dense_kernel(const std::string& name) {
  for (const DenseKernel& d : kDense) {
    if (name == d.name && find_example(name) != nullptr) return &d;
  }
  return nullptr;
}

// A tile that is at most half full in either direction, or the second CTA of a cluster without any row, is waste.
bool fits(const DenseKernel& d, const Example& e, const Problem& p) {
  return 2 * p.m > int64_t(d.tile_m) * (2 * e.plan->cluster - 1) && 2 * p.n > d.tile_n;
}

int64_t tiles_along(int64_t extent, int64_t tile) { return (extent + tile - 1) / tile; }

int chip_ctas(const DenseKernel& d, const Example& e, const Problem& p) {
  const int cluster = e.plan->cluster;
  const int64_t clusters = tiles_along(p.m, int64_t(d.tile_m) * cluster) * tiles_along(p.n, d.tile_n);
  return int(std::min<int64_t>(clusters, simulator::ChipTiming::of(e.arch).sms / cluster)) * cluster;
}

std::optional<std::string> mismatch(const DenseKernel& d, const Problem& p, std::optional<DType> out) {
  if (d.type != p.dtype) return fmt::format("dtype = {}: {} takes {}.", name(p.dtype), d.name, name(d.type));
  if (out && *out != d.out_type)
    return fmt::format("out-dtype = {}: {} writes {}.", name(*out), d.name, name(d.out_type));
  if (p.alpha != 1 && !d.scales) return fmt::format("alpha = {}: {} has no factor, alpha must be 1.", p.alpha, d.name);
  return {};
}

}  // namespace

std::vector<std::string> dense_plans() {
  std::vector<std::string> names;
  for (const DenseKernel& d : kDense) {
    if (dense_kernel(d.name) != nullptr) names.emplace_back(d.name);
  }
  return names;
}

std::optional<Arch> arch_of_plan(const std::string& plan) {
  if (dense_kernel(plan) == nullptr) return {};
  return find_example(plan)->arch;
}

std::optional<std::string> select(const Problem& p, std::optional<DType> out_dtype, Arch arch, const std::string& plan,
                                  Selection& selection) {
  std::optional<std::string> why;
  const DenseKernel* best = nullptr;
  if (!plan.empty()) {
    best = dense_kernel(plan);
    if (best == nullptr) {
      return fmt::format("plan = {}: it is not one of {}.", plan, fmt::join(dense_plans(), ", "));
    }
    if (find_example(plan)->arch != arch) {
      return fmt::format("plan = {}: it is a kernel for {}, not for {}.", plan, chip_word(find_example(plan)->arch),
                         chip_word(arch));
    }
    if (auto reason = mismatch(*best, p, out_dtype)) return reason;
  }
  for (const DenseKernel& d : kDense) {
    const Example* e = find_example(d.name);
    if (!plan.empty() || e == nullptr || e->arch != arch) continue;
    if (auto reason = mismatch(d, p, out_dtype)) {
      if (!why) why = reason;  // of the kernel that would be taken first
      continue;
    }
    best = &d;  // the last one is the smallest, which takes what fits nowhere
    if (fits(d, *e, p)) break;
  }
  if (best == nullptr) {
    return why ? why : fmt::format("target = {}: it has no kernel for a matrix product.", chip_word(arch));
  }
  const Example* e = find_example(best->name);
  if (auto reason = e->refuse({p.m, p.n, p.k})) return reason;
  selection = {e, chip_ctas(*best, *e, p)};
  return {};
}

Workload workload_of(const Example& example, const Problem& p, uint64_t seed) {
  Workload w = example.workload({p.m, p.n, p.k}, Data::normal, seed);
  w.alpha = p.alpha;
  for (double& x : w.expected) x *= p.alpha;
  return w;
}

}  // namespace warpwright::runtime

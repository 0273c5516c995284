#include "simulate/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reference/workload_parts.h"
#include "sim/timing.h"
#include "simulate/examples.h"

namespace warpwright::simulate {
namespace {

bool is_product(const Example& e) { return e.gemm.tile_m > 0; }

// A tile that is at most half full in either direction, or the second CTA of a cluster without any row, is waste.
bool fits(const Example& e, const problem::Problem& p) {
  return 2 * p.m > int64_t(e.gemm.tile_m) * (2 * e.plan->cluster - 1) && 2 * p.n > e.gemm.tile_n;
}

int64_t cluster_tile(const Example& e) { return int64_t(e.gemm.tile_m) * e.gemm.tile_n * e.plan->cluster; }

int64_t tiles_along(int64_t extent, int64_t tile) { return (extent + tile - 1) / tile; }

int chip_ctas(const Example& e, const problem::Problem& p) {
  const int cluster = e.plan->cluster;
  const int64_t clusters = tiles_along(p.m, int64_t(e.gemm.tile_m) * cluster) * tiles_along(p.n, e.gemm.tile_n);
  return int(std::min<int64_t>(clusters, simulator::ChipTiming::of(e.arch).sms / cluster)) * cluster;
}

std::optional<std::string> mismatch(const Example& e, const problem::Problem& p, std::optional<DType> out) {
  const GemmTraits& g = e.gemm;
  if (g.type != p.dtype) return fmt::format("dtype = {}: {} takes {}.", name(p.dtype), e.name, name(g.type));
  if (out && *out != g.out_type)
    return fmt::format("out-dtype = {}: {} writes {}.", name(*out), e.name, name(g.out_type));
  if (p.alpha != 1 && !g.scales) return fmt::format("alpha = {}: {} has no factor, alpha must be 1.", p.alpha, e.name);
  return {};
}

// An instance by its name, or the instance of a plan that takes the problem, or else the first one of that plan.
const Example* named(const std::string& plan, const problem::Problem& p, std::optional<DType> out, Arch arch) {
  if (const Example* e = find_example(plan); e != nullptr && is_product(*e)) return e;
  const Example* first = nullptr;
  for (const Example& e : examples()) {
    if (!is_product(e) || e.arch != arch || e.plan_name != plan) continue;
    if (!mismatch(e, p, out)) return &e;
    if (first == nullptr) first = &e;
  }
  return first;
}

// Plans or instances of the architecture, as the name is one or the other; those that share the longest beginning.
std::vector<std::string> nearest(const std::string& plan, Arch arch) {
  std::vector<std::string> names;
  for (const Example& e : examples()) {
    if (!is_product(e) || e.arch != arch) continue;
    const std::string& other = plan.find('/') == std::string::npos ? e.plan_name : e.name;
    if (std::find(names.begin(), names.end(), other) == names.end()) names.push_back(other);
  }
  const auto shared = [&](const std::string& other) {
    return std::mismatch(plan.begin(), plan.end(), other.begin(), other.end()).first - plan.begin();
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& x, const std::string& y) { return shared(x) > shared(y); });
  if (names.size() > 3) names.resize(3);
  return names;
}

}  // namespace

std::optional<std::string> select(const problem::Problem& p, std::optional<DType> out_dtype, Arch arch,
                                  const std::string& plan, Selection& selection) {
  std::optional<std::string> why;
  const Example* best = nullptr;
  if (!plan.empty()) {
    best = named(plan, p, out_dtype, arch);
    if (best == nullptr) {
      return fmt::format("plan = {}: it is none of {}; the nearest are {}.", plan, name(arch),
                         fmt::join(nearest(plan, arch), ", "));
    }
    if (best->arch != arch) {
      return fmt::format("plan = {}: it is a kernel for {}, not for {}.", plan, name(best->arch), name(arch));
    }
    if (auto reason = mismatch(*best, p, out_dtype)) return reason;
  }
  std::vector<std::string> types;
  for (const Example& e : examples()) {
    if (!plan.empty() || e.gemm.tile_m == 0 || e.arch != arch) continue;
    if (e.gemm.type != p.dtype) {
      if (std::find(types.begin(), types.end(), name(e.gemm.type)) == types.end())
        types.emplace_back(name(e.gemm.type));
      continue;
    }
    if (auto reason = mismatch(e, p, out_dtype)) {
      if (!why) why = reason;  // of the kernel that would be taken first
      continue;
    }
    if (fits(e, p)) {
      best = &e;
      break;
    }
    // The smallest one takes what fits nowhere.
    if (best == nullptr || cluster_tile(e) < cluster_tile(*best)) best = &e;
  }
  if (best == nullptr) {
    if (why) return why;
    if (types.empty()) return fmt::format("target = {}: it has no kernel for a matrix product.", name(arch));
    return fmt::format("dtype = {}: the kernels for {} take {}.", name(p.dtype), name(arch), fmt::join(types, ", "));
  }
  if (auto reason = best->refuse({p.m, p.n, p.k})) return reason;
  selection = {best, chip_ctas(*best, p)};
  return {};
}

reference::Workload workload_of(const Example& example, const problem::Problem& p, uint64_t seed) {
  reference::Workload w = example.workload({p.m, p.n, p.k}, reference::Data::normal, seed);
  w.alpha = p.alpha;
  for (double& x : w.expected) x *= p.alpha;
  return w;
}

std::optional<std::string> take_operands(reference::Workload& w, std::vector<uint8_t> a, std::vector<uint8_t> b) {
  const auto [m, n, k] = w.shape;
  std::vector<uint8_t>* const given[] = {&a, &b};
  for (size_t i = 0; i < 2; ++i) {
    if (w.arrays[i].bytes.size() != given[i]->size()) {
      return fmt::format("{} has {} bytes, the matrix has {}.", w.arrays[i].name, given[i]->size(),
                         w.arrays[i].bytes.size());
    }
    w.arrays[i].bytes = std::move(*given[i]);
  }
  if (w.arrays.size() != 3 || w.expected.size() != size_t(m * n) || w.arrays[0].rows * w.arrays[0].columns != m * k) {
    return "this kernel does more than multiply; operands of your own are for a plain one.";
  }
  std::vector<double> x(size_t(m * k)), y(size_t(n * k));
  for (size_t i = 0; i < x.size(); ++i) x[i] = reference::element(w.arrays[0], int64_t(i));
  for (size_t i = 0; i < y.size(); ++i) y[i] = reference::element(w.arrays[1], int64_t(i));
  w.expected = reference::product_of(x, y, w.shape);
  for (double& d : w.expected) d *= w.alpha;
  return {};
}

}  // namespace warpwright::simulate

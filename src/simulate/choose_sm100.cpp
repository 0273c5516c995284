#include "simulate/choose_sm100.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace warpwright::simulate {
namespace {

const char* word_of(BlockScaling s) {
  switch (s) {
    case BlockScaling::mxfp8:
      return "mxfp8";
    case BlockScaling::mxfp4:
      return "mxfp4";
    case BlockScaling::nvfp4:
      return "nvfp4";
    case BlockScaling::w4a8:
      return "w4a8";
    default:
      return "";
  }
}

ScaledKernel dense_kernel(const catalog::Instance& instance, const DenseGemmSm100Config& c) {
  ScaledKernel k;
  k.instance = instance;
  k.scaling = word_of(c.scaling);
  k.tile_m = c.mma_m();
  k.tile_n = c.tile_n;
  k.tile_k = c.tile_k();
  k.cluster = c.cluster();
  k.format = c.scaling;
  k.type = c.type;
  k.out = c.out_type;
  return k;
}

bool serves(const ScaledKernel& k, const ScaledProduct& p) {
  return k.scaling == p.scaling && k.grouped == p.grouped && k.swiglu == p.swiglu;
}
bool is_named(const ScaledKernel& k, const std::string& plan) {
  return plan == catalog::name_of(k.instance) || plan == catalog::plan_name(k.instance);
}

}  // namespace

std::optional<ScaledKernel> scaled_kernel(const catalog::Instance& instance) {
  if (const auto* c = instance.as<DenseGemmSm100Config>()) {
    if (!c->scaled()) return {};
    return dense_kernel(instance, *c);
  }
  if (const auto* c = instance.as<BlockwiseFp8Sm100Config>()) {
    ScaledKernel k = dense_kernel(instance, c->dense());
    k.scaling = "blockwise";
    k.grouped = c->grouped;
    return k;
  }
  if (const auto* c = instance.as<GroupedGemmSm100Config>()) {
    if (!c->dense().scaled()) return {};
    ScaledKernel k = dense_kernel(instance, c->dense());
    k.grouped = true;
    k.swiglu = c->out_scaling != BlockScaling::none;
    k.clamped = k.swiglu && c->clamped_swiglu;
    k.tile_m = c->tile_tokens();
    k.tile_n = c->tile_columns();
    k.out_format = c->out_scaling;
    if (k.swiglu) k.out = c->out_scaling == BlockScaling::mxfp8 ? DType::e4m3 : DType::e2m1;
    return k;
  }
  return {};
}

Result<ScaledKernel> choose_sm100(const ScaledProduct& p) {
  std::vector<ScaledKernel> all;
  for (const catalog::Instance& instance : catalog::ahead()) {
    if (auto k = scaled_kernel(instance); k && serves(*k, p)) all.push_back(*k);
  }
  if (!p.plan.empty()) {
    for (const ScaledKernel& k : all)
      if (is_named(k, p.plan)) return k;
    // One that nobody compiled ahead.
    if (const auto other = catalog::parse_instance(p.plan)) {
      const auto k = scaled_kernel(*other);
      if (k && serves(*k, p)) {
        if (Status s = catalog::refuse(*other); !s) return s;
        return *k;
      }
    }
    std::vector<std::string> names;
    for (const ScaledKernel& k : all) names.push_back(catalog::name_of(k.instance));
    return Status(Code::invalid_argument,
                  names.empty() ? fmt::format("plan = {}: no kernel is made for such a product", p.plan)
                                : fmt::format("plan = {}: it is not one of {}", p.plan, fmt::join(names, ", ")));
  }
  const ScaledKernel* best = nullptr;
  std::vector<int> seen;
  for (const ScaledKernel& k : all) {
    if (k.clamped || std::find(seen.begin(), seen.end(), k.tile_m) != seen.end()) continue;
    seen.push_back(k.tile_m);
    best = &k;
    if (2 * p.rows > k.tile_m) break;
  }
  if (best == nullptr) {
    return Status(Code::unsupported,
                  fmt::format("{}{} products{}: no kernel for sm100 makes them", p.grouped ? "grouped " : "", p.scaling,
                              p.swiglu ? " with swiglu" : ""));
  }
  return *best;
}

}  // namespace warpwright::simulate

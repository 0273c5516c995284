#include "launch/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "launch/quantize_grid.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::launch {
namespace {

using quantizing::kCtaRows;
using quantizing::kThreads;
using quantizing::kWarpColumns;

constexpr struct {
  Quantization kind;
  DType type;
  const char* text;
} kForms[] = {
    {Quantization::token, DType::e4m3, "token_e4m3"}, {Quantization::token, DType::e5m2, "token_e5m2"},
    {Quantization::block, DType::e4m3, "block_e4m3"}, {Quantization::block, DType::e5m2, "block_e5m2"},
    {Quantization::mx, DType::e4m3, "mx_e4m3"},       {Quantization::mx, DType::e5m2, "mx_e5m2"},
    {Quantization::mx, DType::e2m1, "mx_e2m1"},       {Quantization::nvfp4, DType::e2m1, "nvfp4_e2m1"},
};
constexpr int kFormCount = int(std::size(kForms));

// The kinds of sources that the loads are written for.
constexpr const char* kSources[] = {"bf16_vectors", "fp16_vectors", "fp32_vectors", "elements"};
constexpr int kSourceCount = int(std::size(kSources));

int source_of(const QuantizeArgs& p) {
  if (!p.by_vectors) return 3;
  return p.source_type == DType::bf16 ? 0 : p.source_type == DType::fp16 ? 1 : 2;
}
int form_of(Quantization kind, DType type) {
  int form = 0;
  while (form < kFormCount - 1 && (kForms[form].kind != kind || kForms[form].type != type)) ++form;
  return form;
}

// In the order of quantize_entries().
int find_tensor_scale_entry(int source) { return 1 + source; }
int quantize_entry(int form, int source) { return 1 + kSourceCount + form * kSourceCount + source; }

QuantizeStep step_of(int entry, int64_t across, int64_t down) {
  constexpr int64_t most = 65535;  // along y; the kernels go on from there
  return {entry, unsigned(across), unsigned(std::clamp<int64_t>(down, 1, most)), unsigned(kThreads)};
}

}  // namespace

std::span<const std::string> quantize_entries() {
  static const std::vector<std::string> entries = [] {
    std::vector<std::string> list = {"begin_tensor_scale"};
    for (const char* source : kSources) list.push_back(fmt::format("find_tensor_scale_{}", source));
    for (const auto& form : kForms) {
      for (const char* source : kSources) list.push_back(fmt::format("quantize_{}_{}", form.text, source));
    }
    return list;
  }();
  return entries;
}

QuantizeSteps quantize_steps(Quantization kind, DType type, bool given_tensor_scale, const QuantizeArgs& p) {
  QuantizeSteps steps;
  const auto add = [&](const QuantizeStep& step) { steps.list[size_t(steps.count++)] = step; };
  const bool empty = p.rows == 0 || p.columns == 0;
  const int64_t across = ceil_div(p.columns, kWarpColumns);
  const int source = source_of(p);
  if (kind == Quantization::nvfp4 && !given_tensor_scale) {
    add({kBeginTensorScale});
    if (!empty) {
      // Each CTA ends with one atomic operation on the same word: a few rounds of CTAs, not one for every 32 rows.
      constexpr int64_t ctas = 2048;
      const int64_t down = std::min(std::max<int64_t>(ctas / across, 1), ceil_div(p.rows, kCtaRows));
      add(step_of(find_tensor_scale_entry(source), across, down));
    }
  }
  if (!empty) {
    const ScaleExtents extents = ScaleExtents::of(kind, p.layout, p.rows, p.columns);
    const int entry = quantize_entry(form_of(kind, type), source);
    // A CTA for each square, or for some rows of 256 columns.
    add(kind == Quantization::block ? step_of(entry, extents.columns, extents.padded_rows)
                                    : step_of(entry, across, ceil_div(extents.padded_rows, kCtaRows)));
  }
  return steps;
}

}  // namespace warpwright::launch

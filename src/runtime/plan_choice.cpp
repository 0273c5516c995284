#include "runtime/plan_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "device/launch.h"
#include "runtime/tuned.h"
#include "warpwright/kernel/sm90/dense_gemm.h"
#include "warpwright/kernel/sm90/skinny_gemm.h"

namespace warpwright::runtime {
namespace {

constexpr int kDense = int(std::size(device::kDenseGemmSm90));
constexpr int kSkinny = kDense + int(std::size(device::kSkinnyGemmSm90));
constexpr int kDenseVariants = kSkinny + int(std::size(device::kDenseVariantsSm90));
constexpr int kSkinnyVariants = kDenseVariants + int(std::size(device::kSkinnyVariantsSm90));

// What may be compiled for a shape: a choice of tiles like that of the plain kernels, but fewer, because each costs
// seconds the first time it is used.
constexpr DenseGemmConfig kDenseOnDemand[] = {
    {.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 2},
    {.tile_m = 128, .tile_n = 192, .stages = 5, .cluster = 2},
    {.tile_m = 128, .tile_n = 160, .stages = 5, .cluster = 2},
    {.tile_m = 128, .tile_n = 128, .stages = 6, .cluster = 2},
    {.tile_m = 128, .tile_n = 128, .stages = 6, .cluster = 1},
    {.tile_m = 64, .tile_n = 64, .stages = 8, .cluster = 1},
};
constexpr SkinnyGemmConfig kSkinnyOnDemand[] = {
    {.rows = 64, .tokens = 16, .split = 1},  {.rows = 64, .tokens = 16, .split = 4},
    {.rows = 64, .tokens = 32, .split = 2},  {.rows = 64, .tokens = 64, .split = 1},
    {.rows = 64, .tokens = 64, .split = 4},  {.rows = 64, .tokens = 128, .split = 2},
    {.rows = 64, .tokens = 128, .split = 4},
};
// How much faster by the model an instance must be for waiting until it is compiled. What threads load is hardly
// fitted: there it is compiled only if nothing else serves.
double worth_compiling(const GemmShape& shape) { return shape.load == Mover::threads ? 1e6 : 1.1; }

// A plain product of 8-bit operands without factors is one with factors that are not there: one instance for both.
Scaling scaling_for(const GemmShape& s) {
  const bool plain = s.epilogue == factor_and_conversion(s.epilogue.out) && s.batch == 1 && s.store == Mover::tma &&
                     s.load == Mover::tma;
  return s.scaling == Scaling::none && bits(s.dtype) == 8 && plain ? Scaling::tensor : s.scaling;
}

bool fits(const Plan& plan) { return plan.shared_memory_fits() && plan.registers_fit(); }

// The same tile and rings computing what the shape asks for.
DenseGemmConfig with_features(DenseGemmConfig c, const GemmShape& s) {
  c.type = s.dtype;
  c.mixed = s.mixed;
  c.epilogue = s.epilogue;
  c.a_major = s.a_major;
  c.b_major = s.b_major;
  c.promote_k = !s.promoted ? 0 : c.promote_k > 0 ? c.promote_k : c.tile_k();
  c.scaling = scaling_for(s);
  c.batched = s.batch != 1;
  c.load = s.load;
  c.store = s.load == Mover::threads ? Mover::threads : s.store;
  if (c.load == Mover::threads) c.cluster = 1;
  return deepest(c, c.stages);  // wider results leave room for fewer
}
SkinnyGemmConfig with_features(SkinnyGemmConfig c, const GemmShape& s) {
  c.type = s.dtype;
  c.epilogue = s.epilogue;
  c.scaling = scaling_for(s);
  c.promote_k = !s.promoted ? 0 : c.promote_k > 0 ? c.promote_k : c.tile_k();
  return deepest(c, c.stages);
}

// What of a shape the skinny kernel's configuration cannot say. Several tiles along the tokens read the weights several
// times, which only wide ones can afford.
bool skinny_takes(const GemmShape& s, int tokens) {
  return (s.m <= tokens || tokens >= 128) && s.batch == 1 && !s.mixed && s.a_major == Major::K &&
         s.b_major == Major::K && s.load == Mover::tma && s.store == Mover::tma;
}

// -1: not compiled ahead.
int number_of(const DenseGemmConfig& c) {
  if (const int i = device::find_config(device::kDenseGemmSm90, c); i >= 0) return i;
  const int i = device::find_config(device::kDenseVariantsSm90, c);
  return i < 0 ? -1 : kSkinny + i;
}
int number_of(const SkinnyGemmConfig& c) {
  if (const int i = device::find_config(device::kSkinnyGemmSm90, c); i >= 0) return kDense + i;
  const int i = device::find_config(device::kSkinnyVariantsSm90, c);
  return i < 0 ? -1 : kDenseVariants + i;
}

// Parts of a tile's depth, so that the parts fill the chip once and none is shallower than a few stages.
int splits_for(const DenseGemmConfig& c, const GemmShape& s, int multiprocessors) {
  if (c.split != DepthSplit::split_k) return 1;
  constexpr int64_t least_stages = 4;
  const int64_t tiles = std::max<int64_t>(1, c.tiles(int(s.m), int(s.n), int(s.batch)));
  const int64_t depth = (s.k + c.tile_k() - 1) / c.tile_k();
  const int64_t wanted = multiprocessors / c.cluster / tiles;
  return int(std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, depth / least_stages)));
}

}  // namespace

std::string GemmShape::text() const {
  const char* const layout =
      a_major == Major::K ? (b_major == Major::K ? "nt" : "nn") : (b_major == Major::K ? "tt" : "tn");
  std::string text = fmt::format(
      "{} {} {}x{}x{}", mixed ? fmt::format("{} x {}", name(dtype), name(b_dtype())) : name(dtype), layout, m, n, k);
  if (batch != 1) text += fmt::format(", batch {}", batch);
  if (epilogue.out != usual_result(dtype)) text += fmt::format(", {} result", name(epilogue.out));
  if (epilogue != factor_and_conversion(epilogue.out)) text += ", epilogue";
  if (scaling != Scaling::none) text += scaling == Scaling::tensor ? ", tensor scales" : ", row and column scales";
  if (promoted) text += ", promoted sums";
  if (load == Mover::threads) {
    text += ", operands not aligned for the TMA";
  } else if (store == Mover::threads) {
    text += ", result not aligned for the TMA";
  }
  return text;
}

int plan_count() { return kSkinnyVariants; }
AheadInstance instance_of(int plan) {
  if (plan < kDense) return {AheadTable::dense, plan};
  if (plan < kSkinny) return {AheadTable::skinny, plan - kDense};
  if (plan < kDenseVariants) return {AheadTable::dense_variant, plan - kSkinny};
  return {AheadTable::skinny_variant, plan - kDenseVariants};
}
Kernel kernel_of(int plan) {
  const auto [table, index] = instance_of(plan);
  switch (table) {
    case AheadTable::dense:
      return {device::kDenseGemmSm90[index], plan};
    case AheadTable::skinny:
      return {device::kSkinnyGemmSm90[index], plan};
    case AheadTable::dense_variant:
      return {device::kDenseVariantsSm90[index], plan};
    case AheadTable::skinny_variant:
      break;
  }
  return {device::kSkinnyVariantsSm90[index], plan};
}
Plan plan_of(const Kernel& kernel) {
  if (const DenseGemmConfig* c = kernel.dense()) return kernel::sm90::dense_gemm_plan(*c);
  return kernel::sm90::skinny_gemm_plan(*kernel.skinny());
}

bool can_serve(const Kernel& kernel, const GemmShape& shape) {
  if (const DenseGemmConfig* c = kernel.dense()) {
    if (shape.deterministic && c->split == DepthSplit::stream_k) return false;
    return refuse(*c) == nullptr && with_features(*c, shape) == *c;
  }
  const SkinnyGemmConfig& c = *kernel.skinny();
  return refuse(c) == nullptr && skinny_takes(shape, c.tokens) && with_features(c, shape) == c;
}

std::vector<Kernel> candidates(const GemmShape& shape, OnDemand on_demand) {
  std::vector<Kernel> list;
  for (int plan = 0; plan < plan_count(); ++plan) {
    if (can_serve(kernel_of(plan), shape)) list.push_back(kernel_of(plan));
  }
  if (on_demand == OnDemand::refused) return list;
  const auto add = [&](const auto& config) {
    const Kernel kernel{config};
    if (number_of(config) < 0 && can_serve(kernel, shape) && fits(plan_of(kernel))) list.push_back(kernel);
  };
  for (const DenseGemmConfig& c : kDenseOnDemand) add(with_features(c, shape));
  for (const SkinnyGemmConfig& c : kSkinnyOnDemand) add(with_features(deepest(c), shape));
  return list;
}

Result<Kernel> parse_plan(const std::string& name, const GemmShape& shape) {
  const bool number = !name.empty() && name.size() < 6 && name.find_first_not_of("0123456789") == std::string::npos;
  Kernel kernel;
  if (number) {
    const int plan = std::stoi(name);
    if (plan >= plan_count()) {
      return Status(Code::invalid_argument, fmt::format("plan = {}: the plans compiled ahead have the numbers 0 to {}.",
                                                        name, plan_count() - 1));
    }
    kernel = kernel_of(plan);
  } else {
    auto named = parse_plan_name(name);
    if (!named) return named.status();
    kernel = *named;
    if (const DenseGemmConfig* c = kernel.dense()) {
      const DenseGemmConfig config = with_features(*c, shape);
      kernel.config = config;
      kernel.plan = number_of(config);
    } else {
      const SkinnyGemmConfig config = with_features(*kernel.skinny(), shape);
      kernel.config = config;
      kernel.plan = number_of(config);
    }
  }
  const char* const why = kernel.dense() != nullptr ? refuse(*kernel.dense()) : refuse(*kernel.skinny());
  if (why != nullptr) return Status(Code::unsupported, fmt::format("plan = {}: {}.", name, why));
  if (!fits(plan_of(kernel))) {
    return Status(Code::unsupported, fmt::format("plan = {}: its rings or registers exceed what an SM has.", name));
  }
  if (!can_serve(kernel, shape)) {
    return Status(Code::unsupported,
                  fmt::format("plan = {}: it is {}, which cannot serve {}.", name, plan_text(kernel), shape.text()));
  }
  return kernel;
}

Result<Choice> choose(const GemmShape& shape, const Chip& chip, const std::string& plan, OnDemand on_demand) {
  const int sms = chip.multiprocessors;
  const auto complete = [&](Kernel kernel) {
    if (const DenseGemmConfig* c = kernel.dense(); c != nullptr && kernel.splits == 1) {
      kernel.splits = splits_for(*c, shape, sms);
    }
    return kernel;
  };
  const auto chosen = [&](const Kernel& kernel, ChosenBy by) {
    Choice choice{complete(kernel), estimate(complete(kernel), shape, sms), by, ""};
    choice.reason = reason_for(choice, shape, chip);
    return choice;
  };
  if (!plan.empty()) {
    auto named = parse_plan(plan, shape);
    if (!named) return named.status();
    return chosen(*named, ChosenBy::name);
  }
  if (const std::string tuned = tuned_plan(shape, chip); !tuned.empty()) {
    // A table made by another version may name what this one does not have.
    auto named = parse_plan(tuned, shape);
    if (named && (named->ahead() || on_demand == OnDemand::allowed)) return chosen(*named, ChosenBy::table);
  }
  const Kernel* best = nullptr;
  double least = 0;
  const std::vector<Kernel> list = candidates(shape, on_demand);
  for (const Kernel& kernel : list) {
    if (!is_modelled(kernel)) continue;
    const double us = estimate(complete(kernel), shape, sms).us * (kernel.ahead() ? 1 : worth_compiling(shape));
    if (best != nullptr && us >= least) continue;
    best = &kernel;
    least = us;
  }
  if (best == nullptr) {
    return Status(Code::unsupported, fmt::format("{}: no Hopper kernel of this version serves it.", shape.text()));
  }
  return chosen(*best, ChosenBy::model);
}

}  // namespace warpwright::runtime

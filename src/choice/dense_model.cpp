// The model of plan_choice.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "choice/tuned.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

// Fitted to brief times of every plan on the dense shapes of bench/shapes.tsv on an H200 (docs/evidence/hopper-log.md).
// They describe these kernels, not the chip: a term that never decides is not in the model.
constexpr double kClockGhz = 1.855;
constexpr double kMacsPerCycle = 2048;        // dense bf16 or fp16 of one SM
constexpr double kIngestBytesPerCycle = 57;   // into one SM, multicast or not
constexpr double kMemoryBytesPerUs = 4.68e6;  // of the chip
constexpr double kStageCycles = 31;           // a stage costs at least this: barriers and issue
constexpr double kSecondTerm = 0.14;          // of the second largest term shows beside the largest
constexpr double kPadding = 0.02;             // how much slower for each e-fold of padding in the tiles
constexpr double kDenseFixedUs = 6.6;         // launch, barriers, the first bytes, the last store
constexpr double kSkinnyFixedUs = 5.8;        // the loads start before the cluster has met
constexpr double kSplitFixedUs = 1.0;         // partial sums through distributed shared memory: once,
constexpr double kSplitWaveUs = 0.51;         // and for each wave
// Of what threads load, word by word: fitted to one shape, 4096x4096x4097 (docs/evidence/bench-unaligned.txt).
constexpr double kThreadIngest = 0.041;
constexpr double kFixupUs = 2.5;  // partial sums through device memory

double bytes_of(const GemmShape& s) {
  const double m = double(s.m), n = double(s.n), k = double(s.k);
  const auto size = [](DType type) { return double(bits(type)) / 8; };
  double bytes = m * k * size(s.dtype) + n * k * size(s.b_dtype()) + m * n * size(s.epilogue.out);
  if (s.epilogue.source) bytes += m * n * size(s.epilogue.source_type);
  if (s.block_scaling != BlockScaling::none) bytes += (m + n) * k / scale_block(s.block_scaling);
  if (s.epilogue.residual) bytes += m * n * size(s.epilogue.residual_type);
  return double(s.batch) * bytes;
}

struct Work {
  int cluster = 1;
  int64_t depth = 0;       // stages of one CTA for one tile
  double stage_bytes = 0;  // into one CTA
  double stage_macs = 0;   // of one CTA
  double mma_efficiency = 1;
  double ingest = kIngestBytesPerCycle;
  double tile_cycles = 0;  // beside the stages
  double fixed_us = 0;
  double wave_us = 0;
  bool even = false;  // the depth of the last wave is shared evenly by all clusters
};

// The largest term and a part of the second largest: they overlap, but not perfectly.
double combined(double tensor, double ingest, double memory) {
  double terms[] = {tensor, ingest, memory};
  std::sort(std::begin(terms), std::end(terms));
  return terms[2] + kSecondTerm * terms[1];
}

PlanEstimate estimate_work(PlanEstimate e, const Work& w, const GemmShape& s, int multiprocessors) {
  constexpr double us_of_cycle = 1e-3 / kClockGhz;
  e.clusters = resident_clusters(multiprocessors, w.cluster);
  if (e.tiles == 0) return e;
  e.waves = ceil_div(e.tiles, e.clusters);
  e.fill = double(e.tiles) / double(e.waves * e.clusters);
  const double waves = w.even ? std::max(1.0, double(e.tiles) / double(e.clusters)) : double(e.waves);
  const double macs_per_cycle = kMacsPerCycle * 16 / bits(s.dtype);
  const double steps = waves * double(w.depth);
  e.tensor_us = steps * std::max(w.stage_macs / macs_per_cycle / w.mma_efficiency, kStageCycles) * us_of_cycle;
  e.ingest_us = steps * w.stage_bytes / w.ingest * us_of_cycle;
  e.memory_us = bytes_of(s) / kMemoryBytesPerUs;
  // A last wave of few tiles moves few bytes, but its SMs take as long as any other's.
  const double full_waves = double(e.waves - 1);
  const double full_part = full_waves * double(e.clusters) / double(e.tiles);
  const double of_waves = full_waves / double(e.waves);
  const double busy =
      combined(e.tensor_us * of_waves, e.ingest_us * of_waves, e.memory_us * full_part) +
      combined(e.tensor_us / double(e.waves), e.ingest_us / double(e.waves), e.memory_us * (1 - full_part));
  const double padding = double(ceil_div(s.m, e.tile_m) * e.tile_m) * double(ceil_div(s.n, e.tile_n) * e.tile_n);
  e.us = w.fixed_us + waves * (w.wave_us + w.tile_cycles * us_of_cycle) +
         busy * (1 + kPadding * std::log(padding / (double(s.m) * double(s.n))));
  return e;
}

PlanEstimate estimate_skinny(const SkinnyGemmConfig& c, const GemmShape& s, int multiprocessors) {
  PlanEstimate e;
  Work w;
  e.tile_m = c.tokens;
  e.tile_n = c.rows;
  e.tile_k = c.tile_k();
  e.split = w.cluster = c.split;
  e.tiles = c.tiles(int(s.m), int(s.n));
  w.depth = ceil_div(ceil_div(s.k, c.tile_k()), c.split);
  w.stage_bytes = double(c.w_box().bytes() + c.x_box().bytes());
  w.stage_macs = double(c.rows) * c.tokens * c.tile_k();
  w.mma_efficiency = 0.6;  // N of 8 to 128: the tensor core waits for the rows of W
  w.tile_cycles = 555 + (c.warpgroups() == 2 ? 785 : 0);
  w.fixed_us = kSkinnyFixedUs + (c.split > 1 ? kSplitFixedUs : 0);
  w.wave_us = c.split > 1 ? kSplitWaveUs : 0;
  return estimate_work(e, w, s, multiprocessors);
}

PlanEstimate estimate_dense(const DenseGemmConfig& c, int splits, const GemmShape& s, int multiprocessors) {
  PlanEstimate e;
  Work w;
  e.tile_m = c.tile_m;
  e.tile_n = c.tile_n;
  e.tile_k = c.tile_k();
  e.split = splits;
  w.cluster = c.cluster;
  e.tiles = c.tiles(int(s.m), int(s.n), int(s.batch)) * splits;
  w.depth = ceil_div(ceil_div(s.k, c.tile_k()), splits);
  w.stage_bytes = double(c.stage_bytes());
  w.stage_macs = double(c.tile_m) * c.tile_n * c.tile_k();
  w.mma_efficiency = c.warpgroups() == 3                ? 0.88
                     : c.tile_n == 256                  ? 0.966
                     : c.tile_n > 128 && c.tile_n < 192 ? 0.924
                     : c.tile_n >= 192                  ? 0.941
                                                        : 1;  // bound by what the SM takes in
  if (c.load == Mover::threads) w.ingest *= kThreadIngest;
  // The output ring is handed on more often where the tile is no multiple of 64 columns.
  w.tile_cycles = 10.9 * c.tile_n * (c.tile_n % 64 == 0 ? 1 : 1.28);
  w.fixed_us = kDenseFixedUs + (c.split == DepthSplit::none ? 0 : kFixupUs);
  w.even = c.split == DepthSplit::stream_k;
  return estimate_work(e, w, s, multiprocessors);
}

}  // namespace

// Clusters do not span a GPC, so the larger ones leave SMs empty. cudaOccupancyMaxActiveClusters on an H200 of 132 SMs
// gives 132, 66, 39, 30 and 15 for clusters of 1, 2, 3, 4 and 8.
int64_t resident_clusters(int multiprocessors, int cluster) {
  const double usable = cluster <= 2 ? 1 : cluster == 3 ? 117.0 / 132 : 120.0 / 132;
  return std::max(1, int(multiprocessors * usable) / cluster);
}

bool is_modelled(const Instance& instance) {
  const auto* const c = instance.as<DenseGemmConfig>();
  if (c == nullptr) return true;
  const DenseGemmConfig usual;
  return c->output_stages <= 4 && !c->swapped && c->sharing == usual.sharing && c->group_rows == usual.group_rows &&
         c->split == usual.split && c->raster == usual.raster && c->raster_group == usual.raster_group &&
         !c->raster_by_columns && c->a_hint == usual.a_hint && c->b_hint == usual.b_hint && c->overlapped;
}

PlanEstimate estimate(const Instance& instance, const GemmShape& s, int multiprocessors) {
  if (const auto* c = instance.as<SkinnyGemmConfig>()) return estimate_skinny(*c, s, multiprocessors);
  return estimate_dense(*instance.as<DenseGemmConfig>(), std::max(1, instance.splits), s, multiprocessors);
}

Floor floor_of(const GemmShape& s, Arch arch) {
  const ChipFigures chip = chip_figures(arch);
  const double flops_per_us = chip.flops_per_us * 16 / std::max(bits(s.dtype), 8);
  Floor floor;
  floor.flops = 2.0 * double(s.batch) * double(s.m) * double(s.n) * double(s.k);
  floor.bytes = bytes_of(s);
  floor.tensor_us = floor.flops / flops_per_us;
  // A pair of 4-bit operands is multiplied at twice the rate of 8 bits.
  if (bits(s.dtype) == 4 && bits(s.b_dtype()) == 4) floor.tensor_us /= 2;
  floor.memory_us = floor.bytes / chip.bytes_per_us;
  return floor;
}

std::string reason_for(const Choice& choice, const GemmShape& shape, const Chip& chip) {
  const PlanEstimate& e = choice.estimate;
  const char* const bound = e.memory_us >= std::max(e.tensor_us, e.ingest_us) ? "device memory"
                            : e.ingest_us >= e.tensor_us                      ? "loads from L2"
                                                                              : "the tensor cores";
  std::string text;
  if (choice.by == ChosenBy::name) text = "it was named; ";
  if (choice.by == ChosenBy::table) {
    text = fmt::format("measured fastest for this shape on {} (tuned table); ", chip.name);
  }
  text += fmt::format("{} wave{} filled to {:.0f} %, bound by {}, {:.1f} us by the model", e.waves,
                      e.waves == 1 ? "" : "s", 100 * e.fill, bound, e.us);
  if (choice.by == ChosenBy::model) {
    Instance next;
    double least = 0;
    for (const Instance& instance : candidates(shape)) {
      if (instance.config == choice.instance.config || !is_modelled(instance)) continue;
      const double us = estimate(instance, shape, chip.multiprocessors).us;
      if (least != 0 && us >= least) continue;
      next = instance;
      least = us;
    }
    if (least != 0) text += fmt::format("; next best {} with {:.1f} us", plan_text(next), least);
  }
  if (shape.load == Mover::threads) {
    text += "; threads load it, because a row of A or B does not start at a multiple of 16 bytes";
  } else if (shape.store == Mover::threads) {
    text += "; threads store it, because a row of D does not start at a multiple of 16 bytes";
  }
  if (!catalog::is_ahead(choice.instance))
    text += "; not compiled ahead: NVRTC compiles it at first use and keeps it on disk";
  return text;
}

}  // namespace warpwright::choice

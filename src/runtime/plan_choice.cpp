#include "runtime/plan_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "device/launch.h"
#include "warpwright/kernel/sm90/dense_gemm.h"
#include "warpwright/kernel/sm90/skinny_gemm.h"

namespace warpwright::runtime {
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

constexpr int kDense = int(std::size(device::kDenseGemmSm90));
constexpr int kSkinny = int(std::size(device::kSkinnyGemmSm90));

const DenseGemmConfig& dense(int plan) { return device::kDenseGemmSm90[plan]; }
const SkinnyGemmConfig& skinny(int plan) { return device::kSkinnyGemmSm90[plan - kDense]; }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Clusters do not span a GPC, so the larger ones leave SMs empty. cudaOccupancyMaxActiveClusters on an H200 of 132 SMs
// gives 132, 66, 39, 30 and 15 for clusters of 1, 2, 3, 4 and 8.
int64_t resident_clusters(int multiprocessors, int cluster) {
  const double usable = cluster <= 2 ? 1 : cluster == 3 ? 117.0 / 132 : 120.0 / 132;
  return std::max(1, int(multiprocessors * usable) / cluster);
}

struct Work {
  int cluster = 1;
  int64_t depth = 0;       // stages of one CTA for one tile
  double stage_bytes = 0;  // into one CTA
  double stage_macs = 0;   // of one CTA
  double mma_efficiency = 1;
  double tile_cycles = 0;  // beside the stages
  double fixed_us = 0;
  double wave_us = 0;
};

// The largest term and a part of the second largest: they overlap, but not perfectly.
double combined(double tensor, double ingest, double memory) {
  double terms[] = {tensor, ingest, memory};
  std::sort(std::begin(terms), std::end(terms));
  return terms[2] + kSecondTerm * terms[1];
}

PlanEstimate estimate_work(PlanEstimate e, const Work& w, const GemmShape& s, int multiprocessors) {
  constexpr double us_of_cycle = 1e-3 / kClockGhz;
  const double m = double(s.m), n = double(s.n), k = double(s.k);
  if (e.tiles == 0) return e;
  const int64_t clusters = resident_clusters(multiprocessors, w.cluster);
  e.waves = ceil_div(e.tiles, clusters);
  e.fill = double(e.tiles) / double(e.waves * clusters);
  const double steps = double(e.waves) * double(w.depth);
  e.tensor_us = steps * std::max(w.stage_macs / kMacsPerCycle / w.mma_efficiency, kStageCycles) * us_of_cycle;
  e.ingest_us = steps * w.stage_bytes / kIngestBytesPerCycle * us_of_cycle;
  e.memory_us = 2 * (m * k + n * k + m * n) / kMemoryBytesPerUs;
  // A last wave of few tiles moves few bytes, but its SMs take as long as any other's.
  const double full_waves = double(e.waves - 1);
  const double full_part = full_waves * double(clusters) / double(e.tiles);
  const double of_waves = full_waves / double(e.waves);
  const double busy =
      combined(e.tensor_us * of_waves, e.ingest_us * of_waves, e.memory_us * full_part) +
      combined(e.tensor_us / double(e.waves), e.ingest_us / double(e.waves), e.memory_us * (1 - full_part));
  const double padding = double(ceil_div(s.m, e.tile_m) * e.tile_m) * double(ceil_div(s.n, e.tile_n) * e.tile_n);
  e.us = w.fixed_us + double(e.waves) * (w.wave_us + w.tile_cycles * us_of_cycle) +
         busy * (1 + kPadding * std::log(padding / (m * n)));
  return e;
}

}  // namespace

int plan_count() { return kDense + kSkinny; }
bool is_skinny(int plan) { return plan >= kDense; }
int instance_of(int plan) { return is_skinny(plan) ? plan - kDense : plan; }
DType plan_type(int plan) { return is_skinny(plan) ? skinny(plan).type : dense(plan).type; }

std::string plan_text(int plan) {
  if (is_skinny(plan)) {
    const SkinnyGemmConfig& c = skinny(plan);
    return fmt::format("{} weights x {} tokens x{}, {} stages, split {}", c.rows, c.tokens, c.tile_k(), c.stages,
                       c.split);
  }
  const DenseGemmConfig& c = dense(plan);
  return fmt::format("{}x{}x{}, {} stages, cluster {}{}", c.tile_m, c.tile_n, c.tile_k(), c.stages, c.cluster,
                     c.axis == ClusterAxis::n ? " along n" : "");
}

Plan plan_of(int plan) {
  return is_skinny(plan) ? kernel::sm90::skinny_gemm_plan(skinny(plan)) : kernel::sm90::dense_gemm_plan(dense(plan));
}

bool can_serve(int plan, const GemmShape& shape) {
  return plan_type(plan) == shape.dtype && (!is_skinny(plan) || shape.m <= skinny(plan).tokens);
}

PlanEstimate estimate(int plan, const GemmShape& s, int multiprocessors) {
  PlanEstimate e;
  Work w;
  e.plan = plan;
  if (is_skinny(plan)) {
    const SkinnyGemmConfig& c = skinny(plan);
    e.tile_m = c.tokens;
    e.tile_n = c.rows;
    e.tile_k = c.tile_k();
    e.split = w.cluster = c.split;
    e.tiles = ceil_div(s.n, c.rows);
    w.depth = ceil_div(ceil_div(s.k, c.tile_k()), c.split);
    w.stage_bytes = double(c.w_box().bytes() + c.x_box().bytes());
    w.stage_macs = double(c.rows) * c.tokens * c.tile_k();
    w.mma_efficiency = 0.6;  // N of 8 to 128: the tensor core waits for the rows of W
    w.tile_cycles = 555 + (c.warpgroups() == 2 ? 785 : 0);
    w.fixed_us = kSkinnyFixedUs + (c.split > 1 ? kSplitFixedUs : 0);
    w.wave_us = c.split > 1 ? kSplitWaveUs : 0;
  } else {
    const DenseGemmConfig& c = dense(plan);
    e.tile_m = c.tile_m;
    e.tile_n = c.tile_n;
    e.tile_k = c.tile_k();
    w.cluster = c.cluster;
    e.tiles = ceil_div(s.m, c.tile_m * c.cluster_m()) * ceil_div(s.n, c.tile_n * c.cluster_n());
    w.depth = ceil_div(s.k, c.tile_k());
    w.stage_bytes = double(c.stage_bytes());
    w.stage_macs = double(c.tile_m) * c.tile_n * c.tile_k();
    w.mma_efficiency = c.warpgroups() == 3                ? 0.88
                       : c.tile_n == 256                  ? 0.966
                       : c.tile_n > 128 && c.tile_n < 192 ? 0.924
                       : c.tile_n >= 192                  ? 0.941
                                                          : 1;  // bound by what the SM takes in
    // The output ring is handed on more often where the tile is no multiple of 64 columns.
    w.tile_cycles = 10.9 * c.tile_n * (c.tile_n % 64 == 0 ? 1 : 1.28);
    w.fixed_us = kDenseFixedUs;
  }
  return estimate_work(e, w, s, multiprocessors);
}

Floor floor_of(const GemmShape& s) {
  // What the chip cannot exceed: 4096 FLOP a cycle on each of 132 SMs at 1.98 GHz, and the datasheet's 4.8 TB/s. Under
  // load power allows less: about 800 TFLOP/s for one launch, 650 to 680 sustained; a copy reaches 4.3 TB/s.
  constexpr double flops_per_us = 4096.0 * 132 * 1.98e3, copy_bytes_per_us = 4.8e6;
  const double m = double(s.m), n = double(s.n), k = double(s.k);
  return {2 * m * n * k / flops_per_us, 2 * (m * k + n * k + m * n) / copy_bytes_per_us};
}

int choose_plan(const GemmShape& shape, int multiprocessors) {
  int best = -1;
  double least = 0;
  for (int plan = 0; plan < plan_count(); ++plan) {
    if (!can_serve(plan, shape)) continue;
    const double us = estimate(plan, shape, multiprocessors).us;
    if (best >= 0 && us >= least) continue;
    best = plan;
    least = us;
  }
  return best;
}

std::string reason_for(const PlanEstimate& e, const GemmShape& shape, int multiprocessors) {
  const char* const bound = e.memory_us >= std::max(e.tensor_us, e.ingest_us) ? "device memory"
                            : e.ingest_us >= e.tensor_us                      ? "loads from L2"
                                                                              : "the tensor cores";
  PlanEstimate next;
  for (int plan = 0; plan < plan_count(); ++plan) {
    if (plan == e.plan || !can_serve(plan, shape)) continue;
    const PlanEstimate other = estimate(plan, shape, multiprocessors);
    if (next.plan < 0 || other.us < next.us) next = other;
  }
  std::string text = fmt::format("{} waves filled to {:.0f} %, bound by {}, {:.1f} us by the model", e.waves,
                                 100 * e.fill, bound, e.us);
  if (next.plan >= 0) text += fmt::format("; next best {} with {:.1f} us", plan_text(next.plan), next.us);
  return text;
}

}  // namespace warpwright::runtime

// The model by which products on Hopper are ranked: waves of tiles whose tensor, ingest, L2 and memory times are
// combined, a factor for each plan that was measured, and trees for what is left. bench/choice/model.py is the same
// model, and bench/choice/fit.py fits it: to dense products, to those with blockwise scales and to groups.
#pragma once
#include <cstdint>
#include <span>

#include "choice/dense.h"
#include "choice/fit/fit.h"
#include "warpwright/grouped.h"

namespace warpwright::choice {

// What the model reads of a product. Groups are a batch of products with the rows, or the depth, that one usually has.
struct WaveWork {
  const Fit* fit = &kDenseFit;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  DType a_type = DType::bf16, b_type = DType::bf16;
  Major a_major = Major::K, b_major = Major::K;
  double result_bytes = 0;     // what is written and read beside A and B
  int own_operations = 0;      // of a formula in the epilogue, for one element
  bool leaves_blocks = false;  // blocks of 64 rows that a group does not have are not multiplied
  bool measured = true;        // products of this kind were among those that the trees were fitted to
};
WaveWork wave_work(const GemmShape& shape);
WaveWork wave_work(const GroupedProblem& problem);

// What the model reads of a plan.
struct PlanFacts {
  bool skinny = false, ping_pong = false, halves = false, swapped = false, stream_k = false, split_k = false;
  double load_cycles = 0;   // of a stage, where threads load
  double store_factor = 1;  // on `result`, where threads store
  bool numbered = false;    // the plan has a factor of its own
  int tile_m = 0, tile_n = 0, tile_k = 0;
  int cluster = 1, cluster_m = 1, cluster_n = 1;
  int sharers = 1;  // CTAs of a cluster that share the depth of a tile
  int stages = 0, outputs = 0;
  int mma_m = 0, group_n = 0, group_blocks = 1, warpgroups = 1;
  double factor = 1;
  double step = 0, result = 0;  // cycles of a stage's MMAs, and of a tile's result
};
PlanFacts plan_facts(const Instance& instance, const Fit& fit);

// The terms of one plan, in cycles, for the full waves together and for the last one.
struct Terms {
  const PlanFacts* plan = nullptr;
  int parts = 1;  // parts of a tile's depth, by split_k
  int64_t jobs = 0, resident = 1, waves = 0, rows = 0, columns = 0, depth = 0;
  double tensor = 0, ingest = 0, l2 = 0, memory = 0;
  double last_wave = 0, last_tensor = 0, last_ingest = 0;
  double asked = 0;     // rows of 128 bytes, of L2
  double fixed_us = 0;  // launch, exchange of sums, the last result
  double plain_us = 0;  // without factor and trees
  double us = 0;        // with the plan's factor
  double own_us = 0;    // the time of a formula in the epilogue, on top of all of these
};

class WaveModel {
 public:
  WaveModel(const WaveWork& work, int multiprocessors);
  Terms terms(const PlanFacts& plan, int parts) const;
  // No more than terms().us, in a fraction of the time.
  double least_us(const PlanFacts& plan, int parts) const;
  // The times of at most kMostCorrected plans as the trees see them. With what each time counts, for which the least is
  // wanted, only the plans that may have it get all trees; the others are given a time that counts no less than theirs.
  static constexpr int kMostCorrected = 16;
  void correct(std::span<const Terms> plans, std::span<double> us, std::span<const double> cost = {}) const;
  PlanEstimate estimate(const Terms& terms, double us) const;

 private:
  double own_us(const Terms& terms) const;

  WaveWork work_;
  const Numbers& numbers_;
  int sms_;
  int64_t resident_[9] = {};  // by CTAs of a cluster
  int64_t depth_bytes_ = 0;
  double batch_ = 1;
  double a_lines_ = 1, b_lines_ = 1;  // lines that 128 bytes of a row touch on average
  bool a_sectors_ = false, b_sectors_ = false;
  double moved_ = 0;
  double a_lookups_ = 0, b_lookups_ = 0;  // cycles in which L2 is asked for a slice of A or B once
  double least_memory_ = 0;               // cycles of device memory where all SMs ask
};

}  // namespace warpwright::choice

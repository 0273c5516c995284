// Which kernel serves a matrix product on Hopper: the tuned table where it has an answer, otherwise the model of
// wave_model.h. The tool's commands and the host API all ask choose(). Needs no GPU.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "catalog/instance.h"
#include "problem/lower.h"
#include "warpwright/core/chip.h"
#include "warpwright/kernel/config.h"
#include "warpwright/status.h"

namespace warpwright::choice {

using catalog::Instance;
using problem::GemmShape;

// CTAs of a cluster of a dense or skinny instance.
int cluster_of(const Instance& instance);
// "128x256x64, 4 stages, cluster 2", or "64 weights x 16 tokens x64, 20 stages, split 4": for people.
std::string plan_text(const Instance& instance);
// The instance that the name of a plan, or of an instance, means for a shape. An invalid_argument or unsupported status
// otherwise.
Result<Instance> parse_plan(const std::string& name, const GemmShape& shape);

// Whether the instance computes exactly this product.
bool can_serve(const Instance& instance, const GemmShape& shape);
// Whether instances that were not compiled ahead may be taken.
enum class OnDemand : bool { refused, allowed };
// The instances compiled ahead that serve the shape, then the best by the model of those that would be compiled for it.
std::vector<Instance> candidates(const GemmShape& shape, OnDemand on_demand = OnDemand::allowed);

// The chip the choice is made for.
struct Chip {
  std::string name;  // as the driver calls it: a tuned table is for one name
  int multiprocessors = chip_figures(Arch::sm90).multiprocessors;
  Arch arch = Arch::sm90;  // what it is asked to run: an H200 runs the kernels of sm80 too
  int driver = 0;          // version of the driver, for which measured plans are kept; 0: there is none
};
// What is assumed where there is no GPU to ask, and what the simulator of an architecture represents.
Chip simulated_chip(Arch arch);
inline Chip h200() { return simulated_chip(Arch::sm90); }

// What the model says about one instance.
struct PlanEstimate {
  int tile_m = 0, tile_n = 0, tile_k = 0;  // the tile of D, and along the depth
  int split = 1;                           // CTAs that share the depth of a tile
  int64_t tiles = 0;                       // tiles of the whole grid, in clusters
  int64_t clusters = 0;                    // clusters that run at once
  int64_t waves = 0;
  double fill = 0;                                     // tiles over what the waves could hold
  double us = 0;                                       // modelled
  double memory_us = 0, tensor_us = 0, ingest_us = 0;  // the terms whose largest decides
};
// How many clusters of this many CTAs run at once.
int64_t resident_clusters(int multiprocessors, int cluster);
PlanEstimate estimate(const Instance& instance, const GemmShape& shape, int multiprocessors);
// Whether the model can tell this plan from others: rasters, cache hints and loops that do not overlap are not among
// its terms, and such a plan is ranked only where it was measured and has a number of its own.
bool is_modelled(const Instance& instance);

// The least time no kernel can beat: the product at the tensor cores' rate, or every operand moved once.
struct Floor {
  double tensor_us = 0, memory_us = 0;
  double flops = 0, bytes = 0;
  double us() const { return tensor_us > memory_us ? tensor_us : memory_us; }
};
Floor floor_of(const GemmShape& shape, Arch arch = Arch::sm90);

enum class ChosenBy : uint8_t { name, table, model, measured };
const char* word_of(ChosenBy by);
// How the reason of a plan begins that was named.
inline constexpr const char* kNamed = "it was named";
struct Choice {
  Instance instance;
  PlanEstimate estimate;
  ChosenBy by = ChosenBy::model;
  std::string reason;      // a sentence without a full stop
  double measured_us = 0;  // by the table or the runs that it comes from; 0: from none
};
// `plan`: the name of a plan or of an instance to take instead of the choice, or empty. Returns an unsupported status
// when nothing serves the shape. What has to be compiled first is taken only where it is clearly faster than all that
// was compiled ahead.
Result<Choice> choose(const GemmShape& shape, const Chip& chip, const std::string& plan = "",
                      OnDemand on_demand = OnDemand::allowed);
// The best by the model, `count` at most, the best first.
std::vector<Choice> best_by_model(const GemmShape& shape, const Chip& chip, size_t count, OnDemand on_demand);

}  // namespace warpwright::choice

// The numbers that bench/choice/fit.py fits to measured times, a set for each family of products: of the structured
// model, of each plan, and boosted trees. The files beside this one are written by the script.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace warpwright::choice {

// What wave_model.cpp computes with; bench/choice/model.py has the same names.
struct Numbers {
  double rate_plain, rate_alone, rate_skinny, rate_ping_pong, rate_tall, rate_three, rate_halves;
  double narrow_mma, stage;
  double ingest, outside, own_lines;
  double l2, l2_straddled, l2_sectors;
  double memory, memory_straddled, memory_result, memory_few;
  double fixed_dense, fixed_skinny, cluster_2, cluster_3, cluster_4, cluster_8;
  double exchange, exchange_tile, splittable, fixup, fixup_part;
  double result_dense, result_column, result_skinny, ping_pong_shows, last_result, wave;
};
// The logarithm of a plan's own factor, by its name without the stages.
struct PlanNumber {
  std::string_view plan;
  double log_factor;
};
// The children are `step` nodes further and the one after it, the second where the feature is above the value. A leaf
// has no step, holds its value, and looks at a feature that is below any.
struct Node {
  float value;
  uint8_t feature;
  uint8_t step;
};
// What the trees look at, in the order of bench/choice/model.py.
enum Feature : uint8_t {
  of_skinny,
  of_tile_m,
  of_tile_n,
  of_mma_m,
  of_cluster_m,
  of_cluster_n,
  of_sharers,
  of_parts,
  of_swapped,
  of_stream_k,
  of_split_k,
  of_ping_pong,
  of_group_blocks,
  of_outputs,
  of_stages,
  of_lines,
  of_sectors,
  of_waves,
  of_fill,
  of_last,
  of_depth,
  of_m,
  of_n,
  of_k,
  of_batch,
  of_size,
  of_padded_m,
  of_padded_n,
  of_us,
  of_ctas,
  of_reuse,
  of_tensor,
  of_ingest,
  of_l2,
  of_memory,
  of_last_wave,
  of_last_tensor,
  of_last_ingest,
  of_fixed,
  of_result,
  of_halves,
  of_warpgroups,
  of_group_n,
  of_cluster,
  of_area,
  of_intensity,
  of_padded,
  of_inside_m,
  of_inside_n,
  of_in_flight,
  of_stages_of_depth,
  of_entered,
  of_own_entered,
  kFeatures
};
constexpr int kListed = 16;  // this many plans, the best without the trees, are compared with them

struct Fit {
  Numbers numbers;
  std::span<const PlanNumber> plans;  // sorted
  std::span<const uint16_t> roots;    // of the trees
  std::span<const Node> nodes;
};
extern const Fit kDenseFit, kBlockwiseFit, kGroupedFit;

}  // namespace warpwright::choice

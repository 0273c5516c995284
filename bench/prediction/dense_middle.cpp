#include "prediction/instances.h"

namespace warpwright::prediction {

void add_dense_middle(std::vector<Instance>& list) {
  list.push_back(dense<deepest({.tile_m = 128, .tile_n = 176})>());
  list.push_back(dense<deepest({.tile_m = 128, .tile_n = 160})>());
  list.push_back(dense<DenseGemmConfig{.tile_m = 128, .tile_n = 160, .stages = 5, .output_stages = 5}>());
  list.push_back(dense<deepest({.tile_m = 128, .tile_n = 144})>());
  list.push_back(dense<DenseGemmConfig{.tile_m = 128, .tile_n = 128, .stages = 6, .cluster = 2}>());
  list.push_back(dense<DenseGemmConfig{.tile_m = 128, .tile_n = 128, .stages = 6, .cluster = 1}>());
  list.push_back(dense<deepest({.tile_m = 128, .tile_n = 64, .axis = ClusterAxis::n})>());
  list.push_back(dense<deepest({.tile_m = 128, .tile_n = 64, .cluster = 1})>());
}

}  // namespace warpwright::prediction

#include "prediction/instances.h"

namespace warpwright::prediction {

void add_dense_large(std::vector<Instance>& list) {
  list.push_back(dense<DenseGemmConfig{.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 2}>());
  list.push_back(dense<DenseGemmConfig{.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 1}>());
  list.push_back(dense<DenseGemmConfig{.tile_m = 128, .tile_n = 256, .stages = 3, .output_stages = 4}>());
  list.push_back(dense<deepest({.tile_m = 128, .tile_n = 224})>());
  list.push_back(dense<DenseGemmConfig{.tile_m = 128, .tile_n = 224, .stages = 4, .output_stages = 5}>());
  list.push_back(dense<deepest({.tile_m = 128, .tile_n = 192})>());
  list.push_back(dense<deepest({.tile_m = 128, .tile_n = 192, .axis = ClusterAxis::n})>());
  list.push_back(dense<deepest({.tile_m = 128, .tile_n = 192, .group_rows = 128, .schedule = Schedule::ping_pong})>());
}

}  // namespace warpwright::prediction

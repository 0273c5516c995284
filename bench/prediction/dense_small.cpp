#include "prediction/instances.h"

namespace warpwright::prediction {

void add_dense_small(std::vector<Instance>& list) {
  list.push_back(dense<deepest({.tile_m = 64, .tile_n = 256, .cluster = 1, .schedule = Schedule::ping_pong})>());
  list.push_back(dense<deepest({.tile_m = 64, .tile_n = 224, .axis = ClusterAxis::n}, 5)>());
  list.push_back(dense<deepest({.tile_m = 64, .tile_n = 128})>());
  list.push_back(dense<deepest({.tile_m = 64, .tile_n = 128, .schedule = Schedule::ping_pong})>());
  list.push_back(dense<deepest({.tile_m = 64, .tile_n = 80, .axis = ClusterAxis::n}, 16)>());
  list.push_back(dense<deepest({.tile_m = 64, .tile_n = 64, .cluster = 1}, 12)>());
  list.push_back(dense<deepest({.tile_m = 64, .tile_n = 64, .axis = ClusterAxis::n}, 16)>());
  list.push_back(dense<deepest({.tile_m = 64, .tile_n = 48, .axis = ClusterAxis::n}, 16)>());
}

}  // namespace warpwright::prediction

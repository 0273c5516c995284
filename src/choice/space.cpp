#include "choice/space.h"

#include <utility>

namespace warpwright::choice {
namespace {

struct Cluster {
  int rows, columns;
};
constexpr Cluster kClusters[] = {{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}, {2, 2}, {4, 2}, {2, 4}};
constexpr Cluster kSmall[] = {{1, 1}, {2, 1}, {1, 2}};

DenseGemmConfig clustered(DenseGemmConfig c, Cluster of) {
  c.cluster = of.rows * of.columns;
  c.axis = of.rows == 1 && of.columns > 1 ? ClusterAxis::n : ClusterAxis::m;
  c.across = of.rows > 1 ? of.columns : 1;
  return c;
}

class Space {
 public:
  // Tiles whose sides are `mma_m` and, in steps, `least` to `most` along the N side of the MMAs.
  template <class Clusters>
  void add(const DenseGemmConfig& like, int mma_m, int least, int most, const Clusters& clusters) {
    for (const Cluster& cluster : clusters) {
      TileRow row{least, like.swapped ? 8 : 16, {}};
      for (int side = least; side <= most; side += row.step) {
        DenseGemmConfig c = clustered(like, cluster);
        (c.swapped ? c.tile_n : c.tile_m) = mma_m;
        (c.swapped ? c.tile_m : c.tile_n) = side;
        // Small tiles leave room for more stages than most depths fill.
        c = deepest(c, mma_m + side > 128 ? 12 : 20);
        if (c.stages < 3 || refuse(c) != nullptr) c.stages = 0;
        row.configs.push_back(c);
      }
      rows_.push_back(std::move(row));
    }
  }
  std::vector<TileRow> take() { return std::move(rows_); }

 private:
  std::vector<TileRow> rows_;
};

}  // namespace

std::vector<TileRow> tile_space() {
  Space space;
  for (const DepthSplit split : {DepthSplit::none, DepthSplit::split_k}) {
    for (const int side : {64, 128}) {
      space.add({.split = split}, side, 32, 256, kClusters);
      space.add({.swapped = true, .split = split}, side, 8, 256, kClusters);
    }
    space.add({.swapped = true, .split = split}, 192, 8, 128, kSmall);
  }
  space.add({.swapped = true, .group_rows = 128, .sharing = TileSharing::ping_pong}, 128, 64, 208, kSmall);
  space.add({.group_rows = 128, .sharing = TileSharing::ping_pong}, 128, 64, 208, kSmall);
  space.add({.swapped = true, .group_rows = 128}, 256, 8, 128, kSmall);
  space.add({.swapped = true, .group_rows = 192, .sharing = TileSharing::halves}, 192, 128, 256, kSmall);
  return space.take();
}

}  // namespace warpwright::choice

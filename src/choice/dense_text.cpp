#include <fmt/format.h>

#include <string>

#include "choice/dense.h"

namespace warpwright::choice {

std::string plan_text(const Instance& instance) {
  if (const auto* c = instance.as<SkinnyGemmConfig>()) {
    return fmt::format("{} weights x {} tokens x{}, {} stages, split {}", c->rows, c->tokens, c->tile_k(), c->stages,
                       c->split);
  }
  const DenseGemmConfig& c = *instance.as<DenseGemmConfig>();
  const std::string cluster =
      c.across > 1 ? fmt::format("{}x{}", c.cluster_m(), c.across)
                   : fmt::format("{}{}", c.cluster, c.cluster > 1 && c.axis == ClusterAxis::n ? " along n" : "");
  std::string text = fmt::format("{}x{}x{}, {} stages, cluster {}", c.tile_m, c.tile_n, c.tile_k(), c.stages, cluster);
  if (c.sharing == TileSharing::ping_pong) text += ", ping-pong";
  if (c.sharing == TileSharing::halves) text += ", halved between two warpgroups";
  if (c.swapped) text += ", operands swapped";
  if (c.split == DepthSplit::split_k) text += fmt::format(", k in {} parts", instance.splits);
  if (c.split == DepthSplit::stream_k) text += ", stream-K";
  if (c.load == Mover::threads) {
    text += ", loaded and stored by threads";
  } else if (c.store == Mover::threads) {
    text += ", stored by threads";
  }
  return text;
}

}  // namespace warpwright::choice

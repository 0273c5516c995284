#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "choice/tuned.h"

namespace warpwright::choice {

const char* word_of(ChosenBy by) {
  switch (by) {
    case ChosenBy::name:
      return "name";
    case ChosenBy::table:
      return "table";
    case ChosenBy::measured:
      return "measured";
    case ChosenBy::model:
      break;
  }
  return "model";
}

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

std::string reason_for(const Choice& choice, const GemmShape& shape, const Chip& chip, const Instance* next,
                       double next_us) {
  const PlanEstimate& e = choice.estimate;
  const char* const bound = e.memory_us >= std::max(e.tensor_us, e.ingest_us) ? "device memory"
                            : e.ingest_us < e.tensor_us                       ? "the tensor cores"
                            : shape.load == Mover::threads                    ? "the threads that load"
                                                                              : "loads from L2";
  std::string text;
  if (choice.by == ChosenBy::name) text = fmt::format("{}; ", kNamed);
  if (choice.by == ChosenBy::table) {
    text =
        fmt::format("measured fastest for this shape on {}, {:.1f} us (tuned table); ", chip.name, choice.measured_us);
  }
  text += fmt::format("{} wave{} filled to {:.0f} %, bound by {}, {:.1f} us by the model", e.waves,
                      e.waves == 1 ? "" : "s", 100 * e.fill, bound, e.us);
  if (next != nullptr) text += fmt::format("; next best {} with {:.1f} us", plan_text(*next), next_us);
  if (shape.load == Mover::threads) {
    text += "; threads load it, because a row of A or B does not start at a multiple of 16 bytes";
  } else if (shape.store == Mover::threads) {
    text += "; threads store it, because a row of D does not start at a multiple of 16 bytes";
  }
  if (!catalog::is_ahead(choice.instance)) {
    text += "; not compiled ahead: NVRTC compiles it at first use and keeps it on disk";
  }
  return text;
}

}  // namespace warpwright::choice

// Stages of grouped_gemm.h that have elements of other groups along k: threads make them zero before they are
// multiplied.
#pragma once
#include "warpwright/core/layout.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/handoff.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Releases a stage that threads may have written to: a peer's TMA, which writes there next, must see that they have.
template <int Cluster>
struct ReleaseCleared {
  const bool* cleared = nullptr;
  WW_FN static void acquired(machine::here) {}
  WW_FN void release(Shared<Mbarrier> empty, machine::here at) const {
    if (*cleared) {
      pipeline::ReleaseToCluster<Cluster, pipeline::Readers::threads>::release(empty, at);
    } else {
      pipeline::ReleaseToCluster<Cluster, pipeline::Readers::async>::release(empty, at);
    }
  }
};

// By a warpgroup: elements in front of `begin`, fewer than 16 bytes, and from `end` on, of `count` rows of an operand.
template <GroupedGemmConfig C>
WW_FN void clear_lines(Shared<uint8_t> lines, int count, int begin, int end) {
  constexpr SmemTile stage{C.type, C.tile_m > C.tile_n ? C.tile_m : C.tile_n, C.tile_k()};
  constexpr int in_unit = 128 / bits(C.type);
  for (int line = int(machine::thread_index()) % 128; line < count; line += 128) {
    const auto clear = [&](int k) {
      machine::store(lines.plus_bytes(stage.offset(line, k)).template as<uint16_t>(), uint16_t(0));
    };
    for (int k = 0; k < begin; ++k) clear(k);
    int k = end;
    for (; k % in_unit != 0; ++k) clear(k);
    for (; k < C.tile_k(); k += in_unit) {
      machine::store(lines.plus_bytes(stage.offset(line, k)).template as<Vec<uint32_t, 4>>(), Vec<uint32_t, 4>{});
    }
  }
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

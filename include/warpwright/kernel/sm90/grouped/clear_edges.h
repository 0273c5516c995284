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

// By a warpgroup: rows of k from `end` on, of `count` panels of an operand that is stored along m or n. A row is a line
// of the swizzle, which moves nothing out of it.
template <GroupedGemmConfig C>
WW_FN void clear_panels(Shared<uint8_t> panels, int count, int end) {
  constexpr int units = int(swizzle_bytes(Swizzle::b128)) / 16;  // units of 16 bytes in a row
  const int thread = int(machine::thread_index()) % 128, each = (C.tile_k() - end) * units;
  for (int panel = 0; panel < count; ++panel) {
    const Shared<uint8_t> first =
        panels.plus_bytes(C.panel_box().bytes() * uint32_t(panel)).plus_bytes(uint32_t(end * units * 16));
    for (int i = thread; i < each; i += 128) {
      machine::store(first.plus_bytes(uint32_t(i) * 16).template as<Vec<uint32_t, 4>>(), Vec<uint32_t, 4>{});
    }
  }
}

// What a stage of the kernel G has of other groups, in front of `begin` and from `end` on, is made zero: each warpgroup
// clears its rows of A and its share of those of B, and all wait for each other before they multiply. The peers' copies
// are their own.
template <class G>
WW_FN void clear_edges(uint32_t base, int stage, int begin, int end, int group) {
  constexpr GroupedGemmConfig C = G::config;
  constexpr uint32_t id = G::plan.named_barrier("edges").id, line_bytes = swizzle_bytes(Swizzle::b128);
  if constexpr (C.a_major == Major::K) {
    constexpr int b_lines = C.tile_n / C.warpgroups();
    clear_lines<C>(G::a_stage(base, stage).plus_bytes(line_bytes * uint32_t(group * C.group_rows)), C.group_rows, begin,
                   end);
    clear_lines<C>(G::b_stage(base, stage).plus_bytes(line_bytes * uint32_t(group * b_lines)), b_lines, begin, end);
  } else {
    // The first warpgroup has the odd panel of B.
    constexpr int a_panels = C.group_rows / C.panel_rows(), b_panels = C.tile_n / C.panel_rows();
    constexpr int b_first = (b_panels + C.warpgroups() - 1) / C.warpgroups();
    constexpr uint32_t bytes = C.panel_box().bytes();
    clear_panels<C>(G::a_stage(base, stage).plus_bytes(bytes * uint32_t(group * a_panels)), a_panels, end);
    clear_panels<C>(G::b_stage(base, stage).plus_bytes(bytes * uint32_t(group * b_first)),
                    group == 0 ? b_first : b_panels - b_first, end);
  }
  machine::fence_proxy_async<ProxySpace::shared_cta>();
  machine::named_barrier_sync(id, uint32_t(G::plan.role("mma").threads()));
  machine::sync_warp();  // an MMA wants the lanes together, which that barrier does not promise
}

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

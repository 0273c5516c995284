// Scales on their way to the MMA warps of grouped_gemm.h: each stage has a slot for those of its block along k, which a
// warp fills while the TMA fills the stage. They lie in memory as a quantizer writes them, a line for each row and in
// it a float for each block. An access to every line costs the memory that feeds the tensor core as much for four bytes
// as for sixteen, so a thread reads four blocks of a line at once and hands them out over four stages.
#pragma once
#include "warpwright/kernel/config_grouped_sm90.h"
#include "warpwright/kernel/sm90/tell_by_warp.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/pipeline/unroll.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// A stage was read by MMAs and its slot by all lanes. Lane r of each warp tells CTA r. The plain remote arrival orders
// what threads have read for their own CTA alone, but the peers' slots are their own; it takes no branch.
template <int Cluster>
struct ReleaseScaled {
  WW_FN static void acquired(machine::here) {}
  WW_FN static void release(Shared<Mbarrier> empty, machine::here at) {
    machine::sync_warp(machine::kFullMask, at);
    const uint32_t lane = machine::lane_index();
    if constexpr (Cluster == 1) {
      if (lane == 0) machine::mbarrier_arrive(empty, 1, at);
    } else {
      if (lane < uint32_t(Cluster)) machine::mbarrier_arrive(machine::map_to_rank(empty, lane), 1, at);
    }
  }
};

// A matrix of scales: `lines` by `blocks` along k.
struct ScaleLines {
  Global<const float> at;
  int64_t stride = 0;
  int lines = 0;
  int blocks = 0;

  // Whether four blocks of a line, from a multiple of four on, are 16 aligned bytes.
  WW_FN bool in_fours() const {
    return ((reinterpret_cast<uintptr_t>(at.pointer) / 4 | uintptr_t(stride) | uintptr_t(blocks)) & 3) == 0;
  }
};

template <GroupedGemmConfig C>
struct ScaleSlots {
  using Producer = pipeline::Producer<C.stages, TellByWarp>;

  WW_FN static Shared<float> slot(Shared<float> slots, int stage) {
    return slots.plus_bytes(C.slot_bytes() * uint32_t(stage));
  }
  // Those of B, behind those of the rows.
  WW_FN static Shared<float> side(Shared<float> slot) { return slot + C.tile_m; }
  // Where line i of B is. Of 16 that are columns of a result, an MMA gives a thread the columns 2q, 2q + 1, 2q + 8 and
  // 2q + 9: they lie together.
  WW_FN static int side_place(int i) {
    return C.row_scales() ? i / 16 * 16 + i % 8 / 2 * 4 + i / 8 % 2 * 2 + i % 2 : i;
  }

  // By the whole warp: the scales of blocks `first` to first + blocks of a tile that begins in line a_line;
  // line_of_b(i) is the matrix line of line i of B. What a matrix does not have is zero.
  template <class LineOfB>
  WW_FN static void bring(Producer& ring, Shared<float> slots, const ScaleLines& a, int a_line, const ScaleLines& b,
                          LineOfB line_of_b, int first, int blocks) {
    if (a.in_fours() && b.in_fours()) {
      bring_by<Vec<float, 4>>(ring, slots, a, a_line, b, line_of_b, first, blocks);
    } else {
      bring_by<Vec<float, 1>>(ring, slots, a, a_line, b, line_of_b, first, blocks);
    }
  }

 private:
  // Part: the blocks of a line that are read at once.
  template <class Part, class LineOfB>
  WW_FN static void bring_by(Producer& ring, Shared<float> slots, const ScaleLines& a, int a_line, const ScaleLines& b,
                             LineOfB line_of_b, int first, int blocks) {
    constexpr int each = int(sizeof(Part) / sizeof(float)), of_b = C.scale_lines();
    constexpr int a_each = (C.tile_m + 31) / 32, b_each = (of_b + 31) / 32;
    const int lane = int(machine::lane_index()), lines_left = a.lines - a_line - lane;
    const Global<const float> mine = a.at + int64_t(uint32_t(a_line + lane)) * a.stride;
    for (int k = first / each * each; k < first + blocks; k += each) {
      // Under way while the stage is awaited.
      Part of_rows[a_each] = {}, of_columns[b_each] = {};
      WW_UNROLL
      for (int i = 0; i < a_each; ++i) {
        if (i * 32 < lines_left) of_rows[i] = machine::load((mine + (i * 32 * a.stride + k)).template as<const Part>());
      }
      WW_UNROLL
      for (int i = 0; i < b_each; ++i) {
        const int line = i * 32 + lane < of_b ? line_of_b(i * 32 + lane) : b.lines;
        if (line < b.lines) of_columns[i] = machine::load((b.at + (line * b.stride + k)).template as<const Part>());
      }
      WW_UNROLL
      for (int j = 0; j < each; ++j) {
        if (k + j < first || k + j >= first + blocks) continue;
        ring.produce([&](auto stage) {
          const Shared<float> to = slot(slots, stage->index());
          WW_UNROLL
          for (int i = 0; i < a_each; ++i) machine::store(to + (i * 32 + lane), of_rows[i][j]);
          WW_UNROLL
          for (int i = 0; i < b_each; ++i) {
            if (i * 32 + lane < of_b) machine::store(side(to) + side_place(i * 32 + lane), of_columns[i][j]);
          }
          return stdx::move(stage).release();
        });
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

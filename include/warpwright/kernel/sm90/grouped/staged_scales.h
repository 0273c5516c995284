// Scales of many lines on their way to the slots of stage_scales.h. Where lines are aligned for it, the TMA brings
// eight blocks of each together, without using the port through which the tensor core reads its operands; a warp copies
// four of them at a time to its registers and distributes them over four stages.
#pragma once
#include "warpwright/kernel/sm90/grouped/stage_scales.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// Four of the eight blocks of `Lines` lines that a box of the TMA brought.
template <int Lines>
class StagedFours {
 public:
  static constexpr int kGroups = (Lines + 31) / 32;
  WW_FN static int line(int group) { return group * 32 + int(machine::lane_index()); }

  // `half`: which four.
  WW_FN void load(Shared<float> box, int half) {
    WW_UNROLL
    for (int i = 0; i < kGroups; ++i) {
      const uint32_t at = uint32_t(line(i)) * 32 + uint32_t(half) * 16;
      part_[i] = {};
      if (Lines % 32 == 0 || line(i) < Lines) {
        part_[i] = machine::load(box.plus_bytes(at ^ swizzle_xor(Swizzle::b32, at / 128)).template as<Vec<float, 4>>());
      }
    }
  }
  WW_FN float get(int group, int block) const { return part_[group][block]; }

 private:
  Vec<float, 4> part_[kGroups];
};

template <GroupedGemmConfig C>
struct StagedScales {
  using Slots = ScaleSlots<C>;
  using OfRows = StagedFours<C.tile_m>;
  using OfColumns = stdx::conditional_t<C.row_scales(), StagedFours<C.scale_lines()>, AnyFours<C.scale_lines()>>;

  // Which blocks of a box are wanted. A box begins at a multiple of 16 bytes, which may be before them.
  struct Range {
    int begin = 0, end = 0;
  };

  // By the whole warp, which is the only one to use the box and its barrier. next(fetch) goes to the next blocks, calls
  // fetch(args, a_line, b_line, k) for them, and returns which, none: there are no tiles; load_columns(of_columns, i)
  // loads those of B from block i of the box on, where the TMA does not bring them.
  template <class Next, class LoadColumns>
  WW_FN static void bring(typename Slots::Producer& ring, Shared<float> slots, Shared<float> box, Shared<Mbarrier> full,
                          Next next, LoadColumns load_columns) {
    const Shared<float> b_box = box.plus_bytes(C.a_scale_box().bytes());
    const auto fetch = [&](const GroupedGemmArgs& args, int a_line, int b_line, int k) {
      if (!machine::elect_one()) return;
      machine::mbarrier_arrive_expect_tx(full, C.staged_bytes());
      machine::tma_load(box.template as<uint8_t>(), &args.a_scale_map, machine::Coords<2>{k, a_line}, full);
      if constexpr (C.row_scales()) {
        machine::tma_load(b_box.template as<uint8_t>(), &args.b_scale_map, machine::Coords<2>{k, b_line}, full);
      }
    };
    machine::Phase phase = machine::Phase::consumer();
    for (Range range = next(fetch); range.end > 0;) {
      machine::mbarrier_wait(full, phase);
      phase.advance();
      const Range now = range;
      for (int first = 0; first < now.end; first += 4) {
        OfRows of_rows;
        OfColumns of_columns;
        of_rows.load(box, first / 4);
        if constexpr (C.row_scales()) {
          of_columns.load(b_box, first / 4);
        } else {
          load_columns(of_columns, first);
          of_columns.arrange();
        }
        if (first + 4 >= now.end) {
          // The next ones may overwrite what was read.
          machine::fence_proxy_async<ProxySpace::shared_cta>();
          machine::sync_warp();
          range = next(fetch);
        }
        WW_UNROLL
        for (int j = 0; j < 4; ++j) {
          if (first + j < now.begin || first + j >= now.end) continue;
          ring.produce([&](auto stage) {
            Slots::put(Slots::slot(slots, stage->index()), of_rows, of_columns, j);
            return stdx::move(stage).release();
          });
        }
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

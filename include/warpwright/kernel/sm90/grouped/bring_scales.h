// What the warp that brings scales does in grouped_gemm.h: it walks over the tiles like all other roles.
#pragma once
#include "warpwright/kernel/sm90/grouped/gather_rows.h"
#include "warpwright/kernel/sm90/grouped/stage_scales.h"
#include "warpwright/kernel/sm90/grouped/staged_scales.h"
#include "warpwright/tile/grouped_raster.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <class Kernel>
class BringScales {
  static constexpr GroupedGemmConfig C = Kernel::config;
  using Slots = ScaleSlots<C>;

 public:
  WW_FN BringScales(const GroupedGemmArgs& args, uint32_t base, pipeline::Ring<C.stages> input)
      : args_(args), base_(base), walk_(Kernel::tiles(args)), ring_(input) {}

  // The whole warp.
  WW_FN void run() {
    if constexpr (C.stages_scales()) {
      if (args_.scales_staged) {
        bring_staged();
        return;
      }
    }
    const ScaleLines a{
        {args_.a_scales}, args_.a_scales_stride, C.gathered ? args_.a_rows : args_.groups.rows, blocks()};
    while (walk_.next(tile_)) {
      Slots::bring(ring_, Kernel::scale_slots(base_), a, line_of_a(), of_b(), line_of_b(), first(),
                   Kernel::depth(args_, tile_));
    }
  }

 private:
  WW_FN void bring_staged() {
    constexpr uint32_t staged = Kernel::plan.region("staged").offset;
    constexpr uint32_t full = Kernel::plan.barrier("staged").offset;
    StagedScales<C>::bring(
        ring_, Kernel::scale_slots(base_), {base_ + staged}, {base_ + full},
        [this](auto fetch) { return this->advance(fetch); },
        [this](auto& of_columns, int block) { of_columns.load(of_b(), line_of_b(), k_ + block, end_); });
  }
  // Goes on to the next blocks that come together.
  template <class Fetch>
  WW_FN typename StagedScales<C>::Range advance(Fetch fetch) {
    int begin = 0;
    for (k_ += C.kStagedBlocks; k_ >= end_;) {
      if (!walk_.next(tile_)) return {};
      const int stages = Kernel::depth(args_, tile_);
      begin = first() % 4;
      k_ = first() - begin;
      end_ = stages == 0 ? k_ : first() + stages;
    }
    fetch(args_, tile_.rows.first + Kernel::first_row(tile_),
          tile_.rows.matrix * b_lines() + Kernel::first_column(tile_), k_);
    return {begin, end_ - k_ < C.kStagedBlocks ? end_ - k_ : C.kStagedBlocks};
  }

  // The first block of the tile.
  WW_FN int first() const { return Kernel::first_k(tile_) / kScaleBlock; }
  WW_FN int blocks() const { return tile::ceil_div(args_.k, kScaleBlock); }
  WW_FN int b_lines() const { return tile::ceil_div(args_.n, C.b_scale_rows); }
  WW_FN ScaleLines of_b() const {
    return {Global<const float>{args_.b_scales} + int64_t(tile_.rows.matrix) * b_lines() * blocks(), blocks(),
            b_lines(), blocks()};
  }
  // The scales of the rows that the load role gathers. gather_rows.h says what an index means and which are wrong.
  struct GatheredLines {
    GatheredRows<C> known;
    Global<const int32_t> table;
    int rows = 0, none = 0;
    WW_FN int own(int i) const { return known.own(i) < 0 ? none : known.own(i); }
    WW_FN int any(int i) const {
      const int row = i < rows ? machine::load(table + i) : -1;
      return uint32_t(row) < uint32_t(none) ? row : none;
    }
  };
  WW_FN auto line_of_a() const {
    const int line = tile_.rows.first + Kernel::first_row(tile_);
    if constexpr (C.gathered) {
      GatheredLines lines{{}, Global<const int32_t>{args_.a_index} + line, gathered_rows<Kernel>(tile_), args_.a_rows};
      (void)lines.known.load(args_, line, lines.rows);
      return lines;
    } else {
      return line;
    }
  }
  WW_FN auto line_of_b() const {
    constexpr int lines = C.block_lines();
    return [column = Kernel::first_column(tile_), ups = Kernel::columns(args_)](int i) {
      return (column + i / lines * ups) / C.b_scale_rows + i % lines;
    };
  }

  const GroupedGemmArgs& args_;
  const uint32_t base_;
  typename Kernel::Tiles walk_;
  tile::GroupedTile tile_{};
  typename Slots::Producer ring_;
  int k_ = 0, end_ = 0;  // of staged blocks: the first of the box, and the end of the tile
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

// The MMA warpgroups of grouped_gemm.h where sums are only converted. G is the kernel. When a tile is complete its
// results are packed, which frees the accumulators, and wait in registers. They are written to the output ring while
// the tensor core works on the first stages of the next tile. Each of two warpgroups waits for its own MMAs of a stage,
// hands it back and goes on while those of the other one run: so the two do not end a tile together.
#pragma once
#include "warpwright/kernel/sm90/accumulate.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/convert.h"
#include "warpwright/tile/grouped_raster.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <class G>
class GroupedDeferred {
  static constexpr GroupedGemmConfig C = G::config;
  static constexpr int kBlocks = G::kBlocks, kOutputs = C.outputs(), kBlockOutputs = kOutputs / kBlocks;
  using Args = typename G::Args;
  using Sums = typename G::Sums;

 public:
  using Input = typename G::Input;
  using Output = typename G::Output;

  WW_FN GroupedDeferred(const Args& args, uint32_t base, Output& output, int group)
      : args_(args), base_(base), output_(output), group_(group), walk_(G::tiles(args)) {}

  // The four warps of a warpgroup. Stages that the warpgroup does not read are handed back too.
  WW_FN void multiply(Input& input) {
    look_ahead();
    while (any_) {
      const int left = left_;
      if (left <= 0) {
        write_all();
        for (int k = 0; k < stages(); ++k) {
          input.consume([&](auto stage) {
            machine::sync_warp();
            return stdx::move(stage).release();
          });
        }
        look_ahead();
      } else if (kBlocks > 1 && left <= 64) {
        // The second block of rows is not there.
        accumulate(input, stdx::integral_constant<int, 1>{});
      } else {
        accumulate(input, stdx::integral_constant<int, kBlocks>{});
      }
    }
    write_all();
  }

 private:
  WW_FN int stages() const { return tile::ceil_div(args_.k, C.tile_k()); }
  // All that matters about the next tile is how many rows there are.
  WW_FN void look_ahead() {
    tile::GroupedTile tile;
    any_ = walk_.next(tile);
    left_ = any_ ? G::rows_left(tile, group_) : 0;
  }

  template <class Blocks>
  WW_FN void accumulate(Input& input, Blocks blocks) {
    const auto issue = [&](int stage, bool fresh) {
      machine::wgmma_fence();
      WW_UNROLL
      for (int block = 0; block < blocks(); ++block) G::issue(sums_[block], base_, group_, block, stage, fresh);
      machine::wgmma_commit();
    };
    int done = 0;
    if (stages() < kOutputs) {
      write_all();
    } else {
      WW_UNROLL
      for (int i = 0; i < kOutputs; ++i) {
        input.consume([&](auto stage) {
          issue(stage->index(), i == 0);
          write(i);
          machine::wgmma_wait<0>();
          return stdx::move(stage).release();
        });
      }
      done = kOutputs;
    }
    if (done == 0 || stages() > done) {
      accumulate_stages<false>(
          sums_, input, stages() - done, [&](int stage, bool fresh) { issue(stage, fresh && done == 0); },
          [&] { look_ahead(); });
    } else {
      look_ahead();
    }
    WW_UNROLL
    for (int block = 0; block < blocks(); ++block) {
      WW_UNROLL
      for (int i = 0; i < Sums::kRegisters / 2; ++i) {
        packed_[block][i] = tile::pack2<C.out>(sums_[block].get(2 * i), sums_[block].get(2 * i + 1));
      }
    }
    waiting_ = blocks();
  }

  // Output stage i of the previous tile, if that one has it.
  WW_FN void write(int i) {
    const int block = i / kBlockOutputs;
    if (block >= waiting_) return;
    constexpr SmemTile box{C.out, 64, C.d_box().inner, C.d_box().swizzle};
    const int lane = int(machine::lane_index()), row = int(machine::warp_index()) % 4 * 16 + lane % 16;
    output_.produce([&](auto stage) {
      WW_UNROLL
      for (int b = 0; b < C.output_boxes; ++b) {
        const auto to = G::output_stage(base_, group_, stage->index(), b).template as<Vec<uint32_t, 4>>();
        WW_UNROLL
        for (int column = 0; column < box.cols; column += 16) {
          // A thread has a quarter of the columns of two rows.
          const int first = ((i % kBlockOutputs * C.output_boxes + b) * box.cols + column) / 4;
          uint32_t four[4];
          WW_UNROLL
          for (int j = 0; j < 4; ++j) four[j] = packed_[block][first + j];
          machine::stmatrix(to.plus_bytes(box.offset(row, column + lane / 16 * 8)), four);
        }
      }
      return stdx::move(stage).release();
    });
  }
  WW_FN void write_all() {
    WW_UNROLL
    for (int i = 0; i < kOutputs; ++i) write(i);
    waiting_ = 0;
  }

  const Args& args_;
  const uint32_t base_;
  Output& output_;
  const int group_;
  typename G::Tiles walk_;
  Sums sums_[kBlocks];
  uint32_t packed_[kBlocks][Sums::kRegisters / 2];
  int waiting_ = 0;   // blocks of rows that are packed and not written
  bool any_ = false;  // there is a next tile
  int left_ = 0;      // how many rows there are from this warpgroup's first one on
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

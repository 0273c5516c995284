// A warp-specialized kernel of one's own: norms[row] = sum of the squares of a row of x, a matrix of fp32. One warp
// loads boxes of 32 columns and 128 rows through a ring of stages; four warps own 32 rows each and add up.
#pragma once
#include "warpwright/core/tensor_box.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"

namespace your {
using namespace warpwright;

constexpr int kRows = 128, kColumns = 32, kStages = 4, kMathWarps = 4;
constexpr TensorBox kBox{DType::fp32, kColumns, kRows, Swizzle::none};

// Who is there and what they share: roles with their warps, shared memory, barriers with who arrives and how often. The
// checker holds the kernel to it.
constexpr BlockPlan make_block_plan() {
  BlockPlan plan("row_norms", Arch::sm90);
  plan.role("math", kMathWarps).role("load", 1);
  plan.region("x", kBox.bytes(), kStages, 128);
  plan.barrier("x.full", kStages, 1, "math", {"load", 1});
  plan.barrier("x.empty", kStages, kMathWarps, "load", {"math", kMathWarps});
  return plan;
}

struct RowNorms {
  static constexpr BlockPlan plan = make_block_plan();
  struct Args {
    TensorMap x;
    Global<float> norms;
    int rows, columns;
  };
  using Ring = pipeline::Ring<kStages>;

  WW_FN static Shared<float> stage_at(uint32_t base, int stage) {
    return {base + plan.region("x").offset + kBox.bytes() * uint32_t(stage)};
  }
  WW_FN static int steps(const Args& args) { return (args.columns + kColumns - 1) / kColumns; }

  // One thread. A stage is lent to the function for one box, and must be handed on.
  WW_FN static void load(const Args& args, uint32_t base, Ring ring, int first_row) {
    pipeline::Producer<kStages, pipeline::PublishByTma> boxes(ring);
    for (int i = 0; i < steps(args); ++i) {
      boxes.produce([&](auto stage) {
        stage->expect_bytes(kBox.bytes());
        machine::tma_load(stage_at(base, stage->index()), &args.x, machine::Coords{i * kColumns, first_row},
                          stage->full());
        return stdx::move(stage).release();
      });
    }
  }

  // Four warps, a row for each thread. Columns beyond the matrix arrive as zeros.
  WW_FN static void math(const Args& args, uint32_t base, Ring ring, int first_row) {
    pipeline::Consumer<kStages, pipeline::ReleaseByWarp<pipeline::Readers::threads>> boxes(ring);
    const int row = int(machine::thread_index());
    float sum = 0;
    for (int i = 0; i < steps(args); ++i) {
      boxes.consume([&](auto stage) {
        for (int c = 0; c < kColumns; ++c) {
          // Neighbours read different columns, so that they meet different banks.
          const int column = (c + row) % kColumns;
          const float x = machine::load(stage_at(base, stage->index()) + (row * kColumns + column));
          sum += x * x;
        }
        return stdx::move(stage).release();
      });
    }
    if (first_row + row < args.rows) machine::store(args.norms + (first_row + row), sum);
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<RowNorms>();
    const uint32_t base = machine::shared_base();
    constexpr uint32_t full = plan.barrier("x.full").offset, empty = plan.barrier("x.empty").offset;
    const Ring ring = pipeline::ring_at<kStages>(base, full, empty);
    const int first_row = int(machine::block_index().x) * kRows;
    pipeline::set_up_barriers<RowNorms>(base);
    if (int(machine::warp_uniform(machine::warp_index())) == plan.role("load").first_warp) {
      if (machine::elect_one()) load(args, base, ring, first_row);
    } else {
      math(args, base, ring, first_row);
    }
  }
};

}  // namespace your

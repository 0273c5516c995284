// What the configurations of several families are made of. World-free: the host fills configurations and arguments,
// whichever world compiles the kernel.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/chip.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"
#include "warpwright/core/word_enum.h"
#include "warpwright/epilogue/config.h"

namespace warpwright {

// How many input stages fit beside `used` bytes: each has a pair of barriers, and alignment and the other barriers take
// up to 1 KiB.
WW_HD constexpr int stages_that_fit(uint32_t stage_bytes, uint32_t used) {
  constexpr uint32_t available = kMaxSharedBytes - 1024;
  return used >= available ? 0 : int((available - used) / (stage_bytes + 16));
}

WW_HD constexpr EpilogueConfig factor_and_conversion(DType out) {
  EpilogueConfig e{};
  e.out = out;
  e.alpha = true;
  return e;
}

// For swiglu on Hopper: this many rows of a tile of B, which is stored [gates; ups], are 8 gates and the 8 ups that
// belong to them. Gate and up are then 8 apart on either side of an MMA, which is where one thread has both sums.
inline constexpr int kPairedRows = 16;
// Which row of B, of `rows`, is row `row` of such tiles; `rows` if it is past the end of the matrix.
WW_HD constexpr int paired_row(int row, int rows) {
  const int gate = row / kPairedRows * (kPairedRows / 2) + row % (kPairedRows / 2);
  if (gate >= rows / 2) return rows;
  return row % kPairedRows < kPairedRows / 2 ? gate : rows / 2 + gate;
}
// Where the N side of an MMA has the pairs: which of a thread's sums is the gate of its result `r`, and how many
// registers after it the up is.
WW_HD constexpr int gate_register(int r) { return r / 4 * 8 + r % 4; }
inline constexpr int kGateToUp = 4;

// The dimension of the result along which the CTAs of a cluster lie. Along m they share a tile of B, along n one of A.
enum class ClusterAxis : uint8_t { m, n };
// cooperative: the MMA warpgroups share a tile, each has its rows. halves: two warpgroups share it, each has all rows
// and half of the columns. ping_pong: two warpgroups, each with its own tile; one multiplies while the other stores.
enum class TileSharing : uint8_t { cooperative, ping_pong, halves };
// Who moves a matrix between device memory and the SM. The TMA needs rows that start at multiples of 16 bytes and,
// since it stores no less, rows of D that also end at one; threads take any alignment, element by element.
enum class Mover : uint8_t { tma, threads };
WW_WORDS(Scaling, kScalings, WW_SCALINGS)

// A matrix in device memory for threads that address it themselves. Strides count elements.
struct MatrixArgs {
  void* data = nullptr;
  int64_t row_stride = 0;
  int64_t batch_stride = 0;
};

template <class Config>
WW_HD constexpr Config with_at_most(Config c, int fit, int most) {
  c.stages = fit < most ? fit : most;
  return c;
}

}  // namespace warpwright

// Scales on their way to the MMA warps of grouped_gemm.h: each stage has a slot for those of its block along k, which a
// warp fills while the TMA fills the stage. They lie in memory as a quantizer writes them, a line for each row with a
// float for each block. An access to every line costs the memory that feeds the tensor core as much for four bytes as
// for sixteen, so the warp reads four blocks of a line together and distributes them over four stages.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/kernel/sm90/tell_by_warp.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// MMAs have read the stage, and all lanes its slot. Lane r of each warp tells CTA r. The plain remote arrival orders
// threads' reads for their own CTA only, which is enough, since the peers have slots of their own; it takes no branch.
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

// A matrix of scales: `lines` lines of `blocks` blocks along k.
struct ScaleLines {
  Global<const float> at;
  int64_t stride = 0;
  int lines = 0;
  int blocks = 0;

  // Whether four blocks of a line, from a multiple of four on, are 16 aligned bytes.
  WW_FN bool in_fours() const {
    return ((reinterpret_cast<uintptr_t>(pointer_of(at)) / 4 | uintptr_t(stride) | uintptr_t(blocks)) & 3) == 0;
  }
};

// `Each` blocks of `Lines` lines, from a multiple of that on: each lane reads its lines.
template <int Lines, int Each>
class AlignedBlocks {
 public:
  static constexpr int kEach = Each;
  static constexpr int kGroups = (Lines + 31) / 32;  // groups in which each lane has one line
  WW_FN static int begin(int first) { return first / Each * Each; }
  WW_FN static int line(int group) { return group * 32 + int(machine::lane_index()); }

  template <class LineOf>
  WW_FN void load(const ScaleLines& from, LineOf line_of, int k, int) {
    WW_UNROLL
    for (int i = 0; i < kGroups; ++i) {
      const int at = line(i) < Lines ? line_of(line(i)) : from.lines;
      part_[i] = {};
      if (at < from.lines)
        part_[i] = machine::load((from.at + (at * from.stride + k)).template as<const Vec<float, Each>>());
    }
  }
  // Loads the scales of a run of lines.
  WW_FN void load(const ScaleLines& from, int first, int k, int) {
    const int left = from.lines - first - int(machine::lane_index());
    const Global<const float> mine = from.at + int64_t(uint32_t(first + int(machine::lane_index()))) * from.stride;
    WW_UNROLL
    for (int i = 0; i < kGroups; ++i) {
      part_[i] = {};
      if (i * 32 < left && line(i) < Lines)
        part_[i] = machine::load((mine + (i * 32 * from.stride + k)).template as<const Vec<float, Each>>());
    }
  }
  WW_FN void arrange() {}
  WW_FN float get(int group, int block) const { return part_[group][block]; }

 private:
  Vec<float, Each> part_[kGroups];
};
template <int Lines>
using AlignedFours = AlignedBlocks<Lines, 4>;
template <int Lines>
using Singles = AlignedBlocks<Lines, 1>;

// Four blocks from any block on, in memory of any alignment: four lanes read a line, one block each, and then exchange
// what they have, so that a lane has all four blocks of a line.
template <int Lines>
class AnyFours {
 public:
  static constexpr int kEach = 4;
  static constexpr int kGroups = (Lines + 31) / 32;
  WW_FN static int begin(int first) { return first; }
  WW_FN static int line(int group) { return group * 32 + quad() + 8 * rank(); }

  template <class LineOf>
  WW_FN void load(const ScaleLines& from, LineOf line_of, int k, int end) {
    const int mine = k + rank();
    WW_UNROLL
    for (int i = 0; i < kGroups * 4; ++i) {
      float& part = part_[i / 4][i % 4];
      part = 0;
      if (i * 8 >= Lines) continue;
      const int at = i * 8 + quad() < Lines && mine < end ? line_of(i * 8 + quad()) : from.lines;
      if (at < from.lines) part = machine::load(from.at + (at * from.stride + mine));
    }
  }
  // Loads the scales of a run of lines.
  WW_FN void load(const ScaleLines& from, int line, int k, int end) {
    // From a shuffle: there are no registers for its multiples, which the compiler would otherwise keep.
    const int stride = int(machine::warp_uniform(uint32_t(from.stride)));
    const int mine = k + rank(), left = mine < end ? from.lines - line - quad() : 0;
    Global<const float> at = from.at + ((line + quad()) * from.stride + mine);
    WW_UNROLL
    for (int i = 0; i < kGroups * 4; ++i) {
      float& part = part_[i / 4][i % 4];
      part = 0;
      if (i * 8 < left && i * 8 < Lines) part = machine::load(at);
      at = at + int64_t(stride) * 8;
    }
  }
  // Called when the loads have arrived.
  WW_FN void arrange() {
    WW_UNROLL
    for (int i = 0; i < kGroups; ++i) {
      WW_UNROLL
      for (int distance = 1; distance <= 2; distance *= 2) {
        const bool upper = (rank() & distance) != 0;
        WW_UNROLL
        for (int j = 0; j < 4; ++j) {
          if ((j & distance) != 0) continue;
          float &low = part_[i][j], &high = part_[i][j + distance];
          const float got = machine::shuffle(upper ? low : high, machine::lane_index() ^ uint32_t(distance));
          (upper ? low : high) = got;
        }
      }
    }
  }
  WW_FN float get(int group, int block) const { return part_[group][block]; }

 private:
  WW_FN static int quad() { return int(machine::lane_index()) / 4; }
  WW_FN static int rank() { return int(machine::lane_index()) % 4; }

  float part_[kGroups][4];
};

template <GroupedGemmConfig C>
struct ScaleSlots {
  // From this many on, an exchange between lanes pays for unaligned lines.
  static constexpr bool kManyLines = C.tile_m + C.scale_lines() > 192;
  using Producer = pipeline::Producer<C.stages, TellByWarp>;

  WW_FN static Shared<float> slot(Shared<float> slots, int stage) {
    return slots.plus_bytes(C.slot_bytes() * uint32_t(stage));
  }
  // The scales of B, after those of the rows.
  WW_FN static Shared<float> side(Shared<float> slot) { return slot + C.tile_m; }
  // Where line i of B is. Of 16 that are columns of a result, an MMA gives a thread the columns 2q, 2q + 1, 2q + 8 and
  // 2q + 9: they lie together.
  WW_FN static int side_place(int i) {
    return C.row_scales() ? i / 16 * 16 + i % 8 / 2 * 4 + i / 8 % 2 * 2 + i % 2 : i;
  }

  // The scales of block j of those that were read together.
  template <class OfRows, class OfColumns>
  WW_FN static void put(Shared<float> to, const OfRows& of_rows, const OfColumns& of_columns, int j) {
    WW_UNROLL
    for (int i = 0; i < OfRows::kGroups; ++i) machine::store(to + OfRows::line(i), of_rows.get(i, j));
    WW_UNROLL
    for (int i = 0; i < OfColumns::kGroups; ++i) {
      const int line = OfColumns::line(i);
      if (line < C.scale_lines()) machine::store(side(to) + side_place(line), of_columns.get(i, j));
    }
  }

  // By the whole warp: the scales of blocks `first` to first + blocks of a tile that begins in line a_line; or, where
  // rows are gathered, whose line i is a_line.own(i) for the lane that reads it, and a_line.any(i) for every lane.
  // line_of_b(i) is the matrix line of line i of B. Scales past the end of a matrix are zero.
  template <class LineOfA, class LineOfB>
  WW_FN static void bring(Producer& ring, Shared<float> slots, const ScaleLines& a, LineOfA a_line, const ScaleLines& b,
                          LineOfB line_of_b, int first, int blocks) {
    // A kernel that stages scales comes here only where they are not aligned.
    if (!C.stages_scales() && a.in_fours() && b.in_fours()) {
      bring_by<AlignedFours>(ring, slots, a, own(a_line), b, line_of_b, first, blocks);
    } else if constexpr (kManyLines) {
      bring_by<AnyFours>(ring, slots, a, any(a_line), b, line_of_b, first, blocks);
    } else {
      bring_by<Singles>(ring, slots, a, own(a_line), b, line_of_b, first, blocks);
    }
  }

 private:
  template <class LineOfA>
  WW_FN static auto own(const LineOfA& line) {
    if constexpr (C.gathered) {
      return [&line](int i) { return line.own(i); };
    } else {
      return line;
    }
  }
  template <class LineOfA>
  WW_FN static auto any(const LineOfA& line) {
    if constexpr (C.gathered) {
      return [&line](int i) { return line.any(i); };
    } else {
      return line;
    }
  }
  template <template <int> class Fours, class LineOfA, class LineOfB>
  WW_FN static void bring_by(Producer& ring, Shared<float> slots, const ScaleLines& a, LineOfA a_line,
                             const ScaleLines& b, LineOfB line_of_b, int first, int blocks) {
    using OfRows = Fours<C.tile_m>;
    using OfColumns = Fours<C.scale_lines()>;
    const int end = first + blocks;
    for (int k = OfRows::begin(first); k < end; k += OfRows::kEach) {
      OfRows of_rows;
      OfColumns of_columns;
      of_rows.load(a, a_line, k, end);
      if constexpr (C.row_scales() && !C.swiglu) {
        of_columns.load(b, line_of_b(0), k, end);
      } else {
        of_columns.load(b, line_of_b, k, end);
      }
      of_rows.arrange();
      of_columns.arrange();
      WW_UNROLL
      for (int j = 0; j < OfRows::kEach; ++j) {
        if (k + j < first || k + j >= end) continue;
        ring.produce([&](auto stage) {
          put(slot(slots, stage->index()), of_rows, of_columns, j);
          return stdx::move(stage).release();
        });
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

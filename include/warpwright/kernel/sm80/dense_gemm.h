// D = epilogue(A * B^T) by cp.async, ldmatrix and mma.sync. All warps do the same: each copies its share of a tile of K
// into a ring of slots and multiplies its part of the tile of D. The order, how far ahead copies run, and where the
// warps wait and meet are not written here: the main loop is an expansion of the entries of a compiled schedule
// (dense_schedule.h).
//
// A tile of K is 64 bytes of every row. Operands along m or n lie in a slot as they do in memory, and ldmatrix
// transposes them. What lies beyond K is filled with zeros, and a problem shorter than the schedule's prologue is
// multiplied by tiles of zeros up to its length.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/layout.h"
#include "warpwright/kernel/sm80/dense_copy.h"
#include "warpwright/kernel/sm80/dense_epilogue.h"
#include "warpwright/kernel/sm80/dense_schedule.h"
#include "warpwright/tile/source.h"

namespace warpwright::inline WW_WORLD::kernel::sm80 {

// `depth`: slots of the ring, which the schedule decides.
constexpr BlockPlan dense_gemm_plan(const MmaSyncGemmConfig& c, int depth) {
  BlockPlan plan("mma_sync_gemm", Arch::sm80);
  plan.blocks_per_sm = c.blocks_per_sm;
  plan.role("mma", c.warps());
  const uint32_t a = c.a_slot().alignment(), b = c.b_slot().alignment();
  plan.region("input", c.slot_bytes(), depth, a > b ? a : b);
  plan.region("output", staging_bytes(c), c.warps(), 16);
  return plan;
}
// The same for callers without a compiled schedule: it is made here. A configuration without one has a ring of one
// slot.
constexpr BlockPlan dense_gemm_plan(const MmaSyncGemmConfig& c) {
  const schedule::Pipeline p = mma_sync_pipeline(c.order());
  return dense_gemm_plan(c, p.ok() ? p.depths[0].depth : 1);
}

template <MmaSyncGemmConfig C>
struct DenseGemm {
  static_assert(refuse(C) == nullptr, "mma_sync_gemm: refuse(config) says why this configuration cannot be compiled");
  using Args = MmaSyncGemmArgs;
  using Raster = tile::Batched<tile::GroupedSerpentine>;
  using Jobs = stdx::conditional_t<C.split == DepthSplit::none, tile::WholeTiles<Raster>, tile::SplitTiles<Raster>>;
  using Run = DenseSchedule<C.order()>;
  using Sum = stdx::conditional_t<C.type == DType::s8, int32_t, float>;
  static constexpr BlockPlan plan = dense_gemm_plan(C, Run::depth);

  static constexpr int kRowsOfMma = C.warp_m() / 16, kColumnsOfMma = C.warp_n() / 8;
  static constexpr int kSlices = schedule::kMmaSyncSlices;
  static constexpr uint32_t kSlot = C.slot_bytes(), kRing = kSlot * uint32_t(Run::depth);

  // What a thread holds: its sums, the fragments of two slices, and where in the ring the loop stands.
  struct State {
    Sum sums[kRowsOfMma][kColumnsOfMma][4];
    uint32_t a[kSlices][kRowsOfMma][4];
    uint32_t b[kSlices][kColumnsOfMma][2];
    Source<C> source;
    uint32_t read_a, read_b;  // the rows that this lane names to ldmatrix, in slot 0
    uint32_t at;              // offset of the slot of the loop's tile
  };

  // The slot of the tile that is `Ahead` tiles after the loop's.
  template <int Ahead>
  WW_FN static uint32_t slot(const State& s) {
    constexpr uint32_t offset = kSlot * uint32_t(Ahead % Run::depth);
    const uint32_t at = s.at + offset;
    return at >= kRing ? at - kRing : at;
  }

  // Which row of a slot a lane names to ldmatrix, counted from the one for the first slice and the first 16 rows or
  // columns. Along k a slice is the other half of a row; along m or n 16 rows or columns are two chunks of it.
  template <SmemTile T, int Slice>
  WW_FN static uint32_t row_of(uint32_t first, int sixteen) {
    constexpr uint32_t wide = swizzle_bytes(T.swizzle);
    if constexpr (T.major == Major::K) {
      return (first ^ (Slice * wide / kSlices)) + uint32_t(sixteen) * 16 * wide;
    } else {
      const uint32_t along = uint32_t(sixteen) * 32;
      return (first ^ along % wide) + along / wide * T.panel_stride() + Slice * 16 * wide;
    }
  }
  // Part of the fragments of a slice: one ldmatrix for 16 rows of A, or for 16 columns of B.
  template <int Slice, int Part>
  WW_FN static void load_a(State& s, uint32_t slot) {
    constexpr int count = kRowsOfMma / C.pieces;
    WW_UNROLL
    for (int i = Part * count; i < (Part + 1) * count; ++i) {
      const Shared<Vec<uint32_t, 4>> row{row_of<C.a_slot(), Slice>(s.read_a + slot, i)};
      machine::ldmatrix<C.a_major == Major::MN>(s.a[Slice][i], row);
    }
  }
  template <int Slice, int Part>
  WW_FN static void load_b(State& s, uint32_t slot) {
    constexpr int count = kColumnsOfMma / 2 / C.pieces;
    WW_UNROLL
    for (int i = Part * count; i < (Part + 1) * count; ++i) {
      const Shared<Vec<uint32_t, 4>> row{row_of<C.b_slot(), Slice>(s.read_b + slot, i)};
      uint32_t r[4];
      machine::ldmatrix<C.b_major == Major::MN>(r, row);
      WW_UNROLL
      for (int j = 0; j < 4; ++j) s.b[Slice][2 * i + j / 2][j % 2] = r[j];
    }
  }
  template <int Slice, int Part>
  WW_FN static void multiply(State& s) {
    constexpr int count = kRowsOfMma / C.pieces;
    WW_UNROLL
    for (int i = Part * count; i < (Part + 1) * count; ++i) {
      WW_UNROLL
      for (int j = 0; j < kColumnsOfMma; ++j) {
        // Back and forth: neighbours in time share a fragment.
        const int column = i % 2 == 0 ? j : kColumnsOfMma - 1 - j;
        machine::mma_sync<C.type>(s.sums[i][column], s.a[Slice][i], s.b[Slice][column]);
      }
    }
  }

  // One entry. `Base`: which iteration of the body, counted from the loop's, the entry's own number is relative to.
  template <schedule::Phase P, int I, int Base>
  WW_FN static void issue(State& s) {
    constexpr schedule::ScheduleEntry entry = Run::compiled.phase(P).entries[I];
    constexpr schedule::OpDesc op = entry.op;
    constexpr int body = Base + entry.shift;
    namespace tags = schedule::body_tags;
    if constexpr (op.tag == schedule::tags::commit_copy) {
      machine::cp_async_commit();
    } else if constexpr (op.tag == schedule::tags::wait_copy) {
      machine::cp_async_wait<op.wait_count()>();
    } else if constexpr (op.is_barrier()) {
      machine::sync_block();
    } else if constexpr (op.tag == tags::mma) {
      multiply<op.stage % kSlices, op.subtile>(s);
    } else {
      // Unrolling numbers the tiles of an iteration; a fragment is also numbered by its slice.
      constexpr bool fragment = op.role == schedule::OpRole::fragment_load;
      constexpr int tile = body * C.unroll + tile_in_iteration(entry);
      static_assert(tile >= 0, "a tile before the first");
      const uint32_t at = slot<tile>(s);
      if constexpr (fragment && op.channel == 0) load_a<slice_of(entry), op.subtile>(s, at);
      if constexpr (fragment && op.channel == 1) load_b<slice_of(entry), op.subtile>(s, at);
      if constexpr (!fragment) s.source.template copy<op.channel, op.subtile, tile>(at);
    }
  }
  // Op numbers of the body repeat for each tile of an iteration.
  static constexpr int kOpsOfTile = schedule::mma_sync_ops(C.shape());
  static constexpr int tile_in_iteration(const schedule::ScheduleEntry& e) { return e.source / kOpsOfTile; }
  static constexpr int slice_of(const schedule::ScheduleEntry& e) { return e.op.stage - tile_in_iteration(e); }

  template <schedule::Phase P, int Base, int First, int... I>
  WW_FN static void expand(State& s, stdx::integer_sequence<int, I...>) {
    (issue<P, First + I, Base>(s), ...);
  }
  template <schedule::Phase P, int Base, int First, int Last>
  WW_FN static void expand(State& s) {
    expand<P, Base, First>(s, stdx::make_integer_sequence<int, Last - First>{});
  }

  WW_FN static int iterations(const tile::Job& job) {
    const int n = tile::ceil_div(job.k.count, C.unroll);
    return n > Run::peeled ? n : Run::peeled;
  }
  WW_FN static Raster raster(const Args& args) {
    return {{tile::ceil_div(args.m, C.tile_m), tile::ceil_div(args.n, C.tile_n), C.band}, args.batches};
  }
  WW_FN static Jobs jobs(const Args& args) {
    const int depth = tile::ceil_div(args.k, C.tile_k());
    if constexpr (C.split == DepthSplit::none) {
      return {raster(args), depth};
    } else {
      return {raster(args), {raster(args).count(), depth, args.splits, C.unroll}};
    }
  }

  // The rows that a lane names for the four matrices of an ldmatrix: two along m or n by two along k, of A those along
  // m first, of B those along k.
  WW_FN static State make_state(uint32_t ring) {
    const int lane = int(machine::lane_index()), warp = int(machine::warp_uniform(machine::warp_index()));
    const auto read = [&](SmemTile slot, int first, int along_mn, int along_k) {
      const int row = slot.major == Major::K ? first + along_mn * 8 + lane % 8 : first + along_mn * 8;
      const int k = slot.major == Major::K ? along_k * 16 * 8 / bits(C.type) : along_k * 8 + lane % 8;
      return slot.offset(row, k);
    };
    State s;
    s.read_a = ring + read(C.a_slot(), warp / C.warps_n * C.warp_m(), lane / 8 % 2, lane / 16);
    s.read_b = ring + C.a_slot().bytes() + read(C.b_slot(), warp % C.warps_n * C.warp_n(), lane / 16, lane / 8 % 2);
    return s;
  }
  // The first copies of a tile of D.
  WW_FN static void begin(State& s, const Args& args, const tile::Job& job, uint32_t ring) {
    s.source = Source<C>::of(args, job, ring);
    s.at = 0;
    expand<schedule::Phase::prologue, 0, 0, Run::fill()>(s);
  }
  WW_FN static void multiply_tile(State& s, const tile::Job& job) {
    WW_UNROLL
    for (int i = 0; i < kRowsOfMma; ++i) {
      WW_UNROLL
      for (int j = 0; j < kColumnsOfMma * 4; ++j) s.sums[i][j / 4][j % 4] = 0;
    }
    expand<schedule::Phase::prologue, 0, Run::fill(), Run::count(schedule::Phase::prologue)>(s);
    WW_ROLLED
    for (int left = iterations(job) - Run::peeled; left > 0; --left) {
      expand<schedule::Phase::kernel, 0, 0, Run::count(schedule::Phase::kernel)>(s);
      s.source.advance();
      s.at = slot<C.unroll>(s);
    }
    expand<schedule::Phase::epilogue, Run::peeled, 0, Run::count(schedule::Phase::epilogue)>(s);
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<DenseGemm>();
    const uint32_t base = machine::shared_base(), ring = base + plan.region("input").offset;
    tile::PersistentTilesOver<Jobs> walk(jobs(args));
    tile::Job job, next;
    if (!walk.next(job)) return;
    State s = make_state(ring);
    begin(s, args, job, ring);
    for (bool more = true; more; job = next) {
      multiply_tile(s, job);
      more = walk.next(next);
      if (more) {
        // All warps are done with the slots: the next tile's copies land while this one is stored.
        machine::sync_block();
        begin(s, args, next, ring);
      }
      store_tile<C>(s.sums, args, raster(args).count(), job, base + plan.region("output").offset);
    }
    machine::cp_async_wait<0>();
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm80

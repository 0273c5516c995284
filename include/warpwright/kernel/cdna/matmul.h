// The CDNA matmul. There is one body for all variants: prologue, loop and epilogue are expanded from a proven schedule,
// entry by entry, so that the order of the instructions and every wait and barrier between them are the schedule's.
//
// A row of a tile is 128 bytes of K in LDS, 8 chunks of 16 that change places from row to row so that a fragment read
// spreads over the banks. LDS DMA writes linearly, hence the lane that fills a place loads the chunk that belongs
// there; the exchange is its own inverse.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/cdna/general.h"
#include "warpwright/kernel/cdna/schedules.h"
#include "warpwright/machine/cdna.h"

namespace warpwright::inline WW_WORLD::kernel::cdna {

using schedule::Phase;
using schedule::ScheduleEntry;
namespace tags = schedule::tags;
namespace body_tags = schedule::body_tags;

// The schedule decides whether the waves are in two groups, and how many slots A and B have.
constexpr BlockPlan matmul_plan(const CdnaMatmulConfig& c, bool staggered, int depth) {
  BlockPlan p("cdna_matmul", c.arch);
  if (staggered) {
    p.role("leading", c.waves() / 2).role("trailing", c.waves() / 2);
  } else {
    p.role("wave", c.waves());
  }
  const uint32_t row = CdnaMatmulConfig::kTileBytes;
  p.region("A", uint32_t(c.tile_m()) * row, depth, 1024).region("B", uint32_t(c.tile_n()) * row, depth, 1024);
  return p;
}
// The same for callers without a compiled schedule: it is made here.
constexpr BlockPlan matmul_plan(const CdnaMatmulConfig& c) {
  const schedule::Pipeline p = ::warpwright::cdna::pipeline_of(::warpwright::cdna::schedule_key(c));
  return matmul_plan(c, p.shape.staggered, p.depths.empty() ? 0 : p.depths[0].depth);
}

template <CdnaMatmulConfig C>
struct Matmul {
  using Args = CdnaMatmulArgs;
  static constexpr CdnaMatmulConfig config = C;
  static constexpr ::warpwright::cdna::FrozenPipeline facts =
      ::warpwright::cdna::kFrozen<::warpwright::cdna::schedule_key(C)>;
  static_assert(facts.proven && ::warpwright::cdna::shares_schedule(C), "both validators must accept the schedule");

  static constexpr int kRow = CdnaMatmulConfig::kTileBytes;
  static constexpr int kA = C.wave_tiles_m(), kB = C.wave_tiles_n();
  static constexpr int kSlices = 2;  // fragments along a row
  static constexpr int kLoadsA = C.tile_m() / C.rows_per_load(), kLoadsB = C.tile_n() / C.rows_per_load();
  static constexpr uint32_t kSlotA = C.tile_m() * kRow, kSlotB = C.tile_n() * kRow;

  // An iteration goes through the slots a whole number of times: so each op always has the same slot.
  static constexpr bool kFixedSlots = facts.tiles % facts.depth == 0;
  static_assert(kFixedSlots || facts.tiles == 1, "the slot moves on by one in an iteration");

  static constexpr BlockPlan plan = matmul_plan(C, facts.staggered, facts.depth);
  static constexpr uint32_t kRegionB = plan.region("B").offset;

  using Staged = stdx::conditional_t<C.by_elements, m::Gathered<C.element_bytes()>, m::Fragment>;

  // What a wave holds.
  struct State {
    m::Accumulator sums[kA][kB];
    m::Fragment a[kA][kSlices], b[kB][kSlices];
    Staged staged[C.uses_dma() ? 1 : kLoadsA + kLoadsB];
    m::BufferResource from_a, from_b;
    ElementRows rows_a, rows_b;  // by_elements, instead of those
    m::Lanes row;                // of the lane in a load of the workgroup
    uint32_t a_row_bytes, b_row_bytes, k_bytes;
    uint32_t wave;
    m::Lanes place, chunk;    // bytes: of the lane in a load of a wave, and of what it loads in its row
    m::Lanes load_a, load_b;  // the offset of that in the first rows of the tile
    m::Lanes read_a[kSlices], read_b[kSlices];  // LDS address of a fragment in slot 0
    uint32_t base, slot;                        // iteration that shifts count from, and the slot of its first tile
  };

  template <ScheduleEntry E>
  WW_FN static uint32_t tile_of(const State& s) {
    constexpr uint32_t ahead = uint32_t(E.shift * facts.tiles + E.op.stage);
    if constexpr (E.phase == Phase::prologue) return ahead;
    return s.base * uint32_t(facts.tiles) + ahead;
  }
  template <ScheduleEntry E>
  WW_FN static uint32_t slot_of(const State& s) {
    constexpr uint32_t d = uint32_t(facts.depth);
    constexpr int tile = E.shift * facts.tiles + E.op.stage;
    constexpr uint32_t ahead = uint32_t((tile % int(d) + int(d)) % int(d));
    if constexpr (E.phase == Phase::prologue || kFixedSlots) return ahead;
    const uint32_t slot = s.slot + ahead;
    return slot < d ? slot : slot - d;
  }

  // What the lanes load of a row in tile `tile`: nothing past K, where they get zeros.
  WW_FN static m::Lanes offset_in(const State& s, m::Lanes first, uint32_t tile) {
    const uint32_t k = tile * kRow;
    const uint32_t left = s.k_bytes > k ? s.k_bytes - k : 0;
    return m::select(s.chunk < left, first + k, kOutside);
  }

  // Rows [part * rows / 2, (part + 1) * rows / 2) of A or B, straight into LDS.
  template <bool IsA, ScheduleEntry E>
  WW_FN static void copy(State& s) {
    constexpr int loads = (IsA ? kLoadsA : kLoadsB) / 2;
    const m::Lanes from = offset_in(s, IsA ? s.load_a : s.load_b, tile_of<E>(s));
    const uint32_t slot = IsA ? slot_of<E>(s) * kSlotA : kRegionB + slot_of<E>(s) * kSlotB;
    WW_UNROLL
    for (int i = 0; i < loads; ++i) {
      const uint32_t row = uint32_t((E.op.subtile * loads + i) * C.rows_per_load());
      m::buffer_load_lds(IsA ? s.from_a : s.from_b, slot + (row + s.wave * 8) * kRow,
                         from + row * (IsA ? s.a_row_bytes : s.b_row_bytes));
    }
  }

  // Those of A into staged[0] and following, those of B after them.
  template <bool IsA, ScheduleEntry E>
  WW_FN static void gather(State& s) {
    constexpr uint32_t size = C.element_bytes();
    const ElementRows& rows = IsA ? s.rows_a : s.rows_b;
    const uint32_t first = tile_of<E>(s) * kRow, left = s.k_bytes > first ? s.k_bytes - first : 0;
    const uint32_t depth = (left < kRow ? left : kRow) / size;
    const m::BufferResource from = rows.buffer(first / size, depth, size);
    WW_UNROLL
    for (int i = 0; i < (IsA ? kLoadsA : kLoadsB); ++i) {
      const m::Lanes line = (s.row + uint32_t(i * C.rows_per_load())) * rows.row_bytes;
      WW_UNROLL
      for (uint32_t e = 0; e < 16 / size; ++e) {
        const m::Lanes k = (s.chunk >> (size / 2)) + e;
        m::buffer_load_element(s.staged[(IsA ? 0 : kLoadsA) + i], int(e), from,
                               m::select(k < depth, line + k * rows.k_bytes, kOutside));
      }
    }
  }
  template <ScheduleEntry E>
  WW_FN static void load_registers(State& s) {
    if constexpr (C.by_elements) {
      gather<true, E>(s);
      gather<false, E>(s);
    } else {
      const m::Lanes a = offset_in(s, s.load_a, tile_of<E>(s)), b = offset_in(s, s.load_b, tile_of<E>(s));
      WW_UNROLL
      for (int i = 0; i < kLoadsA; ++i)
        m::buffer_load(s.staged[i], s.from_a, a + uint32_t(i * C.rows_per_load()) * s.a_row_bytes);
      WW_UNROLL
      for (int i = 0; i < kLoadsB; ++i)
        m::buffer_load(s.staged[kLoadsA + i], s.from_b, b + uint32_t(i * C.rows_per_load()) * s.b_row_bytes);
    }
  }
  template <ScheduleEntry E>
  WW_FN static void store_lds(State& s) {
    const uint32_t to_a = slot_of<E>(s) * kSlotA, to_b = kRegionB + slot_of<E>(s) * kSlotB;
    WW_UNROLL
    for (int i = 0; i < kLoadsA; ++i) m::ds_write(s.place + (to_a + i * C.rows_per_load() * kRow), s.staged[i]);
    WW_UNROLL
    for (int i = 0; i < kLoadsB; ++i)
      m::ds_write(s.place + (to_b + i * C.rows_per_load() * kRow), s.staged[kLoadsA + i]);
  }

  // Fragments [first, first + count) of A or B, one slice of each.
  template <bool IsA, ScheduleEntry E>
  WW_FN static void read(State& s, int first, int count, int slice) {
    constexpr int quadrant = IsA ? C.quadrant_m() : C.quadrant_n();
    constexpr int step = IsA ? C.quadrant_step_m() : C.quadrant_step_n();
    const m::Lanes from = (IsA ? s.read_a : s.read_b)[slice] + slot_of<E>(s) * (IsA ? kSlotA : kSlotB);
    WW_UNROLL
    for (int i = first; i < first + count; ++i) {
      m::ds_read((IsA ? s.a[i] : s.b[i])[slice], from + uint32_t(row_of_tile(i, quadrant, step) * kRow));
    }
  }

  // The operands swap sides, so that a lane gets four neighbouring columns of D.
  WW_FN static void multiply(State& s, int i, int j, int slice) {
    if constexpr (C.type == DType::bf16) {
      m::mfma_bf16(s.sums[i][j], s.b[j][slice], s.a[i][slice]);
    } else if constexpr (C.type == DType::fp16) {
      m::mfma_fp16(s.sums[i][j], s.b[j][slice], s.a[i][slice]);
    } else {
      m::mfma_fp8(s.sums[i][j], s.b[j][slice], s.a[i][slice]);
    }
  }
  template <ScheduleEntry E>
  WW_FN static void multiply_quadrant(State& s) {
    constexpr int row = E.op.quadrant().row * C.quadrant_m(), column = E.op.quadrant().column * C.quadrant_n();
    WW_UNROLL
    for (int slice = 0; slice < (C.wide_fp8() ? 1 : kSlices); ++slice) {
      WW_UNROLL
      for (int i = row; i < row + C.quadrant_m(); ++i) {
        WW_UNROLL
        for (int j = column; j < column + C.quadrant_n(); ++j) {
          if constexpr (C.wide_fp8()) {
            m::mfma_fp8_wide(s.sums[i][j], s.b[j][0], s.b[j][1], s.a[i][0], s.a[i][1]);
          } else {
            multiply(s, i, j, slice);
          }
        }
      }
    }
  }

  template <ScheduleEntry E>
  WW_FN static void step(State& s) {
    constexpr schedule::OpDesc op = E.op;
    constexpr schedule::Tag tag = op.tag;
    static constexpr schedule::Name name =
        schedule::op_name(op, tag.is_data() ? facts.labels[tag.value] : schedule::OpLabel{});
    m::at_entry(schedule::word(E.phase), E.time_slot, name.c_str());
    if constexpr (op.is_wait_vm()) {
      m::wait_vm<op.wait_count()>();
    } else if constexpr (op.is_wait_lgkm()) {
      m::wait_lgkm<op.wait_count()>();
    } else if constexpr (op.is_barrier()) {
      m::workgroup_barrier();
    } else if constexpr (tag == tags::set_prio) {
      m::set_priority<op.priority()>();
    } else if constexpr (C.uses_dma()) {
      if constexpr (tag == body_tags::load_a || tag == body_tags::load_b) copy<tag == body_tags::load_a, E>(s);
      if constexpr (tag == body_tags::frag_a || tag == body_tags::frag_b) {
        constexpr int count = tag == body_tags::frag_a ? C.quadrant_m() : C.quadrant_n();
        WW_UNROLL
        for (int slice = 0; slice < kSlices; ++slice)
          read<tag == body_tags::frag_a, E>(s, op.subtile * count, count, slice);
      }
      if constexpr (tag == body_tags::mma) multiply_quadrant<E>(s);
    } else {
      if constexpr (tag == body_tags::load_a) load_registers<E>(s);
      if constexpr (tag == body_tags::store) store_lds<E>(s);
      if constexpr (tag == body_tags::frag_a) {
        read<true, E>(s, 0, kA, op.subtile);
        read<false, E>(s, 0, kB, op.subtile);
      }
      if constexpr (tag == body_tags::mma) {
        WW_UNROLL
        for (int i = 0; i < kA; ++i) {
          WW_UNROLL
          for (int j = 0; j < kB; ++j) multiply(s, i, j, op.subtile);
        }
      }
    }
    m::order_fence();
  }

  template <Phase P, size_t... I>
  WW_FN static void run(State& s, stdx::index_sequence<I...>) {
    (run_one<P, I>(s), ...);
  }
  template <Phase P>
  WW_FN static void run(State& s) {
    run<P>(s, stdx::make_index_sequence<facts.phase(P).count>{});
  }
  template <Phase P, size_t I>
  WW_FN static void run_one(State& s) {
    if constexpr (facts.staggered && P == Phase::prologue && I == size_t(facts.stagger_at))
      stagger(s.wave >= C.waves() / 2);
    step<facts.phase(P).entries[I]>(s);
  }
  // The trailing group falls one barrier behind, and the leading one waits for it at the end.
  WW_FN static void stagger(bool mine) {
    if (!mine) return;
    m::at_entry("stagger", 0, "BAR");
    m::workgroup_barrier();
    m::order_fence();
  }

  struct Tile {
    uint32_t m = 0, n = 0;
  };
  // Eight rows of tiles at a time, column by column: neighbours in time share their operands in the L2 cache.
  WW_FN static Tile tile_at(uint32_t index, uint32_t tiles_m, uint32_t tiles_n) {
    constexpr uint32_t kBand = 8;
    const uint32_t band = index / (kBand * tiles_n), in_band = index % (kBand * tiles_n);
    const uint32_t left = tiles_m - band * kBand, rows = left < kBand ? left : kBand;
    return {band * kBand + in_band % rows, in_band / rows};
  }
  WW_FN static m::BufferResource operand(Global<const uint8_t> matrix, uint32_t first_row, uint32_t rows,
                                         uint32_t tile_rows, uint32_t row_bytes, uint32_t k_bytes) {
    const uint32_t left = rows - first_row, count = left < tile_rows ? left : tile_rows;
    // A part without depth must read nothing.
    const bool none = C.general && k_bytes == 0;
    return m::make_buffer(matrix + int64_t(first_row) * row_bytes, none ? 0 : (count - 1) * row_bytes + k_bytes);
  }

  WW_FN static void body(const Args& given) {
    static_assert(C.arch == Arch::gfx950 || !C.uses_dma(), "16-byte LDS DMA is an instruction of gfx950");
    const Args args = settled<C>(given);
    const uint32_t tiles_m = (args.m + C.tile_m() - 1) / C.tile_m(), tiles_n = (args.n + C.tile_n() - 1) / C.tile_n();
    const Job job = job_of<C>(m::workgroup_index(), tiles_m * tiles_n, args);
    const Tile tile = tile_at(job.tile, tiles_m, tiles_n);
    const m::Lanes lane = m::lane_index();

    State s;
    s.wave = m::wave_index();
    s.a_row_bytes = args.a_row_bytes;
    s.b_row_bytes = args.b_row_bytes;
    s.k_bytes = job.k * C.element_bytes();
    const Global<const uint8_t> a = args.a + job.a_bytes, b = args.b + job.b_bytes;
    if constexpr (C.by_elements) {
      s.rows_a = {a, tile.m * C.tile_m(), args.m, C.tile_m(), s.a_row_bytes, args.a_k_bytes};
      s.rows_b = {b, tile.n * C.tile_n(), args.n, C.tile_n(), s.b_row_bytes, args.b_k_bytes};
    } else {
      s.from_a = operand(a, tile.m * C.tile_m(), args.m, C.tile_m(), s.a_row_bytes, s.k_bytes);
      s.from_b = operand(b, tile.n * C.tile_n(), args.n, C.tile_n(), s.b_row_bytes, s.k_bytes);
    }
    // A wave loads eight whole rows at a time.
    s.place = lane * 16u + s.wave * (8 * kRow);
    const m::Lanes row = (lane >> 3u) + s.wave * 8;
    s.chunk = C.place_of(row, lane & 7u);
    s.row = row;
    s.load_a = row * s.a_row_bytes + s.chunk;
    s.load_b = row * s.b_row_bytes + s.chunk;
    const m::Lanes fragment_row = lane & 15u;
    const m::Lanes fragment = fragment_row * uint32_t(kRow) + C.place_of(fragment_row, lane >> 4u);
    s.read_a[0] = fragment + s.wave / C.waves_n() * (C.wave_step_m() * kRow);
    s.read_b[0] = fragment + (kRegionB + s.wave % C.waves_n() * (C.wave_step_n() * kRow));
    s.read_a[1] = s.read_a[0] ^ 64u;
    s.read_b[1] = s.read_b[0] ^ 64u;
    WW_UNROLL
    for (int i = 0; i < kA; ++i) {
      WW_UNROLL
      for (int j = 0; j < kB; ++j) m::clear(s.sums[i][j]);
    }

    constexpr uint32_t peeled = uint32_t(facts.stages) - 1;
    const uint32_t tiles_k = (s.k_bytes + kRow - 1) / kRow;
    const uint32_t turns = (tiles_k + uint32_t(facts.tiles) - 1) / uint32_t(facts.tiles);
    const uint32_t iterations = turns > peeled ? turns : peeled;
    s.base = s.slot = 0;
    run<Phase::prologue>(s);
    if constexpr (facts.staggered) m::expect_barriers_ahead(s.wave < C.waves() / 2 ? 0 : 1);
    WW_ROLLED
    for (; s.base < iterations - peeled; ++s.base) {
      run<Phase::kernel>(s);
      if constexpr (!kFixedSlots) s.slot = s.slot + 1 < uint32_t(facts.depth) ? s.slot + 1 : 0;
    }
    s.base = iterations;
    s.slot = (s.slot + peeled) % uint32_t(facts.depth);
    run<Phase::epilogue>(s);
    if constexpr (facts.staggered) stagger(s.wave < C.waves() / 2);
    if constexpr (C.general) {
      const Args all = m::read_again(given);
      if (!add_parts<C>(s.sums, s.wave, job, tiles_m * tiles_n, all)) return;
      NodeStore<C>::run(s.sums, s.wave, tile.m * C.tile_m(), tile.n * C.tile_n(), job.batch, all);
      return;
    }
    if (args.n % 4 == 0 && args.d_row_bytes % 4 == 0) {
      store<true>(s, args, tile, lane);
    } else {
      store<false>(s, args, tile, lane);
    }
  }

  // Lanes outside the matrix store to no address. Whole: rows are made of groups of four elements.
  template <bool Whole>
  WW_FN static void store(const State& s, const Args& args, Tile tile, m::Lanes lane) {
    const uint32_t first_row = tile.m * C.tile_m(), first_column = tile.n * C.tile_n();
    const uint32_t rows = args.m - first_row < C.tile_m() ? args.m - first_row : C.tile_m();
    const uint32_t columns = args.n - first_column < C.tile_n() ? args.n - first_column : C.tile_n();
    const m::BufferResource to =
        m::make_buffer(args.d + (int64_t(first_row) * args.d_row_bytes + int64_t(first_column) * C.out_bytes()),
                       (rows - 1) * args.d_row_bytes + columns * C.out_bytes());
    const m::Lanes row = (lane & 15u) + s.wave / C.waves_n() * C.wave_step_m();
    const m::Lanes column = ((lane >> 4u) << 2u) + s.wave % C.waves_n() * C.wave_step_n();
    WW_UNROLL
    for (int i = 0; i < kA; ++i) {
      const m::Lanes r = row + uint32_t(row_of_tile(i, C.quadrant_m(), C.quadrant_step_m()));
      const m::Lanes line = m::select(r < rows, r * args.d_row_bytes, kOutside);
      WW_UNROLL
      for (int j = 0; j < kB; ++j) {
        const m::Lanes c = column + uint32_t(row_of_tile(j, C.quadrant_n(), C.quadrant_step_n()));
        WW_UNROLL
        for (int e = 0; e < (Whole ? 1 : 4); ++e) {
          const m::Lanes offset = m::select(c + e < columns, line + (c + e) * uint32_t(C.out_bytes()), kOutside);
          if constexpr (Whole) {
            store_four(to, offset, s.sums[i][j], args.alpha);
          } else {
            store_one(to, offset, s.sums[i][j], e, args.alpha);
          }
        }
      }
    }
  }
  WW_FN static void store_four(const m::BufferResource& to, m::Lanes offset, const m::Accumulator& sum, float alpha) {
    if constexpr (C.out_type == DType::bf16) {
      m::buffer_store(to, offset, m::scaled_bf16_pair(sum, 0, alpha), m::scaled_bf16_pair(sum, 2, alpha));
    } else {
      m::buffer_store(to, offset, m::scaled_bits(sum, 0, alpha), m::scaled_bits(sum, 1, alpha),
                      m::scaled_bits(sum, 2, alpha), m::scaled_bits(sum, 3, alpha));
    }
  }
  WW_FN static void store_one(const m::BufferResource& to, m::Lanes offset, const m::Accumulator& sum, int e,
                              float alpha) {
    if constexpr (C.out_type == DType::bf16) {
      const m::Lanes pair = m::scaled_bf16_pair(sum, e / 2 * 2, alpha);
      m::buffer_store_short(to, offset, e % 2 == 0 ? pair : pair >> 16u);
    } else {
      m::buffer_store(to, offset, m::scaled_bits(sum, e, alpha));
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::cdna

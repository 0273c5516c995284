// The load role of grouped_gemm.h where a table says which row of A each row of the product takes. Hopper's TMA cannot
// gather, so the lanes of the load warp copy the rows by cp.async, eight lanes the 128 bytes that a row has in a stage,
// while the TMA brings B; nothing of A is copied in memory. No lane waits for the copies that it has just begun: a
// stage is published when some more have been begun, so several are under way at any time.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/kernel/sm90/load_operand.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/grouped_raster.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

// For a whole warp, whose lanes have each filled a part of the stage by cp.async and one of which expects the TMA's
// bytes. A stage is published when the copies of `Behind` later ones have begun; finish() publishes the last ones.
template <int Stages, int Behind>
struct PublishBehind {
  static_assert(Behind >= 0 && Behind <= Stages - 2, "a consumer that holds a stage until the next one is there waits");
  static constexpr bool expects_bytes = true;
  struct Begun {
    int stages = 0;         // stages that are not published yet
    Shared<Mbarrier> last;  // the full barrier of the last one
  };
  Shared<Mbarrier> first;  // full barrier of the ring
  Begun* begun = nullptr;

  WW_FN static void acquired(machine::here) {}
  WW_FN void publish(Shared<Mbarrier> full, machine::here at) const {
    machine::cp_async_commit(at);
    begun->last = full;
    if (begun->stages < Behind) {
      ++begun->stages;
      return;
    }
    machine::cp_async_wait<Behind>(at);
    tell(Behind, at);
  }
  WW_FN void finish(machine::here at = {}) const {
    machine::cp_async_wait<0>(at);
    for (int i = begun->stages - 1; i >= 0; --i) tell(i, at);
  }

 private:
  // The copies are writes of threads, and the tensor core reads them.
  WW_FN void tell(int back, machine::here at) const {
    machine::fence_proxy_async<ProxySpace::shared_cta>(at);
    machine::sync_warp(machine::kFullMask, at);
    const int stage = int(begun->last.address - first.address) / int(sizeof(Mbarrier)) - back;
    if (machine::lane_index() == 0) machine::mbarrier_arrive(first + (stage < 0 ? stage + Stages : stage), 1, at);
  }
};

// Which rows of A a tile has: lane l knows those of the tile's rows l, l + 32, ...
template <GroupedGemmConfig C>
class GatheredRows {
 public:
  static constexpr int kGroups = C.tile_m / 32;

  // `rows` rows of the product from `first` on. A row past their end, or an index outside of A, becomes none; returns
  // whether there was such an index.
  WW_FN bool load(const GroupedGemmArgs& args, int first, int rows) {
    bool wrong = false;
    WW_UNROLL
    for (int i = 0; i < kGroups; ++i) {
      const int row = i * 32 + int(machine::lane_index());
      index_[i] = -1;
      if (row >= rows) continue;
      index_[i] = machine::load(Global<const int32_t>{args.a_index} + (first + row));
      if (uint32_t(index_[i]) >= uint32_t(args.a_rows)) {
        index_[i] = -1;
        wrong = true;
      }
    }
    return wrong;
  }
  // The row of A for row `row`, one of the lane's own.
  WW_FN int own(int row) const { return index_[row / 32]; }
  // That for row `row` of the tile, whose group of 32 is known when the kernel is compiled; negative: none.
  WW_FN int at(int group, int row) const { return machine::shuffle(index_[group], uint32_t(row % 32)); }

 private:
  int index_[kGroups];
};

// How many of them a tile has.
template <class Kernel>
WW_FN int gathered_rows(const tile::GroupedTile& tile) {
  const int left = tile.rows.count - Kernel::first_row(tile);
  return left < Kernel::config.tile_m ? left : Kernel::config.tile_m;
}

template <class Kernel>
class GatherLoad {
  static constexpr GroupedGemmConfig C = Kernel::config;
  static constexpr int kLineBytes = int(swizzle_bytes(Swizzle::b128)), kChunk = 16, kChunks = kLineBytes / kChunk;
  static constexpr int kRowsAtOnce = 32 / kChunks;
  using Publish = PublishBehind<C.stages, C.stages_behind()>;
  using Input = pipeline::Producer<C.stages, Publish>;

 public:
  WW_FN GatherLoad(const GroupedGemmArgs& args, uint32_t base, bool elected)
      : args_(args), base_(base), elected_(elected), walk_(Kernel::tiles(args)) {}

  // The whole warp. await_peers() returns when the peers' barriers may be used.
  template <class AwaitPeers>
  WW_FN void run(pipeline::Ring<C.stages> ring, AwaitPeers&& await_peers) {
    typename Publish::Begun begun;
    const Publish how{ring.full, &begun};
    Input input(ring, how);
    look_ahead();
    await_peers();
    while (any_) {
      const tile::GroupedTile tile = next_tile_;
      const int peer_column = next_peer_column_;
      const GatheredRows<C> rows = next_rows_;
      // The next tile's part of the table is under way while this one is loaded.
      look_ahead();
      load_tile(input, tile, peer_column, rows);
    }
    how.finish();
    if (machine::ballot(wrong_) != 0) walk_.note_fault(kIndexOutOfRange);
    walk_.add_to_report();
    // The peers hand stages back to this CTA until the last one, so it must not leave before.
    if constexpr (C.cluster > 1) input.drain();
  }

 private:
  WW_FN void look_ahead() {
    any_ = walk_.next(next_tile_);
    if (!any_) return;
    if constexpr (C.paired()) next_peer_column_ = walk_.peer_column();
    const bool wrong = next_rows_.load(args_, next_tile_.rows.first + Kernel::first_row(next_tile_),
                                       gathered_rows<Kernel>(next_tile_));
    wrong_ = wrong_ || wrong;
  }

  WW_FN void load_tile(Input& input, const tile::GroupedTile& tile, int peer_column, const GatheredRows<C>& rows) {
    const int stages = Kernel::depth(args_, tile), blocks = tile::ceil_div(gathered_rows<Kernel>(tile), 64);
    for (int k = 0; k < stages; ++k) {
      input.produce([&](auto stage) {
        const int at = k * C.tile_k();
        if (elected_) {
          stage->expect_bytes(C.b_bytes());
          load_b(tile, peer_column, at, stage->index(), stage->full());
        }
        // Rows past the last block of 64 are multiplied by nobody.
        WW_UNROLL
        for (int block = 0; block < C.tile_m / 64; ++block) {
          if (block < blocks) copy_block(Kernel::a_stage(base_, stage->index()), rows, block, at);
        }
        return stdx::move(stage).release();
      });
    }
  }

  // This CTA's part of B for all CTAs that have the tile's columns. Two CTAs with the same rows, but columns of their
  // own, share no operand, and yet neither may get a round of stages ahead of the other, on whose empty barriers it
  // arrives: so each loads half of its columns and half of its peer's.
  WW_FN void load_b(const tile::GroupedTile& tile, [[maybe_unused]] int peer_column, int k, int stage,
                    Shared<Mbarrier> full) const {
    constexpr uint32_t bytes = C.b_bytes() / C.column_blocks();
    constexpr uint16_t everyone = (1u << C.cluster) - 1;
    const int rank = C.cluster == 1 ? 0 : int(machine::cluster_rank());
    const bool beside = C.paired() && tile.beside;
    WW_UNROLL
    for (int half = 0; half < C.column_blocks(); ++half) {
      const Shared<uint8_t> to =
          Kernel::b_stage(base_, stage).plus_bytes(bytes * uint32_t(half) + C.b_box().bytes() * uint32_t(rank));
      const int line = Kernel::first_line(args_, tile) + half * Kernel::columns(args_) + rank * C.box_columns();
      const auto load = [&](int column, uint16_t receivers) {
        const auto corner = b_corner<C>(k, line + column, tile.rows.matrix);
        if constexpr (C.cluster == 1) {
          machine::tma_load(to, &args_.b, corner, full);
        } else {
          machine::tma_load_multicast(to, &args_.b, corner, full, receivers);
        }
      };
      load(Kernel::first_column(tile), beside ? uint16_t(1u << rank) : everyone);
      if constexpr (C.paired()) {
        if (beside) load(peer_column, uint16_t(1u << (rank ^ 1)));
      }
    }
  }

  // 64 rows; those that are none, and what is past the end of k, become zero. Several copies' rows are fetched
  // together: one warp makes all copies of a stage, and waiting for a shuffle takes it longer than making one.
  WW_FN void copy_block(Shared<uint8_t> to, const GatheredRows<C>& rows, int block, int k) const {
    constexpr int size = bits(C.type) / 8, at_once = 8;
    static_assert(64 % (kRowsAtOnce * at_once) == 0 && 2 * kRowsAtOnce == atom_rows(Swizzle::b128));
    const int lane = int(machine::lane_index()), chunk = lane % kChunks, line = lane / kChunks;
    const auto* const from = static_cast<const uint8_t*>(args_.a_data) + (int64_t(k) * size + chunk * kChunk);
    const bool inside = k + chunk * (kChunk / size) < args_.k;
    // Unsigned, so that an address is one multiplication.
    const uint32_t row_bytes = uint32_t(args_.k) * uint32_t(size);
    // The swizzle repeats after as many rows as two copies bring.
    const auto place = [&](int row) {
      return to.plus_bytes(swizzle(Swizzle::b128, uint32_t((row + line) * kLineBytes + chunk * kChunk)));
    };
    const Shared<uint8_t> even = place(0), odd = place(kRowsAtOnce);
    WW_UNROLL
    for (int first = block * 64; first < block * 64 + 64; first += kRowsAtOnce * at_once) {
      int row[at_once];
      WW_UNROLL
      for (int i = 0; i < at_once; ++i) {
        row[i] = rows.at((first + i * kRowsAtOnce) / 32, first + i * kRowsAtOnce + line);
      }
      WW_UNROLL
      for (int i = 0; i < at_once; ++i) {
        const uint32_t below = uint32_t((first + i / 2 * 2 * kRowsAtOnce) * kLineBytes);
        machine::cp_async<kChunk>((i % 2 == 0 ? even : odd).plus_bytes(below),
                                  Global<const uint8_t>{from + uint64_t(uint32_t(row[i] < 0 ? 0 : row[i])) * row_bytes},
                                  inside && row[i] >= 0 ? uint32_t(kChunk) : 0);
      }
    }
  }

  const GroupedGemmArgs& args_;
  const uint32_t base_;
  const bool elected_;
  typename Kernel::Tiles walk_;
  tile::GroupedTile next_tile_{};
  GatheredRows<C> next_rows_;
  int next_peer_column_ = 0;
  bool any_ = false;
  bool wrong_ = false;  // an index of this lane
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

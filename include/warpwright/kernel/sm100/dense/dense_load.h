// The load role of the Blackwell GEMM: one thread fills the input ring by TMA, with this CTA's slice of what the
// cluster shares.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm100/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/source.h"
#include "warpwright/warp/kernel_context.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

template <DenseGemmSm100Config C>
struct DenseLoad {
  using Args = DenseGemmSm100Args;

  // One box to this CTA, or to all CTAs of `receivers`; its bytes count on the barrier of the leader of each of them.
  template <bool Multicast, int Rank>
  WW_FN static void load_box(Shared<uint8_t> to, const TensorMap* map, machine::Coords<Rank> from,
                             Shared<Mbarrier> full, uint16_t receivers, machine::here at = {}) {
    if constexpr (Multicast) {
      const Shared<Mbarrier> bar{C.cta_group == 2 ? machine::map_to_leader(full).address : full.address};
      machine::tma_load_multicast<CacheHint::normal, C.cta_group>(to, map, from, bar, receivers, at);
    } else if constexpr (C.cta_group == 2) {
      machine::tma_load_pair(to, map, from, machine::map_to_leader(full), at);
    } else {
      machine::tma_load(to, map, from, full, at);
    }
  }

  // The slices of one job: where they are in the matrices, and where they go in a tile of the ring.
  struct Slices {
    const Args& args;
    const KernelContext& self;
    int a_row;
    int b_row;
    int batch;
    int a_scale_row = 0;  // tiles of factors
    int b_scale_row = 0;

    template <class K>
    WW_FN static Slices of(const Args& args, const KernelContext& self, const tile::Job& job) {
      const int a_row = K::first_row(job, self) + int(self.a_slice) * C.a_box().outer;
      const int b_row =
          K::first_column(job, self) + int(self.place_in_pair) * C.b_rows() + int(self.b_slice) * C.b_box().outer;
      Slices all{args, self, a_row, b_row, job.batch};
      if constexpr (C.scaled()) {
        all.a_scale_row = K::first_row(job, self) / kScaleTileRows + job.batch * args.a_scale_step;
        all.b_scale_row = K::first_column(job, self) / kScaleTileRows + job.batch * args.b_scale_step;
      }
      return all;
    }
    WW_FN auto corner(int k, int row, [[maybe_unused]] int step) const {
      if constexpr (C.batched) {
        return machine::Coords<3>{{k, row, batch * step}};
      } else {
        return machine::Coords<2>{{k, row}};
      }
    }
    WW_FN void load_a(Shared<uint8_t> tile, int k, Shared<Mbarrier> full) const {
      constexpr uint32_t bytes = C.a_box().bytes();
      load_box<(C.cluster_n > 1)>(tile.plus_bytes(bytes * self.a_slice), &args.a, corner(k, a_row, args.a_batch_step),
                                  full, self.a_multicast_mask);
    }
    WW_FN void load_b(Shared<uint8_t> tile, int k, Shared<Mbarrier> full) const {
      constexpr uint32_t bytes = C.b_box().bytes();
      const auto from = [&] {
        if constexpr (!C.epilogue.pair()) {
          return corner(k, b_row, args.b_batch_step);
        } else if constexpr (C.batched) {
          return machine::Coords<5>{{k, 0, 0, b_row / 2, batch * args.b_batch_step}};
        } else {
          return machine::Coords<4>{{k, 0, 0, b_row / 2}};
        }
      }();
      load_box<(C.groups_m() > 1)>(tile.plus_bytes(bytes * self.b_slice), &args.b, from, full, self.b_multicast_mask);
    }
    // Factors are not sliced: each CTA loads those of all its rows.
    WW_FN static void load_scales(Shared<uint8_t> to, const TensorMap& map, int blocks, int row, int k,
                                  Shared<Mbarrier> full) {
      constexpr uint32_t bytes = C.scale_box().bytes();
      WW_UNROLL
      for (int block = 0; block < blocks; ++block) {
        load_box<false, 3>(to.plus_bytes(bytes * uint32_t(block)), &map,
                           {{0, k / C.tile_k() * C.scale_tiles(), row + block}}, full, 0);
      }
    }
    WW_FN void load_first(const auto& tile, int k, Shared<Mbarrier> full) const {
      load_a(tile.a, k, full);
      if constexpr (C.scaled()) load_scales(tile.a_scales, args.a_scales, C.a_scale_blocks(), a_scale_row, k, full);
    }
    WW_FN void load_second(const auto& tile, int k, Shared<Mbarrier> full) const {
      load_b(tile.b, k, full);
      if constexpr (C.scaled()) load_scales(tile.b_scales, args.b_scales, C.b_scale_blocks(), b_scale_row, k, full);
    }
    // B of the problem, and the operand that it multiplies.
    WW_FN void load_weights(const auto& tile, int k, Shared<Mbarrier> full) const {
      if constexpr (C.swap_ab) {
        load_first(tile, k, full);
      } else {
        load_second(tile, k, full);
      }
    }
    WW_FN void load_others(const auto& tile, int k, Shared<Mbarrier> full) const {
      if constexpr (C.swap_ab) {
        load_second(tile, k, full);
      } else {
        load_first(tile, k, full);
      }
    }
  };

  WW_FN static int first_k(int step, int i) { return (step * C.k_group + i) * C.tile_k(); }

  // Asks for the weights of the first stages of the first job. Nothing is waited for: a ring that was never used is
  // empty. Returns how many stages have them.
  template <class Input>
  WW_FN static int begin_weights(Input& input, const Slices& slices, const tile::KRange& k) {
    const int steps = k.count < C.stages ? k.count : C.stages;
    for (int i = 0; i < steps; ++i) {
      const Shared<Mbarrier> full = input.get_pipeline().full(i);
      if (slices.self.elect_one_cta) {
        machine::mbarrier_arrive_expect_tx(full, Input::group_bytes * uint32_t(C.cta_group));
      }
      WW_UNROLL
      for (int j = 0; j < C.k_group; ++j) {
        slices.load_weights(input.payload().tile(i * C.k_group + j), first_k(k.first + i, j), full);
      }
    }
    return steps;
  }

  // One thread.
  template <class K>
  WW_FN static void run(const Args& args, uint32_t base, const KernelContext& self) {
    typename K::Input input(K::input_ring(base), K::payload(base));
    auto walk = K::template walk<tile::Walker::thread, true>(args, base);
    tile::Job job;
    bool more = walk.next(job);
    int begun = 0;  // stages that have their weights already
    if constexpr (C.dependent) {
      if (more && args.weights_are_constant)
        begun = begin_weights(input, Slices::template of<K>(args, self, job), job.k);
      machine::grid_dependency_wait();
    }
    for (; more; more = walk.next(job)) {
      const Slices slices = Slices::template of<K>(args, self, job);
      for (int step = job.k.first; step < job.k.end(); ++step) {
        input.producer().produce([&](auto stage) {
          // The leader counts the bytes of the whole pair, whichever CTA sends them.
          const bool fresh = !C.dependent || begun == 0;
          if (fresh && self.elect_one_cta) stage->expect_tiles(C.cta_group);
          WW_UNROLL
          for (int i = 0; i < C.k_group; ++i) {
            const auto to = stage->tile(i);
            slices.load_others(to, first_k(step, i), stage->full());
            if (fresh) slices.load_weights(to, first_k(step, i), stage->full());
          }
          return stdx::move(stage).release();
        });
        if (C.dependent && begun > 0) --begun;
      }
    }
    // Lets the next kernel on the stream have the multiprocessors that the last tiles leave idle.
    if constexpr (C.dependent) machine::grid_dependency_launch();
    // The MMAs of other CTAs report here until the last one has read what this CTA sent.
    if constexpr (C.cluster() > 1) input.producer().drain();
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100

// The roles that serve the epilogue by TMA: one sends its results to device memory, one brings what the epilogue adds
// to the sums. Each has a warp for every warpgroup of the epilogue, of which one thread works.
#pragma once
#include "warpwright/kernel/sm100/epilogue_layout.h"
#include "warpwright/pipeline/bulk_store.h"
#include "warpwright/tile/source.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

template <DenseGemmSm100Config C>
struct EpilogueMovers {
  using Layout = EpilogueLayout<C>;

  // Calls job(tile, row, column) for every tile that this CTA finishes; row and column are those of the tile in D.
  template <class K, class Body>
  WW_FN static void for_each_tile(const typename K::Args& args, uint32_t base, const KernelContext& self, Body&& body) {
    if constexpr (C.dependent) machine::grid_dependency_wait();
    auto walk = K::template walk<tile::Walker::thread>(args, base);
    for (tile::Job job; walk.next(job);) {
      if (job.last()) body(job, K::first_row(job, self), Layout::template first_result_column<K>(job, self));
    }
  }

  template <class K>
  WW_FN static void store(const typename K::Args& args, uint32_t base, const KernelContext& self, int group) {
    constexpr uint32_t box_bytes = C.d_box().bytes();
    pipeline::BulkStore<C.store_stages> stores(Layout::template output_ring<K>(base, group));
    for_each_tile<K>(args, base, self, [&](const tile::Job& job, int row, int column) {
      int step = 0;
      stores.run(Layout::kSteps, [&](int stage) {
        const Shared<uint8_t> from = Layout::template output_stage<K>(base, group, stage);
        WW_UNROLL
        for (int half = 0; half < Layout::kHalves; ++half) {
          machine::tma_store(
              &args.maps.d,
              Layout::corner(column + Layout::first_column(group, half) + step * Layout::kResults, row, job.batch),
              from.plus_bytes(box_bytes * uint32_t(half)));
        }
        ++step;
      });
    });
    // Every stage has been read, so the CTA may leave; the writes are complete when the grid is.
  }

  template <class K>
  WW_FN static void load(const typename K::Args& args, uint32_t base, const KernelContext& self, int group) {
    constexpr SourceStage layout = source_stage(C);
    pipeline::Producer<C.epilogue_load_stages, pipeline::PublishByTma> ring(
        Layout::template source_ring<K>(base, group));
    for_each_tile<K>(args, base, self, [&](const tile::Job& job, int row, int column) {
      for (int step = 0; step < Layout::kSteps; ++step) {
        ring.produce([&](auto stage) {
          const Shared<uint8_t> to = Layout::template source_stage_at<K>(base, group, stage->index());
          stage->expect_bytes(layout.tma_bytes);
          WW_UNROLL
          for (int half = 0; half < Layout::kHalves; ++half) {
            const int from = column + Layout::first_column(group, half) + step * Layout::kResults;
            const auto bring = [&](const TensorMap& map, int first_row, int batch_step, uint32_t at) {
              machine::tma_load(to.plus_bytes(at), &map, Layout::corner(from, first_row, job.batch * batch_step),
                                stage->full());
            };
            const uint32_t h = uint32_t(half);
            if constexpr (Layout::kNodes.source) {
              bring(args.maps.c, row, args.maps.c_batch_step, layout.c + h * C.c_box().bytes());
            }
            if constexpr (Layout::kNodes.residual) {
              bring(args.maps.residual, row, args.maps.residual_batch_step,
                    layout.residual + h * C.residual_box().bytes());
            }
            if constexpr (C.loads_bias()) {
              bring(args.maps.bias, 0, args.maps.bias_batch_step, layout.bias + h * layout.bias_stride);
              if constexpr (Layout::kNodes.pair()) {
                bring(args.maps.up_bias, 0, args.maps.bias_batch_step, layout.up_bias + h * layout.bias_stride);
              }
            }
          }
          return stdx::move(stage).release();
        });
      }
    });
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100

// From the sums of an MMA warpgroup to D: the epilogue's list, then either subtiles in shared memory for the store warp
// or elements straight to device memory.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/epilogue/ops.h"
#include "warpwright/kernel/sm90/dense/dense_plan.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <DenseGemmConfig C>
struct DenseEpilogue {
  using Args = DenseGemmArgs;
  using Tiles = DenseTiles<C>;
  using Ops = epilogue::EpilogueOps<C.epilogue>;
  using Output = pipeline::Producer<C.output_stages, pipeline::PublishByThread<pipeline::To::async>>;
  using Element = storage_t<C.out_type()>;

  static constexpr BlockPlan plan = dense_gemm_plan(C);
  // Into how many parts of the N side a block of 64 of the M side is cut, each a stage of the output ring.
  static constexpr int kSubtiles = tile::ceil_div(C.results_n(), C.output_stage_n());
  // Results that a thread has in a block.
  static constexpr int kResults = C.group_n() / 2 / C.operands();
  // The rows of D in subtile `s` of a swapped tile.
  WW_FN static constexpr int rows_of(int s) {
    const int left = C.group_n() - s * C.output_stage_n();
    return left < C.output_stage_n() ? left : C.output_stage_n();
  }

  WW_FN static Shared<Element> output_stage(uint32_t base, int group, int stage) {
    constexpr uint32_t offset = plan.region("output").offset, bytes = plan.region("output").stage_bytes;
    return {base + offset + bytes * uint32_t(group * C.output_stages + stage)};
  }

  // Where a thread's results are in D. Register r of block b of the sums is 64 b + 8 * (r / 2 % 2) further along the M
  // side and 8 * (r / 4) + r % 2 along the N side. Results of pairs are counted in the same way where the N side has
  // the pairs; the two of a pair are 8 apart.
  struct Place {
    int row, column;
    WW_FN static Place of(const tile::TileCoord& tile, int group) {
      const int lane = int(machine::lane_index());
      const int m = int(machine::warp_index()) % 4 * (C.block_results_m() / 4) + lane / 4, n = 2 * (lane % 4);
      return {Tiles::first_row(tile, group) + (C.swapped ? n : m),
              Tiles::first_column(tile, group) / C.operands() + (C.swapped ? m : n)};
    }
    WW_FN static constexpr int along_m(int block, int r) {
      return C.block_results_m() * block + (kPairsAlongM ? 0 : 8 * (r / 2 % 2));
    }
    WW_FN static constexpr int along_n(int r) { return 8 * (r / (kPairsAlongM ? 2 : 4)) + r % 2; }
    WW_FN int row_of(int block, int r) const { return row + (C.swapped ? along_n(r) : along_m(block, r)); }
    WW_FN int column_of(int block, int r) const { return column + (C.swapped ? along_m(block, r) : along_n(r)); }
  };

  static constexpr bool kPairsAlongM = C.epilogue.pair() && C.swapped;
  // Result `r` of a thread's sums of a block.
  template <class Sums, class F>
  WW_FN static float result(const Sums& sums, int block, int r, F& finish) {
    if constexpr (kPairsAlongM) {
      const int gate = r / 2 * 4 + r % 2;
      return finish(sums.get(gate), sums.get(gate + 2), block, r);
    } else if constexpr (C.epilogue.pair()) {
      const int gate = gate_register(r);
      return finish(sums.get(gate), sums.get(gate + kGateToUp), block, r);
    } else {
      return finish(sums.get(r), block, r);
    }
  }

  // The whole list for one element. Elements past the edges of the matrix are not stored, and nothing is read for them.
  // `Whole` tiles have no such elements.
  template <bool Whole>
  struct Finish {
    Place place;
    int m, n;
    typename Ops::Args args;
    Global<const float> a_scales, b_scales;
    float scale = 1;

    WW_FN static Finish of(const Args& args, const tile::TileCoord& tile, int group) {
      Finish f{Place::of(tile, group),
               args.m,
               args.n / C.operands(),
               Ops::prepare(args.epilogue, tile.batch),
               {args.a_scales + tile.batch * args.a_scales_batch_stride},
               {args.b_scales + tile.batch * args.b_scales_batch_stride}};
      if constexpr (C.scaling == Scaling::tensor) {
        f.scale = tile::multiply(machine::load(f.a_scales), machine::load(f.b_scales));
      }
      return f;
    }
    WW_FN bool inside(int block, int r) const {
      return Whole || (place.row_of(block, r) < m && place.column_of(block, r) < n);
    }
    // `column` is a column of the product.
    WW_FN float scaled(float sum, int row, int column) const {
      if constexpr (C.scaling == Scaling::tensor) sum = tile::multiply(scale, sum);
      if constexpr (C.scaling == Scaling::row_column) {
        sum = tile::multiply(tile::multiply(sum, machine::load(a_scales + row)), machine::load(b_scales + column));
      }
      return sum;
    }
    WW_FN float operator()(float sum, int block, int r) const requires(!C.epilogue.pair()) {
      if (!inside(block, r)) return 0.f;
      const int row = place.row_of(block, r), column = place.column_of(block, r);
      return Ops{}(scaled(sum, row, column), row, column, args);
    }
    WW_FN float operator()(float gate, float up, int block, int r) const requires(C.epilogue.pair()) {
      if (!inside(block, r)) return 0.f;
      const int row = place.row_of(block, r), column = place.column_of(block, r);
      return Ops{}(scaled(gate, row, column), scaled(up, row, n + column), row, column, args);
    }
  };

  WW_FN static bool whole(const Args& args, const tile::TileCoord& tile) {
    return Tiles::first_row(tile) + C.tile_m <= args.m && Tiles::first_column(tile) + C.tile_n <= args.n;
  }

  // One subtile of 64 rows, from register `first` on, each sum through `finish`.
  template <class Sums, class F>
  WW_FN static void write_subtile(Shared<Element> to, const Sums& sums, int block, int first, F& finish) {
    constexpr SmemTile subtile{C.out_type(), 64, C.d_box().inner, C.d_box().swizzle};
    const int lane = int(machine::lane_index());
    if constexpr (bits(C.out_type()) == 16) {
      // stmatrix takes four 8x8 matrices: two along the rows, two along the columns. A lane names one row of one of
      // them.
      const int row = int(machine::warp_index()) % 4 * 16 + lane % 16;
      const int half = lane / 16;
      const Shared<Vec<uint32_t, 4>> tile = to.template as<Vec<uint32_t, 4>>();
      const auto pack = [&](int column, uint32_t(&packed)[4]) {
        const int r = first + column / 2;  // a thread holds half of 16 columns, 8 registers
        WW_UNROLL
        for (int i = 0; i < 4; ++i) {
          packed[i] = tile::pack2<C.out_type()>(result(sums, block, r + 2 * i, finish),
                                                result(sums, block, r + 2 * i + 1, finish));
        }
      };
      const auto put = [&](int column, const uint32_t(&packed)[4]) {
        machine::stmatrix(tile.plus_bytes(subtile.offset(row, column + 8 * half)), packed);
      };
      if constexpr (C.plain_epilogue()) {
        WW_UNROLL
        for (int column = 0; column < subtile.cols; column += 16) {
          uint32_t packed[4];
          pack(column, packed);
          put(column, packed);
        }
      } else {
        // Nothing is stored until everything is computed: so what the list reads from memory is loaded together.
        uint32_t packed[subtile.cols / 16][4];
        WW_UNROLL
        for (int i = 0; i < subtile.cols / 16; ++i) pack(16 * i, packed[i]);
        WW_UNROLL
        for (int i = 0; i < subtile.cols / 16; ++i) put(16 * i, packed[i]);
      }
    } else {
      WW_UNROLL
      for (int i = 0; i < subtile.cols / 2; i += 2) {
        const int row = int(machine::warp_index()) % 4 * 16 + lane / 4 + 8 * (i / 2 % 2);
        const int column = 8 * (i / 4) + 2 * (lane % 4);
        const int r = first + i;
        const float low = result(sums, block, r, finish), high = result(sums, block, r + 1, finish);
        const Shared<Element> at = to.plus_bytes(subtile.offset(row, column));
        if constexpr (C.out_type() == DType::fp32) {
          machine::store(at.template as<Vec<float, 2>>(), Vec<float, 2>{{low, high}});
        } else {
          machine::store(at.template as<uint16_t>(), uint16_t(tile::pack4<C.out_type()>(low, high, 0.f, 0.f)));
        }
      }
    }
  }

  // One subtile of `Rows` rows and 64 columns of a swapped tile, from register `first` on, transposed.
  template <int Rows, class Sums, class F>
  WW_FN static void write_swapped(Shared<Element> to, const Sums& sums, int block, int first, F& finish) {
    constexpr SmemTile subtile{C.out_type(), Rows, 64, C.d_box().swizzle};
    const int lane = int(machine::lane_index());
    // stmatrix takes 8x8 matrices: two along the columns, which are this warp's, and as many along the rows.
    const int column = int(machine::warp_index()) % 4 * 16 + lane / 8 % 2 * 8;
    const Shared<Vec<uint32_t, 4>> tile = to.template as<Vec<uint32_t, 4>>();
    uint32_t packed[Rows / 8][2];
    const auto pack = [&](int i) {
      WW_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int r = first + 4 * i + 2 * half;
        packed[i][half] = tile::pack2<C.out_type()>(result(sums, block, r, finish), result(sums, block, r + 1, finish));
      }
    };
    const auto put = [&](int i) {
      if (i + 1 < Rows / 8) {
        const uint32_t four[4] = {packed[i][0], packed[i][1], packed[i + 1][0], packed[i + 1][1]};
        machine::stmatrix<true>(tile.plus_bytes(subtile.offset(8 * (i + lane / 16) + lane % 8, column)), four);
      } else {
        machine::stmatrix<true>(tile.plus_bytes(subtile.offset(8 * i + lane % 8, column)), packed[i]);
      }
    };
    // Nothing is stored until everything is computed: so what the list reads from memory is loaded together.
    WW_UNROLL
    for (int i = 0; i < Rows / 8; ++i) pack(i);
    WW_UNROLL
    for (int i = 0; i < Rows / 8; i += 2) put(i);
  }

  // The same for pairs: a warp has eight columns.
  template <int Rows, class Sums, class F>
  WW_FN static void write_swapped_pairs(Shared<Element> to, const Sums& sums, int block, int first, F& finish) {
    constexpr SmemTile subtile{C.out_type(), Rows, C.block_results_m(), C.d_box().swizzle};
    constexpr int blocks = Rows / 8;
    const int lane = int(machine::lane_index()), column = int(machine::warp_index()) % 4 * 8;
    const Shared<Vec<uint32_t, 4>> tile = to.template as<Vec<uint32_t, 4>>();
    uint32_t packed[blocks];
    WW_UNROLL
    for (int i = 0; i < blocks; ++i) {
      const int r = first + 2 * i;
      packed[i] = tile::pack2<C.out_type()>(result(sums, block, r, finish), result(sums, block, r + 1, finish));
    }
    // stmatrix takes four 8x8 matrices, two or one; lanes whose row is not needed name any row.
    const auto at = [&](int i, int count) {
      return tile.plus_bytes(subtile.offset(8 * (i + lane / 8 % count) + lane % 8, column));
    };
    constexpr int fours = blocks / 4 * 4, twos = fours + blocks % 4 / 2 * 2;
    WW_UNROLL
    for (int i = 0; i < fours; i += 4) {
      const uint32_t four[4] = {packed[i], packed[i + 1], packed[i + 2], packed[i + 3]};
      machine::stmatrix<true>(at(i, 4), four);
    }
    if constexpr (twos > fours) {
      const uint32_t two[2] = {packed[fours], packed[fours + 1]};
      machine::stmatrix<true>(at(fours, 2), two);
    }
    if constexpr (blocks > twos) {
      const uint32_t one[1] = {packed[twos]};
      machine::stmatrix<true>(at(twos, 1), one);
    }
  }

  // Passes the warpgroup's part to its store warp.
  template <class Sums, int Blocks, class F>
  WW_FN static void hand_out(const Sums (&sums)[Blocks], Output& output, uint32_t base, int group, F finish) {
    WW_UNROLL
    for (int block = 0; block < Blocks; ++block) {
      WW_UNROLL
      for (int s = 0; s < kSubtiles; ++s) {
        output.produce([&](auto stage) {
          const Shared<Element> to = output_stage(base, group, stage->index());
          if constexpr (C.swapped) {
            constexpr int whole = C.output_stage_n(), last = rows_of(kSubtiles - 1);
            const int first = s * whole / 2 / C.operands();
            if constexpr (C.epilogue.pair()) {
              if (s < kSubtiles - 1) {
                write_swapped_pairs<whole>(to, sums[block], block, first, finish);
              } else {
                write_swapped_pairs<last>(to, sums[block], block, first, finish);
              }
            } else if (s < kSubtiles - 1) {
              write_swapped<whole>(to, sums[block], block, first, finish);
            } else {
              write_swapped<last>(to, sums[block], block, first, finish);
            }
          } else {
            write_subtile(to, sums[block], block, s * C.d_box().inner / 2, finish);
          }
          // C may be D: where ordinary loads have read, the TMA writes next.
          if constexpr (C.epilogue.source || C.epilogue.residual) machine::fence_proxy_async<ProxySpace::global>();
          return stdx::move(stage).release();
        });
      }
    }
  }

  // Stores the warpgroup's part element by element.
  template <class Sums, int Blocks, class F>
  WW_FN static void store_elements(const Sums (&sums)[Blocks], const Args& args, const tile::TileCoord& tile,
                                   const F& finish) {
    const Global<Element> d =
        Global<Element>{static_cast<Element*>(args.d_matrix.data)} + tile.batch * args.d_matrix.batch_stride;
    WW_UNROLL
    for (int block = 0; block < Blocks; ++block) {
      WW_UNROLL
      for (int r = 0; r < kResults; ++r) {
        const float v = result(sums[block], block, r, finish);
        if (finish.inside(block, r)) {
          machine::store(
              d + (finish.place.row_of(block, r) * args.d_matrix.row_stride + finish.place.column_of(block, r)),
              Ops::convert(v));
        }
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

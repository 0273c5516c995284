// From a subtile of grouped_gemm.h's output ring to D. The TMA stores a box all of whose rows belong to its group;
// threads store one in which the group ends.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/grouped/config.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <GroupedGemmConfig C>
struct GroupedStore {
  using Args = GroupedGemmArgs;
  using Element = storage_t<C.out>;
  // Adds to what D holds, if the launch says so.
  static constexpr bool kAdds = C.adds_to_result();
  WW_FN static Vec<uint32_t, 4> sum_of(const Vec<uint32_t, 4>& x, const Vec<uint32_t, 4>& y) {
    Vec<uint32_t, 4> sum;
    WW_UNROLL
    for (int i = 0; i < 4; ++i) {
      sum[i] = stdx::bit_cast<uint32_t>(tile::add(stdx::bit_cast<float>(x[i]), stdx::bit_cast<float>(y[i])));
    }
    return sum;
  }
  // Called by the whole warp.
  WW_FN static void store_rows(const Args& args, Shared<Element> from, int rows, int64_t row, int column) {
    constexpr SmemTile subtile{C.out, 64, C.d_box().inner, C.d_box().swizzle};
    constexpr int in_unit = 16 / int(sizeof(Element)), units = subtile.cols / in_unit;  // units of 16 bytes in a row
    using Unit = Vec<uint32_t, 4>;
    const Global<Element> to = Global<Element>{static_cast<Element*>(args.d_data)} + (row * args.d_stride + column);
    WW_ROLLED
    for (int i = int(machine::lane_index()); i < rows * units; i += 32) {
      const int r = i / units, c = i % units * in_unit;
      if (column + c < args.n / C.operands()) {
        const Global<Unit> at = (to + (r * args.d_stride + c)).template as<Unit>();
        Unit unit = machine::load(from.plus_bytes(subtile.offset(r, c)).template as<Unit>());
        if constexpr (kAdds) {
          if (args.accumulate) unit = sum_of(unit, machine::load(at));
        }
        machine::store(at, unit);
      }
    }
  }

  WW_FN static void store_box(const Args& args, machine::Coords<2> at, Shared<Element> from) {
    if constexpr (kAdds) {
      if (args.accumulate) return machine::tma_reduce_add(&args.d, at, from);
    }
    machine::tma_store(&args.d, at, from);
  }

  // By the whole warp, whose first lane has the bulk stores: the first `rows` of 64 rows, to `row` and `column` of D.
  WW_FN static void store(const Args& args, Shared<Element> from, int rows, int row, int column) {
    if (rows >= 64) {
      if (machine::lane_index() == 0) store_box(args, machine::Coords<2>{column, row}, from);
    } else if (rows > 0) {
      store_rows(args, from, rows, row, column);
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90

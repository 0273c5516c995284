// D = A * B^T by mma.sync: four warps with 16 x 32 results each, operands by cp.async and ldmatrix. Rows of shared
// memory are padded by 16 bytes, so that ldmatrix meets no bank twice.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/machine/machine.h"

using namespace warpwright;

constexpr int kM = 64, kN = 32, kK = 32, kThreads = 128;
constexpr int kPitch = kK + 8;  // elements of a row of shared memory

constexpr BlockPlan make_plan() {
  BlockPlan plan("mma_sync_product", Arch::sm80);
  plan.role("mma", kThreads / 32);
  plan.region("a", kM * kPitch * sizeof(bf16), 1, 16);
  plan.region("b", kN * kPitch * sizeof(bf16), 1, 16);
  return plan;
}

struct MmaSyncProduct {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    Global<const bf16> a, b;  // k a multiple of 8
    Global<float> d;
    int m, n, k;
  };

  // Rows beyond the matrix and columns beyond k become zeros.
  WW_FN static void fetch(Shared<bf16> to, Global<const bf16> from, int rows, int first, int limit, int k0, int k) {
    for (int i = int(machine::thread_index()); i < rows * (kK / 8); i += kThreads) {
      const int row = i / (kK / 8), column = i % (kK / 8) * 8;
      const bool valid = first + row < limit && k0 + column < k;
      const int64_t at = valid ? int64_t(first + row) * k + k0 + column : 0;
      machine::cp_async_16(to + (row * kPitch + column), from + at, valid ? 16u : 0u);
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<MmaSyncProduct>();
    const uint32_t base = machine::shared_base();
    const Shared<bf16> a{base + plan.region("a").offset}, b{base + plan.region("b").offset};
    const int across = (args.n + kN - 1) / kN, tile = int(machine::block_index().x);
    const int row0 = tile / across * kM, column0 = tile % across * kN;
    const int warp = int(machine::warp_index()), lane = int(machine::lane_index());
    float sums[kN / 8][4] = {};
    for (int k0 = 0; k0 < args.k; k0 += kK) {
      fetch(a, args.a, kM, row0, args.m, k0, args.k);
      fetch(b, args.b, kN, column0, args.n, k0, args.k);
      machine::cp_async_commit();
      machine::cp_async_wait<0>();
      machine::sync_block();
      for (int k = 0; k < kK; k += 16) {
        uint32_t fragment_a[4];
        const int row = 16 * warp + lane % 16, part = k + lane / 16 * 8;
        machine::ldmatrix(fragment_a, (a + (row * kPitch + part)).as<Vec<uint32_t, 4>>());
        for (int j = 0; j < kN / 8; ++j) {
          uint32_t fragment_b[2];
          const int column = 8 * j + lane % 8, half = k + lane / 8 % 2 * 8;
          machine::ldmatrix(fragment_b, (b + (column * kPitch + half)).as<Vec<uint32_t, 4>>());
          machine::mma_sync<DType::bf16>(sums[j], fragment_a, fragment_b);
        }
      }
      machine::sync_block();
    }
    for (int j = 0; j < kN / 8; ++j)
      for (int i = 0; i < 4; ++i) {
        const int row = row0 + 16 * warp + lane / 4 + i / 2 * 8, column = column0 + 8 * j + 2 * (lane % 4) + i % 2;
        if (row < args.m && column < args.n) machine::store(args.d + (int64_t(row) * args.n + column), sums[j][i]);
      }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, MmaSyncProduct::Args& args) {
  const auto a = arrays.input<bf16>("a", shape.m * shape.k), b = arrays.input<bf16>("b", shape.n * shape.k);
  std::vector<float> expected(size_t(shape.m * shape.n));
  for (int64_t r = 0; r < shape.m; ++r)
    for (int64_t c = 0; c < shape.n; ++c)
      for (int64_t k = 0; k < shape.k; ++k)
        expected[size_t(r * shape.n + c)] +=
            to_float(a.values[size_t(r * shape.k + k)]) * to_float(b.values[size_t(c * shape.k + k)]);
  args.a = a.data;
  args.b = b.data;
  args.d = arrays.output<float>("d", expected, {.columns = shape.n, .tile_rows = kM, .tile_columns = kN});
  args.m = int(shape.m);
  args.n = int(shape.n);
  args.k = int(shape.k);
  return int((shape.m + kM - 1) / kM * ((shape.n + kN - 1) / kN));
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<MmaSyncProduct>("mma_sync_product", {{.m = 64, .n = 64, .k = 96}, {.m = 70, .n = 10, .k = 40}}, arrange);
}

// D = max(A * B^T + bias, 0) by wgmma: a load warp and one warpgroup that multiplies 64 x 64 tiles of bf16 and stores
// its registers itself.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/core/descriptor.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"

using namespace warpwright;

constexpr int kM = 64, kN = 64, kK = 64, kStages = 3;
constexpr TensorBox kABox{DType::bf16, kK, kM, Swizzle::b128}, kBBox{DType::bf16, kK, kN, Swizzle::b128};

constexpr BlockPlan make_plan() {
  BlockPlan plan("wgmma_product", Arch::sm90);
  plan.role("math", 4).role("load", 1);
  plan.region("a", kABox.bytes(), kStages, 1024);
  plan.region("b", kBBox.bytes(), kStages, 1024);
  plan.barrier("full", kStages, 1, "math", {"load", 1});
  plan.barrier("empty", kStages, 4, "load", {"math", 4});
  return plan;
}

struct WgmmaProduct {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    TensorMap a, b;
    Global<const float> bias;
    Global<float> d;
    int m, n, k;
  };
  using Ring = pipeline::Ring<kStages>;

  WW_FN static Shared<bf16> a_at(uint32_t base, int stage) {
    return {base + plan.region("a").offset + kABox.bytes() * uint32_t(stage)};
  }
  WW_FN static Shared<bf16> b_at(uint32_t base, int stage) {
    return {base + plan.region("b").offset + kBBox.bytes() * uint32_t(stage)};
  }
  WW_FN static int depth(const Args& args) { return (args.k + kK - 1) / kK; }

  WW_FN static void load(const Args& args, uint32_t base, Ring ring, int row, int column) {
    pipeline::Producer<kStages, pipeline::PublishByTma> tiles(ring);
    for (int k = 0; k < depth(args); ++k) {
      tiles.produce([&](auto stage) {
        stage->expect_bytes(kABox.bytes() + kBBox.bytes());
        machine::tma_load(a_at(base, stage->index()), &args.a, machine::Coords{k * kK, row}, stage->full());
        machine::tma_load(b_at(base, stage->index()), &args.b, machine::Coords{k * kK, column}, stage->full());
        return stdx::move(stage).release();
      });
    }
  }

  WW_FN static void multiply(const Args& args, uint32_t base, Ring ring, int row, int column) {
    pipeline::Consumer<kStages, pipeline::ReleaseByWarp<pipeline::Readers::async>> tiles(ring);
    machine::Accumulator<kN> sums;
    for (int k = 0; k < depth(args); ++k) {
      tiles.consume([&](auto stage) {
        const uint64_t a =
            encode_sm90(k_major_desc(DType::bf16, Swizzle::b128, kM, a_at(base, stage->index()).address));
        const uint64_t b =
            encode_sm90(k_major_desc(DType::bf16, Swizzle::b128, kN, b_at(base, stage->index()).address));
        machine::wgmma_fence();
        for (int i = 0; i < kK / 16; ++i)
          machine::wgmma_ss<DType::bf16>(sums, advance_desc(a, 32 * uint32_t(i)), advance_desc(b, 32 * uint32_t(i)),
                                         k > 0 || i > 0);
        machine::wgmma_commit();
        machine::wgmma_wait<0>();
        return stdx::move(stage).release();
      });
    }
    const int warp = int(machine::warp_index()), lane = int(machine::lane_index());
    for (int i = 0; i < kN / 2; ++i) {
      const int r = row + 16 * warp + lane / 4 + 8 * (i / 2 % 2), c = column + 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      if (r >= args.m || c >= args.n) continue;
      const float v = sums.get(i) + machine::load(args.bias + c);
      machine::store(args.d + (int64_t(r) * args.n + c), v > 0 ? v : 0.f);
    }
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<WgmmaProduct>();
    const uint32_t base = machine::shared_base();
    constexpr uint32_t full = plan.barrier("full").offset, empty = plan.barrier("empty").offset;
    const Ring ring = pipeline::ring_at<kStages>(base, full, empty);
    const int across = (args.n + kN - 1) / kN, tile = int(machine::block_index().x);
    pipeline::set_up_barriers<WgmmaProduct>(base);
    if (int(machine::warp_uniform(machine::warp_index())) == plan.role("load").first_warp) {
      if (machine::elect_one()) load(args, base, ring, tile / across * kM, tile % across * kN);
    } else {
      multiply(args, base, ring, tile / across * kM, tile % across * kN);
    }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, WgmmaProduct::Args& args) {
  const auto a = arrays.input<bf16>("a", shape.m * shape.k), b = arrays.input<bf16>("b", shape.n * shape.k);
  const auto bias = arrays.input<float>("bias", shape.n);
  std::vector<float> expected(size_t(shape.m * shape.n));
  for (int64_t r = 0; r < shape.m; ++r)
    for (int64_t c = 0; c < shape.n; ++c) {
      float v = bias.values[size_t(c)];
      for (int64_t k = 0; k < shape.k; ++k)
        v += to_float(a.values[size_t(r * shape.k + k)]) * to_float(b.values[size_t(c * shape.k + k)]);
      expected[size_t(r * shape.n + c)] = v > 0 ? v : 0;
    }
  args.bias = bias.data;
  args.d = arrays.output<float>("d", expected, {.columns = shape.n, .tile_rows = kM, .tile_columns = kN});
  args.m = int(shape.m);
  args.n = int(shape.n);
  args.k = int(shape.k);
  arrays.map(args.a, kABox, a.data, shape.m, shape.k);
  arrays.map(args.b, kBBox, b.data, shape.n, shape.k);
  return int((shape.m + kM - 1) / kM * ((shape.n + kN - 1) / kN));
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<WgmmaProduct>("wgmma_product", {{.m = 64, .n = 128, .k = 640}, {.m = 70, .n = 20, .k = 72}}, arrange);
}

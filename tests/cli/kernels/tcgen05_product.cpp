// D = A * B^T on Blackwell: a load warp, an MMA warp that owns tensor memory, four epilogue warps with a row for each
// thread. A tile of 128 x 64 for each CTA.
#include <vector>

#include "warpwright/check.h"
#include "warpwright/core/descriptor.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/core/tensor_box.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/warp/epilogue_warp.h"
#include "warpwright/warp/mma_warp.h"

using namespace warpwright;

constexpr int kM = 128, kN = 64, kK = 64, kStages = 3;
constexpr TensorBox kABox{DType::bf16, kK, kM, Swizzle::b128}, kBBox{DType::bf16, kK, kN, Swizzle::b128};
constexpr OutputPipelineConfig kOutput{.num_stages = 1, .stage_stride_cols = kN};

constexpr BlockPlan make_plan() {
  BlockPlan plan("tcgen05_product", Arch::sm100);
  plan.role("epilogue", 4).role("load", 1).role("mma", 1);
  plan.region("a", kABox.bytes(), kStages, 1024);
  plan.region("b", kBBox.bytes(), kStages, 1024);
  plan.barrier("full", kStages, 1, "mma", {"load", 1});
  plan.barrier("empty", kStages, 1, "load", {"mma", 1});
  declare_output(plan, kOutput);
  plan.used_once("accum.full").used_once("accum.empty");
  return plan;
}

struct Tcgen05Product {
  static constexpr BlockPlan plan = make_plan();
  struct Args {
    TensorMap a, b;
    Global<float> d;
    int m, n, k;
  };
  using Ring = pipeline::Ring<kStages>;
  using MmaWarp = warp::MmaWarp<kOutput, 32, 128>;
  using EpilogueWarp = warp::EpilogueWarp<kOutput, 32, 128>;
  using Storage = warp::OutputStorage<kOutput>;

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

  WW_FN static void issue(Tmem sums, uint32_t base, int stage, bool fresh) {
    constexpr uint32_t shape = encode_idesc(InstrDesc{.a = DType::bf16, .b = DType::bf16, .m = kM, .n = kN});
    const uint64_t a = encode_sm100(k_major_desc(DType::bf16, Swizzle::b128, kM, a_at(base, stage).address));
    const uint64_t b = encode_sm100(k_major_desc(DType::bf16, Swizzle::b128, kN, b_at(base, stage).address));
    for (int i = 0; i < kK / 16; ++i)
      machine::tcgen05_mma<machine::MmaKind::f16, 1>(sums, advance_desc(a, 32 * uint32_t(i)),
                                                     advance_desc(b, 32 * uint32_t(i)), shape, i != 0 || !fresh);
  }

  WW_FN static void multiply(const Args& args, uint32_t base, Ring ring, Storage out) {
    auto mma = MmaWarp::create(out, 1);
    pipeline::Consumer<kStages, pipeline::ReleaseByWarpCommit<1>> tiles(ring);
    auto sums = mma.acquire_k_stage_linear();
    for (int k = 0; k < depth(args); ++k) {
      tiles.consume([&](auto stage) {
        if (machine::elect_one()) issue(sums->tmem().address(), base, stage->index(), k == 0);
        return stdx::move(stage).release();
      });
    }
    stdx::move(sums).release();
    stdx::move(mma).release();
  }

  WW_FN static void finish(const Args& args, Storage out, int row, int column) {
    auto epilogue = EpilogueWarp::create(EpilogueWarp::Sync::wait(), out, 1);
    auto sums = epilogue.acquire_k_stage_linear();
    const int warp = int(machine::warp_index());
    const int r = row + int(machine::thread_index());
    for (int c = 0; c < kN; c += 16) {
      machine::TmemRegisters<16> values;
      machine::tcgen05_ld<machine::TmemShape::b32x32, 16>(values,
                                                          sums->tmem().lane(32 * uint32_t(warp)).column(uint32_t(c)));
      machine::tcgen05_wait_ld();
      for (int i = 0; i < 16; ++i)
        if (r < args.m && column + c + i < args.n)
          machine::store(args.d + (int64_t(r) * args.n + column + c + i), values.get(i));
    }
    stdx::move(sums).release();
    stdx::move(epilogue).release();
  }

  WW_FN static void body(const Args& args) {
    check_block_plan<Tcgen05Product>();
    const uint32_t base = machine::shared_base();
    constexpr uint32_t full = plan.barrier("full").offset, empty = plan.barrier("empty").offset;
    const Ring ring = pipeline::ring_at<kStages>(base, full, empty);
    const Storage out = warp::output_storage<Tcgen05Product, kOutput>(base);
    const int across = (args.n + kN - 1) / kN, tile = int(machine::block_index().x);
    const int row = tile / across * kM, column = tile % across * kN;
    pipeline::set_up_barriers<Tcgen05Product>(base);
    const int warp = int(machine::warp_uniform(machine::warp_index()));
    if (warp == plan.role("load").first_warp) {
      if (machine::elect_one()) load(args, base, ring, row, column);
    } else if (warp == plan.role("mma").first_warp) {
      multiply(args, base, ring, out);
    } else {
      finish(args, out, row, column);
    }
  }
};

static int arrange(check::Arrays& arrays, check::Shape shape, Tcgen05Product::Args& args) {
  const auto a = arrays.input<bf16>("a", shape.m * shape.k), b = arrays.input<bf16>("b", shape.n * shape.k);
  std::vector<float> expected(size_t(shape.m * shape.n));
  for (int64_t r = 0; r < shape.m; ++r)
    for (int64_t c = 0; c < shape.n; ++c)
      for (int64_t k = 0; k < shape.k; ++k)
        expected[size_t(r * shape.n + c)] +=
            to_float(a.values[size_t(r * shape.k + k)]) * to_float(b.values[size_t(c * shape.k + k)]);
  args.d = arrays.output<float>("d", expected, {.columns = shape.n, .tile_rows = kM, .tile_columns = kN});
  args.m = int(shape.m);
  args.n = int(shape.n);
  args.k = int(shape.k);
  arrays.map(args.a, kABox, a.data, shape.m, shape.k);
  arrays.map(args.b, kBBox, b.data, shape.n, shape.k);
  return int((shape.m + kM - 1) / kM * ((shape.n + kN - 1) / kN));
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  registry.add<Tcgen05Product>("tcgen05_product", {{.m = 128, .n = 64, .k = 640}, {.m = 130, .n = 20, .k = 72}},
                               arrange);
}

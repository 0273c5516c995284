// Every method of the output ring and of both warps, compiled for sm_100a in both group sizes. Never run: what counts
// is that ptxas accepts it and that the types leave no stack frame behind.
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/input_tile.h"
#include "warpwright/warp/epilogue_warp.h"
#include "warpwright/warp/kernel_context.h"
#include "warpwright/warp/mma_warp.h"
#include "warpwright/warp/warp_role.h"

namespace warpwright {

template <int G>
struct AllMethods {
  static constexpr OutputPipelineConfig opc{.num_stages = 2, .stage_stride_cols = 64, .cta_group = G};
  static constexpr BlockPlan make_block_plan() {
    BlockPlan p("all_methods", Arch::sm100, G);
    warp::WarpRole1D1D<>::declare(p, false);
    p.region("input.a", 16384, 2, 1024).region("input.b", 8192, 2, 1024).region("input.scales", 512, 2, 128);
    p.barrier("input.full", 2, 1, "mma", {"load", 1});
    p.barrier("input.empty", 2, 5, "load", {"mma", 1}, {"epilogue", 4});
    declare_output(p, opc);
    return p;
  }
  static constexpr BlockPlan plan = make_block_plan();
  using Role = warp::WarpRole1D1D<>;
  using Mma = warp::MmaWarp<opc, 32, 128>;
  using Epilogue = warp::EpilogueWarp<opc, 32, 128>;
  using Payload = pipeline::BlockwiseFP8Payload<TileBytes{16384, 8192, 512}>;
  using Input = pipeline::InputTilePipeline<Payload, 2, 1, pipeline::ReleaseByWarpCommitMulticast<G>>;

  // A descriptor and an instruction of no meaning: the operands are not the subject.
  WW_FN static void multiply(Tmem sums, uint32_t a, uint32_t b) {
    if (machine::elect_one()) machine::tcgen05_mma<machine::MmaKind::f16, G>(sums, a, b, 0, true);
  }
  WW_FN static float read(Tmem sums) {
    machine::TmemRegisters<1> value;
    machine::tcgen05_ld<machine::TmemShape::b32x32, 1>(value, sums.lane(machine::warp_index() % 4 * 32));
    machine::tcgen05_wait_ld();
    return value.get(0);
  }

  WW_FN static void mma_role(warp::OutputStorage<opc> storage, const KernelContext& me, Input& input, int rounds) {
    auto mma = Mma::create(storage, me.mma_complete_mask);
    const auto next = [&](const auto& sums) {
      input.consumer().consume([&](auto stage) {
        multiply(sums->tmem().address(), stage->tile().a.address, stage->tile().b.address);
        return stdx::move(stage).release();
      });
    };
    if (me.elect_one_cta) {
      for (int i = 0; i < rounds; ++i) {
        auto sums = mma.acquire_k_stage_linear();
        next(sums);
        pipeline::commit<G>(sums->mbar());
        stdx::move(sums).release();
        mma.per_k_stage().run([&](auto s) {
          next(s);
          return stdx::move(s).release();
        });
        mma.output().producer().produce([&](auto s) {
          next(s);
          return stdx::move(s).release();
        });
      }
    }
    stdx::move(mma).release();
  }

  WW_FN static void epilogue_role(warp::OutputStorage<opc> storage, const KernelContext& me, Input& input, int rounds,
                                  float* out) {
    auto epilogue = Epilogue::create(Epilogue::Sync::wait(), storage, me.mma_complete_mask);
    float sum = 0;
    for (int i = 0; i < rounds; ++i) {
      auto sums = epilogue.acquire_k_stage_linear();
      sum += read(sums->tmem().address());
      stdx::move(sums).release();
      epilogue.per_k_stage(input).run([&](auto s) {
        const auto scales = input.payload().a_scales(s->input_stage_index());
        sum += read(s->tmem().address()) * machine::load(scales + int(machine::thread_index()));
        return stdx::move(s).release();
      });
      epilogue.output().consumer().consume([&](auto s) {
        sum += read(s->tmem().address());
        return stdx::move(s).release();
      });
    }
    stdx::move(epilogue).release();
    machine::store(Global<float>{out} + int(machine::thread_index()), sum);
  }

  WW_FN static void load_role(const TensorMap* map, const KernelContext& me, Input& input, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      input.producer().produce([&](auto stage) {
        if (machine::elect_one()) {
          if (me.elect_one_cta) stage->expect_tiles(G);
          if constexpr (G == 2) {
            machine::tma_load_pair(stage->tile().a, map, machine::Coords<2>{0, i}, stage->leader_full());
          } else {
            machine::tma_load(stage->tile().a, map, machine::Coords<2>{0, i}, stage->full());
          }
        }
        return stdx::move(stage).release();
      });
    }
    input.producer().drain();
  }

  WW_FN static void body(const TensorMap* map, int rounds, float* out) {
    check_block_plan<AllMethods>();
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr uint32_t a = plan.region("input.a").offset, b = plan.region("input.b").offset;
    constexpr uint32_t scales = plan.region("input.scales").offset;
    const uint32_t base = machine::shared_base();
    const KernelContext me = warp::kernel_context<ClusterConfig{G, 1, G}>();
    Input input(pipeline::ring_at<2>(base, full, empty), Payload({base + a}, {base + b}, {base + scales}),
                {me.input_release_mask});
    const auto storage = warp::output_storage<AllMethods, opc>(base);
    pipeline::run_block<AllMethods>(base, [&] {
      if (Role::is_load()) load_role(map, me, input, rounds);
      if (Role::is_mma()) mma_role(storage, me, input, rounds);
      if (Role::is_epilogue()) epilogue_role(storage, me, input, rounds, out);
    });
  }
};

__global__ void all_methods_single(const __grid_constant__ TensorMap map, int rounds, float* out) {
  AllMethods<1>::body(&map, rounds, out);
}
__global__ void all_methods_pair(const __grid_constant__ TensorMap map, int rounds, float* out) {
  AllMethods<2>::body(&map, rounds, out);
}

}  // namespace warpwright

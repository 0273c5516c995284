// A small Blackwell kernel that goes through every method of the output ring, the MMA warp and the epilogue warp, in
// one of several forms: D[m, n] = sum over k of scale[k / 64][m] * A[m, k] * B[n, k], with scale 1 in all forms but
// one.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "warpwright/core/descriptor.h"
#include "warpwright/core/instr_descriptor.h"
#include "warpwright/core/numeric.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/sim/simulator.h"
#include "warpwright/warp/epilogue_warp.h"
#include "warpwright/warp/kernel_context.h"
#include "warpwright/warp/mma_warp.h"
#include "warpwright/warp/warp_role.h"

namespace warpwright::blackwell {

// Which methods carry the accumulators.
enum class Form : uint8_t {
  raw,       // scoped warps; acquire_for_mma, release_from_mma, acquire_for_epilogue, release_from_epilogue
  scoped,    // scoped warps; producer().produce, consumer().consume
  linear,    // flat warps from single addresses; acquire_mma_linear, acquire_epilogue_linear; try_acquire on the input
             // ring
  k_linear,  // flat warps; acquire_k_stage_linear of both, an accumulator per K tile
  k_views,   // scoped warps; per_k().produce().run, per_k().consume().run
  k_scaled,  // flat warps; per_k_stage() and per_k_stage(input): the epilogue reads scales from the input ring
  k_scaled_raw,  // scoped warps; output().per_k_epilogue(input.pipeline())
};
constexpr bool is_per_k(Form f) { return f >= Form::k_linear; }
constexpr bool is_scaled(Form f) { return f == Form::k_scaled || f == Form::k_scaled_raw; }

struct Case {
  Form form = Form::raw;
  int cta_group = 1;
  int pairs = 1;  // CTAs of the cluster divided by cta_group; they share nothing
  int accumulators = 2;
  int groups = 2;
  int k_group = 1;
  int epilogue_warps = 4;
  // What the kernel would be with a mistake that no type prevents.
  bool peer_skips_load = false;
  bool leaves_early = false;
  bool commits_twice = false;
};

struct Args {
  TensorMap a, b, scales;
  float* d;
  int tiles;     // per pair (or CTA)
  int k_groups;  // of k_group K tiles
};

inline constexpr int kRows = 128, kN = 64, kK = 64;

constexpr OutputPipelineConfig output_config(const Case& c) {
  return {.num_stages = c.accumulators, .stage_stride_cols = kN, .cta_group = c.cta_group};
}

template <Case C>
constexpr BlockPlan make_block_plan() {
  BlockPlan plan("blackwell_case", Arch::sm100, C.cta_group * C.pairs);
  warp::WarpRole1D1D<false, C.epilogue_warps>::declare(plan, false);
  const int tiles = C.groups * C.k_group;
  plan.region("input.a", kRows * kK * 2, tiles, 1024);
  plan.region("input.b", kN / C.cta_group * kK * 2, tiles, 1024);
  plan.region("input.scales", kRows * 4, tiles, 128);
  plan.barrier("input.full", C.groups, 1, "mma", {"load", 1});
  if (is_scaled(C.form)) {
    plan.barrier("input.empty", C.groups, 1 + C.epilogue_warps, "load", {"mma", 1}, {"epilogue", C.epilogue_warps});
  } else {
    plan.barrier("input.empty", C.groups, 1, "load", {"mma", 1});
  }
  declare_output(plan, output_config(C));
  return plan;
}

template <Case C>
struct Kernel {
  using Args = blackwell::Args;
  static constexpr BlockPlan plan = make_block_plan<C>();
  static constexpr int G = C.cta_group;
  static constexpr int kEpilogueThreads = C.epilogue_warps * 32;
  static constexpr OutputPipelineConfig opc = output_config(C);
  using Role = warp::WarpRole1D1D<false, C.epilogue_warps>;
  using Mma = warp::MmaWarp<opc, 32, kEpilogueThreads>;
  using MmaContext = warp::MmaWarpContext<opc, 32, kEpilogueThreads>;
  using Epilogue = warp::EpilogueWarp<opc, 32, kEpilogueThreads>;
  using EpilogueContext = warp::EpilogueWarpContext<opc, 32, kEpilogueThreads>;
  using Output = typename Mma::Pipeline;
  static constexpr TileBytes kBytes{kRows * kK * 2, uint32_t(kN / G * kK * 2), is_scaled(C.form) ? kRows * 4u : 4u};
  using Payload = pipeline::BlockwiseFP8Payload<kBytes>;
  using Input = pipeline::InputTilePipeline<Payload, C.groups, C.k_group, pipeline::ReleaseByWarpCommitMulticast<G>>;
  static constexpr uint32_t kGroupBytes =
      uint32_t(G * C.k_group) * (kBytes.a + kBytes.b + (is_scaled(C.form) ? kBytes.a_scales : 0));

  static void fill(const Args& args, const KernelContext& me, int tile, int group, const auto& stage) {
    if (!machine::elect_one()) return;
    if (me.elect_one_cta) stage.expect_bytes(kGroupBytes);
    const int row = int((uint32_t(tile * C.pairs) + me.pair_m) * G + me.place_in_pair) * kRows;
    for (int k = 0; k < C.k_group; ++k) {
      const int depth = group * C.k_group + k;
      const auto to = stage.tile(k);
      const machine::Coords<2> a{depth * kK, row}, b{depth * kK, int(me.place_in_pair) * (kN / G)}, s{row, depth};
      if constexpr (G == 2) {
        machine::tma_load_pair(to.a, &args.a, a, stage.leader_full());
        machine::tma_load_pair(to.b, &args.b, b, stage.leader_full());
        if (is_scaled(C.form)) machine::tma_load_pair(to.a_scales, &args.scales, s, stage.leader_full());
      } else {
        machine::tma_load(to.a, &args.a, a, stage.full());
        machine::tma_load(to.b, &args.b, b, stage.full());
        if (is_scaled(C.form)) machine::tma_load(to.a_scales, &args.scales, s, stage.full());
      }
    }
  }

  static void load(const Args& args, const KernelContext& me, Input& input) {
    const auto producer = input.producer();
    for (int tile = 0; tile < args.tiles; ++tile) {
      for (int group = 0; group < args.k_groups; ++group) {
        if constexpr (C.form == Form::linear) {
          const auto ready = producer.try_acquire();
          auto stage = producer.acquire_if_needed(ready);
          fill(args, me, tile, group, *stage);
          stdx::move(stage).release();
        } else if constexpr (C.form == Form::raw) {
          auto stage = producer.acquire_stage();
          fill(args, me, tile, group, *stage);
          stdx::move(stage).release();
        } else {
          producer.produce([&](auto stage) {
            fill(args, me, tile, group, *stage);
            return stdx::move(stage).release();
          });
        }
      }
    }
    producer.drain();
  }

  static void issue(warpwright::Tmem sums, const typename Payload::Tile& tile, bool fresh) {
    constexpr uint32_t shape = encode_idesc(InstrDesc{.a = DType::bf16, .b = DType::bf16, .m = kRows * G, .n = kN});
    constexpr int step = mma_k(DType::bf16);
    const uint64_t a = encode_sm100(k_major_desc(DType::bf16, Swizzle::b128, kRows, tile.a.address));
    const uint64_t b = encode_sm100(k_major_desc(DType::bf16, Swizzle::b128, kN / G, tile.b.address));
    for (int i = 0; i < kK / step; ++i) {
      const uint32_t along = uint32_t(i * step) * 2;
      machine::tcgen05_mma<machine::MmaKind::f16, G>(sums, advance_desc(a, along), advance_desc(b, along), shape,
                                                     i != 0 || !fresh);
    }
  }

  // One group of the input ring into one accumulator.
  static void multiply(Input& input, const auto& sums, bool fresh) {
    const auto issue_all = [&](const auto& stage) {
      if (machine::elect_one())
        for (int k = 0; k < C.k_group; ++k) issue(warpwright::Tmem{sums.tmem_offset()}, stage.tile(k), fresh && k == 0);
    };
    const auto consumer = input.consumer();
    if constexpr (C.form == Form::linear) {
      const auto ready = consumer.try_acquire();
      consumer.consume_if_needed(ready, [&](auto stage) {
        issue_all(*stage);
        return stdx::move(stage).release();
      });
    } else if constexpr (C.form == Form::raw) {
      auto stage = consumer.acquire_stage();
      issue_all(*stage);
      pipeline::commit<G>(stage->mbar());
      stdx::move(stage).release();
    } else {
      consumer.consume([&](auto stage) {
        issue_all(*stage);
        return stdx::move(stage).release();
      });
    }
  }

  static void multiply_all(const Args& args, Input& input, auto& mma WW_LINEAR_LEND, Output& output) {
    for (int tile = 0; tile < args.tiles; ++tile) {
      if constexpr (C.form == Form::raw) {
        const auto stage = output.acquire_for_mma();
        for (int g = 0; g < args.k_groups; ++g) multiply(input, stage, g == 0);
        if (C.commits_twice && machine::elect_one()) pipeline::commit<G>(stage.full());
        output.release_from_mma(stage);
      } else if constexpr (C.form == Form::scoped) {
        output.producer().produce([&](auto stage) {
          for (int g = 0; g < args.k_groups; ++g) multiply(input, *stage, g == 0);
          return stdx::move(stage).release();
        });
      } else if constexpr (C.form == Form::linear) {
        auto stage = output.acquire_mma_linear();
        for (int g = 0; g < args.k_groups; ++g) multiply(input, *stage, g == 0);
        pipeline::commit<G>(stage->mbar());
        stdx::move(stage).release();
      } else {
        for (int g = 0; g < args.k_groups; ++g) {
          const auto body = [&](auto stage) {
            multiply(input, *stage, true);
            return stdx::move(stage).release();
          };
          if constexpr (C.form == Form::k_linear) {
            auto stage = mma.acquire_k_stage_linear();
            multiply(input, *stage, true);
            stdx::move(stage).release();
          } else if constexpr (C.form == Form::k_scaled) {
            mma.per_k_stage().run(body);
          } else {
            output.per_k().produce().run(body);
          }
        }
      }
    }
  }

  static constexpr int kWidth = kN * 4 / C.epilogue_warps;  // columns of one warp
  struct Sums {
    float of[kWidth] = {};
  };

  static uint32_t lanes() { return machine::warp_index() % 4 * 32; }
  static uint32_t first_column() { return machine::warp_index() / 4 * kWidth; }

  static void add(Sums& sums, warpwright::Tmem stage, float scale) {
    machine::TmemRegisters<kWidth> part;
    machine::tcgen05_ld<machine::TmemShape::b32x32, kWidth>(part, stage.column(first_column()).lane(lanes()));
    machine::tcgen05_wait_ld();
    for (int i = 0; i < kWidth; ++i) sums.of[i] += scale * part.get(i);
  }

  static void read_all(const Args& args, const KernelContext& me, Input& input, auto& epilogue WW_LINEAR_LEND,
                       Output& output) {
    for (int tile = 0; tile < args.tiles; ++tile) {
      Sums sums;
      const auto plain = [&](auto stage) {
        add(sums, stage->tmem().address(), 1);
        return stdx::move(stage).release();
      };
      const auto scaled = [&](auto stage) {
        const Shared<float> scales = input.payload().a_scales(stage->input_stage_index());
        add(sums, stage->tmem().address(), machine::load(scales + int(lanes() + machine::lane_index())));
        return stdx::move(stage).release();
      };
      for (int g = 0; g < (is_per_k(C.form) ? args.k_groups : 1); ++g) {
        if constexpr (C.form == Form::raw) {
          const auto stage = output.acquire_for_epilogue();
          add(sums, stage.tmem().address(), 1);
          output.release_from_epilogue();
        } else if constexpr (C.form == Form::scoped) {
          output.consumer().consume(plain);
        } else if constexpr (C.form == Form::linear) {
          auto stage = output.acquire_epilogue_linear();
          add(sums, stage->tmem().address(), 1);
          stdx::move(stage).release();
        } else if constexpr (C.form == Form::k_linear) {
          auto stage = epilogue.acquire_k_stage_linear();
          add(sums, stage->tmem().address(), 1);
          stdx::move(stage).release();
        } else if constexpr (C.form == Form::k_views) {
          output.per_k().consume().run(plain);
        } else if constexpr (C.form == Form::k_scaled) {
          epilogue.per_k_stage(input).run(scaled);
        } else {
          output.per_k_epilogue(input.pipeline()).run(scaled);
        }
      }
      const int pair = tile * C.pairs + int(me.pair_m);
      const int row = (pair * G + int(me.place_in_pair)) * kRows + int(lanes() + machine::lane_index());
      for (int i = 0; i < kWidth; ++i)
        machine::store(Global<float>{args.d} + (row * kN + int(first_column()) + i), sums.of[i]);
    }
  }

  using Storage = warp::OutputStorage<opc>;
  WW_LINEAR_MAKES static Mma create_mma(Storage at, uint16_t mask) {
    if constexpr (C.form != Form::linear) {
      return Mma::create(at, mask);
    } else if constexpr (G == 2) {
      return Mma::create(at.tmem_address, at.accum, at.done, at.peer, mask);
    } else {
      return Mma::create(at.tmem_address, at.accum, at.done, mask);
    }
  }
  WW_LINEAR_MAKES static Epilogue create_epilogue(Storage at, uint16_t mask) {
    if constexpr (C.form != Form::linear) {
      return Epilogue::create(Epilogue::Sync::wait(), at, mask);
    } else {
      return Epilogue::create(Epilogue::Sync::wait(), at.tmem_address, at.accum, at.done, mask);
    }
  }

  static constexpr bool kFlat = C.form == Form::linear || C.form == Form::k_linear || C.form == Form::k_scaled;

  static void body(const Args& args) {
    check_block_plan<Kernel>();
    constexpr uint32_t full = plan.barrier("input.full").offset, empty = plan.barrier("input.empty").offset;
    constexpr uint32_t a = plan.region("input.a").offset, b = plan.region("input.b").offset;
    constexpr uint32_t scales = plan.region("input.scales").offset;
    const uint32_t base = machine::shared_base();
    const KernelContext me = warp::kernel_context<ClusterConfig{G * C.pairs, 1, G}>();
    // Pairs share no operand, so an input stage goes back to the pair that filled it.
    Input input(pipeline::ring_at<C.groups>(base, full, empty), Payload({base + a}, {base + b}, {base + scales}),
                {me.mma_complete_mask});
    const auto storage = warp::output_storage<Kernel, opc>(base);
    const auto roles = [&] {
      if (Role::is_load()) {
        if (!C.peer_skips_load || me.elect_one_cta) load(args, me, input);
      } else if (Role::is_mma()) {
        if constexpr (kFlat) {
          auto mma = create_mma(storage, me.mma_complete_mask);
          if (me.elect_one_cta) multiply_all(args, input, mma, mma.output());
          stdx::move(mma).release();
        } else {
          MmaContext::run(storage, me.mma_complete_mask, [&](auto mma) {
            if (me.elect_one_cta) multiply_all(args, input, *mma, mma->output());
            return stdx::move(mma).release();
          });
        }
      } else if (Role::is_epilogue()) {
        if constexpr (kFlat) {
          auto epilogue = create_epilogue(storage, me.mma_complete_mask);
          read_all(args, me, input, epilogue, epilogue.output());
          stdx::move(epilogue).release();
        } else {
          EpilogueContext::run(EpilogueContext::Sync::wait(), storage, me.mma_complete_mask, [&](auto epilogue) {
            read_all(args, me, input, *epilogue, epilogue->output());
            return stdx::move(epilogue).release();
          });
        }
      }
    };
    if constexpr (C.leaves_early) {
      pipeline::detail::enter_block<Kernel>(base, machine::here{});
      roles();
    } else {
      pipeline::run_block<Kernel>(base, roles);
    }
  }
};

struct Outcome {
  simulator::Result run;
  int wrong = 0;  // elements that differ from the product
  std::string rule() const { return run.ok() ? "" : run.findings.front().rule; }
  std::string text() const { return run.ok() ? "silent" : run.findings.front().text(); }
};

template <Case C>
Outcome execute(const simulator::Options& options, int tiles = 3, int k_groups = 3) {
  const int rows = std::max(tiles, 1) * C.pairs * C.cta_group * kRows, depth = k_groups * C.k_group * kK;
  struct alignas(128) Line {
    uint8_t bytes[128];
  };
  const auto lines = [](size_t bytes) { return std::vector<Line>((bytes + 127) / 128); };
  std::vector<Line> a = lines(size_t(rows * depth) * 2), b = lines(size_t(kN * depth) * 2);
  std::vector<Line> scales = lines(size_t(rows * (depth / kK)) * 4), d = lines(size_t(rows * kN) * 4);
  auto* pa = reinterpret_cast<bf16*>(a.data());
  auto* pb = reinterpret_cast<bf16*>(b.data());
  auto* ps = reinterpret_cast<float*>(scales.data());
  auto* pd = reinterpret_cast<float*>(d.data());
  for (int i = 0; i < rows * depth; ++i) pa[i] = from_float<bf16>(float((i * 7 + i / depth) % 5 - 2));
  for (int i = 0; i < kN * depth; ++i) pb[i] = from_float<bf16>(float((i * 3 + i / depth) % 7 - 3));
  for (int i = 0; i < rows * (depth / kK); ++i) ps[i] = float(i % 3 + 1);
  Args args{};
  args.d = pd;
  args.tiles = tiles;
  args.k_groups = k_groups;
  EXPECT_FALSE(simulator::encode_tensor_map({DType::bf16, kK, kRows, Swizzle::b128}, pa, rows, depth, args.a));
  EXPECT_FALSE(simulator::encode_tensor_map({DType::bf16, kK, kN / C.cta_group, Swizzle::b128}, pb, kN, depth, args.b));
  EXPECT_FALSE(simulator::encode_tensor_map({DType::fp32, kRows, 1, Swizzle::none}, ps, depth / kK, rows, args.scales));
  using simulator::Buffer;
  std::vector<Buffer> buffers{{pa, size_t(rows * depth) * 2, "A", Buffer::Use::input, false},
                              {pb, size_t(kN * depth) * 2, "B", Buffer::Use::input, false},
                              {ps, size_t(rows * (depth / kK)) * 4, "scales", Buffer::Use::input, false},
                              {pd, size_t(rows * kN) * 4, "D", Buffer::Use::output, false}};
  using K = Kernel<C>;
  simulator::Launch launch{
      &K::plan, {uint32_t(K::plan.cluster), 1, 1}, uint32_t(K::plan.threads()), K::plan.shared_bytes, buffers};
  Outcome out;
  out.run = simulator::run(launch, options, [&args] { K::body(args); });
  for (int r = 0; out.run.ok() && tiles > 0 && r < rows; ++r)
    for (int n = 0; n < kN; ++n) {
      float want = 0;
      for (int k = 0; k < depth; ++k)
        want +=
            to_float(pa[r * depth + k]) * to_float(pb[n * depth + k]) * (is_scaled(C.form) ? ps[k / kK * rows + r] : 1);
      out.wrong += want != pd[r * kN + n];
    }
  return out;
}

// Every landing and schedule, the first that finds something.
template <Case C>
Outcome explore(std::vector<simulator::Fault> faults = {}, int tiles = 3, int k_groups = 3) {
  using simulator::Landing;
  using simulator::Scheduling;
  struct Mode {
    Landing landing;
    Scheduling scheduling;
    const char* frozen;
  };
  Outcome out;
  for (const Mode& mode : {Mode{Landing::eager, Scheduling::fifo, ""},
                           {Landing::late, Scheduling::fifo, ""},
                           {Landing::timed, Scheduling::fifo, ""},
                           {Landing::seeded, Scheduling::random, ""},
                           {Landing::late, Scheduling::freeze, "mma"},
                           {Landing::eager, Scheduling::freeze, "epilogue"},
                           {Landing::seeded, Scheduling::pct, ""}}) {
    simulator::Options o;
    o.landing = mode.landing;
    o.scheduling = mode.scheduling;
    o.frozen_role = mode.frozen;
    o.faults = faults;
    out = execute<C>(o, tiles, k_groups);
    if (!out.run.ok() || out.wrong) return out;
  }
  return out;
}

}  // namespace warpwright::blackwell

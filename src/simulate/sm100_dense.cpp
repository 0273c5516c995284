// The Blackwell GEMM: plain, with other sources of tiles, batches, shared depth and exchanged operands, with more in
// its epilogue than a factor, and with elements whose scale factors the tensor core applies. It runs in the simulator
// only.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/host_kernels.h"
#include "problem/problem.h"
#include "reference/block_scaled_workload.h"
#include "simulate/families.h"
#include "simulate/run.h"

namespace warpwright::simulate {
namespace {

using Config = DenseGemmSm100Config;
using reference::Case;
using reference::Data;
using reference::GemmSpec;
using reference::Workload;
using Pointers = std::vector<void*>;

constexpr int kChipSms = 148;

EpilogueConfig nodes(const Config& c) {
  EpilogueConfig e = c.epilogue;
  e.out = c.out_type;
  return e;
}
// Whether the epilogue does more than multiply by a factor and store.
bool is_fused(const Config& c) {
  return nodes(c) != factor_and_conversion(c.out_type) || c.store_stages > 0 || c.epilogue_load_stages > 0;
}
int batches(const Config& c) { return c.batched ? 3 : 1; }
int chip_clusters(const Config& c) { return kChipSms / c.cluster(); }
// As many parts as give every multiprocessor something to do, within reason.
int splits(const Config& c, Case s) {
  const int64_t tiles = std::max<int64_t>(1, c.tiles(int(s.m), int(s.n), batches(c)));
  return int(std::clamp<int64_t>(chip_clusters(c) / tiles, 2, 8));
}

// ---- problems

std::optional<std::string> refuse_plain(const Config& c, Case s) {
  problem::Problem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.dtype = c.type;
  p.out_dtype = c.out_type;
  return validate(p);
}
std::optional<std::string> refuse_scaled(const Config& c, Case s) {
  if (s.m < 1 || s.n < 1 || s.k < 0) return "m and n: at least 1; k: at least 0.";
  return problem::refuse(c, int(s.m), int(s.n), int(s.k), nullptr, nullptr);
}
// What the TMA moves has rows of whole 16-byte units.
std::optional<std::string> refuse_fused(const Config& c, Case s) {
  if (s.m < 1 || s.n < 1 || s.k < 0) return "m and n: at least 1; k: at least 0.";
  const int unit = 128 / bits(c.type);
  if (s.k % unit != 0) {
    return fmt::format("k = {}: rows of A and B must be whole 16-byte units, so k must be a multiple of {}.", s.k,
                       unit);
  }
  if (s.n % c.operands() != 0) return fmt::format("n = {}: gate and up come in pairs, so n must be even.", s.n);
  if (const int columns = 128 / bits(c.out_type) * c.operands(); c.store_stages > 0 && s.n % columns != 0) {
    return fmt::format("n = {}: rows of D must be whole 16-byte units, so n must be a multiple of {}.", s.n, columns);
  }
  if (c.epilogue_load_stages > 0 && c.result_columns(int(s.n)) % 8 != 0) {
    return fmt::format(
        "n = {}: rows of C, of the residual and of the bias must be whole 16-byte units, so n must be a multiple of "
        "{}.",
        s.n, 8 * c.operands());
  }
  return {};
}

GemmSpec plain_spec(const Config& c, Case s) {
  GemmSpec spec;
  spec.shape = s;
  spec.batch = batches(c);
  spec.a_type = spec.b_type = c.type;
  spec.a = reference::dense_layout(s.m, s.k);
  spec.b = reference::dense_layout(s.n, s.k);
  spec.d = reference::dense_layout(s.m, s.n);
  if (c.batched) {  // rows between the matrices that belong to none
    spec.a.batch_stride = (s.m + 1) * s.k;
    spec.b.batch_stride = (s.n + 2) * s.k;
    spec.d.batch_stride = (s.m + 3) * s.n;
  }
  spec.epilogue = factor_and_conversion(c.out_type);
  spec.workspace_bytes = c.workspace_bytes(int(s.m), int(s.n), batches(c), splits(c, s), chip_clusters(c));
  return spec;
}
GemmSpec fused_spec(const Config& c, Case s) {
  GemmSpec spec = plain_spec(c, s);
  const int columns = c.result_columns(int(s.n));
  spec.d =
      c.store_stages > 0 ? reference::aligned_layout(s.m, columns, c.out_type) : reference::odd_layout(s.m, columns);
  spec.epilogue = nodes(c);
  // Powers of two keep every sum exact.
  spec.alpha = 0.5;
  spec.beta = 2;
  spec.scale = 0.0625;
  return spec;
}

// ---- arguments

void set_parts(DenseGemmSm100Args& args, const Config& c, const Workload& w, const Pointers& p) {
  args.splits = splits(c, w.shape);
  args.workspace = reference::pointer_of(w, p, "workspace");
  args.weights_are_constant = c.dependent;
}
std::optional<std::string> fill_plain(DenseGemmSm100Args& args, const Config& c, const Workload& w, const Pointers& p,
                                      const EncodeMaps& encode) {
  const GemmSpec s = plain_spec(c, w.shape);
  auto why = launch::fill(args, c, p[0], p[1], p.back(), int(w.shape.m), int(w.shape.n), int(w.shape.k), float(w.alpha),
                          encode, {batches(c), s.a.batch_stride, s.b.batch_stride, s.d.batch_stride});
  set_parts(args, c, w, p);
  return why;
}
std::optional<std::string> fill_fused(DenseGemmSm100Args& args, const Config& c, const Workload& w, const Pointers& p,
                                      const EncodeMaps& encode) {
  const GemmSpec s = fused_spec(c, w.shape);
  const int m = int(w.shape.m), n = int(w.shape.n), k = int(w.shape.k);
  Config operands = c;  // the maps of the epilogue follow when it knows its matrices
  operands.store_stages = operands.epilogue_load_stages = 0;
  auto* const d = static_cast<uint8_t*>(p.back()) + s.d.offset * bits(c.out_type) / 8;
  if (auto why = launch::fill(args, operands, p[0], p[1], d, m, n, k, float(s.alpha), encode)) return why;
  set_parts(args, c, w, p);
  args.d_row_stride = s.d.row_stride;
  EpilogueArgs& e = args.epilogue;
  e.beta = float(s.beta);
  e.scale = float(s.scale);
  e.c = reference::pointer_of(w, p, "C");
  e.residual = reference::pointer_of(w, p, "residual");
  e.bias = reference::pointer_of(w, p, "bias");
  e.up_bias = reference::pointer_of(w, p, "up_bias");
  e.c_row_stride = e.residual_row_stride = c.result_columns(n);
  return launch::fill_epilogue_maps(args, c, 1, 0, encode);
}
std::optional<std::string> fill_scaled(DenseGemmSm100Args& args, const Config& c, const Workload& w, const Pointers& p,
                                       const EncodeMaps& encode) {
  auto why = launch::fill(args, c, p[0], p[1], p.back(), int(w.shape.m), int(w.shape.n), int(w.shape.k), float(w.alpha),
                          encode);
  return why ? why : launch::fill_block_scales(args, c, p[2], p[3], encode);
}

// ---- launches

struct Grid {
  int ctas;
  simulator::Options options;
};
Grid grid_of(const Config& c, Case s, const simulator::Options& options, int ctas) {
  Grid grid{ctas, options};
  const bool clc = c.source == TileSource::clc;
  if (!clc && c.split == DepthSplit::none && !c.batched) {
    if (ctas == 0) grid.ctas = c.cluster() > 2 ? c.cluster() : 2 * c.cluster();
    return grid;
  }
  // The grid that CLC wants does not depend on how many run at once.
  const int jobs = int(c.jobs(int(s.m), int(s.n), int(s.k), batches(c), splits(c, s)));
  if (clc && ctas == 0 && options.resident_clusters == 0) grid.options.resident_clusters = 2;
  const int few = c.split == DepthSplit::none ? 2 : 3;
  const int clusters = clc ? jobs : ctas == 0 ? few : std::min(jobs, chip_clusters(c));
  grid.ctas = std::max(clusters, 1) * c.cluster();
  return grid;
}

using Fill = std::optional<std::string> (*)(DenseGemmSm100Args&, const Config&, const Workload&, const Pointers&,
                                            const EncodeMaps&);
void set_simulate(Example& e, const catalog::Instance& instance, const Config& c, Fill fill) {
  e.simulate = [instance, c, fill](const Workload& w, const simulator::Options& options, int ctas) {
    const Grid grid = grid_of(c, w.shape, options, ctas);
    return run_filled<DenseGemmSm100Args>(instance, w, grid.options, grid.ctas,
                                          [&](DenseGemmSm100Args& args, const Pointers& p, const EncodeMaps& encode) {
                                            return fill(args, c, w, p, encode);
                                          });
  };
}
void complete_fused(Example& e, const catalog::Instance& instance, const Config& c) {
  e.refuse = [c](Case s) { return refuse_fused(c, s); };
  e.workload = [c](Case s, Data data, uint64_t seed) { return gemm_workload(fused_spec(c, s), data, seed); };
  set_simulate(e, instance, c, fill_fused);
}

const std::vector<Known>& known() {
  static const std::vector<Known> list = {
      {"sm100/dense-128x128-c4x2-s6-pair/bf16",
       "Blackwell GEMM by four pairs of CTAs that send each other slices of A and B (simulator only: never run on "
       "hardware by this project)",
       {{520, 264, 200}, {64, 64, 0}}},
      {"sm100/dense-128x256-c2x1-s6-pair/bf16",
       "Blackwell GEMM by pairs of CTAs: load, MMA and epilogue warps, sums in tensor memory (simulator only)",
       {{264, 520, 200}, {64, 64, 0}}},
      {"sm100/dense-128x128-c1x1-s6/bf16",
       "the same by single CTAs (simulator only)",
       {{256, 384, 520}, {128, 128, 64}, {130, 136, 72}, {64, 64, 0}}},
      {"sm100/dense-64x64-c1x1-s8/bf16",
       "the same on 64x64 tiles (simulator only)",
       {{128, 192, 200}, {1, 8, 8}, {64, 64, 0}}},
      {"sm100/dense-128x128-c1x1-s6/fp16", "the same for fp16 (simulator only)", {{130, 264, 200}}},
      {"sm100/dense-128x256-c2x1-s6-pair/e4m3",
       "e4m3 operands and a bf16 result (simulator only)",
       {{264, 264, 400}, {8, 8, 16}}},
      {"sm100/dense-128x128-c1x1-s6/tf32",
       "tf32 operands and an fp32 result (simulator only)",
       {{130, 132, 68}, {64, 64, 0}}},
      {"sm100/dense-128x256-c2x1-s6-pair-clc/bf16",
       "the Blackwell GEMM whose clusters cancel the launch of others and do their tiles (simulator only)",
       {{520, 520, 136}, {64, 64, 0}}},
      {"sm100/dense-128x128-c1x1-s6-hilbert/bf16-batched",
       "three products at once, tiles along a Hilbert curve (simulator only)",
       {{136, 264, 136}, {8, 8, 8}}},
      {"sm100/dense-128x128-c1x1-s6-clc-splitk/bf16",
       "the depth of each tile is cut into parts, tiles by CLC (simulator only)",
       {{136, 136, 520}, {64, 64, 64}, {64, 64, 0}}},
      {"sm100/dense-128x256-c2x1-s6-pair-streamk/bf16",
       "every pair of CTAs has the same depth to multiply (simulator only)",
       {{520, 264, 328}, {64, 64, 0}}},
      {"sm100/dense-128x16-c1x1-s10-splitk-swap-early/bf16",
       "few rows of A: they are the columns of the MMA, the depth is cut into parts (simulator only)",
       {{16, 264, 520}, {1, 8, 8}, {17, 136, 0}}},
      {"sm100/dense-128x256-c2x1-s6-pair-o2/bf16",
       "the Blackwell GEMM whose results leave through a ring in shared memory, by TMA (simulator only)",
       {{264, 520, 200}, {64, 64, 0}}},
      {"sm100/dense-128x128-c1x1-s4-o2-l1/bf16-c-bias-gelu-residual",
       "gelu(alpha A B^T + beta C + bias) + residual; a warp loads C, bias and residual ahead of the sums (simulator "
       "only)",
       {{130, 264, 136}, {64, 64, 0}}},
      {"sm100/dense-128x256-c2x1-s6-pair-o2/bf16-swiglu",
       "silu(gate) * up, whose columns alternate in the product (simulator only)",
       {{264, 528, 136}, {8, 16, 8}}},
      {"sm100/dense-128x256-c2x1-s5-pair-e8-o2/bf16",
       "two warpgroups share the columns of a tile in the epilogue (simulator only)",
       {{264, 520, 136}, {64, 64, 0}}},
      {"sm100/dense-128x256-c2x1-s6-pair-o2/e4m3-to_e4m3-quantize",
       "e4m3 operands and a scaled e4m3 result, saturated (simulator only)",
       {{264, 272, 144}, {8, 16, 16}}},
      {"sm100/dense-128x128-c2x1-s6-pair/e4m3-mxfp8",
       "e4m3 operands with a ue8m0 factor for 32 elements along k (simulator only)",
       {{264, 264, 400}, {8, 8, 16}, {64, 64, 0}}},
      {"sm100/dense-128x256-c2x1-s5-pair-a1/e2m1-mxfp4",
       "e2m1 operands with a ue8m0 factor for 32 elements along k (simulator only)",
       {{264, 264, 800}, {8, 8, 32}}},
      {"sm100/dense-128x128-c2x1-s6-pair/e2m1-nvfp4",
       "e2m1 operands with a ue4m3 factor for 16 elements along k (simulator only)",
       {{264, 264, 800}, {8, 8, 32}}},
      {"sm100/dense-128x128-c2x1-s6-pair/e4m3-w4a8",
       "e4m3 times e2m1 operands with ue8m0 factors (simulator only)",
       {{264, 264, 384}, {8, 8, 128}}},
  };
  return list;
}

}  // namespace

bool complete(Example& e, const catalog::Instance& instance, const Config& c) {
  // Batches are of plain products; where the tensor core applies factors, nothing else is asked for.
  if (c.batched && (is_fused(c) || c.scaled())) return false;
  if (c.scaled() && (is_fused(c) || c.split != DepthSplit::none)) return false;
  if (c.scaled()) {
    e.refuse = [c](Case s) { return refuse_scaled(c, s); };
    e.workload = [c](Case s, Data data, uint64_t seed) {
      return reference::block_scaled_workload(s, c.scaling, c.type, c.out_type, data, seed);
    };
    set_simulate(e, instance, c, fill_scaled);
  } else if (is_fused(c)) {
    complete_fused(e, instance, c);
  } else {
    e.refuse = [c](Case s) { return refuse_plain(c, s); };
    e.workload = [c](Case s, Data data, uint64_t seed) { return gemm_workload(plain_spec(c, s), data, seed); };
    set_simulate(e, instance, c, fill_plain);
    // select() takes the CTAs of a cluster to stand along M; one that stands along N counts for columns instead. It
    // multiplies one matrix, so it may choose all but the batched ones.
    const int rows = c.tile_m / c.cluster_n, columns = c.tile_n * c.cluster_n;
    if (!c.batched) {
      e.gemm = {c.swap_ab ? columns : rows, c.swap_ab ? rows : columns, c.type, c.out_type, true};
    }
  }
  // Some rows and columns more than a cluster's tile, one stage more than the ring.
  const int64_t tall = c.tile_m * c.cluster_m, wide = c.tile_n * c.cluster_n;
  const int64_t deep = int64_t(c.tile_k()) * c.k_group * (c.stages + 1);
  describe(e, known(), "Blackwell GEMM (simulator only)",
           {{(c.swap_ab ? wide : tall) + 8, (c.swap_ab ? tall : wide) + 32, deep}, {8, 32, c.tile_k()}, {64, 64, 0}});
  return true;
}

void complete_any_columns(Example& e, const catalog::Instance& instance) {
  complete_fused(e, instance, *instance.as<Config>());
  e.summary = "any number of columns, rows of D that begin anywhere (simulator only)";
  e.cases = {{130, 263, 72}, {1, 1, 8}, {40, 17, 0}};
}

}  // namespace warpwright::simulate

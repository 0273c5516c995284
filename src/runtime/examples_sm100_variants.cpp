// The Blackwell GEMM with other sources of tiles, batches, shared depth and exchanged operands.
#include <algorithm>

#include "device/launch_sm100.h"
#include "runtime/examples_list.h"
#include "runtime/problem.h"
#include "runtime/simulate.h"
#include "warpwright/kernel/sm100/dense_gemm.h"

namespace warpwright::runtime {
namespace {

using device::kDenseGemmSm100;

template <DenseGemmSm100Config C>
struct Variant {
  using Kernel = kernel::sm100::DenseGemm<C>;
  static constexpr int kBatches = C.batched ? 3 : 1;
  static constexpr int kChipClusters = 148 / C.cluster();

  // As many parts as give every multiprocessor something to do, within reason.
  static int splits(Case s) {
    const int64_t tiles = std::max<int64_t>(1, C.tiles(int(s.m), int(s.n), kBatches));
    return int(std::clamp<int64_t>(kChipClusters / tiles, 2, 8));
  }
  static std::optional<std::string> refuse(Case s) {
    Problem p;
    p.m = s.m;
    p.n = s.n;
    p.k = s.k;
    p.dtype = C.type;
    p.out_dtype = C.out_type;
    return validate(p);
  }
  static GemmSpec spec(Case s) {
    GemmSpec spec;
    spec.shape = s;
    spec.batch = kBatches;
    spec.a_type = spec.b_type = C.type;
    spec.a = dense_layout(s.m, s.k);
    spec.b = dense_layout(s.n, s.k);
    spec.d = dense_layout(s.m, s.n);
    if (C.batched) {  // rows between the matrices that belong to none
      spec.a.batch_stride = (s.m + 1) * s.k;
      spec.b.batch_stride = (s.n + 2) * s.k;
      spec.d.batch_stride = (s.m + 3) * s.n;
    }
    spec.epilogue = factor_and_conversion(C.out_type);
    spec.workspace_bytes = C.workspace_bytes(int(s.m), int(s.n), kBatches, splits(s), kChipClusters);
    return spec;
  }
  static Workload workload(Case s, Data data, uint64_t seed) { return gemm_workload(spec(s), data, seed); }

  // The grid that CLC wants does not depend on how many run at once.
  static Outcome simulate(const Workload& w, const simulator::Options& options, int ctas) {
    const int m = int(w.shape.m), n = int(w.shape.n), k = int(w.shape.k);
    const int jobs = int(C.jobs(m, n, k, kBatches, splits(w.shape)));
    const bool clc = C.source == TileSource::clc;
    simulator::Options o = options;
    if (clc && ctas == 0 && o.resident_clusters == 0) o.resident_clusters = 2;
    const int few = C.split == DepthSplit::none ? 2 : 3;
    const int clusters = clc ? jobs : ctas == 0 ? few : std::min(jobs, kChipClusters);
    return runtime::simulate<Kernel>(
        w, o, std::max(clusters, 1) * C.cluster(), [&](auto& args, const auto& p, const auto& encode) {
          const GemmSpec s = spec(w.shape);
          auto why = fill(args, C, p[0], p[1], p.back(), m, n, k, float(w.alpha), encode,
                          {kBatches, s.a.batch_stride, s.b.batch_stride, s.d.batch_stride});
          args.splits = splits(w.shape);
          args.workspace = pointer_of(w, p, "workspace");
          args.weights_are_constant = C.dependent;
          return why;
        });
  }

  // `gemm` multiplies one matrix, so it may choose all but the batched one.
  static Example make(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
    const int rows = C.tile_m / C.cluster_n, columns = C.tile_n * C.cluster_n;
    GemmTraits traits{C.swap_ab ? columns : rows, C.swap_ab ? rows : columns, C.type, C.out_type, true};
    if (C.batched) traits = {};
    return {name,   summary,  instance, Arch::sm100, &Kernel::plan, std::move(cases),
            refuse, workload, simulate, nullptr,     traits};
  }
};

}  // namespace

// After the plain ones: select() takes the first that fits.
void add_dense_gemm_sm100_variant_examples(std::vector<Example>& list) {
  list.push_back(Variant<kDenseGemmSm100[7]>::make(
      "gemm_sm100_clc",
      "the Blackwell GEMM whose clusters cancel the launch of others and do their tiles (simulator only)",
      "bf16 256x256x64 in pairs, 6 stages, 2 accumulators, cluster 2x1, CLC", {{520, 520, 136}, {64, 64, 0}}));
  list.push_back(Variant<kDenseGemmSm100[8]>::make(
      "gemm_sm100_batched", "three products at once, tiles along a Hilbert curve (simulator only)",
      "bf16 128x128x64, 6 stages, 2 accumulators, batched", {{136, 264, 136}, {8, 8, 8}}));
  list.push_back(Variant<kDenseGemmSm100[9]>::make(
      "gemm_sm100_split_k", "the depth of each tile is cut into parts, tiles by CLC (simulator only)",
      "bf16 128x128x64, 6 stages, 2 accumulators, split-K, CLC", {{136, 136, 520}, {64, 64, 64}, {64, 64, 0}}));
  list.push_back(Variant<kDenseGemmSm100[10]>::make(
      "gemm_sm100_stream_k", "every pair of CTAs has the same depth to multiply (simulator only)",
      "bf16 256x256x64 in pairs, 6 stages, 2 accumulators, cluster 2x1, stream-K", {{520, 264, 328}, {64, 64, 0}}));
  list.push_back(Variant<kDenseGemmSm100[11]>::make(
      "gemm_sm100_swapped",
      "few rows of A: they are the columns of the MMA, the depth is cut into parts (simulator only)",
      "bf16 16x128x64, 10 stages, 2 accumulators, operands exchanged, split-K, dependent launch",
      {{16, 264, 520}, {1, 8, 8}, {17, 136, 0}}));
}

}  // namespace warpwright::runtime

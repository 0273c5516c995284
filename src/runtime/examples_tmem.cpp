#include "runtime/examples_list.h"
#include "runtime/problem.h"
#include "runtime/simulate.h"
#include "warpwright/kernel/sm100/tmem_lifecycle.h"

namespace warpwright::runtime {
namespace {

constexpr TmemLifecycleConfig kConfig{};
using K = kernel::sm100::TmemLifecycle<kConfig>;

std::optional<std::string> refuse_case(Case s) {
  Problem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  return validate(p);
}

Outcome run(const Workload& w, const simulator::Options& o, int ctas) {
  return simulate<K>(w, o, ctas ? ctas : 2, [&](auto& args, const auto& p, const auto& encode) {
    return fill(args, kConfig, p[0], p[1], p[2], int(w.shape.m), int(w.shape.n), int(w.shape.k), encode);
  });
}

}  // namespace

void add_tmem_examples(std::vector<Example>& list) {
  list.push_back(
      {"tmem_lifecycle",
       "Blackwell GEMM that allocates, uses and frees tensor memory (simulator only: never run on hardware by this "
       "project)",
       "bf16 128x128x64, 4 stages, 2 accumulators",
       Arch::sm100,
       &K::plan,
       {{256, 384, 256}, {128, 128, 64}, {130, 136, 72}, {64, 64, 0}},
       refuse_case,
       [](Case s, Data d, uint64_t seed) { return gemm_workload(s, kConfig.type, kConfig.out_type, 1, d, seed); },
       run,
       nullptr,
       {kConfig.tile_m, kConfig.tile_n, kConfig.type, kConfig.out_type, false}});
}

}  // namespace warpwright::runtime

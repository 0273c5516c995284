// A grouped product for the Blackwell kernel in the simulator, with its status word.
#pragma once
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "gemm_sm100.h"
#include "reference/grouped_workload.h"
#include "warpwright/kernel/sm100/grouped/grouped_gemm.h"

namespace warpwright::gemm_sm100 {

using reference::Data;
using reference::GroupedSpec;
using reference::Workload;
using GroupedConfig = GroupedGemmSm100Config;

struct GroupedResult {
  simulator::Result sim;
  reference::Verdict verdict;
  uint32_t status = 0;
  std::vector<uint8_t> d, d_scales;
};

// `change` may alter the arrays after the reference was computed, as a table on the device may differ. `adapt` may
// alter the arguments; the pointers are those of the arrays.
template <GroupedConfig C>
GroupedResult run_grouped(const GroupedSpec& spec, Data data, const Options& o, int clusters = 2, uint64_t seed = 1,
                          const std::function<void(Workload&)>& change = {},
                          const std::function<void(GroupedGemmSm100Args&, const std::vector<void*>&)>& adapt = {}) {
  Workload w = reference::grouped_workload(spec, data, seed);
  if (change) change(w);
  std::vector<std::vector<Line>> memory;
  std::vector<void*> pointers;
  std::vector<Buffer> buffers;
  for (const reference::Array& a : w.arrays) {
    memory.emplace_back((a.bytes.size() + 127) / 128 + 1);
    std::copy(a.bytes.begin(), a.bytes.end(), reinterpret_cast<uint8_t*>(memory.back().data()));
    pointers.push_back(memory.back().data());
    buffers.push_back({pointers.back(), a.bytes.size(), a.name,
                       a.output || a.scratch ? Buffer::Use::output : Buffer::Use::input, false});
  }
  GroupedGemmSm100Args args;
  const Status status =
      launch::fill(args, C, reference::grouped_operands(spec, w, pointers), simulate::EncodeForSimulator{});
  GroupedResult r;
  if (!status) {
    ADD_FAILURE() << status.message();
    return r;
  }
  if (adapt) adapt(args, pointers);
  r.sim =
      simulator::run_kernel<kernel::sm100::GroupedGemm<C>>(args, {uint32_t(clusters * C.cta_group), 1, 1}, buffers, o);
  const auto* d = static_cast<const uint8_t*>(pointers.back());
  r.d.assign(d, d + w.output().bytes.size());
  r.verdict = reference::judge(w, r.d);
  for (size_t i = 0; i < w.arrays.size(); ++i) {
    const auto* bytes = static_cast<const uint8_t*>(pointers[i]);
    if (w.arrays[i].name == "d_scales") r.d_scales.assign(bytes, bytes + w.arrays[i].bytes.size());
  }
  r.status = *args.groups.status;
  return r;
}

template <GroupedConfig C>
GroupedSpec spec_of(std::vector<int> tokens, std::vector<int32_t> matrices = {}, int n = 136, int k = 0) {
  GroupedSpec s;
  s.tokens = std::move(tokens);
  s.matrix_count = int(s.tokens.size());
  s.matrices = std::move(matrices);
  for (int32_t m : s.matrices) s.matrix_count = std::max(s.matrix_count, m + 1);
  s.n = n;
  s.k = k > 0 ? k : 3 * C.dense().tile_k() + (C.scaling == BlockScaling::w4a8 ? 0 : 32);
  s.scaling = C.scaling;
  s.type = C.type;
  s.out_type = C.out_type;
  s.out_scaling = C.out_scaling;
  return s;
}

template <GroupedConfig C>
void expect_grouped(const GroupedSpec& spec, Data data = Data::integers, const Options& o = {}, int clusters = 2) {
  const GroupedResult r = run_grouped<C>(spec, data, o, clusters, o.seed);
  ASSERT_TRUE(r.sim.ok()) << r.sim.findings[0].text();
  ASSERT_TRUE(r.verdict.ok) << r.verdict.wrong << " wrong, " << r.verdict.unwritten << " unwritten, error "
                            << r.verdict.max_rel_error << ", " << testing::PrintToString(spec.tokens);
  ASSERT_EQ(r.status, 0u);
}

}  // namespace warpwright::gemm_sm100

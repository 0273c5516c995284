// Blockwise products on Blackwell whose depth is shared by clusters: exact, also in a second launch on the same
// workspace, and no fault at the hand-over passes unseen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "launch/host_grouped.h"
#include "reference/blockwise_workload.h"
#include "reference/grouped_workload.h"
#include "simulate/run_kernel.h"
#include "warpwright/kernel/sm100/blockwise/blockwise_fp8.h"

namespace warpwright {
namespace {

using reference::Case;
using reference::Data;
using simulator::Buffer;
using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using Config = BlockwiseFp8Sm100Config;

struct Line {
  alignas(128) uint8_t bytes[128] = {};
};
struct Outcome {
  simulator::Result sim;
  reference::Verdict verdict;
};

// `launches` in a row on the same workspace, each of which writes the whole of D again.
template <Config C, class Fill>
Outcome run(const reference::Workload& w, const Options& o, int clusters, int splits, int launches, const Fill& fill) {
  Outcome out;
  std::vector<std::vector<Line>> memory;
  std::vector<void*> pointers;
  std::vector<Buffer> buffers;
  for (const reference::Array& a : w.arrays) {
    memory.emplace_back((a.bytes.size() + 127) / 128 + 1);
    pointers.push_back(memory.back().data());
    buffers.push_back({pointers.back(), a.bytes.size(), a.name,
                       a.output    ? Buffer::Use::output
                       : a.scratch ? Buffer::Use::inout
                                   : Buffer::Use::input,
                       false});
  }
  typename kernel::sm100::BlockwiseFp8<C>::Args args;
  if (const Status s = fill(args, pointers); !s) {
    ADD_FAILURE() << s.message();
    return out;
  }
  args.splits = splits;
  const int64_t bytes = C.workspace_bytes(args.m, args.groups.groups, args.n, splits);
  std::vector<Line> workspace(size_t(bytes) / 128 + 1);
  args.workspace = workspace.data();
  if (bytes > 0) buffers.push_back({workspace.data(), uint64_t(bytes), "workspace", Buffer::Use::inout, false});
  for (int i = 0; i < launches; ++i) {
    for (size_t a = 0; a < w.arrays.size(); ++a) {
      std::copy(w.arrays[a].bytes.begin(), w.arrays[a].bytes.end(), static_cast<uint8_t*>(pointers[a]));
    }
    out.sim = simulator::run_kernel<kernel::sm100::BlockwiseFp8<C>>(args, {uint32_t(clusters * C.cta_group), 1, 1},
                                                                    buffers, o);
    if (!out.sim.ok()) return out;
    const auto* const d = static_cast<const uint8_t*>(pointers.back());
    out.verdict = reference::judge(w, {d, d + w.output().bytes.size()});
    if (!out.verdict.ok) return out;
  }
  return out;
}
template <Config C>
Outcome run_one(const Case& c, const Options& o, int clusters, int splits, int launches = 1) {
  const reference::Workload w = reference::blockwise_workload(c, C.out_type, Data::integers, 3);
  return run<C>(w, o, clusters, splits, launches, [&](auto& args, const auto& p) {
    return launch::fill(args, C, p[0], p[1], p[2], p[3], p[4], int(c.m), int(c.n), int(c.k),
                        simulate::EncodeForSimulator{});
  });
}

template <Config C>
void expect_exact(const Case& c, const std::vector<int>& all_splits) {
  uint64_t seed = 1;
  for (int splits : all_splits) {
    for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
      Options o;
      o.landing = landing;
      o.scheduling = seed % 2 == 0 ? Scheduling::fifo : Scheduling::random;
      o.seed = seed++;
      const Outcome out = run_one<C>(c, o, 1 + int(seed % 4), splits, 2);
      ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
      ASSERT_TRUE(out.verdict.ok) << c.m << "x" << c.n << "x" << c.k << " in " << splits << ": " << out.verdict.wrong
                                  << " wrong, " << out.verdict.unwritten << " unwritten";
    }
  }
}

constexpr Config kSingle{.out_type = DType::fp32, .tile_n = 64, .stages = 3, .split = DepthSplit::split_k};
constexpr Config kPairs{
    .tile_n = 128, .stages = 3, .cta_group = 2, .epilogue_warps = 8, .store_stages = 2, .split = DepthSplit::split_k};

TEST(BlockwiseSplitSm100, IsExactWithAnyNumberOfParts) {
  for (const Case& c : {Case{140, 72, 640}, {4, 8, 1024}, {132, 64, 128}, {40, 24, 0}})
    expect_exact<kSingle>(c, {1, 2, 3, 7});
}
TEST(BlockwiseSplitSm100, IsExactInPairsThatStoreByTma) {
  for (const Case& c : {Case{260, 136, 512}, {4, 8, 400}}) expect_exact<kPairs>(c, {3});
}

TEST(BlockwiseSplitSm100, GroupsOfRows) {
  constexpr Config groups{.out_type = DType::fp32,
                          .tile_n = 64,
                          .stages = 3,
                          .epilogue = {.out = DType::fp32, .alpha = true},
                          .grouped = true,
                          .split = DepthSplit::split_k};
  reference::GroupedSpec spec;
  spec.tokens = {3, 0, 140, 9, 17};
  spec.matrices = {2, 0, 1, -1, 2};
  spec.matrix_count = 3;
  spec.n = 72;
  spec.k = 656;
  spec.scaling = BlockScaling::none;
  spec.out_type = DType::fp32;
  const reference::Workload w = reference::grouped_blockwise_workload(spec, Data::integers, 5);
  for (int splits : {2, 3, 6}) {
    for (int clusters : {1, 3, 5}) {
      Options o;
      o.seed = uint64_t(splits * clusters);
      o.landing = Landing::seeded;
      const Outcome out = run<groups>(w, o, clusters, splits, 2, [&](auto& args, const auto& p) {
        return launch::fill(args, groups, reference::grouped_operands(spec, w, p), simulate::EncodeForSimulator{});
      });
      ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
      ASSERT_TRUE(out.verdict.ok) << splits << " parts: " << out.verdict.wrong << " wrong, " << out.verdict.unwritten
                                  << " unwritten";
    }
  }
}

TEST(BlockwiseSplitSm100, NoFaultAtTheHandOverPassesUnseen) {
  using enum Fault::Action;
  for (const Fault& fault :
       {Fault{"atomic_add", "workspace", "epilogue", drop}, Fault{"atomic_add", "workspace", "epilogue", alter},
        Fault{"load_acquire", "workspace", "epilogue", drop}, Fault{"load_acquire", "workspace", "epilogue", alter, 2},
        Fault{"sync_warp", "", "epilogue", drop}}) {
    SCOPED_TRACE(testing::Message() << int(fault.action) << " " << fault.word);
    int reported = 0;
    for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
      Options o;
      o.landing = landing;
      o.faults = {fault};
      reported += !run_one<kSingle>({132, 64, 640}, o, 3, 3).sim.ok();
    }
    EXPECT_GT(reported, 0) << "nobody saw it";
  }
}

}  // namespace
}  // namespace warpwright

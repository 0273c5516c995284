// Groups with matrices of their own: different rows, columns and depth, through maps and pointers in device memory.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "grouped_sm100.h"
#include "sim/generated.h"

namespace warpwright::gemm_sm100 {
namespace {

constexpr GroupedConfig kRows{.tile_n = 64, .stages = 2, .pointers = true};
constexpr GroupedConfig kFewRows{.tile_n = 16, .stages = 2, .swap_ab = true, .pointers = true};
constexpr GroupedConfig kPair{.tile_n = 128, .stages = 2, .cta_group = 2, .swap_ab = true, .pointers = true};
constexpr GroupedConfig kPlain{
    .scaling = BlockScaling::none, .type = DType::bf16, .tile_n = 64, .stages = 2, .pointers = true};
constexpr GroupedConfig kNvfp4{
    .scaling = BlockScaling::nvfp4, .type = DType::e2m1, .tile_n = 128, .stages = 2, .pointers = true};

struct Outcome {
  simulator::Result sim;
  uint64_t wrong = 0;
  uint32_t status = 0;
};

template <GroupedConfig C>
Outcome run(const std::vector<Case>& shapes, const Options& o,
            const std::function<void(std::vector<int32_t>&)>& change = {}) {
  // Each group is a grouped product of one group, with maps made by the host.
  std::vector<Workload> workloads;
  std::vector<std::vector<Line>> memory;
  std::vector<Buffer> buffers;
  std::vector<GroupProblem> problems(shapes.size() + 1);
  std::vector<int32_t> extents;
  std::vector<const uint8_t*> results;
  int most[3] = {};
  memory.reserve(16 * shapes.size());
  for (size_t g = 0; g < shapes.size(); ++g) {
    const Case& c = shapes[g];
    GroupedSpec s = spec_of<C>({int(c.m)}, {}, int(c.n), int(c.k));
    s.k = int(c.k);
    workloads.push_back(reference::grouped_workload(s, Data::integers, g + 1));
    const Workload& w = workloads.back();
    std::vector<void*> pointers;
    for (const reference::Array& a : w.arrays) {
      memory.emplace_back((a.bytes.size() + 127) / 128 + 1);
      std::copy(a.bytes.begin(), a.bytes.end(), reinterpret_cast<uint8_t*>(memory.back().data()));
      pointers.push_back(memory.back().data());
      if (a.bytes.empty() || a.name == "status") continue;
      buffers.push_back({pointers.back(), a.bytes.size(), a.name + std::to_string(g),
                         a.output ? Buffer::Use::output : Buffer::Use::input, false});
    }
    constexpr GroupedConfig one = [] {
      GroupedConfig o = C;
      o.pointers = false;
      return o;
    }();
    GroupedGemmSm100Args args;
    const Status status =
        launch::fill(args, one, reference::grouped_operands(s, w, pointers), simulate::EncodeForSimulator{});
    EXPECT_TRUE(status) << status.message();
    problems[g] = {args.a, args.b, args.a_scales, args.b_scales, args.d, 0, float(g % 2 == 0 ? 0.5 : 2)};
    results.push_back(static_cast<const uint8_t*>(args.d));
    const int32_t extent[3] = {int32_t(c.m), int32_t(c.n), int32_t(c.k)};
    for (int i = 0; i < 3; ++i) most[i] = std::max(most[i], int(extent[i]));
    extents.insert(extents.end(), {extent[0], extent[1], extent[2], 0});
  }
  if (change) change(extents);
  std::vector<Line> table(extents.size() / 32 + 1);
  std::memcpy(table.data(), extents.data(), extents.size() * 4);
  Outcome out;
  out.status = 0xdead;
  if (!shapes.empty()) {
    buffers.push_back({table.data(), extents.size() * 4, "extents", Buffer::Use::input, false});
    buffers.push_back({problems.data(), shapes.size() * sizeof(GroupProblem), "problems", Buffer::Use::input, false});
  }
  buffers.push_back({&out.status, 4, "status", Buffer::Use::output, false});
  GroupedGemmSm100Args args{};
  args.problems = problems.data();
  args.groups = {.extents = reinterpret_cast<const int32_t*>(table.data()),
                 .status = &out.status,
                 .groups = int(shapes.size()),
                 .rows = most[0],
                 .matrix_count = int(shapes.size()),
                 .columns = most[1],
                 .depth = most[2]};
  out.sim = simulator::run_kernel<kernel::sm100::GroupedGemm<C>>(args, {uint32_t(2 * C.cta_group), 1, 1}, buffers, o);
  for (size_t g = 0; g < shapes.size(); ++g) {
    Workload w = workloads[g];
    // grouped_workload has a factor of its own, of matrix 0.
    const double own = std::ldexp(1.0, int((g + 1) % 3) - 1);
    for (double& x : w.expected) x *= (g % 2 == 0 ? 0.5 : 2) / own;
    out.wrong += reference::judge(w, {results[g], results[g] + w.output().bytes.size()}).wrong;
  }
  return out;
}
template <GroupedConfig C>
void expect_right(const std::vector<Case>& shapes, const Options& o = {}) {
  const Outcome out = run<C>(shapes, o);
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  ASSERT_EQ(out.wrong, 0u);
  ASSERT_EQ(out.status, 0u);
}
template <GroupedConfig C>
void expect_shapes() {
  const int k = C.dense().tile_k();
  expect_right<C>({{200, 136, 2 * k + 32}, {1, 8, 32}, {130, 264, k}, {64, 64, 3 * k}});
  expect_right<C>({{128, 128, k}});
  expect_right<C>({{20, 72, k}, {40, 8, 0}, {5, 128, 2 * k}});
  std::vector<Case> many;
  for (int i = 0; i < 40; ++i) many.push_back({1 + i % 7, 8 + i % 3 * 8, 32 + i % 2 * k});
  expect_right<C>(many);
}
TEST(GroupedPointers, Rows) { expect_shapes<kRows>(); }
TEST(GroupedPointers, FewRows) { expect_shapes<kFewRows>(); }
TEST(GroupedPointers, PairsOfCtas) { expect_shapes<kPair>(); }
TEST(GroupedPointers, Plain) { expect_shapes<kPlain>(); }
TEST(GroupedPointers, Nvfp4) { expect_shapes<kNvfp4>(); }
TEST(GroupedPointers, NoGroups) { expect_right<kRows>({}); }

TEST(GroupedPointers, EveryMode) {
  in_every_mode(kernel::sm100::GroupedGemm<kFewRows>::plan, 1, [&](const Options& o) {
    expect_right<kFewRows>({{20, 136, 160}, {3, 8, 32}, {33, 64, 128}}, o);
  });
}

// Extents on the device that exceed what the host said are cut, and the status tells.
TEST(GroupedPointers, WrongExtentsGiveAStatusAndNoAccessOutOfRange) {
  const std::vector<Case> shapes{{64, 64, 128}, {64, 64, 128}};
  for (size_t i = 0; i < 3; ++i) {
    for (int32_t value : {129, 1'000'000'000, -1}) {
      const Outcome out = run<kRows>(shapes, {}, [&](std::vector<int32_t>& extents) { extents[4 + i] = value; });
      EXPECT_TRUE(out.sim.ok()) << i << " " << value << "\n" << out.sim.findings[0].text();
      EXPECT_EQ(out.status, uint32_t(kExtentsOutOfRange)) << i << " " << value;
    }
  }
}

TEST(GroupedPointers, EverySynchronizationIsNeeded) {
  const std::vector<Case> shapes{{40, 136, 384}, {3, 8, 32}, {33, 64, 128}};
  Options list;
  list.list_fault_sites = true;
  const Outcome clean = run<kFewRows>(shapes, list);
  ASSERT_TRUE(clean.sim.ok()) << clean.sim.findings[0].text();
  ASSERT_EQ(clean.wrong, 0u);
  const auto mutants = generated::mutants_of(kernel::sm100::GroupedGemm<kFewRows>::plan, clean.sim.fault_sites);
  EXPECT_GE(mutants.size(), 45u);
  for (const Fault& f : mutants) {
    bool reported = false;
    in_every_mode(kernel::sm100::GroupedGemm<kFewRows>::plan, 1, [&](Options o) {
      if (reported) return;
      o.faults = {f};
      const Outcome out = run<kFewRows>(shapes, o);
      reported = !out.sim.ok();
      EXPECT_TRUE(reported || out.wrong == 0) << "a silent wrong result: " << generated::describe(f);
    });
    EXPECT_TRUE(reported) << generated::describe(f);
  }
}

}  // namespace
}  // namespace warpwright::gemm_sm100

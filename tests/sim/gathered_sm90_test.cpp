// Grouped products whose rows of A are named by a table: every row of the product is the right one, whatever the table
// says, and every synchronization of the load role that gathers is needed.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/grouped_sm90_mutants.h"

namespace warpwright {
namespace {

using namespace grouped_sm90;

constexpr GroupedGemmConfig kSmall{
    .type = DType::bf16, .tile_m = 64, .tile_n = 16, .stages = 4, .groups = Groups::contiguous, .gathered = true};
constexpr GroupedGemmConfig with_stages(int stages) {
  GroupedGemmConfig c = kSmall;
  c.stages = stages;
  return c;
}
// Two CTAs side by side, each of which loads part of the other's columns.
constexpr GroupedGemmConfig paired() {
  GroupedGemmConfig c = kSmall;
  c.tile_m = 128;
  c.tile_n = 32;
  c.stages = 3;
  c.cluster = 2;
  return c;
}
constexpr GroupedGemmConfig with_swiglu() {
  GroupedGemmConfig c = paired();
  c.swiglu = c.bias = true;
  return c;
}
static_assert(paired().paired() && with_swiglu().paired());
static_assert(refuse(paired()) == nullptr && refuse(with_swiglu()) == nullptr);

// Rows in no order, some of them more than once; the last row of A is never taken.
template <GroupedGemmConfig C>
GroupedProduct gathered(Case shape, std::vector<uint32_t> offsets, int64_t a_rows) {
  GroupedProduct p = spec<C>(shape, std::move(offsets));
  p.bias = C.bias;
  p.a_rows = a_rows;
  for (int64_t i = 0; i < shape.m; ++i)
    p.index.push_back(int32_t(i * 11 + 3) % int32_t(std::max<int64_t>(1, a_rows - 1)));
  return p;
}

template <GroupedGemmConfig C>
void expect_all_counts(const std::vector<int64_t>& counts, int64_t n) {
  for (const int64_t m : counts) {
    const auto rows = uint32_t(m);
    for (const auto& offsets : std::vector<std::vector<uint32_t>>{
             {0, rows}, {0, 0, rows, rows}, {0, rows / 3, rows / 3, rows - rows / 5, rows}}) {
      SCOPED_TRACE(std::to_string(m) + " rows in " + std::to_string(offsets.size() - 1) + " groups");
      expect_exact<C>(gathered<C>({m, n, 200}, offsets, m / 2 + 2));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(GatheredSm90, rowsOfAnyCount) { expect_all_counts<kSmall>({1, 63, 64, 65, 200}, 24); }
TEST(GatheredSm90, rowsOfPairedTiles) { expect_all_counts<paired()>({65, 200}, 104); }
TEST(GatheredSm90, shortRings) {
  expect_exact<with_stages(2)>(gathered<with_stages(2)>({130, 40, 456}, {0, 70, 130}, 90));
  expect_exact<with_stages(3)>(gathered<with_stages(3)>({130, 40, 456}, {0, 70, 130}, 90));
}
TEST(GatheredSm90, swiglu) {
  expect_exact<with_swiglu()>(gathered<with_swiglu()>({300, 208, 136}, {0, 40, 40, 230, 300}, 111));
}

// Scales of gathered rows: four blocks at once, one at a time, and by an exchange of lanes. The second warpgroup has
// some of the 130 rows.
constexpr GroupedGemmConfig kNarrow{
    .tile_m = 128, .tile_n = 16, .stages = 3, .groups = Groups::contiguous, .gathered = true};
constexpr GroupedGemmConfig scales_of_rows() {
  GroupedGemmConfig c = kNarrow;
  c.tile_n = 128;
  c.b_scale_rows = 1;
  return c;
}
TEST(GatheredSm90, scales) {
  expect_exact<kNarrow>(gathered<kNarrow>({130, 40, 1024}, {0, 20, 130}, 90));
  expect_exact<kNarrow>(gathered<kNarrow>({130, 40, 640}, {0, 20, 130}, 90));
  expect_exact<scales_of_rows()>(gathered<scales_of_rows()>({70, 40, 640}, {0, 20, 70}, 50));
}

// Rows that A does not have count as zeros and are reported in the status word; every cluster finds some of them.
TEST(GatheredSm90, rowsThatAreNotThere) {
  constexpr auto c = paired();
  GroupedProduct p = gathered<c>({500, 104, 72}, {0, 250, 500}, 99);
  p.index[0] = -1;
  p.index[77] = INT32_MIN;
  p.index[255] = 99;
  p.index[499] = INT32_MAX;
  const reference::Workload w = reference::grouped_product_workload(p, Data::integers, 3);
  for (const int clusters : {1, 3}) {
    Options o;
    o.seed = uint64_t(clusters);
    o.scheduling = Scheduling::random;
    const Outcome out = run<c>(p, w, o, clusters);
    expect_right(out, p);
  }
  ASSERT_EQ(w.also.front().array, "status");
  EXPECT_EQ(w.also.front().bytes[0], uint8_t(kIndexOutOfRange));
}

// What must not compile.
TEST(GatheredSm90, configurationsThatAreRefused) {
  const auto refused = [](auto change) {
    GroupedGemmConfig c = kSmall;
    change(c);
    return std::string(refuse(c) == nullptr ? "" : refuse(c));
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_EQ(refused([](auto& c) { c.groups = Groups::masked; }),
            "grouped_gemm: gathered rows are those of contiguous groups");
  EXPECT_EQ(refused([](auto& c) { c.cluster = 2, c.axis = ClusterAxis::n; }),
            "grouped_gemm: every CTA gathers rows of its own, a cluster lies along m");
  EXPECT_EQ(refused([](auto& c) { c.tile_m = c.group_rows = 128; }),
            "grouped_gemm: gathered rows are for 64 rows of a warpgroup");
}

TEST(GatheredSm90, mutants) {
  constexpr auto c = [] {
    GroupedGemmConfig small = kSmall;
    small.stages = 3;
    small.cluster = 2;
    return small;
  }();
  // Without scales their warp does nothing after the barrier at the start. The load role's lanes meet to publish what
  // all of them have copied.
  expect_all_reported<c>(gathered<c>({90, 40, 264}, {0, 20, 90}, 60),
                         {"drop cluster_sync by scales", "drop cluster_sync by idle", "drop sync_warp by mma",
                          "drop sync_warp by scales", "drop sync_warp by idle"},
                         25);
}

}  // namespace
}  // namespace warpwright

// The small kernels around the products of a mixture of experts: which rows each expert has, and the sum of a token's
// rows. All of it is whole numbers, so every table and every sum is compared to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "reference/moe_workload.h"
#include "simulate/run_kernel.h"
#include "warpwright/kernel/sm90/moe/combine.h"
#include "warpwright/kernel/sm90/moe/route.h"

namespace warpwright {
namespace {

using reference::Data;
using reference::Draw;
using reference::Routing;
using reference::Workload;
using simulate::Outcome;
using simulator::Options;

template <class T>
T* at(const Workload& w, const std::vector<void*>& p, const char* name) {
  return static_cast<T*>(pointer_of(w, p, name));
}

// By two warps, so that their shares of the pairs meet.
template <int IdBytes, bool Shared = false>
void expect_tables(const Routing& r, int ctas, uint64_t seed) {
  using K = kernel::sm90::Route<RouteConfig{.id_bytes = IdBytes, .warps = 2, .blocks_per_sm = 1, .shared = Shared}>;
  const Workload w = reference::route_workload(r, IdBytes, seed);
  Options o;
  o.seed = seed;
  o.scheduling = simulator::Scheduling::random;
  const Outcome out = simulate::simulate<K>(w, o, ctas, [&](RouteArgs& a, const auto& p, const auto&) {
    a = {at<void>(w, p, "ids"),
         at<float>(w, p, "weights"),
         at<uint32_t>(w, p, "token_count"),
         int32_t(r.tokens),
         int32_t(r.top_k),
         int32_t(r.experts),
         at<uint32_t>(w, p, "offsets"),
         at<int32_t>(w, p, "index"),
         at<int32_t>(w, p, "slots"),
         at<uint32_t>(w, p, "status"),
         int32_t(r.shared),
         at<float>(w, p, "shared_weights")};
    return Status();
  });
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  EXPECT_TRUE(out.verdict.ok) << out.verdict.wrong << " are wrong: " << out.verdict.other;
}

TEST(Route, anyTokensAndExperts) {
  uint64_t seed = 1;
  for (const int64_t tokens : {1, 63, 64, 65, 200}) {
    for (int64_t top_k = 1; top_k <= 8; ++top_k) {
      const int64_t experts = 1 + int64_t(seed * 7) % 40;
      for (const Draw draw : {Draw::uniform, Draw::skewed, Draw::one, Draw::bad}) {
        SCOPED_TRACE(std::to_string(tokens) + " tokens of " + std::to_string(top_k) + " of " + std::to_string(experts) +
                     " experts, draw " + std::to_string(int(draw)));
        expect_tables<4>(reference::drawn_routing(tokens, top_k, experts, draw, Data::integers, seed),
                         1 + int(seed % 3), seed);
        if (testing::Test::HasFailure()) return;
        ++seed;
      }
    }
  }
}

// In 64-bit numbers the upper halves count too.
TEST(Route, wideNumbers) {
  Routing r = reference::drawn_routing(40, 2, 5, Draw::uniform, Data::integers, 3);
  r.ids[7] = int64_t(1) << 32;
  r.ids[9] = (int64_t(1) << 40) + 3;
  r.ids[11] = std::numeric_limits<int64_t>::min();
  expect_tables<8>(r, 2, 1);
  EXPECT_EQ(reference::tables_of(r).status, uint32_t(kExpertOutOfRange));
}

TEST(Route, tokensThatAreNotThere) {
  for (const int64_t there : {0, 1, 33, 100, 101}) {
    Routing r = reference::drawn_routing(100, 3, 7, Draw::skewed, Data::integers, 4);
    r.token_count = there;
    expect_tables<4>(r, 3, 2);
    EXPECT_EQ(reference::tables_of(r).status, there > 100 ? uint32_t(kTokensOutOfRange) : 0u);
    EXPECT_EQ(reference::tables_of(r).index.size(), size_t(std::min<int64_t>(there, 100) * 3));
  }
}

// The rule itself, by hand.
TEST(Route, theTablesOfASmallRouting) {
  Routing r{3, 2, 3, {2, 0, 9, 2, 0, 2}, {1, 1, 1, 1, 1, 1}, -1};
  const reference::RoutingTables t = reference::tables_of(r);
  EXPECT_EQ(t.offsets, (std::vector<uint32_t>{0, 2, 2, 5}));
  EXPECT_EQ(t.index, (std::vector<int32_t>{0, 2, 0, 1, 2}));
  EXPECT_EQ(t.slots, (std::vector<int32_t>{2, 0, -1, 3, 1, 4}));
  EXPECT_EQ(t.status, uint32_t(kExpertOutOfRange));
}

// Some that every token takes, after the others: with or without weights.
TEST(Route, expertsForAll) {
  uint64_t seed = 1;
  for (const int64_t tokens : {1, 64, 65, 200}) {
    for (const int64_t shared : {1, 2, 5}) {
      for (const Draw draw : {Draw::skewed, Draw::bad}) {
        SCOPED_TRACE(std::to_string(tokens) + " tokens, " + std::to_string(shared) + " for all, draw " +
                     std::to_string(int(draw)));
        Routing r = reference::drawn_routing(tokens, 1 + int64_t(seed % 3), 1 + int64_t(seed * 7) % 12, draw,
                                             Data::integers, seed);
        if (draw == Draw::skewed && tokens > 1) r.token_count = tokens - int64_t(seed % 4) * tokens / 4;
        r = reference::with_shared(std::move(r), shared, seed % 4 != 0, Data::integers, seed);
        expect_tables<4, true>(r, 1 + int(seed % 3), seed);
        expect_tables<8, true>(r, 2, seed);
        if (testing::Test::HasFailure()) return;
        ++seed;
      }
    }
  }
  // The rule itself, by hand: two experts to choose from and one for all tokens, which must not be chosen.
  const Routing r{2, 2, 3, {1, 0, 2, 1}, {1, 1, 1, 1}, -1, 1, {}};
  const reference::RoutingTables t = reference::tables_of(r);
  EXPECT_EQ(t.offsets, (std::vector<uint32_t>{0, 1, 3, 5}));
  EXPECT_EQ(t.index, (std::vector<int32_t>{0, 0, 1, 0, 1}));
  EXPECT_EQ(t.slots, (std::vector<int32_t>{1, 0, 3, -1, 2, 4}));
  EXPECT_EQ(t.status, uint32_t(kExpertOutOfRange));
}

template <bool Shared = false>
void expect_sums(const Routing& r, int64_t columns, Data data, uint64_t seed) {
  using K = kernel::sm90::Combine<CombineConfig{.warps = 2, .blocks_per_sm = 1, .shared = Shared}>;
  const Workload w = reference::combine_workload(r, columns, data, seed);
  const Outcome out = simulate::simulate<K>(w, {}, 2, [&](CombineArgs& a, const auto& p, const auto&) {
    a = {at<void>(w, p, "rows"),     at<int32_t>(w, p, "slots"),
         at<float>(w, p, "weights"), at<uint32_t>(w, p, "token_count"),
         at<void>(w, p, "out"),      int32_t(r.tokens),
         int32_t(r.top_k),           int32_t(columns),
         int32_t(r.shared),          at<float>(w, p, "shared_weights")};
    return Status();
  });
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  EXPECT_TRUE(out.verdict.ok) << out.verdict.wrong << " elements are wrong, " << out.verdict.unwritten << " unwritten";
}

TEST(Combine, anyNumberOfExpertsAndColumns) {
  for (int64_t top_k = 1; top_k <= 9; ++top_k) {
    for (const int64_t columns : {8, 256, 264}) {
      for (const Draw draw : {Draw::skewed, Draw::bad}) {
        SCOPED_TRACE(std::to_string(top_k) + " experts, " + std::to_string(columns) + " columns");
        Routing r = reference::drawn_routing(7, top_k, 4, draw, Data::integers, uint64_t(top_k));
        if (draw == Draw::skewed) r.token_count = 5;
        expect_sums(r, columns, Data::integers, 1);
        expect_sums(r, columns, Data::normal, 1);
        for (const bool weights : {false, true}) {
          const Routing all = reference::with_shared(r, 1 + top_k % 3, weights, Data::integers, uint64_t(top_k));
          expect_sums<true>(all, columns, Data::integers, 1);
          expect_sums<true>(all, columns, Data::normal, 1);
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace warpwright

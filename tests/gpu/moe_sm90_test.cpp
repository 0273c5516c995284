// Gathered rows and a mixture of experts on a GPU: whole numbers to the bit, layers within rounding of float64, the
// same bits in every run, and wrong tables that touch nothing they should not.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu/grouped_sm90.h"
#include "measure/guarded_arrays.h"
#include "reference/moe_workload.h"
#include "simulate/gpu_run.h"
#include "warpwright/moe.h"

namespace warpwright::grouped_sm90 {
namespace {

using reference::Draw;

class EachGathered : public testing::TestWithParam<std::string> {};

reference::GroupedProduct gathered(const GroupedGemmConfig& c, reference::Case shape, std::vector<uint32_t> offsets,
                                   int64_t a_rows) {
  reference::GroupedProduct p{.shape = shape,
                              .type = c.type,
                              .out = c.out,
                              .groups = Groups::contiguous,
                              .rows = std::move(offsets),
                              .swiglu = c.swiglu};
  p.a_rows = a_rows;
  for (int64_t i = 0; i < shape.m; ++i) p.index.push_back(int32_t((i * 37 + 5) % a_rows));
  return p;
}

TEST_P(EachGathered, isExactOnIntegersAndRightOnRandomOperands) {
  WW_NEEDS_A_GPU();
  const GroupedGemmConfig c = *instance_named(GetParam()).as<GroupedGemmConfig>();
  for (reference::GroupedProduct p :
       {gathered(c, {470, 768, 784}, {0, 1, 1, 200, 331, 470}, 300), gathered(c, {1, 256, 64}, {0, 0, 1}, 5),
        gathered(c, {2000, 512, 2176}, {0, 130, 131, 700, 1999, 2000}, 999)}) {
    EXPECT_EQ(run_grouped(GetParam(), p, reference::Data::integers), 0u);
    EXPECT_EQ(run_grouped(GetParam(), p, reference::Data::normal), 0u);
    p.index.front() = -1;
    p.index.back() = INT32_MAX;
    EXPECT_EQ(run_grouped(GetParam(), p, reference::Data::integers), uint32_t(kIndexOutOfRange));
  }
}
INSTANTIATE_TEST_SUITE_P(gpu, EachGathered, testing::ValuesIn(names_where([](const catalog::Instance& instance) {
                           const auto* const c = instance.as<GroupedGemmConfig>();
                           return c != nullptr && c->gathered;
                         })),
                         test_name);

void expect_layer(const MoeProblem& p, Draw draw) {
  SCOPED_TRACE(std::to_string(p.tokens) + " tokens, draw " + std::to_string(int(draw)));
  constexpr auto data = reference::Data::normal;
  reference::Routing r = reference::drawn_routing(p.tokens, p.top_k, p.experts - p.shared, draw, data, 3);
  if (p.shared > 0) r = reference::with_shared(std::move(r), p.shared, p.tokens % 2 == 1, data, 3);
  const reference::Workload w = reference::moe_workload(p, r, reference::moe_operands(p, data, 3));
  simulate::Example e;
  e.name = "moe";
  e.launch = [&](const reference::Workload& made, const std::vector<void*>& arrays, void* stream) {
    return moe(p, reference::moe_pointers(made, arrays), stream);
  };
  simulate::GpuOutcome first, second;
  Status done = simulate::check_on_gpu(e, w, first);
  ASSERT_TRUE(done) << done.message();
  EXPECT_TRUE(first.verdict.ok) << first.verdict.wrong << " wrong, error " << first.verdict.max_rel_error;
  EXPECT_EQ(first.stray_bytes, 0u);
  done = simulate::check_on_gpu(e, w, second);
  ASSERT_TRUE(done) << done.message();
  EXPECT_EQ(first.output, second.output);
}

TEST(MoeSm90, layers) {
  WW_NEEDS_A_GPU();
  for (const DType type : {DType::bf16, DType::e4m3}) {
    for (const int64_t tokens : {1, 63, 64, 65, 200}) {
      for (const Draw draw : {Draw::uniform, Draw::skewed, Draw::one, Draw::bad}) {
        for (const int64_t shared : {0, 2}) {
          expect_layer({.tokens = tokens,
                        .hidden = 512,
                        .intermediate = 256,
                        .experts = 9 + shared,
                        .top_k = 1 + tokens % 8,
                        .type = type,
                        .id_bytes = tokens % 2 == 0 ? 4 : 8,
                        .shared = shared},
                       draw);
        }
      }
    }
  }
}

}  // namespace
}  // namespace warpwright::grouped_sm90

// General kernels for CDNA behind the API: whatever extents, strides, layouts, batches, nodes and types a problem has,
// D is what float64 says, whole numbers exactly; and what orders the parts of a tile is load-bearing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "choice/choose.h"
#include "reference/problem_workload.h"
#include "simulate/product.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {
namespace {

using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

Options in_mode(Landing landing, Scheduling scheduling = Scheduling::fifo, uint64_t seed = 1) {
  Options o;
  o.landing = landing;
  o.scheduling = scheduling;
  o.seed = seed;
  return o;
}

// The name of the instance that has served it.
std::string expect_right(const GemmProblem& problem, Arch arch = Arch::gfx950, reference::Offset offset = 0,
                         const Options& options = in_mode(Landing::late),
                         reference::Data data = reference::Data::integers) {
  const auto product = dense_product(problem, choice::simulated_chip(arch), offset);
  EXPECT_TRUE(product) << product.status().message();
  if (!product) return {};
  const auto w = reference::workload_of(product->problem, offset, data, 1);
  const Outcome out = run(*product, w, options, 0);
  const std::string name = catalog::name_of(product->instance());
  EXPECT_TRUE(out.sim.ok()) << name << ": " << out.sim.findings.front().text();
  EXPECT_TRUE(out.verdict.ok) << name << ": " << out.verdict.wrong << " wrong, " << out.verdict.unwritten
                              << " unwritten";
  return name;
}

GemmProblem of(int64_t m, int64_t n, int64_t k, DType type = DType::bf16) {
  GemmProblem p{.m = m, .n = n, .k = k};
  p.a.type = p.b.type = type;
  p.d.type = usual_result(type);
  return p;
}

TEST(CdnaGeneral, takes_any_extents) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    for (const DType type : {DType::bf16, DType::fp16, DType::e4m3}) {
      if (arch == Arch::gfx942 && type == DType::e4m3) continue;
      SCOPED_TRACE(fmt::format("{} {}", name(arch), name(type)));
      for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {7, 3, 5}, {129, 127, 65}, {130, 33, 333}, {3, 260, 0}}) {
        EXPECT_NE(expect_right(of(m, n, k, type), arch), "");
      }
    }
  }
}

TEST(CdnaGeneral, takes_any_address_and_stride) {
  for (const DType type : {DType::bf16, DType::e4m3}) {
    GemmProblem p = of(70, 41, 88, type);
    p.a.stride = 91;
    p.b.stride = 97;
    p.d.stride = 43;
    p.alignment = 2;
    EXPECT_NE(expect_right(p, Arch::gfx950, {3, 1}).find("by_elements"), std::string::npos);
  }
}

TEST(CdnaGeneral, takes_all_layouts_and_batches) {
  for (const DType type : {DType::bf16, DType::fp16, DType::e4m3}) {
    for (const Major a : {Major::K, Major::MN}) {
      for (const Major b : {Major::K, Major::MN}) {
        GemmProblem p = of(136, 72, 80, type);
        p.a.major = a;
        p.b.major = b;
        p.batch = 3;
        const std::string name = expect_right(p);
        EXPECT_EQ(name.find("by_elements") == std::string::npos, a == Major::K && b == Major::K) << name;
        p.b.batch_stride = 0;
        p.a.batch_stride = 136 * 80 + 16;
        expect_right(p);
      }
    }
  }
}

TEST(CdnaGeneral, has_every_node_and_type_of_the_result) {
  for (const DType out : {DType::fp32, DType::bf16, DType::fp16, DType::e4m3, DType::e5m2}) {
    for (const Activation activation : kActivations) {
      if (activation == Activation::swiglu) continue;
      for (const reference::Data data : {reference::Data::integers, reference::Data::normal}) {
        SCOPED_TRACE(fmt::format("{} {}", name(out), name(activation)));
        GemmProblem p = of(40, 52, 72);
        p.d.type = out;
        p.alpha = 0.5f;
        p.beta = 2;
        p.c.type = DType::fp16;
        p.epilogue.bias = activation == Activation::silu ? Bias::per_row : Bias::per_column;
        p.epilogue.activation = activation;
        p.epilogue.residual = true;
        p.epilogue.quantize = bits(out) == 8;
        p.batch = 2;
        expect_right(p, Arch::gfx942, 0, in_mode(Landing::late), data);
        p.n = 51;
        expect_right(p, Arch::gfx950, 0, in_mode(Landing::seeded), data);
      }
    }
  }
}

// Few tiles and much depth: as many workgroups share a tile as the chip has idle compute units.
TEST(CdnaGeneral, shares_the_depth_of_few_tiles) {
  const GemmProblem deep = of(200, 300, 8192);
  EXPECT_EQ(expect_right(deep), "gfx950/matmul-4wave-splitk16/bf16-general");
  EXPECT_EQ(expect_right(of(200, 300, 8191)), "gfx950/matmul-default-splitk16/bf16-general-by_elements");
  EXPECT_EQ(expect_right(deep, Arch::gfx942), "gfx942/matmul-default-splitk16/bf16-general");
  GemmProblem same = deep;
  same.deterministic = true;
  EXPECT_EQ(expect_right(same), "gfx950/matmul-pingpong/bf16");
  // Parts of which the last ones have no depth, and a plan that is named.
  GemmProblem named = of(130, 20, 5 * 64 + 8);
  for (const char* plan : {"matmul-4wave-splitk4", "matmul-default-splitk7", "matmul-4wave-splitk1"}) {
    named.plan = plan;
    named.batch = 2;
    named.k = 5 * 64 + (named.plan.find("default") != std::string::npos ? 9 : 8);
    EXPECT_NE(expect_right(named).find(plan), std::string::npos);
  }
}

// Each of the words that order the parts of a tile, taken away.
TEST(CdnaGeneral, every_word_between_the_parts_of_a_tile_is_needed) {
  GemmProblem p = of(64, 64, 4 * 64);
  p.plan = "matmul-4wave-splitk4";
  const auto product = dense_product(p, choice::simulated_chip(Arch::gfx950));
  ASSERT_TRUE(product) << product.status().message();
  const auto w = reference::workload_of(product->problem, 0, reference::Data::integers, 1);
  for (const auto& [word, why] : {std::pair{"release_device", "it has not released that"},
                                  {"acquire_device", "this wave has not acquired since"},
                                  {"count_arrival", "no counter has shown that it came"}}) {
    Fault f;
    f.word = word;
    f.action = Fault::Action::drop;
    Options o = in_mode(Landing::late);
    o.faults = {f};
    const Outcome out = run(*product, w, o, 0);
    ASSERT_FALSE(out.sim.ok()) << word;
    EXPECT_EQ(out.sim.findings.front().rule, "race") << word;
    EXPECT_NE(out.sim.findings.front().message.find(why), std::string::npos) << out.sim.findings.front().text();
  }
}

}  // namespace
}  // namespace warpwright::simulate

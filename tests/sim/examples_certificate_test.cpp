// Every shipped kernel: the phases of its barriers are the same in every interleaving. Where the path itself may change
// (cancelled launches, partial sums handed over through global memory) that is said, and holds for the path of the run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "sim/example_list.h"
#include "simulate/example.h"

namespace warpwright {
namespace {

TEST(ExampleCertificates, NoPhaseCanGoDifferently) {
  int proven = 0, examples = 0;
  for (const simulate::Example* const one : example_list::all()) {
    const simulate::Example& x = *one;
    // The smaller of those in which rings turn.
    const auto work = [](const reference::Case& c) { return c.m * c.n * std::max<int64_t>(c.k, 1); };
    const bool second = x.cases.size() > 1 && x.cases[1].k > 0 && work(x.cases[1]) < work(x.cases[0]);
    const reference::Workload w = x.workload(x.cases[second ? 1 : 0], reference::Data::integers, 7);
    simulator::Options o;
    o.certify = true;
    o.landing = simulator::Landing::eager;
    const auto out = x.simulate(w, o, 0);
    ASSERT_TRUE(out.ok()) << x.name;
    const simulator::Certificate& c = out.sim.certificate;
    EXPECT_TRUE(c.gaps.empty()) << x.name << ": " << c.gaps.front();
    ++examples;
    proven += c.proven();
  }
  EXPECT_GT(2 * proven, examples) << "most kernels have one path";
}

}  // namespace
}  // namespace warpwright

// The exploration modes of the simulator, one after the other.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>

#include "warpwright/sim/simulator.h"

namespace warpwright {

// Every landing with every schedule; a schedule that freezes a role, with each role.
inline void in_every_mode(const BlockPlan& plan, int seeds, const std::function<void(const simulator::Options&)>& run) {
  using simulator::Landing, simulator::Scheduling;
  for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
    simulator::Options o;
    o.landing = landing;
    run(o);
    for (o.seed = 1; o.seed <= uint64_t(seeds); ++o.seed) {
      for (Scheduling scheduling : {Scheduling::random, Scheduling::pct}) {
        o.scheduling = scheduling;
        run(o);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    o.scheduling = Scheduling::freeze;
    for (int r = 0; r < plan.role_count; ++r) {
      o.frozen_role = plan.roles[r].name;
      run(o);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace warpwright

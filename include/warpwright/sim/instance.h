// A kernel with one configuration, compiled for the simulator: what runs there without knowing its types.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "warpwright/core/address.h"
#include "warpwright/core/call_site.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulator {

struct Instance {
  const BlockPlan* plan = nullptr;
  size_t argument_bytes = 0;
  void (*body)(const void* arguments) = nullptr;
  CallSites sites;
};

template <class K>
constexpr Instance instance_of() {
  return {&K::plan, sizeof(typename K::Args),
          [](const void* arguments) { K::body(*static_cast<const typename K::Args*>(arguments)); }, WW_CALL_SITES_HERE};
}

inline Result run_instance(const Instance& instance, const void* arguments, Index3 grid, std::vector<Buffer> buffers,
                           const Options& options) {
  const Launch launch{instance.plan, grid, uint32_t(instance.plan->threads()), instance.plan->shared_bytes,
                      std::move(buffers)};
  return run(launch, options, [&] { instance.body(arguments); });
}

}  // namespace warpwright::simulator

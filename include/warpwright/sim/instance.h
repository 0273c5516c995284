// A kernel with one configuration, compiled for the simulator: what runs there without knowing its types.
#pragma once
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "warpwright/core/address.h"
#include "warpwright/core/call_site.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulator {

// What run() does for kernels whose plan is written for threads, and for the waves of CDNA.
Result run_threads(const Launch&, const Options&, const std::function<void()>& body);
Result run_waves(const Launch&, const Options&, const std::function<void()>& body);

struct Instance {
  const BlockPlan* plan = nullptr;
  size_t argument_bytes = 0;
  void (*body)(const void* arguments) = nullptr;
  CallSites sites;
  // The engine of its architecture: a program whose kernels need one of them is not linked with the other.
  Result (*run)(const Launch&, const Options&, const std::function<void()>& body) = nullptr;
};

template <class K>
constexpr Instance instance_of() {
  return {&K::plan, sizeof(typename K::Args),
          [](const void* arguments) { K::body(*static_cast<const typename K::Args*>(arguments)); }, WW_CALL_SITES_HERE,
          is_cdna(K::plan.arch) ? run_waves : run_threads};
}

inline Result run_instance(const Instance& instance, const void* arguments, Index3 grid, std::vector<Buffer> buffers,
                           const Options& options) {
  const Launch launch{instance.plan, grid, uint32_t(instance.plan->threads()), instance.plan->shared_bytes,
                      std::move(buffers)};
  return instance.run(launch, options, [&] { instance.body(arguments); });
}

}  // namespace warpwright::simulator

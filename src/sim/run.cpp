// A launch, run by the engine of its architecture.
#include <functional>

#include "warpwright/sim/instance.h"

namespace warpwright::simulator {

Result run(const Launch& launch, const Options& options, const std::function<void()>& body) {
  return (is_cdna(launch.plan->arch) ? run_waves : run_threads)(launch, options, body);
}

}  // namespace warpwright::simulator

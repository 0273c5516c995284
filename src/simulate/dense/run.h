// A dense product by an instance that is known, in a program that may have no choice, no catalogue and no compiler.
#pragma once
#include <utility>

#include "reference/workload.h"
#include "simulate/memory.h"
#include "simulate/product.h"
#include "warpwright/sim/instance.h"

namespace warpwright::simulate {

// Where the code of an instance comes from; what it does not have it throws.
using CompiledOf = const simulator::Instance* (*)(const catalog::Instance&);

// As run() of product.h.
Outcome run(const DenseProduct& product, CompiledOf compiled_of, const reference::Workload& workload,
            const simulator::Options& options, int sm_limit);

// What both kinds of products do with a launch.
Outcome judged(const reference::Workload& w, simulator::Result result, const Arrays& arrays);
bool is_behind(reference::Condition condition);
void add_up(simulator::Result& result, const simulator::Result& before);

// Once, or twice with the workspace as the first launch has left it.
template <class Launch>
simulator::Result launch_as(const reference::Workload& w, const Launch& launch, Arrays& arrays) {
  simulator::Result result = launch();
  if (w.shape.condition == reference::Condition::again && result.ok()) {
    arrays.forget_output(w);
    const simulator::Result first = std::exchange(result, launch());
    add_up(result, first);
  }
  return result;
}

}  // namespace warpwright::simulate

// Examples of kernels that are not part of the API: their arguments are filled from the arrays of a workload, for the
// simulator and for the GPU by the same function
//
//   fill(Args&, const std::vector<void*>& arrays, const launch::MapEncoder&) -> Status
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "gpu/tensor_map.h"
#include "launch/tensor_map.h"
#include "simulate/example.h"
#include "simulate/executor.h"
#include "simulate/memory.h"
#include "warpwright/status.h"

namespace warpwright::simulate {

// One run and its verdict. Compiles the instance, if nobody has yet. Throws std::runtime_error if it cannot.
Outcome run_arguments(const catalog::Instance& instance, const void* arguments, size_t argument_bytes, int ctas,
                      const reference::Workload& w, const Arrays& arrays, const simulator::Options& options);
// Puts it on the current GPU, whose clusters share `work` pieces.
Status launch_arguments(const catalog::Instance& instance, const void* arguments, int64_t work, void* stream);

template <class Args, class Fill>
Outcome run_filled(const catalog::Instance& instance, const reference::Workload& w, const simulator::Options& options,
                   int ctas, const Fill& fill) {
  const Arrays arrays(w);
  Args args;
  if (const Status s = fill(args, arrays.pointers(), map_encoder()); !s) throw std::runtime_error(s.message());
  return run_arguments(instance, &args, sizeof args, ctas, w, arrays, options);
}
// `work_of(args)`: pieces of work.
template <class Args, class Fill, class WorkOf>
Status launch_filled(const catalog::Instance& instance, const std::vector<void*>& arrays, void* stream,
                     const Fill& fill, const WorkOf& work_of) {
  Args args;
  if (Status s = fill(args, arrays, gpu::map_encoder()); !s) return s;
  return launch_arguments(instance, &args, work_of(args), stream);
}

}  // namespace warpwright::simulate

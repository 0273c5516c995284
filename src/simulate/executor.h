// Instances in the simulator: those compiled into this program, or compiled now by the host's compiler and kept.
#pragma once
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catalog/instance.h"
#include "launch/tensor_map.h"
#include "warpwright/sim/instance.h"
#include "warpwright/status.h"

namespace warpwright::simulate {

// A run that cannot begin: the instance cannot be compiled here.
struct NotReady : std::runtime_error {
  explicit NotReady(Status why) : std::runtime_error(why.message()), status(std::move(why)) {}
  Status status;
};

// Ready to run, for as long as the process lives. Missing: it was not compiled into this program and there is no
// compiler here. `compiling` is called when it has to be compiled, with its name.
Result<const simulator::Instance*> ready(const catalog::Instance& instance);
// Called when a compiler starts to work, so that the tool can say so. Not called for instances in the cache.
void on_compile(std::function<void(const std::string& name)> listener);

// Tensor maps of the simulated TMA.
const launch::MapEncoder& map_encoder();

// The instances in this program: what `demo` shows (simulate/dense/shown.h), and what the build adds.
struct BuiltIn {
  const char* name;
  const simulator::Instance* (*instance)();
};
const std::vector<BuiltIn>& built_in();
// The build writes this table (cmake/images.cmake).
std::span<const BuiltIn> added_to_build();
// Whether it is one of them, and they are wanted: a caller that names other headers wants their kernels.
bool is_built_in(const catalog::Instance& instance);

}  // namespace warpwright::simulate

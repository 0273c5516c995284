#include "simulate/run.h"

#include <fmt/format.h>

#include "gpu/executor.h"
#include "warpwright/sim/instance.h"

namespace warpwright::simulate {

Outcome run_arguments(const catalog::Instance& instance, const void* arguments, size_t argument_bytes, int ctas,
                      const reference::Workload& w, const Arrays& arrays, const simulator::Options& options) {
  const auto compiled = ready(instance);
  if (!compiled) throw NotReady(compiled.status());
  if ((*compiled)->argument_bytes != argument_bytes) {
    throw std::runtime_error(fmt::format("{} takes {} bytes of arguments, not {}.", catalog::name_of(instance),
                                         (*compiled)->argument_bytes, argument_bytes));
  }
  Outcome out;
  out.sim = simulator::run_instance(**compiled, arguments, {uint32_t(ctas), 1, 1}, arrays.buffers(), options);
  out.output = arrays.output();
  out.verdict = judge(w, out.output);
  if (out.sim.ok()) judge_others(w, arrays.contents(), out.verdict);
  return out;
}

Status launch_arguments(const catalog::Instance& instance, const void* arguments, int64_t work, void* stream) {
  const auto device = gpu::this_device();
  if (!device) return device.status();
  const auto loaded = gpu::ready(instance, device->number);
  if (!loaded) return loaded.status();
  return gpu::launch(**loaded, arguments, work, stream);
}

}  // namespace warpwright::simulate

// Modules, kernels and launches: what the recorder of HIP judges and keeps.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/hip_recorder/world.h"

using namespace hip_recorder;

WW_HIP_ENTRY hipModuleLoadData(abi::Module* module, const void* image) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(module == nullptr, no_place);
  WW_HIP_REFUSE(image == nullptr, no_image);
  const size_t bytes = extent_of(image);
  CodeObject object;
  Verdict verdict =
      bytes == 0 ? refused(Rule::no_elf) : read_code_object({static_cast<const uint8_t*>(image), bytes}, object);
  if (!verdict && !object.runs_on(world.chips[size_t(current_device)])) verdict = refused(Rule::other_chip);
  if (!verdict) {
    *module = world.new_handle<abi::Module>();
    world.modules[*module] = {std::make_shared<const CodeObject>(std::move(object)), current_device};
  }
  return world.answer({{"call", "load"}, {"bytes", bytes}}, verdict, verdict ? verdict->code : 0);
}

WW_HIP_ENTRY hipModuleUnload(abi::Module module) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(world.modules.erase(module) == 0, no_module);
  return 0;
}

WW_HIP_ENTRY hipModuleGetFunction(abi::Function* function, abi::Module module, const char* name) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(function == nullptr, no_place);
  WW_HIP_REFUSE(name == nullptr || *name == '\0', no_name);
  const auto found = world.modules.find(module);
  WW_HIP_REFUSE(found == world.modules.end(), no_module);
  const Kernel* const kernel = found->second.object->find(name);
  WW_HIP_REFUSE(kernel == nullptr, no_symbol);
  *function = world.new_handle<abi::Function>();
  world.functions[*function] = {found->second, kernel};
  return world.answer({{"call", "kernel"}, {"name", name}}, {}, 0);
}

WW_HIP_ENTRY hipFuncGetAttribute(int* value, int attribute, abi::Function function) {
  WW_HIP_WORLD;
  WW_HIP_REFUSE(value == nullptr, no_place);
  const auto found = world.functions.find(function);
  WW_HIP_REFUSE(found == world.functions.end(), no_function);
  const Kernel& kernel = *found->second.kernel;
  WW_HIP_REFUSE(attribute != abi::kFunctionMaxThreads && attribute != abi::kFunctionSharedBytes, no_attribute);
  *value = int(attribute == abi::kFunctionMaxThreads ? kernel.most_threads : kernel.lds_bytes);
  return 0;
}

WW_HIP_ENTRY hipModuleLaunchKernel(abi::Function handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   abi::Stream stream, void** parameters, void** extra) {
  WW_HIP_WORLD;
  const auto found = world.functions.find(handle);
  WW_HIP_REFUSE(found == world.functions.end(), no_function);
  WW_HIP_REFUSE(!world.has(stream), no_stream);
  const Function& function = found->second;
  WW_HIP_REFUSE(function.module.device != current_device, other_device);
  const Launch launch{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, parameters, extra};
  const Verdict verdict = judge(launch, *function.kernel, world.chips[size_t(current_device)]);
  nlohmann::json line = {{"call", "launch"},
                         {"kernel", function.kernel->name},
                         {"target", function.module.object->target},
                         {"device", current_device},
                         {"grid", launch.grid},
                         {"block", launch.block},
                         // The kernel's own and what the launch adds: all that a workgroup has.
                         {"shared_bytes", function.kernel->lds_bytes + shared_bytes},
                         {"attributes", nlohmann::json::array()},
                         {"captured", false}};
  if (!verdict) {
    std::vector<uint8_t> bytes = arguments_of(launch, *function.kernel);
    nlohmann::json addresses = world.take_addresses(bytes);
    line["arguments"] = {
        {"bytes", recorder::hex(bytes)}, {"maps", nlohmann::json::array()}, {"addresses", std::move(addresses)}};
  }
  return world.answer(std::move(line), verdict, verdict ? verdict->code : 0);
}

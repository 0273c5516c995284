// Images, kernels, tensor maps and launches: what the recorder judges and keeps.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/recorder/entry.h"

namespace recorder {
namespace {

Verdict judge_image(const World& world, const Image* image, bool ptx) {
  // Text is compiled when a kernel is asked for.
  if (image == nullptr && ptx) return {};
  if (image == nullptr) return Refusal{kInvalidImage, "it is neither a cubin nor PTX"};
  const bool runs = std::any_of(world.chips.begin(), world.chips.end(),
                                [&](const Chip& chip) { return image->runs_on(chip.major, chip.minor); });
  if (!runs) return Refusal{kNoBinary, "the image is for other chips"};
  return {};
}

// A map of a pretended device: which encoding, which address.
std::array<uint64_t, 16> invented(const Encoding& e) {
  static std::vector<Encoding> known;
  const auto same = [&](const Encoding& o) {
    return o.type == e.type && o.rank == e.rank && o.dims == e.dims && o.strides == e.strides && o.box == e.box &&
           o.element_strides == e.element_strides && o.interleave == e.interleave && o.swizzle == e.swizzle &&
           o.l2_promotion == e.l2_promotion && o.fill == e.fill;
  };
  auto found = std::find_if(known.begin(), known.end(), same);
  if (found == known.end()) found = known.insert(known.end(), e);
  constexpr uint64_t mark = 0x70616d20726f736e;
  return {mark, uint64_t(found - known.begin()), uint64_t(reinterpret_cast<uintptr_t>(e.address)), mark};
}

Launch launch_of(const abi::LaunchConfig& config, bool arguments, bool extra) {
  Launch launch;
  std::copy_n(config.grid, 3, launch.grid);
  std::copy_n(config.block, 3, launch.block);
  launch.shared_bytes = config.shared_bytes;
  if (config.attributes != nullptr) {
    launch.attributes.assign(config.attributes, config.attributes + config.attribute_count);
  }
  launch.arguments = arguments;
  launch.extra = extra;
  return launch;
}

nlohmann::json text_of(const std::vector<abi::LaunchAttribute>& attributes) {
  nlohmann::json list = nlohmann::json::array();
  for (const abi::LaunchAttribute& a : attributes) {
    nlohmann::json one = {{"id", a.id}};
    if (a.id == abi::kLaunchClusterDimension) {
      one["value"] = {a.value.cluster.x, a.value.cluster.y, a.value.cluster.z};
    } else if (a.id == abi::kLaunchProgrammaticStreamSerialization) {
      one["value"] = a.value.programmatic_stream_serialization;
    }
    list.push_back(std::move(one));
  }
  return list;
}

Verdict judge_launch(World& world, const abi::LaunchConfig* config, LoadedKernel* kernel, void** arguments,
                     void** extra) {
  if (config == nullptr) return Refusal{kInvalidValue, "no configuration"};
  if (kernel == nullptr) return Refusal{kInvalidHandle, "no such kernel"};
  if (config->attribute_count > 0 && config->attributes == nullptr) return Refusal{kInvalidValue, "no attributes"};
  const auto device = world.device();
  if (!device) return Refusal{abi::kErrorInvalidContext, "no context"};
  return judge(launch_of(*config, arguments != nullptr, extra != nullptr), world.state(*kernel, *device),
               world.chips[size_t(*device)]);
}

LoadedKernel* find(World& world, abi::KernelHandle handle) {
  const auto found = world.kernels.find(handle);
  return found == world.kernels.end() ? nullptr : &found->second;
}

}  // namespace

WW_ENTRY cuLibraryLoadData(abi::Library* library, const void* data, int* options, void** values, unsigned count,
                           int* library_options, void** library_values, unsigned library_count) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  if (library == nullptr || data == nullptr) return kInvalidValue;
  const auto bytes = extent_of(data);
  const bool ptx = bytes.empty() || bytes[0] != 0x7f;
  auto read = read_image(bytes);
  Verdict verdict = judge_image(world, read ? &*read : nullptr, ptx);
  // A capture does not forbid it, on a GPU of ours; cuda.h does not say.
  int answer = verdict ? verdict->code : 0;
  if (world.below) {
    answer = world.below->library_load(library, data, options, values, count, library_options, library_values,
                                       library_count);
  } else if (answer == 0) {
    *library = world.new_handle<abi::Library>();
  }
  if (answer == 0 && read) world.libraries[*library] = std::make_shared<const Image>(std::move(*read));
  return world.answer({{"call", "load"}, {"bytes", bytes.size()}}, verdict, answer);
}

WW_ENTRY cuLibraryUnload(abi::Library library) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  const bool known = world.libraries.erase(library) > 0;
  if (world.below) return world.below->library_unload(library);
  return known ? 0 : kInvalidHandle;
}

WW_ENTRY cuLibraryGetKernel(abi::KernelHandle* kernel, abi::Library library, const char* name) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  if (kernel == nullptr || name == nullptr) return kInvalidValue;
  const auto found = world.libraries.find(library);
  Verdict verdict;
  if (found == world.libraries.end()) {
    verdict = Refusal{kInvalidHandle, "no such library"};
  } else if (found->second->find(name) == nullptr) {
    verdict = Refusal{kNotFound, "the image has no such kernel"};
  }
  int answer = verdict ? verdict->code : 0;
  if (world.below) {
    answer = world.below->library_kernel(kernel, library, name);
  } else if (answer == 0) {
    *kernel = world.new_handle<abi::KernelHandle>();
  }
  if (answer == 0 && !verdict) world.kernels[*kernel] = {found->second, found->second->find(name), {}};
  return world.answer({{"call", "kernel"}, {"name", name}}, verdict, answer);
}

WW_ENTRY cuKernelSetAttribute(int attribute, int value, abi::KernelHandle kernel, abi::Device device) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  LoadedKernel* const known = find(world, kernel);
  Verdict verdict;
  if (known == nullptr) {
    verdict = Refusal{kInvalidHandle, "no such kernel"};
  } else if (device < 0 || size_t(device) >= world.chips.size()) {
    verdict = Refusal{kInvalidDevice, "no such device"};
  } else {
    verdict = judge_attribute(world.state(*known, device), world.chips[size_t(device)], attribute, value);
  }
  int answer = verdict ? verdict->code : 0;
  if (world.below) answer = world.below->kernel_attribute(attribute, value, kernel, device);
  if (answer == 0 && !verdict) {
    KernelState& state = world.state(*known, device);
    if (attribute == abi::kFunctionMaxDynamicSharedBytes) state.dynamic_shared = value;
    if (attribute == abi::kFunctionNonPortableClusterSize) state.any_cluster = value != 0;
  }
  return world.answer({{"call", "attribute"}, {"id", attribute}, {"value", value}}, verdict, answer);
}

WW_ENTRY cuLaunchKernelEx(const abi::LaunchConfig* config, abi::KernelHandle handle, void** arguments, void** extra) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  LoadedKernel* const kernel = find(world, handle);
  const Verdict verdict = judge_launch(world, config, kernel, arguments, extra);
  int answer = verdict ? verdict->code : 0;
  if (world.below) answer = world.below->launch(config, handle, arguments, extra);
  if (config == nullptr || kernel == nullptr) return world.answer({{"call", "launch"}}, verdict, answer);
  const Launch launch = launch_of(*config, arguments != nullptr, extra != nullptr);
  nlohmann::json line = {{"call", "launch"},
                         {"kernel", kernel->kernel->name},
                         {"target", kernel->image->target},
                         {"grid", config->grid},
                         {"block", config->block},
                         {"shared_bytes", config->shared_bytes},
                         {"attributes", text_of(launch.attributes)}};
  if (const auto device = world.device()) line["device"] = *device;
  if (!verdict) line["arguments"] = world.arguments(*kernel->kernel, arguments);
  const auto capture = world.captures.find(config->stream);
  line["captured"] = capture != world.captures.end();
  const size_t number = world.numbers.try_emplace(handle, world.numbers.size()).first->second;
  line["number"] = number;
  if (answer == 0 && !world.times.empty() && capture == world.captures.end()) {
    world.clock_us += world.times[number % world.times.size()];
  }
  if (answer == 0 && capture != world.captures.end()) ++capture->second.launches;
  return world.answer(std::move(line), verdict, answer);
}

WW_ENTRY cuOccupancyMaxActiveClusters(int* count, abi::KernelHandle handle, const abi::LaunchConfig* config) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  LoadedKernel* const kernel = find(world, handle);
  const auto device = world.device();
  int own = 0;
  Verdict verdict;
  if (count == nullptr || config == nullptr) {
    verdict = Refusal{kInvalidValue, "no configuration"};
  } else if (kernel == nullptr) {
    verdict = Refusal{kInvalidHandle, "no such kernel"};
  } else if (!device) {
    verdict = Refusal{abi::kErrorInvalidContext, "no context"};
  } else {
    const Chip& chip = world.chips[size_t(*device)];
    const KernelState& state = world.state(*kernel, *device);
    const Launch launch = launch_of(*config, true, false);
    if (!chip.has_clusters()) verdict = Refusal{kNotSupported, "the chip has no clusters"};
    if (cluster_of(launch) > unsigned(state.any_cluster ? kLargestCluster : kPortableCluster)) {
      verdict = Refusal{kInvalidCluster, "the cluster has more CTAs than the kernel allows"};
    }
    own = resident_clusters(state, chip, launch);
  }
  int answer = verdict ? verdict->code : 0;
  if (world.below) {
    answer = world.below->resident_clusters(count, handle, config);
  } else if (answer == 0) {
    *count = own;
  }
  return world.answer({{"call", "resident_clusters"}, {"count", own}}, verdict, answer);
}

WW_ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, abi::KernelHandle handle, int threads, size_t shared) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  LoadedKernel* const kernel = find(world, handle);
  const auto device = world.device();
  Verdict verdict;
  int own = 0;
  if (count == nullptr || threads <= 0) {
    verdict = Refusal{kInvalidValue, "no threads"};
  } else if (kernel == nullptr) {
    verdict = Refusal{kInvalidHandle, "no such kernel"};
  } else if (!device) {
    verdict = Refusal{abi::kErrorInvalidContext, "no context"};
  } else {
    own = resident_blocks(world.state(*kernel, *device), world.chips[size_t(*device)], unsigned(threads), shared);
  }
  int answer = verdict ? verdict->code : 0;
  if (world.below) {
    answer = world.below->resident_blocks(count, handle, threads, shared);
  } else if (answer == 0) {
    *count = own;
  }
  return world.answer({{"call", "resident_blocks"}, {"count", own}}, verdict, answer);
}

WW_ENTRY cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address, const uint64_t* dims,
                                const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                                int interleave, int swizzle, int l2_promotion, int fill) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  Encoding e{map, type, rank, address, {}, {}, {}, {}, interleave, swizzle, l2_promotion, fill};
  Verdict verdict;
  if (dims == nullptr || box == nullptr || element_strides == nullptr || (strides == nullptr && rank > 1)) {
    verdict = Refusal{kInvalidValue, "a list of extents is missing"};
  } else {
    const size_t known = std::min<size_t>(rank, 5);
    std::copy_n(dims, known, e.dims.begin());
    if (known > 1) std::copy_n(strides, known - 1, e.strides.begin());
    std::copy_n(box, known, e.box.begin());
    std::copy_n(element_strides, known, e.element_strides.begin());
    verdict = judge(e);
  }
  const auto device = world.device();
  if (!verdict && device && !world.chips[size_t(*device)].has_tensor_maps()) {
    verdict = Refusal{kNotSupported, "the chip has no tensor maps"};
  }
  constexpr int usual_swizzles = 4;
  if (!verdict && device && world.chips[size_t(*device)].major < 10 && swizzle >= usual_swizzles) {
    verdict = Refusal{kInvalidValue, "the chip has no such swizzle"};
  }
  int answer = verdict ? verdict->code : 0;
  if (world.below) {
    answer = world.below->encode_tiled(map, type, rank, address, dims, strides, box, element_strides, interleave,
                                       swizzle, l2_promotion, fill);
  } else if (answer == 0) {
    const auto content = invented(e);
    std::memcpy(map, content.data(), sizeof content);
  }
  if (answer == 0) {
    std::array<uint64_t, 16> content;
    std::memcpy(content.data(), map, sizeof content);
    world.maps[content] = e;
  }
  nlohmann::json line = world.text(e);
  line["call"] = "encode";
  return world.answer(std::move(line), verdict, answer);
}

WW_ENTRY cuTensorMapReplaceAddress(void* map, void* address) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  std::array<uint64_t, 16> content = {};
  if (map != nullptr) std::memcpy(content.data(), map, sizeof content);
  const auto known = world.maps.find(content);
  Verdict verdict;
  if (known == world.maps.end()) {
    verdict = Refusal{kInvalidValue, "it is not a tensor map"};
  } else {
    verdict = judge_address(known->second, map, address);
  }
  int answer = verdict ? verdict->code : 0;
  Encoding e = known == world.maps.end() ? Encoding{} : known->second;
  e.address = address;
  if (world.below) {
    answer = world.below->replace_address(map, address);
  } else if (answer == 0) {
    content = invented(e);
    std::memcpy(map, content.data(), sizeof content);
  }
  if (answer == 0 && known != world.maps.end()) {
    std::memcpy(content.data(), map, sizeof content);
    world.maps[content] = e;
  }
  return world.answer({{"call", "replace_address"}}, verdict, answer);
}

}  // namespace recorder

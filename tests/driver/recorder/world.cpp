#include "driver/recorder/world.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <type_traits>
#include <utility>

namespace recorder {

World& World::get() {
  static World& world = *new World;
  return world;
}

World::World() {
  if (const char* const library = variable("BELOW")) {
    open_below(library);
    return;
  }
  const char* const devices = variable("DEVICES");
  std::stringstream names(devices == nullptr ? "sm_90" : devices);
  for (std::string name; std::getline(names, name, ',');) {
    const auto chip = chip_named(name);
    if (!chip) stop("WARPWRIGHT_RECORDER_DEVICES has " + name + ", which is none of the devices in chip.cpp.");
    chips.push_back(*chip);
  }
  const char* const given = variable("TIMES");
  std::stringstream numbers(given == nullptr ? "" : given);
  for (std::string number; std::getline(numbers, number, ',');) times.push_back(std::stod(number));
}

void World::open_below(const char* library) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) stop(std::string("WARPWRIGHT_RECORDER_BELOW = ") + library + ": it cannot be opened.");
  below.emplace();
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, symbol));
    if (function == nullptr) stop(std::string(library) + " has no " + symbol + ".");
  };
#define WW_FIND(name, symbol, signature) find(below->name, #symbol);
  WW_DRIVER_FUNCTIONS(WW_FIND)
#undef WW_FIND
  int count = 0;
  if (below->init(0) != 0 || below->device_count(&count) != 0) stop(std::string(library) + " does not start.");
  for (int i = 0; i < count; ++i) {
    const auto attribute = [&](int which) {
      int value = 0;
      (void)below->device_attribute(&value, which, i);
      return value;
    };
    char name[256] = {};
    size_t memory = 0;
    (void)below->device_name(name, int(sizeof name), i);
    (void)below->device_memory(&memory, i);
    chips.push_back({name, attribute(abi::kComputeCapabilityMajor), attribute(abi::kComputeCapabilityMinor),
                     attribute(abi::kMultiprocessorCount), attribute(abi::kMaxSharedMemoryPerBlockOptin),
                     attribute(kSharedPerMultiprocessor), attribute(abi::kL2CacheSize),
                     attribute(kThreadsPerMultiprocessor), attribute(kBlocksPerMultiprocessor), memory});
  }
}

std::optional<int> World::device() const {
  if (!below) return current_device < 0 ? std::nullopt : std::optional(current_device);
  abi::Device device = 0;
  return below->context_device(&device) == 0 ? std::optional(int(device)) : std::nullopt;
}

bool World::breaks_capture() {
  if (capture_mode == abi::kCaptureModeRelaxed) return false;
  bool any = false;
  for (auto& [stream, capture] : captures) {
    const bool own = capture.by == std::this_thread::get_id();
    const bool forbids = own ? capture.mode != abi::kCaptureModeRelaxed
                             : capture.mode == kCaptureModeGlobal && capture_mode == kCaptureModeGlobal;
    capture.broken = capture.broken || forbids;
    any = any || forbids;
  }
  return any;
}

nlohmann::json World::text(const Encoding& e) {
  const size_t rank = std::min<size_t>(e.rank, 5);
  const auto first = [](const auto& list, size_t count) {
    return nlohmann::json(std::vector(list.begin(), list.begin() + std::ptrdiff_t(count)));
  };
  return {{"type", e.type},
          {"rank", e.rank},
          {"address", place(abi::Pointer(e.address))},
          {"dims", first(e.dims, rank)},
          {"strides", first(e.strides, rank == 0 ? 0 : rank - 1)},
          {"box", first(e.box, rank)},
          {"element_strides", first(e.element_strides, rank)},
          {"interleave", e.interleave},
          {"swizzle", e.swizzle},
          {"l2_promotion", e.l2_promotion},
          {"fill", e.fill}};
}

nlohmann::json World::arguments(const Kernel& kernel, void** arguments) {
  std::vector<uint8_t> bytes(kernel.parameter_bytes());
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    std::memcpy(bytes.data() + kernel.parameters[i].offset, arguments[i], kernel.parameters[i].bytes);
  }
  nlohmann::json found = nlohmann::json::array();
  const auto clear = [&](size_t at, size_t count) { std::fill_n(bytes.begin() + std::ptrdiff_t(at), count, 0); };
  for (size_t at = 0; at + sizeof(warpwright::TensorMap) <= bytes.size(); at += alignof(warpwright::TensorMap)) {
    std::array<uint64_t, 16> content;
    std::memcpy(content.data(), bytes.data() + at, sizeof content);
    const auto map = maps.find(content);
    if (map == maps.end()) continue;
    nlohmann::json one = text(map->second);
    one["at"] = at;
    found.push_back(std::move(one));
    clear(at, sizeof content);
  }
  nlohmann::json addresses = take_addresses(bytes);
  return {{"bytes", hex(bytes)}, {"maps", std::move(found)}, {"addresses", std::move(addresses)}};
}

}  // namespace recorder

// What the recorder knows: devices, memory, images, kernels and tensor maps, and the log. One for the process.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "driver/recorder/rules.h"
#include "warpwright/core/address.h"

namespace recorder {

// Device memory. Of a pretended device it is memory of the host, so that copies and fills can be done.
struct Buffer {
  int number = 0;  // in the order of allocation
  size_t bytes = 0;
  std::unique_ptr<uint8_t, void (*)(void*)> host{nullptr, nullptr};
};

struct LoadedKernel {
  std::shared_ptr<const Image> image;
  const Kernel* kernel = nullptr;
  std::map<int, KernelState> on;  // by device
};

class World {
 public:
  // Made by the first call. WARPWRIGHT_RECORDER_DEVICES: the pretended devices, "sm_90" by default, with commas between
  // them. WARPWRIGHT_RECORDER_BELOW: a driver that answers every call in their place. WARPWRIGHT_RECORDER_LOG: the file
  // of the log.
  static World& get();

  std::recursive_mutex mutex;
  std::optional<abi::Functions> below;
  std::vector<Chip> chips;
  std::map<abi::Pointer, Buffer> buffers;
  std::map<abi::Library, std::shared_ptr<const Image>> libraries;
  std::map<abi::KernelHandle, LoadedKernel> kernels;
  std::map<std::array<uint64_t, 16>, Encoding> maps;  // by their content
  std::map<abi::Stream, int> captures;                // launches so far, where a stream is captured
  std::map<abi::Graph, int> graphs;                   // launches

  // The device of the calling thread.
  std::optional<int> device() const;
  KernelState& state(LoadedKernel& kernel, int device) {
    KernelState& s = kernel.on[device];
    s.kernel = kernel.kernel;
    s.image = kernel.image.get();
    return s;
  }

  // An allocation that holds all of it.
  std::map<abi::Pointer, Buffer>::iterator holding(abi::Pointer at, size_t bytes);
  void add_buffer(abi::Pointer at, Buffer buffer);
  // A number that no other handle has.
  template <class Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(uintptr_t(0x10000) + 16 * ++handles_);
  }

  // {"buffer": 3, "offset": 16}; null where the address lies in none.
  nlohmann::json place(abi::Pointer address);
  nlohmann::json text(const Encoding& encoding);
  // What a launch is given: bytes, with zeros where tensor maps and addresses are, and these apart.
  nlohmann::json arguments(const Kernel& kernel, void** arguments);

  // Adds what was answered and what the rules say of it, and returns the answer.
  int answer(nlohmann::json call, const Verdict& verdict, int answered);
  void write(const nlohmann::json& line);

 private:
  World();
  void open_below(const char* library);

  std::FILE* log_ = nullptr;
  uintptr_t handles_ = 0;
  int buffer_count_ = 0;
};

// The device whose context is current on the calling thread of a machine that is pretended; -1: none.
inline thread_local int current_device = -1;

}  // namespace recorder

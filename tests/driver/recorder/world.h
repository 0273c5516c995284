// What the recorder of the NVIDIA driver knows beside its ledger: devices, images, kernels and tensor maps. One for the
// process.
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
#include <thread>
#include <vector>

#include "driver/recorder/ledger.h"
#include "driver/recorder/rules.h"
#include "warpwright/core/address.h"

namespace recorder {

struct LoadedKernel {
  std::shared_ptr<const Image> image;
  const Kernel* kernel = nullptr;
  std::map<int, KernelState> on;  // by device
};

// A stream that is captured.
struct Capture {
  int mode = kCaptureModeGlobal;
  std::thread::id by;
  int launches = 0;     // so far
  bool broken = false;  // by a call that it forbids: there will be no graph
};

class World : public Ledger {
 public:
  // Made by the first call. WARPWRIGHT_RECORDER_DEVICES: the pretended devices, "sm_90" by default, with commas between
  // them. WARPWRIGHT_RECORDER_TIMES: microseconds of the kernels, in the order of their first launch, over and over.
  // WARPWRIGHT_RECORDER_BELOW: a driver that answers every call in their place. WARPWRIGHT_RECORDER_LOG: the file
  // of the log.
  static World& get();

  std::optional<abi::Functions> below;
  std::vector<Chip> chips;
  std::map<abi::Library, std::shared_ptr<const Image>> libraries;
  std::map<abi::KernelHandle, LoadedKernel> kernels;
  std::map<std::array<uint64_t, 16>, Encoding> maps;  // by their content
  std::map<abi::Stream, Capture> captures;
  std::map<abi::Graph, int> graphs;             // launches
  std::map<abi::KernelHandle, size_t> numbers;  // in the order of their first launch
  std::vector<double> times;                    // microseconds of the kernels by number; none: nothing takes time
  double clock_us = 0;                          // of all launches so far
  std::map<abi::Event, double> events;          // when they were recorded

  // The device of the calling thread.
  std::optional<int> device() const;
  KernelState& state(LoadedKernel& kernel, int device) {
    KernelState& s = kernel.on[device];
    s.kernel = kernel.kernel;
    s.image = kernel.image.get();
    return s;
  }

  // Whether a capture forbids the calling thread what is no work of a stream, such as taking memory. It is broken then.
  bool breaks_capture();

  nlohmann::json text(const Encoding& encoding);
  // What a launch is given: bytes, with zeros where tensor maps and addresses are, and these apart.
  nlohmann::json arguments(const Kernel& kernel, void** arguments);

 private:
  World();
  void open_below(const char* library);
};

// The device whose context is current on the calling thread of a machine that is pretended; -1: none.
inline thread_local int current_device = -1;
// How the calling thread takes captures (cuThreadExchangeStreamCaptureMode).
inline thread_local int capture_mode = kCaptureModeGlobal;

}  // namespace recorder

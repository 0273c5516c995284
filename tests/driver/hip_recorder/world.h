// What the recorder of HIP knows beside its ledger: devices, modules, kernels, streams and events. One for the process.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "driver/hip_recorder/code_object.h"
#include "driver/hip_recorder/rules.h"
#include "driver/recorder/ledger.h"
#include "hip/abi.h"

namespace hip_recorder {

namespace abi = warpwright::hip::abi;
using recorder::Verdict;

struct Module {
  std::shared_ptr<const CodeObject> object;
  int device = 0;
};
struct Function {
  Module module;
  const Kernel* kernel = nullptr;
};

class World : public recorder::Ledger {
 public:
  // Made by the first call. WARPWRIGHT_HIP_RECORDER_DEVICES: the pretended devices, "gfx950" by default, with commas
  // between them. WARPWRIGHT_HIP_RECORDER_LOG: the file of the log.
  static World& get();

  std::vector<Chip> chips;
  std::map<abi::Module, Module> modules;
  std::map<abi::Function, Function> functions;
  std::set<abi::Stream> streams;
  std::map<abi::Event, bool> events;  // whether it was recorded

  bool has(int device) const { return device >= 0 && size_t(device) < chips.size(); }
  // The default stream, or one that was made.
  bool has(abi::Stream stream) const { return stream == nullptr || streams.count(stream) > 0; }

  // Where a rule is broken, that is written down; the answer follows.
  int judged(const char* call, const Verdict& verdict);

 private:
  World();
};

// The device of the calling thread: HIP gives every thread the first.
inline thread_local int current_device = 0;

}  // namespace hip_recorder

// Begins an entry point: `world` is locked. Its first broken rule is its answer.
#define WW_HIP_ENTRY extern "C" __attribute__((visibility("default"))) warpwright::hip::abi::Result
#define WW_HIP_WORLD                                       \
  hip_recorder::World& world = hip_recorder::World::get(); \
  const std::lock_guard<std::recursive_mutex> lock(world.mutex)
#define WW_HIP_REFUSE(condition, rule) \
  if (condition) return world.judged(__func__, hip_recorder::refused(hip_recorder::Rule::rule))

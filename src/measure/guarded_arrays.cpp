#include "measure/guarded_arrays.h"

#include <algorithm>

namespace warpwright::measure {
namespace {

// Larger than a box of any kernel is wide, and a multiple of the TMA's alignment.
constexpr size_t kGuard = 4096;
constexpr uint8_t kGuardByte = 0xff;

}  // namespace

GuardedArrays::GuardedArrays(const reference::Workload& workload) {
  for (const reference::Array& array : workload.arrays) {
    const size_t bytes = array.bytes.size();
    slots_.push_back({gpu::DeviceMemory(bytes + 2 * kGuard), bytes});
    uint8_t* const base = slots_.back().memory.data();
    gpu::set_bytes(base, kGuardByte, bytes + 2 * kGuard);
    gpu::copy_to_device(base + kGuard, array.bytes.data(), bytes, "the copy of the operands");
    pointers_.push_back(base + kGuard);
  }
  gpu::synchronize("the copy of the operands");
}

std::vector<uint8_t> GuardedArrays::output() const {
  const Slot& slot = slots_.back();
  std::vector<uint8_t> bytes(slot.bytes);
  gpu::copy_to_host(bytes.data(), pointers_.back(), slot.bytes, "the copy of the result");
  return bytes;
}

uint64_t GuardedArrays::stray_bytes(const reference::Workload& workload) const {
  uint64_t changed = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    std::vector<uint8_t> have(slot.bytes + 2 * kGuard);
    gpu::copy_to_host(have.data(), slot.memory.data(), have.size(), "the copy of the guards");
    const auto first = have.begin() + kGuard, last = first + std::ptrdiff_t(slot.bytes);
    const auto touched = [](uint8_t byte) { return byte != kGuardByte; };
    changed += uint64_t(std::count_if(have.begin(), first, touched) + std::count_if(last, have.end(), touched));
    const reference::Array& array = workload.arrays[i];
    if (array.output || array.scratch) continue;
    for (size_t b = 0; b < slot.bytes; ++b) changed += first[std::ptrdiff_t(b)] != array.bytes[b];
  }
  return changed;
}

}  // namespace warpwright::measure

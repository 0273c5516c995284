#include "driver/hip_recorder/rules.h"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

#include "driver/hip_recorder/code_object.h"
#include "hip/abi.h"

namespace hip_recorder {
namespace {

namespace abi = warpwright::hip::abi;
using recorder::Verdict;

constexpr RuleText kTexts[] = {
#define WW_TEXT(name, code, sentence) {code, sentence},
    WW_HIP_RULES(WW_TEXT)
#undef WW_TEXT
};

uint64_t round_up(uint64_t x, uint64_t unit) { return (x + unit - 1) / unit * unit; }

Verdict judge_extents(const Launch& launch) {
  constexpr uint64_t most[3] = {std::numeric_limits<int32_t>::max(), 65536, 65536};
  uint64_t items = 1;
  for (int i = 0; i < 3; ++i) {
    if (launch.block[i] == 0) return refused(Rule::block_empty);
    if (launch.grid[i] == 0) return refused(Rule::grid_empty);
    if (launch.grid[i] > most[i]) return refused(Rule::grid_extent);
    items = launch.grid[i] * launch.block[i];
    if (items > std::numeric_limits<uint32_t>::max()) return refused(Rule::work_items);
  }
  return {};
}

Verdict judge_arguments(const Launch& launch, const Kernel& kernel) {
  if (launch.parameters != nullptr && launch.extra != nullptr) return refused(Rule::both_lists);
  if (launch.parameters != nullptr || kernel.parameters.empty()) return {};
  void** const list = launch.extra;
  if (list == nullptr) return refused(Rule::no_arguments);
  if (list[0] != abi::launch_word(abi::kBufferPointer) || list[2] != abi::launch_word(abi::kBufferSize) ||
      list[4] != abi::launch_word(abi::kBufferEnd) || list[1] == nullptr || list[3] == nullptr) {
    return refused(Rule::buffer_words);
  }
  if (*static_cast<const size_t*>(list[3]) != kernel.argument_bytes) return refused(Rule::buffer_bytes);
  if (reinterpret_cast<uintptr_t>(list[1]) % kernel.argument_alignment != 0) return refused(Rule::buffer_alignment);
  return {};
}

}  // namespace

RuleText text_of(Rule rule) { return kTexts[size_t(rule)]; }
std::vector<Rule> all_rules() {
  std::vector<Rule> list;
  for (size_t i = 0; i < std::size(kTexts); ++i) list.push_back(Rule(i));
  return list;
}
recorder::Refusal refused(Rule rule) { return {text_of(rule).code, text_of(rule).sentence}; }

Verdict judge(const Launch& launch, const Kernel& kernel, const Chip& chip) {
  if (Verdict v = judge_extents(launch)) return v;
  const uint64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads > kMostThreads) return refused(Rule::block_threads);
  if (threads > kernel.most_threads) return refused(Rule::kernel_threads);
  if (kernel.wave != kWave) return refused(Rule::other_wave);
  if (uint64_t(kernel.lds_bytes) + launch.shared_bytes > uint64_t(chip.lds_bytes)) return refused(Rule::lds);
  // A workgroup lies on one compute unit, its waves spread over the SIMDs.
  const uint64_t waves = round_up(threads, kWave) / kWave, on_a_simd = round_up(waves, kSimds) / kSimds;
  if (on_a_simd * round_up(kernel.registers, kRegisterGranule) > kRegisters) return refused(Rule::registers);
  return judge_arguments(launch, kernel);
}

std::vector<uint8_t> arguments_of(const Launch& launch, const Kernel& kernel) {
  std::vector<uint8_t> bytes(kernel.argument_bytes);
  if (launch.extra != nullptr) {
    std::memcpy(bytes.data(), launch.extra[1], bytes.size());
  } else {
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      const auto& [offset, size] = kernel.parameters[i];
      std::memcpy(bytes.data() + offset, launch.parameters[i], size);
    }
  }
  return bytes;
}

}  // namespace hip_recorder

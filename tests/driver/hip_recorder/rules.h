// What HIP refuses, as its headers document it and hip_module.cpp of ROCm/clr answers; where the runtime does not look
// and the hardware or the kernel would fail, the rule is ours and says so. Every rule is broken by a call of
// tests/driver/hip_calls_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/hip_recorder/chip.h"
#include "driver/recorder/verdict.h"

namespace hip_recorder {

// hipError_t
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kInvalidConfiguration = 9;
inline constexpr int kInvalidDirection = 21;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kInvalidImage = 200;
inline constexpr int kNoBinary = 209;
inline constexpr int kInvalidHandle = 400;
inline constexpr int kNotFound = 500;
inline constexpr int kOutOfResources = 701;
inline constexpr int kLaunchFailure = 719;

// name, answer, sentence
#define WW_HIP_RULES(X)                                                                                   \
  X(no_place, kInvalidValue, "there is no place for the answer")                                          \
  X(init_flags, kInvalidValue, "the flags of hipInit are 0")                                              \
  X(no_device, kInvalidDevice, "there is no such device")                                                 \
  X(no_attribute, kInvalidValue, "the attribute is none that is known here")                              \
  X(no_length, kInvalidValue, "the name has no room")                                                     \
  X(too_much_memory, kOutOfMemory, "more memory than the device has")                                     \
  X(no_memory, kInvalidValue, "no allocation begins there")                                               \
  X(copy_direction, kInvalidDirection, "the copy has a direction that is not used here")                  \
  X(copy_range, kInvalidValue, "the range of device memory is not inside one allocation")                 \
  X(copy_host, kInvalidValue, "there is no memory of the host")                                           \
  X(no_stream, kInvalidHandle, "there is no such stream")                                                 \
  X(stream_flags, kInvalidValue, "a stream blocks with the default one, or does not")                     \
  X(no_event, kInvalidHandle, "there is no such event")                                                   \
  X(event_not_recorded, kInvalidHandle, "the event was never recorded")                                   \
  X(no_image, kInvalidValue, "there is no image")                                                         \
  X(no_elf, kInvalidImage, "it is no ELF file")                                                           \
  X(other_machine, kInvalidImage, "the ELF file is none of HSA on AMDGPU")                                \
  X(other_version, kInvalidImage, "the version of the code object is not 4 to 6")                         \
  X(not_linked, kInvalidImage, "the code object is not linked")                                           \
  X(no_notes, kInvalidImage, "the code object has no metadata")                                           \
  X(no_descriptor, kInvalidImage, "a kernel of the metadata has no descriptor")                           \
  X(descriptor_disagrees, kInvalidImage, "descriptor and metadata of a kernel disagree (ours)")           \
  X(other_chip, kNoBinary, "the code object is for another chip, or for other features of it")            \
  X(no_module, kInvalidHandle, "there is no such module")                                                 \
  X(no_name, kInvalidValue, "there is no name")                                                           \
  X(no_symbol, kNotFound, "the code object has no such kernel")                                           \
  X(no_function, kInvalidHandle, "there is no such kernel")                                               \
  X(other_device, kInvalidDevice, "the kernel was loaded for another device")                             \
  X(both_lists, kInvalidValue, "arguments are given one by one and as a buffer")                          \
  X(no_arguments, kInvalidValue, "the kernel has arguments, and none are given")                          \
  X(buffer_words, kInvalidValue, "the list of the buffer is not pointer, size, end")                      \
  X(buffer_bytes, kInvalidValue, "the buffer has not the bytes that the kernel reads (ours)")             \
  X(buffer_alignment, kInvalidValue, "the buffer is not aligned as the kernel's arguments are (ours)")    \
  X(grid_empty, kInvalidValue, "an extent of the grid is 0")                                              \
  X(grid_extent, kInvalidValue, "an extent of the grid is more than 2^31 - 1, 2^16, 2^16")                \
  X(work_items, kInvalidConfiguration, "the grid has more than 2^32 - 1 work-items")                      \
  X(block_empty, kInvalidConfiguration, "an extent of the workgroup is 0")                                \
  X(block_threads, kInvalidValue, "a workgroup has more than 1024 threads")                               \
  X(kernel_threads, kLaunchFailure, "a workgroup has more threads than the kernel was compiled for")      \
  X(other_wave, kLaunchFailure, "the kernel is for waves of another size (ours)")                         \
  X(lds, kInvalidValue, "a workgroup has more LDS, its own and that of the launch, than the chip (ours)") \
  X(registers, kOutOfResources, "registers of the waves of a SIMD are more than it has (ours)")

enum class Rule : uint8_t {
#define WW_RULE(name, code, sentence) name,
  WW_HIP_RULES(WW_RULE)
#undef WW_RULE
};

struct RuleText {
  int code;
  const char* sentence;
};
RuleText text_of(Rule rule);
std::vector<Rule> all_rules();
recorder::Refusal refused(Rule rule);

struct Kernel;
struct Launch {
  uint64_t grid[3] = {};  // in workgroups
  uint64_t block[3] = {};
  unsigned shared_bytes = 0;  // in addition to the kernel's own
  void** parameters = nullptr;
  void** extra = nullptr;
};
recorder::Verdict judge(const Launch& launch, const Kernel& kernel, const Chip& chip);

// The bytes of the arguments as the kernel gets them, of a launch that judge() accepts.
std::vector<uint8_t> arguments_of(const Launch& launch, const Kernel& kernel);

}  // namespace hip_recorder

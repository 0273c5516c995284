// The devices that the recorder pretends to be, as their data sheets and the CUDA programming guide (technical
// specifications for each compute capability) describe them.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace recorder {

struct Chip {
  std::string name;
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int shared_per_block = 0;  // with opt-in
  int shared_per_multiprocessor = 0;
  int l2_bytes = 0;
  int threads_per_multiprocessor = 0;
  int blocks_per_multiprocessor = 0;
  size_t memory = 0;

  bool has_clusters() const { return major >= 9; }
  bool has_tensor_maps() const { return major >= 9; }
};

// Values of CUdevice_attribute, in addition to those of gpu/driver_abi.h.
inline constexpr int kThreadsPerMultiprocessor = 39;
inline constexpr int kSharedPerMultiprocessor = 81;
inline constexpr int kBlocksPerMultiprocessor = 106;

inline constexpr int kRegisters = 65536;           // of a multiprocessor, and of a block
inline constexpr int kSharedWithoutOptIn = 49152;  // dynamic and static bytes of a block
inline constexpr int kPortableCluster = 8;
inline constexpr int kLargestCluster = 16;
// Part of every block's shared memory from compute capability 9.0 on, in an image's size but not in the limits.
inline constexpr int kSystemShared = 1024;

// "sm_90".
std::optional<Chip> chip_named(std::string_view name);

}  // namespace recorder

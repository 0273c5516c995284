// What the CUDA driver refuses, as cuda.h documents it: a rule for each answer, with the code of the answer.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/recorder/chip.h"
#include "driver/recorder/image.h"
#include "driver/recorder/verdict.h"
#include "gpu/driver_abi.h"

namespace recorder {

namespace abi = warpwright::gpu::abi;

// CUresult
inline constexpr int kInvalidValue = 1;
inline constexpr int kNotInitialized = 3;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kInvalidImage = 200;
inline constexpr int kNoBinary = 209;
inline constexpr int kInvalidPtx = 218;
inline constexpr int kInvalidHandle = 400;
inline constexpr int kNotFound = 500;
inline constexpr int kOutOfResources = 701;
inline constexpr int kNotSupported = 801;
inline constexpr int kCaptureUnsupported = 900;
inline constexpr int kCaptureInvalidated = 901;
inline constexpr int kInvalidCluster = 912;

// How a capture begins, in addition to abi::kCaptureModeThreadLocal and kCaptureModeRelaxed.
inline constexpr int kCaptureModeGlobal = 0;

// The arguments of cuTensorMapEncodeTiled.
struct Encoding {
  const void* map = nullptr;
  int type = 0;
  uint32_t rank = 0;
  const void* address = nullptr;
  std::array<uint64_t, 5> dims = {};
  std::array<uint64_t, 4> strides = {};
  std::array<uint32_t, 5> box = {};
  std::array<uint32_t, 5> element_strides = {};
  int interleave = 0;
  int swizzle = 0;
  int l2_promotion = 0;
  int fill = 0;
};
Verdict judge(const Encoding& encoding);
// For cuTensorMapReplaceAddress, on a map that was encoded in this way.
Verdict judge_address(const Encoding& encoding, const void* map, const void* address);

// What a kernel was told with cuKernelSetAttribute.
struct KernelState {
  const Kernel* kernel = nullptr;
  const Image* image = nullptr;
  int dynamic_shared = 0;  // the largest; 0: not set
  bool any_cluster = false;
};
Verdict judge_attribute(const KernelState& state, const Chip& chip, int attribute, int value);

struct Launch {
  unsigned grid[3] = {};
  unsigned block[3] = {};
  unsigned shared_bytes = 0;
  std::vector<abi::LaunchAttribute> attributes;
  bool arguments = false;  // given
  bool extra = false;
};
Verdict judge(const Launch& launch, const KernelState& state, const Chip& chip);

// CTAs of the launch's cluster; 1: it has none.
unsigned cluster_of(const Launch& launch);
// Blocks of a kernel that a multiprocessor holds.
int resident_blocks(const KernelState& state, const Chip& chip, unsigned threads, size_t shared_bytes);
int resident_clusters(const KernelState& state, const Chip& chip, const Launch& launch);

}  // namespace recorder

// Host side of a launch: how many CTAs, and what a failure is called.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "device/launch.h"
#include "warpwright/launch.h"

namespace warpwright::device {

template <class K>
Status describe(cudaError_t error) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();  // the failure is reported here, not to whoever asks next
  return std::string(K::plan.kernel) + " could not be launched: " + cudaGetErrorString(error) + ".";
}

// Clusters of K that run at once on the current device. Asking takes microseconds, so the answer is kept.
template <class K>
int resident_clusters() {
  static std::array<std::atomic<int>, 64> known{};
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  if (size_t(device) >= known.size()) return runtime::max_active_clusters<K>();
  int clusters = known[size_t(device)].load(std::memory_order_relaxed);
  if (clusters == 0) {
    clusters = runtime::max_active_clusters<K>();
    known[size_t(device)].store(clusters, std::memory_order_relaxed);
  }
  return clusters;
}

// `work` is the number of tiles that clusters of K share. Without work nothing is launched.
template <class K>
Status launch_persistent(const typename K::Args& args, int64_t work, void* stream, int max_ctas,
                         runtime::DependentLaunch dependent = runtime::DependentLaunch::off) {
  if (work == 0) return {};
  int64_t clusters = resident_clusters<K>();
  if (clusters == 0) {
    (void)cudaGetLastError();
    return std::string(K::plan.kernel) + " cannot run on the current device.";
  }
  if (max_ctas > 0) clusters = std::clamp<int64_t>(max_ctas / K::plan.cluster, 1, clusters);
  const unsigned ctas = unsigned(std::min(clusters, work)) * unsigned(K::plan.cluster);
  return describe<K>(runtime::launch<K>(args, ctas, static_cast<cudaStream_t>(stream), dependent));
}

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Calls launch(std::integral_constant<int, I>) with I = index.
template <int N, class Launch>
Status at_index(const char* kernel, int index, Launch&& launch) {
  Status status = std::string(kernel) + " has no instance number " + std::to_string(index) + ".";
  const auto each = [&]<int... I>(std::integer_sequence<int, I...>) {
    (void)((I == index && (status = launch(std::integral_constant<int, I>{}), true)) || ...);
  };
  each(std::make_integer_sequence<int, N>{});
  return status;
}

}  // namespace warpwright::device

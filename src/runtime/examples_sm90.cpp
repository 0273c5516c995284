#include "device/launch.h"
#include "runtime/examples_list.h"
#include "runtime/simulate.h"
#include "warpwright/kernel/sm90/cluster_ring.h"
#include "warpwright/kernel/sm90/ring_copy.h"

namespace warpwright::runtime {
namespace {

constexpr RingCopyConfig kCopyFp32{};
constexpr RingCopyConfig kCopyBf16{.type = DType::bf16};
constexpr ClusterRingConfig kSum{};
constexpr int kSumClusters = 2;

template <RingCopyConfig C>
Workload copy_workload(Case s, Data d, uint64_t seed) {
  return affine_workload(s, C.type, 2, -1, d, seed);
}
template <RingCopyConfig C>
std::optional<std::string> refuse_copy(Case s) {
  const int64_t unit = 128 / bits(C.type);
  if (s.m < 1 || s.n < 1) return "m and n: at least 1.";
  if (s.n % unit) return "n = " + std::to_string(s.n) + ": a row must be a multiple of 16 bytes (TMA).";
  return {};
}
template <RingCopyConfig C, class Encode>
std::optional<std::string> fill_copy(RingCopyArgs& args, const Workload& w, const std::vector<void*>& p,
                                     const Encode& encode) {
  return fill(args, C, p[0], p[1], int(w.shape.m), int(w.shape.n), float(w.alpha), float(w.beta), encode);
}
template <RingCopyConfig C>
Outcome simulate_copy(const Workload& w, const simulator::Options& o, int ctas) {
  return simulate<kernel::sm90::RingCopy<C>>(w, o, ctas ? ctas : 2, [&](auto& args, const auto& p, const auto& encode) {
    return fill_copy<C>(args, w, p, encode);
  });
}

template <class Encode>
std::optional<std::string> fill_sum(ClusterRingArgs& args, const Workload& w, const std::vector<void*>& p,
                                    const Encode& encode) {
  const float scale[] = {1, 2, 3, 4, 5, 6, 7, 8};
  return fill(args, kSum, p[0], static_cast<float*>(p[1]), int(w.shape.m), int(w.shape.n), scale, encode);
}
Outcome simulate_sum(const Workload& w, const simulator::Options& o, int) {
  return simulate<kernel::sm90::ClusterRing<kSum>>(
      w, o, kSumClusters * kSum.cluster,
      [&](auto& args, const auto& p, const auto& encode) { return fill_sum(args, w, p, encode); });
}

#if WW_HAVE_CUDA
template <RingCopyConfig C>
std::optional<std::string> launch_copy(const Workload& w, const std::vector<void*>& p, void* stream) {
  RingCopyArgs args;
  if (auto why = fill_copy<C>(args, w, p, EncodeForGpu{})) return why;
  return device::launch_ring_copy_sm90(device::find_config(device::kRingCopySm90, C), args, stream);
}
std::optional<std::string> launch_sum(const Workload& w, const std::vector<void*>& p, void* stream) {
  ClusterRingArgs args;
  if (auto why = fill_sum(args, w, p, EncodeForGpu{})) return why;
  return device::launch_cluster_ring_sm90(device::find_config(device::kClusterRingSm90, kSum), args, kSumClusters,
                                          stream);
}
constexpr auto launch_copy_fp32 = launch_copy<kCopyFp32>, launch_copy_bf16 = launch_copy<kCopyBf16>;
#else
constexpr std::nullptr_t launch_copy_fp32 = nullptr, launch_copy_bf16 = nullptr, launch_sum = nullptr;
#endif

}  // namespace

void add_ring_examples(std::vector<Example>& list) {
  list.push_back({"ring_copy",
                  "y = alpha*x + beta through a TMA ring: load, compute and store roles",
                  "fp32 32x64, 4+2 stages",
                  Arch::sm90,
                  &kernel::sm90::RingCopy<kCopyFp32>::plan,
                  {{256, 256, 0}, {1, 4, 0}, {33, 68, 0}, {32, 64, 0}},
                  refuse_copy<kCopyFp32>,
                  copy_workload<kCopyFp32>,
                  simulate_copy<kCopyFp32>,
                  launch_copy_fp32});
  list.push_back({"ring_copy_bf16",
                  "the same for bf16",
                  "bf16 32x64, 4+2 stages",
                  Arch::sm90,
                  &kernel::sm90::RingCopy<kCopyBf16>::plan,
                  {{128, 256, 0}, {31, 72, 0}},
                  refuse_copy<kCopyBf16>,
                  copy_workload<kCopyBf16>,
                  simulate_copy<kCopyBf16>,
                  launch_copy_bf16});
  list.push_back({"cluster_ring",
                  "tiles multicast to a cluster of two CTAs, each of which sums them",
                  "fp32 32x64, 4 stages, cluster 2",
                  Arch::sm90,
                  &kernel::sm90::ClusterRing<kSum>::plan,
                  {{256, 256, 0}, {40, 68, 0}, {1, 4, 0}},
                  refuse_copy<kCopyFp32>,
                  [](Case s, Data d, uint64_t seed) { return cluster_sum_workload(s, kSum, kSumClusters, d, seed); },
                  simulate_sum,
                  launch_sum});
}

}  // namespace warpwright::runtime

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "driver/recorder/rules.h"

namespace recorder {
namespace {

Verdict refused(int code, std::string rule) { return Refusal{code, std::move(rule)}; }

int round_up(int x, int unit) { return (x + unit - 1) / unit * unit; }

// Registers are handed out to warps, 256 at a time.
int registers_of(const Kernel& kernel, unsigned threads) {
  return round_up(int(threads), 32) * round_up(int(std::max(kernel.registers, 1u)), 8);
}

int most_dynamic(const KernelState& state) {
  return std::max(state.dynamic_shared, kSharedWithoutOptIn - int(state.kernel->static_shared));
}

const abi::LaunchAttribute* find(const Launch& launch, int id) {
  for (const abi::LaunchAttribute& a : launch.attributes)
    if (a.id == id) return &a;
  return nullptr;
}

// Known numbers of CUlaunchAttributeID (0 is to be ignored).
constexpr int kLaunchAttributes = 18;

Verdict judge_cluster(const Launch& launch, const KernelState& state, const Chip& chip) {
  const abi::LaunchAttribute* const attribute = find(launch, abi::kLaunchClusterDimension);
  if (attribute == nullptr) return {};
  const abi::ClusterDimension& c = attribute->value.cluster;
  if (c.x == 0 || c.y == 0 || c.z == 0) return refused(kInvalidCluster, "an extent of the cluster is 0");
  const uint64_t size = uint64_t(c.x) * c.y * c.z;
  if (size == 1) return {};
  if (!chip.has_clusters()) return refused(kNotSupported, "the chip has no clusters");
  if (launch.grid[0] % c.x != 0 || launch.grid[1] % c.y != 0 || launch.grid[2] % c.z != 0) {
    return refused(kInvalidCluster, "the grid is not a multiple of the cluster");
  }
  const uint64_t most = state.any_cluster ? kLargestCluster : kPortableCluster;
  if (size > most) return refused(kInvalidCluster, "the cluster has more CTAs than the kernel allows");
  if (resident_clusters(state, chip, launch) == 0) return refused(kInvalidCluster, "no cluster fits");
  return {};
}

}  // namespace

Verdict judge_attribute(const KernelState& state, const Chip& chip, int attribute, int value) {
  if (attribute == abi::kFunctionMaxDynamicSharedBytes) {
    if (value < 0) return refused(kInvalidValue, "shared bytes are negative");
    if (value > chip.shared_per_block - int(state.kernel->static_shared)) {
      return refused(kInvalidValue, "more dynamic and static shared bytes than a block of the chip may have");
    }
    return {};
  }
  if (attribute == abi::kFunctionNonPortableClusterSize) {
    if (!chip.has_clusters()) return refused(kNotSupported, "the chip has no clusters");
    if (value != 0 && value != 1) return refused(kInvalidValue, "it is allowed or not, 1 or 0");
    return {};
  }
  return refused(kInvalidValue, "the attribute cannot be set");
}

Verdict judge(const Launch& launch, const KernelState& state, const Chip& chip) {
  const uint64_t most_grid[3] = {2147483647, 65535, 65535}, most_block[3] = {1024, 1024, 64};
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] < 1 || launch.grid[i] > most_grid[i]) return refused(kInvalidValue, "an extent of the grid");
    if (launch.block[i] < 1 || launch.block[i] > most_block[i]) return refused(kInvalidValue, "an extent of the block");
  }
  const uint64_t threads = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  if (threads > 1024) return refused(kInvalidValue, "more than 1024 threads");
  if (!state.image->runs_on(chip.major, chip.minor)) return refused(kNoBinary, "the image is for other chips");
  const Kernel& kernel = *state.kernel;
  if (kernel.most_threads > 0 && threads > kernel.most_threads) {
    return refused(kInvalidValue, "more threads than the kernel's launch bounds");
  }
  if (registers_of(kernel, unsigned(threads)) > kRegisters) {
    return refused(kOutOfResources, "registers of all threads are more than a block may have");
  }
  if (launch.shared_bytes > unsigned(std::max(0, most_dynamic(state)))) {
    return refused(kInvalidValue, "more dynamic shared bytes than the kernel was allowed");
  }
  // Beside a list a buffer is not looked at.
  if (launch.extra && !launch.arguments) return refused(kInvalidValue, "arguments in a buffer");
  if (!launch.arguments && !kernel.parameters.empty()) return refused(kInvalidValue, "no arguments");
  for (const abi::LaunchAttribute& a : launch.attributes)
    if (a.id < 0 || a.id > kLaunchAttributes) return refused(kInvalidValue, "an attribute that there is not");
  return judge_cluster(launch, state, chip);
}

unsigned cluster_of(const Launch& launch) {
  const abi::LaunchAttribute* const attribute = find(launch, abi::kLaunchClusterDimension);
  if (attribute == nullptr) return 1;
  const abi::ClusterDimension& c = attribute->value.cluster;
  return c.x * c.y * c.z;
}

int resident_blocks(const KernelState& state, const Chip& chip, unsigned threads, size_t shared_bytes) {
  if (threads == 0 || threads > 1024) return 0;
  if (state.kernel->most_threads > 0 && threads > state.kernel->most_threads) return 0;
  if (shared_bytes > size_t(std::max(0, most_dynamic(state)))) return 0;
  const int by_threads = chip.threads_per_multiprocessor / round_up(int(threads), 32);
  const int by_registers = kRegisters / registers_of(*state.kernel, threads);
  const int system = chip.major >= 8 ? kSystemShared : 0;
  const int shared = round_up(int(shared_bytes) + int(state.kernel->static_shared) + system, 128);
  const int by_shared = chip.shared_per_multiprocessor / shared;
  return std::min({by_threads, by_registers, by_shared, chip.blocks_per_multiprocessor});
}

int resident_clusters(const KernelState& state, const Chip& chip, const Launch& launch) {
  const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  const int blocks = resident_blocks(state, chip, threads, launch.shared_bytes);
  const auto cluster = int(cluster_of(launch));
  if (cluster == 0 || cluster > kLargestCluster) return 0;
  // The CTAs of a cluster lie on the multiprocessors of one GPC, some of which are left over: an H200 of 132 has room
  // for 39, 30 and 15 clusters of 3, 4 and 8.
  const int used = chip.multiprocessors * (cluster <= 2 ? 132 : cluster == 3 ? 117 : 120) / 132;
  return used * blocks / cluster;
}

}  // namespace recorder

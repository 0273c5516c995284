// What compute-sanitizer racecheck says of a slot that one warp fills and another reads, in a cluster of two, as the
// warp that brings scales and the MMA warps of grouped_gemm.h do. Only the way back differs:
//   local    the reader arrives on its own barrier by its shared::cta address: right, as in kernels without a cluster
//   cluster  lane r arrives on the barrier of CTA r by a shared::cluster address, its own among them: right by PTX 8.7,
//            since mbarrier.arrive releases and the filler's wait acquires, whatever the state space of the address
//   early    the same, but the filler writes before it waits: a race
// A report of `local` says that the tool does not follow such an exchange at all; one of `cluster` and none of `local`,
// that it does not follow an arrival through a cluster address.
//
//   nvcc -std=c++20 -O2 -lineinfo --expt-relaxed-constexpr -arch=sm_90a -Iinclude -o scales_litmus THIS_FILE
//   compute-sanitizer --tool racecheck scales_litmus local|cluster|early
#include <cstdio>
#include <cstring>

#include "warpwright/machine/machine.h"

using namespace warpwright;
using namespace warpwright::machine;

namespace {

enum class Way { local, cluster, early };
constexpr int kRounds = 8, kLanes = 32;

template <Way W>
__global__ void __cluster_dims__(2, 1, 1) fill_and_read(int* out) {
  const uint32_t base = shared_base();
  const Shared<Mbarrier> full{base}, empty{base + 8};
  const Shared<int> slot{base + 128};
  const uint32_t lane = lane_index();
  if (thread_index() == 0) {
    mbarrier_init(full, 1);
    mbarrier_init(empty, W == Way::local ? 1 : 2);
    fence_mbarrier_init();
  }
  cluster_sync();
  if (thread_index() < kLanes) {
    Phase free = Phase::producer();
    for (int round = 0; round < kRounds; ++round, free.advance()) {
      if (W != Way::early) mbarrier_wait(empty, free);
      store(slot + int(lane), round * kLanes + int(lane));
      if (W == Way::early) mbarrier_wait(empty, free);
      sync_warp();
      if (lane == 0) mbarrier_arrive(full);
    }
  } else {
    int sum = 0;
    Phase filled = Phase::consumer();
    for (int round = 0; round < kRounds; ++round, filled.advance()) {
      mbarrier_wait(full, filled);
      sum += load(slot + int(lane));
      sync_warp();
      if (W == Way::local) {
        if (lane == 0) mbarrier_arrive(empty);
      } else if (lane < 2) {
        mbarrier_arrive(map_to_rank(empty, lane));
      }
    }
    out[cluster_rank() * kLanes + lane] = sum;
  }
  cluster_sync();
}

int run(Way way) {
  int* out = nullptr;
  int host[2 * kLanes] = {};
  if (cudaMalloc(&out, sizeof host) != cudaSuccess) return 3;
  if (way == Way::local) fill_and_read<Way::local><<<2, 2 * kLanes, 1024>>>(out);
  if (way == Way::cluster) fill_and_read<Way::cluster><<<2, 2 * kLanes, 1024>>>(out);
  if (way == Way::early) fill_and_read<Way::early><<<2, 2 * kLanes, 1024>>>(out);
  if (cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  for (int i = 0; i < 2 * kLanes && way != Way::early; ++i) {
    const int expected = kRounds * (i % kLanes) + kLanes * kRounds * (kRounds - 1) / 2;
    if (host[i] != expected) return std::printf("element %d is %d, expected %d\n", i, host[i], expected), 1;
  }
  std::puts(way == Way::early ? "ran" : "right");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const char* const word = count == 2 ? words[1] : "";
  if (std::strcmp(word, "local") == 0) return run(Way::local);
  if (std::strcmp(word, "cluster") == 0) return run(Way::cluster);
  if (std::strcmp(word, "early") == 0) return run(Way::early);
  std::puts("scales_litmus local|cluster|early");
  return 2;
}

// The smallest hand-over through distributed shared memory, as PTX orders it: store to the peer, arrive on the peer's
// mbarrier with release at cluster scope, wait there with acquire at cluster scope, load. It is right by PTX 8.7; what
// compute-sanitizer racecheck says about it is what it says about every kernel that uses this hand-over.
#include <cstdio>

#include "warpwright/machine/machine.h"

using namespace warpwright;
using namespace warpwright::machine;

__global__ void __cluster_dims__(2, 1, 1) hand_over(int* out) {
  const uint32_t base = shared_base();
  const Shared<Mbarrier> full{base};
  const Shared<int> slot{base + 128};
  const uint32_t lane = thread_index();
  if (lane == 0) {
    mbarrier_init(full, 1);
    fence_mbarrier_init();
  }
  sync_warp();
  cluster_sync();
  const uint32_t peer = cluster_rank() ^ 1;
  store(map_to_rank(slot + int(lane), peer), int(lane) + 100 * int(cluster_rank()));
  sync_warp();
  if (lane == 0) mbarrier_arrive<Scope::cluster>(map_to_rank(full, peer));
  mbarrier_wait<Scope::cluster>(full, Phase::consumer());
  out[cluster_rank() * 32 + lane] = load(slot + int(lane));
  cluster_sync();
}

int main() {
  int* out = nullptr;
  int host[64] = {};
  if (cudaMalloc(&out, sizeof host) != cudaSuccess) return 3;
  hand_over<<<2, 32, 1024>>>(out);
  if (cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  for (int i = 0; i < 64; ++i)
    if (host[i] != i % 32 + 100 * (1 - i / 32)) return std::printf("element %d is %d\n", i, host[i]), 1;
  std::puts("right");
  return 0;
}

// cuBLASLt as the benchmark's peer. The library is opened at run time and is needed by nothing else.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "warpwright/core/dtype.h"
#include "warpwright/status.h"

namespace warpwright::measure {

constexpr uint64_t kPeerWorkspace = uint64_t(64) << 20;
constexpr int kPeerChoices = 8;  // how many of its heuristics are tried

// D[m, n] = A[m, k] * B[n, k]^T, all three row-major: of one type, bf16 or fp16, with fp32 sums, or A and B e4m3 with
// the tensor core's sums, factors of 1 and a bf16 result.
class PeerGemm {
 public:
  PeerGemm();
  ~PeerGemm();
  PeerGemm(PeerGemm&&) noexcept;

  // Fails where the library is not there, or has no algorithm for this problem.
  Status prepare(int64_t m, int64_t n, int64_t k, DType type);
  // The algorithms its heuristics name, best guess first; `choose` selects the one to launch.
  int choices() const;
  void choose(int choice);
  int chosen() const;
  // Puts the product on a CUDA stream. Legal during stream capture.
  Status launch(const void* a, const void* b, void* d, void* stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether cuBLASLt can be opened; if not, the sentence says where it was looked for.
Status peer_status();
// "cuBLASLt 13.1.0"; empty when it cannot be opened.
std::string peer_version();

}  // namespace warpwright::measure

// Random problems for the host API, each drawn for one instance of a kernel, and the memory they run in: operands whose
// surroundings and row padding are NaN, a result whose surroundings must not change.
#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "gpu/device_check.h"
#include "measure/gpu_memory.h"
#include "reference/workload.h"
#include "warpwright/gemm.h"

namespace warpwright::gpu_random {

using Random = std::mt19937_64;

// The dense and skinny instances of the catalogue, in its order.
std::vector<catalog::Instance> ahead();
// Different instances that the library would compile for random products, compiled now, several at a time.
Result<std::vector<catalog::Instance>> on_demand(int count, uint64_t seed);

// The extents of a tile of the whole cluster, and what they must be multiples of.
struct TileExtents {
  int64_t m = 0, n = 0, k = 0;
  int64_t n_unit = 1;
};
TileExtents tile_of(const catalog::Instance& instance);

struct Trial {
  GemmProblem problem;  // `plan` names the instance
  uint64_t seed = 0;
  bool exact = true;      // whole numbers; otherwise normal values
  bool in_place = false;  // C is D
  int64_t shift = 0;      // bytes by which A, B and D miss a multiple of 256
  std::string text() const;
};
// A product that the instance serves, with everything about it that is free drawn at random: extents up to `most` in
// several distributions, strides, alignment, batch, factors, SM limit. With `extents` those are taken instead. Nothing
// if no such product was found.
std::optional<Trial> draw(const catalog::Instance& instance, int64_t most, Random& random,
                          std::optional<reference::Case> extents = {});

// Device memory that is handed out from its beginning, and back all at once.
class Arena {
 public:
  explicit Arena(size_t bytes) : memory_(bytes), bytes_(bytes) {}
  uint8_t* take(size_t bytes);  // aligned to 256
  void reset() { used_ = 0; }

 private:
  gpu::DeviceMemory memory_;
  size_t bytes_, used_ = 0;
};

// A trial placed in an arena. The arena must outlive it.
class PlacedTrial {
 public:
  PlacedTrial(const Trial& trial, Arena& arena);
  // Fills the operands and spoils the result.
  void prepare(cudaStream_t stream) const;
  const GemmPointers& pointers() const { return pointers_; }
  // Compares the result with the reference and looks for changes elsewhere; waits for the stream.
  device_check::Findings check(cudaStream_t stream) const;
  // What is wrong, as a sentence; nothing if all is right.
  std::optional<std::string> complaint(const device_check::Findings& findings) const;

 private:
  struct Region {
    uint8_t* begin = nullptr;
    size_t bytes = 0;
  };
  // The matrix with its surroundings.
  static Region place(device_check::Matrix& matrix, Arena& arena, int64_t shift);

  Trial trial_;
  device_check::Product product_;
  device_check::Matrix bias_, a_scales_, b_scales_, d_scale_;
  GemmPointers pointers_;
  Region inputs_, output_;
  device_check::Findings* findings_ = nullptr;
};

}  // namespace warpwright::gpu_random

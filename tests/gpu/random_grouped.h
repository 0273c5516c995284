// Random products by groups of rows for the host API, and the memory they run in: whatever a product may not read is
// NaN, whatever it may not write is looked at afterwards.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/random_gemm.h"
#include "warpwright/grouped.h"

namespace warpwright::gpu_random {

struct GroupedTrial {
  GroupedProblem problem;
  std::vector<uint32_t> rows;     // offsets or counts, legal or not
  std::vector<int32_t> matrices;  // empty: group g has matrix g
  uint64_t seed = 0;
  bool exact = true;  // whole numbers and powers of two; otherwise normal values
  std::string text() const;
};

// Tables that a user may have, or one in which something is wrong.
enum class Tables : uint8_t { legal, wrong };
// `plain`: no fused epilogue, a scale for 128 rows of B. `any`: whatever some kernel serves.
enum class Modes : uint8_t { plain, any };
GroupedTrial draw_grouped(Groups groups, DType type, Tables tables, Modes modes, Random& random);

// What tile/group_table.h promises to make of a table.
struct MeantRows {
  struct Span {
    int64_t first = 0, count = 0;  // rows of A
    int matrix = 0;
    int64_t first_k = 0, end_k = 0;
    int64_t out = 0;  // the first row of D
  };
  std::vector<Span> spans;  // not empty, ascending
  uint32_t faults = 0;
};
MeantRows meant_rows(const GroupedTrial& trial);

struct GroupedFindings : device_check::Findings {
  uint32_t status = 0;
};

// A trial placed in an arena. The arena must outlive it.
class PlacedGrouped {
 public:
  PlacedGrouped(const GroupedTrial& trial, Arena& arena);
  void prepare(cudaStream_t stream) const;
  const GroupedPointers& pointers() const { return pointers_; }
  // Compares the result with the reference and looks for changes elsewhere; waits for the stream.
  GroupedFindings check(cudaStream_t stream) const;
  std::optional<std::string> complaint(const GroupedFindings& findings) const;
  const MeantRows& meant() const { return meant_; }

 private:
  struct Region {
    uint8_t* data = nullptr;  // 16-byte aligned, with NaN around it
    size_t bytes = 0;
  };
  static Region place(int64_t bytes, Arena& arena);
  static void spoil(const Region& region, int64_t offset, int64_t pitch, int64_t width, int64_t rows,
                    cudaStream_t stream);
  // What nothing may read becomes NaN: rows, columns and matrices of no group with their scales.
  void spoil_what_is_not_meant(cudaStream_t stream) const;

  GroupedTrial trial_;
  MeantRows meant_;
  std::vector<device_check::RowBlock> blocks_;
  device_check::GroupedProduct product_;
  Region a_, b_, a_scales_, b_scales_, bias_, d_, d_scales_, addend_, rows_, matrices_, row_blocks_;
  uint8_t* inputs_ = nullptr;  // all of them, with their surroundings
  size_t input_bytes_ = 0;
  GroupedPointers pointers_;
  device_check::Findings* findings_ = nullptr;
};

}  // namespace warpwright::gpu_random

// One product through the host API on random operands, compared with a float64 reference: the tool's `gemm` on a GPU,
// and the tests of the API there.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reference/problem_workload.h"
#include "reference/workload.h"
#include "warpwright/gemm.h"

namespace warpwright::measure {

struct GemmOutcome {
  reference::Verdict verdict;  // not ok either when bytes outside the result changed
  uint64_t elements = 0;       // elements of the result
  uint64_t stray_bytes = 0;    // outside it that changed
  double measured_us = 0;      // median of single launches with idle gaps between them
  std::string device, plan, instance, explanation;
  std::vector<uint8_t> output;
  int device_number = 0;
};

struct GemmTrial {
  reference::Data data = reference::Data::normal;
  uint64_t seed = 0;
  bool timed = false;
  // Elements by which the addresses of A, B and D miss the alignment of their memory; the problem's `alignment` must
  // allow it.
  reference::Offset offset = {};
  void* stream = nullptr;  // null: its own
};

// Anything but ok: it could not be run. What ran and was wrong is in the outcome. The problem's strides are respected,
// except that C, residual and bias are packed.
Status check_gemm(GemmProblem problem, const GemmTrial& trial, GemmOutcome& outcome);

}  // namespace warpwright::measure

// The basis of the choice: brief times of every plan on problems drawn at random. The model is fitted to one draw and
// judged by another (bench/choice).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/bench_gpu.h"

namespace warpwright::measure {

// Extents are log-uniform: m from 1 to 8192, n from 256 to 32768, k from 256 to 16384. Three of four have n and k in
// multiples of 8, the others any. The same on every machine.
std::vector<BenchShape> draw_shapes(int count, uint64_t draw, DType dtype);

struct BasisRow {
  BenchShape shape;
  std::string plan;  // empty: the fastest of the peer's choices
  double us = 0;     // time of a launch among others of its kind, which may overlap with the next
};

struct BasisOptions {
  choice::OnDemand on_demand = choice::OnDemand::refused;
  double budget_s = 0;  // stop taking new problems after so many seconds; 0: none
};

// Calls `done` with the rows of each problem. Plans that a glance shows to be far behind are left out. A failure is
// the driver's.
Status time_basis(const std::vector<BenchShape>& shapes, const BasisOptions& options,
                  const std::function<void(const std::vector<BasisRow>&)>& done);

}  // namespace warpwright::measure

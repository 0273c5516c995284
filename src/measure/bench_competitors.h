// Who is measured, and on what. Failures are thrown (gpu/require.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/memory.h"
#include "measure/bench_measure.h"
#include "measure/peer_cublas.h"
#include "reference/workload.h"
#include "warpwright/gemm.h"

namespace warpwright::measure {

// Normal values from a pool that is repeated.
void fill_normal(DType type, uint64_t seed, const gpu::DeviceMemory& to, size_t bytes);

// Sets of A, B and D. Normal values: zeros or a constant would draw less power and run faster than real data.
class Operands {
 public:
  Operands(const BenchShape& shape, uint64_t least_bytes);

  int sets() const { return sets_; }
  void* a(int set) const { return a_.data() + a_stride_ * size_t(set); }
  void* b(int set) const { return b_.data() + b_stride_ * size_t(set); }
  void* d(int set) const { return d_.data() + d_stride_ * size_t(set); }

  void poison(int set) const;
  reference::Array result(int set) const;

 private:
  BenchShape shape_;
  size_t a_stride_, b_stride_, d_stride_;
  int sets_;
  gpu::DeviceMemory a_, b_, d_;
};

// How our launches follow each other.
struct Following {
  bool dependent = true;
  bool constant_b = false;
};
// The host API's problem for a shape of the benchmark.
GemmProblem problem_of(const BenchShape& shape, const std::string& plan, Following following);

// Our side: a plan of the host API.
class Ours {
 public:
  Ours(const BenchShape& shape, const std::string& plan, Following following, const Operands& operands);
  std::string name() const { return plan_->name(); }
  std::string origin() const { return plan_->origin(); }
  LaunchSet launch() const;

 private:
  std::shared_ptr<const GemmPlan> plan_;
  std::shared_ptr<const gpu::DeviceMemory>
      workspace_;  // the plan's workspace: launches are captured, which allows no allocation
  const Operands& operands_;
};

LaunchSet peer_launch(const PeerGemm& peer, const Operands& operands);
// The peer's algorithms that are fastest in a test of a mode, of twice `seconds` each, the best first.
std::vector<int> finalists(PeerGemm& peer, const LaunchSet& launch, int sets, BenchMode mode, size_t most,
                           const gpu::Stream& stream, double seconds = 0.03);

// Norm of the difference of two results over the norm of the second.
double compare_results(const LaunchSet& ours, const LaunchSet& peers, const Operands& operands,
                       const gpu::Stream& stream);

}  // namespace warpwright::measure

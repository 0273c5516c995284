// Compares D with the product of launch/verify_rules.h: a thread takes an element at a time.
#include "launch/verify_rules.h"

namespace {

using warpwright::VerifyArgs;

__device__ void place_of(const VerifyArgs& p, int64_t number, int64_t& row, int64_t& column, int64_t& batch) {
  column = number % p.n;
  row = number / p.n % p.m;
  batch = number / p.n / p.m;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) verify_product(const VerifyArgs p) {
  const int64_t threads = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < p.compared(); i += threads) {
    const int64_t number = i * p.step;
    int64_t row, column, batch;
    place_of(p, number, row, column, batch);
    const auto expected = warpwright::verifying::expected_at(p, row, column, batch);
    const double got = warpwright::verifying::element(p.d, row, column, batch);
    atomicAdd(&p.found->checked, 1ull);
    if (warpwright::verifying::is_right(p, expected, got)) continue;
    atomicAdd(&p.found->wrong, 1ull);
    atomicMin(&p.found->first, static_cast<unsigned long long>(number));
  }
}

extern "C" __global__ void __launch_bounds__(32) verify_first(const VerifyArgs p) {
  if (threadIdx.x != 0 || p.found->wrong == 0) return;
  int64_t row, column, batch;
  place_of(p, int64_t(p.found->first), row, column, batch);
  p.found->expected = warpwright::verifying::expected_at(p, row, column, batch).expected;
  p.found->got = warpwright::verifying::element(p.d, row, column, batch);
}

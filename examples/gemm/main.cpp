// D = silu(A * B^T) in bf16 on the GPU that is here.
#include <cuda_runtime_api.h>
#include <warpwright/gemm.h>

#include <cstdio>

int main() {
  warpwright::GemmProblem problem{.m = 300, .n = 520, .k = 200};
  problem.epilogue.activation = warpwright::Activation::silu;
  void *a = nullptr, *b = nullptr, *d = nullptr;
  cudaMalloc(&a, 300 * 200 * 2);
  cudaMalloc(&b, 520 * 200 * 2);
  cudaMalloc(&d, 300 * 520 * 2);
  const warpwright::Status done = warpwright::gemm(problem, {.a = a, .b = b, .d = d});
  std::puts(done ? "launched" : done.message().c_str());
  return done && cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}

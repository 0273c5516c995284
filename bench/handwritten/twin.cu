// The library's GEMM beside its hand-written twin, in one process: equal to the bit, and times of alternating bursts,
// four to a round. Prints JSON.
//
//   handwritten_gemm [rounds]
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "dense_gemm_sm90.cuh"
#include "warpwright/kernel/sm90/dense/dense_gemm.h"
#include "warpwright/launch.h"

namespace {

// sm90/dense-128x256-c2-s4/bf16-nt, for which the twin is written.
constexpr warpwright::DenseGemmConfig kConfig{.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 2};
using Shipped = warpwright::kernel::sm90::DenseGemm<kConfig>;
constexpr double kBurst = 0.25;  // seconds, at least

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(error));
  std::exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 3 : 1);
}

__global__ void fill_normal(__nv_bfloat16* to, size_t count, uint64_t seed) {
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ull + seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    const float u = (float(uint32_t(z) >> 8) + 1) * 0x1p-24f, v = float(uint32_t(z >> 32) >> 8) * 0x1p-24f;
    to[i] = __float2bfloat16_rn(sqrtf(-2 * logf(u)) * cospif(2 * v));
  }
}

CUtensorMap map_of(void* data, int rows, int columns, uint32_t box_rows) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  require(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
          "cudaGetDriverEntryPoint");
  CUtensorMap map;
  const cuuint64_t dims[2] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[1] = {cuuint64_t(columns) * 2};
  const cuuint32_t box[2] = {64, box_rows}, step[2] = {1, 1};
  if (reinterpret_cast<Encode>(function)(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, dims, strides, box, step,
                                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    std::fprintf(stderr, "cuTensorMapEncodeTiled failed\n");
    std::exit(1);
  }
  return map;
}

struct Case {
  handwritten::Args by_hand;
  warpwright::DenseGemmArgs shipped;
  unsigned ctas = 0;

  void launch_by_hand() const {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {2, 1, 1};
    config.gridDim = dim3(ctas);
    config.blockDim = dim3(handwritten::kThreads);
    config.dynamicSmemBytes = handwritten::kSharedBytes;
    config.attrs = &cluster;
    config.numAttrs = 1;
    require(cudaLaunchKernelEx(&config, handwritten::dense_gemm, by_hand), "the hand-written kernel");
  }
  void launch_shipped() const {
    require(warpwright::launch_kernel<Shipped>(shipped, ctas, nullptr), "the library's kernel");
  }
};

template <class Launch>
double burst_us(Launch&& launch, int launches, cudaEvent_t start, cudaEvent_t stop) {
  require(cudaEventRecord(start), "cudaEventRecord");
  for (int i = 0; i < launches; ++i) launch();
  require(cudaEventRecord(stop), "cudaEventRecord");
  require(cudaEventSynchronize(stop), "the kernels");
  float ms = 0;
  require(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
  return double(ms) * 1e3 / launches;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 == 1 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

bool measure(int side, int rounds, bool last) {
  const size_t count = size_t(side) * size_t(side);
  __nv_bfloat16 *a = nullptr, *b = nullptr, *d = nullptr, *by_hand = nullptr;
  for (__nv_bfloat16** matrix : {&a, &b, &d, &by_hand}) require(cudaMalloc(matrix, count * 2), "cudaMalloc");
  fill_normal<<<528, 256>>>(a, count, 1);
  fill_normal<<<528, 256>>>(b, count, 2);
  require(cudaMemset(d, 0xff, count * 2), "cudaMemset");
  require(cudaMemset(by_hand, 0xee, count * 2), "cudaMemset");

  Case c;
  c.by_hand = {map_of(a, side, side, 128),
               map_of(b, side, side, 128),
               map_of(by_hand, side, side, 64),
               side,
               side,
               side,
               1.f,
               nullptr};
  const CUtensorMap to = map_of(d, side, side, 64);
  std::memcpy(&c.shipped.a, &c.by_hand.a, sizeof to);
  std::memcpy(&c.shipped.b, &c.by_hand.b, sizeof to);
  std::memcpy(&c.shipped.d, &to, sizeof to);
  c.shipped.m = c.shipped.n = c.shipped.k = side;
  c.shipped.epilogue.alpha = 1;
  const int tiles = (side / 256) * (side / 256);
  c.ctas = 2 * unsigned(std::min(tiles, warpwright::max_active_clusters<Shipped>()));
  require(cudaFuncSetAttribute(handwritten::dense_gemm, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               int(handwritten::kSharedBytes)),
          "cudaFuncSetAttribute");

  c.launch_shipped();
  c.launch_by_hand();
  require(cudaDeviceSynchronize(), "the kernels");
  std::vector<uint16_t> x(count), y(count);
  require(cudaMemcpy(x.data(), d, count * 2, cudaMemcpyDeviceToHost), "cudaMemcpy");
  require(cudaMemcpy(y.data(), by_hand, count * 2, cudaMemcpyDeviceToHost), "cudaMemcpy");
  const bool written = std::none_of(x.begin(), x.end(), [](uint16_t v) { return v == 0xffff; });
  const bool equal = written && x == y;

  cudaEvent_t start, stop;
  require(cudaEventCreate(&start), "cudaEventCreate");
  require(cudaEventCreate(&stop), "cudaEventCreate");
  const auto shipped = [&] { c.launch_shipped(); };
  const auto hand = [&] { c.launch_by_hand(); };
  const int launches = int(kBurst * 1e6 / burst_us(shipped, 50, start, stop)) + 1;
  std::vector<double> ours, theirs, ratios;
  for (int round = 0; round < rounds; ++round) {
    // One, other, other, one: what the chip's heat does from burst to burst cancels.
    double one = 0, other = 0;
    const auto both = [&](bool swapped) {
      if (!swapped) one += burst_us(shipped, launches, start, stop) / 2;
      other += burst_us(hand, launches, start, stop) / 2;
      if (swapped) one += burst_us(shipped, launches, start, stop) / 2;
    };
    both(round % 2 == 1);
    both(round % 2 == 0);
    ours.push_back(one);
    theirs.push_back(other);
    ratios.push_back(other / one);
  }
  std::printf(
      "    {\"size\": [%d, %d, %d], \"equal_to_the_bit\": %s, \"launches_in_a_burst\": %d, \"shipped_us\": %.2f, "
      "\"by_hand_us\": %.2f, \"by_hand_over_shipped\": %.4f, \"lowest\": %.4f, \"highest\": %.4f, \"rounds\": [",
      side, side, side, equal ? "true" : "false", launches, median(ours), median(theirs), median(ratios),
      *std::min_element(ratios.begin(), ratios.end()), *std::max_element(ratios.begin(), ratios.end()));
  for (size_t i = 0; i < ratios.size(); ++i) std::printf("%s%.4f", i == 0 ? "" : ", ", ratios[i]);
  std::printf("]}%s\n", last ? "" : ",");
  for (__nv_bfloat16* matrix : {a, b, d, by_hand}) (void)cudaFree(matrix);
  (void)cudaEventDestroy(start);
  (void)cudaEventDestroy(stop);
  return equal;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(2, std::atoi(arguments[1])) : 8;
  cudaDeviceProp device{};
  require(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  char date[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  std::printf(
      "{\"command\": \"handwritten_gemm %d\", \"date\": \"%s\", \"device\": \"%s\",\n  \"kernel\": \"bf16 "
      "128x256x64, 4 stages, cluster 2\", \"burst_s\": %.2f, \"operands\": \"standard normal\",\n  \"sizes\": [\n",
      rounds, date, device.name, kBurst);
  bool equal = measure(4096, rounds, false);
  equal = measure(8192, rounds, true) && equal;
  std::printf("  ]}\n");
  return equal ? 0 : 1;
}

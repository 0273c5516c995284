// What single words cost on a GPU, in SM cycles: where constants of src/sim/timing.cpp come from. Prints one line a
// measurement; docs/evidence/word-costs.txt is its output on an H200.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "warpwright/core/descriptor.h"
#include "warpwright/machine/machine.h"

namespace {

using namespace warpwright;
namespace words = warpwright::machine;

constexpr int kSms = 132;
constexpr int kSharedBytes = 200 * 1024;
constexpr int kColumns = 4096;               // of the matrix that boxes are taken from
constexpr int kBoxBytes = 64 * 64 * 2;       // bf16, 128-byte swizzle
constexpr int kRowsOfBoxes = kColumns / 64;  // boxes along a row

void require(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

__device__ uint32_t shared_start() {
  extern __shared__ uint8_t raw[];
  return (uint32_t(__cvta_generic_to_shared(raw)) + 1023) / 1024 * 1024;
}
__device__ int64_t now() {
  int64_t t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}
__device__ int64_t wall_ns() {
  int64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}
__device__ words::Coords<2> box_at(int i) { return {i % kRowsOfBoxes * 64, i / kRowsOfBoxes * 64}; }

__global__ void empty_kernel() {}
__global__ void spin_kernel(int64_t ns) {
  const int64_t start = wall_ns();
  while (wall_ns() - start < ns) {
  }
}

// All threads of 1 to 3 warpgroups arrive on one barrier; a further warp waits for it.
__global__ void arrivals(int64_t* out, int groups, int rounds) {
  const uint32_t base = shared_start();
  const Shared<Mbarrier> full{base};
  const int warp = int(threadIdx.x) / 32, arriving = groups * 128;
  if (threadIdx.x == 0) words::mbarrier_init(full, uint32_t(arriving));
  __syncthreads();
  words::Phase phase = words::Phase::consumer();
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    const int64_t begin = now();
    if (int(threadIdx.x) < arriving) {
      words::fence_proxy_async<ProxySpace::shared_cta>();
      const int64_t fenced = now();
      words::mbarrier_arrive(full);
      const int64_t end = now();
      if (threadIdx.x == 0) out[0] = fenced - begin, out[1] = end - fenced;
    } else if (warp == groups * 4) {
      words::mbarrier_wait(full, phase);
      if (threadIdx.x % 32 == 0) out[2] = now() - begin;
    }
    phase.advance();
  }
}

// Boxes stored at once by `threads` warps of a CTA, each `each` of them: until read, until written.
__global__ void stores(const __grid_constant__ TensorMap map, int64_t* out, int each, int rounds) {
  const uint32_t base = shared_start();
  const int warp = int(threadIdx.x) / 32, warps = int(blockDim.x) / 32;
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
      const int64_t begin = now();
      for (int i = 0; i < each; ++i) {
        words::tma_store(&map, box_at((int(blockIdx.x) * warps + warp) * each + i),
                         Shared<uint8_t>{base + uint32_t((warp * each + i) * kBoxBytes)});
      }
      words::bulk_commit();
      const int64_t issued = now();
      words::bulk_wait_read<0>();
      const int64_t read = now();
      words::bulk_wait<0>();
      const int64_t written = now();
      if (r == rounds - 1) {
        int64_t* o = out + (blockIdx.x * warps + warp) * 3;
        o[0] = issued - begin, o[1] = read - begin, o[2] = written - begin;
      }
    }
  }
}

// `count` boxes loaded at once by one thread; when the first and the last have landed. Boxes lie `stride` CTAs apart.
__global__ void loads(const __grid_constant__ TensorMap map, int64_t* out, int count, int first_box, int rounds) {
  const uint32_t base = shared_start();
  const Shared<Mbarrier> full{base};
  if (threadIdx.x != 0) return;
  for (int i = 0; i < 24; ++i) words::mbarrier_init(full + i, 1);
  words::fence_mbarrier_init();
  words::Phase phase = words::Phase::consumer();
  for (int r = 0; r < rounds; ++r) {
    const int64_t begin = now();
    for (int i = 0; i < count; ++i) {
      words::mbarrier_arrive_expect_tx(full + i, kBoxBytes);
      words::tma_load(Shared<uint8_t>{base + 1024 + uint32_t(i * kBoxBytes)}, &map,
                      box_at(first_box + (r * int(gridDim.x) + int(blockIdx.x)) * count + i), full + i);
    }
    const int64_t issued = now();
    words::mbarrier_wait(full, phase);
    const int64_t first = now();
    for (int i = 1; i < count; ++i) words::mbarrier_wait(full + i, phase);
    const int64_t last = now();
    phase.advance();
    if (r == rounds - 1) {
      int64_t* o = out + blockIdx.x * 3;
      o[0] = issued - begin, o[1] = first - begin, o[2] = last - begin;
    }
  }
}

// A ring of boxes that is always full: bytes a cycle into one SM, and of the chip.
__global__ void stream(const __grid_constant__ TensorMap map, int64_t* out, int boxes, int64_t range) {
  const uint32_t base = shared_start();
  constexpr int kStages = 20;
  const Shared<Mbarrier> full{base};
  if (threadIdx.x != 0) return;
  for (int i = 0; i < kStages; ++i) words::mbarrier_init(full + i, 1);
  words::fence_mbarrier_init();
  const auto load = [&](int i) {
    const int stage = i % kStages;
    words::mbarrier_arrive_expect_tx(full + stage, kBoxBytes);
    words::tma_load(Shared<uint8_t>{base + 1024 + uint32_t(stage * kBoxBytes)}, &map,
                    box_at(int((int64_t(i) * gridDim.x + blockIdx.x) % range)), full + stage);
  };
  const int64_t begin = now(), begin_ns = wall_ns();
  for (int i = 0; i < kStages; ++i) load(i);
  words::Phase phase = words::Phase::consumer();
  for (int i = 0; i < boxes; ++i) {
    if (i > 0 && i % kStages == 0) phase.advance();
    words::mbarrier_wait(full + i % kStages, phase);
    if (i + kStages < boxes) load(i + kStages);
  }
  out[blockIdx.x * 2] = now() - begin;
  out[blockIdx.x * 2 + 1] = wall_ns() - begin_ns;
}

// 256 threads send `quads` times 16 bytes each to the next CTA of the cluster; a remote arrival and its wait.
__global__ void distributed(int64_t* out, int quads, int rounds) {
  const uint32_t base = shared_start();
  const Shared<Mbarrier> bar{base}, back{base + 8};
  using Quad = Vec<float, 4>;
  const uint32_t rank = words::cluster_rank(), size = words::cluster_size(), next = (rank + 1) % size;
  if (threadIdx.x == 0) {
    words::mbarrier_init(bar, 8);
    words::mbarrier_init(back, 1);
    words::fence_mbarrier_init();
  }
  words::cluster_sync();
  words::Phase phase = words::Phase::consumer();
  for (int r = 0; r < rounds; ++r) {
    words::cluster_sync();
    const int64_t begin = now();
    for (int q = 0; q < quads; ++q) {
      const Shared<Quad> at = Shared<Quad>{base + 1024} + (q * 256 + int(threadIdx.x));
      words::store(words::map_to_rank(at, next), Quad{{1, 2, 3, float(q)}});
    }
    const int64_t issued = now();
    __syncwarp();
    if (threadIdx.x % 32 == 0) words::mbarrier_arrive<Scope::cluster>(words::map_to_rank(bar, next), 1);
    words::mbarrier_wait<Scope::cluster>(bar, phase);
    const int64_t received = now();
    phase.advance();
    if (r == rounds - 1 && threadIdx.x == 0) {
      int64_t* o = out + blockIdx.x * 2;
      o[0] = issued - begin, o[1] = received - begin;
    }
  }
  words::cluster_sync();
}

// Barriers of the block and the cluster.
__global__ void meetings(int64_t* out, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    words::cluster_sync();
    const int64_t a = now();
    words::cluster_arrive_relaxed();
    words::cluster_wait();
    const int64_t b = now();
    words::cluster_sync();
    const int64_t c = now();
    __syncthreads();
    const int64_t d = now();
    if (threadIdx.x == 0) {
      int64_t* o = out + blockIdx.x * 3;
      o[0] = b - a, o[1] = c - b, o[2] = d - c;
    }
  }
}

// setmaxnreg in a block of three warpgroups.
__global__ void __launch_bounds__(384, 1) registers(int64_t* out) {
  __syncthreads();
  const int64_t begin = now();
  if (threadIdx.x >= 256) {
    words::registers_decrease<40>();
  } else {
    words::registers_increase<232>();
  }
  if (threadIdx.x % 128 == 0) out[threadIdx.x / 128] = now() - begin;
}

// A chain of MMAs of width N by one or two warpgroups, operands in shared memory.
template <int N>
__global__ void __launch_bounds__(256) chain(int64_t* out, int length) {
  const uint32_t base = shared_start();
  const int group = int(threadIdx.x) / 128;
  words::Accumulator<N> sums;
  const uint64_t a = encode_sm90(k_major_desc(DType::bf16, Swizzle::b128, 64, base + uint32_t(group) * 8192));
  const uint64_t b = encode_sm90(k_major_desc(DType::bf16, Swizzle::b128, N, base + 16384));
  __syncthreads();
  int64_t begin = 0;
  for (int r = 0; r < 2; ++r) {
    begin = now();
    for (int i = 0; i < length; i += 4) {
      words::wgmma_fence();
      words::wgmma_ss<DType::bf16>(sums, a, b, i != 0);
      words::wgmma_ss<DType::bf16>(sums, advance_desc(a, 32), advance_desc(b, 32), true);
      words::wgmma_ss<DType::bf16>(sums, advance_desc(a, 64), advance_desc(b, 64), true);
      words::wgmma_ss<DType::bf16>(sums, advance_desc(a, 96), advance_desc(b, 96), true);
      words::wgmma_commit();
      words::wgmma_wait<1>();
    }
    words::wgmma_wait<0>();
  }
  const int64_t end = now();
  float keep = 0;
  for (int i = 0; i < N / 2; ++i) keep += sums.get(i);
  if (threadIdx.x == 0) out[0] = end - begin;
  if (keep == 12345.f) out[1] = 1;
}

template <class... Params, class... Given>
void launch(void (*kernel)(Params...), int ctas, int threads, int cluster, cudaStream_t stream, Given... given) {
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes), "shared memory");
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(ctas));
  config.blockDim = dim3(unsigned(threads));
  config.dynamicSmemBytes = kSharedBytes;
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(cluster), 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  require(cudaLaunchKernelEx(&config, kernel, Params(given)...), "launch");
}

struct Bench {
  cudaStream_t stream{};
  int64_t* out{};
  uint8_t* memory{};
  static constexpr size_t kMemory = size_t(1) << 30;
  TensorMap map{};
  std::vector<int64_t> host = std::vector<int64_t>(16384);

  Bench() {
    require(cudaStreamCreate(&stream), "stream");
    require(cudaMallocManaged(&out, host.size() * 8), "memory");
    require(cudaMalloc(&memory, kMemory), "memory");
    require(cudaMemset(memory, 0, kMemory), "memset");
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    require(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found),
            "driver entry point");
    const cuuint64_t dims[2] = {kColumns, kMemory / (kColumns * 2)}, strides[1] = {kColumns * 2};
    const cuuint32_t box[2] = {64, 64}, steps[2] = {1, 1};
    const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
    const CUresult r = encode(reinterpret_cast<CUtensorMap*>(&map), CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, memory, dims,
                              strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                              CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r != CUDA_SUCCESS) std::printf("cuTensorMapEncodeTiled: %d\n", int(r)), std::exit(1);
  }
  void finish(const char* what) {
    require(cudaStreamSynchronize(stream), what);
    std::copy(out, out + host.size(), host.begin());
  }
  // Least, median and most of column `at` of rows of `width`.
  void column(const char* name, int rows, int width, int at) {
    std::vector<int64_t> v;
    for (int i = 0; i < rows; ++i) v.push_back(host[size_t(i * width + at)]);
    std::sort(v.begin(), v.end());
    std::printf(" %s %ld/%ld/%ld", name, long(v.front()), long(v[v.size() / 2]), long(v.back()));
  }
  // us of a node of a graph of `nodes` of them.
  template <class Put>
  double node_us(Put put) {
    constexpr int nodes = 400;
    cudaGraph_t graph{};
    cudaGraphExec_t exec{};
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < nodes; ++i) put();
    require(cudaStreamEndCapture(stream, &graph), "capture");
    require(cudaGraphInstantiate(&exec, graph, 0), "graph");
    cudaEvent_t start{}, stop{};
    require(cudaEventCreate(&start), "event");
    require(cudaEventCreate(&stop), "event");
    float best = 1e9f;
    for (int r = 0; r < 5; ++r) {
      require(cudaEventRecord(start, stream), "event");
      require(cudaGraphLaunch(exec, stream), "graph");
      require(cudaEventRecord(stop, stream), "event");
      require(cudaStreamSynchronize(stream), "graph");
      float ms = 0;
      require(cudaEventElapsedTime(&ms, start, stop), "event");
      best = std::min(best, ms);
    }
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    return double(best) * 1e3 / nodes;
  }
};

template <int N>
void chains(Bench& b) {
  constexpr int length = 256;
  for (const int groups : {1, 2}) {
    launch(chain<N>, 1, 128 * groups, 1, b.stream, b.out, length);
    b.finish("chain");
    std::printf("wgmma m64n%dk16, %d warpgroups: %.1f cycles each\n", N, groups, double(b.host[0]) / length);
  }
}

}  // namespace

// With any argument only empty kernels, for a profiler.
int main(int count, char**) {
  Bench b;
  if (count > 1) {
    for (const int cluster : {1, 2}) {
      for (int i = 0; i < 3; ++i) launch(empty_kernel, kSms, 384, cluster, b.stream);
      for (int i = 0; i < 3; ++i) launch(spin_kernel, kSms, 384, cluster, b.stream, 5000);
    }
    b.finish("empty kernels");
    return 0;
  }
  for (const int cluster : {1, 2, 4}) {
    const int ctas = cluster == 4 ? 120 : kSms;
    const auto node = [&](auto kernel, auto... given) {
      return b.node_us([&] { launch(kernel, ctas, 384, cluster, b.stream, given...); });
    };
    const double empty = node(empty_kernel), short_spin = node(spin_kernel, 5000), long_spin = node(spin_kernel, 20000);
    std::printf(
        "graph node, %d CTAs of 384 threads, 200 KB, cluster %d: empty %.2f us; 5 us of spinning %.2f us; 20 us %.2f "
        "us\n",
        ctas, cluster, empty, short_spin, long_spin);
  }
  for (const int groups : {1, 2, 3}) {
    launch(arrivals, 1, groups * 128 + 32, 1, b.stream, b.out, groups, 8);
    b.finish("arrivals");
    std::printf(
        "%d arrivals on one barrier: fence.proxy.async %ld, arrive issued %ld, waiter released %ld after the start\n",
        groups * 128, long(b.host[0]), long(b.host[1]), long(b.host[2]));
  }
  for (const int ctas : {1, kSms}) {
    for (const auto& [warps, each] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 4}}) {
      launch(stores, ctas, 32 * warps, 1, b.stream, b.map, b.out, each, 4);
      b.finish("stores");
      std::printf("%d CTAs, %d warps store %d boxes of 8 KB each:", ctas, warps, each);
      b.column("issued", ctas * warps, 3, 0);
      b.column("read", ctas * warps, 3, 1);
      b.column("written", ctas * warps, 3, 2);
      std::printf("\n");
    }
  }
  for (const int ctas : {1, kSms}) {
    for (const int count : {1, 4, 16}) {
      for (const bool cold : {false, true}) {
        // Warm: the same boxes just before. Cold: from the far end of 1 GB, of which the L2 holds 50 MB.
        static int far = 0;
        const int boxes = int(Bench::kMemory / kBoxBytes);
        far = (far + 4 * kSms * 16) % (boxes / 2);
        if (cold) {
          require(cudaMemsetAsync(b.memory, 0, size_t(128) << 20, b.stream), "memset");
          launch(loads, ctas, 32, 1, b.stream, b.map, b.out, count, boxes / 2 + far, 1);
        } else {
          for (int i = 0; i < 2; ++i) launch(loads, ctas, 32, 1, b.stream, b.map, b.out, count, 0, 2);
        }
        b.finish("loads");
        std::printf("%d CTAs, %d boxes of 8 KB each, %s:", ctas, count, cold ? "device memory" : "L2");
        b.column("issued", ctas, 3, 0);
        b.column("first", ctas, 3, 1);
        b.column("last", ctas, 3, 2);
        std::printf("\n");
      }
    }
  }
  for (const auto& [ctas, megabytes] : {std::pair{1, 16}, {16, 16}, {kSms, 16}, {kSms, 1024}}) {
    const int boxes = ctas == kSms ? 900 : 4000;
    for (int i = 0; i < 2; ++i) {
      launch(stream, ctas, 32, 1, b.stream, b.map, b.out, boxes, (int64_t(megabytes) << 20) / kBoxBytes);
    }
    b.finish("stream");
    std::printf("stream of boxes, %d CTAs, from %d MB:", ctas, megabytes);
    b.column("cycles", ctas, 2, 0);
    b.column("ns", ctas, 2, 1);
    std::printf(" bytes of a CTA %ld\n", long(boxes) * kBoxBytes);
  }
  for (const int cluster : {2, 4}) {
    for (const int ctas : {cluster, cluster == 2 ? kSms : 120}) {
      for (const int quads : {0, 1, 4, 12}) {
        launch(distributed, ctas, 256, cluster, b.stream, b.out, quads, 4);
        b.finish("distributed");
        std::printf("%d CTAs, cluster %d, %d bytes to the next CTA:", ctas, cluster, quads * 4096);
        b.column("issued", ctas, 2, 0);
        b.column("received", ctas, 2, 1);
        std::printf("\n");
      }
    }
  }
  for (const int cluster : {1, 2, 4}) {
    launch(meetings, 8, 384, cluster, b.stream, b.out, 4);
    b.finish("meetings");
    std::printf("cluster of %d, 384 threads:", cluster);
    b.column("relaxed", 8, 3, 0);
    b.column("released", 8, 3, 1);
    b.column("syncthreads", 8, 3, 2);
    std::printf("\n");
  }
  chains<8>(b);
  chains<16>(b);
  chains<64>(b);
  chains<128>(b);
  chains<256>(b);
  std::fflush(stdout);
  launch(registers, 1, 384, 1, b.stream, b.out);
  b.finish("registers");
  std::printf("setmaxnreg, cycles of the three warpgroups: inc %ld, inc %ld, dec %ld\n", long(b.host[0]),
              long(b.host[1]), long(b.host[2]));
  return 0;
}

// Measures the kernels of the sweep in one process: bf16, 4096 x 4096 x 4096, standard normal operands in three sets in
// turn. First all of them, and those of a peer library, in short bursts. Then the best, the best of every tile and
// depth, the compiler's choice and the best peers in rounds: in each round every kernel has one burst, in an order that
// is drawn anew, and its ratio is that of the compiler's choice in the same round. Two modes: sustained (0.25 s, back
// to back) and cool (0.02 s after a pause).
//
//   measure FOLDER RESULT.json [--seconds S] [--screening ROUNDS] [--finalists N] [--peer LIBRARY]
//
// A kernel counts only if its result is right: every byte equals the first one's, or every element that is compared
// with a plain product is within tolerance (an order that adds the slices of K in another sequence rounds differently).
#include <cuda_bf16.h>
#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "gpu/memory.h"
#include "gpu/require.h"
#include "warpwright/kernel/sm80/config.h"

namespace {

using namespace warpwright;
using gpu::require;
using nlohmann::json;

constexpr int kExtent = 4096;
constexpr size_t kBytes = size_t(kExtent) * kExtent * 2;
constexpr int kSets = 3;

__device__ unsigned scramble(unsigned x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}
__global__ void fill_normal(__nv_bfloat16* values, unsigned seed) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < kExtent * kExtent; i += gridDim.x * blockDim.x) {
    const float u = (float(scramble(2 * i + seed)) + 1.f) / 4294967808.f;
    const float v = float(scramble(2 * i + 1 + seed)) / 4294967296.f;
    values[i] = __float2bfloat16(sqrtf(-2.f * logf(u)) * cospif(2.f * v));
  }
}
// Every 61st column of every 17th row.
__global__ void compare_product(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* d, int* wrong) {
  const int row = 17 * blockIdx.x, column = 61 * threadIdx.x;
  if (row >= kExtent || column >= kExtent) return;
  float sum = 0, size = 0;
  for (int k = 0; k < kExtent; ++k) {
    const float product = __bfloat162float(a[row * kExtent + k]) * __bfloat162float(b[column * kExtent + k]);
    sum += product;
    size += fabsf(product);
  }
  const float got = __bfloat162float(d[row * kExtent + column]);
  if (!(fabsf(got - sum) <= fabsf(sum) / 128 + size / (1 << 18))) atomicAdd(wrong, 1);
}
__global__ void compare_bytes(const uint4* x, const uint4* y, int* wrong) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < kBytes / 16; i += gridDim.x * blockDim.x) {
    if (x[i].x != y[i].x || x[i].y != y[i].y || x[i].z != y[i].z || x[i].w != y[i].w) atomicAdd(wrong, 1);
  }
}

struct Operands {
  gpu::DeviceMemory a{kBytes}, b{kBytes}, d{kBytes};
};

struct Candidate {
  std::string name;
  json about;
  std::function<void(const Operands&, cudaStream_t)> launch;
  double us = 0;  // in short bursts
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 == 1 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}
double tflops(double us) { return 2. * kExtent * kExtent * kExtent / us * 1e-6; }

class Bench {
 public:
  explicit Bench(double seconds) : end_(now() + seconds) {
    sets_ = std::vector<Operands>(kSets);
    unsigned seed = 1;
    for (const Operands& s : sets_) {
      for (const gpu::DeviceMemory* m : {&s.a, &s.b}) {
        fill_normal<<<1024, 256, 0, stream_.get()>>>(reinterpret_cast<__nv_bfloat16*>(m->data()), seed += 0x9e3779b9u);
      }
    }
    stream_.synchronize();
  }
  double left() const { return end_ - now(); }

  // Microseconds a launch.
  double burst(const Candidate& c, double seconds) {
    double& guess = guess_.try_emplace(c.name, 0).first->second;
    if (guess == 0) guess = launches(c, 3);
    return guess = launches(c, std::max(3, int(seconds * 1e6 / guess)));
  }
  enum class Check { same_bytes, same_product, wrong };
  Check check(const Candidate& c) {
    const Operands& s = sets_[0];
    int* const count = reinterpret_cast<int*>(wrong_.data());
    const auto values = [](const gpu::DeviceMemory& m) { return reinterpret_cast<const __nv_bfloat16*>(m.data()); };
    require(cudaMemsetAsync(s.d.data(), 0xff, kBytes, stream_.get()), "cudaMemset");
    c.launch(s, stream_.get());
    if (have_expected_) {
      const auto words = [](const gpu::DeviceMemory& m) { return reinterpret_cast<const uint4*>(m.data()); };
      clear(count);
      compare_bytes<<<1024, 256, 0, stream_.get()>>>(words(s.d), words(expected_), count);
      if (read(count) == 0) return Check::same_bytes;
    }
    clear(count);
    compare_product<<<kExtent / 17 + 1, 96, 0, stream_.get()>>>(values(s.a), values(s.b), values(s.d), count);
    if (read(count) != 0) return Check::wrong;
    if (have_expected_) return Check::same_product;
    require(cudaMemcpyAsync(expected_.data(), s.d.data(), kBytes, cudaMemcpyDeviceToDevice, stream_.get()), "a copy");
    have_expected_ = true;
    return Check::same_bytes;
  }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  void clear(int* count) { require(cudaMemsetAsync(count, 0, sizeof(int), stream_.get()), "cudaMemset"); }
  int read(const int* count) {
    int n = 0;
    require(cudaMemcpyAsync(&n, count, sizeof n, cudaMemcpyDeviceToHost, stream_.get()), "a copy");
    stream_.synchronize();
    return n;
  }
  double launches(const Candidate& c, int count) {
    start_.record(stream_);
    for (int i = 0; i < count; ++i) c.launch(sets_[size_t(i % kSets)], stream_.get());
    stop_.record(stream_);
    stop_.synchronize();
    return stop_.us_since(start_) / count;
  }

  double end_;
  std::vector<Operands> sets_;
  gpu::DeviceMemory expected_{kBytes}, wrong_{sizeof(int)};
  bool have_expected_ = false;
  gpu::Stream stream_;
  gpu::Event start_, stop_;
  std::map<std::string, double> guess_;
};

// The kernels of the folder that were compiled.
std::vector<Candidate> load_orders(const std::string& folder, const json& manifest) {
  int sms = 0;
  require(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  std::map<std::string, cudaLibrary_t> files;
  std::vector<Candidate> out;
  for (const json& order : manifest["orders"]) {
    const std::string path = folder + "/" + order["file"].get<std::string>();
    if (!std::ifstream(path)) continue;
    const auto [file, added] = files.try_emplace(path, nullptr);
    if (added) {
      require(cudaLibraryLoadFromFile(&file->second, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              path.c_str());
    }
    const std::string id = order["kernel"];
    cudaKernel_t kernel = nullptr;
    require(cudaLibraryGetKernel(&kernel, file->second, id.c_str()), id.c_str());
    void* at = nullptr;
    size_t bytes = 0;
    unsigned shared = 0;
    require(cudaLibraryGetGlobal(&at, &bytes, file->second, (id + "_shared").c_str()), "the size of shared memory");
    require(cudaMemcpy(&shared, at, sizeof shared, cudaMemcpyDeviceToHost), "the size of shared memory");
    if (cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared), 0) !=
        cudaSuccess) {
      (void)cudaGetLastError();
      std::printf("%s needs %u bytes of shared memory\n", order["name"].get<std::string>().c_str(), shared);
      continue;
    }
    const int tile_m = order["tile"][0], tile_n = order["tile"][1], threads = order["threads"],
              blocks = order["blocks"];
    const unsigned ctas = unsigned(std::min(sms * blocks, kExtent / tile_m * (kExtent / tile_n)));
    out.push_back({order["name"], order, [=](const Operands& o, cudaStream_t stream) {
                     MmaSyncGemmArgs args;
                     args.a = o.a.data();
                     args.b = o.b.data();
                     args.d = o.d.data();
                     args.a_stride = args.b_stride = args.d_stride = kExtent;
                     args.m = args.n = args.k = kExtent;
                     void* list[] = {&args};
                     require(cudaLaunchKernel(kernel, dim3(ctas), dim3(unsigned(threads)), list, shared, stream),
                             "a launch");
                   }});
  }
  return out;
}

// A shared library with peer_count(), peer_name(i) and peer_run(i, a, b, d, extent, stream), which returns 0.
std::vector<Candidate> load_peers(const std::string& path) {
  std::vector<Candidate> out;
  void* const library = dlopen(path.c_str(), RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto count = reinterpret_cast<int (*)()>(dlsym(library, "peer_count"));
  const auto name = reinterpret_cast<const char* (*)(int)>(dlsym(library, "peer_name"));
  using Run = int (*)(int, const void*, const void*, void*, int, cudaStream_t);
  const auto run = reinterpret_cast<Run>(dlsym(library, "peer_run"));
  for (int i = 0; i < count(); ++i) {
    out.push_back({name(i), {}, [=](const Operands& o, cudaStream_t stream) {
                     if (run(i, o.a.data(), o.b.data(), o.d.data(), kExtent, stream) != 0) {
                       throw std::runtime_error(std::string(name(i)) + " failed");
                     }
                   }});
  }
  return out;
}

struct Mode {
  const char* name;
  double burst, pause, share;  // share of the time that is left
};
constexpr Mode kModes[] = {{"cool", 0.02, 0.1, 0.4}, {"sustained", 0.25, 0, 1}};

// One burst for each in every round; ratio = time of the chosen one / time of this one, in the same round.
json compare(Bench& bench, const std::vector<const Candidate*>& all, const Candidate& chosen, const Mode& mode) {
  std::mt19937 random(7);
  std::map<const Candidate*, std::vector<double>> us, ratios;
  const double until = bench.left() * (1 - mode.share) + 1;
  int rounds = 0;
  for (double longest = 0; rounds < 2 || bench.left() - longest > until; ++rounds) {
    const double begin = bench.left();
    std::vector<const Candidate*> order = all;
    std::shuffle(order.begin(), order.end(), random);
    for (const Candidate* c : order) {
      if (mode.pause > 0) std::this_thread::sleep_for(std::chrono::duration<double>(mode.pause));
      us[c].push_back(bench.burst(*c, mode.burst));
    }
    for (const Candidate* c : all) ratios[c].push_back(us[&chosen].back() / us[c].back());
    longest = std::max(longest, begin - bench.left());
  }
  std::vector<const Candidate*> sorted = all;
  std::sort(sorted.begin(), sorted.end(), [&](auto* x, auto* y) { return median(us[x]) < median(us[y]); });
  json rows = json::array();
  std::printf("%s, %d rounds\n", mode.name, rounds);
  for (const Candidate* c : sorted) {
    const std::vector<double>& r = ratios[c];
    rows.push_back({{"name", c->name},
                    {"us", median(us[c])},
                    {"tflops", tflops(median(us[c]))},
                    {"ratio", median(r)},
                    {"ratio_lo", *std::min_element(r.begin(), r.end())},
                    {"ratio_hi", *std::max_element(r.begin(), r.end())}});
    std::printf("%8.2f us %6.1f TFLOP/s  ratio %.4f (%.4f to %.4f)  %s%s\n", median(us[c]), tflops(median(us[c])),
                median(r), rows.back()["ratio_lo"].get<double>(), rows.back()["ratio_hi"].get<double>(),
                c->name.c_str(), c == &chosen ? "  <- chosen" : "");
  }
  std::fflush(stdout);
  return {{"mode", mode.name}, {"burst_s", mode.burst}, {"pause_s", mode.pause}, {"rounds", rounds}, {"rows", rows}};
}

struct Options {
  std::string folder, result, peer;
  double seconds = 100;
  int screening = 3, finalists = 20;
};

// Everything in short bursts, in an order that is drawn anew for each round: what ran just before decides how warm the
// chip is.
void screen(Bench& bench, std::vector<Candidate*>& all, int rounds) {
  std::mt19937 random(3);
  std::map<const Candidate*, std::vector<double>> times;
  for (int r = 0; r < rounds; ++r) {
    std::vector<Candidate*> order = all;
    std::shuffle(order.begin(), order.end(), random);
    for (Candidate* c : order) times[c].push_back(bench.burst(*c, 0.015));
  }
  for (Candidate* c : all) c->us = median(times[c]);
  std::sort(all.begin(), all.end(), [](const Candidate* x, const Candidate* y) { return x->us < y->us; });
}

int run(const Options& o) {
  const json manifest = json::parse(std::ifstream(o.folder + "/orders.json"));
  cudaDeviceProp device = {};
  require(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  Bench bench(o.seconds);
  std::vector<Candidate> orders = load_orders(o.folder, manifest), peers;
  if (!o.peer.empty()) peers = load_peers(o.peer);
  json result = {{"device", device.name},
                 {"shape", {kExtent, kExtent, kExtent}},
                 {"dtype", "bf16"},
                 {"configurations", manifest["configurations"]},
                 {"orders", manifest["orders"].size()},
                 {"compiled", orders.size()},
                 {"wrong", json::array()},
                 {"screening", json::array()},
                 {"comparisons", json::array()}};
  const auto save = [&] { std::ofstream(o.result) << result.dump(1) << "\n"; };
  std::vector<Candidate*> right, right_peers;
  for (Candidate& c : orders) {
    const Bench::Check check = bench.check(c);
    if (check == Bench::Check::wrong) {
      std::printf("WRONG %s\n", c.name.c_str());
      result["wrong"].push_back(c.name);
    } else {
      c.about["same_bytes"] = check == Bench::Check::same_bytes;
      right.push_back(&c);
    }
  }
  for (Candidate& c : peers) {
    if (bench.check(c) != Bench::Check::wrong) right_peers.push_back(&c);
  }
  std::printf("%zu orders, %zu right; %zu peers, %zu right; %.0f s left\n", orders.size(), right.size(), peers.size(),
              right_peers.size(), bench.left());
  screen(bench, right, o.screening);
  screen(bench, right_peers, o.screening);
  for (const std::vector<Candidate*>* list : {&right, &right_peers}) {
    for (const Candidate* c : *list) {
      json row = c->about.is_null() ? json{{"name", c->name}} : c->about;
      row.erase("file");
      row["us"] = c->us;
      row["tflops"] = tflops(c->us);
      result["screening"].push_back(row);
    }
  }
  save();
  const Candidate* chosen = nullptr;
  for (const Candidate* c : right)
    if (c->about["default"]) chosen = c;
  if (chosen == nullptr) throw std::runtime_error("the compiler's choice is not among the orders that are right");
  std::printf("screened, %.0f s left; chosen %.2f us, best %.2f us\n", bench.left(), chosen->us, right[0]->us);

  std::vector<const Candidate*> finalists = {chosen};
  std::set<std::string> kinds;
  for (const Candidate* c : right) {
    const std::string kind = c->about["tile"].dump() + c->about["depth"].dump();
    const bool best_of_kind = kinds.insert(kind).second && c->us < 1.03 * right[0]->us;
    if (c != chosen && (int(finalists.size()) <= o.finalists || best_of_kind)) finalists.push_back(c);
  }
  for (size_t i = 0; i < right_peers.size() && i < 3; ++i) finalists.push_back(right_peers[i]);
  for (const Mode& mode : kModes) {
    result["comparisons"].push_back(compare(bench, finalists, *chosen, mode));
    save();
  }
  std::printf("done, %.0f s left\n", bench.left());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      (o.folder.empty() ? o.folder : o.result) = word;
    } else if (i + 1 < argc) {
      const std::string value = argv[++i];
      if (word == "--seconds") o.seconds = std::stod(value);
      if (word == "--screening") o.screening = std::stoi(value);
      if (word == "--finalists") o.finalists = std::stoi(value);
      if (word == "--peer") o.peer = value;
    }
  }
  if (o.result.empty()) {
    std::fprintf(stderr,
                 "usage: measure FOLDER RESULT.json [--seconds S] [--screening ROUNDS] [--finalists N] "
                 "[--peer LIBRARY]\n");
    return 2;
  }
  try {
    return run(o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}

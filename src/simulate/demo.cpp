// The kernels that teach: a ring, a ring in a cluster, and the life of tensor memory.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "launch/grid.h"
#include "launch/host_kernels.h"
#include "problem/refused.h"
#include "problem/validate.h"
#include "simulate/families.h"
#include "simulate/run.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Data;
using reference::Workload;
using Pointers = std::vector<void*>;

// There is room for this many sums.
constexpr int kSumClusters = 2;

Status takes_rows(DType type, Case s) {
  const int64_t unit = 128 / bits(type);
  if (s.m < 1 || s.n < 1) return problem::refused("m and n: at least 1.");
  if (s.n % unit) return problem::refused(fmt::format("n = {}: a row must be a multiple of 16 bytes (TMA).", s.n));
  return {};
}

auto fill_copy(const RingCopyConfig& c, const Workload& w) {
  return [&](RingCopyArgs& args, const Pointers& p, const launch::MapEncoder& encode) {
    return launch::fill(args, c, p[0], p[1], int(w.shape.m), int(w.shape.n), float(w.alpha), float(w.beta), encode);
  };
}
auto fill_sum(const ClusterRingConfig& c, const Workload& w) {
  return [&](ClusterRingArgs& args, const Pointers& p, const launch::MapEncoder& encode) {
    constexpr float scale[] = {1, 2, 3, 4, 5, 6, 7, 8};
    return launch::fill(args, c, p[0], static_cast<float*>(p[1]), int(w.shape.m), int(w.shape.n), scale, encode);
  };
}

}  // namespace

bool complete(Example& e, const catalog::Instance& instance, const RingCopyConfig& c) {
  e.takes = [c](Case s) { return takes_rows(c.type, s); };
  e.workload = [c](Case s, Data d, uint64_t seed) { return reference::affine_workload(s, c.type, 2, -1, d, seed); };
  e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int ctas) {
    return run_filled<RingCopyArgs>(instance, w, o, ctas ? ctas : 2, fill_copy(c, w));
  };
  e.launch = [instance, c](const Workload& w, const Pointers& p, void* stream) {
    return launch_filled<RingCopyArgs>(instance, p, stream, fill_copy(c, w),
                                       [&](const RingCopyArgs& args) { return launch::work_of(c, args); });
  };
  const Known known[] = {{"sm90/ring_copy-32x64-s4/fp32",
                          "y = alpha*x + beta through a TMA ring: load, compute and store roles",
                          {{256, 256, 0}, {1, 4, 0}, {33, 68, 0}, {32, 64, 0}}},
                         {"sm90/ring_copy-32x64-s4/bf16", "the same for bf16", {{256, 256, 0}, {31, 72, 0}}}};
  describe(e, known, "y = alpha*x + beta through a TMA ring",
           {{4 * c.tile_rows, 4 * c.tile_columns, 0}, {c.tile_rows + 1, c.tile_columns + 8, 0}});
  return true;
}

bool complete(Example& e, const catalog::Instance& instance, const ClusterRingConfig& c) {
  e.takes = [](Case s) { return takes_rows(DType::fp32, s); };
  e.workload = [c](Case s, Data d, uint64_t seed) {
    return reference::cluster_sum_workload(s, c, kSumClusters, d, seed);
  };
  e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int) {
    return run_filled<ClusterRingArgs>(instance, w, o, kSumClusters * c.cluster, fill_sum(c, w));
  };
  // As many clusters as there is room for, whatever they have to do.
  e.launch = [instance, c](const Workload& w, const Pointers& p, void* stream) {
    return launch_filled<ClusterRingArgs>(instance, p, stream, fill_sum(c, w),
                                          [](const ClusterRingArgs&) { return int64_t(kSumClusters); });
  };
  const Known known[] = {{"sm90/cluster_ring-32x64-c2-s4/fp32",
                          "tiles multicast to a cluster of two CTAs, each of which sums them",
                          {{256, 256, 0}, {40, 68, 0}, {1, 4, 0}}}};
  describe(e, known, "tiles multicast to a cluster, each CTA of which sums them",
           {{8 * c.tile_rows, 4 * c.tile_columns, 0}, {c.tile_rows + 8, c.tile_columns + 4, 0}, {1, 4, 0}});
  return true;
}

bool complete(Example& e, const catalog::Instance& instance, const TmemLifecycleConfig& c) {
  e.takes = [c](Case s) -> Status {
    GemmProblem p{.m = s.m, .n = s.n, .k = s.k};
    p.a.type = p.b.type = c.type;
    p.d.type = c.out_type;
    if (Status status = problem::validate(p, Arch::sm100); !status) return status;
    const int unit = 128 / bits(c.out_type);
    if (s.n % unit == 0) return {};
    return problem::refused(
        fmt::format("n = {}: rows of D are stored in whole 16-byte units, so n must be a multiple of {}.", s.n, unit));
  };
  e.workload = [c](Case s, Data d, uint64_t seed) {
    return reference::gemm_workload(s, c.type, c.out_type, 1, d, seed);
  };
  e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int ctas) {
    return run_filled<TmemLifecycleArgs>(
        instance, w, o, ctas ? ctas : 2,
        [&](TmemLifecycleArgs& args, const Pointers& p, const launch::MapEncoder& encode) {
          return launch::fill(args, c, p[0], p[1], p[2], int(w.shape.m), int(w.shape.n), int(w.shape.k), encode);
        });
  };
  const std::vector<Case> cases = {{512, 384, 576}, {128, 128, 64}, {130, 136, 72}, {64, 64, 0}};
  const Known known[] = {{"sm100/tmem_lifecycle-n128-s4/bf16-to_fp32",
                          "Blackwell GEMM that allocates, uses and frees tensor memory (simulator only: never run on "
                          "hardware by this project)",
                          cases}};
  describe(e, known, "Blackwell GEMM that allocates, uses and frees tensor memory (simulator only)", cases);
  return true;
}

}  // namespace warpwright::simulate

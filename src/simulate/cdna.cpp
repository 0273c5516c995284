// The matmul of CDNA, which runs in the simulator only.
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "problem/problem.h"
#include "simulate/families.h"
#include "simulate/run.h"

namespace warpwright::simulate {
namespace {

using reference::Case;
using reference::Data;
using reference::Workload;

// From the largest tile to the smallest: the choice takes the first that fits.
const std::vector<Known>& known() {
  static const std::vector<Case> large = {{512, 512, 512}, {256, 256, 64}, {300, 130, 200}, {65, 264, 0}},
                                 large_fp8 = {{512, 512, 512}, {256, 256, 128}, {300, 130, 208}, {65, 264, 0}},
                                 small = {{256, 256, 512}, {128, 128, 64}, {150, 131, 200}, {33, 7, 0}},
                                 small_fp8 = {{256, 256, 512}, {128, 128, 128}, {150, 131, 208}, {33, 7, 0}};
  static const std::vector<Known> list = {
      {"gfx950/matmul-pingpong/bf16", "bf16 matmul: LDS DMA, two groups of four waves one barrier apart", large},
      {"gfx950/matmul-pingpong/e4m3", "the same with e4m3 operands", large_fp8},
      {"gfx950/matmul-pingpong/bf16-to_fp32", "the same with an fp32 result", large},
      {"gfx950/matmul-4wave/bf16", "bf16 matmul: LDS DMA, a SIMD for each of four waves", small},
      {"gfx950/matmul-4wave/e4m3", "the same with e4m3 operands", small_fp8},
      {"gfx950/matmul-default/bf16", "bf16 matmul through registers, one LDS slot", small},
      {"gfx950/matmul-default/e4m3", "the same with e4m3 operands", small_fp8},
      {"gfx942/matmul-default/bf16", "bf16 matmul through registers, one LDS slot", small},
      {"gfx942/matmul-default/bf16-to_fp32", "the same with an fp32 result", small},
  };
  return list;
}

int tiles(int64_t extent, int64_t tile) { return int((extent + tile - 1) / tile); }

}  // namespace

std::vector<catalog::Instance> cdna_instances() {
  std::vector<catalog::Instance> list;
  for (const Known& k : known()) {
    const auto instance = catalog::parse_instance(k.name);
    if (!instance) throw std::logic_error(instance.status().message());
    list.push_back(*instance);
  }
  return list;
}

bool complete(Example& e, const catalog::Instance& instance, const CdnaMatmulConfig& c) {
  e.refuse = [c](Case s) {
    problem::Problem p;
    p.m = s.m;
    p.n = s.n;
    p.k = s.k;
    p.dtype = c.type;
    p.out_dtype = c.out_type;
    return validate(p, c.arch);
  };
  e.workload = [c](Case s, Data data, uint64_t seed) {
    return reference::gemm_workload(s, c.type, c.out_type, 1, data, seed);
  };
  // One workgroup for each tile: a CDNA launch has as many as it needs.
  e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int) {
    const int groups = tiles(w.shape.m, c.tile_m()) * tiles(w.shape.n, c.tile_n());
    return run_filled<CdnaMatmulArgs>(
        instance, w, o, groups,
        [&](CdnaMatmulArgs& args, const std::vector<void*>& p, const EncodeMaps&) -> std::optional<std::string> {
          args.a = {static_cast<const uint8_t*>(p[0])};
          args.b = {static_cast<const uint8_t*>(p[1])};
          args.d = {static_cast<uint8_t*>(p[2])};
          args.m = uint32_t(w.shape.m);
          args.n = uint32_t(w.shape.n);
          args.k = uint32_t(w.shape.k);
          args.a_row_bytes = args.b_row_bytes = args.k * uint32_t(c.element_bytes());
          args.d_row_bytes = args.n * uint32_t(c.out_bytes());
          args.alpha = float(w.alpha);
          return {};
        });
  };
  e.gemm = {c.tile_m(), c.tile_n(), c.type, c.out_type, true};
  const int64_t m = c.tile_m(), n = c.tile_n();
  describe(e, known(), "matmul for CDNA", {{2 * m, 2 * n, 512}, {m + 22, n + 2, 208}, {33, 7, 0}});
  return true;
}

}  // namespace warpwright::simulate

#include "runtime/examples_list.h"
#include "runtime/gemm_example.h"
#include "warpwright/kernel/cdna/matmul.h"

namespace warpwright::runtime {
namespace {

using enum CdnaVariant;

template <CdnaMatmulConfig C>
struct CdnaExample {
  using Kernel = kernel::cdna::Matmul<C>;

  static std::optional<std::string> refuse(Case s) {
    Problem p;
    p.m = s.m;
    p.n = s.n;
    p.k = s.k;
    p.dtype = C.type;
    p.out_dtype = C.out_type;
    return validate(p, C.arch);
  }
  static Workload workload(Case s, Data data, uint64_t seed) {
    GemmSpec spec = plain_spec(s, C.type);
    spec.epilogue = factor_and_conversion(C.out_type);
    return gemm_workload(spec, data, seed);
  }
  // One workgroup for each tile: a CDNA launch has as many as it needs.
  static Outcome simulate(const Workload& w, const simulator::Options& options, int) {
    const auto tiles = [](int64_t extent, int64_t tile) { return int((extent + tile - 1) / tile); };
    return runtime::simulate<Kernel>(
        w, options, tiles(w.shape.m, C.tile_m()) * tiles(w.shape.n, C.tile_n()),
        [&](CdnaMatmulArgs& args, const std::vector<void*>& p, const auto&) -> std::optional<std::string> {
          args.a = {static_cast<const uint8_t*>(p[0])};
          args.b = {static_cast<const uint8_t*>(p[1])};
          args.d = {static_cast<uint8_t*>(p[2])};
          args.m = uint32_t(w.shape.m);
          args.n = uint32_t(w.shape.n);
          args.k = uint32_t(w.shape.k);
          args.a_row_bytes = args.b_row_bytes = args.k * uint32_t(C.element_bytes());
          args.d_row_bytes = args.n * uint32_t(C.out_bytes());
          args.alpha = float(w.alpha);
          return {};
        });
  }
  static Example make(const char* name, const char* summary, const char* instance, std::vector<Case> cases) {
    return {name,
            summary,
            instance,
            C.arch,
            &Kernel::plan,
            std::move(cases),
            refuse,
            workload,
            simulate,
            nullptr,
            {C.tile_m(), C.tile_n(), C.type, C.out_type, true}};
  }
};

}  // namespace

// From the largest tile to the smallest: select() takes the first that fits.
void add_cdna_examples(std::vector<Example>& list) {
  constexpr CdnaMatmulConfig kPingPong{.variant = ping_pong}, kPingPongFp8{.variant = ping_pong, .type = DType::e4m3},
      kPingPongFp32{.variant = ping_pong, .out_type = DType::fp32}, kFourWave{.variant = four_wave},
      kFourWaveFp8{.variant = four_wave, .type = DType::e4m3}, kDefault{.variant = standard},
      kDefaultFp8{.variant = standard, .type = DType::e4m3}, k942{.arch = Arch::gfx942, .variant = standard},
      k942Fp32{.arch = Arch::gfx942, .variant = standard, .out_type = DType::fp32};
  const std::vector<Case> large = {{512, 512, 512}, {256, 256, 64}, {300, 130, 200}, {65, 264, 0}},
                          large_fp8 = {{512, 512, 512}, {256, 256, 128}, {300, 130, 208}, {65, 264, 0}},
                          small = {{256, 256, 512}, {128, 128, 64}, {150, 131, 200}, {33, 7, 0}},
                          small_fp8 = {{256, 256, 512}, {128, 128, 128}, {150, 131, 208}, {33, 7, 0}};
  list.push_back(CdnaExample<kPingPong>::make("matmul_cdna_ping_pong",
                                              "bf16 matmul: LDS DMA, two groups of four waves one barrier apart",
                                              "bf16 256x256x64, 8 waves, 2 slots", large));
  list.push_back(CdnaExample<kPingPongFp8>::make("matmul_cdna_ping_pong_fp8", "the same with e4m3 operands",
                                                 "e4m3 256x256x128, 8 waves, 2 slots", large_fp8));
  list.push_back(CdnaExample<kPingPongFp32>::make("matmul_cdna_ping_pong_fp32", "the same with an fp32 result",
                                                  "bf16 256x256x64, 8 waves, 2 slots", large));
  list.push_back(CdnaExample<kFourWave>::make("matmul_cdna_4wave",
                                              "bf16 matmul: LDS DMA, a SIMD for each of four waves",
                                              "bf16 128x128x64, 4 waves, 3 slots", small));
  list.push_back(CdnaExample<kFourWaveFp8>::make("matmul_cdna_4wave_fp8", "the same with e4m3 operands",
                                                 "e4m3 128x128x128, 4 waves, 3 slots", small_fp8));
  list.push_back(CdnaExample<kDefault>::make("matmul_cdna_default", "bf16 matmul through registers, one LDS slot",
                                             "bf16 128x128x64, 4 waves", small));
  list.push_back(CdnaExample<kDefaultFp8>::make("matmul_cdna_default_fp8", "the same with e4m3 operands",
                                                "e4m3 128x128x128, 4 waves", small_fp8));
  list.push_back(CdnaExample<k942>::make("matmul_cdna_gfx942", "bf16 matmul through registers, one LDS slot",
                                         "bf16 128x128x64, 4 waves", small));
  list.push_back(CdnaExample<k942Fp32>::make("matmul_cdna_gfx942_fp32", "the same with an fp32 result",
                                             "bf16 128x128x64, 4 waves", small));
}

}  // namespace warpwright::runtime

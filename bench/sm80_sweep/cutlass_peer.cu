// The mma.sync GEMMs of CUTLASS 2.x (device::Gemm for Sm80) as the peers of the sweep. Needs a checkout of CUTLASS:
//   nvcc -std=c++17 -O3 -arch=sm_90a --expt-relaxed-constexpr -shared -Xcompiler -fPIC -I CUTLASS/include
#include <cuda_runtime.h>

#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/device/gemm.h"

namespace {

using Element = cutlass::bfloat16_t;
using Run = int (*)(const void*, const void*, void*, int, cudaStream_t);

template <int M, int N, int K, int Stages, int Swizzle>
int run(const void* a, const void* b, void* d, int extent, cudaStream_t stream) {
  using Rows = cutlass::layout::RowMajor;
  using Columns = cutlass::layout::ColumnMajor;
  using Epilogue = cutlass::epilogue::thread::LinearCombination<Element, 8, float, float,
                                                                cutlass::epilogue::thread::ScaleType::OnlyAlphaScaling>;
  using Gemm =
      cutlass::gemm::device::Gemm<Element, Rows, Element, Columns, Element, Rows, float, cutlass::arch::OpClassTensorOp,
                                  cutlass::arch::Sm80, cutlass::gemm::GemmShape<M, N, K>,
                                  cutlass::gemm::GemmShape<64, 64, K>, cutlass::gemm::GemmShape<16, 8, 16>, Epilogue,
                                  cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<Swizzle>, Stages>;
  static Gemm gemm;
  const auto in = [](const void* p) { return static_cast<const Element*>(p); };
  Element* const out = static_cast<Element*>(d);
  typename Gemm::Arguments args({extent, extent, extent}, {in(a), extent}, {in(b), extent}, {out, extent},
                                {out, extent}, {1.f});
  if (gemm.initialize(args, nullptr, stream) != cutlass::Status::kSuccess) return 1;
  return gemm.run(stream) == cutlass::Status::kSuccess ? 0 : 1;
}

struct Peer {
  const char* name;
  Run run;
};
const Peer kPeers[] = {
    {"cutlass 128x256x32 stages 4 swizzle 8", run<128, 256, 32, 4, 8>},
    {"cutlass 256x128x32 stages 4 swizzle 8", run<256, 128, 32, 4, 8>},
    {"cutlass 128x256x32 stages 5 swizzle 8", run<128, 256, 32, 5, 8>},
    {"cutlass 256x128x32 stages 5 swizzle 8", run<256, 128, 32, 5, 8>},
    {"cutlass 128x256x32 stages 3 swizzle 8", run<128, 256, 32, 3, 8>},
    {"cutlass 256x128x64 stages 3 swizzle 4", run<256, 128, 64, 3, 4>},
    {"cutlass 128x256x64 stages 3 swizzle 4", run<128, 256, 64, 3, 4>},
    {"cutlass 128x256x64 stages 4 swizzle 8", run<128, 256, 64, 4, 8>},
    {"cutlass 128x128x64 stages 3 swizzle 8", run<128, 128, 64, 3, 8>},
};

}  // namespace

extern "C" int peer_count() { return int(sizeof kPeers / sizeof kPeers[0]); }
extern "C" const char* peer_name(int i) { return kPeers[i].name; }
extern "C" int peer_run(int i, const void* a, const void* b, void* d, int extent, cudaStream_t stream) {
  return kPeers[i].run(a, b, d, extent, stream);
}

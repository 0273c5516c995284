#define WW_RECORD
#include "device/persistent.cuh"
#include "device/recorded.h"
#include "warpwright/kernel/sm90/dense_gemm.h"

namespace warpwright::device {
namespace {
using Kernel = kernel::sm90::DenseGemm<kRecordedDenseGemmSm90>;
}

int recorded_dense_gemm_sm90_clusters() { return resident_clusters<Kernel>(); }

Status launch_recorded_dense_gemm_sm90(const DenseGemmArgs& args, const record::Buffers& buffers, int ctas,
                                       void* stream) {
  return describe<Kernel>(runtime::launch<Kernel>(args, unsigned(ctas), static_cast<cudaStream_t>(stream), buffers));
}

}  // namespace warpwright::device

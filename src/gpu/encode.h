// The driver's encoder as the functions of launch/host_kernels.h take it.
#pragma once
#include <optional>
#include <string>

#include "gpu/tensor_map.h"
#include "launch/tensor_map.h"

namespace warpwright::gpu {

struct EncodeForGpu {
  std::optional<std::string> operator()(const launch::MatrixMap& matrix, TensorMap& map) const {
    const Status s = gpu::encode_tensor_map(launch::spec_of(matrix), map);
    return s ? std::nullopt : std::optional(s.message());
  }
};

}  // namespace warpwright::gpu

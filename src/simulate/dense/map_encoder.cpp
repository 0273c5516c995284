#include "sim/model.h"
#include "simulate/executor.h"

namespace warpwright::simulate {
namespace {

class SimulatedEncoder final : public launch::MapEncoder {
  Status encode(const launch::TensorMapSpec& spec, TensorMap& map) const override {
    simulator::model::TensorMapFields f{};
    f.type = simulator::model::element_of(spec.element, spec.padded);
    f.rank = spec.rank;
    f.base = spec.base;
    f.swizzle = spec.swizzle;
    for (int i = 0; i < 5; ++i) {
      f.dims[i] = i < spec.rank ? spec.dims[size_t(i)] : 1;
      f.strides[i] = spec.strides[size_t(i)];
      f.box[i] = i < spec.rank ? spec.box[size_t(i)] : 1;
    }
    if (const auto why = simulator::model::encode_tensor_map(f, map)) return Status(Code::failed, *why + ".");
    return {};
  }
  Status set_address(TensorMap& map, const void* address) const override {
    simulator::model::TensorMapFields f{};
    if (!simulator::model::decode_tensor_map(map, f)) return Status(Code::failed, "a tensor map was never encoded.");
    f.base = const_cast<void*>(address);
    if (const auto why = simulator::model::encode_tensor_map(f, map)) return Status(Code::failed, *why + ".");
    return {};
  }
};

}  // namespace

const launch::MapEncoder& map_encoder() {
  static const SimulatedEncoder encoder;
  return encoder;
}

}  // namespace warpwright::simulate

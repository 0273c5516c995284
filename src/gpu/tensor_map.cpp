#include "gpu/tensor_map.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "gpu/driver.h"

namespace warpwright::gpu {
namespace {

std::optional<int> tensor_type(DType type, bool padded) {
  switch (type) {
    case DType::bf16:
      return abi::kTypeBfloat16;
    case DType::fp16:
      return abi::kTypeFloat16;
    case DType::fp32:
      return abi::kTypeFloat32;
    case DType::tf32:
      return abi::kTypeTfloat32;
    case DType::e2m1:
      return padded ? abi::kType16U4Align16B : abi::kType16U4Align8B;
    case DType::e4m3:
    case DType::e5m2:
    case DType::ue8m0:
    case DType::ue4m3:
    case DType::s8:
      return abi::kTypeUint8;
  }
  return std::nullopt;
}

std::optional<int> swizzle_mode(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return 0;
    case Swizzle::b32:
      return 1;
    case Swizzle::b64:
      return 2;
    case Swizzle::b128:
      return 3;
    case Swizzle::b128_atom32:
      return 4;
  }
  return std::nullopt;
}

// The rules of cuTensorMapEncodeTiled that a caller can break; the driver itself answers "invalid argument" to each.
std::optional<std::string> refuse(const TensorMapSpec& s) {
  if (s.rank < 1 || s.rank > 5) return fmt::format("a tensor map has 1 to 5 dimensions, not {}", s.rank);
  const uint64_t alignment = s.padded ? 32 : 16;
  const auto address = reinterpret_cast<uintptr_t>(s.base);
  if (s.base == nullptr) return "a tensor map needs a base address";
  if (address % alignment != 0) {
    return fmt::format("the base address {:#x} of a {} tensor map must be a multiple of {}", address, name(s.element),
                       alignment);
  }
  for (int i = 0; i < s.rank; ++i) {
    if (s.dims[i] < 1 || s.dims[i] > (uint64_t(1) << 32)) {
      return fmt::format("dimension {} of a tensor map is {}; it must be 1 to 2^32", i, s.dims[i]);
    }
    if (s.box[i] < 1 || s.box[i] > 256) {
      return fmt::format("box dimension {} of a tensor map is {}; it must be 1 to 256", i, s.box[i]);
    }
    if (i > 0 && (s.strides[i] % alignment != 0 || s.strides[i] >= (uint64_t(1) << 40))) {
      return fmt::format("stride {} of a {} tensor map is {} bytes; it must be a multiple of {} below 2^40", i,
                         name(s.element), s.strides[i], alignment);
    }
  }
  if (s.element == DType::e2m1 && s.dims[0] % 2 != 0) {
    return fmt::format("the inner dimension of {} e2m1 elements must be even: two of them share a byte", s.dims[0]);
  }
  if (s.padded && (s.element != DType::e2m1 || s.dims[0] % 128 != 0 || s.box[0] != 128)) {
    return fmt::format(
        "a padded tensor map is of e2m1, its inner dimension, {}, is a multiple of 128 and that of its box, {}, is 128",
        s.dims[0], s.box[0]);
  }
  const uint64_t inner_bits = uint64_t(s.box[0]) * uint64_t(bits(s.element));
  if (inner_bits % 128 != 0) {
    return fmt::format("the inner box dimension of {} {} elements is not a multiple of 16 bytes", s.box[0],
                       name(s.element));
  }
  if (s.swizzle != Swizzle::none && inner_bits / 8 > swizzle_bytes(s.swizzle)) {
    return fmt::format("the inner box dimension of {} bytes exceeds the {} bytes of its swizzle", inner_bits / 8,
                       swizzle_bytes(s.swizzle));
  }
  return std::nullopt;
}

std::optional<std::string> encode(const TensorMapSpec& spec, TensorMap& map) {
  const auto type = tensor_type(spec.element, spec.padded);
  const auto swizzle = swizzle_mode(spec.swizzle);
  if (!type || !swizzle) return "the tensor map's element type or swizzle has no name in the driver";
  const uint32_t element_strides[5] = {1, 1, 1, 1, 1};
  const abi::Result r = driver().encode_tiled(&map, *type, uint32_t(spec.rank), spec.base, spec.dims.data(),
                                              spec.strides.data() + 1, spec.box.data(), element_strides,
                                              abi::kInterleaveNone, *swizzle, int(spec.l2_promotion), abi::kFillZero);
  if (r != abi::kSuccess) return fmt::format("the driver refuses the tensor map: {}", error_text(r));
  return std::nullopt;
}

}  // namespace

Status encode_tensor_map(const TensorMapSpec& spec, TensorMap& map) {
  if (const auto broken = refuse(spec)) return Status(Code::failed, *broken + ".");
  if (const Status& s = driver_status(); !s) return s;
  const auto why = encode(spec, map);
  return why ? Status(Code::failed, *why + ".") : Status();
}

Status replace_address(TensorMap& map, const void* address) {
  if (const Status& s = driver_status(); !s) return s;
  const abi::Result r = driver().replace_address(&map, const_cast<void*>(address));
  if (r == abi::kSuccess) return {};
  return Status(Code::failed, fmt::format("the driver refuses the address of a tensor map: {}.", error_text(r)));
}

namespace {
class DriverEncoder final : public launch::MapEncoder {
  Status encode(const TensorMapSpec& spec, TensorMap& map) const override { return encode_tensor_map(spec, map); }
  Status set_address(TensorMap& map, const void* address) const override { return replace_address(map, address); }
};
}  // namespace

const launch::MapEncoder& map_encoder() {
  static const DriverEncoder encoder;
  return encoder;
}

}  // namespace warpwright::gpu

#include "launch/packing.h"

#include <cstdint>

namespace warpwright::launch {

using choice::Packing;
using problem::Lowered;
using problem::StoredMatrix;

PackRowsArgs pack_arguments(const Lowered& low, const Packing& packing, const GemmPointers& pointers, void* copies) {
  const GemmPointers packed = packed_pointers(packing, pointers, copies);
  const auto rows = [](const StoredMatrix& from, const StoredMatrix& to, const void* source, const void* copy) {
    return RowsToPack{source,
                      const_cast<void*>(copy),
                      from.stride,
                      from.batch_stride,
                      to.stride * bits(to.type) / 8,
                      int32_t(from.rows),
                      int32_t(from.columns),
                      int32_t(from.count)};
  };
  PackRowsArgs args;
  if (packing.a) args.list[0] = rows(low.a, packing.a_copy, pointers.a, packed.a);
  if (packing.b) args.list[1] = rows(low.b, packing.b_copy, pointers.b, packed.b);
  return args;
}

GemmPointers packed_pointers(const Packing& packing, GemmPointers pointers, void* copies) {
  auto* const bytes = static_cast<uint8_t*>(copies);
  if (packing.a) pointers.a = bytes;
  if (packing.b) pointers.b = bytes + packing.a_bytes();
  return pointers;
}

}  // namespace warpwright::launch

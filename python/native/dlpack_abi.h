// The part of DLPack's binary interface that a call needs, written down: torch.Tensor.__dlpack_c_exchange_api__ is a
// capsule with the address of an Exchange. Version 1 of it stays as it is.
#pragma once
#include <cstdint>

namespace warpwright::dlpack {

struct Version {
  uint32_t major, minor;
};
struct Device {
  int32_t type, number;
};
struct Type {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t dimensions;
  Type type;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct Managed;
struct Exchange {
  Version version;
  Exchange* older;
  int (*allocate)(Tensor*, Managed**, void*, void (*)(void*, const char*, const char*));
  int (*manage)(void*, Managed**);
  int (*give)(Managed*, void**);
  int (*look)(void* object, Tensor* out);  // borrows; shape and strides live as long as the object
  int (*stream)(int32_t device_type, int32_t number, void** out);
};

}  // namespace warpwright::dlpack

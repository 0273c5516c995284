#include <cstdint>

#include "gpu/embedded.h"

// Not part of the interface: the tool of a wheel asks for it (gpu/from_library).
extern "C" const warpwright::gpu::EmbeddedImage* ww_embedded_images(uint64_t* count) {
  const auto images = warpwright::gpu::embedded_images();
  *count = images.size();
  return images.data();
}

// The images that this build compiled ahead. The build writes the table (cmake/images.cmake).
#pragma once
#include <cstdint>
#include <span>

namespace warpwright::gpu {

struct EmbeddedImage {
  const char* name;    // "sm90/dense-128x256-c2-s4/bf16-nt"
  const char* target;  // "sm_90a", "gfx950"
  const unsigned char* begin;
  const unsigned char* end;
};
std::span<const EmbeddedImage> embedded_images();

}  // namespace warpwright::gpu

// The images of libwarpwright.so, for a program that has none of its own.
extern "C" const warpwright::gpu::EmbeddedImage* ww_embedded_images(uint64_t* count);

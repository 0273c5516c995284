// The images of the library next to this program, as in a wheel, which has them only once.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <system_error>

#include "gpu/embedded.h"

namespace warpwright::gpu {
namespace {

std::span<const EmbeddedImage> loaded() {
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  const auto path = program.parent_path().parent_path() / "lib" / "libwarpwright.so";
  void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) {
    if (const auto images = reinterpret_cast<decltype(&ww_embedded_images)>(::dlsym(library, "ww_embedded_images"))) {
      uint64_t count = 0;
      const EmbeddedImage* const first = images(&count);
      return {first, count};
    }
  }
  fmt::print(stderr, "The kernels for GPUs cannot be loaded: {}.\n", ::dlerror());
  return {};
}

}  // namespace

std::span<const EmbeddedImage> embedded_images() {
  static const auto images = loaded();
  return images;
}

}  // namespace warpwright::gpu

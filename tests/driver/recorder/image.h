// What a driver learns from an image: for which chips it is, and what each of its kernels needs. A reading of its own:
// nothing here is shared with src/gpu.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recorder {

struct Parameter {
  unsigned offset = 0;  // from the first
  unsigned bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  unsigned registers = 0;     // of a thread; 0: known when PTX has been compiled
  unsigned most_threads = 0;  // of a block, by its launch bounds; 0: it has none
  unsigned static_shared = 0;

  unsigned parameter_bytes() const {
    return parameters.empty() ? 0 : parameters.back().offset + parameters.back().bytes;
  }
};

struct Image {
  enum class Kind : uint8_t { cubin, ptx };
  Kind kind = Kind::cubin;
  int target = 0;       // 90
  bool exact = false;   // of an architecture-specific target ("sm_90a"): no other chip runs it
  bool family = false;  // PTX of a family ("sm_100f")
  std::vector<Kernel> kernels;

  bool runs_on(int major, int minor) const;
  const Kernel* find(std::string_view name) const;
};

// How many bytes `data` has, by what it says itself: the driver is given an address alone.
std::span<const uint8_t> extent_of(const void* data);
// Nothing: it is neither a cubin nor PTX, or it is damaged.
std::optional<Image> read_image(std::span<const uint8_t> bytes);

}  // namespace recorder

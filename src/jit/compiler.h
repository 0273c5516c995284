// From the configuration of a kernel to machine code: taken from the cache on disk, or compiled and put there.
#pragma once
#include <string>

#include "jit/cache.h"
#include "jit/toolkit.h"
#include "warpwright/kernel/config.h"
#include "warpwright/status.h"

namespace warpwright::jit {

// What a cubin is made of. The kernel's entry is called kEntry.
struct Source {
  std::string text;
  std::string arch;  // sm_90a
};
inline constexpr const char* kEntry = "warpwright_kernel";

// `on`: the kernel takes record::Buffers as a second argument and writes there what its warps do.
enum class Timestamps : bool { off, on };
Source source_of(const DenseGemmConfig& config, Timestamps timestamps = Timestamps::off);
Source source_of(const SkinnyGemmConfig& config, Timestamps timestamps = Timestamps::off);

// Source, headers, options, toolkit and architecture: two requests with one key have one result.
Digest key_of(const Source& source, const Toolkit& toolkit);

struct Binary {
  Bytes cubin;
  bool from_cache = false;
};
// Seconds when it compiles. Safe for threads and processes that ask for the same kernel at once: one of them compiles.
Result<Binary> obtain(const Source& source, const Toolkit& toolkit, const Cache& cache);

}  // namespace warpwright::jit

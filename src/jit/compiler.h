// From the source of an instance to machine code: taken from the cache on disk, or compiled and put there.
#pragma once
#include <string>

#include "jit/cache.h"
#include "jit/toolkit.h"
#include "warpwright/status.h"

namespace warpwright::jit {

// The source of a cubin (catalog::source_of).
struct Source {
  std::string text;
  std::string arch;  // sm_90a
};
// Source, headers, options, toolkit and architecture: two requests with one key have one result.
Digest key_of(const Source& source, const Toolkit& toolkit);

struct Binary {
  Bytes cubin;
  bool from_cache = false;
};
// Seconds when it compiles. Safe for threads and processes that ask for the same kernel at once: one of them compiles.
Result<Binary> obtain(const Source& source, const Toolkit& toolkit, const Cache& cache);
// With the toolkit and the cache of this machine.
Result<Binary> obtain(const Source& source);

}  // namespace warpwright::jit

#include "jit/compiler.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "system/embedded.h"

namespace warpwright::jit {
namespace {

std::vector<std::string> options(const std::string& arch) {
  // Plans are built by constexpr functions without execution space, which NVRTC takes for host functions otherwise.
  std::vector<std::string> list = {"-std=c++20", "-default-device", "-lineinfo"};
  // The libcu++ of CUDA 13.0 hides tcgen05 from targets that are newer than itself; ptxas judges them.
  if (arch == "sm_100f" || arch == "sm_103a") list.emplace_back("-D__CUDA_ARCH_FEAT_SM100_ALL=1");
  return list;
}

}  // namespace

Digest key_of(const Source& source, const Toolkit& toolkit) {
  Sha256 hash;
  hash.text(source.text).text(source.arch).text(toolkit.version());
  for (const std::string& option : options(source.arch)) hash.text(option);
  for (const system::EmbeddedFile& header : system::embedded_headers()) hash.text(header.name).text(header.text);
  return hash.digest();
}

Result<Binary> obtain(const Source& source, const Toolkit& toolkit, const Cache& cache) {
  if (!toolkit.status()) return toolkit.status();
  const Digest key = key_of(source, toolkit);
  if (auto found = cache.load(key)) return Binary{std::move(*found), true};
  const Cache::Lock lock(cache, key);
  // Another process may have compiled it while this one waited.
  if (auto found = cache.load(key)) return Binary{std::move(*found), true};
  auto compiled = toolkit.compile(source.text, source.arch, options(source.arch));
  if (!compiled) return compiled.status();
  (void)cache.store(key, compiled->cubin);  // without a folder that can be written the next process compiles again
  return Binary{std::move(compiled->cubin), false};
}

Result<Binary> obtain(const Source& source) { return obtain(source, toolkit(), Cache(cache_folder())); }

}  // namespace warpwright::jit

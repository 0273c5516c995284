#include "jit/compiler.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <type_traits>
#include <utility>

#include "runtime/embedded.h"

namespace warpwright::jit {
namespace {

const std::vector<std::string>& options() {
  // Plans are built by constexpr functions without execution space, which NVRTC takes for host functions otherwise.
  static const std::vector<std::string> list = {"-std=c++20", "-default-device", "-lineinfo"};
  return list;
}

// The bytes of a configuration with zeros in its padding, whose content is nobody's: a byte that may be zero without
// making another configuration is. Zero is a value of every member, so each trial is one too.
template <class Config>
auto canonical_bytes(const Config& config) {
  static_assert(std::is_trivially_copyable_v<Config>);
  auto bytes = std::bit_cast<std::array<uint8_t, sizeof(Config)>>(config);
  for (uint8_t& byte : bytes) {
    const uint8_t kept = std::exchange(byte, uint8_t(0));
    if (!(std::bit_cast<Config>(bytes) == config)) byte = kept;
  }
  return bytes;
}

// The configuration travels as its bytes, so that a field added to it needs no edit here. Host and device compilers lay
// it out alike; the assertion in the text would tell.
template <class Config>
Source source(const char* header, const char* kernel, const char* type, const Config& config, Timestamps timestamps) {
  const auto bytes = canonical_bytes(config);
  constexpr const char* text = R"({6}#include "warpwright/kernel/entry.h"
#include "warpwright/kernel/sm90/{0}.h"
namespace {{
struct Bytes {{
  unsigned char value[{1}] = {{{2}}};
}};
static_assert(sizeof(warpwright::{3}) == sizeof(Bytes), "host and device disagree on the configuration");
constexpr warpwright::{3} config = __builtin_bit_cast(warpwright::{3}, Bytes{{}});
using Kernel = warpwright::kernel::sm90::{4}<config>;
}}
extern "C" __global__ void __launch_bounds__(Kernel::plan.threads(), Kernel::plan.blocks_per_sm)
    {5}(const __grid_constant__ Kernel::Args args{7}) {{
{8}  Kernel::body(args);
{9}}}
)";
  const bool on = timestamps == Timestamps::on;
  return {fmt::format(text, header, bytes.size(), fmt::join(bytes, ", "), type, kernel, kEntry,
                      on ? "#define WW_RECORD\n" : "",
                      on ? ", const __grid_constant__ warpwright::record::Buffers buffers" : "",
                      on ? "  warpwright::machine::record::begin(buffers);\n" : "",
                      on ? "  warpwright::machine::record::end(buffers);\n" : ""),
          "sm_90a"};
}

}  // namespace

Source source_of(const DenseGemmConfig& config, Timestamps timestamps) {
  return source("dense_gemm", "DenseGemm", "DenseGemmConfig", config, timestamps);
}
Source source_of(const SkinnyGemmConfig& config, Timestamps timestamps) {
  return source("skinny_gemm", "SkinnyGemm", "SkinnyGemmConfig", config, timestamps);
}

Digest key_of(const Source& source, const Toolkit& toolkit) {
  Sha256 hash;
  hash.text(source.text).text(source.arch).text(toolkit.version());
  for (const std::string& option : options()) hash.text(option);
  for (const runtime::EmbeddedFile& header : runtime::embedded_headers()) hash.text(header.name).text(header.text);
  return hash.digest();
}

Result<Binary> obtain(const Source& source, const Toolkit& toolkit, const Cache& cache) {
  if (!toolkit.status()) return toolkit.status();
  const Digest key = key_of(source, toolkit);
  if (auto found = cache.load(key)) return Binary{std::move(*found), true};
  const Cache::Lock lock(cache, key);
  // Another process may have compiled it while this one waited.
  if (auto found = cache.load(key)) return Binary{std::move(*found), true};
  auto compiled = toolkit.compile(source.text, source.arch, options());
  if (!compiled) return compiled.status();
  (void)cache.store(key, compiled->cubin);  // without a folder that can be written the next process compiles again
  return Binary{std::move(compiled->cubin), false};
}

}  // namespace warpwright::jit

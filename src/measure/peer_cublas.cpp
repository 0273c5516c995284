#include "measure/peer_cublas.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/memory.h"
#include "gpu/require.h"

namespace warpwright::measure {
namespace {

// The major version of the header this file was compiled with; its successor may have another ABI.
constexpr const char* kLibrary = "libcublasLt.so.13";

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// Where a Python environment keeps the CUDA libraries that PyTorch brings along. Every folder of PATH may belong to
// one.
std::vector<std::string> python_candidates() {
  std::vector<std::string> paths;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    std::string folder(rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    for (const char* package : {"cu13", "cublas"}) {
      for (const char* site : {"site-packages", "dist-packages"}) {
        for (auto& match :
             matches(fmt::format("{}/../lib/python3*/{}/nvidia/{}/lib/{}", folder, site, package, kLibrary)))
          paths.push_back(std::move(match));
      }
    }
  }
  return paths;
}

void* open_library() {
  const auto open = [](const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); };
  if (const char* given = std::getenv("WARPWRIGHT_CUBLASLT"); given != nullptr && *given != 0) {
    if (void* library = open(fmt::format("{}/{}", given, kLibrary))) return library;
    return open(given);
  }
  if (void* library = open(kLibrary)) return library;
  std::vector<std::string> candidates = matches(fmt::format("/usr/local/cuda*/lib64/{}", kLibrary));
  for (auto& path : python_candidates()) candidates.push_back(std::move(path));
  for (const std::string& path : candidates) {
    if (void* library = open(path)) return library;
  }
  return nullptr;
}

struct Library {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  decltype(&cublasLtMatmulDescCreate) matmul_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) matmul_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) matmul_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  cublasLtHandle_t handle = nullptr;
  Status status;

  Library() {
    void* const library = open_library();
    if (library == nullptr) {
      status = Status(Code::missing, fmt::format("cuBLASLt ({}) was not found by the loader, in /usr/local/cuda or "
                                                 "beside the Pythons on PATH; install it or "
                                                 "name its folder in WARPWRIGHT_CUBLASLT.",
                                                 kLibrary));
      return;
    }
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      if (function == nullptr && status) status = Status(Code::missing, fmt::format("{} has no {}.", kLibrary, symbol));
    };
    find(create, "cublasLtCreate");
    find(version, "cublasLtGetVersion");
    find(status_string, "cublasLtGetStatusString");
    find(matmul_create, "cublasLtMatmulDescCreate");
    find(matmul_destroy, "cublasLtMatmulDescDestroy");
    find(matmul_set, "cublasLtMatmulDescSetAttribute");
    find(layout_create, "cublasLtMatrixLayoutCreate");
    find(layout_destroy, "cublasLtMatrixLayoutDestroy");
    find(preference_create, "cublasLtMatmulPreferenceCreate");
    find(preference_destroy, "cublasLtMatmulPreferenceDestroy");
    find(preference_set, "cublasLtMatmulPreferenceSetAttribute");
    find(heuristic, "cublasLtMatmulAlgoGetHeuristic");
    find(matmul, "cublasLtMatmul");
    if (status) status = status_of(create(&handle), "cublasLtCreate");
  }

  Status status_of(cublasStatus_t result, const char* what) const {
    if (result == CUBLAS_STATUS_SUCCESS) return {};
    const Code code = result == CUBLAS_STATUS_NOT_SUPPORTED ? Code::unsupported : Code::failed;
    return Status(code, fmt::format("{} failed: {}.", what, status_string(result)));
  }
};

// Opened by the first caller and never closed.
const Library& the_library() {
  static const Library library;
  return library;
}

}  // namespace

struct PeerGemm::State {
  cublasLtMatmulDesc_t product = nullptr;
  // cuBLAS thinks in columns: its A is our B, its B is our A, and its result is the transpose of D.
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms;
  int chosen = 0;
  std::optional<gpu::DeviceMemory> workspace;

  ~State() {
    const Library& lt = the_library();
    for (cublasLtMatrixLayout_t layout : {a, b, d}) {
      if (layout != nullptr) (void)lt.layout_destroy(layout);
    }
    if (product != nullptr) (void)lt.matmul_destroy(product);
  }

  Status describe(int64_t m, int64_t n, int64_t k, DType type) {
    const Library& lt = the_library();
    const bool narrow = bits(type) == 8;
    const cudaDataType_t element = type == DType::fp16   ? CUDA_R_16F
                                   : type == DType::e4m3 ? CUDA_R_8F_E4M3
                                   : type == DType::e5m2 ? CUDA_R_8F_E5M2
                                                         : CUDA_R_16BF;
    const cudaDataType_t result = narrow ? CUDA_R_16BF : element;
    const int8_t fast = 1;  // as our plain kernels: the tensor core adds over the whole depth
    const cublasOperation_t transposed = CUBLAS_OP_T;
    if (Status s = lt.status_of(lt.matmul_create(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
        !s)
      return s;
    if (Status s = lt.status_of(lt.matmul_set(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
                                "cublasLtMatmulDescSetAttribute");
        !s)
      return s;
    if (narrow) {
      if (Status s = lt.status_of(lt.matmul_set(product, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast),
                                  "cublasLtMatmulDescSetAttribute");
          !s)
        return s;
    }
    const char* const layout = "cublasLtMatrixLayoutCreate";
    if (Status s = lt.status_of(lt.layout_create(&a, element, uint64_t(k), uint64_t(n), k), layout); !s) return s;
    if (Status s = lt.status_of(lt.layout_create(&b, element, uint64_t(k), uint64_t(m), k), layout); !s) return s;
    return lt.status_of(lt.layout_create(&d, result, uint64_t(n), uint64_t(m), n), layout);
  }

  Status ask() {
    const Library& lt = the_library();
    cublasLtMatmulPreference_t preference = nullptr;
    if (Status s = lt.status_of(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate"); !s) return s;
    const size_t workspace_bytes = kPeerWorkspace;
    Status s = lt.status_of(lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                              sizeof workspace_bytes),
                            "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    algorithms.resize(kPeerChoices);
    if (s) {
      s = lt.status_of(
          lt.heuristic(lt.handle, product, a, b, d, d, preference, kPeerChoices, algorithms.data(), &found),
          "cublasLtMatmulAlgoGetHeuristic");
    }
    (void)lt.preference_destroy(preference);
    algorithms.resize(size_t(found));
    if (s && found == 0) s = Status(Code::unsupported, "cuBLASLt has no algorithm for this problem.");
    return s;
  }
};

PeerGemm::PeerGemm() = default;
PeerGemm::~PeerGemm() = default;
PeerGemm::PeerGemm(PeerGemm&&) noexcept = default;

Status PeerGemm::prepare(int64_t m, int64_t n, int64_t k, DType type) {
  if (Status s = peer_status(); !s) return s;
  state_ = std::make_unique<State>();
  if (Status s = state_->describe(m, n, k, type); !s) return s;
  if (Status s = state_->ask(); !s) return s;
  try {
    state_->workspace.emplace(kPeerWorkspace);
  } catch (const gpu::Failure& failure) {
    return Status(Code::missing, failure.what());
  }
  return {};
}

int PeerGemm::choices() const { return state_ ? int(state_->algorithms.size()) : 0; }
void PeerGemm::choose(int choice) { state_->chosen = choice; }
int PeerGemm::chosen() const { return state_->chosen; }

Status PeerGemm::launch(const void* a, const void* b, void* d, void* stream) const {
  const Library& lt = the_library();
  const State& s = *state_;
  const float one = 1, zero = 0;
  return lt.status_of(
      lt.matmul(lt.handle, s.product, &one, b, s.a, a, s.b, &zero, d, s.d, d, s.d, &s.algorithms[size_t(s.chosen)].algo,
                s.workspace->data(), kPeerWorkspace, static_cast<cudaStream_t>(stream)),
      "cublasLtMatmul");
}

Status peer_status() { return the_library().status; }

std::string peer_version() {
  if (!peer_status()) return "";
  const size_t v = the_library().version();
  return fmt::format("cuBLASLt {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

}  // namespace warpwright::measure

#else

namespace warpwright::measure {

struct PeerGemm::State {};
PeerGemm::PeerGemm() = default;
PeerGemm::~PeerGemm() = default;
PeerGemm::PeerGemm(PeerGemm&&) noexcept = default;
Status PeerGemm::prepare(int64_t, int64_t, int64_t, DType) { return peer_status(); }
int PeerGemm::choices() const { return 0; }
void PeerGemm::choose(int) {}
int PeerGemm::chosen() const { return 0; }
Status PeerGemm::launch(const void*, const void*, void*, void*) const { return peer_status(); }

Status peer_status() {
  return Status(Code::missing,
                "this build has no cuBLASLt to compare with; install the CUDA toolkit 13 with cuBLAS and build again.");
}
std::string peer_version() { return ""; }

}  // namespace warpwright::measure

#endif

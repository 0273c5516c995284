// NVRTC and the headers it needs, found at run time: a machine without them runs everything that was compiled ahead.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/status.h"

namespace warpwright::jit {

struct Compiled {
  std::vector<uint8_t> cubin;
  std::string log;  // warnings
};

class Toolkit {
 public:
  // Opens NVRTC and looks for CCCL. WARPWRIGHT_NVRTC names the library or its folder, WARPWRIGHT_CUDA_HOME the toolkit
  // whose headers are taken; otherwise the loader, CUDA_HOME, CUDA_PATH, /usr/local/cuda and the Pythons on PATH are
  // asked in this order. Never throws; status() says what is missing.
  Toolkit();

  const Status& status() const { return status_; }
  // "NVRTC 13.0, CCCL 3.0.1": with the library's headers, all that a result depends on besides source and options.
  const std::string& version() const { return version_; }
  // Folders of headers, in the order of search.
  const std::vector<std::string>& includes() const { return includes_; }

  // Compiles to machine code for one architecture, such as sm_90a. Needs no GPU.
  Result<Compiled> compile(const std::string& source, const std::string& arch,
                           const std::vector<std::string>& options) const;

 private:
  struct Functions;
  Status status_;
  std::string version_;
  std::vector<std::string> includes_;
  const Functions* functions_ = nullptr;
};

// Opened by the first caller and never closed.
const Toolkit& toolkit();

}  // namespace warpwright::jit

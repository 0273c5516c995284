// The other compiler: instances for the simulator, as shared objects made by the host's C++ compiler.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "jit/cache.h"
#include "warpwright/status.h"

namespace warpwright::jit {

// CXX, which may be several words ("ccache g++"), or the first of c++, g++ and clang++ on PATH. Missing: there is none.
Result<std::vector<std::string>> host_compiler();
// Where the headers of warpwright are: WARPWRIGHT_INCLUDE, next to an installed tool, or those the tool was built from.
Result<std::string> header_folder();
// Whether WARPWRIGHT_INCLUDE says so: the kernels of those headers are meant then, also where others are built in.
bool headers_are_named();
// Every header below the folder, with its name: what a compiled kernel depends on besides its own source.
Digest headers_digest(const std::string& folder);
// How every kernel is compiled for the simulator, before the names of files.
std::vector<std::string> simulator_flags(const std::string& headers);

struct SharedObject {
  Bytes bytes;
  bool from_cache = false;
};
// Keyed by source, headers, flags and compiler. `compiling` is called before the compiler is, which takes seconds.
Result<SharedObject> obtain_shared_object(const std::string& source, const std::function<void()>& compiling = {});

// Loads it into this process, for as long as that lives, without leaving a file. The object takes the simulator from
// the program.
Result<void*> open_shared_object(const Bytes& bytes, const std::string& name);

}  // namespace warpwright::jit

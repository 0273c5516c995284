// Text files that the build puts into the binary, so that it needs no other files wherever it runs.
#pragma once
#include <span>

namespace warpwright::system {

struct EmbeddedFile {
  const char* name;  // below the folder it was taken from
  const char* text;
};

// The library's own headers, named as an #include spells them: what NVRTC compiles is what the library was built from.
std::span<const EmbeddedFile> embedded_headers();
// The tuned tables of data/tuned.
std::span<const EmbeddedFile> embedded_tables();
// The benchmarks against Python modules, and the Python package, which describes the C interface to them.
std::span<const EmbeddedFile> embedded_scripts();
std::span<const EmbeddedFile> embedded_package();
// The parts of the timeline's page: src/page.
std::span<const EmbeddedFile> embedded_page();
// The commands for gdb: tools/gdb.
std::span<const EmbeddedFile> embedded_gdb();

}  // namespace warpwright::system

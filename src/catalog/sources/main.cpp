// warpwright-sources FOLDER ENDING NAME...: writes the source of each instance to FOLDER/NAME.ENDING. Part of the
// build, which then compiles them. A file that would not change is not touched.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "catalog/instance.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  for (int i = 3; i < argc; ++i) {
    const auto instance = warpwright::catalog::parse_instance(argv[i]);
    if (!instance) {
      std::fprintf(stderr, "%s\n", instance.status().message().c_str());
      return 1;
    }
    if (warpwright::catalog::image_name(*instance) != argv[i]) {
      std::fprintf(stderr, "%s: its name is %s\n", argv[i], warpwright::catalog::image_name(*instance).c_str());
      return 1;
    }
    const fs::path file = fs::path(argv[1]) / (std::string(argv[i]) + "." + argv[2]);
    const std::string text = warpwright::catalog::source_of(*instance);
    std::ifstream old(file);
    if (old && std::string(std::istreambuf_iterator<char>(old), {}) == text) continue;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  return 0;
}

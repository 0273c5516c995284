#include "choice/tuned_text.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "system/embedded.h"

namespace warpwright::choice {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == '\t') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

std::string write_head(const TunedFormat& format, const TunedHead& head) {
  return fmt::format("{}\n# device\t{}\n# multiprocessors\t{}\n# toolkit\t{}\n{}\n", format.first_line, head.device,
                     head.multiprocessors, head.toolkit, format.columns);
}

Status read_tuned(const std::string& text, const TunedFormat& format, TunedHead& head,
                  const std::function<bool(const std::vector<std::string>& cells)>& row) {
  std::istringstream lines(text);
  std::string line;
  int count = 0;
  const auto refused = [&](const char* rule) {
    return Status(Code::invalid_argument, fmt::format("line {} of the tuned table: {}.", count, rule));
  };
  bool columns = false;
  while (std::getline(lines, line)) {
    ++count;
    if (count == 1) {
      if (line != format.first_line) return refused("it must name the format");
      continue;
    }
    if (line.empty()) continue;
    if (line.starts_with("# ")) {
      const auto cells = cells_of(line.substr(2));
      if (cells.size() != 2) continue;
      if (cells[0] == "device") head.device = cells[1];
      if (cells[0] == "toolkit") head.toolkit = cells[1];
      if (cells[0] == "multiprocessors" && !read_number(cells[1], head.multiprocessors)) return refused("not a number");
      continue;
    }
    if (!columns) {
      if (line != format.columns) return refused("the columns are not those of this format");
      columns = true;
      continue;
    }
    if (!row(cells_of(line))) return refused("it is not a row of this format");
  }
  if (!columns || head.device.empty()) return refused("the table names no device or no columns");
  return {};
}

std::vector<std::string> tuned_texts(const char* variable) {
  std::vector<std::string> texts;
  if (const char* path = std::getenv(variable); path != nullptr && *path != 0) {
    std::ifstream file(path);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    return texts;
  }
  for (const system::EmbeddedFile& file : system::embedded_tables()) texts.emplace_back(file.text);
  return texts;
}

}  // namespace warpwright::choice

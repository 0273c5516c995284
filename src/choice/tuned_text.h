// What the tuned tables have in common: tab-separated text with the device's facts in comment lines.
#pragma once
#include <charconv>
#include <functional>
#include <string>
#include <vector>

#include "warpwright/status.h"

namespace warpwright::choice {

// A table is for the device it was made on, and says with which toolkit.
struct TunedHead {
  std::string device;
  int multiprocessors = 0;
  std::string toolkit;
};

// The first line names the kind of table; the columns are named in the line after the facts.
struct TunedFormat {
  const char* first_line;
  const char* columns;
};
std::string write_head(const TunedFormat& format, const TunedHead& head);
// Calls `row` for each row, which says whether its cells are one. Fails with a sentence that names the line.
Status read_tuned(const std::string& text, const TunedFormat& format, TunedHead& head,
                  const std::function<bool(const std::vector<std::string>& cells)>& row);

// The tables of this build, or only the file that the environment variable names.
std::vector<std::string> tuned_texts(const char* variable);

// A whole cell that is a number, not negative.
template <class Number>
bool read_number(const std::string& cell, Number& value) {
  const char* const end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, value);
  return !cell.empty() && stop == end && error == std::errc() && value >= 0;
}

}  // namespace warpwright::choice

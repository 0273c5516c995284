#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "cli/interrupt.h"

namespace warpwright::cli {
namespace {

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Whether a stream leads to a terminal that understands escape sequences.
bool is_screen(std::FILE* stream) { return is_terminal(stream) && variable("TERM") != "dumb"; }

// https://no-color.org: any value but the empty one.
bool wants_colour() { return is_screen(stdout) && variable("NO_COLOR").empty(); }

void write(std::FILE* stream, std::string_view text) { std::fwrite(text.data(), 1, text.size(), stream); }

bool looks_numeric(std::string_view cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.,+-eE%x ") == std::string_view::npos &&
         cell.find_first_of("0123456789") != std::string_view::npos;
}

// Characters as they appear, so that a cell with a multi-byte character does not shift its row.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

constexpr const char* escape(Mark mark) {
  switch (mark) {
    case Mark::good:
      return "\033[32m";
    case Mark::bad:
      return "\033[31m";
    case Mark::dim:
      return "\033[2m";
    case Mark::strong:
      return "\033[1m";
  }
  return "";
}

}  // namespace

Table& Table::row(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
  return *this;
}

std::string Table::text(bool colour) const {
  std::size_t columns = header_.size();
  for (const auto& row : rows_) columns = std::max(columns, row.size());
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> numeric(columns, !header_.empty());
  for (std::size_t c = 0; c < header_.size(); ++c) widths[c] = width(header_[c]);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], width(row[c]));
      if (!row[c].empty() && !looks_numeric(row[c])) numeric[c] = false;
    }
  }

  std::string out;
  auto append = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string pad(widths[c] - width(cells[c]), ' ');
      if (c != 0) line += "  ";
      line += numeric[c] ? pad + cells[c] : cells[c] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  if (!header_.empty()) {
    const std::string header = append(header_);
    out += colour ? escape(Mark::strong) + header + "\033[0m\n" : header + "\n";
  }
  for (const auto& row : rows_) out += append(row) + "\n";
  return out;
}

Progress::Progress(std::string label, std::uint64_t total)
    : label_(std::move(label)), total_(total), shown_(is_screen(stderr) && total > 0) {
  if (!shown_) return;
  bar_is_shown(true);
  draw();
}

Progress::~Progress() {
  if (!shown_) return;
  write(stderr, "\r\033[K");
  bar_is_shown(false);
}

void Progress::advance(std::uint64_t steps) {
  done_ = std::min(total_, done_ + steps);
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (done_ < total_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  draw();
}

void Progress::set(std::uint64_t done, std::uint64_t total) {
  total_ = total;
  done_ = std::min(done, total) - 1;
  advance();
}

void Progress::hide() const {
  if (shown_) write(stderr, "\r\033[K");
}

void Progress::draw() const {
  constexpr std::uint64_t cells = 30;
  const std::uint64_t filled = done_ * cells / total_;
  std::string left;
  if (done_ > 0) {
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    left = fmt::format(", {:.0f} s left", spent / double(done_) * double(total_ - done_));
  }
  write(stderr, fmt::format("\r\033[K{} [{}{}] {} of {}{}", label_, std::string(filled, '#'),
                            std::string(cells - filled, ' '), done_, total_, left));
  std::fflush(stderr);
}

Output::Output(bool json) : json_(json), colour_(!json && wants_colour()) {}

void Output::document(const Json& value) {
  if (!json_) return;
  write(stdout, value.dump(2) + "\n");
  documented_ = true;
}

void Output::table(const Table& table) {
  if (!json_) write(stdout, table.text(colour_));
}

void Output::line(std::string_view text) {
  if (!json_) write(stdout, fmt::format("{}\n", text));
}

void Output::note(std::string_view text) { write(stderr, fmt::format("{}\n", text)); }

std::string Output::paint(Mark mark, std::string_view text) const {
  return colour_ ? fmt::format("{}{}\033[0m", escape(mark), text) : std::string(text);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < std::size(units)) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace warpwright::cli

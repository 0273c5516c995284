// What the commands print with: tables, one JSON document, notes, a progress bar. stdout carries the result and nothing
// else; everything printed along the way goes to stderr.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/json.h"

namespace warpwright::cli {

// Columns as wide as their longest cell; a column whose cells are all numbers is aligned to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  // Two columns without a header: names and values.
  Table() = default;

  Table& row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  std::string text(bool colour) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

enum class Mark { good, bad, dim, strong };

// A bar on stderr, redrawn at most ten times a second; silent when stderr is not a terminal.
class Progress {
 public:
  Progress(std::string label, std::uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t steps = 1);
  // Where the number of steps is known on the way.
  void set(std::uint64_t done, std::uint64_t total);
  // Until it advances again: for a line that is printed meanwhile.
  void hide() const;

 private:
  void draw() const;

  std::string label_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  bool shown_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), last_;
};

class Output {
 public:
  explicit Output(bool json);

  bool json() const { return json_; }

  // The command's result as one JSON document on stdout; does nothing without --json.
  void document(const Json& value);
  bool documented() const { return documented_; }
  // The command's result for people, on stdout; does nothing with --json.
  void table(const Table& table);
  void line(std::string_view text);
  // A remark for people, on stderr, with or without --json.
  void note(std::string_view text);

  // The text in a colour when stdout is a terminal, unchanged otherwise.
  std::string paint(Mark mark, std::string_view text) const;

 private:
  bool json_;
  bool colour_;
  bool documented_ = false;
};

// "1.5 GiB", "232448 B": bytes for people.
std::string bytes_text(std::uint64_t bytes);

}  // namespace warpwright::cli

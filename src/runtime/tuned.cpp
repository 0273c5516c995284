#include "runtime/tuned.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "runtime/embedded.h"

namespace warpwright::runtime {
namespace {

constexpr const char* kFirstLine = "# warpwright tuned table, format 1";
constexpr const char* kColumns = "dtype\tb_dtype\tout\tlayout\tbatch\tm\tn\tk\tplan\tus\tmodel_us";

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

template <class Number>
bool number(const std::string& text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return !text.empty() && stop == end && error == std::errc() && value >= 0;
}

Layout layout_of(const GemmShape& s) {
  if (s.a_major == Major::K) return s.b_major == Major::K ? Layout::nt : Layout::nn;
  return s.b_major == Major::K ? Layout::tt : Layout::tn;
}

bool read_row(const std::string& line, TunedRow& row) {
  const auto cells = cells_of(line);
  if (cells.size() != 11) return false;
  const auto layout = parse_layout(cells[3]);
  if (!layout || !parse_dtype(cells[0].c_str(), row.dtype) || !parse_dtype(cells[1].c_str(), row.b_dtype) ||
      !parse_dtype(cells[2].c_str(), row.out)) {
    return false;
  }
  row.layout = *layout;
  row.plan = cells[8];
  return number(cells[4], row.batch) && number(cells[5], row.m) && number(cells[6], row.n) && number(cells[7], row.k) &&
         !row.plan.empty() && number(cells[9], row.us) && number(cells[10], row.model_us);
}

// Read once; a table that cannot be read is left out, since a wrong answer would be worse than the model's.
const std::vector<TunedTable>& tables() {
  static const std::vector<TunedTable> list = [] {
    std::vector<TunedTable> read;
    const auto add = [&](const std::string& text) {
      if (auto table = read_table(text)) read.push_back(std::move(*table));
    };
    if (const char* path = std::getenv("WARPWRIGHT_TUNED"); path != nullptr && *path != 0) {
      std::ifstream file(path);
      add(std::string(std::istreambuf_iterator<char>(file), {}));
      return read;
    }
    for (const EmbeddedFile& file : embedded_tables()) add(file.text);
    return read;
  }();
  return list;
}

}  // namespace

std::string write_table(const TunedTable& table) {
  std::string text = fmt::format("{}\n# device\t{}\n# multiprocessors\t{}\n# toolkit\t{}\n{}\n", kFirstLine,
                                 table.device, table.multiprocessors, table.toolkit, kColumns);
  for (const TunedRow& r : table.rows) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.3f}\t{:.3f}\n", name(r.dtype), name(r.b_dtype),
                        name(r.out), name(r.layout), r.batch, r.m, r.n, r.k, r.plan, r.us, r.model_us);
  }
  return text;
}

Result<TunedTable> read_table(const std::string& text) {
  std::istringstream lines(text);
  TunedTable table;
  std::string line;
  int count = 0;
  const auto refused = [&](const char* rule) {
    return Status(Code::invalid_argument, fmt::format("line {} of the tuned table: {}.", count, rule));
  };
  bool columns = false;
  while (std::getline(lines, line)) {
    ++count;
    if (count == 1) {
      if (line != kFirstLine) return refused("it must name the format");
      continue;
    }
    if (line.empty()) continue;
    if (line.starts_with("# ")) {
      const auto cells = cells_of(line.substr(2));
      if (cells.size() != 2) continue;
      if (cells[0] == "device") table.device = cells[1];
      if (cells[0] == "toolkit") table.toolkit = cells[1];
      if (cells[0] == "multiprocessors" && !number(cells[1], table.multiprocessors)) return refused("not a number");
      continue;
    }
    if (!columns) {
      if (line != kColumns) return refused("the columns are not those of this format");
      columns = true;
      continue;
    }
    TunedRow row;
    if (!read_row(line, row)) return refused("it is not a row of this format");
    table.rows.push_back(std::move(row));
  }
  if (!columns || table.device.empty()) return refused("the table names no device or no columns");
  return table;
}

TunedRow row_of(const GemmShape& s) {
  TunedRow row;
  row.dtype = s.dtype;
  row.b_dtype = s.b_dtype();
  row.out = s.epilogue.out;
  row.layout = layout_of(s);
  row.batch = s.batch;
  row.m = s.m;
  row.n = s.n;
  row.k = s.k;
  return row;
}

bool describes(const TunedRow& row, const GemmShape& s) {
  const TunedRow wanted = row_of(s);
  return row.m == wanted.m && row.n == wanted.n && row.k == wanted.k && row.batch == wanted.batch &&
         row.dtype == wanted.dtype && row.b_dtype == wanted.b_dtype && row.out == wanted.out &&
         row.layout == wanted.layout && s.load == Mover::tma && s.store == Mover::tma;
}

std::string tuned_plan(const GemmShape& shape, const Chip& chip) {
  for (const TunedTable& table : tables()) {
    if (table.device != chip.name || table.multiprocessors != chip.multiprocessors) continue;
    for (const TunedRow& row : table.rows) {
      if (describes(row, shape)) return row.plan;
    }
  }
  return "";
}

}  // namespace warpwright::runtime

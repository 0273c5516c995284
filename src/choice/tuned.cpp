#include "choice/tuned.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "problem/words.h"

namespace warpwright::choice {
namespace {

constexpr TunedFormat kFormat = {"# warpwright tuned table, format 1",
                                 "dtype\tb_dtype\tout\tlayout\tbatch\tm\tn\tk\tplan\tus\tmodel_us"};

bool read_row(const std::vector<std::string>& cells, TunedRow& row) {
  if (cells.size() != 11) return false;
  const auto layout = problem::parse_layout(cells[3]);
  if (!layout || !parse_dtype(cells[0].c_str(), row.dtype) || !parse_dtype(cells[1].c_str(), row.b_dtype) ||
      !parse_dtype(cells[2].c_str(), row.out)) {
    return false;
  }
  std::tie(row.a_major, row.b_major) = *layout;
  row.plan = cells[8];
  return read_number(cells[4], row.batch) && read_number(cells[5], row.m) && read_number(cells[6], row.n) &&
         read_number(cells[7], row.k) && !row.plan.empty() && read_number(cells[9], row.us) &&
         read_number(cells[10], row.model_us);
}

// Read once; a table that cannot be read is ignored, since a wrong answer would be worse than the model's.
const std::vector<TunedTable>& tables() {
  static const std::vector<TunedTable> list = [] {
    std::vector<TunedTable> read;
    for (const std::string& text : tuned_texts("WARPWRIGHT_TUNED")) {
      if (auto table = read_table(text)) read.push_back(std::move(*table));
    }
    return read;
  }();
  return list;
}

}  // namespace

std::string write_table(const TunedTable& table) {
  std::string text = write_head(kFormat, table);
  for (const TunedRow& r : table.rows) {
    text +=
        fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.3f}\t{:.3f}\n", name(r.dtype), name(r.b_dtype), name(r.out),
                    problem::layout_of(r.a_major, r.b_major), r.batch, r.m, r.n, r.k, r.plan, r.us, r.model_us);
  }
  return text;
}

Result<TunedTable> read_table(const std::string& text) {
  TunedTable table;
  const Status s = read_tuned(text, kFormat, table, [&](const std::vector<std::string>& cells) {
    TunedRow row;
    if (!read_row(cells, row)) return false;
    table.rows.push_back(std::move(row));
    return true;
  });
  if (!s) return s;
  return table;
}

TunedRow row_of(const GemmShape& s) {
  TunedRow row;
  row.dtype = s.dtype;
  row.b_dtype = s.b_dtype();
  row.out = s.epilogue.out;
  row.a_major = s.a_major;
  row.b_major = s.b_major;
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
         row.a_major == wanted.a_major && row.b_major == wanted.b_major && s.load == Mover::tma &&
         s.store == Mover::tma;
}

std::optional<TunedRow> tuned_row(const GemmShape& shape, const Chip& chip) {
  for (const TunedTable& table : tables()) {
    if (table.device != chip.name || table.multiprocessors != chip.multiprocessors) continue;
    for (const TunedRow& row : table.rows) {
      if (describes(row, shape)) return row;
    }
  }
  return {};
}

}  // namespace warpwright::choice

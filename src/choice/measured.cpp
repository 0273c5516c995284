#include "choice/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "problem/lower.h"
#include "problem/words.h"
#include "system/cache_folder.h"
#include "system/whole_file.h"

#ifndef WARPWRIGHT_VERSION
#define WARPWRIGHT_VERSION "unknown"
#endif

namespace warpwright::choice {
namespace {

constexpr TunedFormat kMeasuredFormat = {"# warpwright measured table, format 1", "problem\tplan\tus\tmodel_us"};
constexpr const char* kVariable = "WARPWRIGHT_TUNING";

struct MeasuredTable : TunedHead {
  std::vector<MeasuredRow> rows;
};

struct Kept {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, MeasuredRow> rows;  // by file and problem
  std::set<std::string> said;
};
Kept& kept() {
  static Kept one;
  return one;
}

void say_once(Kept& k, const std::string& sentence) {
  if (k.said.insert(sentence).second) std::fprintf(stderr, "warpwright: %s\n", sentence.c_str());
}

// The head of a file for this chip; one of another version is as good as none.
TunedHead head_of(const Chip& chip) {
  return {chip.name, chip.multiprocessors,
          fmt::format("warpwright {}, driver {}.{}", WARPWRIGHT_VERSION, chip.driver / 1000, chip.driver % 1000 / 10)};
}

std::vector<MeasuredRow> read_file(Kept& k, const std::string& path, const Chip& chip) {
  std::ifstream file(path);
  if (!file) return {};
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  MeasuredTable table;
  const Status s = read_tuned(text, kMeasuredFormat, table, [&](const std::vector<std::string>& cells) {
    MeasuredRow row;
    if (cells.size() != 4 || cells[0].empty() || cells[1].empty()) return false;
    row.problem = cells[0];
    row.plan = cells[1];
    if (!read_number(cells[2], row.us) || !read_number(cells[3], row.model_us)) return false;
    table.rows.push_back(std::move(row));
    return true;
  });
  if (!s) {
    say_once(k, fmt::format("{}: {} The file is ignored, and what it had is measured again.", path, s.message()));
    return {};
  }
  const TunedHead mine = head_of(chip);
  if (table.device != mine.device || table.multiprocessors != mine.multiprocessors || table.toolkit != mine.toolkit) {
    return {};
  }
  return table.rows;
}

Status write_file(const std::string& path, const std::vector<MeasuredRow>& rows, const Chip& chip) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  std::string text = write_head(kMeasuredFormat, head_of(chip));
  for (const MeasuredRow& r : rows)
    text += fmt::format("{}\t{}\t{:.3f}\t{:.3f}\n", r.problem, r.plan, r.us, r.model_us);
  return system::WholeFile(path).write(text);
}

}  // namespace

namespace {
bool asks_for(Tuning what, Tuning tuning) {
  if (tuning != Tuning::usual) return tuning == what;
  const char* const value = std::getenv(kVariable);
  return value != nullptr && std::string_view(value) == name(what);
}
}  // namespace

bool asks_to_measure(Tuning tuning) { return asks_for(Tuning::measure, tuning); }
bool asks_for_ahead(Tuning tuning) { return asks_for(Tuning::ahead, tuning); }

Status check_tuning() {
  const char* const value = std::getenv(kVariable);
  const std::string_view word = value == nullptr ? "" : value;
  const auto is_word = [&](Tuning known) { return word == name(known); };
  if (word.empty() || std::any_of(std::begin(kTunings), std::end(kTunings), is_word)) return {};
  return Status(Code::invalid_argument, fmt::format("{} = {}: it must be usual, measure or ahead.", kVariable, word));
}

std::string measured_key(const GemmProblem& p) {
  const problem::Lowered low = problem::lower(p);
  const auto matrix = [](const char* what, const problem::StoredMatrix& m, Major major) {
    return fmt::format(" {} {}{} {}/{}", what, name(m.type), major == Major::K ? "" : " by columns", m.stride,
                       m.count > 1 ? m.batch_stride : 0);
  };
  std::string text = fmt::format("gemm {}x{}x{}", p.m, p.n, p.k);
  if (p.batch != 1) text += fmt::format(" batch {}", p.batch);
  text += matrix("a", low.a, p.a.major) + matrix("b", low.b, p.b.major) + matrix("d", low.d, Major::K);
  if (low.reads_c) text += matrix("c", low.c, Major::K);
  const Epilogue& e = p.epilogue;
  if (e.residual) text += matrix("residual", low.residual, Major::K);
  if (e.bias != Bias::none) text += fmt::format(" {} {}/{}", name(e.bias), name(e.bias_type), e.bias_batch_stride);
  if (e.activation != Activation::none) text += fmt::format(" {}", name(e.activation));
  if (!e.formula.empty()) text += fmt::format(" own {:x}", low.shape.epilogue.own);
  if (e.quantize) text += " quantize";
  if (p.alpha != 1) text += " alpha";
  if (p.scaling != Scaling::none) text += fmt::format(" {}", name(p.scaling));
  if (p.block_scaling != BlockScaling::none) text += fmt::format(" {}", name(p.block_scaling));
  if (p.accumulation != Accumulation::fast) text += fmt::format(" {}", name(p.accumulation));
  if (p.alignment < 16) text += fmt::format(" aligned {}", p.alignment);
  if (p.sm_limit > 0) text += fmt::format(" on {} SMs", p.sm_limit);
  if (p.deterministic) text += " deterministic";
  if (!p.dependent) text += " after the launch ahead";
  if (p.b_is_constant) text += " b constant";
  return text;
}

std::string measured_key(const GroupedProblem& p) {
  std::string text = fmt::format("{} {}x{}x{} {} to {} groups {} matrices {}", problem::operation_of(p.groups), p.m,
                                 p.n, p.k, name(p.type), name(p.out), p.group_count, p.matrix_count);
  if (p.usual_rows > 0) text += fmt::format(" usual {}", p.usual_rows);
  if (p.type == DType::e4m3) text += fmt::format(" scales {}", p.b_scale_rows);
  if (p.activation != Activation::none) text += fmt::format(" {}", name(p.activation));
  if (p.bias != Bias::none)
    text += fmt::format(" {} {}{}", name(p.bias), name(p.bias_type), p.shared_bias ? " shared" : "");
  if (p.accumulate) text += " accumulate";
  if (!p.formula.empty()) text += fmt::format(" own {:x}", own_id(p.formula.c_str()));
  if (p.gathered) text += fmt::format(" gathered {}", p.a_rows);
  if (p.scaling != BlockScaling::none) text += fmt::format(" {}", name(p.scaling));
  if (p.out_scaling != BlockScaling::none) text += fmt::format(" to {}", name(p.out_scaling));
  if (p.clamped_swiglu) text += " clamped";
  if (p.a_major != Major::K) text += " a by columns";
  if (p.b_major != Major::K) text += " b by columns";
  if (p.sm_limit > 0) text += fmt::format(" on {} SMs", p.sm_limit);
  return text;
}

std::string measured_file(const Chip& chip) {
  const std::string folder = system::cache_folder();
  if (folder.empty() || chip.driver == 0) return "";
  std::string name = fmt::format("{}-{}", chip.name, warpwright::name(chip.arch));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::isalnum(c) != 0 ? char(std::tolower(c)) : '-'; });
  return fmt::format("{}/measured/{}.tsv", folder, name);
}

std::optional<MeasuredRow> measured_row(const std::string& problem, const Chip& chip) {
  const std::string path = measured_file(chip), place = path.empty() ? chip.name : path;
  Kept& k = kept();
  const std::lock_guard lock(k.mutex);
  const auto found = k.rows.find({place, problem});
  if (found != k.rows.end()) return found->second;
  if (path.empty()) return {};
  // Another process may have written since.
  for (MeasuredRow& row : read_file(k, path, chip)) k.rows.try_emplace({place, row.problem}, std::move(row));
  const auto read = k.rows.find({place, problem});
  if (read == k.rows.end()) return {};
  return read->second;
}

void keep_measured(const MeasuredRow& row, const Chip& chip) {
  const std::string path = measured_file(chip), place = path.empty() ? chip.name : path;
  Kept& k = kept();
  const std::lock_guard lock(k.mutex);
  k.rows.insert_or_assign({place, row.problem}, row);
  if (path.empty()) return;
  // With what others wrote; of two processes that write at once one loses its row, and measures again some day.
  std::vector<MeasuredRow> rows = read_file(k, path, chip);
  std::erase_if(rows, [&](const MeasuredRow& r) { return r.problem == row.problem; });
  rows.push_back(row);
  if (const Status s = write_file(path, rows, chip); !s) {
    say_once(k, fmt::format("{} What was measured is kept for this process alone.", s.message()));
  }
}

std::string measured_text(const Chip& chip, double us) {
  return fmt::format("measured on {}: {:.1f} us", chip.name, us);
}

std::string measured_reason(const std::string& reason, const MeasuredRow& row, const Chip& chip) {
  std::string text = measured_text(chip, row.us);
  if (row.model_us > row.us) text += fmt::format("; without that, the choice would have taken {:.1f} us", row.model_us);
  std::string_view rest = reason;
  if (rest.starts_with(kNamed)) rest.remove_prefix(std::string_view(kNamed).size() + 2);
  return rest.empty() ? text : fmt::format("{}; {}", text, rest);
}

}  // namespace warpwright::choice

#include "cli/problem/own_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "cli/line/arguments.h"
#include "reference/problem_workload.h"

namespace warpwright::cli {

std::vector<std::uint8_t> read_file(const char* option, const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    throw UsageError(fmt::format("{}: {} cannot be read", option, path));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

namespace {

std::vector<std::int32_t> read_integers(const char* option, const std::string& path) {
  const auto bytes = read_file(option, path);
  if (bytes.size() % sizeof(std::int32_t) != 0) {
    throw UsageError(fmt::format("{}: {} has {} bytes; its numbers have 4 each", option, path, bytes.size()));
  }
  std::vector<std::int32_t> values(bytes.size() / sizeof(std::int32_t));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void require_size(const char* option, std::size_t have, std::size_t want) {
  if (have != want) throw UsageError(fmt::format("{}: it has {} bytes, the array has {}", option, have, want));
}

reference::Array* find(reference::Workload& w, const char* name) {
  const auto found = std::find_if(w.arrays.begin(), w.arrays.end(), [&](const auto& a) { return a.name == name; });
  return found == w.arrays.end() ? nullptr : &*found;
}

// A reference that is not a number, or that the result's type cannot hold, compares with nothing.
void require_finite(double x, DType type) {
  const double largest = type == DType::fp16   ? 65504
                         : type == DType::e4m3 ? 448
                         : type == DType::e5m2 ? 57344
                                               : 3.38e38;
  if (std::fabs(x) <= largest) return;
  throw UsageError(fmt::format(
      "--a, --b: an element of the product is {}; the simulator compares results, which must be within {} of {}", x,
      largest, name(type)));
}

// Checks a table and puts it into the product.
void take_table(const std::vector<std::int32_t>& table, reference::GroupedProduct& p, std::int64_t groups) {
  const bool masked = p.groups == Groups::masked, along_k = p.groups == Groups::by_depth;
  const std::int64_t wanted = masked ? groups : groups + 1;
  if (std::int64_t(table.size()) != wanted) {
    throw UsageError(fmt::format("--table: it has {} numbers; {} groups need {}", table.size(), groups, wanted));
  }
  const std::int64_t most = masked ? p.shape.m / std::max<std::int64_t>(groups, 1) : along_k ? p.shape.k : p.shape.m;
  std::int64_t least = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int64_t value = table[i];
    if (value < least || value > most) {
      throw UsageError(fmt::format("--table: number {} is {}; it must be from {} to {}", i, value, least, most));
    }
    if (along_k && p.type == DType::e4m3 && value % kScaleBlock != 0) {
      throw UsageError(fmt::format("--table: number {} is {}; groups along k of e4m3 begin at multiples of {}", i,
                                   value, kScaleBlock));
    }
    if (!masked) least = value;
  }
  p.rows.assign(table.begin(), table.end());
}

// Checks the rows that are gathered and puts them into the product.
void take_index(const OwnOperands& own, reference::GroupedProduct& p) {
  if (own.index.empty() == p.gathered()) {
    throw UsageError(p.gathered() ? "--index: gathered rows of your own operands need it"
                                  : "--index: only gathered rows have it; --a-rows says that they are");
  }
  if (!p.gathered()) return;
  p.index = read_integers("--index", own.index);
  if (std::int64_t(p.index.size()) != p.shape.m) {
    throw UsageError(fmt::format("--index: it has {} numbers; the product has {} rows", p.index.size(), p.shape.m));
  }
  for (std::size_t i = 0; i < p.index.size(); ++i) {
    if (p.index[i] < 0 || p.index[i] >= p.a_rows) {
      throw UsageError(fmt::format("--index: number {} is {}; A has {} rows", i, p.index[i], p.a_rows));
    }
  }
}

// The kernels in the simulator have as many matrices as groups: those that are used come first, unless a formula may
// ask for their numbers. Fills product.matrices and returns the given matrix for each place.
std::vector<std::int32_t> take_experts(const OwnOperands& own, std::int64_t given, reference::GroupedProduct& p) {
  std::vector<std::int32_t> used;
  const auto groups = std::size_t(p.group_count());
  if (own.experts.empty()) {
    for (std::size_t g = 0; g < groups; ++g) used.push_back(std::int32_t(g));
    return used;
  }
  const auto experts = read_integers("--experts", own.experts);
  if (experts.size() != groups) {
    throw UsageError(fmt::format("--experts: it has {} numbers; there are {} groups", experts.size(), groups));
  }
  if (!p.formula.empty()) {
    for (std::int32_t i = 0; i < given; ++i) used.push_back(i);
    p.matrix_count = int(given);
  }
  for (std::size_t g = 0; g < groups; ++g) {
    if (experts[g] >= given) {
      throw UsageError(fmt::format("--experts: number {} is {}; there are {} matrices", g, experts[g], given));
    }
    auto at = std::find(used.begin(), used.end(), experts[g]);
    if (experts[g] >= 0 && at == used.end()) at = used.insert(at, experts[g]);
    p.matrices.push_back(experts[g] < 0 ? -1 : std::int32_t(at - used.begin()));
  }
  return used;
}

// The chosen matrices, of `each` bytes, in this many places.
std::vector<std::uint8_t> chosen(const std::vector<std::uint8_t>& all, const std::vector<std::int32_t>& which,
                                 std::size_t each, int places) {
  std::vector<std::uint8_t> bytes(std::size_t(places) * each);
  for (std::size_t i = 0; i < which.size() && each > 0; ++i) {
    std::memcpy(bytes.data() + i * each, all.data() + std::size_t(which[i]) * each, each);
  }
  return bytes;
}

}  // namespace

void add_own_operands(CommandLine& line, OwnOperands& own) {
  const auto file = [&](const char* name, std::string& path, const char* help) {
    line.file(name, path, help).group("Operands of your own (simulators)");
  };
  file("--a", own.a, "A, row-major elements of --dtype, instead of random ones");
  file("--b", own.b, "B, or the matrices of all groups");
  file("--d", own.d, "receives the result");
  file("--a-scales", own.a_scales, "fp32 factors of A");
  file("--b-scales", own.b_scales, "fp32 factors of B");
  file("--table", own.table, "int32 offsets of the groups and the end, or counts of grouped_masked");
  file("--experts", own.experts, "int32 number of the matrix of each group, negative: none");
  file("--index", own.index, "int32 number of the row of A that each row of the product is, with --a-rows");
  file("--c", own.c,
       "C of --beta, or of an --epilogue that names c; for grouped_k fp32 that the result is added to, instead of "
       "zeros");
  file("--bias", own.bias, "fp32 bias of --epilogue bias or row_bias; of groups one for each matrix");
  file("--residual", own.residual, "residual of --epilogue residual, elements of the result's type (bf16 for e4m3)");
  file("--d-scales", own.d_scales, "receives the fp32 factors of a result in e4m3 of a product by groups");
  file("--out-scale", own.out_scale, "fp32 factor of --epilogue quantize");
}

system::WholeFile result_file(const OwnOperands& own) {
  if (own.a.empty() || own.b.empty() || own.d.empty()) throw UsageError("--a, --b and --d: all three or none");
  system::WholeFile file(own.d);
  if (const Status s = file.check_writable(); !s) throw UsageError("--d: " + s.message());
  return file;
}

system::WholeFile factors_file(const OwnOperands& own) {
  system::WholeFile file(own.d_scales);
  if (const Status s = file.check_writable(); !s) throw UsageError("--d-scales: " + s.message());
  return file;
}

void write_result(const system::WholeFile& file, const std::vector<std::uint8_t>& result) {
  if (const Status s = file.write({result.begin(), result.end()}); !s) throw UsageError("--d: " + s.message());
}

void take_dense_operands(const OwnOperands& own, const GemmProblem& problem, reference::Workload& w) {
  const struct {
    const char *array, *option;
    const std::string& path;
  } files[] = {{"A", "--a", own.a},
               {"B", "--b", own.b},
               {"C", "--c", own.c},
               {"residual", "--residual", own.residual},
               {"bias", "--bias", own.bias},
               {"a_scales", "--a-scales", own.a_scales},
               {"b_scales", "--b-scales", own.b_scales},
               {"d_scale", "--out-scale", own.out_scale}};
  for (const auto& file : files) {
    reference::Array* const array = find(w, file.array);
    if (array == nullptr && !file.path.empty()) {
      throw UsageError(
          fmt::format("{}: this product has none; --epilogue, --scaling and --beta say what it has", file.option));
    }
    if (array == nullptr) continue;
    if (file.path.empty()) throw UsageError(fmt::format("{}: the product needs it, as --a, --b and --d", file.option));
    auto bytes = read_file(file.option, file.path);
    require_size(file.option, bytes.size(), array->bytes.size());
    array->bytes = std::move(bytes);
  }
  reference::expect_again(problem, 0, w);
  // A formula may well give a NaN.
  if (!problem.epilogue.formula.empty()) return;
  for (const double x : w.expected) require_finite(x, w.output().type);
}

reference::Workload own_grouped_workload(const OwnOperands& own, reference::GroupedProduct& product) {
  reference::GroupedProduct& p = product;
  const int64_t n = p.shape.n, k = p.shape.k;
  if (own.bias.empty() == p.has_bias()) {
    throw UsageError(p.has_bias() ? "--bias: the product needs it, as --a, --b and --d"
                                  : "--bias: this product has none; --epilogue bias says that it has one");
  }
  if (own.d_scales.empty() == (p.out == DType::e4m3)) {
    throw UsageError(p.out == DType::e4m3 ? "--d-scales: a result in e4m3 needs it for its factors"
                                          : "--d-scales: only a result in e4m3 has factors");
  }
  if (!own.residual.empty() || !own.out_scale.empty()) {
    throw UsageError("--residual, --out-scale: products by groups have none");
  }
  if (p.groups != Groups::none) {
    if (own.table.empty()) throw UsageError("--table: groups of your own operands need one");
    take_table(read_integers("--table", own.table), p, p.group_count());
  } else if (!own.table.empty()) {
    throw UsageError("--table: a product without groups has none");
  }
  take_index(own, p);
  if (!own.c.empty() && !p.accumulate) throw UsageError("--c: only grouped_k, and blockwise with --beta 1, add to it");
  const std::size_t row_bytes = std::size_t(k) * std::size_t(bits(p.type)) / 8;
  const bool has_scales = p.type == DType::e4m3;
  if ((!own.a_scales.empty() || !own.b_scales.empty()) != has_scales || own.a_scales.empty() != own.b_scales.empty()) {
    throw UsageError(
        fmt::format("--a-scales, --b-scales: {} operands have {}", name(p.type), has_scales ? "both" : "none"));
  }
  const std::size_t b_bytes = std::size_t(n) * row_bytes;
  const std::size_t line_bytes = std::size_t((k + kScaleBlock - 1) / kScaleBlock) * sizeof(float);
  const std::size_t b_scales_bytes = std::size_t((n + p.b_scale_rows - 1) / p.b_scale_rows) * line_bytes;
  auto a = read_file("--a", own.a), b = read_file("--b", own.b);
  auto b_scales = has_scales ? read_file("--b-scales", own.b_scales) : std::vector<std::uint8_t>();
  const bool has_matrices = p.groups == Groups::contiguous || p.groups == Groups::masked;
  if (!own.experts.empty() && !has_matrices) throw UsageError("--experts: only groups of rows have a matrix each");
  if (!own.experts.empty() && b_bytes > 0 && b.size() % b_bytes != 0)
    throw UsageError(fmt::format("--b: it has {} bytes, a matrix has {}", b.size(), b_bytes));
  const std::int64_t usual = has_matrices ? p.group_count() : 1;
  const std::int64_t given = own.experts.empty() || b_bytes == 0 ? usual : std::int64_t(b.size() / b_bytes);
  require_size("--b", b.size(), std::size_t(given) * b_bytes);
  if (has_scales) require_size("--b-scales", b_scales.size(), std::size_t(given) * b_scales_bytes);
  auto bias = p.has_bias() ? read_file("--bias", own.bias) : std::vector<std::uint8_t>();
  const std::size_t bias_bytes = std::size_t(n) * sizeof(float);
  if (p.bias) require_size("--bias", bias.size(), std::size_t(given) * bias_bytes);
  if (has_matrices) {
    const std::vector<std::int32_t> used = take_experts(own, given, p);
    b = chosen(b, used, b_bytes, p.matrices_given());
    if (has_scales) b_scales = chosen(b_scales, used, b_scales_bytes, p.matrices_given());
    if (p.bias) bias = chosen(bias, used, bias_bytes, p.matrices_given());
  }
  reference::Workload w = grouped_product_workload(p, reference::Data::normal, 0);
  const auto put = [&](const char* name, const char* option, std::vector<std::uint8_t> bytes) {
    reference::Array& array = *find(w, name);
    require_size(option, bytes.size(), array.bytes.size());
    array.bytes = std::move(bytes);
  };
  put("A", "--a", std::move(a));
  put("B", "--b", std::move(b));
  if (has_scales) {
    put("a_scales", "--a-scales", read_file("--a-scales", own.a_scales));
    put("b_scales", "--b-scales", std::move(b_scales));
  }
  if (p.has_bias()) put("bias", "--bias", std::move(bias));
  if (p.accumulate) {
    auto& d = *find(w, "D");
    auto before = own.c.empty() ? std::vector<std::uint8_t>(d.bytes.size()) : read_file("--c", own.c);
    put("D", "--c", std::move(before));
  }
  // Elements in e4m3 have factors of their own, which hold anything.
  const double farthest = expect_again(p, w);
  // A formula may well give a NaN.
  if (p.formula.empty()) require_finite(farthest, p.out == DType::e4m3 ? DType::fp32 : p.out);
  return w;
}

}  // namespace warpwright::cli

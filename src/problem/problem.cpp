#include "problem/problem.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "warpwright/kernel/cdna/config.h"

namespace warpwright::problem {
namespace {

constexpr std::array<std::pair<Operation, const char*>, 5> operation_words = {{
    {Operation::dense, "dense"},
    {Operation::blockwise, "blockwise"},
    {Operation::grouped_contiguous, "grouped_contiguous"},
    {Operation::grouped_masked, "grouped_masked"},
    {Operation::grouped_k, "grouped_k"},
}};
constexpr std::array<std::pair<Layout, const char*>, 4> layout_words = {{
    {Layout::nt, "nt"},
    {Layout::nn, "nn"},
    {Layout::tn, "tn"},
    {Layout::tt, "tt"},
}};

template <class Table, class Value>
const char* word_of(const Table& table, Value value) {
  for (const auto& [key, word] : table) {
    if (key == value) return word;
  }
  return "?";
}
template <class Value, class Table>
std::optional<Value> value_of(const Table& table, std::string_view word) {
  for (const auto& [key, text] : table) {
    if (word == text) return key;
  }
  return {};
}

// Coordinates are 32-bit and rounded up to whole clusters of tiles; the smallest tile is 64 x 64.
constexpr int64_t largest_extent = int64_t(1) << 30;
constexpr int64_t smallest_tile = 64;
constexpr int64_t most_tiles = INT32_MAX;
// The TMA moves rows that start at multiples of 16 bytes.
constexpr int row_unit_bits = 128;

std::optional<std::string> check_extent(const char* argument, int64_t value, int64_t least) {
  if (value < least) return fmt::format("{} = {}: it must be at least {}.", argument, value, least);
  if (value > largest_extent) return fmt::format("{} = {}: it must be at most {}.", argument, value, largest_extent);
  return {};
}

std::optional<std::string> check_row(const char* argument, int64_t value, const char* matrices, DType type) {
  const int unit = row_unit_bits / bits(type);
  if (value % unit == 0) return {};
  return fmt::format("{} = {}: the rows of {} must be whole 16-byte units, so {} must be a multiple of {} for {}.",
                     argument, value, matrices, argument, unit, name(type));
}

std::optional<std::string> check_cdna_types(const Problem& p, Arch arch) {
  if (p.dtype == DType::e4m3 && arch == Arch::gfx942) {
    return "dtype = e4m3: gfx942 reads fp8 codes as FNUZ and these operands are OCP e4m3; use gfx950 or bf16.";
  }
  if (p.dtype != DType::bf16 && p.dtype != DType::e4m3) {
    return fmt::format("dtype = {}: for {} A and B must be bf16 or e4m3.", name(p.dtype), name(arch));
  }
  if (p.out_dtype != DType::bf16 && p.out_dtype != DType::fp32) {
    return fmt::format("out-dtype = {}: for {} the result must be bf16 or fp32.", name(p.out_dtype), name(arch));
  }
  return {};
}

std::optional<std::string> check_cdna_rows(const Problem& p) {
  const auto bytes = [](int64_t extent, DType type) { return extent * bits(type) / 8; };
  if (bytes(p.k, p.dtype) > kCdnaMaxRowBytes) {
    return fmt::format("k = {}: the rows of A and B must be shorter than 8 MiB.", p.k);
  }
  if (bytes(p.n, p.out_dtype) > kCdnaMaxRowBytes) {
    return fmt::format("n = {}: the rows of the result must be shorter than 8 MiB.", p.n);
  }
  return {};
}

}  // namespace

const char* name(Operation op) { return word_of(operation_words, op); }
const char* name(Layout layout) { return word_of(layout_words, layout); }
std::optional<Operation> parse_operation(std::string_view word) { return value_of<Operation>(operation_words, word); }
std::optional<Layout> parse_layout(std::string_view word) { return value_of<Layout>(layout_words, word); }

DType usual_result(DType operands) {
  switch (operands) {
    case DType::e4m3:
    case DType::e5m2:
      return DType::bf16;
    case DType::tf32:
    case DType::s8:
      return DType::fp32;
    default:
      return operands;
  }
}

std::optional<std::string> validate(const Problem& p, Arch arch) {
  if (p.op != Operation::dense) return fmt::format("op = {}: only dense has a kernel.", name(p.op));
  const bool any_rows = arch == Arch::sm80;
  if (is_cdna(arch)) {
    if (auto e = check_cdna_types(p, arch)) return e;
  } else if (any_rows) {
    if (p.dtype != DType::bf16 && p.dtype != DType::fp16 && p.dtype != DType::s8 && p.dtype != DType::e4m3) {
      return fmt::format("dtype = {}: for sm80 A and B must be bf16, fp16, s8 or e4m3.", name(p.dtype));
    }
  } else if (p.dtype != DType::bf16 && p.dtype != DType::fp16 && p.dtype != DType::tf32 && p.dtype != DType::e4m3) {
    return fmt::format("dtype = {}: A and B must be bf16, fp16, tf32 or e4m3.", name(p.dtype));
  }
  if (p.out_dtype != DType::bf16 && p.out_dtype != DType::fp16 && p.out_dtype != DType::fp32) {
    return fmt::format("out-dtype = {}: the result must be bf16, fp16 or fp32.", name(p.out_dtype));
  }
  if (p.layout != Layout::nt) {
    return fmt::format("layout = {}: A and B must both be stored along k, which is nt.", name(p.layout));
  }
  if (p.groups != 1) return fmt::format("groups = {}: a dense product has exactly 1 group.", p.groups);
  if (p.batch != 1) return fmt::format("batch = {}: only one problem at a time is served, batch must be 1.", p.batch);
  if (!p.epilogue.empty()) return fmt::format("epilogue = {}: only the plain store is served.", p.epilogue);
  if (!p.scaling.empty())
    return fmt::format("scaling = {}: {} operands have no scale factors.", p.scaling, name(p.dtype));
  if (auto e = check_extent("m", p.m, 1)) return e;
  if (auto e = check_extent("n", p.n, 1)) return e;
  if (auto e = check_extent("k", p.k, 0)) return e;
  const auto tiles = [](int64_t extent) { return (extent + smallest_tile - 1) / smallest_tile; };
  if (tiles(p.m) * tiles(p.n) > most_tiles) {
    return fmt::format("m = {}, n = {}: the result has more than {} tiles of {} x {}.", p.m, p.n, most_tiles,
                       smallest_tile, smallest_tile);
  }
  if (!any_rows) {
    if (auto e = check_row("k", p.k, "A and B", p.dtype)) return e;
    if (auto e = is_cdna(arch) ? check_cdna_rows(p) : check_row("n", p.n, "the result", p.out_dtype)) return e;
  }
  if (!std::isfinite(float(p.alpha))) return fmt::format("alpha = {}: it must be a finite fp32 number.", p.alpha);
  if (p.beta != 0) return fmt::format("beta = {}: there is no C to add, beta must be 0.", p.beta);
  return {};
}

}  // namespace warpwright::problem

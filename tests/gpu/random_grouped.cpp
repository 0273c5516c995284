#include "gpu/random_grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "choice/grouped.h"

namespace warpwright::gpu_random {
namespace {

using device_check::Matrix;
using device_check::RowBlock;
using device_check::Values;

constexpr int64_t kMostGroups = 160;
constexpr int64_t kMostRows = 10000;
constexpr int64_t kMostOfB = int64_t(1) << 27;  // elements of all matrices together
constexpr int64_t kMostOfD = int64_t(1) << 25;  // elements of D of groups along k
constexpr int64_t kScales = 128;                // elements with one factor
constexpr int64_t kWord = 4;                    // bytes of a factor and of an entry of a table
constexpr size_t kAround = 8192;                // bytes of NaN on each side of an operand
constexpr uint32_t kNoStatus = 0xffff'ffff;

bool chance(Random& random, int one_in) { return random() % uint64_t(one_in) == 0; }
int64_t between(Random& random, int64_t least, int64_t most) {
  return least + int64_t(random() % uint64_t(most - least + 1));
}
// Small numbers as often as large ones.
int64_t spread(Random& random, int64_t least, int64_t most) {
  const double u = double(random() >> 11) * 0x1p-53;
  const double low = std::log(double(least)), high = std::log(double(most) + 1);
  return std::clamp<int64_t>(int64_t(std::exp(low + u * (high - low))), least, most);
}
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t matrices_of(const GroupedProblem& p) {
  if (p.groups == Groups::none || p.groups == Groups::by_depth) return 1;
  return p.matrix_count > 0 ? p.matrix_count : p.group_count;
}
bool swiglu(const GroupedProblem& p) { return p.activation == Activation::swiglu; }
int64_t columns_of(const GroupedProblem& p) { return swiglu(p) ? p.n / 2 : p.n; }
int64_t d_rows_of(const GroupedProblem& p) { return p.groups == Groups::by_depth ? p.group_count * p.m : p.m; }
int64_t b_lines_of(const GroupedProblem& p) { return ceil_div(p.n, p.b_scale_rows); }
int64_t k_blocks_of(const GroupedProblem& p) { return ceil_div(p.k, kScales); }
int64_t biases_of(const GroupedProblem& p) { return (p.shared_bias ? 1 : matrices_of(p)) * p.n; }

int64_t draw_group_count(Random& random) {
  constexpr int64_t special[] = {1, 2, 31, 32, 33, 64, 128, 160};
  if (chance(random, 3)) return special[random() % std::size(special)];
  return chance(random, 2) ? spread(random, 1, kMostGroups) : between(random, 1, kMostGroups);
}

// Rows of each group: few, many, one that has nearly all, none.
std::vector<uint32_t> draw_counts(int64_t groups, int64_t room, Random& random) {
  std::vector<uint32_t> counts;
  const uint64_t kind = random() % 4;
  const int64_t most = std::max<int64_t>(kind == 0 ? room : kind == 1 ? std::min<int64_t>(room, 20) : room / 2, 1);
  for (int64_t g = 0; g < groups; ++g) {
    counts.push_back(chance(random, 5) ? 0 : uint32_t(kind == 3 ? spread(random, 1, most) : between(random, 0, most)));
  }
  if (chance(random, 4)) counts[random() % counts.size()] = uint32_t(room);
  if (chance(random, 12)) std::fill(counts.begin(), counts.end(), 0u);
  return counts;
}

// Along k: some groups without columns, some columns without a group.
void draw_depths(GroupedTrial& t, Random& random) {
  GroupedProblem& p = t.problem;
  const int64_t unit = p.type == DType::e4m3 ? kScales : 1, row_unit = std::max<int64_t>(unit, 128 / bits(p.type));
  const int64_t most = std::max<int64_t>(6000 / unit / p.group_count, 1);
  t.rows = {chance(random, 3) ? uint32_t(unit * between(random, 0, 3)) : 0u};
  for (int64_t g = 0; g < p.group_count; ++g) {
    t.rows.push_back(t.rows.back() + (chance(random, 5) ? 0 : uint32_t(unit * between(random, 0, most))));
  }
  p.k = ceil_div(t.rows.back() + (chance(random, 2) ? unit * between(random, 0, 3) : 0), row_unit) * row_unit;
}

void draw_rows(GroupedTrial& t, Random& random) {
  GroupedProblem& p = t.problem;
  if (p.groups == Groups::masked) {
    const int64_t room = spread(random, 1, std::max<int64_t>(kMostRows * 2 / p.group_count, 1));
    t.rows = draw_counts(p.group_count, room, random);
    p.m = p.group_count * room;
    return;
  }
  const std::vector<uint32_t> counts =
      draw_counts(p.group_count, std::max<int64_t>(kMostRows / p.group_count, 1), random);
  // Rows of no group before all groups and after them.
  t.rows = {chance(random, 3) ? uint32_t(between(random, 0, 200)) : 0u};
  for (const uint32_t count : counts) t.rows.push_back(t.rows.back() + count);
  p.m = t.rows.back() + (chance(random, 2) ? between(random, 0, 300) : 0);
}

void draw_matrices(GroupedTrial& t, Random& random) {
  GroupedProblem& p = t.problem;
  const uint64_t kind = random() % 4;
  if (kind == 0) return;  // group g has matrix g
  p.matrix_count = kind == 1 ? p.group_count + between(random, 0, 8) : spread(random, 1, p.group_count);
  t.matrices.resize(size_t(p.group_count));
  if (kind == 1) {  // each once, in any order
    std::vector<int32_t> all(static_cast<size_t>(p.matrix_count));
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random);
    std::copy_n(all.begin(), t.matrices.size(), t.matrices.begin());
  } else {
    for (int32_t& m : t.matrices) m = int32_t(between(random, 0, p.matrix_count - 1));
  }
  if (chance(random, 2)) {
    for (int32_t& m : t.matrices) m = chance(random, 6) ? -1 : m;
  }
}

void draw_modes(GroupedProblem& p, Random& random) {
  const bool deep = p.groups == Groups::by_depth;
  if (p.type == DType::e4m3 && (deep || chance(random, 3))) p.b_scale_rows = 1;
  if (deep) {
    p.out = chance(random, 3) ? DType::bf16 : DType::fp32;
    p.accumulate = p.out == DType::fp32 && chance(random, 2);
    return;
  }
  if (chance(random, 2)) p.activation = Activation::swiglu;
  if (chance(random, 2)) p.out = DType::e4m3;
  if (chance(random, 2)) {
    p.bias = Bias::per_column;
    p.bias_type = chance(random, 2) ? DType::bf16 : DType::fp32;
    p.shared_bias = chance(random, 3);
  }
}

void draw_extents(GroupedProblem& p, Random& random) {
  const auto extent = [&](int64_t most, int64_t unit) {
    const int64_t any = chance(random, 2) ? spread(random, 1, most) : between(random, 1, most);
    return chance(random, 3) ? ceil_div(any, 128) * 128 : ceil_div(any, unit) * unit;
  };
  const bool whole_blocks = p.out == DType::e4m3 || (swiglu(p) && p.type == DType::e4m3 && p.b_scale_rows != 1);
  const int64_t n_unit = (whole_blocks ? kScales : 128 / bits(p.out)) * (swiglu(p) ? 2 : 1);
  p.n = ceil_div(extent(2000, 1), n_unit) * n_unit;
  if (p.groups == Groups::by_depth) {
    p.m = extent(700, 1);
    while (p.group_count * p.m * p.n > kMostOfD) p.m = ceil_div(p.m, 2);
    return;
  }
  p.k = extent(3000, 128 / bits(p.type));
  while (matrices_of(p) * p.n * p.k > kMostOfB) {
    if (p.n > p.k && p.n > n_unit) {
      p.n = ceil_div(p.n / 2, n_unit) * n_unit;
    } else {
      p.k = ceil_div(p.k / 2, 16) * 16;
    }
  }
  if (chance(random, 40)) p.k = 0;
  if (chance(random, 80)) p.n = 0;
}

// At least one number becomes one that no table may have.
void make_wrong(GroupedTrial& t, Random& random) {
  GroupedProblem& p = t.problem;
  constexpr uint32_t wild[] = {0x7fff'ffff, 0x8000'0000, 0xffff'ffff, 0x0100'0000};
  const bool deep = p.groups == Groups::by_depth;
  const int64_t end = deep ? p.k : p.m;
  for (int times = 1 + int(random() % 3); times > 0; --times) {
    uint32_t& entry = t.rows[random() % t.rows.size()];
    const uint64_t kind = random() % (deep ? 2 : 3);
    if (kind == 0) entry = chance(random, 2) ? wild[random() % std::size(wild)] : uint32_t(end + 1 + int(random() % 9));
    if (kind == 1) entry = p.groups == Groups::masked ? uint32_t(end + 1) : uint32_t(between(random, 0, end));
    if (kind == 2) {
      if (t.matrices.empty()) {
        t.matrices.resize(size_t(p.group_count));
        std::iota(t.matrices.begin(), t.matrices.end(), 0);
      }
      const int32_t unknown[] = {int32_t(matrices_of(p)), int32_t(matrices_of(p) + 1), INT32_MAX, -1, INT32_MIN};
      t.matrices[random() % t.matrices.size()] = unknown[random() % std::size(unknown)];
    }
  }
}

}  // namespace

std::string GroupedTrial::text() const {
  const GroupedProblem& p = problem;
  constexpr const char* kinds[] = {"one product", "contiguous", "masked", "by depth"};
  std::string modes;
  if (p.b_scale_rows == 1) modes += ", a scale for each row of B";
  if (swiglu(p)) modes += ", swiglu";
  if (p.bias != Bias::none) modes += fmt::format(", {}bias of {}", p.shared_bias ? "shared " : "", name(p.bias_type));
  if (p.accumulate) modes += ", added to D";
  return fmt::format("{} {} to {} {}x{}x{}{}, {} groups, {} matrices, {} SMs, {}, {}", kinds[size_t(p.groups)],
                     name(p.type), name(p.out), p.m, p.n, p.k, modes, p.group_count, matrices_of(p), p.sm_limit,
                     p.plan.empty() ? "plan of the library's choice" : p.plan,
                     exact ? "whole numbers" : "normal values");
}

GroupedTrial draw_grouped(Groups groups, DType type, Tables tables, Modes modes, Random& random) {
  for (;;) {
    GroupedTrial t;
    GroupedProblem& p = t.problem;
    p.groups = groups;
    p.type = type;
    t.seed = random();
    t.exact = chance(random, 2);
    if (groups != Groups::none) p.group_count = draw_group_count(random);
    if (modes == Modes::any) draw_modes(p, random);
    if (groups == Groups::none) {
      p.m = chance(random, 2) ? spread(random, 1, 128) : spread(random, 1, 3000);
      if (modes == Modes::plain && chance(random, 4)) p.out = DType::fp32;
    } else if (groups == Groups::by_depth) {
      draw_depths(t, random);
    } else {
      draw_rows(t, random);
      draw_matrices(t, random);
    }
    draw_extents(p, random);
    if (tables == Tables::wrong && groups != Groups::none) make_wrong(t, random);
    if (chance(random, 3)) p.usual_rows = spread(random, 1, 4096);
    if (chance(random, 8)) p.sm_limit = int(between(random, 1, 140));
    const std::vector<catalog::Instance> all = choice::instances_for(p);
    if (all.empty()) continue;  // a mode that no instance has
    if (chance(random, 2)) p.plan = catalog::plan_name(all[random() % all.size()]);
    return t;
  }
}

MeantRows meant_rows(const GroupedTrial& t) {
  const GroupedProblem& p = t.problem;
  MeantRows meant;
  if (p.groups == Groups::none) {
    if (p.m > 0) meant.spans.push_back({0, p.m, 0, 0, p.k, 0});
    return meant;
  }
  const auto cut = [&](uint32_t value, int64_t most) {
    if (int64_t(value) > most) meant.faults |= kRowsOutOfRange;
    return std::min<int64_t>(value, most);
  };
  const bool deep = p.groups == Groups::by_depth;
  const int64_t unit = deep && p.type == DType::e4m3 ? kScales : 1;
  const auto offset = [&](size_t g) {
    const int64_t value = cut(t.rows[g], deep ? p.k : p.m);
    if (value % unit != 0) meant.faults |= kDepthUnaligned;
    return value / unit * unit;
  };
  int64_t end = p.groups == Groups::masked ? 0 : offset(0);
  for (size_t g = 0; g < size_t(p.group_count); ++g) {
    MeantRows::Span span{end, 0, t.matrices.empty() ? int(g) : t.matrices[g], 0, p.k, end};
    if (p.groups == Groups::masked) {
      const int64_t room = p.m / p.group_count;
      span.count = cut(t.rows[g], room);
      end += room;
    } else {
      const int64_t wanted = offset(g + 1);
      if (wanted < end) meant.faults |= kOffsetsDecrease;
      span.count = std::max<int64_t>(wanted - end, 0);
      end += span.count;
    }
    if (deep) span = {0, p.m, 0, span.first, end, int64_t(g) * p.m};
    if (span.matrix >= matrices_of(p)) {
      meant.faults |= kMatrixOutOfRange;
    } else if (span.matrix >= 0 && span.count > 0) {
      meant.spans.push_back(span);
    }
  }
  return meant;
}

PlacedGrouped::Region PlacedGrouped::place(int64_t bytes, Arena& arena) {
  const size_t whole = (size_t(bytes) + 15) / 16 * 16;
  return {arena.take(whole + 2 * kAround) + kAround, whole};
}

PlacedGrouped::PlacedGrouped(const GroupedTrial& trial, Arena& arena) : trial_(trial), meant_(meant_rows(trial)) {
  const GroupedProblem& p = trial_.problem;
  for (const MeantRows::Span& s : meant_.spans) {
    for (int64_t r = 0; r < s.count; r += device_check::kRowBlock) {
      const auto rows = int32_t(std::min<int64_t>(device_check::kRowBlock, s.count - r));
      blocks_.push_back({s.first + r, s.out + r, rows, int32_t(s.matrix), s.first_k, s.end_k});
    }
  }
  const int64_t size = bits(p.type) / 8, d_rows = d_rows_of(p), columns = columns_of(p);
  // The arena hands out neighbours: all inputs are one region.
  a_ = place(p.m * p.k * size, arena);
  b_ = place(matrices_of(p) * p.n * p.k * size, arena);
  if (p.type == DType::e4m3) {
    a_scales_ = place(p.m * k_blocks_of(p) * kWord, arena);
    b_scales_ = place(matrices_of(p) * b_lines_of(p) * k_blocks_of(p) * kWord, arena);
  }
  if (p.bias != Bias::none) bias_ = place(biases_of(p) * bits(p.bias_type) / 8, arena);
  rows_ = place(int64_t(trial_.rows.size()) * kWord, arena);
  matrices_ = place(int64_t(trial_.matrices.size()) * kWord, arena);
  row_blocks_ = place(int64_t(blocks_.size() * sizeof(RowBlock)), arena);
  inputs_ = a_.data - kAround;
  input_bytes_ = size_t(row_blocks_.data + row_blocks_.bytes + kAround - inputs_);
  d_ = place(d_rows * columns * bits(p.out) / 8, arena);
  if (p.out == DType::e4m3) d_scales_ = place(d_rows * (columns / kScales) * kWord, arena);
  if (p.accumulate) addend_ = place(d_rows * columns * kWord, arena);
  findings_ = reinterpret_cast<device_check::Findings*>(arena.take(sizeof(device_check::Findings)));
  auto* const status = reinterpret_cast<uint32_t*>(arena.take(sizeof(uint32_t)));
  const size_t scratch = size_t(d_rows * p.n) * sizeof(double);

  const auto floats = [](const Region& r) { return reinterpret_cast<float*>(r.data); };
  product_ = {.n = p.n,
              .k = p.k,
              .a = {a_.data, p.type, p.m, p.k, 1, p.k, 0},
              .b = {b_.data, p.type, matrices_of(p) * p.n, p.k, 1, p.k, 0},
              .d = {d_.data, p.out, d_rows, columns, 1, columns, 0},
              .a_scales = floats(a_scales_),
              .b_scales = floats(b_scales_),
              .b_scale_rows = p.b_scale_rows,
              .bias = bias_.data,
              .bias_type = p.bias_type,
              .shared_bias = p.shared_bias,
              .swiglu = swiglu(p),
              .addend = floats(addend_),
              .d_scales = floats(d_scales_),
              .blocks = reinterpret_cast<const RowBlock*>(row_blocks_.data),
              .block_count = int(blocks_.size()),
              .sums = reinterpret_cast<double*>(arena.take(scratch)),
              .bounds = reinterpret_cast<double*>(arena.take(scratch)),
              .exact = trial_.exact};
  const bool table = p.groups != Groups::none;
  pointers_ = {.a = a_.data,
               .b = b_.data,
               .a_scales = product_.a_scales,
               .b_scales = product_.b_scales,
               .d = d_.data,
               .rows = table ? reinterpret_cast<const uint32_t*>(rows_.data) : nullptr,
               .matrices = trial_.matrices.empty() ? nullptr : reinterpret_cast<const int32_t*>(matrices_.data),
               .status = table ? status : nullptr,
               .bias = bias_.data,
               .d_scales = floats(d_scales_)};
}

// Rectangles of `width` bytes in rows of `pitch`.
void PlacedGrouped::spoil(const Region& region, int64_t offset, int64_t pitch, int64_t width, int64_t rows,
                          cudaStream_t stream) {
  if (region.data == nullptr || width <= 0 || rows <= 0) return;
  gpu::require(cudaMemset2DAsync(region.data + offset, size_t(pitch), 0xff, size_t(width), size_t(rows), stream),
               "cudaMemset");
}

void PlacedGrouped::spoil_what_is_not_meant(cudaStream_t stream) const {
  const GroupedProblem& p = trial_.problem;
  const int64_t size = bits(p.type) / 8, row = p.k * size, scale_row = k_blocks_of(p) * kWord;
  const auto rows = [&](int64_t first, int64_t end) {
    spoil(a_, first * row, row, row, end - first, stream);
    spoil(a_scales_, first * scale_row, scale_row, scale_row, end - first, stream);
  };
  const auto columns = [&](int64_t first, int64_t end) {
    const int64_t scales = first / kScales * kWord, width = (end / kScales - first / kScales) * kWord;
    spoil(a_, first * size, row, (end - first) * size, p.m, stream);
    spoil(b_, first * size, row, (end - first) * size, p.n, stream);
    spoil(a_scales_, scales, scale_row, width, p.m, stream);
    spoil(b_scales_, scales, scale_row, width, b_lines_of(p), stream);
  };
  const bool deep = p.groups == Groups::by_depth;
  std::vector<bool> used(size_t(matrices_of(p)), false);
  int64_t end = 0;
  for (const MeantRows::Span& s : meant_.spans) {
    deep ? columns(end, s.first_k) : rows(end, s.first);
    end = deep ? s.end_k : s.first + s.count;
    used[size_t(s.matrix)] = true;
  }
  deep ? columns(end, p.k) : rows(end, p.m);
  for (int64_t m = 0; m < matrices_of(p); ++m) {
    if (used[size_t(m)]) continue;
    spoil(b_, m * p.n * row, row, row, p.n, stream);
    spoil(b_scales_, m * b_lines_of(p) * scale_row, scale_row, scale_row, b_lines_of(p), stream);
    const int64_t biases = p.n * bits(p.bias_type) / 8;
    if (!p.shared_bias) spoil(bias_, m * biases, biases, biases, 1, stream);
  }
}

void PlacedGrouped::prepare(cudaStream_t stream) const {
  const GroupedProblem& p = trial_.problem;
  const auto copy = [&](void* to, const void* from, size_t bytes) {
    if (bytes > 0) gpu::require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpy");
  };
  gpu::require(cudaMemsetAsync(inputs_, 0xff, input_bytes_, stream), "cudaMemset");
  for (const Region& r : {d_, d_scales_}) {
    if (r.data == nullptr) continue;
    gpu::require(cudaMemsetAsync(r.data - kAround, 0xff, r.bytes + 2 * kAround, stream), "cudaMemset");
  }
  const Values values = trial_.exact ? Values::integers : Values::normal;
  const Values factors = trial_.exact ? Values::powers_of_two : Values::normal;
  const auto fill = [&](const Region& to, DType type, int64_t elements, Values with, uint64_t salt) {
    if (to.data == nullptr) return;
    device_check::fill({to.data, type, 1, elements, 1, elements, 0}, with, trial_.seed + salt, stream);
  };
  fill(a_, p.type, p.m * p.k, values, 1);
  fill(b_, p.type, matrices_of(p) * p.n * p.k, values, 2);
  fill(a_scales_, DType::fp32, p.m * k_blocks_of(p), factors, 3);
  fill(b_scales_, DType::fp32, matrices_of(p) * b_lines_of(p) * k_blocks_of(p), factors, 4);
  fill(bias_, p.bias_type, biases_of(p), values, 5);
  fill(addend_, DType::fp32, d_rows_of(p) * columns_of(p), values, 6);
  if (p.accumulate) fill(d_, DType::fp32, d_rows_of(p) * columns_of(p), values, 6);
  spoil_what_is_not_meant(stream);
  copy(rows_.data, trial_.rows.data(), trial_.rows.size() * sizeof(uint32_t));
  copy(matrices_.data, trial_.matrices.data(), trial_.matrices.size() * sizeof(int32_t));
  copy(row_blocks_.data, blocks_.data(), blocks_.size() * sizeof(RowBlock));
  const device_check::Findings nothing;
  copy(findings_, &nothing, sizeof nothing);
  if (pointers_.status != nullptr) copy(pointers_.status, &kNoStatus, sizeof kNoStatus);
  device_check::add_checksum(inputs_, input_bytes_, &findings_->checksum_before, stream);
  gpu::require(cudaGetLastError(), "filling the operands");
}

GroupedFindings PlacedGrouped::check(cudaStream_t stream) const {
  const GroupedProblem& p = trial_.problem;
  device_check::add_checksum(inputs_, input_bytes_, &findings_->checksum_after, stream);
  // Everything in a result that is of no group, with its surroundings.
  const auto count_untouched = [&](const Region& region, DType type, int64_t row_bytes) {
    if (region.data == nullptr) return;
    const uint8_t* end = region.data - kAround;
    const auto untouched = [&](const uint8_t* until) {
      const Matrix none{const_cast<uint8_t*>(end), type, 0, 0, 0, 0, 0};
      if (until > end) device_check::count_stray(none, end, size_t(until - end), findings_, stream);
    };
    for (const MeantRows::Span& s : meant_.spans) {
      untouched(region.data + s.out * row_bytes);
      end = region.data + (s.out + s.count) * row_bytes;
    }
    untouched(region.data + region.bytes + kAround);
  };
  count_untouched(d_, p.out, columns_of(p) * bits(p.out) / 8);
  count_untouched(d_scales_, DType::fp32, columns_of(p) / kScales * kWord);
  device_check::compare(product_, findings_, stream);
  GroupedFindings found;
  const auto read = [&](void* to, const void* from, size_t bytes) {
    gpu::require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpy");
  };
  read(static_cast<device_check::Findings*>(&found), findings_, sizeof(*findings_));
  if (pointers_.status != nullptr) read(&found.status, pointers_.status, sizeof found.status);
  gpu::require(cudaStreamSynchronize(stream), "the kernel");
  return found;
}

std::optional<std::string> PlacedGrouped::complaint(const GroupedFindings& found) const {
  const GroupedProblem& p = trial_.problem;
  if (found.wrong > 0) {
    const auto n = (unsigned long long)(columns_of(p));
    return fmt::format(
        "{}: {} elements are wrong, {} of them unwritten, the first at row {}, column {}; {} times the allowed error",
        trial_.text(), found.wrong, found.unwritten, found.first_wrong / n, found.first_wrong % n, found.worst);
  }
  if (found.stray > 0) return fmt::format("{}: {} elements of no group changed", trial_.text(), found.stray);
  if (found.checksum_before != found.checksum_after) return fmt::format("{}: an operand changed", trial_.text());
  // Nothing is launched for an empty result.
  const bool ran = p.m > 0 && p.n > 0 && pointers_.status != nullptr;
  if (ran && found.status != meant_.faults) {
    return fmt::format("{}: the status word is {:#x} instead of {:#x}", trial_.text(), found.status, meant_.faults);
  }
  return {};
}

}  // namespace warpwright::gpu_random

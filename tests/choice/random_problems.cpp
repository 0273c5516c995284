#include "choice/random_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "choice/choose.h"
#include "choice/tuned_grouped.h"
#include "measure/grouped_check.h"
#include "problem/lower.h"
#include "problem/words.h"

namespace warpwright::random_problems {
namespace {

constexpr int64_t kMost = 300;       // rows and columns
constexpr int64_t kMostDepth = 600;  // sums of whole numbers stay exact in every type of sums
constexpr uint64_t kSeed = 2026;

// std::mt19937_64 gives the same numbers everywhere, the distributions of the library do not.
class Random {
 public:
  Random(uint64_t series, int number) : bits_(kSeed + series + uint64_t(number) * 0x9e3779b97f4a7c15ull) {}
  uint64_t operator()() { return bits_(); }
  bool one_in(uint64_t many) { return bits_() % many == 0; }
  int64_t between(int64_t least, int64_t most) { return least + int64_t(bits_() % uint64_t(most - least + 1)); }
  template <class T, size_t N>
  T of(const T (&list)[N]) {
    return list[bits_() % N];
  }

 private:
  std::mt19937_64 bits_;
};

int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

constexpr DType kWide[] = {DType::fp32, DType::bf16, DType::fp16};

int64_t extent(Random& random, int64_t most) {
  if (random.one_in(40)) return 0;
  if (random.one_in(5)) return random.between(1, 20);
  const int64_t any = random.between(1, most);
  return random.one_in(2) ? any : round_up(any, 16);
}

void draw_types(GemmProblem& p, Random& random) {
  constexpr DType operands[] = {DType::bf16, DType::bf16, DType::bf16, DType::fp16,
                                DType::fp16, DType::e4m3, DType::e4m3, DType::e5m2};
  constexpr DType results[] = {DType::bf16, DType::fp16, DType::fp32, DType::e4m3};
  p.a.type = p.b.type = random.of(operands);
  const bool narrow = bits(p.a.type) == 8;
  p.d.type = usual_result(p.a.type);
  if (random.one_in(3)) p.d.type = random.of(results);
  if (!narrow) {
    if (random.one_in(3)) p.a.major = Major::MN;
    if (random.one_in(3)) p.b.major = Major::MN;
    return;
  }
  if (random.one_in(4)) p.b.type = p.a.type == DType::e4m3 ? DType::e5m2 : DType::e4m3;
  constexpr Scaling scalings[] = {Scaling::none, Scaling::tensor, Scaling::row_column};
  p.scaling = random.of(scalings);
  if (random.one_in(3)) p.accumulation = Accumulation::promoted;
}

void draw_epilogue(GemmProblem& p, Random& random) {
  // Powers of two keep every result exact.
  constexpr float factors[] = {1.f, 1.f, 0.5f, 2.f, -1.f};
  constexpr float betas[] = {1.f, 2.f, -0.5f};
  p.alpha = random.of(factors);
  if (random.one_in(5)) {
    p.beta = random.of(betas);
    p.c.type = random.of(kWide);
  }
  if (random.one_in(4)) {
    p.epilogue.bias = random.one_in(3) ? Bias::per_row : Bias::per_column;
    p.epilogue.bias_type = random.of(kWide);
  }
  if (random.one_in(3)) {
    constexpr Activation activations[] = {Activation::relu, Activation::gelu_tanh, Activation::gelu_erf,
                                          Activation::silu};
    p.epilogue.activation = random.of(activations);
  }
  if (random.one_in(6)) {
    p.epilogue.residual = true;
    p.epilogue.residual_layout.type = random.of(kWide);
  }
  if (random.one_in(8)) {
    p.epilogue.quantize = true;
    p.d.type = DType::e4m3;
  }
}

// Rows that the TMA can address, or whose beginnings no alignment helps.
void draw_layout(MatrixLayout& layout, int64_t rows, int64_t columns, int64_t batch, Random& random) {
  const uint64_t kind = random() % 6;
  if (kind >= 3) layout.stride = round_up(columns, 16) + 16 * random.between(0, 2);
  if (kind == 2) layout.stride = columns + random.between(1, 5);
  const int64_t stride = layout.stride == kPacked ? columns : layout.stride;
  if (batch > 1 && random.one_in(2)) layout.batch_stride = rows * stride + (kind >= 3 ? 16 : random.between(0, 9));
}

void draw_layouts(Dense& drawn, Random& random) {
  GemmProblem& p = drawn.problem;
  const auto operand = [&](MatrixLayout& layout, int64_t rows) {
    const bool along = layout.major == Major::K;
    draw_layout(layout, along ? rows : p.k, along ? p.k : rows, p.batch, random);
    if (p.batch > 1 && random.one_in(4)) layout.batch_stride = 0;
  };
  operand(p.a, p.m);
  operand(p.b, p.n);
  draw_layout(p.d, p.m, p.n, p.batch, random);
  if (random.one_in(10)) {
    // Every matrix begins at a multiple of the alignment, and at no larger power of two.
    p.alignment = std::max({bits(p.a.type), bits(p.b.type), bits(p.d.type)}) / 8;
    drawn.offset = p.alignment * 8 / std::min({bits(p.a.type), bits(p.b.type), bits(p.d.type)});
  }
}

Dense any_dense(Random& random) {
  Dense drawn;
  GemmProblem& p = drawn.problem;
  p.m = extent(random, kMost);
  p.n = extent(random, kMost);
  p.k = extent(random, kMostDepth);
  if (random.one_in(4)) p.batch = random.between(2, 3);
  draw_types(p, random);
  draw_epilogue(p, random);
  draw_layouts(drawn, random);
  if (random.one_in(8)) p.sm_limit = int(random.between(1, 140));
  return drawn;
}

bool served(const GemmProblem& p) {
  if (!validate(p)) return false;
  return bool(choice::choose(p, choice::h200()));
}

void draw_modes(GroupedProblem& p, Random& random) {
  constexpr Groups all[] = {Groups::none, Groups::none, Groups::contiguous, Groups::masked, Groups::by_depth};
  p.groups = random.of(all);
  p.type = p.groups == Groups::none || random.one_in(2) ? DType::e4m3 : DType::bf16;
  if (p.groups != Groups::none) p.group_count = random.between(1, 5);
  const bool deep = p.groups == Groups::by_depth;
  if (p.type == DType::e4m3 && (deep || random.one_in(4))) p.b_scale_rows = 1;
  if (deep) {
    p.out = random.one_in(3) ? DType::bf16 : DType::fp32;
    p.accumulate = p.out == DType::fp32 && random.one_in(2);
    return;
  }
  if (random.one_in(4)) p.activation = Activation::swiglu;
  constexpr DType results[] = {DType::bf16, DType::bf16, DType::bf16, DType::fp32, DType::e4m3};
  p.out = random.of(results);
  if (random.one_in(3)) {
    p.bias = Bias::per_column;
    p.bias_type = random.one_in(2) ? DType::bf16 : DType::fp32;
    p.shared_bias = random.one_in(3);
  }
}

GroupedProblem any_grouped(Random& random) {
  GroupedProblem p;
  draw_modes(p, random);
  const bool halves = p.activation == Activation::swiglu;
  const bool whole = p.out == DType::e4m3 || (halves && p.type == DType::e4m3 && p.b_scale_rows != 1);
  const int64_t n_unit = (whole ? kScaleBlock : 128 / bits(p.out)) * (halves ? 2 : 1);
  const int64_t k_unit = p.groups == Groups::by_depth && p.type == DType::e4m3 ? kScaleBlock : 128 / bits(p.type);
  p.m = extent(random, kMost);
  p.n = round_up(random.between(1, kMost), n_unit);
  p.k = round_up(extent(random, kMostDepth), k_unit);
  if (p.groups == Groups::masked) p.m = round_up(p.m, p.group_count);
  if (random.one_in(8)) p.sm_limit = int(random.between(1, 140));
  return p;
}

bool served(const GroupedProblem& p) { return validate(p) && choice::choose(p, choice::h200()); }

std::string strides(const MatrixLayout& m) {
  const auto number = [](int64_t s) { return s == kPacked ? std::string("packed") : std::to_string(s); };
  return number(m.stride) + "/" + number(m.batch_stride);
}

std::string text(const Dense& d) {
  const GemmProblem& p = d.problem;
  const EpilogueConfig e = problem::lower(p).shape.epilogue;
  return fmt::format("{}{}{}{}{}{}{}, strides {} {} {}, offset {}, alpha {}, beta {}, {} SMs",
                     problem::lower(p).shape.text(),
                     e.bias == Bias::none      ? ""
                     : e.bias == Bias::per_row ? ", row_bias"
                                               : ", bias",
                     e.activation == Activation::none ? "" : fmt::format(", activation {}", int(e.activation)),
                     e.residual ? ", residual" : "", e.quantize ? ", quantize" : "", e.source ? ", C" : "",
                     p.alignment < 16 ? fmt::format(", alignment {}", p.alignment) : "", strides(p.a), strides(p.b),
                     strides(p.d), d.offset, p.alpha, p.beta, p.sm_limit);
}

std::string text(const Grouped& g) {
  const GroupedProblem& p = g.problem;
  return fmt::format("{} {} to {} {}x{}x{}, {} groups{}{}{}{}, {} SMs", problem::operation_of(p.groups), name(p.type),
                     name(p.out), p.m, p.n, p.k, p.group_count,
                     p.type == DType::e4m3 ? fmt::format(", scales of {} rows of B", p.b_scale_rows) : "",
                     p.activation == Activation::swiglu ? ", swiglu" : "", p.bias != Bias::none ? ", bias" : "",
                     p.accumulate ? ", added to D" : "", p.sm_limit);
}

// One thing that no product may have, or that only some may.
void spoil(GemmProblem& p, Random& random) {
  constexpr DType odd_types[] = {DType::fp32, DType::s8, DType::e5m2, DType::e4m3, DType::e2m1, DType::tf32};
  constexpr int alignments[] = {-16, 0, 1, 2, 3, 24};
  constexpr const char* plans[] = {"nonsense",
                                   "dense-100x100",
                                   "dense-128x256-c2-s4",
                                   "dense-128x256-c2-s40",
                                   "dense-128x256-c2-s4-packed",
                                   "dense-128x128-c1-s6-splitk3",
                                   "skinny-64x8-split1-s20",
                                   "grouped-128x128-c2-s5",
                                   "sm90/dense-128x256-c2-s4/fp16-nt",
                                   "sm100/dense-128x128-c1x1-s6/bf16",
                                   "sm90/dense-128x256-c2-s4/bf16-nt-word"};
  const float wild[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  int64_t* const extents[] = {&p.m, &p.n, &p.k, &p.batch};
  MatrixLayout* const layouts[] = {&p.a, &p.b, &p.c, &p.d, &p.epilogue.residual_layout};
  switch (random() % 16) {
    case 0:
      *random.of(extents) = -random.between(1, 5);
      break;
    case 1:
      *random.of(extents) = int64_t(1) << random.between(16, 40);
      break;
    case 2:
      random.of(layouts)->type = random.of(odd_types);
      break;
    case 3:
      random.of(layouts)->stride = -random.between(1, 9);
      break;
    case 4:
      random.of(layouts)->stride = random.between(0, 7);
      break;
    case 5:
      random.of(layouts)->stride = int64_t(1) << random.between(30, 45);
      break;
    case 6:
      random.of(layouts)->batch_stride = random.between(-3, 9);
      break;
    case 7:
      random.of(layouts)->major = Major::MN;
      break;
    case 8:
      p.scaling = random.one_in(2) ? Scaling::tensor : Scaling::row_column;
      break;
    case 9:
      p.accumulation = Accumulation::promoted;
      break;
    case 10:
      (random.one_in(2) ? p.alpha : p.beta) = random.of(wild);
      break;
    case 11:
      p.alignment = random.of(alignments);
      break;
    case 12:
      p.epilogue.bias = Bias::per_column;
      p.epilogue.bias_type = random.of(odd_types);
      if (random.one_in(2)) p.epilogue.bias_batch_stride = -1;
      break;
    case 13:
      p.epilogue.activation = Activation::swiglu;
      break;
    case 14:
      p.sm_limit = -1;
      break;
    default:
      p.plan = random.of(plans);
  }
}

}  // namespace

Problem draw(int number) {
  Random random(0, number);
  if (number % 10 < 7) {
    for (;;) {
      if (Dense d = any_dense(random); served(d.problem)) return d;
    }
  }
  for (;;) {
    const GroupedProblem p = any_grouped(random);
    if (served(p)) return Grouped{p, measure::sample_product(p, uint64_t(number))};
  }
}

std::string text(const Problem& problem) {
  return std::visit([](const auto& p) { return text(p); }, problem);
}

GemmProblem draw_questionable(int number) {
  Random random(1'000'003, number);
  GemmProblem p = any_dense(random).problem;
  for (int64_t i = random.between(0, 2); i > 0; --i) spoil(p, random);
  return p;
}

}  // namespace warpwright::random_problems

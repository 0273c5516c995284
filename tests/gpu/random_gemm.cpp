#include "gpu/random_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "choice/dense.h"
#include "gpu/executor.h"
#include "problem/lower.h"

namespace warpwright::gpu_random {
namespace {

using catalog::Instance;
using device_check::Matrix;
using device_check::Values;

constexpr int64_t kTmaBytes = 16;

bool chance(Random& random, int one_in) { return random() % uint64_t(one_in) == 0; }
int64_t up_to(Random& random, int64_t most) { return int64_t(random() % uint64_t(most + 1)); }
template <class T, size_t N>
T one_of(Random& random, const T (&list)[N]) {
  return list[random() % N];
}

// Small, large and awkward numbers.
int64_t extent(Random& random, int64_t tile, int64_t most) {
  const uint64_t kind = random() % 10;
  const double u = double(random() >> 11) * 0x1p-53;
  if (kind < 3) return std::clamp<int64_t>(int64_t(std::exp(u * std::log(double(most) + 1))), 1, most);
  if (kind < 7) return 1 + int64_t(u * double(most));
  if (chance(random, 20)) return 0;
  if (chance(random, 4)) return 1;
  return std::clamp<int64_t>(tile * (1 + up_to(random, 4)) + up_to(random, 2) - 1, 1, most);
}

int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

// What the instance computes, without extents and layouts.
struct Features {
  DType a = DType::bf16, b = DType::bf16;
  Major a_major = Major::K, b_major = Major::K;
  EpilogueConfig epilogue;
  Scaling scaling = Scaling::none;
  bool promoted = false, batched = false;
  Mover load = Mover::tma, store = Mover::tma;
};
Features features_of(const Instance& instance) {
  Features f;
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    f = {c->type,    c->b_type(),      c->a_major, c->b_major, c->epilogue,
         c->scaling, c->promote_k > 0, c->batched, c->load,    c->store};
  } else {
    const auto& s = *instance.as<SkinnyGemmConfig>();
    f.a = f.b = s.type;
    f.epilogue = s.epilogue;
    f.scaling = s.scaling;
    f.promoted = s.promote_k > 0;
  }
  return f;
}

GemmProblem problem_of(const Features& f) {
  GemmProblem p;
  p.a.type = f.a;
  p.b.type = f.b;
  p.a.major = f.a_major;
  p.b.major = f.b_major;
  p.d.type = f.epilogue.out;
  if (f.epilogue.source) {
    p.beta = 1;
    p.c.type = f.epilogue.source_type;
  }
  p.epilogue.bias = f.epilogue.bias;
  p.epilogue.bias_type = f.epilogue.bias_type;
  p.epilogue.activation = f.epilogue.activation;
  p.epilogue.residual = f.epilogue.residual;
  p.epilogue.residual_layout.type = f.epilogue.residual_type;
  p.epilogue.quantize = f.epilogue.quantize;
  p.scaling = f.scaling;
  p.accumulation = f.promoted ? Accumulation::promoted : Accumulation::fast;
  return p;
}

// Rows that the TMA can take, or cannot.
void draw_layout(MatrixLayout& layout, int64_t rows, int64_t columns, int64_t batch, bool aligned, Random& random) {
  const int64_t unit = aligned ? kTmaBytes * 8 / bits(layout.type) : 1;
  layout.stride = round_up(columns, unit) + (chance(random, 2) ? 0 : unit * up_to(random, 40));
  const bool packed = batch == 1 || chance(random, 2);
  layout.batch_stride = packed ? kPacked : rows * layout.stride + unit * up_to(random, 100);
}

void draw_layouts(Trial& t, const Features& f, Random& random) {
  GemmProblem& p = t.problem;
  const bool loads = f.load == Mover::tma, stores = f.store == Mover::tma;
  // An address that misses the alignment, or rows that do.
  if (!loads && chance(random, 2)) {
    p.alignment = std::max({bits(p.a.type), bits(p.b.type), bits(p.d.type)}) / 8;
    t.shift = p.alignment * (1 + up_to(random, 2));
  }
  const auto operand = [&](MatrixLayout& layout, int64_t rows) {
    const bool along = layout.major == Major::K;
    draw_layout(layout, along ? rows : p.k, along ? p.k : rows, p.batch, loads, random);
    if (p.batch > 1 && chance(random, 4)) layout.batch_stride = 0;
  };
  operand(p.a, p.m);
  operand(p.b, p.n);
  const int64_t columns = problem::result_columns(p);
  draw_layout(p.d, p.m, columns, p.batch, stores, random);
  if (p.beta != 0) {
    t.in_place = p.c.type == p.d.type && chance(random, 3);
    if (t.in_place) {
      p.c.stride = p.d.stride;
      p.c.batch_stride = p.d.batch_stride;
    } else {
      draw_layout(p.c, p.m, columns, p.batch, false, random);
    }
  }
  if (p.epilogue.residual) draw_layout(p.epilogue.residual_layout, p.m, columns, p.batch, false, random);
  if (p.epilogue.bias != Bias::none && chance(random, 2)) {
    p.epilogue.bias_batch_stride = (p.epilogue.bias == Bias::per_row ? p.m : p.n) + up_to(random, 5);
  }
}

// Products of any kind, for finding instances that are not compiled ahead.
problem::GemmShape random_shape(Random& random) {
  problem::GemmShape s;
  constexpr DType inputs[] = {DType::bf16, DType::fp16, DType::e4m3, DType::e5m2};
  constexpr DType outputs[] = {DType::bf16, DType::fp16, DType::fp32, DType::e4m3};
  constexpr DType wide[] = {DType::bf16, DType::fp16, DType::fp32};
  constexpr Activation activations[] = {Activation::none, Activation::none,     Activation::relu,
                                        Activation::silu, Activation::gelu_erf, Activation::gelu_tanh};
  s.m = extent(random, 128, 5000);
  s.n = round_up(extent(random, 128, 5000), 16);
  s.k = extent(random, 64, 5000);
  s.dtype = one_of(random, inputs);
  const bool narrow = bits(s.dtype) == 8;
  s.mixed = narrow && chance(random, 3);
  s.epilogue = factor_and_conversion(one_of(random, outputs));
  if (chance(random, 3)) {
    s.epilogue.source = true;
    s.epilogue.source_type = one_of(random, wide);
  }
  if (chance(random, 3)) {
    s.epilogue.bias = chance(random, 2) ? Bias::per_row : Bias::per_column;
    s.epilogue.bias_type = one_of(random, wide);
    s.epilogue.activation = one_of(random, activations);
  }
  if (!narrow) {
    s.a_major = chance(random, 2) ? Major::MN : Major::K;
    s.b_major = chance(random, 2) ? Major::MN : Major::K;
  } else {
    constexpr Scaling scalings[] = {Scaling::none, Scaling::tensor, Scaling::row_column};
    s.scaling = one_of(random, scalings);
    s.promoted = chance(random, 2);
  }
  if (chance(random, 4)) s.batch = 2;
  if (chance(random, 3)) {
    s.store = Mover::threads;
    if (chance(random, 2)) s.load = Mover::threads;
  }
  if (chance(random, 6)) {
    // Products of pairs have no C; in fp16 they may be too large.
    s.n = round_up(s.n, 2 * kPairedRows);
    s.b_major = Major::K;
    s.epilogue.source = false;
    s.epilogue.source_type = EpilogueConfig{}.source_type;
    s.epilogue.activation = Activation::swiglu;
    if (s.epilogue.out == DType::fp16) s.epilogue.out = DType::bf16;
  }
  return s;
}

std::string nodes_of(const Epilogue& e) {
  std::string text;
  if (e.bias != Bias::none) text += fmt::format(", {} of {}", name(e.bias), name(e.bias_type));
  if (e.activation != Activation::none) text += fmt::format(", {}", name(e.activation));
  if (e.residual) text += fmt::format(", residual of {}", name(e.residual_layout.type));
  if (e.quantize) text += ", quantized";
  return text;
}

}  // namespace

std::vector<Instance> ahead() {
  std::vector<Instance> list;
  for (const Instance& instance : catalog::ahead()) {
    if (instance.as<DenseGemmConfig>() != nullptr || instance.as<SkinnyGemmConfig>() != nullptr) {
      list.push_back(instance);
    }
  }
  return list;
}

Result<std::vector<Instance>> on_demand(int count, uint64_t seed) {
  Random random(seed);
  std::vector<Instance> list;
  std::set<std::string> known;
  for (int tries = 0; int(list.size()) < count && tries < 200 * count; ++tries) {
    const auto choice = choice::choose(random_shape(random), choice::h200());
    if (!choice || catalog::is_ahead(choice->instance)) continue;
    const Instance instance{choice->instance.config};
    if (known.insert(catalog::image_name(instance)).second) list.push_back(instance);
  }
  if (Status s = gpu::compile(list); !s) return s;
  return list;
}

TileExtents tile_of(const Instance& instance) {
  const Features f = features_of(instance);
  int64_t unit = f.store == Mover::tma ? kTmaBytes * 8 / bits(f.epilogue.out) : 1;
  if (f.epilogue.pair()) unit = std::max<int64_t>(kPairedRows, 2 * unit);
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    return {c->tile_m * c->cluster_m(), c->tile_n * c->cluster_n(), c->tile_k(), unit};
  }
  const auto& s = *instance.as<SkinnyGemmConfig>();
  return {s.tokens, s.rows, s.tile_k(), unit};
}

std::string Trial::text() const {
  const GemmProblem& p = problem;
  const problem::Lowered low = problem::lower(p);
  return fmt::format("{}{} by {}, strides {} {} {}, shift {}, alpha {}, beta {}{}, {} SMs, {}", low.shape.text(),
                     nodes_of(p.epilogue), p.plan.empty() ? "the library's choice" : p.plan, low.a.stride, low.b.stride,
                     low.d.stride, shift, p.alpha, p.beta, in_place ? " in place" : "", p.sm_limit,
                     exact ? "whole numbers" : "normal values");
}

std::optional<Trial> draw(const Instance& instance, int64_t most, Random& random,
                          std::optional<reference::Case> extents) {
  const Features f = features_of(instance);
  const TileExtents tile = tile_of(instance);
  for (int tries = 0; tries < 64; ++tries) {
    Trial t;
    GemmProblem& p = t.problem;
    p = problem_of(f);
    t.seed = random();
    t.exact = chance(random, 2);
    if (f.batched) p.batch = chance(random, 16) ? 0 : 2 + up_to(random, 3);
    const int64_t largest = p.batch == 1 ? most : most / 2;
    if (extents) {
      p.m = extents->m;
      p.n = extents->n;
      p.k = extents->k;
    } else {
      // Some instances take no more rows than their tile has.
      const bool few = instance.as<SkinnyGemmConfig>() != nullptr && chance(random, 2);
      p.m = extent(random, tile.m, few ? tile.m : largest);
      p.n = std::min(round_up(extent(random, tile.n, largest), tile.n_unit), largest / tile.n_unit * tile.n_unit);
      p.k = extent(random, tile.k, largest);
    }
    constexpr float exact_factors[] = {1.f, 1.f, 2.f, -0.5f, -1.f, 0.f};
    constexpr float other_factors[] = {1.f, 1.25f, -0.3f, 3.7f};
    p.alpha = t.exact ? one_of(random, exact_factors) : one_of(random, other_factors);
    constexpr float exact_betas[] = {1.f, -2.f, 0.5f};
    constexpr float other_betas[] = {1.f, -1.7f, 0.1f};
    if (p.beta != 0) p.beta = t.exact ? one_of(random, exact_betas) : one_of(random, other_betas);
    // Factors that are not there are 1; an instance may serve both.
    if (p.scaling == Scaling::tensor && chance(random, 3)) p.scaling = Scaling::none;
    p.dependent = !chance(random, 4);
    // What was put on the stream last before the product reads the operands; the kernels that wrote them have ended.
    p.b_is_constant = chance(random, 2);
    if (chance(random, 8)) p.sm_limit = int(1 + up_to(random, 140));
    draw_layouts(t, f, random);
    p.plan = catalog::plan_name(instance);
    if (!validate(p)) continue;
    const problem::GemmShape shape = problem::lower(p).shape;
    // The name must mean this instance for this product, which a different mover or batch would change.
    const auto named = choice::parse_plan(p.plan, shape);
    if (named && named->config == instance.config) return t;
  }
  return {};
}

uint8_t* Arena::take(size_t bytes) {
  bytes = (bytes + 255) / 256 * 256;
  if (bytes > bytes_ - used_) throw measure::CudaFailure("the arena is too small.");
  used_ += bytes;
  return memory_.data() + used_ - bytes;
}

// Rows before and after the matrix belong to its surroundings too, as far as a tile may reach.
PlacedTrial::Region PlacedTrial::place(Matrix& m, Arena& arena, int64_t shift) {
  constexpr int64_t before = 4096;
  const int64_t size = bits(m.type) / 8;
  const int64_t elements =
      m.rows * m.columns * m.count == 0 ? 0 : (m.count - 1) * m.batch_stride + (m.rows - 1) * m.stride + m.columns;
  const int64_t behind = 4096 + std::min<int64_t>(256 * m.stride * size, 2 << 20);
  const int64_t bytes = round_up(before + shift + elements * size + behind, 256);
  uint8_t* const region = arena.take(size_t(bytes));
  m.data = region + before + shift;
  return {region, size_t(bytes)};
}

PlacedTrial::PlacedTrial(const Trial& trial, Arena& arena) : trial_(trial) {
  const GemmProblem& p = trial.problem;
  const problem::Lowered low = problem::lower(p);
  const auto matrix = [](const problem::StoredMatrix& m) {
    return Matrix{nullptr, m.type, m.rows, m.columns, m.count, m.stride, m.count == 1 ? 0 : m.batch_stride};
  };
  device_check::Product& q = product_;
  q.m = p.m;
  q.n = p.n;
  q.k = p.k;
  q.batch = p.batch;
  q.a = matrix(low.a);
  q.b = matrix(low.b);
  q.d = matrix(low.d);
  q.a_major = p.a.major;
  q.b_major = p.b.major;
  q.bias_kind = p.epilogue.bias;
  q.bias_type = p.epilogue.bias_type;
  q.bias_batch_stride = p.epilogue.bias_batch_stride;
  q.activation = p.epilogue.activation;
  q.scaling = p.scaling;
  q.quantize = p.epilogue.quantize;
  q.d_scale = 0.5f;
  q.alpha = p.alpha;
  q.beta = p.beta;
  q.promoted = p.accumulation == Accumulation::promoted;
  q.exact = trial.exact;

  // The arena hands out neighbours: all inputs are one region.
  inputs_ = place(q.a, arena, trial.shift);
  const auto add = [&](Matrix& m, int64_t shift) { inputs_.bytes += place(m, arena, shift).bytes; };
  add(q.b, trial.shift);
  if (p.beta != 0) {
    q.c = matrix(low.c);
    add(q.c, 0);
  }
  if (p.epilogue.residual) {
    q.residual = matrix(low.residual);
    add(q.residual, 0);
  }
  if (p.epilogue.bias != Bias::none) {
    const int64_t length = p.epilogue.bias == Bias::per_row ? p.m : p.n;
    const int64_t count = p.epilogue.bias_batch_stride == 0 ? 1 : p.batch;
    bias_ = {nullptr, p.epilogue.bias_type, count, length, 1, p.epilogue.bias_batch_stride, 0};
    add(bias_, 0);
  }
  if (p.scaling != Scaling::none) {
    const bool each = p.scaling == Scaling::row_column;
    a_scales_ = {nullptr, DType::fp32, 1, each ? p.m * p.batch : 1, 1, 0, 0};
    b_scales_ = {nullptr, DType::fp32, 1, each ? p.n * p.batch : 1, 1, 0, 0};
    add(a_scales_, 0);
    add(b_scales_, 0);
  }
  if (p.epilogue.quantize) {
    d_scale_ = {nullptr, DType::fp32, 1, 1, 1, 0, 0};
    add(d_scale_, 0);
  }
  output_ = place(q.d, arena, trial.shift);
  findings_ = reinterpret_cast<device_check::Findings*>(arena.take(sizeof(device_check::Findings)));
  q.bias = bias_.data;
  q.a_scales = static_cast<const float*>(a_scales_.data);
  q.b_scales = static_cast<const float*>(b_scales_.data);
  pointers_ = {.a = q.a.data,
               .b = q.b.data,
               .c = trial.in_place ? q.d.data : q.c.data,
               .d = q.d.data,
               .bias = bias_.data,
               .residual = q.residual.data,
               .a_scales = q.a_scales,
               .b_scales = q.b_scales,
               .d_scale = static_cast<const float*>(d_scale_.data)};
}

void PlacedTrial::prepare(cudaStream_t stream) const {
  const device_check::Product& q = product_;
  const Values values = trial_.exact ? Values::integers : Values::normal;
  gpu::require(cudaMemsetAsync(inputs_.begin, 0xff, inputs_.bytes, stream), "cudaMemset");
  gpu::require(cudaMemsetAsync(output_.begin, 0xff, output_.bytes, stream), "cudaMemset");
  const device_check::Findings nothing;
  gpu::require(cudaMemcpyAsync(findings_, &nothing, sizeof nothing, cudaMemcpyHostToDevice, stream), "cudaMemcpy");
  uint64_t salt = 0;
  for (const Matrix& m : {q.a, q.b, q.residual, bias_}) {
    ++salt;
    if (m.data != nullptr) device_check::fill(m, values, trial_.seed + salt, stream);
  }
  if (q.c.data != nullptr) {
    device_check::fill(q.c, values, trial_.seed, stream);
    if (trial_.in_place) device_check::fill(q.d, values, trial_.seed, stream);
  }
  for (const Matrix& m : {a_scales_, b_scales_}) {
    if (m.data != nullptr) device_check::fill(m, Values::powers_of_two, trial_.seed + ++salt, stream);
  }
  if (d_scale_.data != nullptr) {
    gpu::require(cudaMemcpyAsync(d_scale_.data, &q.d_scale, sizeof(float), cudaMemcpyHostToDevice, stream),
                 "cudaMemcpy");
  }
  device_check::add_checksum(inputs_.begin, inputs_.bytes, &findings_->checksum_before, stream);
  gpu::require(cudaGetLastError(), "filling the operands");
}

device_check::Findings PlacedTrial::check(cudaStream_t stream) const {
  device_check::add_checksum(inputs_.begin, inputs_.bytes, &findings_->checksum_after, stream);
  device_check::count_stray(product_.d, output_.begin, output_.bytes, findings_, stream);
  device_check::compare(product_, findings_, stream);
  device_check::Findings found;
  gpu::require(cudaMemcpyAsync(&found, findings_, sizeof found, cudaMemcpyDeviceToHost, stream), "cudaMemcpy");
  gpu::require(cudaStreamSynchronize(stream), "the kernel");
  return found;
}

std::optional<std::string> PlacedTrial::complaint(const device_check::Findings& found) const {
  if (found.wrong > 0) {
    const auto n = (unsigned long long)(product_.d.columns), m = (unsigned long long)(product_.m);
    return fmt::format(
        "{}: {} elements are wrong, {} of them unwritten, the first at row {}, column {}, batch {}; {} times "
        "the allowed error",
        trial_.text(), found.wrong, found.unwritten, found.first_wrong / n % m, found.first_wrong % n,
        found.first_wrong / n / m, found.worst);
  }
  if (found.stray > 0) return fmt::format("{}: {} elements beside the result changed", trial_.text(), found.stray);
  if (found.checksum_before != found.checksum_after) return fmt::format("{}: an operand changed", trial_.text());
  return {};
}

}  // namespace warpwright::gpu_random

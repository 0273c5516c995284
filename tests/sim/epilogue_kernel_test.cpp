// The epilogue applied by a kernel: every operand is read through a word of the machine, for each matrix of a batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "warpwright/epilogue/ops.h"
#include "warpwright/sim/simulator.h"

namespace warpwright {
namespace {

using simulator::Buffer;

constexpr int kRows = 5, kColumns = 24, kBatches = 3;

struct Args {
  EpilogueArgs epilogue;
  const float* accumulators = nullptr;  // [batch][row][column], pairs side by side
  void* out = nullptr;                  // [batch][row][column]
};

constexpr BlockPlan make_block_plan() {
  BlockPlan plan("epilogue", Arch::sm100);
  plan.role("epilogue", 4).region("unused", 16, 1, 16);
  return plan;
}

// One CTA for each matrix, a thread for each row and every fourth column.
template <EpilogueConfig C>
struct Apply {
  using Args = warpwright::Args;
  using Ops = epilogue::EpilogueOps<C>;
  static constexpr BlockPlan plan = make_block_plan();
  static constexpr int kPer = C.pair() ? 2 : 1;

  static void body(const Args& args) {
    check_block_plan<Apply>();
    const int batch = int(machine::block_index().x), thread = int(machine::thread_index());
    const EpilogueArgs e = Ops::prepare(args.epilogue, batch);
    for (int i = thread; i < kRows * kColumns; i += int(machine::block_threads())) {
      const int row = i / kColumns, column = i % kColumns;
      const int64_t at = int64_t(batch) * kRows * kColumns + i;
      const Global<const float> from = Global<const float>{args.accumulators} + at * kPer;
      float v = 0;
      if constexpr (C.pair()) {
        v = Ops{}(machine::load(from), machine::load(from + 1), row, column, e);
      } else {
        v = Ops{}(machine::load(from), row, column, e);
      }
      machine::store(Global<typename Ops::Out>{static_cast<typename Ops::Out*>(args.out)} + at, Ops::convert(v));
    }
  }
};

// The tensors of a launch, bf16 C, fp16 residual, fp32 bias, with rows longer than the matrix.
struct Tensors {
  static constexpr int kStride = kColumns + 8;
  std::vector<float> accumulators, bias, up_bias;
  std::vector<bf16> c;
  std::vector<fp16> residual;
  std::vector<float> scalars{0.75f, 3.f};

  explicit Tensors(int per) {
    std::mt19937 random(17);
    std::normal_distribution<float> normal(0, 2);
    accumulators.resize(size_t(kBatches * kRows * kColumns * per));
    bias.resize(size_t(kBatches * kColumns));
    up_bias.resize(bias.size());
    c.resize(size_t(kBatches * kRows * kStride));
    residual.resize(c.size());
    for (float& x : accumulators) x = normal(random);
    for (float& x : bias) x = normal(random);
    for (float& x : up_bias) x = normal(random);
    for (bf16& x : c) x = from_float<bf16>(normal(random));
    for (fp16& x : residual) x = from_float<fp16>(normal(random));
  }
  EpilogueArgs args() const {
    EpilogueArgs a;
    a.alpha = NAN, a.alpha_at = &scalars[0];
    a.beta = -1.5f;
    a.scale = NAN, a.scale_at = &scalars[1];
    a.c = c.data(), a.residual = residual.data();
    a.c_row_stride = a.residual_row_stride = kStride;
    a.c_batch_stride = a.residual_batch_stride = kRows * kStride;
    a.bias = bias.data(), a.up_bias = up_bias.data(), a.bias_batch_stride = kColumns;
    return a;
  }
  template <class T>
  static Buffer input(const std::vector<T>& v, const char* name) {
    return {const_cast<T*>(v.data()), v.size() * sizeof(T), name, Buffer::Use::input};
  }
  std::vector<Buffer> buffers() const {
    return {input(accumulators, "accumulators"), input(bias, "bias"),      input(up_bias, "up_bias"), input(c, "c"),
            input(residual, "residual"),         input(scalars, "scalars")};
  }
};

double silu(double x) { return x / (1 + std::exp(-x)); }

// The same list in float64.
double reference(const EpilogueConfig& c, const Tensors& t, int batch, int row, int column) {
  const int per = c.pair() ? 2 : 1;
  const size_t flat = (size_t(batch) * kRows + size_t(row)) * kColumns + size_t(column);
  const size_t strided = (size_t(batch) * kRows + size_t(row)) * Tensors::kStride + size_t(column);
  const size_t along = size_t(batch) * kColumns + size_t(c.bias == Bias::per_row ? row : column);
  const auto head = [&](double v, const std::vector<float>& bias) {
    if (c.alpha) v *= 0.75;
    if (c.source) v += -1.5 * to_float(t.c[strided]);
    if (c.bias != Bias::none) v += bias[along];
    return v;
  };
  double v = head(t.accumulators[flat * size_t(per)], t.bias);
  switch (c.activation) {
    case Activation::none:
      break;
    case Activation::relu:
      v = std::max(v, 0.0);
      break;
    case Activation::gelu_tanh:
      v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
      break;
    case Activation::gelu_erf:
      v = 0.5 * v * std::erfc(-v / std::sqrt(2.0));
      break;
    case Activation::silu:
      v = silu(v);
      break;
    case Activation::swiglu:
      v = silu(v) * head(t.accumulators[flat * 2 + 1], t.up_bias);
      break;
  }
  if (c.residual) v += to_float(t.residual[strided]);
  if (c.quantize) v *= 3;
  return v;
}

template <EpilogueConfig C>
void expect_like_float64() {
  using Out = typename epilogue::EpilogueOps<C>::Out;
  const Tensors t(Apply<C>::kPer);
  std::vector<Out> out(size_t(kBatches * kRows * kColumns));
  std::vector<Buffer> buffers = t.buffers();
  buffers.push_back({out.data(), out.size() * sizeof(Out), "out", Buffer::Use::output});
  const auto result = simulator::run_kernel<Apply<C>>({t.args(), t.accumulators.data(), out.data()},
                                                      {uint32_t(kBatches), 1, 1}, buffers, {});
  ASSERT_TRUE(result.ok()) << result.findings[0].text();
  // Half a unit in the last place of the output type, and what fp32 loses on the way.
  const double unit = C.out == DType::fp32   ? 0x1p-24
                      : C.out == DType::bf16 ? 0x1p-8
                      : C.out == DType::fp16 ? 0x1p-11
                      : C.out == DType::e4m3 ? 0x1p-4
                                             : 0x1p-3;
  for (int batch = 0; batch < kBatches; ++batch) {
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        const double want = reference(C, t, batch, row, column);
        const double got = to_float(out[(size_t(batch) * kRows + size_t(row)) * kColumns + size_t(column)]);
        const double subnormal = C.out == DType::e4m3 ? 0x1p-10 : C.out == DType::e5m2 ? 0x1p-17 : 0;
        ASSERT_NEAR(got, want, std::abs(want) * unit + subnormal + 4e-6)
            << "batch " << batch << " row " << row << " column " << column;
      }
    }
  }
}

TEST(EpilogueKernel, Converts) { expect_like_float64<EpilogueConfig{.out = DType::fp16}>(); }
TEST(EpilogueKernel, ScalesByAnAlphaInDeviceMemory) {
  expect_like_float64<EpilogueConfig{.out = DType::fp32, .alpha = true}>();
}
TEST(EpilogueKernel, AddsBetaTimesC) { expect_like_float64<EpilogueConfig{.out = DType::fp32, .source = true}>(); }
TEST(EpilogueKernel, AddsABiasPerRow) {
  expect_like_float64<EpilogueConfig{.out = DType::fp32, .bias = Bias::per_row}>();
}
TEST(EpilogueKernel, AddsABiasPerColumn) {
  expect_like_float64<EpilogueConfig{.out = DType::fp32, .bias = Bias::per_column}>();
}
TEST(EpilogueKernel, AddsAResidual) {
  expect_like_float64<EpilogueConfig{.out = DType::fp32, .residual = true, .residual_type = DType::fp16}>();
}
TEST(EpilogueKernel, QuantizesToE4m3) {
  expect_like_float64<EpilogueConfig{.out = DType::e4m3, .activation = Activation::relu, .quantize = true}>();
}
TEST(EpilogueKernel, QuantizesToE5m2) { expect_like_float64<EpilogueConfig{.out = DType::e5m2, .quantize = true}>(); }
TEST(EpilogueKernel, AppliesTheWholeList) {
  expect_like_float64<EpilogueConfig{.out = DType::bf16,
                                     .alpha = true,
                                     .source = true,
                                     .bias = Bias::per_column,
                                     .activation = Activation::gelu_erf,
                                     .residual = true,
                                     .residual_type = DType::fp16,
                                     .quantize = true}>();
}
TEST(EpilogueKernel, AppliesGeluTanhToABiasedSum) {
  expect_like_float64<EpilogueConfig{
      .out = DType::fp16, .alpha = true, .bias = Bias::per_row, .activation = Activation::gelu_tanh}>();
}
TEST(EpilogueKernel, AppliesSiluAndAResidual) {
  expect_like_float64<EpilogueConfig{
      .out = DType::fp32, .activation = Activation::silu, .residual = true, .residual_type = DType::fp16}>();
}
TEST(EpilogueKernel, JoinsAPairBySwiGlu) {
  expect_like_float64<EpilogueConfig{.out = DType::bf16,
                                     .alpha = true,
                                     .bias = Bias::per_column,
                                     .activation = Activation::swiglu,
                                     .residual = true,
                                     .residual_type = DType::fp16}>();
}

// The operands are read by words: the checker sees an access outside a tensor.
TEST(EpilogueKernel, IsReportedWhenTheBiasIsTooShort) {
  constexpr EpilogueConfig c{.out = DType::fp32, .bias = Bias::per_column};
  const Tensors t(1);
  std::vector<float> out(size_t(kBatches * kRows * kColumns));
  std::vector<Buffer> buffers = t.buffers();
  buffers[1].bytes -= sizeof(float);
  buffers.push_back({out.data(), out.size() * sizeof(float), "out", Buffer::Use::output});
  const auto result = simulator::run_kernel<Apply<c>>({t.args(), t.accumulators.data(), out.data()},
                                                      {uint32_t(kBatches), 1, 1}, buffers, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.findings[0].rule, "bounds.global");
}

}  // namespace
}  // namespace warpwright

// Which kernels quantize a problem, in which grids.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "gpu/image.h"
#include "launch/quantize.h"

namespace warpwright::launch {
namespace {

std::string entry_of(const QuantizeStep& step) { return quantize_entries()[size_t(step.entry)]; }

QuantizeArgs matrix(int64_t rows, int64_t columns, DType source = DType::bf16, bool by_vectors = true) {
  QuantizeArgs args{};
  args.rows = rows;
  args.columns = args.stride = columns;
  args.source_type = source;
  args.by_vectors = by_vectors;
  return args;
}

TEST(QuantizeLaunch, TheEntryNamesKindTypeAndSource) {
  const struct {
    Quantization kind;
    DType type;
    const char* text;
  } forms[] = {{Quantization::token, DType::e4m3, "token_e4m3"}, {Quantization::token, DType::e5m2, "token_e5m2"},
               {Quantization::block, DType::e4m3, "block_e4m3"}, {Quantization::block, DType::e5m2, "block_e5m2"},
               {Quantization::mx, DType::e4m3, "mx_e4m3"},       {Quantization::mx, DType::e5m2, "mx_e5m2"},
               {Quantization::mx, DType::e2m1, "mx_e2m1"},       {Quantization::nvfp4, DType::e2m1, "nvfp4_e2m1"}};
  const struct {
    DType type;
    bool by_vectors;
    const char* text;
  } sources[] = {{DType::bf16, true, "bf16_vectors"}, {DType::fp16, true, "fp16_vectors"},
                 {DType::fp32, true, "fp32_vectors"}, {DType::bf16, false, "elements"},
                 {DType::fp16, false, "elements"},    {DType::fp32, false, "elements"}};
  for (const auto& form : forms) {
    for (const auto& source : sources) {
      const auto steps = quantize_steps(form.kind, form.type, true, matrix(3, 256, source.type, source.by_vectors));
      ASSERT_EQ(steps.count, 1);
      EXPECT_EQ(entry_of(steps.list[0]), std::string("quantize_") + form.text + "_" + source.text);
    }
  }
}

TEST(QuantizeLaunch, TheFactorOfATensorIsFoundFirst) {
  const auto steps = quantize_steps(Quantization::nvfp4, DType::e2m1, false, matrix(100, 1000, DType::fp32));
  ASSERT_EQ(steps.count, 3);
  EXPECT_EQ(steps.list[0].entry, kBeginTensorScale);
  EXPECT_EQ(steps.list[0].threads, 1u);
  EXPECT_EQ(entry_of(steps.list[1]), "find_tensor_scale_fp32_vectors");
  EXPECT_EQ(entry_of(steps.list[2]), "quantize_nvfp4_e2m1_fp32_vectors");
  EXPECT_EQ(steps.list[2].across, 4u);  // 256 columns each
  EXPECT_EQ(steps.list[2].down, 4u);    // 32 rows each
  // A few rounds of CTAs, however many rows there are.
  EXPECT_EQ(quantize_steps(Quantization::nvfp4, DType::e2m1, false, matrix(1 << 20, 1024)).list[1].down, 512u);
}

TEST(QuantizeLaunch, NothingIsLaunchedForAnEmptyMatrixExceptItsFactor) {
  for (const QuantizeArgs& empty : {matrix(0, 128), matrix(128, 0)}) {
    EXPECT_EQ(quantize_steps(Quantization::token, DType::e4m3, false, empty).count, 0);
    EXPECT_EQ(quantize_steps(Quantization::nvfp4, DType::e2m1, true, empty).count, 0);
    const auto steps = quantize_steps(Quantization::nvfp4, DType::e2m1, false, empty);
    ASSERT_EQ(steps.count, 1);
    EXPECT_EQ(steps.list[0].entry, kBeginTensorScale);
  }
}

TEST(QuantizeLaunch, GridsCoverTheMatrixOrAsMuchAsAGridCan) {
  const auto squares = quantize_steps(Quantization::block, DType::e4m3, false, matrix(129, 1000)).list[0];
  EXPECT_EQ(squares.across, 8u);
  EXPECT_EQ(squares.down, 2u);
  QuantizeArgs padded = matrix(1, 128);
  padded.layout = ScaleLayout::tiles;  // factors of 128 rows are written
  EXPECT_EQ(quantize_steps(Quantization::mx, DType::e4m3, false, padded).list[0].down, 4u);
  EXPECT_EQ(quantize_steps(Quantization::token, DType::e4m3, false, matrix(65535 * 32 + 1, 8)).list[0].down, 65535u);
}

TEST(QuantizeLaunch, TheImageHasExactlyTheEntries) {
  const auto entries = quantize_entries();
  EXPECT_EQ(std::set<std::string>(entries.begin(), entries.end()).size(), entries.size());
  const std::span<const uint8_t> image = gpu::embedded_image("any/quantize");
  if (image.empty()) GTEST_SKIP() << "this build has no device code";
  // The names of its sections of code.
  const std::string bytes(image.begin(), image.end()), prefix = std::string(1, '\0') + ".text.";
  std::set<std::string> sections;
  for (size_t at = bytes.find(prefix); at != bytes.npos; at = bytes.find(prefix, at + 1)) {
    sections.insert(bytes.c_str() + at + prefix.size());
  }
  EXPECT_EQ(sections, std::set<std::string>(entries.begin(), entries.end()));
}

}  // namespace
}  // namespace warpwright::launch

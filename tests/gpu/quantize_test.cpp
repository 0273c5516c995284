// Quantization on the GPU against quantize_on_host(), byte for byte: random extents, strides and alignments, every
// kind, type, source and layout, with zeros, numbers of all sizes, infinities and NaN. What is around the results must
// keep its contents.
//
//   WARPWRIGHT_RANDOM_QUANTIZATIONS   how many random matrices (400)
//   WARPWRIGHT_RANDOM_SEED            another series (2026)
#include "warpwright/quantize.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu/executor.h"
#include "gpu/graph.h"
#include "gpu/memory.h"
#include "warpwright/core/numeric.h"

namespace warpwright {
namespace {

using gpu::DeviceMemory;
using gpu::Stream;
using Random = std::mt19937_64;

constexpr struct {
  Quantization kind;
  DType type;
} kKinds[] = {{Quantization::token, DType::e4m3}, {Quantization::token, DType::e5m2},
              {Quantization::block, DType::e4m3}, {Quantization::block, DType::e5m2},
              {Quantization::mx, DType::e4m3},    {Quantization::mx, DType::e5m2},
              {Quantization::mx, DType::e2m1},    {Quantization::nvfp4, DType::e2m1}};

int64_t setting(const char* name, int64_t otherwise) {
  const char* const given = std::getenv(name);
  return given != nullptr ? std::atoll(given) : otherwise;
}

class QuantizeOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto device = gpu::hopper_device(); !device) GTEST_SKIP() << device.status().message();
  }
};

struct Trial {
  QuantizeProblem problem;
  int64_t source_shift = 0, value_shift = 0;  // elements and bytes by which the addresses miss a multiple of 256
  uint64_t seed = 0;
  enum { normal, zeros, any_size, any_bits } contents = normal;
  std::string text() const {
    const QuantizeProblem& p = problem;
    return fmt::format("kind {} {} from {}, {}x{}, stride {}, layout {}, shifts {} {}, contents {}, seed {}",
                       int(p.kind), std::string(name(p.type)), std::string(name(p.source)), p.rows, p.columns, p.stride,
                       int(p.layout), source_shift, value_shift, int(contents), seed);
  }
};

std::vector<uint8_t> source_of(const Trial& t) {
  const QuantizeProblem& p = t.problem;
  const int64_t stride = p.stride == 0 ? p.columns : p.stride, size = bits(p.source) / 8;
  // The gaps between the rows are NaN: they must not be read.
  std::vector<uint8_t> bytes(size_t((p.rows * stride + t.source_shift) * size), 0xff);
  Random random(t.seed);
  std::normal_distribution<float> normal;
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t c = 0; c < p.columns; ++c) {
      float x = 0;
      if (t.contents == Trial::normal) x = normal(random);
      if (t.contents == Trial::any_size) {
        // The size changes along rows and from row to row; some elements are zero.
        x = std::ldexp(normal(random), int(r * 7 + c / 16 * 3) % 260 - 140);
        if (random() % 64 == 0) x = 0;
      }
      if (t.contents == Trial::any_bits) {
        x = std::bit_cast<float>(uint32_t(random()));
        // Not in every block.
        if (!std::isfinite(x) && random() % 16 != 0) x = -1;
        if (random() % 2000 == 0) x = std::numeric_limits<float>::infinity();
      }
      uint8_t* const to = bytes.data() + (t.source_shift + r * stride + c) * size;
      if (p.source == DType::fp32) {
        std::memcpy(to, &x, 4);
      } else {
        const uint16_t code = p.source == DType::bf16 ? from_float<bf16>(x).bits : from_float<fp16>(x).bits;
        std::memcpy(to, &code, 2);
      }
    }
  }
  return bytes;
}

// Device memory with 0xee around it.
struct Guarded {
  static constexpr size_t kAround = 1024;
  explicit Guarded(size_t size, size_t shift = 0)
      : memory(size + shift + 2 * kAround), bytes(size), first(kAround + shift) {
    gpu::set_bytes(memory.data(), 0xee, size + shift + 2 * kAround);
  }
  uint8_t* data() const { return memory.data() + first; }
  std::vector<uint8_t> read(bool& clean) const {
    std::vector<uint8_t> all(first + bytes + kAround);
    gpu::copy_to_host(all.data(), memory.data(), all.size());
    for (size_t i = 0; i < all.size(); ++i) clean &= (i >= first && i < first + bytes) || all[i] == 0xee;
    return {all.begin() + std::ptrdiff_t(first), all.begin() + std::ptrdiff_t(first + bytes)};
  }
  DeviceMemory memory;
  size_t bytes, first;
};

size_t differences(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  size_t count = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += a[i] != b[i];
  return count;
}

bool expect_equal(const Trial& t, const Stream& stream) {
  const QuantizeProblem& p = t.problem;
  const std::vector<uint8_t> source = source_of(t);
  const int64_t offset = t.source_shift * bits(p.source) / 8;
  std::vector<uint8_t> values(size_t(value_bytes(p))), scales(size_t(scale_bytes(p)));
  float tensor_scale = 0.37f;
  const Status host = quantize_on_host(p, {source.data() + offset, values.data(), scales.data(), &tensor_scale});
  EXPECT_TRUE(host) << t.text() << ": " << host.message();

  const DeviceMemory from(source.size());
  gpu::copy_to_device(from.data(), source.data(), source.size());
  const Guarded got_values(values.size(), size_t(t.value_shift)), got_scales(scales.size()), got_tensor(4);
  const float given = 0.37f;
  gpu::copy_to_device(got_tensor.data(), &given, 4);
  gpu::synchronize("the copies");
  const Status gpu = quantize(
      p, {from.data() + offset, got_values.data(), got_scales.data(), reinterpret_cast<float*>(got_tensor.data())},
      stream.get());
  EXPECT_TRUE(gpu) << t.text() << ": " << gpu.message();
  stream.synchronize();
  bool clean = true;
  const size_t wrong_values = differences(got_values.read(clean), values);
  const size_t wrong_scales = differences(got_scales.read(clean), scales);
  float got = 0;
  std::memcpy(&got, got_tensor.read(clean).data(), 4);
  const bool right = host && gpu && clean && wrong_values + wrong_scales == 0 && got == tensor_scale;
  EXPECT_TRUE(right) << t.text() << ": " << wrong_values << " of " << values.size() << " bytes of values and "
                     << wrong_scales << " of " << scales.size() << " of factors are wrong, factor of the tensor " << got
                     << " instead of " << tensor_scale << (clean ? "" : ", something beside them was written");
  return right;
}

Trial draw(Random& random) {
  const auto up_to = [&](int64_t most) { return int64_t(random() % uint64_t(most + 1)); };
  Trial t;
  QuantizeProblem& p = t.problem;
  const auto& kind = kKinds[random() % std::size(kKinds)];
  p.kind = kind.kind;
  p.type = kind.type;
  constexpr DType sources[] = {DType::bf16, DType::bf16, DType::fp16, DType::fp32};
  p.source = sources[random() % 4];
  p.rows = random() % 3 == 0 ? up_to(5) : 1 + up_to(299);
  p.columns = random() % 3 == 0 ? up_to(40) : 1 + up_to(1500);
  if (random() % 2 == 0) p.columns = (p.columns + 7) / 8 * 8;
  if (p.type == DType::e2m1) p.columns = p.columns / 2 * 2;
  if (random() % 3 == 0) p.stride = p.columns + up_to(3) * (random() % 2 == 0 ? 8 : 1);
  if (random() % 2 == 0) {
    p.layout = bits(scale_dtype(p.kind)) == 8 ? ScaleLayout::tiles : ScaleLayout::columns;
  }
  p.given_tensor_scale = p.kind == Quantization::nvfp4 && random() % 2 == 0;
  if (random() % 4 == 0) t.source_shift = up_to(9);
  if (random() % 4 == 0) t.value_shift = up_to(9);
  t.contents = decltype(t.contents)(random() % 4);
  t.seed = random();
  return t;
}

TEST_F(QuantizeOnGpu, RandomMatricesGiveTheBytesOfTheHost) {
  const int64_t count = setting("WARPWRIGHT_RANDOM_QUANTIZATIONS", 400);
  Random random(uint64_t(setting("WARPWRIGHT_RANDOM_SEED", 2026)));
  const Stream stream;
  int64_t elements = 0;
  int failures = 0;
  for (int64_t i = 0; i < count && failures < 5; ++i) {
    const Trial t = draw(random);
    failures += !expect_equal(t, stream);
    elements += t.problem.rows * t.problem.columns;
  }
  fmt::print("{} random matrices, {:.1f} million elements: the bytes of the host\n", count, double(elements) * 1e-6);
}

TEST_F(QuantizeOnGpu, EveryKindIsRightWithAndWithoutVectorsFromEverySource) {
  const Stream stream;
  uint64_t seed = 1;
  for (const auto& kind : kKinds) {
    for (const DType source : {DType::bf16, DType::fp16, DType::fp32}) {
      for (const int64_t columns : {int64_t(16), int64_t(1032), int64_t(514)}) {
        for (const auto contents : {Trial::normal, Trial::zeros, Trial::any_size, Trial::any_bits}) {
          Trial t;
          t.problem = {.rows = 260, .columns = columns, .source = source, .kind = kind.kind, .type = kind.type};
          t.contents = contents;
          t.seed = ++seed;
          if (!expect_equal(t, stream)) return;
        }
      }
    }
  }
}

TEST_F(QuantizeOnGpu, MoreRowsThanAGridHasAreAllReached) {
  const Stream stream;
  Trial t;
  // 65535 CTAs of 32 rows, and one row more.
  t.problem = {.rows = 65535 * 32 + 1, .columns = 8, .kind = Quantization::mx, .type = DType::e2m1};
  expect_equal(t, stream);
}

TEST_F(QuantizeOnGpu, IsLegalDuringStreamCaptureAndReplaysOnNewNumbers) {
  const Stream stream;
  Trial t;
  t.problem = {.rows = 100, .columns = 256, .source = DType::fp32, .kind = Quantization::nvfp4, .type = DType::e2m1};
  const DeviceMemory source(100 * 256 * 4), values(size_t(value_bytes(t.problem))),
      scales(size_t(scale_bytes(t.problem)));
  const DeviceMemory tensor_scale(4);
  Status s;
  const gpu::Graph graph(stream, [&] {
    s = quantize(t.problem,
                 {source.data(), values.data(), scales.data(), reinterpret_cast<float*>(tensor_scale.data())},
                 stream.get());
  });
  ASSERT_TRUE(s) << s.message();
  const gpu::ExecutableGraph run(graph);
  for (t.seed = 1; t.seed < 4; ++t.seed) {
    // Smaller every time: the factor of the tensor is found anew.
    std::vector<uint8_t> bytes = source_of(t);
    for (size_t i = 0; i < bytes.size(); i += 4) {
      float x;
      std::memcpy(&x, bytes.data() + i, 4);
      x /= float(t.seed * t.seed);
      std::memcpy(bytes.data() + i, &x, 4);
    }
    gpu::copy_to_device(source.data(), bytes.data(), bytes.size());
    run.replay(stream);
    stream.synchronize();
    std::vector<uint8_t> want(size_t(value_bytes(t.problem))), want_scales(size_t(scale_bytes(t.problem)));
    float want_tensor = 0, got_tensor = 0;
    ASSERT_TRUE(quantize_on_host(t.problem, {bytes.data(), want.data(), want_scales.data(), &want_tensor}));
    std::vector<uint8_t> got(want.size());
    gpu::copy_to_host(got.data(), values.data(), got.size());
    gpu::copy_to_host(&got_tensor, tensor_scale.data(), 4);
    EXPECT_EQ(got, want);
    EXPECT_EQ(got_tensor, want_tensor);
  }
}

}  // namespace
}  // namespace warpwright

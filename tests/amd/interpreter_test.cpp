// The interpreter against the host: the same arithmetic, every matrix shape, LDS, narrow accesses.
#include "amd/interpreter/interpreter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "amd/build.h"
#include "amd/interpreter/formats.h"
#include "amd/kernels/mix.h"

namespace warpwright::amd {
namespace {

constexpr Completion kPolicies[] = {Completion::earliest, Completion::latest, Completion::seeded};

class Arguments {
 public:
  template <class T>
  Arguments& buffer(std::vector<T>& v, bool writable) {
    launch.memory.push_back({v.data(), v.size() * sizeof(T), writable});
    return value(v.data());
  }
  template <class T>
  Arguments& value(T x) {
    const size_t at = (launch.kernarg.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    launch.kernarg.resize(at + sizeof(T));
    std::memcpy(launch.kernarg.data() + at, &x, sizeof(T));
    return *this;
  }
  Launch launch;
};

std::string text_of(const RunResult& r) {
  std::string text = r.error;
  for (const Finding& f : r.findings) text += fmt::format("\n{}: {}", word(f.rule), f.text);
  return text;
}

class OnChip : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Chips, OnChip, testing::Values("gfx942", "gfx950"));

TEST_P(OnChip, ArithmeticEqualsTheHosts) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObject& object = test_kernels("lanes", GetParam());
  const CodeObjectKernel* kernel = object.find("mixed");
  ASSERT_NE(kernel, nullptr);
  std::mt19937 random(7);
  std::vector<unsigned> in(1000), table(32), out(1000 + 24, 0xabcdu);
  for (unsigned& x : in) x = unsigned(random());
  for (unsigned& x : table) x = unsigned(random());
  Arguments arguments;
  arguments.buffer(in, false).buffer(table, false).buffer(out, true).value(1000u);
  arguments.launch.groups[0] = 8;
  arguments.launch.threads[0] = 128;
  for (const Completion policy : kPolicies) {
    arguments.launch.completion = policy;
    const RunResult r = execute(object, *kernel, arguments.launch);
    ASSERT_TRUE(r.clean()) << text_of(r);
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(out[i], mix(in[i], unsigned(i % 64), table.data())) << "element " << i;
    }
    for (size_t i = in.size(); i < out.size(); ++i) ASSERT_EQ(out[i], 0xabcdu) << "an inactive lane wrote";
  }
}

TEST_P(OnChip, DivisionIsTheHostsAndStopsWhereItWouldScale) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObject& object = test_kernels("lanes", GetParam());
  const CodeObjectKernel* kernel = object.find("divide");
  ASSERT_NE(kernel, nullptr);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> a(1024, 1), b(1024), out(1024);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> exponent(-20, 20);
  for (size_t i = 0; i < a.size(); ++i) {
    if (i % 2 == 0) a[i] = std::ldexp(1.f + float(random() >> 9) * 0x1p-23f, int(exponent(random)));
    b[i] = std::ldexp(1.f + float(random() >> 9) * 0x1p-23f, int(exponent(random)));
    if (i % 3 == 0) b[i] = -b[i];
  }
  const float special[][2] = {{1, infinity},        {-1, infinity}, {1, 0},   {-1, 0},        {0, 1},       {0, 0},
                              {infinity, infinity}, {nan, 1},       {1, nan}, {1, -infinity}, {1, 0x1p125f}};
  for (size_t i = 0; i < std::size(special); ++i) a[i] = special[i][0], b[i] = special[i][1];
  Arguments arguments;
  arguments.buffer(a, false).buffer(b, false).buffer(out, true);
  arguments.launch.groups[0] = 16;
  const RunResult r = execute(object, *kernel, arguments.launch);
  ASSERT_TRUE(r.clean()) << text_of(r);
  for (size_t i = 0; i < a.size(); ++i) {
    const float want = a[i] / b[i];
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(out[i])) << a[i] << " / " << b[i];
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(want)) << a[i] << " / " << b[i];
    }
  }
  for (const auto& [x, y] : {std::pair{1.f, 0x1p127f}, {0x1p100f, 1.f / 1024}, {0x1p-120f, 1.f}, {1.f, 0x1p-130f}}) {
    a[70] = x, b[70] = y;
    EXPECT_NE(execute(object, *kernel, arguments.launch).error.find("numbers that are scaled"), std::string::npos)
        << x << " / " << y;
  }
}

TEST_P(OnChip, ACounterOfWorkgroupsNeedsReleaseAndAcquire) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObject& object = test_kernels("lanes", GetParam());
  const CodeObjectKernel* kernel = object.find("count");
  ASSERT_NE(kernel, nullptr);
  std::vector<unsigned> sums(128), counter(1), out(64);
  Arguments arguments;
  arguments.buffer(sums, true).buffer(counter, true).buffer(out, true);
  arguments.launch.groups[0] = 2;
  const RunResult r = execute(object, *kernel, arguments.launch);
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(counter[0], 0u);
  EXPECT_EQ(out[5], 10u);
  for (const char* why : {"counts while a store is in flight", "no buffer_inv lies between"}) {
    EXPECT_TRUE(std::any_of(r.findings.begin(), r.findings.end(), [&](const Finding& f) {
      return f.rule == Rule::memory_order && f.text.find(why) != std::string::npos;
    })) << why;
  }
}

TEST_P(OnChip, NarrowAccessesAndAtomics) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObject& object = test_kernels("lanes", GetParam());
  std::vector<unsigned char> bytes(64), out_bytes(64);
  std::vector<unsigned short> words(64);
  std::vector<short> out_words(64);
  std::vector<unsigned> total(1, 5);
  for (size_t i = 0; i < 64; ++i) bytes[i] = (unsigned char)(37 * i + 200), words[i] = (unsigned short)(777 * i);
  Arguments arguments;
  arguments.buffer(bytes, false)
      .buffer(words, false)
      .buffer(out_bytes, true)
      .buffer(out_words, true)
      .buffer(total, true);
  const RunResult r = execute(object, *object.find("narrow"), arguments.launch);
  ASSERT_TRUE(r.clean()) << text_of(r);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(out_bytes[63 - i], (unsigned char)(bytes[i] + 1));
    EXPECT_EQ(out_words[i], short(short(words[i] ^ 0x55) + short(bytes[63 - i])));
  }
  EXPECT_EQ(total[0], std::accumulate(bytes.begin(), bytes.end(), 5u));
}

TEST_P(OnChip, LdsExchangeIsCleanInEveryPolicy) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObject& object = test_kernels("exchange", GetParam());
  std::vector<unsigned> in(1024), out(1024);
  std::iota(in.begin(), in.end(), 1u);
  Arguments arguments;
  arguments.buffer(in, false).buffer(out, true);
  arguments.launch.threads[0] = 256;
  for (const Completion policy : kPolicies) {
    std::fill(out.begin(), out.end(), 0u);
    arguments.launch.completion = policy;
    const RunResult r = execute(object, *object.find("exchange"), arguments.launch);
    ASSERT_TRUE(r.clean()) << text_of(r);
    for (unsigned t = 0; t < 256; ++t) {
      for (unsigned i = 0; i < 4; ++i) ASSERT_EQ(out[i * 256 + t], in[(t % 16) * 64 + t / 16 * 4 + i]);
    }
    EXPECT_FALSE(r.lds_flow.empty());
  }
}

TEST_P(OnChip, BytesOfOneWordMayBelongToDifferentWaves) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObject& object = test_kernels("exchange", GetParam());
  std::vector<unsigned char> in(256), out(256);
  std::iota(in.begin(), in.end(), (unsigned char)(3));
  Arguments arguments;
  arguments.buffer(in, false).buffer(out, true);
  arguments.launch.threads[0] = 128;
  const RunResult r = execute(object, *object.find("bytes"), arguments.launch);
  ASSERT_TRUE(r.clean()) << text_of(r);
  for (size_t t = 0; t < 128; ++t) {
    EXPECT_EQ(out[t], in[255 - t]);
    EXPECT_EQ(out[128 + t], in[127 - t]);
  }
}

// Which product of two integers a lane holds must be seen in the right place of D.
void check_shape(const CodeObject& object, const std::string& name, int rows, int k, bool fp8) {
  const CodeObjectKernel* kernel = object.find(name);
  ASSERT_NE(kernel, nullptr) << name;
  const size_t size = fp8 ? 1 : 2;
  std::vector<int> a(size_t(rows * k)), b(a.size());
  std::mt19937 random(unsigned(rows * k));
  const auto encode = [&](std::vector<int>& values) {
    std::vector<uint8_t> bytes(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = int(random() % 9) - 4;
      if (fp8) {
        bytes[i] = eight_bit_code(object.chip, Element::fp8, float(values[i]));
      } else {
        const uint16_t code = from_float<bf16>(float(values[i])).bits;
        std::memcpy(&bytes[2 * i], &code, 2);
      }
    }
    return bytes;
  };
  std::vector<uint8_t> a_bytes = encode(a), b_bytes = encode(b);
  std::vector<float> d(size_t(rows * rows), -1);
  Arguments arguments;
  arguments.buffer(a_bytes, false).buffer(b_bytes, false).buffer(d, true);
  const RunResult r = execute(object, *kernel, arguments.launch);
  ASSERT_TRUE(r.clean()) << name << text_of(r);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < rows; ++j) {
      int sum = 1;
      for (int x = 0; x < k; ++x) sum += a[size_t(i * k + x)] * b[size_t(j * k + x)];
      ASSERT_EQ(d[size_t(i * rows + j)], float(sum)) << name << " D[" << i << ", " << j << "]";
    }
  }
}

TEST_P(OnChip, MatrixInstructionsAreExact) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObject& object = test_kernels("multiply", GetParam());
  check_shape(object, "bf16_16x16x16", 16, 16, false);
  check_shape(object, "bf16_32x32x8", 32, 8, false);
  check_shape(object, "fp8_16x16x32", 16, 32, true);
  check_shape(object, "fp8_32x32x16", 32, 16, true);
  if (object.chip != Chip::gfx950) return;
  check_shape(object, "bf16_16x16x32", 16, 32, false);
  check_shape(object, "bf16_32x32x16", 32, 16, false);
  check_shape(object, "fp8_16x16x128", 16, 128, true);
  check_shape(object, "fp8_32x32x64", 32, 64, true);
}

TEST_P(OnChip, AccumulatorsInAgprsKeepTheirValues) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObject& object = test_kernels("multiply", GetParam());
  std::vector<uint16_t> a(32 * 8), b(32 * 8);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = from_float<bf16>(float(i % 5)).bits;
    b[i] = from_float<bf16>(float(i % 3) - 1).bits;
  }
  std::vector<float> d(20 * 1024, -1);
  Arguments arguments;
  arguments.buffer(a, false).buffer(b, false).buffer(d, true).value(3u);
  const RunResult r = execute(object, *object.find("many_accumulators"), arguments.launch);
  ASSERT_TRUE(r.clean()) << text_of(r);
  for (size_t n = 0; n < 20; ++n) {
    for (size_t i = 0; i < 32; ++i) {
      for (size_t j = 0; j < 32; ++j) {
        float sum = 0;
        for (size_t x = 0; x < 8; ++x) sum += float((i * 8 + x) % 5) * (float((j * 8 + x) % 3) - 1);
        ASSERT_EQ(d[n * 1024 + i * 32 + j], float(n) + 3 * sum);
      }
    }
  }
}

TEST(EightBits, ChipsHaveTheirOwnFormat) {
  EXPECT_EQ(eight_bit_table(Chip::gfx950, Element::fp8)[0x38], 1.0f);
  EXPECT_EQ(eight_bit_table(Chip::gfx942, Element::fp8)[0x40], 1.0f);
  EXPECT_EQ(eight_bit_table(Chip::gfx950, Element::fp8)[0x7e], 448.0f);
  EXPECT_EQ(eight_bit_table(Chip::gfx942, Element::fp8)[0x7f], 240.0f);
  EXPECT_EQ(eight_bit_table(Chip::gfx942, Element::bf8)[0x7f], 57344.0f);
  EXPECT_TRUE(std::isnan(eight_bit_table(Chip::gfx942, Element::fp8)[0x80]));
  for (const Chip chip : {Chip::gfx942, Chip::gfx950}) {
    for (int i = 0; i < 127; ++i) {
      const auto code = uint8_t(i);
      const float value = eight_bit_table(chip, Element::fp8)[code];
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(eight_bit_code(chip, Element::fp8, value), code);
    }
  }
}

TEST(SupportedOpcodes, NamesWhatKernelsUse) {
  const std::vector<std::string> names = supported_opcodes();
  EXPECT_GT(names.size(), 400u);
  for (const char* name : {"v_mfma_f32_32x32x16_bf16", "buffer_load_dwordx4", "ds_read_b128", "v_accvgpr_read_b32"}) {
    EXPECT_TRUE(std::find(names.begin(), names.end(), name) != names.end()) << name;
  }
}

}  // namespace
}  // namespace warpwright::amd

// How far the blockwise kernels are from float64, compared with the scheme that others use: the tensor core sums a
// block of 128 elements, and one fused step in fp32 adds that sum times its two scales. The simulator's tensor core
// adds in fp32; bench/ makes the same comparison on a GPU with the tensor core of the chip.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "sim/grouped_sm90.h"

namespace warpwright {
namespace {

using namespace grouped_sm90;

// The relative error of that scheme on the operands of a workload with one product.
double two_level_error(const reference::Workload& w) {
  const int64_t m = w.shape.m, n = w.shape.n, k = w.shape.k;
  const reference::Array &a = w.arrays[0], &b = w.arrays[1], &a_scales = w.arrays[2], &b_scales = w.arrays[3];
  const int64_t blocks = (k + kScaleBlock - 1) / kScaleBlock;
  std::vector<uint8_t> d(size_t(m * n) * sizeof(float));
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t c = 0; c < n; ++c) {
      float total = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        float sum = 0;
        for (int64_t i = block * kScaleBlock; i < std::min<int64_t>((block + 1) * kScaleBlock, k); ++i) {
          sum += float(reference::element(a, r * k + i)) * float(reference::element(b, c * k + i));
        }
        const float scale = float(reference::element(a_scales, r * blocks + block)) *
                            float(reference::element(b_scales, c / kScaleBlock * blocks + block));
        total = std::fma(scale, sum, total);
      }
      std::memcpy(d.data() + size_t(r * n + c) * sizeof total, &total, sizeof total);
    }
  }
  return reference::judge(w, d).max_rel_error;
}

template <auto C>
void expect_as_accurate(Case shape) {
  const GroupedProduct product{.shape = shape, .out = DType::fp32};
  const reference::Workload w = reference::grouped_product_workload(product, Data::normal, 11);
  const Outcome out = run<C>(product, w, {}, 2);
  ASSERT_TRUE(out.sim.ok()) << out.sim.findings[0].text();
  const double theirs = two_level_error(w);
  EXPECT_GT(theirs, 0x1p-26) << "nothing was rounded";
  EXPECT_LE(out.verdict.max_rel_error, 1.1 * theirs);
}

TEST(BlockwiseAccuracy, ATileIsAsCloseToFloat64AsTheTwoLevelScheme) {
  expect_as_accurate<GroupedGemmConfig{.out = DType::fp32, .tile_m = 128, .tile_n = 128, .stages = 3}>({96, 128, 4096});
  expect_as_accurate<GroupedGemmConfig{.out = DType::fp32, .tile_m = 64, .tile_n = 192, .stages = 3}>({64, 192, 2064});
}
TEST(BlockwiseAccuracy, ASplitOfTheDepthIsAsCloseToFloat64AsTheTwoLevelScheme) {
  expect_as_accurate<deepest(SkinnyBlockwiseConfig{.out = DType::fp32, .rows = 64, .tokens = 16, .split = 1}, 4)>(
      {16, 128, 4096});
  expect_as_accurate<deepest(SkinnyBlockwiseConfig{.out = DType::fp32, .rows = 64, .tokens = 16, .split = 4}, 4)>(
      {16, 128, 4096});
}

}  // namespace
}  // namespace warpwright

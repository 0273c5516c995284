// What the checker needs to know of the kernels: `./warpwright check examples/own_epilogue/epilogues.cpp`.
#include "epilogues.h"

#include <vector>

#include "warpwright/check.h"

using namespace warpwright;

// The matrices hold small whole numbers, so sums are exact and the functor says what D must be, to the bit.
template <class Kernel, class Functor>
static int arrange(check::Arrays& arrays, check::Shape shape, typename Kernel::Args& args) {
  constexpr DenseGemmConfig config = your::with_own(1);
  const int64_t m = shape.m, n = shape.n, k = shape.k;
  const auto a = arrays.input<bf16>("A", m * k), b = arrays.input<bf16>("B", n * k);
  const auto residual = arrays.input<bf16>("residual", m * n);
  std::vector<bf16> expected;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      epilogue::OwnValues v{.row = int(row), .column = int(column)};
      for (int64_t i = 0; i < k; ++i)
        v.x += to_float(a.values[size_t(row * k + i)]) * to_float(b.values[size_t(column * k + i)]);
      v.residual = to_float(residual.values[size_t(row * n + column)]);
      expected.push_back(from_float<bf16>(Functor{}(v)));
    }
  if (k > 0) {  // without depth nothing is read
    arrays.map(args.a, config.a_box(), a.data, m, k);
    arrays.map(args.b, config.b_box(), b.data, n, k);
  }
  arrays.map(args.d, config.d_box(), arrays.output("D", expected, {n, config.tile_m, config.tile_n}), m, n);
  args.m = int32_t(m);
  args.n = int32_t(n);
  args.k = int32_t(k);
  args.epilogue.residual = residual.data;
  args.epilogue.residual_row_stride = n;
  return 2;
}

extern "C" void warpwright_kernels(check::Registry& registry) {
  const std::vector<check::Shape> sizes = {{.m = 200, .n = 136, .k = 136}, {.m = 64, .n = 64, .k = 0}};
  registry.add<your::GemmQuickGelu>("quick_gelu", sizes, arrange<your::GemmQuickGelu, your::QuickGelu>);
  registry.add<your::GemmSoftCap>("soft_cap", sizes, arrange<your::GemmSoftCap, your::SoftCap>);
  registry.add<your::GemmSquaredRelu>("squared_relu", sizes, arrange<your::GemmSquaredRelu, your::SquaredRelu>);
  registry.add<your::GemmCausalMask>("causal_mask", sizes, arrange<your::GemmCausalMask, your::CausalMask>);
  registry.add<your::GemmGate>("gate", sizes, arrange<your::GemmGate, your::Gate>);
}

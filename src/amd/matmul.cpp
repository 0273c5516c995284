#include "amd/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <set>
#include <utility>

#include "amd/interpreter/formats.h"
#include "warpwright/epilogue/activation.h"
#include "warpwright/kernel/cdna/schedules.h"
#include "warpwright/tile/convert.h"

namespace warpwright::amd {
namespace {

constexpr uint8_t kUntouched = 0xa5;

// Small enough that a sum of 2^16 products is exact in fp32.
constexpr int kLargest = 3;

// A or B: [batch][row][k], and where its bytes lie.
struct MadeOperand {
  std::vector<int8_t> values;
  std::vector<uint8_t> bytes;
  uint32_t rows = 0, k = 0, row_bytes = 0, k_bytes = 0, batch_bytes = 0;

  int value(uint32_t batch, uint32_t row, uint32_t c) const { return values[(size_t(batch) * rows + row) * k + c]; }
};

uint64_t next(uint64_t& state) { return state = state * 6364136223846793005ull + 1442695040888963407ull; }

template <class T>
void put(uint8_t* to, T x) {
  std::memcpy(to, &x, sizeof x);
}
// As the type has it; whole numbers and halves are exact in all of them.
void put(uint8_t* to, DType type, float value) {
  if (type == DType::bf16) return put(to, from_float<bf16>(value));
  if (type == DType::fp16) return put(to, from_float<fp16>(value));
  if (type == DType::fp32) return put(to, value);
  if (type == DType::e4m3) return put(to, from_float<e4m3>(value));
  put(to, from_float<e5m2>(value));
}

MadeOperand make_operand(Chip chip, const CdnaMatmulConfig& config, Major major, uint32_t rows, const MatmulProblem& p,
                         uint64_t seed) {
  MadeOperand out;
  const uint32_t size = uint32_t(config.element_bytes());
  out.rows = rows;
  out.k = p.k;
  const uint32_t columns = major == Major::K ? p.k : rows, lines = major == Major::K ? rows : p.k;
  // Rows that begin anywhere, or at multiples of 16 bytes.
  const uint32_t stride = config.by_elements ? (columns | 1) * size : (columns * size + 15) / 16 * 16 + p.row_padding;
  out.row_bytes = major == Major::K ? stride : size;
  out.k_bytes = major == Major::K ? size : stride;
  out.batch_bytes = lines * stride;
  out.values.resize(size_t(p.batches) * rows * p.k);
  // The bytes after a row are NaN, so that a kernel that multiplies with them is seen.
  out.bytes.assign(size_t(p.batches) * out.batch_bytes, size == 1 && chip == Chip::gfx942 ? 0x80 : 0xff);
  uint64_t state = seed * 0x9e3779b97f4a7c15ull | 1;
  for (uint32_t batch = 0; batch < p.batches; ++batch) {
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t c = 0; c < p.k; ++c) {
        const int value = int(next(state) >> 40) % (2 * kLargest + 1) - kLargest;
        out.values[(size_t(batch) * rows + r) * p.k + c] = int8_t(value);
        uint8_t* at = &out.bytes[size_t(batch) * out.batch_bytes + size_t(r) * out.row_bytes + size_t(c) * out.k_bytes];
        if (size == 1) {
          *at = eight_bit_code(chip, Element::fp8, float(value));
        } else {
          put(at, config.type, float(value));
        }
      }
    }
  }
  return out;
}

// C, bias and residual, each [batch][row][column] without gaps, of whole numbers.
struct Addend {
  DType type = DType::fp32;
  std::vector<float> values;
  std::vector<uint8_t> bytes;
};
Addend make_addend(DType type, size_t count, uint64_t seed) {
  Addend out{type, std::vector<float>(count), std::vector<uint8_t>(count * size_t(bits(type)) / 8)};
  uint64_t state = seed | 1;
  for (size_t i = 0; i < count; ++i) {
    out.values[i] = float(int(next(state) >> 40) % 9 - 4);
    put(&out.bytes[i * size_t(bits(type)) / 8], type, out.values[i]);
  }
  return out;
}

struct Addends {
  Addend c, bias, residual, scale;
};
constexpr float kBeta = 0.5f, kScale = 0.25f;

float activated(Activation activation, float v) {
  switch (activation) {
    case Activation::relu:
      return epilogue::activate<Activation::relu>(v);
    case Activation::gelu_tanh:
      return epilogue::activate<Activation::gelu_tanh>(v);
    case Activation::gelu_erf:
      return epilogue::activate<Activation::gelu_erf>(v);
    case Activation::silu:
      return epilogue::activate<Activation::silu>(v);
    default:
      return v;
  }
}

// The nodes with the functions that the kernels have, here compiled for the host: D must be equal to the bit.
float expected(const MatmulProblem& p, const Addends& addends, int sum, uint32_t batch, uint32_t row, uint32_t column) {
  const size_t at = (size_t(batch) * p.m + row) * p.n + column;
  const EpilogueConfig& nodes = p.nodes;
  float v = p.alpha * float(sum);
  if (nodes.source) v = tile::multiply_add(kBeta, addends.c.values[at], v);
  if (nodes.bias != Bias::none) {
    const bool by_rows = nodes.bias == Bias::per_row;
    v = tile::add(v, addends.bias.values[by_rows ? size_t(batch) * p.m + row : size_t(batch) * p.n + column]);
  }
  v = activated(nodes.activation, v);
  if (nodes.residual) v = tile::add(v, addends.residual.values[at]);
  return nodes.quantize ? tile::multiply(kScale, v) : v;
}

void compare(const MatmulProblem& p, DType type, const MadeOperand& a, const MadeOperand& b, const Addends& addends,
             const std::vector<uint8_t>& d, uint32_t d_row, MatmulRun& out) {
  const auto size = uint32_t(bits(type)) / 8;
  for (uint32_t line = 0; line < p.batches * p.m; ++line) {
    const uint32_t batch = line / p.m, i = line % p.m;
    const uint8_t* const row = d.data() + size_t(line) * d_row;
    for (uint32_t j = 0; j < p.n; ++j) {
      int sum = 0;
      for (uint32_t c = 0; c < p.k; ++c) sum += a.value(batch, i, c) * b.value(batch, j, c);
      const float exact = expected(p, addends, sum, batch, i, j);
      uint8_t want[4];
      put(want, type, exact);
      if (std::memcmp(row + size_t(j) * size, want, size) == 0) continue;
      if (out.wrong++ == 0) {
        uint32_t have = 0, code = 0;
        std::memcpy(&have, row + size_t(j) * size, size);
        std::memcpy(&code, want, size);
        out.first_wrong = fmt::format("D[{}, {}] of product {} is {:#x} as {}, exact is {:#x}, {}", i, j, batch, have,
                                      name(type), code, exact);
      }
    }
    for (size_t c = size_t(p.n) * size; c < d_row; ++c) {
      if (row[c] == kUntouched) continue;
      if (out.wrong++ == 0) out.first_wrong = fmt::format("byte {} past the end of row {} of D was written", c, line);
    }
  }
}

}  // namespace

const char* word(Completion completion) {
  constexpr const char* words[] = {"earliest", "latest", "seeded"};
  return words[int(completion)];
}

std::optional<CdnaMatmulConfig> matmul_config(Chip chip, const std::string& kernel) {
  if (chip == Chip::other) return std::nullopt;
  std::vector<CdnaMatmulConfig> features;
  for (const DType type : {DType::bf16, DType::fp16, DType::e4m3}) {
    const CdnaMatmulConfig plain{.type = type, .out_type = usual_result(type)};
    features.push_back(plain);
    features.push_back(plain);
    features.back().out_type = DType::fp32;
    for (const bool by_elements : {false, true}) {
      features.push_back(plain);
      features.back().general = true;
      features.back().by_elements = by_elements;
    }
  }
  for (CdnaMatmulConfig config : features) {
    config.arch = chip == Chip::gfx942 ? Arch::gfx942 : Arch::gfx950;
    for (const CdnaVariant variant : kCdnaVariants) {
      config.variant = variant;
      for (const DepthSplit split : {DepthSplit::none, DepthSplit::split_k}) {
        config.split = split;
        const bool to_fp32 = config.out_type != usual_result(config.type);
        if (kernel == fmt::format("matmul_{}{}_{}{}{}{}", name(variant), split == DepthSplit::none ? "" : "_splitk",
                                  name(config.type), to_fp32 ? "_to_fp32" : "", config.general ? "_general" : "",
                                  config.by_elements ? "_by_elements" : "")) {
          return config;
        }
      }
    }
  }
  return std::nullopt;
}

schedule::Pipeline matmul_pipeline(const CdnaMatmulConfig& config) {
  return cdna::pipeline_of(cdna::schedule_key(config));
}

namespace {
// Element by element a load of 16 bytes is as many instructions as it has elements.
ExpectedOrder with_loads(ExpectedOrder order, const CdnaMatmulConfig& config) {
  if (config.by_elements) order.split_loads(16 / config.element_bytes());
  order.more_behind = config.general;
  return order;
}
}  // namespace
ExpectedOrder matmul_order(const CdnaMatmulConfig& config) {
  return with_loads(expected_order(matmul_pipeline(config)), config);
}

Launch matmul_launch(const CdnaMatmulConfig& config, const CdnaMatmulArgs& args, size_t kernarg_bytes) {
  Launch launch;
  launch.kernarg.resize(std::max(sizeof args, kernarg_bytes));
  std::memcpy(launch.kernarg.data(), &args, sizeof args);
  launch.groups[0] = uint32_t(config.tiles(args.m, args.n, args.batches)) * args.splits;
  launch.threads[0] = uint32_t(config.threads());
  return launch;
}

MatmulRun run_matmul(const CodeObject& object, const CodeObjectKernel& kernel, const CdnaMatmulConfig& config,
                     const MatmulProblem& p, Completion completion, uint64_t seed) {
  MatmulRun out;
  const DType out_type = config.general ? p.nodes.out : config.out_type;
  MadeOperand a = make_operand(object.chip, config, p.a_major, p.m, p, 2 * seed);
  MadeOperand b = make_operand(object.chip, config, p.b_major, p.n, p, 2 * seed + 1);
  const size_t elements = size_t(p.batches) * p.m * p.n;
  const uint32_t d_row = p.n * uint32_t(bits(out_type)) / 8 + p.row_padding;
  std::vector<uint8_t> d(size_t(p.batches) * p.m * d_row, kUntouched);
  const bool by_rows = p.nodes.bias == Bias::per_row;
  Addends addends = {
      make_addend(p.nodes.source_type, p.nodes.source ? elements : 0, 11),
      make_addend(p.nodes.bias_type, p.nodes.bias == Bias::none ? 0 : size_t(p.batches) * (by_rows ? p.m : p.n), 12),
      make_addend(p.nodes.residual_type, p.nodes.residual ? elements : 0, 13),
      {DType::fp32, {kScale}, std::vector<uint8_t>(4)}};
  put(addends.scale.bytes.data(), kScale);

  CdnaMatmulArgs args;
  args.a = {a.bytes.data()};
  args.b = {b.bytes.data()};
  args.d = {d.data()};
  args.m = p.m;
  args.n = p.n;
  args.k = p.k;
  args.a_row_bytes = a.row_bytes;
  args.b_row_bytes = b.row_bytes;
  args.d_row_bytes = d_row;
  args.alpha = p.alpha;
  args.a_k_bytes = a.k_bytes;
  args.b_k_bytes = b.k_bytes;
  args.batches = p.batches;
  args.splits = p.splits;
  args.a_batch_bytes = a.batch_bytes;
  args.b_batch_bytes = b.batch_bytes;
  args.d_batch_bytes = int64_t(p.m) * d_row;
  std::vector<uint8_t> workspace(size_t(config.workspace_bytes(config.tiles(p.m, p.n, p.batches), p.splits)));
  args.workspace = workspace.data();
  args.nodes = p.nodes;
  args.epilogue = {.beta = kBeta,
                   .scale_at = reinterpret_cast<const float*>(addends.scale.bytes.data()),
                   .c = addends.c.bytes.data(),
                   .c_row_stride = p.n,
                   .c_batch_stride = int64_t(p.m) * p.n,
                   .bias = addends.bias.bytes.data(),
                   .bias_batch_stride = by_rows ? p.m : p.n,
                   .residual = addends.residual.bytes.data(),
                   .residual_row_stride = p.n,
                   .residual_batch_stride = int64_t(p.m) * p.n};
  Launch launch = matmul_launch(config, args, size_t(kernel.kernarg_bytes));
  for (std::vector<uint8_t>* input :
       {&a.bytes, &b.bytes, &addends.c.bytes, &addends.bias.bytes, &addends.residual.bytes, &addends.scale.bytes}) {
    launch.memory.push_back({input->data(), input->size(), false});
  }
  launch.memory.push_back({d.data(), d.size(), true});
  launch.memory.push_back({workspace.data(), workspace.size(), true});
  launch.completion = completion;
  launch.seed = seed;
  launch.trace = p.trace;
  const auto begin = std::chrono::steady_clock::now();
  out.run = execute(object, kernel, launch);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (out.run.error.empty()) compare(p, out_type, a, b, addends, d, d_row, out);
  return out;
}

namespace {
// What a general kernel is executed with beside the problem of all kernels: every type, every node, rows of D that
// leave in groups of four elements and others, and, where the kernel has them, all layouts and parts of the depth.
std::vector<MatmulProblem> general_problems(const CdnaMatmulConfig& c) {
  const EpilogueConfig lists[] = {{.out = DType::bf16,
                                   .source = true,
                                   .source_type = DType::fp32,
                                   .bias = Bias::per_column,
                                   .activation = Activation::relu,
                                   .residual = true,
                                   .residual_type = DType::bf16},
                                  {.out = DType::fp32,
                                   .source = true,
                                   .bias = Bias::per_row,
                                   .bias_type = DType::bf16,
                                   .activation = Activation::gelu_tanh,
                                   .residual = true,
                                   .residual_type = DType::fp16},
                                  {.out = DType::fp16,
                                   .source = true,
                                   .source_type = DType::fp16,
                                   .bias = Bias::per_column,
                                   .bias_type = DType::bf16,
                                   .activation = Activation::gelu_erf,
                                   .residual = true,
                                   .residual_type = DType::fp32},
                                  {.out = DType::e4m3,
                                   .bias = Bias::per_row,
                                   .bias_type = DType::fp16,
                                   .activation = Activation::silu,
                                   .quantize = true},
                                  {.out = DType::e5m2,
                                   .bias = Bias::per_column,
                                   .bias_type = DType::fp16,
                                   .activation = Activation::silu,
                                   .quantize = true}};
  const uint32_t unit = c.by_elements ? 1 : 16 / uint32_t(c.element_bytes()), tile = uint32_t(c.tile_k());
  std::vector<MatmulProblem> problems;
  uint32_t turn = 0;
  for (const EpilogueConfig& nodes : lists) {
    for (const uint32_t n : {20u, 19u}) {
      const auto along = [&](uint32_t which) { return c.by_elements && which % 2 == 1 ? Major::MN : Major::K; };
      problems.push_back({.m = 37,
                          .n = n,
                          .k = (1 + turn % 3) * tile + unit,
                          .alpha = 0.0625f,
                          .row_padding = n == 20 ? 16u : 5u * uint32_t(bits(nodes.out)) / 8,
                          .batches = 2,
                          .splits = c.split == DepthSplit::split_k ? 1 + turn % 4 : 1,
                          .a_major = along(turn),
                          .b_major = along(turn / 2),
                          .nodes = nodes});
      ++turn;
    }
  }
  return problems;
}
}  // namespace

bool MatmulProof::proven() const {
  return in_order() && spills == 0 && !executions.empty() &&
         std::all_of(executions.begin(), executions.end(), [](const Execution& e) { return e.result.passed(); });
}

MatmulProof prove_matmul(const CodeObject& object, const CodeObjectKernel& kernel, const CdnaMatmulConfig& config) {
  MatmulProof proof;
  proof.kernel = kernel.name;
  proof.chip = object.chip_name;
  proof.vgprs = kernel.vgprs;
  proof.agprs = kernel.agprs;
  proof.sgprs = kernel.sgprs;
  proof.spills = kernel.vgpr_spills + kernel.sgpr_spills;
  proof.lds_bytes = kernel.lds_bytes;
  // Rows are whole units of 16 bytes, so a tail of K is one of them.
  const auto m = uint32_t(config.tile_m()), k = uint32_t(config.tile_k());
  const MatmulProblem problem{.m = m + 24,
                              .n = m - 40,
                              .k = 5 * k + 16 / uint32_t(config.element_bytes()),
                              .alpha = 0.5f,
                              .row_padding = 16,
                              .trace = true};
  const schedule::Pipeline pipeline = matmul_pipeline(config);
  const auto step = k * uint32_t(pipeline.body.tiles_per_iteration);
  const int iterations = std::max(int((problem.k + step - 1) / step), pipeline.stages() - 1);
  std::set<std::pair<int, int>> flow;
  for (const Completion completion : {Completion::earliest, Completion::latest, Completion::seeded}) {
    proof.executions.push_back({completion, problem, run_matmul(object, kernel, config, problem, completion)});
    const RunResult& run = proof.executions.back().result.run;
    flow.insert(run.lds_flow.begin(), run.lds_flow.end());
    // The order does not depend on the landing, so one run is enough.
    if (proof.waves > 0) continue;
    for (size_t w = 0; w < run.trace.size() && run.error.empty(); ++w, ++proof.waves) {
      const bool trailing = pipeline.stagger > 0 && w >= run.trace.size() / 2;
      for (const std::string& m :
           compare_trace(kernel, run.trace[w], with_loads(expected_run(pipeline, iterations, trailing), config))) {
        proof.run_mismatches.push_back(fmt::format("wave {}: {}", w, m));
      }
    }
  }
  if (config.general) {
    for (const MatmulProblem& p : general_problems(config)) {
      proof.executions.push_back({Completion::seeded, p, run_matmul(object, kernel, config, p, Completion::seeded)});
    }
  }
  proof.order = compare_order(kernel, matmul_order(config), &flow);
  return proof;
}

}  // namespace warpwright::amd

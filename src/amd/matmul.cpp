#include "amd/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <set>
#include <utility>

#include "amd/interpreter/formats.h"
#include "warpwright/kernel/cdna/schedules.h"

namespace warpwright::amd {
namespace {

constexpr uint8_t kUntouched = 0xa5;

// Small enough that a sum of 2^16 products is exact in fp32.
constexpr int kLargest = 3;

struct Operand2D {
  std::vector<int8_t> values;  // [rows, k]
  std::vector<uint8_t> bytes;
  uint32_t row_bytes = 0;
};

Operand2D make_operand(Chip chip, DType type, uint32_t rows, uint32_t k, uint32_t padding, uint64_t seed) {
  Operand2D out;
  const uint32_t size = uint32_t(bits(type)) / 8;
  out.row_bytes = (k * size + 15) / 16 * 16 + padding;
  out.values.resize(size_t(rows) * k);
  // What lies after a row is not a number, so that a kernel that multiplies with it is seen.
  out.bytes.assign(size_t(rows) * out.row_bytes, size == 1 && chip == Chip::gfx942 ? 0x80 : 0xff);
  uint64_t state = seed * 0x9e3779b97f4a7c15ull | 1;
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < k; ++c) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      const int value = int(state >> 40) % (2 * kLargest + 1) - kLargest;
      out.values[size_t(r) * k + c] = int8_t(value);
      uint8_t* at = out.bytes.data() + size_t(r) * out.row_bytes + size_t(c) * size;
      if (size == 1) {
        *at = eight_bit_code(chip, Element::fp8, float(value));
      } else {
        const uint16_t code = from_float<bf16>(float(value)).bits;
        std::memcpy(at, &code, sizeof(code));
      }
    }
  }
  return out;
}

uint32_t code_of(DType type, float value) {
  return type == DType::bf16 ? from_float<bf16>(value).bits : std::bit_cast<uint32_t>(value);
}

void compare(const MatmulProblem& p, const CdnaMatmulConfig& config, const Operand2D& a, const Operand2D& b,
             const std::vector<uint8_t>& d, uint32_t d_row, MatmulRun& out) {
  const auto size = uint32_t(config.out_bytes());
  for (uint32_t i = 0; i < p.m; ++i) {
    for (uint32_t j = 0; j < p.n; ++j) {
      const int8_t *x = &a.values[size_t(i) * p.k], *y = &b.values[size_t(j) * p.k];
      int sum = 0;
      for (uint32_t c = 0; c < p.k; ++c) sum += int(x[c]) * int(y[c]);
      uint32_t have = 0;
      std::memcpy(&have, d.data() + size_t(i) * d_row + size_t(j) * size, size);
      const uint32_t want = code_of(config.out_type, p.alpha * float(sum));
      if (have == want) continue;
      if (out.wrong++ == 0) {
        const float value = size == 2 ? to_float(bf16{uint16_t(have)}) : std::bit_cast<float>(have);
        out.first_wrong = fmt::format("D[{}, {}] is {}, exact is {}", i, j, value, p.alpha * float(sum));
      }
    }
    for (size_t c = size_t(p.n) * size; c < d_row; ++c) {
      if (d[size_t(i) * d_row + c] == kUntouched) continue;
      if (out.wrong++ == 0) out.first_wrong = fmt::format("byte {} past the end of row {} of D was written", c, i);
    }
  }
}

}  // namespace

const char* word(Completion completion) {
  constexpr const char* words[] = {"earliest", "latest", "seeded"};
  return words[int(completion)];
}

std::optional<CdnaMatmulConfig> matmul_config(Chip chip, const std::string& kernel) {
  CdnaMatmulConfig config;
  if (chip == Chip::other) return std::nullopt;
  config.arch = chip == Chip::gfx942 ? Arch::gfx942 : Arch::gfx950;
  for (const CdnaVariant variant : kCdnaVariants) {
    for (const DType type : {DType::bf16, DType::e4m3}) {
      const std::string usual = fmt::format("matmul_{}_{}", name(variant), name(type));
      if (kernel != usual && kernel != usual + "_to_fp32") continue;
      config.variant = variant;
      config.type = type;
      if (kernel != usual) config.out_type = DType::fp32;
      return config;
    }
  }
  return std::nullopt;
}

schedule::Pipeline matmul_pipeline(const CdnaMatmulConfig& config) {
  return cdna::pipeline_of(cdna::schedule_key(config));
}

Launch matmul_launch(const CdnaMatmulConfig& config, const CdnaMatmulArgs& args, size_t kernarg_bytes) {
  Launch launch;
  launch.kernarg.resize(std::max(sizeof args, kernarg_bytes));
  std::memcpy(launch.kernarg.data(), &args, sizeof args);
  const auto tiles = [](uint32_t n, int tile) { return (n + uint32_t(tile) - 1) / uint32_t(tile); };
  launch.groups[0] = tiles(args.m, config.tile_m()) * tiles(args.n, config.tile_n());
  launch.threads[0] = uint32_t(config.threads());
  return launch;
}

MatmulRun run_matmul(const CodeObject& object, const CodeObjectKernel& kernel, const CdnaMatmulConfig& config,
                     const MatmulProblem& p, Completion completion, uint64_t seed) {
  MatmulRun out;
  Operand2D a = make_operand(object.chip, config.type, p.m, p.k, p.row_padding, 2 * seed);
  Operand2D b = make_operand(object.chip, config.type, p.n, p.k, p.row_padding, 2 * seed + 1);
  const uint32_t d_row = p.n * uint32_t(config.out_bytes()) + p.row_padding;
  std::vector<uint8_t> d(size_t(p.m) * d_row, kUntouched);

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
  Launch launch = matmul_launch(config, args, size_t(kernel.kernarg_bytes));
  launch.memory = {
      {a.bytes.data(), a.bytes.size(), false}, {b.bytes.data(), b.bytes.size(), false}, {d.data(), d.size(), true}};
  launch.completion = completion;
  launch.seed = seed;
  launch.trace = p.trace;
  const auto begin = std::chrono::steady_clock::now();
  out.run = execute(object, kernel, launch);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (out.run.error.empty()) compare(p, config, a, b, d, d_row, out);
  return out;
}

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
  const MatmulProblem problem{m + 24, m - 40, 5 * k + 16 / uint32_t(config.element_bytes()), 0.5f, 16, true};
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
      for (const std::string& m : compare_trace(kernel, run.trace[w], expected_run(pipeline, iterations, trailing))) {
        proof.run_mismatches.push_back(fmt::format("wave {}: {}", w, m));
      }
    }
  }
  proof.order = compare_order(kernel, expected_order(pipeline), &flow);
  return proof;
}

}  // namespace warpwright::amd

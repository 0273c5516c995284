#include "simulate/predict.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "choice/dense.h"
#include "launch/dense.h"
#include "simulate/executor.h"
#include "simulate/product.h"
#include "warpwright/gemm.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {
namespace {

using simulator::Buffer;

// Where the operands would lie: far apart, and nobody reads them.
void* operand(int i) { return reinterpret_cast<void*>(uintptr_t(i + 1) << 40); }

Result<GemmProblem> plain_problem(const catalog::Instance& instance, int64_t m, int64_t n, int64_t k) {
  GemmProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.plan = catalog::name_of(instance);
  bool plain = false;
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    p.a.type = c->type;
    p.b.type = c->b_type();
    p.a.major = c->a_major;
    p.b.major = c->b_major;
    p.d.type = c->epilogue.out;
    p.accumulation = c->promote_k > 0 ? Accumulation::promoted : Accumulation::fast;
    plain = c->epilogue == factor_and_conversion(c->epilogue.out) && c->load == Mover::tma && c->store == Mover::tma;
  } else if (const auto* s = instance.as<SkinnyGemmConfig>()) {
    p.a.type = p.b.type = s->type;
    p.d.type = s->epilogue.out;
    p.accumulation = s->promote_k > 0 ? Accumulation::promoted : Accumulation::fast;
    plain = s->epilogue == factor_and_conversion(s->epilogue.out);
  } else if (const auto* b = instance.as<DenseGemmSm100Config>()) {
    p.a.type = p.b.type = b->type;
    p.d.type = b->out_type;
    EpilogueConfig beside = b->epilogue;
    beside.alpha = false;
    plain = beside.trivial() && !b->scaled() && !b->batched;
  }
  if (plain) return p;
  return Status(Code::unsupported, fmt::format("{}: only plain dense products are predicted.", p.plan));
}

}  // namespace

Result<simulator::Prediction> predict(const catalog::Instance& instance, int64_t m, int64_t n, int64_t k) {
  const auto problem = plain_problem(instance, m, n, k);
  if (!problem) return problem.status();
  const choice::Chip chip = choice::simulated_chip(catalog::arch_of(instance));
  const auto product = dense_product(*problem, chip);
  if (!product) return product.status();
  const catalog::Instance& chosen = product->instance();  // with the parts of a split depth
  const auto compiled = ready(chosen);
  if (!compiled) return compiled.status();

  struct alignas(128) Line {
    uint8_t bytes[128] = {};
  };
  launch::Arguments args;
  const GemmProblem& p = product->problem;
  const problem::Lowered& low = product->low;
  // Threads that store write for real.
  const auto* blackwell = chosen.as<DenseGemmSm100Config>();
  const bool by_threads = blackwell != nullptr && blackwell->store_stages == 0;
  std::vector<Line> stored(by_threads ? size_t(low.d.bytes()) / sizeof(Line) + 1 : 0);
  void* const d = by_threads ? stored.data() : operand(2);
  const GemmPointers pointers{.a = operand(0), .b = operand(1), .d = d};
  if (Status s = launch::fill_arguments(args, chosen, p, product->decision.kernel, pointers, map_encoder()); !s)
    return s;
  std::vector<Buffer> buffers = {{operand(0), uint64_t(low.a.bytes()), "A"},
                                 {operand(1), uint64_t(low.b.bytes()), "B"},
                                 {d, uint64_t(low.d.bytes()), "D", Buffer::Use::output}};
  const int cluster = (*compiled)->plan->cluster;
  const int64_t clusters = choice::resident_clusters(chip.multiprocessors, cluster);
  std::vector<Line> sums;  // threads write and read them, so they need memory
  if (const int64_t bytes = launch::workspace_bytes(chosen, args, clusters); bytes > 0) {
    sums.resize(size_t(bytes) / sizeof(Line) + 1);
    launch::set_workspace(args, sums.data());
    buffers.push_back({sums.data(), uint64_t(bytes), "workspace", Buffer::Use::inout});
  }
  const auto ctas = launch::ctas_of(chosen, args, clusters);
  if (!ctas) return ctas.status();
  const BlockPlan& plan = *(*compiled)->plan;
  const simulator::Launch launch{&plan, {*ctas, 1, 1}, uint32_t(plan.threads()), plan.shared_bytes, std::move(buffers)};
  auto prediction = simulator::predict(launch, [&] { (*compiled)->body(launch::bytes_of(args)); });
  if (!prediction.result.ok()) return Status(Code::failed, prediction.result.findings.front().text());
  return prediction;
}

}  // namespace warpwright::simulate

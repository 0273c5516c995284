#include "simulate/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "choice/dense.h"
#include "choice/grouped.h"
#include "launch/dense.h"
#include "launch/grouped.h"
#include "simulate/executor.h"
#include "simulate/product.h"
#include "warpwright/core/ceil_div.h"
#include "warpwright/gemm.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {
namespace {

using simulator::Buffer;

// Where the operands would be: far apart, and never read.
void* operand(int i) { return reinterpret_cast<void*>(uintptr_t(i + 1) << 40); }

Status unpredicted(const std::string& instance) {
  return Status(Code::unsupported,
                fmt::format("{}: only plain products that the TMA loads and stores are predicted.", instance));
}
// Whether it takes nothing but A, B and D.
bool is_plain(const catalog::Instance& instance) {
  if (const auto* c = instance.as<DenseGemmConfig>())
    return c->epilogue == factor_and_conversion(c->epilogue.out) && !c->batched && c->load == Mover::tma &&
           c->store == Mover::tma;
  if (const auto* s = instance.as<SkinnyGemmConfig>()) return s->epilogue == factor_and_conversion(s->epilogue.out);
  if (const auto* b = instance.as<DenseGemmSm100Config>()) {
    EpilogueConfig beside = b->epilogue;
    beside.alpha = false;
    return beside.trivial() && !b->scaled() && !b->batched;
  }
  return false;
}

// The problem that an instance makes.
Result<GemmProblem> plain_problem(const catalog::Instance& instance, int64_t m, int64_t n, int64_t k) {
  GemmProblem p{.m = m, .n = n, .k = k};
  p.plan = catalog::name_of(instance);
  if (!is_plain(instance)) return unpredicted(p.plan);
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    p.a.type = c->type;
    p.b.type = c->b_type();
    p.a.major = c->a_major;
    p.b.major = c->b_major;
    p.d.type = c->epilogue.out;
    p.accumulation = c->promote_k > 0 ? Accumulation::promoted : Accumulation::fast;
  } else if (const auto* s = instance.as<SkinnyGemmConfig>()) {
    p.a.type = p.b.type = s->type;
    p.d.type = s->epilogue.out;
    p.accumulation = s->promote_k > 0 ? Accumulation::promoted : Accumulation::fast;
  } else if (const auto* b = instance.as<DenseGemmSm100Config>()) {
    p.a.type = p.b.type = b->type;
    p.d.type = b->out_type;
  }
  return p;
}

// Memory that threads read and write. Pages that are never touched cost nothing.
class Zeros {
 public:
  explicit Zeros(int64_t bytes) : memory_(std::calloc(size_t(bytes) + kAlignment, 1)), bytes_(uint64_t(bytes)) {
    if (!memory_) throw std::bad_alloc();
  }
  void* data() const {
    void* at = memory_.get();
    size_t room = size_t(bytes_) + kAlignment;
    return std::align(kAlignment, size_t(bytes_), at, room);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static constexpr size_t kAlignment = 128;
  std::unique_ptr<void, Free> memory_;
  uint64_t bytes_;
};

// A launch of which everything is known but the memory of the sums that clusters leave to each other. What is `warm` is
// in the L2.
Result<simulator::Prediction> predict(const catalog::Instance& instance, const simulator::Instance& compiled,
                                      launch::Arguments& args, std::vector<Buffer> buffers, int multiprocessors,
                                      simulator::Lanes lanes, std::span<const Buffer> warm = {}) {
  const BlockPlan& plan = *compiled.plan;
  const int64_t clusters = choice::resident_clusters(multiprocessors, plan.cluster);
  const int64_t bytes = launch::workspace_bytes(instance, args, clusters);
  const Zeros sums(bytes);
  if (bytes > 0) {
    launch::set_workspace(args, sums.data());
    buffers.push_back({sums.data(), sums.bytes(), "workspace", Buffer::Use::inout});
  }
  const auto ctas = launch::ctas_of(instance, args, clusters);
  if (!ctas) return ctas.status();
  const simulator::Launch launch{&plan, {*ctas, 1, 1}, uint32_t(plan.threads()), plan.shared_bytes, std::move(buffers)};
  auto prediction = simulator::predict(
      launch, [&] { compiled.body(launch::bytes_of(args)); }, lanes, warm);
  if (!prediction.result.ok()) return Status(Code::failed, prediction.result.findings.front().text());
  return prediction;
}

}  // namespace

Result<simulator::Prediction> predict(const catalog::Instance& instance, int64_t m, int64_t n, int64_t k) {
  const auto problem = plain_problem(instance, m, n, k);
  if (!problem) return problem.status();
  return predict(*problem, catalog::arch_of(instance));
}

Result<simulator::Prediction> predict(const GemmProblem& problem, Arch arch) {
  const choice::Chip chip = choice::simulated_chip(arch);
  const auto product = dense_product(problem, chip);
  if (!product) return product.status();
  const catalog::Instance& chosen = product->instance();  // with the parts of a split depth
  if (product->decision.packing.any() || !is_plain(chosen)) return unpredicted(catalog::name_of(chosen));
  const auto compiled = ready(chosen);
  if (!compiled) return compiled.status();

  launch::Arguments args;
  const GemmProblem& p = product->problem;
  const problem::Lowered& low = product->low;
  const Zeros result(low.d.bytes());  // on Blackwell threads may store
  const GemmPointers pointers{.a = operand(0), .b = operand(1), .d = result.data()};
  if (Status s = launch::fill_arguments(args, chosen, p, product->decision.kernel, pointers, map_encoder()); !s)
    return s;
  return predict(chosen, **compiled, args,
                 {{operand(0), uint64_t(low.a.bytes()), "A"},
                  {operand(1), uint64_t(low.b.bytes()), "B"},
                  {result.data(), result.bytes(), "D", Buffer::Use::output}},
                 chip.multiprocessors, simulator::Lanes::pass);
}

Result<simulator::Prediction> predict(const GroupedProblem& problem, std::span<const uint32_t> rows,
                                      std::span<const int32_t> matrices, Scales scales) {
  const choice::Chip chip = choice::simulated_chip(Arch::sm90);
  const auto choice = choice::choose(problem, chip);
  if (!choice) return choice.status();
  if (problem.gathered || problem.bias != Bias::none || problem.out == DType::e4m3 || !problem.formula.empty())
    return unpredicted(catalog::name_of(choice->instance));
  const auto compiled = ready(choice->instance);
  if (!compiled) return compiled.status();

  const int64_t count = launch::matrices_of(problem), columns = problem.activation == Activation::swiglu ? 2 : 1;
  const int64_t results = problem.groups == Groups::by_depth ? problem.group_count : 1, size = bits(problem.type) / 8;
  const int64_t blocks = ceil_div(problem.k, int64_t(128));
  const Zeros result(results * problem.m * problem.n / columns * bits(problem.out) / 8);
  const Zeros a_scales(4 * blocks * problem.m);
  const Zeros b_scales(4 * blocks * count * problem.n);
  std::vector<uint32_t> table(rows.begin(), rows.end());
  table.resize(std::max<size_t>(table.size(), 1));
  std::vector<int32_t> listed(matrices.begin(), matrices.end());
  listed.resize(std::max<size_t>(listed.size(), 1));
  const GroupedPointers pointers{.a = operand(0),
                                 .b = operand(1),
                                 .a_scales = static_cast<const float*>(a_scales.data()),
                                 .b_scales = static_cast<const float*>(b_scales.data()),
                                 .d = result.data(),
                                 .rows = table.data(),
                                 .matrices = matrices.empty() ? nullptr : listed.data()};
  if (Status s = launch::check_pointers(problem, pointers, chip.arch); !s) return s;
  launch::Arguments args;
  if (Status s = launch::fill_arguments(args, choice->instance, problem, pointers, map_encoder()); !s) return s;
  const std::vector<Buffer> small = {{a_scales.data(), a_scales.bytes(), "scales of A"},
                                     {b_scales.data(), b_scales.bytes(), "scales of B"},
                                     {table.data(), table.size() * sizeof(uint32_t), "table of groups"},
                                     {listed.data(), listed.size() * sizeof(int32_t), "matrices of groups"}};
  std::vector<Buffer> buffers = {{operand(0), uint64_t(problem.m * problem.k * size), "A"},
                                 {operand(1), uint64_t(count * problem.n * problem.k * size), "B"},
                                 {result.data(), result.bytes(), "D", Buffer::Use::output}};
  buffers.insert(buffers.end(), small.begin(), small.end());
  return predict(choice->instance, **compiled, args, std::move(buffers), chip.multiprocessors, simulator::Lanes::meet,
                 scales == Scales::warm ? small : std::vector<Buffer>{});
}

}  // namespace warpwright::simulate

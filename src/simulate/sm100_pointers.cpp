// Groups on Blackwell whose matrices lie at addresses of their own, for which the API has no problem: the checker
// gives them the product of a kernel whose groups share arrays.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "launch/host_grouped.h"
#include "problem/validate.h"
#include "reference/grouped_workload.h"
#include "simulate/families.h"
#include "simulate/instance_problem.h"
#include "simulate/run.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::simulate {
namespace {

using launch::GroupedOperands;
using reference::Array;
using reference::Case;
using reference::Data;
using reference::GroupedSpec;
using reference::Workload;
using Pointers = std::vector<void*>;

GroupedSpec spec_of_case(const catalog::Instance& instance, Case s) {
  const reference::GroupedProduct product = grouped_product(instance, s);
  return reference::spec_of(grouped_problem(instance, s), product.rows, product.matrices);
}

template <class T>
std::vector<T> words_of(const Array& a) {
  std::vector<T> list(size_t(a.columns));
  std::memcpy(list.data(), a.bytes.data(), a.bytes.size());
  return list;
}

// A table whose depths are not all legal.
constexpr int kTooDeep = 1000;
bool is_illegal(Case s) { return s.condition == reference::Condition::varied; }

// The same product for a kernel whose groups have matrices of their own: every group is a product of one group, through
// addresses inside the arrays that the groups have in common.
class ByPointers {
 public:
  ByPointers(const GroupedGemmSm100Config& c, const GroupedSpec& s, const Workload& w, Arrays& arrays)
      : config_(c), spec_(s), arrays_(arrays), illegal_(is_illegal(w.shape)) {
    const Pointers& p = arrays.pointers();
    all_ = reference::grouped_operands(s, w, p);
    for (const Array& a : w.arrays) {
      if (a.name == "matrix_alpha") alpha_ = words_of<float>(a);
    }
  }

  GroupedGemmSm100Args arguments() {
    const std::vector<uint32_t> starts = spec_.starts();
    const size_t count = spec_.tokens.size();
    void* const problems_at =
        arrays_.add("problems", count * sizeof(GroupProblem), simulator::Buffer::Use::input, true);
    void* const extents_at = arrays_.add("extents", count * 16, simulator::Buffer::Use::input, true);
    auto* const problems = static_cast<GroupProblem*>(arrays_.host(problems_at));
    auto* const extents = static_cast<int32_t*>(arrays_.host(extents_at));
    GroupedGemmSm100Args args{};
    args.problems = static_cast<GroupProblem*>(problems_at);
    args.groups = {.extents = static_cast<int32_t*>(extents_at),
                   .status = all_.table.status,
                   .groups = int(count),
                   .matrix_count = int(count),
                   .columns = spec_.n,
                   .depth = spec_.k};
    int64_t block = 0;  // a block of factors; each group begins a new one
    for (size_t g = 0; g < count; ++g) {
      const int matrix = spec_.matrices.empty() ? int(g) : spec_.matrices[g];
      const int rows = spec_.has_matrix(g) ? spec_.tokens[g] : 0;
      args.groups.rows = std::max(args.groups.rows, rows);
      if (rows > 0) problems[g] = problem(starts[g], rows, block, matrix);
      // Some groups say that they are deeper than there is.
      const bool wrong = illegal_ && rows > 0 && args.groups.rows == rows;
      const int32_t extent[4] = {rows, spec_.n, wrong ? spec_.k + kTooDeep : spec_.k, 0};
      std::memcpy(extents + 4 * g, extent, sizeof extent);
      block += ceil_div(int64_t(starts[g + 1]) - starts[g], kScaleTileRows);
    }
    return args;
  }

 private:
  static void* at(void* first, int64_t bytes) {
    return first == nullptr ? nullptr : static_cast<uint8_t*>(first) + bytes;
  }
  GroupProblem problem(int64_t first_row, int rows, int64_t block, int64_t matrix) const {
    const int64_t n = spec_.n, k = spec_.k;
    const int64_t along_k = ceil_div(k, scale_block(spec_.scaling) * kScaleTileColumns) * kScaleTileBytes;
    GroupedOperands one = all_;
    one.a = at(all_.a, first_row * k * bits(spec_.type) / 8);
    one.b = at(all_.b, matrix * n * k * bits(b_dtype(spec_.scaling, spec_.type)) / 8);
    one.a_scales = at(all_.a_scales, block * along_k);
    one.b_scales = at(all_.b_scales, matrix * ceil_div(n, kScaleTileRows) * along_k);
    one.a_scale_tiles = ceil_div(rows, kScaleTileRows);
    one.table.rows = rows;
    one.table.groups = one.table.matrix_count = 1;
    GroupedGemmSm100Config config = config_;
    config.pointers = false;
    GroupedGemmSm100Args args;
    if (const Status s = launch::fill(args, config, one, map_encoder()); !s) throw std::runtime_error(s.message());
    return {args.a,
            args.b,
            args.a_scales,
            args.b_scales,
            at(all_.d, first_row * n * bits(spec_.out_type) / 8),
            0,
            alpha_[size_t(matrix)]};
  }

  GroupedGemmSm100Config config_;
  GroupedSpec spec_;
  Arrays& arrays_;
  bool illegal_;
  GroupedOperands all_;
  std::vector<float> alpha_;
};

Outcome run_by_pointers(const catalog::Instance& instance, const GroupedGemmSm100Config& c, const Workload& w,
                        const simulator::Options& o, int ctas) {
  Arrays arrays(w);
  const GroupedGemmSm100Args args = ByPointers(c, spec_of_case(instance, w.shape), w, arrays).arguments();
  return run_arguments(instance, &args, sizeof args, ctas, w, arrays, o);
}

}  // namespace

bool complete(Example& e, const catalog::Instance& instance, const GroupedGemmSm100Config& c) {
  if (!c.pointers) return false;
  e.takes = [instance](Case s) { return problem::validate(grouped_problem(instance, s), Arch::sm100); };
  e.workload = [instance](Case s, Data data, uint64_t seed) {
    Workload w = grouped_workload(spec_of_case(instance, s), data, seed);
    w.shape = s;
    // A group without a matrix has no rows here, which is legal.
    const uint32_t status = is_illegal(s) ? uint32_t(kExtentsOutOfRange) : 0;
    for (reference::AlsoExpected& other : w.also)
      if (other.array == "status") std::memcpy(other.bytes.data(), &status, sizeof status);
    return w;
  };
  e.simulate = [instance, c](const Workload& w, const simulator::Options& o, int ctas) {
    return run_by_pointers(instance, c, w, o, ctas ? ctas : 2 * c.cta_group);
  };
  return true;
}

}  // namespace warpwright::simulate

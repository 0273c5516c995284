// A product for the Blackwell GEMM in the simulator: batches with gaps between their matrices, a workspace that
// outlives a launch, every mode of exploration.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/modes.h"
#include "simulate/run_kernel.h"
#include "warpwright/kernel/sm100/dense/dense_gemm.h"

namespace warpwright::gemm_sm100 {

using reference::Case;
using simulator::Buffer;
using simulator::Fault;
using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;
using Config = DenseGemmSm100Config;

struct alignas(128) Line {
  uint8_t bytes[128];
};

// One matrix product, or a batch of them, and what is needed to launch it more than once.
template <Config C>
class Product {
 public:
  struct Extra {
    int batches = 1;
    int splits = 1;
    int clusters = 2;       // of the launch, and resident ones with CLC
    bool shares_b = false;  // one B for all matrices of a batch
    reference::Data data = reference::Data::integers;
    uint64_t seed = 1;
  };

  Product(Case shape, const Extra& extra) : shape_(shape), extra_(extra) {
    // Between the matrices of a batch there are rows that belong to none of them.
    a_stride_ = (shape.m + 1) * shape.k;
    b_stride_ = extra.shares_b ? 0 : (shape.n + 2) * shape.k;
    d_stride_ = (shape.m + 3) * shape.n;
    const int64_t count = extra.batches;
    a_ = array("A", C.type, count * (shape.m + 1), shape.k);
    b_ = array("B", C.type, count * (shape.n + 2), shape.k);
    d_ = array("D", C.out_type, count * (shape.m + 3), shape.n);
    for (int i = 0; i < extra.batches; ++i) {
      const reference::Workload w =
          reference::gemm_workload(shape, C.type, C.out_type, 1, extra.data, extra.seed + uint64_t(i) * 77);
      std::copy(w.arrays[0].bytes.begin(), w.arrays[0].bytes.end(), place(a_, i * a_stride_));
      if (i == 0 || !extra.shares_b) {
        std::copy(w.arrays[1].bytes.begin(), w.arrays[1].bytes.end(), place(b_, i * b_stride_));
      }
      expected_.push_back(w);
      if (extra.shares_b) multiply(expected_.back(), expected_[0].arrays[1]);
    }
    const int64_t bytes = C.workspace_bytes(int(shape.m), int(shape.n), extra.batches, extra.splits, extra.clusters);
    workspace_.assign(size_t(bytes) / 128 + 1, Line{});
  }

  std::vector<Buffer> buffers() {
    const auto buffer = [](reference::Array& array, std::vector<Line>& memory, Buffer::Use use) {
      memory.assign(array.bytes.size() / 128 + 2, Line{});
      std::memcpy(memory.data(), array.bytes.data(), array.bytes.size());
      return Buffer{memory.data(), array.bytes.size(), array.name, use, false};
    };
    reference::poison(d_);
    std::vector<Buffer> all{buffer(a_, memory_[0], Buffer::Use::input), buffer(b_, memory_[1], Buffer::Use::input),
                            buffer(d_, memory_[2], Buffer::Use::output)};
    all.push_back({workspace_.data(), workspace_.size() * sizeof(Line), "workspace", Buffer::Use::inout, false});
    return all;
  }

  // `adapt` may change the arguments and the buffers: A, B, D, workspace.
  using Adapt = std::function<void(DenseGemmSm100Args&, std::vector<Buffer>&)>;
  simulator::Result launch(Options o, const Adapt& adapt = {}) {
    std::vector<Buffer> all = buffers();
    DenseGemmSm100Args args;
    const Status status =
        launch::fill(args, C, all[0].data, all[1].data, all[2].data, int(shape_.m), int(shape_.n), int(shape_.k), 1,
                     simulate::EncodeForSimulator{}, {extra_.batches, a_stride_, b_stride_, d_stride_});
    EXPECT_TRUE(status) << status.message();
    args.splits = extra_.splits;
    args.workspace = workspace_.data();
    if (adapt) adapt(args, all);
    if (C.source == TileSource::clc && o.resident_clusters == 0) o.resident_clusters = extra_.clusters;
    simulator::Result r = simulator::run_kernel<kernel::sm100::DenseGemm<C>>(args, {uint32_t(ctas()), 1, 1}, all, o);
    std::memcpy(d_.bytes.data(), memory_[2].data(), d_.bytes.size());
    return r;
  }

  // What is wrong, in a sentence; empty if all is right.
  std::string wrong() const {
    for (int i = 0; i < extra_.batches; ++i) {
      const size_t element = size_t(bits(C.out_type)) / 8;
      const auto* first = d_.bytes.data() + size_t(i * d_stride_) * element;
      const reference::Verdict v =
          reference::judge(expected_[size_t(i)], {first, first + size_t(shape_.m * shape_.n) * element});
      if (!v.ok) {
        return "matrix " + std::to_string(i) + ": " + std::to_string(v.wrong) + " wrong, " +
               std::to_string(v.unwritten) + " unwritten";
      }
      for (int64_t j = shape_.m * shape_.n; j < d_stride_; ++j)
        if (!std::isnan(reference::element(d_, i * d_stride_ + j))) return "something was written between the matrices";
    }
    const auto* counters = reinterpret_cast<const uint8_t*>(workspace_.data());
    for (int64_t i = 0; i < counter_bytes(); ++i)
      if (counters[i] != 0) return "a counter of the workspace is not zero after the launch";
    return {};
  }
  const std::vector<uint8_t>& result() const { return d_.bytes; }

 private:
  static void multiply(reference::Workload& w, const reference::Array& b) {
    const int64_t m = w.shape.m, n = w.shape.n, k = w.shape.k;
    for (int64_t i = 0; i < m * n; ++i) {
      double& sum = w.expected[size_t(i)] = 0;
      for (int64_t j = 0; j < k; ++j) sum += element(w.arrays[0], i / n * k + j) * element(b, i % n * k + j);
    }
  }
  int64_t counter_bytes() const {
    if (C.split == DepthSplit::none) return 0;
    return C.fixup().counter_bytes(C.tiles(int(shape_.m), int(shape_.n), extra_.batches));
  }
  int ctas() const {
    if (C.source == TileSource::persistent) return extra_.clusters * C.cluster();
    return int(C.jobs(int(shape_.m), int(shape_.n), int(shape_.k), extra_.batches, extra_.splits)) * C.cluster();
  }
  static reference::Array array(const char* name, DType type, int64_t rows, int64_t columns) {
    reference::Array a{name, type, rows, columns, false, {}};
    a.bytes.assign(a.size(), 0xff);  // NaN
    return a;
  }
  static std::vector<uint8_t>::iterator place(reference::Array& a, int64_t element) {
    return a.bytes.begin() + element * bits(a.type) / 8;
  }

  Case shape_;
  Extra extra_;
  int64_t a_stride_, b_stride_, d_stride_;
  reference::Array a_, b_, d_;
  std::vector<Line> memory_[3], workspace_;
  std::vector<reference::Workload> expected_;
};

template <Config C>
void expect_right(Case shape, const typename Product<C>::Extra& extra, const Options& o) {
  Product<C> product(shape, extra);
  const simulator::Result r = product.launch(o);
  ASSERT_TRUE(r.ok()) << shape.m << "x" << shape.n << "x" << shape.k << "\n" << r.findings[0].text();
  ASSERT_EQ(product.wrong(), "") << shape.m << "x" << shape.n << "x" << shape.k << " landing " << int(o.landing)
                                 << " scheduling " << int(o.scheduling) << " " << o.frozen_role << " seed " << o.seed;
}

// Whole tiles with more tiles than clusters, tails in all directions, a single row, no depth.
template <Config C>
void expect_right_in_every_mode(typename Product<C>::Extra extra = {}, int seeds = 1) {
  const int m = C.tile_m * C.cluster_m, n = C.tile_n * C.cluster_n, k = C.tile_k(), unit = 128 / bits(C.type);
  // With operands exchanged the rows of a tile are columns of D.
  const auto shape = [&](int rows, int columns, int depth) {
    return C.swap_ab ? Case{columns, rows, depth} : Case{rows, columns, depth};
  };
  in_every_mode(kernel::sm100::DenseGemm<C>::plan, seeds, [&](const Options& o) {
    extra.seed = o.seed;
    for (const Case& c : {shape(2 * m, 2 * n, 2 * k), shape(m + 8, 2 * n + 8, 5 * k + unit), shape(8, 8, unit)}) {
      expect_right<C>(c, extra, o);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
  Options o;
  expect_right<C>({40, 24, 0}, extra, o);
  if (!C.swap_ab) expect_right<C>({1, 8, unit}, extra, o);
}

// One fault at a synchronization of the kernel. `object` is the name that the block plan or the launch has for what it
// touches.
struct Mutant {
  const char* word;
  const char* object;
  const char* role = "";
  Fault::Action action = Fault::Action::drop;
  int64_t value = 0;
  int nth = 0;
};
inline void PrintTo(const Mutant& m, std::ostream* to) {
  const char* actions[] = {"drop", "duplicate", "alter", "postpone"};
  *to << actions[int(m.action)] << " " << m.word << " " << m.object << " of " << (*m.role ? m.role : "any role") << " ("
      << m.value << ", call " << m.nth << ")";
}

// Reported in at least one of the modes, and in no mode a wrong result without a report. Returns the rules.
template <Config C>
std::string expect_reported(const Mutant& mutant, Case shape, const typename Product<C>::Extra& extra,
                            Options first = {}, const typename Product<C>::Adapt& adapt = {}) {
  SCOPED_TRACE(testing::PrintToString(mutant));
  std::string rules;
  for (Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
    for (Scheduling scheduling : {Scheduling::fifo, Scheduling::random}) {
      Options o = first;
      o.landing = landing;
      o.scheduling = scheduling;
      o.faults = {{mutant.word, mutant.object, mutant.role, mutant.action, mutant.value, mutant.nth, -1}};
      Product<C> product(shape, extra);
      const simulator::Result r = product.launch(o, adapt);
      if (r.ok()) {
        EXPECT_EQ(product.wrong(), "") << "a silent wrong result";
      } else {
        rules += (rules.empty() ? "" : " ") + r.findings[0].rule;
        EXPECT_FALSE(r.findings[0].file.empty()) << r.findings[0].text();
      }
    }
  }
  EXPECT_NE(rules, "") << "nobody saw it";
  return rules;
}

}  // namespace warpwright::gemm_sm100

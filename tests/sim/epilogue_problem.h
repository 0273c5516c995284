// One product with an epilogue on small whole numbers, so that sums are exact and every bit of D is known: it is what
// the node list, which has tests of its own, makes of the sums. Whatever lies around D must keep its bytes.
#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "simulate/run_kernel.h"
#include "warpwright/kernel/sm100/dense/dense_gemm.h"

namespace warpwright::testing_epilogue {

struct Shape {
  int m = 0, n = 0, k = 0;
  int gap = 0;     // elements between the end of a row of D and the next one
  int offset = 0;  // of D in its memory, in elements
  int batches = 1;
  int splits = 1;
};

template <DenseGemmSm100Config C>
class Problem {
  static constexpr EpilogueConfig kNodes = kernel::sm100::EpilogueLayout<C>::kNodes;
  using Ops = epilogue::EpilogueOps<kNodes>;
  using Out = typename Ops::Out;

 public:
  explicit Problem(Shape s) : s_(s), columns_(C.result_columns(s.n)), stride_(columns_ + s.gap) {
    a_ = make("a", C.type, s.batches * s.m, s.k, 1);
    b_ = make("b", C.type, s.batches * s.n, s.k, 2);
    c_ = make("c", kNodes.source_type, s.batches * s.m, columns_, 3);
    residual_ = make("residual", kNodes.residual_type, s.batches * s.m, columns_, 4);
    const int along = kNodes.bias == Bias::per_row ? s.m : columns_;
    bias_ = make("bias", kNodes.bias_type, 1, along, 5);
    up_bias_ = make("up_bias", kNodes.bias_type, 1, along, 6);
    expected_.assign(size_t(s.offset) + size_t(s.batches) * size_t(s.m) * size_t(stride_) + 64, poison());
    for (int i = 0; i < s.batches; ++i) expect_matrix(i);
  }

  // Empty, or what is wrong.
  std::string run(simulator::Options options, int clusters, simulator::Result* findings = nullptr) const {
    std::vector<Line> memory[7];
    std::vector<simulator::Buffer> buffers;
    const auto place = [&](int i, const char* name, const void* from, size_t bytes, simulator::Buffer::Use use) {
      memory[i].resize(bytes / sizeof(Line) + 2);
      if (bytes > 0) std::memcpy(memory[i].data(), from, bytes);
      buffers.push_back({memory[i].data(), bytes, name, use, C.dependent});
      return static_cast<void*>(memory[i].data());
    };
    const auto input = [&](int i, const reference::Array& a) {
      return place(i, a.name.c_str(), a.bytes.data(), a.bytes.size(), simulator::Buffer::Use::input);
    };
    void* const a = input(0, a_);
    void* const b = input(1, b_);
    const std::vector<Out> untouched(expected_.size(), poison());
    Out* const d = static_cast<Out*>(
        place(6, "d", untouched.data(), untouched.size() * sizeof(Out), simulator::Buffer::Use::output));
    DenseGemmSm100Args args;
    DenseGemmSm100Config direct = C;
    direct.store_stages = direct.epilogue_load_stages = 0;
    const problem::GemmBatch batch{C.batched ? s_.batches : 0, int64_t(s_.m) * s_.k, int64_t(s_.n) * s_.k,
                                   int64_t(s_.m) * stride_};
    Status status =
        launch::fill(args, direct, a, b, d + s_.offset, s_.m, s_.n, s_.k, 0, simulate::EncodeForSimulator{}, batch);
    args.d_row_stride = stride_;
    args.epilogue = nodes();
    args.epilogue.c = input(2, c_);
    args.epilogue.residual = input(3, residual_);
    args.epilogue.c_row_stride = args.epilogue.residual_row_stride = columns_;
    args.epilogue.c_batch_stride = args.epilogue.residual_batch_stride = int64_t(s_.m) * columns_;
    args.epilogue.bias = input(4, bias_);
    args.epilogue.up_bias = input(5, up_bias_);
    if (status) {
      status = launch::fill_epilogue_maps(args, C, args.batches, args.d_batch_stride, simulate::EncodeForSimulator{});
    }
    if (!status) return status.message();
    const int64_t scratch = C.workspace_bytes(s_.m, s_.n, s_.batches, s_.splits, clusters);
    std::vector<Line> workspace(size_t(scratch) / sizeof(Line) + 1, Line{});
    buffers.push_back(
        {workspace.data(), workspace.size() * sizeof(Line), "workspace", simulator::Buffer::Use::inout, C.dependent});
    args.workspace = workspace.data();
    args.splits = s_.splits;
    options.primary_pending = C.dependent;
    if (C.source == TileSource::clc) {
      options.resident_clusters = clusters;
      clusters = int(C.jobs(s_.m, s_.n, s_.k, s_.batches, s_.splits));
    }
    const auto ctas = uint32_t(clusters * C.cluster());
    simulator::Result r = simulator::run_kernel<kernel::sm100::DenseGemm<C>>(args, {ctas, 1, 1}, buffers, options);
    std::string wrong = r.ok() ? compare(d) : r.findings[0].text();
    if (findings != nullptr) *findings = std::move(r);
    return wrong;
  }

 private:
  struct alignas(128) Line {
    uint8_t b[128];
  };
  static Out poison() {
    Out v;
    std::memset(&v, 0xff, sizeof v);
    return v;
  }
  static reference::Array make(const char* name, DType type, int64_t rows, int64_t columns, uint64_t seed) {
    reference::Array a;
    a.name = name;
    a.type = type;
    a.rows = rows;
    a.columns = columns;
    a.bytes.resize(a.size());
    reference::fill(a, reference::Data::integers, seed);
    return a;
  }
  static EpilogueArgs nodes() {
    EpilogueArgs e;
    e.alpha = kNodes.alpha ? 2 : 1;
    e.beta = 3;
    e.scale = 0.25f;
    return e;
  }

  float sum(int batch, int row, int column) const {
    double s = 0;
    for (int k = 0; k < s_.k; ++k) {
      s += reference::element(a_, (int64_t(batch) * s_.m + row) * s_.k + k) *
           reference::element(b_, (int64_t(batch) * s_.n + column) * s_.k + k);
    }
    return float(s);
  }
  void expect_matrix(int batch) {
    const EpilogueArgs e = nodes();
    for (int row = 0; row < s_.m; ++row) {
      for (int column = 0; column < columns_; ++column) {
        const int64_t at = (int64_t(batch) * s_.m + row) * columns_ + column;
        const int64_t along = kNodes.bias == Bias::per_row ? row : column;
        epilogue::Source source;
        if (kNodes.source) source.c = float(reference::element(c_, at));
        if (kNodes.residual) source.residual = float(reference::element(residual_, at));
        if (kNodes.bias != Bias::none) {
          source.bias = float(reference::element(bias_, along));
          source.up_bias = float(reference::element(up_bias_, along));
        }
        float v = 0;
        if constexpr (kNodes.pair()) {
          v = Ops{}(sum(batch, row, column), sum(batch, row, columns_ + column), e, source);
        } else {
          v = Ops{}(sum(batch, row, column), e, source);
        }
        expected_[size_t(s_.offset) + (size_t(batch) * size_t(s_.m) + size_t(row)) * size_t(stride_) + size_t(column)] =
            Ops::convert(v);
      }
    }
  }
  std::string compare(const Out* d) const {
    for (size_t i = 0; i < expected_.size(); ++i) {
      if (std::memcmp(&d[i], &expected_[i], sizeof(Out)) == 0) continue;
      const int64_t at = int64_t(i) - s_.offset;
      return "element " + std::to_string(at) + " (row " + std::to_string(at / stride_) + ", column " +
             std::to_string(at % stride_) + ") is " + std::to_string(to_float(d[i])) + " instead of " +
             std::to_string(to_float(expected_[i]));
    }
    return {};
  }

  Shape s_;
  int columns_, stride_;
  reference::Array a_, b_, c_, residual_, bias_, up_bias_;
  std::vector<Out> expected_;
};

}  // namespace warpwright::testing_epilogue

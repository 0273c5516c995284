// Shared by the tensor and lifecycle cases: how their small kernels are launched, and shipped kernels at their
// smallest.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "corpus.h"
#include "sim/model.h"
#include "warpwright/kernel/demo/tmem_lifecycle.h"
#include "warpwright/kernel/sm90/dense/dense_gemm.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::mutants::ef {

using simulator::Buffer;
using simulator::Fault;
using simulator::Options;
using simulator::Result;
using Action = Fault::Action;

// Device memory of one run, aligned as the TMA wants it.
class Memory {
 public:
  explicit Memory(size_t bytes) : lines_((bytes + 127) / 128), bytes_(bytes) {}
  uint8_t* data() { return reinterpret_cast<uint8_t*>(lines_.data()); }
  template <class T>
  Global<T> as() {
    return {reinterpret_cast<T*>(data())};
  }
  Buffer buffer(const char* name, Buffer::Use use, bool from_primary = false) {
    return {data(), bytes_, name, use, from_primary};
  }

 private:
  struct alignas(128) Line {
    uint8_t bytes[128] = {};
  };
  std::vector<Line> lines_;
  size_t bytes_;
};

template <class Body>
Result launch(const BlockPlan& plan, std::vector<Buffer> buffers, const Options& options, Body&& body) {
  simulator::Launch l;
  l.plan = &plan;
  l.grid = {uint32_t(plan.cluster), 1, 1};
  l.buffers = std::move(buffers);
  return simulator::run(l, options, body);
}

inline Run with_faults(Run run, std::vector<Fault> faults) {
  return [run = std::move(run), faults = std::move(faults)](const Options& o) {
    Options faulty = o;
    faulty.faults = faults;
    return run(faulty);
  };
}

inline Fault fault(Action action, std::string word, std::string role, std::string object = {}, int64_t value = 0,
                   int nth = 0) {
  Fault f;
  f.action = action;
  f.word = std::move(word);
  f.role = std::move(role);
  f.object = std::move(object);
  f.value = value;
  f.nth = nth;
  return f;
}

// The tensor map of `box` over a row-major matrix of 16-bit values.
inline TensorMap encode_box(const TensorBox& box, void* base, int rows, int columns) {
  simulator::model::TensorMapFields f{};
  f.type = simulator::model::TensorElement::bf16;
  f.rank = 2;
  f.base = base;
  f.dims[0] = uint64_t(columns);
  f.dims[1] = uint64_t(rows);
  f.strides[0] = 2;
  f.strides[1] = uint64_t(columns) * 2;
  f.box[0] = uint32_t(box.inner);
  f.box[1] = uint32_t(box.outer);
  f.swizzle = box.swizzle;
  TensorMap map;
  if (auto why = simulator::model::encode_tensor_map(f, map)) throw std::runtime_error(*why);
  return map;
}

// One launch of the Hopper GEMM on a problem of a few tiles.
template <DenseGemmConfig C>
Result run_dense_gemm(const Options& options, int m, int n, int k) {
  using K = kernel::sm90::DenseGemm<C>;
  Memory a(size_t(m * k * 2)), b(size_t(n * k * 2)), d(size_t(m * n * 2));
  DenseGemmArgs args;
  args.a = encode_box(C.a_box(), a.data(), m, k);
  args.b = encode_box(C.b_box(), b.data(), n, k);
  args.d = encode_box(C.d_box(), d.data(), m, n);
  args.m = m;
  args.n = n;
  args.k = k;
  return simulator::run_kernel<K>(
      args, {uint32_t(C.cluster), 1, 1},
      {a.buffer("A", Buffer::Use::input), b.buffer("B", Buffer::Use::input), d.buffer("D", Buffer::Use::output)},
      options);
}

// The Blackwell GEMM with one accumulator, so that every tile overwrites the one before.
inline constexpr TmemLifecycleConfig kOneAccumulator{.tile_n = 32, .stages = 2, .accumulators = 1};
inline Result run_tmem_lifecycle(const Options& options) {
  using K = kernel::sm100::TmemLifecycle<kOneAccumulator>;
  constexpr int m = 128, n = 96, k = 64;
  Memory a(size_t(m * k * 2)), b(size_t(n * k * 2)), d(size_t(m * n * 4));
  TmemLifecycleArgs args;
  args.a = encode_box(kOneAccumulator.a_box(), a.data(), m, k);
  args.b = encode_box(kOneAccumulator.b_box(), b.data(), n, k);
  args.d = d.data();
  args.m = m;
  args.n = n;
  args.k = k;
  return simulator::run_kernel<K>(
      args, {1, 1, 1},
      {a.buffer("A", Buffer::Use::input), b.buffer("B", Buffer::Use::input), d.buffer("D", Buffer::Use::output)},
      options);
}

// One MMA deep: rows of 32 bytes, 16 values of bf16.
inline constexpr uint32_t kRowBytes = 32;
inline constexpr Swizzle kRowSwizzle = Swizzle::b32;
inline uint64_t operand_sm90(int rows, uint32_t address) {
  return encode_sm90(k_major_desc(DType::bf16, kRowSwizzle, rows, address));
}
inline uint64_t operand_sm100(int rows, uint32_t address) {
  return encode_sm100(k_major_desc(DType::bf16, kRowSwizzle, rows, address));
}

// Scale factors as tcgen05.cp 32x128b takes them: 32 rows of 16 bytes.
inline constexpr uint32_t kScaleBytes = 512;
inline uint64_t scale_desc(uint32_t address) { return encode_sm100(MatrixDesc{address, 0, 128, Swizzle::none, 0}); }

}  // namespace warpwright::mutants::ef

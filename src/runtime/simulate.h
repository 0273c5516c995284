// Running a kernel of the sim world on a workload. Included by the files that instantiate kernels.
#pragma once
#include <stdexcept>

#include "runtime/example.h"
#include "runtime/host_kernels.h"
#include "sim/model.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::runtime {

inline simulator::model::TensorElement tensor_element(DType t) {
  using simulator::model::TensorElement;
  switch (t) {
    case DType::bf16: return TensorElement::bf16;
    case DType::fp16: return TensorElement::f16;
    case DType::fp32: return TensorElement::f32;
    case DType::tf32: return TensorElement::tf32;
    default: return TensorElement::u8;
  }
}

struct EncodeForSimulator {
  std::optional<std::string> operator()(const MatrixMap& matrix, TensorMap& map) const {
    simulator::model::TensorMapFields f{};
    f.type = tensor_element(matrix.box.type);
    f.rank = 2;
    f.base = matrix.data;
    f.dims[0] = uint64_t(matrix.columns);
    f.dims[1] = uint64_t(matrix.rows);
    f.strides[1] = matrix.row_bytes();
    f.box[0] = uint32_t(matrix.box.inner);
    f.box[1] = uint32_t(matrix.box.outer);
    f.swizzle = matrix.box.swizzle;
    return simulator::model::encode_tensor_map(f, map);
  }
};

// `fill_args(args, pointers, encode)` fills K::Args from the addresses of the arrays; a sentence means that it cannot.
template <class K, class FillArgs>
Outcome simulate(const Workload& w, const simulator::Options& options, int ctas, FillArgs&& fill_args) {
  struct alignas(128) Line {
    uint8_t b[128];
  };
  std::vector<std::vector<Line>> memory;  // device allocations are aligned; the TMA wants 16 bytes
  std::vector<void*> pointers;
  std::vector<simulator::Buffer> buffers;
  for (const Array& a : w.arrays) {
    memory.emplace_back((a.bytes.size() + 127) / 128 + 1);
    std::copy(a.bytes.begin(), a.bytes.end(), reinterpret_cast<uint8_t*>(memory.back().data()));
    pointers.push_back(memory.back().data());
    buffers.push_back({pointers.back(), a.bytes.size(), a.name, a.output ? simulator::Buffer::Use::output : simulator::Buffer::Use::input, false});
  }
  typename K::Args args;
  if (auto why = fill_args(args, pointers, EncodeForSimulator{})) throw std::runtime_error(*why);
  Outcome out;
  out.sim = simulator::run_kernel<K>(args, {uint32_t(ctas), 1, 1}, buffers, options);
  const auto* result = static_cast<const uint8_t*>(pointers.back());
  out.output.assign(result, result + w.output().bytes.size());
  out.verdict = judge(w, out.output);
  return out;
}

}  // namespace warpwright::runtime

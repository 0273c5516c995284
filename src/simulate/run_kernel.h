// Running a kernel of the sim world on a workload. Included by the files that instantiate kernels.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "launch/host_kernels.h"
#include "problem/refused.h"
#include "simulate/example.h"
#include "simulate/executor.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {

struct EncodeForSimulator {
  Status operator()(const launch::MatrixMap& m, TensorMap& map) const {
    const Status s = map_encoder()(m, map);
    return s ? s : problem::refused(s.message());
  }
};

// With options.primary_pending a kernel ahead on the stream still writes everything that this one reads.
// `fill_args(args, pointers, encode)` fills K::Args from the addresses of the arrays, and returns a Status.
template <class K, class FillArgs>
Outcome simulate(const reference::Workload& w, const simulator::Options& options, int ctas, FillArgs&& fill_args) {
  struct alignas(128) Line {
    uint8_t b[128];
  };
  std::vector<std::vector<Line>> memory;  // device allocations are aligned; the TMA wants 16 bytes
  std::vector<void*> pointers;
  std::vector<simulator::Buffer> buffers;
  for (const reference::Array& a : w.arrays) {
    memory.emplace_back((a.bytes.size() + 127) / 128 + 1);
    std::copy(a.bytes.begin(), a.bytes.end(), reinterpret_cast<uint8_t*>(memory.back().data()));
    pointers.push_back(memory.back().data());
    buffers.push_back({pointers.back(), a.bytes.size(), a.name,
                       a.output    ? simulator::Buffer::Use::output
                       : a.scratch ? simulator::Buffer::Use::inout
                                   : simulator::Buffer::Use::input,
                       !a.output});
  }
  typename K::Args args;
  if (const Status s = fill_args(args, pointers, EncodeForSimulator{}); !s) throw std::runtime_error(s.message());
  Outcome out;
  out.sim = simulator::run_kernel<K>(args, {uint32_t(ctas), 1, 1}, buffers, options);
  const auto* result = static_cast<const uint8_t*>(pointers.back());
  out.output.assign(result, result + w.output().bytes.size());
  out.verdict = reference::judge(w, out.output);
  if (out.sim.ok()) reference::judge_others(w, pointers, out.verdict);
  return out;
}

}  // namespace warpwright::simulate

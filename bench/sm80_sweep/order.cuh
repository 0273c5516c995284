// A kernel of the sweep: the mma.sync GEMM of the library with an order of issue that is given as a table. The
// generator has compiled and proven it on the host, so that nvcc has nothing to evaluate.
#pragma once
#include "warpwright/kernel/entry.h"
#include "warpwright/kernel/sm80/dense_gemm.h"

namespace warpwright::sweep {

// What the kernel reads of an entry.
struct Step {
  int tag, role, channel, stage, subtile, wait, source, shift;
};

template <auto& Prologue, auto& Kernel, auto& Epilogue, int Depth, int Peeled>
struct Order {
  template <auto& Steps>
  struct EntriesOfPhase {
    schedule::ScheduleEntry entries[std::size(Steps)] = {};
    constexpr EntriesOfPhase() {
      for (size_t i = 0; i < std::size(Steps); ++i) {
        const Step& s = Steps[i];
        schedule::OpDesc op = schedule::OpDesc::logical({uint8_t(s.tag)}, s.channel, s.stage, s.subtile);
        op.role = schedule::OpRole(s.role);
        op.wait_value = int16_t(s.wait);
        entries[i].op = op;
        entries[i].source = int16_t(s.source);
        entries[i].shift = int16_t(s.shift);
      }
    }
  };
  struct Compiled {
    EntriesOfPhase<Prologue> prologue;
    EntriesOfPhase<Kernel> kernel;
    EntriesOfPhase<Epilogue> epilogue;
    struct View {
      const schedule::ScheduleEntry* entries;
    };
    constexpr View phase(schedule::Phase p) const {
      return {p == schedule::Phase::prologue ? prologue.entries
              : p == schedule::Phase::kernel ? kernel.entries
                                             : epilogue.entries};
    }
  };
  static constexpr Compiled compiled = {};
  static constexpr int depth = Depth, peeled = Peeled;
  static constexpr int count(schedule::Phase p) {
    return int(p == schedule::Phase::prologue ? std::size(Prologue)
               : p == schedule::Phase::kernel ? std::size(Kernel)
                                              : std::size(Epilogue));
  }
  static constexpr int fill() {
    int n = 0;
    while (n < count(schedule::Phase::prologue) && !compiled.prologue.entries[n].op.is_wait() &&
           !compiled.prologue.entries[n].op.is_barrier()) {
      ++n;
    }
    return n;
  }
};

}  // namespace warpwright::sweep

// The kernel `id` from the tables id_prologue, id_kernel and id_epilogue. The depth of id_config is the number of the
// order: the schedule that the library would derive for that configuration is replaced by the tables.
#define WW_SWEEP_KERNEL(id, slots, iterations)                                                     \
  template <>                                                                                      \
  struct warpwright::cuda::kernel::sm80::DenseSchedule<id##_config.order()>                        \
      : warpwright::sweep::Order<id##_prologue, id##_kernel, id##_epilogue, slots, iterations> {}; \
  extern "C" __global__ void __launch_bounds__(id##_config.threads(), id##_config.blocks_per_sm)   \
      id(const __grid_constant__ warpwright::MmaSyncGemmArgs args) {                               \
    warpwright::cuda::kernel::sm80::DenseGemm<id##_config>::body(args);                            \
  }                                                                                                \
  extern "C" __device__ const unsigned id##_shared =                                               \
      warpwright::cuda::kernel::sm80::DenseGemm<id##_config>::plan.shared_bytes;

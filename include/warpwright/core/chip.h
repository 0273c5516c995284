// The chips that kernels are made, chosen and simulated for: what data sheets and published measurements say about
// them, here and nowhere else. What this project has measured is kept with its use (src/sim/timing.cpp, the models of
// src/choice).
#pragma once
#include "warpwright/core/address.h"

namespace warpwright {

inline constexpr uint32_t kMaxSharedBytes = 232448;  // 227 KiB a CTA may use on sm_90 and sm_100

struct ChipFigures {
  const char* name = "";  // the name that its driver gives
  int multiprocessors = 0;
  double clock_ghz = 0;     // its highest clock
  double flops_per_us = 0;  // dense products of 16 bits
  double bytes_per_us = 0;  // the bandwidth of device memory
};

// What an SM of a B200 does in its cycles: the simulator's clock and the choice among Blackwell instances follow these.
// This project has measured none of them.
struct BlackwellClock {
  // Data sheet: 2.25 PFLOP/s of 16 bits on 148 SMs at 1.85 GHz.
  int flops_per_cycle = 8192;
  // Meta's NVLatencyModel.cpp ("B200 cycle-accurate microbenchmarks", May 2026): a tcgen05.mma every 30 cycles, 179 for
  // a tcgen05.ld of 64 columns, 30 to issue a TMA load and 460 to its first byte, 20 for an arrival, 30 for a wait that
  // ends.
  int mma_issue = 30, tmem_read_64 = 179, load_issue = 30, load_latency = 460, barrier_arrive = 20, barrier_wake = 30;
  // FlashGPU-Sim (MICRO 2026), configuration of a B200: 160 from the last cycle of an MMA to its result; L2 to all SMs
  // 20.1 TB/s at 1.964 GHz, which is 18.9 at 1.85; 5500 from one launch to the next.
  int mma_tail = 160;
  double l2_bytes_per_us = 18.9e6;
  int launch = 5500;
  // B300 pipe catalogue: an L2 hit takes 301, device memory 789 to 900; shared memory is 128 bytes wide. What a store
  // takes of its thread is taken from Hopper.
  int global_load = 700, global_store = 12, shared_load = 24, shared_store = 8;
  double load_bytes_per_cycle = 128;
};
inline constexpr BlackwellClock kBlackwellClock = {};

// The chip that represents an architecture. Kernels for sm80 are simulated and run on Hopper: there are no figures of
// an older chip.
WW_HD constexpr ChipFigures chip_figures(Arch arch) {
  switch (arch) {
    case Arch::sm100:  // NVIDIA B200 data sheet: 2.25 PFLOP/s, 8 TB/s
      return {"NVIDIA B200", 148, 1.85, 2.25e9, 8e6};
    case Arch::gfx942:  // AMD Instinct MI300X data sheet: 1.3 PFLOP/s, 5.3 TB/s
      return {"AMD MI300X", 304, 2.1, 1.3e9, 5.3e6};
    case Arch::gfx950:  // AMD Instinct MI355X data sheet: 2.5 PFLOP/s, 8 TB/s
      return {"AMD MI355X", 256, 2.4, 2.5e9, 8e6};
    case Arch::sm80:
    case Arch::sm90:
      break;
  }
  // NVIDIA H200 data sheet: 4.8 TB/s. Its 989 TFLOP/s are at a lower clock: 4096 a cycle on each SM are 1070 at the
  // highest, which power allows in no product (about 800 for one launch, 650 to 680 sustained; a copy reaches 4.3
  // TB/s).
  return {"NVIDIA H200", 132, 1.98, 4096.0 * 132 * 1.98e3, 4.8e6};
}

// The chip that represents a compute capability that runs the kernels of mma.sync: its rate in dense products of 16
// bits with sums in fp32. Any other has the figures of an H200.
constexpr ChipFigures mma_sync_figures(int major, int minor) {
  switch (10 * major + minor) {
    case 80:  // NVIDIA A100 80GB SXM data sheet: 312 TFLOP/s, 2.04 TB/s
      return {"NVIDIA A100", 108, 1.41, 3.12e8, 2.04e6};
    case 86:  // NVIDIA RTX A6000 data sheet: 154.8 TFLOP/s (309.7 with sparsity), 768 GB/s
      return {"NVIDIA RTX A6000", 84, 1.8, 1.548e8, 7.68e5};
    case 89:  // NVIDIA L40S data sheet: 362 TFLOP/s, 864 GB/s
      return {"NVIDIA L40S", 142, 2.52, 3.62e8, 8.64e5};
    case 120:  // NVIDIA RTX Blackwell architecture whitepaper, RTX 5090: 209.5 TFLOP/s, 1.79 TB/s
      return {"NVIDIA RTX 5090", 170, 2.41, 2.095e8, 1.79e6};
  }
  // mma.sync reaches 62 % of the rate of wgmma on Hopper (Luo et al., Benchmarking and Dissecting the NVIDIA Hopper GPU
  // Architecture, 2024).
  ChipFigures h200 = chip_figures(Arch::sm90);
  h200.flops_per_us *= 0.62;
  return h200;
}

}  // namespace warpwright

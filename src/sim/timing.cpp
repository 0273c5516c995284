#include "timing.h"

#include "warpwright/core/chip.h"

namespace warpwright::simulator {

ChipTiming ChipTiming::of(Arch arch) {
  const ChipFigures chip = chip_figures(arch);
  ChipTiming c{};
  c.clock_ghz = chip.clock_ghz;
  c.sms = chip.multiprocessors;
  c.word_issue = 4;
  c.named_barrier = 15;
  c.cluster_barrier = 190;
  c.cluster_latency = 180;
  c.set_registers = 20;
  c.memory_start_share = 1;
  switch (arch) {
    case Arch::sm100: {  // core/chip.h says where these come from
      constexpr BlackwellClock b = kBlackwellClock;
      c.shared_load = uint32_t(b.shared_load);
      c.shared_store = c.matrix_store = uint32_t(b.shared_store);
      c.global_load = uint32_t(b.global_load);
      c.global_store = uint32_t(b.global_store);
      c.barrier_init = c.barrier_arrive = uint32_t(b.barrier_arrive);
      c.barrier_wake = uint32_t(b.barrier_wake);
      c.tma_issue = c.tma_store_issue = uint32_t(b.load_issue);
      c.tma_latency = c.tma_write_latency = uint32_t(b.load_latency);
      c.tma_bytes_per_cycle = c.tma_store_bytes_per_cycle = b.load_bytes_per_cycle;
      c.tma_store_latency = 130;
      c.l2_gbps = b.l2_bytes_per_us / 1e3;
      c.memory_gbps = chip.bytes_per_us / 1e3;
      c.mma_issue = uint32_t(b.mma_issue);
      c.mma_tail = uint32_t(b.mma_tail);
      c.mma_flop_per_cycle = uint32_t(b.flops_per_cycle);
      c.tmem_load = uint32_t(b.tmem_read_64);
      c.tmem_store = 64;
      c.launch = uint32_t(b.launch);
      break;
    }
    // MI300X and MI355X: data sheets and the cycles of the instruction set guide, never measured by this project.
    case Arch::gfx942:
    case Arch::gfx950:
      c.shared_load = 64;
      c.global_load = 800;
      c.l2_gbps = arch == Arch::gfx950 ? 7900 : 5300;
      c.mma_flop_per_cycle = arch == Arch::gfx950 ? 4096 : 2048;
      c.launch = 5000;
      break;
    // H200 / H100. [w]: docs/evidence/word-costs.txt, [s]: docs/evidence/dense-stamps.txt; the others are published.
    default:
      c.clock_drop_ghz = 0.69;   // 1.31 GHz at 97 % busy: our GEMM at 4096^3, sustained
      c.single_drop_ghz = 0.30;  // [s] 1.69 GHz at 2048^3, 77 % busy
      c.memory_drop_ghz = 0.18;  // [s] 1.80 GHz where only the memory is busy
      c.shared_load = 29;
      c.shared_store = 6;
      c.matrix_store = 13;  // [s] with conversions: handing out 128 tokens takes 195 cycles more than 8
      c.global_load = 600;
      c.l1_load = 40;           // published
      c.l2_load = 280;          // published; device memory takes memory_latency more, as for the TMA
      c.shuffle = 24;           // published
      c.sum_read = 1;           // one instruction of a warp a cycle: an FFMA, or half of the conversion of two
      c.sum_read_beside = 2.4;  // blockwise-log.md, run 4: 360 cycles for the additions of a block, by counters
      // basis-blockwise-5002: in products of one round by grouped-128x128-c1, a row of the last tile that threads store
      // costs 48 cycles, which is half a round of their loop; the loop has a load from shared memory too
      c.global_store = 60;
      c.barrier_init = 5;     // [s] a loader with 44 barriers starts 138 cycles after one with 20
      c.barrier_arrive = 40;  // [w] 60 between two clocks; 110 until a waiter goes on, however many arrive
      c.barrier_wake = 60;
      c.named_barrier = 30;              // [w] 40 with the instruction, 384 threads
      c.proxy_fence = 40;                // [w] 22 to 32 without stores before it
      c.set_registers = 165;             // [w] 163 to give back, 194 to 204 to get
      c.cluster_barrier = 100;           // [w] 97 to 121, relaxed
      c.cluster_release = 450;           // [w] an arrival with its wait takes 500 to 720
      c.cluster_bytes_per_cycle = 20;    // [w] another 16 KB take another 800 cycles
      c.tma_issue = 45;                  // [w] 73 with its expect_tx
      c.tma_store_issue = 88;            // [w]
      c.tma_latency = 390;               // [w] 465 with the issue
      c.tma_outside = 1.33;              // choice/fit/blockwise.inc, fitted to random products
      c.tma_bytes_per_cycle = 73;        // [w] a further box of 8 KB: 112 cycles
      c.tma_store_latency = 65;          // [w] 409 with issue and bytes
      c.tma_write_latency = 6;           // [w]
      c.tma_store_bytes_per_cycle = 32;  // [w] a further box of 8 KB: 256 cycles, whoever stores it
      c.l2_gbps = 13500;                 // [w] 4.3 MB in 0.3 us; 57 B a cycle and SM, as in choice/wave_model.cpp
      c.memory_latency = 835;            // [w] 1300 against 465
      c.memory_gbps = 4300;              // [w] 973 MB in 225 to 232 us
      c.memory_write = 2;                // choice/fit: 1.2 to 2.1 in the three families
      c.memory_start_bytes = 16e6;       // [w] 17 MB take 10650 cycles beyond the latency, not 7970
      c.memory_start_share = 0.75;
      c.mma_issue = 17;
      c.mma_tail = 64;
      c.mma_flop_per_cycle = 4096;
      c.mma_bytes_per_cycle = 128;  // [w] 18.6 cycles at a width of 8, 32.4 at 64, 128.5 at 256
      c.dependency = 600;
      c.launch = 1400;        // [w] 0.59 to 0.73 us of a graph's node are not in its kernel
      c.start = 190;          // [s] the first load is issued after 930 to 1070 cycles in the skinny kernels, 1230 in
      c.cluster_start = 250;  // the dense one, 1180 and 1415 to 1440 in clusters
      c.fetch = 60;           // [s] the same
  }
  return c;
}

}  // namespace warpwright::simulator

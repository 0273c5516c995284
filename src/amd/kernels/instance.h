// The body of an instance file: one kernel with the name of the file. The LDS of a workgroup begins at address 0 and is
// addressed by number, so the array is only there to be allocated.
#pragma once
#include "warpwright/kernel/cdna/matmul.h"

#define WW_CDNA_KERNEL(NAME, ...)                                                                            \
  using NAME##_kernel = warpwright::kernel::cdna::Matmul<warpwright::CdnaMatmulConfig{__VA_ARGS__}>;         \
  __attribute__((device, shared, aligned(1024))) char NAME##_lds[NAME##_kernel::plan.shared_bytes];          \
  extern "C" __attribute__((                                                                                 \
      global, amdgpu_flat_work_group_size(NAME##_kernel::config.threads(), NAME##_kernel::config.threads()), \
      amdgpu_waves_per_eu(NAME##_kernel::config.waves() / 4, NAME##_kernel::config.waves() / 4))) void       \
  NAME(NAME##_kernel::Args args) {                                                                           \
    asm volatile("" ::"v"((__attribute__((address_space(3))) char*)NAME##_lds));                             \
    NAME##_kernel::body(args);                                                                               \
  }
#if defined(__gfx950__)
#define WW_CDNA_ARCH warpwright::Arch::gfx950
#else
#define WW_CDNA_ARCH warpwright::Arch::gfx942
#endif

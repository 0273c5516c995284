// What the source of an instance consists of, apart from the header of its kernel:
//
//   WW_INSTANCE(sm90::DenseGemm, DenseGemmConfig, 0, 0, 128, ...)
//
// the template, the type of its configuration, and the configuration's bytes. Compiled for a GPU it is a kernel and the
// facts that a launch needs; compiled for the simulator, the same as functions.
#pragma once
#include "warpwright/core/block_plan.h"
#include "warpwright/kernel/instance_facts.h"
#if defined(WW_RECORD)
#include "warpwright/machine/cuda/record.h"
#endif
#if WW_IN_SIMULATOR
#include "warpwright/sim/instance.h"
#endif

// nvcc 13 does not compile a structural configuration as argument of a __global__ template, so the entry is not a
// template.
#define WW_INSTANCE_KERNEL(kernel_, config_, ...)                                                               \
  namespace {                                                                                                   \
  struct InstanceBytes {                                                                                        \
    unsigned char value[sizeof(::warpwright::config_)] = {__VA_ARGS__};                                         \
  };                                                                                                            \
  static_assert(::warpwright::detail::count_bytes(__VA_ARGS__) == sizeof(::warpwright::config_),                \
                "host and device disagree on the layout of the configuration");                                 \
  constexpr ::warpwright::config_ instance_config = __builtin_bit_cast(::warpwright::config_, InstanceBytes{}); \
  using InstanceKernel = ::warpwright::kernel::kernel_<instance_config>;                                        \
  }

namespace warpwright::detail {
template <class... Bytes>
WW_HD constexpr unsigned long count_bytes(Bytes...) {
  return sizeof...(Bytes);
}
}  // namespace warpwright::detail

#if WW_IN_SIMULATOR
// Instances that are compiled into one program have one function each.
#if !defined(WW_INSTANCE_FUNCTION)
#define WW_INSTANCE_FUNCTION warpwright_instance
#endif
#define WW_INSTANCE(kernel_, config_, ...)                                     \
  WW_INSTANCE_KERNEL(kernel_, config_, __VA_ARGS__)                            \
  extern "C" const ::warpwright::simulator::Instance* WW_INSTANCE_FUNCTION() { \
    static constexpr ::warpwright::simulator::Instance instance =              \
        ::warpwright::simulator::instance_of<InstanceKernel>();                \
    return &instance;                                                          \
  }
#elif defined(__AMDGCN__)
// Code objects are told apart by the names of their kernels, which the build sets. The LDS of a workgroup begins at
// address 0 and is addressed by number, so the array is only there to be allocated.
#if !defined(WW_INSTANCE_NAME)
#define WW_INSTANCE_NAME warpwright_kernel
#endif
#define WW_INSTANCE(kernel_, config_, ...)                                                                             \
  WW_INSTANCE_KERNEL(kernel_, config_, __VA_ARGS__)                                                                    \
  __attribute__((device, shared, aligned(1024))) char instance_lds[InstanceKernel::plan.shared_bytes];                 \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(instance_config.threads(), instance_config.threads()), \
                            amdgpu_waves_per_eu(instance_config.waves() / 4, instance_config.waves() / 4))) void       \
  WW_INSTANCE_NAME(InstanceKernel::Args args) {                                                                        \
    asm volatile("" ::"v"((__attribute__((address_space(3))) char*)instance_lds));                                     \
    InstanceKernel::body(args);                                                                                        \
  }
#else
#if defined(WW_RECORD)
#define WW_INSTANCE_ENTRY                                                            \
  warpwright_kernel(const __grid_constant__ InstanceKernel::Args args,               \
                    const __grid_constant__ ::warpwright::record::Buffers buffers) { \
    ::warpwright::machine::record::begin(buffers);                                   \
    InstanceKernel::body(args);                                                      \
    ::warpwright::machine::record::end(buffers);                                     \
  }
#else
// __grid_constant__ keeps the arguments in the constant bank: a TMA reads its map there, by address.
#define WW_INSTANCE_ENTRY \
  warpwright_kernel(const __grid_constant__ InstanceKernel::Args args) { InstanceKernel::body(args); }
#endif
#define WW_INSTANCE(kernel_, config_, ...)                                                                         \
  WW_INSTANCE_KERNEL(kernel_, config_, __VA_ARGS__)                                                                \
  extern "C" __constant__ ::warpwright::InstanceFacts warpwright_facts =                                           \
      ::warpwright::facts_of(InstanceKernel::plan, sizeof(InstanceKernel::Args));                                  \
  extern "C" __global__ void __launch_bounds__(InstanceKernel::plan.threads(), InstanceKernel::plan.blocks_per_sm) \
      WW_INSTANCE_ENTRY
#endif

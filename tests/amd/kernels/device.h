// The few words that the test kernels need; no header of a vendor.
#pragma once

typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef short s16x4 __attribute__((ext_vector_type(4)));
typedef int i32x8 __attribute__((ext_vector_type(8)));
typedef unsigned u32x2 __attribute__((ext_vector_type(2)));
typedef unsigned u32x4 __attribute__((ext_vector_type(4)));

template <class T>
using Global = T __attribute__((address_space(1)))*;
template <class T>
using Lds = T __attribute__((address_space(3)))*;

#define KERNEL(threads)                                                                    \
  extern "C" __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(threads, threads))) \
  __attribute__((visibility("protected"))) void
#define LDS_ARRAY __attribute__((address_space(3), loader_uninitialized, aligned(1024)))

inline unsigned thread() { return __builtin_amdgcn_workitem_id_x(); }
inline unsigned group() { return __builtin_amdgcn_workgroup_id_x(); }

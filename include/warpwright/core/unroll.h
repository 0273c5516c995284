// WW_UNROLL before a loop whose bounds are constants: on the GPU an index into registers must be a constant. WW_ROLLED
// before one whose copies would only take more registers.
#pragma once

#if defined(__CUDACC__) || defined(__AMDGCN__)
#define WW_UNROLL _Pragma("unroll")
#define WW_ROLLED _Pragma("unroll 1")
#else
#define WW_UNROLL
#define WW_ROLLED
#endif

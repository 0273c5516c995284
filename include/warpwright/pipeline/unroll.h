// WW_UNROLL before a loop whose bounds are constants: on the GPU an index into registers must be a constant.
#pragma once

#if defined(__CUDACC__)
#define WW_UNROLL _Pragma("unroll")
#else
#define WW_UNROLL
#endif

// The same kernel on a Hopper GPU, with the same arrays and the same expectations:
//   nvcc -std=c++20 -arch=sm_90a --expt-relaxed-constexpr -I include examples/your_kernel/main.cu -o row_norms
#include "row_norms.cpp"
#include "warpwright/check_gpu.h"

int main() { return warpwright::check::run_on_gpu(); }

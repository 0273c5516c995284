#pragma once
#include "runtime/example.h"

namespace warpwright::runtime {

// One function for each file that instantiates kernels: they compile side by side.
void add_ring_examples(std::vector<Example>& list);
void add_dense_gemm_examples(std::vector<Example>& list);
void add_dense_gemm_sm100_examples(std::vector<Example>& list);
void add_skinny_gemm_examples(std::vector<Example>& list);
void add_tmem_examples(std::vector<Example>& list);

}  // namespace warpwright::runtime

#pragma once
#include "runtime/example.h"

namespace warpwright::runtime {

// One function for each file that instantiates kernels: they compile side by side.
void add_ring_examples(std::vector<Example>& list);
void add_dense_gemm_examples(std::vector<Example>& list);
void add_dense_type_examples(std::vector<Example>& list);
void add_dense_layout_examples(std::vector<Example>& list);
void add_dense_schedule_examples(std::vector<Example>& list);
void add_dense_gemm_sm100_examples(std::vector<Example>& list);
void add_dense_gemm_sm100_variant_examples(std::vector<Example>& list);
void add_dense_gemm_sm100_epilogue_examples(std::vector<Example>& list);
void add_block_scaled_sm100_examples(std::vector<Example>& list);
void add_grouped_sm100_examples(std::vector<Example>& list);
void add_skinny_gemm_examples(std::vector<Example>& list);
void add_skinny_variant_examples(std::vector<Example>& list);
void add_grouped_sm90_examples(std::vector<Example>& list);
void add_tmem_examples(std::vector<Example>& list);
void add_mma_sync_gemm_examples(std::vector<Example>& list);
void add_cdna_examples(std::vector<Example>& list);

}  // namespace warpwright::runtime

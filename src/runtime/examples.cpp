#include "runtime/examples_list.h"

namespace warpwright::runtime {

const std::vector<Example>& examples() {
  static const std::vector<Example> list = [] {
    std::vector<Example> all;
    add_ring_examples(all);
    add_dense_gemm_examples(all);
    add_dense_type_examples(all);
    add_dense_layout_examples(all);
    add_dense_schedule_examples(all);
    add_dense_gemm_sm100_examples(all);
    add_dense_gemm_sm100_variant_examples(all);
    add_dense_gemm_sm100_epilogue_examples(all);
    add_block_scaled_sm100_examples(all);
    add_grouped_sm100_examples(all);
    add_skinny_gemm_examples(all);
    add_skinny_variant_examples(all);
    add_grouped_sm90_examples(all);
    add_tmem_examples(all);
    add_mma_sync_gemm_examples(all);
    add_cdna_examples(all);
    return all;
  }();
  return list;
}

const Example* find_example(const std::string& name) {
  for (const Example& e : examples())
    if (name == e.name) return &e;
  return nullptr;
}

}  // namespace warpwright::runtime

// The instances that `demo` shows. They are part of every program that simulates, with their configurations written
// out: running them needs no code that reads names, chooses or compiles, so that a program that only shows them is
// built quickly.
#pragma once
#include <cstdint>
#include <span>

#include "catalog/instance.h"
#include "reference/workload.h"
#include "simulate/example.h"
#include "warpwright/gemm.h"
#include "warpwright/sim/instance.h"

namespace warpwright::simulate {

struct Shown {
  const char* name;  // in the catalogue, whose list has it as BUILT_IN
  catalog::Config config;
  const simulator::Instance* (*compiled)();
};
std::span<const Shown> shown();

// A product by one of them, on random operands.
struct ShownProduct {
  Example example;
  reference::Workload workload;
  int ctas = 0;  // of the timed run
};
ShownProduct shown_product(const Shown& kernel, const GemmProblem& problem, uint64_t seed);

inline constexpr DenseGemmConfig kShownSm90 = {
    .type = DType::bf16, .tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 2};
inline constexpr DenseGemmSm100Config kShownSm100 = {
    .type = DType::bf16, .tile_m = 128, .tile_n = 256, .stages = 6, .cta_group = 2, .cluster_m = 2};
const simulator::Instance* shown_sm90();
const simulator::Instance* shown_sm100();

}  // namespace warpwright::simulate

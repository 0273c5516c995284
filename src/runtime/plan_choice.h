// Which compiled kernel serves a matrix product on Hopper: a model of waves, bytes and tile efficiency. Needs no GPU.
#pragma once
#include <cstdint>
#include <string>

#include "warpwright/core/dtype.h"
#include "warpwright/core/plan.h"

namespace warpwright::runtime {

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::bf16;
};

// Plans are numbered: those of device::kDenseGemmSm90, then those of device::kSkinnyGemmSm90.
int plan_count();
bool is_skinny(int plan);
// Position in the table of its kernel.
int instance_of(int plan);
DType plan_type(int plan);
// "128x256x64, 4 stages, cluster 2", or "64 weights x 16 tokens x64, 20 stages, split 4"
std::string plan_text(int plan);
Plan plan_of(int plan);
// Whether the plan has the type and room for the rows.
bool can_serve(int plan, const GemmShape& shape);

// What the model says about one plan.
struct PlanEstimate {
  int plan = -1;
  int tile_m = 0, tile_n = 0, tile_k = 0;  // of D and along the depth
  int split = 1;                           // CTAs that share the depth of a tile
  int64_t tiles = 0;                       // of the whole grid, in clusters
  int64_t waves = 0;
  double fill = 0;                                     // tiles over what the waves could hold
  double us = 0;                                       // modelled
  double memory_us = 0, tensor_us = 0, ingest_us = 0;  // the terms whose largest decides
};
PlanEstimate estimate(int plan, const GemmShape& shape, int multiprocessors);

// The least time no kernel can beat: the product at the tensor cores' rate, or every operand moved once.
struct Floor {
  double tensor_us = 0, memory_us = 0;
  double us() const { return tensor_us > memory_us ? tensor_us : memory_us; }
};
Floor floor_of(const GemmShape& shape);

// The plan with the least modelled time; -1 when none serves the type.
int choose_plan(const GemmShape& shape, int multiprocessors);
// Why that plan: a sentence.
std::string reason_for(const PlanEstimate& best, const GemmShape& shape, int multiprocessors);

}  // namespace warpwright::runtime

// Which Blackwell kernel serves a block-scaled, blockwise or grouped product.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "warpwright/core/block_scaling.h"
#include "warpwright/core/dtype.h"
#include "warpwright/status.h"

namespace warpwright::simulate {

struct ScaledProduct {
  std::string scaling;    // mxfp8, mxfp4, nvfp4, w4a8 or blockwise
  bool grouped = false;   // rows in groups, each with a matrix of its own
  bool swiglu = false;    // of pairs of columns
  int64_t rows = 0;       // of A, or of a group
  std::string plan = {};  // empty: chosen. Otherwise the name of an instance, or of a plan that one of them has
};

// What the choice looks at.
struct ScaledKernel {
  catalog::Instance instance;
  std::string scaling;
  bool grouped = false, swiglu = false;
  bool clamped = false;                    // swiglu of gates and ups within bounds
  int tile_m = 0, tile_n = 0, tile_k = 0;  // rows and columns of D
  int cluster = 1;
  BlockScaling format = BlockScaling::none, out_format = BlockScaling::none;
  DType type = DType::e4m3, out = DType::bf16;
};

// Nothing: the instance computes no such product.
std::optional<ScaledKernel> scaled_kernel(const catalog::Instance& instance);

// The first of the catalogue whose tile the rows fill more than half, else the last one. Where several have the same
// tile, only the first is ever chosen: the others, and other functions than the plain ones, are there for who names
// them. Unsupported: there is none; invalid_argument: the plan is none of these.
Result<ScaledKernel> choose_sm100(const ScaledProduct& product);

}  // namespace warpwright::simulate

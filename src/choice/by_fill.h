// The choice where nothing was measured and no clock is modelled: CDNA. And what all choices but Hopper's share.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "choice/dense.h"
#include "choice/packing.h"
#include "problem/lower.h"
#include "warpwright/core/chip.h"
#include "warpwright/gemm.h"
#include "warpwright/status.h"

namespace warpwright::choice {

// How the chips that run the kernels of one architecture differ. Without a chip: everything that an H200 has.
struct ChipLimits {
  uint32_t shared_bytes = kMaxSharedBytes;  // shared memory of a block
  bool narrow_mma = true;                   // mma.sync of e4m3 and e5m2, from compute capability 8.9 on
  ChipFigures figures = mma_sync_figures(9, 0);
};

ChipLimits limits_of(int major, int minor, uint32_t shared_bytes);

// What a cluster computes of D.
struct ClusterTile {
  int64_t rows = 0, columns = 0;
  int64_t last_rows = 0;                   // rows of its last CTA, which is useful when they are more than half full
  int tile_m = 0, tile_n = 0, tile_k = 0;  // the tile of an MMA, for people to read
  int cluster = 1;
};

// A family of kernels, as this choice sees it.
struct Family {
  Arch arch = Arch::gfx950;
  // The listed instances that compute exactly this product, in the order of the choice; where there are none, those of
  // a short list that would be compiled for it.
  std::vector<catalog::Instance> candidates;
  // The instance with this name and the features of the problem.
  std::function<Result<catalog::Instance>(const std::string& plan)> named;
  std::function<ClusterTile(const catalog::Instance&)> tile;
  std::function<bool(const catalog::Instance&)> serves;
  // Into how many parts the depth of a tile is best cut.
  std::function<int(const catalog::Instance&)> parts;
};

// The plan that the problem names. Otherwise the first candidate whose tile the product fills more than half, which is
// the largest; where it fills none, the one with the smallest tile. If no more than half of the chip would have a tile,
// the first one that shares the depth of its tiles, where there is one and the depth is worth it.
Result<Decision> choose_by_fill(const GemmProblem& problem, const problem::Lowered& low, const Chip& chip,
                                const Family& family);

// The families, a file each. `others`, where it is given, receives the plans that measuring compares, the fastest by
// the model first.
Result<Decision> choose_sm100(const GemmProblem& problem, const problem::Lowered& low, const Chip& chip,
                              OnDemand on_demand, std::vector<Decision>* others = nullptr);
Result<Decision> choose_sm80(const GemmProblem& problem, const problem::Lowered& low, const Chip& chip,
                             OnDemand on_demand, const ChipLimits& limits, std::vector<Decision>* others = nullptr);
Result<Decision> choose_cdna(const GemmProblem& problem, const problem::Lowered& low, const Chip& chip);

// A name that cannot be read, or is none of the architecture's, with those that resemble it.
Status with_nearest(const Status& status, const std::string& plan, Arch arch);
// The instance that `plan` names, whole or as a plan with the features of `like`, and that can be compiled.
Result<catalog::Instance> named_for(const std::string& plan, const catalog::Instance& like);

}  // namespace warpwright::choice

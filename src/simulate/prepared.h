// What a product gives to the simulator, before anything runs: memory, arguments, grids.
#pragma once
#include <optional>
#include <vector>

#include "catalog/instance.h"
#include "launch/grid.h"
#include "launch/tensor_map.h"
#include "simulate/executor.h"
#include "simulate/memory.h"
#include "simulate/product.h"

namespace warpwright::simulate {

struct PreparedRun {
  // The launch that copies operands for the TMA, ahead of the kernel on the same stream.
  struct Rows {
    PackRowsConfig config;
    PackRowsArgs args;
    unsigned ctas = 0;
  };

  Arrays arrays;
  std::optional<Rows> rows;
  launch::Arguments args;
  unsigned ctas = 0;  // 0: there is nothing to do
};

// `sm_limit` as for run(). What cannot be prepared is thrown as std::runtime_error. Compiles nothing.
PreparedRun prepare(const DenseProduct& product, const reference::Workload& workload, int sm_limit,
                    const launch::MapEncoder& maps = map_encoder());
PreparedRun prepare(const GroupedRun& product, const reference::Workload& workload, int sm_limit,
                    const launch::MapEncoder& maps = map_encoder());

// The parts of these: the clusters that `sm_limit` allows, workspace and grid for arguments that are there, and the
// throwing.
int64_t clusters_of(const catalog::Instance& instance, int sm_limit);
void add_grid(PreparedRun& run, const catalog::Instance& instance, int64_t clusters);
void require(const Status& status);

// With the factors of the tensors, with which operands with block scales were quantized.
GemmProblem problem_of(const DenseProduct& product, const reference::Workload& workload);
// The arrays of a workload as the kernel of the product wants them.
GroupedPointers pointers_of(const GroupedRun& product, const reference::Workload& workload,
                            const std::vector<void*>& arrays);

// Enough for every role to meet its peers: two clusters, or as many as the parts of a tile. On Blackwell parts wait for
// lower ones only, and in a cluster of more than a pair there are peers enough.
int64_t few_clusters(const catalog::Instance& instance);
// Clusters that fit the simulated chip of an instance.
int64_t resident_clusters(const catalog::Instance& instance);

}  // namespace warpwright::simulate

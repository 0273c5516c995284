#!/usr/bin/env python3
"""An illegal configuration of the Blackwell GEMM does not compile, and the message is the rule: one compile a case."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compile_cases import compiler_of, run_cases  # noqa: E402

FRAME = """#include "warpwright/kernel/sm100/dense/dense_gemm.h"
using namespace warpwright;
void use(const DenseGemmSm100Args& args) {{ kernel::sm100::DenseGemm<DenseGemmSm100Config{{{config}}}>::body(args); }}
"""
# name, configuration, text that the error must contain (None: must compile)
CASES = [
    ("a right configuration", ".tile_n = 128, .stages = 4, .cta_group = 2, .cluster_m = 4, .cluster_n = 2", None),
    ("type of the operands", ".type = DType::s8", "A and B are bf16, fp16, tf32 or e4m3"),
    ("type of the result", ".out_type = DType::s8", "D is fp32, bf16, fp16, e4m3 or e5m2"),
    ("type of the residual", ".epilogue = {.residual = true, .residual_type = DType::e4m3}",
     "C, the residual and the bias are fp32, bf16 or fp16"),
    ("beta * C of a pair", ".epilogue = {.source = true, .activation = Activation::swiglu}",
     "beta * C has no meaning for a pair of accumulators"),
    ("six epilogue warps", ".tile_n = 128, .epilogue_warps = 6", "their number is a multiple of 4"),
    ("twelve epilogue warps", ".tile_n = 128, .epilogue_warps = 12", "each warpgroup has a multiple of 8 columns"),
    ("one stage for stores", ".tile_n = 128, .store_stages = 1", "two stages of the output ring are held at once"),
    ("rows too short for the TMA", ".out_type = DType::e4m3, .tile_n = 8, .store_stages = 2",
     "a row of D in one step is not whole 16-byte units"),
    ("rows of a bias too short for the TMA", ".tile_n = 8, .epilogue = {.bias = Bias::per_column, "
     ".bias_type = DType::bf16, .activation = Activation::swiglu}, .epilogue_load_stages = 1",
     "or of the bias in one step is not whole 16-byte units"),
    ("nothing to load", ".tile_n = 128, .epilogue_load_stages = 2", "there is nothing to load by TMA"),
    ("stores by TMA of exchanged operands", ".tile_n = 16, .swap_ab = true, .store_stages = 2",
     "with swap_ab a thread has a column of D"),
    ("cta_group", ".cta_group = 3, .cluster_m = 3", "cta_group is 1 or 2"),
    ("odd cluster of pairs", ".tile_n = 128, .cta_group = 2, .cluster_m = 3", "cluster_m must be even"),
    ("cluster over 16", ".tile_n = 128, .cluster_m = 8, .cluster_n = 4", "a cluster has 1 to 16 CTAs"),
    ("MMA shape, M", ".tile_m = 96", "a CTA has 64 or 128 rows of a tile"),
    ("MMA shape, N", ".tile_n = 260", "tile_n is a multiple of 8"),
    ("MMA shape, N of a pair", ".tile_n = 24, .cta_group = 2, .cluster_m = 2", "of 16 in a pair of CTAs"),
    ("no stage", ".tile_n = 128, .stages = 0", "at least one stage"),
    ("stages that do not fit", ".tile_n = 128, .stages = 8",
     "the stages of the rings exceed the shared memory of a CTA"),
    ("five accumulators", ".tile_n = 64, .accumulators = 5", "there are 1 to 4 accumulators"),
    ("columns over 512", ".tile_n = 256, .accumulators = 3", "exceed the 512 columns of tensor memory"),
    ("slice of A", ".tile_m = 64, .tile_n = 64, .cluster_n = 16", "slice of A must be a multiple of 8 rows"),
    ("slice of B", ".tile_n = 16, .cluster_m = 4", "slice of B must be a multiple of 8 rows"),
    ("all variants at once", ".tile_n = 16, .raster = TileOrder::hilbert, .source = TileSource::clc, "
     ".split = DepthSplit::split_k, .batched = true, .swap_ab = true, .dependent = true", None),
    ("raster group", ".tile_n = 128, .raster_group = 0", "a raster group has at least one row of tiles"),
    ("responses", ".tile_n = 128, .source = TileSource::clc, .clc_stages = -1", "the ring of responses has 0 to 8 stages"),
    ("stream-K with a scheduler", ".tile_n = 128, .source = TileSource::clc, .split = DepthSplit::stream_k",
     "its source is persistent"),
]
SCALED_CASES = [
    ("block scaling", ".type = DType::e2m1, .tile_n = 192, .stages = 2, .scaling = BlockScaling::nvfp4", None),
    ("elements of a block scaling", ".type = DType::bf16, .tile_n = 64, .scaling = BlockScaling::mxfp8",
     "this block scaling has other elements"),
    ("rows of a block-scaled MMA", ".type = DType::e4m3, .tile_m = 64, .tile_n = 64, .scaling = BlockScaling::mxfp8",
     "a block-scaled MMA has 128 rows of each CTA"),
    ("columns of a block-scaled MMA", ".type = DType::e4m3, .tile_n = 32, .scaling = BlockScaling::mxfp8",
     "tile_n is a multiple of 64"),
    ("columns for scale factors", ".type = DType::e2m1, .tile_n = 256, .stages = 2, .scaling = BlockScaling::nvfp4",
     "accumulators and scale factors exceed the 512 columns"),
]
GROUPED_FRAME = """#include "warpwright/kernel/sm100/grouped/grouped_gemm.h"
using namespace warpwright;
constexpr GroupedGemmSm100Config config{{{config}}};
void use(const GroupedGemmSm100Args& args) {{ kernel::sm100::GroupedGemm<config>::body(args); }}
"""
GROUPED_CASES = [
    ("grouped rows", ".tile_n = 16, .swap_ab = true", None),
    ("elements of grouped rows", ".scaling = BlockScaling::mxfp4", "this block scaling has other elements"),
    ("columns of grouped rows", ".tile_n = 40, .swap_ab = true", "a tile_n of 8, 16, 32 or a multiple of 64"),
    ("few columns in a pair", ".tile_n = 32, .cta_group = 2, .swap_ab = true", "fewer than 64 columns is of one CTA"),
    ("eight warps that quantize columns",
     ".tile_n = 64, .swap_ab = true, .epilogue_warps = 8, .out_scaling = BlockScaling::mxfp8",
     "four warps quantize where tokens are the columns"),
    ("half a block of results", ".tile_n = 32, .out_scaling = BlockScaling::mxfp8",
     "a thread has whole blocks of quantized results"),
    ("groups without the factors of their matrices", ".epilogue = {.alpha = false}", "a factor for each matrix"),
    ("an epilogue beside quantized results",
     ".epilogue = {.alpha = true, .activation = Activation::relu}, .out_scaling = BlockScaling::mxfp8",
     "no other epilogue"),
    ("another type of quantized results", ".out_type = DType::fp32, .epilogue = {.alpha = true, .out = DType::fp32}, "
     ".out_scaling = BlockScaling::mxfp8", "the type of quantized results is that of out_scaling"),
    ("quantized results by pointers", ".out_scaling = BlockScaling::mxfp8, .pointers = true",
     "quantized results lie in one matrix"),
    ("stages of grouped rows", ".stages = 9", "the stages exceed the shared memory of a CTA"),
]
BLOCKWISE_FRAME = """#include "warpwright/kernel/sm100/blockwise/blockwise_fp8.h"
using namespace warpwright;
constexpr BlockwiseFp8Sm100Config config{{{config}}};
void use(const BlockwiseFp8Sm100Args& args) {{ kernel::sm100::BlockwiseFp8<config>::body(args); }}
"""
BLOCKWISE_CASES = [
    ("grouped blockwise rows", ".epilogue = {.alpha = true}, .grouped = true", None),
    ("groups stored by the TMA", ".epilogue = {.alpha = true}, .store_stages = 2, .grouped = true",
     "groups are stored by threads"),
    ("groups without the factors of their matrices", ".grouped = true", "a factor for each matrix"),
]
# A Blackwell kernel whose CTAs reach each other ends in a barrier, no matter who writes it.
CLUSTER_FRAME = """#include "warpwright/pipeline/init.h"
using namespace warpwright;
struct Kernel {{
  static constexpr BlockPlan plan = [] {{
    BlockPlan p("case", Arch::sm100, {cluster});
    p.role("only", 1).barrier("bar", 1, 1, "only", {{"only", 1}});
    return p;
  }}();
}};
void use(uint32_t base) {{ {start} }}
"""
CLUSTER_CASES = [
    ("a cluster in run_block", 2, "pipeline::run_block<Kernel>(base, [] {});", None),
    ("one CTA on its own", 1, "pipeline::set_up_barriers<Kernel>(base);", None),
    *[(f"a cluster without a barrier at its exit, by {start.split('<')[0]}", 2, f"pipeline::{start};",
       "run_block<K>() has the barrier at the exit")
      for start in ("set_up_barriers<Kernel>(base)", "init_barriers<Kernel>(base)", "announce_barriers<Kernel>()",
                    "await_barriers<Kernel>()", "await_peers<Kernel>()")],
]


def main():
    programs = [(name, frame.format(config=config), want)
                for frame, cases in ((FRAME, CASES + SCALED_CASES), (GROUPED_FRAME, GROUPED_CASES),
                                     (BLOCKWISE_FRAME, BLOCKWISE_CASES))
                for name, config, want in cases]
    programs += [(name, CLUSTER_FRAME.format(cluster=cluster, start=start), want)
                 for name, cluster, start, want in CLUSTER_CASES]
    return run_cases(compiler_of(__doc__), programs)


if __name__ == "__main__":
    sys.exit(main())

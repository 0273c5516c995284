#!/usr/bin/env python3
"""Misuse of the output ring, the warps and the roles does not compile, and the message says why: one compile a case."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compile_cases import compiler_of, run_cases  # noqa: E402

FRAME = """#include "warpwright/pipeline/input_tile.h"
#include "warpwright/warp/epilogue_warp.h"
#include "warpwright/warp/kernel_context.h"
#include "warpwright/warp/mma_warp.h"
#include "warpwright/warp/warp_role.h"
using namespace warpwright;
constexpr OutputPipelineConfig opc{.num_stages = 2, .stage_stride_cols = 64};
using Mma = warp::MmaWarp<opc, 32, 128>;
using Epilogue = warp::EpilogueWarp<opc, 32, 128>;
using Payload = pipeline::BlockwiseFP8Payload<TileBytes{64, 64, 64}>;
using Input = pipeline::InputTilePipeline<Payload, 2>;
WW_FN void use(warp::OutputStorage<opc> storage, [[maybe_unused]] Input& input) {
  CASE
}
"""
MMA = "auto mma = Mma::create(storage, 1); %s std::move(mma).release();"
EPILOGUE = "auto epilogue = Epilogue::create(Epilogue::Sync::wait(), storage, 1); %s std::move(epilogue).release();"
ALL, CLANG = ("g++", "clang", "nvcc"), ("clang",)
# name, body, text that the error must contain (None: must compile), compilers that refuse it
CASES = [
    ("right use of the MMA warp", MMA % "auto s = mma.acquire_k_stage_linear(); std::move(s).release();", None, ALL),
    ("right use of the epilogue warp", EPILOGUE % "auto s = epilogue.acquire_k_stage_linear(); std::move(s).release();",
     None, ALL),
    ("right use of the contexts", MMA % """mma.per_k_stage().run([&](auto s) { return std::move(s).release(); });
      mma.output().producer().produce([&](auto s) { return std::move(s).release(); });""", None, ALL),
    ("create before Sync::wait", "auto e = Epilogue::create(storage, 1); std::move(e).release();", "create", ALL),
    ("a forged token", "Epilogue::Token token; auto e = Epilogue::create(token, storage, 1); std::move(e).release();",
     "Token", ALL),
    ("the token of another barrier",
     "auto e = Epilogue::create(pipeline::WarpGroupBarrier<160, 2>::wait(), storage, 1); std::move(e).release();",
     "create", ALL),
    ("a copied MMA warp", MMA % "Mma copy(mma);", "deleted", ALL),
    ("a moved MMA warp", MMA % "Mma other(std::move(mma));", "deleted", ALL),
    ("a copied ring", MMA % "auto copy = mma.output();", "deleted", ALL),
    ("a position taken from get_pipeline", MMA % "auto copy = mma.output().get_pipeline();", "deleted", ALL),
    ("a step through get_pipeline", MMA % "mma.output().get_pipeline().producer_step();", "const", ALL),
    ("a wait named after the other side", MMA % "mma.output().get_pipeline().wait_producer();", "wait_producer", ALL),
    ("release of a named warp without move", "auto mma = Mma::create(storage, 1); mma.release();",
     "release() ends the handle", ALL),
    ("an MMA body that does not release", MMA % "mma.per_k_stage().run([&](auto s) { return s->index(); });",
     "every path of the body must return", ALL),
    ("an epilogue body that does not release",
     EPILOGUE % "epilogue.per_k_stage(input).run([&](auto s) { static_cast<void>(s->index()); });",
     "every path of the body must return", ALL),
    ("an epilogue stage released twice", EPILOGUE % """auto s = epilogue.acquire_k_stage_linear();
      std::move(s).release(); std::move(s).release();""", "while it is in the 'consumed' state", CLANG),
    ("a stage that is not released", MMA % "auto s = mma.acquire_k_stage_linear();", "in the 'unconsumed' state",
     CLANG),
    ("an MMA warp that is not released", "auto mma = Mma::create(storage, 1); static_cast<void>(mma.tmem());",
     "in the 'unconsumed' state", CLANG),
    ("an epilogue warp used after release", EPILOGUE % "" + "static_cast<void>(epilogue.tmem());",
     "while it is in the 'consumed' state", CLANG),
    ("a group of tiles in a per-K epilogue", """pipeline::InputTilePipeline<Payload, 2, 2> two({}, input.payload());
      """ + EPILOGUE % "epilogue.per_k_stage(two).run([&](auto s) { return std::move(s).release(); });",
     "an accumulator per K tile", ALL),
    ("is_sfb_load without SFB", "static_cast<void>(warp::WarpRole1D1D<false>::is_sfb_load());", "is_sfb_load", ALL),
    ("is_sfb_tma_load without SFB", "static_cast<void>(warp::WarpRole1D1D<>::is_sfb_tma_load());", "is_sfb_tma_load",
     ALL),
    ("is_sfb_load with SFB", "static_cast<void>(warp::WarpRole1D1D<true>::is_sfb_load());", None, ALL),
    ("a block of more than 1024 threads", "static_cast<void>(warp::WarpRole1D1D<true, 25>::is_mma());",
     "at most 1024 threads", ALL),
    ("accumulators over 512 columns",
     "static_cast<void>(pipeline::OutputTilePipeline<OutputPipelineConfig{.num_stages = 3}>::num_stages);",
     "must fit into a power of two", ALL),
    ("48 columns of tensor memory", "static_cast<void>(sizeof(pipeline::TmemAllocation<1, 48>));", "powers of two",
     ALL),
    ("cta_group 3",
     "static_cast<void>(pipeline::OutputTilePipeline<OutputPipelineConfig{.cta_group = 3}>::num_stages);",
     "cta_group is 1 or 2", ALL),
    ("two MMA warps", "static_cast<void>(sizeof(warp::MmaWarp<opc, 64, 128>));", "by one warp", ALL),
    ("a pair that does not meet", """using Pair = warp::MmaWarp<OutputPipelineConfig{.cta_group = 2}, 32, 128>;
      auto mma = Pair::create(storage.tmem_address, {}, storage.done, 3); std::move(mma).release();""",
     "a barrier on which the peer says that it has allocated", ALL),
    ("a pair that meets on a barrier", """using Pair = warp::MmaWarp<OutputPipelineConfig{.cta_group = 2}, 32, 128>;
      auto mma = Pair::create(storage.tmem_address, {}, storage.done, storage.peer, 3); std::move(mma).release();""",
     None, ALL),
    ("two epilogue warps", "static_cast<void>(sizeof(warp::EpilogueWarp<opc, 32, 64>));", "at least four warps", ALL),
    ("pairs in an odd cluster", "static_cast<void>(warp::kernel_context<ClusterConfig{3, 1, 2}>());",
     "pairs need an even number", ALL),
    ("a cluster of 18", "static_cast<void>(warp::kernel_context<ClusterConfig{6, 3, 1}>());", "up to 16 CTAs", ALL),
    ("named barrier 0", "pipeline::WarpGroupBarrier<160, 0>::arrive();", "ids 1 to 15", ALL),
]


def main():
    compiler = compiler_of(__doc__)
    family = "nvcc" if "nvcc" in compiler else "clang" if "clang" in compiler else "g++"
    programs = [(name, FRAME.replace("CASE", body), want) for name, body, want, refused_by in CASES
                if want is None or family in refused_by]
    if family == "nvcc":
        return run_cases(compiler, programs, ["--expt-relaxed-constexpr", "-arch=sm_100a", "-ptx", "-o", "/dev/null"],
                         ".cu")
    return run_cases(compiler, programs, ["-fsyntax-only", "-Wall", "-Wextra"])


if __name__ == "__main__":
    sys.exit(main())

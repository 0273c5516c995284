// What the flat warps say about themselves: made from single addresses, each gives back the memory, the mask, the
// offsets of its accumulators and the barrier with which it was made.
#include <gtest/gtest.h>

#include <string>

#include "sim/rules.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/warp/epilogue_warp.h"
#include "warpwright/warp/mma_warp.h"
#include "warpwright/warp/warp_role.h"

namespace warpwright {
namespace {

namespace m = machine;

struct AtHand {
  using Role = warp::WarpRole1D1D<>;
  static constexpr OutputPipelineConfig opc{.num_stages = 3, .stage_stride_cols = 64};
  static constexpr BlockPlan plan = [] {
    BlockPlan p("accessors", Arch::sm100);
    Role::declare(p, false);
    p.region("finished", 4 * Role::NUM_EPILOGUE_THREADS, 1, 16);
    declare_output(p, opc);
    return p;
  }();
  using Mma = warp::MmaWarp<opc, Role::NUM_MMA_THREADS, Role::NUM_EPILOGUE_THREADS>;
  using Epilogue = warp::EpilogueWarp<opc, Role::NUM_MMA_THREADS, Role::NUM_EPILOGUE_THREADS>;
  static constexpr uint16_t kMask = 0b1;
  static constexpr int kRounds = 7;  // twice around the ring and one more

  static void expect(bool right, const char* what) {
    if (!right) m::trap(what);
  }
  // `expected` counts in columns of the first accumulator.
  template <class Stage>
  static void expect_stage(const Stage& stage, Tmem base, int round) {
    const uint32_t column = uint32_t(round % opc.num_stages * opc.stage_stride_cols);
    expect(stage.tmem_offset() == base.column(column).address, "tmem_offset() is the accumulator's address");
    expect(stage.tmem().address().address == stage.tmem_offset(), "tmem() and tmem_offset() are one address");
  }

  static void body(bool waits, uint16_t mask) {
    constexpr uint32_t finished = plan.region("finished").offset;
    const uint32_t base = m::shared_base();
    const warp::OutputStorage<opc> at = warp::output_storage<AtHand, opc>(base);
    const Shared<uint32_t> said{base + finished};
    pipeline::run_block<AtHand>(base, [&] {
      if (Role::is_mma()) {
        auto mma = Mma::create(at.tmem_address, at.accum, at.done, mask);
        expect(mma.output().mma_complete_mask() == kMask, "mma_complete_mask() is what create() was given");
        expect(mma.tmem().base().address == mma.output().tmem().base().address, "a warp and its ring have one memory");
        for (int i = 0; i < kRounds; ++i) {
          auto sums = mma.output().acquire_mma_linear();
          expect_stage(*sums, mma.tmem().base(), i);
          pipeline::commit<1>(sums->mbar());
          stdx::move(sums).release();
        }
        // What it orders: nothing else orders anything below.
        if (waits) mma.dealloc_barrier().wait();
        for (int i = int(m::lane_index()); i < Role::NUM_EPILOGUE_THREADS; i += 32)
          expect(m::load(said + i) == 1, "every epilogue thread has signalled");
        stdx::move(mma).release();
      } else if (Role::is_epilogue()) {
        auto epilogue = Epilogue::create(Epilogue::Sync::wait(), at.tmem_address, at.accum, at.done, mask);
        expect(epilogue.output().mma_complete_mask() == kMask, "mma_complete_mask() is what create() was given");
        for (int i = 0; i < kRounds; ++i) {
          auto sums = epilogue.output().acquire_epilogue_linear();
          expect_stage(*sums, epilogue.tmem().base(), i);
          stdx::move(sums).release();
        }
        m::store(said + int(m::thread_index()), 1u);
        stdx::move(epilogue).release();
      }
    });
  }
  static std::string run(bool waits = true, uint16_t mask = kMask) {
    return rules::verdict(plan, [=] { body(waits, mask); });
  }
};

TEST(FlatWarps, GiveBackWhatTheyWereMadeFrom) { EXPECT_EQ(AtHand::run(), ""); }

TEST(FlatWarps, DeallocBarrierIsTheOneThatTheEpilogueSignals) {
  const std::string without = AtHand::run(false);
  EXPECT_TRUE(without == "race" || without == "uninitialised.shared") << without;
}

TEST(FlatWarps, AnotherMaskIsSeen) { EXPECT_EQ(AtHand::run(true, 0b11), "trap"); }

}  // namespace
}  // namespace warpwright

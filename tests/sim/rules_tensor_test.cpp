// The rules of PTX 9.7.15 (wgmma) and 9.7.16 (tcgen05, tensor memory).
//
// Modelled in part:
//   R66 pairs that are not pipelined               cp after mma counts as ordered, which PTX does not list: kernels in
//                                                  the field refill scale factors that way; there is no word for shift
//   R61 an allocation waits for another CTA of its SM   a CTA has the SM to itself: what does not fit is reported
// Kept by the types:
//   R71 register counts of tcgen05.ld and st       a static_assert
#include <functional>
#include <string>

#include "rules.h"

namespace warpwright::rules {

constexpr int kN = 32;
constexpr uint32_t kRowBytes = 32, kA = 0, kB = 8192;  // in data(): A of up to 128 rows, B
using Row = Vec<uint32_t, 4>;

// All threads of the block fill both operands; `fence` makes them visible to the tensor core.
void fill_operands(bool fence = true) {
  for (uint32_t at = 16 * thread(); at < kB + kN * kRowBytes; at += 16 * m::block_threads())
    m::store(data(at).as<Row>(), Row{});
  if (fence) m::fence_proxy_async();
  m::sync_block();
}
uint64_t desc_sm90(uint32_t at, int rows) {
  return encode_sm90(k_major_desc(DType::bf16, Swizzle::b32, rows, data(at).address));
}
uint64_t desc_sm100(uint32_t at, int rows) {
  return encode_sm100(k_major_desc(DType::bf16, Swizzle::b32, rows, data(at).address));
}
void multiply(m::Accumulator<kN>& sums, m::here at = {}) {
  m::wgmma_ss<DType::bf16>(sums, desc_sm90(kA, 64), desc_sm90(kB, kN), false, at);
}

TEST(WgmmaRules, R52_RegistersAreFencedBeforeTheFirstMmaAndAfterATouch) {
  enum class Fence { never, first, both };
  const auto kernel = [](Fence fence) {
    return [=] {
      fill_operands();
      m::Accumulator<kN> sums;
      if (fence != Fence::never) m::wgmma_fence();
      multiply(sums);
      m::wgmma_commit();
      m::wgmma_wait<0>();
      sums.set(0, 1.f);
      if (fence == Fence::both) m::wgmma_fence();
      multiply(sums);
      m::wgmma_commit();
      m::wgmma_wait<0>();
    };
  };
  EXPECT_EQ(verdict(block(4), kernel(Fence::never)), "wgmma.fence");
  EXPECT_EQ(verdict(block(4), kernel(Fence::first)), "wgmma.fence");
  EXPECT_EQ(verdict(block(4), kernel(Fence::both)), "");
}

TEST(WgmmaRules, R53_GenericWritesOfAnOperandNeedAProxyFence) {
  const auto kernel = [](bool fence) {
    return [=] {
      fill_operands(fence);
      m::Accumulator<kN> sums;
      m::wgmma_fence();
      multiply(sums);
      m::wgmma_commit();
      m::wgmma_wait<0>();
    };
  };
  EXPECT_EQ(verdict(block(4), kernel(false)), "race.proxy");
  EXPECT_EQ(verdict(block(4), kernel(true)), "");
}

// The store comes before the MMA in program order, in the very thread that issues it.
TEST(WgmmaRules, R57_AnMmaFollowsNoEarlierInstructionOfItsThread) {
  const auto kernel = [](bool fence) {
    return [=] {
      fill_operands();
      m::store(data(kA + 16 * thread()).as<Row>(), Row{});
      if (fence) m::fence_proxy_async();
      m::sync_block();
      m::Accumulator<kN> sums;
      m::wgmma_fence();
      multiply(sums);
      m::wgmma_commit();
      m::wgmma_wait<0>();
    };
  };
  EXPECT_EQ(verdict(block(4), kernel(false)), "race.proxy");
  EXPECT_EQ(verdict(block(4), kernel(true)), "");
}

// Commits one MMA and then `empty` groups, waits until one is pending, reads the accumulator.
std::string read_after_empty_groups(int empty) {
  return verdict(block(4), [=] {
    fill_operands();
    m::Accumulator<kN> sums;
    m::wgmma_fence();
    multiply(sums);
    m::wgmma_commit();
    for (int i = 0; i < empty; ++i) m::wgmma_commit();
    m::wgmma_wait<1>();
    sums.get(0);
    m::wgmma_wait<0>();
  });
}
TEST(WgmmaRules, R54_AnAccumulatorBelongsToTheMmaUntilAWaitCoversIt) {
  EXPECT_EQ(read_after_empty_groups(0), "wgmma.register");
}
TEST(WgmmaRules, R55_AnEmptyGroupCounts) { EXPECT_EQ(read_after_empty_groups(1), ""); }

TEST(WgmmaRules, AnMmaAddsToSumsThatWereSet) {
  const auto kernel = [](bool accumulate, bool set) {
    return [=] {
      fill_operands();
      m::Accumulator<kN> sums;
      for (int i = 0; set && i < m::Accumulator<kN>::kRegisters; ++i) sums.set(i, 0.f);
      m::wgmma_fence();
      m::wgmma_ss<DType::bf16>(sums, desc_sm90(kA, 64), desc_sm90(kB, kN), accumulate);
      m::wgmma_commit();
      m::wgmma_wait<0>();
    };
  };
  EXPECT_EQ(verdict(block(4), kernel(true, false)), "uninitialised.register");
  EXPECT_EQ(verdict(block(4), kernel(true, true)), "");
  EXPECT_EQ(verdict(block(4), kernel(false, false)), "");
}

TEST(WgmmaRules, R56_FourWarpsIssueTheSameMma) {
  const auto kernel = [](uint32_t differing_warp, uint32_t missing_warp) {
    return [=] {
      fill_operands();
      if (warp() == missing_warp) return;
      m::Accumulator<kN> sums;
      m::wgmma_fence();
      m::wgmma_ss<DType::bf16>(sums, desc_sm90(warp() == differing_warp ? 2048 : kA, 64), desc_sm90(kB, kN), false);
      m::wgmma_commit();
      m::wgmma_wait<0>();
    };
  };
  EXPECT_EQ(verdict(block(4), kernel(3, 9)), "wgmma.mismatch");
  EXPECT_EQ(verdict(block(4), kernel(9, 3)), "deadlock.wgmma");
  EXPECT_EQ(verdict(block(4), kernel(9, 9)), "");
}

TEST(WgmmaRules, R58_AWaitFreesOperandsOfItsOwnWarpgroupOnly) {
  const auto kernel = [](bool meet) {
    return [=] {
      fill_operands();
      m::Accumulator<kN> sums;
      m::wgmma_fence();
      multiply(sums);
      m::wgmma_commit();
      m::wgmma_wait<0>();
      if (meet) m::sync_block();
      if (thread() == 0) m::store(data(kB).as<Row>(), Row{});
    };
  };
  const std::string early = verdict(block(8), kernel(false));
  EXPECT_TRUE(early == "race.in_flight" || early == "race.completion") << early;
  EXPECT_EQ(verdict(block(8), kernel(true)), "");
}

// One warp allocates and frees in `body(slot)`.
std::string allocate(const std::function<void(Shared<uint32_t>)>& body, int cluster = 1) {
  return verdict(block(1, Arch::sm100, cluster), [&] {
    if (m::cluster_size() > 1) m::cluster_sync();
    body(word());
  });
}
template <int CtaGroup = 1>
void free(Shared<uint32_t> slot, uint32_t columns, m::here at = {}) {
  m::sync_warp();
  m::tcgen05_dealloc<CtaGroup>(Tmem{m::load(slot)}, columns, at);
}

TEST(TensorMemoryRules, R59_AWholeWarpAllocatesAndThePeersAgree) {
  EXPECT_EQ(allocate([](auto slot) {
              if (m::lane_index() == 31) return;
              m::tcgen05_alloc<1>(slot, 32);
              free(slot, 32);
            }),
            "warp.mask");
  const auto pair = [](uint32_t columns_of_rank_1) {
    return [=](Shared<uint32_t> slot) {
      const uint32_t columns = rank() == 1 ? columns_of_rank_1 : 32;
      m::tcgen05_alloc<2>(slot, columns);
      m::cluster_sync();
      free<2>(slot, columns);
    };
  };
  EXPECT_EQ(allocate(pair(64), 2), "tmem.columns");
  EXPECT_EQ(allocate(pair(32), 2), "");
}

TEST(TensorMemoryRules, R60_ColumnsAreAPowerOfTwoAndDoNotGrow) {
  const auto two = [](uint32_t first, uint32_t second) {
    return allocate([=](auto slot) {
      m::tcgen05_alloc<1>(slot, first);
      m::tcgen05_alloc<1>(slot + 1, second);
      free(slot + 1, second);
      free(slot, first);
    });
  };
  EXPECT_EQ(two(48, 32), "tmem.columns");
  EXPECT_EQ(two(16, 16), "tmem.columns");
  EXPECT_EQ(two(32, 64), "tmem.growth");
  EXPECT_EQ(two(64, 64), "");
  EXPECT_EQ(two(512, 32), "tmem.capacity");  // R61
}

TEST(TensorMemoryRules, R61_AfterRelinquishingThereIsNoAllocation) {
  EXPECT_EQ(allocate([](auto slot) {
              m::tcgen05_relinquish<1>();
              m::tcgen05_alloc<1>(slot, 32);
            }),
            "tmem.permit");
}

TEST(TensorMemoryRules, R62_WhatIsAllocatedIsFreedOnce) {
  const auto times = [](int n) {
    return allocate([=](auto slot) {
      m::tcgen05_alloc<1>(slot, 32);
      for (int i = 0; i < n; ++i) free(slot, 32);
    });
  };
  EXPECT_EQ(times(0), "tmem.leak");
  EXPECT_EQ(times(2), "tmem.free");
  EXPECT_EQ(times(1), "");
}

TEST(TensorMemoryRules, R63_APairFreesTogether) {
  const auto kernel = [](bool same_order) {
    return [=](Shared<uint32_t> slot) {
      m::tcgen05_alloc<2>(slot, 32);
      m::cluster_sync();
      if (same_order || rank() == 0) m::cluster_sync();
      free<2>(slot, 32);
      if (!same_order && rank() == 1) m::cluster_sync();
    };
  };
  EXPECT_EQ(allocate(kernel(false), 2), "deadlock.tmem");
  EXPECT_EQ(allocate(kernel(true), 2), "");
}

// One warp of each CTA; the leader copies, and maybe multiplies, into both tensor memories.
TEST(TensorMemoryRules, R63_APairUsesWhatThePeerHasAllocated) {
  enum class Use { copy, multiply };
  const auto kernel = [](Use use, bool peer_has_allocated) {
    return verdict(block(1, Arch::sm100, 2), [=] {
      const Shared<uint32_t> slot = word(3072);
      fill_operands();
      init(1, 1);
      m::tcgen05_alloc<2>(slot, 32);
      if (peer_has_allocated) m::cluster_sync();
      m::sync_warp();
      const Tmem memory{m::load(slot)};
      if (rank() == 0 && m::lane_index() == 0) {
        if (use == Use::copy) {
          const MatrixDesc scales{data().address, 0, 128, Swizzle::none, 0};
          m::tcgen05_cp<m::TmemCopy::s32x128b_warpx4, 2>(memory, encode_sm100(scales));
        } else {
          constexpr InstrDesc shape{.a = DType::bf16, .b = DType::bf16, .m = 256, .n = kN};
          m::tcgen05_mma<m::MmaKind::f16, 2>(memory, desc_sm100(kA, 128), desc_sm100(kB, kN / 2), encode_idesc(shape),
                                             false);
        }
        m::tcgen05_commit_multicast<2>(bar(), 0b11);
      }
      wait();
      m::tcgen05_fence_after();
      m::cluster_sync();
      m::tcgen05_dealloc<2>(memory, 32);
    });
  };
  EXPECT_EQ(kernel(Use::copy, false), "tmem.peer");
  EXPECT_EQ(kernel(Use::copy, true), "");
  EXPECT_EQ(kernel(Use::multiply, false), "tmem.peer");
  EXPECT_EQ(kernel(Use::multiply, true), "");
}

TEST(TensorMemoryRules, R64_OneCtaGroupInTheWholeKernel) {
  EXPECT_EQ(allocate(
                [](auto slot) {
                  m::tcgen05_alloc<1>(slot, 32);
                  m::tcgen05_relinquish<2>();
                },
                2),
            "tcgen05.cta_group");
}

// Warps 0..3 load, warp 4 owns the memory and multiplies.
struct Steps {
  int issuers = 1;                // lanes that issue the MMA
  bool commit_elsewhere = false;  // another lane commits
  bool wait_ld = true, fence_after = true, proxy_fence = true;
  bool publish_address = true;
  uint32_t lanes_off_by = 0;
  bool uniform = true;
};
std::string multiply_and_load(Steps s) {
  return verdict(block(5, Arch::sm100), [=] {
    const Shared<uint32_t> slot = word(3072);
    if (warp() == 4) m::tcgen05_alloc<1>(slot, 32);
    if (!s.publish_address) {
      m::load(slot);
      return;
    }
    fill_operands(s.proxy_fence);
    init(1, 1);
    const Tmem memory{m::load(slot)};
    if (warp() == 4) {
      if (int(m::lane_index()) < s.issuers)
        m::tcgen05_mma<MmaKind::f16, 1>(memory, desc_sm100(kA, 128), desc_sm100(kB, kN),
                                        encode_idesc(InstrDesc{.m = 128, .n = kN}), false);
      m::sync_warp();
      if (m::lane_index() == (s.commit_elsewhere ? 1 : 0)) m::tcgen05_commit<1>(bar());
    } else {
      wait();
      if (s.fence_after) m::tcgen05_fence_after();
      const Tmem mine = memory.lane((warp() * 32 + s.lanes_off_by) % 128);
      m::TmemRegisters<1> r;
      m::tcgen05_ld<m::TmemShape::b32x32, 1>(r, s.uniform ? mine : mine.column(m::lane_index() % 2));
      if (s.wait_ld) m::tcgen05_wait_ld();
      r.set(0, 1.f);
      m::tcgen05_st<m::TmemShape::b32x32, 1>(mine, r);
      m::tcgen05_wait_st();
      m::tcgen05_wait_ld();
      m::tcgen05_fence_before();
    }
    m::sync_block();
    if (warp() != 4) return;
    m::tcgen05_fence_after();
    m::tcgen05_dealloc<1>(memory, 32);
  });
}

TEST(TensorMemoryRules, LegalKernelIsSilent) { EXPECT_EQ(multiply_and_load({}), ""); }
TEST(TensorMemoryRules, R65_OneThreadIssuesTheMma) {
  EXPECT_EQ(multiply_and_load(Steps{.issuers = 32}), "tcgen05.elect");
}
TEST(TensorMemoryRules, R65_TheEvenCtaOfAPairIssuesAndThePeerIsThere) {
  enum class Issue { by_leader, by_follower };
  const auto kernel = [](Issue issue) {
    return [=](Shared<uint32_t> slot) {
      m::tcgen05_alloc<2>(slot, 32);
      fill_operands();
      init(1, 1);
      const Tmem memory{m::load(slot)};
      if (m::lane_index() == 0 && rank() == (issue == Issue::by_follower ? 1 : 0)) {
        constexpr uint32_t shape = encode_idesc(InstrDesc{.m = 256, .n = kN});
        m::tcgen05_mma<MmaKind::f16, 2>(memory, desc_sm100(kA, 128), desc_sm100(kB, kN / 2), shape, false);
        m::tcgen05_commit_multicast<2>(bar(), 0b11);
      }
      wait();
      m::tcgen05_fence_after();
      m::cluster_sync();
      m::tcgen05_dealloc<2>(memory, 32);
    };
  };
  EXPECT_EQ(allocate(kernel(Issue::by_leader), 2), "");
  EXPECT_EQ(allocate(kernel(Issue::by_follower), 2), "tcgen05.leader");
  EXPECT_EQ(allocate(
                [](auto) {
                  if (rank() == 1) return;
                  m::cluster_sync();  // completes when the threads of CTA 1 have exited
                  m::tcgen05_relinquish<2>();
                },
                2),
            "cluster.exited");
}

// One thread issues two MMAs; `complete`: it waits for the first before it issues the second.
struct Second {
  int m = 128, n = kN;
  uint32_t column = 0, lane = 0;
  bool reads_first_as_a = false;
};
std::string two_mmas(Second s, bool complete, int first_m = 128) {
  return verdict(block(4, Arch::sm100), [=] {
    const Shared<uint32_t> slot = word(3072);
    if (warp() == 0) m::tcgen05_alloc<1>(slot, 128);
    fill_operands();
    init(2, 1);
    const Tmem memory{m::load(slot)};
    if (thread() == 0) {
      const auto shape = [](int m, int n) { return encode_idesc(InstrDesc{.m = m, .n = n}); };
      m::tcgen05_mma<MmaKind::f16, 1>(memory, desc_sm100(kA, first_m), desc_sm100(kB, kN), shape(first_m, kN), false);
      if (complete) {
        m::tcgen05_commit<1>(bar(1));
        wait(1);
        m::tcgen05_fence_after();
      }
      const Tmem d = memory.column(s.column).lane(s.lane);
      if (s.reads_first_as_a) {
        m::tcgen05_mma_ts<MmaKind::f16, 1>(d, memory, desc_sm100(kB, s.n), shape(s.m, s.n), false);
      } else {
        m::tcgen05_mma<MmaKind::f16, 1>(d, desc_sm100(kA, s.m), desc_sm100(kB, s.n), shape(s.m, s.n), false);
      }
      m::tcgen05_commit<1>(bar());
    }
    wait();
    m::tcgen05_fence_after();
    m::sync_block();
    if (warp() == 0) m::tcgen05_dealloc<1>(memory, 128);
  });
}
TEST(TensorMemoryRules, R66_OnlyMmasOfOneAccumulatorAndShapeFollowEachOther) {
  const auto unordered = [](Second s, int first_m = 128) {
    const std::string rule = two_mmas(s, false, first_m);
    return rule == "tcgen05.wait" || rule == "race.in_flight" || rule == "race.completion";
  };
  EXPECT_EQ(two_mmas({}, false), "") << "the same accumulator";
  EXPECT_EQ(two_mmas({.column = kN}, false), "") << "another one";
  EXPECT_TRUE(unordered({.n = 16})) << "another shape";
  EXPECT_EQ(two_mmas({.n = 16}, true), "");
  EXPECT_TRUE(unordered({.column = 16})) << "accumulators overlap";
  EXPECT_EQ(two_mmas({.column = 16}, true), "");
  EXPECT_TRUE(unordered({.column = kN, .reads_first_as_a = true})) << "a result as an operand";
  EXPECT_EQ(two_mmas({.column = kN, .reads_first_as_a = true}, true), "");
}
TEST(TensorMemoryRules, R66_AccumulatorsOf64RowsMayInterleave) {
  EXPECT_EQ(two_mmas({.m = 64, .lane = 16}, false, 64), "");
  EXPECT_EQ(two_mmas({.m = 128, .lane = 16}, true), "tmem.window");
  EXPECT_EQ(two_mmas({.m = 64, .lane = 32}, true, 64), "tmem.window");
}

TEST(TensorMemoryRules, R67_ACommitTracksItsOwnThreadOnly) {
  const std::string early = multiply_and_load(Steps{.commit_elsewhere = true});
  EXPECT_TRUE(early == "race.in_flight" || early == "race.completion") << early;
}
TEST(TensorMemoryRules, R68_R70_OverwritingWhatALoadReadsNeedsItsWait) {
  EXPECT_EQ(multiply_and_load(Steps{.wait_ld = false}), "tcgen05.wait");
}
TEST(TensorMemoryRules, R69_AHandOverNeedsItsFences) {
  EXPECT_EQ(multiply_and_load(Steps{.fence_after = false}), "race.tcgen_fence");
}
TEST(TensorMemoryRules, R71_AWarpReachesItsOwnQuarterAtOneAddress) {
  EXPECT_EQ(multiply_and_load(Steps{.lanes_off_by = 32}), "tmem.window");
  EXPECT_EQ(multiply_and_load(Steps{.uniform = false}), "tmem.uniform");
}
TEST(TensorMemoryRules, R72_GenericWritesOfAnOperandNeedAProxyFence) {
  EXPECT_EQ(multiply_and_load(Steps{.proxy_fence = false}), "race.proxy");
}
// The leader's MMA reads what threads of the peer have written to the peer's shared memory. The fence names the space
// of the object as seen by the thread that executes it.
TEST(TensorMemoryRules, R72_AFenceOfThePeerForItsOwnMemoryCoversTheMmaOfThePair) {
  enum class Fence { none, by_writer_cta, by_writer_cluster, by_leader_cta, by_leader_all };
  const auto kernel = [](Fence fence) {
    return verdict(block(1, Arch::sm100, 2), [=] {
      const Shared<uint32_t> slot = word(3072);
      fill_operands(rank() == 0);
      if (rank() == 1 && fence == Fence::by_writer_cta) m::fence_proxy_async<ProxySpace::shared_cta>();
      if (rank() == 1 && fence == Fence::by_writer_cluster) m::fence_proxy_async<ProxySpace::shared_cluster>();
      init(1, 1);
      m::tcgen05_alloc<2>(slot, 32);
      m::cluster_sync();
      const Tmem memory{m::load(slot)};
      if (rank() == 0 && m::lane_index() == 0) {
        if (fence == Fence::by_leader_cta) m::fence_proxy_async<ProxySpace::shared_cta>();
        if (fence == Fence::by_leader_all) m::fence_proxy_async();
        m::tcgen05_mma<m::MmaKind::f16, 2>(memory, desc_sm100(kA, 128), desc_sm100(kB, kN / 2),
                                           encode_idesc(InstrDesc{.m = 256, .n = kN}), false);
        m::tcgen05_commit_multicast<2>(bar(), 0b11);
      }
      wait();
      m::tcgen05_fence_after();
      m::cluster_sync();
      m::tcgen05_dealloc<2>(memory, 32);
    });
  };
  EXPECT_EQ(kernel(Fence::none), "race.proxy");
  EXPECT_EQ(kernel(Fence::by_writer_cta), "");
  EXPECT_EQ(kernel(Fence::by_writer_cluster), "");
  EXPECT_EQ(kernel(Fence::by_leader_cta), "race.proxy_scope") << "the peer's memory is not in its shared::cta";
  EXPECT_EQ(kernel(Fence::by_leader_all), "");
}

TEST(TensorMemoryRules, R73_TheAddressIsPublishedLikeAnyStore) {
  const std::string early = multiply_and_load(Steps{.publish_address = false});
  EXPECT_TRUE(early == "race" || early == "uninitialised.shared") << early;
}

}  // namespace warpwright::rules

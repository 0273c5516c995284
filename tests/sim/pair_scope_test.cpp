// What a commit by the leader of a pair tells threads of the peer: that asynchronous operations are complete that the
// leader had seen complete, which is how the epilogue of a blockwise kernel may read its scales
// (pipeline/output_per_k.h); it does not tell that ordinary stores were made.
#include <gtest/gtest.h>

#include <string>

#include "sim/rules.h"
#include "warpwright/pipeline/init.h"

namespace warpwright {
namespace {

namespace m = machine;

enum class Filled { by_copy, by_store };

struct Relay {
  static constexpr uint32_t kBytes = 512;  // of one tcgen05.cp
  static constexpr BlockPlan plan = [] {
    BlockPlan p("relay", Arch::sm100, 2);
    p.role("writer", 1).role("reader", 1).region("data", kBytes, 1, 128).region("tmem.address", 4, 1, 16);
    p.barrier("full", 1, 1, "writer", {"writer", 1}).barrier("ready", 1, 1, "writer", {"writer", 1});
    p.barrier("done", 1, 1, "reader", {"writer", 1});
    return p;
  }();

  static uint64_t scale_desc(uint32_t address) { return encode_sm100(MatrixDesc{address, 0, 128, Swizzle::none, 0}); }
  // Each of the CTAs has its half of what the leader copies into tensor memory.
  static void fill(Shared<uint32_t> data, Global<const uint8_t> source, Shared<Mbarrier> full, Filled filled) {
    if (filled == Filled::by_copy) {
      if (m::lane_index() == 0) {
        m::mbarrier_arrive_expect_tx(full, kBytes);
        m::bulk_load(data.as<uint8_t>(), source, kBytes, full);
      }
      m::mbarrier_wait(full, m::Phase::consumer());
    } else {
      using Row = Vec<uint32_t, 4>;
      m::store(data.as<Row>() + int(m::lane_index()), Row{});
      m::fence_proxy_async<ProxySpace::shared_cluster>();
      m::sync_warp();
    }
  }

  // The peer's writer fills and tells the leader's, whose commit tells the peer's reader.
  static void body(Global<const uint8_t> source, Filled filled, Scope told) {
    const uint32_t base = m::shared_base();
    const Shared<uint32_t> data{base + plan.region("data").offset}, slot{base + plan.region("tmem.address").offset};
    const Shared<Mbarrier> full{base + plan.barrier("full").offset}, ready{base + plan.barrier("ready").offset},
        done{base + plan.barrier("done").offset};
    pipeline::run_block<Relay>(base, [&] {
      const bool leader = m::cluster_rank() == 0, writer = m::warp_index() == 0;
      if (writer) {
        m::tcgen05_alloc<2>(slot, 32);
        m::tcgen05_relinquish<2>();
      }
      m::cluster_sync();
      if (writer) {
        fill(data, source, full, filled);
        if (m::lane_index() == 0 && !leader) {
          if (told == Scope::cluster) {
            m::mbarrier_arrive<Scope::cluster>(m::map_to_rank(ready, 0));
          } else {
            m::mbarrier_arrive<Scope::cta>(m::map_to_rank(ready, 0));
          }
        }
        if (m::lane_index() == 0 && leader) {
          m::mbarrier_wait<Scope::cluster>(ready, m::Phase::consumer());
          m::tcgen05_cp<m::TmemCopy::s32x128b_warpx4, 2>(Tmem{m::load(slot)}, scale_desc(data.address));
          m::tcgen05_commit_multicast<2>(done, 0b11);
        }
        m::sync_warp();  // one lane waited
      }
      m::mbarrier_wait<Scope::cluster>(done, m::Phase::consumer());
      m::tcgen05_fence_after();
      if (!writer && !leader && m::load(data) != 0) m::trap("the data is there");
      m::cluster_sync();
      if (writer) m::tcgen05_dealloc<2>(Tmem{m::load(slot)}, 32);
    });
  }
  static std::string run(Filled filled, Scope told) {
    rules::Device source;
    return rules::verdict(plan, [&] { body(source.as<const uint8_t>(), filled, told); },
                          {source.buffer(simulator::Buffer::Use::input)});
  }
};

TEST(PairScope, ACommitCarriesCopiesThatItsThreadHadSeen) {
  EXPECT_EQ(Relay::run(Filled::by_copy, Scope::cluster), "");
  EXPECT_EQ(Relay::run(Filled::by_copy, Scope::cta), "");
}
TEST(PairScope, AndNoOrdinaryStore) {
  EXPECT_EQ(Relay::run(Filled::by_store, Scope::cluster).substr(0, 4), "race");
  EXPECT_EQ(Relay::run(Filled::by_store, Scope::cta).substr(0, 4), "race");
}

}  // namespace
}  // namespace warpwright

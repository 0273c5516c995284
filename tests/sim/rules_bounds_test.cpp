// Where an access may lie: in one stage of one region, in one buffer, and never there without a word. And how a report
// names the place that was missed.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rules.h"
#include "warpwright/sim/addresses.h"

namespace warpwright::rules {
namespace {

using simulator::Addresses;
using simulator::Finding;

Finding finding(const BlockPlan& plan, const std::function<void()>& body, std::vector<Buffer> buffers) {
  simulator::Launch l;
  l.plan = &plan;
  l.buffers = std::move(buffers);
  Options o;
  o.hang_seconds = 1;
  const simulator::Result r = simulator::run(l, o, body);
  if (r.ok()) return {};
  collect(r.findings.front());
  return r.findings.front();
}

// A buffer in the checker's sense: its address has no memory.
struct Away {
  explicit Away(const char* called, uint64_t size) : name(called), bytes(size), addresses(size) {}
  Buffer buffer(Buffer::Use use = Buffer::Use::inout) {
    return {addresses.begin(), bytes.size(), name, use, false, bytes.data()};
  }
  Global<uint32_t> at(int64_t byte) const {
    return {reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(addresses.begin()) + byte)};
  }
  const char* name;
  std::vector<uint8_t> bytes;
  Addresses addresses;
};

// Two regions of two stages of 512 bytes, the second after a gap.
constexpr BlockPlan two_regions() {
  BlockPlan p("rule", Arch::sm90);
  p.role("warps", 1).barrier("full", 1, 1, "warps", {"warps", 1}).region("a", 512, 2, 1024).region("b", 512, 2, 4096);
  return p;
}

TEST(BoundsRules, ACopyStaysInOneStage) {
  Device d;
  static constexpr BlockPlan plan = two_regions();
  const auto copy = [&](uint32_t offset, uint32_t bytes) {
    return verdict(plan,
                   [&d, offset, bytes] {
                     if (thread() != 0) return;
                     const Shared<Mbarrier> full{m::shared_base() + plan.barrier("full").offset};
                     m::mbarrier_init(full, 1);
                     m::fence_mbarrier_init();
                     m::mbarrier_arrive_expect_tx(full, bytes);
                     m::bulk_load(Shared<uint8_t>{m::shared_base() + plan.region("a").offset + offset},
                                  d.as<const uint8_t>(), bytes, full);
                     m::mbarrier_wait(full, m::Phase::consumer());
                   },
                   {d.buffer(Buffer::Use::input)});
  };
  EXPECT_EQ(copy(0, 512), "");
  EXPECT_EQ(copy(512, 512), "");
  EXPECT_EQ(copy(0, 528), "bounds.region") << "into the next stage";
  EXPECT_EQ(copy(256, 512), "bounds.region");
  EXPECT_EQ(copy(512, 1024), "bounds.region") << "out of the region";
}

TEST(BoundsRules, AStoreOutsideOfEveryRegion) {
  static constexpr BlockPlan plan = two_regions();
  const auto store = [](uint32_t offset) {
    return verdict(plan, [offset] {
      if (thread() == 0) m::store(Shared<uint32_t>{m::shared_base() + offset}, 0u);
    });
  };
  EXPECT_EQ(store(plan.region("a").offset + 1020), "");
  EXPECT_EQ(store(plan.region("a").offset + 1024), "bounds.region");
  EXPECT_EQ(store(plan.region("b").offset), "");
}

TEST(BoundsRules, ABufferIsNamedByItsNearestEdge) {
  Away a("A", 1000), b("B", 64);
  const BlockPlan plan = block(1);
  const auto load = [&](Global<uint32_t> p) {
    const auto body = [&] {
      if (thread() == 0) m::load(p);
    };
    return finding(plan, body, {a.buffer(), b.buffer()});
  };
  EXPECT_EQ(load(a.at(996)).rule, "");
  EXPECT_NE(load(a.at(1000)).message.find("the end of A, which has 1000 bytes"), std::string::npos);
  EXPECT_NE(load(a.at(1256)).message.find("256 bytes past the end of A"), std::string::npos);
  EXPECT_NE(load(a.at(500'000)).message.find("499000 bytes past the end of A"), std::string::npos);
  EXPECT_NE(load(b.at(-16)).message.find("16 bytes before B"), std::string::npos);
  EXPECT_EQ(load(b.at(-16)).rule, "bounds.global");
}

TEST(BoundsRules, ABufferIsReachedByWordsAlone) {
  Away a("A", 1000);
  const BlockPlan plan = block(1);
  const auto touch = [&](int64_t byte, bool by_word) {
    const auto body = [&, byte, by_word] {
      if (thread() != 3) return;
      if (by_word) {
        m::store(a.at(byte), 7u);
      } else {
        *static_cast<volatile uint32_t*>(pointer_of(a.at(byte))) = 7u;
      }
    };
    return finding(plan, body, {a.buffer(Buffer::Use::output)});
  };
  EXPECT_EQ(touch(16, true).rule, "");
  EXPECT_EQ(a.bytes[16], 7) << "the word has found the bytes";
  const Finding inside = touch(16, false), outside = touch(1016, false);
  EXPECT_EQ(inside.rule, "bounds.bare");
  EXPECT_EQ(inside.object, "A");
  EXPECT_EQ(inside.lane, 3);
  EXPECT_NE(inside.instruction, nullptr);
  EXPECT_NE(inside.message.find("touches memory without a word (A+16)"), std::string::npos) << inside.message;
  EXPECT_NE(outside.message.find("16 bytes past the end of A"), std::string::npos) << outside.message;
}

}  // namespace
}  // namespace warpwright::rules

// The rules of PTX 9.7.9.25, 8.6, 8.9.5 and 9.7.13.4: asynchronous copies and proxies.
//
// Not checked:
//   R39 scope of atomics                   atomics of the words are at gpu scope (global) or cta scope (shared, own CTA
//                                          only), so two of them are always morally strong
#include <functional>
#include <string>
#include <vector>

#include "rules.h"
#include "sim/model.h"

namespace warpwright::rules {

using simulator::model::TensorMapFields;

TensorMap map_of(Device& d, uint32_t columns, uint32_t rows) {
  TensorMapFields f{};
  f.type = simulator::model::TensorElement::u32;
  f.rank = 2;
  f.base = d.bytes;
  f.dims[0] = f.box[0] = columns;
  f.dims[1] = f.box[1] = rows;
  f.strides[0] = 4;
  f.strides[1] = columns * 4;
  TensorMap map;
  EXPECT_FALSE(simulator::model::encode_tensor_map(f, map).has_value());
  return map;
}

// Thread 0 runs `body` after one barrier was initialised.
std::string by_one_thread(const std::function<void()>& body, Device& d, Buffer::Use use) {
  return verdict(block(1),
                 [&] {
                   init(1, 1);
                   if (thread() == 0) body();
                 },
                 {d.buffer(use)});
}
void fill_data() {
  for (int i = 0; i < 64; ++i) m::store(word(i), 0u);
}
void load_data(Device& d) {
  m::mbarrier_arrive_expect_tx(bar(), 256);
  m::bulk_load(data(), d.as<const uint8_t>(), 256, bar());
}
void store_data(Device& d) {
  m::bulk_store(d.as<uint8_t>(), data(), 256);
  m::bulk_commit();
}

TEST(AsyncRules, R26_ASourceIsWrittenOrADestinationReadBeforeCompletion) {
  Device d;
  const auto overwrite = [&](bool wait_first) {
    return [&d, wait_first] {
      fill_data();
      m::fence_proxy_async();
      store_data(d);
      if (wait_first) m::bulk_wait_read<0>();
      m::store(word(), 1u);
      m::bulk_wait<0>();
    };
  };
  EXPECT_EQ(by_one_thread(overwrite(false), d, Buffer::Use::output), "race.in_flight");
  EXPECT_EQ(by_one_thread(overwrite(true), d, Buffer::Use::output), "");
  const auto read = [&](bool wait_first) {
    return [&d, wait_first] {
      load_data(d);
      if (wait_first) wait();
      m::load(word());
      wait();
    };
  };
  EXPECT_EQ(by_one_thread(read(false), d, Buffer::Use::input), "race.in_flight");
  EXPECT_EQ(by_one_thread(read(true), d, Buffer::Use::input), "");
}

TEST(AsyncRules, R27_GenericAndAsyncAccessesNeedAProxyFenceEvenWhenOrdered) {
  Device d;
  const auto kernel = [&](bool fence) {
    return [&d, fence] {
      fill_data();
      if (fence) m::fence_proxy_async();
      store_data(d);
      m::bulk_wait<0>();
    };
  };
  EXPECT_EQ(by_one_thread(kernel(false), d, Buffer::Use::output), "race.proxy");
  EXPECT_EQ(by_one_thread(kernel(true), d, Buffer::Use::output), "");
}

TEST(AsyncRules, R28_CompletionOfACopyFencesItsOwnResultOnly) {
  Device d;
  const auto kernel = [&](bool touch) {
    return [&d, touch] {
      load_data(d);
      wait();
      m::load(word());
      if (touch) m::store(word(), 1u);
      store_data(d);
      m::bulk_wait<0>();
    };
  };
  EXPECT_EQ(by_one_thread(kernel(false), d, Buffer::Use::inout), "");
  EXPECT_EQ(by_one_thread(kernel(true), d, Buffer::Use::inout), "race.proxy");
}

TEST(AsyncRules, R29_TheProxyFenceStandsAfterTheAccessAndNamesItsSpace) {
  Device d;
  const auto kernel = [&](bool fence_first, ProxySpace space) {
    return [&d, fence_first, space] {
      const auto fence = [&] {
        space == ProxySpace::global ? m::fence_proxy_async<ProxySpace::global>()
                                    : m::fence_proxy_async<ProxySpace::shared_cta>();
      };
      if (fence_first) fence();
      fill_data();
      if (!fence_first) fence();
      store_data(d);
      m::bulk_wait<0>();
    };
  };
  EXPECT_EQ(by_one_thread(kernel(true, ProxySpace::shared_cta), d, Buffer::Use::output), "race.proxy");
  EXPECT_EQ(by_one_thread(kernel(false, ProxySpace::global), d, Buffer::Use::output), "race.proxy");
  EXPECT_EQ(by_one_thread(kernel(false, ProxySpace::shared_cta), d, Buffer::Use::output), "");
}

TEST(AsyncRules, R29_AFenceByTheIssuerCoversWhatItHasAcquired) {
  Device d;
  enum class Fence { none, writer, issuer };
  const auto kernel = [&](Fence fence) {
    return [&d, fence] {
      m::store(word(int(thread())), 0u);
      if (fence == Fence::writer) m::fence_proxy_async();
      m::sync_block();
      if (thread() != 0) return;
      if (fence == Fence::issuer) m::fence_proxy_async();
      store_data(d);
      m::bulk_wait<0>();
    };
  };
  const std::vector<Buffer> out{d.buffer(Buffer::Use::output)};
  EXPECT_EQ(verdict(block(2), kernel(Fence::none), out), "race.proxy");
  EXPECT_EQ(verdict(block(2), kernel(Fence::writer), out), "");
  EXPECT_EQ(verdict(block(2), kernel(Fence::issuer), out), "");
}

TEST(AsyncRules, R30_NonBulkCpAsyncIsAGenericAccess) {
  Device d, out;
  const auto kernel = [&](bool fence) {
    return [&, fence] {
      if (thread() != 0) return;
      m::cp_async_16(data(), d.as<const uint8_t>());
      m::cp_async_commit();
      m::cp_async_wait<0>();
      if (fence) m::fence_proxy_async();
      m::bulk_store(out.as<uint8_t>(), data(), 16);
      m::bulk_commit();
      m::bulk_wait<0>();
    };
  };
  const std::vector<Buffer> both{d.buffer(Buffer::Use::input), out.buffer(Buffer::Use::output)};
  EXPECT_EQ(verdict(block(1), kernel(false), both), "race.proxy");
  EXPECT_EQ(verdict(block(1), kernel(true), both), "");
}

TEST(AsyncRules, R31_SizesAndAddressesOfBulkCopiesAreAligned) {
  Device d;
  const auto bulk = [&](uint32_t to, uint32_t bytes) {
    return [&d, to, bytes] { m::bulk_load(data(to), d.as<const uint8_t>(), bytes, bar()); };
  };
  EXPECT_EQ(by_one_thread(bulk(0, 24), d, Buffer::Use::input), "tma.alignment");
  EXPECT_EQ(by_one_thread(bulk(8, 32), d, Buffer::Use::input), "tma.alignment");
  const TensorMap map = map_of(d, 32, 2);
  const auto tensor = [&](uint32_t to, int column) {
    return [&map, to, column] {
      m::mbarrier_arrive_expect_tx(bar(), 256);
      m::tma_load(data(to), &map, m::Coords<2>{column, 0}, bar());
      wait();
    };
  };
  EXPECT_EQ(by_one_thread(tensor(64, 0), d, Buffer::Use::input), "tma.alignment");
  // fp32: three elements are 12 bytes, four are 16, and outside the matrix the same holds.
  EXPECT_EQ(by_one_thread(tensor(0, 3), d, Buffer::Use::input), "tma.alignment");
  EXPECT_EQ(by_one_thread(tensor(0, -1), d, Buffer::Use::input), "tma.alignment");
  EXPECT_EQ(by_one_thread(tensor(0, 4), d, Buffer::Use::input), "");
  EXPECT_EQ(by_one_thread(tensor(0, -4), d, Buffer::Use::input), "");
  EXPECT_EQ(by_one_thread(tensor(128, 0), d, Buffer::Use::input), "");
}

TEST(AsyncRules, R32_BulkGroupsBelongToTheThreadThatCommitsThem) {
  Device d;
  const auto kernel = [&](uint32_t waiter) {
    return [&d, waiter] {
      if (thread() == 0) {
        fill_data();
        m::fence_proxy_async();
        store_data(d);
      }
      if (thread() == waiter) m::bulk_wait_read<0>();
      m::sync_block();
      if (thread() == 32) m::store(word(), 1u);
      m::bulk_wait<0>();
    };
  };
  const std::vector<Buffer> out{d.buffer(Buffer::Use::output)};
  EXPECT_EQ(verdict(block(2), kernel(32), out), "race.completion");
  EXPECT_EQ(verdict(block(2), kernel(0), out), "");
}

TEST(AsyncRules, R32_AWaitLeavesTheNewestGroupsPending) {
  Device d;
  const auto kernel = [&](bool all) {
    return [&d, all] {
      fill_data();
      m::fence_proxy_async();
      store_data(d);
      all ? m::bulk_wait_read<0>() : m::bulk_wait_read<1>();
      m::store(word(), 1u);
      m::bulk_wait<0>();
    };
  };
  EXPECT_EQ(by_one_thread(kernel(false), d, Buffer::Use::output), "race.in_flight");
  EXPECT_EQ(by_one_thread(kernel(true), d, Buffer::Use::output), "");
}

TEST(AsyncRules, R33_AReadWaitFreesTheSourceOnly) {
  Device d;
  const auto kernel = [&](bool complete) {
    return [&d, complete] {
      fill_data();
      m::fence_proxy_async();
      store_data(d);
      complete ? m::bulk_wait<0>() : m::bulk_wait_read<0>();
      m::load(d.as());
      m::bulk_wait<0>();
    };
  };
  const std::string early = by_one_thread(kernel(false), d, Buffer::Use::output);
  EXPECT_TRUE(early == "race.in_flight" || early == "race.completion") << early;
  EXPECT_EQ(by_one_thread(kernel(true), d, Buffer::Use::output), "");
}

TEST(AsyncRules, R34_TwoCpAsyncOfOneGroupToOneAddressAreReported) {
  Device d;
  const auto kernel = [&](uint32_t second) {
    return [&d, second] {
      m::cp_async_16(data(), d.as<const uint8_t>());
      m::cp_async_16(data(second), d.as<const uint8_t>());
      m::cp_async_commit();
      m::cp_async_wait<0>();
    };
  };
  EXPECT_EQ(by_one_thread(kernel(0), d, Buffer::Use::input), "race.in_flight");
  EXPECT_EQ(by_one_thread(kernel(16), d, Buffer::Use::input), "");
}

TEST(AsyncRules, R35_ACopyWithoutMulticastIsForTheExecutingCta) {
  Device d;
  EXPECT_EQ(verdict(block(1, Arch::sm90, 2),
                    [&] {
                      init(1, 1);
                      if (thread() == 0)
                        m::bulk_load(Shared<uint8_t>{m::map_to_rank(data(), rank() ^ 1).address}, d.as<const uint8_t>(),
                                     256, bar());
                    },
                    {d.buffer(Buffer::Use::input)}),
            "cluster.rank");
}

TEST(AsyncRules, R36_EveryReceiverOfAMulticastIsThereAndReady) {
  Device d;
  enum class Receiver { ready, no_barrier, no_expect, no_such_cta, exited };
  const auto kernel = [&](Receiver receiver) {
    return [&d, receiver] {
      if (thread() == 0 && !(receiver == Receiver::no_barrier && rank() == 1)) {
        m::mbarrier_init(bar(), 1);
        m::fence_mbarrier_init();
      }
      m::cluster_sync();
      if (receiver == Receiver::exited && rank() == 1) return;
      if (thread() == 0) {
        if (!(receiver == Receiver::no_expect && rank() == 1)) m::mbarrier_arrive_expect_tx(bar(), 256);
        if (rank() == 0)
          m::bulk_load_multicast(data(), d.as<const uint8_t>(1024), 256, bar(),
                                 receiver == Receiver::no_such_cta ? 0b111 : 0b11);
        if (receiver != Receiver::no_barrier) wait();
      }
      m::cluster_sync();
    };
  };
  const std::vector<Buffer> in{d.buffer(Buffer::Use::input)};
  const BlockPlan pair = block(1, Arch::sm90, 2);
  EXPECT_EQ(verdict(pair, kernel(Receiver::ready), in), "");
  EXPECT_EQ(verdict(pair, kernel(Receiver::no_barrier), in), "mbarrier.invalid");
  EXPECT_EQ(verdict(pair, kernel(Receiver::no_expect), in), "deadlock.bytes");
  EXPECT_EQ(verdict(pair, kernel(Receiver::no_such_cta), in), "cluster.rank");
  const std::string gone = verdict(pair, kernel(Receiver::exited), in);
  EXPECT_TRUE(gone == "cluster.exited" || gone == "cluster.exit_order") << gone;
}

TEST(AsyncRules, R37_ARewrittenTensorMapNeedsItsFence) {
  Device d;
  const TensorMap map = map_of(d, 32, 2);
  struct alignas(128) {
    TensorMap map;
  } memory;
  const auto kernel = [&](bool first, bool acquire) {
    return [&, first, acquire] {
      const auto load = [&] {
        m::mbarrier_arrive_expect_tx(bar(), 256);
        m::tma_load(data(), &memory.map, m::Coords<2>{0, 0}, bar());
      };
      if (first) m::fence_tensormap_acquire(&memory.map);  // somebody wrote it before the launch
      load();
      wait();
      m::store(Global<uint64_t>{&memory.map.opaque[0]}, map.opaque[0]);
      m::fence_tensormap_release();
      if (acquire) m::fence_tensormap_acquire(&memory.map);
      load();
      m::Phase second = m::Phase::consumer();
      second.advance();
      m::mbarrier_wait(bar(), second);
    };
  };
  const auto run = [&](bool first, bool acquire) {
    memory.map = map;
    return verdict(block(1),
                   [&] {
                     init(1, 1);
                     if (thread() == 0) kernel(first, acquire)();
                   },
                   {d.buffer(Buffer::Use::input), Buffer{&memory, sizeof memory, "maps", Buffer::Use::inout, false}});
  };
  EXPECT_EQ(run(true, false), "tma.map_stale");
  EXPECT_EQ(run(false, true), "tma.map_stale");
  EXPECT_EQ(run(true, true), "");
}

// One CTA's multicast writes, another CTA's bulk store reads: both in the async proxy, but in different CTAs, where
// causality alone keeps no order. The completion of the copy is the proxy fence (R28), so waiting for it is needed and
// is enough.
TEST(AsyncRules, R38_CopiesOfDifferentCtasAreOrderedByCompletionOnly) {
  Device in, out;
  const auto kernel = [&](bool complete) {
    return [&in, &out, complete] {
      init(2, 1);
      if (thread() == 0) {
        m::mbarrier_arrive_expect_tx(bar(), 256);
        if (rank() == 0) {
          m::bulk_load_multicast(data(), in.as<const uint8_t>(), 256, bar(), 0b11);
          m::mbarrier_arrive<Scope::cluster>(m::map_to_rank(bar(1), 1), 1);
        } else {
          complete ? wait() : m::mbarrier_wait<Scope::cluster>(bar(1), m::Phase::consumer());
          m::bulk_store(out.as<uint8_t>(), data(), 256);
          m::bulk_commit();
          m::bulk_wait<0>();
        }
        if (!(complete && rank() == 1)) wait();
      }
      m::cluster_sync();
    };
  };
  const std::vector<Buffer> both{in.buffer(Buffer::Use::input), out.buffer(Buffer::Use::output)};
  const std::string early = verdict(block(1, Arch::sm90, 2), kernel(false), both);
  EXPECT_TRUE(early == "race.in_flight" || early == "race.completion" || early == "uninitialised.shared") << early;
  EXPECT_EQ(verdict(block(1, Arch::sm90, 2), kernel(true), both), "");
}

TEST(AsyncRules, R39_ConflictingAccessesWithoutOrderRaceByteByByte) {
  const auto kernel = [](uint32_t second_byte, bool meet) {
    return [=] {
      if (thread() == 0) m::store(word(), 1u);
      if (meet) m::sync_block();
      if (thread() == 32) m::store(data(second_byte), uint8_t(1));
    };
  };
  EXPECT_EQ(verdict(block(2), kernel(3, false)), "race");
  EXPECT_EQ(verdict(block(2), kernel(4, false)), "");
  EXPECT_EQ(verdict(block(2), kernel(3, true)), "");
  Device d;
  EXPECT_EQ(verdict(block(2), [&] { m::atomic_add(d.as(), 1u); }, {d.buffer(Buffer::Use::inout)}), "");
}

}  // namespace warpwright::rules

// What the other files of rules leave out: bounds of memory, arrivals that the block plan does not know, illegal
// descriptors and maps, kernels that give up, and the waves of CDNA.
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rules.h"
#include "warpwright/machine/cdna.h"

namespace warpwright::rules {
namespace {

namespace c = machine::cdna;

// One thread of one warp.
std::string alone(const std::function<void()>& body, std::vector<Buffer> buffers = {}, Arch arch = Arch::sm90,
                  int cluster = 1) {
  return verdict(
      block(1, arch, cluster),
      [&] {
        if (thread() == 0) body();
      },
      std::move(buffers));
}

TEST(MemoryRules, AccessesStayInsideTheBlock) {
  EXPECT_EQ(alone([] { m::store(data(15360).as<uint32_t>(), 0u); }), "bounds.shared");
  EXPECT_EQ(alone([] { m::store(data(15356).as<uint32_t>(), 0u); }), "");
}

TEST(MemoryRules, AccessesStayInsideTheBuffers) {
  Device d;
  EXPECT_EQ(alone([&] { m::store(d.as(4096), 0u); }, {d.buffer(Buffer::Use::output)}), "bounds.global");
  EXPECT_EQ(alone([&] { m::store(d.as(4092), 0u); }, {d.buffer(Buffer::Use::output)}), "");
}

TEST(MemoryRules, InputsAreNotWritten) {
  Device d;
  EXPECT_EQ(alone([&] { m::store(d.as(), 0u); }, {d.buffer(Buffer::Use::input)}), "bounds.input");
  EXPECT_EQ(alone([&] { m::load(d.as()); }, {d.buffer(Buffer::Use::input)}), "");
}

TEST(MemoryRules, AccessesAreAligned) {
  EXPECT_EQ(alone([] { m::store(data(2).as<uint32_t>(), 0u); }), "bounds.alignment");
  EXPECT_EQ(alone([] { m::store(data(2).as<uint16_t>(), uint16_t(0)); }), "");
}

TEST(MemoryRules, AnOutputIsWrittenBeforeItIsRead) {
  Device d;
  EXPECT_EQ(alone([&] { m::load(d.as()); }, {d.buffer(Buffer::Use::output)}), "uninitialised.global");
  EXPECT_EQ(alone([&] { m::load(d.as()); }, {d.buffer(Buffer::Use::inout)}), "");
}

// Two roles of one warp each; the block plan lets `load` arrive once on the barrier.
std::string arrivals(int by_load, int by_compute) {
  BlockPlan plan("rule", Arch::sm90);
  plan.role("load", 1).role("compute", 1).barrier("full", 1, 2, "load", {"load", 1}).region("data", 8192, 1, 1024);
  return verdict(plan, [=] {
    init(1, 2);
    if (m::lane_index() != 0) return;
    for (int i = 0; i < (warp() == 0 ? by_load : by_compute); ++i) m::mbarrier_arrive(bar());
  });
}
TEST(PlanRules, ARoleArrivesAsOftenAsThePlanSays) {
  EXPECT_EQ(arrivals(2, 0), "mbarrier.role_arrivals");
  EXPECT_EQ(arrivals(0, 1), "mbarrier.foreign_arrival");
  EXPECT_EQ(arrivals(1, 0), "");
}

TEST(PlanRules, ABarrierThatIsUsedOnceHasOnePhase) {
  const auto phases = [](int count, bool once) {
    BlockPlan plan("rule", Arch::sm90);
    plan.role("load", 1).barrier("done", 1, 1, "load", {"load", 1}).region("data", 8192, 1, 1024);
    if (once) plan.used_once("done");
    return verdict(plan, [=] {
      init(1, 1);
      if (m::lane_index() != 0) return;
      m::Phase phase = m::Phase::consumer();
      for (int i = 0; i < count; ++i, phase.advance()) {
        m::mbarrier_arrive(bar());
        m::mbarrier_wait(bar(), phase);
      }
    });
  };
  EXPECT_EQ(phases(2, true), "mbarrier.once");
  EXPECT_EQ(phases(1, true), "");
  EXPECT_EQ(phases(2, false), "");
}

// Two copies whose bytes are announced together, or only half of them: then the second lands when the phase is over.
TEST(PlanRules, APhaseWaitsForItsBytes) {
  Device d;
  const auto kernel = [&](uint32_t announced) {
    const BlockPlan plan = block(1);
    simulator::Launch launch;
    launch.plan = &plan;
    launch.buffers = {d.buffer(Buffer::Use::input)};
    Options late;
    late.landing = simulator::Landing::late;
    const simulator::Result r = simulator::run(launch, late, [&] {
      init(1, 1);
      if (thread() != 0) return;
      m::mbarrier_arrive_expect_tx(bar(), announced);
      for (uint32_t i : {0, 1}) m::bulk_load(data(256 * i), d.as<const uint8_t>(256 * i), 256, bar());
      wait();
      if (announced == 512) return;
      m::mbarrier_arrive_expect_tx(bar(), 256);
      m::Phase second = m::Phase::consumer();
      second.advance();
      m::mbarrier_wait(bar(), second);
    });
    if (r.ok()) return std::string();
    collect(r.findings.front());
    return r.findings.front().rule;
  };
  EXPECT_EQ(kernel(256), "mbarrier.tx_phase");
  EXPECT_EQ(kernel(512), "");
}

struct alignas(128) Map {
  TensorMap map = {};
};
// 16 rows of 16 bytes.
Map map_of(Device& d, DType type) {
  Map m;
  TensorBox box;
  box.type = type;
  box.inner = 128 / bits(type);
  box.outer = 2;
  EXPECT_FALSE(simulator::encode_tensor_map(box, d.bytes, 16, 128 / bits(type), m.map));
  return m;
}

TEST(TensorMapRules, AMapIsOneAndHasTheRankOfTheCoordinates) {
  Device d;
  const Map good = map_of(d, DType::fp32), none;
  const auto load = [&](const Map& map, auto coordinates) {
    return alone(
        [&] {
          m::mbarrier_init(bar(), 1);
          m::fence_mbarrier_init();
          m::mbarrier_arrive_expect_tx(bar(), 32);
          m::tma_load(data(), &map.map, coordinates, bar());
          wait();
        },
        {d.buffer(Buffer::Use::input)});
  };
  EXPECT_EQ(load(none, m::Coords<2>{0, 0}), "tma.map");
  EXPECT_EQ(load(good, m::Coords<3>{0, 0, 0}), "tma.rank");
  EXPECT_EQ(load(good, m::Coords<2>{0, 0}), "");
}

// Four rows by their numbers, one of which does not exist; the next four lines of shared memory are not touched.
TEST(TensorMapRules, RowsAreGatheredOneByOne) {
  Device d;
  for (int i = 0; i < 256; ++i) d.bytes[i] = uint8_t(i);
  const auto gather = [&](int box_rows, Arch arch, std::vector<uint8_t>* lines = nullptr) {
    Map map;
    const TensorBox box{DType::fp32, 4, box_rows, Swizzle::b32};
    EXPECT_FALSE(simulator::encode_tensor_map(box, d.bytes, 16, 4, map.map));
    return alone(
        [&, lines] {
          m::mbarrier_init(bar(), 1);
          m::fence_mbarrier_init();
          m::mbarrier_arrive_expect_tx(bar(), uint32_t(64 * box_rows));
          m::tma_gather4(data(), &map.map, m::Coords<5>{{0, 9, 2, -1, 15}}, bar());
          wait();
          if (lines == nullptr) return;
          lines->clear();
          for (uint32_t i = 0; i < 4; ++i) lines->push_back(m::load(data(32 * i)));
        },
        {d.buffer(Buffer::Use::input)}, arch);
  };
  std::vector<uint8_t> lines;
  EXPECT_EQ(gather(1, Arch::sm100, &lines), "");
  EXPECT_EQ(lines, (std::vector<uint8_t>{16 * 9, 16 * 2, 0, 16 * 15}));
  EXPECT_EQ(gather(2, Arch::sm100), "tma.gather");
  EXPECT_EQ(gather(1, Arch::sm90), "tma.gather");
}

TEST(TensorMapRules, OnlySomeTypesAreAdded) {
  Device d;
  const auto add = [&](DType type, bool wait_for_it) {
    const Map map = map_of(d, type);
    return alone(
        [&, wait_for_it] {
          for (int i = 0; i < 8; ++i) m::store(word(i), 0u);
          m::fence_proxy_async();
          m::tma_reduce_add(&map.map, m::Coords<2>{0, 0}, data());
          m::bulk_commit();
          if (wait_for_it) m::bulk_wait();
        },
        {d.buffer(Buffer::Use::inout)});
  };
  EXPECT_EQ(add(DType::e4m3, true), "tma.reduce");
  EXPECT_EQ(add(DType::fp32, false), "exit.pending_store");
  EXPECT_EQ(add(DType::fp32, true), "");
}

TEST(DescriptorRules, AReservedBitOfADescriptorIsReported) {
  constexpr uint64_t reserved = uint64_t(1) << 14;
  EXPECT_EQ(verdict(block(4),
                    [] {
                      m::Accumulator<32> sums;
                      m::wgmma_fence();
                      m::wgmma_ss<DType::bf16>(sums, reserved, reserved, false);
                      m::wgmma_commit();
                      m::wgmma_wait<0>();
                    }),
            "wgmma.descriptor");
  EXPECT_EQ(alone(
                [] {
                  m::tcgen05_mma<MmaKind::f16, 1>(Tmem{0}, reserved, reserved,
                                                  encode_idesc(InstrDesc{.m = 128, .n = 32}), false);
                },
                {}, Arch::sm100),
            "tcgen05.descriptor");
}

TEST(DescriptorRules, TensorMemoryIsThereBeforeItIsUsed) {
  EXPECT_EQ(verdict(block(4, Arch::sm100),
                    [] {
                      m::TmemRegisters<1> r;
                      m::tcgen05_ld<m::TmemShape::b32x32, 1>(r, Tmem{0}.lane(32 * warp()));
                      m::tcgen05_wait_ld();
                    }),
            "tmem.bounds");
}

TEST(DescriptorRules, Tcgen05NeedsItsChipAndAPairItsPeer) {
  EXPECT_EQ(verdict(block(1), [] { m::tcgen05_relinquish<1>(); }), "tcgen05.arch");
  EXPECT_EQ(verdict(block(1, Arch::sm100), [] { m::tcgen05_relinquish<2>(); }), "tcgen05.peer");
}

TEST(ProgressRules, LanesWaitForLanesThatDoNotCome) {
  const auto kernel = [](bool all) {
    return verdict(block(1, Arch::sm90, 2), [=] {
      if (all || m::lane_index() < 16) m::sync_warp();
      m::cluster_arrive();
      m::cluster_wait();
    });
  };
  EXPECT_EQ(kernel(false), "deadlock.partial_warp");
  EXPECT_EQ(kernel(true), "");
}

TEST(ProgressRules, AKernelThatGivesUpIsReported) {
  EXPECT_EQ(alone([] { m::trap("no plan for this case"); }), "trap");
  EXPECT_EQ(alone([] { throw std::runtime_error("no plan for this case"); }), "exception");
}

// Two waves; the copy goes to the LDS.
std::string waves(const std::function<void(const c::BufferResource&)>& body, int count = 2) {
  Device d;
  return verdict(block(count, Arch::gfx950), [&] { body(c::make_buffer(d.as<const uint8_t>(), sizeof d.bytes)); },
                 {d.buffer(Buffer::Use::input)});
}

TEST(WaveRules, RegistersAreFilledBeforeTheyAreUsed) {
  const auto kernel = [](bool load, bool wait) {
    return waves([=](const c::BufferResource& from) {
      c::Fragment a;
      c::Accumulator sums;
      c::clear(sums);
      if (load) c::buffer_load(a, from, c::lane_index() * 16);
      if (wait) c::wait_vm<0>();
      c::mfma_bf16(sums, a, a);
      c::wait_vm<0>();
    });
  };
  EXPECT_EQ(kernel(false, false), "wave.register");
  EXPECT_EQ(kernel(true, false), "wave.register");
  EXPECT_EQ(kernel(true, true), "");
}

TEST(WaveRules, WavesPassTheSameBarriers) {
  const auto kernel = [](uint32_t of_wave_1) {
    return waves([=](const c::BufferResource&) {
      for (uint32_t i = 0; i < (c::wave_index() == 1 ? of_wave_1 : 2); ++i) c::workgroup_barrier();
    });
  };
  EXPECT_EQ(kernel(1), "wave.barriers");
  EXPECT_EQ(kernel(2), "");
}

TEST(WaveRules, AStaggerIsTheOneThatWasProven) {
  const auto kernel = [](bool ahead) {
    return waves([=](const c::BufferResource&) {
      if (c::wave_index() == 0 && ahead) c::workgroup_barrier();
      c::expect_barriers_ahead(c::wave_index() == 0 ? 1 : 0);
      if (c::wave_index() == 1 || !ahead) c::workgroup_barrier();
    });
  };
  EXPECT_EQ(kernel(false), "wave.stagger");
  EXPECT_EQ(kernel(true), "");
}

TEST(WaveRules, ACopyEndsBeforeItsWave) {
  const auto kernel = [](bool wait) {
    return waves([=](const c::BufferResource& from) {
      c::buffer_load_lds(from, c::wave_index() * 1024, c::lane_index() * 16);
      if (wait) c::wait_vm<0>();
    });
  };
  EXPECT_EQ(kernel(false), "exit.pending_copy");
  EXPECT_EQ(kernel(true), "");
}

}  // namespace
}  // namespace warpwright::rules

// Broken machine code is found out, and the sentence names the instruction. The mutations are made in the decoded
// program, so that the compiler cannot repair them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "amd/build.h"
#include "amd/interpreter/interpreter.h"

namespace warpwright::amd {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

struct Exchange {
  std::vector<unsigned> in = std::vector<unsigned>(1024), out = std::vector<unsigned>(1024);
  Launch launch;
  CodeObjectKernel kernel;
  const CodeObject* object = nullptr;

  explicit Exchange(const char* name = "exchange", uint32_t threads = 256) {
    object = &test_kernels("exchange", "gfx950");
    if (const CodeObjectKernel* k = object->find(name)) kernel = *k;
    std::iota(in.begin(), in.end(), 1u);
    launch.threads[0] = threads;
    launch.memory = {{in.data(), in.size() * 4, false}, {out.data(), out.size() * 4, true}};
  }
  template <class... T>
  RunResult run(T... arguments) {
    launch.kernarg.clear();
    const auto add = [&](auto x) {
      const size_t at = launch.kernarg.size();
      launch.kernarg.resize(at + sizeof(x));
      std::memcpy(launch.kernarg.data() + at, &x, sizeof(x));
    };
    (add(arguments), ...);
    launch.kernarg.resize(std::max(launch.kernarg.size(), size_t(kernel.kernarg_bytes)));
    return execute(*object, kernel, launch);
  }
  RunResult run_all() { return run(in.data(), out.data()); }

  // The n-th instruction of which the test is true becomes a s_nop.
  const Instruction& drop(const std::function<bool(const Instruction&)>& test, int n = 0) {
    for (Instruction& in : kernel.code) {
      if (!test(in) || n-- > 0) continue;
      dropped = in;
      in.opcode = "s_nop";
      in.modifiers.clear();
      in.text = "s_nop 0";
      break;
    }
    return dropped;
  }
  Instruction dropped;
};

AssertionResult has(const RunResult& r, Rule rule, const std::vector<std::string>& words) {
  std::string all = r.error;
  for (const Finding& f : r.findings) {
    all += fmt::format("\n{}: {}", word(f.rule), f.text);
    bool good = f.rule == rule;
    for (const std::string& w : words) good = good && f.text.find(w) != std::string::npos;
    if (good) return AssertionSuccess();
  }
  return AssertionFailure() << "no such finding in: " << all;
}

bool waits_for(const Instruction& in, const char* counter) { return in.opcode == "s_waitcnt" && in.wait(counter) >= 0; }

TEST(Hazard, TheUnchangedKernelIsSilent) {
  WW_NEEDS_AMD_TOOLS();
  EXPECT_TRUE(Exchange().run_all().clean());
}

TEST(Hazard, AMissingBarrierIsARace) {
  WW_NEEDS_AMD_TOOLS();
  for (const Completion policy : {Completion::earliest, Completion::latest, Completion::seeded}) {
    Exchange e;
    e.launch.completion = policy;
    e.drop([](const Instruction& in) { return in.opcode == "s_barrier"; });
    ASSERT_EQ(e.dropped.opcode, "s_barrier");
    const RunResult r = e.run_all();
    // Whoever comes second finds it: the reader, or a writer after a reader.
    EXPECT_TRUE(has(r, Rule::lds_raw, {"ds_read", "no barrier lies between them"}) ||
                has(r, Rule::lds_war, {"ds_write", "no barrier lies between them"}) ||
                has(r, Rule::lds_uninitialised, {"ds_read"}));
    EXPECT_FALSE(r.findings.empty());
  }
}

TEST(Hazard, AMissingWaitBeforeTheBarrierIsARace) {
  WW_NEEDS_AMD_TOOLS();
  Exchange e;
  size_t barrier = 0;
  while (e.kernel.code[barrier].opcode != "s_barrier") ++barrier;
  for (size_t i = 0; i < barrier; ++i) {
    // The wait between the LDS store and the barrier; those before it are for the arguments.
    Instruction& in = e.kernel.code[barrier - 1 - i];
    if (in.opcode.rfind("ds_write", 0) == 0) break;
    if (waits_for(in, "lgkmcnt")) in.opcode = "s_nop";
  }
  EXPECT_TRUE(has(e.run_all(), Rule::lds_raw,
                  {"ds_read", "ds_write", "a lgkmcnt wait is missing before the barrier that lies between them"}));
}

TEST(Hazard, ARegisterUsedBeforeItsLoadIsNamed) {
  WW_NEEDS_AMD_TOOLS();
  Exchange scalar;
  scalar.drop([](const Instruction& in) { return waits_for(in, "lgkmcnt"); });
  EXPECT_TRUE(has(scalar.run_all(), Rule::register_in_flight, {"touches s", "s_load_dwordx4", "no lgkmcnt wait"}));
  Exchange vector;
  for (Instruction& in : vector.kernel.code)
    if (waits_for(in, "vmcnt")) in.modifiers.erase("vmcnt");
  EXPECT_TRUE(has(vector.run_all(), Rule::register_in_flight, {"touches v", "global_load_dword", "no vmcnt wait"}));
}

TEST(Hazard, AWaitThatLeavesAScalarLoadInDoubtProvesNothing) {
  WW_NEEDS_AMD_TOOLS();
  // One scalar load in flight: lgkmcnt(1) lets it stay there.
  Exchange e;
  for (Instruction& in : e.kernel.code) {
    if (!waits_for(in, "lgkmcnt")) continue;
    in.modifiers["lgkmcnt"] = {1};
    break;
  }
  EXPECT_TRUE(has(e.run_all(), Rule::register_in_flight, {"s_load_dwordx4"}));
}

TEST(Hazard, MemoryOutsideOfTheBuffersIsNamed) {
  WW_NEEDS_AMD_TOOLS();
  Exchange e;
  e.launch.memory[1].bytes -= 4;
  EXPECT_TRUE(has(e.run_all(), Rule::global_range, {"global_store_dword", "writes 4 bytes", "lane 63"}));
  Exchange constant;
  constant.launch.memory[1].writable = false;
  EXPECT_TRUE(has(constant.run_all(), Rule::global_range, {"that may be written"}));
}

TEST(Hazard, UnwrittenAndForeignLdsIsNamed) {
  WW_NEEDS_AMD_TOOLS();
  Exchange e("unwritten", 64);
  EXPECT_TRUE(has(e.run(e.out.data(), 0u), Rule::lds_uninitialised, {"reads LDS byte 0x0, which nobody has written"}));
  EXPECT_TRUE(has(e.run(e.out.data(), 1000u), Rule::lds_range, {"ds_read", "the workgroup has 0x1000"}));
}

TEST(Hazard, WavesThatDoNotMeetAreNamed) {
  WW_NEEDS_AMD_TOOLS();
  Exchange e("uneven", 128);
  EXPECT_TRUE(has(e.run(e.out.data()), Rule::barrier, {"wave 0", "barrier number 1, wave 1 has ended after 0"}));
}

TEST(Hazard, AnUnknownOpcodeStopsTheRun) {
  WW_NEEDS_AMD_TOOLS();
  Exchange e;
  Instruction& in = e.kernel.code[5];
  in.opcode = "v_dot_product_of_the_future";
  in.text = "v_dot_product_of_the_future v0, v1";
  const RunResult r = e.run_all();
  EXPECT_NE(r.error.find("the opcode v_dot_product_of_the_future is not supported"), std::string::npos) << r.error;
  EXPECT_NE(r.error.find(" at 0x"), std::string::npos) << r.error;
}

TEST(Hazard, AnEndlessLoopStops) {
  WW_NEEDS_AMD_TOOLS();
  Exchange e;
  e.launch.step_limit = 1000;
  Instruction& in = e.kernel.code[10];
  in.opcode = "s_branch";
  in.target = 10;
  EXPECT_NE(e.run_all().error.find("ran 1000 instructions and did not end"), std::string::npos);
}

TEST(Hazard, ALaunchThatTheKernelDoesNotTakeIsRefused) {
  WW_NEEDS_AMD_TOOLS();
  Exchange e;
  e.launch.threads[0] = 512;
  EXPECT_NE(e.run_all().error.find("a workgroup of 512 threads, kernel 'exchange' takes 1 to 256"), std::string::npos);
  e.launch.threads[0] = 256;
  e.launch.kernarg.clear();
  EXPECT_NE(execute(*e.object, e.kernel, e.launch).error.find("0 bytes of arguments"), std::string::npos);
}

}  // namespace
}  // namespace warpwright::amd

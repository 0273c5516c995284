// The order of a compiled loop against its schedule: the shipped kernels keep it, changed ones are told apart with a
// sentence that names the entry and the instruction.
#include "amd/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "amd/shipped.h"

namespace warpwright::amd {
namespace {

std::string first(const OrderReport& r) { return r.mismatches.empty() ? "no mismatch" : r.mismatches.front(); }

testing::AssertionResult says(const OrderReport& r, const std::vector<std::string>& words) {
  for (const std::string& sentence : r.mismatches) {
    bool all = true;
    for (const std::string& w : words) all = all && sentence.find(w) != std::string::npos;
    if (all) return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << first(r);
}

std::string address(const Instruction& in) {
  char text[32];
  std::snprintf(text, sizeof(text), "%#llx", static_cast<unsigned long long>(in.address));
  return text;
}

bool starts(const Instruction& in, const char* prefix) { return in.opcode.rfind(prefix, 0) == 0; }

TEST(Order, EveryShippedKernelKeepsItsSchedule) {
  WW_NEEDS_AMD_TOOLS();
  for (const Shipped& s : shipped_kernels()) {
    const ShippedKernel k(s);
    ASSERT_TRUE(k.loaded()) << s.name;
    const OrderReport r = compare_order(k.kernel, k.order);
    EXPECT_TRUE(r.ok()) << s.name << " on " << s.chip << ": " << first(r);
    EXPECT_EQ(r.copies, 1);
    EXPECT_GT(r.events, 40);
    EXPECT_GT(r.dataflow, 200) << s.name;
    EXPECT_EQ(k.kernel.vgpr_spills, 0);
    EXPECT_EQ(k.kernel.scratch_bytes, 0);
  }
}

TEST(Order, AnotherWaitValueNamesTheEntry) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k({"matmul_pingpong_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const auto waits = k.in_loop([](const Instruction& in) { return in.wait("vmcnt") >= 0; });
  ASSERT_FALSE(waits.empty());
  Instruction& in = k.kernel.code[waits[0]];
  const int was = in.wait("vmcnt");
  in.modifiers["vmcnt"] = {was + 1};
  EXPECT_TRUE(says(compare_order(k.kernel, k.order),
                   {"VM" + std::to_string(was) + " waits for vmcnt(" + std::to_string(was) + ")", address(in)}));
}

TEST(Order, AMissingBarrierNamesWhatComesInstead) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k({"matmul_4wave_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const auto barriers = k.in_loop([](const Instruction& in) { return in.opcode == "s_barrier"; });
  ASSERT_FALSE(barriers.empty());
  make_nop(k.kernel.code[barriers[0]]);
  EXPECT_TRUE(says(compare_order(k.kernel, k.order), {"BAR is 1 x barrier, and 0 were found: next is"}));
}

TEST(Order, SwappedInstructionsAreFound) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k({"matmul_pingpong_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const auto loads = k.in_loop([](const Instruction& in) { return in.has("lds"); });
  const auto multiplies = k.in_loop([](const Instruction& in) { return starts(in, "v_mfma"); });
  ASSERT_FALSE(loads.empty());
  ASSERT_FALSE(multiplies.empty());
  std::swap(k.kernel.code[loads[0]], k.kernel.code[multiplies[0]]);
  EXPECT_TRUE(says(compare_order(k.kernel, k.order), {"entry", "were found", "next is"}));
}

TEST(Order, AnotherPriorityIsFound) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k({"matmul_pingpong_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const auto priorities = k.in_loop([](const Instruction& in) { return in.opcode == "s_setprio"; });
  ASSERT_FALSE(priorities.empty());
  Instruction& in = k.kernel.code[priorities[0]];
  in.operands[0].value = 1 - in.operands[0].value;
  EXPECT_TRUE(says(compare_order(k.kernel, k.order), {"sets priority", address(in)}));
}

TEST(Order, AFragmentOfTheWrongHalfIsFound) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k({"matmul_4wave_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  // The registers of two fragment reads change places: the order is the same, what is multiplied is not.
  const auto reads = k.in_loop([](const Instruction& in) { return starts(in, "ds_read_b128"); });
  ASSERT_GE(reads.size(), 8u);
  std::swap(k.kernel.code[reads.front()].operands[0], k.kernel.code[reads.back()].operands[0]);
  EXPECT_TRUE(says(compare_order(k.kernel, k.order), {"MMA", "v_mfma", "has loaded; the schedule says otherwise"}));
}

// What a compiler did to a kernel of ours: both halves of a fragment were the low one.
TEST(Order, AFragmentThatIsMultipliedInPartIsFound) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k({"matmul_default_bf16", "gfx942"});
  ASSERT_TRUE(k.loaded());
  for (const size_t i : k.in_loop([](const Instruction& in) { return starts(in, "v_mfma"); })) {
    Operand& fragment = k.kernel.code[i].operands[1];
    if (fragment.index % 4 >= 2) fragment.index = int16_t(fragment.index - 2);
  }
  const OrderReport r = compare_order(k.kernel, k.order);
  EXPECT_TRUE(says(r, {"ds_read", "which nothing uses"}) || says(r, {"the schedule says otherwise"}));
}

// Runs the kernel and compares all that its waves did.
std::vector<std::string> run_mismatches(const ShippedKernel& k, const CodeObjectKernel& kernel) {
  return prove_matmul(*k.object, kernel, k.config).run_mismatches;
}

TEST(Order, PrologueAndEpilogueAreComparedToo) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k({"matmul_pingpong_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  EXPECT_TRUE(run_mismatches(k, k.kernel).empty());
  const Loop loop = hot_loop(k.kernel);
  int before = 0, behind = 0;
  for (size_t i = 0; i < k.kernel.code.size(); ++i) {
    if (int(i) >= loop.first && int(i) <= loop.last) continue;
    CodeObjectKernel changed = k.kernel;
    Instruction& in = changed.code[i];
    if (in.wait("vmcnt") >= 0) {
      in.modifiers["vmcnt"] = {in.wait("vmcnt") + 1};
    } else if (in.opcode == "s_setprio") {
      in.operands[0].value = 3;
    } else {
      continue;
    }
    const std::vector<std::string> mismatches = run_mismatches(k, changed);
    if (mismatches.empty()) continue;
    EXPECT_NE(mismatches[0].find("wave 0: entry"), std::string::npos) << mismatches[0];
    ++(int(i) < loop.first ? before : behind);
  }
  EXPECT_GT(before, 0);
  EXPECT_GT(behind, 0);
}

TEST(Order, TheStaggerOfTheGroupsIsPartOfTheRun) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k({"matmul_pingpong_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const MatmulRun r = run_matmul(*k.object, k.kernel, k.config, {64, 64, 4 * 64, 1, 0, true}, Completion::latest);
  ASSERT_TRUE(r.passed());
  ASSERT_EQ(r.run.trace.size(), 8u);
  const schedule::Pipeline p = matmul_pipeline(k.config);
  for (const bool trailing : {false, true}) {
    EXPECT_TRUE(compare_trace(k.kernel, r.run.trace[0], expected_run(p, 4, trailing)).empty() == !trailing);
    EXPECT_TRUE(compare_trace(k.kernel, r.run.trace[7], expected_run(p, 4, trailing)).empty() == trailing);
  }
  EXPECT_FALSE(compare_trace(k.kernel, r.run.trace[0], expected_run(p, 5, false)).empty());
}

TEST(Order, AnAccumulatorOfAnotherQuadrantIsFound) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k({"matmul_4wave_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const auto multiplies = k.in_loop([](const Instruction& in) { return starts(in, "v_mfma"); });
  ASSERT_GE(multiplies.size(), 32u);
  k.kernel.code[multiplies.front()].operands[3] = k.kernel.code[multiplies.back()].operands[0];
  EXPECT_TRUE(says(compare_order(k.kernel, k.order), {"belongs to another part of the accumulator"}));
}

TEST(Order, ALoadThroughTheOtherDescriptorIsFound) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k({"matmul_pingpong_e4m3", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const auto loads = k.in_loop([](const Instruction& in) { return in.has("lds"); });
  ASSERT_FALSE(loads.empty());
  Instruction& one = k.kernel.code[loads[0]];
  for (const size_t i : loads) {
    if (k.kernel.code[i].operands[1].index == one.operands[1].index) continue;
    one.operands[1] = k.kernel.code[i].operands[1];
    break;
  }
  EXPECT_TRUE(says(compare_order(k.kernel, k.order), {"uses the descriptor of the other operand"}));
}

TEST(Order, ASpillInTheLoopIsFound) {
  WW_NEEDS_AMD_TOOLS();
  ShippedKernel k({"matmul_default_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  const auto spare = k.in_loop([](const Instruction& in) { return starts(in, "v_add"); });
  ASSERT_FALSE(spare.empty());
  Instruction& in = k.kernel.code[spare[0]];
  in.opcode = "scratch_store_dword";
  EXPECT_TRUE(says(compare_order(k.kernel, k.order), {"the loop spills", address(in)}));
}

TEST(Order, AnotherSchedulesKernelIsRefused) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel four({"matmul_4wave_bf16", "gfx950"}), ping({"matmul_pingpong_bf16", "gfx950"});
  ASSERT_TRUE(four.loaded() && ping.loaded());
  EXPECT_FALSE(compare_order(four.kernel, ping.order).ok());
  EXPECT_FALSE(compare_order(ping.kernel, four.order).ok());
}

TEST(Order, AKernelWithoutALoopIsRefused) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel four({"matmul_4wave_bf16", "gfx950"});
  const CodeObjectKernel* kernel = test_kernels("exchange", "gfx950").find("exchange");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(says(compare_order(*kernel, four.order), {"kernel 'exchange' has no loop with a matrix instruction"}));
}

// What the compiler may do and is not wrong.
TEST(Order, ARotatedLoopIsRecognised) {
  WW_NEEDS_AMD_TOOLS();
  const ShippedKernel k({"matmul_4wave_bf16", "gfx950"});
  ASSERT_TRUE(k.loaded());
  for (size_t r = 1; r < k.order.entries.size(); ++r) {
    ExpectedOrder rotated = k.order;
    std::rotate(rotated.entries.begin(), rotated.entries.begin() + long(r), rotated.entries.end());
    const OrderReport report = compare_order(k.kernel, rotated);
    EXPECT_TRUE(report.ok()) << r << ": " << first(report);
  }
}

}  // namespace
}  // namespace warpwright::amd

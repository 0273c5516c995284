// Reading code objects and lines of disassembly.
#include "amd/program.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>

#include "amd/build.h"

namespace warpwright::amd {
namespace {

Instruction parsed(const std::string& text) {
  Instruction in;
  EXPECT_TRUE(parse_line("\t" + text + "  // 000000001600: C00A0500", in));
  return in;
}

TEST(ParseLine, TakesOperandsApart) {
  const Instruction in = parsed("v_mfma_f32_32x32x16_bf16 a[0:15], v[4:7], a[20:23], 1.0");
  EXPECT_EQ(in.opcode, "v_mfma_f32_32x32x16_bf16");
  EXPECT_EQ(in.address, 0x1600u);
  ASSERT_EQ(in.operands.size(), 4u);
  EXPECT_EQ(in.operands[0].place, Place::agpr);
  EXPECT_EQ(in.operands[0].count, 16);
  EXPECT_EQ(in.operands[1].place, Place::vgpr);
  EXPECT_EQ(in.operands[1].index, 4);
  EXPECT_EQ(in.operands[2].index, 20);
  EXPECT_EQ(in.operands[3].value, 0x3f800000);
}

TEST(ParseLine, SeparatesModifiersFromTheLastOperand) {
  const Instruction in = parsed("buffer_load_dwordx4 v66, s[8:11], s21 offen offset:2048 lds");
  ASSERT_EQ(in.operands.size(), 3u);
  EXPECT_EQ(in.operands[2].index, 21);
  EXPECT_TRUE(in.has("lds"));
  EXPECT_TRUE(in.has("offen"));
  EXPECT_EQ(in.modifier("offset"), 2048);
  EXPECT_EQ(parsed("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel:[0,1,0] op_sel_hi:[1,0,1]").modifiers["op_sel"],
            (std::vector<int>{0, 1, 0}));
}

TEST(ParseLine, ReadsBothCountersOfAWait) {
  const Instruction in = parsed("s_waitcnt vmcnt(12) lgkmcnt(0)");
  EXPECT_EQ(in.wait("vmcnt"), 12);
  EXPECT_EQ(in.wait("lgkmcnt"), 0);
  EXPECT_EQ(in.wait("expcnt"), -1);
  EXPECT_TRUE(in.operands.empty());
}

TEST(ParseLine, KnowsSpecialRegistersAndSourceModifiers) {
  const Instruction in = parsed("v_cndmask_b32_e64 v1, -v2, |v3|, vcc");
  EXPECT_EQ(in.opcode, "v_cndmask_b32");
  EXPECT_TRUE(in.operands[1].negate);
  EXPECT_TRUE(in.operands[2].absolute);
  EXPECT_EQ(in.operands[3].index, kVccIndex);
  EXPECT_EQ(in.operands[3].count, 2);
  EXPECT_EQ(parsed("s_addc_u32 s15, s15, lit(0xffffffff)").operands[2].value, 0xffffffff);
  EXPECT_EQ(parsed("s_mov_b32 m0, s18").operands[0].index, kM0Index);
  EXPECT_EQ(parsed("s_add_i32 s0, s0, -16").operands[2].value, -16);
  const Instruction sdwa = parsed(
      "v_add_u32_sdwa v0, v1, sext(v2) dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
      "src0_sel:BYTE_2 src1_sel:WORD_0");
  EXPECT_TRUE(sdwa.sdwa);
  EXPECT_EQ(sdwa.operands[1].part, Part::byte2);
  EXPECT_TRUE(sdwa.operands[2].extend);
  EXPECT_EQ(sdwa.modifier("dst_unused"), 2);
}

TEST(LoadCodeObject, RefusesWhatIsNoneWithASentence) {
  EXPECT_NE(load_code_object("/does/not/exist").status().message().find("cannot read"), std::string::npos);
  EXPECT_NE(load_code_object("/proc/self/exe").status().message().find("another machine than AMDGPU"),
            std::string::npos);
  WW_NEEDS_AMD_TOOLS();
  const std::string path = BuildFolder::instance().file("text");
  std::ofstream(path) << "not an object";
  EXPECT_NE(load_code_object(path).status().message().find("not a 64-bit ELF file"), std::string::npos);
}

TEST(LoadCodeObject, SurvivesATruncatedFile) {
  WW_NEEDS_AMD_TOOLS();
  test_kernels("exchange", "gfx950");
  std::ifstream whole(BuildFolder::instance().file("exchange.gfx950.co"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(whole), std::istreambuf_iterator<char>()};
  ASSERT_GT(bytes.size(), 1000u);
  for (size_t n = 16; n < bytes.size(); n += bytes.size() / 23) {
    const std::string path = BuildFolder::instance().file("cut.co");
    std::ofstream(path, std::ios::binary) << bytes.substr(0, n);
    EXPECT_FALSE(load_code_object(path)) << n << " of " << bytes.size() << " bytes";
  }
}

TEST(LoadCodeObject, ReadsDescriptorAndMetadata) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObject& object = test_kernels("multiply", "gfx950");
  EXPECT_EQ(object.chip, Chip::gfx950);
  const CodeObjectKernel* kernel = object.find("many_accumulators");
  ASSERT_NE(kernel, nullptr);
  EXPECT_GE(kernel->agprs, 320 - 256);
  EXPECT_EQ(kernel->vgpr_spills, 0);
  EXPECT_EQ(kernel->max_workgroup, 64);
  EXPECT_EQ(kernel->kernarg_bytes, 28);
  EXPECT_EQ(kernel->code.front().address, kernel->entry);
  const CodeObjectKernel* exchange = test_kernels("exchange", "gfx950").find("exchange");
  ASSERT_NE(exchange, nullptr);
  EXPECT_EQ(exchange->lds_bytes, 4096);
}

TEST(LoadCodeObject, ResolvesBranchesToInstructions) {
  WW_NEEDS_AMD_TOOLS();
  const CodeObjectKernel* kernel = test_kernels("lanes", "gfx950").find("mixed");
  ASSERT_NE(kernel, nullptr);
  int branches = 0;
  for (const Instruction& in : kernel->code) {
    if (in.opcode.find("branch") == std::string::npos) continue;
    ++branches;
    EXPECT_GE(in.target, 0) << in.text;
    EXPECT_LT(in.target, int64_t(kernel->code.size()));
  }
  EXPECT_GT(branches, 2);
}

}  // namespace
}  // namespace warpwright::amd

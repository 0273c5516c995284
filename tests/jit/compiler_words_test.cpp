// What g++ 12 and clang++ 22 print of mistakes in a kernel, as one sentence with the user's own line.
#include "jit/compiler_words.h"

#include <gtest/gtest.h>

#include <string>

namespace warpwright::jit {
namespace {

const std::string kHeaders = "/opt/ww/include";

std::string text(const std::string& output) { return first_error(output, kHeaders).text(); }

TEST(CompilerWords, NameTheBarrierThatThePlanDoesNotHave) {
  const std::string sentence = "mine/row.h:75: this does not compile: the plan has no barrier 'x.ful'";
  EXPECT_EQ(
      text("In file included from mine/row.h:6,\n"
           "                 from mine/row.cpp:2:\n"
           "mine/row.h:75:43:   in 'constexpr' expansion of 'your::Row::plan.warpwright::BlockPlan::barrier(((const "
           "char*)\"x.ful\"))'\n"
           "/opt/ww/include/warpwright/core/block_plan.h:146:86:   in 'constexpr' expansion of 'find_by_name(...)'\n"
           "/opt/ww/include/warpwright/core/block_plan.h:77:15: error: call to non-'constexpr' function 'void "
           "warpwright::detail::no_such_name()'\n"),
      sentence);
  // Another name of the same line is not taken for it.
  EXPECT_EQ(
      text("./mine/row.h:75:24: error: constexpr variable 'full' must be initialized by a constant expression\n"
           "   75 |  f(plan.barrier(\"x.empty\").offset, plan.barrier(\"x.ful\").offset);\n"
           "/opt/ww/include/warpwright/core/block_plan.h:77:3: note: non-constexpr function 'no_such_name' cannot "
           "be used in a constant expression\n"
           "./mine/row.h:75:31: note: in call to 'plan.barrier(&\"x.ful\"[0])'\n"),
      sentence);
}

TEST(CompilerWords, NameTheBarrierWhoseArrivalsDoNotAddUp) {
  const std::string sentence =
      "mine/row.h:73: this does not compile: plan: the arrivals of the roles must sum to the barrier's count "
      "('x.empty': 4 arrivals, a count of 3)";
  EXPECT_EQ(
      text("/opt/ww/include/warpwright/core/block_plan.h: In instantiation of 'struct "
           "warpwright::detail::PlanArrivals<warpwright::PlanName{\"x.empty\"}, 4, 3>':\n"
           "/opt/ww/include/warpwright/core/block_plan.h:257:43:   required from 'check_block_plan()'\n"
           "mine/row.h:73:31:   required from here\n"
           "mine/main.h:12:1:   required from here\n"
           "/opt/ww/include/warpwright/core/block_plan.h:229:26: error: static assertion failed: plan: the arrivals "
           "of the roles must sum to the barrier's count\n"),
      sentence);
  // clang++ writes a short name as its characters.
  EXPECT_EQ(
      text("/opt/ww/include/warpwright/core/block_plan.h:234:17: error: static assertion failed due to requirement "
           "'PlanName{\"x.empty\"}.empty()': plan: a barrier names a role that the plan does not have\n"
           "/opt/ww/include/warpwright/core/block_plan.h:249:10: note: in instantiation of template class "
           "'warpwright::detail::PlanRole<PlanName{\"x.empty\"}, PlanName{{108, 111, 100, 0, 0}}>' requested here\n"
           "./mine/row.h:73:5: note: in instantiation of function 'check_block_plan' requested here\n"),
      "mine/row.h:73: this does not compile: plan: a barrier names a role that the plan does not have "
      "('x.empty', 'lod')");
}

TEST(CompilerWords, TakeTheErrorThatIsFirstAndNotAWarningBeforeIt) {
  EXPECT_EQ(
      text("mine/row.h:3:1: warning: no new line [-Wall]\nmine/row.h:4:5: error: 'y' was not declared in this scope\n"
           "mine/row.h:9:5: error: 'z' was not declared in this scope\n"),
      "mine/row.h:4: this does not compile: 'y' was not declared in this scope");
  EXPECT_EQ(text("g++: fatal error: no input files\n"), "this does not compile: no input files");
  EXPECT_EQ(text("Killed\n"), "this does not compile: the compiler's words are above");
}

TEST(CompilerWords, TellReceiptsFromOtherThingsThatNobodyUses) {
  const auto strict = messages_of(
      "mine/row.h:8:9: error: unused variable 'n' [-Werror=unused-variable]\n"
      "mine/row.h:9:9: error: unused variable 'receipt' [-Werror=unused-variable]\n");
  ASSERT_TRUE(only_unused(strict));
  const auto receipts =
      unused_receipts(strict, messages_of("mine/row.h:8:9: warning: unused variable 'n' [-Wunused-variable]\n"));
  ASSERT_EQ(receipts.size(), 1u);
  EXPECT_EQ(receipts[0].line, 9);
  const std::string dropped =
      "mine/row.h:9:9: error: ignoring returned value, declared with attribute 'nodiscard': 'linear: a receipt is only "
      "ever returned: end the body in return stdx::move(handle).release();' [-Werror=unused-result]\n";
  EXPECT_EQ(text(dropped),
            "mine/row.h:9: this does not compile: linear: a receipt is only ever returned: end the body in return "
            "stdx::move(handle).release()");
  EXPECT_EQ(
      unused_receipts(messages_of(dropped), messages_of("mine/row.h:9:9: warning: ignoring returned value\n")).size(),
      1u);
  EXPECT_FALSE(only_unused(messages_of("mine/row.h:8:9: error: 'n' was not declared in this scope\n")));
  EXPECT_FALSE(only_unused({}));
}

}  // namespace
}  // namespace warpwright::jit

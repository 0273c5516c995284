// Every synchronization that the Blackwell warps and rings perform, dropped or altered: each mutant is reported, except
// for those that change nothing, which are listed with the reason.
#include <string>

#include "sim/blackwell_kernel.h"
#include "sim/generated.h"

namespace warpwright::blackwell {
namespace {

using generated::describe;
using simulator::Fault;

struct Equivalent {
  Form form;
  std::string mutant;
};
const Equivalent kEquivalent[] = {
    // The epilogue's arrival on the same barrier comes after the completion of the same MMAs.
    {Form::k_scaled, "postpone tcgen05_commit input.empty by mma"},
    {Form::k_scaled_raw, "postpone tcgen05_commit input.empty by mma"},
};

template <Case C>
void expect_all_reported(size_t at_least) {
  simulator::Options list;
  list.list_fault_sites = true;
  const Outcome clean = execute<C>(list, 4, 3);
  ASSERT_TRUE(clean.run.ok()) << clean.text();
  const auto mutants = generated::mutants_of(Kernel<C>::plan, clean.run.fault_sites);
  EXPECT_GE(mutants.size(), at_least);
  for (const Fault& f : mutants) {
    const Outcome out = explore<C>({f}, 4, 3);
    EXPECT_EQ(out.wrong, 0) << "a silent wrong result: " << describe(f);
    bool excused = false;
    for (const Equivalent& e : kEquivalent) excused |= e.form == C.form && e.mutant == describe(f);
    EXPECT_NE(out.run.ok(), !excused) << "form " << int(C.form) << " cta_group " << C.cta_group << ": " << describe(f)
                                      << (excused ? " is reported, and listed as equivalent" : " is not reported");
  }
}

TEST(GeneratedMutants, OfTheFlatWarps) {
  expect_all_reported<Case{.form = Form::k_scaled}>(30);
  expect_all_reported<Case{.form = Form::linear, .cta_group = 2}>(30);
}
TEST(GeneratedMutants, OfTheScopedWarps) {
  expect_all_reported<Case{.form = Form::scoped}>(30);
  expect_all_reported<Case{.form = Form::k_scaled_raw, .cta_group = 2}>(30);
}

}  // namespace
}  // namespace warpwright::blackwell

// Every case of the corpus: the mutant is reported with the right diagnosis, its correct twin is silent.
#include "corpus.h"

#include <gtest/gtest.h>

namespace warpwright::mutants {

constexpr int kSeeds = 2;  // `warpwright check --seeds 200` sweeps further

class Corpus : public testing::TestWithParam<size_t> {};

TEST_P(Corpus, MutantIsDiagnosedAndTwinIsSilent) {
  const Mutant& m = corpus()[GetParam()];
  const CaseResult r = judge(m, kSeeds);
  EXPECT_FALSE(r.false_alarm) << m.id << ": the correct kernel was reported\n" << r.report;
  EXPECT_TRUE(r.caught) << m.id << " (" << m.mutation << ") was not found in " << r.runs << " runs";
  EXPECT_TRUE(!r.caught || r.diagnosed) << m.id << " (" << m.mutation << ") was found as " << r.diagnosis << "\n"
                                        << r.report;
}

std::string name(const testing::TestParamInfo<size_t>& info) {
  std::string s = corpus()[info.param].id;
  for (char& c : s)
    if (c == '.') c = '_';
  return s;
}
INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::Range<size_t>(0, corpus().size()), name);

}  // namespace warpwright::mutants

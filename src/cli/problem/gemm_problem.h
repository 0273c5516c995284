// The problem options of a command line as a problem of the host API.
#pragma once
#include <string>
#include <vector>

#include "cli/problem/problem_options.h"
#include "warpwright/gemm.h"

namespace warpwright::cli {

// The words of --epilogue and of --scaling that a dense product has.
std::vector<std::string> dense_epilogues();
std::vector<std::string> dense_scalings();
// Whether --epilogue is a formula, and its text: "+quantize" may follow it.
bool is_formula(const std::string& epilogue);
std::string formula_of(const std::string& epilogue);
// An epilogue and a scaling are such words joined by '+': bias+relu, tensor+promoted. Throws UsageError for other
// words, and for what the architecture of the options refuses.
GemmProblem gemm_problem_of(const ProblemOptions& options);
// "512x512x256 bf16", with the batch where there is one.
std::string problem_text(const GemmProblem& problem);

}  // namespace warpwright::cli

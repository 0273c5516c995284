// `schedule verify --isa`: the proof continued on the machine code that was made from the schedule.
#pragma once
#include <string>
#include <vector>

#include "amd/matmul.h"
#include "cli/output.h"

namespace warpwright::cli {

// Every matmul kernel of the code object that is made from the schedule. Throws UsageError where the file is none, is
// for another chip or has no such kernel, MissingError where the disassembler is missing.
std::vector<amd::MatmulProof> prove_code_object(const std::string& path, const std::string& schedule,
                                                const std::string& target);

Json isa_document(const std::vector<amd::MatmulProof>& proofs);
void print_isa(const std::vector<amd::MatmulProof>& proofs, Output& out);
bool all_proven(const std::vector<amd::MatmulProof>& proofs);

}  // namespace warpwright::cli

// The GPU of this machine, as the commands see it.
#pragma once
#include <optional>
#include <string>

#include "cli/problem/problem_options.h"
#include "gpu/executor.h"
#include "warpwright/core/address.h"

namespace warpwright::cli {

// Nothing: there is none that runs kernels of ours, or it is NVIDIA's and CUDA is switched off.
std::optional<gpu::Device> gpu_here();

// Whether this build has device code and the GPU runs the kernels of the architecture. Every GPU of NVIDIA runs those
// of mma.sync.
bool runs_here(Arch arch);
// Throws MissingError, with what is lacking, where it does not. `target` is what the user calls it.
void require_here(Arch arch, const std::string& target);

// What is said about results of the GPU here (gpu::never_run_note); empty where there is nothing to say.
std::string note_here();

// Says which architecture --target gpu means, and auto where the options say no other and its kernels run here. Throws
// MissingError for gpu where there is none.
void resolve_target(ProblemOptions& options);

}  // namespace warpwright::cli

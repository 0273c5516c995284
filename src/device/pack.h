// Launching the kernel that packs rows for the TMA. No CUDA header is needed to include this; the definition exists
// where WW_HAVE_CUDA is set.
#pragma once
#include <optional>
#include <string>

#include "warpwright/kernel/config_pack.h"

namespace warpwright::device {

// The configurations that are compiled.
inline constexpr PackRowsConfig kPackRowsSm90[] = {{.element_bytes = 1}, {.element_bytes = 2}};

// Nothing: the kernel was put on the stream, a cudaStream_t. Otherwise a sentence. `max_ctas` limits the grid; 0: as
// many as fit the device.
std::optional<std::string> launch_pack_rows_sm90(int element_bytes, const PackRowsArgs& args, void* stream,
                                                 int max_ctas = 0);

}  // namespace warpwright::device

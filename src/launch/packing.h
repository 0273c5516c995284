// The launch that copies operands to where the TMA can address them.
#pragma once
#include "choice/packing.h"
#include "warpwright/kernel/sm90/pack_rows_config.h"

namespace warpwright::launch {

// `copies` is memory of packing.bytes().
PackRowsArgs pack_arguments(const problem::Lowered& low, const choice::Packing& packing, const GemmPointers& pointers,
                            void* copies);
// The pointers that the kernel gets: copies in place of what was copied.
GemmPointers packed_pointers(const choice::Packing& packing, GemmPointers pointers, void* copies);

}  // namespace warpwright::launch

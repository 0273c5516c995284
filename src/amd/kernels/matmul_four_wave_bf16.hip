#include "amd/kernels/instance.h"

WW_CDNA_KERNEL(matmul_four_wave_bf16, .arch = WW_CDNA_ARCH, .variant = warpwright::CdnaVariant::four_wave,
               .type = warpwright::DType::bf16)

#include "amd/kernels/instance.h"

WW_CDNA_KERNEL(matmul_four_wave_fp8, .arch = WW_CDNA_ARCH, .variant = warpwright::CdnaVariant::four_wave,
               .type = warpwright::DType::e4m3)

#include "amd/kernels/instance.h"

WW_CDNA_KERNEL(matmul_default_bf16, .arch = WW_CDNA_ARCH, .variant = warpwright::CdnaVariant::standard,
               .type = warpwright::DType::bf16)

#include "amd/kernels/instance.h"

WW_CDNA_KERNEL(matmul_ping_pong_fp8, .arch = WW_CDNA_ARCH, .variant = warpwright::CdnaVariant::ping_pong,
               .type = warpwright::DType::e4m3)

# The CDNA kernels as linked code objects, cdna/ARCH/KERNEL.co in the build folder. clang compiles them without ROCm; it
# links with the lld of its own version.
find_program(WARPWRIGHT_CLANG_CDNA NAMES clang++-22 DOC "clang 22, for the AMD targets")
find_program(WARPWRIGHT_LLD_CDNA NAMES ld.lld-22 DOC "lld 22, for the AMD targets")
if(NOT WARPWRIGHT_CLANG_CDNA OR NOT WARPWRIGHT_LLD_CDNA)
  message(STATUS "CDNA kernels: clang++-22 or ld.lld-22 was not found, no code objects")
  return()
endif()

# Schedules are made in constant evaluation, which takes more steps than clang allows unasked.
set(cdna_flags -x hip -nogpuinc -nogpulib --offload-device-only --no-gpu-bundle-output -std=c++20 -O3
  -fconstexpr-steps=1000000000 -Wall -Wextra -Werror "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src")
# The driver writes no dependency file when it links, so the rooms that these kernels include are named.
file(GLOB cdna_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/amd/kernels/*.h"
  "${PROJECT_SOURCE_DIR}/include/warpwright/core/*.h" "${PROJECT_SOURCE_DIR}/include/warpwright/schedule/*.h"
  "${PROJECT_SOURCE_DIR}/include/warpwright/kernel/cdna/*.h" "${PROJECT_SOURCE_DIR}/include/warpwright/machine/cdna.h"
  "${PROJECT_SOURCE_DIR}/include/warpwright/machine/amdgcn/*.h")
set(cdna_objects)
function(warpwright_cdna architecture)
  foreach(kernel IN LISTS ARGN)
    set(object "${PROJECT_BINARY_DIR}/cdna/${architecture}/${kernel}.co")
    set(source "${PROJECT_SOURCE_DIR}/src/amd/kernels/${kernel}.hip")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/cdna/${architecture}"
      COMMAND "${WARPWRIGHT_CLANG_CDNA}" ${cdna_flags} --offload-arch=${architecture} "${source}" -o "${object}"
      DEPENDS "${source}" ${cdna_headers} COMMENT "CDNA kernel ${kernel} for ${architecture}" VERBATIM)
    list(APPEND cdna_objects "${object}")
  endforeach()
  set(cdna_objects "${cdna_objects}" PARENT_SCOPE)
endfunction()
warpwright_cdna(gfx950 matmul_ping_pong_bf16 matmul_ping_pong_fp8 matmul_four_wave_bf16 matmul_four_wave_fp8
  matmul_default_bf16 matmul_default_fp8)
# 64 KiB of LDS and no 16-byte LDS DMA: only the kernel that goes through registers.
warpwright_cdna(gfx942 matmul_default_bf16 matmul_default_fp8)
add_custom_target(warpwright_cdna ALL DEPENDS ${cdna_objects})

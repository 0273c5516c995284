# The CDNA kernels as linked code objects, cdna/ARCH/KERNEL.co in the build folder and rows in the table of images. clang
# compiles them without ROCm; it links with the lld of its own version.
#
# Schedules are made in constant evaluation, which takes more steps than clang allows unasked. Version 5 of code objects
# is that of ROCm 6 and is loaded by ROCm 7; clang 22 would make version 6, which the first ROCm 6 does not know. `check`
# compiles with the same flags.
set(WARPWRIGHT_CDNA_FLAGS -x hip -nogpuinc -nogpulib --offload-device-only --no-gpu-bundle-output -mcode-object-version=5
  -std=c++20 -O3 -fconstexpr-steps=1000000000)
find_program(WARPWRIGHT_CLANG_CDNA NAMES clang++-22 DOC "clang 22, for the AMD targets")
find_program(WARPWRIGHT_LLD_CDNA NAMES ld.lld-22 DOC "lld 22, for the AMD targets")
if(NOT WARPWRIGHT_CLANG_CDNA OR NOT WARPWRIGHT_LLD_CDNA)
  message(STATUS "CDNA kernels: clang++-22 or ld.lld-22 was not found, no code objects")
  return()
endif()

set(cdna_flags ${WARPWRIGHT_CDNA_FLAGS} -Wall -Wextra -Werror "-I${PROJECT_SOURCE_DIR}/include")
# The driver writes no dependency file when it links, so the rooms that these kernels include are named.
file(GLOB cdna_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/warpwright/core/*.h"
  "${PROJECT_SOURCE_DIR}/include/warpwright/schedule/*.h" "${PROJECT_SOURCE_DIR}/include/warpwright/kernel/instance*.h"
  "${PROJECT_SOURCE_DIR}/include/warpwright/kernel/cdna/*.h" "${PROJECT_SOURCE_DIR}/include/warpwright/machine/cdna.h"
  "${PROJECT_SOURCE_DIR}/include/warpwright/machine/amdgcn/*.h")
warpwright_names(CODE_OBJECT cdna_names)
warpwright_sources(hip "${cdna_names}" cdna_sources)
set(cdna_objects)
foreach(name source IN ZIP_LISTS cdna_names cdna_sources)
  # gfx950/matmul-pingpong/bf16 is the kernel matmul_pingpong_bf16 for gfx950.
  string(REGEX MATCH "^[^/]+" architecture "${name}")
  string(REGEX REPLACE "^[^/]+/(.+)$" "\\1" kernel "${name}")
  string(REGEX REPLACE "[/-]" "_" kernel "${kernel}")
  set(object "${PROJECT_BINARY_DIR}/cdna/${architecture}/${kernel}.co")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/cdna/${architecture}")
  add_custom_command(OUTPUT "${object}"
    COMMAND "${WARPWRIGHT_CLANG_CDNA}" ${cdna_flags} --offload-arch=${architecture} -DWW_INSTANCE_NAME=${kernel}
      "${source}" -o "${object}"
    DEPENDS "${source}" ${cdna_headers} COMMENT "CDNA kernel ${kernel} for ${architecture}" VERBATIM)
  list(APPEND cdna_objects "${object}")
  list(APPEND image_rows "${name}|${architecture}")
  list(APPEND image_files "${object}")
endforeach()
add_custom_target(warpwright_cdna ALL DEPENDS ${cdna_objects})

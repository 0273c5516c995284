# What every target of the project is compiled with. Targets ask for it by linking warpwright_flags; nothing here reaches
# an installed consumer.
add_library(warpwright_flags INTERFACE)
target_compile_options(warpwright_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall>
  $<$<COMPILE_LANGUAGE:CXX>:-Wextra>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms inside {fmt} 9 when g++ 12 optimizes with -O3.
  target_compile_options(warpwright_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow>)
endif()

if(WARPWRIGHT_WERROR)
  # A compiler that is newer than this code has new warnings; only versions that were tried may fail a build.
  set(known_gnu_below 15)
  set(known_clang_below 23)
  if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS known_gnu_below) OR
     (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS known_clang_below))
    target_compile_options(warpwright_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Kernels whose schedule is made and proven while they are compiled take more steps than clang allows unasked.
  target_compile_options(warpwright_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fconstexpr-steps=100000000>)
endif()

if(WARPWRIGHT_SANITIZE)
  list(JOIN WARPWRIGHT_SANITIZE "," sanitizers)
  target_compile_options(warpwright_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers}>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  target_link_options(warpwright_flags INTERFACE -fsanitize=${sanitizers})
  if("address" IN_LIST WARPWRIGHT_SANITIZE)
    # AddressSanitizer must be told when a fiber changes the stack.
    target_compile_definitions(warpwright_flags INTERFACE WW_ASAN_FIBERS=1)
  endif()
endif()

if(WARPWRIGHT_STATIC)
  target_link_options(warpwright_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the build folder count as relative, so that one build folder finds what another has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_BINARY_DIR}" "${CCACHE_PROGRAM}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

# The libraries and the tool. Every room is globbed, so a new file needs no edit here; a room without files has no target.
add_library(warpwright_headers INTERFACE)
add_library(warpwright::headers ALIAS warpwright_headers)
target_compile_features(warpwright_headers INTERFACE cxx_std_20)
target_include_directories(warpwright_headers INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(warpwright_headers PROPERTIES EXPORT_NAME headers)

# A static library from the .cpp files of one folder.
function(warpwright_library name folder)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  if(NOT sources)
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  # Header-only helpers stay out of the exported interface: a consumer of the installed library does not need them.
  target_link_libraries(${name}
    PUBLIC warpwright_headers ${ARGN}
    PRIVATE $<BUILD_INTERFACE:warpwright_flags>
            $<BUILD_INTERFACE:fmt::fmt-header-only>
            $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
endfunction()

# The libraries among the arguments that exist in this build.
function(warpwright_link_present target)
  foreach(library IN LISTS ARGN)
    if(TARGET ${library})
      target_link_libraries(${target} PRIVATE ${library})
    endif()
  endforeach()
endfunction()

warpwright_library(warpwright_sim src/sim Boost::context Threads::Threads)
if(TARGET warpwright_sim)
  add_library(warpwright::sim ALIAS warpwright_sim)
  set_target_properties(warpwright_sim PROPERTIES EXPORT_NAME sim)
  warpwright_library(warpwright_runtime src/runtime warpwright_sim ${CMAKE_DL_LIBS})
else()
  warpwright_library(warpwright_runtime src/runtime ${CMAKE_DL_LIBS})
endif()

# What the machine beside us is asked for: other programs.
warpwright_library(warpwright_system src/system)

# AMD code objects: read, compared with their schedule, executed.
warpwright_library(warpwright_amd src/amd warpwright_system)
if(TARGET warpwright_amd)
  file(GLOB amd_interpreter_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/amd/interpreter/*.cpp")
  target_sources(warpwright_amd PRIVATE ${amd_interpreter_sources})
endif()

# Kernels with a deliberate bug; the tool's `mutants` command and the tests share them.
set(mutant_libraries)
foreach(library warpwright_runtime warpwright_sim)
  if(TARGET ${library})
    list(APPEND mutant_libraries ${library})
  endif()
endforeach()
warpwright_library(warpwright_mutants tests/mutants ${mutant_libraries})
if(TARGET warpwright_mutants)
  target_include_directories(warpwright_mutants PUBLIC "${PROJECT_SOURCE_DIR}/tests")
endif()

# One object per kernel, for the architecture its folder names.
function(warpwright_device folder architecture)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/device/${folder}/*.cu")
  if(NOT sources OR NOT WARPWRIGHT_HAVE_CUDA OR NOT TARGET warpwright_runtime)
    return()
  endif()
  set(name warpwright_device_${folder})
  add_library(${name} OBJECT ${sources})
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES ${architecture}-real)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_options(${name} PRIVATE --expt-relaxed-constexpr -lineinfo -Xcompiler=-Wall,-Wextra)
  if(WARPWRIGHT_WERROR)
    target_compile_options(${name} PRIVATE --Werror=all-warnings)
  endif()
  target_link_libraries(${name} PRIVATE warpwright_headers)
  target_sources(warpwright_runtime PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()
warpwright_device(sm90 90a)
warpwright_device(sm80 80)
# The same instructions run on Hopper, which has no sm_80 code of its own.
if(TARGET warpwright_device_sm80)
  set_target_properties(warpwright_device_sm80 PROPERTIES CUDA_ARCHITECTURES "80-real;90a-real")
endif()
warpwright_device(sm100 100a)

if(WARPWRIGHT_HAVE_CUDA AND TARGET warpwright_runtime)
  target_compile_definitions(warpwright_runtime PUBLIC WW_HAVE_CUDA=1)
  # The CUDA runtime travels with the binary; the driver and cuBLASLt are opened at run time, never linked, so the same
  # binary starts on a machine that has neither.
  target_include_directories(warpwright_runtime PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(warpwright_runtime PUBLIC CUDA::cudart_static)
endif()

file(GLOB tool_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cpp")
add_executable(warpwright-tool ${tool_sources})
target_include_directories(warpwright-tool PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(warpwright-tool PRIVATE WARPWRIGHT_VERSION="${PROJECT_VERSION}")
# Parsing a command line needs no speed, and the headers it takes are slow to optimize: -O1 halves a fresh build.
target_compile_options(warpwright-tool PRIVATE -O1)
# `check FILE` compiles a kernel of the user's against these headers and opens it; it takes the simulator from the tool.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/cli/user_kernel.cpp" PROPERTIES
  COMPILE_DEFINITIONS WARPWRIGHT_INCLUDE_FOLDER="${PROJECT_SOURCE_DIR}/include")
set_target_properties(warpwright-tool PROPERTIES ENABLE_EXPORTS ON)
set_target_properties(warpwright-tool PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(warpwright-tool PRIVATE
  warpwright_headers warpwright_flags CLI11::CLI11 fmt::fmt-header-only nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
warpwright_link_present(warpwright-tool
  warpwright_mutants warpwright_runtime warpwright_sim warpwright_amd warpwright_system)

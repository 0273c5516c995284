# The libraries and the tool. Every room is globbed, so a new file needs no edit here; a room without files has no target.
add_library(warpwright_headers INTERFACE)
add_library(warpwright::headers ALIAS warpwright_headers)
target_compile_features(warpwright_headers INTERFACE cxx_std_20)
target_include_directories(warpwright_headers INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(warpwright_headers PROPERTIES EXPORT_NAME headers)

# {fmt} as declarations: src/text/fmt.cpp has the definitions of the versions named here. Other versions come as headers
# alone, which works and costs every file a second.
add_library(warpwright_fmt INTERFACE)
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 11)
  target_include_directories(warpwright_fmt SYSTEM INTERFACE
    $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
else()
  target_link_libraries(warpwright_fmt INTERFACE fmt::fmt-header-only)
endif()

# A static library from the .cpp files of one folder, with the libraries it needs.
function(warpwright_library name folder)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  if(NOT sources)
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  # Headers of other projects stay out of the exported interface: a consumer of the installed library does not need them.
  target_link_libraries(${name}
    PUBLIC warpwright_headers ${ARGN}
    PRIVATE $<BUILD_INTERFACE:warpwright_flags>
            $<BUILD_INTERFACE:warpwright_fmt>)
endfunction()

# The libraries among the arguments that exist in this build.
function(warpwright_link_present target)
  foreach(library IN LISTS ARGN)
    if(TARGET ${library})
      target_link_libraries(${target} PRIVATE ${library})
    endif()
  endforeach()
endfunction()

# Formatted text and JSON: what is slow to compile of the libraries behind them, once.
warpwright_library(warpwright_text src/text)
target_link_libraries(warpwright_text PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
set_target_properties(warpwright_text PROPERTIES EXPORT_NAME text)
# Nothing in it is ours, and g++ 12 and 13 raise false alarms in it at -O3.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/text/fmt.cpp" PROPERTIES COMPILE_OPTIONS -w)
# As for the tool below: the headers it takes are slow to optimize.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/text/json.cpp" PROPERTIES COMPILE_OPTIONS -O1)

# What the machine beside us is asked for: other programs, files.
warpwright_library(warpwright_system src/system warpwright_text)

# Instances and their names.
warpwright_library(warpwright_catalog src/catalog warpwright_text)
include(images)

warpwright_library(warpwright_sim src/sim Boost::context Threads::Threads warpwright_text)
add_library(warpwright::sim ALIAS warpwright_sim)
set_target_properties(warpwright_sim PROPERTIES EXPORT_NAME sim)

# From a problem to a launch on a GPU, and all that measures it.
warpwright_library(warpwright_runtime src/api warpwright_sim warpwright_catalog warpwright_text warpwright_system
  ${CMAKE_DL_LIBS})
foreach(room problem choice launch gpu jit reference measure timeline)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.cpp")
  target_sources(warpwright_runtime PRIVATE ${sources})
endforeach()
target_sources(warpwright_runtime PRIVATE "${WARPWRIGHT_EMBEDDED_IMAGES}")
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/jit/host_compiler.cpp" PROPERTIES
  COMPILE_DEFINITIONS WARPWRIGHT_INCLUDE_FOLDER="${PROJECT_SOURCE_DIR}/include")
if(WARPWRIGHT_HAVE_CUDA)
  # Declarations of cuBLASLt, which is opened at run time. Nothing of CUDA is linked: the same binary starts on a machine
  # that has neither a toolkit nor a driver.
  target_include_directories(warpwright_runtime PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
endif()

# The same in the simulator.
warpwright_library(warpwright_simulate src/simulate warpwright_runtime warpwright_sim)
target_sources(warpwright_simulate PRIVATE ${WARPWRIGHT_BUILT_IN})
# A kernel that is compiled while a program runs takes the simulator from the program: all of it, since it may need what
# the program itself does not use.
target_link_options(warpwright_simulate INTERFACE "LINKER:--export-dynamic"
  "LINKER:--whole-archive,$<TARGET_FILE:warpwright_sim>,--no-whole-archive")

# AMD code objects: read, compared with their schedule, executed.
warpwright_library(warpwright_amd src/amd warpwright_system warpwright_text)
if(TARGET warpwright_amd)
  file(GLOB amd_interpreter_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/amd/interpreter/*.cpp")
  target_sources(warpwright_amd PRIVATE ${amd_interpreter_sources})
endif()

# Kernels with a deliberate bug; the tool's `mutants` command and the tests share them.
warpwright_library(warpwright_mutants tests/mutants warpwright_simulate warpwright_runtime warpwright_sim)
if(TARGET warpwright_mutants)
  target_include_directories(warpwright_mutants PUBLIC "${PROJECT_SOURCE_DIR}/tests")
endif()

file(GLOB_RECURSE tool_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cpp")
add_executable(warpwright-tool ${tool_sources})
target_include_directories(warpwright-tool PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(warpwright-tool PRIVATE WARPWRIGHT_VERSION="${PROJECT_VERSION}")
# Parsing a command line needs no speed, and the headers it takes are slow to optimize: -O1 halves a fresh build.
target_compile_options(warpwright-tool PRIVATE -O1)
set_target_properties(warpwright-tool PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(warpwright-tool PRIVATE
  warpwright_headers warpwright_flags CLI11::CLI11 warpwright_fmt ${CMAKE_DL_LIBS})
target_link_libraries(warpwright-tool PRIVATE
  warpwright_mutants warpwright_simulate warpwright_runtime warpwright_sim warpwright_amd warpwright_system warpwright_text)


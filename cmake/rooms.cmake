# The libraries, the tool and the program that has `demo` alone. Every room is globbed, so a new file needs no edit here; a room without files has no target.
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

include(demo)

# Marks the files of a room as compiled together, a dozen at a time: headers are read, and what they hold is instantiated,
# once for all of them. Names in the unnamed namespaces of a room's files must therefore differ.
function(warpwright_batches room)
  set(number 0)
  foreach(source IN LISTS ARGN)
    math(EXPR batch "${number} / 12")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${room}_${batch}")
    math(EXPR number "${number} + 1")
  endforeach()
endfunction()

# A target of the given type: STATIC, or OBJECT, whose files other targets take. What `demo` needs of it is a target of
# objects for itself, NAME_demo.
function(warpwright_sources_target name type)
  set(all ${ARGN})
  warpwright_split_demo(all ours others)
  warpwright_batches("${name}_demo" ${ours})
  if(ours)
    add_library(${name}_demo OBJECT ${ours})
    if(NOT type STREQUAL "OBJECT")
      list(APPEND others $<TARGET_OBJECTS:${name}_demo>)
    endif()
  endif()
  if(type STREQUAL "EXECUTABLE")
    add_executable(${name} ${others})
  else()
    add_library(${name} ${type} ${others})
  endif()
  warpwright_with_demo(parts ${name})
  foreach(target IN LISTS parts)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${WARPWRIGHT_UNITY} UNITY_BUILD_MODE GROUP LINKER_LANGUAGE CXX)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    # Headers of other projects stay out of the exported interface: a consumer of the installed library does not need
    # them.
    target_link_libraries(${target}
      PUBLIC warpwright_headers
      PRIVATE $<BUILD_INTERFACE:warpwright_flags>
              $<BUILD_INTERFACE:warpwright_fmt>)
  endforeach()
endfunction()

# The same of the .cpp files of folders.
function(warpwright_target name type)
  set(all)
  foreach(folder IN LISTS ARGN)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
    list(FILTER sources EXCLUDE REGEX "(_test|/shown_sm[0-9]+)\\.cpp$")
    list(APPEND all ${sources})
    # A folder below that of a room belongs to it.
    string(REGEX REPLACE "^([^/]+/[^/]+)/.*$" "\\1" room "${folder}")
    string(REPLACE "/" "_" room "${room}")
    list(APPEND rooms ${room})
    list(APPEND of_${room} ${sources})
  endforeach()
  if(NOT all)
    return()
  endif()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    warpwright_split_demo(of_${room} ours others)
    warpwright_batches("${room}" ${others})
  endforeach()
  warpwright_sources_target(${name} ${type} ${all})
endfunction()

# A static library from the .cpp files of one folder, with the libraries it needs.
function(warpwright_library name folder)
  warpwright_target(${name} STATIC "${folder}")
  if(TARGET ${name})
    target_link_libraries(${name} PUBLIC ${ARGN})
  endif()
endfunction()

# Compiles targets with this optimization instead of the build type's.
function(warpwright_optimize level)
  warpwright_with_demo(parts ${ARGN})
  foreach(target IN LISTS parts)
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:${level}>)
  endforeach()
endfunction()
# For rooms that wait for a user, a driver or a compiler: what -O2 and -O3 add to them is time to compile.
function(warpwright_light)
  warpwright_optimize(-O1 ${ARGN})
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
warpwright_light(warpwright_text)

# Questions to the machine around us: other programs, files.
warpwright_library(warpwright_system src/system warpwright_text)

# User-defined epilogues, from their text.
warpwright_library(warpwright_formula src/formula warpwright_text)

# Instances and their names.
warpwright_library(warpwright_catalog src/catalog warpwright_formula warpwright_text)
# It includes kernels: editing one does not rebuild the rest of the room.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/catalog/block_plan.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
warpwright_light(warpwright_system warpwright_catalog warpwright_formula)
include(images)

warpwright_library(warpwright_sim "src/sim;src/sim/buffers;src/sim/call;src/sim/cdna;src/sim/cp_async;src/sim/debug;src/sim/fault;src/sim/guard;src/sim/lanes;src/sim/schedule" Boost::context Threads::Threads warpwright_text)
target_link_libraries(warpwright_sim_demo PRIVATE Boost::context Threads::Threads)
add_library(warpwright::sim ALIAS warpwright_sim)
set_target_properties(warpwright_sim PROPERTIES EXPORT_NAME sim)

# From a problem to a launch on a GPU, and all that measures it.
warpwright_library(warpwright_runtime src/problem warpwright_sim warpwright_catalog warpwright_text warpwright_system
  ${CMAKE_DL_LIBS})
# The files of the other chips are built alike, down to the names inside; so are the fitted numbers.
set(alike src/choice/sm80.cpp src/choice/sm100_dense.cpp src/choice/sm100_grouped.cpp src/choice/cdna.cpp
  src/launch/sm100_grouped.cpp src/choice/fit/dense.cpp src/choice/fit/blockwise.cpp src/choice/fit/grouped.cpp)
list(TRANSFORM alike PREPEND "${PROJECT_SOURCE_DIR}/")
set_source_files_properties(${alike} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
warpwright_target(warpwright_api OBJECT src/api)
warpwright_target(warpwright_launch OBJECT src/choice src/choice/fit src/launch src/hip src/gpu src/reference)
warpwright_target(warpwright_measure OBJECT src/jit src/measure src/timeline)
set(runtime_parts warpwright_api warpwright_launch warpwright_measure)
warpwright_light(warpwright_measure)
warpwright_with_demo(runtime_parts ${runtime_parts})
foreach(part IN LISTS runtime_parts)
  target_sources(warpwright_runtime PRIVATE $<TARGET_OBJECTS:${part}>)
endforeach()
target_sources(warpwright_runtime PRIVATE "${WARPWRIGHT_EMBEDDED_IMAGES}")
foreach(part warpwright_api warpwright_launch)
  target_compile_definitions(${part} PRIVATE WARPWRIGHT_VERSION="${PROJECT_VERSION}")
endforeach()
target_compile_definitions(warpwright_measure PRIVATE WARPWRIGHT_INCLUDE_FOLDER="${PROJECT_SOURCE_DIR}/include")
if(WARPWRIGHT_HAVE_CUDA)
  # Declarations of cuBLASLt, which is opened at run time. Nothing of CUDA is linked: the same binary starts on a machine
  # that has neither a toolkit nor a driver.
  foreach(part IN LISTS runtime_parts)
    target_include_directories(${part} PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  endforeach()
endif()

# The same in the simulator. The instances that demo shows are optimized as kernels are.
add_library(warpwright_shown OBJECT "${PROJECT_SOURCE_DIR}/src/simulate/dense/shown_sm90.cpp"
  "${PROJECT_SOURCE_DIR}/src/simulate/dense/shown_sm100.cpp")
target_include_directories(warpwright_shown PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(warpwright_shown PRIVATE warpwright_headers warpwright_flags)
warpwright_library(warpwright_simulate "src/simulate;src/simulate/dense" warpwright_runtime warpwright_sim)
warpwright_light(warpwright_simulate)
target_sources(warpwright_simulate PRIVATE $<TARGET_OBJECTS:warpwright_shown> $<TARGET_OBJECTS:warpwright_built_in>)
# A kernel that is compiled while a program runs takes the simulator from the program: all of it, since it may need what
# the program itself does not use.
target_link_options(warpwright_simulate INTERFACE "LINKER:--export-dynamic"
  "LINKER:--whole-archive,$<TARGET_FILE:warpwright_sim>,--no-whole-archive")

# AMD code objects: read, compared with their schedule, executed.
warpwright_library(warpwright_amd src/amd warpwright_system warpwright_text)
warpwright_light(warpwright_amd)
warpwright_target(warpwright_amd_interpreter OBJECT src/amd/interpreter)
target_sources(warpwright_amd PRIVATE $<TARGET_OBJECTS:warpwright_amd_interpreter>)

# Kernels with a deliberate bug; the tool's `mutants` command and the tests share them.
warpwright_library(warpwright_mutants tests/mutants warpwright_simulate warpwright_runtime warpwright_sim)
warpwright_light(warpwright_mutants)
if(TARGET warpwright_mutants)
  target_include_directories(warpwright_mutants PUBLIC "${PROJECT_SOURCE_DIR}/tests")
endif()

file(GLOB_RECURSE tool_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cpp")
list(FILTER tool_sources EXCLUDE REGEX "/src/cli/demo/alone\\.cpp$")
warpwright_split_demo(tool_sources ours others)
warpwright_batches(cli ${others})
# It takes all names of the schedules, which others have too; CLI11 alone is a dozen files' worth.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/cli/schedule.cpp" "${PROJECT_SOURCE_DIR}/src/cli/line/parse.cpp"
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
warpwright_sources_target(warpwright-tool EXECUTABLE ${tool_sources})
if(SKBUILD)
  # A wheel has the images once, in the library; an archive's table of them is not linked where there is another.
  target_sources(warpwright-tool PRIVATE "${PROJECT_SOURCE_DIR}/src/gpu/from_library/images.cpp")
endif()
list(JOIN WARPWRIGHT_CDNA_FLAGS " " cdna_flags_text)
foreach(target warpwright-tool warpwright-tool_demo)
  target_compile_definitions(${target} PRIVATE WARPWRIGHT_VERSION="${PROJECT_VERSION}"
    WARPWRIGHT_CDNA_FLAGS="${cdna_flags_text}")
  target_link_libraries(${target} PRIVATE CLI11::CLI11)
endforeach()
warpwright_light(warpwright-tool)
target_link_libraries(warpwright-tool PRIVATE ${CMAKE_DL_LIBS}
  warpwright_mutants warpwright_simulate warpwright_runtime warpwright_sim warpwright_amd warpwright_system warpwright_text)

# `demo` alone.
add_executable(warpwright-demo "${PROJECT_SOURCE_DIR}/src/cli/demo/alone.cpp" $<TARGET_OBJECTS:warpwright_shown>)
foreach(part text system formula catalog sim launch measure runtime simulate)
  target_sources(warpwright-demo PRIVATE $<TARGET_OBJECTS:warpwright_${part}_demo>)
endforeach()
target_sources(warpwright-demo PRIVATE $<TARGET_OBJECTS:warpwright-tool_demo>)
target_include_directories(warpwright-demo PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(warpwright-demo PRIVATE warpwright_headers warpwright_flags Boost::context Threads::Threads ${CMAKE_DL_LIBS})
warpwright_light(warpwright-demo)

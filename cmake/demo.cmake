# What `demo` needs of the rooms: the simulator, the instances it shows, their operands and reference, the timeline. It is
# all that the program warpwright-demo consists of, which ./warpwright builds for the first result, in a quarter of the
# time that the tool takes. The tool and the libraries take the same object files.
set(demo_parts
  src/text/fmt.cpp src/text/json.cpp src/text/write_json.cpp
  src/system/whole_file.cpp
  src/formula/*.cpp
  src/sim/*/*.cpp src/sim/*.cpp
  src/catalog/arch.cpp
  src/problem/lower.cpp src/problem/words.cpp
  src/choice/launch_facts.cpp
  src/launch/cdna.cpp src/launch/dense.cpp src/launch/grid.cpp src/launch/packing.cpp src/launch/sm100_dense.cpp
  src/launch/sm80.cpp src/launch/tensor_map.cpp
  src/reference/own_formula.cpp src/reference/product_workload.cpp src/reference/workload.cpp src/reference/wrong_elements.cpp
  src/timeline/meaning.cpp src/timeline/model.cpp src/timeline/page.cpp src/timeline/stalls.cpp src/timeline/timeline.cpp
  src/simulate/dense/*.cpp
  src/cli/demo/demo.cpp src/cli/interrupt.cpp src/cli/line/*.cpp src/cli/output.cpp src/cli/run.cpp src/cli/sweep.cpp)
list(TRANSFORM demo_parts PREPEND "${PROJECT_SOURCE_DIR}/")
file(GLOB demo_sources CONFIGURE_DEPENDS ${demo_parts})
# It shows no kernel of AMD's, and predicts nothing without data.
list(FILTER demo_sources EXCLUDE REGEX "/src/sim/(cdna/[^/]*|run|predict)\\.cpp$")

# The sources of a list that are among them, and the others.
function(warpwright_split_demo sources ours others)
  set(in_demo)
  set(rest)
  foreach(source IN LISTS ${sources})
    if(source IN_LIST demo_sources)
      list(APPEND in_demo "${source}")
    else()
      list(APPEND rest "${source}")
    endif()
  endforeach()
  set(${ours} "${in_demo}" PARENT_SCOPE)
  set(${others} "${rest}" PARENT_SCOPE)
endfunction()

# Targets, each with the target of its files that are among them.
function(warpwright_with_demo result)
  set(all)
  foreach(target IN LISTS ARGN)
    list(APPEND all ${target})
    if(TARGET ${target}_demo)
      list(APPEND all ${target}_demo)
    endif()
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

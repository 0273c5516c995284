# The host API with its C interface, the compiler at run time, and the text files both carry.
# A text file, or every one that matches, below a folder becomes a function of system/embedded.h.
function(warpwright_embed target function folder pattern)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/${pattern}")
  set(output "${PROJECT_BINARY_DIR}/generated/${function}.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DFUNCTION=${function}"
      "-DROOT=${PROJECT_SOURCE_DIR}/${folder}" "-DPATTERN=${pattern}" -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    COMMENT "Embedding ${folder}/${pattern}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
warpwright_embed(warpwright_runtime embedded_headers include "*.h")
warpwright_embed(warpwright_runtime embedded_tables data/tuned "*.tsv")
warpwright_embed(warpwright_runtime embedded_scripts bench "peer*.py")
warpwright_embed(warpwright_runtime embedded_package python/warpwright "_*.py")
warpwright_embed(warpwright_runtime_demo embedded_page src/page "*")
warpwright_embed(warpwright_runtime embedded_gdb tools/gdb "*.py")

if(WARPWRIGHT_HAVE_CUDA)
  # What the tuned tables name.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/measure/tune_gpu.cpp" PROPERTIES COMPILE_DEFINITIONS
    WARPWRIGHT_TOOLKIT="${CUDAToolkit_VERSION_MAJOR}.${CUDAToolkit_VERSION_MINOR}")
endif()

# libwarpwright.so: the API for C++ and C, and for languages that load a library at run time. What it takes from the
# archives stays inside.
warpwright_with_demo(parts warpwright_runtime warpwright_text warpwright_catalog warpwright_formula warpwright_system)
foreach(target IN LISTS parts runtime_parts)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endforeach()
add_library(warpwright_shared SHARED $<TARGET_OBJECTS:warpwright_api>)
add_library(warpwright::gemm ALIAS warpwright_shared)
set_target_properties(warpwright_shared PROPERTIES OUTPUT_NAME warpwright EXPORT_NAME gemm LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
if(NOT SKBUILD)  # a wheel has no links: the library would be in it three times
  set_target_properties(warpwright_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
endif()
target_link_libraries(warpwright_shared
  PUBLIC warpwright_headers
  PRIVATE warpwright_runtime warpwright_text warpwright_flags ${CMAKE_DL_LIBS})
target_link_options(warpwright_shared PRIVATE -Wl,--exclude-libs,ALL)
if(NOT WARPWRIGHT_SANITIZE)
  target_link_options(warpwright_shared PRIVATE -Wl,--no-undefined)
endif()
install(TARGETS warpwright_shared EXPORT warpwright-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT python)

# The warm call of the Python package in compiled code, of Python's stable interface: only where its headers are. The
# package does without it, more slowly.
add_custom_target(warpwright_python)
find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
if(Python3_Development.Module_FOUND)
  add_library(warpwright_native MODULE "${PROJECT_SOURCE_DIR}/python/native/native.cpp")
  set_target_properties(warpwright_native PROPERTIES PREFIX "" OUTPUT_NAME _native.abi3 SUFFIX .so CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  target_include_directories(warpwright_native SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
  target_link_libraries(warpwright_native PRIVATE warpwright_headers warpwright_flags)
  add_dependencies(warpwright_python warpwright_native)
  if(SKBUILD)
    install(TARGETS warpwright_native LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT python)
  endif()
endif()

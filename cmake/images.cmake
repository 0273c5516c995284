# Kernels compiled ahead for GPUs: the sources of the catalogue's instances are written into the build folder, compiled to
# images and put into the library as bytes, which the driver loads at run time.
set(WARPWRIGHT_INSTANCES ALL CACHE STRING
  "Which instances are compiled ahead: COVER (one for each family and form) or ALL (what an install should have)")
set_property(CACHE WARPWRIGHT_INSTANCES PROPERTY STRINGS COVER ALL)

file(GLOB instance_lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/catalog/*.def")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${instance_lists})
# The names in the lists whose lines begin with a word that matches.
function(warpwright_names words result)
  set(names)
  foreach(list IN LISTS instance_lists)
    file(STRINGS "${list}" lines REGEX "^${words}\\(")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[A-Z_]+\\(\"([^\"]+)\"\\)$" "\\1" name "${line}")
      list(APPEND names "${name}")
    endforeach()
  endforeach()
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

# The catalogue is plain host code, and comes first: it writes the sources.
add_executable(warpwright-sources "${PROJECT_SOURCE_DIR}/src/catalog/sources/main.cpp")
target_include_directories(warpwright-sources PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(warpwright-sources PRIVATE warpwright_headers warpwright_catalog warpwright_flags)

# Writes the sources of instances into the build folder; their files, with this ending, are the result.
function(warpwright_sources ending names result)
  list(TRANSFORM names REPLACE "(.+)" "${PROJECT_BINARY_DIR}/instances/\\1.${ending}" OUTPUT_VARIABLE sources)
  add_custom_command(OUTPUT ${sources}
    COMMAND warpwright-sources "${PROJECT_BINARY_DIR}/instances" ${ending} ${names}
    DEPENDS warpwright-sources COMMENT "Sources of instances (.${ending})" VERBATIM)
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()

set(image_folder "${PROJECT_BINARY_DIR}/images")
set(image_rows)
set(image_files)

# For which chips the images of an architecture are compiled. The instructions of sm80 also run on Hopper, which runs no
# sm_80 code.
set(image_targets_sm80 80 90a)
set(image_targets_sm90 90a)
set(image_targets_sm100 100a)
set(image_flags -c -cubin -std=c++20 -O3 --expt-relaxed-constexpr -lineinfo "-I${PROJECT_SOURCE_DIR}/include"
  "-I${PROJECT_SOURCE_DIR}/src")
if(WARPWRIGHT_WERROR)
  list(APPEND image_flags --Werror=all-warnings)
endif()

# Compiles a source to the image NAME of the library, for every target of its architecture.
function(warpwright_image name source)
  string(REGEX MATCH "^[^/]+" arch "${name}")
  foreach(target IN LISTS image_targets_${arch})
    set(image "${image_folder}/${name}.sm_${target}.cubin")
    cmake_path(GET image PARENT_PATH folder)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${image}"
      COMMAND ${CMAKE_CUDA_COMPILER_LAUNCHER} "${CMAKE_CUDA_COMPILER}" ${image_flags}
        -gencode=arch=compute_${target},code=sm_${target} -MD -MF "${image}.d" -o "${image}" "${source}"
      DEPENDS "${source}" DEPFILE "${image}.d" COMMENT "Image ${name} for sm_${target}" VERBATIM)
    list(APPEND image_rows "${name}|sm_${target}")
    list(APPEND image_files "${image}")
  endforeach()
  set(image_rows "${image_rows}" PARENT_SCOPE)
  set(image_files "${image_files}" PARENT_SCOPE)
endfunction()

if(WARPWRIGHT_HAVE_CUDA)
  set(words "(COVER|BUILT_IN)")
  if(WARPWRIGHT_INSTANCES STREQUAL "ALL")
    set(words "(COVER|BUILT_IN|INSTANCE)")
  endif()
  warpwright_names("${words}" names)
  warpwright_sources(cu "${names}" sources)
  foreach(name source IN ZIP_LISTS names sources)
    warpwright_image("${name}" "${source}")
  endforeach()
  file(GLOB own CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/gpu/kernels/*.cu")
  foreach(source IN LISTS own)
    cmake_path(GET source STEM stem)
    warpwright_image("sm90/${stem}" "${source}")
  endforeach()
endif()

# The table of images, as assembly that includes the files.
set(table "#include \"gpu/embedded.h\"\n\n")
set(rows "")
set(number 0)
foreach(row file IN ZIP_LISTS image_rows image_files)
  string(REPLACE "|" "\", \"" row "${row}")
  string(APPEND table
    "asm(\".section .rodata\\n.balign 64\\nww_image_${number}:\\n.incbin \\\"${file}\\\"\\nww_image_${number}_end:\\n.previous\\n\");\n"
    "extern \"C\" __attribute__((visibility(\"hidden\"))) const unsigned char ww_image_${number}[], ww_image_${number}_end[];\n")
  string(APPEND rows "    {\"${row}\", ww_image_${number}, ww_image_${number}_end},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND table "\nnamespace warpwright::gpu {\nnamespace {\n"
  "const EmbeddedImage kImages[] = {\n${rows}    {nullptr, nullptr, nullptr, nullptr},\n};\n}  // namespace\n"
  "std::span<const EmbeddedImage> embedded_images() { return std::span(kImages).first(${number}); }\n"
  "}  // namespace warpwright::gpu\n")
set(WARPWRIGHT_EMBEDDED_IMAGES "${PROJECT_BINARY_DIR}/generated/embedded_images.cpp")
file(CONFIGURE OUTPUT "${WARPWRIGHT_EMBEDDED_IMAGES}" CONTENT "${table}" @ONLY)
set_source_files_properties("${WARPWRIGHT_EMBEDDED_IMAGES}" PROPERTIES OBJECT_DEPENDS "${image_files}")

# Instances for the simulator that are compiled into the tool.
warpwright_names(BUILT_IN built_in_names)
warpwright_sources(cpp "${built_in_names}" built_in_sources)
set(table "#include \"simulate/executor.h\"\n\n")
set(rows "")
set(number 0)
foreach(name source IN ZIP_LISTS built_in_names built_in_sources)
  set_source_files_properties("${source}" PROPERTIES COMPILE_DEFINITIONS WW_INSTANCE_FUNCTION=ww_built_in_${number})
  string(APPEND table "extern \"C\" const warpwright::simulator::Instance* ww_built_in_${number}();\n")
  string(APPEND rows "    {\"${name}\", ww_built_in_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND table "\nnamespace warpwright::simulate {\nnamespace {\n"
  "const BuiltIn kBuiltIn[] = {\n${rows}};\n}  // namespace\n"
  "std::span<const BuiltIn> built_in() { return kBuiltIn; }\n}  // namespace warpwright::simulate\n")
set(built_in_table "${PROJECT_BINARY_DIR}/generated/built_in.cpp")
file(CONFIGURE OUTPUT "${built_in_table}" CONTENT "${table}" @ONLY)
# A target of their own: nothing else waits for the catalogue to write these sources.
add_library(warpwright_built_in OBJECT "${built_in_table}" ${built_in_sources})
target_include_directories(warpwright_built_in PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(warpwright_built_in PRIVATE warpwright_headers warpwright_flags)

# Kernels compiled ahead for GPUs: the sources of the catalogue's instances are written into the build folder, compiled to
# images and put into the library as bytes, which the driver loads at run time.
set(WARPWRIGHT_INSTANCES ALL CACHE STRING
  "Which instances are compiled ahead: COVER (one for each family and form) or ALL (what an install should have)")
set_property(CACHE WARPWRIGHT_INSTANCES PROPERTY STRINGS COVER ALL)
# A wheel with device code is for machines without a compiler.
set(simulated_usually FEW)
if(SKBUILD AND WARPWRIGHT_HAVE_CUDA)
  set(simulated_usually ALL)
endif()
set(WARPWRIGHT_SIMULATED ${simulated_usually} CACHE STRING
  "Which instances are compiled into the tool for the simulator: FEW (demo's) or ALL that are compiled ahead for a GPU")
set_property(CACHE WARPWRIGHT_SIMULATED PROPERTY STRINGS FEW ALL)

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

# What the images of an instance are compiled for: machine code (sm_90a), or PTX (compute_80), which the driver compiles
# for any chip from there on. gpu::target_of() asks for the same, and driver.images compares. The instructions of sm80
# also run on Hopper, whose image is compiled; those of e4m3 and e5m2 begin with 8.9. Block scales are compiled for one Blackwell
# chip at a time, everything else for the family: ptxas has no .scale_vec for sm_100f.
function(warpwright_targets name result)
  if(name MATCHES "^sm80/[^/]*/e[45]m[23]")
    set(targets compute_89 sm_90a)
  elseif(name MATCHES "^(sm80|any)/")
    set(targets compute_80 sm_90a)
  elseif(name MATCHES "^sm100/.*-(mxfp8|mxfp4|nvfp4|w4a8)")
    set(targets sm_100a sm_103a)
  elseif(name MATCHES "^sm100/")
    set(targets sm_100f)
  else()
    set(targets sm_90a)
  endif()
  set(${result} "${targets}" PARENT_SCOPE)
endfunction()
set(image_flags -std=c++20 -O3 --expt-relaxed-constexpr)
set(image_includes "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src")
if(WARPWRIGHT_WERROR)
  list(APPEND image_includes --Werror=all-warnings)
endif()

# Compiles a source to the image NAME of the library, for each of its targets.
function(warpwright_image name source)
  warpwright_targets("${name}" targets)
  foreach(target IN LISTS targets)
    string(REGEX REPLACE "^[a-z]+_" "" chip "${target}")
    if(target MATCHES "^compute_")
      set(image "${image_folder}/${name}.${target}.ptx")
      set(flags -ptx ${image_flags} ${image_includes})
    else()
      set(image "${image_folder}/${name}.${target}.cubin")
      set(flags -cubin ${image_flags} -lineinfo ${image_includes})
    endif()
    if(target MATCHES "^sm_(100f|103a)$")
      # The libcu++ of CUDA 13.0 hides tcgen05 from targets that are newer than itself; ptxas judges them.
      list(APPEND flags -D__CUDA_ARCH_FEAT_SM100_ALL=1)
    endif()
    cmake_path(GET image PARENT_PATH folder)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${image}"
      COMMAND ${CMAKE_CUDA_COMPILER_LAUNCHER} "${CMAKE_CUDA_COMPILER}" -c ${flags}
        -gencode=arch=compute_${chip},code=${target} -MD -MF "${image}.d" -o "${image}" "${source}"
      DEPENDS "${source}" DEPFILE "${image}.d" COMMENT "Image ${name} for ${target}" VERBATIM)
    list(APPEND image_rows "${name}|${target}")
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
    warpwright_image("any/${stem}" "${source}")
  endforeach()
endif()

include(cdna)

# The table of images, as assembly that includes the files.
set(table "#include \"gpu/embedded.h\"\n\n")
set(rows "")
set(number 0)
foreach(row file IN ZIP_LISTS image_rows image_files)
  string(REPLACE "|" "\", \"" row "${row}")
  string(APPEND table
    "asm(\".section .rodata\\n.balign 64\\nww_image_${number}:\\n.incbin \\\"${file}\\\"\\nww_image_${number}_end:\\n.byte 0\\n.previous\\n\");\n"
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

# Instances for the simulator that are compiled into the tool, beside those that demo shows, which are files of
# src/simulate/dense: nothing of them waits for the catalogue.
set(built_in_names)
if(WARPWRIGHT_SIMULATED STREQUAL "ALL")
  warpwright_names("(COVER|INSTANCE|CODE_OBJECT)" built_in_names)
endif()
set(built_in_sources)
if(built_in_names)
  warpwright_sources(cpp "${built_in_names}" built_in_sources)
endif()
set(table "#include \"simulate/executor.h\"\n\n")
set(rows "")
set(number 0)
foreach(name source IN ZIP_LISTS built_in_names built_in_sources)
  set_source_files_properties("${source}" PROPERTIES COMPILE_DEFINITIONS
    "WW_INSTANCE_FUNCTION=ww_built_in_${number};WW_SITES=ww_sites_${number}")
  string(APPEND table "extern \"C\" const warpwright::simulator::Instance* ww_built_in_${number}();\n")
  string(APPEND rows "    {\"${name}\", ww_built_in_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND table "\nnamespace warpwright::simulate {\nnamespace {\n"
  "const BuiltIn kAdded[] = {\n${rows}    {nullptr, nullptr},\n};\n}  // namespace\n"
  "std::span<const BuiltIn> added_to_build() { return std::span(kAdded).first(${number}); }\n"
  "}  // namespace warpwright::simulate\n")
set(built_in_table "${PROJECT_BINARY_DIR}/generated/built_in.cpp")
file(CONFIGURE OUTPUT "${built_in_table}" CONTENT "${table}" @ONLY)
# A target of their own: nothing else waits for the catalogue to write these sources.
add_library(warpwright_built_in OBJECT "${built_in_table}" ${built_in_sources})
target_include_directories(warpwright_built_in PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(warpwright_built_in PRIVATE warpwright_headers warpwright_flags)

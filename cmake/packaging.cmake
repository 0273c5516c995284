# cmake --install and find_package(warpwright): headers, the simulator and the tool. The component `python` is what a
# wheel has.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/warpwright")

# The reference's own derivations are there to be compared with, not to be used.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT python
  FILES_MATCHING PATTERN "*.h" PATTERN "schedule/legacy" EXCLUDE)
install(TARGETS warpwright_headers EXPORT warpwright-targets)
if(TARGET warpwright_sim)
  install(TARGETS warpwright_sim warpwright_text EXPORT warpwright-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(EXPORT warpwright-targets NAMESPACE warpwright:: DESTINATION "${package_folder}")
install(PROGRAMS $<TARGET_FILE:warpwright-tool> DESTINATION "${CMAKE_INSTALL_BINDIR}" RENAME warpwright COMPONENT python)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/warpwright-config.cmake.in"
  "${PROJECT_BINARY_DIR}/warpwright-config.cmake" INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/warpwright-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/warpwright-config.cmake" "${PROJECT_BINARY_DIR}/warpwright-config-version.cmake"
  DESTINATION "${package_folder}")

configure_file("${PROJECT_SOURCE_DIR}/cmake/warpwright.pc.in" "${PROJECT_BINARY_DIR}/warpwright.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/warpwright.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

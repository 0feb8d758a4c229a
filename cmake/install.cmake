# The library with its headers, the command line and the scenes, for find_package(capstan) from an outside project: after
# 'cmake --install', or straight from a build with -Dcapstan_DIR=<build>/cmake.
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/capstan)

install(TARGETS capstan EXPORT capstan-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/capstan DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT capstan-targets NAMESPACE capstan:: DESTINATION ${config_dir})
export(EXPORT capstan-targets NAMESPACE capstan:: FILE ${PROJECT_BINARY_DIR}/cmake/capstan-targets.cmake)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/capstan-config.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/capstan-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/capstan-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/capstan-config.cmake
  ${PROJECT_BINARY_DIR}/cmake/capstan-config-version.cmake DESTINATION ${config_dir})

if(TARGET capstan_cli)
  install(TARGETS capstan_cli capstan_experiments_cli)
  install(FILES ${PROJECT_BINARY_DIR}/viewer/page.html DESTINATION ${CMAKE_INSTALL_DATADIR}/capstan/viewer OPTIONAL)
  install(FILES ${PROJECT_SOURCE_DIR}/tools/robots.py ${PROJECT_SOURCE_DIR}/tools/robots_mujoco.py
    ${PROJECT_SOURCE_DIR}/tools/robots_table.py DESTINATION ${CMAKE_INSTALL_DATADIR}/capstan/tools)
  install(FILES ${PROJECT_SOURCE_DIR}/python/capstan_recording.py DESTINATION ${CMAKE_INSTALL_DATADIR}/capstan/python)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/scenes)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/scenes DESTINATION ${CMAKE_INSTALL_DATADIR}/capstan)
endif()

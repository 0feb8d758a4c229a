# The simulators to measure against, as far as they are installed. Never linked into the library.
#   peer::mujoco         the newest there is (unpacked by tools/peers, else Debian's); PEER_MUJOCO_VERSION says which
#   peer::mujoco_debian  Debian's, where it is another one
set(CAPSTAN_PEERS_DIR "${PROJECT_SOURCE_DIR}/build/peers" CACHE PATH "Where tools/peers unpacks")

if(NOT TARGET peer::mujoco)
  file(GLOB mujoco_library ${CAPSTAN_PEERS_DIR}/mujoco/libmujoco.so.*)
  if(mujoco_library)
    list(GET mujoco_library 0 mujoco_library)
    string(REGEX REPLACE ".*\\.so\\." "" PEER_MUJOCO_VERSION ${mujoco_library})
    add_library(peer::mujoco SHARED IMPORTED GLOBAL)
    set_target_properties(peer::mujoco PROPERTIES IMPORTED_LOCATION ${mujoco_library}
      IMPORTED_SONAME libmujoco.so.${PEER_MUJOCO_VERSION}
      INTERFACE_INCLUDE_DIRECTORIES ${CAPSTAN_PEERS_DIR}/mujoco/include)
  endif()
  find_package(mujoco QUIET)
  if(mujoco_FOUND)
    if(mujoco_library)
      add_library(peer::mujoco_debian ALIAS mujoco::mujoco)
    else()
      set(PEER_MUJOCO_VERSION ${mujoco_VERSION})
      add_library(peer::mujoco INTERFACE IMPORTED GLOBAL)
      target_link_libraries(peer::mujoco INTERFACE mujoco::mujoco)
    endif()
  endif()
  if(TARGET peer::mujoco)
    target_compile_definitions(peer::mujoco INTERFACE PEER_MUJOCO_VERSION="${PEER_MUJOCO_VERSION}")
    message(STATUS "Peer: MuJoCo ${PEER_MUJOCO_VERSION}")
  else()
    message(STATUS "Peer: no MuJoCo; 'make bench' installs it where it can")
  endif()
endif()

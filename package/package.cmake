# The Debian packages: cmake --build --preset release --target package. The root CMakeLists.txt includes this last.
#   emplace      the program, its manual pages and completions: component program
#   emplace-mpi  what the program loads under mpirun, if it is built: component mpi
#   emplace-dev  headers, static libraries and CMake files: all that has no component
# The Python package has a component of its own, which is in none of them.

set(documentation ${CMAKE_INSTALL_DATADIR}/doc/emplace)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright CHANGELOG.md DESTINATION ${documentation} COMPONENT program)
# The page of a report contains these libraries, whose licences ask to be shown.
install(DIRECTORY bench/page/vendor/echarts DESTINATION ${documentation} COMPONENT program
        FILES_MATCHING PATTERN "LICENSE*" PATTERN NOTICE)

install(FILES package/completions/emplace.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME emplace COMPONENT program)
install(FILES package/completions/_emplace DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
install(FILES package/completions/emplace.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT program)

# The manual pages: emplace(1), and one for each command.
find_program(EMPLACE_HELP2MAN help2man)
if(EMPLACE_HELP2MAN)
  set(man_pages ${PROJECT_BINARY_DIR}/man)
  add_custom_command(OUTPUT ${man_pages}/emplace.1 VERBATIM
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${man_pages}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/man.sh $<TARGET_FILE:emplace_cli> ${man_pages}
    DEPENDS emplace_cli package/man.sh docs/reference/cli.md)
  add_custom_target(emplace_man ALL DEPENDS ${man_pages}/emplace.1)
  # Optional, because a build of emplace_cli alone leaves them out.
  install(DIRECTORY ${man_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
endif()
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program Unspecified)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)

file(STRINGS CITATION.cff maintainer REGEX "^  - name: " LIMIT_COUNT 1)
string(REPLACE "  - name: " "" CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME emplace)
# It makes PNG and PDF of pictures.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS librsvg2-bin)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"Agents place the operations of a training step on devices: heuristics,
partitioners, search and learned policies. emplace simulates the step and
compares the agents on many graphs and clusters. It needs no GPU.")

set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME emplace-dev)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_UNSPECIFIED_DESCRIPTION
"Headers, static libraries and CMake files of emplace, for programs and
plug-ins.")
# What the static libraries link is what they were built with.
file(STRINGS .ci/packages packages REGEX "-dev +build$")
list(TRANSFORM packages REPLACE " .*" "")
list(REMOVE_ITEM packages libcli11-dev)
list(JOIN packages ", " CPACK_DEBIAN_UNSPECIFIED_PACKAGE_DEPENDS)

if(TARGET emplace_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME emplace-mpi)
  set(CPACK_COMPONENT_MPI_DESCRIPTION "The module with which emplace runs suites and trains on the ranks of mpirun.")
  set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
  set(CPACK_COMPONENT_MPI_DEPENDS program)
  set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
endif()
include(CPack)

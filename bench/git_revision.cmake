# Writes the git revision of SOURCE_DIR into the header OUTPUT, and leaves the header alone where nothing
# changed. Runs at every build:  cmake -D SOURCE_DIR=... -D OUTPUT=... -P git_revision.cmake
cmake_minimum_required(VERSION 3.25)
set(revision "")
find_program(git git)
# Only a checkout of this project counts, not one of a folder around it.
if(git AND EXISTS "${SOURCE_DIR}/.git")
  execute_process(
    COMMAND ${git} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY "${SOURCE_DIR}"
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT revision)
  set(revision unknown)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
  "#pragma once\n#define EMPLACE_GIT_REVISION \"@revision@\"\n" @ONLY)

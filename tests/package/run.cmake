# Installs a build, moves the result elsewhere, and builds and runs examples/agent with it, a project of a third party:
#   cmake -D BUILD_DIR=... -D WORK_DIR=... -D CXX=... -D BUILD_TYPE=... -D SOURCE_DIR=... -P run.cmake
cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/installed)
file(RENAME ${WORK_DIR}/installed ${WORK_DIR}/moved)

# What was installed must know neither where it was built nor with which warnings.
file(GLOB_RECURSE package ${WORK_DIR}/moved/lib/*.cmake)
if(NOT package)
  message(FATAL_ERROR "no package was installed")
endif()
foreach(file IN LISTS package)
  file(READ ${file} text)
  foreach(leak IN ITEMS ${SOURCE_DIR} ${BUILD_DIR} emplace_build_flags -Wall)
    string(FIND "${text}" "${leak}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} contains ${leak}")
    endif()
  endforeach()
endforeach()

run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/examples/agent -B ${WORK_DIR}/build -G Ninja
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
execute_process(COMMAND ${WORK_DIR}/build/compare OUTPUT_VARIABLE comparison COMMAND_ECHO STDOUT
                COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "${comparison}")
if(NOT comparison MATCHES "earliest-finish +[0-9.]+ ms")
  message(FATAL_ERROR "the example's own agent did not place")
endif()

# Installs a build, moves the result elsewhere, and builds and runs examples/agent with it, a project of a third party, and
# the plug-in of examples/plugin:
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

# The plug-in, whose own test lets its agent place.
set(emplace ${WORK_DIR}/moved/bin/emplace)
file(COPY ${SOURCE_DIR}/examples/plugin/ DESTINATION ${WORK_DIR}/my-agent)
run(${CMAKE_COMMAND} -S ${WORK_DIR}/my-agent -B ${WORK_DIR}/my-agent/build -G Ninja
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/my-agent/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK_DIR}/my-agent/build --output-on-failure)
set(plugin ${WORK_DIR}/my-agent/build/my_agent.so)
execute_process(COMMAND ${emplace} --plugin ${plugin} show my-agent OUTPUT_VARIABLE listing
                COMMAND_ERROR_IS_FATAL ANY)
run(${emplace} --plugin ${plugin} dev check-agent my-agent)
if(NOT listing MATCHES "moves +1 +groups that move at a time")
  message(FATAL_ERROR "the plug-in is not shown: ${listing}")
endif()

# In a suite, on several threads, beside another agent; the manifest names it.
file(WRITE ${WORK_DIR}/suite.json [[
{"schema": "emplace-suite", "version": 1, "name": "plug-in", "graphs": ["inception-v3"], "clusters": ["p2-8xlarge-2"],
 "agents": ["heft", "my-agent:moves=2"], "repetitions": 4, "max_evaluations": 50}]])
run(${emplace} --plugin ${plugin} run ${WORK_DIR}/suite.json -o ${WORK_DIR}/run)
file(READ ${WORK_DIR}/run/manifest.json manifest)
if(NOT manifest MATCHES "\"plug-in my_agent.so\": \"[0-9a-f]+\"")
  message(FATAL_ERROR "the manifest does not name the plug-in")
endif()
execute_process(COMMAND ${emplace} --plugin ${plugin} --plugin ${plugin} list agents RESULT_VARIABLE code
                ERROR_VARIABLE error OUTPUT_QUIET)
if(NOT code EQUAL 3 OR NOT error MATCHES "two agents are called 'my-agent'")
  message(FATAL_ERROR "a plug-in whose agent is there already was not refused: ${code} ${error}")
endif()

# Another plug-in beside it, with an agent of its own; and one that was built for another version.
file(READ ${WORK_DIR}/my-agent/my_agent.cpp source)
string(REPLACE "my-agent" "other-agent" source "${source}")
file(WRITE ${WORK_DIR}/other-agent/other_agent.cpp "${source}")
file(GLOB_RECURSE abi ${WORK_DIR}/moved/include/*/plugin_abi.hpp)
get_filename_component(abi_folder ${abi} DIRECTORY)
file(READ ${abi} old)
string(REGEX REPLACE "(define EMPLACE_PLUGIN_VERSION) \"[^\"]*\"" "\\1 \"0.0\"" old "${old}")
file(WRITE ${WORK_DIR}/old/emplace/agents/plugin_abi.hpp "${old}")
file(READ ${abi_folder}/plugin.hpp header)
file(WRITE ${WORK_DIR}/old/emplace/agents/plugin.hpp "${header}")
get_filename_component(include ${abi_folder}/../.. ABSOLUTE)
foreach(kind IN ITEMS other old)
  run(${CXX} -std=c++20 -O1 -fPIC -shared -I ${WORK_DIR}/${kind} -I ${include}
      ${WORK_DIR}/other-agent/other_agent.cpp -o ${WORK_DIR}/${kind}_agent.so)
endforeach()
execute_process(COMMAND ${emplace} --plugin ${plugin} --plugin ${WORK_DIR}/other_agent.so list agents
                OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
if(NOT listing MATCHES "my-agent" OR NOT listing MATCHES "other-agent")
  message(FATAL_ERROR "of two plug-ins one is not listed: ${listing}")
endif()
execute_process(COMMAND ${emplace} --plugin ${WORK_DIR}/old_agent.so list agents RESULT_VARIABLE code
                ERROR_VARIABLE error OUTPUT_QUIET)
if(NOT code EQUAL 3 OR NOT error MATCHES "was built for 'emplace 0.0,")
  message(FATAL_ERROR "a plug-in of another version was not refused: ${code} ${error}")
endif()

# A plug-in's agent is trained, and its policy used on another graph.
run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/package/learner -B ${WORK_DIR}/learner -G Ninja
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/learner)
set(learner ${emplace} --plugin ${WORK_DIR}/learner/learner.so)
run(${learner} train device-weights inception-v3 rnnlm --cluster p2-8xlarge-2 --groups 16 --episodes 40
    -o ${WORK_DIR}/policy.json)
run(${learner} place resnet-50 --cluster p2-8xlarge-2 --groups 16 --policy ${WORK_DIR}/policy.json
    -o ${WORK_DIR}/placed.json)
execute_process(COMMAND ${learner} show device-weights --cluster p2-8xlarge-2 OUTPUT_VARIABLE shown COMMAND_ERROR_IS_FATAL ANY)
if(NOT shown MATCHES "weights")
  message(FATAL_ERROR "the policy of a plug-in is not shown: ${shown}")
endif()

# A plug-in, a program, a class of Python and our own agents in one report, if the Python package was built.
file(GLOB_RECURSE module ${WORK_DIR}/moved/lib/_core*.so)
if(module)
  file(WRITE ${WORK_DIR}/all.json [[
{"schema": "emplace-suite", "version": 1, "name": "all", "graphs": ["inception-v3"], "clusters": ["p2-8xlarge-2"],
 "agents": ["heft", "multilevel", "learned-search", "my-agent", {"agent": "exec:./hill_climb.py", "name": "a program"}],
 "repetitions": 2, "max_evaluations": 50}]])
  run(${CMAKE_COMMAND} -E copy ${SOURCE_DIR}/examples/exec/hill_climb.py ${SOURCE_DIR}/examples/python/my_agent.py
      ${WORK_DIR})
  execute_process(COMMAND ${emplace} --plugin ${plugin} run all.json --python my_agent.py -o all --threads 1 --json
                  WORKING_DIRECTORY ${WORK_DIR} OUTPUT_VARIABLE report COMMAND_ERROR_IS_FATAL ANY)
  foreach(agent IN ITEMS heft multilevel learned-search my-agent "a program" mutate)
    if(NOT report MATCHES "\"agent\": \"${agent}\"")
      message(FATAL_ERROR "${agent} is not in the report of all kinds of agents: ${report}")
    endif()
  endforeach()
  if(report MATCHES "failed\": [1-9]")
    message(FATAL_ERROR "an agent failed: ${report}")
  endif()
endif()

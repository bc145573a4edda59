# Compares the committed pages with those that the program writes:
#   cmake -D EMPLACE=program -D PAGES=docs/reference -D WORK_DIR=folder -P reference_pages.cmake

file(REMOVE_RECURSE ${WORK_DIR})
execute_process(COMMAND ${EMPLACE} dev docs --output ${WORK_DIR}
  RESULT_VARIABLE result ERROR_VARIABLE message)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "emplace dev docs failed: ${message}")
endif()

file(GLOB_RECURSE written RELATIVE ${WORK_DIR} ${WORK_DIR}/*)
file(GLOB_RECURSE committed RELATIVE ${PAGES} ${PAGES}/*)
set(names ${written} ${committed})
list(REMOVE_DUPLICATES names)
set(different "")
foreach(name IN LISTS names)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${PAGES}/${name} ${WORK_DIR}/${name}
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(NOT result EQUAL 0)
    string(APPEND different " ${name}")
  endif()
endforeach()
if(different)
  message(FATAL_ERROR "docs/reference differs from what the program writes, in:${different}\n"
    "After a change of an agent, format, option or schema, write the pages again and commit them:\n"
    "  ./emplace dev docs --output docs/reference\n")
endif()

# Fails where a module knows more than it may:  cmake -D ROOT=<folder of the modules> -P <this file>
# Two rules. No include points up the chain. No identifier contains a word for what the module must not know, however
# it came to know it. Comments and texts are free: they may say what something is for.
cmake_minimum_required(VERSION 3.25)
set(chain graphs profiles sim steps agents bench)
# The part of profiles/calibrate that runs steps on devices compares them with simulated ones, so it comes after sim.
set(names_of_steps "steps|calibrate/validation")
set(files_of_steps "^profiles/calibrate/.*/(${names_of_steps})[/.]")

# Words as they stand in snake_case; a type's name is split at its capitals. "placement" is found in placement_of and
# in NamedPlacement, but not in replacement.
set(placing placement placements placed makespan simulator simulate simulation)
set(deciding agent agents reward rewards episode episodes session)
set(reporting suite suites)
set(not_in_graphs device_id device_of device_profile cluster clusters bandwidth ${placing} ${deciding} ${reporting})
set(not_in_profiles device_of group_id group_of grouping ${placing} ${deciding} ${reporting})
set(not_in_steps ${deciding} ${reporting})
set(not_in_sim policy policies ${deciding} ${reporting})
set(not_in_agents ifstream ofstream filesystem text_file ${reporting})

# DeviceId stands with the other ids, so that all modules count alike.
set(allowed_in_graphs/include/emplace/graphs/ids.hpp device_id)

foreach(module IN LISTS chain)
  list(POP_FRONT chain)
  list(JOIN chain "|" above)
  string(REPLACE steps "${names_of_steps}" above "${above}")
  set(folder ${module})
  set(filter EXCLUDE)
  if(module STREQUAL steps)
    set(folder profiles/calibrate)
    set(filter INCLUDE)
  endif()
  file(GLOB_RECURSE files RELATIVE ${ROOT}
       ${ROOT}/${folder}/*.hpp ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.cu ${ROOT}/${folder}/*.cuh)
  list(FILTER files ${filter} REGEX "${files_of_steps}")
  foreach(file IN LISTS files)
    file(READ ${ROOT}/${file} text)
    string(PREPEND text "\n")
    if(above AND text MATCHES "\n *# *include *[<\"]([^>\"\n]*/)?(${above})[/.][^>\"\n]*")
      message(SEND_ERROR "${file} knows more than ${module} may:${CMAKE_MATCH_0}")
    endif()

    set(words ${not_in_${module}})
    list(REMOVE_ITEM words ${allowed_in_${file}} "")
    if(NOT words)
      continue()
    endif()
    list(JOIN words "|" words)
    string(REGEX REPLACE "\"([^\"\\\\\n]|\\\\.)*\"" "" text "${text}")
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "([A-Z]+)" "_\\1" text "${text}")
    string(TOLOWER "${text}" text)
    string(REGEX MATCHALL "[a-z0-9_]*(${words})[a-z0-9_]*" names "${text}")
    list(FILTER names INCLUDE REGEX "(^|_)(${words})(_|$)")
    list(REMOVE_DUPLICATES names)
    if(names)
      list(JOIN names ", " names)
      message(SEND_ERROR "${file} names what ${module} must not know: ${names}")
    endif()
  endforeach()
endforeach()

#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# What the scripts install and load: packages only when they may, libraries only from where nobody but root writes.

load cli.bash

# A machine on which no package is installed; what apt-get is told to do is written down.
bare_machine() {
  mkdir bin
  printf '#!/bin/sh\nexit 1\n' >bin/dpkg-query
  printf '#!/bin/sh\necho "$@" >>%q\n' "$PWD/asked" >bin/apt-get
  printf '#!/bin/sh\necho 0\n' >bin/id
  chmod +x bin/*
}

@test "packages are installed after they are named" {
  bare_machine
  PATH="$PWD/bin:$PATH" EMPLACE_NO_INSTALL=0 run --separate-stderr "$EMPLACE_SOURCE_DIR/.ci/setup" build
  [ "$status" -eq 0 ] && [ -z "$output" ]
  [[ "$stderr" == *"EMPLACE_NO_INSTALL=1 prevents"*" g++ cmake "* ]]
  grep -q "install --no-install-recommends.* g++ cmake " asked
}

@test "EMPLACE_NO_INSTALL prevents installing" {
  bare_machine
  PATH="$PWD/bin:$PATH" EMPLACE_NO_INSTALL=1 run --separate-stderr "$EMPLACE_SOURCE_DIR/.ci/setup" build
  [ "$status" -eq 1 ] && [ -z "$output" ]
  [[ "$stderr" == *"run: apt-get install g++ cmake "* ]]
  [ ! -e asked ]
}

@test "libraries of CUDA are loaded from trusted places only" {
  [ "$(id -u)" -eq 0 ] || skip "needs root, who makes the files of others"
  mkdir -p root/lib others/lib writable/lib linked
  touch root/lib/libcudnn.so.9 others/lib/libcublas.so.12 writable/lib/libcupti.so.13
  chown nobody others
  chmod a+w writable/lib
  ln -s ../others/lib/libcublas.so.12 linked/libcublas.so.12
  run -0 "$EMPLACE_SOURCE_DIR/profiles/calibrate/trusted_libraries.sh" "$PWD"
  [ "$output" = "$PWD/root/lib" ]
  # The sticky bit keeps what is there, but lets others add.
  chmod 1777 root/lib
  run -0 "$EMPLACE_SOURCE_DIR/profiles/calibrate/trusted_libraries.sh" "$PWD"
  [ -z "$output" ]
  chmod 755 root/lib
  chmod a+w root/lib/libcudnn.so.9
  run -0 "$EMPLACE_SOURCE_DIR/profiles/calibrate/trusted_libraries.sh" "$PWD"
  [ -z "$output" ]
}

# A tree of the launcher with a program that was built; cmake and dpkg-query are ours.
built_tree() {
  mkdir -p tree/build/release tree/graphs tree/profiles tree/sim tree/agents tree/bench bin
  cp -r "$EMPLACE_SOURCE_DIR/emplace" "$EMPLACE_SOURCE_DIR/.ci" tree/
  touch tree/CMakeLists.txt tree/CMakePresets.json
  printf '#!/bin/sh\necho "the program: $*"\n' >tree/build/release/emplace
  printf '#!/bin/sh\necho "cmake $*" >>%q\nexit "${CMAKE_STATUS-0}"\n' "$PWD/asked" >bin/cmake
  printf '#!/bin/sh\ncase "$*" in *Status-Status*Package*|*Package*) cat %q;; *) echo installed;; esac\n' \
    "$PWD/installed" >bin/dpkg-query
  echo "g++ 12 installed" >installed
  chmod +x tree/build/release/emplace bin/*
  PATH="$PWD/bin:$PATH"
  # The first call builds, as nothing says what the machine offered.
  run -0 tree/emplace --version
  rm asked
}

@test "a package that does not matter builds nothing, one that does builds anew" {
  built_tree
  run -0 tree/emplace list
  [ "$output" = "the program: list" ]
  [ ! -e asked ]
  touch -d 2000-01-01 tree/build/release/parts  # as if any package was installed since
  run -0 tree/emplace list
  [ ! -e asked ]
  echo "libmetis-dev 5 installed" >>installed
  touch -d 2000-01-01 tree/build/release/parts
  run -0 tree/emplace list
  grep -q -- "--preset release --fresh" asked
}

@test "after a build that fails the last program runs, and the user knows" {
  built_tree
  sleep 0.01
  touch tree/agents/new.cpp
  CMAKE_STATUS=1 run -0 --separate-stderr tree/emplace list
  [ "$output" = "the program: list" ]
  [[ "$stderr" == *"emplace: building what changed"* ]]
  [[ "$stderr" == *"the build failed; this is the program of 20"* ]]
  rm tree/build/release/emplace
  CMAKE_STATUS=1 run -1 --separate-stderr tree/emplace list
  [[ "$stderr" == *"emplace: the build failed"* ]]
}

@test "completing a command line builds nothing" {
  built_tree
  sleep 0.01
  touch tree/agents/new.cpp
  run -0 tree/emplace __complete ""
  [ "$output" = "the program: __complete " ]
  [ ! -e asked ]
}

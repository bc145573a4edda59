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

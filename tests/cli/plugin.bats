#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Plug-ins that must be refused, and the project of a new one. That one works is tested by package/run.cmake.

load cli.bash

# library FILE TEXT: a shared library of C.
library() {
  printf '%s\n' "$2" >library.c
  cc -shared -fPIC library.c -o "$1"
}

@test "what is no plug-in of this emplace is refused" {
  refuses 3 'plug-in missing.so: cannot be loaded: ' --plugin missing.so list agents
  echo 'no library' >text.so
  refuses 3 'plug-in ./text.so: cannot be loaded: ' --plugin ./text.so list agents
  head -c 100 "$EMPLACE" >cut.so
  refuses 3 'plug-in cut.so: cannot be loaded: ' list agents --plugin cut.so
  library other.so 'int other(void) { return 1; }'
  refuses 3 'plug-in other.so: has no symbol emplace_plugin' --plugin other.so list agents
  library old.so 'static const struct { const char* abi; } old = {"emplace 0.1, layout 0"};
    const void* emplace_plugin(void) { return &old; }'
  refuses 3 "was built for 'emplace 0.1, layout 0', and this program is 'emplace " --plugin old.so list agents
  local version
  version=$("$EMPLACE" --version | head -n 1 | sed 's/^emplace \([0-9]*\.[0-9]*\).*/\1/')
  [[ "$stderr" == *"this program is 'emplace $version, "* ]]
  library empty.so 'const void* emplace_plugin(void) { return 0; }'
  refuses 3 "was built for 'unknown'" --plugin empty.so list agents
  library undefined.so 'extern int nowhere(void); int f(void) { return nowhere(); }'
  refuses 3 'undefined symbol: nowhere' --plugin undefined.so list agents
}

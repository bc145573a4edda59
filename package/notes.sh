#!/bin/sh
# Prints what is new in a version, from CHANGELOG.md: package/notes.sh v0.3.0
# Fails if the program has another version.
set -eu

cd "$(dirname "$(readlink -f "$0")")/.."
version=${1#v}
if ! grep -q "^project(emplace VERSION $version " CMakeLists.txt; then
  echo "notes: the version in CMakeLists.txt is not $version" >&2
  exit 1
fi
notes=$(awk -v begin="## [$version]" 'index($0, "## ") == 1 { here = index($0, begin) == 1; next } here' CHANGELOG.md)
if [ -z "$notes" ]; then
  echo "notes: CHANGELOG.md has no section [$version]" >&2
  exit 1
fi
echo "$notes"

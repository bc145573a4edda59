#!/bin/sh
# Adds inputs to the corpus of a fuzz target: tests/fuzz/pack.sh TARGET FILE...
# The corpus is the archive tests/fuzz/corpus/TARGET.tar.xz, which is made if there is none. A FILE replaces an input of
# the same name. The same inputs give the same archive.
set -eu
export LC_ALL=C

if [ $# -lt 2 ]; then
  echo "usage: tests/fuzz/pack.sh TARGET FILE..." >&2
  exit 2
fi
archive=$(dirname "$(readlink -f "$0")")/corpus/$1.tar.xz
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/inputs"
if [ -e "$archive" ]; then
  tar -xJf "$archive" -C "$work/inputs"
fi
cp -- "$@" "$work/inputs"
(cd "$work/inputs" &&
  tar -cf ../packed --format=ustar --owner=0 --group=0 --numeric-owner --mode=644 --mtime=@0 -- *)
xz -9e "$work/packed"
mv "$work/packed.xz" "$archive"

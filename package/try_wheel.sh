#!/bin/sh
# Installs the wheel for an interpreter into an empty environment, and runs the quickstart, the examples and the tests of
# the Python package there:
#   package/try_wheel.sh [PYTHON]
# PYTHON is the first python3 of the path unless told otherwise; package/wheel.sh makes its wheel. Needs the network, for
# numpy.
set -eu

root=$(dirname "$(readlink -f "$0")")/..
root=$(readlink -f "$root")
python=${1:-python3}
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/pip" --quiet --disable-pip-version-check install "$root"/build/release/packages/emplace-*-"$tag"-*.whl
cp -r "$root/examples" "$scratch"
# Runs a command that knows of this environment only.
inside() {
  env -i -C "$scratch" HOME="$scratch" LANG=C.UTF-8 PATH="$scratch/venv/bin:/usr/bin:/bin" "$@"
}

echo "try_wheel: the program"
inside emplace --version
inside emplace doctor | grep 'present  the Python package'
inside emplace run quickstart >"$scratch/quickstart"
grep -A 3 '^inception-v3 on p2-8xlarge-4' "$scratch/quickstart"
inside emplace run examples/suite.json --python examples/python/my_agent.py >"$scratch/agents"
grep 'mutate ' "$scratch/agents"
echo "try_wheel: the examples"
for example in evaluate environment compare; do
  inside python "examples/python/$example.py"
done
echo "try_wheel: the tests"
for test in "$root"/tests/python/*_test.py; do
  case "$test" in
  */package_test.py) ;; # of another way to install
  *) inside EMPLACE="$scratch/venv/bin/emplace" python -W error "$test" || [ $? = 5 ] ;; # 5: all were skipped
  esac
done

echo "try_wheel: the source distribution"
mkdir "$scratch/source"
tar -xf "$root"/build/release/packages/emplace-*.tar.gz -C "$scratch/source" --strip-components 1
cmake -S "$scratch/source" --preset release >"$scratch/configure" || { cat "$scratch/configure"; exit 1; }
echo "try_wheel: all passed"

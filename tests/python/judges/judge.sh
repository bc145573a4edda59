#!/bin/sh
# Installs the packages of requirements.txt into a virtual environment, and lets them judge what build/release imports:
#   tests/python/judges/judge.sh [FOLDER]
# FOLDER is build/judges unless told otherwise; it is made if it is missing or if other versions are required. Needs the
# network then, and Debian's Python, for which the module emplace is built.
set -eu

here=$(dirname "$(readlink -f "$0")")
root=$(readlink -f "$here/../../..")
folder=${1:-$root/build/judges}
if ! cmp -s "$here/requirements.txt" "$folder/requirements.txt"; then
  rm -rf "$folder"
  /usr/bin/python3 -m venv "$folder"
  # Wheels are large, and are unpacked once.
  "$folder/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$folder/requirements.txt"
fi

failed=0
# judge NAME FILE ARGUMENTS...
judge() {
  echo "judges: $1"
  shift
  PYTHONPATH="$root/build/release/bench/python" EMPLACE="$root/build/release/emplace" \
    PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 "$folder/bin/python" "$@" || failed=1
}
for test in "$here"/*_test.py; do
  judge "$(basename "$test" _test.py)" "$test" -v
done
judge device_maps "$here/device_maps.py"
judge api "$root/tests/python/api_test.py"
judge apply "$root/tests/python/apply_test.py" -v
judge gymnasium "$root/tests/python/gymnasium_test.py"
judge placeto "$root/tests/python/placeto_test.py"
judge ppo "$root/examples/python/ppo.py" 20
judge "stable baselines" "$root/examples/python/maskable_ppo.py" 8000
exit "$failed"

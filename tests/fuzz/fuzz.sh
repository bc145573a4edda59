#!/bin/sh
# Lets libFuzzer look for inputs that break a reader: tests/fuzz/fuzz.sh [TARGET...]
# A target is a folder of corpus/; without any, all run, FUZZ_JOBS (2) at a time, each for FUZZ_MINUTES (30). Inputs of at
# most 1 KiB that reach code which the corpus does not reach are added to it; the rest stays in
# build/fuzz/found/TARGET/new, where the next run begins. Prints counts for each target; the exit status is not 0 if an input broke one, and that input is
# in build/fuzz/found/TARGET/.
# Needs: .ci/setup build fuzz && cmake --preset fuzz && cmake --build --preset fuzz
set -eu

cd "$(dirname "$(readlink -f "$0")")/../.."
if [ $# -ne 1 ]; then
  if [ $# -eq 0 ]; then
    set -- tests/fuzz/corpus/*
  fi
  printf '%s\n' "$@" | xargs -P "${FUZZ_JOBS:-2}" -n 1 tests/fuzz/fuzz.sh
  exit
fi

target=$(basename "$1")
corpus=tests/fuzz/corpus/$target
fuzz=build/fuzz/${target}_fuzz
found=build/fuzz/found/$target
new=$found/new
mkdir -p "$new"
before=$(find "$corpus" -type f | wc -l)

status=0
"$fuzz" -max_total_time=$((${FUZZ_MINUTES:-30} * 60)) -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
  -artifact_prefix="$found/" "$new" "$corpus" >"$found/log" 2>&1 || status=$?
executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found/log")
if [ "$status" -ne 0 ]; then
  echo "$target: broken after ${executed:-0} inputs (exit $status), see $found/log"
  exit 1
fi
rm -rf "$found/small"
mkdir "$found/small"
find "$new" -type f -size -2k -exec cp -t "$found/small" {} +
"$fuzz" -set_cover_merge=1 -use_counters=0 "$corpus" "$found/small" >"$found/merge.log" 2>&1
echo "$target: $executed inputs, none broke it; $(($(find "$corpus" -type f | wc -l) - before)) added to the corpus"

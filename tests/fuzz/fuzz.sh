#!/bin/sh
# Lets libFuzzer look for inputs that break a reader: tests/fuzz/fuzz.sh [TARGET...]
# Each TARGET has a corpus, tests/fuzz/corpus/TARGET.tar.xz. Without a TARGET all run, FUZZ_JOBS (2) at a time, each for
# FUZZ_MINUTES (30). Inputs of at most 1 KiB that reach code which the corpus does not reach are added to it; the rest
# stays in build/fuzz/found/TARGET/new, where the next run begins. Prints counts for each target. If an input broke a
# target, the exit status is not 0, and the input is in build/fuzz/found/TARGET.
# Needs: .ci/setup build fuzz && cmake --preset fuzz && cmake --build --preset fuzz
set -eu

cd "$(dirname "$(readlink -f "$0")")/../.."
if [ $# -ne 1 ]; then
  if [ $# -eq 0 ]; then
    set -- tests/fuzz/corpus/*.tar.xz
  fi
  basename -a -s .tar.xz "$@" | xargs -P "${FUZZ_JOBS:-2}" -n 1 tests/fuzz/fuzz.sh
  exit
fi

target=$1
fuzz=build/fuzz/${target}_fuzz
found=build/fuzz/found/$target
corpus=$found/corpus
new=$found/new
rm -rf "$corpus"
mkdir -p "$corpus" "$new"
tar -xJf "tests/fuzz/corpus/$target.tar.xz" -C "$corpus"
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
tests/fuzz/pack.sh "$target" "$corpus"/*
echo "$target: $executed inputs, none broke it; $(($(find "$corpus" -type f | wc -l) - before)) added to the corpus"

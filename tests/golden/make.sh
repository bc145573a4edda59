#!/bin/sh
# Makes the golden cases again: tests/golden/make.sh [CLONE]
# CLONE is a clone of the code released with Placeto; without it, placeto_expected.jsonl.gz stays as it is.
# Needs g++, python3, nlohmann-json3-dev and libsimgrid-dev (Debian 12 has SimGrid 3.32).
set -eu

if [ $# -gt 0 ]; then
  clone=$(readlink -e "$1")
fi
cd "$(dirname "$(readlink -f "$0")")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

./physical_cases.py >"$work/physical_cases.jsonl"
g++ -std=c++20 -O2 physical_expected.cpp -o "$work/physical_expected" -lsimgrid
# A process of SimGrid simulates one machine.
while IFS= read -r line; do
  printf '%s\n' "$line" | "$work/physical_expected"
done <"$work/physical_cases.jsonl" >"$work/physical_expected.jsonl"

./placeto_cases.py >"$work/placeto_cases.jsonl"
if [ $# -gt 0 ]; then
  ./placeto_expected.py "$clone" <"$work/placeto_cases.jsonl" >"$work/placeto_expected.jsonl"
fi

gzip -9n "$work"/*.jsonl
cp "$work"/*.gz .

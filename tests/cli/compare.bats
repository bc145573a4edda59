#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# Two runs compared.

load cli.bash

# run_of FOLDER: runs the small suite.
run_of() {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o "$1" >/dev/null
}

# slower FROM TO: copies a run, with steps of single-gpu that take half as long again.
slower() {
  cp -r "$1" "$2"
  without_checksum "$2/cells.jsonl"
  python3 - "$2/cells.jsonl" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
for line in lines:
    line["step_time_us"] *= 1.5 if line["agent"] == "single-gpu" else 1
open(sys.argv[1], "w").writelines(json.dumps(line) + "\n" for line in lines)
END
}

@test "a run compared with itself is the same" {
  run_of r
  answers 0 compare r r
  [[ "$output" == *"8 of 8 results by graph are the same in A and B, to the last bit"* ]]
  answers 0 compare r r --json --threshold 0
  holds 'd["slower"] == d["faster"] == 0' 'd["differences"] == d["missing"] == []' \
    'all(row["identical"] for row in d["by_graph"])'
}

@test "a regression beyond the threshold ends with exit code 5" {
  run_of r
  slower r s
  answers 5 compare r s
  [[ "$output" == *"slower by more than 2 % in 2 comparisons, faster in 0."* ]]
  answers 0 compare r s --threshold 60%
  answers 0 compare s r --format markdown
  [[ "$output" == "# Comparison of A and B"* ]]
  answers 5 compare r s --threshold 0.4 --json -o c.json
  [ -z "$output" ]
  output=$(cat c.json)
  holds 'd["threshold"] == 0.4' \
    '{row["agent"] for row in d["by_graph"] if row["verdict"] == "slower"} == {"single-gpu"}'
}

@test "compare tells what is missing and where costs differ" {
  run_of r
  cp -r r s
  sed -i '$d' s/cells.jsonl
  without_checksum s/manifest.json
  sed -i 's/"version": "[0-9.]*"/"version": "9.9.9"/' s/manifest.json
  sed -i '0,/"step_hash": "[0-9a-f]*"/s//"step_hash": "0000000000000000"/' s/manifest.json
  answers 0 compare r s --json
  holds '[x["what"].split(" of ")[0] for x in d["differences"]] == ["program", "costs"]' \
    'd["b"]["cells_finished"] == d["a"]["cells_finished"] - 1'
}

@test "compare tells mistakes" {
  run_of r
  refuses 2 "missing RUN_B" compare r
  refuses 2 "--threshold: expected a share such as 2% or 0.02, found 'two'" compare r r --threshold two
  refuses 2 "--threshold: expected a share" compare r r --threshold=-1%
  refuses 2 "--threshold: expected a share" compare r r --threshold 2%%
  refuses 3 "none: no results here" compare r none
  without_checksum r/manifest.json
  sed -i 's/"step_hash": "[0-9a-f]*"/"step_hash": "0000000000000000"/' r/manifest.json
  cp -r r s
  sed -i 's/"step_hash": "0/"step_hash": "1/' s/manifest.json
  refuses 3 "step times cannot be compared" compare r s
}

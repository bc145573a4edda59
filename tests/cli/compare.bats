#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# Two runs compared, and placements.

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
  refuses 2 "SOURCE" compare r
  refuses 2 "expected two runs, found 3" compare r r r
  refuses 2 "--draws and HTML are for placements" compare r r --draws 5
  refuses 2 "--draws and HTML are for placements" compare r r -o page.html
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

# placements: two files of the tiny graph, together.json and apart.json.
placements() {
  tiny_graph tiny.json
  for device in gpu:0 gpu:1; do
    echo '{"schema": "emplace-placement", "version": 1, "cluster": "p2-8xlarge-2",
      "devices": {"x": "gpu:0", "left": "gpu:0", "right": "'"$device"'", "sum": "gpu:0"}}' >"$device.json"
  done
  mv gpu:0.json together.json
  mv gpu:1.json apart.json
}

@test "placements are compared with the first" {
  placements
  answers 0 compare together.json apart.json --graph ./tiny.json --json
  holds 'd["placements"][0]["over_first"] == 0 > d["placements"][1]["over_first"]' \
    '[(m["scope"], m["from"], m["to"], m["ops"]) for m in d["placements"][1]["moved"]] == [("right", "gpu:0", "gpu:1", 1)]' \
    '[sum(l["bytes"] for l in p["links"]) for p in d["placements"]] == [0, 8000]' \
    'all(abs(sum(x["path_us"] for x in p["devices"] + p["links"]) - p["step_time_us"]) < 1e-3 for p in d["placements"])'
  answers 0 compare together.json apart.json --graph ./tiny.json
  [[ "$output" == "Placements of "*"On the critical path [ms]"*"Moved from A to B"* ]]
  answers 0 compare together.json apart.json together.json --graph ./tiny.json --format markdown
  [[ "$output" == "# Placements of "*"Moved from A to B"* && "$output" != *"Moved from A to C"* ]]
  answers 0 compare together.json apart.json --graph ./tiny.json -o page.html
  [ -z "$output" ]
  grep -q "compares_placements" page.html
}

@test "a cell of a run is compared with a file" {
  run_of r
  cell=$(python3 -c 'import json; print(next(cell["id"] for cell in map(json.loads, open("r/cells.jsonl"))
    if (cell["agent"], cell["cluster"]) == ("single-gpu", "p2-8xlarge-2")))')
  placements
  answers 0 compare together.json "r:$cell" --graph ./tiny.json --json
  holds 'd["placements"][0]["step_time_us"] == d["placements"][1]["step_time_us"]' \
    'd["placements"][1]["moved"] == []'
}

@test "compare tells mistakes of placements" {
  placements
  refuses 2 "no graph is named" compare together.json apart.json
  refuses 2 "--threshold is for runs" compare together.json apart.json --graph ./tiny.json --threshold 5%
  refuses 3 "missing.json" compare together.json missing.json --graph ./tiny.json
  refuses 2 "--seed requires --draws" compare together.json apart.json --graph ./tiny.json --seed 3
  "$EMPLACE" place vgg-16 --cluster p2-8xlarge-2 --agent single-gpu -o vgg.json
  "$EMPLACE" place resnet-50 --cluster p2-8xlarge-2 --agent single-gpu -o resnet.json
  refuses 2 "vgg.json is of vgg-16, resnet.json of resnet-50: expected the same ops" compare vgg.json resnet.json
}

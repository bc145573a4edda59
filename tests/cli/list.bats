#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# `emplace list`: tables for a terminal, and all there is to tell of one name.

load cli.bash

# Fails if a line of $output is longer than 80 columns.
fits() {
  local width
  width=$(wc -L <<<"$output")
  if [ "$width" -gt 80 ]; then
    printf 'a line has %s columns\n%s\n' "$width" "$output"
    return 1
  fi
}

@test "each listing fits 80 columns and has a name and a summary of each" {
  local what
  for what in agents clusters formats graphs groupings profiles suites; do
    answers 0 list "$what"
    fits
    local table=$output
    answers 0 list "$what" --json
    TABLE=$table python3 - "$what" "$output" <<'END'
import json, os, sys
table = " ".join(os.environ["TABLE"].split())
for entry in json.loads(sys.argv[2])[sys.argv[1]]:
    assert f"{entry['name']} " in table, entry["name"]
    assert entry["summary"].split()[0] in table, entry["name"]
END
  done
}

@test "list agents has a row of name, kind and summary for each" {
  answers 0 list agents
  [[ "${lines[0]}" =~ ^\ +agent\ +kind\ +summary$ ]]
  grep -Eq '^  heft +heuristic +[a-z]' <<<"$output"
}

@test "a name after it, and --details, tell the parameters" {
  answers 0 list agents hill-climb
  [[ "${lines[0]}" == hill-climb ]]
  grep -Eq '^  start +one-device +placement from which' <<<"$output"
  lacks 'rnn-colocrl' <<<"$output"
  fits
  answers 0 list graphs cifar10
  grep -Eq '^  layers +12 +layers of .* \(3 to 96\)$' <<<"$output"
  answers 0 list agents --details
  grep -Eq '^  start +one-device +placement from which' <<<"$output"
  grep -q '^simulated-annealing$' <<<"$output"
  answers 0 list agents hill-climb --json
  holds '[a["name"] for a in d["agents"]] == ["hill-climb"]' \
    'all({"name", "default", "summary", "group", "expert"} <= set(p) for p in d["agents"][0]["parameters"])'
}

@test "an agent with presets tells them" {
  answers 0 list agents placeto
  grep -Eq '^  paper +[a-z]' <<<"$output"
  grep -Eq '^  released +[a-z]' <<<"$output"
  fits
  answers 0 list agents placeto --json
  holds 'd["agents"][0]["parameters"][0]["name"] == "preset"' \
    '[p["name"] for p in d["agents"][0]["presets"]] == d["agents"][0]["parameters"][0]["choices"]' \
    'len({tuple(sorted(p["defaults"])) for p in d["agents"][0]["presets"]}) == 1'
}

@test "clusters tell devices, routes and sources, kinds of ops class and shape" {
  answers 0 list clusters dgx-1-v100
  grep -q '^  8 devices of profile v100, 16.94 GB: gpu:0 to gpu:7$' <<<"$output"
  grep -q '^  16 routes at 46 GB/s with a latency of 9.7 us$' <<<"$output"
  grep -q '^  where the numbers come from (fitted): ' <<<"$output"
  answers 0 list op-kinds reshape
  grep -q '^  class: data-movement$' <<<"$output"
  grep -q "^  shape: the tensor's own shape$" <<<"$output"
  grep -q '^  takes no time$' <<<"$output"
  answers 0 list op-kinds exp --json
  holds '"only in imported graphs" in d["op_kinds"][0]["description"]'
}

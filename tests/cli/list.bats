#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# `emplace list`: tables for a terminal, and all there is to tell of one name.

load cli.bash

# fits ARGUMENTS...: fails if a line that emplace prints at a terminal of 80 columns is longer; leaves it in $output.
fits() {
  output=$(script -qec "stty cols 80; $EMPLACE $*" /dev/null </dev/null | tr -d '\r')
  local width
  width=$(wc -L <<<"$output")
  if [ "$width" -gt 80 ]; then
    printf 'a line has %s columns\n%s\n' "$width" "$output"
    return 1
  fi
}

@test "each listing fits 80 columns of a terminal and has a name and a summary of each" {
  local what
  for what in agents clusters formats graphs groupings profiles suites; do
    fits list "$what"
    local table=$output
    answers 0 list "$what" --json
    echo "$output" >listing.json
    TABLE=$table python3 - "$what" <<'END'
import json, os, sys
table = " ".join(os.environ["TABLE"].split())
for entry in json.load(open("listing.json"))[sys.argv[1]]:
    assert f"{entry['name']} " in table, entry["name"]
    assert entry["summary"].split()[0] in table, entry["name"]
END
  done
}

@test "in a pipe a listing has a line for each name" {
  answers 0 list clusters
  [ "${#lines[@]}" -eq "$(("$(find "$EMPLACE_SOURCE_DIR/profiles/data/clusters" -name '*.json' | wc -l)" + 1))" ]
}

@test "list agents has a row of name, kind and summary for each" {
  answers 0 list agents
  [[ "${lines[0]}" =~ ^\ +agent\ +kind\ +summary$ ]]
  grep -Eq '^  heft +heuristic +[a-z]' <<<"$output"
}

@test "show NAME and list --details tell the parameters" {
  answers 0 show hill-climb
  [[ "${lines[0]}" == "hill-climb (agent)" ]]
  grep -Eq '^  start +one-device +placement from which' <<<"$output"
  fits show hill-climb
  answers 0 show cifar10
  grep -Eq '^  layers +12 +layers of .* \(3 to 96\)$' <<<"$output"
  answers 0 list agents --details
  grep -Eq '^  start +one-device +placement from which' <<<"$output"
  grep -q '^simulated-annealing (agent)$' <<<"$output"
  answers 0 show hill-climb --json
  holds 'd["schema_version"] == 1 and d["agent"]["name"] == "hill-climb"' \
    'all({"name", "default", "summary", "group", "expert"} <= set(p) for p in d["agent"]["parameters"])'
}

@test "an agent with presets tells them" {
  answers 0 show placeto
  grep -Eq '^  paper +[a-z]' <<<"$output"
  grep -Eq '^  released +[a-z]' <<<"$output"
  fits show placeto
  answers 0 show placeto --json
  holds 'd["agent"]["parameters"][0]["name"] == "preset"' \
    '[p["name"] for p in d["agent"]["presets"]] == d["agent"]["parameters"][0]["choices"]' \
    'len({tuple(sorted(p["defaults"])) for p in d["agent"]["presets"]}) == 1'
}

@test "a cluster is shown as its file, ready to edit, and described on standard error" {
  answers 0 show dgx-1-v100
  [[ "$stderr" == *"8 devices of profile v100, 16.94 GB: gpu:0 to gpu:7"* ]]
  [[ "$stderr" == *"16 routes at 46 GB/s with a latency of 9.7 us"* ]]
  [[ "$stderr" == *"where the numbers come from (fitted): "* ]]
  printf '%s\n' "$output" | cmp - "$EMPLACE_SOURCE_DIR/profiles/data/clusters/dgx-1-v100.json"
  answers 0 show dgx-1-v100 -o my.json
  [ -z "$output" ]
  answers 0 show ./my.json
  [[ "$output" == *"8 devices of profile v100"*"v100: "* ]]
  answers 0 show quickstart -o suite.json
  answers 0 run ./suite.json --dry-run
}

@test "a name of two things shows both, and kinds of ops class and shape" {
  answers 0 show metis
  grep -q '^metis (agent)$' <<<"$output"
  grep -q '^metis (grouping)$' <<<"$output"
  answers 0 show reshape
  grep -q '^  class: data-movement$' <<<"$output"
  grep -q "^  shape: the tensor's own shape$" <<<"$output"
  grep -q '^  takes no time$' <<<"$output"
  answers 0 show exp --json
  holds '"only in imported graphs" in d["kind_of_op"]["description"]'
}

@test "show says what a file is, and what is next" {
  "$EMPLACE" place inception-v3 --cluster p2-8xlarge-2 --agent heft -o placement.json
  answers 0 show placement.json
  [[ "${lines[0]}" == "placement.json (placement)" ]]
  [[ "$output" == *"graph        inception-v3"*"gpu:0 "*" ops"*"next: emplace simulate --placement placement.json" ]]
  answers 0 show placement.json --json
  holds 'd["kind"] == "placement" and sum(d["ops_by_device"].values()) == 1121'
  "$EMPLACE" train placeto:preset=released,rounds=1 in-tree:levels=3 --cluster p2-8xlarge-2 --groups 4 --episodes 1 \
    -q -o policy.json >/dev/null
  answers 0 show policy.json
  [[ "$output" == *"agent        placeto:"*"trained      "*" episodes in "*", seed 0"*"--policy policy.json" ]]
  tiny_graph tiny.json
  suite suite.json 1 ./tiny.json
  answers 0 show ./suite.json
  [[ "$output" == *"contents     1 graph, 2 clusters, 4 agents"* ]]
  "$EMPLACE" run ./suite.json -q -o r >/dev/null
  refuses 2 "r holds the results of a run: emplace report r" show r
  refuses 2 "'placement.json' is of the kind placement, for which there is no --cluster" show placement.json --cluster p2-8xlarge-2
  refuses 3 "nothing is called 'xyzzy-42'" show xyzzy-42
}

#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# What uncertain costs make of steps: --draws of simulate and compare.

load cli.bash

# measured_graph FILE DEVIATION: the tiny graph with measured costs: on a K80 both branches take 1000 us.
measured_graph() {
  tiny_graph "$1"
  python3 - "$1" "$2" <<'END'
import json, sys
graph = json.load(open(sys.argv[1]))
for op in graph["ops"][1:3]:
    op["measured"] = [{"device_class": "gpu-k80", "cost_us": 1000, "relative_deviation": float(sys.argv[2])}]
json.dump(graph, open(sys.argv[1], "w"))
END
}

# placement FILE DEVICE: the branch `right` on DEVICE, the rest on gpu:0.
placement() {
  echo '{"schema": "emplace-placement", "version": 1,
    "devices": {"x": "gpu:0", "left": "gpu:0", "right": "'"$2"'", "sum": "gpu:0"}}' >"$1"
}

@test "--draws tells an interval around the step time" {
  measured_graph graph.json 0.1
  placement together.json gpu:0
  local common=(simulate ./graph.json --cluster p2-8xlarge-2 --placement together.json)
  answers 0 "${common[@]}" --draws 1000 --json
  [ -z "$stderr" ]
  # Both branches, one by one, each 1000 us with a standard deviation of 100 us: 141 us together.
  holds 'd["draws"]["count"] == 1000 and d["draws"]["seed"] == 0' \
    'd["draws"]["uncertain_costs"] == 2 and d["draws"]["out_of_memory"] == 0' \
    'abs(d["draws"]["mean_us"] - d["step_time_us"]) < 5 * 141.4 / 1000**0.5' \
    'abs(d["draws"]["standard_deviation_us"] / 141.4 - 1) < 5 * 0.025' \
    'd["draws"]["p05_us"] < d["draws"]["median_us"] < d["draws"]["p95_us"]'
  answers 0 "${common[@]}" --draws 1000
  [[ "$output" == *"step time "*"draws        1000: mean "*" ms, 90 % from "*"lower bound"* ]]
}

@test "without --draws nothing is said of them" {
  measured_graph graph.json 0.1
  answers 0 simulate ./graph.json --cluster p2-8xlarge-2 --agent heft --json
  holds '"draws" not in d'
  answers 0 simulate ./graph.json --cluster p2-8xlarge-2 --agent heft
  [[ "$output" != *"draws"* ]]
}

@test "draws depend on the seed alone" {
  measured_graph graph.json 0.1
  placement together.json gpu:0
  local common=(simulate ./graph.json --cluster p2-8xlarge-2 --placement together.json --json
    --draws 300)
  answers 0 "${common[@]}" --seed 5
  local first=$output
  answers 0 "${common[@]}" --seed 5
  [ "$output" = "$first" ]
  answers 0 "${common[@]}" --seed 6
  [ "$output" != "$first" ]
}

@test "compare --draws tells how probable it is that one placement beats another" {
  measured_graph graph.json 0.1
  placement together.json gpu:0
  placement apart.json gpu:1
  local common=(--graph ./graph.json --cluster p2-8xlarge-2 --draws 200)
  answers 0 compare together.json apart.json "${common[@]}" --json
  holds '[p["draws"]["probability_beats_first"] for p in d["placements"]] == [0.5, 1]' \
    '0.98 < d["placements"][1]["draws"]["probability_beats_first_low"] < 1' \
    'd["placements"][1]["draws"]["probability_beats_first_high"] == 1' \
    'd["placements"][1]["draws"]["mean_difference_us"] < -500' \
    'abs(d["placements"][1]["draws"]["mean_us"] - d["placements"][0]["draws"]["mean_us"] -
         d["placements"][1]["draws"]["mean_difference_us"]) < 1e-6'
  answers 0 compare together.json apart.json "${common[@]}" --wide
  [[ "$output" == *"beats A"*"1.000 (0.98"* ]]
  # The draws are those of simulate.
  mean=$("$EMPLACE" compare together.json apart.json "${common[@]}" --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["placements"][1]["draws"]["mean_us"])')
  answers 0 simulate ./graph.json --cluster p2-8xlarge-2 --placement apart.json --draws 200 --json
  holds "d['draws']['mean_us'] == $mean"
}

@test "a profile's relative deviation counts, and exact costs are told" {
  tiny_graph graph.json
  answers 0 simulate ./graph.json --cluster p2-8xlarge-2 --agent single-gpu --draws 20 --json
  [[ "$stderr" == *"all draws are equal"*'"relative_deviation"'* ]]
  holds 'd["draws"]["uncertain_costs"] == 0 and d["draws"]["standard_deviation_us"] == 0' \
    'd["draws"]["p05_us"] == d["draws"]["p95_us"] == d["step_time_us"]'
  python3 - "$EMPLACE_SOURCE_DIR/profiles/data" <<'END'
import json, sys
cluster = json.load(open(sys.argv[1] + "/clusters/p2-8xlarge-2.json"))
profile = json.load(open(sys.argv[1] + "/devices/k80-placeto-paper.json"))
profile["op_classes"]["matmul"]["relative_deviation"] = 0.2
cluster["devices"][0]["profile"] = profile
json.dump(cluster, open("cluster.json", "w"))
END
  answers 0 simulate ./graph.json --cluster ./cluster.json --agent single-gpu --draws 20 --json
  [ -z "$stderr" ]
  holds 'd["draws"]["uncertain_costs"] == 2 and d["draws"]["standard_deviation_us"] > 0'
}

@test "wrong deviations and options are refused" {
  tiny_graph tiny.json
  local simulate=(simulate ./tiny.json --cluster p2-8xlarge-2)
  refuses 2 "--draws" "${simulate[@]}" --agent heft --draws 0
  refuses 2 "--draws" "${simulate[@]}" --agent heft --draws -3
  refuses 2 "--draws" "${simulate[@]}" --agent heft --draws 1000001
  refuses 2 "--draws" "${simulate[@]}" --agent heft --draws 99999999999999999999
  refuses 2 "--draws" "${simulate[@]}" --agent heft --draws many
  refuses 2 "--seed requires --agent or --draws" "${simulate[@]}" --placement p.json --seed 1
  refuses 2 "--draws" simulate --cases - --draws 3
  for deviation in -0.1 1.5 NaN 1e999; do
    measured_graph graph.json 0.5
    sed -i "s/\"relative_deviation\": 0.5/\"relative_deviation\": $deviation/" graph.json
    refuses 3 "graph.json: /ops/1/measured/0/relative_deviation: " simulate ./graph.json \
      --cluster p2-8xlarge-2 --agent heft --draws 3
  done
}

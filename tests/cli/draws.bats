#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# What uncertain costs make of a step: simulate --draws and --against.

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
    'd["draws"]["p05_us"] < d["draws"]["median_us"] < d["draws"]["p95_us"]' \
    '"against" not in d["draws"]'
  answers 0 "${common[@]}" --draws 1000
  [[ "$output" == *"step time "*"draws     1000: mean "*" ms, 90 % from "*"lower bound"* ]]
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

@test "--against tells how probable it is that one placement beats another" {
  measured_graph graph.json 0.1
  placement together.json gpu:0
  placement apart.json gpu:1
  local common=(simulate ./graph.json --cluster p2-8xlarge-2 --draws 200 --json)
  answers 0 "${common[@]}" --placement apart.json --against together.json
  holds 'd["draws"]["against"]["placed_by"] == "together.json"' \
    'd["draws"]["against"]["probability_beaten"] == 1' \
    '0.98 < d["draws"]["against"]["probability_beaten_low"] < 1' \
    'd["draws"]["against"]["probability_beaten_high"] == 1' \
    'd["draws"]["against"]["mean_difference_us"] < -500' \
    'abs(d["draws"]["mean_us"] - d["draws"]["against"]["mean_us"] -
         d["draws"]["against"]["mean_difference_us"]) < 1e-6'
  # An agent's placement of groups is compared op by op: with itself it always ties.
  "$EMPLACE" place ./graph.json --cluster p2-8xlarge-2 --agent single-gpu -o own.json
  answers 0 "${common[@]}" --agent single-gpu --against own.json
  holds 'd["draws"]["against"]["probability_beaten"] == 0.5' \
    'd["draws"]["against"]["mean_difference_us"] == 0'
  answers 0 simulate ./graph.json --cluster p2-8xlarge-2 --draws 200 \
    --placement apart.json --against together.json
  [[ "$output" == *"against      together.json: mean "*"beaten with probability 1.000 (95 % interval 0.98"*"shorter"* ]]
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
  refuses 2 "--against requires --draws" "${simulate[@]}" --agent heft --against p.json
  refuses 2 "--seed requires --agent or --draws" "${simulate[@]}" --placement p.json --seed 1
  refuses 2 "--draws" simulate --cases - --draws 3
  refuses 3 "missing.json" "${simulate[@]}" --agent heft --draws 3 --against missing.json
  for deviation in -0.1 1.5 NaN 1e999; do
    measured_graph graph.json 0.5
    sed -i "s/\"relative_deviation\": 0.5/\"relative_deviation\": $deviation/" graph.json
    refuses 3 "graph.json: /ops/1/measured/0/relative_deviation: " simulate ./graph.json \
      --cluster p2-8xlarge-2 --agent heft --draws 3
  done
}

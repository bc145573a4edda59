#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Steps that overlap without end: --objective throughput.

load cli.bash

# stages FILE: an input and two ops of 1000 us on a K80 that follow one another, 4 bytes between them.
stages() {
  cat >"$1" <<'END'
{"schema": "emplace-graph", "version": 1, "name": "stages",
 "ops": [
  {"name": "x", "kind": "input", "outputs": [{"shape": [1], "bytes": 4}],
   "measured": [{"device_class": "gpu-k80", "cost_us": 0}]},
  {"name": "first", "kind": "matmul", "outputs": [{"shape": [1], "bytes": 4}],
   "measured": [{"device_class": "gpu-k80", "cost_us": 1000}]},
  {"name": "second", "kind": "matmul", "outputs": [{"shape": [1], "bytes": 4}],
   "measured": [{"device_class": "gpu-k80", "cost_us": 1000}]}],
 "edges": [[0, 0, 1], [1, 0, 2]]}
END
}

@test "two stages are twice as fast as one device" {
  stages graph.json
  local common=(simulate ./graph.json --cluster p2-8xlarge-2 --objective throughput)
  answers 0 "${common[@]}" --agent single-gpu --json
  holds '2000 <= d["period_us"] < 2100 and d["repeats"] and d["steps_in_flight"] == 2' \
    'd["fullest"] == "gpu:0" and abs(d["load_us"] / d["period_us"] - 1) < 1e-6' \
    '"step_time_us" not in d and d["ops"] == 3 and 1000 <= d["bound_us"] < 1100'
  answers 0 "${common[@]}" --agent pipeline-dp --json
  holds '1000 <= d["period_us"] < 1100 and d["repeats"]'
  answers 0 "${common[@]}" --agent pipeline-dp --steps-in-flight 1 --json
  holds '2000 <= d["period_us"] < 2100 and d["steps_in_flight"] == 1'
  answers 0 "${common[@]}" --agent pipeline-dp
  [[ "$output" == *"period "*" ms, "*"throughput "*" steps/s, 2 in flight"*"fullest "*"lower bound"* ]]
}

@test "a search for throughput finds the stages, and its placement is one of a step" {
  stages graph.json
  answers 0 place ./graph.json --cluster p2-8xlarge-2 --objective throughput --evaluations 200 -o placement.json
  answers 0 simulate ./graph.json --cluster p2-8xlarge-2 --placement placement.json --objective throughput --json
  holds 'd["period_us"] < 1100'
  answers 0 simulate ./graph.json --cluster p2-8xlarge-2 --placement placement.json --json
  holds '2000 <= d["step_time_us"] < 2100'
}

@test "the timeline shows the steps" {
  stages graph.json
  answers 0 simulate ./graph.json --cluster p2-8xlarge-2 --agent pipeline-dp --objective throughput --trace trace.json
  python3 -c 'import json; names = {e["name"] for e in json.load(open("trace.json"))["traceEvents"]}
assert {"second", "second~1", "second~7"} <= names, names'
}

@test "options of another objective are refused" {
  stages graph.json
  local common=(simulate ./graph.json --cluster p2-8xlarge-2 --agent single-gpu)
  refuses 2 "--objective: latency not in {step,throughput}" "${common[@]}" --objective latency
  refuses 2 "--steps-in-flight requires --objective" "${common[@]}" --steps-in-flight 2
  refuses 2 "--steps-in-flight is for --objective throughput" "${common[@]}" --objective step --steps-in-flight 2
  refuses 2 "--objective excludes --explain" "${common[@]}" --objective throughput --explain
}

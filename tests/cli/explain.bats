#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# The bottleneck of a step: emplace simulate --explain.

load cli.bash

# two_devices: sets `problem`, a graph on two GPUs with a slow cable, and writes a placement that
# sends two tensors over it.
two_devices() {
  tiny_graph tiny.json
  cat >pair.json <<'END'
{"schema": "emplace-cluster", "version": 1, "name": "pair", "summary": "two GPUs on one slow cable",
 "transfer_model": "physical",
 "physical": {"links": [{"name": "cable", "between": ["gpu:0", "gpu:1"],
                         "bandwidth_bytes_per_us": 0.1, "latency_us": 5}]},
 "devices": [{"name": "gpu:0", "profile": "k80-placeto-paper"}, {"name": "gpu:1", "profile": "k80-placeto-paper"}],
 "provenance": {"kind": "spec-sheet", "source": "a test", "date": "2026-01-01", "notes": ""}}
END
  echo '{"schema": "emplace-placement", "version": 1,
    "devices": {"x": "gpu:0", "left": "gpu:0", "right": "gpu:1", "sum": "gpu:0"}}' >placement.json
  problem=(./tiny.json --cluster ./pair.json)
}

@test "explain names the bottleneck first" {
  two_devices
  # Two tensors of 4000 bytes at 0.1 bytes/us take 80 ms, the ops a few hundred microseconds each.
  answers 0 simulate "${problem[@]}" --placement placement.json --explain
  [[ "${lines[1]}" =~ ^"The step takes 81."[0-9]+" ms, "[0-9.]+" % above the lower bound; its bottleneck is transfers: "[0-9]+" % of the step is transfers (" ]]
  [[ "$output" == *", 2 transfers)"* ]]
  answers 0 simulate "${problem[@]}" --agent single-gpu --explain
  [[ "${lines[1]}" == *"its bottleneck is gpu:0: 100 % of the step is gpu:0 at work." ]]
}

@test "explain --json has a path that covers the step" {
  two_devices
  answers 0 simulate "${problem[@]}" --placement placement.json --explain --json
  holds 'next(iter(d)) == "schema_version" and d["schema_version"] == 1 and d["status"] == "ok"' \
    'd["path"][0]["from_us"] == 0 and d["path"][-1]["to_us"] == d["step_time_us"]' \
    'all(a["to_us"] == b["from_us"] for a, b in zip(d["path"], d["path"][1:]))' \
    'abs(sum(k["path_us"] for k in d["path_kinds"]) - d["step_time_us"]) < 1e-6' \
    'abs(sum(x["path_us"] for x in d["devices"] + d["links"]) - d["step_time_us"]) < 1e-6' \
    '[round(k["path_us"], 6) for k in d["path_kinds"] if k["kind"] == "latency"] == [10]' \
    'd["gains"][0]["what"] == "all-links" and d["out_of_memory"] is None'
  local step
  step=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])' <<<"$output")
  answers 0 simulate "${problem[@]}" --placement placement.json --json
  holds "d['step_time_us'] == $step"
}

@test "explain tells what overflowed a memory, and what would have to move" {
  local problem=(inception-v3:batch=1024 --cluster p2-8xlarge-2 --agent single-gpu)
  answers 0 simulate "${problem[@]}" --explain
  [[ "${lines[1]}" == "The placement does not fit: gpu:0 has 11.000 GB and needs "*" GB at its peak; it is full "*" into the step." ]]
  [[ "${lines[2]}" == *" GB must go elsewhere: "*"the other devices have room for only "*" GB together." ]]
  [[ "$output" == *"stem/conv_1a/batch_norm"* ]]
  answers 0 simulate "${problem[@]}" --explain --json
  holds 'd["status"] == "out_of_memory" and d["out_of_memory"]["device"] == "gpu:0"' \
    'd["out_of_memory"]["bytes_over"] > 0 and len(d["out_of_memory"]["largest"]) <= 10' \
    'd["out_of_memory"]["bytes_over"] + d["devices"][0]["capacity_bytes"] == d["out_of_memory"]["persistent_bytes"] + d["out_of_memory"]["other_bytes"] + sum(t["bytes"] for t in d["out_of_memory"]["largest"])'
}

@test "explain --memory draws how a memory fills" {
  local problem=(inception-v3:batch=8 --cluster p2-8xlarge-2 --agent single-gpu)
  answers 0 simulate "${problem[@]}" --memory gpu:0
  [[ "${lines[0]}" == "gpu:0 uses at most "*" of its 11.000 GB"* ]]
  [ "${#lines[@]}" -gt 30 ]
  grep -q '#' <<<"${lines[1]}"
  answers 0 simulate "${problem[@]}" --memory gpu:0 --json
  holds 'd["schema_version"] == 1 and d["device"] == "gpu:0"' \
    'max(b for _, b in d["curve"]) == d["peak_bytes"]' \
    '[d["peak_at_us"], d["peak_bytes"]] in d["curve"]' \
    'len(d["largest_tensors"]) == 10 and len(d["largest_scopes"]) == 10' \
    'all(a["bytes"] >= b["bytes"] for a, b in zip(d["largest_tensors"], d["largest_tensors"][1:]))' \
    'all(t["from_us"] <= d["peak_at_us"] <= t["until_us"] for t in d["largest_tensors"])' \
    'd["largest_scopes"][0]["name"] == "stem/conv_2b"' \
    'sum(s["weight_bytes"] + s["tensor_bytes"] for s in d["largest_scopes"]) <= d["peak_bytes"]'
}

@test "explain refuses what it cannot explain" {
  refuses 2 "give --cases FILE, --placement FILE, or GRAPH with --cluster and --agent" simulate --explain
  refuses 2 "--agent" simulate inception-v3 --cluster p2-8xlarge-2 --agent heft --placement p.json --explain
  refuses 2 "--explain excludes --memory" simulate inception-v3 --cluster p2-8xlarge-2 --agent heft --explain --memory gpu:0
  refuses 3 "unknown device 'gpu:7'; did you mean 'gpu:0'" simulate inception-v3:batch=2 \
    --cluster p2-8xlarge-2 --agent single-gpu --memory gpu:7
}

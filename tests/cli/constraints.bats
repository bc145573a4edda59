#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Constraints on placements: --pin, --together, --exclude, --memory-limit and --constraints.

load cli.bash

# devices_of PATTERN: the devices of the ops of placement.json whose names begin so.
devices_of() {
  python3 - "$1" <<'END'
import json, sys
devices = json.load(open("placement.json"))["devices"]
print(*sorted({device for op, device in devices.items() if op.startswith(sys.argv[1])}))
END
}

@test "ops are placed where they are pinned, together, and on no excluded device" {
  answers 0 place inception-v3:batch=4 --cluster p2-8xlarge-4 --evaluations 300 -o placement.json \
    --pin input=cpu:0 --pin 'mixed_5*=gpu:1' --together mixed_6b --exclude gpu:3
  [ "$(devices_of input)" = cpu:0 ]
  [ "$(devices_of mixed_5)" = gpu:1 ]
  [ "$(devices_of mixed_6b | wc -w)" = 1 ]
  [[ "$(devices_of '')" != *gpu:3* ]]
  # The file names the constraints, so simulate keeps them.
  answers 0 simulate --placement placement.json --json
  holds 'd["cluster"] == "p2-8xlarge-4:pin=input=cpu:0;mixed_5*=gpu:1,together=mixed_6b,exclude=gpu:3"'
  refuses 2 "expect it on gpu:0" simulate --placement placement.json --cluster p2-8xlarge-4:pin=input=gpu:0
}

@test "a file of constraints says the same as options" {
  answers 0 place inception-v3:batch=4 --cluster p2-8xlarge-4 --agent heft --constraints "$EMPLACE_SOURCE_DIR/examples/constraints.json" \
    -o placement.json
  cp placement.json file.json
  answers 0 place inception-v3:batch=4 --cluster p2-8xlarge-4 --agent heft --pin input=cpu:0 --pin 'mixed_5*=gpu:1' \
    --together mixed_6b --exclude gpu:3 --memory-limit 'gpu:*=8GB' -o placement.json
  diff placement.json file.json
}

@test "a limit makes room on a device" {
  answers 0 place vgg-16 --cluster p2-8xlarge-2 --agent single-gpu --json
  holds 'd["status"] == "ok" and d["devices"][0]["peak_bytes"] > 4e9'
  answers 0 place vgg-16 --cluster p2-8xlarge-2 --agent heft --memory-limit 'gpu:*=4GB' --json
  holds 'd["status"] == "ok" and all(device["peak_bytes"] <= 4e9 for device in d["devices"])'
}

@test "contradictions and unknown names are named" {
  local common=(place vgg-16 --cluster p2-8xlarge-2 --agent heft)
  refuses 2 "gpu:0 is excluded, and 'conv1_1' is pinned to it" "${common[@]}" --pin conv1_1=gpu:0 --exclude gpu:0
  refuses 2 "pin 'conv9': the graph 'vgg-16' has no op and no scope of this name" "${common[@]}" --pin conv9=gpu:0
  refuses 3 "'gpu:9'" "${common[@]}" --exclude gpu:9
  refuses 2 "gpu:0 has 11.000 GB" "${common[@]}" --memory-limit gpu:0=64GB
}

@test "--for finds the placement that a device map can say" {
  local graph=$EMPLACE_SOURCE_DIR/tests/graphs/data/resnet18.onnx:batch=32,training=true
  answers 0 place "$graph" --cluster p2-8xlarge-2 --evaluations 600 -o free.json --json
  answers 0 convert "$graph" --cluster p2-8xlarge-2 --placement free.json --to torch-device-map -o map.json --json
  local converted
  converted=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["exported_step_time_us"])' <<<"$output")
  answers 0 place "$graph" --cluster p2-8xlarge-2 --evaluations 600 --for torch-device-map -o placement.json --json
  holds "d['status'] == 'ok' and d['step_time_us'] < $converted and 300 < d['evaluations'] <= 600"
  cp placement.json again.json
  local promised
  promised=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])' <<<"$output")
  answers 0 convert "$graph" --cluster p2-8xlarge-2 --placement placement.json --to torch-device-map -o map.json --json
  holds "d['exported_step_time_us'] == $promised and d['colocated'] == []"
  answers 0 place "$graph" --cluster p2-8xlarge-2 --evaluations 600 --for torch-device-map -o placement.json
  diff placement.json again.json
}

@test "--for keeps constraints" {
  local graph=$EMPLACE_SOURCE_DIR/tests/graphs/data/resnet18.onnx:batch=32,training=true
  answers 0 place "$graph" --cluster p2-8xlarge-2 --evaluations 600 --for torch-device-map --pin conv1=gpu:1 -o placement.json
  python3 -c '
import json
devices = json.load(open("placement.json"))["devices"]
assert devices["conv1.weight"] == "gpu:1", devices["conv1.weight"]'
}

@test "layers stay whole with --granularity" {
  answers 0 place inception-v3:batch=4 --cluster p2-8xlarge-4 --evaluations 300 --granularity 1 -o placement.json
  for layer in mixed_5b mixed_6c mixed_7a; do
    [ "$(devices_of "$layer" | wc -w)" = 1 ]
  done
}

@test "suites and policies take constrained clusters" {
  echo '{"schema": "emplace-suite", "version": 1, "name": "constrained", "graphs": ["inception-v3:batch=4"],
    "clusters": ["p2-8xlarge-2:pin=mixed_5b/*=gpu:1"], "agents": ["single-gpu"], "repetitions": 1}' >suite.json
  answers 0 run ./suite.json -o results
  answers 0 simulate --placement results --json
  holds 'd["cluster"] == "p2-8xlarge-2:pin=mixed_5b/*=gpu:1" and d["devices"][1]["busy_us"] > 0'
  sed -i 's/=gpu:1/=gpu:9/' suite.json
  refuses 3 "gpu:9" run ./suite.json -o others
  answers 0 train learned-search fork-join:width=2,stages=2 --cluster 'p2-8xlarge-4:exclude=gpu:1' --episodes 1 -o policy.json
}

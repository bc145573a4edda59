#!/usr/bin/env bats
# Placements for other programs, and the order that a placement may hold.

load cli.bash

# modules: writes net.json, a graph with modules as PyTorch's exporter writes them, and place.json, on two GPUs.
modules() {
  cat >net.json <<'END'
{"schema": "emplace-graph", "version": 1, "name": "net",
 "ops": [
  {"name": "x", "kind": "input", "outputs": [{"shape": [1000], "bytes": 4000}]},
  {"name": "stack.0.weight", "kind": "variable", "scope": "stack/stack.0", "parameters": 10,
   "persistent_bytes": 40, "outputs": [{"shape": [10], "bytes": 40, "persistent": true}]},
  {"name": "/stack/stack.0/Gemm", "kind": "matmul", "shape": [64, 64, 64], "flops": 2000000000, "scope": "stack/stack.0",
   "outputs": [{"shape": [1000], "bytes": 4000}]},
  {"name": "/stack/stack.0/Gemm/bias", "kind": "add", "flops": 1000, "scope": "stack/stack.0",
   "outputs": [{"shape": [1000], "bytes": 4000}]},
  {"name": "/relu/Relu", "kind": "relu", "flops": 1000, "scope": "relu", "outputs": [{"shape": [1000], "bytes": 4000}]},
  {"name": "/relu_1/Relu", "kind": "relu", "flops": 1000, "scope": "relu_1",
   "outputs": [{"shape": [1000], "bytes": 4000}]}],
 "edges": [[0, 0, 2], [1, 0, 2], [2, 0, 3], [3, 0, 4], [4, 0, 5]]}
END
  place gpu:1 gpu:0
}

# place BIAS RELU [REST]: writes place.json with the device of the bias and of the second relu; REST follows the devices.
place() {
  cat >place.json <<END
{"schema": "emplace-placement", "version": 1, "graph": "net", "cluster": "p2-8xlarge-2",
 "devices": {"x": "gpu:1", "stack.0.weight": "gpu:1", "/stack/stack.0/Gemm": "gpu:1",
             "/stack/stack.0/Gemm/bias": "$1", "/relu/Relu": "gpu:0", "/relu_1/Relu": "$2"}${3:-}}
END
}

export_as() {
  answers 0 convert net.json --cluster p2-8xlarge-2 --placement place.json --to "$@"
}

@test "csv has a row for each op in the order of the step" {
  modules
  export_as csv
  [ "${lines[0]}" = "op,kind,phase,scope,device,priority,start_us,end_us" ]
  [ "${#lines[@]}" -eq 7 ]
  [[ "${lines[6]}" = "/relu_1/Relu,relu,forward,relu_1,gpu:0,,"* ]]
  export_as csv -o rows.csv
  python3 -c '
import csv
rows = list(csv.DictReader(open("rows.csv")))
assert [float(row["start_us"]) for row in rows] == sorted(float(row["start_us"]) for row in rows)'
}

@test "onnx and tensorflow name nodes" {
  modules
  export_as onnx
  holds 'd["nodes"]["/stack/stack.0/Gemm"] == {"device": "gpu:1"}' 'd["graph"] == "net"' \
    'd["initializers"] == {"stack.0.weight": {"device": "gpu:1"}}' '"x" not in d["nodes"]'
  export_as tensorflow
  holds 'd["devices"]["/relu/Relu"] == "/job:localhost/replica:0/task:0/device:GPU:0"' \
    'len(d["devices"]) == 6' '"control_dependencies" not in d'
}

@test "a device map names modules as PyTorch does" {
  modules
  export_as torch-device-map
  holds 'd == {"stack": 1, "relu": 0}'
  [ -z "$stderr" ]
  place gpu:1 gpu:1  # the second call of relu cannot be elsewhere: it follows its input
  export_as torch-device-map
  holds 'd == {"": 1}'
  [[ "$stderr" == *"the model was on gpu:0 and gpu:1, and is now on gpu:1"* ]]
  [[ "$stderr" == *"as torch-device-map runs it, the step takes"* ]]
}

@test "a module that is split is brought to one device, and that is told" {
  modules
  place gpu:0 gpu:0
  export_as torch-device-map -o map.json --json
  holds 'd["colocated"][0]["devices"] == ["gpu:0", "gpu:1"]' 'd["keeps_order"]' 'd["exported_status"] == "ok"'
  [[ "$stderr" == *"was on gpu:0 and gpu:1, and is now on gpu:"* ]]
}

@test "modules that share a weight are on one device" {
  modules
  # The second relu becomes a layer with the weight of the first.
  sed -i '/relu_1/ { s/relu_1.Relu/head\/Gemm/; s/relu_1/head/; s/"relu", "flops": 1000/"matmul", "shape": [64, 64, 64], "flops": 2000000000/ }
    s/\[4, 0, 5\]/[4, 0, 5], [1, 0, 5]/' net.json
  place gpu:1 gpu:0
  sed -i 's/relu_1\/Relu/head\/Gemm/' place.json
  export_as torch-device-map -o map.json --json
  holds 'd["colocated"][0]["what"] == "stack.0.weight"' 'd["colocated"][0]["shared_by"] == ["stack.0", "head"]'
  [[ "$stderr" == *"'stack.0.weight', which 'stack.0' and 'head' share, was on gpu:0 and gpu:1, and is now on gpu:"* ]]
  answers 0 place net.json --cluster p2-8xlarge-2 --evaluations 100 --for torch-device-map --pin stack=gpu:1 -o place.json
  export_as torch-device-map -o map.json --json
  holds 'd["colocated"] == []' 'd["step_time_us"] == d["exported_step_time_us"]'
  python3 -c '
import json
devices = json.load(open("place.json"))["devices"]
assert devices["stack.0.weight"] == devices["/head/Gemm"] == "gpu:1", devices'
  refuses 3 "; 'stack.0' and 'head' share 'stack.0.weight'" \
    place net.json --cluster p2-8xlarge-2 --evaluations 100 --for torch-device-map --pin stack=gpu:1 --pin head=gpu:0
}

@test "torch-fx is Python" {
  modules
  export_as torch-fx -o placed.py
  python3 - <<'END'
import ast
tree = ast.parse(open("placed.py").read())
values = {node.targets[0].id: ast.literal_eval(node.value) for node in tree.body
          if isinstance(node, ast.Assign) and node.targets[0].id.isupper() and node.targets[0].id[0] != "_"}
assert values == {"DEVICES": {"stack.0": "cuda:1", "relu": "cuda:0"}, "ORDER": {}}, values
END
}

@test "an order is kept where the format can" {
  modules
  place gpu:1 gpu:0 ', "priorities": {"x": 9, "stack.0.weight": 8, "/stack/stack.0/Gemm": 7,
    "/stack/stack.0/Gemm/bias": 6, "/relu/Relu": 5, "/relu_1/Relu": 4}'
  export_as csv
  [[ "$output" == *"/relu/Relu,relu,forward,relu,gpu:0,5,"* ]]
  export_as onnx
  holds 'd["nodes"]["/relu/Relu"] == {"device": "gpu:0", "priority": "5"}'
  export_as tensorflow
  holds 'd["control_dependencies"] == []'  # all are in a chain
  export_as torch-fx
  [[ "$output" == *'"stack.0": 0,'*'"relu": 1,'* ]]
  export_as torch-device-map -o map.json --json
  [[ "$stderr" == *"cannot store an order: the priorities are left out"* ]]
  holds 'not d["keeps_order"]'
}

@test "control dependencies keep the order of ops that do not read each other" {
  "$EMPLACE" place fork-join:width=4,stages=1 --cluster p2-8xlarge-2 --agent heft:order=plan -o place.json
  answers 0 convert --placement place.json --to tensorflow
  holds 'len(d["control_dependencies"]) >= 2' \
    'all(d["devices"][a] == d["devices"][b] for a, b in d["control_dependencies"])'
}

@test "graph and cluster are those of the placement, where emplace has them" {
  "$EMPLACE" place fft --cluster p2-8xlarge-2 --agent heft -o place.json
  answers 0 convert --placement place.json --to csv
  modules
  refuses 2 "place.json: /graph: 'net' is not built into emplace: give GRAPH" convert --placement place.json --to csv
  place gpu:9 gpu:0
  refuses 3 "place.json: /devices/~1stack~1stack.0~1Gemm~1bias: the cluster 'p2-8xlarge-2' has no device 'gpu:9'" \
    convert net.json --placement place.json --to csv
  echo '{"schema": "emplace-placement", "version": 1, "devices": {}}' >place.json
  refuses 2 "place.json: no graph is named: give GRAPH" convert --placement place.json --to csv
}

@test "what convert refuses of a placement" {
  modules
  refuses 2 "--json needs --output" convert net.json --placement place.json --json
  refuses 3 "unknown placement format 'cvs'; did you mean 'csv'?" convert net.json --placement place.json --to cvs
  refuses 2 "csv is a format of placements: give --placement" convert net.json --to csv
  refuses 2 "--cluster requires --placement" convert net.json --cluster p2-8xlarge-2 --to dot
  refuses 2 "missing GRAPH or --placement" convert --to dot
  sed -i 's/"scope": "[^"]*", //; s/, "scope": "[^"]*"//; s/"scope": "[^"]*",$//' net.json
  for format in torch-device-map torch-fx; do
    refuses 3 "no op has a scope" convert net.json --placement place.json --to $format
  done
  sed 's/"gpu:0"/"a"/; s/"gpu:1"/"b"/' "$EMPLACE_SOURCE_DIR/examples/cluster.json" >devices.json
  sed -i 's/gpu:0/a/g; s/gpu:1/b/g' place.json
  refuses 3 "TensorFlow has no name for the device 'b'; expected gpu:N or cpu:N" \
    convert net.json --cluster devices.json --placement place.json --to tensorflow
}

@test "a placement keeps its order from place to simulate, explain and traces" {
  "$EMPLACE" place inception-v3:batch=4 --cluster p2-8xlarge-2 --agent heft:order=plan -o plan.json --json >plan.out
  answers 0 simulate inception-v3:batch=4 --cluster p2-8xlarge-2 --placement plan.json --json --trace trace.json
  python3 - "$(cat plan.out)" "$output" <<'END'
import json, sys
placed, simulated = (json.loads(text)["step_time_us"] for text in sys.argv[1:])
assert placed == simulated, (placed, simulated)
assert json.load(open("trace.json"))["otherData"]["makespan_us"] == placed
plan = json.load(open("plan.json"))
assert len(plan["priorities"]) == len(plan["devices"])
del plan["priorities"]
json.dump(plan, open("queue.json", "w"))
END
  answers 0 simulate inception-v3:batch=4 --cluster p2-8xlarge-2 --placement plan.json --explain --json
  holds "d['step_time_us'] == $(python3 -c 'import json; print(json.load(open("plan.out"))["step_time_us"])')"
  answers 0 simulate inception-v3:batch=4 --cluster p2-8xlarge-2 --placement queue.json --json
  local queue=$output
  answers 0 simulate inception-v3:batch=4 --cluster p2-8xlarge-2 --agent heft --json
  [ "$(jq_step "$queue")" = "$(jq_step "$output")" ]
}

jq_step() { python3 -c 'import json, sys; print(json.loads(sys.argv[1])["step_time_us"])' "$1"; }

@test "runs keep the order of their placements" {
  cat >suite.json <<'END'
{"schema": "emplace-suite", "version": 1, "name": "orders", "graphs": ["fft"], "clusters": ["p2-8xlarge-2"],
 "agents": ["heft:order=plan"], "repetitions": 1, "max_evaluations": 1}
END
  answers 0 run suite.json --seed 1 -o run
  answers 0 convert --placement run
  holds '"priorities" in d'
  answers 0 simulate --placement run --json
  local step=$output
  answers 0 simulate fft --cluster p2-8xlarge-2 --agent heft:order=plan --json
  [ "$(jq_step "$step")" = "$(jq_step "$output")" ]
}

#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# What each command answers, as text and as JSON.

load cli.bash

@test "list shows agents, graphs, clusters and suites" {
  answers 0 list agents
  [[ "$output" == *single-gpu* ]]
  answers 0 list graphs
  [[ "$output" == *inception-v3* ]]
  answers 0 list clusters
  [[ "$output" == *p2-8xlarge-4* ]]
  answers 0 list suites
  [[ "$output" == *quickstart* ]]
  answers 0 list groupings
  [[ "$output" == *heavy-edge* ]]
}

@test "list groupings --json tells which is the default and which take a number of groups" {
  answers 0 list groupings --json
  holds '{"colocation", "heavy-edge", "neighbours", "scope", "single-consumer"} <= {g["name"] for g in d["groupings"]}' \
    '[g["name"] for g in d["groupings"] if g["default"]] == ["colocation"]' \
    '{g["name"] for g in d["groupings"] if not g["takes_target"]} == {"colocation", "single-consumer"}' \
    'all(g["summary"] and g["reference"] for g in d["groupings"])'
}

@test "list graphs --details tells the size of each graph, as show does" {
  answers 0 list graphs --details
  [[ "$output" == *"inception-v3 "*"1121 "* ]]
  answers 0 list graphs --details --json
  holds 'all(g["ops"] > 0 and g["source"] for g in d["graphs"])'
  local listed=$output
  answers 0 show inception-v3 --json
  local shown=$output
  output="[$listed, $shown]"
  holds '[(g["ops"], g["edges"], g["groups"], g["parameter_count"], g["flops"], g["memory_bytes"]) for g in d[0]["graphs"] if g["name"] == "inception-v3"] == [(d[1]["ops"], d[1]["edges"], d[1]["groups"], d[1]["parameters"], d[1]["flops"], d[1]["persistent_bytes"] + d[1]["activation_bytes"])]'
}

@test "show groups by any strategy and tells the cut" {
  local grouping
  for grouping in heavy-edge scope neighbours; do
    answers 0 show inception-v3 --grouping $grouping --groups 40 --json
    holds "d['grouping'] == '$grouping' and 0 < d['groups'] <= 40 and d['cut_bytes'] > 0"
  done
  answers 0 show inception-v3 --grouping colocation --json
  holds 'd["groups"] > 500'
}

@test "show --compare-groupings tells what each grouping loses" {
  local problem=(show inception-v3:batch=2 --cluster p2-8xlarge-2)
  answers 0 "${problem[@]}" --compare-groupings --evaluations 20 --groups 20 --json
  holds 'd["groupings"]["max_evaluations"] == 20' \
    'all(g["step_time_us"] >= d["groupings"]["best_step_time_us"] for g in d["groupings"]["by_grouping"])' \
    'min(g["lost_parallelism"] for g in d["groupings"]["by_grouping"]) == 0' \
    '0 < d["largest_group_share"] <= 1'
  local first=$output
  answers 0 "${problem[@]}" --compare-groupings --evaluations 20 --groups 20 --json
  [ "$output" = "$first" ]
  answers 0 "${problem[@]}" --compare-groupings --evaluations 20
  [[ "$output" == *"hill-climb:start=heft, 20 evaluations"*"lost [%]"* ]]
}

@test "list --json has schema_version first, names and parameters" {
  answers 0 list agents --json
  holds 'next(iter(d)) == "schema_version" and d["schema_version"] == 1' \
    '{"single-gpu", "human-expert", "hill-climb"} <= {a["name"] for a in d["agents"]}' \
    'all(a["kind"] and a["summary"] and a["reference"] for a in d["agents"])' \
    'all(isinstance(a["deterministic"], bool) for a in d["agents"])'
  answers 0 list graphs --json
  holds '[p["default"] for g in d["graphs"] if g["name"] == "inception-v3" for p in g["parameters"] if p["name"] == "batch"] == [64]'
  answers 0 list clusters --json
  holds '[len(c["devices"]) for c in d["clusters"] if c["name"] == "p2-8xlarge-2"] == [3]' \
    'all(x["memory_bytes"] > 0 and x["device_class"] for c in d["clusters"] for x in c["devices"])'
  answers 0 list suites --json
  holds '[s["repetitions"] for s in d["suites"] if s["name"] == "quickstart"] == [3]'
}

@test "show tells the layers of the policy that an agent would train on a cluster" {
  answers 0 show placeto:preset=released --cluster p2-8xlarge-2
  [[ "$output" == *"15962 weights"*"head/0"* ]]
  answers 0 show placeto:preset=released --cluster p2-8xlarge-2 --json
  holds 'd["schema_version"] == 1 and d["policy"]["agent"] == "placeto:preset=released" and d["policy"]["devices"] == 2' \
    'd["policy"]["weights"] == 15962 == sum(x["weights"] for x in d["policy"]["layers"])' \
    'all(x["weights"] == (x["inputs"] + 1) * x["outputs"] for x in d["policy"]["layers"])'
  answers 0 show placeto:preset=released --cluster p2-8xlarge-4 --json
  holds 'd["policy"]["weights"] == 26338'
  refuses 2 "trains no policy" show heft --cluster p2-8xlarge-2
  refuses 2 "'placeto' is of the kind agent, for which there is no --output" show placeto --cluster p2-8xlarge-2 -o policy.svg
}

@test "show counts ops, parameters and FLOPs" {
  answers 0 show inception-v3
  [[ "$output" == *"conv2d_backward_filter"* ]]
  answers 0 show inception-v3 --json
  holds 'd["schema_version"] == 1 and d["graph"] == "inception-v3"' \
    'd["ops"] == sum(k["ops"] for k in d["kinds"])' \
    'd["flops"] == sum(k["flops"] for k in d["kinds"])' \
    '23.8e6 < d["parameters"] < 23.9e6' \
    'd["parameter_bytes"] == 4 * d["parameters"]' \
    'd["persistent_bytes"] >= d["parameter_bytes"]' \
    'd["groups"] == 741 and d["edges"] > d["ops"]' \
    '2.5 < d["flops"] / d["forward_flops"] < 3.5' \
    'd["activation_bytes"] > 0'
  local groups
  groups=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["groups"])' <<<"$output")
  answers 0 show inception-v3 --groups 70 --json
  holds "d['groups'] < $groups"
}

@test "show --cluster tells times by device class and cost sources" {
  answers 0 show inception-v3 --cluster p2-8xlarge-2 --json
  holds 'd["cluster"] == "p2-8xlarge-2" and d["bound_us"] > 0' \
    'len(d["device_classes"]) == 2' \
    'all(sum(c["ops_by_cost_source"].values()) == d["ops"] for c in d["device_classes"])' \
    'd["device_classes"][0]["all_ops_us"] < d["device_classes"][1]["all_ops_us"]'
  answers 0 show inception-v3 --cluster p2-8xlarge-2
  [[ "$output" == *"all ops [ms]"* ]]
}

@test "simulate with an agent tells step time, bound, memory and devices" {
  answers 0 simulate inception-v3 --cluster p2-8xlarge-2 --agent single-gpu --json
  holds 'd["schema_version"] == 1 and d["status"] == "ok" and d["placed_by"] == "single-gpu"' \
    '0 < d["bound_us"] <= d["step_time_us"]' \
    'abs(d["gap"] - (d["step_time_us"] / d["bound_us"] - 1)) < 1e-9' \
    'd["peak_bytes"] == [x["peak_bytes"] for x in d["devices"]]' \
    'd["peak_bytes"][0] > 1e9 and d["peak_bytes"][1:] == [0, 0]' \
    '0.5 < d["devices"][0]["utilization"] <= 1 and d["devices"][1]["busy_us"] == 0' \
    'd["devices"][0]["busy_us"] <= d["step_time_us"]'
  answers 0 simulate inception-v3 --cluster p2-8xlarge-2 --agent single-gpu
  [[ "$output" == *"status       ok"* ]]
}

@test "simulate keeps to --evaluations, --seed and --groups" {
  local common=(simulate inception-v3:batch=2 --cluster p2-8xlarge-2 --agent random --json)
  answers 0 "${common[@]}" --evaluations 7 --groups 60
  holds 'd["evaluations"] == 7' 'd["groups"] <= 120'
  local first=$output
  answers 0 "${common[@]}" --evaluations 7 --groups 60
  [ "$output" = "$first" ]
  answers 0 "${common[@]}" --evaluations 7 --groups 60 --seed 1
  [ "$output" != "$first" ]
  answers 0 "${common[@]}"
  holds 'd["evaluations"] == 1000' 'd["grouping"] == "colocation"' \
    'd["groups"] > 500 and d["decision_groups"] == d["groups"]'
  answers 0 "${common[@]}" --groups 60
  holds 'd["grouping"] == "neighbours"' 'd["groups"] == d["decision_groups"] == 60'
  answers 0 "${common[@]}" --grouping scope --groups 60
  holds 'd["grouping"] == "scope"' 'd["groups"] <= 60'
}

@test "learned agents decide on 128 groups unless they or the problem are told otherwise" {
  local common=(simulate inception-v3:batch=2 --cluster p2-8xlarge-2 --evaluations 40)
  answers 0 "${common[@]}" --agent post --json
  holds 'd["groups"] == 741 and d["decision_groups"] == 128'
  answers 0 "${common[@]}" --agent post:groups=20 --json
  holds 'd["groups"] == 741 and d["decision_groups"] == 20'
  answers 0 "${common[@]}" --agent post:groups=20
  [[ "$output" == *"  groups       741, decided on 20"* ]]
  answers 0 "${common[@]}" --agent post --groups 200 --json
  holds 'd["groups"] == 200 and d["decision_groups"] == 200'
  answers 0 "${common[@]}" --agent heft
  [[ "$output" == *$'\n  groups       741\n'* ]]
}

@test "an out-of-memory placement is an answer, not an error" {
  answers 0 simulate inception-v3:batch=1024 --cluster p2-8xlarge-2 --agent single-gpu --json
  holds 'd["status"] == "out_of_memory" and d["step_time_us"] > 0' \
    'd["peak_bytes"][0] > d["devices"][0]["capacity_bytes"]'
}

@test "simulate --trace writes a Chrome trace" {
  tiny_graph tiny.json
  answers 0 simulate ./tiny.json --cluster p2-8xlarge-2 --agent single-gpu --trace trace.json
  output=$(cat trace.json)
  holds '{"left", "right", "sum"} <= {e["name"] for e in d["traceEvents"]}'
}

@test "place writes a placement that simulate reads" {
  tiny_graph tiny.json
  local problem=(./tiny.json --cluster p2-8xlarge-2)
  answers 0 place "${problem[@]}" --agent single-gpu
  holds 'd["schema"] == "emplace-placement" and set(d["devices"].values()) == {"gpu:0"}'
  answers 0 place "${problem[@]}" --agent single-gpu -o placement.json --json
  holds 'd["status"] == "ok" and "placement" not in d'
  local step
  step=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])' <<<"$output")
  answers 0 simulate "${problem[@]}" --placement placement.json --json
  holds "d['step_time_us'] == $step" 'd["placed_by"] == "placement.json" and d["evaluations"] == 0' \
    'd["grouping"] == "ungrouped"'
  answers 0 place "${problem[@]}" --agent single-gpu --json
  holds 'd["placement"]["devices"]["sum"] == "gpu:0" and d["step_time_us"] > 0'
}

@test "a search that is stopped is answered with its best placement and exit code 130" {
  local command
  for command in simulate "simulate --explain" "place -o /dev/null"; do
    # shellcheck disable=SC2086  # words of a command
    run --separate-stderr -130 timeout --foreground --preserve-status -s INT -k 60 2 \
      "$EMPLACE" $command inception-v3 --cluster p2-8xlarge-2 --agent hill-climb --evaluations 1000000000 --json
    holds 'd["schema_version"] >= 1'
  done
}

@test "a policy that is stopped while it learns is answered in the same way" {
  "$EMPLACE" train placeto in-tree:levels=3 --cluster p2-8xlarge-2 --episodes 1 -o policy.json --quiet >/dev/null
  run --separate-stderr -130 timeout --foreground --preserve-status -s INT -k 60 2 \
    "$EMPLACE" place inception-v3 --cluster p2-8xlarge-2 --policy policy.json --episodes 1000000 -o /dev/null --json
  holds 'd["evaluations"] > 1 and d["step_time_us"] > 0'
}

# The host, from which agents do not choose, runs this graph a hundred times faster than a GPU.
@test "what runs on other devices than agents choose is held against the bound of all" {
  python3 - >host.json <<'END'
import json
costs = [{"device_class": "gpu-k80", "cost_us": 1000}, {"device_class": "cpu-xeon-e5-2686-v4", "cost_us": 10}]
ops = [{"name": f"op_{at}", "kind": "matmul", "outputs": [{"shape": [1], "bytes": 4}], "measured": costs}
       for at in range(4)]
print(json.dumps({"schema": "emplace-graph", "version": 1, "name": "host", "ops": ops,
                  "edges": [[at, 0, at + 1] for at in range(3)]}))
END
  local problem=(./host.json --cluster p2-8xlarge-2)
  answers 0 place "${problem[@]}" --agent cpu-only -o host-placement.json --json
  holds 'd["step_time_us"] < 1000 and 0 <= d["gap"] < 10' 'd["bound_us"] <= d["step_time_us"]'
  answers 0 place "${problem[@]}" --from host-placement.json --agent cpu-only --json
  holds 'd["bound_us"] <= d["step_time_us"] and d["gap"] >= 0'
  answers 0 place "${problem[@]}" --agent single-gpu --json
  holds 'd["bound_us"] > 3000'
}

@test "a placement file may part what a grouping holds together" {
  tiny_graph tiny.json
  echo '{"schema": "emplace-placement", "version": 1,
    "devices": {"x": "gpu:0", "left": "gpu:0", "right": "gpu:1", "sum": "gpu:0"}}' >placement.json
  answers 0 simulate ./tiny.json --cluster p2-8xlarge-2 --placement placement.json --json
  holds 'd["devices"][0]["busy_us"] > 0 and d["devices"][1]["busy_us"] > 0'
}

@test "convert writes JSON, DOT and GraphML, and reads its own back" {
  tiny_graph tiny.json
  answers 0 convert ./tiny.json --to dot
  [[ "$output" == digraph* ]]
  answers 0 convert ./tiny.json --to graphml -o tiny.graphml
  [ "$output" = "tiny: 4 ops, 4 edges, read as format emplace, written to tiny.graphml as format graphml" ]
  python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("tiny.graphml")'
  "$EMPLACE" convert ./tiny.json -o once.json
  answers 0 convert once.json --from emplace -o twice.json --json
  holds 'd == {"schema_version": 1, "graph": "tiny", "from": "emplace", "to": "emplace", "ops": 4, "edges": 4, "output": "twice.json"}'
  cmp once.json twice.json
}

@test "list formats tells what can be read and written, and with which parameters" {
  answers 0 list formats
  [[ "$output" == *"pipedream"*"yes"* ]]
  answers 0 show pipedream
  [[ "$output" == *"training "*"true"*"device-class "*"pipedream"* ]]
  answers 0 list formats --json
  holds 'd["schema_version"] == 1' \
    '{"emplace", "node-link", "dot", "graphml"} <= {f["name"] for f in d["formats"] if f["can_read"] and f["can_write"]}' \
    '{"pipedream", "wfcommons", "dnn-partitioning"} <= {f["name"] for f in d["formats"] if not f["can_write"]}' \
    'all(f["summary"] and f["reference"] for f in d["formats"])' \
    '[f["endings"] for f in d["formats"] if f["name"] == "dot"] == [[".dot", ".gv"]]' \
    '[f["write_parameters"][0]["choices"] for f in d["formats"] if f["name"] == "node-link"] == [["links", "edges"]]'
}

@test "a file's content or ending tells its format, to import and to every other command" {
  local data=$EMPLACE_SOURCE_DIR/tests/graphs/data
  answers 0 convert "$data/pipedream.txt" -o graph.json --json
  holds 'd["from"] == "pipedream" and d["to"] == "emplace" and d["ops"] == 11 and d["edges"] == 20'
  answers 0 convert "$data/wfcommons-1.5.json" -o graph.json
  [ "$output" = "search: 6 ops, 10 edges, read as format wfcommons, written to graph.json as format emplace" ]
  answers 0 convert - <"$data/networkx.graphml"
  [ "$stderr" = "emplace: read as format graphml" ]
  holds 'd["name"] == "chain" and len(d["ops"]) == 3'
  answers 0 show "$data/simgrid.dot" --json
  holds 'd["ops"] == 4'
  cp "$data/simgrid.dot" .
  answers 0 show simgrid.dot --json
  holds 'd["ops"] == 4'
}

@test "sizes of a model's dimensions stand behind its path, in every command that takes a graph" {
  local model=$EMPLACE_SOURCE_DIR/tests/graphs/data/resnet18.onnx
  answers 0 show "$model:batch=2,training=true" --json
  holds 'd["graph"] == "resnet18:batch=2,training=true" and d["parameters"] == 11689512'
  answers 0 place "$model:batch=2" --cluster p2-8xlarge-2 --agent etf -o placement.json --json
  answers 0 simulate "$model:batch=2" --cluster p2-8xlarge-2 --placement placement.json --explain
  answers 0 simulate "$model:batch=2" --cluster p2-8xlarge-2 --agent etf --json
  answers 0 convert "$model:batch=2" -o graph.dot
  answers 0 convert "$model:batch=2" -o graph.json --json
  answers 0 convert "$model" --from onnx:batch=2 -o again.json --json
  cmp graph.json again.json
  answers 2 place "$model" --cluster p2-8xlarge-2
  [[ "$stderr" == *"give the sizes of its symbolic dimensions after the file's name: "*"resnet18.onnx:batch=SIZE" ]]
  answers 2 show "$model:bach=2"
  [[ "$stderr" == *"resnet18.onnx:batch=SIZE"* ]]
  answers 2 show "$model:batch=2,trainin=2"
  [[ "$stderr" == *"no parameter and no dimension is called 'trainin'"* ]]
}

@test "a device class that the user names turns times of a file into measured costs" {
  local file=$EMPLACE_SOURCE_DIR/tests/graphs/data/pipedream.txt
  answers 0 convert "$file" --from pipedream:device-class=gpu-k80 -o graph.json --json
  answers 0 show ./graph.json --cluster p2-8xlarge-2 --json
  holds '[c["ops_by_cost_source"]["measured"] for c in d["device_classes"] if c["device_class"] == "gpu-k80"] == [11]'
  answers 0 convert "$file" -o graph.json --json
  answers 0 show ./graph.json --cluster p2-8xlarge-2 --json
  holds '[c["ops_by_cost_source"]["measured"] for c in d["device_classes"] if c["device_class"] == "gpu-k80"] == [0]'
}

@test "an iteration of a profile of Nsight Systems is a graph that is placed" {
  local report=$EMPLACE_SOURCE_DIR/tests/graphs/data/nsight.sqlite
  answers 0 show "$report" --json
  holds 'd["ops"] == 14 and d["edges"] == 17 and d["source"] == "Nsight Systems profile of NVIDIA H200"'
  answers 0 convert "$report:range=iteration,iteration=1" -o graph.json
  [ "$output" = "nsight: 7 ops, 6 edges, read as format nsight-systems, written to graph.json as format emplace" ]
  answers 0 place "$report:range=iteration,device-class=gpu-k80" --cluster p2-8xlarge-2 --agent etf --json
  answers 0 show "$report:range=iteration,device-class=gpu-k80" --cluster p2-8xlarge-2 --json
  holds '[c["ops_by_cost_source"]["measured"] for c in d["device_classes"] if c["device_class"] == "gpu-k80"] == [7]'
  refuses 2 "nsight.sqlite: no NVTX range is called 'step'; known: 'backward', 'encoder', 'forward', 'iteration'" \
    show "$report:range=step"
  python3 -c 'import sqlite3; sqlite3.connect("other.sqlite").execute("CREATE TABLE results (id)")'
  refuses 3 "other.sqlite: expected kernels, copies or memsets of Nsight Systems" show ./other.sqlite
  head -c 5000 "$report" >cut.sqlite
  refuses 3 "cut.sqlite: the list of its tables: SQLite cannot read it: database disk image is malformed" \
    show ./cut.sqlite
  touch report.nsys-rep
  refuses 3 "report.nsys-rep: reports of Nsight Systems are read in SQLite; export the report: nsys export --type sqlite" \
    show ./report.nsys-rep
}

@test "export takes the format from the ending, and other programs read what it writes" {
  local file
  answers 2 convert inception-v3:batch=1 -o graph.unknown
  [[ "$stderr" == *"--to"* ]]
  answers 0 convert inception-v3:batch=1 -o graph.dot --json
  holds 'd == {"schema_version": 1, "graph": "inception-v3:batch=1", "from": None, "to": "dot", "ops": 1121, "edges": 1955, "output": "graph.dot"}'
  answers 0 convert inception-v3:batch=1 -o graph.graphml
  answers 0 convert inception-v3:batch=1 --to node-link -o links.json
  answers 0 convert inception-v3:batch=1 -o graph.json
  for file in graph.dot graph.graphml links.json; do
    answers 0 convert "$file" -o again.json
    cmp again.json graph.json
  done
  if command -v gvpr >/dev/null; then
    [ "$(gvpr 'BEG_G { print(nNodes($G), " ", nEdges($G)) }' graph.dot)" = "1121 1955" ]
  fi
  /usr/bin/python3 -c 'import networkx' || skip "networkx is not here"
  /usr/bin/python3 - <<'END'
import json
import networkx as nx
for graph in nx.node_link_graph(json.load(open("links.json"))), nx.read_graphml("graph.graphml"):
    assert graph.number_of_nodes() == 1121 and graph.number_of_edges() == 1955, graph
    assert nx.is_directed_acyclic_graph(graph)
END
}

@test "doctor's optional parts are those whose names are listed" {
  answers 0 list agents --json
  local agents=$output
  answers 0 list formats --json
  local formats=$output
  answers 0 doctor --json
  AGENTS=$agents FORMATS=$formats python3 - "$output" <<'END'
import json, os, sys
present = {part["name"]: part["present"] for part in json.loads(sys.argv[1])["optional_parts"]}
agents = {agent["name"] for agent in json.loads(os.environ["AGENTS"])["agents"]}
formats = {f["name"] for f in json.loads(os.environ["FORMATS"])["formats"]}
assert present["METIS"] == ("metis" in agents), present
assert present["Scotch"] == ("scotch" in agents), present
assert present["Protocol Buffers"] == ("tensorflow" in formats), present
END
}

@test "doctor tells what is there" {
  answers 0 doctor
  [[ "$output" == *"libraries"*"optional parts"*"METIS"*"agent and grouping metis"* ]]
  answers 0 doctor --json
  holds 'd["schema_version"] == 1 and d["cores"] >= 1 and d["memory_bytes"] > 0' \
    'd["version"] and d["git_revision"] and d["build_type"] and d["agents"] > 5' \
    '{"boost", "cli11", "fmt", "nlohmann-json", "onetbb"} <= set(d["libraries"])' \
    '[p["name"] for p in d["optional_parts"]] == ["METIS", "Scotch", "Clp", "Protocol Buffers", "oneDNN", "CUDA", "Open MPI", "pybind11", "Google Benchmark"]' \
    'all(p["brings"] and p["how_to_get"] for p in d["optional_parts"])' \
    'bool(d["gpus"]) != bool(d["why_no_gpus"])'
}

@test "place holds its answer against placements that need no search" {
  tiny_graph tiny.json
  answers 0 place ./tiny.json --cluster p2-8xlarge-2 --agent heft -o p.json --json
  holds '[r["agent"] for r in d["references"]] == ["single-gpu", "pipeline-expert:balance=weights"]' \
    'd["step_time_us"] < d["references"][0]["step_time_us"]'
  local one
  one=$("$EMPLACE" simulate ./tiny.json --cluster p2-8xlarge-2 --agent single-gpu --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])')
  holds "d['references'][0]['step_time_us'] == $one"
  answers 0 place ./tiny.json --cluster p2-8xlarge-2 --agent heft -o p.json
  [[ "$output" == *"one device "*" ms, by single-gpu"*"by weights "*"ms, by pipeline-expert:balance=weights"* ]]
  # The answer itself is no reference.
  answers 0 place ./tiny.json --cluster p2-8xlarge-2 --agent single-gpu -o p.json --json
  holds 'len(d["references"]) == 1'
}

@test "--set asks what if" {
  tiny_graph tiny.json
  answers 0 simulate ./tiny.json --cluster p2-8xlarge-2 --agent single-gpu --json
  local whole
  whole=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["devices"][0]["busy_us"])' <<<"$output")
  answers 0 simulate ./tiny.json --cluster p2-8xlarge-2 --agent single-gpu --json --set 'device:gpu:0.speed=2x' \
    --set 'link:*.bandwidth=2x'
  holds "abs(d['devices'][0]['busy_us'] / $whole - 0.5) < 0.01" \
    'd["cluster"] == "p2-8xlarge-2:set=device:gpu:0.speed=2x;link:*.bandwidth=2x"'
  # A parameter of the graph replaces the one that it has; files name all, and --set adds to them.
  answers 0 place rnnlm:batch=4,steps=2 --cluster p2-8xlarge-2 --agent heft --set batch=8 -o p.json
  [[ "$output" == "rnnlm:batch=8,steps=2 on p2-8xlarge-2, placed by heft"* ]]
  answers 0 simulate --placement p.json --set device:gpu:0.memory=9GB --json
  holds 'd["graph"] == "rnnlm:batch=8,steps=2"' 'd["devices"][0]["capacity_bytes"] == 9e9' \
    'd["devices"][1]["capacity_bytes"] == 11e9'
  refuses 2 "expected link:NAME.FIELD=VALUE, device:NAME.FIELD=VALUE or" simulate --placement p.json --set speed
  refuses 2 "unknown parameter 'bach'" simulate --placement p.json --set bach=3
  answers 0 show p2-8xlarge-2:set=device:gpu:1.memory=5GB
  [[ "$stderr" == *"1 device of profile k80-placeto-paper-gpu-1, 5 GB: gpu:1"*"The file is that of p2-8xlarge-2, without these parameters." ]]
}

@test "place prints no file on a terminal" {
  tiny_graph tiny.json
  script -qec "$EMPLACE place ./tiny.json --cluster p2-8xlarge-2 --agent heft" screen.txt >/dev/null </dev/null
  grep -q "one device" screen.txt
  grep -q "not kept: -o FILE" screen.txt
  lacks emplace-placement <screen.txt
}

@test "several graphs run side by side" {
  tiny_graph tiny.json
  answers 0 place rnnlm:batch=2,steps=2 ./tiny.json --cluster p2-8xlarge-2 --agent heft -o p.json --json
  holds 'd["graph"] == "rnnlm:batch=2,steps=2 + ./tiny.json"' \
    'list(d["graph_step_times_us"]) == ["rnnlm", "tiny"]' \
    'max(d["graph_step_times_us"].values()) <= d["step_time_us"]' \
    'min(d["graph_step_times_us"].values()) < 0.9 * d["step_time_us"]'
  python3 -c 'import json; d = json.load(open("p.json"))["devices"]
assert {name.split("/")[0] for name in d} == {"rnnlm", "tiny"}'
  answers 0 simulate "rnnlm:batch=2,steps=2 + ./tiny.json" --cluster p2-8xlarge-2 --placement p.json
  [[ "$output" == *$'\n  rnnlm        '*" ms"*$'\n  tiny         '*" ms"* ]]
  # Of built-in networks the file says enough; a parameter goes to each of them.
  answers 0 place in-tree in-tree --cluster p2-8xlarge-2 --agent heft -o p.json --set levels=4
  answers 0 simulate --placement p.json --json
  holds 'd["graph"] == "in-tree:levels=4 + in-tree:levels=4"' \
    'list(d["graph_step_times_us"]) == ["in-tree", "in-tree_2"]'
  answers 0 show "in-tree + rnnlm" --json
  answers 0 convert "in-tree + rnnlm" -o both.json
  refuses 3 "unknown graph 'rnlm'" place in-tree rnlm --cluster p2-8xlarge-2
}

#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Hostile graph, cluster, placement and suite files: one error line, exit code 3, no answer. Case files
# are in cases.bats.

load cli.bash

# change FILE FROM TO: replaces the first FROM in a file.
change() {
  python3 - "$@" <<'END'
import sys
path, old, new = sys.argv[1:]
text = open(path, "rb").read()
old = old.encode()
assert old in text, old
open(path, "wb").write(text.replace(old, new.encode("utf-8", "surrogateescape"), 1))
END
}

# refuses_graph TEXT [FROM TO]: the tiny graph with a change must be refused.
refuses_graph() {
  tiny_graph bad.json
  [ "$#" -eq 1 ] || change bad.json "$2" "$3"
  refuses 3 "bad.json" show ./bad.json
  [[ "$stderr" == *"$1"* ]]
}

@test "graph files" {
  tiny_graph good.json
  answers 0 show ./good.json
  refuses_graph "/schema" emplace-graph emplace-graf
  refuses_graph "/version" '"version": 1' '"version": 3'
  refuses_graph "cycle" '[0, 0, 1]' '[3, 0, 1]'
  refuses_graph "flops" '"flops": 2000000000' '"flops": -1'
  refuses_graph "flops" '"flops": 2000000000' '"flops": 1e300'
  refuses_graph "" '"flops": 2000000000' '"flops": NaN'
  refuses_graph "/ops/2/name" '"name": "right"' '"name": "left"'
  refuses_graph "bytes_raed" bytes_read bytes_raed
  refuses_graph "/edges/0/2" '[0, 0, 1]' '[0, 0, 4]'
  refuses_graph "/edges/0/1" '[0, 0, 1]' '[0, 5, 1]'
  refuses_graph "/ops/0/kind" '"kind": "input"' '"kind": 7'
  refuses_graph "" '"name": "tiny"' $'"name": "\xff"'
  : >bad.json
  refuses 3 "bad.json" show ./bad.json
  tiny_graph whole.json
  head -c 300 whole.json >bad.json
  refuses 3 "bad.json" show ./bad.json
  printf '%0.s[' {1..100000} >bad.json
  refuses 3 "bad.json" show ./bad.json
  head -c 65536 /dev/zero >bad.json
  refuses 3 "bad.json" show ./bad.json
}

# refuses_cluster TEXT FROM TO: the shipped cluster with a change must be refused.
refuses_cluster() {
  cp "$EMPLACE_SOURCE_DIR/profiles/data/clusters/p2-8xlarge-2.json" bad.json
  change bad.json "$2" "$3"
  tiny_graph tiny.json
  refuses 3 "bad.json" show ./tiny.json --cluster ./bad.json
  [[ "$stderr" == *"$1"* ]]
}

@test "cluster files" {
  refuses_cluster "/schema" emplace-cluster emplace-graph
  refuses_cluster "/version" '"version": 1' '"version": 9'
  refuses_cluster "k80" '"profile": "k80-placeto-paper"' '"profile": "k81"'
  refuses_cluster "/devices/0/profile" '"profile": "k80-placeto-paper"' '"profile": 80'
  refuses_cluster "gpu:0" '"gpu:1"' '"gpu:0"'
  refuses_cluster "bytes_per_us" '"bytes_per_us": 7600' '"bytes_per_us": 0'
  refuses_cluster "gap_after_op_us" '"gap_after_op_us": 5.7' '"gap_after_op_us": -5.7'
  refuses_cluster "" '"gap_after_op_us": 5.7' '"gap_after_op_us": 1e999'
  refuses_cluster "placable" '"placeable"' '"placable"'
  refuses_cluster "" '"devices": [' '"devices": [['
  : >bad.json
  refuses 3 "bad.json" show inception-v3 --cluster ./bad.json
}

# refuses_placement TEXT FILE
refuses_placement() {
  tiny_graph tiny.json
  printf '%b' "$2" >bad.json
  refuses 3 "bad.json" simulate ./tiny.json --cluster p2-8xlarge-2 --placement bad.json
  [[ "$stderr" == *"$1"* ]]
}

@test "placement files" {
  local head='{"schema": "emplace-placement", "version": 1, "devices": '
  local good='{"x": "gpu:0", "left": "gpu:0", "right": "gpu:1", "sum": "gpu:0"}'
  refuses_placement "" ''
  refuses_placement "" "$head"
  refuses_placement "/version" "${head/1/2}$good}"
  refuses_placement "/schema" "${head/emplace-placement/emplace-graph}$good}"
  refuses_placement "left" "$head${good/\"left\": \"gpu:0\", /}}"
  refuses_placement "lfet" "$head${good/left/lfet}}"
  refuses_placement "gpu:7" "$head${good/gpu:1/gpu:7}}"
  refuses_placement "right" "$head${good/\"gpu:1\"/1}}"
  refuses_placement "left" "$head${good/x/left}}"
  refuses_placement "" "$head${good/gpu:1/\\xff}}"
  refuses_placement "/devices" "${head}[0, 0, 1, 0]}"
}

# refuses_suite TEXT FROM TO
refuses_suite() {
  suite bad.json 2 inception-v3
  change bad.json "$2" "$3"
  refuses 3 "bad.json" run ./bad.json
  [[ "$stderr" == *"$1"* ]]
  [ ! -e results ]
}

@test "suite files" {
  refuses_suite "/schema" emplace-suite emplace-graph
  refuses_suite "/version" '"version": 1' '"version": 2'
  refuses_suite "/name" '"small"' '"../small"'
  refuses_suite "inception-v3" inception-v3 inceptoin-v3
  refuses_suite "/clusters/1" p2-8xlarge-4 p2-8xlarge-2
  refuses_suite "hill-climb" hill-climb hill-clmb
  refuses_suite "/repetitions" '"repetitions": 2' '"repetitions": -1'
  refuses_suite "/max_evaluations" '"max_evaluations": 2' '"max_evaluations": 1e400'
  refuses_suite "repetitons" repetitions repetitons
  refuses_suite "" '"repetitions": 2,' '"repetitions": NaN,'
  refuses_suite "" '"small"' $'"sm\xffall"'
  : >bad.json
  refuses 3 "bad.json" run ./bad.json
  suite bad.json 2 ./missing-graph.json
  refuses 3 "missing-graph.json" run ./bad.json
}

@test "files that never end, or hold far more than they show" {
  refuses 3 "/dev/zero: expected at most 16777216 bytes from a device or a pipe" convert /dev/zero --from dot
  python3 -c '
import gzip
with gzip.open("bomb.json.gz", "wb") as file:
    for _ in range(70):
        file.write(b" " * 1000000)'
  refuses 3 "bomb.json.gz: expected at most 67108864 bytes when unzipped" show ./bomb.json.gz
  mkdir results
  mkfifo results/cells.jsonl
  suite suite.json 2 inception-v3
  answers 0 run suite.json -o whole -q
  cp whole/manifest.json results
  refuses 3 "results/cells.jsonl: expected a plain file" report results
}

@test "dnn-partitioning files" {
  local text
  for text in '' '{"nodes": [' '[]' '{"nodes": 1, "edges": []}' '"\xff"'; do
    printf '%b' "$text" >bad.json
    refuses 3 "bad.json" convert bad.json --from dnn-partitioning -o graph.json
    [ ! -e graph.json ]
  done
}

@test "files of unknown formats" {
  echo "1,2,3" >bad.csv
  refuses 3 "known: chakra, dax, dnn-partitioning, dot, emplace" convert bad.csv
  refuses 3 "bad.csv" show ./bad.csv
  refuses 3 "unknown format 'pipedraem'; did you mean 'pipedream'?" convert bad.csv --from pipedraem
  refuses 2 "unknown parameter 'trainin'; did you mean 'training'?" convert bad.csv --from pipedream:trainin=false
  refuses 3 "bad.csv:1: expected 'id -- description" convert bad.csv --from pipedream
  refuses 3 "can only be read" convert inception-v3 --to wfcommons
  printf 'digraph {\n a -> a }' >loop.dot
  refuses 3 "loop.dot:2: op 'a' would wait for itself" show loop.dot
}

@test "files that cannot be read and names that are no text" {
  refuses 3 "/proc/self/mem" show /proc/self/mem
  tiny_graph tiny.json
  cp tiny.json $'odd\xff.json'
  answers 0 simulate $'./odd\xff.json' --cluster p2-8xlarge-2 --agent heft --json
  holds 'd["status"] == "ok"'
}

@test "two answers do not share standard output" {
  tiny_graph tiny.json
  refuses 2 "--trace" simulate ./tiny.json --cluster p2-8xlarge-2 --agent heft --trace - --json
  refuses 2 "--output" place ./tiny.json --cluster p2-8xlarge-2 --agent heft -o - --json
}

@test "costs on a class that the cluster lacks are told, with the parameter that maps it" {
  local profile=$EMPLACE_SOURCE_DIR/tests/graphs/data/pipedream.txt
  cp "$profile" layers.txt
  answers 0 simulate layers.txt --cluster p2-8xlarge-2 --agent heft --json
  [[ "$stderr" == *"costs measured on pipedream, but no device of p2-8xlarge-2 is of that class; \
layers.txt:device-class=gpu-k80 uses them for its gpu:0"* ]] || { echo "$stderr"; false; }
  answers 0 simulate layers.txt:device-class=gpu-k80 --cluster p2-8xlarge-2 --agent single-gpu --json
  [ -z "$stderr" ]
  holds 'd["ops_by_cost_source"]["measured"] == d["ops"]'
}

@test "guessed costs are told" {
  tiny_graph tiny.json
  answers 0 simulate ./tiny.json --cluster p2-8xlarge-2 --agent heft --json
  [ -z "$stderr" ]
  holds 'd["ops_by_cost_source"] == {"measured": 0, "interpolated": 0, "roofline": 4, "guess": 0}'
  change tiny.json '"kind": "add"' '"kind": "made_up"'
  answers 0 simulate ./tiny.json --cluster p2-8xlarge-2 --agent heft --json
  [[ "$stderr" == *"1 of 4 ops are guesses"* ]]
  holds 'd["ops_by_cost_source"]["guess"] == 1'
}

@test "operators without FLOPs are told, once for each kind" {
  sed 's/aten\.relu_\.default/my.own.default/g' "$EMPLACE_SOURCE_DIR/tests/graphs/data/torch_convolutions.json" >own.json
  answers 0 convert own.json -o graph.json
  [ "$stderr" = "emplace: warning: no FLOPs are counted of operators that emplace does not know, by kind and number of \
ops: own (1); their costs are guesses" ] || { echo "$stderr"; false; }
  answers 0 --quiet convert own.json -o graph.json
  [ -z "$stderr" ]
  answers 0 place ./graph.json --cluster p2-8xlarge-2 --agent heft -o placement.json --json
  [[ "$stderr" == *"own (1); their costs are guesses"* ]]
  answers 0 convert "$EMPLACE_SOURCE_DIR/tests/graphs/data/torch_convolutions.json" -o graph.json
  [ -z "$stderr" ]
}

@test "what a reader leaves out is told" {
  printf '\a\n\0050.0.4\027\b\001\022\faten::mul(0)\030\004"\001\0028+\025\b\002\022\nmul_kernel\030\004*\001\0018\n' >cycle.et
  for command in "convert cycle.et -o graph.json" "show ./cycle.et"; do
    answers 0 $command
    [[ "$stderr" == "emplace: warning: "*"cycle.et: 1 control dependency that closes a cycle is left out" ]] ||
      { echo "$stderr"; false; }
  done
  answers 0 --quiet show ./cycle.et
  [ -z "$stderr" ]
}

@test "models without a graph are told by what they are" {
  printf '\211HDF\r\n\032\n' >weights.bin
  refuses 3 "weights.bin: a Keras file (HDF5) contains layers and weights, but no graph" convert weights.bin
  echo "no HDF5" >model.h5
  refuses 3 "model.export(folder) in Keras 3" convert model.h5
  refuses 3 "model.export(folder) in Keras 3" place model.h5 --cluster p2-8xlarge-2
  echo "HloModule jit_f" >f.txt
  refuses 3 "f.txt: HLO of XLA is not read; export the model that it was made of" show ./f.txt
}

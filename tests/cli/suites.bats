#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Suites with families: policies are trained, kept and used; results are compared with published figures.

load cli.bash

# held_out FILE: writes a suite of one policy, trained on two networks and tested on two others.
held_out() {
  cat >"$1" <<'END'
{"schema": "emplace-suite", "version": 1, "name": "held-out",
 "families": [{"name": "cells", "groups": 10, "train": ["cifar10:members=2"],
               "test": ["cifar10:split=test,members=2"]}],
 "clusters": ["p2-8xlarge-2"],
 "policies": [{"name": "net", "agent": "placeto:preset=released,rounds=1", "episodes": 3}],
 "agents": ["single-gpu", {"policy": "net", "learns": false, "name": "zero-shot"},
            {"policy": "net", "name": "fine-tuned"}],
 "repetitions": 2, "max_evaluations": 22, "baselines": ["zero-shot"]}
END
}

# but_for_times DIR: the cells of a run without their times, which differ between equal runs.
but_for_times() { sed 's/,"measured":.*//' "$1/cells.jsonl" | sort; }

@test "policies are trained first, kept, and the same bits on 1 and 2 threads" {
  held_out suite.json
  answers 0 run ./suite.json -o one --threads 1
  [[ "$stderr" == *"2 of 2 policies to train"* ]]
  [[ "$output" == *"cells on p2-8xlarge-2, 2 test graphs"* ]]
  "$EMPLACE" run ./suite.json -o two --threads 2 --quiet --json >two.json
  diff -r one/policies two/policies
  [ "$(find one/policies -name 'net-*.json' ! -name '*.curve.json' | wc -l)" -eq 2 ]
  [ "$(find one/policies -name 'net-*.curve.json' | wc -l)" -eq 2 ]
  [ "$(but_for_times one)" = "$(but_for_times two)" ]
  "$EMPLACE" report one --json | cmp - two.json
}

@test "a resumed run trains only the policies that are missing and wanted" {
  held_out suite.json
  "$EMPLACE" run ./suite.json --quiet -o r --json >whole.json
  cp -r r/policies kept
  # All cells are there: no policy is wanted.
  rm r/policies/*
  answers 0 run ./suite.json -o r --resume
  [[ "$stderr" != *"to train"* ]]
  # The cells of one repetition are gone, and its policy.
  grep -v '"repetition":1' r/cells.jsonl >left
  cp left r/cells.jsonl
  answers 0 run ./suite.json -o r --resume --json
  [[ "$stderr" == *"1 of 1 policy to train"* ]]
  [ "$output" = "$(cat whole.json)" ]
  for policy in r/policies/*; do cmp "$policy" "kept/${policy##*/}"; done
}

@test "a kept policy can be used by place, and a damaged one is refused" {
  held_out suite.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  local policy
  policy=$(find r/policies -name '*.json' | head -n 1)
  answers 0 place cifar10:split=test,member=5 --cluster p2-8xlarge-2 --policy "$policy" --json
  holds 'd["evaluations"] == 11'
  : >"$policy"
  sed -i '$d' r/cells.jsonl
  sed -i '/"learns":/d' r/cells.jsonl
  refuses 3 "$policy" run ./suite.json --quiet -o r --resume
}

@test "no graph may be trained on and tested on" {
  held_out suite.json
  sed -i 's/cifar10:split=test,members=2/cifar10:member=1/' suite.json
  refuses 3 "/families/0/test/0: 'cifar10:member=1' is a training graph too" run ./suite.json
  # By another name, too.
  sed -i 's/"test": \["cifar10:member=1/"test": ["cifar10:split=train,member=1/' suite.json
  refuses 3 "is the same problem as the training graph cifar10:member=1" run ./suite.json
}

@test "report draws how near agents come to the best, and how fast" {
  held_out suite.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  answers 0 report r -o cells.svg
  grep -q 'cells on p2-8xlarge-2' cells.svg
  python3 -c 'import sys, xml.dom.minidom as m; m.parse("cells.svg")'
  tiny_graph tiny.json
  suite plain.json 5 ./tiny.json
  "$EMPLACE" run ./plain.json --quiet -o p >/dev/null
  answers 0 report p -o p.svg
  grep -q 'tiny.json on p2-8xlarge-2' p.svg
  grep -q 'seconds of the search' <("$EMPLACE" report p -o s.svg --plot seconds >/dev/null && cat s.svg)
  refuses 2 "nothing to draw as profiles" report p -o p.svg --plot profiles
  refuses 2 "--plot" report p -o p.svg --plot profile
}

@test "published figures and baselines" {
  tiny_graph tiny.json
  cat >suite.json <<'END'
{"schema": "emplace-suite", "version": 1, "name": "table",
 "graphs": [{"graph": "./tiny.json", "groups": 4}], "clusters": ["p2-8xlarge-2"],
 "agents": ["single-gpu", {"agent": "random", "name": "patient", "max_evaluations": 50},
            {"agent": "random", "max_evaluations": 5}],
 "baselines": ["random"],
 "published": {"source": "Someone 2000", "recalled": true, "figures": [
   {"graph": "./tiny.json", "cluster": "p2-8xlarge-2", "agent": "single-gpu", "step_time_s": "out of memory"},
   {"graph": "./tiny.json", "cluster": "p2-8xlarge-2", "agent": "patient", "step_time_s": 2, "evaluations": 30},
   {"graph": "./tiny.json", "cluster": "p2-8xlarge-2", "agent": "random", "step_time_s": 4, "evaluations": 60}]}}
END
  answers 0 run ./suite.json --quiet -o r
  [[ "$output" == *"Compared with Someone 2000 (from memory, not checked against a copy)"* ]]
  answers 0 report r --json
  holds 'd["schema_version"] == 3 and d["baselines"] == ["random"] and d["tables"][0]["baseline"] == "random"' \
    '{r["agent"]: r["evaluations"] for r in d["tables"][0]["rows"]} == {"single-gpu": 0, "patient": 50, "random": 5}' \
    '[r["published"]["gain"] for r in d["tables"][0]["rows"] if r["agent"] == "patient"] == [0.5]' \
    '[r["published"]["sampling_speedup"] for r in d["tables"][0]["rows"] if r["agent"] == "patient"] == [2]' \
    '[r["published"]["step_time_s"] for r in d["tables"][0]["rows"] if r["agent"] == "single-gpu"] == [None]' \
    '[r["agent"] for r in d["tables"][0]["rows"] if r["evaluations_to_near_best"] is None] == ["single-gpu"]' \
    'all((r["evaluations_to_near_best"] or 0) <= r["evaluations_to_best"] for r in d["tables"][0]["rows"])'
}

@test "a run takes a part of its suite, and resumes only the same part" {
  suite suite.json 5 ./tiny.json
  tiny_graph tiny.json
  local part=(--agents single-gpu,random --clusters p2-8xlarge-2 --evaluations 3)
  answers 0 run ./suite.json "${part[@]}" -o r --json
  holds '[t["cluster"] for t in d["tables"]] == ["p2-8xlarge-2"]' \
    'sorted(r["agent"] for r in d["tables"][0]["rows"]) == ["random", "single-gpu"]' \
    'max(r["evaluations"] for r in d["tables"][0]["rows"]) == 3'
  answers 0 run ./suite.json "${part[@]}" -o r --resume
  refuses 2 "r: cannot resume" run ./suite.json -o r --resume
  refuses 2 "r: cannot resume" run ./suite.json --agents random --clusters p2-8xlarge-2 --evaluations 3 -o r --resume
  refuses 3 "the suite 'small' has no agent 'rando'; did you mean 'random'?" run ./suite.json --agents rando
  refuses 3 "the suite 'small' has no cluster 'cpu-gpu'" run ./suite.json --clusters cpu-gpu
}

@test "parts of a suite are divided among machines and merged as the suite is" {
  suite suite.json 5 ./tiny.json
  tiny_graph tiny.json
  local part=(--agents random,hill-climb)
  "$EMPLACE" run ./suite.json "${part[@]}" -q -o whole --json >whole.json
  "$EMPLACE" run ./suite.json "${part[@]}" -q -o one --shard 1/2 >/dev/null
  "$EMPLACE" run ./suite.json "${part[@]}" -q -o two --shard 2/2 >/dev/null
  "$EMPLACE" run ./suite.json --agents random -q -o other --shard 2/2 >/dev/null
  answers 3 merge one other -o wrong
  "$EMPLACE" merge one two -o both
  answers 0 report both --json
  holds 'd["tables"] == json.load(open("whole.json"))["tables"]'
}

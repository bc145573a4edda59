#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Parts of a suite on several machines: shards, merging, forecasts, and the recipes of examples/many-machines.

load cli.bash

recipes="$EMPLACE_SOURCE_DIR/examples/many-machines"

# policy_suite FILE: a suite of eight cells, four of which start from a policy that each of two repetitions trains.
policy_suite() {
  cat >"$1" <<'END'
{"schema": "emplace-suite", "version": 1, "name": "small",
 "families": [{"name": "cells", "groups": 10, "train": ["cifar10:member=0"],
               "test": ["cifar10:split=test,member=0", "cifar10:split=test,member=1"]}],
 "clusters": ["p2-8xlarge-2"],
 "policies": [{"name": "net", "agent": "placeto:preset=released,rounds=1", "episodes": 2}],
 "agents": ["random", {"agent": "placeto:preset=released,rounds=1", "policy": "net"}],
 "repetitions": 2, "max_evaluations": 22}
END
}

# untimed DIR: the cells of a store, sorted, without measured times.
untimed() {
  python3 - "$1/cells.jsonl" <<'END'
import json, sys
for cell in sorted((json.loads(line) for line in open(sys.argv[1])), key=lambda cell: cell["id"]):
    for name in ("measured", "crc32"):
        cell.pop(name, None)
    print(json.dumps(cell))
END
}

# same_results A B: both stores hold the same, but for measured times.
same_results() {
  cmp <(untimed "$1") <(untimed "$2")
  if [ -d "$1/policies" ]; then diff -r "$1/policies" "$2/policies"; fi
}

# emplace_on_path: puts the program under test on the PATH, as recipes expect it. Runs end with exit code 4, as if a
# cell had failed, which recipes must bear.
emplace_on_path() {
  mkdir -p bin
  printf '#!/bin/sh\n"%s" "$@" || exit\n[ "$1" != run ] || exit 4\n' "$EMPLACE" >bin/emplace
  chmod +x bin/emplace
  PATH="$PWD/bin:$PATH"
}

@test "shards of a suite with policies give what one run gives" {
  policy_suite suite.json
  answers 0 run ./suite.json -o whole --quiet
  for shard in 1 2 3; do
    answers 0 run ./suite.json --shard "$shard/3"
    [[ "$stderr" == *"cells to run, results in results/small-shard-$shard-of-3"* ]]
  done
  # Each policy is trained once.
  [ "$(find results -name 'net-*.json' ! -name '*.curve.json' | wc -l)" -eq 2 ]
  answers 0 merge results/small-shard-*-of-3 -o merged
  [[ "$output" == "small: 8 of 8 cells from 3 stores, 0 of them in several, 2 policies; results in merged" ]]
  [ -z "$stderr" ]
  same_results whole merged
  answers 0 report merged --json
  cat >a.json <<<"$output"
  answers 0 report whole --json
  cmp a.json - <<<"$output"
}

@test "a shard knows and tells that it is a part" {
  suite suite.json 5 inception-v3:batch=2
  answers 0 run ./suite.json --shard 2/3 -o part
  [[ "$output" == *"small: "*" cells, seed 0, shard 2/3 of a suite of 14 cells"* ]]
  output=$(cat part/manifest.json)
  holds 'd["num_cells"] == 14' 'd["shard"]["index"] == 2 and d["shard"]["count"] == 3' '0 < d["shard"]["num_cells"] < 14'
  answers 0 report part --json
  holds 'd["shard"] == {"index": 2, "count": 3, "cells_suite": 14}' 'd["cells_finished"] == d["cells_total"] < 14'
  answers 0 report part --format markdown
  [[ "$output" == *"shard 2/3 of a suite of 14 cells"* ]]
  answers 0 report part --format latex
  [[ "$output" == *"cells, shard 2/3. Needs"* ]]
  answers 0 run ./suite.json --shard 2/3 -o part --resume
  [[ "$stderr" == "small: 0 of "*" cells to run, results in part" ]]
}

@test "a shard is resumed as that shard only" {
  suite suite.json 5 inception-v3:batch=2
  "$EMPLACE" run ./suite.json --shard 2/3 -o part --quiet >/dev/null
  refuses 2 "cannot resume: it is of shard 2/3, not of shard 1/3" run ./suite.json --shard 1/3 -o part --resume
  refuses 2 "cannot resume: it is of shard 2/3, not of the whole suite" run ./suite.json -o part --resume
  "$EMPLACE" run ./suite.json -o whole --quiet >/dev/null
  refuses 2 "cannot resume: it is of the whole suite, not of shard 1/3" run ./suite.json --shard 1/3 -o whole --resume
}

@test "a shard that another emplace divided otherwise is not resumed" {
  suite suite.json 5 inception-v3:batch=2
  "$EMPLACE" run ./suite.json --shard 1/14 -o part --quiet >/dev/null
  sed -i -E 's|"index": 1,|"index": 2,|' part/manifest.json
  without_checksum part/manifest.json
  sed -i -z -E 's/,"crc32":"[0-9a-f]{8}"\}/}/' part/manifest.json
  refuses 2 "cannot resume: it has cells that are not of shard 2/14" run ./suite.json --shard 2/14 -o part --resume
}

@test "more shards than cells leave some empty" {
  suite suite.json 5 inception-v3:batch=2
  answers 0 run ./suite.json --shard 99/99 -o part
  [[ "$output" == "small: 0 of 0 cells, seed 0, shard 99/99 of a suite of 14 cells"* ]]
  answers 0 merge part -o merged
}

@test "a shard that is none is refused" {
  for shard in 0/3 4/3 3 1/ a/b 1/0; do
    refuses 2 "--shard: expected I/N" run quickstart --shard "$shard"
  done
}

@test "a partial merge tells what is missing, and a run finishes it" {
  policy_suite suite.json
  "$EMPLACE" run ./suite.json -o whole --quiet >/dev/null
  "$EMPLACE" run ./suite.json --shard 2/3 -o part --quiet >/dev/null
  answers 0 merge part -o merged
  [[ "$stderr" == *"not given: shards 1/3, 3/3"*"of 8 cells are missing: "*"emplace run SUITE -o merged --seed 0 --resume"* ]]
  answers 0 merge part -o merged-again --json
  holds 'd["absent_shards"] == ["1/3", "3/3"]' 'd["cells_finished"] + len(d["missing"]) == d["cells_total"] == 8'
  answers 0 run ./suite.json -o merged --resume --quiet
  same_results whole merged
}

@test "stores that do not agree are not merged" {
  suite suite.json 5 inception-v3:batch=2
  "$EMPLACE" run ./suite.json -o a --quiet >/dev/null
  "$EMPLACE" run ./suite.json -o other --quiet --seed 1 >/dev/null
  refuses 3 "other: cannot merge with a: it was run with seed 1, not 0" merge a other -o merged
  refuses 2 "the folder already contains a run" merge a -o other
  refuses 3 "no results here" merge a nowhere -o merged
  [ ! -e merged ]
  answers 2 merge a
  answers 2 merge -o merged
}

@test "a dry run tells what a suite takes and runs nothing" {
  answers 0 run paper-generalization-quick --dry-run
  [[ "$output" == "paper-generalization-quick: 720 cells on 30 problems, 15 policies to train"* ]]
  [[ "$output" == *"Evaluations: "* && "$output" == *"Time: "*" on one core"* && "$output" == *"Disk: "* ]]
  [ ! -e results ]
  suite suite.json 50 inception-v3:batch=2
  "$EMPLACE" run ./suite.json -o run --quiet >/dev/null
  answers 0 run ./suite.json --dry-run --json
  holds 'd["cells"] == 14' 'd["evaluations"] == 12 * 50' 'd["simulation_s"] > 0' 'd["policies_bytes"] == 0' \
    "0.5 < d['results_bytes'] / $(stat -c %s run/cells.jsonl) < 2"
  answers 0 run ./suite.json --dry-run --json --shard 1/2
  holds 'd["evaluations"] == 6 * 50' 'd["shard"] == "1/2"'
}

@test "a dry run tells what is left of a run" {
  suite suite.json 5 inception-v3:batch=2
  "$EMPLACE" run ./suite.json -o run --quiet >/dev/null
  answers 0 run ./suite.json -o run --resume --dry-run
  [[ "$output" == "small: 0 cells on 0 problems, 0 policies to train"* ]]
  sed -i '$d' run/cells.jsonl
  before=$(cat run/*)
  answers 0 run ./suite.json -o run --resume --dry-run --json
  holds 'd["cells"] == 1' 'd["problems"] == 1' 'd["simulation_s"] > 0'
  [ "$before" = "$(cat run/*)" ]
  answers 2 run ./suite.json -o run --resume --dry-run --seed 1
  [[ "$stderr" == *"run: cannot resume: it was run with seed 0, not 1"* ]]
  answers 2 run ./suite.json -o run --resume --dry-run --shard 1/2
  [[ "$stderr" == *"run: cannot resume: it is of the whole suite, not of shard 1/2"* ]]
  answers 3 run ./suite.json -o none --resume --dry-run
  refuses 2 "--dry-run writes nothing" run ./suite.json -o run --dry-run
  answers 3 run ./suite.json --resume --dry-run
  [ ! -e results ]
}

@test "the job array of Slurm runs each shard, also again" {
  emplace_on_path
  suite suite.json 5 inception-v3:batch=2
  for task in 1 2 2; do
    SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_PER_TASK=1 bash "$recipes/slurm.sbatch" ./suite.json 2 out >/dev/null
  done
  # Slurm sets it only where it was asked for CPUs.
  SLURM_ARRAY_TASK_ID=1 bash "$recipes/slurm.sbatch" ./suite.json 2 without >/dev/null
  same_results out/shard-1 without/shard-1
  answers 0 merge out/shard-1 out/shard-2 -o merged
  [[ "$output" == "small: 14 of 14 cells from 2 stores, 0 of them in several"* ]]
  run -2 bash "$recipes/slurm.sbatch" ./suite.json
  run -1 bash "$recipes/slurm.sbatch" ./suite.json 2 out
  [[ "$output" == *"sbatch --array"* ]]
}

@test "GNU parallel runs the shards and merges them" {
  emplace_on_path
  suite suite.json 5 inception-v3:batch=2
  echo : >hosts
  run -0 --separate-stderr "$recipes/over_ssh.sh" "$PWD/suite.json" 3 out hosts
  [[ "$output" == "small: 14 of 14 cells from 3 stores"* ]]
  "$EMPLACE" run ./suite.json -o whole --quiet >/dev/null
  same_results whole out/merged
  run -2 "$recipes/over_ssh.sh" suite.json
}

@test "GNU parallel leaves nothing on the machines, and mixes no sweeps" {
  emplace_on_path
  # As ssh HOST -- COMMAND, with a home for each machine, and without a SHELL, as some machines have.
  printf '#!/bin/sh\nmkdir -p "$BATS_TEST_TMPDIR/home-$1"\ncd "$BATS_TEST_TMPDIR/home-$1"\nshift 2\nunset SHELL\nTMPDIR=$PWD exec sh -c "$*"\n' >bin/ssh
  chmod +x bin/ssh
  printf '%s\n' alice bob >hosts
  mkdir "my suites"
  suite "my suites/one.json" 5 inception-v3:batch=2
  run -0 --separate-stderr "$recipes/over_ssh.sh" "my suites/one.json" 3 "my results" hosts
  [[ "$output" == "small: 14 of 14 cells from 3 stores"* ]]
  [ "$(find home-*)" = "$(printf '%s\n' home-alice home-bob)" ]
  run -0 --separate-stderr "$recipes/over_ssh.sh" "my suites/one.json" 3 "my results" hosts
  [[ -z "$output" && "$stderr" == *"my results/merged holds the results already" ]]
  suite "my suites/one.json" 6 inception-v3:batch=2
  run -2 --separate-stderr "$recipes/over_ssh.sh" "my suites/one.json" 3 "my results" hosts
  [[ "$stderr" == *"my results holds results of another suite"* ]]
  run -0 --separate-stderr "$recipes/over_ssh.sh" "my suites/one.json" 3 other hosts
  answers 0 run "my suites/one.json" -o whole --quiet
  same_results whole other/merged
}

@test "GNU parallel starts the shards again that failed" {
  emplace_on_path
  suite suite.json 5 inception-v3:batch=2
  echo : >hosts
  mv bin/emplace bin/good
  printf '#!/bin/sh\ncase $* in *2/3*) echo no room >&2; exit 3;; esac\nexec good "$@"\n' >bin/emplace
  chmod +x bin/emplace
  run -1 --separate-stderr "$recipes/over_ssh.sh" suite.json 3 out hosts
  [[ "$stderr" == "returned/2/stderr:no room" ]]
  mv bin/good bin/emplace
  run -0 --separate-stderr "$recipes/over_ssh.sh" suite.json 3 out hosts
  [[ "$output" == "small: 14 of 14 cells from 3 stores"* ]]
  [ "$(wc -l <out/joblog)" -eq 5 ]
}

@test "GNU parallel takes no empty return for results" {
  emplace_on_path
  suite suite.json 5 inception-v3:batch=2
  printf '#!/bin/sh\n' >bin/ssh
  chmod +x bin/ssh
  echo alice >hosts
  run -1 --separate-stderr "$recipes/over_ssh.sh" suite.json 2 out hosts
  [[ "$stderr" == *"out/returned/1/stdout is not the archive of shard 1; remove out/joblog and start again" ]]
  rm bin/ssh out/joblog
  echo : >hosts
  run -0 --separate-stderr "$recipes/over_ssh.sh" suite.json 2 out hosts
  [[ "$output" == "small: 14 of 14 cells from 2 stores"* ]]
}

@test "the job of Kubernetes has a shard for each of its pods" {
  emplace_on_path
  suite suite.json 5 inception-v3:batch=2
  python3 - "$recipes/kubernetes.yaml" >pod.sh <<'END'
import sys, yaml
spec = yaml.safe_load(open(sys.argv[1]))["spec"]
container, = spec["template"]["spec"]["containers"]
shards = {one["name"]: one["value"] for one in container["env"]}["SHARDS"]
assert spec["completionMode"] == "Indexed" and str(spec["completions"]) == shards
assert container["command"] == ["/bin/sh", "-c"]
print(container["args"][0].replace("/results/", "out/"))
END
  for index in 0 1; do
    JOB_COMPLETION_INDEX=$index SUITE=./suite.json SHARDS=2 sh pod.sh >/dev/null
  done
  answers 0 merge out/shard-1 out/shard-2 -o merged
  [[ "$output" == "small: 14 of 14 cells from 2 stores"* ]]
}

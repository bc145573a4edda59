#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2054,SC2154  # scripts in single quotes, commas of agents; stderr is set by run
# Ranks of mpirun: the same bytes as one process, and what happens when one of them ends.

load cli.bash

# Settings of docs/guide/run-with-mpi.md for containers, where one is root and has few cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  command -v mpirun || skip "no mpirun"
  "$EMPLACE" doctor | grep -q "Open MPI *present" || skip "this build has no Open MPI"
}

# ranks CODE N ARGUMENTS...: runs emplace on N ranks.
ranks() {
  local code=$1 number=$2
  shift 2
  run "-$code" --separate-stderr mpirun -n "$number" "$EMPLACE" "$@"
}

# fails PID: waits for a process that must fail.
fails() {
  local code=0
  wait "$1" || code=$?
  [ "$code" -ne 0 ]
}

# results FOLDER: prints all that is not measured: cells in the order of their ids, and policies.
results() {
  python3 - "$1" <<'END'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
cells = [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]
for cell in sorted(cells, key=lambda cell: cell["id"]):
    del cell["measured"], cell["crc32"]
    print(json.dumps(cell))
for policy in sorted((folder / "policies").glob("*.json")):
    print(policy.name, policy.read_text())
END
}

# with_policy FILE: writes a suite whose agents are a search, a rule, one that fails, and a policy.
with_policy() {
  cat >"$1" <<'END'
{"schema": "emplace-suite", "version": 1, "name": "ranks", "clusters": ["p2-8xlarge-2"],
 "families": [{"name": "cells", "train": ["cifar10:member=0"], "test": ["cifar10:split=test,member=0"], "groups": 8}],
 "policies": [{"name": "net", "agent": "placeto:preset=released,rounds=1", "episodes": 2}],
 "agents": ["random", "heft", "exec:false", {"agent": "placeto:preset=released,rounds=1", "policy": "net"}],
 "repetitions": 3, "max_evaluations": 200}
END
}

@test "ranks leave the bytes of one process, and only the root prints" {
  with_policy suite.json
  answers 4 run suite.json -o alone -j 2
  local report=$output
  ranks 4 3 run suite.json -o ranks -j 1
  [ "$(grep -c "cells to run" <<<"$stderr")" -eq 1 ]
  diff <(results alone) <(results ranks)
  [ "$(wc -l <<<"$output")" -eq "$(wc -l <<<"$report")" ]
}

@test "when a rank dies the job ends, what had arrived is kept, and any number of ranks goes on" {
  suite suite.json 60000 in-tree:levels=4
  answers 0 run suite.json -o alone
  mpirun -n 3 bash -c 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then echo $$ >pid; fi; exec "$@"' - \
    "$EMPLACE" run suite.json -o ranks -j 1 >out 2>err &
  local job=$! cells=0
  for _ in $(seq 3000); do
    cells=$(grep -sc . ranks/cells.jsonl) || true
    [ "${cells:-0}" -lt 2 ] || break
    sleep 0.01
  done
  kill -KILL "$(cat pid)"
  fails "$job"
  cells=$(wc -l <ranks/cells.jsonl)
  echo "$cells cells had arrived"
  [ "$cells" -ge 2 ] && [ "$cells" -lt 16 ]
  mv ranks alone-again
  cp -r alone-again ranks-again
  answers 0 run suite.json -o alone-again --resume
  ranks 0 2 run suite.json -o ranks-again --resume
  diff <(results alone) <(results alone-again)
  diff <(results alone) <(results ranks-again)
}

@test "a signal to mpirun interrupts the run, and the root says how to go on" {
  suite suite.json 2000000 in-tree:levels=4
  # So many seconds after the signal mpirun tells the ranks, and so many later it kills them. One, the default, is too
  # few on a busy machine.
  OMPI_MCA_odls_base_sigkill_timeout=3 mpirun -n 2 "$EMPLACE" run suite.json -o ranks -j 1 >out 2>err &
  local job=$!
  for _ in $(seq 3000); do
    [ ! -s ranks/cells.jsonl ] || break
    sleep 0.01
  done
  kill -INT "$job"
  fails "$job"
  cat err
  grep "interrupted after .* continue with: emplace run suite.json -o ranks --seed 0 --resume" err
}

@test "mistakes are told once, with the exit code that they have alone" {
  ranks 3 2 run no-such-suite
  [ "$(grep -c "^emplace: " <<<"$stderr")" -eq 1 ]
  [ -z "$output" ]
  suite suite.json 10 in-tree:levels=4
  answers 0 run suite.json -o there
  ranks 2 2 run suite.json -o there
  [ "$(grep -c "^emplace: there: " <<<"$stderr")" -eq 1 ]
  ranks 2 2 run suite.json --python agent.py
  [ "$(grep -c "^emplace: .*under mpirun" <<<"$stderr")" -eq 1 ]
}

@test "a rank that sees another file than the root is named" {
  suite suite.json 10 in-tree:levels=4
  run -2 --separate-stderr mpirun -n 2 bash -c 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
      mkdir -p other; cd other; sed "s/: 10}/: 11}/" ../suite.json >suite.json; fi; exec "$@"' - \
    "$EMPLACE" run suite.json -o ranks
  [[ "$stderr" == *"emplace: rank 1 on "*" has a different emplace, different files or different arguments than the root"* ]]
}

@test "other commands, and a job of one rank, are as without mpirun" {
  suite suite.json 10 in-tree:levels=4
  ranks 0 1 run suite.json -o one --quiet
  ranks 0 2 list clusters
  [ "$(grep -c "^  p2-8xlarge-4 " <<<"$output")" -eq 2 ]
}

#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Programs that place (exec:COMMAND): the examples, and hostile ones, each a failed cell with its reason.

load cli.bash

# program NAME LINE...: a shell script in this folder that says hello, reads the problem and runs the lines.
program() {
  local name=$1
  shift
  printf '%s\n' '#!/bin/sh' 'echo "{\"hello\": \"emplace-agent\", \"version\": 1}"' 'read -r problem' "$@" >"$name"
  chmod +x "$name"
}

# A suite of agents, given as JSON texts, on a graph of four ops.
suite_of() {
  tiny_graph tiny.json
  cat >suite.json <<END
{"schema": "emplace-suite", "version": 1, "name": "programs", "graphs": ["./tiny.json"],
 "clusters": ["p2-8xlarge-2"], "agents": [$1], "repetitions": 2, "max_evaluations": 40}
END
}

@test "the examples place" {
  local examples=$EMPLACE_SOURCE_DIR/examples/exec
  for example in hill_climb.py equal_runs.sh; do
    answers 0 place inception-v3:batch=2 --cluster p2-8xlarge-2 --agent "exec:$examples/$example" \
      --evaluations 100 --json
    holds 'd["status"] == "ok" and d["evaluations"] <= 100 and len(d["placement"]["devices"]) > 700'
  done
  answers 0 place inception-v3:batch=2 --cluster p2-8xlarge-2 --agent "exec:$examples/hill_climb.py" \
    --time-limit 3 --json
  holds 'd["status"] == "ok" and d["evaluations"] > 1'
}

@test "programs stand in suites beside agents, with the same bits on 1 and 2 threads" {
  local examples=$EMPLACE_SOURCE_DIR/examples/exec
  suite_of "\"heft\", \"random\", \"exec:$examples/hill_climb.py\", {\"agent\": \"exec:sh $examples/equal_runs.sh,time-limit=60\", \"name\": \"equal-runs\"}"
  "$EMPLACE" run ./suite.json --quiet -o one --threads 1 >report
  "$EMPLACE" run ./suite.json --quiet -o two --threads 2 >/dev/null
  grep -q equal-runs report
  deterministic() { sed 's/,"measured":.*//' "$1/cells.jsonl" | sort; }
  [ "$(deterministic one)" = "$(deterministic two)" ]
  [ "$(wc -l <one/cells.jsonl)" -eq 7 ]
}

@test "check-agent finds mistakes of programs, and none in the examples" {
  answers 0 dev check-agent "exec:sh $EMPLACE_SOURCE_DIR/examples/exec/equal_runs.sh"
  [ "${#lines[@]}" -eq 8 ]
  [[ "$output" != *"not ok"* ]]
  program ./exits 'exit 7'
  answers 3 dev check-agent "exec:./exits"
  [[ "$output" == *"not ok  places every group where it may"*"one op on p2-8xlarge-2: "* ]]
  [[ "$stderr" == "emplace: agent exec:./exits fails "*" of 8 checks" ]]
  # Another placement each time: the last device of the first program, the first of the next.
  program ./counts 'n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n >n' \
    'groups=$(printf %s "$problem" | sed "s/.*\"count\": *\([0-9]*\).*/\1/")' \
    'printf "{\"placement\": ["; i=1; while [ $i -lt "$groups" ]; do printf "%d," $((n % 2)); i=$((i + 1)); done; printf "%d]}\n" $((n % 2))'
  answers 3 dev check-agent exec:./counts --json
  holds 'any("two placements for one seed" in m for c in d["checks"] for m in c["mistakes"])'
  refuses 3 "'vgg-16' is a graph, expected an agent" dev check-agent vgg-16
}

@test "hostile programs are failed cells with a reason, and no other cell is lost" {
  program ./crash 'kill -SEGV $$'
  program ./killed 'kill -9 $$'
  program ./hang 'sleep 60'
  program ./exits 'echo no more ideas >&2' 'exit 7'
  program ./garbage 'echo what'
  program ./flood 'cat /dev/zero'
  program ./sizes "echo '{\"placement\": [0]}'"
  program ./device "echo '{\"placement\": [0, 0, 0, 9]}'"
  program ./closes 'exec 1>&-' 'sleep 60'
  program ./forks 'sleep 60 &' 'exit 0'
  printf '#!/bin/sh\nsleep 60\n' >slow
  chmod +x slow
  suite_of '"heft", "random", "exec:./crash", "exec:./killed", "exec:./hang,time-limit=1", "exec:./exits", "exec:./garbage",
    "exec:./flood", "exec:./sizes", "exec:./device", "exec:./closes", "exec:./forks", "exec:./slow,start-limit=1",
    "exec:./missing"'
  answers 4 run ./suite.json --quiet -o r
  [ -z "$stderr" ]
  output=$(python3 -c '
import json
cells = [json.loads(line) for line in open("r/cells.jsonl")]
print(json.dumps(cells))')
  holds 'sum(c["status"] == "ok" for c in d) == 3 and sum(c["status"] == "failed" for c in d) == 24'
  local reason
  for reason in 'killed by SIGSEGV (Segmentation fault)' 'killed by SIGKILL (Killed)' \
    'no placement within 1 s' 'exited with code 7 too early; its standard error ends with: no more ideas' \
    'not a JSON object: what' 'a line of more than 16 MiB' 'of 1 groups; expected 4' 'group 3 on device 9' \
    'closed its standard output too early' 'exited with code 0 too early' 'no hello within 1 s' \
    "cannot start './missing': No such file or directory"; do
    holds "sum(\"\"\"$reason\"\"\" in c.get('message', '') for c in d) == 2"
  done
}

@test "a program that fails is an error of place, and of no other exit code" {
  tiny_graph tiny.json
  program ./crash 'kill -ABRT $$'
  refuses 3 'agent exec:./crash failed: the program was killed by SIGABRT (Aborted)' \
    place ./tiny.json --cluster p2-8xlarge-2 --agent exec:./crash
  refuses 2 'agent exec needs a program: exec:COMMAND' place ./tiny.json --cluster p2-8xlarge-2 --agent exec
  refuses 2 "unknown parameter 'limit'" place ./tiny.json --cluster p2-8xlarge-2 --agent exec:./crash,limit=1
}

@test "all agents of a suite are those that need no program" {
  suite_of '"heft"'
  sed -i 's/\["heft"\]/"*"/' suite.json
  answers 0 run ./suite.json --quiet -o r
  lacks exec: <r/cells.jsonl
}

@test "verbose shows the standard error of a program" {
  tiny_graph tiny.json
  program ./talks 'echo I think >&2' "echo '{\"placement\": [0, 0, 0, 0]}'"
  answers 0 place ./tiny.json --cluster p2-8xlarge-2 --agent exec:./talks,verbose=true -o p.json
  [[ "$stderr" == "I think" ]]
  answers 0 place ./tiny.json --cluster p2-8xlarge-2 --agent exec:./talks -o p.json
  [ -z "$stderr" ]
}

@test "Ctrl-C ends a program that hangs" {
  tiny_graph tiny.json
  program ./hang 'echo $$ >pid' 'exec sleep 60'
  python3 - "$EMPLACE" <<'END'
import os, pathlib, signal, subprocess, sys, time
process = subprocess.Popen([sys.argv[1], "place", "./tiny.json", "--cluster", "p2-8xlarge-2",
                            "--agent", "exec:./hang"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
pid = pathlib.Path("pid")
while not (pid.exists() and pid.read_text()):
    time.sleep(0.01)
process.send_signal(signal.SIGINT)
assert process.wait(timeout=30) != 0
for _ in range(200):
    try:
        os.kill(int(pid.read_text()), 0)
    except ProcessLookupError:
        break
    time.sleep(0.01)
else:
    sys.exit("the program still runs")
END
}

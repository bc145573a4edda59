#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# How the program talks: exit codes, streams, help, suggestions, colour.

load cli.bash

@test "without a command it shows the help on standard error and exits 2" {
  answers 2
  [ -z "$output" ]
  [[ "$stderr" == *"run "*"simulate "* ]]
}

@test "--help and --version answer on standard output" {
  answers 0 --help
  [[ "$output" == *"doctor"* ]]
  [ -z "$stderr" ]
  answers 0 run --help
  [[ "$output" == *"--resume"* ]]
  answers 0 --version
  [[ "$output" =~ ^emplace\ [0-9]+\.[0-9]+\.[0-9]+\ \(git\ .+,\ [A-Z].+\)$ ]]
}

@test "an unknown command suggests the nearest" {
  refuses 2 "unknown command 'simulat'; did you mean 'simulate'" simulat
}

@test "an unknown option suggests the nearest" {
  refuses 2 "unknown option '--thread'; did you mean '--threads'" run quickstart --thread=2
  refuses 2 "unknown option '--jsn'; did you mean '--json'" list agents --jsn
}

@test "unknown names suggest the nearest" {
  refuses 2 "cannot list 'agent'; did you mean 'agents'" list agent
  refuses 3 "did you mean 'inception-v3'" show inception-v2
  refuses 3 "did you mean 'p2-8xlarge-2'" show inception-v3 --cluster p2-8xlarge2
  refuses 3 "did you mean 'hill-climb'" place inception-v3 --cluster p2-8xlarge-2 --agent hil-climb
  refuses 3 "did you mean 'quickstart'" run quick-start
  refuses 3 "nothing is called 'hil-climb'; did you mean 'hill-climb'" show hil-climb
  refuses 3 "did you mean 'heavy-edge'" show inception-v3 --grouping heavy-edges
}

@test "wrong values of options are usage errors" {
  refuses 2 "--threads" run quickstart --threads 0
  refuses 2 "--threads" run quickstart --threads two
  refuses 2 "--seed" run quickstart --seed -1
  refuses 2 "--seed" run quickstart --seed 9007199254740992
  refuses 2 "--groups" show inception-v3 --groups -5
  refuses 2 "takes no number" show inception-v3 --grouping colocation --groups 5
  refuses 2 "--format" report . --format pdf
  refuses 2 "--color" list agents --color=sometimes
  refuses 2 "WHAT" list
  refuses 2 "unexpected argument 'clusters'" list agents clusters
  refuses 2 "batch" show inception-v3:bach=3
}

@test "numbers may be written as 1e3, and times as 2m" {
  local problem=(inception-v3 --cluster p2-8xlarge-2 --agent hill-climb)
  answers 0 place "${problem[@]}" --evaluations 1e2 --json
  holds 'd["evaluations"] == 100'
  answers 0 place "${problem[@]}" --time-limit 0.001m -o p.json
  answers 0 simulate inception-v3 --cluster p2-8xlarge-2 --agent heft --time-limit 1h
  refuses 2 "--evaluations: expected a whole number from 1 to 1000000000, such as 10000 or 1e4, found '10k'" \
    place "${problem[@]}" --evaluations 10k
  refuses 2 "found '1.5'" place "${problem[@]}" --evaluations 1.5
  refuses 2 "found '1e-1'" place "${problem[@]}" --evaluations 1e-1
  refuses 2 "found '1e99'" place "${problem[@]}" --evaluations 1e99
  local time
  for time in -3 0 nan inf 1d h; do
    refuses 2 "--time-limit: expected a time above 0, such as 90 (seconds), 90s, 2m or 1h, found '$time'" \
      place "${problem[@]}" "--time-limit=$time"
  done
  refuses 2 "--groups: expected a whole number from 1 to" place "${problem[@]}" --groups 0
  refuses 2 "--threads: expected a whole number from 1 to 1024, found '0'" list agents --threads 0
}

@test "an option before its command is told to go after it" {
  refuses 2 "'--cluster' goes after the command: emplace place ... --cluster ..." \
    --cluster p2-8xlarge-2 place inception-v3
  refuses 2 "'--evaluations' goes after the command, one of emplace run, emplace place" --evaluations=5
  answers 0 --json place inception-v3 --cluster p2-8xlarge-2 --agent heft
  holds 'd["status"] == "ok"'
}

@test "a name of another kind is told to be one" {
  refuses 3 "'placeto' is an agent, expected a graph" \
    train inception-v3 placeto --cluster p2-8xlarge-2 --episodes 1 -o p.json
  refuses 3 "'p2-8xlarge-2' is a cluster, expected a graph" place p2-8xlarge-2 --cluster vgg-16
  refuses 3 "'vgg-16' is a graph, expected a cluster" place vgg-16 --cluster vgg-16
  refuses 3 "'heft' is an agent, expected a grouping" show vgg-16 --grouping heft
  refuses 3 "'vgg-16' is a graph, expected a suite" run vgg-16
  refuses 3 "'quickstart' is a suite, expected an agent" \
    place vgg-16 --cluster p2-8xlarge-2 --agent quickstart
  refuses 3 "to run a program as an agent: exec:python3 ./my.py" \
    place vgg-16 --cluster p2-8xlarge-2 --agent ./my.py
  refuses 3 "to run a program as an agent: exec:./mine" \
    place vgg-16 --cluster p2-8xlarge-2 --agent ./mine
  refuses 3 "to add the agents of a plug-in: --plugin ./mine.so" \
    place vgg-16 --cluster p2-8xlarge-2 --agent ./mine.so
}

@test "a placement of another problem is told to be one" {
  "$EMPLACE" place vgg-16 --cluster p2-8xlarge-4 --agent round-robin -o p.json
  refuses 3 "p.json: a placement of 'vgg-16', this is 'resnet-50'" \
    simulate resnet-50 --cluster p2-8xlarge-4 --placement p.json
  refuses 3 "p.json: a placement on 'p2-8xlarge-4', this is 'p2-8xlarge-2'" \
    simulate vgg-16 --cluster p2-8xlarge-2 --placement p.json
}

@test "place tells how to repeat a search, which repeats on any number of threads" {
  local problem=(inception-v3 --cluster p2-8xlarge-2)
  answers 0 place "${problem[@]}" --seed 7 --time-limit 1s -o p.json
  [[ "${lines[-1]}" == "  emplace place inception-v3 --cluster p2-8xlarge-2 -o p.json --evaluations "*" --seed 7" ]]
  local again
  read -ra again <<<"${lines[-1]}"
  "$EMPLACE" "${again[@]:1}" -j 1
  mv p.json first.json
  "$EMPLACE" "${again[@]:1}" -j 2
  cmp first.json p.json
}

@test "place and simulate tell the same lower bound" {
  "$EMPLACE" place resnet-50 --cluster p2-8xlarge-2 --agent heft --json -o p.json >placed.json
  answers 0 simulate resnet-50 --cluster p2-8xlarge-2 --placement p.json --json
  holds 'd["bound_us"] == json.load(open("placed.json"))["bound_us"]'
}

@test "options that do not go together are usage errors" {
  refuses 2 "--cases" simulate
  refuses 2 "give --cases FILE, --placement FILE, or GRAPH with --cluster and --agent" simulate inception-v3 --cluster p2-8xlarge-2
  refuses 2 "--cases" simulate --cases - inception-v3
  refuses 2 "--agent" simulate inception-v3 --cluster p2-8xlarge-2 --agent metis --placement p.json
  refuses 2 "--agent" simulate inception-v3 --cluster p2-8xlarge-2 --placement p.json --seed 1
  refuses 2 "--cluster" place inception-v3 --agent metis
  refuses 2 "--grouping" simulate inception-v3 --cluster p2-8xlarge-2 --placement p.json --grouping scope
  refuses 2 "--cluster" show inception-v3 --compare-groupings
  refuses 2 "--compare-groupings" show inception-v3 --evaluations 5
}

@test "files that cannot be read or written are told" {
  refuses 3 "missing.json" show ./missing.json
  refuses 3 "missing.jsonl" simulate --cases missing.jsonl
  refuses 3 "no-results" report no-results
  mkdir folder.json
  refuses 3 "folder.json" show ./folder.json
  refuses 3 "folder.json" simulate --cases folder.json
  refuses 3 "no-folder" convert inception-v3 --to dot -o no-folder/graph.dot
}

@test "a full disk is an error" {
  [ -e /dev/full ] || skip "no /dev/full here"
  run -3 bash -c '"$EMPLACE" list agents >/dev/full'
  [[ "$output" == "emplace: cannot write to standard output"* ]]
}

@test "a closed pipe ends the program quietly" {
  run -0 --separate-stderr bash -c '"$EMPLACE" convert inception-v3 | head -c 10'
  [ "${#output}" -eq 10 ]
  [ -z "$stderr" ]
}

@test "at a terminal, no line is longer than the terminal is wide" {
  command -v script >/dev/null || skip "no script(1)"
  suite suite.json 2 inception-v3:batch=2
  "$EMPLACE" run ./suite.json -o r --quiet >report.txt
  [ "$(wc -L <report.txt)" -gt 80 ]
  lacks "(--wide" <report.txt
  at_terminal() { script -qec "stty cols 80; $EMPLACE -q --color never $1" /dev/null </dev/null | tr -d '\r'; }
  step="inception-v3 --cluster p2-8xlarge-4 --agent heft"
  for command in "report r" "report r --table cells" "report r --table histories" "list agents" "list graphs" "list clusters" \
    "list suites" "list best-known" "show inception-v3 --cluster p2-8xlarge-4" "show v100" "show placeto" "compare r r" \
    "simulate $step" "simulate $step --explain" "place $step" "dev best-known --check" doctor; do
    at_terminal "$command" >shown.txt
    [ -s shown.txt ]
    if [ "$(wc -L <shown.txt)" -gt 80 ]; then
      echo "$command"
      awk 'length > 80' shown.txt
      return 1
    fi
  done
  at_terminal "report r" | grep -q -- "(--wide shows [1-9] more columns: "
  [ "$(at_terminal "report r --wide")" = "$("$EMPLACE" report r)" ]
}

@test "only a terminal gets colour, unless it is asked for" {
  tiny_graph tiny.json
  suite suite.json 2 ./tiny.json
  "$EMPLACE" run ./suite.json -o r --quiet >plain.txt
  lacks $'\x1b' <plain.txt
  "$EMPLACE" report r --color=always | grep -q $'\x1b'
  "$EMPLACE" --color always report r | grep -q $'\x1b'
  command -v script >/dev/null || skip "no script(1) for the rest"
  at_terminal() { script -qec "$1" /dev/null </dev/null; }
  export TERM=xterm
  unset NO_COLOR
  at_terminal "$EMPLACE report r" | grep -q $'\x1b\[1'
  at_terminal "$EMPLACE report r --color=never" | lacks $'\x1b\[1'
  NO_COLOR=1 at_terminal "$EMPLACE report r" | lacks $'\x1b\[1'
  TERM=dumb at_terminal "$EMPLACE report r" | lacks $'\x1b\[1'
}

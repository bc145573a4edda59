#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# The help of the program and of each command, and options that all commands have alike.

load cli.bash

# commands: prints the name of every command, as the program's help lists them.
commands() {
  "$EMPLACE" --help | sed -n '/^General options:/q; s/^  \([a-z-]\+\)  .*/\1/p'
}

# examples COMMAND...: prints the examples in its help.
examples() {
  "$EMPLACE" "$@" --help | sed -n '1,/^Examples:/d; s/^  //; :more; / \\$/ { N; s/ \\\n */ /; b more }; s/ *[|>].*//; p'
}

@test "the help lists every command with one line on each" {
  [ "$(commands | wc -l)" -le 16 ]
  [ "$("$EMPLACE" -h)" = "$("$EMPLACE" --help)" ]
}

@test "help of every command says how to call it, fits 80 columns and has an example" {
  local command
  for command in $(commands) "dev docs" "dev fit" "dev best-known"; do
    read -ra words <<<"$command"
    answers 0 "${words[@]}" --help
    [[ "$output" == *$'\n\n'"Usage: emplace $command "* ]]
    lacks '.\{81\}' <<<"$output"
    [ "$command" = dev ] || [ -n "$(examples "${words[@]}")" ]
  done
}

@test "usage names what is required, and defaults are told once" {
  answers 0 run --help
  [[ "$output" == *"Usage: emplace run SUITE [options]"* ]]
  answers 0 train --help
  [[ "$(tr -s ' \n' ' ' <<<"$output")" == *"Usage: emplace train AGENT GRAPH... --cluster CLUSTER... --episodes N --output FILE [options]"* ]]
  answers 0 place --help
  [[ "$(tr -s ' \n' ' ' <<<"$output")" == *"[default: 10 with auto, unless --evaluations is given]"* ]]
  local command
  for command in $(commands); do
    "$EMPLACE" "$command" --help | lacks 'by default\|REQUIRED'
  done
}

# What takes longer than a few seconds was understood, which is all that is asked here. So the results of a small
# suite stand for those of the runs, and a short training for that of the example; both run in a folder of their own.
@test "the examples of every command are valid, in the order of the help" {
  tiny_graph tiny.json
  suite quickstart.json 1 ./tiny.json
  local run words
  for run in quickstart "again --seed 1" "quickstart-shard-1-of-4 --shard 1/4"; do
    read -ra words <<<"$run"
    "$EMPLACE" run ./quickstart.json -q -o "results/${words[0]}" "${words[@]:1}"
  done
  "$EMPLACE" train placeto ./tiny.json --cluster p2-8xlarge-2 --episodes 1 -q -o policy.json
  "$EMPLACE" convert in-tree -o graph.dot
  "$EMPLACE" place inception-v3 --cluster p2-8xlarge-2 --agent heft -o placement.json
  cp placement.json other.json
  cp "$EMPLACE_SOURCE_DIR/tests/graphs/data/pipedream.txt" .
  cp "$EMPLACE_SOURCE_DIR/tests/graphs/data/resnet18.onnx" model.onnx
  cp "$EMPLACE_SOURCE_DIR/profiles/data/samples/v100.csv.gz" .
  "$EMPLACE" calibrate --devices cpu --runs 1 --max-copy 4096 -o machine.json \
    rnnlm:layers=1,hidden=32,steps=2,batch=4,vocabulary=200 >/dev/null
  mkdir runs
  local command arguments example folder status
  for command in $(commands) "dev docs" "dev fit" "dev best-known"; do
    read -ra arguments <<<"$command"
    folder=$([[ "$command" =~ ^(run|train)$ ]] && echo runs || echo .)
    while read -r example; do
      read -ra words <<<"$example"
      [ "${words[0]}" = emplace ]
      status=0
      (cd "$folder" && timeout 5 "$EMPLACE" "${words[@]:1}" >out.txt 2>err.txt </dev/null) || status=$?
      if [ "$status" -ne 0 ] && [ "$status" -ne 124 ]; then
        printf '%s\nexits %s: ' "$example" "$status"
        cat "$folder/err.txt"
        return 1
      fi
    done < <(examples "${arguments[@]}")
  done
}

@test "--version and -V show the version and how it was built" {
  answers 0 --version
  [[ "$output" =~ ^emplace\ [0-9]+\.[0-9]+\.[0-9]+\ \(git\ .+,\ [A-Z].+\)$ ]]
  [ "$output" = "$("$EMPLACE" -V)" ]
}

@test "what is no command suggests one" {
  refuses 2 "unknown command 'plac'; did you mean 'place'? (see emplace --help)" plac
  refuses 2 "unknown command 'doc'; did you mean 'docs'" dev doc
  refuses 2 "(see emplace --help)" help run
}

@test "all that is missing is named at once" {
  refuses 2 "missing GRAPH..., --cluster CLUSTER (see emplace place --help)" place --agent heft
  refuses 2 "missing --cluster CLUSTER..., --episodes N, -o, --output FILE" train placeto in-tree
  refuses 2 "missing SUITE" run
  refuses 2 "missing COMMAND; known: best-known, check-agent, docs, fit" dev
}

@test "an option that is meant is suggested, and one of other commands is told to be theirs" {
  refuses 2 "unknown option '--evaluation'; did you mean '--evaluations'?" \
    place inception-v3 --cluster p2-8xlarge-2 --agent heft --evaluation 5
  [[ "$stderr" != *" or "* ]]
  refuses 2 "emplace run takes no option '--time-limit', which is one of emplace place, emplace simulate" \
    run quickstart --time-limit 5
  refuses 2 "unknown option '-x'" list agents -x
  refuses 2 "unexpected argument 'threads'; did you mean '--threads'?" run quickstart threads 2
  refuses 2 "unexpected argument '5'" run quickstart 5
}

@test "an unknown command far from all lists all of them" {
  answers 2 xyzzy-42
  local command
  for command in $(commands); do
    [[ "$stderr" == *"$command"* ]]
  done
}

@test "--quiet leaves standard error empty, before the command and after it" {
  tiny_graph tiny.json
  sed 's/"matmul"/"mystery"/' tiny.json >guess.json
  local problem=(--cluster p2-8xlarge-2 --agent single-gpu)
  answers 0 simulate ./guess.json "${problem[@]}"
  [[ "$stderr" == *"guesses"* ]]
  answers 0 --quiet simulate ./guess.json "${problem[@]}"
  [ -z "$stderr" ]
  answers 0 place ./guess.json "${problem[@]}" -q
  [ -z "$stderr" ]
  answers 0 simulate inception-v3:batch=1024 "${problem[@]}" --quiet
  [ -z "$stderr" ]
  [[ "$output" == *"out_of_memory"* ]]
  "$EMPLACE" convert ./tiny.json -o tiny.graphml
  answers 0 convert tiny.graphml --quiet
  [ -z "$stderr" ]
  suite suite.json 1 ./tiny.json
  answers 0 run ./suite.json -q -o r
  [ -z "$stderr" ]
  refuses 3 "nothing is called" show --quiet inception
}

@test "out of memory says what overflowed and what to try" {
  local problem=(inception-v3:batch=128 --cluster p2-8xlarge-2 --agent single-gpu)
  local command
  for command in simulate "place --force"; do
    # shellcheck disable=SC2086  # a command and its option
    answers 0 $command "${problem[@]}" --json
    holds 'd["status"] == "out_of_memory"'
    [[ "${stderr_lines[0]}" =~ ^"emplace: out of memory: gpu:0 has 11.000 GB and needs "[0-9.]+" GB at its peak; it is full "[0-9.]+" "m?s" into the step. "[0-9.]+" GB must go elsewhere" ]]
    [[ "${stderr_lines[1]}" == "  Its memory then contains "*" GB), weights and optimizer slots ("*" GB)." ]]
    [[ "${stderr_lines[2]}" == "  Try another agent (--agent), "*"(--cluster)"*"(inception-v3:batch=N)." ]]
    # shellcheck disable=SC2086
    answers 0 $command "${problem[@]}" --groups 60
    [[ "${stderr_lines[2]}" == "  Try another agent (--agent), "*"the finest groups (--grouping colocation)." ]]
  done
  answers 0 place "${problem[@]}" -o placement.json --force
  answers 0 simulate inception-v3:batch=128 --cluster p2-8xlarge-2 --placement placement.json
  [[ "$stderr" == *"Try another placement, "* ]]
  [[ "$output" == *"ms, if memory sufficed"* && "$output" != *"above"* ]]
  answers 0 simulate inception-v3:batch=1024 --cluster p2-8xlarge-2 --agent single-gpu
  [[ "${stderr_lines[2]}" == "  No placement on p2-8xlarge-2 fits: "*" all placeable devices have 22.000 GB." ]]
  [[ "${stderr_lines[3]}" == "  These may fit: 13 or more devices like gpu:0 (--cluster); a smaller batch (inception-v3:batch=128)." ]]
  answers 0 simulate inception-v3 --cluster p2-8xlarge-2 --agent single-gpu
  [ -z "$stderr" ]
}

@test "out of memory tells of no batch where weights alone are too much" {
  answers 0 simulate llama-7b:batch=2 --cluster p2-8xlarge-2 --agent round-robin
  [[ "$stderr" == *"  No placement on p2-8xlarge-2 fits: 61 groups have weights"* ]]
  [[ "$stderr" == *"These may fit: 8 or more devices like gpu:0 (--cluster)."* ]]
  [[ "$stderr" != *"batch"* ]]
}

@test "mixed precision and recomputation are told where they may fit" {
  answers 0 simulate inception-v3:batch=192 --cluster p2-8xlarge-2 --agent single-gpu
  [[ "$stderr" == *"(inception-v3:batch=96)"* ]]
  [[ "$stderr" == *"mixed precision (inception-v3:batch=192,dtype=float16)"* ]]
  [[ "$stderr" == *"recomputation (inception-v3:batch=192,recompute=all)"* ]]
}

@test "place writes no placement that does not fit, and exits with 6" {
  local problem=(inception-v3:batch=128 --cluster p2-8xlarge-2 --agent single-gpu)
  answers 6 place "${problem[@]}" -o placement.json
  [ ! -e placement.json ]
  [[ "$stderr" == *"The placement is not written (--force writes it)."* ]]
  answers 6 place "${problem[@]}"
  [[ "$output" == *"out_of_memory"* && "$output" != *"emplace-placement"* ]]
  answers 6 place "${problem[@]}" --json
  holds 'd["status"] == "out_of_memory" and "placement" not in d'
  answers 0 place "${problem[@]}" --json --force
  holds 'd["placement"]["schema"] == "emplace-placement"'
  answers 0 place "${problem[@]}" -o placement.json --force
  [ -s placement.json ]
}

@test "the gap to the lower bound is one number in text and JSON" {
  local problem=(inception-v3 --cluster p2-8xlarge-2 --agent single-gpu)
  answers 0 simulate "${problem[@]}" --json
  local gap
  gap=$(python3 -c 'import json, sys; d = json.load(sys.stdin); print("%.1f %% above the lower bound" % (100 * d["gap"]))' <<<"$output")
  holds 'd["gap"] == (d["step_time_us"] - d["bound_us"]) / d["bound_us"]'
  answers 0 simulate "${problem[@]}"
  [[ "$output" == *"$gap"* ]]
  answers 0 simulate "${problem[@]}" --explain
  [[ "$output" == *"$gap"* ]]
  answers 0 simulate "${problem[@]}" --explain --json
  holds 'd["gap"] == (d["step_time_us"] - d["bound_us"]) / d["bound_us"]'
}

@test "the number of threads changes no answer" {
  local command
  for command in "place inception-v3:batch=2 --cluster p2-8xlarge-2 --agent random --evaluations 50" \
    "simulate inception-v3:batch=2 --cluster p2-8xlarge-2 --agent heft --draws 20" \
    "show inception-v3:batch=2 --cluster p2-8xlarge-2 --compare-groupings --evaluations 5"; do
    read -ra words <<<"$command"
    answers 0 "${words[@]}" -j 1
    local one=$output
    answers 0 "${words[@]}" --threads 3
    [ "$output" = "$one" ]
  done
}

@test "report writes to a file" {
  tiny_graph tiny.json
  suite suite.json 1 ./tiny.json
  "$EMPLACE" run ./suite.json -q -o r >run.txt
  answers 0 report r -o report.txt --color always
  [ -z "$output" ]
  cmp report.txt run.txt
  refuses 3 "no-folder" report r -o no-folder/report.txt
}

@test "messages name commands and options that exist" {
  python3 - "$EMPLACE" "$EMPLACE_SOURCE_DIR" <<'PYTHON'
import functools, pathlib, re, subprocess, sys

program, root = sys.argv[1], pathlib.Path(sys.argv[2])

@functools.cache
def options_of(command):
    help = subprocess.run([program, *command.split(), "--help"], capture_output=True, text=True)
    return set(re.findall("--[a-z-]+", help.stdout))

calls = []
for source in [*root.glob("bench/**/*.[ch]pp"), *root.glob("profiles/**/*.[ch]pp")]:
    text = re.sub(r'"\s*\n\s*"', "", source.read_text())  # a text goes on in the next line
    for call in re.finditer(r"emplace ((?:dev )?[a-z-]+)( [^\"`;,\\\n]*--[^\"`;,\\\n]*)", text):
        calls.append((source, call[0], set(re.findall("--[a-z][a-z-]*", call[2])) - options_of(call[1])))
assert len(calls) > 10, calls
assert not any(unknown for _, _, unknown in calls), [call for call in calls if call[2]]
PYTHON
}

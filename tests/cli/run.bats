#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Runs: the same bits whatever happens, stores that survive, reports.

load cli.bash

# interrupted SIGNAL ARGUMENTS...: starts emplace, sends the signal when the store holds two cells of the
# folder "half", and prints the exit status as Python sees it.
interrupted() {
  python3 - "$EMPLACE" "$@" <<'END'
import pathlib, signal, subprocess, sys, time
program, name, *arguments = sys.argv[1:]
process = subprocess.Popen(
    [program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
cells = pathlib.Path("half/cells.jsonl")
for _ in range(6000):
    if process.poll() is not None or (cells.exists() and cells.read_bytes().count(b"\n") >= 2):
        break
    time.sleep(0.01)
process.send_signal(signal.Signals[name])
print(process.wait(timeout=60))
END
}

# A suite whose 14 cells take some seconds together, so that a signal finds it at work.
long_suite() { suite suite.json 1500 inception-v3:batch=2; }

@test "a run reports on standard output and talks on standard error" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  answers 0 run ./suite.json
  [[ "$output" == *"small: 14 of 14 cells, seed 0"* ]]
  [[ "$output" == *"tiny.json on p2-8xlarge-4"* ]]
  [[ "$stderr" == "small: 14 of 14 cells to run, results in results/small" ]]
  [ -s results/small/manifest.json ]
  [ "$(wc -l <results/small/cells.jsonl)" -eq 14 ]
  answers 0 run ./suite.json --quiet --json
  [ -z "$stderr" ]
  holds 'd["schema_version"] == 3 and d["cells_finished"] == 14 and len(d["tables"]) == 2'
  # The first run was left alone.
  [ -s results/small-2/manifest.json ]
}

@test "the manifest says what was run, by what, where and when" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet --seed 5 -o r >/dev/null
  output=$(cat r/manifest.json)
  holds 'd["schema"] == "emplace-run" and d["root_seed"] == 5 and d["num_cells"] == 14' \
    'd["suite"]["agents"][0] == "single-gpu"' \
    'd["starts"][0]["arguments"][1:] == ["run", "./suite.json", "--quiet", "--seed", "5", "-o", "r"]' \
    'd["starts"][0]["build"]["git_revision"] and d["starts"][0]["machine"]["cores"] >= 1' \
    'len(d["problems"]) == 2 and all(len(p["hash"]) == 16 for p in d["problems"])'
}

@test "the same seed gives the same bits on 1 and 2 threads, another seed does not" {
  tiny_graph tiny.json
  suite suite.json 20 inception-v3:batch=2
  "$EMPLACE" run ./suite.json --quiet -o one --threads 1 --seed 4 >/dev/null
  "$EMPLACE" run ./suite.json --quiet -o two --threads 2 --seed 4 >/dev/null
  "$EMPLACE" run ./suite.json --quiet -o other --threads 2 --seed 5 >/dev/null
  deterministic() { sed 's/,"measured":.*//' "$1/cells.jsonl" | sort; }
  [ "$(deterministic one)" = "$(deterministic two)" ]
  "$EMPLACE" report one --json >one.json
  "$EMPLACE" report two --json >two.json
  "$EMPLACE" report other --json >other.json
  cmp one.json two.json
  run -1 cmp -s one.json other.json
}

@test "simulate gives what the first repetition in a suite gives" {
  suite suite.json 20 inception-v3:batch=2
  "$EMPLACE" run ./suite.json --quiet -o r --seed 4 >/dev/null
  answers 0 simulate inception-v3:batch=2 --cluster p2-8xlarge-4 --agent random \
    --evaluations 20 --seed 4 --json
  local line
  line=$(grep '"cluster":"p2-8xlarge-4","agent":"random","repetition":0' r/cells.jsonl)
  holds "d['step_time_us'] == json.loads('''$line''')['step_time_us']"
}

@test "a killed run is resumed with the same bits" {
  long_suite
  "$EMPLACE" run ./suite.json --quiet -o whole --json >whole.json
  [ "$(interrupted SIGKILL run ./suite.json -o half --threads 2)" -eq -9 ]
  answers 0 report half --json
  holds '2 <= d["cells_finished"] < 14'
  # As if the last line had been torn too.
  truncate -s -20 half/cells.jsonl
  "$EMPLACE" run ./suite.json --quiet -o half --resume --json >half.json
  cmp whole.json half.json
  output=$(cat half/manifest.json)
  holds 'len(d["starts"]) == 2'
  # All is done: resuming again only reports.
  "$EMPLACE" run ./suite.json --quiet -o half --resume --json | cmp - whole.json
}

@test "Ctrl-C ends a run in good order with exit code 130" {
  long_suite
  [ "$(interrupted SIGINT run ./suite.json -o half --threads 2)" -eq 130 ]
  answers 0 report half --json
  holds '2 <= d["cells_finished"] < 14'
  [ "$(tail -c 1 half/cells.jsonl | od -An -c | tr -d ' ')" = '\n' ]
  "$EMPLACE" run ./suite.json --quiet -o half --resume --json >half.json
  "$EMPLACE" run ./suite.json --quiet -o whole --json | cmp - half.json
}

@test "a full disk ends a run in good order" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  # Files of at most 4 KiB have room for the manifest and some of the cells.
  run -3 --separate-stderr bash -c 'trap "" XFSZ; ulimit -f 4; "$EMPLACE" run ./suite.json --quiet -o r'
  [ -z "$output" ]
  [[ "$stderr" == "emplace: r/cells.jsonl: cannot write: "* ]]
  answers 0 report r --json
  holds '1 <= d["cells_finished"] < 14'
  answers 0 run ./suite.json --quiet -o r --resume --json
  holds 'd["cells_finished"] == 14'
}

@test "at a terminal a run shows how far it is" {
  command -v script >/dev/null || skip "no script(1) here"
  suite suite.json 200 inception-v3:batch=2
  script -qec "$EMPLACE run ./suite.json -o r --threads 1" screen.txt >/dev/null </dev/null
  grep -q "\[3/14\] about .* s left  inception-v3:batch=2 on p2-8xlarge" screen.txt
  "$EMPLACE" run ./suite.json -o again 2>errors.txt >/dev/null
  lacks 'left' <errors.txt
}

@test "--resume without -o goes on with the latest run" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet --resume >/dev/null
  "$EMPLACE" run ./suite.json --quiet >/dev/null
  sed -i '$d' results/small-2/cells.jsonl
  answers 0 run ./suite.json --resume
  [ "$stderr" = "small: 1 of 14 cells to run, results in results/small-2" ]
  [ ! -e results/small-3 ]
}

@test "--resume leaves the default folder of another suite alone" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet >/dev/null
  sed 's/"small"/"small-2"/' suite.json >other.json
  "$EMPLACE" run ./other.json --quiet >/dev/null
  [ -e results/small-2/manifest.json ]
  answers 0 run ./suite.json --resume
  [ "$stderr" = "small: 0 of 14 cells to run, results in results/small" ]
}

@test "a command line that is told quotes its names" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --shard 1/2 -o "my part" --quiet >/dev/null
  refuses 3 "(see emplace report 'my part' --table cells)" simulate --placement "my part:xyz"
  answers 0 merge "my part" -o "it's all"
  [[ "$stderr" == *"run them: emplace run SUITE -o 'it'\\''s all' --seed 0 --resume" ]]
}

@test "a store is neither overwritten nor mixed" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  refuses 2 "--resume" run ./suite.json -o r
  refuses 2 "seed 0, not 1" run ./suite.json -o r --resume --seed 1
  suite suite.json 6 ./tiny.json
  refuses 2 "suite" run ./suite.json -o r --resume
  suite suite.json 5 ./tiny.json
  sed -i 's/"flops": 1000,/"flops": 1000000,/' tiny.json
  refuses 2 "has changed" run ./suite.json -o r --resume
}

@test "damaged stores are refused" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  cp -r r good
  sed -i '3s/"status":"ok"/"status":"fine"/' r/cells.jsonl
  refuses 3 "r/cells.jsonl:3: /status" report r
  refuses 3 "r/cells.jsonl:3: /status" run ./suite.json -o r --resume
  cp good/cells.jsonl r
  sed -i 's/"version": 1/"version": 2/' r/manifest.json
  refuses 3 "r/manifest.json: /" report r
  : >r/manifest.json
  refuses 3 "r/manifest.json" report r
  rm r/manifest.json
  refuses 3 "r/manifest.json" report r
}

@test "report writes the terminal's table, Markdown and JSON" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o r >run.txt
  "$EMPLACE" report r | cmp - run.txt
  answers 0 report r --format markdown
  [[ "$output" == *"| agent | step \[ms\] |"* ]]
  answers 0 report r --json
  holds '[t["cluster"] for t in d["tables"]] == ["p2-8xlarge-2", "p2-8xlarge-4"]' \
    '{r["agent"] for r in d["tables"][0]["rows"]} == {"single-gpu", "random", "hill-climb", "simulated-annealing"}' \
    '"wall" not in json.dumps(d)'
}

@test "a run whose standard streams are closed leaves its store alone" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run suite.json -o no_error 2>&- >/dev/null
  answers 0 report no_error
  run sh -c '"$1" run suite.json -o no_output --quiet >&-' sh "$EMPLACE"
  answers 0 report no_output
}

@test "two runs that start together get folders of their own" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run suite.json --quiet >first.txt &
  local first=$!
  "$EMPLACE" run suite.json --quiet >second.txt
  wait "$first"
  [ "$(find results -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ]
}

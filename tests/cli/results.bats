#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# What a run keeps: placements and histories, from the store without running again.

load cli.bash

# small_run: runs a suite of 14 cells on two clusters into the folder r.
small_run() {
  suite suite.json 200 inception-v3:batch=2
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
}

# id_of CLUSTER AGENT: the cell of the agent's first repetition.
id_of() {
  python3 - "$@" <<'PYTHON'
import json, sys
cells = [json.loads(line) for line in open("r/cells.jsonl")]
print(*(c["id"] for c in cells if [c["cluster"], c["agent"], c["repetition"]] == [*sys.argv[1:], 0]))
PYTHON
}

@test "report --table cells lists cells and marks the fastest of each problem" {
  small_run
  answers 0 report r --table cells
  [ "${#lines[@]}" -ge 15 ]
  [ "$(grep -c '\*$' <<<"$output")" -eq 2 ]
  answers 0 report r --table cells --json
  holds 'd["schema_version"] == 1 and len(d["cells"]) == 14 and all(c["placement"] for c in d["cells"])' \
    'all(c["step_time_us"] == min(x["step_time_us"] for x in d["cells"] if x["cluster"] == c["cluster"]) for c in d["cells"] if c["is_fastest"])' \
    'len({c["cluster"] for c in d["cells"] if c["is_fastest"]}) == 2'
}

@test "convert writes a placement of a run, and simulate gives the same step for it" {
  small_run
  local id
  id=$(id_of p2-8xlarge-4 random)
  answers 0 convert --placement "r:$id" -o placement.json --json
  local step
  step=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])' <<<"$output")
  grep "$id" r/cells.jsonl >cell.json
  output=$(cat cell.json)
  holds "d['step_time_us'] == $step"
  answers 0 simulate --placement placement.json --json
  holds "d['step_time_us'] == $step" 'd["cluster"] == "p2-8xlarge-4"'
  # To standard output, and by the first digits of the id.
  answers 0 convert --placement "r:${id:0:8}"
  [ "$output" = "$(cat placement.json)" ]
  # The fastest of a problem.
  answers 0 convert --cluster p2-8xlarge-2 --placement r
  holds 'd["cluster"] == "p2-8xlarge-2" and d["schema"] == "emplace-placement"'
  # For another program it is read op by op.
  answers 0 convert --placement "r:$id" --to csv
  [[ "${lines[0]}" == "op,kind,"* ]]
}

@test "simulate takes a placement from a run" {
  small_run
  local id
  id=$(id_of p2-8xlarge-2 hill-climb)
  answers 0 simulate --placement "r:$id" --trace trace.json --trace step.svg --json
  holds 'd["placed_by"] == "hill-climb" and d["cluster"] == "p2-8xlarge-2"' \
    'd["evaluations"] == 200 and d["groups"] == d["decision_groups"]'
  local step
  step=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])' <<<"$output")
  output=$(cat trace.json)
  holds 'd["traceEvents"]'
  [ -s step.svg ]
  answers 0 simulate --placement "r:$id" --explain --json
  holds "d['step_time_us'] == $step"
  answers 0 simulate inception-v3:batch=2 --cluster p2-8xlarge-4 --placement r --explain
  [[ "${lines[0]}" == "inception-v3:batch=2 on p2-8xlarge-4, placed by "* ]]
}

@test "a cell must be there, be one, and have a placement" {
  small_run
  local id
  id=$(id_of p2-8xlarge-2 hill-climb)
  refuses 2 "r has cells of 2 problems: choose one by GRAPH and --cluster, or a cell as DIR:CELL" simulate --placement r
  refuses 2 "r has cells of 2 problems" convert --placement r
  refuses 3 "r: no cell has an id that begins with 'xyz' (see emplace report r --table cells)" simulate --placement r:xyz
  refuses 3 "r: no cell of this problem" simulate nmt --placement r
  refuses 3 "none: no results here" report none --table cells
  mkdir empty
  refuses 3 "empty: no results here" simulate --placement empty
  refuses 2 "--placement" simulate --placement r --agent heft
  refuses 2 "r: cell $id is of inception-v3:batch=2 on p2-8xlarge-2" simulate --cluster p2-8xlarge-4 --placement "r:$id"
  refuses 2 "give --cases FILE, --placement FILE, or GRAPH with --cluster and --agent" simulate
  without_checksum r/cells.jsonl
  python3 - <<'PYTHON'
import json
cells = [json.loads(line) for line in open("r/cells.jsonl")]
failed = next(c for c in cells if c["agent"] == "random" and c["cluster"] == "p2-8xlarge-2")
failed.update(status="failed", message="out of luck", step_time_us=0, problem_groups=0, decision_groups=0)
for member in ("placement", "history"):
    del failed[member]
failed["placement_hash"], failed["peak_bytes"] = "", []
del failed["measured"]["history_s"]
with open("r/cells.jsonl", "w") as file:
    file.writelines(json.dumps(c) + "\n" for c in cells)
print(failed["id"], file=open("failed.txt", "w"))
PYTHON
  refuses 3 "has no placement: it failed: out of luck" simulate -q --placement "r:$(cat failed.txt)"
}

@test "a graph that has changed since has no placement in the run" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  answers 0 simulate --cluster p2-8xlarge-2 --placement r
  sed -i 's/"flops": 1000,/"flops": 1000000,/' tiny.json
  refuses 3 "r: ./tiny.json on p2-8xlarge-2 has changed since emplace " simulate --cluster p2-8xlarge-2 --placement r
}

@test "report writes the same tables as CSV, JSON and SQLite" {
  small_run
  mkdir tables
  local table
  for table in cells histories; do
    answers 0 report r --table "$table" -o "tables/$table.csv"
    answers 0 report r --table "$table" -o "tables/$table.json"
    answers 0 report r --table "$table"
    [ "${#lines[@]}" -eq "$(wc -l <"tables/$table.csv")" ]
  done
  answers 0 report r -o r.sqlite
  python3 - <<'PYTHON'
import csv, json, sqlite3
database = sqlite3.connect("r.sqlite")
kept = {cell["id"]: cell for cell in map(json.loads, open("r/cells.jsonl"))}
for table in ("cells", "histories"):
    rows = database.execute(f"select * from {table}")
    names = [column[0] for column in rows.description]
    as_text = [["" if value is None else value for value in row] for row in rows]
    with open(f"tables/{table}.csv", newline="") as file:
        first, *others = csv.reader(file)
    assert first == names, first
    convert = lambda row, like: [type(l)(v) for v, l in zip(row, like)]
    others.sort(key=lambda row: (row[0], int(row[1]) if table == "histories" else 0))
    assert len(others) == len(as_text) > 0
    objects = json.load(open(f"tables/{table}.json"))[table]
    assert len(objects) == len(others) and all(list(row) == names for row in objects)
    for row, like in zip(others, as_text):
        assert convert(row, like) == like, (row, like)
for id, step, status, placement, groups in database.execute(
        "select id, step_time_us, status, placement, problem_groups from cells"):
    cell = kept.pop(id)
    assert [step, status] == [cell["step_time_us"], cell["status"]]
    runs = [token.split("*") for token in placement.split()]
    assert sum(int(run[1]) if len(run) == 2 else 1 for run in runs) == groups
assert not kept
# The last improvement of each cell is its best, and evaluations, time and objective are in order.
query = "select evaluations, seconds, objective_us from histories where id = ? order by evaluations"
for id, best, time in database.execute("select id, evaluations_to_best, step_time_us from cells").fetchall():
    history = database.execute(query, (id,)).fetchall()
    if history:
        assert history[-1][0] == best and history[-1][2] == time
        assert history == sorted(history, key=lambda row: (row[0], row[1])) == sorted(history, key=lambda row: -row[2])
PYTHON
}

@test "report says what a table needs" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  refuses 2 "--format sqlite needs --output FILE" report r --format sqlite
  refuses 2 "--table cells: expected the format" report r --table cells --format latex
  refuses 2 "--table" report r --table rows
  refuses 2 "--plot needs --output FILE.svg" report r --plot seconds
  refuses 2 "omit --table" report r --table cells -o r.sqlite
  refuses 2 "--output: expected a name that ends in .txt, .json, .md, .html, .csv, .tex, .svg, .png, .pdf, .sqlite, found 'r.gif'" \
    report r -o r.gif
  touch file
  refuses 3 "file/cells.csv" report r --table cells -o file/cells.csv
  "$EMPLACE" report r -o r/results.sqlite
  head -c 15 r/results.sqlite | grep -q "SQLite format 3"
  "$EMPLACE" report r --format sqlite -o - | cmp - r/results.sqlite
}

@test "two rows of one agent are told apart as the suite calls them" {
  tiny_graph tiny.json
  cat >suite.json <<'PYTHON'
{"schema": "emplace-suite", "version": 1, "name": "two", "graphs": ["./tiny.json"], "clusters": ["p2-8xlarge-2"],
 "agents": [{"agent": "random", "name": "few", "max_evaluations": 3}, {"agent": "random", "name": "many"}],
 "repetitions": 2, "max_evaluations": 9}
PYTHON
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  "$EMPLACE" report r --table cells -o r/cells.csv
  python3 - <<'PYTHON'
import csv
cells = list(csv.DictReader(open("r/cells.csv", newline="")))
assert sorted((c["agent"], c["label"], c["evaluations"]) for c in cells) == [
    ("random", "few", "3")] * 2 + [("random", "many", "9")] * 2, cells
PYTHON
  answers 0 report r --table cells
  [ "$(grep -c ' few ' <<<"$output")" -eq 2 ]
  answers 0 report r --table cells --json
  holds 'sorted(c["label"] for c in d["cells"]) == ["few", "few", "many", "many"]'
}

@test "every column of the tables is explained" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  "$EMPLACE" report r --table cells -o r/cells.csv
  "$EMPLACE" report r --table histories -o r/histories.csv
  local column
  for column in $(head -q -n 1 r/cells.csv r/histories.csv | tr -d '\r' | tr ',' ' '); do
    grep -q "^|.*\`$column\`.*|.*|.*|" "$EMPLACE_SOURCE_DIR/docs/guide/read-a-report.md" || {
      echo "no column $column in docs/guide/read-a-report.md"
      return 1
    }
  done
}

@test "ten thousand cells of 741 groups take less than 100 MB" {
  cat >suite.json <<'PYTHON'
{"schema": "emplace-suite", "version": 1, "name": "size", "graphs": [{"graph": "inception-v3", "groups": 741}],
 "clusters": ["p2-8xlarge-4"], "agents": ["random", "simulated-annealing", "hill-climb"], "max_evaluations": 3000}
PYTHON
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  [ "$(wc -l <r/cells.jsonl)" -eq 3 ]
  [ "$(wc -c <r/cells.jsonl)" -lt 30000 ]
}

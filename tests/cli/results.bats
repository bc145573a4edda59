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

@test "result lists cells and marks the fastest of each problem" {
  small_run
  answers 0 result r --list
  [ "${#lines[@]}" -ge 15 ]
  [ "$(grep -c '\*$' <<<"$output")" -eq 2 ]
  answers 0 result r --list --json
  holds 'd["schema_version"] == 1 and len(d["cells"]) == 14 and all(c["has_placement"] for c in d["cells"])' \
    'all(c["step_time_us"] == min(x["step_time_us"] for x in d["cells"] if x["cluster"] == c["cluster"]) for c in d["cells"] if c["is_fastest"])' \
    'len({c["cluster"] for c in d["cells"] if c["is_fastest"]}) == 2'
}

@test "result writes the placement that simulate gives the same step for" {
  small_run
  local id
  id=$(id_of p2-8xlarge-4 random)
  answers 0 result r --cell "$id" -o placement.json --json
  local step
  step=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])' <<<"$output")
  holds 'd["placed_by"] == "random" and d["evaluations"] == 200 and d["groups"] == d["decision_groups"]'
  grep "$id" r/cells.jsonl >cell.json
  output=$(cat cell.json)
  holds "d['step_time_us'] == $step"
  answers 0 simulate inception-v3:batch=2 --cluster p2-8xlarge-4 --placement placement.json --json
  holds "d['step_time_us'] == $step"
  # To standard output, and by the first digits of the id.
  answers 0 result r --cell "${id:0:8}"
  [ "$output" = "$(cat placement.json)" ]
  # The fastest of a problem.
  answers 0 result r --cluster p2-8xlarge-2 --json
  holds 'd["cluster"] == "p2-8xlarge-2" and d["placement"]["schema"] == "emplace-placement"'
}

@test "explain and simulate take a placement from a run" {
  small_run
  local id
  id=$(id_of p2-8xlarge-2 hill-climb)
  answers 0 simulate --result r --cell "$id" --trace trace.json --picture step.svg --json
  holds 'd["placed_by"] == "hill-climb" and d["cluster"] == "p2-8xlarge-2"'
  local step
  step=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])' <<<"$output")
  output=$(cat trace.json)
  holds 'd["traceEvents"]'
  [ -s step.svg ]
  answers 0 simulate --result r --cell "$id" --explain --json
  holds "d['step_time_us'] == $step"
  answers 0 simulate inception-v3:batch=2 --cluster p2-8xlarge-4 --result r --explain
  [[ "${lines[0]}" == "inception-v3:batch=2 on p2-8xlarge-4, placed by "* ]]
}

@test "a cell must be there, be one, and have a placement" {
  small_run
  refuses 2 "r has cells of 2 problems: choose one by --graph and --cluster, or a cell by --cell" result r
  refuses 2 "r has cells of 2 problems" simulate --result r --explain
  refuses 3 "r: no cell has an id that begins with 'xyz' (see emplace result r --list)" result r --cell xyz
  refuses 3 "r: no cell of this problem" result r --graph nmt
  refuses 3 "none: no results here" result none --list
  refuses 2 "--cell" simulate inception-v3 --cluster p2-8xlarge-2 --agent heft --cell 0
  refuses 2 "--result" simulate --result r --agent heft --explain
  refuses 2 "--list" result r --list --cell 0
  refuses 2 "--graph excludes --cell" simulate inception-v3 --result r --cell 0 --explain
  refuses 2 "--cluster excludes --cell" simulate --cluster p2-8xlarge-2 --result r --cell 0
  refuses 2 "--math requires --cluster" simulate --math tf32 --result r --cell 0
  refuses 2 "one of --agent and --placement, or --result DIR" explain
  # Many ids begin alike: with nothing.
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
  refuses 3 "has no placement: it failed: out of luck" result r -q --cell "$(cat failed.txt)"
}

@test "a graph that has changed since has no placement in the run" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  answers 0 result r --cluster p2-8xlarge-2
  sed -i 's/"flops": 1000,/"flops": 1000000,/' tiny.json
  refuses 3 "r: ./tiny.json on p2-8xlarge-2 has changed since emplace " result r --cluster p2-8xlarge-2
}

@test "export-results writes the same tables as CSV and SQLite" {
  small_run
  answers 0 export-results r --csv -o tables
  answers 0 export-results r --sqlite -o r.sqlite --json
  holds 'd["cells"] == 14 and d["improvements"] > 14 and d["files"] == ["r.sqlite"]'
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

@test "export-results says what it needs and where it wrote" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  refuses 2 "give one of --csv and --sqlite" export-results r
  refuses 2 "--csv" export-results r --csv --sqlite
  refuses 3 "none: no results here" export-results none --csv
  refuses 2 "--output: expected the name of a folder" export-results r --csv -o -
  touch file
  refuses 3 "file/cells.csv" export-results r --csv -o file
  answers 0 export-results r --sqlite
  [[ "$output" == "r: 14 cells and "*" improvements, written to r/results.sqlite" ]]
  head -c 15 r/results.sqlite | grep -q "SQLite format 3"
  "$EMPLACE" export-results r --sqlite -o - | cmp - r/results.sqlite
}

@test "two rows of one agent are told apart as the suite calls them" {
  tiny_graph tiny.json
  cat >suite.json <<'PYTHON'
{"schema": "emplace-suite", "version": 1, "name": "two", "graphs": ["./tiny.json"], "clusters": ["p2-8xlarge-2"],
 "agents": [{"agent": "random", "name": "few", "max_evaluations": 3}, {"agent": "random", "name": "many"}],
 "repetitions": 2, "max_evaluations": 9}
PYTHON
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  "$EMPLACE" export-results r --csv --quiet
  python3 - <<'PYTHON'
import csv
cells = list(csv.DictReader(open("r/cells.csv", newline="")))
assert sorted((c["agent"], c["label"], c["evaluations"]) for c in cells) == [
    ("random", "few", "3")] * 2 + [("random", "many", "9")] * 2, cells
PYTHON
  answers 0 result r --list
  [ "$(grep -c ' few ' <<<"$output")" -eq 2 ]
  answers 0 result r --list --json
  holds 'sorted(c["label"] for c in d["cells"]) == ["few", "few", "many", "many"]'
}

@test "every column of the tables is explained" {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  "$EMPLACE" export-results r --csv --quiet
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

#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# The forms of a report that other programs read.

load cli.bash

# published_run: runs a suite with five repetitions, a baseline, published figures and names that
# typesetting would read, into the folder r.
published_run() {
  cat >published.json <<'JSON'
{
  "schema": "emplace-suite", "version": 1, "name": "published",
  "graphs": [{"graph": "inception-v3:batch=2", "groups": 24}, {"graph": "nmt", "groups": 24}],
  "clusters": ["p2-8xlarge-2", "p2-8xlarge-4"],
  "agents": ["single-gpu", {"agent": "random", "name": "an agent with a name that is much too long for any table", "max_evaluations": 9},
             "random", {"agent": "hill-climb", "name": "50 % & <climb> \\input{#_$^~|}"},
             {"agent": "hill-climb", "name": "fine", "grouping": "colocation"}],
  "repetitions": 5, "max_evaluations": 40, "baselines": ["random"],
  "published": {"source": "Nobody & al. 1999", "recalled": true, "figures": [
    {"graph": "nmt", "cluster": "p2-8xlarge-2", "agent": "random", "step_time_s": 2.5, "evaluations": 99},
    {"graph": "nmt", "cluster": "p2-8xlarge-2", "agent": "single-gpu", "step_time_s": "out of memory"}]}
}
JSON
  "$EMPLACE" run ./published.json --quiet -o r >/dev/null
}

@test "LaTeX compiles, and no table is wider than the page" {
  command -v pdflatex >/dev/null || skip "pdflatex is not installed"
  published_run
  answers 0 report r --format latex -o table.tex
  cat >paper.tex <<'TEX'
\documentclass{article}
\usepackage{booktabs,graphicx}
\begin{document}
\listoftables
\input{table}
See Table~\ref{tab:published:1}.
\end{document}
TEX
  pdflatex -interaction=nonstopmode -halt-on-error paper.tex >log.txt || cat log.txt
  pdflatex -interaction=nonstopmode -halt-on-error paper.tex >log.txt
  [ -s paper.pdf ]
  run -1 grep -E "Overfull|undefined|multiply" log.txt
  # Two tables of steps, one for each problem, and one for each cluster.
  [ "$(grep -c '\\begin{table}' table.tex)" -eq 8 ]
}

@test "CSV has the figures of the JSON form" {
  published_run
  answers 0 report r --format csv -o report.csv
  answers 0 report r --json
  holds 'd["schema_version"] == 3' 'len(__import__("csv").DictReader(open("report.csv", newline="")).fieldnames) == 31'
  echo "$output" >report.json
  python3 - <<'PYTHON'
import csv, json
rows = list(csv.DictReader(open("report.csv", newline="")))
expected = [(t, r) for t in json.load(open("report.json"))["tables"] for r in t["rows"]]
assert len(rows) == len(expected) == 20
for row, (table, other) in zip(rows, expected):
    assert (row["graph"], row["cluster"], row["agent"]) == (table["graph"], table["cluster"], other["agent"])
    for field in ("step_time_us", "gap", "evaluations_to_near_best", "gain", "evaluations_to_baseline"):
        assert (float(row[field]) if row[field] else None) == other[field], (field, row[field], other[field])
assert any(row["published_step_time_s"] == "2.5" for row in rows)
PYTHON
}

@test "the page names the agent of a step though another differs in its groups only" {
  cat >two.json <<'JSON'
{"schema": "emplace-suite", "version": 1, "name": "two", "graphs": [{"graph": "inception-v3:batch=32", "groups": 4}],
 "clusters": ["p2-8xlarge-4"], "max_evaluations": 400,
 "agents": [{"agent": "hill-climb", "name": "coarse"},
            {"agent": "hill-climb", "name": "fine", "grouping": "colocation"}]}
JSON
  "$EMPLACE" run ./two.json --quiet -o r >/dev/null
  answers 0 report r --json
  holds 'd["tables"][0]["rows"][0]["agent"] == "fine"'
  answers 0 report r --format html -o page.html
  # The fastest comes first.
  [ "$(grep -o '"agent":"[a-z]*","cell":' page.html | tr -d '\n')" = '"agent":"fine","cell":"agent":"coarse","cell":' ]
}

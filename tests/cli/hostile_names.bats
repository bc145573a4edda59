#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# The same hostile names through all commands and forms of output: none may steer a terminal, run in a browser, a
# spreadsheet or TeX, or break the file that it is in.

load cli.bash

# write_inputs: a graph whose every text is hostile, in a file whose name is, on a cluster with such devices; a suite of
# both. Prints the path of the graph.
write_inputs() {
  python3 - "$EMPLACE_SOURCE_DIR" <<'END'
import json, os, sys
evil = ("=cmd|' /C calc'!A0 \x1b[2J\x07 \u009b31m \u202e\u2066 \u200b\u2028 <script>alert(7)</script> a|b `c` *d* [e](f) "
        "$x_1$ \\end{table} %# & ~^ \"g\" 'h', ;\n# title\r\n</svg></text>]]>--> ]; evil [ \\")
file = "./=x\x1b[2J \u009b31m \u202e <script>alert(7)<\u2215script> |b `c` $x$ \\end{table} & \"g\" 'h', \n# t \\.json"
device = "=x \x1b[2J\u009b31m\u202e<script>alert(7)</script>|`$x$\\end{table} &\"'\\"
ops = [{"name": f"{i} {evil}", "kind": "matmul" if i else evil, "scope": f"{i % 2}{evil}/{evil}",
        "flops": 10**9, "outputs": [{"shape": [1000], "bytes": 4000}]} for i in range(6)]
ops[5]["name"] = "long " * 20000
json.dump({"schema": "emplace-graph", "version": 1, "name": evil, "source": evil, "ops": ops,
           "edges": [[i, 0, i + 1] for i in range(5)]}, open(file, "w"))
cluster = json.load(open(sys.argv[1] + "/profiles/data/clusters/p2-8xlarge-2.json"))
text = json.dumps(cluster).replace('"gpu:1"', json.dumps(device))
open("cluster.json", "w").write(text)
json.dump({"schema": "emplace-suite", "version": 1, "name": "evil", "graphs": [file], "clusters": ["./cluster.json"],
           "agents": ["single-gpu", "random"], "repetitions": 2, "max_evaluations": 3}, open("suite.json", "w"))
sys.stdout.write(file)
END
}

# is_safe FORM FILE...: fails with what is not.
is_safe() {
  python3 - "$@" <<'END'
import csv, io, json, re, sys
import xml.etree.ElementTree as xml
form, *files = sys.argv[1:]
steering = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
for file in files:
    text = open(file, encoding="utf-8", newline="").read()
    if form == "csv":
        text = text.replace("\r\n", "\n")
    for found in steering.finditer(text):
        sys.exit(f"{file}: {text[max(0, found.start() - 60):found.end() + 20]!r}")
    if form == "error" and (text.count("\n") != 1 or len(text) > 4200):
        sys.exit(f"{file}: {len(text)} characters in {text.count(chr(10))} lines")
    if form in ("svg", "html") and "<script>alert" in text:
        sys.exit(f"{file}: a script")
    if form == "svg":
        xml.fromstring(text)
    if form == "markdown" and re.search(r"(?<!\\)<script", re.sub("(?s)\n```\n.*?\n```\n", "", text)):
        sys.exit(f"{file}: a script")
    if form == "latex" and (re.search(r"\\end\{table\} ", text) or "$x$" in text):
        sys.exit(f"{file}: a command")
    if form == "json":
        json.loads(text)
    if form == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        if len({len(row) for row in rows}) != 1 or any(field[:1] in tuple("=+@") for row in rows for field in row if field):
            sys.exit(f"{file}: a formula, or rows of different lengths")
END
}

# safely FORM ARGUMENTS...: emplace answers, and what it says on both streams is safe.
safely() {
  local form=$1
  shift
  "$EMPLACE" "$@" >out.txt 2>err.txt || {
    printf 'failed: %s\n' "$*"
    cat err.txt
    return 1
  }
  is_safe "$form" out.txt
  is_safe text err.txt
}

# wrongly ARGUMENTS...: emplace refuses, in one safe line of bounded length.
wrongly() {
  if "$EMPLACE" "$@" >out.txt 2>err.txt; then return 1; fi
  [ ! -s out.txt ]
  is_safe error err.txt
}

@test "hostile names in what is shown of a graph" {
  graph=$(write_inputs; echo .)
  graph=${graph%.}
  safely text show "$graph"
  safely json show "$graph" --json
  safely text show "$graph" --cluster ./cluster.json
  safely json show "$graph" --cluster ./cluster.json --json
  safely text show "$graph" --cluster ./cluster.json --compare-groupings --evaluations 3
  safely text show "$graph" --cluster ./cluster.json --grouping scope --groups 2 -o groups.svg
  is_safe svg groups.svg
  safely text convert "$graph" -o copy.json
  safely json convert "$graph"
  safely json convert "$graph" --to emplace
  for format in dot graphml node-link; do
    safely text convert "$graph" --to "$format" -o "copy.$format"
    safely text show "./copy.$format:$format" || safely text convert "copy.$format" --from "$format" -o again.json
  done
}

@test "hostile names in what is said of a step" {
  graph=$(write_inputs; echo .)
  graph=${graph%.}
  problem=("$graph" --cluster ./cluster.json)
  safely text simulate "${problem[@]}" --agent heft
  safely json simulate "${problem[@]}" --agent heft --json
  safely text simulate "${problem[@]}" --agent heft --explain
  safely json simulate "${problem[@]}" --agent heft --explain --json
  safely text place "${problem[@]}" --agent heft -o placement.json
  of=(--graph "$graph" --cluster ./cluster.json)
  safely text compare placement.json placement.json "${of[@]}"
  safely json compare placement.json placement.json "${of[@]}" --json
  safely markdown compare placement.json placement.json "${of[@]}" --format markdown
  safely html compare placement.json placement.json "${of[@]}" --format html
  safely csv convert "${problem[@]}" --placement placement.json --to csv
}

@test "hostile names in all forms of results" {
  write_inputs >/dev/null
  safely text run suite.json -o results -q
  safely text run suite.json -o results --resume
  safely json report results --json
  for format in terminal:text markdown:markdown html:html csv:csv latex:latex; do
    safely "${format#*:}" report results --format "${format%:*}"
  done
  safely text report results -o report.svg
  is_safe svg report.svg
  safely json compare results results --json
  for format in terminal:text markdown:markdown; do
    safely "${format#*:}" compare results results --format "${format%:*}"
  done
  safely json convert --placement results
  safely json simulate --placement results --json
  safely text report results --table cells
  safely json report results --table cells --json
  safely csv report results --table cells --format csv
  safely csv report results --table histories --format csv
  safely text run suite.json --dry-run
  safely json run suite.json --dry-run --json
  safely text merge results -o "$(printf 'merged\x1b[2J\xc2\x9b31m')"
  # The warning that another build began the run quotes the manifest.
  python3 -c '
import re
text = open("results/manifest.json").read()
open("results/manifest.json", "w").write(re.sub(r"(\"git_revision\": \")[^\"]*", "\\1\\\\u001b[2J\\\\u009b\\\\u202e", text))'
  "$EMPLACE" run suite.json -o results --resume >out.txt 2>err.txt || true
  is_safe text out.txt err.txt
}

@test "hostile names in errors" {
  graph=$(write_inputs; echo .)
  graph=${graph%.}
  long=$(printf 'x%.0s' {1..100000})
  evil=$'a\x1b[2J\xc2\x9b31m\xe2\x80\xae\n<script>'
  wrongly show "./$evil.json"
  wrongly show "$evil"
  wrongly show "$long"
  wrongly simulate "$graph" --cluster "$evil" --agent heft
  wrongly simulate "$graph" --cluster ./cluster.json --agent "$evil"
  wrongly simulate "$graph" --cluster ./cluster.json --agent "heft:$evil=1"
  wrongly show "$graph" "--$evil"
  wrongly list agents "$evil"
  wrongly report "$evil"
  python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); d["edges"].append([5, 0, 5]); json.dump(d, open("loop.json", "w"))
d["edges"][-1] = [4, 0, 3]; json.dump(d, open("cycle.json", "w"))' "$graph"
  wrongly show ./loop.json
  wrongly show ./cycle.json
}

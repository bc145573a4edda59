#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# The simulator against steps that others measured.

load cli.bash

# steps_file FILE: two small steps, of which one names a device that does not exist, and a speed-up.
steps_file() {
  cat > "$1" <<'JSON'
{"schema": "emplace-published-steps", "version": 1,
 "sources": {"s": {"repository": "o/r", "path": "a.md", "commit": "12", "licence": "MIT"}},
 "tables": [
   {"source": "s", "software": "F 1", "device": "a card", "profile": "v100", "math": "float32",
    "steps": [{"graph": "rnnlm", "batch": 4, "options": "hidden=64,steps=4", "ms": 1}]},
   {"source": "s", "software": "F 1", "device": "a card", "profile": "v1000", "math": "float32",
    "steps": [{"graph": "rnnlm", "batch": 4, "samples_per_s": 1000}]}],
 "speedups": [
   {"source": "s", "software": "F 1", "device": "a card", "cluster": "k80-pcie-8", "devices": 2, "agent": "single-gpu",
    "graph": "rnnlm", "batch": 4, "one_ms": 3, "placed_ms": 2}]}
JSON
}

@test "validate compares all steps that the program was built with" {
  answers 0 validate --json
  holds 'd["schema_version"] == 1' 'len(d["steps"]) == 94' 'len(d["speedups"]) == 2' \
    'all(s["measured_us"] > 0 for s in d["steps"])' \
    'all((s["predicted_us"] is None) == (s["status"] == "not simulated") for s in d["steps"])' \
    'sum(s["used_for_fit"] for s in d["steps"]) == 2' \
    'all(d["accuracy"][-1][of] is None for of in ("device", "numbers", "publisher"))' \
    'd["step_factors"][-1]["without"] is None and len(d["step_factors"]) == 6' \
    'd["accuracy"][-1]["judging"] == sum(s["ratio"] is not None and not s["used_for_fit"] for s in d["steps"])'
  [ -z "$stderr" ]
}

@test "validate reads other steps and says what could not be simulated" {
  steps_file steps.json
  answers 0 validate --steps steps.json
  [[ "$output" == *"1 of them: unknown device profile 'v1000'"* ]]
  [[ "$output" == *"k80-pcie-8        2  rnnlm      4  single-gpu  s           1.50       1.00   0.67"* ]]
  answers 0 validate --steps steps.json --format csv -o steps.csv
  [ "$(wc -l <steps.csv)" -eq 4 ]
  [ "$(head -c 5 steps.csv)" = kind, ]
  answers 0 validate --steps steps.json --format markdown
  [[ "$output" == "## Accuracy"* ]]
  [[ "$output" == *"## Not simulated"*"- 1: unknown device profile"* ]]
  # A graph that is given two batches is a step that cannot be simulated, not the end of the report.
  sed 's/"options": "hidden=64,steps=4"/"options": "batch=5"/' steps.json >twice.json
  answers 0 validate --steps twice.json
  [[ "$output" == *"2 of them: "* || "$output" == *"1 of them: "*"batch"* ]]
}

@test "two outputs are two files" {
  refuses 2 "--trace and --trace are one file: './both.svg'" simulate rnnlm:hidden=64,steps=4 \
    --cluster p2-8xlarge-2 --agent single-gpu --trace both.svg --trace ./both.svg
  [ ! -e both.svg ]
}

@test "validate draws" {
  steps_file steps.json
  answers 0 validate --steps steps.json -o plot.svg
  python3 -c '
import xml.etree.ElementTree as tree
titles = [t.text for t in tree.parse("plot.svg").getroot().iter("{http://www.w3.org/2000/svg}title")]
assert len(titles) == 1 and titles[0].startswith("rnnlm:batch=4,hidden=64,steps=4 on v100"), titles'
  answers 0 validate --steps steps.json -o plot.html
  [[ "$(head -n 1 plot.html)" == "<!DOCTYPE html>" ]]
  grep -q '<title>rnnlm:batch=4,hidden=64,steps=4 on v100' plot.html
  grep -q 'https://github.com/o/r/tree/12' plot.html
}

@test "validate tells mistakes" {
  refuses 2 "--output: expected a name that ends in .txt, .json, .md, .csv, .html, .svg, .png, .pdf, found 'plot.gif'" validate -o plot.gif
  refuses 3 "cannot read 'none.json'" validate --steps none.json
  echo '{"schema": "emplace-published-steps", "version": 1, "sources": {}, "tables": [], "more": 1}' > more.json
  refuses 3 "more.json" validate --steps more.json
}

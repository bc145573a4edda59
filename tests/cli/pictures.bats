#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Pictures of groups and of placed steps.

load cli.bash

# draws FILE EXPRESSION...: FILE must be an SVG of which each Python expression is true; `titles` are
# what viewers show where one points, `texts` what is written.
draws() {
  python3 -c '
import sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == svg + "svg", root.tag
titles = [title.text for title in root.iter(svg + "title")]
texts = [text.text for text in root.iter(svg + "text")]
for expression in sys.argv[2:]:
    if not eval(expression):
        sys.exit(f"not true: {expression}\n{texts[:20]}\n{titles[:20]}")
' "$@"
}

@test "show -o draws the groups without any other program" {
  PATH=/usr/bin:/bin answers 0 show inception-v3 --groups 128 -o groups.svg
  [ -z "$stderr" ]
  draws groups.svg 'texts[:2] == ["inception-v3", "1121 ops in 128 groups by neighbours"]' \
    'sum(title.startswith("group ") for title in titles) == 128' \
    '{"forward", "backward and updates"} <= set(texts)'
  answers 0 show inception-v3 --groups 128 -o again.svg
  cmp groups.svg again.svg
}

@test "show -o folds the groups until a screen shows them" {
  local graph
  for graph in inception-v3 nmt resnet-152; do
    answers 0 show "$graph" -o "$graph.svg"
    draws "$graph.svg" 'float(root.get("width")) <= 1400 and float(root.get("height")) <= 1100' \
      'sum(title.startswith("group ") for title in titles) >= 16'
  done
  # A small graph is drawn as it is.
  tiny_graph tiny.json
  answers 0 show ./tiny.json -o tiny.svg
  draws tiny.svg '"by colocation" in texts[1]'
}

@test "pictures are SVG, PNG or PDF by their endings" {
  if ! command -v rsvg-convert; then
    skip "no rsvg-convert"
  fi
  answers 0 simulate inception-v3 --cluster p2-8xlarge-2 --agent heft --trace step.png --trace step.pdf --trace step.svg
  answers 0 show inception-v3 -o groups.png
  answers 0 show k80 -o k80.pdf
  local file
  for file in step.png groups.png; do
    [ "$(head -c 4 "$file" | tail -c 3)" = PNG ]
  done
  for file in step.pdf k80.pdf; do
    [ "$(head -c 4 "$file")" = %PDF ]
  done
  printf '#!/bin/sh\nPATH=%s exec %s "$@"\n' "$PWD/nothing" "$EMPLACE" >without
  chmod +x without
  EMPLACE=$PWD/without refuses 3 "png needs the program rsvg-convert, which is not here: apt-get install librsvg2-bin" \
    show k80 -o k80.png
  EMPLACE=$PWD/without answers 0 show k80 -o k80.svg
}

@test "what is written is said at a terminal alone" {
  answers 0 show k80 -o k80.svg
  [ -z "$stderr" ]
  script -qec "$EMPLACE show k80 -o k80.svg" /dev/null </dev/null | grep -q "wrote k80.svg"
  ! script -qec "$EMPLACE show k80 -o k80.svg --quiet" /dev/null </dev/null | grep -q "wrote"
}

@test "show -o draws a thousand groups" {
  answers 0 show nmt --groups 1000 -o groups.svg
  draws groups.svg 'sum(title.startswith("group ") for title in titles) == 1000'
}

@test "show --placement colors groups by device" {
  tiny_graph tiny.json
  "$EMPLACE" place ./tiny.json --cluster p2-8xlarge-2 --agent hill-climb --groups 4 -o placement.json >/dev/null
  local problem=(show ./tiny.json --cluster p2-8xlarge-2 --grouping colocation --placement placement.json)
  answers 0 "${problem[@]}" -o groups.svg
  draws groups.svg 'any("placed on p2-8xlarge-2 by placement.json: one step in" in text for text in texts)' \
    'any(text.startswith("gpu:0 (") for text in texts)' \
    'not any(text.startswith("cpu:0") for text in texts)' \
    'all(" on gpu:" in title and " MB" in title for title in titles if title.startswith("group "))'
  refuses 2 "expected a name that ends in .svg, .png, .pdf, found 'groups.dot'" "${problem[@]}" -o groups.dot
  refuses 2 "--placement requires --output" "${problem[@]}"
  refuses 2 "--placement requires --cluster" show ./tiny.json --placement placement.json -o groups.svg
  refuses 3 "cannot read 'none.json'" show ./tiny.json --cluster p2-8xlarge-2 --placement none.json -o x.svg
}

@test "a group that a placement parts tells all its devices" {
  tiny_graph tiny.json
  "$EMPLACE" place ./tiny.json --cluster p2-8xlarge-2 --agent round-robin --grouping colocation \
    -o placement.json >/dev/null
  answers 0 show ./tiny.json --cluster p2-8xlarge-2 --groups 1 --placement placement.json -o groups.svg
  draws groups.svg '[title for title in titles if "gpu:0 and gpu:1" in title or "gpu:1 and gpu:0" in title]'
}

@test "simulate --trace draws the step as a timeline" {
  local step=(simulate inception-v3 --cluster p2-8xlarge-2 --agent hill-climb --evaluations 50)
  answers 0 "${step[@]}" --trace step.svg --trace step.json
  [[ "$output" == *"step time"* ]]
  draws step.svg 'texts[0].startswith("inception-v3 on p2-8xlarge-2: one step in ")' \
    'texts[1].startswith("1121 ops in ") and texts[1].endswith("placed by hill-climb in 50 evaluations")' \
    '"gpu:0" in texts and "critical path" in titles' '{"forward", "backward", "update"} <= set(texts)' \
    'any(text.startswith("time [") for text in texts)'
  [ "$(stat -c %s step.svg)" -lt 60000 ]
  "$EMPLACE" "${step[@]}" --trace again.svg >/dev/null
  cmp step.svg again.svg
  python3 -m json.tool step.json >/dev/null
}

@test "a step that runs out of memory has a picture" {
  answers 0 simulate inception-v3:batch=512 --cluster p2-8xlarge-2 --agent single-gpu --trace step.svg
  draws step.svg 'texts[0] == "inception-v3:batch=512 on p2-8xlarge-2: out of memory on gpu:0"'
}

@test "names cannot break a picture" {
  python3 - <<'END'
import json
name = "</text><script>\u202e\u0001&\"'"
ops = [{"name": name + str(i), "kind": "matmul", "scope": name + "/" + str(i), "flops": 10**9,
        "outputs": [{"shape": [1], "bytes": 4}]} for i in range(3)]
json.dump({"schema": "emplace-graph", "version": 1, "name": name, "ops": ops, "edges": [[0, 0, 1], [1, 0, 2]]},
          open("hostile.json", "w"))
END
  answers 0 show ./hostile.json -o groups.svg
  answers 0 simulate ./hostile.json --cluster p2-8xlarge-2 --agent single-gpu --trace step.svg
  local file
  for file in groups.svg step.svg; do
    draws $file 'not list(root.iter(svg + "script"))' 'any("\ufffd" in text for text in texts)' \
      'all("\u202e" not in text for text in texts + titles)'
  done
}

@test "mistakes with pictures are usage errors" {
  refuses 2 "--output: expected a name that ends in .svg, .png, .pdf, found 'graph.gif'" show inception-v3 -o graph.gif
  refuses 2 "at most 4000 groups" show ptb --grouping colocation -o graph.svg
  refuses 2 "--trace: expected a name that ends in .json, .svg, .png, .pdf, found 'step.pftrace'" simulate inception-v3 --cluster p2-8xlarge-2 --agent single-gpu \
    --trace step.pftrace
  refuses 2 "--trace" simulate --cases cases.jsonl --trace step.svg
}

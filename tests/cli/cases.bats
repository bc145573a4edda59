#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# simulate --cases: JSON lines in, JSON lines out.

load cli.bash

# Two ops in a row, each 10 us, 7600 bytes between them. On one device the second runs from 10 + 5.7 us on, and the
# step ends with its gap. Apart it runs after the transfer of 1 us, and the step ends when the channel has
# rested for 25 us.
tiny='{"name": "tiny", "devices": 2,
  "nodes": [{"id": 0, "cost_us": 10, "outputs": [7600]}, {"id": 1, "cost_us": 10, "outputs": []}],
  "edges": [[0, 0, 1]], "placements": [[0, 0], [0, 1]]}'
tiny=${tiny//$'\n'/}

@test "each placement gives a line, in order" {
  printf '%s\n\n%s\n' "$tiny" "${tiny/tiny/again}" >cases.jsonl
  answers 0 simulate --cases cases.jsonl
  output="[$(paste -sd, <<<"$output")]"
  holds '[(r["name"], r["placement"]) for r in d] == [("tiny", 0), ("tiny", 1), ("again", 0), ("again", 1)]' \
    'd[0]["times"] == [[0, 10], [15.7, 25.7]] and abs(d[0]["makespan_us"] - 31.4) < 1e-9' \
    'd[1]["times"] == [[0, 10], [11, 21]] and d[1]["makespan_us"] == 36' \
    'all(len(r["peak_mem"]) == 2 for r in d)'
}

@test "standard input works too, and needs no last newline" {
  run -0 --separate-stderr bash -c 'printf %s "$1" | "$EMPLACE" simulate --cases -' _ "$tiny"
  [ "${#lines[@]}" -eq 2 ]
}

@test "each case is answered before the next is read" {
  python3 - "$EMPLACE" "$tiny" <<'END'
import json, subprocess, sys
process = subprocess.Popen(
    [sys.argv[1], "simulate", "--cases", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for _ in range(2):
    process.stdin.write(sys.argv[2] + "\n")
    process.stdin.flush()
    assert [json.loads(process.stdout.readline())["placement"] for _ in range(2)] == [0, 1]
process.stdin.close()
assert process.wait() == 0
END
}

@test "the golden cases come out exactly" {
  local golden=$EMPLACE_SOURCE_DIR/tests/golden
  [ -e "$golden/placeto_cases.jsonl.gz" ] || skip "no golden cases here"
  gunzip -c "$golden/placeto_cases.jsonl.gz" | "$EMPLACE" simulate --cases - >results.jsonl
  gunzip -c "$golden/placeto_expected.jsonl.gz" >expected.jsonl
  python3 - <<'END'
import json
results = [json.loads(line) for line in open("results.jsonl")]
expected = [json.loads(line) for line in open("expected.jsonl")]
assert len(results) == len(expected) == 180, (len(results), len(expected))
for ours, theirs in zip(results, expected):
    for key in ("name", "placement", "makespan_us", "peak_mem", "times"):
        assert ours[key] == theirs[key], (theirs["name"], theirs["placement"], key)
END
}

# with FROM TO: the tiny case with a change.
with() {
  [[ "$tiny" == *"$1"* ]] || return 1
  printf '%s' "${tiny/"$1"/"$2"}"
}

# refuses_case TEXT CASE: the case must be refused with its line number.
refuses_case() {
  printf '%b' "$2" >bad.jsonl
  refuses 3 "$1" simulate --cases bad.jsonl
  [[ "$stderr" == *"bad.jsonl:1"* ]]
}

@test "hostile cases are refused" {
  refuses_case "" '{"name": "truncated", "devices": 2, "nodes": [{"id"'
  refuses_case "" '[]'
  refuses_case "" 'not json at all'
  refuses_case "" '"\xff"'
  refuses_case "devices" "$(with '"devices": 2' '"devices": 0')"
  refuses_case "devices" "$(with '"devices": 2' '"devices": -2')"
  refuses_case "devices" "$(with '"devices": 2' '"devices": 1e99')"
  refuses_case "devices" "$(with '"devices": 2' '"devices": "2"')"
  refuses_case "cost_us" "$(with '"cost_us": 10' '"cost_us": -10')"
  refuses_case "" "$(with '"cost_us": 10' '"cost_us": NaN')"
  refuses_case "" "$(with '"cost_us": 10' '"cost_us": 1e999')"
  refuses_case "/nodes/1/id" "$(with '"id": 1' '"id": 0')"
  refuses_case "outputs" "$(with '7600' '99999999999999999999')"
  refuses_case "cycle" "$(with '[[0, 0, 1]]' '[[0, 0, 1], [1, -1, 0]]')"
  refuses_case "cycle" "$(with '[[0, 0, 1]]' '[[0, 0, 0]]')"
  refuses_case "/edges/0" "$(with '[[0, 0, 1]]' '[[0, 0, 7]]')"
  refuses_case "/edges/0" "$(with '[[0, 0, 1]]' '[[0, 1]]')"
  refuses_case "/placements/1" "$(with '[0, 1]]' '[0]]')"
  refuses_case "/placements/1/1" "$(with '[0, 1]]' '[0, 2]]')"
  refuses_case "name" "$(with '"name": "tiny", ' '')"
  refuses_case "name" "$(with '"name": "tiny"' '"name": "a", "name": "b"')"
  refuses_case "plaecments" "$(with 'placements' 'plaecments')"
  refuses_case "routes" "$(with '"devices": 2' '"devices": 2, "links": []')"
}

@test "what stands before a bad case is answered, the error names the line" {
  printf '%s\n{}\n%s\n' "$tiny" "$tiny" >cases.jsonl
  answers 3 simulate --cases cases.jsonl
  [ "${#lines[@]}" -eq 2 ]
  [[ "$stderr" == *"cases.jsonl:2"* ]]
}

@test "a file without a case is refused" {
  : >empty.jsonl
  refuses 3 "empty.jsonl" simulate --cases empty.jsonl
}

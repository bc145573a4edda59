#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Training: policies that are the same bits whatever happens, and what they are good for.

load cli.bash

# interrupted SIGNAL ARGUMENTS...: starts emplace, sends the signal when there is a third checkpoint of
# half.json, and prints the exit status as Python sees it.
interrupted() {
  python3 - "$EMPLACE" "$@" <<'END'
import pathlib, signal, subprocess, sys, time
program, name, *arguments = sys.argv[1:]
process = subprocess.Popen(
    [program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
checkpoint = pathlib.Path("half.json.checkpoint")
seen = set()
for _ in range(60000):
    if process.poll() is not None or len(seen) >= 3:
        break
    try:
        seen.add(checkpoint.stat().st_mtime_ns)
    except FileNotFoundError:
        pass
    time.sleep(0.001)
process.send_signal(signal.Signals[name])
print(process.wait(timeout=60))
END
}

# Episodes are short, so there are many.
training() {
  echo train "placeto:preset=released,rounds=2,workers=2,start=best" fork-join:width=3,stages=2 in-tree:levels=4 \
    --cluster p2-8xlarge-2 --groups 8 --seed 3 --episodes 400
}

@test "train writes a policy that says where it comes from" {
  answers 0 train placeto:preset=released,rounds=1 in-tree:levels=3 fft:log2-points=2 --cluster p2-8xlarge-2 \
    --groups 5 --grouping metis --episodes 6 --seed 9 -o policy.json
  [ -z "$stderr" ]
  [[ "$output" == "placeto:preset=released,rounds=1: 12 of 12 episodes, 2 updates, policy in policy.json"* ]]
  [[ "$output" == *"fft:log2-points=2"* ]]
  [ ! -e policy.json.checkpoint ]
  output=$(cat policy.json)
  holds 'd["schema"] == "emplace-trained-policy" and d["version"] == 1' \
    'd["plan"]["agent"] == "placeto:preset=released,rounds=1"' \
    'd["plan"]["graphs"] == ["in-tree:levels=3", "fft:log2-points=2"]' \
    'd["plan"]["clusters"] == ["p2-8xlarge-2"] and d["plan"]["root_seed"] == 9' \
    'd["plan"]["groups"] == 5 and d["plan"]["grouping"] == "metis"' \
    'd["plan"]["episodes"] == 6 and d["episodes_played"] == 12 and d["updates"] == 2' \
    'd["policy"]["agent"] == "placeto" and len(d["policy"]["layers"]) > 3'
}

@test "validation graphs choose the policy" {
  answers 0 train rnn-hdp:hidden=4,groups=8 fork-join:width=3,stages=2 in-tree:levels=4 --cluster p2-8xlarge-2 \
    --groups 8 --seed 3 --episodes 40 --validation fft:log2-points=3 fork-join:width=4,stages=2 -o policy.json
  [[ "$output" == *$'\nvalidation: the best policy is that after 32 episodes, with 36.767 ms; the last has '* ]]
  output=$(cat policy.json)
  holds 'd["plan"]["validation"] == ["fft:log2-points=3", "fork-join:width=4,stages=2"]' \
    'd["episodes_played"] == 32 and d["updates"] == 8'
  answers 0 train placeto in-tree:levels=3 --cluster p2-8xlarge-2 --episodes 6 --validation cifar10:members=2 \
    -o more.json --json
  holds 'd["episodes"] == 6 and len(d["validations"]) == 6' \
    'all(v["objective_us"] > 0 for v in d["validations"])'
  answers 2 train placeto in-tree:levels=3 --cluster p2-8xlarge-2 --episodes 6 --validation in-tree:levels=3 -o p.json
  [[ "$stderr" == *"'in-tree:levels=3' is given twice"* ]]
}

@test "a family stands for its members to train on" {
  answers 0 train placeto:preset=released,rounds=1,greedy-first=false cifar10:members=2 ptb:members=1 \
    --cluster p2-8xlarge-2 --groups 4 --episodes 1 -o policy.json --json
  holds 'd["schema_version"] == 1 and d["ended_by"] == "episodes" and d["episodes"] == 3' \
    '[p["graph"] for p in d["problems"]] == ["cifar10:member=0", "cifar10:member=1", "ptb:member=0"]' \
    'all(p["evaluations"] == 5 and p["best_us"] > 0 for p in d["problems"])'
}

@test "one policy may serve clusters of any number of devices" {
  answers 0 train placeto:preset=paper,rounds=1 in-tree:levels=4 --cluster p2-8xlarge-2 p2-8xlarge-4 \
    --groups 6 --episodes 3 -o policy.json --json
  holds 'd["ended_by"] == "episodes" and d["episodes"] == 6' \
    '[p["cluster"] for p in d["problems"]] == ["p2-8xlarge-2", "p2-8xlarge-4"]'
  answers 0 place in-tree:levels=4 --cluster dgx-1-v100 --policy policy.json --json
  holds 'd["groups"] == 6 and d["evaluations"] >= 1'
}

@test "the same seed gives the same bits on 1 and 2 threads, another seed does not" {
  local command=(train placeto:preset=released,rounds=1,workers=2 in-tree:levels=4 --cluster p2-8xlarge-2
    --groups 8 --episodes 20)
  "$EMPLACE" "${command[@]}" --threads 1 -o one.json >/dev/null
  "$EMPLACE" "${command[@]}" --threads 2 -o two.json >/dev/null
  "$EMPLACE" "${command[@]}" --seed 1 -o other.json >/dev/null
  cmp one.json two.json
  run -1 cmp -s one.json other.json
}

@test "a killed training is resumed with the same bits" {
  local command
  read -ra command < <(training)
  "$EMPLACE" "${command[@]}" -o whole.json --curve whole.csv --curve whole.svg >/dev/null
  [ "$(interrupted SIGKILL "${command[@]}" -o half.json --curve half.csv --checkpoint-every 0)" -eq -9 ]
  # What is there can be used, and is less than the whole.
  answers 0 place in-tree:levels=4 --cluster p2-8xlarge-2 --policy half.json
  run -1 cmp -s whole.json half.json
  refuses 2 "half.json.checkpoint: a training already exists" "${command[@]}" -o half.json
  refuses 2 "--episodes 400, not 500" "${command[@]/400/500}" -o half.json --resume
  refuses 2 "it trains placeto:preset=released,rounds=2,workers=2,start=best, not placeto" \
    "${command[@]/*rounds*/placeto}" -o half.json --resume
  "$EMPLACE" "${command[@]}" -o half.json --curve half.csv --curve half.svg --resume >/dev/null
  cmp whole.json half.json
  cmp whole.csv half.csv
  cmp whole.svg half.svg
  [ ! -e half.json.checkpoint ]
  refuses 3 "half.json.checkpoint: nothing to resume" "${command[@]}" -o half.json --resume
}

@test "Ctrl-C ends a training in good order with exit code 130" {
  local command
  read -ra command < <(training)
  [ "$(interrupted SIGINT "${command[@]}" -o half.json --checkpoint-every 0)" -eq 130 ]
  output=$(cat half.json)
  holds '0 < d["episodes_played"] < 800'
  "$EMPLACE" "${command[@]}" -o half.json --resume >/dev/null
  "$EMPLACE" "${command[@]}" -o whole.json >/dev/null
  cmp whole.json half.json
}

@test "there is nothing to learn on one device" {
  "$EMPLACE" show p2-8xlarge-2 --json | sed 's/"gpu:1", "profile": "[^"]*"/&, "placeable": false/' >one.json
  refuses 3 "there is nothing to learn on one.json: it has one placeable device" \
    train placeto in-tree:levels=4 --cluster one.json --episodes 1 -o policy.json
  "$EMPLACE" train placeto in-tree:levels=4 --cluster p2-8xlarge-2 --episodes 1 -o policy.json
  answers 0 place in-tree:levels=4 --cluster one.json --policy policy.json
}

@test "a damaged checkpoint is refused" {
  local command
  read -ra command < <(training)
  [ "$(interrupted SIGINT "${command[@]}" -o half.json --checkpoint-every 0)" -eq 130 ]
  cp half.json.checkpoint good
  truncate -s -20 half.json.checkpoint
  refuses 3 "half.json.checkpoint: " "${command[@]}" -o half.json --resume -q
  sed 's/"evaluations":/"evaluation":/' good >half.json.checkpoint
  refuses 3 "half.json.checkpoint: the checksum" "${command[@]}" -o half.json --resume
  without_checksum half.json.checkpoint
  refuses 3 "half.json.checkpoint: /sessions/0" "${command[@]}" -o half.json --resume -q
  echo '{}' >half.json.checkpoint
  refuses 3 "half.json.checkpoint: " "${command[@]}" -o half.json --resume -q
}

@test "the curve is a table and a picture" {
  "$EMPLACE" train placeto:preset=released,rounds=1,workers=1,greedy-first=false fork-join:width=3,stages=2 \
    --cluster p2-8xlarge-2 --groups 8 --episodes 10 -o policy.json --curve curve.csv --curve curve.svg >/dev/null
  python3 - <<'END'
import csv, xml.dom.minidom
rows = list(csv.DictReader(open("curve.csv", newline="")))
assert [row["update"] for row in rows] == [str(i) for i in range(1, 11)]
assert [row["evaluations"] for row in rows] == [str(9 * i) for i in range(1, 11)]
assert all(row["graph"] == "fork-join:width=3,stages=2" for row in rows)
best = [float(row["best_us"]) for row in rows]
assert best == sorted(best, reverse=True) and best[-1] > 0
assert all(float(row["last_us"]) >= float(row["best_us"]) for row in rows)
assert all(0 <= float(row["entropy"]) <= 0.6932 for row in rows)
xml.dom.minidom.parse("curve.svg")
END
}

@test "patience ends a training early" {
  answers 0 train placeto:preset=released,rounds=1,start=best in-tree:levels=3 --cluster p2-8xlarge-2 --episodes 5000 \
    --patience 20 -o policy.json --json
  holds 'd["ended_by"] == "patience" and 20 < d["episodes"] < 5000'
}

@test "a policy places graphs that it has not seen, and learns more if it is told to" {
  "$EMPLACE" train placeto:preset=released,rounds=1 in-tree:levels=4 --cluster p2-8xlarge-2 --groups 6 --episodes 20 \
    -o policy.json >/dev/null
  cp policy.json before.json
  local problem=(out-tree:levels=5 --cluster p2-8xlarge-2)
  answers 0 place "${problem[@]}" --policy policy.json --json
  # An episode is a start and its groups, of which there are as many as in training.
  holds 'd["groups"] == 6 and d["evaluations"] == 7 and d["placed_by"] == "placeto:preset=released,rounds=1 with policy.json"' \
    'd["placement"]["schema"] == "emplace-placement"'
  answers 0 place "${problem[@]}" --policy policy.json --groups 9 --json
  holds 'd["groups"] == 9 and d["evaluations"] == 10'
  answers 0 place "${problem[@]}" --policy policy.json --episodes 5 --json
  holds 'd["evaluations"] == 42'
  cmp policy.json before.json
}

@test "trainings and policies that cannot be are told" {
  local problem=(in-tree:levels=3 --cluster p2-8xlarge-2 --episodes 2)
  refuses 2 "agent 'metis' trains no policy; those that do: " train metis "${problem[@]}" -o p.json
  refuses 3 "did you mean 'placeto'" train placet "${problem[@]}" -o p.json
  refuses 3 "did you mean 'in-tree'" train placeto in-tre --cluster p2-8xlarge-2 --episodes 2 -o p.json
  refuses 2 "'in-tree:levels=3' is given twice" train placeto in-tree:levels=3 "${problem[@]}" -o p.json
  refuses 3 "for 2 devices cannot place in-tree:levels=3 on the 4 of p2-8xlarge-4" \
    train placeto:preset=released "${problem[@]}" --cluster p2-8xlarge-4 -o p.json
  refuses 3 "no-folder" train placeto "${problem[@]}" -o no-folder/p.json
  refuses 3 "no-folder" train placeto "${problem[@]}" -o p.json --curve no-folder/c.csv
  refuses 2 "--curve: expected a name that ends in .csv, .svg, .png, .pdf, found 'p.gif'" \
    train placeto "${problem[@]}" -o p.json --curve p.gif
  refuses 2 "--output" train placeto "${problem[@]}" -o -
  refuses 2 "--curve: expected the name of a file" train placeto "${problem[@]}" -o p.json --curve -
  refuses 2 "--output and --curve are one file: './p.csv'" train placeto "${problem[@]}" -o p.csv --curve ./p.csv
  refuses 2 "--curve and --curve are one" train placeto "${problem[@]}" -o p.json --curve p.svg --curve p.svg
  refuses 2 "--episodes" train placeto in-tree --cluster p2-8xlarge-2 -o p.json
  refuses 2 "--output" train placeto "${problem[@]}"
  rm -f p.json*

  "$EMPLACE" train placeto:preset=released "${problem[@]}" -o p.json >/dev/null
  local place=(place in-tree:levels=3)
  refuses 3 "for 2 devices" "${place[@]}" --cluster p2-8xlarge-4 --policy p.json
  refuses 2 "excludes" "${place[@]}" --cluster p2-8xlarge-2 --policy p.json --agent heft
  refuses 2 "--policy" "${place[@]}" --cluster p2-8xlarge-2 --agent heft --episodes 3
  refuses 2 "--evaluations" "${place[@]}" --cluster p2-8xlarge-2 --policy p.json --evaluations 3
  refuses 3 "missing.json" "${place[@]}" --cluster p2-8xlarge-2 --policy missing.json
  without_checksum p.json
  sed -i 's/"devices": 2/"devices": 3/' p.json
  refuses 3 "p.json: /policy" "${place[@]}" --cluster p2-8xlarge-2 --policy p.json -q
  sed -i 's/"version": 1/"version": 2/' p.json
  refuses 3 "p.json: /version" "${place[@]}" --cluster p2-8xlarge-2 --policy p.json -q
}

@test "at a terminal a training shows how far it is" {
  command -v script >/dev/null || skip "no script(1) here"
  script -qec "$EMPLACE train placeto:preset=paper,rounds=1 in-tree:levels=4 --cluster p2-8xlarge-2 --episodes 5 -o p.json" \
    screen.txt >/dev/null </dev/null
  grep -q "\[4/5\] about 0 s left  in-tree:levels=4 on p2-8xlarge-2: .* ms, best " screen.txt
}

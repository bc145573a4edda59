#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Best-known placements: what the program holds, how better ones replace them, where they are shown.

load cli.bash

tree=in-tree:levels=5
file=best/in-tree_levels_5.p2-8xlarge-2.json

# updated ENTRY ARGUMENTS...: updates the folder "best", whose only entry must then be ENTRY: "added" and so on.
updated() {
  local entry=$1
  shift
  answers 0 dev best-known "$@" --folder best --json
  holds "[u['entry'] for u in d['updates']] == ['$entry']"
}

@test "the entries that the program holds are valid" {
  answers 0 list best-known
  [[ "$output" =~ "inception-v3 on p2-8xlarge-2 "\ +[0-9.]+\ +"found by " ]]
  mkdir best
  cp "$EMPLACE_SOURCE_DIR"/bench/best_known/inception-v3.* best
  answers 0 dev best-known --check --folder best --json
  holds 'd["schema_version"] == 1 and d["best_known"]' \
    'all(e["valid"] and e["complaint"] == "" for e in d["best_known"])' \
    'all(0 < e["bound_us"] <= e["step_time_us"] for e in d["best_known"])' \
    'all(e["found"]["by"] and e["found"]["version"] for e in d["best_known"])'
}

@test "an update keeps the faster placement, and writes nothing else" {
  updated added $tree --cluster p2-8xlarge-2 --agent single-gpu
  cp $file slow.json
  updated kept $tree --cluster p2-8xlarge-2 --agent single-gpu
  updated improved $tree --cluster p2-8xlarge-2 --agent hill-climb --evaluations 500 --seed 3
  cp $file fast.json
  run -1 cmp -s slow.json fast.json
  output=$(cat $file)
  holds 'd["found"]["by"] == "hill-climb" and d["found"]["evaluations"] == 500 and d["found"]["seed"] == 3' \
    'd["groups"] == sum(len(line.split(" ")) for line in d["placement"])'
  updated kept $tree --cluster p2-8xlarge-2 --agent single-gpu
  cmp $file fast.json
  [ "$(ls -A best)" = "${file#best/}" ]
  answers 0 dev best-known --folder best --check
}

@test "an update starts from the present entry" {
  updated added $tree --cluster p2-8xlarge-2 --agent single-gpu
  updated improved $tree --cluster p2-8xlarge-2 --agent simulated-annealing --evaluations 200
  output=$(cat $file)
  holds 'd["found"]["comment"].endswith("ms by single-gpu")' 'd["found"]["evaluations"] == 200'
  # One evaluation is that of the entry itself.
  updated kept $tree --cluster p2-8xlarge-2 --agent simulated-annealing --evaluations 1
}

@test "an entry of a timed search tells its time and its evaluations" {
  updated added layered:tasks=200 --cluster p2-8xlarge-2 --agent random --time-limit 0.2
  output=$(cat best/*)
  holds 'd["found"]["comment"] == "in 0.2 s"' 'd["found"]["evaluations"] not in (0, 1000)'
}

@test "Ctrl-C ends an update: what was found is kept, with the evaluations that it took" {
  run --separate-stderr -130 timeout --foreground --preserve-status -s INT -k 60 2 \
    "$EMPLACE" dev best-known inception-v3 $tree --cluster p2-8xlarge-2 --agent random --evaluations 1000000000 \
    --folder best --json
  holds '[u["entry"] for u in d["updates"]] == ["added"]'
  [[ "$stderr" == *"interrupted at 1 of 2 searches"* ]]
  output=$(cat best/*)
  holds '0 < d["found"]["evaluations"] < 1000000000' 'd["found"]["comment"] == "stopped early"'
}

@test "place improves a placement, and ends with nothing worse" {
  "$EMPLACE" place $tree --cluster p2-8xlarge-2 --agent hill-climb --evaluations 500 -o good.json >/dev/null
  answers 0 simulate $tree --cluster p2-8xlarge-2 --placement good.json --json
  local good
  good=$(python3 -c "import json, sys; print(json.load(sys.stdin)['step_time_us'])" <<<"$output")
  answers 0 place $tree --cluster p2-8xlarge-2 --agent auto --evaluations 3 --from good.json --json
  holds "d['step_time_us'] <= $good and d['evaluations'] == 3"
  [ -z "$stderr" ]
  answers 0 place $tree --cluster p2-8xlarge-2 --agent brkga --evaluations 3 --from good.json --json
  holds "d['step_time_us'] <= $good"
  [ -z "$stderr" ]
  answers 0 place $tree --cluster p2-8xlarge-2 --agent heft --from good.json --json
  [[ "$stderr" == "emplace: warning: heft does not search, so it ignores --from" ]]
  refuses 3 "cannot read 'none.json'" place $tree --cluster p2-8xlarge-2 --from none.json
  "$EMPLACE" place cholesky --cluster p2-8xlarge-2 --agent heft -o other.json >/dev/null
  refuses 3 "a placement of 'cholesky', this is 'in-tree:levels=5'" place $tree --cluster p2-8xlarge-2 --from other.json
  refuses 2 "--from" place $tree --cluster p2-8xlarge-2 --policy p.json --from good.json
  # An agent that keeps to placeable devices takes no placement on another; one that does not, does.
  answers 0 place $tree --cluster p2-8xlarge-2 --agent cpu-only -o cpu.json
  for agent in brkga placeto:preset=paper auto heft; do
    refuses 3 "cpu.json: the placement has" place $tree --cluster p2-8xlarge-2 --agent $agent --from cpu.json
    [[ "$stderr" == *"on cpu:0, where nothing may be placed; expected one of gpu:0, gpu:1" ]]
  done
  answers 0 place $tree --cluster p2-8xlarge-2 --agent cpu-only --from cpu.json
}

@test "an entry keeps the order of its placement, and an update starts from it" {
  local problem=(layered:tasks=200 --cluster p2-8xlarge-2)
  answers 0 place "${problem[@]}" --agent heft:order=plan --grouping colocation -o ordered.json --json
  local step
  step=$(python3 -c "import json, sys; print(json.load(sys.stdin)['step_time_us'])" <<<"$output")
  updated added --from ordered.json
  output=$(cat best/*)
  holds "'priorities' in d and d['step_time_us'] == $step"
  answers 0 dev best-known --folder best --check
  updated kept "${problem[@]}" --agent random --evaluations 1
}

@test "place finds the placement of an entry again" {
  updated added $tree --cluster p2-8xlarge-2 --agent hill-climb --evaluations 500 --seed 3
  answers 0 place $tree --cluster p2-8xlarge-2 --agent hill-climb --evaluations 500 --seed 3 \
    --grouping colocation --json
  holds "d['step_time_us'] == json.load(open('$file'))['step_time_us']"
}

@test "placement files and results of runs are taken where they are better" {
  suite suite.json 200 $tree
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  "$EMPLACE" place $tree --cluster p2-8xlarge-2 --agent single-gpu -o placement.json >/dev/null
  updated added --from placement.json
  output=$(cat $file)
  holds 'd["found"]["by"] == "a placement file" and "evaluations" not in d["found"]'
  answers 0 dev best-known --from r --from placement.json --folder best --json
  holds '[(u["cluster"], u["entry"]) for u in d["updates"]] == [("p2-8xlarge-2", "improved"), ("p2-8xlarge-4", "added"), ("p2-8xlarge-2", "kept")]' \
    'all(u["now_us"] == min(c["step_time_us"] for c in map(json.loads, open("r/cells.jsonl")) if c["status"] == "ok" and c["cluster"] == u["cluster"]) for u in d["updates"])'
  answers 0 dev best-known --from r --folder best --json
  holds 'all(u["entry"] == "kept" for u in d["updates"])'
  answers 0 dev best-known --folder best --check
}

@test "what is stale is told, and renewed by the command that is told" {
  updated added $tree --cluster p2-8xlarge-2 --agent hill-climb
  cp $file before.json
  sed -i 's/"step_hash": ".*"/"step_hash": "0123456789abcdef"/; s/"step_time_us": .*,/"step_time_us": 1.5,/' $file
  answers 3 dev best-known --check --folder best --json
  holds 'd["best_known"][0]["valid"] is False and d["best_known"][0]["complaint"].startswith("stale")'
  answers 3 dev best-known --folder best --check
  [[ "$stderr" == "emplace: 1 of 1 best-known placements are not valid; fix them with: emplace dev best-known" ]]
  # A worse search keeps the placement that was there.
  updated renewed --agent single-gpu
  cmp $file before.json
  sed -i 's/"step_time_us": .*,/"step_time_us": 1.5,/' $file
  answers 3 dev best-known --check --folder best
  [[ "$output" == *"wrong: the step takes "* ]]
  updated renewed
  cmp $file before.json
}

@test "what does not fit is never kept" {
  updated "none fits" bert-large --cluster p2-8xlarge-2 --agent single-gpu
  [ -z "$(ls -A best)" ]
}

@test "entries are written into the source tree where the command runs in one" {
  refuses 2 "give --folder DIR" dev best-known $tree --cluster p2-8xlarge-2 --agent single-gpu
  refuses 2 "give --folder DIR" dev best-known --check
  mkdir -p checkout/bench/best_known checkout/docs
  cd checkout/docs
  answers 0 dev best-known $tree --cluster p2-8xlarge-2 --agent single-gpu
  [[ "$output" == *" added"* ]]
  [ -s ../bench/best_known/in-tree_levels_5.p2-8xlarge-2.json ]
  answers 0 dev best-known --check --json
  holds '[e["graph"] for e in d["best_known"]] == ["in-tree:levels=5"]'
}

@test "mistakes are told, and one failure leaves the others alone" {
  refuses 2 "give both GRAPH and --cluster" dev best-known $tree --folder best
  refuses 2 "--agent excludes --from" dev best-known --from x.json --agent heft --folder best
  refuses 3 "unknown agent 'hil-climb'" dev best-known $tree --cluster p2-8xlarge-2 --agent hil-climb --folder best
  refuses 3 "cannot read" dev best-known --from none.json --folder best
  tiny_graph tiny.json
  answers 4 dev best-known ./tiny.json $tree --cluster p2-8xlarge-2 --agent single-gpu --folder best --json
  holds '[u["entry"] for u in d["updates"]] == ["failed", "added"] and "unknown graph" in d["updates"][0]["message"]'
  answers 4 dev best-known $tree --cluster p2-8xlarge-4 --folder best
  [[ "$output" == *"there is no entry to update; give an --agent"* ]]
  sed -i 's/"groups": /"groups": 1/' $file
  refuses 3 "$file: /placement: expected the devices of" dev best-known --check --folder best
}

@test "place, simulate and reports tell how far a step is above the best known" {
  answers 0 list best-known --json
  local best
  best=$(python3 -c 'import json, sys
print([e["step_time_us"] for e in json.load(sys.stdin)["best_known"]
       if (e["graph"], e["cluster"]) == ("inception-v3", "p2-8xlarge-4")][0])' <<<"$output")
  local problem=(inception-v3 --cluster p2-8xlarge-4 --agent single-gpu)
  answers 0 simulate "${problem[@]}" --json
  holds "d['best_known_us'] == $best and d['new_best'] is False" \
    "d['above_best_known'] == (d['step_time_us'] - $best) / $best > 0"
  answers 0 place "${problem[@]}" -o placement.json
  [[ "$output" == *"% above the best known"*"best known   "* ]]
  # Nothing is known of another problem.
  answers 0 simulate inception-v3:batch=2 --cluster p2-8xlarge-4 --agent single-gpu --json
  holds '"best_known_us" not in d and "above_best_known" not in d and "new_best" not in d'
  cat >suite.json <<'END'
{"schema": "emplace-suite", "version": 1, "name": "small", "graphs": ["inception-v3"],
 "clusters": ["p2-8xlarge-2", "p2-8xlarge-4"], "agents": ["single-gpu"], "grouping": "neighbours", "groups": 20}
END
  answers 0 run ./suite.json --json -o r
  holds "d['tables'][1]['best_known_us'] == $best and d['tables'][1]['rows'][0]['above_best_known'] > 0"
  answers 0 report r
  [[ "$output" == *", best known "*"above best known [%]"* ]]
}

#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Calibration of this machine: of its CPU, which every machine has, and what is said without a GPU.

load cli.bash

# A step of a few milliseconds, so that it is measured in seconds.
graph='rnnlm:layers=1,hidden=32,steps=2,batch=4,vocabulary=200'
quick=(--devices cpu --runs 3 --max-copy 4096)

@test "calibrate without a GPU says what is missing and how to go on" {
  if command -v nvidia-smi >/dev/null; then skip "there is a GPU"; fi
  refuses 2 "no GPU to calibrate: " calibrate -o machine.json
  [[ "$stderr" == *"to calibrate the CPU alone, "*"--devices cpu"* ]]
  [ ! -e machine.json ]
}

@test "calibrate writes a cluster on which the ops of its graphs are measured" {
  answers 0 calibrate "${quick[@]}" "$graph" --name my-machine -o machine.json
  [[ "$output" == *"cpu:0"*"ops measured"* || "$output" == *"ops measured"*"cpu:0"* ]]
  answers 0 show "$graph" --cluster ./machine.json --json
  holds 'd["cluster"] == "my-machine"' 'len(d["device_classes"]) == 1' \
    'd["device_classes"][0]["ops_by_cost_source"]["measured"] > d["device_classes"][0]["ops_by_cost_source"]["guess"]' \
    'd["device_classes"][0]["all_ops_us"] > 0'
  answers 0 profile show ./machine.json
  [[ "$output" == *"measured"* ]]
}

@test "calibrate --validate runs placements and compares" {
  if [ "$(nproc)" -lt 2 ]; then skip "one core can't be cut into two devices"; fi
  answers 0 calibrate --devices cpu/2 --runs 3 --max-copy 4096 "$graph" -o two.json \
    --validate "$graph" --placements 2 --seconds 0.01 --report report.json
  [[ "$output" == *"cpu:0 then cpu:1, 1:1"*"Kendall's tau"* ]]
  output=$(cat report.json)
  holds 'd["schema_version"] == 1' 'd["validations"][0]["graph"].startswith("rnnlm")' \
    'len(d["validations"][0]["steps"]) == 2 + 2 * 3 + 2' \
    'all(s["predicted_us"] > 0 and s["measured_us"] > 0 for s in d["validations"][0]["steps"])' \
    'any(o["source"] == "measured" for o in d["validations"][0]["ops"])'
  answers 0 calibrate --devices cpu/2 --runs 3 --cluster ./two.json --validate "$graph" \
    --placements 0 --seconds 0.01
  [[ "$output" == *"random"* ]] && return 1
  refuses 2 "cluster ./two.json has the devices cpu:0, cpu:1; --devices gives cpu:0" \
    calibrate --devices cpu --cluster ./two.json --validate "$graph"
}

@test "mistakes are told before anything is measured" {
  refuses 2 "give one of --output, to calibrate, and --cluster" calibrate --devices cpu
  refuses 2 "give one of --output, to calibrate, and --cluster" \
    calibrate --devices cpu -o a.json --cluster b.json
  refuses 2 "--name" calibrate --devices cpu --cluster b.json --validate "$graph" --name mine
  refuses 2 "--cluster is of use with --validate only" calibrate --devices cpu --cluster b.json
  refuses 3 "inception-v3" calibrate --devices cpu inception-v33 -o a.json
  refuses 3 "inception-v3" calibrate --devices cpu "$graph" --validate inception-v33 -o a.json
  refuses 2 "--devices: expected gpu, cpu, gpu/PARTS or cpu/PARTS, found 'tpu'" \
    calibrate --devices tpu "$graph" -o a.json
  refuses 2 "found 'cpu/0'" calibrate --devices cpu/0 "$graph" -o a.json
  refuses 2 "--devices: cpu comes twice" calibrate --devices cpu,cpu/2 "$graph" -o a.json
  refuses 2 "can't be cut into 4096 parts" calibrate --devices cpu/4096 "$graph" -o a.json
  refuses 2 "--record is of use with GPUs only" calibrate "${quick[@]}" "$graph" --record r.bin -o a.json
  [ ! -e a.json ]
}

# A step of Inception-V3 takes a CPU seconds or minutes, and a placement takes several.
@test "calibrate --validate ends soon when it is told to stop" {
  answers 0 calibrate "${quick[@]}" "$graph" -o machine.json
  run -130 timeout --foreground --preserve-status -s INT -k 60 5 \
    "$EMPLACE" calibrate --devices cpu --cluster ./machine.json --validate inception-v3
  # A fast machine is at the ops by then.
  [[ "$output" == *": validation was stopped before"* ]]
}

@test "an unwritable -o is told" {
  refuses 3 "there is no folder 'no/such/folder'" calibrate "${quick[@]}" "$graph" -o no/such/folder/a.json
}

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
  answers 0 show ./machine.json
  [[ "$output" == *"measured"* ]]
}

@test "mistakes are told before anything is measured" {
  refuses 2 "missing -o, --output FILE" calibrate --devices cpu
  refuses 3 "inception-v3" calibrate --devices cpu inception-v33 -o a.json
  refuses 2 "--devices: expected gpu, cpu, gpu/PARTS or cpu/PARTS, found 'tpu'" \
    calibrate --devices tpu "$graph" -o a.json
  refuses 2 "found 'cpu/0'" calibrate --devices cpu/0 "$graph" -o a.json
  refuses 2 "--devices: cpu is given twice" calibrate --devices cpu,cpu/2 "$graph" -o a.json
  refuses 2 "can't be cut into 4096 parts" calibrate --devices cpu/4096 "$graph" -o a.json
  refuses 2 "--devices: expected gpu, cpu, gpu/PARTS or cpu/PARTS, found ''" \
    calibrate --devices "" "$graph" -o a.json
  refuses 2 "--name: expected a name, found ''" calibrate "${quick[@]}" "$graph" --name "" -o a.json
  # Two sizes make a line: 4 and 16 bytes.
  refuses 2 "--max-copy" calibrate --devices cpu --max-copy 15 "$graph" -o a.json
  [ ! -e a.json ]
}

@test "outputs are files of their own that can be written" {
  refuses 2 "--output: expected the name of a file, found '-'" calibrate "${quick[@]}" "$graph" -o -
  mkdir folder
  refuses 3 "cannot write 'folder': Is a directory" calibrate "${quick[@]}" "$graph" -o folder
  [ ! -e a.json ]
}

@test "a folder that may not be written to is told before anything is measured" {
  mkdir folder
  if [ "$(id -u)" -ne 0 ]; then
    chmod a-w folder
    refuses 3 "cannot write 'folder/a.json': Permission denied" \
      calibrate "${quick[@]}" "$graph" -o folder/a.json
    return
  fi
  # As root only a file system can refuse.
  unshare -m true || skip "root may write everywhere, and no file system can be mounted here"
  run -3 --separate-stderr unshare -m sh -c '
    mount --bind folder folder && mount -o remount,bind,ro folder
    exec "$EMPLACE" calibrate "$@" -o folder/a.json' sh "${quick[@]}" "$graph"
  [ -z "$output" ]
  [[ "$stderr" == "emplace: cannot write 'folder/a.json': Read-only file system" ]]
}

@test "calibrate without memory says so" {
  run --separate-stderr bash -c 'ulimit -v 1500000; "$EMPLACE" calibrate --devices cpu --runs 3 "$1" -o a.json' _ "$graph"
  lacks "internal error" <<<"$stderr"
}

@test "an unwritable -o is told" {
  refuses 3 "there is no folder 'no/such/folder'" calibrate "${quick[@]}" "$graph" -o no/such/folder/a.json
}

# gpu_bundle: a folder such as bundle.sh makes, of programs that only pretend. $BROKEN names the devices
# whose calibration fails, $SELF_TEST the exit code of the self-test, $EVENTS_US what it times by events;
# by CUPTI it is 100 us.
gpu_bundle() {
  mkdir bundle
  cp "$EMPLACE_SOURCE_DIR/profiles/calibrate/run_on_gpu.sh" bundle
  cat >bundle/gpu_self_test <<'END'
#!/bin/sh
echo tested
{
  echo '<property name="cupti_us" value="100.0"/>'
  echo "<property name=\"events_us\" value=\"${EVENTS_US-104.5}\"/>"
  echo '<property name="gap_us" value="1.2"/>'
} >"${1#--gtest_output=xml:}"
exit "${SELF_TEST-0}"
END
  echo 'print(97.5)' >bundle/time_product.py
  cat >bundle/emplace <<'END'
#!/bin/sh
echo "ran $*"
[ "$1" != doctor ] || exit 0
if [ "$3" = "${BROKEN-}" ]; then exit 3; fi
while [ $# -gt 0 ]; do
  case $1 in --output | --save-samples) echo '{}' >"$2" ;; esac
  shift
done
END
  chmod +x bundle/*
  export EMPLACE_CUDA_LIBRARIES=/nowhere
}

@test "run_on_gpu.sh succeeds where all parts do" {
  gpu_bundle
  run -0 bundle/run_on_gpu.sh results
  [ "$(ls results)" = "$(printf '%s\n' gpu_cpu.json halves.json log.txt profile.csv profile.json report.txt \
    self_test.txt self_test.xml)" ]
  grep -q "100.0 us by CUPTI, 104.5 us by events, 97.5 us in PyTorch" results/report.txt
  grep -q "between kernels it pauses 1.2 us" results/report.txt
  [ "$(tail -n 1 results/report.txt)" = pass ]
  grep -q "ran calibrate --devices gpu,cpu" results/log.txt
}

@test "run_on_gpu.sh fails where a calibration does, whatever an earlier run left" {
  gpu_bundle
  run -0 bundle/run_on_gpu.sh results
  BROKEN=gpu/2 run -1 bundle/run_on_gpu.sh results
  [[ "$output" == *"emplace calibrate --devices gpu/2 "*" ended with 3"* ]]
  [[ "$output" == *"no halves.json; the log says why"* ]]
  [ ! -e results/halves.json ]
  [ -s results/gpu_cpu.json ]  # the others are made all the same
}

@test "run_on_gpu.sh fails where ways to time a product differ" {
  gpu_bundle
  EVENTS_US=140 run -1 bundle/run_on_gpu.sh results
  grep -q "^off: the ways to time the product differ by more than 10 %" results/report.txt
  [ -s results/profile.json ]
}

@test "run_on_gpu.sh fails where the self-test does" {
  gpu_bundle
  SELF_TEST=1 run -1 bundle/run_on_gpu.sh results
  [[ "$output" == *"gpu_self_test ended with 1; self_test.txt says why"* ]]
  [ -s results/profile.json ]
}

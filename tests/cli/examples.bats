#!/usr/bin/env bats
# The files of examples/ do what they are there for. Its agent is built by the test `package`.

load cli.bash

@test "the example cluster is one to place on" {
  answers 0 place resnet-50 --cluster "$EMPLACE_SOURCE_DIR/examples/cluster.json" --agent heft --json
  holds 'd["status"] == "ok"' 'd["step_time_us"] > d["bound_us"] > 0' '[x["name"] for x in d["devices"]][0] == "gpu:0"'
}

@test "the example suite runs to its end from the root of the source tree" {
  cd "$EMPLACE_SOURCE_DIR"
  answers 0 run examples/suite.json -o "$BATS_TEST_TMPDIR/results"
  [[ "$output" == *"example: 44 of 44 cells"* ]]
  [[ "$output" == *"on ./examples/cluster.json"* ]]
}

@test "the suites that take longer can be run" {
  cd "$EMPLACE_SOURCE_DIR"
  for suite in released-flags true-gaps what-decides; do
    answers 0 run "examples/$suite.json" --dry-run
    [[ "$output" == "$suite: "*" cells on "* ]]
  done
}

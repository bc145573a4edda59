#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # programs in single quotes; stderr is set by run
# Faults of the machine, one by one: docs/notes/faults.md. tests/soak/ makes them at random.

load cli.bash

small_suite() {
  tiny_graph tiny.json
  suite suite.json 5 ./tiny.json
}

# finished FOLDER: resumes a run, which must then have all cells, none of them failed.
finished() {
  answers 0 run ./suite.json --quiet -o "$1" --resume --json
  holds 'd["cells_finished"] == d["cells_total"] and d["cells_failed"] == 0'
}

@test "a file that may grow no further: a clear error, and no torn line" {
  small_suite
  run -3 --separate-stderr bash -c 'ulimit -f 6; exec "$EMPLACE" run ./suite.json --quiet -o r'
  [ "$stderr" = "emplace: r/cells.jsonl: cannot write: File too large" ]
  [ "$(tail -c 1 r/cells.jsonl | od -An -c | tr -d ' ')" = '\n' ]
  finished r
}

@test "a full disk: each command tells it and leaves no file" {
  small_suite
  mkdir full
  # In a mount namespace of its own, where root may mount.
  unshare -m mount -t tmpfs -o size=8k none full 2>/dev/null || skip "no file system can be mounted here"
  run -3 --separate-stderr unshare -m bash -c 'mount -t tmpfs -o size=8k none full
    "$EMPLACE" run ./suite.json --quiet -o full/r; status=$?
    tail -c 1 full/r/cells.jsonl | od -An -c >last.txt
    ls -A full/r >left.txt
    exit $status'
  [[ "$stderr" == "emplace: full/r/cells.jsonl: cannot write: No space left on device" ]]
  [ "$(tr -d ' ' <last.txt)" = '\n' ]
  [ "$(sort left.txt | tr '\n' ' ')" = "cells.jsonl manifest.json " ]
  run -3 --separate-stderr unshare -m bash -c 'mount -t tmpfs -o size=8k none full
    "$EMPLACE" convert inception-v3 -o full/graph.json; status=$?
    ls -A full >left.txt
    exit $status'
  [[ "$stderr" == "emplace: cannot write 'full/graph.json': No space left on device" ]]
  [ ! -s left.txt ]
}

@test "a full device as output" {
  refuses 3 "No space left on device" convert inception-v3 --to emplace -o /dev/full
  run -3 --separate-stderr bash -c '"$EMPLACE" list graphs >/dev/full'
  [[ "$stderr" == "emplace: cannot write to standard output: No space left on device" ]]
}

@test "a folder that may not be written to" {
  small_suite
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  # As root only a file system can refuse.
  local reason="Permission denied"
  if [ "$(id -u)" = 0 ]; then
    reason="Read-only file system"
    unshare -m true || skip "root may write everywhere, and no file system can be mounted here"
  fi
  mkdir closed
  # in_closed ARGUMENTS...: runs emplace where the folders closed and r may be read only.
  in_closed() {
    if [ "$(id -u)" = 0 ]; then
      run --separate-stderr unshare -m sh -c '
        for folder in closed r; do mount --bind $folder $folder && mount -o remount,bind,ro $folder; done
        exec "$EMPLACE" "$@"' sh "$@"
    else
      chmod 555 closed r
      run --separate-stderr "$EMPLACE" "$@"
      chmod 755 closed r
    fi
  }
  in_closed run ./suite.json --quiet -o closed/r
  [ "$status" -eq 3 ] && [ "$stderr" = "emplace: closed/r: cannot make the folder: $reason" ]
  in_closed convert inception-v3 -o closed/graph.json
  [ "$status" -eq 3 ] && [ "$stderr" = "emplace: cannot write 'closed/graph.json': $reason" ]
  in_closed train placeto:preset=released,rounds=1 in-tree:levels=3 --cluster p2-8xlarge-2 --episodes 1 \
    -o closed/p.json
  [ "$status" -eq 3 ] && [ "$stderr" = "emplace: closed/p.json.lock: cannot lock: $reason" ]
  # To read needs no right to write.
  in_closed report r
  [ "$status" -eq 0 ]
}

@test "a pipe whose reader has gone" {
  small_suite
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  for command in "list graphs" "report r" "report r --json"; do
    # As any program: by the signal, or with an error where that is ignored; a line is always whole.
    run -0 bash -c "\"\$EMPLACE\" $command 2>errors.txt | true; [ \${PIPESTATUS[0]} = 141 ] || [ \${PIPESTATUS[0]} = 0 ]"
    [ ! -s errors.txt ]
    run -0 bash -c "trap '' PIPE; { \"\$EMPLACE\" $command; echo \$? >status.txt; } 2>errors.txt | true"
    [ ! -s errors.txt ] || [ "$(cat errors.txt)" = "emplace: cannot write to standard output: Broken pipe" ]
  done
  # A run that nobody reads has its results all the same.
  run -0 bash -c '"$EMPLACE" run ./suite.json --quiet -o s | true'
  answers 0 report s --json
  holds 'd["cells_finished"] == 14'
}

@test "no descriptors: what an agent lacked is no result" {
  small_suite
  sed -i 's|"random"|"exec:true"|' suite.json
  # Three streams, the lock and a file to read: no two pipes.
  run --separate-stderr bash -c 'ulimit -n 6; exec "$EMPLACE" run ./suite.json --quiet -o r --threads 1 3>&- 4>&-'
  [ "$status" -eq 4 ]
  [[ "$stderr" == "emplace: "*"could not be run on this machine"*"Too many open files"*"--resume" ]]
  lacks '"status":"failed"' <r/cells.jsonl
  # With descriptors the program is found to be no agent, and that is a result.
  run -4 "$EMPLACE" run ./suite.json --quiet -o r --resume
  grep -q '"status":"failed"' r/cells.jsonl
}

@test "a user that may start no thread: one does, with the same bytes" {
  local become=() folder
  # Where any user may look, unlike the folder of a test.
  folder=$(mktemp -d)
  chmod 777 "$folder"
  cd "$folder"
  small_suite
  if [ "$(id -u)" = 0 ]; then
    command -v setpriv >/dev/null || skip "root has no limit of threads, and setpriv is not there"
    become=(setpriv --reuid=64321 --clear-groups)
    "${become[@]}" "$EMPLACE" --version >/dev/null 2>&1 || skip "another user may not run the program here"
  fi
  # The leak sanitizer would look for leaks in a thread of its own.
  export ASAN_OPTIONS=detect_leaks=0
  "$EMPLACE" run ./suite.json --quiet -o r --json >whole.json
  run -0 --separate-stderr bash -c 'ulimit -u 1; exec "$@"' bash "${become[@]}" \
    "$EMPLACE" run ./suite.json -o s --json --threads 4
  [ "$output" = "$(cat whole.json)" ]
  [[ "$stderr" == *"emplace: warning: the system allows 1 of 4 threads; continuing with these"* ]]
  run -3 --separate-stderr timeout 60 bash -c 'ulimit -u 1; exec "$@"' bash "${become[@]}" \
    "$EMPLACE" calibrate in-tree:levels=2 --devices cpu -o c.json --runs 1 --max-copy 1024
  [[ "$stderr" == *"the system allows "*" threads that a device needs: "* ]]
  cd /
  rm -r "$folder"
}

@test "one training for each output" {
  # Forever, as far as this test goes.
  "$EMPLACE" train placeto:preset=released,rounds=1 in-tree:levels=4 --cluster p2-8xlarge-2 --episodes 1000000 \
    -o p.json >/dev/null 2>&1 &
  local first=$!
  for _ in $(seq 600); do [ -e p.json.checkpoint ] && break; sleep 0.1; done
  refuses 2 "p.json: another training is writing here" train placeto:preset=released,rounds=1 in-tree:levels=4 \
    --cluster p2-8xlarge-2 --episodes 1 -o p.json
  kill -KILL "$first"
  wait "$first" || true
  # The lock went with the process; the checkpoint did not.
  [ -e p.json.lock ]
  refuses 2 "p.json.checkpoint: a training already exists" train placeto:preset=released,rounds=1 in-tree:levels=4 \
    --cluster p2-8xlarge-2 --episodes 1 -o p.json
  [ ! -e p.json.lock ]
}

@test "a lock is of the output, whatever name it is given, and a lock file of others stays" {
  "$EMPLACE" train placeto:preset=released,rounds=1 in-tree:levels=4 --cluster p2-8xlarge-2 --episodes 1000000 \
    -o p.json >/dev/null 2>&1 &
  local first=$!
  for _ in $(seq 600); do [ -e p.json ] && break; sleep 0.1; done
  ln -s p.json q.json
  refuses 2 "q.json: another training is writing here" train placeto:preset=released,rounds=1 in-tree:levels=4 \
    --cluster p2-8xlarge-2 --episodes 1 -o q.json
  kill -KILL "$first"
  wait "$first" || true
  echo precious >r.json.lock
  answers 0 train placeto:preset=released,rounds=1 in-tree:levels=4 --cluster p2-8xlarge-2 --episodes 1 -o r.json -q
  [ "$(cat r.json.lock)" = precious ]
}

@test "pipes and links in the place of what a store holds are refused" {
  small_suite
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  mv r/manifest.json manifest.json
  mkfifo r/manifest.json
  refuses 3 "r/manifest.json: expected a plain file, found something else" report r
  refuses 3 "r/manifest.json: expected a plain file" merge r -o m
  refuses 3 "r/manifest.json: expected a plain file" run ./suite.json --quiet -o r --resume
  rm r/manifest.json
  ln -s ../manifest.json r/manifest.json
  refuses 3 "r/manifest.json: expected a plain file, found a link" report r
}

@test "what a link in the place of the cells points at is not emptied" {
  small_suite
  "$EMPLACE" run ./suite.json --quiet -o r >/dev/null
  printf 'Dear diary' >diary.txt
  ln -sf ../diary.txt r/cells.jsonl
  refuses 3 "r/cells.jsonl: expected a plain file, found a link" run ./suite.json -o r --resume
  [ "$(cat diary.txt)" = "Dear diary" ]
  rm r/cells.jsonl
  mkfifo r/cells.jsonl
  refuses 3 "r/cells.jsonl: expected a plain file" report r
}

@test "a file keeps its rights when it is written again" {
  "$EMPLACE" convert inception-v3 -o g.json
  chmod 600 g.json
  "$EMPLACE" convert inception-v3 -o g.json
  [ "$(stat -c %a g.json)" = 600 ]
}

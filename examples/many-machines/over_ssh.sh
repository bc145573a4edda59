#!/bin/bash
# Runs a suite on several machines by GNU parallel over ssh, and merges what they found:
#
#     over_ssh.sh SUITE SHARDS OUTPUT HOSTS
#
# HOSTS is a file with a machine on each line, as for `parallel --sshloginfile`; ":" is this machine. Each needs emplace
# on its PATH, and a suite that is a file under the same path. A machine runs one shard at a time, on all its cores. Give
# some more shards than machines, so that fast machines run more. Results come back when a shard has ended, and nothing
# stays on the machines. Run again, it starts the shards that have not ended: OUTPUT/joblog tells which have.
set -euo pipefail
if [ $# -ne 4 ]; then
  echo "usage: over_ssh.sh SUITE SHARDS OUTPUT HOSTS" >&2
  exit 2
fi
suite=$1 shards=$2 output=$3 hosts=$(realpath "$4")
sweep="$suite in $shards shards"
# As emplace tells files from names.
case $suite in
  */* | *.json)
    suite=$(realpath "$suite")
    sweep="$suite in $shards shards, $(cksum <"$suite")"
    ;;
esac
mkdir -p "$output"
cd "$output"
# The job log knows shards by their numbers only.
if [ -e joblog ] && [ "$(cat sweep)" != "$sweep" ]; then
  echo "over_ssh.sh: $output holds results of another suite, or of another number of shards; choose another folder" >&2
  exit 2
fi
echo "$sweep" >sweep
if [ -e merged ]; then
  echo "over_ssh.sh: $output/merged holds the results already" >&2
  exit
fi
# What a machine runs with the arguments SUITE SHARD SHARDS. Its results are in a temporary folder, and return as an
# archive on standard output.
# Exit code 4: some cells failed, and their results say why. That is no reason to run the shard again.
# shellcheck disable=SC2016  # the shell of the machine expands these
run_shard='
  folder=$(mktemp -d) || exit
  trap "rm -rf \"$folder\"" EXIT
  emplace run "$1" --shard "$2/$3" -o "$folder/shard-$2" --quiet >/dev/null || [ $? -eq 4 ] || exit
  tar -C "$folder" -cf - "shard-$2"'
# Otherwise parallel runs the SHELL of each machine. Where none is set, nothing runs and the job seems to end well.
export PARALLEL_SHELL=/bin/sh
if ! seq "$shards" | parallel --sshloginfile "$hosts" --jobs 1 --joblog joblog --resume-failed \
  --results "returned/{}/" --quote sh -c "$run_shard" sh "$suite" "{}" "$shards"; then
  grep -H "" returned/*/stderr >&2
  exit 1
fi
for shard in $(seq "$shards"); do
  if ! tar -xf "returned/$shard/stdout"; then
    echo "over_ssh.sh: $output/returned/$shard/stdout is not the archive of shard $shard;" \
      "remove $output/joblog and start again" >&2
    exit 1
  fi
done
seq --format "shard-%.0f" "$shards" | xargs emplace merge -o merged

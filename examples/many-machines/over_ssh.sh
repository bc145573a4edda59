#!/bin/bash
# Runs a suite on several machines by GNU parallel over ssh, and merges what they found:
#
#     over_ssh.sh SUITE SHARDS OUTPUT HOSTS
#
# HOSTS is a file with a machine on each line, as for `parallel --sshloginfile`; ":" is this machine. Each needs emplace
# on its PATH, and a suite that is a file under the same path. A machine runs one shard at a time, on all its cores. Give
# some more shards than machines, so that fast machines run more of them. Results come back when a shard has ended. Run
# again, it starts the shards that have not: what is done is in OUTPUT/joblog.
set -euo pipefail
if [ $# -ne 4 ]; then
  echo "usage: over_ssh.sh SUITE SHARDS OUTPUT HOSTS" >&2
  exit 2
fi
suite=$1 shards=$2 output=$3 hosts=$(realpath "$4")
mkdir -p "$output"
cd "$output"
# Exit code 4: some cells failed, and their results say why. That is no reason to run the shard again.
# shellcheck disable=SC2016  # the shell of the machine expands $?
seq "$shards" | parallel --sshloginfile "$hosts" --jobs 1 --joblog joblog --resume-failed --return "shard-{}" --cleanup \
  emplace run "$suite" --shard "{}/$shards" -o "shard-{}" --resume --quiet ">" /dev/null \
  "||" test '$?' -eq 4
seq --format "shard-%.0f" "$shards" | xargs emplace merge -o merged

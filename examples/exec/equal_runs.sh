#!/bin/sh
# An agent as a shell script that speaks the agent protocol of emplace: it cuts the groups into 1, 2, ... runs of equal
# length, each on a device of its own, and gives the best of these placements.
#
#     emplace place inception-v3 --cluster p2-8xlarge-2 --agent exec:examples/exec/equal_runs.sh
#
# Needs awk and sed only.
set -eu

echo '{"hello": "emplace-agent", "version": 1}'
read -r problem

# A line for each number of devices, with a placement as a JSON array.
placements=$(printf '%s\n' "$problem" | awk '
  {
    match($0, /"groups":{"count":[0-9]+/)
    groups = substr($0, RSTART + 18, RLENGTH - 18) + 0
    for (device = 0; match($0, /"placeable":(true|false)/); ++device) {
      if (substr($0, RSTART + 12, 1) == "t") devices[count++] = device
      $0 = substr($0, RSTART + RLENGTH)
    }
    for (used = 1; used <= count; ++used) {
      line = ""
      for (group = 0; group < groups; ++group)
        line = line "," devices[int(group * used / groups)]
      print "[" substr(line, 2) "]"
    }
  }')

printf '{"evaluate": [%s]}\n' "$(printf '%s' "$placements" | tr '\n' ',')"
read -r _evaluations
echo '{"best": true}'
read -r best

case $best in
'{"best":null'*) placement=$(printf '%s\n' "$placements" | head -n 1) ;; # the budget was 0
*) placement=$(printf '%s\n' "$best" | sed 's/.*"placement":\(\[[^]]*\]\).*/\1/') ;;
esac
printf '{"placement": %s}\n' "$placement"

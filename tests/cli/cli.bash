# Loaded by every *.bats file: the program under test is $EMPLACE, the source tree $EMPLACE_SOURCE_DIR.

bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
}

# answers CODE ARGUMENTS...: runs emplace; output is standard output, stderr standard error.
answers() {
  local code=$1
  shift
  run "-$code" --separate-stderr "$EMPLACE" "$@"
}

# refuses CODE TEXT ARGUMENTS...: emplace must fail with CODE, say nothing on standard output, and exactly
# one line on standard error, which holds TEXT.
refuses() {
  local code=$1 text=$2
  shift 2
  answers "$code" "$@"
  # shellcheck disable=SC2154  # stderr and stderr_lines are set by run
  if [ -n "$output" ] || [ "${#stderr_lines[@]}" -ne 1 ] || [[ "$stderr" != "emplace: "*"$text"* ]]; then
    printf 'expected one error line with: %s\nstdout: %s\nstderr: %s\n' "$text" "$output" "$stderr"
    return 1
  fi
}

# holds EXPRESSION...: each Python expression must be true of `d`, the JSON in $output.
holds() {
  python3 -c '
import json, sys
d = json.loads(sys.stdin.read())
for expression in sys.argv[1:]:
    if not eval(expression):
        sys.exit(f"not true: {expression}\n{json.dumps(d)[:2000]}")
' "$@" <<<"$output"
}

# lacks PATTERN: standard input must not hold it. (A line that begins with ! never fails a test.)
lacks() {
  if grep -q "$1"; then return 1; fi
}

# without_checksum FILE...: removes the checksums, as one must who changes a stored file by hand.
without_checksum() {
  sed -i -E 's/, *"crc32": *"[0-9a-f]{8}"\}$/}/' "$@"
}

# tiny_graph FILE: writes a graph of four ops, two of them on parallel branches.
tiny_graph() {
  cat >"$1" <<'END'
{"schema": "emplace-graph", "version": 1, "name": "tiny",
 "ops": [
  {"name": "x", "kind": "input", "outputs": [{"shape": [1000], "bytes": 4000}]},
  {"name": "left", "kind": "matmul", "shape": [64, 64, 64], "flops": 2000000000, "bytes_read": 4000,
   "bytes_written": 4000, "outputs": [{"shape": [1000], "bytes": 4000}]},
  {"name": "right", "kind": "matmul", "shape": [64, 64, 64], "flops": 2000000000, "bytes_read": 4000,
   "bytes_written": 4000, "outputs": [{"shape": [1000], "bytes": 4000}]},
  {"name": "sum", "kind": "add", "flops": 1000, "bytes_read": 8000, "bytes_written": 4000,
   "outputs": [{"shape": [1000], "bytes": 4000}]}],
 "edges": [[0, 0, 1], [0, 0, 2], [1, 0, 3], [2, 0, 3]]}
END
}

# suite FILE EVALUATIONS GRAPH: writes a suite with one deterministic and three random agents.
suite() {
  cat >"$1" <<END
{"schema": "emplace-suite", "version": 1, "name": "small",
 "graphs": ["$3"], "clusters": ["p2-8xlarge-2", "p2-8xlarge-4"],
 "agents": ["single-gpu", "random", "hill-climb", "simulated-annealing"],
 "repetitions": 2, "max_evaluations": $2}
END
}

#!/bin/sh
# Calibrates a machine with a GPU: run_on_gpu.sh FOLDER
# Runs from a folder that bundle.sh made, without network and packages, in under eight minutes, and
# leaves in FOLDER: report.txt, which says "pass" or what is off; self_test.txt and self_test.xml (every kernel
# and library call against the CPU's, and what was timed); profile.json of the whole GPU with its samples,
# halves.json of its halves and gpu_cpu.json of GPU and CPU; log.txt with all that was printed. Send back the
# whole folder. Exits with 1 if anything is off; what the others gave is there all the same.
set -eu

if [ $# != 1 ]; then
  echo "usage: run_on_gpu.sh FOLDER" >&2
  exit 2
fi
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$1"
out=$(readlink -f "$1")
parts="profile halves gpu_cpu"

# Where the machine keeps the libraries of CUDA in packages of Python, they are on no path. Whoever has them elsewhere
# names the folders: EMPLACE_CUDA_LIBRARIES=/a:/b
if [ -z "${EMPLACE_CUDA_LIBRARIES-}" ]; then
  EMPLACE_CUDA_LIBRARIES=$("$here/trusted_libraries.sh" /usr /opt)
  export EMPLACE_CUDA_LIBRARIES
fi
# Kernels are loaded before anything is timed, not at their first launch.
export CUDA_MODULE_LOADING=EAGER

export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

status=0
# complain TEXT: says what went wrong; the script goes on, and fails at its end.
complain() {
  echo "run_on_gpu: $1" | tee -a "$out/log.txt" >&2
  echo "off: $1" >>"$out/report.txt"
  status=1
}

# emplace ARGUMENTS...: ends as emplace does; a pipe would end as its last program, tee.
emplace() {
  {
    code=0
    "$here/emplace" "$@" 2>&1 || code=$?
    echo "$code" >"$out/exit_code"
  } | tee -a "$out/log.txt"
  code=$(cat "$out/exit_code")
  rm "$out/exit_code"
  return "$code"
}

# measure COMMAND ARGUMENTS...: a part that fails is no reason to leave without the others.
measure() {
  emplace "$@" || complain "emplace $* ended with $?"
}

begin=$(date +%s)
# What an earlier run left would pass for results of this one.
rm -f "$out/self_test.txt" "$out/self_test.xml" "$out/report.txt"
for part in $parts; do
  rm -f "$out/$part.json"
done
: >"$out/log.txt"
nvidia-smi >>"$out/log.txt" 2>&1 || true
emplace doctor || complain "emplace doctor ended with $?"
# Rates of kernels that compute something else are worth nothing; but a failure here is no reason to
# leave without any.
timeout 120 "$here/gpu_self_test" "--gtest_output=xml:$out/self_test.xml" >"$out/self_test.txt" 2>&1 ||
  complain "gpu_self_test ended with $?; self_test.txt says why"
tail -n 5 "$out/self_test.txt" | tee -a "$out/log.txt"

# recorded NAME: what a test of the self-test recorded under this name.
recorded() {
  sed -n "s/.*name=\"$1\" value=\"\([0-9.]*\)\".*/\1/p" "$out/self_test.xml" 2>/dev/null | head -n 1
}

# One product, timed in three ways: they must agree, or none is to be trusted.
cupti_us=$(recorded cupti_us)
events_us=$(recorded events_us)
torch_us=$(python3 "$here/time_product.py" 2>>"$out/log.txt" || true)
echo "a product of 4096 x 4096 x 4096 in bfloat16 takes" \
  "${cupti_us:-?} us by CUPTI, ${events_us:-?} us by events, ${torch_us:-?} us in PyTorch" |
  tee -a "$out/log.txt" "$out/report.txt"
echo "between kernels it pauses $(recorded gap_us) us; the host launches one in $(recorded host_us) us" |
  tee -a "$out/log.txt" "$out/report.txt"
for us in "$events_us" "$torch_us"; do
  if [ -n "$cupti_us" ] && [ -n "$us" ] && ! awk "BEGIN { exit !($us > 0.9 * $cupti_us && $us < 1.1 * $cupti_us + 5) }"; then
    complain "the ways to time the product differ by more than 10 %"
  fi
done
# The whole GPU; the GPU as two devices, for placements; and the GPU with the CPU, at a batch that
# the CPU manages.
measure calibrate --devices gpu inception-v3 nmt bert-base resnet-50 --name this-gpu \
  --save-samples "$out/profile.csv" --output "$out/profile.json"
measure calibrate --devices gpu/2 inception-v3 --name two-halves --output "$out/halves.json"
measure calibrate --devices gpu,cpu inception-v3:batch=8 --name gpu-and-cpu --output "$out/gpu_cpu.json"
for part in $parts; do
  if [ ! -s "$out/$part.json" ]; then
    complain "no $part.json; the log says why"
  fi
done
[ $status != 0 ] || echo pass >>"$out/report.txt"
echo "run_on_gpu: $(($(date +%s) - begin)) s, all in $out" | tee -a "$out/log.txt"
exit $status

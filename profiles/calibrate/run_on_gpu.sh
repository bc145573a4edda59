#!/bin/sh
# Calibrates a machine with a GPU and validates the result: run_on_gpu.sh FOLDER
# Runs from a folder that bundle.sh made, without network and packages, in under eight minutes, and
# leaves in FOLDER: self_test.txt (every kernel and library call against the CPU's); profile.json of the
# whole GPU, halves.json of its halves and gpu_cpu.json of GPU and CPU, each with its validation;
# activities.bin (what CUPTI recorded of the first ops, for tests); log.txt with all that was printed.
set -eu

if [ $# != 1 ]; then
  echo "usage: run_on_gpu.sh FOLDER" >&2
  exit 2
fi
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$1"
out=$(readlink -f "$1")

# Where the machine keeps the libraries of CUDA in packages of Python, they are on no path. Whoever has them elsewhere
# names the folders: EMPLACE_CUDA_LIBRARIES=/a:/b
if [ -z "${EMPLACE_CUDA_LIBRARIES-}" ]; then
  EMPLACE_CUDA_LIBRARIES=$("$here/trusted_libraries.sh" /usr /opt)
  export EMPLACE_CUDA_LIBRARIES
fi
# Kernels are loaded before anything is timed, not at their first launch.
export CUDA_MODULE_LOADING=EAGER

export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

emplace() {
  "$here/emplace" "$@" 2>&1 | tee -a "$out/log.txt"
}

begin=$(date +%s)
: >"$out/log.txt"
nvidia-smi >>"$out/log.txt" 2>&1 || true
emplace doctor
# Rates of kernels that compute something else are worth nothing; but a failure here is no reason to
# leave without any.
timeout 120 "$here/gpu_self_test" >"$out/self_test.txt" 2>&1 || true
tail -n 5 "$out/self_test.txt" | tee -a "$out/log.txt"
# The whole GPU; the GPU as two devices, for placements; and the GPU with the CPU, at a batch that
# the CPU manages.
emplace calibrate --devices gpu inception-v3 nmt bert-base resnet-50 --name this-gpu \
  --output "$out/profile.json" --record "$out/activities.bin" --validate inception-v3 vgg-16:batch=32 \
  --report "$out/validation.json"
emplace calibrate --devices gpu/2 inception-v3 --name two-halves --output "$out/halves.json" \
  --validate inception-v3 --report "$out/halves_validation.json"
emplace calibrate --devices gpu,cpu inception-v3:batch=8 --name gpu-and-cpu \
  --output "$out/gpu_cpu.json" --validate inception-v3:batch=8 --report "$out/gpu_cpu_validation.json"
status=0
for part in profile validation halves halves_validation gpu_cpu gpu_cpu_validation; do
  if [ ! -s "$out/$part.json" ]; then
    echo "run_on_gpu: no $part.json; the log says why" | tee -a "$out/log.txt" >&2
    status=1
  fi
done
echo "run_on_gpu: $(($(date +%s) - begin)) s, all in $out" | tee -a "$out/log.txt"
exit $status

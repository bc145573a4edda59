#!/bin/sh
# Makes a folder with all that a machine with a GPU needs to be calibrated: bundle.sh FOLDER
# Beside the program, its test on a GPU and run_on_gpu.sh it holds the libraries that such a machine may lack; glibc, the
# C++ run-time library and CUDA's own libraries are the machine's.
set -eu

if [ $# != 1 ]; then
  echo "usage: bundle.sh FOLDER" >&2
  exit 2
fi
root=$(dirname "$(readlink -f "$0")")/../..
mkdir -p "$1/lib"
folder=$(readlink -f "$1")

"$root/.ci/setup" build check
cd "$root"
cmake --preset bundle
cmake --build --preset bundle
cp build/bundle/emplace build/bundle/tests/calibrate/gpu/gpu_self_test profiles/calibrate/run_on_gpu.sh \
  profiles/calibrate/trusted_libraries.sh profiles/calibrate/time_product.py "$folder"
ldd build/bundle/emplace "$folder/gpu_self_test" | awk '$3 ~ "^/" { print $3 }' |
  grep -Ev '/(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+)\.so' |
  while read -r library; do
    cp -L "$library" "$folder/lib"
  done
strip "$folder/emplace" "$folder/gpu_self_test"
echo "bundle: $(du -sh "$folder" | cut -f1) in $folder"

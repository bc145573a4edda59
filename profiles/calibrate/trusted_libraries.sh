#!/bin/sh
# Prints the folders below some others that hold libraries of CUDA, as a path list: trusted_libraries.sh FOLDER...
# What is loaded runs with the rights of the caller, so only libraries count that nobody but root can replace: the file
# and each folder above it belong to root, and others may not write there (or, above its own folder, where the sticky
# bit is set: what is root's stays there; but in the folder itself others could add libraries).
set -eu

is_trusted() {
  path=$1
  while :; do
    if [ -n "$(find "$path" -maxdepth 0 \( ! -user root -o -perm /022 ! -perm -1000 \))" ]; then
      return 1
    fi
    if [ "$path" = / ]; then
      return 0
    fi
    path=$(dirname "$path")
  done
}

find "$@" -xdev \( -name 'libcudnn.so.9' -o -name 'libcublas.so.1[23]' -o -name 'libcupti.so.1[23]' \) 2>/dev/null |
  while read -r library; do
    # The file itself, and the link by which it is found.
    folder=$(readlink -f "$(dirname "$library")")
    if is_trusted "$(readlink -f "$library")" && is_trusted "$folder" &&
        [ -z "$(find "$folder" -maxdepth 0 -perm /022)" ]; then
      echo "$folder"
    fi
  done | sort -u | paste -sd: -

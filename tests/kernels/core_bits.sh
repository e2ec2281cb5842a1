#!/bin/sh
# The cores give the same bits from every compiler at every level of optimisation, with and without
# the processor's vectors and fused multiply-add, on aarch64, and on a GPU where there is one.
# usage: core_bits.sh SOURCE_DIR SCRATCH_DIR
set -eu
source=$1 scratch=$2
mkdir -p "$scratch"
common="-D_GNU_SOURCE -ffp-contract=off -Wall -Wextra -Werror -I$source/spec/include -I$source"
first=

check() { # name, hash
  echo "$1: $2"
  [ -n "$first" ] || first=$2
  [ "$2" = "$first" ] || { echo "core_bits: $1 differs from the first" >&2; exit 1; }
}

build() { # name, compiler and options
  name=$1
  shift
  "$@" $common "$source/tests/kernels/core_bits.c" -o "$scratch/core_bits" -lm
  check "$name" "$("$scratch/core_bits")"
}

for compiler in gcc clang; do
  if ! command -v $compiler >/dev/null; then
    echo "skipped: no $compiler"
    continue
  fi
  build "$compiler -O0" $compiler -std=c17 -O0
  build "$compiler -O3 -march=native" $compiler -std=c17 -O3 -march=native
done
[ -n "$first" ] || { echo "skipped: neither gcc nor clang"; exit 77; }

if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
  aarch64-linux-gnu-gcc -std=c17 -O3 -static $common "$source/tests/kernels/core_bits.c" -o "$scratch/core_bits_aarch64" -lm
  check "gcc, aarch64" "$(qemu-aarch64 "$scratch/core_bits_aarch64")"
else
  echo "skipped: no aarch64-linux-gnu-gcc, or no qemu-aarch64"
fi

if command -v nvcc >/dev/null; then
  # The host compiler's halves of the functions must compile too; warnings there are its own.
  nvcc -x cu --fmad=false -arch=sm_80 -O3 -I"$source/spec/include" -I"$source" -Xcompiler -ffp-contract=off \
    "$source/tests/kernels/core_bits.c" -o "$scratch/core_bits_cuda"
  echo "nvcc: compiles"
  if [ -e /dev/nvidia0 ]; then check "nvcc, on the device" "$("$scratch/core_bits_cuda")"
  else echo "skipped: no GPU to run the CUDA build on"; fi
else
  echo "skipped: no nvcc"
fi

#!/bin/sh
# The judge needs none of the kernels that it judges: it links without libphibal, with the catalogue and the
# floating-point environment alone, and is the judge: right results pass, a changed one does not. A judge that called
# a kernel would not link.
#   usage: judge_alone.sh SOURCE FOLDER PHIBAL LIBRARY... with the compiler in CC
set -eu
source=$1 folder=$2 phibal=$3
shift 3
mkdir -p "$folder"
cd "$folder"
fail() { echo "not ok: $*"; exit 1; }
for file in spec/status.c spec/potential.c kernels/cpu/environment.c kernels/cpu/isa.c; do
  ${CC:-cc} -std=c17 -D_GNU_SOURCE -fopenmp -I"$source/spec/include" -iquote "$source" -c "$source/$file"
done
link() { # PROGRAM OPTION...
  program=$1
  shift
  ${CC:-cc} -std=c17 -D_GNU_SOURCE -fopenmp -I"$source/spec/include" -iquote "$source" "$@" \
    "$source/tests/verify/judge_alone.c" -o "$program" $libraries status.o potential.o environment.o isa.o \
    -ljansson -lz -lmpfr -lgmp -lm
}
libraries="$*"
link judge_alone || fail "the judge needs more than the catalogue"
if link planted -DPLANTED 2>log; then fail "a kernel's call links"; fi
grep -q 'undefined reference.*phibal_ema' log || fail "not for phibal_ema: $(cat log)"

"$phibal" vectors --op ema --op price --cases 12 --out cases.safetensors --results results.safetensors --overwrite >log
./judge_alone cases.safetensors results.safetensors || fail "right results"
# The last byte is the sign and the exponent of the last element.
size=$(wc -c <results.safetensors)
cp results.safetensors wrong.safetensors
printf '\177' | dd of=wrong.safetensors bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
status=0
./judge_alone cases.safetensors wrong.safetensors || status=$?
[ $status -eq 1 ] || fail "a wrong element: $status"

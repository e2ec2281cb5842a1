#!/bin/sh
# Small training runs (training_bits.c) have the bits that training_bits.txt records, whatever compiled
# them, for whichever processor, with however many threads.
# usage: training_bits.sh SOURCE SCRATCH build PROGRAM   PROGRAM is the build's: with 1, 2 and 3 threads, and with
#                                                        each instruction set that the processor has
#        training_bits.sh SOURCE SCRATCH gcc|clang|aarch64   compiled anew: by gcc -O1, by clang, and for aarch64,
#                                                        which qemu-aarch64 runs
#        training_bits.sh SOURCE SCRATCH pin PROGRAM     records the bits of PROGRAM
set -eu
source=$(realpath "$1") how=$3 program=${4:-}
mkdir -p "$2"
scratch=$(realpath "$2") recorded=$source/tests/moe/train/training_bits.txt
# Threads share processors with whatever else runs.
export OMP_WAIT_POLICY=passive

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "training_bits: $*" >&2; exit 1; }
same() { # NAME COMMAND...
  name=$1
  shift
  "$@" >"$scratch/$how.out" || fail "$name: status $?"
  diff "$recorded" "$scratch/$how.out" >&2 || fail "$name: other bits than recorded"
  echo "$name: $(wc -l <"$recorded") runs, the recorded bits"
}

# The kernels, the model and what they need: no library but OpenMP's. What chooses among several instruction sets
# is left out, for here is one.
sources() {
  ls tests/moe/train/training_bits.c kernels/cpu/*.c moe/model/*.c moe/machine/arena.c moe/machine/random.c \
    moe/config/schedule.c moe/hf/hf_parts.c moe/lora/lora.c moe/lora/lora_dropout.c formats/sha256.c formats/file.c \
    spec/status.c spec/potential.c | grep -v /dispatch.c
}
compile() { # COMPILER OPTION...: $scratch/$how
  rm -rf "$scratch/$how.objects"
  mkdir -p "$scratch/$how.objects"
  cd "$source"
  for file in $(sources); do
    echo "-c $file -o $scratch/$how.objects/$(echo "$file" | tr / _).o"
  done | xargs -L 1 -P 2 "$@" -D_GNU_SOURCE -std=c17 -ffp-contract=off -fno-math-errno -fno-trapping-math -fopenmp \
    -Ispec/include -iquote . || fail "$how: does not compile"
  "$@" -fopenmp "$scratch/$how.objects"/*.o -o "$scratch/$how" -lm 2>"$scratch/$how.link" ||
    { cat "$scratch/$how.link" >&2; fail "$how: does not link"; }
}

case $how in
pin)
  OMP_NUM_THREADS=1 "$program" >"$scratch/pin.out" || fail "status $?"
  cp "$scratch/pin.out" "$recorded"
  ;;
build)
  for threads in 1 2 3; do
    same "$threads threads" env OMP_NUM_THREADS=$threads "$program"
  done
  for isa in x86-64-v2 x86-64-v3 x86-64-v4; do
    if PHIBAL_ISA=$isa "$program" - 2>"$scratch/refused"; then
      same "PHIBAL_ISA=$isa" env PHIBAL_ISA=$isa OMP_NUM_THREADS=2 "$program"
    else
      echo "skipped: $(cat "$scratch/refused")"
    fi
  done
  ;;
gcc)
  command -v gcc >/dev/null || skip "no gcc"
  compile gcc -O1
  same "gcc -O1" env OMP_NUM_THREADS=2 "$scratch/gcc"
  ;;
clang)
  command -v clang >/dev/null || skip "no clang"
  echo '#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }' >"$scratch/openmp.c"
  clang -fopenmp "$scratch/openmp.c" -o "$scratch/openmp" 2>/dev/null || skip "clang has no OpenMP (libomp-dev)"
  compile clang -O2
  same "clang -O2" env OMP_NUM_THREADS=2 "$scratch/clang"
  ;;
aarch64)
  command -v aarch64-linux-gnu-gcc >/dev/null || skip "no aarch64-linux-gnu-gcc"
  command -v qemu-aarch64 >/dev/null || skip "no qemu-aarch64"
  compile aarch64-linux-gnu-gcc -O2 -static
  same "aarch64" env OMP_NUM_THREADS=2 qemu-aarch64 "$scratch/aarch64"
  ;;
*) fail "no such way: $how" ;;
esac

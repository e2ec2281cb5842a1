#!/bin/sh
# The runs behind the comparison of balancing methods in moe/RESULTS.md, on one core, in this folder, which has data/debian.
# Three seeds of all first, then the others: what is finished has the same seeds throughout. Begun again, it goes on.
# usage: methods.sh PHIBAL SWEEPS I/N      (SWEEPS: moe/sweeps; of N processes that share the runs this is the I-th)
set -eu
export OMP_NUM_THREADS=1
for seeds in 3 5; do
  for sweep in methods change; do
    "$1" sweep "$2/$sweep.yaml" --seeds "$seeds" --part "$3" --quiet
  done
done

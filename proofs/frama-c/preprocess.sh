#!/bin/sh
# preprocess.sh INPUT OUTPUT OPTION... : the preprocessor that Frama-C calls, annotations kept.
# Frama-C 25 does not parse OpenMP's pragmas: what it proves is the sequential reading of the code.
set -eu
input=$1
output=$2
shift 2
gcc -E -C -I. "$@" "$input" | sed 's/^ *#pragma \(omp\|GCC\) .*//' >"$output"

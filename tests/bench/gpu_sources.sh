#!/bin/sh
# What bench/gpu.sh compiles of the CPU's by its own list is all that its program needs: linked here with the kernels
# that are compiled for the host, as on a device with those of nvcc.
# usage: gpu_sources.sh SOURCE FOLDER BENCH.p KERNELS.p
set -eu
source=$1 folder=$2 bench=$3 kernels=$4
rm -rf "$folder"
mkdir -p "$folder"
for file in $("$source/bench/gpu.sh" --host-sources); do
  cc -std=c17 -D_GNU_SOURCE -O0 -fopenmp -I"$source/spec/include" -iquote "$source" -c "$source/$file" \
    -o "$folder/$(basename "$file").o"
done
c++ -fopenmp "$folder"/*.o $(ls "$bench"/*gpu_*.o) $(ls "$kernels"/*.o | grep -v cuda_plugin | grep '\.cpp\.o') \
  -lboost_context -lm -o "$folder/bench_gpu"

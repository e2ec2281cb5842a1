#!/bin/sh
# One command for a machine with a CUDA device: builds the CUDA kernels for it, compares them with the
# CPU's bit for bit, measures, runs compute-sanitizer over the comparison, compares with PyTorch where Python has
# it, and runs `phibal verify --backend cuda` and training beside the CPU's where meson and MPFR are there.
#   usage: bench/gpu.sh [--seconds SECONDS] [--folder FOLDER] [--build-only] [STEP...]
#          bench/gpu.sh --host-sources
# Ends within SECONDS (600). Steps run in the order of what is worth most; one without time is named "left out", and
# a later call with its name goes on from the programs in FOLDER (build-gpu), where results are too. --build-only builds
# for compute capability 9.0 where there is no device; FOLDER can then go to a machine that has one, beside this tree.
# Needs nvcc, gcc, cuBLAS and the CUDA runtime only. Exit status 1 if anything failed, 3 if something was left out,
# 2 for wrong usage, 77 without a device.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/bench/steps.sh"
all="build check memcheck programs train model_steps bench verify variants torch racecheck ranks adapters counters"
# What the comparison needs of the CPU's sources; a test links a program of these.
host_sources="spec/status.c spec/potential.c verify/cases.c kernels/cpu/environment.c kernels/cpu/isa.c
  kernels/cpu/loads.c kernels/cpu/router_forward.c kernels/cpu/router_backward.c kernels/cpu/permutation.c
  kernels/cpu/gather.c kernels/cpu/balance.c kernels/cpu/balance_price.c kernels/cpu/balance_loss.c
  kernels/cpu/combine.c moe/model/norm.c moe/model/rope.c moe/model/optimizer.c"
seconds=600 work=$root/build-gpu build_only='' wanted=''
usage() {
  echo "usage: gpu.sh [--seconds SECONDS] [--folder FOLDER] [--build-only] [STEP...]; steps: $all" >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
  --seconds | --folder)
    [ $# -gt 1 ] || usage
    if [ "$1" = --folder ]; then work=$2; else seconds=$2; fi
    shift
    ;;
  --build-only) build_only=yes ;;
  --host-sources)
    echo "$host_sources"
    exit
    ;;
  *)
    case " $all " in *" $1 "*) wanted="$wanted $1" ;; *) usage ;; esac
    ;;
  esac
  shift
done
case $seconds in '' | *[!0-9]*) usage ;; esac
results=$work/results

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "gpu.sh: no nvcc" >&2; exit 77; }
architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
if [ -z "$architecture" ]; then
  [ -n "$build_only" ] || { echo "gpu.sh: no CUDA device" >&2; exit 77; }
  architecture=90
fi

# Of what tree and for what device: programs that are of another are made anew.
stamp() {
  echo "$architecture $(cd "$root" && find . \( -path './build*' -o -path './.mesonpy-*' -o -path ./shared -o -name .git \
    -o -name __pycache__ \) -prune -o -type f -print | LC_ALL=C sort | xargs -d '\n' cksum | cksum)"
}
is_made() { [ "$(cat "$work/$1.of" 2>/dev/null)" = "$(stamp)" ]; } # bench_gpu | meson

build() {
  ! is_made bench_gpu || { echo "as it was built"; return; }
  host="-D_GNU_SOURCE -O3 -fopenmp -ffp-contract=off -fno-math-errno -fno-trapping-math"
  device="-std=c++17 -O3 --fmad=false -Xcompiler=-ffp-contract=off"
  device="$device -gencode=arch=compute_$architecture,code=sm_$architecture"
  cudnn=
  rm -f "$work"/*.o
  if "$nvcc" -shared -x cu -include cudnn.h /dev/null -lcudnn -o "$work/cudnn_found.so" 2>/dev/null; then
    device="$device -DPHIBAL_HAVE_CUDNN=1" cudnn=-lcudnn
  fi
  {
    for source in $host_sources; do
      echo "gcc -std=c17 $host -I$root/spec/include -iquote $root -c $root/$source -o $work/$(basename $source).o"
    done
    # What takes longest comes first.
    for source in $(ls -S "$root"/kernels/cuda/router_*.cu) \
      $(ls "$root"/kernels/cuda/*.cu | grep -v /router_) "$root"/bench/gpu_*.cu; do
      echo "$nvcc $device -I$root/spec/include -I$root -c $source -o $work/$(basename $source).o"
    done
  } | tr '\n' '\0' | xargs -0 -P "$(nproc)" -I{} sh -c '{}' || return 1
  "$nvcc" "$work"/*.o -o "$work/bench_gpu" -Xcompiler=-fopenmp -lcublas -lcublasLt $cudnn -lm && stamp >"$work/bench_gpu.of"
}

# What the steps need of earlier ones, and of the machine: libraries that came with the programs, and NVIDIA's where only
# PyTorch has them.
libraries() { # FOLDER
  nvidia=$(python3 -c 'import glob, nvidia; print(*glob.glob(list(nvidia.__path__)[0] + "/*/lib"), sep=":")' 2>/dev/null)
  paths=
  for path in "${1:-}" "${LD_LIBRARY_PATH:-}" "$nvidia"; do # an empty entry would be the current folder
    paths=$paths${path:+${paths:+:}$path}
  done
  export LD_LIBRARY_PATH="$paths"
}
built() {
  is_made bench_gpu || { echo "needs the step build"; return 75; }
  libraries
}
made() {
  is_made meson || { able && { echo "needs the step programs"; return 75; }; } || return
  libraries "$work/lib"
  export PHIBAL_CUDA_LIBRARY="$work/meson/kernels/cuda/libphibal-cuda.so"
}
able() {
  command -v meson >/dev/null && pkg-config --exists mpfr 2>/dev/null || { echo "no meson or no MPFR"; return 77; }
}

check() { built && "$work/bench_gpu" check; }
bench() { built && "$work/bench_gpu" bench; }

sanitize() {
  command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer"; return 77; }
  built || return
  # shellcheck disable=SC2086 # a word or none
  compute-sanitizer --tool "$1" --error-exitcode 1 "$work/bench_gpu" check 1 $2 >"$results/$1.log" 2>&1 && status=0 || status=$?
  cat "$results/$1.log"
  [ $status -eq 0 ] || ! grep -q "Device not supported" "$results/$1.log" || { echo "no device for compute-sanitizer"; return 77; }
  return $status
}
memcheck() { sanitize memcheck ""; }
racecheck() { sanitize racecheck router; } # of all it takes minutes, and the host looks for races too

# What the device's counters say of each kernel, once; the whole of it in results/counters.csv.
counters() {
  command -v ncu >/dev/null || { echo "no ncu"; return 77; }
  built || return
  metrics=gpu__time_duration.sum,sm__inst_executed.sum,sm__inst_issued.avg.pct_of_peak_sustained_active
  metrics=$metrics,sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active
  metrics=$metrics,sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active
  metrics=$metrics,dram__bytes_read.sum,dram__bytes_write.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
  metrics=$metrics,sm__warps_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread
  for reason in long_scoreboard short_scoreboard math_pipe_throttle wait barrier no_instruction not_selected lg_throttle \
    mio_throttle branch_resolving dispatch_stall; do
    metrics=$metrics,smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio
  done
  # The card's clocks are left as they are. Libraries' kernels are not asked: each takes a fifth of a second.
  ncu --clock-control none -k regex:_kernel --csv --page raw --print-units base --metrics "$metrics" "$work/bench_gpu" once \
    >"$results/counters.csv" 2>"$results/counters.error" && return
  tail -n 5 "$results/counters.csv" "$results/counters.error"
  ! grep -q 'LibraryNotLoaded\|ERR_NVGPUCTRPERM' "$results/counters.csv" "$results/counters.error" || {
    echo "ncu may not read the counters here"
    return 77
  }
  return 1
}

torch() {
  python3 -c 'import torch' 2>/dev/null || { echo "no PyTorch"; return 77; }
  python3 "$root/bench/gpu_torch.py"
}

# phibal itself; ninja takes up what a call that was stopped has made.
programs() {
  ! is_made meson || { echo "as they were built"; return; }
  able || return
  [ -f "$work/meson/build.ninja" ] ||
    meson setup "$work/meson" "$root" -Dgpu_architectures="$architecture" || return 1
  ninja -C "$work/meson" cli/phibal kernels/cuda/libphibal-cuda.so tests/formats/tensor_bytes bench/bench_train_step \
    bench/bench_step_launches || return 1
  rm -rf "$work/lib"
  if [ -n "$build_only" ]; then # for another machine, which has a C library, and CUDA's
    mkdir "$work/lib"
    for program in cli/phibal tests/formats/tensor_bytes bench/bench_train_step bench/bench_step_launches; do
      ldd "$work/meson/$program"
    done |
      awk '$3 ~ "^/" { print $3 }' | grep -v -e '/lib[cm]\.so' -e '/libstdc++' -e '/libgcc_s' | sort -u | xargs cp -t "$work/lib"
  fi
  stamp >"$work/meson.of"
}

verify() { made && "$work/meson/cli/phibal" verify --backend cuda; }

# Training beside the CPU's.
trained() { made && sh "$root/tests/moe/device/$1.sh" "$work/meson/cli/phibal" "$work/$1" cuda; }
train() { trained train_device; }
variants() { trained train_device_variants; }
adapters() { trained train_device_adapters; }

# One rank that goes through NCCL has the bits of a process alone; two ranks where there are two devices.
ranks() {
  made || return
  "$work/meson/cli/phibal" info | grep -q 'NCCL *left out' && { echo "built without NCCL"; return 77; }
  devices=$(nvidia-smi -L | wc -l)
  sh "$root/tests/moe/parallel/train_launched.sh" "$work/meson/cli/phibal" "$work/meson/tests/formats/tensor_bytes" "$work/ranks" \
    "$root" cuda $((devices > 1 ? 2 : 1))
}

# The whole training step of two of the paper's models, and PyTorch's of the same: CONFIG, sequences of a step, of
# a call, steps; those that do not fit the free memory are left out. Lines go to results/model_steps.txt one by one, so
# that those before a limit are there.
model_steps() {
  former=${LD_LIBRARY_PATH:-}
  made || return
  free=$(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits | head -n 1)
  for of in "111M 32 8 10" "986M 8 4 5"; do
    # shellcheck disable=SC2086 # words
    set -- $of
    needed=$("$work/meson/cli/phibal" train --dry-run --config "$1" --micro "$3" --device cuda \
      --set training.precision=bfloat16 --json | sed -n 's/.*"memory_bytes": \([0-9]*\).*/\1/p')
    [ -n "$needed" ] || { echo "$1: phibal does not say what it needs"; return 1; }
    needed=$((needed / 1048576 + 1024)) # MiB; and what CUDA and its libraries take
    [ "$free" -ge "$needed" ] || { echo "$1: left out: needs $needed MiB, $free are free"; continue; }
    echo "$1: $2 sequences a step, $3 a call"
    "$work/meson/bench/bench_train_step" "$1" cuda "$2" "$3" "$4" >"$work/$1.txt" || { cat "$work/$1.txt"; return 1; }
    cat "$work/$1.txt"
    "$work/meson/bench/bench_step_launches" --floor "$1" "$2" "$3" || return 1
    flops=$(sed -n 's/.* \([0-9.]*\) GFLOP a token.*/\1/p' "$work/$1.txt" | head -n 1)
    "$work/meson/bench/bench_train_step" "$1" cuda "$2" "$3" 0 >"$work/$1.yaml" || return 1
    LD_LIBRARY_PATH=$former python3 "$root/bench/gpu_torch_step.py" "$work/$1.yaml" "$4" "$flops"
    status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || return 1
  done
}

# A step runs a function of this script in a process of its own, which `timeout` can end.
if [ -n "${GPU_STEP:-}" ]; then "$GPU_STEP"; exit; fi
steps_begin "$seconds" "$results" || exit 1

limit_of() {
  case $1 in
  build) echo "$seconds" ;; # without it there is nothing
  programs | model_steps) echo 240 ;;
  variants) echo 180 ;; # some sixty runs
  train | adapters | verify) echo 120 ;;
  bench | torch | counters) echo 90 ;;
  *) echo 60 ;;
  esac
}

[ -z "$build_only" ] || wanted="build programs"
run() { # begin | step NAME
  "$1" "$2" "$(limit_of "$2")" env GPU_STEP="$2" sh "$root/bench/gpu.sh" --folder "$work" ${build_only:+--build-only}
}
# The host's cores make phibal while the device checks bench_gpu; nothing is timed before they are done.
beside=''
for next in ${wanted:-$all}; do
  [ "$next$wanted" != check ] || { run begin programs; beside=yes; }
  if [ "$next" = programs ] && [ -n "$beside" ]; then await programs; else run step "$next"; fi
  [ "$next" != build ] || [ -z "$failed" ] || break
done
for name in bench torch model_steps; do
  case "$begun " in *" $name "*) cat "$results/$name.txt" ;; esac
done
steps_end

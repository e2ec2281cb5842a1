#!/bin/sh
# One command for a machine with a CUDA device: builds the CUDA kernels for it, compares them with the
# CPU's bit for bit, runs compute-sanitizer over that, measures, compares with PyTorch where Python has
# it, and runs `phibal verify --backend cuda` where meson and MPFR are there. Meant for ten minutes; its
# steps are stopped after seventeen in all.
#   usage: bench/gpu.sh [--build-only] [FOLDER]     FOLDER (build-gpu): programs, and results in it
# Needs nvcc, gcc, cuBLAS and the CUDA runtime only. Exit status 1 if anything failed, 77 without a device.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build_only=
if [ "${1:-}" = --build-only ]; then build_only=yes; shift; fi
work=${1:-$root/build-gpu}
mkdir -p "$work/results" || exit 1
results=$work/results
failed=

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "gpu.sh: no nvcc" >&2; exit 77; }
architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
if [ -z "$architecture" ]; then
  [ -n "$build_only" ] || { echo "gpu.sh: no CUDA device" >&2; exit 77; }
  architecture=90
fi

# step NAME SECONDS COMMAND...: what it prints goes to results/NAME.txt, and its end to the terminal.
step() {
  name=$1 limit=$2
  shift 2
  timeout "$limit" "$@" >"$results/$name.txt" 2>&1
  status=$?
  case $status in
  0) echo "ok: $name" ;;
  77) echo "skipped: $name: $(tail -n 1 "$results/$name.txt")" ;;
  *)
    echo "not ok: $name: status $status"
    tail -n 5 "$results/$name.txt"
    failed=yes
    ;;
  esac
}

build() {
  host="-D_GNU_SOURCE -O3 -fopenmp -ffp-contract=off -fno-math-errno -fno-trapping-math"
  device="-std=c++17 -O3 --fmad=false -Xcompiler=-ffp-contract=off"
  device="$device -gencode=arch=compute_$architecture,code=sm_$architecture"
  cudnn=
  if "$nvcc" -shared -x cu -include cudnn.h /dev/null -lcudnn -o "$work/cudnn_found.so" 2>/dev/null; then
    device="$device -DPHIBAL_HAVE_CUDNN=1" cudnn=-lcudnn
  fi
  {
    for source in spec/status.c spec/potential.c fuzz/cases.c kernels/cpu/loads.c \
      kernels/cpu/router_forward.c kernels/cpu/router_backward.c kernels/cpu/permutation.c \
      kernels/cpu/balance.c kernels/cpu/balance_price.c kernels/cpu/balance_loss.c \
      kernels/cpu/combine.c moe/norm.c moe/rope.c moe/optimizer.c; do
      echo "gcc -std=c17 $host -I$root/spec/include -c $root/$source -o $work/$(basename $source).o"
    done
    # What takes longest comes first.
    for source in $(ls -S "$root"/kernels/cuda/router_*.cu) \
      $(ls "$root"/kernels/cuda/*.cu | grep -v /router_) "$root"/bench/gpu_*.cu; do
      echo "$nvcc $device -I$root/spec/include -I$root/fuzz -c $source -o $work/$(basename $source).o"
    done
  } | tr '\n' '\0' | xargs -0 -P "$(nproc)" -I{} sh -c '{}' || return 1
  "$nvcc" "$work"/*.o -o "$work/bench_gpu" -Xcompiler=-fopenmp -lcublas -lcublasLt $cudnn -lm
}

sanitize() {
  command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer"; return 77; }
  compute-sanitizer --tool "$1" --error-exitcode 1 "$work/bench_gpu" check 1
}

torch() {
  python3 -c 'import torch' 2>/dev/null || { echo "no PyTorch"; return 77; }
  python3 "$root/bench/gpu_torch.py"
}

configure() {
  [ -f "$work/meson/build.ninja" ] ||
    meson setup "$work/meson" "$root" -Dgpu_architectures="$architecture"
}

verify() {
  command -v meson >/dev/null && pkg-config --exists mpfr 2>/dev/null ||
    { echo "no meson or no MPFR: the bits are compared above"; return 77; }
  configure || return 1
  ninja -C "$work/meson" cli/phibal kernels/cuda/libphibal-cuda.so tests/tensor_bytes &&
    "$work/meson/cli/phibal" verify --backend cuda
}

# Ten steps of training beside the CPU's.
train() {
  [ -x "$work/meson/cli/phibal" ] || { echo "not built: see verify"; return 77; }
  sh "$root/tests/train_device.sh" "$work/meson/cli/phibal" "$work/train" "$root" cuda
}

# One rank that goes through NCCL has the bits of a process alone; two ranks where there are two devices.
ranks() {
  [ -x "$work/meson/cli/phibal" ] || { echo "not built: see verify"; return 77; }
  "$work/meson/cli/phibal" info | grep -q 'NCCL *left out' && { echo "built without NCCL"; return 77; }
  devices=$(nvidia-smi -L | wc -l)
  sh "$root/tests/train_launched.sh" "$work/meson/cli/phibal" "$work/meson/tests/tensor_bytes" "$work/ranks" \
    "$root" cuda $((devices > 1 ? 2 : 1))
}

# The whole training step of two of the paper's models, and PyTorch's of the same: CONFIG, sequences of a step, of
# a call, steps. Lines go to results/model_steps.txt one by one, so that those before a limit are there.
model_steps() {
  command -v meson >/dev/null || { echo "no meson"; return 77; }
  configure && ninja -C "$work/meson" bench/bench_train_step kernels/cuda/libphibal-cuda.so >/dev/null || return 1
  for of in "111M 32 8 10" "986M 8 4 5"; do
    # shellcheck disable=SC2086 # words
    set -- $of
    echo "$1: $2 sequences a step, $3 a call"
    "$work/meson/bench/bench_train_step" "$1" cuda "$2" "$3" "$4" >"$work/$1.txt" || { cat "$work/$1.txt"; return 1; }
    cat "$work/$1.txt"
    flops=$(sed -n 's/.* \([0-9.]*\) GFLOP a token.*/\1/p' "$work/$1.txt" | head -n 1)
    "$work/meson/bench/bench_train_step" "$1" cuda "$2" "$3" 0 >"$work/$1.yaml" || return 1
    python3 "$root/bench/gpu_torch_step.py" "$work/$1.yaml" "$4" "$flops"
    status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || return 1
  done
}

# A step runs a function of this script in a process of its own, which `timeout` can end.
case ${GPU_STEP:-} in
build | torch | verify | train | ranks | model_steps) "$GPU_STEP"; exit ;;
memcheck | racecheck) sanitize "$GPU_STEP"; exit ;;
esac
again() { GPU_STEP=$1 step "$1" "$2" sh "$root/bench/gpu.sh" ${build_only:+--build-only} "$work"; }

again build 180
if [ -n "$build_only" ] || [ -n "$failed" ]; then [ -z "$failed" ]; exit; fi
step check 60 "$work/bench_gpu" check
step bench 90 "$work/bench_gpu" bench
again memcheck 60
again racecheck 60
again torch 90
again verify 120
again train 60
again ranks 60
again model_steps 240
cat "$results/bench.txt"
[ ! -s "$results/torch.txt" ] || cat "$results/torch.txt"
[ ! -s "$results/model_steps.txt" ] || cat "$results/model_steps.txt"
[ -z "$failed" ]

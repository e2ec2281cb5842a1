#!/bin/sh
# bench/gpu.sh from its first step to its last, without a device: what it calls is played by programs that note how
# they were called, and that refuse what the real ones would. `phibal` and ninja's targets are real.
# usage: gpu_rehearsal.sh SOURCE FOLDER BUILD PHIBAL
set -eu
source=$(realpath "$1") folder=$2 build=$(realpath "$3") phibal=$(realpath "$4")
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/tree/bench" "$folder/tree/tests/moe/device" "$folder/tree/tests/moe/parallel"
cd "$folder"
folder=$PWD called=$PWD/called
fail() { echo "FAIL: $*" >&2; exit 1; }

# The repository, with tests of training that only look at how they are called.
for part in spec kernels verify moe; do ln -s "$source/$part" "tree/$part"; done
cp "$source"/bench/gpu* "$source"/bench/steps.sh tree/bench/
for test in device/train_device device/train_device_variants device/train_device_adapters parallel/train_launched; do
  [ -x "$source/tests/moe/$test.sh" ] || fail "no $test.sh"
  cat >"tree/tests/moe/$test.sh" <<'END'
[ -x "$1" ] || { echo "no program $1"; exit 1; }
echo "$(basename "$0" .sh) $(echo "$*" | sed 's/.* \(cuda\b\)/\1/')" >>"$CALLED"
END
done

touch libmpfr.so.6
play() { cat >"bin/$1"; chmod +x "bin/$1"; } # NAME: what is read
play nvidia-smi <<'END'
#!/bin/sh
case $* in
"--query-gpu=compute_cap --format=csv,noheader") echo 9.0 ;;
"--query-gpu=memory.free --format=csv,noheader,nounits") echo "$FREE" ;;
-L) echo "GPU 0: one" ;;
*) echo "nvidia-smi $*" >&2; exit 1 ;;
esac
END
play gcc <<'END'
#!/bin/sh
while [ "$1" != -c ]; do shift; done
[ -s "$2" ] && [ "$3" = -o ] && echo gcc >"$4"
END
play nvcc <<'END'
#!/bin/sh
case " $* " in
*cudnn.h*) exit 1 ;;
*" -c "*)
  case "$*" in
  *--fmad=false*-gencode=arch=compute_90,code=sm_90*) ;;
  *) echo "nvcc $*" >&2; exit 1 ;;
  esac
  while [ "$1" != -c ]; do shift; done
  [ -s "$2" ] && [ "$(basename "$2")" != "${BROKEN:-}" ] && [ "$3" = -o ] && echo nvcc >"$4"
  ;;
*" -lcublas -lcublasLt "*) # the program, of all that was compiled
  for object; do case $object in *.o) cat "$object" || exit 1 ;; esac; done | sort | uniq -c >>"$CALLED"
  while [ "$1" != -o ]; do shift; done
  printf '#!/bin/sh\necho "bench_gpu $*" >>"$CALLED"\nsleep ${SECONDS_OF_BENCH:-0}\necho "bench_gpu $*"\n' >"$2"
  chmod +x "$2"
  ;;
*) echo "nvcc $*" >&2; exit 1 ;;
esac
END
play compute-sanitizer <<'END'
#!/bin/sh
[ "$1 $3 $4" = "--tool --error-exitcode 1" ] || exit 1
echo "sanitizer $2" >>"$CALLED"
[ -z "${REFUSED:-}" ] || { echo "$REFUSED"; exit 1; }
shift 4
exec "$@"
END
play ncu <<'END'
#!/bin/sh
[ -z "${REFUSED:-}" ] || { echo "$REFUSED"; exit 1; }
for word; do case $word in */bench_gpu) exec "$word" once ;; esac; done
exit 1
END
play python3 <<'END'
#!/bin/sh
case $1 in
-c) [ "$2" = "import torch" ] ;;
*.py) [ -s "$1" ] && echo "$(basename "$1") $(basename "${2:-}")" | tee -a "$CALLED" ;;
esac
END
play ldd <<'END'
#!/bin/sh
[ -x "$1" ] || exit 1
echo "	libmpfr.so.6 => $FOLDER/libmpfr.so.6 (0x1)"
echo "	libc.so.6 => $FOLDER/libc.so.6 (0x1)"
END
play pkg-config <<'END'
#!/bin/sh
[ "$*" = "--exists mpfr" ] && [ -z "${NO_MPFR:-}" ]
END
play meson <<'END'
#!/bin/sh
[ "$1 $4" = "setup -Dgpu_architectures=90" ] && [ -d "$3/kernels" ] && mkdir -p "$2" && touch "$2/build.ninja"
END
# Targets are those of the real build; what they make is phibal, whose device is the host's CUDA, and programs that note.
play ninja <<'END'
#!/bin/sh
[ "$1" = -C ] || exit 1
folder=$2
shift 2
for target; do
  [ "$target" = kernels/cuda/libphibal-cuda.so ] || "$NINJA" -C "$BUILD" -t query "$target" >/dev/null || exit 1
  mkdir -p "$(dirname "$folder/$target")"
  printf '#!/bin/sh\necho "%s $*" >>"$CALLED"\necho "of 0.9 GFLOP a token"\n' "$target" >"$folder/$target"
  chmod +x "$folder/$target"
done
cat >"$folder/cli/phibal" <<'ENDED'
#!/bin/sh
case :$LD_LIBRARY_PATH: in *::*) exit 1 ;; esac
case $LD_LIBRARY_PATH:$PHIBAL_CUDA_LIBRARY in *build-gpu/lib*:*libphibal-cuda.so) ;; *) exit 1 ;; esac
unset LD_LIBRARY_PATH PHIBAL_CUDA_LIBRARY
case $1 in
train) exec "$PHIBAL" $(echo "$*" | sed 's/--device cuda/--device host-cuda/') ;;
info) echo "NCCL 2.29" ;;
*) echo "phibal $*" >>"$CALLED" ;;
esac
ENDED
echo programs >>"$CALLED"
END

ninja=$(command -v ninja || command -v ninja-build || command -v samu) || { echo "no ninja"; exit 77; }
# rehearse STATUS ARGUMENT...: with variables that the caller sets.
rehearse() {
  expected=$1 ended=0
  shift
  : >"$called"
  env FOLDER="$folder" PATH="$folder/bin:$PATH" CALLED="$called" NINJA="$ninja" BUILD="$build" PHIBAL="$phibal" \
    FREE="${free:-140000}" NO_MPFR="${no_mpfr:-}" REFUSED="${refused:-}" BROKEN="${broken:-}" SECONDS_OF_BENCH="${slow:-0}" \
    sh "$folder/tree/bench/gpu.sh" "$@" >log 2>error || ended=$?
  [ "$ended" -eq "$expected" ] || { cat log error >&2; fail "status $ended, not $expected"; }
}
said() { grep -qxF -- "$1" log || { cat log >&2; fail "no '$1'"; }; }
noted() { grep -qxF -- "$1" "$called" || { cat "$called" >&2; fail "not called: $1"; }; }

# Everything, on a card of 141 GB: in this order, none left out, and phibal is made while the device checks.
slow=1
rehearse 0
steps="build check memcheck programs train model_steps bench verify variants torch racecheck ranks adapters counters"
for name in $steps; do echo "ok: $name"; done >order
grep '^ok: ' log | diff order - || fail "other steps"
for call in "bench_gpu check" "sanitizer memcheck" "bench_gpu check 1" "train_device cuda" "bench_gpu bench" \
  "bench/bench_train_step 111M cuda 32 8 10" "bench/bench_step_launches --floor 111M 32 8" \
  "bench/bench_train_step 986M cuda 8 4 5" "gpu_torch_step.py 111M.yaml" \
  "phibal verify --backend cuda" "train_device_variants cuda" "gpu_torch.py " "sanitizer racecheck" \
  "bench_gpu check 1 router" "train_launched cuda 1" "train_device_adapters cuda" "bench_gpu once"; do noted "$call"; done
sources=$(ls "$source"/kernels/cuda/*.cu "$source"/bench/gpu_*.cu | wc -l)
noted "$(printf '%7d nvcc' "$sources")"
noted "$(printf '%7d gcc' "$("$source/bench/gpu.sh" --host-sources | wc -w)")"
awk '/^programs/ { made = NR } /^bench_gpu check 1$/ { checked = NR } END { exit !(made && made < checked) }' "$called" ||
  fail "programs are not made beside the checks"
slow=0

# Of 80 GB only the model that fits, by what phibal says that it needs.
free=80000
rehearse 0 model_steps
grep -qx '986M: left out: needs [0-9]* MiB, 80000 are free' log || { cat log >&2; fail "986M in 80 GB"; }
noted "bench/bench_train_step 111M cuda 32 8 10"
if grep -q 'bench_train_step 986M' "$called"; then fail "986M was begun in 80 GB"; fi
free=140000

# A later call goes on from what is built; in a folder without it names what it needs.
rehearse 0 torch ranks
printf 'ok: %s\n' torch ranks >order
grep -v '^gpu_torch' log | diff order - || fail "a later call"
rehearse 3 --folder "$folder/empty" check
said "left out: check: needs the step build"

# Tools that the machine does not let work are skipped by name; any other error of theirs is one.
refused="========= Error: Device not supported. ==ERROR== Failed to initialize the profiler: LibraryNotLoaded"
rehearse 0 memcheck counters
said "skipped: memcheck: no device for compute-sanitizer"
said "skipped: counters: ncu may not read the counters here"
refused="========= Invalid __global__ read of size 4 bytes"
rehearse 1 memcheck counters
for name in memcheck counters; do said "not ok: $name: status 1"; done
refused=

# What was built of this tree is not built again, nor are programs of another one run: without meson or MPFR they are
# skipped, with them they are made anew.
no_mpfr=1
rehearse 0 build programs verify
printf 'ok: %s\n' build programs verify >order
diff order log || fail "programs of this tree"
if grep -q -e nvcc -e programs "$called"; then fail "built again"; fi
echo >>tree/bench/gpu_main.cu
rehearse 3 verify check
said "skipped: verify: no meson or no MPFR"
said "left out: check: needs the step build"
no_mpfr=
rehearse 0 build programs verify
noted programs

# Without meson or MPFR what needs no more than nvcc still runs; a source that does not compile ends all.
no_mpfr=1
rm -r tree/build-gpu
rehearse 0
for name in programs train model_steps verify variants ranks adapters; do
  said "skipped: $name: no meson or no MPFR"
done
for name in build check memcheck bench torch racecheck counters; do said "ok: $name"; done
no_mpfr=
broken=norm.cu
echo >>tree/bench/gpu_main.cu
rehearse 1
[ "$(cat log)" = "not ok: build: status 1" ] || { cat log >&2; fail "a build that fails"; }

# Nothing is done without a device, or for wrong words.
broken=
device=$(cat bin/nvidia-smi)
rm bin/nvidia-smi
rehearse 77
rehearse 0 --build-only
rehearse 2 --seconds soon
rehearse 2 checks

# What --build-only has built runs where there is a device, with its libraries, and no meson.
echo "$device" | play nvidia-smi
no_mpfr=1
rehearse 0 verify train
[ "$(ls tree/build-gpu/lib)" = libmpfr.so.6 ] || fail "other libraries"
echo "bench/gpu.sh, rehearsed"

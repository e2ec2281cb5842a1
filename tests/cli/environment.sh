#!/bin/sh
# The floating-point environment: with a library preloaded that sets flush-to-zero, or another rounding,
# training leaves the same bits, audits say the same, verify keeps its bounds, and each says what it undid.
# Unit: phibal_environment_changed knows every setting (test_environment).
# usage: environment.sh PHIBAL FOLDER SOURCE
set -eu
phibal=$(realpath "$1") folder=$2 source=$3
[ "$(uname -m)" = x86_64 ] || { echo "skipped: written for x86-64"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder/text"
cd "$folder"
. "$source/tests/moe/runs.sh"

cp "$source/spec/SPEC.md" "$source/spec/ERRATA.md" "$source/README.md" text/
"$phibal" data build --out data --domain text=text/ >log 2>error || fail "data build"

# What a library made with -ffast-math does as it is loaded, and what a careless one could.
preload() { # NAME STATEMENT
  printf '#include <fenv.h>\n#include <xmmintrin.h>\n__attribute__((constructor)) static void f(void) { %s; }\n' \
    "$2" >"$1.c"
  ${CC:-cc} -shared -fPIC "$1.c" -o "$1.so" -lm
}
preload flush-to-zero '_mm_setcsr(_mm_getcsr() | 0x8000)'
preload denormals-are-zero '_mm_setcsr(_mm_getcsr() | 0x0040)'
preload rounding.upward 'fesetround(FE_UPWARD)'
preload rounding.downward 'fesetround(FE_DOWNWARD)'
preload rounding.towards.zero 'fesetround(FE_TOWARDZERO)'
${CC:-cc} -std=c17 -O1 -fPIC -shared -I"$source/spec/include" "$source/examples/plugin/router.c" -o plugin.so -lm

run() { # FOLDER: all of it, with what is preloaded
  mkdir "$1"
  "$phibal" train --config tiny --data data/train.tokens --steps 3 --batch 2 --quiet --threads 3 \
    --set model.layers=2 --set model.sequence=64 --set checkpoint.keep=1 --out "$1/run" >"$1/train" 2>"$1/error" ||
    fail "train under $1"
  rm -f "$1"/run/checkpoints/*/checkpoint.json
  "$phibal" verify --op ema --op price --op exp --cases 40 >"$1/verify" 2>>"$1/error" || fail "verify under $1"
  "$phibal" verify --plugin ./plugin.so --op loss-free --cases 10 >"$1/plugin" 2>>"$1/error" || fail "plugin under $1"
  "$phibal" audit --potential softplus --quick --skip dynamics --skip convexity --json >"$1/audit" 2>>"$1/error" ||
    fail "audit under $1"
  grep -o '"underflow": [0-9]*' "$1/audit" >"$1/underflow"
}
run plain
[ ! -s plain/error ] || fail "a line on standard error where nothing was changed: $(cat plain/error)"
for library in *.so; do
  name=${library%.so}
  [ "$name" != plugin ] || continue
  export LD_PRELOAD="$folder/$library"
  run "$name"
  unset LD_PRELOAD
  [ "$(grep -c "had set $name; this has been reset" "$name/error" | sed 's/\./ /g')" -ge 4 ] || fail "no word of $name"
  for file in plain/run/checkpoints/*/*.safetensors; do
    cmp "$file" "$name/${file#plain/}" || fail "other bits under $name"
  done
  cmp plain/underflow "$name/underflow" || fail "another audit under $name"
done
echo "ok: the same bits under five environments"

#!/bin/sh
# Little address space (ulimit -v) and small files (ulimit -f): a right answer, or a line and exit
# status 2; never a hang, never a signal, and what existed stays whole.
#   usage: limits.sh PHIBAL FOLDER
set -eu
phibal=$(realpath "$1") folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
fail() { echo "FAIL: $*" >&2; exit 1; }

# limited KIND BLOCKS COMMAND...: its status in `got`
limited() {
  kind=$1 size=$2
  shift 2
  got=0
  (ulimit "$kind" "$size" && exec timeout -s KILL 60 "$phibal" "$@" >out 2>err) || got=$?
}

# A build with AddressSanitizer reserves terabytes of addresses.
if nm "$phibal" 2>/dev/null | grep -q __asan_init; then echo "skipped: a sanitizer's build"; exit 77; fi

# Memory: enough for the libraries is enough to begin.
"$phibal" --version >version
for size in 100000 150000 200000 250000 300000 400000 1000000; do
  limited -v $size --version
  [ $got -eq 0 ] && cmp out version || fail "--version in $size kB: status $got: $(cat out err)"
done

# Files: a result that does not fit is named by its error, and an older one stays.
mkdir text
yes 'a line of text, and of others too' | head -c 300000 >text/one.txt
echo old >page.html
limited -f 1 audit --potential euclid --quick --skip core,conjugate,legendre --html page.html --overwrite
[ $got -eq 2 ] && grep -q "File too large" err || fail "--html: status $got: $(cat err)"
[ "$(cat page.html)" = old ] || fail "--html: the page that was there is gone"
limited -f 4 data build --out data --domain text=text/
[ $got -eq 2 ] && grep -q "File too large" err || fail "data build: status $got: $(cat err)"
"$phibal" data build --out whole --domain text=text/ >/dev/null
train="train --config tiny --data whole/train.tokens --steps 2 --batch 2 --quiet --threads 2"
limited -f 64 $train --out run
[ $got -eq 2 ] && grep -q "File too large" err || fail "train: status $got: $(cat err)"
limited -f 1 vectors --op all --out cases.safetensors
[ $got -eq 2 ] && grep -q "File too large" err || fail "vectors: status $got: $(cat err)"
[ ! -e cases.safetensors ] || fail "vectors: part of a file"

# Training: the right answer, or a line.
export OMP_NUM_THREADS=2
"$phibal" $train --out enough >/dev/null
for size in 400000 600000 700000 800000 1000000 1400000 2000000; do
  limited -v $size $train --out run --overwrite
  case $got in
  0) cmp enough/training.safetensors run/training.safetensors 2>/dev/null ||
       [ "$(sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' enough/metrics.jsonl)" = \
         "$(sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' run/metrics.jsonl)" ] || fail "train in $size kB: other losses" ;;
  2) [ "$(wc -l <err)" -eq 1 ] || fail "train in $size kB: $(cat err)" ;;
  *) fail "train in $size kB ends with $got: $(cat err)" ;;
  esac
  echo "train in $size kB: $got $(cat err)"
done
[ $got -eq 0 ] || fail "train in 2 GB: $(cat err)"

#!/bin/sh
# Kernels for several instruction sets in one program: each function has the plain name and one for
# each set, and no other; PHIBAL_ISA chooses among them or is refused; training gives the same bytes
# with each; no BLAS.
#   usage: isa.sh PHIBAL LIBRARIES_BUILD_ROOT FOLDER
set -eu
phibal=$(realpath "$1") root=$(realpath "$2") folder=$3
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
fail() { echo "FAIL: $*" >&2; exit 1; }
unset PHIBAL_ISA

# Names. A function without its row in a dispatched.def would have one name in three objects, and the
# linker would take any of them.
for isa in v2 v3 v4; do
  for objects in kernels/libphibal-$isa.a.p moe/libphibal-moe-$isa.a.p verify/libphibal-verify-$isa.a.p; do
    [ -d "$root/$objects" ] || continue # without MPFR
    nm "$root/$objects"/*.o | awk '$2 ~ /^[TDBRC]$/ && $3 !~ /^[.]gomp_critical/ {print $3}' >defined
    [ -s defined ] || fail "no functions in $objects"
    if grep -v "_$isa\$" defined >other; then fail "$objects: no row in dispatched.def: $(cat other)"; fi
  done
done
for archive in kernels/libphibal.a moe/libphibal-moe.a; do
  nm "$root/$archive" | awk '$2 == "T" {print $3}' | sort >defined
  uniq -d defined >twice
  [ ! -s twice ] || fail "$archive defines more than once: $(cat twice)"
  if nm "$root/$archive" | grep -iE ' (cblas_|openblas_|sgemm_)'; then fail "$archive: a BLAS"; fi
done
if ldd "$phibal" | grep -i blas; then fail "phibal is linked with a BLAS"; fi

# The choice.
able=
for isa in x86-64-v2 x86-64-v3 x86-64-v4; do
  if PHIBAL_ISA=$isa "$phibal" info >info && grep -q "^  kernels  *$isa\$" info; then able="$able $isa"; fi
done
[ -n "$able" ] || fail "no instruction set can be asked for"
best=${able##* }
"$phibal" info | grep -q "^  kernels  *$best\$" || fail "not the widest on its own: $("$phibal" info)"
for wrong in x86-64-v9 v3 'x86-64-v3 ' X86-64-V3; do
  got=0
  PHIBAL_ISA=$wrong "$phibal" bench --steps 1 >out 2>err || got=$?
  [ $got -eq 2 ] || fail "PHIBAL_ISA='$wrong': status $got"
  grep -q "PHIBAL_ISA=$wrong: this processor can run x86-64-v2" err || fail "PHIBAL_ISA='$wrong': $(cat err)"
  PHIBAL_ISA=$wrong "$phibal" info | grep -q "^  kernels  *refused" || fail "info with PHIBAL_ISA='$wrong'"
done

# The same bytes, also with another number of threads.
mkdir text
yes 'a line of text, and of others too; a longer one with more words in it' | head -c 60000 >text/one.txt
"$phibal" data build --out data --domain text=text/ >/dev/null
train="train --config tiny --data data/train.tokens --validation data/validation.tokens --steps 3 --batch 1 --quiet
  --set model.layers=2 --set model.sequence=64"
for isa in $able; do
  for threads in 1 3; do
    PHIBAL_ISA=$isa "$phibal" $train --threads $threads --out $isa-$threads >/dev/null
  done
done
for isa in $able; do
  for threads in 1 3; do
    cmp $best-1/checkpoints/step-000000000003/model.safetensors $isa-$threads/checkpoints/step-000000000003/model.safetensors || fail "other bytes with $isa on $threads threads"
  done
done
echo "the same bytes with$able"

#!/bin/sh
# Nothing that a training run computes comes from libm, whose functions differ in their last bits from one
# machine to the next: of the functions that libm exports, the objects of these archives call none but those
# that IEEE 754 defines to the last bit.
# usage: no_libm.sh SCRATCH_DIR ARCHIVE...
set -eu
LC_ALL=C
export LC_ALL
scratch=$1
shift
mkdir -p "$scratch"
cc=${CC:-cc}
libm=$($cc -print-file-name=libm.so.6)
command -v nm >/dev/null && [ -f "$libm" ] || { echo "skipped: no nm, or no libm.so.6"; exit 77; }
nm -D --defined-only "$libm" | sed 's/.* //; s/@.*//' | sort -u >"$scratch/libm"

# Exact or correctly rounded, and what sets the environment of floating point.
allowed='fma|fmaf|sqrt|sqrtf|floor|floorf|ceil|ceilf|trunc|truncf|rint|rintf|fmod|ldexpf|nextafter|fe[a-z]*'
# Object and symbol of each call that is not allowed. pow, in estimates of what a run will take, which are
# printed before it begins and enter nothing.
calls() {
  nm -A -u "$@" | sed 's/^.*[:/]\([^:/]*\.o\):.* \([^ ]*\)$/\1 \2/' | sort -u | sort -k 2 |
    join -1 2 -2 1 -o 1.1,2.1 - "$scratch/libm" |
    awk -v allowed="^($allowed)\$" '$2 !~ allowed && $0 != "plan_plan.c.o pow"'
}

# The test itself: a call of sin is found.
echo 'double sin(double); double f(double x) { return sin(x) + __builtin_floor(x); }' >"$scratch/planted.c"
$cc -O1 -c "$scratch/planted.c" -o "$scratch/planted.o"
rm -f "$scratch/planted.a"
ar rc "$scratch/planted.a" "$scratch/planted.o"
[ "$(calls "$scratch/planted.a")" = "planted.o sin" ] || { echo "no_libm: a planted sin is not found" >&2; exit 1; }

found=$(calls "$@")
[ -z "$found" ] || { echo "no_libm: called from libm:" >&2; echo "$found" >&2; exit 1; }
for archive; do
  echo "$(basename "$archive"): $(nm -A "$archive" | sed 's/^.*[:/]\([^:/]*\.o\):.*/\1/' | sort -u | wc -l) objects"
done

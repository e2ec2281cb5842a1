#!/bin/sh
# OpenBLAS's kernels where it does not know the processor: phibal asks for better ones, in the one
# second start that it makes anyway; a user's choice is kept and, where it is slow, said.
# A preloaded library plays the OpenBLAS that falls back, as long as nobody asks for kernels.
#   usage: openblas.sh PHIBAL FOLDER
set -eu
phibal=$(realpath "$1") folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
fail() { echo "FAIL: $*" >&2; exit 1; }
unset OPENBLAS_CORETYPE OMP_WAIT_POLICY GOMP_SPINCOUNT KMP_BLOCKTIME PHIBAL_OPENBLAS_INSTEAD_OF

cat >old.c <<'END'
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
char *openblas_get_corename(void) {
  char *(*real)(void) = (char *(*)(void))dlsym(RTLD_NEXT, "openblas_get_corename");
  return getenv("OPENBLAS_CORETYPE") ? real() : "Prescott";
}
__attribute__((constructor)) static void started(void) {
  FILE *file = fopen("starts", "a");
  if (file) fprintf(file, "%s\n", program_invocation_short_name), fclose(file);
}
END
${CC:-cc} -D_GNU_SOURCE -shared -fPIC old.c -o old.so -ldl
sed 's/"Prescott"/real()/' old.c >present.c
${CC:-cc} -D_GNU_SOURCE -shared -fPIC present.c -o present.so -ldl

value() { sed -n "s/.*\"$1\": *\"*\([^\",]*\).*/\1/p" info | tail -1; }
starts() { # COUNT: of the program, in the last command
  [ "$(grep -c '^phibal$' starts)" -eq "$1" ] || fail "not $1 starts: $(cat starts)"
}
info() { rm -f starts; env "$@" "$phibal" info --json >info; }

info LD_PRELOAD="$PWD/present.so"
own=$(value kernels)
[ "$(value chosen_by)" = OpenBLAS ] || fail "on its own: $(cat info)"
[ "$(value instead_of)" = null ] || fail "on its own: $(cat info)"
starts 2
info LD_PRELOAD="$PWD/present.so" OMP_WAIT_POLICY=passive
starts 1
case $(value vectors) in
AVX-512) best=SkylakeX ;;
AVX2*) best=Haswell ;;
AVX) best=Sandybridge ;;
*) echo "skipped: a processor without AVX"; exit 77 ;;
esac
[ "$(value better)" = null ] || { echo "skipped: OpenBLAS has kernels of $own for this processor"; exit 77; }

# The fall-back.
for waiting in OMP_WAIT_POLICY=passive A=B; do
  info LD_PRELOAD="$PWD/old.so" $waiting
  [ "$(value kernels)" = $best ] && [ "$(value chosen_by)" = phibal ] &&
    [ "$(value instead_of)" = Prescott ] && [ "$(value better)" = null ] || fail "fall-back: $(cat info)"
  starts 2
done
LD_PRELOAD="$PWD/old.so" "$phibal" info >text
grep -q "$best's kernels, chosen by phibal in place of Prescott's" text || fail "$(cat text)"

# A user's choice, in the place of the fall-back and of the right one.
for library in old present; do
  info LD_PRELOAD="$PWD/$library.so" OPENBLAS_CORETYPE=Prescott
  [ "$(value kernels)" = Prescott ] && [ "$(value chosen_by)" = OPENBLAS_CORETYPE ] &&
    [ "$(value instead_of)" = null ] && [ "$(value better)" = $best ] || fail "a user's: $(cat info)"
  info LD_PRELOAD="$PWD/$library.so" OPENBLAS_CORETYPE=$best
  [ "$(value kernels)" = $best ] && [ "$(value chosen_by)" = OPENBLAS_CORETYPE ] || fail "$(cat info)"
done
OPENBLAS_CORETYPE=Prescott "$phibal" info >text
grep -q "Prescott's kernels, chosen by OPENBLAS_CORETYPE; slow here: OPENBLAS_CORETYPE=$best suits" text || fail "$(cat text)"
if "$phibal" info | grep 'slow here'; then fail "a warning without reason"; fi

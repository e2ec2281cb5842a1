#!/bin/sh
# The reference's tests under Valgrind: nothing is read after it was freed or before it was written, nor
# freed twice, which proofs do not see. Valgrind does not know every processor's instructions, so they
# are compiled for the oldest. About four minutes; only with PHIBAL_ALL set.
# usage: reference_memory.sh SOURCE_ROOT WORK_FOLDER
set -eu
source=$1 work=$2
[ -n "${PHIBAL_ALL:-}" ] || { echo "skipped: PHIBAL_ALL is not set"; exit 77; }
command -v valgrind >/dev/null || { echo "skipped: no valgrind"; exit 77; }
# Left out are tests that set what Valgrind does not emulate (flush-to-zero: entries) or that search for long.
tests="enclosure enclosure_set number potential_boundaries reference_router reference_router_gradient
reference_balance reference_losses reference_expert reference_ffn reference_metrics"
mkdir -p "$work"
watched="valgrind -q --trace-children=yes --error-exitcode=9"

# What it has to notice.
cat >"$work/planted.c" <<'C'
#include <stdlib.h>
int main(int argc, char **argv) {
  int *p = malloc(16);
  volatile int found = 0;
  if (!p) return 2;
  if (argc == 2 && argv[1][0] == 'u' && p[1] == 3) found++;
  p[0] = 1;
  free(p);
  if (argc == 2 && argv[1][0] == 'a') found += *(volatile int *)p;
  if (argc == 2 && argv[1][0] == 't') free(p);
  return 0;
}
C
${CC:-cc} -w -O0 "$work/planted.c" -o "$work/planted"
$watched "$work/planted"
for fault in unwritten after twice; do
  if $watched "$work/planted" $fault >"$work/planted.out" 2>&1; then
    echo "valgrind did not notice the planted fault: $fault"
    exit 1
  fi
done

[ -f "$work/build/build.ninja" ] ||
  meson setup "$work/build" "$source" -Dcuda=disabled -Dbuildtype=debugoptimized >"$work/setup.log"
programs=
for test in $tests; do programs="$programs tests/test_$test"; done
ninja -C "$work/build" $programs >"$work/ninja.log"
failed=0
for test in $tests; do
  if OMP_NUM_THREADS=2 $watched "$work/build/tests/test_$test" -j1 >"$work/$test.out" 2>&1; then
    echo "$test: no error"
  else
    cat "$work/$test.out"
    failed=1
  fi
done
exit $failed

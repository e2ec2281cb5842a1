#!/bin/sh
# Replays every proof and prints one table, and what is trusted; exit status 0 only if all of them hold.
#   prove.sh             everything; of WP's units, those of which nothing changed since they were
#                        proved as a whole are taken from frama-c/units.proved, the others are
#                        replayed, and then as many of the former as ten minutes allow. Verdicts
#                        come from the committed verdicts.xz where a goal is the same to the letter;
#                        what is not there goes to a prover
#   prove.sh --quick     the same with two minutes in the place of ten, for continuous integration: which
#                        of the unchanged units it replays changes whenever the record does
#   prove.sh --changed   of WP's units only those of which something changed; writes STATUS.md and what
#                        is committed of the proofs
#   prove.sh --replay    the same with every goal of every unit, verdicts from verdicts.xz
#   prove.sh --uncached  every goal of every unit to a prover
#   prove.sh --smoke     asks a prover for a contradiction in every contract and at every program point,
#                        of the units that changed since they passed
#   prove.sh --mutants   breaks the proved code line by line, where it changed since: each must break a proof
set -eu
cd "$(dirname "$0")"
work=../build-proofs
mkdir -p "$work"

case "${1:-}" in
'') wp_options="--cache --record --budget 600" ;;
--quick) wp_options="--cache --record --budget 120" ;;
--changed) wp_options="--cache --changed --pack" ;;
--replay) wp_options="--cache --pack" ;;
--uncached) wp_options= ;;
--smoke) exec frama-c/smoke.py ;;
--mutants)
  frama-c/mutants.py
  exec gappa/faults.sh
  ;;
*)
  sed -n '2,17s/^# \{0,1\}//p' prove.sh >&2
  exit 2
  ;;
esac

failed=$work/failed
: >"$failed"
step() { # name, command: runs it, keeps what it printed, and says how it went
  name=$1
  shift
  start=$(date +%s)
  if "$@" >"$work/$name.out" 2>&1; then verdict=holds; else
    verdict=FAILS
    echo "$name" >>"$failed"
  fi
  printf '%-8s %-6s %4d s   %s\n' "$name" "$verdict" "$(($(date +%s) - start))" \
    "$(tail -n 1 "$work/$name.out")"
  [ "$verdict" = holds ] || sed 's/^/    /' "$work/$name.out"
}

# What the proofs trust about MPFR, GMP and <math.h>: prototypes, and each clause held against the library.
model() {
  frama-c/check_model.sh "$work" &&
    ${CC:-cc} -O1 -std=c17 frama-c/model_test.c -o "$work/model_test" -lflint-arb -lflint -lmpfr -lgmp -lm &&
    "$work/model_test" frama-c/include/mpfr.h frama-c/include/gmp.h frama-c/include/model_math.h frama-c/include/model_infinity.h
}

echo "proof    result  time   what"
# Two rows side by side, for most steps work on one core. What writes a plugin of Frama-C or the configuration of Why3
# into $work is in the second.
{
  step coq coq/check.sh
  step gappa gappa/check.sh
  step floats frama-c/floats_test.py
  step memory frama-c/memory.py
} &
first=$!
step model model
step keys frama-c/select_key.sh
step record frama-c/record_test.py
step branches frama-c/branches.py
step declared frama-c/declarations.py --list
step rogues frama-c/declarations_test.py
step casts frama-c/conversions.py
wait $first || echo "a-row-of-steps-was-cut-short" >>"$failed"
step wp frama-c/prove.py $wp_options --report "$work/wp.json"
grep -E '^(not|as recorded) ' "$work/wp.out" || true
./trusted.py "$work" || echo trusted >>"$failed"
# STATUS.md is only of runs in which all holds.
[ -s "$failed" ] || case "${1:-}" in --changed | --replay) step status ./status.py "$work" ;; esac
[ ! -s "$failed" ] || {
  echo "not proved:" $(cat "$failed") >&2
  exit 1
}

#!/bin/sh
# with_isa.sh skips where the processor lacks the instruction set, and nowhere else; it passes on the status and
# the name of the set.
#   usage: isa_skips.sh WITH_ISA
set -eu
with_isa=$1 scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }
expect() { # status, processor's flags, set
  echo "flags		: $2" >"$scratch/cpuinfo"
  got=0
  CPUINFO=$scratch/cpuinfo "$with_isa" "$3" sh -c 'echo "$PHIBAL_ISA"; exit 5' >"$scratch/out" || got=$?
  [ $got -eq "$1" ] || fail "$3 on '$2': status $got"
  [ $got -eq 77 ] || [ "$(cat "$scratch/out")" = "x86-64-$3" ] || fail "$3: $(cat "$scratch/out")"
}
haswell="fpu sse4_2 avx2 bmi1 bmi2 fma"
all="$haswell avx512f avx512bw avx512cd avx512dq avx512vl"
for isa in v2 v3 v4; do expect 5 "$all" $isa; done
expect 5 "$haswell" v2
expect 5 "$haswell" v3
expect 77 "$haswell" v4
expect 77 "$haswell avx512f avx512bw avx512cd avx512dq avx512_vl" v4
expect 77 "sse4_2 avx2 bmi1 bmi2" v3
got=0; "$with_isa" v5 true 2>/dev/null || got=$?; [ $got -eq 1 ] || fail "v5: status $got"

#!/bin/sh
# Runs a test with the kernels of one instruction set, or skips it (status 77) on a processor that has not
# got it. What the processor has is read from the system: kernels that could run and say that they cannot fail.
#   usage: with_isa.sh v2|v3|v4 PROGRAM ARGUMENT...
isa=$1
shift
case $isa in
v2) needed="sse4_2" ;;
v3) needed="avx2 bmi1 bmi2 fma" ;;
v4) needed="avx2 bmi1 bmi2 fma avx512f avx512bw avx512cd avx512dq avx512vl" ;;
*) echo "with_isa.sh: no instruction set '$isa'" >&2; exit 1 ;;
esac
flags=$(sed -n 's/^flags[[:space:]]*: *\(.*\)/ \1 /p' "${CPUINFO:-/proc/cpuinfo}" 2>/dev/null | head -n 1)
if [ -n "$flags" ]; then
  for flag in $needed; do
    case $flags in
    *" $flag "*) ;;
    *) echo "skipped: this processor has no $flag, of x86-64-$isa"; exit 77 ;;
    esac
  done
fi
PHIBAL_ISA=x86-64-$isa exec "$@"

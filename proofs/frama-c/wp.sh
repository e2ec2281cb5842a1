#!/bin/sh
# Runs Frama-C's WP, run-time errors included, on one file.
#   proofs/frama-c/wp.sh FILE [options of Frama-C, such as -wp-fct NAME]
# STEPS limits each prover's work by its own count, which does not depend on the machine; TIMEOUT,
# in seconds, is only a guard. CPP adds preprocessor flags.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$root/build-proofs
mkdir -p "$work"
[ -z "$(find "$here/why3" -newer "$work/why3.conf" 2>&1)" ] || "$here/why3/configuration.sh" "$work"
file=$1
shift
# Only where there are pragmas is a preprocessor needed that drops those Frama-C cannot parse.
if grep -q '^ *# *pragma' "$file"; then
  set -- -cpp-command "$here/preprocess.sh %i %o %args" -cpp-frama-c-compliant "$@"
fi
# Provers are asked in turn, those that the caller names first.
usual=${PROVERS:-z3nra,cvc4nra,cvc5nra}
case " $* " in *" -wp-prover none "*) usual= ;; esac
WHY3CONFIG=$work/why3.conf exec frama-c -machdep gcc_x86_64 \
  -cpp-extra-args="-I$here/include -I$root/spec/include -I$root/spec -I$root/reference -I$root/kernels ${CPP:-}" \
  "$file" -wp -wp-rte -wp-steps "${STEPS:-1000000}" \
  -wp-timeout "${TIMEOUT:-60}" -wp-par "${PAR:-2}" "$@" \
  ${usual:+-wp-prover "$usual"}

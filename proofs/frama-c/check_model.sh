#!/bin/sh
# The model's prototypes and constants must be those of the real <mpfr.h> and <gmp.h>: a compiler
# reads both.
#   proofs/frama-c/check_model.sh [WORK FOLDER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$here/../../build-proofs}
mkdir -p "$work"
prototypes='^[a-z][A-Za-z_ ]*[ *](mpfr|mpz|mpq)_[a-z0-9_]+\(.*\);'
check=$work/model_check.c
{
  echo '#define MPFR_USE_NO_MACRO'
  echo '#define __GMP_NO_ATTRIBUTE_CONST_PURE'
  echo '#include <stdio.h>'
  echo '#include <mpfr.h>'
  echo '#undef mpz_sgn'
  echo '#undef mpq_sgn'
  sed -nE "/$prototypes/p" "$here/include/mpfr.h" "$here/include/gmp.h"
  sed -nE 's/^#define (MPFR_PREC_[A-Z]+) (.*)/_Static_assert(\1 == \2, "\1");/p' "$here/include/mpfr.h"
  # The enumerators of mpfr_rnd_t count from 0.
  awk '/^} mpfr_rnd_t/ { exit } /^ *MPFR_RND/ { gsub(/[ ,]|=.*/, ""); print $1 }' "$here/include/mpfr.h" |
    awk '{ printf "_Static_assert(%s == %d, \"%s\");\n", $1, NR - 1, $1 }'
} >"$check"
${CC:-cc} -std=c11 -Wall -Werror -Wno-redundant-decls -fsyntax-only "$check"
count=$(grep -cE "$prototypes" "$check")
declared=$(cat "$here/include/mpfr.h" "$here/include/gmp.h" | grep -cE '^[a-z].*\(.*\);')
if [ "$count" -lt 40 ] || [ "$count" -ne "$declared" ]; then
  echo "$count prototypes were compared, of $declared in the model" >&2
  exit 1
fi
echo "$count prototypes and $(grep -c _Static_assert "$check") constants of the model are the libraries'"

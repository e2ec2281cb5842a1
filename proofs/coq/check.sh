#!/bin/sh
# Checks all Coq proofs from nothing: builds the files of files.list in a directory of its own, and
# compares what every theorem and lemma rests on with assumptions.expected.
#   check.sh            build and compare; the names in README.md and spec/ERRATA.md exist
#   check.sh --kernel   let coqchk check the compiled files too (about a minute more)
# Needs coq 8.16 or later and Coquelicot (Debian: coq libcoq-coquelicot), and python3.
set -eu
cd "$(dirname "$0")"
fail() { echo "coq: $*" >&2; exit 1; }

files=$(cat files.list)
generated='AcslDefinitions AcslStatements'
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp ./*.v "$build"
python3 acsl.py definitions > "$build/AcslDefinitions.v" || fail "spec/acsl cannot be translated"
python3 acsl.py statements > "$build/AcslStatements.v" || fail "spec/acsl cannot be translated"
expected=$PWD/assumptions.expected
# Trees in which ACSL says another thing under the same name.
planted() { # FILE EDIT
  rm -rf "$build/tree"
  mkdir -p "$build/tree/proofs/coq" "$build/tree/proofs/frama-c"
  cp acsl.py "$build/tree/proofs/coq"
  cp -rP ../frama-c/include "$build/tree/proofs/frama-c"
  cp -rP ../../spec "$build/tree/spec"
  sed -i "$2" "$build/tree/$1"
  cmp -s "../../$1" "$build/tree/$1" && fail "$1 has nothing of $2"
  python3 "$build/tree/proofs/coq/acsl.py" statements
}
planted proofs/frama-c/include/mpfr.h 's/2.0 \* power_of_two(n - 1)/3.0 * power_of_two(n - 1)/' > "$build/Planted1.v.txt"
planted proofs/frama-c/include/mpfr.h 's/x \* integer_power(x, n - 1)/x + integer_power(x, n - 1)/' > "$build/Planted2.v.txt"
planted spec/acsl/real.h 's/COQ_LEMMA pi_positive:.*/COQ_LEMMA pi_positive: pi < 0.0;/' > "$build/Planted3.v.txt"
rm -r "$build/tree"
cited=$({
  grep '^|' README.md | sed 's/.*|\([^|]*\)|$/\1/'
  awk '/^Coq:/ { on = 1 } /^$/ { on = 0 } on' ../../spec/ERRATA.md
} | grep -oE '[a-z0-9]+(_[a-z0-9]+)+' | sort -u)
cd "$build"

[ "$(ls ./*.v | sed 's,^\./,,; s/\.v$//' | sort)" = "$(echo "$files" | sort)" ] ||
  fail "files.list and $generated are not all .v files"
if grep -nwE 'Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|bypass_check' ./*.v; then
  fail "an unproved statement"
fi
if awk '/^Section/ { depth++ } /^End/ { depth-- } /^ *(Hypothes|Variable|Context)/ && !depth' ./*.v | grep .; then
  fail "an assumption outside a section"
fi
if grep -nE '(Unset|Set) (Guard|Positivity|Universe) Checking|type-in-type' ./*.v; then
  fail "a check of the kernel is switched off"
fi
for f in $files; do coqc -q -w none -R . Phibal "$f.v" || fail "$f.v does not build"; done

for n in 1 2 3; do
  mv "Planted$n.v.txt" "Planted$n.v"
  if coqc -q -w none -R . Phibal "Planted$n.v" >/dev/null 2>&1; then fail "planted fault $n is proved"; fi
  rm "Planted$n.v"
done

# One lemma that uses every result, so that its assumptions are those of all of them.
names=$(for f in $files; do
  sed -nE "s/^ *(Theorem|Lemma|Corollary|Example) +([A-Za-z0-9_]+).*/$f.\\2/p" "$f.v"
done)
# README.md and spec/ERRATA.md name results that exist.
for n in $cited; do
  echo "$names" | grep -qE "\.$n\$" || fail "no result is named $n"
done
{
  for f in $files; do echo "From Phibal Require Import $f."; done
  echo "Lemma every_result : True. Proof."
  for n in $names; do echo "pose proof @$n as H; clear H."; done
  echo "exact I. Qed. Print Assumptions every_result."
} > Every.v
coqc -q -w none -R . Phibal Every.v > printed || fail "a result cannot be named"
grep -E '^[A-Za-z]' printed | grep -v '^Axioms:' | sed 's/ .*//' | sort > assumptions
diff "$expected" assumptions >&2 || fail "assumptions differ from assumptions.expected"
[ "${1:-}" != --kernel ] || coqchk -silent -R . Phibal $(echo "$files" | sed 's/^/Phibal./') || fail "coqchk refuses"
echo "coq: $(echo "$names" | wc -l) theorems in $(echo "$files" | wc -l) files, assumptions as listed"

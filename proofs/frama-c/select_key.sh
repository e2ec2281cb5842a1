#!/bin/sh
# Asks Z3 for a counterexample to select_key.smt2, which it must say there is none of, and, so that it is seen
# that the question can be answered otherwise, to three faults of it, each of which has one.
set -eu
cd "$(dirname "$0")"
answer() { sed -E "$1" select_key.smt2 | z3 -in; }
expect() { # answer, fault
  said=$(answer "$2")
  [ "$said" = "$1" ] || { echo "select_key: '$said', not $1, with: ${2:-no fault}"; exit 1; }
}
expect unsat ''
expect sat 's/\(bvsub index_bits index\)\)\)/index))/'                    # ties to the higher expert
expect sat 's/\(bvashr bits #x000000000000003f\)/#x0000000000000000/'     # negative scores in their bits' order
expect sat '/assert \(= twice/d'                             # bits that gave way
echo "select_key: no counterexample, and one to each of 3 faults"

#!/bin/sh
# `phibal train` with a potential from a file: the run that the catalogue's gives, bit for bit; the
# reason where the audit refutes it; no silence where there is no compiler.
# usage: train_potential.sh PHIBAL FOLDER SOURCE
set -eu
phibal=$(realpath "$1") folder=$2 source=$3
rm -rf "$folder"
mkdir -p "$folder/text"
cd "$folder"
fail() { echo "FAIL: $*" >&2; exit 1; }

cp "$source/spec/SPEC.md" "$source/spec/ERRATA.md" "$source/README.md" text/
"$phibal" data build --out data --domain text=text/ >log 2>&1 || { cat log >&2; fail "data build"; }

train() { # NAME OPTION...
  name=$1
  shift
  "$phibal" train --config tiny --data data/train.tokens --steps 4 --batch 2 --quiet --overwrite \
    --set model.layers=2 --set model.sequence=64 --out "$name" "$@" >log 2>error
}

# negentropy and lp as files, at their defaults and with --param
sed '/^conjugate/d; /^gradient/d' "$source/spec/phi/negentropy.phi" >entropy.phi
train file --potential entropy.phi || { cat error >&2; fail "a sound potential is refused"; }
train catalogue --potential negentropy
losses() { sed 's/.*"loss": *\([-0-9.e]*\).*/\1/' "$1/metrics.jsonl"; }
[ -n "$(losses file)" ] && [ "$(losses file)" = "$(losses catalogue)" ] || fail "the losses differ"
grep -q '"kernel_hash"' file/result.json || fail "result.json does not say which kernel"
grep -q "potential: 'entropy.phi'" file/config.yaml || fail "config.yaml does not name the file"
# and again from the run's own config.yaml
train again --config file/config.yaml || { cat error >&2; fail "config.yaml cannot be used again"; }
[ "$(losses again)" = "$(losses file)" ] || fail "a repeated run differs"
train lp --potential "$source/spec/phi/lp.phi" --param p=2.5
train lp_catalogue --potential lp --param p=2.5
[ "$(losses lp)" = "$(losses lp_catalogue)" ] || fail "--param is not used"
[ "$(losses lp)" != "$(losses file)" ] || fail "the potential makes no difference"

refuse() { # WORD OPTION...
  word=$1
  shift
  if train refused "$@"; then fail "$* is not refused"; fi
  grep -q "$word" error || { cat error >&2; fail "$*: no word of '$word'"; }
  [ "$(wc -l <error)" -eq 1 ] || fail "$*: more than one line"
}
printf 'potential bump\nvalue sum(x^2 - x^3)\n' >bump.phi
printf 'potential wrong\nvalue sum(x^2)/2\ngradient 2*x\n' >wrong.phi
refuse "strictly convex" --potential bump.phi
refuse "the gradient given is the gradient" --potential wrong.phi
refuse "no parameter 'q'" --potential "$source/spec/phi/lp.phi" --param q=3
refuse "No such file" --potential absent.phi
train forced --potential bump.phi --force || { cat error >&2; fail "--force is refused"; }
grep -q refuted error || fail "--force is silent"
export CC=/nonexistent/cc
refuse "/nonexistent/cc" --potential entropy.phi
echo "potentials from files train"

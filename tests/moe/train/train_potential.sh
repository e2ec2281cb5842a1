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

for seed in 1 2; do awk -v seed=$seed -v words=3000 -f "$source/tests/moe/words.awk" >text/$seed.md; done
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

# Fractions, and several parameters: a x^2/2 + b x^3/6 is Euclid's at b = 0 and the same for a = 1/3 however it is written.
train half --potential "$source/spec/phi/tsallis.phi" --param alpha=1/2
train half_catalogue --potential tsallis --param alpha=1/2
train half_decimal --potential tsallis --set balance.parameter=0.5
[ "$(losses half)" = "$(losses half_catalogue)" ] && [ "$(losses half)" = "$(losses half_decimal)" ] || fail "1/2 is not 0.5"
[ "$(losses half)" != "$(losses catalogue)" ] || fail "alpha = 1/2 makes no difference"
grep -q "parameter: 0.5" half_catalogue/config.yaml || fail "config.yaml does not say 1/2 as a number"
printf 'potential two\nparameter a in (0, 10] = 1\nparameter b in [0, 10] = 0\nvalue sum(a*x^2/2 + b*x^3/6)\n' >two.phi
train two --potential two.phi || { cat error >&2; fail "a potential with two parameters is refused"; }
train euclid --potential euclid
[ "$(losses two)" = "$(losses euclid)" ] || fail "the defaults are not used"
train two_scaled --potential two.phi --param a=1/3 --param b=2
printf 'potential scaled\nvalue sum(x^2/6 + x^3/3)\n' >scaled.phi
train scaled --potential scaled.phi
[ "$(losses two_scaled)" = "$(losses scaled)" ] || fail "two parameters are not used, or not exactly"
[ "$(losses two_scaled)" != "$(losses two)" ] || fail "two parameters make no difference"
grep -q '"parameter": "a=1/3,b=2"' two_scaled/result.json || fail "result.json does not say the parameters"
train two_again --config two_scaled/config.yaml
[ "$(losses two_again)" = "$(losses two_scaled)" ] || fail "config.yaml does not say the parameters"
sed "s/parameters: .*/parameters: 'b = 2, a=5'/" two_scaled/config.yaml >two.yaml
train two_merged --config two.yaml --param a=1/3
[ "$(losses two_merged)" = "$(losses two_scaled)" ] || fail "--param does not win over the run file, by name"
cp -r two_scaled two_resumed
rm two_resumed/result.json
"$phibal" train --resume two_resumed --quiet >log 2>error || { cat error >&2; fail "a run with two parameters cannot be resumed"; }
train fifth --potential lp --param p=11/5
train fifth_rounded --potential lp --set balance.parameters=p=2.2
[ "$(losses fifth)" = "$(losses fifth_rounded)" ] || fail "11/5 is not 2.2"

# The run has what it needs to be resumed: with the file gone, and with another in its place, of which a word is said.
resumes() { # NAME
  rm -rf gone && cp -r half_done gone
  "$phibal" train --resume gone --quiet >log 2>error || { cat error >&2; fail "not resumed: $1"; }
  [ "$(losses gone)" = "$(losses kept)" ] || fail "resumed with another potential: $1"
}
printf 'potential mine\nparameter w in (0, 1) = 1/2\nvalue sum(w*x*log(x) + (1-w)*x^2/2)\n' >mine.phi
train kept --potential mine.phi --param w=1/3 --set checkpoint.every=2
cmp mine.phi kept/potential.phi || fail "the run keeps no copy of its potential"
cp -r kept half_done && rm -r half_done/checkpoints/step-*4 half_done/result.json
resumes "unchanged"
[ ! -s error ] || fail "something is said although nothing has changed"
printf 'potential mine\nparameter w in (0, 1) = 1/2\nvalue sum(w*x*log(x) + (1-w)*x^4)\n' >mine.phi
resumes "changed"
grep -q "'mine.phi' has changed since the run began; it continues with its own copy, gone/potential.phi" error || fail "nothing is said of the change"
rm mine.phi
resumes "removed"
rm -rf begun && cp -r half_done begun && rm -r begun/checkpoints # killed before it had one
"$phibal" train --resume begun --quiet >log 2>error || { cat error >&2; fail "not resumed from the start"; }
[ "$(losses begun)" = "$(losses kept)" ] || fail "begun again with another potential"
rm half_done/potential.phi # as runs are that older programs made
rm -rf gone && cp -r half_done gone
if "$phibal" train --resume gone --quiet >log 2>error; then fail "resumed without a potential"; fi
grep -q "mine.phi" error || fail "the file that is missing is not named"
printf 'potential mine\nparameter w in (0, 1) = 1/2\nvalue sum(w*x*log(x) + (1-w)*x^2/2)\n' >mine.phi
resumes "a run of an older program"
cmp mine.phi gone/potential.phi || fail "a run that is resumed keeps no copy"
sed 's/x^2/x^3/' mine.phi >half_done/potential.phi # not what the run has trained with
rm -rf gone && cp -r half_done gone
if "$phibal" train --resume gone --quiet >log 2>error; then fail "resumed with a copy that somebody changed"; fi
grep -q "gives kernel.*the run has trained with" error || fail "not said that the copy is another"
if train kept --potential negentropy --set training.steps=x; then fail "steps x"; fi
[ -e kept/potential.phi ] || fail "a refusal has removed the copy"
train kept --potential negentropy
[ ! -e kept/potential.phi ] || fail "--overwrite leaves the old potential"
mkdir own && cp mine.phi own/potential.phi # a folder that was no run
if "$phibal" train --config tiny --data data/train.tokens --out own --quiet >log 2>error; then fail "a potential.phi is taken for nothing"; fi
grep -q "own' already holds a run (potential.phi)" error && cmp mine.phi own/potential.phi || fail "a potential.phi that is no run's"
printf 'base: tiny\nout: swept\nset: {data.train: data/train.tokens, training.steps: 2, batch.sequences: 2, model.layers: 1, model.sequence: 64, balance.potential: mine.phi}\ngrid:\n  balance.parameters: ["w=1/4", "w=3/4"]\n' >sweep.yaml
"$phibal" sweep sweep.yaml --quiet >log 2>error || { cat error >&2; fail "a sweep over a parameter"; }
for run in swept/*seed=1; do cmp mine.phi "$run/potential.phi" || fail "a sweep keeps no copy"; done
[ "$(losses 'swept/parameters=w=1_4,seed=1')" != "$(losses 'swept/parameters=w=3_4,seed=1')" ] || fail "a sweep's parameter is not used"

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
refuse "lp.phi': --param q=3: the parameters of lp: p" --potential "$source/spec/phi/lp.phi" --param q=3
refuse "two.phi' has 2 parameters" --potential two.phi --set balance.parameter=1
refuse "two.phi': --param a=x:" --potential two.phi --param a=x
refuse "two.phi': .*(0, 10]" --potential two.phi --param a=11
refuse_usage() { # WORD OPTION...
  word=$1
  shift
  if train refused "$@"; then fail "$* is not refused"; fi
  head -1 error | grep -q -e "$word" || { cat error >&2; fail "$*: no word of '$word'"; }
}
refuse_usage "'q': the parameters of lp: p; write p=1/2" --potential lp --param q=3
refuse_usage "'1/0' is not a number" --potential tsallis --param alpha=1/0
refuse_usage "'1/2/3' is not a number" --potential tsallis --param alpha=1/2/3
refuse_usage "'0.1/3' is not a number" --potential tsallis --param alpha=0.1/3
refuse_usage "'q': euclid has no parameters" --potential euclid --param q=3
refuse_usage "param a is given twice" --potential two.phi --param a=1 --param a=2
refuse_usage "'a' is given twice" --potential two.phi --set balance.parameters=a=1,a=2
refuse_usage "NAME=VALUE,NAME=VALUE" --potential two.phi --set balance.parameters=a
refuse_usage "balance.parameter is given too" --potential two.phi --set balance.parameter=1 --param a=2
# the reason stands there whole, and not what fits into a line of 500 bytes
printf 'potential long_enough_to_fill_a_line\nvalue sum(x*log(x) + x^2/7 - x^3*8)\n' >a_potential_whose_file_has_a_long_name_as_people_give_them_to_files.phi
refuse "strictly convex" --potential a_potential_whose_file_has_a_long_name_as_people_give_them_to_files.phi
grep -q "which is not below the mean$" error || { cat error >&2; fail "the reason is cut"; }
refuse "No such file" --potential absent.phi
train forced --potential bump.phi --force || { cat error >&2; fail "--force is refused"; }
grep -q refuted error || fail "--force is silent"
export CC=/nonexistent/cc
refuse "/nonexistent/cc" --potential entropy.phi
echo "potentials from files train"

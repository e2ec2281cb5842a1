#!/bin/sh
# The digest of a run: that of its newest checkpoint, the same for any number of threads, with each
# instruction set and after an interruption, another for anything else.
# usage: train_digest.sh PHIBAL FOLDER SOURCE
set -eu
phibal=$(realpath "$1") folder=$2 source=$(realpath "$3")
command -v python3 >/dev/null || { echo "skipped: no Python"; exit 77; }
. "$source/tests/moe/runs.sh"
begin_with_corpus --validation 0
options="--config tiny --data data/train.tokens --batch 2 --quiet --steps 4 --set model.layers=2
  --set model.width=32 --set model.sequence=32 --set checkpoint.every=1 --set checkpoint.keep=4"
train() { "$phibal" train "$@" >log 2>error || fail "train $*"; }
train $options --threads 1 --out phi
grep -q "SHA-256 of the weights and the balancing state: $(digest phi)\$" log || fail "not printed"
train $options --threads 3 --out threads
train $options --threads 1 --method loss-free --out loss-free
train $options --threads 1 --method dense --out dense
# A balancing that moves no weight in the first step: m alone differs.
train $options --threads 1 --steps 1 --set balance.alpha=0 --set balance.eta=0.25 --out quarter
train $options --threads 1 --steps 1 --set balance.alpha=0 --set balance.eta=0.5 --out half
cmp quarter/checkpoints/*1/model.safetensors half/checkpoints/*1/model.safetensors || fail "other weights"
digests phi threads loss-free dense quarter half
[ "$(digest phi)" = "$(digest threads)" ] || fail "threads change the digest"
for isa in x86-64-v2 x86-64-v3 x86-64-v4; do
  PHIBAL_ISA=$isa "$phibal" train $options --threads 2 --out $isa >log 2>error || {
    grep PHIBAL_ISA error || fail "PHIBAL_ISA=$isa"
    continue
  }
  [ "$(digest phi)" = "$(digest $isa)" ] || fail "$isa changes the digest"
done
[ "$(for run in phi loss-free dense quarter half; do digest $run; done | sort -u | wc -l)" = 5 ] ||
  fail "runs that differ have one digest"
cp -r phi resumed
rm -r resumed/checkpoints/*4 resumed/checkpoints/*3 resumed/result.json
train --resume resumed --quiet
[ "$(digest phi)" = "$(digest resumed)" ] || fail "an interruption changes the digest"

# As JSON, and where no checkpoint is written.
train $options --threads 1 --set checkpoint.keep=0 --json --out none
grep -q "\"digest\": \"$(digest phi)\"" log || fail "--json, without checkpoints"
echo "digest $(digest phi)"

#!/bin/sh
# `phibal train --from` a run of phibal's own, whole or in parts: the steps are those from the same
# weights by way of a Hugging Face folder; what begins anew, what must agree, what is refused. And
# `eval-model` on the same folders.
# usage: train_from.sh PHIBAL TENSOR_BYTES FOLDER SOURCE [MPIRUN]
set -eu
phibal=$(realpath "$1") tensor_bytes=$(realpath "$2") folder=$3 source=$(realpath "$4") mpirun=${5:-}
. "$source/tests/moe/runs.sh"
begin_with_corpus --validation 0.1
shape="--set model.layers=2 --set model.width=32 --set model.sequence=32 --set model.activation=silu
  --set model.embedding_scale=false"
run="--data data/train.tokens --validation data/validation.tokens --threads 1 --batch 4
  --set evaluation.final_sequences=8"
train() { "$phibal" train "$@" >log 2>error || fail "train $*"; }
train --config tiny $shape $run --lr 1e-2 --steps 30 --set checkpoint.every=15 --quiet --out source
newest=source/checkpoints/step-000000000030
mkdir bare
cp $newest/model.safetensors $newest/config.yaml bare/
"$phibal" export --load source --out hf >log 2>error || fail export

# The same first steps from each, in micro-batches, documents apart.
anew="--config tiny $shape $run --lr 1e-3 --steps 4 --micro 2 --set data.boundaries=true --seed 7"
for from in source $newest bare hf; do
  name=from-$(basename $from)
  train $anew --from $from --out $name
  lines $name >a
  lines from-source >b
  [ -s a ] && cmp a b || fail "--from $from: other steps than --from source"
  [ $from = hf ] || grep -q "start afresh" error || fail "--from $from: nothing said"
done
grep -q "from: '$newest'" from-source/config.yaml || fail "config.yaml does not say which checkpoint"
train $anew --out scratch
loss() { step "$1" 1 | value loss; }
awk -v a="$(loss from-source)" -v b="$(loss scratch)" 'BEGIN { exit !(a < b - 0.5) }' || fail "no better than new weights"
! grep -q begin error || fail "says something of weights that begin as new ones"

# Without a run file the run's own; with one that leaves the model out, its model.
train --from source $run --steps 2 --seed 7 --out own
[ "$(loss own)" != "$(loss scratch)" ] && grep -q "width: 32" own/config.yaml || fail "not the run's own configuration"
printf 'model: {sequence: 32}\nbatch: {sequences: 4, micro_sequences: 2}\noptimizer: {peak_lr: 1e-3}\ntraining: {steps: 4, seed: 7}\ndata: {boundaries: true}\n' >part.yaml
train --config part.yaml --from source $run --out part
[ "$(loss part)" = "$(loss from-source)" ] || fail "the model is not taken from the run"
# a run that was continued gives no plans away
train --resume own --steps 3 --quiet
train --from own --steps 2 --quiet --out third
grep -q "continued: ''" third/config.yaml || fail "another run's plans"

# Resumed from nothing, when the source has gone on: still the same weights.
cp -r from-source again
rm -r again/checkpoints again/result.json
train --resume source --steps 31 --quiet
train --resume again --quiet
lines again >a
lines from-source >b
cmp a b || fail "begun again from other weights"

# The bias of loss-free balancing goes along, and is not lost without a word.
bias() { "$tensor_bytes" "$1/checkpoints/$2/model.safetensors" model.layers.0.mlp.gate.e_score_correction_bias; }
train --config tiny $shape $run --method loss-free --set balance.bias_rate=0.1 --steps 5 --quiet --out free
train --from free --set balance.bias_rate=0 --steps 1 --quiet --out free-again
bias free step-000000000005 >a
bias free-again step-000000000001 >b
[ -s a ] && cmp a b || fail "the bias does not go along"
refuses "model.selection_bias" train --config tiny $shape $run --from free --method switch --set model.selection_bias=false --steps 1 --out no
train --config tiny $shape $run --from free --method switch --steps 1 --out kept
bias kept step-000000000001 >b
cmp a b || fail "the bias does not go along to another method"
train --config tiny $shape $run --from source --method loss-free --steps 1 --out begun

# Another model, no model, damage.
refuses "model.width: 128, but the model of 'source/checkpoints/step-0*31' has 32" train --config tiny $run --from source --steps 1 --out no
refuses "model.gate: probability" train --config tiny $shape $run --from source --set model.gate=probability --steps 1 --out no
refuses "balance.method: dense has no experts" train --config tiny $shape $run --from source --method dense --steps 1 --out no
refuses "lora.rank.*'source/" train --config tiny $shape $run --from source --set lora.rank=2 --steps 1 --out no
refuses "neither 'text/config.json'.*nor 'text/config.yaml'" train --config tiny $shape $run --from text --steps 1 --out no
refuses "text/config.yaml" train $run --from text --steps 1 --out no
refuses "config is needed" train $run --steps 1 --out no
refuses "config is needed" train $run --from hf --steps 1 --out no
refuses "would delete the source weights" train $run --from source --steps 1 --out ./source/ --overwrite
mkdir -p runs && cp -r source runs/tiny-phi # where a run lies whose --out was not said
refuses "would delete the source weights" train $run --from runs/tiny-phi --steps 1 --overwrite
[ -d runs/tiny-phi/checkpoints/step-000000000030 ] || fail "the weights are gone"
[ -d $newest ] && refuses "already holds a run" train $run --from source --steps 1 --out source || fail "the source is gone"
[ ! -e no ] || fail "a refusal leaves a folder"

# eval-model: the same numbers from each.
for from in $newest bare; do
  "$phibal" eval-model --load $from --json 2>error | grep -v -e seconds -e '"checkpoint"' -e '"step"' >found-$(basename $from) || fail "eval-model $from"
done
[ -s found-bare ] && cmp found-bare found-$(basename $newest) || fail "eval-model finds something else in a bare folder"
"$phibal" eval-model --load bare --json 2>error | grep -q '"step": null' || fail "a step that nobody knows"
"$phibal" export --load bare --out hf2 >log 2>error && cmp hf/model.safetensors hf2/model.safetensors || fail "export of a bare folder"
cp -r $newest moved
rm moved/training.safetensors
"$phibal" eval-model --load moved >log 2>error || fail "eval-model without training.safetensors"
printf x | dd of=moved/model.safetensors bs=1 seek=4000 conv=notrunc 2>dd
refuses "moved/model.safetensors: corrupt" eval-model --load moved
refuses "moved/model.safetensors: corrupt" train $run --from moved --steps 1 --out no
rm bare/config.yaml
refuses "'bare' is neither" eval-model --load bare
truncate -s 100 source/checkpoints/step-000000000031/model.safetensors
train --from source $run --steps 1 --out older
grep -q "skipped:.*step-000000000031/model.safetensors: truncated" error || fail "not said what is passed over"
grep -q "from: '$newest'" older/config.yaml || fail "not the checkpoint before"

# Experts divided over ranks.
if [ -n "$mpirun" ]; then
  "$mpirun" --allow-run-as-root --oversubscribe -np 2 "$phibal" train $anew --micro 2 --from $newest --expert-parallel 2 \
    --quiet --out divided >log 2>error || fail "two ranks"
  [ "$(step divided 1 | layers)" = "$(step from-source 1 | layers)" ] || fail "two ranks: other loads in the first step"
  # and continued on two ranks, as one process takes the same steps in one go
  "$mpirun" --allow-run-as-root --oversubscribe -np 2 "$phibal" train --resume divided --steps 6 --quiet >log 2>error || fail "two ranks go on"
  "$mpirun" --allow-run-as-root --oversubscribe -np 2 "$phibal" train --config divided/config.yaml --quiet --out at-once >log 2>error || fail "two ranks in one go"
  for file in model training; do
    cmp divided/checkpoints/step-000000000006/$file.safetensors at-once/checkpoints/step-000000000006/$file.safetensors || fail "two ranks: another $file.safetensors"
  done
  # given the run's folder, each of them finds the same checkpoint
  "$mpirun" --allow-run-as-root --oversubscribe -np 2 "$phibal" train --from divided --steps 1 --quiet --out ranks >log 2>error || fail "two ranks from a run"
fi
echo "runs have begun from runs"

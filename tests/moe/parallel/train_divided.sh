#!/bin/sh
# `mpirun phibal train --expert-parallel N --shard-optimizer true`: as without, to the bit where that
# is promised; checkpoints that go on with another division.
# usage: train_divided.sh PHIBAL TENSOR_BYTES TENSOR_NEAR PARALLEL_RANKS FOLDER SOURCE MPIRUN
set -eu
phibal=$(realpath "$1") tensor=$(realpath "$2") tensor_near=$(realpath "$3") collectives=$(realpath "$4")
folder=$5 source=$(realpath "$6") mpirun=$7
. "$source/tests/moe/ranks.sh"
begin
"$mpirun" -np 4 "$collectives" >log 2>error || fail "the collectives"
# A shared expert, a dense layer, experts of 24 * 40 numbers: blocks that are cut short. Without
# clipping a first moment after one step is a tenth of the gradient.
options="--config tiny --data data/train.tokens --validation data/train.tokens --threads 1 --batch 8
  --quiet --steps 3 --set model.layers=3 --set model.dense_layers=1 --set model.shared_experts=1
  --set model.width=40 --set model.hidden=24 --set model.sequence=16 --set balance.eta=0.3
  --set evaluation.final_sequences=8 --set checkpoint.every=1 --set checkpoint.keep=3"
free="--set optimizer.clip=0"
at() { echo "$1/checkpoints/step-00000000000$2"; }
same() { # A B STEP: lines and files
  lines "$1" >a; lines "$2" >b
  [ -s a ] && cmp a b || fail "$2 is not $1: other metrics"
  for file in model training; do
    cmp "$(at "$1" "$3")/$file.safetensors" "$(at "$2" "$3")/$file.safetensors" ||
      fail "$2 is not $1: another $file.safetensors"
  done
}

# Experts divided over all ranks, and over two groups of two. From the same weights: m, loads and the
# loss to the bit; gradients within the rounding of their sums, which for the few hundred rows that an
# expert has is below 1e-5 of a tensor's norm (a row more or less, or one that did not come back, is
# above 1e-3); later losses as between numbers of ranks.
on 4 $options $free --out plain || fail "4 ranks"
for n in 2 4; do
  on 4 $options $free --out experts$n --expert-parallel $n || fail "experts over $n of 4 ranks"
  for run in plain experts$n; do
    "$tensor" "$(at $run 1)/training.safetensors" balance.m >$run.m || fail "no m"
  done
  cmp plain.m experts$n.m || fail "over $n: another m"
  for what in layers "value loss" "value balance_loss"; do
    [ "$(step plain 1 | $what)" = "$(step experts$n 1 | $what)" ] || fail "over $n: other $what"
  done
  "$tensor_near" 1e-5 adamw.first. "$(at experts$n 1)/training.safetensors" \
    "$(at plain 1)/training.safetensors" >near 2>error || fail "over $n: other gradients"
  for key in loss gradient_norm; do
    near 1e-6 "$(step experts$n 3 | value $key)" "$(step plain 3 | value $key)" || fail "over $n: later $key"
  done
done

# Two experts more, which compute nothing and stay where their tokens are: the others are divided. Their gates have
# factors, and are divided by a sum or its floor.
zero="--set model.experts=10 --set model.zero_experts=2 --set model.expert_factor=true --set model.gate=probability
  --set model.gate_normalisation=sum --set model.gate_floor=0.25 --set model.selection_score=probability"
on 4 $options $free $zero --out zero || fail "experts that compute nothing"
on 4 $options $free $zero --out zero4 --expert-parallel 4 || fail "beside divided ones"
for run in zero zero4; do
  "$tensor" "$(at $run 1)/training.safetensors" balance.m >$run.m || fail "no m"
done
cmp zero.m zero4.m || fail "experts that compute nothing: another m"
for what in layers "value loss"; do
  [ "$(step zero 1 | $what)" = "$(step zero4 1 | $what)" ] || fail "experts that compute nothing: other $what"
done
"$tensor_near" 1e-5 adamw.first. "$(at zero4 1)/training.safetensors" "$(at zero 1)/training.safetensors" >near \
  2>error || fail "experts that compute nothing: other gradients"
near 1e-6 "$(step zero4 3 | value loss)" "$(step zero 3 | value loss)" || fail "experts that compute nothing: later loss"
if "$phibal" export --load zero --out exported >log 2>error; then fail "experts that compute nothing are exported"; fi
grep -q "model.zero_experts (2, there 0)" error || fail "no word of zero_experts"

# The optimizer divided: everything to the bit, clipping included, with and without divided experts.
on 4 $options --out whole || fail "4 ranks, clipping"
on 4 $options --out parts --shard-optimizer true || fail "a divided optimizer"
same whole parts 3
[ "$(step whole 1 | value gradient_norm | cut -c1)" != 0 ] || fail "a norm below 1: nothing is clipped"
on 4 $options $free --out both --expert-parallel 2 --shard-optimizer true || fail "both divided"
same experts2 both 3
digests whole parts both experts2 experts4
[ "$(digest whole)" = "$(digest parts)" ] || fail "a divided optimizer has another digest"
[ "$(digest experts2)" = "$(digest both)" ] || fail "both divided: another digest"

# On another number of ranks, from a checkpoint of each, with each division.
for run in plain both; do
  for to in alone two parts experts; do
    cp -r $run $run-$to
    rm -r "$(at $run-$to 2)" "$(at $run-$to 3)"
  done
  "$phibal" train --resume $run-alone --quiet --expert-parallel 1 >log 2>error || fail "one process"
  on 2 --resume $run-two --quiet --expert-parallel 1 --shard-optimizer false || fail "two ranks"
  on 2 --resume $run-parts --quiet --expert-parallel 1 --shard-optimizer true || fail "in two parts"
  on 2 --resume $run-experts --quiet --expert-parallel 2 --shard-optimizer true || fail "experts"
  same $run-two $run-parts 3
  [ "$(step $run-two 2 | value loss)" = "$(step $run-experts 2 | value loss)" ] || fail "$run: resumed"
  for to in alone two experts; do
    near 1e-6 "$(step $run-$to 3 | value loss)" "$(step $run 3 | value loss)" || fail "$run-$to: loss"
    near 1e-3 "$(step $run-$to 3 | value gradient_norm)" "$(step $run 3 | value gradient_norm)" ||
      fail "$run-$to: gradient"
  done
done

# What the first rank says of the validation text with experts that others lend it is what one process
# that has the checkpoint says, but for the order in which the losses of 8 sequences are added up.
cp -r both evaluated
"$phibal" train --resume evaluated --quiet --expert-parallel 1 >log 2>error || fail "evaluation alone"
for run in both evaluated; do
  lines $run | tail -n 1 >$run.line
  sed 's/"loss":[^,]*,//g' $run.line >$run.rest
done
grep -q '"evaluation"' both.line || fail "not evaluated"
cmp both.rest evaluated.rest || fail "lent experts evaluate otherwise"
near 1e-13 "$(value loss <both.line)" "$(value loss <evaluated.line)" || fail "lent experts' loss"

# From the weights of a Hugging Face model, one that export has made: each rank takes its experts.
"$phibal" train $options --out source --method none --steps 40 --lr 1e-2 --set model.embedding_scale=false \
  --set model.activation=silu --set model.qk_norm=true --set model.shared_experts=0 >log 2>error ||
  fail "a model to export"
"$phibal" export --load source --out folder >log 2>error || fail "export"
cat >tune.yaml <<END
model: {sequence: 16}
batch: {sequences: 8}
optimizer: {peak_lr: 1e-3, clip: 0}
training: {steps: 2, threads: 1}
data: {train: data/train.tokens}
END
for n in 1 2; do
  on 2 --config tune.yaml --from folder --quiet --expert-parallel $n --out tuned$n || fail "tuned"
done
for what in layers "value loss" "value balance_loss"; do
  [ "$(step tuned1 1 | $what)" = "$(step tuned2 1 | $what)" ] || fail "tuned: other $what"
done
near 1e-6 "$(step tuned2 2 | value loss)" "$(step tuned1 2 | value loss)" || fail "tuned: later loss"
# The weights are those that one process begins from, and trained ones: a nat below the first loss of the source.
"$phibal" train --config tune.yaml --from folder --quiet --out tuned >log 2>error || fail "tuned alone"
near 1.5e-14 "$(step tuned1 1 | value loss)" "$(step tuned 1 | value loss)" || fail "from other weights"
awk -v t="$(step tuned 1 | value loss)" -v s="$(step source 1 | value loss)" 'BEGIN { exit !(t < s - 1) }' ||
  fail "from weights that are not trained"
near 0.2 "$(step source 40 | value loss)" "$(step source 1 | value loss)" &&
  fail "the source has learnt too little to tell its weights from random ones"

# Adapters on two ranks as on one, with dropout too.
for dropout in 0 0.3; do
  for n in 1 2; do
    on $n --config tune.yaml --from folder --quiet --set lora.rank=2 --set lora.dropout=$dropout \
      --out adapted$n-$dropout || fail "adapted"
  done
  near 1e-6 "$(step adapted2-$dropout 2 | value loss)" "$(step adapted1-$dropout 2 | value loss)" ||
    fail "adapters: loss"
  near 1e-4 "$(step adapted2-$dropout 2 | value gradient_norm)" "$(step adapted1-$dropout 2 | value gradient_norm)" ||
    fail "adapters: gradient"
done
near 1e-3 "$(step adapted1-0 2 | value gradient_norm)" "$(step adapted1-0.3 2 | value gradient_norm)" &&
  fail "dropout changes nothing"

refuse() { # WORD RANKS OPTION...
  word=$1
  shift
  if on "$@"; then fail "$* is not refused"; fi
  grep -q "$word" error || fail "$*: no word of '$word'"
}
refuse "3 does not divide the 2 ranks" 2 $options --out no \
  --set model.experts=6 --expert-parallel 3
refuse "cannot be divided evenly over 3 ranks" 3 $options --out no --expert-parallel 3
refuse "the model has no experts" 2 $options --out no --expert-parallel 2 --method dense
[ ! -e no ] || fail "a refused run has left a folder"
echo "divided experts and optimizers: as undivided ones"

#!/bin/sh
# `mpirun phibal train --device host-cuda`: the same m, biases and loads on 1, 2 and 4 ranks, losses within
# the CPU's band, the same bits after a resumption, and what is refused.
# usage: train_device_ranks.sh PHIBAL TENSOR_BYTES TENSOR_NEAR DEVICE_RANKS FOLDER SOURCE MPIRUN
set -eu
phibal=$(realpath "$1") tensor=$(realpath "$2") tensor_near=$(realpath "$3") device_ranks=$(realpath "$4")
folder=$5 source=$(realpath "$6") mpirun=$7
. "$source/tests/moe/ranks.sh"
begin
PHIBAL_CUDA_LIBRARY=$(dirname "$phibal")/../kernels/cuda/libphibal-cuda-on-host.so
export PHIBAL_CUDA_LIBRARY
"$mpirun" -np 4 "$device_ranks" >log 2>error || fail "sums and exchanges"

options="--config tiny --data data/train.tokens --threads 1 --batch 8 --quiet --steps 3
  --set model.layers=3 --set model.width=40 --set model.hidden=24 --set model.sequence=32
  --set model.dense_layers=1 --set model.shared_experts=1 --set balance.eta=0.3
  --set balance.z_coefficient=1e-3 --set checkpoint.every=1 --set checkpoint.keep=3
  --validation data/train.tokens --set evaluation.final_sequences=8 --set evaluation.every=2"
# Lines of metrics.jsonl: steps 1, 2, an evaluation, step 3, an evaluation.
device="$options --device host-cuda"
first=checkpoints/step-000000000001

# After the first step, from the same weights: m, biases and loads to the bit, micro-batches or none; the
# loss is a sum of 256 binary64 numbers in another order, so within 256 * 2^-53. Later the ranks' gradients,
# rounded once more, move the losses apart: the band is that of train_ranks.sh, beside the CPU that of
# train_device.sh (attention is rounded otherwise there, so m is not the CPU's to the bit).
"$phibal" train $options --out cpu >log 2>error || fail "the CPU"
"$phibal" train $device --out alone >log 2>error || fail "one process"
"$phibal" train $device --out alone-bias --method loss-free >log 2>error || fail "loss-free"
m_of() { "$tensor" $1/$first/training.safetensors balance.m >$1.m || fail "no m in $1"; }
m_of alone
same() { # RUN: as alone, and as the CPU
  m_of $1
  cmp alone.m $1.m || fail "$1: another m"
  "$tensor_near" 1e-5 balance.m $1/$first/training.safetensors cpu/$first/training.safetensors >near 2>error ||
    fail "$1: not the CPU's m"
  [ "$(step alone 1 | layers)" = "$(step $1 1 | layers)" ] || fail "$1: other loads"
  near 2.9e-14 "$(step $1 1 | value loss)" "$(step alone 1 | value loss)" || fail "$1: loss"
  for key in loss gradient_norm; do
    near 1e-6 "$(step $1 4 | value $key)" "$(step alone 4 | value $key)" || fail "$1: later $key"
    near 1e-5 "$(step $1 4 | value $key)" "$(step cpu 4 | value $key)" || fail "$1: $key beside the CPU's"
  done
}
same alone
on 1 $device --out one || fail "one rank"
lines alone >a; lines one >b; cmp a b || fail "one rank is not one process"
same one
on 2 $device --out two || fail "two ranks"
same two
on 4 $device --out four --micro 1 || fail "four ranks, micro-batches"
# Prices of micro-batches are of the loads up to them, so beside the same division on the CPU.
on 4 $options --out cpu-four --micro 1 || fail "four ranks, the CPU"
m_of four
cmp alone.m four.m || fail "four ranks: another m"
for key in balance_loss z_loss loss; do
  near 1e-5 "$(step four 4 | value $key)" "$(step cpu-four 4 | value $key)" || fail "micro-batches: $key"
done

# Routes of one process in other weights, replayed by ranks.
"$phibal" train $device --from cpu/$first --out recorded --record-routes recorded.routes >log 2>error || fail "recorded"
on 2 $device --out replayed --micro 2 --replay-routes recorded.routes --record-routes replayed.routes || fail "replayed"
on 2 $device --out chosen --micro 2 --record-routes chosen.routes || fail "chosen"
cmp recorded.routes replayed.routes || fail "two ranks replay other routes"
! cmp -s recorded.routes chosen.routes || fail "two ranks choose the same"

# Hashes, and experts divided behind them.
hash="--set model.hash_layers=1 --set balance.alpha=1"
"$phibal" train $options --out cpu-hash $hash >log 2>error || fail "hashes on the CPU"
on 2 $device --out hash $hash || fail "hashes on two ranks"
on 2 $device --out hash-experts $hash --expert-parallel 2 || fail "hashes, experts over two ranks"
for run in hash hash-experts; do
  for key in balance_loss loss gradient_norm; do
    near 1e-5 "$(step $run 4 | value $key)" "$(step cpu-hash 4 | value $key)" || fail "$run: $key"
  done
done

# What m follows and where it begins; frequencies of the global batch, of all ranks' tokens.
follow="--track frequency --set balance.start=zero-corrected --set balance.alpha=0.05"
"$phibal" train $device --out alone-follow $follow >log 2>error || fail "frequencies"
on 2 $device --out follow $follow --micro 2 || fail "two ranks, frequencies"
on 2 $options --out cpu-follow $follow --micro 2 || fail "two ranks on the CPU, frequencies"
m_of alone-follow; m_of follow
cmp alone-follow.m follow.m || fail "frequencies: another m"
cmp -s alone.m follow.m && fail "frequencies: not used"
on 2 $device --out global --method switch-global --micro 2 || fail "two ranks, switch-global"
on 2 $options --out cpu-global --method switch-global --micro 2 || fail "two ranks on the CPU, switch-global"
for run in follow global; do
  for key in balance_loss loss gradient_norm; do
    near 1e-5 "$(step $run 4 | value $key)" "$(step cpu-$run 4 | value $key)" || fail "$run: $key"
  done
done

# Capacities of each rank's micro-batch; factors, and experts without weights, divided over ranks too.
extra="--set model.expert_factor=true --set balance.alpha=0.05"
for case in "drop 1 --set balance.capacity_factor=0.8" "zero 2 --set model.zero_experts=2"; do
  set -- $case
  run=$1 parts=$2
  shift 2
  on 2 $device --out $run $extra --micro 2 --expert-parallel $parts "$@" || fail "two ranks: $run"
  on 2 $options --out cpu-$run $extra --micro 2 --expert-parallel $parts "$@" || fail "two ranks on the CPU: $run"
  for key in balance_loss loss gradient_norm; do
    near 1e-5 "$(step $run 4 | value $key)" "$(step cpu-$run 4 | value $key)" || fail "$run: $key"
  done
done
[ "$(step drop 1 | value dropped)" = "$(step cpu-drop 1 | value dropped)" ] || fail "other routes are dropped"
[ "$(step drop 1 | value dropped)" != 0.0 ] || fail "nothing is dropped"

# Experts divided over pairs of the four ranks: as train_divided.sh has it of the CPU. m, loads and losses
# from the same weights to the bit, gradients within the rounding of their sums, and what the first rank
# says of the validation text with the experts of the second.
on 4 $device --out experts --micro 1 --expert-parallel 2 || fail "experts over 2 of 4 ranks"
m_of experts
cmp four.m experts.m || fail "divided experts: another m"
for what in layers "value loss" "value balance_loss" "value z_loss"; do
  [ "$(step four 1 | $what)" = "$(step experts 1 | $what)" ] || fail "divided experts: other $what"
done
"$tensor_near" 1e-5 adamw.first. experts/$first/training.safetensors four/$first/training.safetensors \
  >near 2>error || fail "divided experts: other gradients"
for key in loss gradient_norm; do
  near 1e-6 "$(step experts 4 | value $key)" "$(step four 4 | value $key)" || fail "divided experts: later $key"
done
for line in 3 5; do # before a checkpoint and behind one
  near 1e-6 "$(step experts $line | value loss)" "$(step four $line | value loss)" ||
    fail "divided experts: evaluation"
done
rm -r experts/checkpoints/step-000000000003 experts/result.json
cp -r experts resumed
on 4 --resume resumed --device host-cuda --quiet || fail "divided experts: resume"
lines experts >a; lines resumed >b; cmp a b || fail "divided experts: a resumed run differs"

# In bfloat16: m and loads from the same weights to the bit; gradients of weights are sums of the same
# numbers in another order; what a rank has of the others' experts is half as long.
half="$device --set training.precision=bfloat16"
"$phibal" train $half --out half >log 2>error || fail "one process in bfloat16"
on 4 $half --out half-experts --expert-parallel 2 || fail "experts over 2 of 4 ranks in bfloat16"
m_of half; m_of half-experts
cmp half.m half-experts.m || fail "divided experts in bfloat16: another m"
cmp -s half.m alone.m && fail "bfloat16 was not used"
[ "$(step half 1 | layers)" = "$(step half-experts 1 | layers)" ] || fail "divided experts in bfloat16: other loads"
near 2.9e-14 "$(step half 1 | value loss)" "$(step half-experts 1 | value loss)" ||
  fail "divided experts in bfloat16: loss"
"$tensor_near" 1e-5 adamw.first. half-experts/$first/training.safetensors half/$first/training.safetensors \
  >near 2>error || fail "divided experts in bfloat16: other gradients"

on 2 $device --out bias --method loss-free --micro 2 || fail "two ranks, loss-free"
name=model.layers.2.mlp.gate.e_score_correction_bias
bias_of() { "$tensor" $1/$first/model.safetensors $name >$1.bias || fail "no bias in $1"; }
bias_of alone-bias; bias_of bias
cmp alone-bias.bias bias.bias || fail "another bias"
# Frequencies, and quantiles of all ranks' tokens, exact and of histograms.
for case in "prices --method phi-bias" "quantile --method quantile" \
  "bins --method quantile --set balance.quantile_bins=64"; do
  set -- $case
  run=$1
  shift
  "$phibal" train $device --out alone-$run "$@" --steps 1 >log 2>error || fail "$run"
  on 2 $device --out $run "$@" --micro 2 || fail "two ranks: $run"
  on 2 $options --out cpu-$run "$@" --micro 2 || fail "two ranks on the CPU: $run"
  bias_of alone-$run; bias_of $run
  cmp alone-$run.bias $run.bias || fail "$run: another bias"
  cmp -s alone-bias.bias $run.bias && fail "$run: not used"
  for key in loss gradient_norm; do
    near 1e-5 "$(step $run 4 | value $key)" "$(step cpu-$run 4 | value $key)" || fail "$run: $key"
  done
done
[ "$(step alone 4 | layers)" != "$(step alone 1 | layers)" ] || fail "nothing has moved"

# The same bits where a run is cut short and goes on.
cp -r two cut
rm -r cut/checkpoints/step-000000000003 cut/result.json
on 2 --resume cut --device host-cuda --quiet || fail "resume"
lines two >a; lines cut >b; cmp a b || fail "a resumed run differs"

# Adapters: each rank's gradients of A and B, added up and clipped, in one call and, where no price
# depends on the calls, in several.
plain="--set model.shared_experts=0 --set model.activation=silu --set model.logit_softcap=0
  --set model.embedding_scale=false --set model.qk_norm=true"
"$phibal" train $options $plain --out plain >log 2>error && "$phibal" export --load plain --out hf >log 2>error ||
  fail "a model for adapters"
adapters="$device $plain --from hf --set lora.rank=3 --set lora.alpha=7 --set optimizer.peak_lr=0.01
  --set optimizer.clip=0.05 --set lora.targets=q_proj,o_proj,gate_proj,down_proj,mlp.gate"
for method in phi loss-free; do
  "$phibal" train $adapters --method $method --out adapted >log 2>error || fail "adapters in one process"
  for n in 2 4; do
    micro=8
    [ $method = phi ] || micro=1
    on $n $adapters --method $method --micro $micro --out adapted$n || fail "adapters on $n ranks"
    [ "$(step adapted 1 | layers)" = "$(step adapted$n 1 | layers)" ] || fail "adapters on $n ranks: other loads"
    for key in loss gradient_norm; do
      near 1e-6 "$(step adapted 1 | value $key)" "$(step adapted$n 1 | value $key)" ||
        fail "adapters on $n ranks, $method: the first $key"
      near 1e-5 "$(step adapted 4 | value $key)" "$(step adapted$n 4 | value $key)" ||
        fail "adapters on $n ranks, $method: $key"
    done
    rm -r adapted$n
  done
  near 1e-3 "$(step adapted 4 | value loss)" "$(step adapted 1 | value loss)" && fail "adapters learn nothing"
  rm -r adapted
done

refuse() { # WORD OPTION...
  word=$1
  shift
  if on 2 $device --out no "$@"; then fail "$* is not refused"; fi
  grep -q -- "$word" error || fail "no '$word' in the message"
}
refuse "sharded optimizer" --shard-optimizer true
echo "1, 2 and 4 ranks on devices: one m"

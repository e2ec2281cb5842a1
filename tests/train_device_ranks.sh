#!/bin/sh
# `mpirun phibal train --device host-cuda`: the same m, biases and loads on 1, 2 and 4 ranks, losses within
# the CPU's band, the same bits after a resumption, and what is refused.
# usage: train_device_ranks.sh PHIBAL TENSOR_BYTES DEVICE_RANKS FOLDER SOURCE MPIRUN
set -eu
phibal=$(realpath "$1") tensor=$(realpath "$2") device_ranks=$(realpath "$3") folder=$4
source=$(realpath "$5") mpirun=$6
. "$source/tests/ranks.sh"
begin
PHIBAL_CUDA_LIBRARY=$(dirname "$phibal")/../kernels/cuda/libphibal-cuda-on-host.so
export PHIBAL_CUDA_LIBRARY
"$mpirun" -np 4 "$device_ranks" >log 2>error || fail "sums and exchanges"

options="--config tiny --data data/train.tokens --threads 1 --batch 8 --quiet --steps 3
  --set model.layers=2 --set model.width=32 --set model.sequence=32 --set model.dense_layers=1
  --set balance.eta=0.3 --set balance.z_coefficient=1e-3 --set checkpoint.every=1 --set checkpoint.keep=3"
device="$options --device host-cuda"
first=checkpoints/step-000000000001

# After the first step, from the same weights: m, biases and loads to the bit, micro-batches or none, and
# those of the CPU; the loss is a sum of 256 binary64 numbers in another order, so within 256 * 2^-53.
# Later the ranks' gradients, rounded once more, move the losses apart: the band is that of train_ranks.sh,
# beside the CPU that of train_device.sh.
"$phibal" train $options --out cpu >log 2>error || fail "the CPU"
"$phibal" train $device --out alone >log 2>error || fail "one process"
"$phibal" train $device --out alone-bias --method loss-free >log 2>error || fail "loss-free"
same() { # RUN: m and loads of the first step
  "$tensor" $1/$first/training.safetensors balance.m >run.m || fail "no m"
  "$tensor" cpu/$first/training.safetensors balance.m >cpu.m
  cmp cpu.m run.m || fail "$1: another m than the CPU's"
  [ "$(step cpu 1 | layers)" = "$(step $1 1 | layers)" ] || fail "$1: other loads"
  near 2.9e-14 "$(step $1 1 | value loss)" "$(step alone 1 | value loss)" || fail "$1: loss"
  for key in loss gradient_norm; do
    near 1e-6 "$(step $1 3 | value $key)" "$(step alone 3 | value $key)" || fail "$1: later $key"
    near 1e-5 "$(step $1 3 | value $key)" "$(step cpu 3 | value $key)" || fail "$1: $key beside the CPU's"
  done
}
same alone
on 1 $device --out one || fail "one rank"
lines alone >a; lines one >b; cmp a b || fail "one rank is not one process"
on 2 $device --out two || fail "two ranks"
same two
on 4 $device --out four --micro 1 || fail "four ranks, micro-batches"
# Prices of micro-batches are of the loads up to them, so beside the same division on the CPU.
on 4 $options --out cpu-four --micro 1 || fail "four ranks, the CPU"
"$tensor" four/$first/training.safetensors balance.m >run.m && cmp cpu.m run.m || fail "four ranks: another m"
for key in balance_loss z_loss loss; do
  near 1e-5 "$(step four 3 | value $key)" "$(step cpu-four 3 | value $key)" || fail "micro-batches: $key"
done
on 2 $device --out bias --method loss-free --micro 2 || fail "two ranks, loss-free"
name=model.layers.1.mlp.gate.e_score_correction_bias
for run in alone-bias bias; do "$tensor" $run/$first/model.safetensors $name >$run.bias || fail "no bias"; done
cmp alone-bias.bias bias.bias || fail "another bias"
[ "$(step alone 3 | layers)" != "$(step alone 1 | layers)" ] || fail "nothing has moved"

# The same bits where a run is cut short and goes on.
cp -r two cut
rm -r cut/checkpoints/step-000000000003 cut/result.json
on 2 --resume cut --device host-cuda --quiet || fail "resume"
lines two >a; lines cut >b; cmp a b || fail "a resumed run differs"

refuse() { # WORD OPTION...
  word=$1
  shift
  if on 2 $device --out no "$@"; then fail "$* is not refused"; fi
  grep -q -- "$word" error || fail "no '$word' in the message"
}
refuse "experts divided over ranks" --expert-parallel 2
refuse "divided optimizer" --shard-optimizer true
echo "1, 2 and 4 ranks on devices: one m"

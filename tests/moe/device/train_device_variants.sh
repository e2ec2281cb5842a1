#!/bin/sh
# As train_device.sh, beside the CPU: the ways to balance, the gates, capacities, experts without weights, and routes
# that are given or hashed.
# usage: train_device_variants.sh PHIBAL FOLDER [DEVICE]
set -eu
. "$(dirname "$0")/device_runs.sh"

train phi-cpu --steps 10 # of softmax gates, by phi-balancing: no variant
state="--set balance.eta=0.3 --set balance.alpha=0.05"
beside frequency 10 $state --track frequency
beside corrected 10 $state --track frequency --set balance.start=zero-corrected --set checkpoint.every=5
differ frequency-cpu corrected-cpu balance_loss 10
# The second half of a run where the first was not.
passed_on() { # FROM-RUN OPTION... (of the other half): as the CPU's whole run
  run=$1
  shift
  rm -rf passed
  cp -r "$run" passed
  rm -r passed/checkpoints/step-000000000010 passed/result.json
  resume passed "$@"
  for key in loss gradient_norm; do close "${run%%-*}-cpu" passed $key 1e-5 10; done
}
passed_on corrected-$device
passed_on corrected-cpu --device $device
# Biases of prices, and of quantiles: what a step's micro-batches need together.
beside bias 4 $state --method phi-bias --set balance.start=zero-corrected --set balance.bias_scale=0.5 \
  --set balance.z_coefficient=0
beside quantile 10 --method quantile --set balance.quantile_eta=0.5 --set balance.z_coefficient=0 --set checkpoint.every=5
beside bins 4 --method quantile --set balance.quantile_bins=200 --set model.gate=sigmoid --set balance.z_coefficient=0
differ quantile-cpu phi-cpu loss 10
# Prices of each sequence by itself, and hashes in a first layer, which no price reaches.
beside sequence 6 --method sequence --set balance.alpha=0.2
beside sequence_hashed 6 --method sequence --set balance.alpha=0.2 --set model.hash_layers=1
differ sequence-cpu sequence_hashed-cpu balance_loss 6
passed_on quantile-$device
passed_on quantile-cpu --device $device
# Factors of experts, and gates over a sum with a floor, which not every token reaches.
beside factor 10 $state --set model.expert_factor=true --set model.gate=sigmoid --set model.gate_normalisation=sum \
  --set model.gate_floor=0.95 --set model.route_scale=1.5 --set balance.z_coefficient=0
# Experts without weights, that return their input or nothing.
for output in identity zero; do
  beside zero_$output 10 $state --set model.zero_experts=3 --set model.zero_output=$output --set model.expert_factor=true
done
differ zero_identity-cpu zero_zero-cpu loss 10
# Capacities of each micro-batch, and what is dropped.
for policy in token-order slot-order lowest-gate; do
  beside drop_$policy 6 $state --set balance.capacity_factor=0.9 --set balance.capacity_policy=$policy
  numbers drop_$policy-cpu dropped >a
  numbers drop_$policy-$device dropped >b
  cmp a b && [ -s a ] && ! grep -q '^0[.0]*$' a || fail "policy $policy: other routes are dropped"
done
differ drop_token-order-cpu drop_lowest-gate-cpu loss 6
# Groups of experts, and gates over a sum with an epsilon.
for gate in sigmoid sqrt_softplus; do
  beside groups_$gate 3 --method loss-free --set model.gate=$gate --set model.gate_normalisation=sum \
    --set model.gate_epsilon=0.1 --set model.expert_groups=4 --set model.active_groups=2 --set model.group_score=share \
    --set balance.z_coefficient=0
done
differ groups_sigmoid-cpu groups_sqrt_softplus-cpu loss 3 1e-7
# Selection by probabilities, which is another one than by logits as soon as there is a bias.
for score in of_gate probability; do
  beside $score 4 --method loss-free --set balance.bias_rate=0.05 --set model.gate=probability \
    --set model.selection_score=$score --set model.expert_groups=4 --set model.active_groups=2
done
differ of_gate-cpu probability-cpu loss 4 1e-7

# Routes that the CPU has recorded in other weights, which these would not choose: beside the CPU that replays them, and
# in bfloat16; what a device has taken is what it was given. Its own, again to the bit.
train recorded --steps 4 --from phi-cpu --record-routes recorded.routes
free="--steps 4 --method loss-free --set balance.bias_rate=0.05 --set model.expert_groups=4 --set model.active_groups=2"
train replayed-cpu $free --replay-routes recorded.routes
train replayed-device $free --replay-routes recorded.routes --record-routes device.routes --device $device
train replayed-half $free --replay-routes recorded.routes --record-routes half.routes --device $device \
  --set training.precision=bfloat16
train chosen $free --record-routes chosen.routes --device $device
for key in loss gradient_norm; do close replayed-cpu replayed-device $key 1e-5 4; done
cmp recorded.routes device.routes && cmp recorded.routes half.routes || fail "a device has not the routes that it was given"
! cmp -s recorded.routes chosen.routes || fail "a device chooses the same"
differ chosen replayed-device gradient_norm 4
train chosen-again $free --replay-routes chosen.routes --record-routes again.routes --device $device \
  --set training.recompute=layers
digest() { sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1/result.json"; }
cmp chosen.routes again.routes && [ "$(losses chosen)" = "$(losses chosen-again)" ] || fail "a device's own routes, replayed"
[ "$(digest chosen)" = "$(digest chosen-again)" ] || fail "a device's own routes, replayed: other weights"

for bins in 0 9; do
  quantile="--steps 4 --method quantile --set balance.quantile_bins=$bins --set model.selection_score=probability"
  train given-cpu $quantile --replay-routes recorded.routes
  train given-device $quantile --replay-routes recorded.routes --record-routes device.routes --device $device
  for key in loss gradient_norm; do close given-cpu given-device $key 1e-5 4; done
  cmp recorded.routes device.routes || fail "quantile: a device has not the routes that it was given"
done

# Layers that route by hash.
beside hashed 4 --set model.hash_layers=1 --set balance.alpha=1
beside hashed-free 4 --method loss-free --set balance.bias_rate=0.05 --set model.hash_layers=1 --set model.hash_seed=3
beside hashed-quantile 4 --method quantile --set model.hash_layers=1 --set model.selection_score=probability
differ hashed-cpu phi-cpu loss 4

# What each token of a step would need, of two layers' 8 experts, in calls of two for a batch of three; and bins.
taken() { "$phibal" train --config tiny --batch 3 --micro 2 --dry-run --json "$@" | sed -n 's/.*"activation_bytes": \([0-9]*\).*/\1/p'; }
sizes="--set model.layers=3 --set model.dense_layers=1 --set model.experts=8 --set model.sequence=32 --device $device"
without=$(taken $sizes --method loss-free)
[ $(($(taken $sizes --method quantile) - without)) -eq $((4 * 2 * 8 * 4 * 32)) ] || fail "memory of quantiles"
[ $(($(taken $sizes --method quantile --set balance.quantile_bins=50) - without)) -eq $((4 * 2 * 8 * 4 * 32 + 8 * 8 * 50)) ] ||
  fail "memory of bins"

#!/bin/sh
# `phibal train --device host-cuda`, the CUDA kernels compiled for the host (or another device), beside the
# CPU's training in binary32: for ten steps losses and gradient norms agree to 1e-5 relatively; a run is the
# same bits each time, stopped and resumed too, in bfloat16 as well; what the kernels lack is refused by name.
# usage: train_device.sh PHIBAL FOLDER [DEVICE]
set -eu
phibal=$(realpath "$1") folder=$2 device=${3:-host-cuda} words=$(realpath "$(dirname "$0")/../words.awk")
rm -rf "$folder"
mkdir -p "$folder/text"
cd "$folder"
fail() { echo "FAIL: $*" >&2; exit 1; }

awk -v seed=1 -v words=24000 -f "$words" >text/words.md
"$phibal" data build --out data --domain text=text/ >log 2>&1 || { cat log >&2; fail "data build"; }

train() { # NAME OPTION...
  name=$1
  shift
  "$phibal" train --config tiny --data data/train.tokens --quiet --overwrite \
    --batch 3 --micro 2 --set model.layers=3 --set model.sequence=32 --set model.width=64 --set model.dense_layers=1 \
    --set model.shared_experts=1 --set model.hidden=24 --set model.head_width=16 --set model.key_value_heads=2 \
    --set model.qk_norm=true --set model.logit_softcap=20 --set balance.z_coefficient=1e-3 \
    --out "$name" "$@" >log 2>error || { cat error >&2; fail "train $name"; }
}

# numbers NAME KEY: of all steps.
numbers() { sed -n 's/.*"type":"step".*"'"$2"'":\([-0-9.e]*\).*/\1/p' "$1/metrics.jsonl"; }

# close A B KEY BAND STEPS: relatively, step for step.
close() {
  numbers "$1" "$3" >a
  numbers "$2" "$3" >b
  paste a b | awk -v band="$4" -v what="$3" -v steps="$5" '
    { n++; d = $1 - $2; if (d < 0) d = -d; s = $1 < 0 ? -$1 : $1; if (d > most * s && s > 0) most = d / s }
    END { printf "%s: %d steps, at most %.2g apart\n", what, n, most; exit !(n == steps && most <= band) }' ||
    fail "$3 of $1 and $2"
}

for method in phi switch switch-global loss-free; do
  steps=3
  [ $method != phi ] || steps=10
  train "cpu-$method" --method $method --steps $steps
  train "cuda-$method" --method $method --steps $steps --device $device
  for key in loss gradient_norm balance_loss z_loss; do
    close "cpu-$method" "cuda-$method" $key 1e-5 $steps
  done
done
# beside NAME STEPS OPTION...: on the CPU and on the device.
beside() {
  case=$1 steps=$2
  shift 2
  train "$case-cpu" --steps $steps "$@"
  train "$case-$device" --steps $steps --device $device "$@"
  for key in loss gradient_norm balance_loss; do close "$case-cpu" "$case-$device" $key 1e-5 $steps; done
}
# differ A B KEY STEPS: the option between them matters.
differ() {
  if (close "$1" "$2" "$3" 1e-4 "$4") >/dev/null 2>&1; then fail "$3 of $1 and $2 is the same"; fi
}
state="--set balance.eta=0.3 --set balance.alpha=0.05"
beside frequency 10 $state --track frequency
beside corrected 10 $state --track frequency --set balance.start=zero-corrected --set checkpoint.every=5
differ frequency-cpu corrected-cpu balance_loss 10
differ cpu-switch cpu-switch-global balance_loss 3
# The second half of a run where the first was not.
passed_on() { # FROM-RUN OPTION... (of the other half): as the CPU's whole run
  run=$1
  shift
  rm -rf passed
  cp -r "$run" passed
  rm -r passed/checkpoints/step-000000000010 passed/result.json
  "$phibal" train --resume passed --quiet "$@" >log 2>error || { cat error >&2; fail "$run passed on"; }
  for key in loss gradient_norm; do close "${run%%-*}-cpu" passed $key 1e-5 10; done
}
passed_on corrected-$device
passed_on corrected-cpu --device $device
# Biases of prices, and of quantiles: what a step's micro-batches need together.
beside bias 4 $state --method phi-bias --set balance.start=zero-corrected --set balance.bias_scale=0.5 \
  --set balance.z_coefficient=0
beside quantile 10 --method quantile --set balance.quantile_eta=0.5 --set balance.z_coefficient=0 --set checkpoint.every=5
beside bins 4 --method quantile --set balance.quantile_bins=200 --set model.gate=sigmoid --set balance.z_coefficient=0
differ quantile-cpu cpu-phi loss 10
# Prices of each sequence by itself, and hashes in a first layer, which no price reaches.
beside sequence 6 --method sequence --set balance.alpha=0.2
beside hashed 6 --method sequence --set balance.alpha=0.2 --set model.hash_layers=1
differ sequence-cpu hashed-cpu balance_loss 6
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
for on in cpu $device; do
  option=
  [ $on = cpu ] || option="--device $device"
  for gate in sigmoid sqrt_softplus; do
    train "$gate-$on" --method loss-free --steps 3 --set model.gate=$gate --set model.gate_normalisation=sum \
      --set model.gate_epsilon=0.1 --set model.expert_groups=4 --set model.active_groups=2 --set model.group_score=share \
      --set balance.z_coefficient=0 $option
  done
done
for key in loss gradient_norm; do
  close sigmoid-cpu "sigmoid-$device" $key 1e-5 3
  close sqrt_softplus-cpu "sqrt_softplus-$device" $key 1e-5 3
done
# Selection by probabilities, which is another one than by logits as soon as there is a bias.
for on in cpu $device; do
  option=
  [ $on = cpu ] || option="--device $device"
  for score in of_gate probability; do
    train "$score-$on" --method loss-free --steps 4 --set balance.bias_rate=0.05 --set model.gate=probability \
      --set model.selection_score=$score --set model.expert_groups=4 --set model.active_groups=2 $option
  done
done
for key in loss gradient_norm z_loss; do
  close probability-cpu "probability-$device" $key 1e-5 4
done
if (close of_gate-cpu probability-cpu loss 1e-7 4) >/dev/null 2>&1; then
  fail "the selection's score makes no difference"
fi
if (close sigmoid-cpu sqrt_softplus-cpu loss 1e-7 3) >/dev/null 2>&1; then fail "the gate makes no difference"; fi
cmp -s cpu-phi/metrics.jsonl cuda-phi/metrics.jsonl && fail "the device was not used"

# 100 tokens are windows of 32, 32, 32 and 4: the last one's padding, in every other batch, counts in no
# loads, and its last token, which has no target, does.
mkdir short
head -c 99 text/words.md >short/text.md
"$phibal" data build --out few --validation 0 --domain text=short/ >log 2>&1 || { cat log >&2; fail "data build"; }
for on in cpu $device; do
  option=
  [ $on = cpu ] || option="--device $device"
  train "padded-$on" --data few/train.tokens --batch 2 --steps 6 $option
done
for key in loss gradient_norm balance_loss z_loss; do
  close padded-cpu "padded-$device" $key 1e-5 6
done

# Documents apart, of 1 to 80 bytes, so that windows have several: beside the CPU's, and neither is as if
# they saw each other.
mkdir pieces
fold -b -w 80 text/words.md | head -n 40 | awk '{ print substr($0, 1, 1 + NR * 37 % 80) >("pieces/" NR ".md") }'
"$phibal" data build --out documents --validation 0 --domain text=pieces/ >log 2>&1 || { cat log >&2; fail "data build"; }
for on in cpu $device; do
  option=
  [ $on = cpu ] || option="--device $device"
  train "together-$on" --data documents/train.tokens --steps 10 $option
  train "apart-$on" --data documents/train.tokens --steps 10 --set data.boundaries=true $option
done
for key in loss gradient_norm balance_loss z_loss; do
  close apart-cpu "apart-$device" $key 1e-5 10
done
for on in cpu $device; do
  if (close "apart-$on" "together-$on" gradient_norm 1e-3 10) >/dev/null 2>&1; then fail "$on: documents see each other"; fi
done

# Instructions: only what is answered is learned, beside the CPU's.
awk 'BEGIN { for (i = 0; i < 40; i++)
  printf "{\"prompt\": \"n%d: \", \"completion\": \"%d plus %d is %d\"}\n", i, i, i % 7, i + i % 7 }' >plain.jsonl
"$phibal" data build --instructions --out asked --validation 0 plain.jsonl >log 2>&1 || { cat log >&2; fail "data build"; }
for on in cpu $device; do
  option=
  [ $on = cpu ] || option="--device $device"
  train "asked-$on" --data asked/train.tokens --steps 6 $option
done
for key in loss gradient_norm balance_loss z_loss; do
  close asked-cpu "asked-$device" $key 1e-5 6
done

# The weights and moments came back to the host, and went out again.
digest() { sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1/result.json"; }
losses() { grep -o '"loss":[^,]*' "$1/metrics.jsonl"; }
train again --method switch --steps 3 --device $device --set checkpoint.every=2
[ "$(losses cuda-switch)" = "$(losses again)" ] || fail "two runs differ"
rm -r again/checkpoints/step-000000000003 again/result.json
"$phibal" train --resume again --device $device --quiet >log 2>error || { cat error >&2; fail resume; }
[ "$(losses cuda-switch)" = "$(losses again)" ] || fail "a resumed run differs"
# from the weights of a run, as the CPU takes its first step from them
train weights --method switch --steps 1 --device $device --from again
train weights-cpu --method switch --steps 1 --from again
close weights-cpu weights loss 1e-5 1
# more steps than were planned, in one go and killed between
cp -r again longer
"$phibal" train --resume again --device $device --steps 10 --quiet >log 2>error || { cat error >&2; fail "more steps"; }
"$phibal" train --resume longer --device $device --steps 10 --set checkpoint.every=1 >log 2>error & pid=$!
while [ "$(wc -l <longer/metrics.jsonl)" -lt $(($(wc -l <cuda-switch/metrics.jsonl) + 1)) ]; do
  kill -0 $pid 2>/dev/null || break
  sleep 0.01
done
kill -9 $pid 2>/dev/null || :
wait $pid || :
"$phibal" train --resume longer --device $device --quiet >log 2>error || { cat error >&2; fail "a killed continuation"; }
[ "$(losses again)" = "$(losses longer)" ] && grep -q '"steps": 10' longer/result.json || fail "a continued run differs"

# Routes that the CPU has recorded in other weights, which these would not choose: beside the CPU that replays them, and
# in bfloat16; what a device has taken is what it was given. Its own, again to the bit.
train recorded --steps 4 --from cpu-phi --record-routes recorded.routes
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
cmp chosen.routes again.routes && [ "$(losses chosen)" = "$(losses chosen-again)" ] || fail "a device's own routes, replayed"
[ "$(digest chosen)" = "$(digest chosen-again)" ] || fail "a device's own routes, replayed: other weights"

for bins in 0 9; do
  quantile="--steps 4 --method quantile --set balance.quantile_bins=$bins --set model.selection_score=probability"
  train quantile-cpu $quantile --replay-routes recorded.routes
  train quantile-device $quantile --replay-routes recorded.routes --record-routes device.routes --device $device
  for key in loss gradient_norm; do close quantile-cpu quantile-device $key 1e-5 4; done
  cmp recorded.routes device.routes || fail "quantile: a device has not the routes that it was given"
done

# Layers that route by hash.
beside hashed 4 --set model.hash_layers=1 --set balance.alpha=1
beside hashed-free 4 --method loss-free --set balance.bias_rate=0.05 --set model.hash_layers=1 --set model.hash_seed=3
beside hashed-quantile 4 --method quantile --set model.hash_layers=1 --set model.selection_score=probability
differ hashed-cpu cpu-phi loss 4

# In bfloat16: the same bits each time, stopped and resumed too; the masters are what is kept.
train half --steps 6 --device $device --set training.precision=bfloat16
grep -q "precision.*bfloat16" log || { cat log >&2; fail "the tables do not say that it was bfloat16"; }
train half-again --steps 6 --device $device --set training.precision=bfloat16 --set checkpoint.every=3
rm -r half-again/checkpoints/step-000000000006 half-again/result.json
if "$phibal" train --resume half-again --quiet >log 2>error; then fail "resumed on the CPU"; fi
grep -q "training.precision" error || fail "resuming on the CPU: $(cat error)"
"$phibal" train --resume half-again --device $device --quiet >log 2>error || { cat error >&2; fail "resume in bfloat16"; }
[ "$(losses half)" = "$(losses half-again)" ] || fail "a run in bfloat16 that was resumed differs"
for file in model training; do
  cmp half/checkpoints/step-000000000006/$file.safetensors half-again/checkpoints/step-000000000006/$file.safetensors ||
    fail "the checkpoint of a run in bfloat16 that was resumed differs"
done
[ "$(losses half | head -n 1)" != "$(losses cuda-phi | head -n 1)" ] || fail "bfloat16 was not used"

# What is not finite any more ends the run with the step, and the layer where it is a logit.
if (train diverging --steps 12 --device $device --set training.precision=bfloat16 --set optimizer.peak_lr=10 \
  --set optimizer.warmup=0 --set optimizer.clip=0 --set optimizer.weight_decay=10) 2>/dev/null; then
  fail "a diverging run did not stop"
fi
grep -q "step [0-9]*: .* not .*finite" error || { cat error >&2; fail "a diverging run"; }

# What a run takes of eight sequences at a time (of one, 2048 rows of the head's logits are half of a device's): a
# device keeps less, and whoever asks for bfloat16 means one.
bytes() { "$phibal" train --config 111M --micro 8 --dry-run --json "$@" | sed -n 's/.*"activation_bytes": \([0-9]*\).*/\1/p'; }
[ "$(bytes --device $device)" -lt "$(bytes --set training.threads=1)" ] || fail "a device keeps as much as the CPU"
[ "$(bytes --set training.precision=bfloat16)" -eq "$(bytes --device $device --set training.precision=bfloat16)" ] ||
  fail "bfloat16 without a device takes something else"

refuse() { # WORD OPTION...
  word=$1
  shift
  if "$phibal" train --config tiny --data data/train.tokens --steps 1 --quiet --overwrite --out no \
    "$@" >log 2>error; then
    fail "$* is not refused"
  fi
  grep -q -- "$word" error || { cat error >&2; fail "no '$word' in the message"; }
}
# What each token of a step would need, of two layers' 8 experts, in calls of two for a batch of three; and bins.
taken() { "$phibal" train --config tiny --batch 3 --micro 2 --dry-run --json "$@" | sed -n 's/.*"activation_bytes": \([0-9]*\).*/\1/p'; }
sizes="--set model.layers=3 --set model.dense_layers=1 --set model.experts=8 --set model.sequence=32 --device $device"
without=$(taken $sizes --method loss-free)
[ $(($(taken $sizes --method quantile) - without)) -eq $((4 * 2 * 8 * 4 * 32)) ] || fail "memory of quantiles"
[ $(($(taken $sizes --method quantile --set balance.quantile_bins=50) - without)) -eq $((4 * 2 * 8 * 4 * 32 + 8 * 8 * 50)) ] ||
  fail "memory of bins"

refuse qkv_bias --device $device --set model.qkv_bias=true
refuse training.precision --set training.precision=bfloat16
refuse "no device 'tpu'" --device tpu

# Adapters, of attention and of every kind of matrix, clipped in every step: beside the CPU's.
plain="--set model.shared_experts=0 --set model.activation=silu --set model.logit_softcap=0 \
  --set model.embedding_scale=false"
every=q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj,mlp.gate,embed_tokens
train plain --steps 1 $plain
"$phibal" export --load plain --out hf >log 2>error || { cat error >&2; fail export; }
adapt() { # NAME TARGETS OPTION...
  name=$1 targets=$2
  shift 2
  train "$name" --from hf $plain --set lora.rank=3 --set lora.alpha=7 --set lora.targets=$targets \
    --set optimizer.clip=0.1 --set optimizer.peak_lr=0.01 --steps 10 "$@"
}
for on in cpu $device; do
  option=
  [ $on = cpu ] || option="--device $device"
  adapt "attention-$on" q_proj,k_proj,v_proj,o_proj $option
  adapt "every-$on" $every --method loss-free $option
  adapt "documents-$on" $every --data documents/train.tokens --set data.boundaries=true $option
done
for key in loss gradient_norm balance_loss z_loss; do
  for run in attention every documents; do close $run-cpu "$run-$device" $key 1e-5 10; done
done
numbers attention-cpu gradient_norm | awk '$1 <= 0.1 { exit 1 }' || fail "a gradient of adapters that is not clipped"
if (close attention-cpu every-cpu loss 1e-3 10) >/dev/null 2>&1; then fail "the adapters make no difference"; fi
# From the CPU to the device and back; on a device the same bits as if nothing had been.
adapt recomputed $every --method loss-free --device $device --set training.recompute=layers
cmp recomputed/checkpoints/*/training.safetensors "every-$device"/checkpoints/*/training.safetensors ||
  fail "adapters: layers that are recomputed"
adapt there $every --method loss-free --device $device --set checkpoint.every=4 --set checkpoint.keep=9
continue_from() { # NAME STEP OPTION...
  name=$1 step=$2
  shift 2
  for later in "$name"/checkpoints/*; do
    [ "$(basename "$later" | sed 's/step-0*//')" -le "$step" ] || rm -r "$later"
  done
  rm -f "$name/result.json"
  "$phibal" train --resume "$name" --quiet "$@" >log 2>error || { cat error >&2; fail "resume $name"; }
}
cp -r there back
continue_from there 4 --device $device
for file in model training; do
  cmp there/checkpoints/step-000000000010/$file.safetensors \
    "every-$device/checkpoints/step-000000000010/$file.safetensors" || fail "adapters that were resumed differ"
done
adapt here $every --method loss-free --set checkpoint.every=4 --set checkpoint.keep=9
continue_from back 4 # the CPU
continue_from here 4 --device $device --set checkpoint.every=4
continue_from here 8
for key in loss gradient_norm; do
  close every-cpu back $key 1e-5 10
  close every-cpu here $key 1e-5 10
done
# In bfloat16, resumed too.
adapt half-adapters $every --device $device --set training.precision=bfloat16 --set checkpoint.every=5
cp -r half-adapters half-resumed
continue_from half-resumed 5 --device $device
cmp half-adapters/checkpoints/step-000000000010/training.safetensors \
  half-resumed/checkpoints/step-000000000010/training.safetensors || fail "adapters in bfloat16 that were resumed differ"
if (adapt no $every --device $device --set lora.dropout=0.1) 2>/dev/null; then fail "lora.dropout is not refused"; fi
grep -q "training on a device has no lora.dropout yet" error || { cat error >&2; fail "lora.dropout is not named"; }

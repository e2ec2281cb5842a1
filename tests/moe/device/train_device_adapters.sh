#!/bin/sh
# As train_device.sh, beside the CPU: adapters.
# usage: train_device_adapters.sh PHIBAL FOLDER [DEVICE]
set -eu
. "$(dirname "$0")/device_runs.sh"
corpus_of_pieces

# Of attention and of every kind of matrix, clipped in every step.
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
differ attention-cpu every-cpu loss 10 1e-3
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
  resume "$name" "$@"
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

#!/bin/sh
# `phibal train --device host-cuda`, the CUDA kernels compiled for the host (or another device), beside the
# CPU's training in binary32: for ten steps losses and gradient norms agree to 1e-5 relatively; a run is the
# same bits each time, stopped and resumed too, in bfloat16 as well; what the kernels lack is refused by name.
# usage: train_device.sh PHIBAL FOLDER [DEVICE]
set -eu
. "$(dirname "$0")/device_runs.sh"

beside phi 10 --method phi
for method in switch switch-global loss-free; do beside $method 3 --method $method; done
differ switch-cpu switch-global-cpu balance_loss 3
[ "$(losses phi-cpu)" != "$(losses phi-$device)" ] || fail "the device was not used" # attention rounds otherwise there

# 100 tokens are windows of 32, 32, 32 and 4: the last one's padding, in every other batch, counts in no
# loads, and its last token, which has no target, does.
mkdir short
head -c 99 text/words.md >short/text.md
corpus few --validation 0 --domain text=short/
beside padded 6 --data few/train.tokens --batch 2

# Documents apart: neither is as if they saw each other.
corpus_of_pieces
beside together 10 --data documents/train.tokens
beside apart 10 --data documents/train.tokens --set data.boundaries=true
for on in cpu $device; do differ apart-$on together-$on gradient_norm 10 1e-3; done

# Instructions: only what is answered is learned, beside the CPU's.
awk 'BEGIN { for (i = 0; i < 40; i++)
  printf "{\"prompt\": \"n%d: \", \"completion\": \"%d plus %d is %d\"}\n", i, i, i % 7, i + i % 7 }' >plain.jsonl
corpus asked --instructions --validation 0 plain.jsonl
beside answers 6 --data asked/train.tokens

# The weights and moments came back to the host, and went out again.
train again --method switch --steps 3 --device $device --set checkpoint.every=2
[ "$(losses switch-$device)" = "$(losses again)" ] || fail "two runs differ"
rm -r again/checkpoints/step-000000000003 again/result.json
resume again --device $device
[ "$(losses switch-$device)" = "$(losses again)" ] || fail "a resumed run differs"
# from the weights of a run, as the CPU takes its first step from them
train weights --method switch --steps 1 --device $device --from again
train weights-cpu --method switch --steps 1 --from again
close weights-cpu weights loss 1e-5 1
# more steps than were planned, in one go and killed between
cp -r again longer
resume again --device $device --steps 10
"$phibal" train --resume longer --device $device --steps 10 --set checkpoint.every=1 >log 2>error & pid=$!
while [ "$(wc -l <longer/metrics.jsonl)" -lt $(($(wc -l <switch-$device/metrics.jsonl) + 1)) ]; do
  kill -0 $pid 2>/dev/null || break
  sleep 0.01
done
kill -9 $pid 2>/dev/null || :
wait $pid || :
resume longer --device $device
[ "$(losses again)" = "$(losses longer)" ] && grep -q '"steps": 10' longer/result.json || fail "a continued run differs"

# In bfloat16: the same bits each time, stopped and resumed too; the masters are what is kept.
train half --steps 6 --device $device --set training.precision=bfloat16
grep -q "precision.*bfloat16" log || { cat log >&2; fail "the tables do not say that it was bfloat16"; }
train half-again --steps 6 --device $device --set training.precision=bfloat16 --set checkpoint.every=3
rm -r half-again/checkpoints/step-000000000006 half-again/result.json
if "$phibal" train --resume half-again --quiet >log 2>error; then fail "resumed on the CPU"; fi
grep -q "training.precision" error || fail "resuming on the CPU: $(cat error)"
resume half-again --device $device
[ "$(losses half)" = "$(losses half-again)" ] || fail "a run in bfloat16 that was resumed differs"
for file in model training; do
  cmp half/checkpoints/step-000000000006/$file.safetensors half-again/checkpoints/step-000000000006/$file.safetensors ||
    fail "the checkpoint of a run in bfloat16 that was resumed differs"
done
[ "$(losses half | head -n 1)" != "$(losses phi-$device | head -n 1)" ] || fail "bfloat16 was not used"

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
refuse qkv_bias --device $device --set model.qkv_bias=true
refuse training.precision --set training.precision=bfloat16
refuse "no device 'tpu'" --device tpu

#!/bin/sh
# `phibal data build --instructions` and training on what it makes: errors, micro-batches, resumption, evaluation
# and, where there is an mpirun, ranks that divide the experts.
# usage: train_instructions.sh PHIBAL TENSOR_BYTES FOLDER SOURCE [MPIRUN]
set -eu
phibal=$(realpath "$1") tensor=$(realpath "$2") folder=$3 source=$(realpath "$4") mpirun=${5-}
. "$source/tests/moe/ranks.sh"
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

# Chats of one to three rounds, and completions of very different lengths; one is longer than a window.
awk 'BEGIN {
  for (i = 0; i < 60; i++) {
    chat = sprintf("{\"messages\": [{\"role\": \"system\", \"content\": \"s%d\"}", i)
    for (k = 0; k <= i % 3; k++)
      chat = chat sprintf(", {\"role\": \"user\", \"content\": \"%d plus %d\"}, {\"role\": \"assistant\", \"content\": \"%d\"}", i, k, i + k)
    print chat "]}" > "chat.jsonl"
    text = ""
    for (k = 0; k <= i % 7; k++) text = text "word " i * k " "
    printf "{\"prompt\": \"n%d: \", \"completion\": \"%s\"}\n\n", i, text > "plain.jsonl"
  }
}'
awk 'BEGIN { s = "long "; for (i = 0; i < 6; i++) s = s s
  printf "{\"prompt\": \"p\", \"completion\": \"%s\"}\n", s }' >>plain.jsonl
"$phibal" data build --instructions --out data --validation 0.1 chat.jsonl plain.jsonl >log 2>error || fail "build"
"$phibal" data show data/train.tokens >log 2>error || fail "show"
grep -q "examples, of which [1-9][0-9]* tokens are learned" log || fail "what is learned is not shown"

{ head -3 chat.jsonl; echo '{"messages": [{"role": "user"}]}'; } >bad.jsonl
refuses 'bad.jsonl:4: "messages"\[0\]."content"' data build --instructions --out no bad.jsonl
[ ! -e no ] || fail "a failed build left something"
head -1 chat.jsonl >one.jsonl
refuses 'every domain is one example; do without (--validation 0)' data build --instructions --out no one.jsonl
! grep -q document-bytes error || fail "examples are to be divided"
echo '{"assistant": "x"}' >template.json
refuses 'template.json: "assistant"' data build --instructions --template template.json --out no chat.jsonl
refuses --instructions data build --template template.json --out no chat.jsonl
refuses train-model data build --instructions --train-model --out no chat.jsonl

options="--config tiny --data data/train.tokens --validation data/validation.tokens --threads 1 --batch 8
  --set model.layers=2 --set model.width=32 --set model.sequence=160 --set balance.eta=0.3 --steps 6
  --set checkpoint.every=1 --set checkpoint.keep=6"
train() { # NAME OPTION...
  name=$1
  shift
  "$phibal" train $options --out "$name" "$@" >log 2>error || fail "$name"
}
train whole
grep -q "data.train: [0-9]* examples in [0-9]* windows of 160, .* full; 1 longer" error ||
  grep -q "data.validation: .* full; 1 longer" error || fail "what is left out is not said"
at() { echo "$1/checkpoints/step-00000000000$2"; }

# However a batch is split: m and the loads to the bit, the loss within the rounding of a sum of at most
# 8 160 terms (M5 lets a later step differ).
for micro in 1 3; do
  train micro$micro --micro $micro --quiet
  for run in whole micro$micro; do
    "$tensor" "$(at $run 1)/training.safetensors" balance.m >$run.m || fail "no m"
  done
  cmp whole.m micro$micro.m || fail "micro-batches of $micro: another m"
  [ "$(step whole 1 | layers)" = "$(step micro$micro 1 | layers)" ] || fail "micro-batches of $micro: loads"
  near 2.9e-13 "$(step micro$micro 1 | value loss)" "$(step whole 1 | value loss)" || fail "the loss"
done

# Half way, and on: the same bits.
cp -r whole half
rm -r "$(at half 6)" "$(at half 5)" "$(at half 4)" half/result.json
"$phibal" train --resume half --quiet >log 2>error || fail "resumed"
lines whole >a; lines half >b
cmp a b || fail "resumed: other metrics"
cmp "$(at whole 6)/model.safetensors" "$(at half 6)/model.safetensors" || fail "resumed: other weights"

evaluates_alike whole

# The kernels, compiled for the host: losses on the answers alone, examples apart, beside the CPU's in
# binary32, in the same calls, whose prices they are. The bound: train_device.sh's.
train device --quiet --micro 3 --device host-cuda
for i in 1 2 3 4 5 6; do
  for key in loss gradient_norm balance_loss; do
    near 1e-5 "$(step device $i | value $key)" "$(step micro3 $i | value $key)" || fail "device: $key of step $i"
  done
done

if [ "$mpirun" ]; then
  on 2 $options --quiet --out ranks || fail "2 ranks"
  on 2 $options --quiet --out divided --expert-parallel 2 || fail "2 ranks that divide the experts"
  for run in ranks divided; do
    "$tensor" "$(at $run 1)/training.safetensors" balance.m >$run.m || fail "no m"
    cmp whole.m $run.m || fail "$run: another m"
    [ "$(step whole 1 | layers)" = "$(step $run 1 | layers)" ] || fail "$run: other loads"
    near 2.9e-13 "$(step $run 1 | value loss)" "$(step whole 1 | value loss)" || fail "$run: the loss"
  done
fi

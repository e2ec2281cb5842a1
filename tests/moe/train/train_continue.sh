#!/bin/sh
# `phibal train --resume RUN --steps N`: a run that has ended goes on. Continuations that are killed, and
# a run by the continued run's config.yaml in one go, give the bits of one that was only continued; the
# learning rates are those that the manual promises; fewer steps than were taken are refused.
# usage: train_continue.sh PHIBAL FOLDER SOURCE
set -eu
phibal=$(realpath "$1") folder=$2 source=$(realpath "$3")
. "$source/tests/moe/runs.sh"
begin_with_corpus --validation 0.1

base="--config tiny --data data/train.tokens --validation data/validation.tokens --threads 1 --batch 4 --quiet
  --set model.layers=2 --set model.width=32 --set model.sequence=32 --set evaluation.final_sequences=8
  --set model.activation=silu --set model.embedding_scale=false"
train() { "$phibal" train "$@" >log 2>error || fail "train $*"; }
copy() { rm -rf "$2"; cp -r "$1" "$2"; }
same_weights() { # A B STEP
  for file in model training; do
    cmp "$1/checkpoints/step-$(printf %012d "$3")/$file.safetensors" \
      "$2/checkpoints/step-$(printf %012d "$3")/$file.safetensors" || fail "$2: another $file.safetensors than $1"
  done
}
same() { # A B STEP: metrics too
  lines "$1" >a
  lines "$2" >b
  [ -s a ] && cmp a b || fail "$2: other metrics than $1"
  same_weights "$1" "$2" "$3"
}
kill_at() { # RUN LINES COMMAND...: kill -9 when metrics.jsonl has so many lines
  run=$1 wanted=$2
  shift 2
  "$@" >log 2>error & pid=$!
  while [ "$(cat "$run/metrics.jsonl" 2>/dev/null | wc -l)" -lt "$wanted" ]; do
    kill -0 $pid 2>/dev/null || fail "ended before it could be killed: $*"
    sleep 0.005
  done
  kill -9 $pid
  wait $pid 2>/dev/null && fail "was not killed" || :
}
rates() { sed -n '/"type":"step"/s/.*"step":\([0-9]*\),.*"lr":\([-0-9.e]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }

train $base --steps 2 --set checkpoint.keep=1 --out first
"$phibal" export --load first --out hf >log 2>error || fail "export"

# Each row: how, and what is killed in it. Twenty steps, then a hundred and twenty.
pairs() { # NAME OPTION...
  name=$1
  shift
  train $base --steps 20 "$@" --out "$name"
  copy "$name" "$name-killed"
  copy "$name" "$name-early"
  train --resume "$name" --steps 120 --quiet
  grep -q '"steps": 120' "$name/result.json" && grep -q '"stopped": false' "$name/result.json" || fail "$name: result.json"
  [ "$(rates "$name" | cut -d' ' -f1)" = "$(seq 120)" ] || fail "$name: metrics.jsonl does not go on"
  # killed after checkpoints of the continuation, and again
  kill_at "$name-killed" 30 "$phibal" train --resume "$name-killed" --steps 120 --quiet --set checkpoint.every=7
  kill_at "$name-killed" 60 "$phibal" train --resume "$name-killed" --quiet --set checkpoint.every=7
  train --resume "$name-killed" --quiet
  same "$name" "$name-killed" 120
  # killed before the continuation has a checkpoint: the folder knows how many steps were asked for
  kill_at "$name-early" 30 "$phibal" train --resume "$name-early" --steps 120 --quiet
  [ ! -d "$name-early/checkpoints/step-000000000120" ] || fail "$name: killed too late"
  train --resume "$name-early" --quiet
  same "$name" "$name-early" 120
  # in one go
  train --config "$name/config.yaml" --quiet --out "$name-again"
  same_weights "$name" "$name-again" 120
}
pairs accumulated --micro 1 --set data.boundaries=true
pairs free --method loss-free --set balance.bias_rate=0.02 --micro 3
pairs adapted --from hf --set lora.rank=2 --set lora.dropout=0.1 --micro 2

# The rates: twenty steps' warm-up is two; from step 21 on they are those of 120 steps with that warm-up.
train $base --steps 120 --set optimizer.warmup=0.0166667 --set checkpoint.keep=0 --out rates120
train $base --steps 20 --set checkpoint.keep=0 --out rates20
{ rates rates20; rates rates120 | tail -n +21; } >a
rates accumulated >b
cmp a b || fail "the learning rates are not those that were promised"
grep -q '"warmup_steps": 2' accumulated/result.json || fail "result.json does not say the warm-up"
tr -d ' \n' <accumulated/result.json | grep -q '"earlier_plans":\[{"steps":20,"until":20}\]' || fail "nor the plan"
grep -q "continued: '20@20'" accumulated/config.yaml || fail "nor config.yaml"

# What is said at the start.
train $base --steps 20 --out said
train --resume said --steps 40
grep -q "40 steps, 20 were planned" error || fail "the start does not say the schedule"
grep -q "warm-up stays the first 2 steps" error || fail "nor the warm-up"
train --resume said
! grep -q "were planned" error || fail "said again though nothing changed"

# Fewer, not a number, a history that is not the run's; the folder is left as it was.
refuses "training.steps: 39, but the run has taken 40 steps already" train --resume said --steps 39
refuses "training.steps" train --resume said --steps 1e3
refuses "training.continued" train --resume said --set training.continued=30@30
refuses "optimizer.warmup" train --resume said --steps 60 --set optimizer.warmup=0.5
[ -e said/result.json ] || fail "a refusal has removed result.json"
train --resume said --steps 40
grep -q "all steps are done; --steps N" error || fail "not said how to go on"
train $base --steps 3 --set checkpoint.keep=0 --out bare
refuses "bare' has ended and has no checkpoint" train --resume bare --steps 5
[ -e bare/result.json ] || fail "a refusal has removed the result"

# A run that was stopped takes fewer steps than were planned, and ends there.
kill_at short 30 "$phibal" train $base --steps 100000 --set optimizer.warmup=0.0001 --set checkpoint.every=1 --out short
done=$(ls short/checkpoints | sed 's/step-0*//' | sort -n | tail -1)
train --resume short --steps $((done + 5)) --quiet
[ "$(rates short | tail -1 | cut -d' ' -f1)" -eq $((done + 5)) ] || fail "does not end at the new step"
[ "$(rates short | tail -1 | cut -d' ' -f2)" = "$(rates rates20 | tail -1 | cut -d' ' -f2)" ] || fail "nor at the final rate"
grep -q "continued: '100000@$done'" short/config.yaml || fail "the plan is not remembered"
echo "runs that had ended have gone on"

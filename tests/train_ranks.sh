#!/bin/sh
# `mpirun phibal train`: the same m, biases and loads on 1, 2 and 4 ranks, losses within a band, signals,
# a rank that dies, resumption on another number of ranks.
# usage: train_ranks.sh PHIBAL TENSOR_BYTES FOLDER SOURCE MPIRUN
set -eu
phibal=$(realpath "$1") tensor=$(realpath "$2") folder=$3 source=$(realpath "$4") mpirun=$5
rm -rf "$folder"
mkdir -p "$folder/text"
cd "$folder"
# Four ranks on any machine, whoever runs the tests.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
fail() { echo "FAIL: $*" >&2; [ ! -s error ] || cat error >&2; exit 1; }

cp "$source/README.md" "$source/spec/SPEC.md" text/
"$phibal" data build --out data --domain text=text/ --validation 0 >log 2>&1 || fail "data build"
options="--config tiny --data data/train.tokens --threads 1 --batch 8 --quiet --steps 12
  --set model.layers=3 --set model.width=32 --set model.sequence=32 --set balance.eta=0.3
  --set checkpoint.every=1 --set checkpoint.keep=12"
on() { # RANKS ARGUMENT...
  ranks=$1
  shift
  "$mpirun" -np "$ranks" "$phibal" train "$@" >log 2>error
}
lines() { sed 's/"tokens_per_second":[^,]*,//' "$1/metrics.jsonl"; }
step() { lines "$1" | sed -n "$2p"; }
value() { sed "s/.*\"$1\":\\([-0-9.e]*\\).*/\\1/"; }
layers() { sed 's/.*"layers"//'; }
near() { # BAND A B: relative
  awk -v e="$1" -v a="$2" -v b="$3" 'BEGIN { d = (a - b) / b; exit !(d < e && -d < e) }'
}

# After the first step, from the same weights: m, bias and loads to the bit; the loss is a sum of 256
# binary64 numbers in another order, so within 256 * 2^-53. Later steps: the ranks' gradients, rounded
# once more when they are added up, move the losses apart; a share of tokens that was computed twice
# or not at all would change them by far more than the band of 1e-6.
"$phibal" train $options --out alone >log 2>error || fail "one process"
"$phibal" train $options --out alone-bias --method loss-free >log 2>error || fail "loss-free"
for ranks in 1 2 4; do
  on $ranks $options --out phi$ranks || fail "$ranks ranks"
  first=checkpoints/step-000000000001
  for run in alone phi$ranks; do
    "$tensor" $run/$first/training.safetensors balance.m >$run.m || fail "no m"
  done
  cmp alone.m phi$ranks.m || fail "$ranks ranks: another m"
  [ "$(step alone 1 | layers)" = "$(step phi$ranks 1 | layers)" ] || fail "$ranks ranks: other loads"
  near 2.9e-14 "$(step phi$ranks 1 | value loss)" "$(step alone 1 | value loss)" || fail "loss"
  near 1e-6 "$(step phi$ranks 12 | value loss)" "$(step alone 12 | value loss)" || fail "later loss"
  on $ranks $options --micro 1 --out micro$ranks || fail "$ranks ranks, micro-batches"
  "$tensor" micro$ranks/$first/training.safetensors balance.m >micro.m
  cmp alone.m micro.m || fail "$ranks ranks, micro-batches: another m"
  on $ranks $options --out bias$ranks --method loss-free || fail "$ranks ranks, loss-free"
  for layer in 0 1 2; do
    name=model.layers.$layer.mlp.gate.e_score_correction_bias
    "$tensor" alone-bias/$first/model.safetensors $name >alone.bias
    "$tensor" bias$ranks/$first/model.safetensors $name >ranks.bias
    cmp alone.bias ranks.bias || fail "$ranks ranks: another bias"
  done
done
lines alone >a; lines phi1 >b; cmp a b || fail "one rank is not one process"
[ "$(step alone 12 | layers)" != "$(step alone 1 | layers)" ] || fail "nothing has moved"
grep -q '"ranks": 4' phi4/result.json || fail "result.json does not say how many ranks"

# Again the same bits on the same ranks, however often it is interrupted.
on 2 $options --out again2 || fail "again"
lines phi2 >a; lines again2 >b; cmp a b || fail "two runs on two ranks differ"

# SIGUSR1, which mpirun passes on, reaches every rank, and all stop at one step.
long="$options --steps 1000000 --set checkpoint.keep=3"
await() { # LINES: until metrics.jsonl of `long` has so many
  while [ "$(cat long/metrics.jsonl 2>/dev/null | wc -l)" -lt "$1" ]; do
    kill -0 $pid 2>/dev/null || fail "ended early"
    sleep 0.02
  done
}
on 2 $long --out long & pid=$!
await 3
# The shell's child is a subshell that waits for mpirun, whose children the ranks are.
job=$(pgrep -P $pid -x "$(basename "$mpirun")" || echo $pid)
kill -USR1 "$job"
wait $pid || fail "status $? after SIGUSR1"
grep -q '"stopped": true' long/result.json || fail "not stopped"
steps=$(wc -l <long/metrics.jsonl)
[ -d "long/checkpoints/step-$(printf %012d "$steps")" ] || fail "no checkpoint"

# A rank that dies ends the job, not well; the next job goes on, with more ranks.
on 2 --resume long --quiet & pid=$!
await $((steps + 3))
job=$(pgrep -P $pid -x "$(basename "$mpirun")" || echo $pid)
kill -KILL "$(pgrep -P "$job" | tail -n 1)"
if wait $pid; then fail "a dead rank is not noticed"; fi
[ -s error ] || fail "a dead rank is not named"
on 4 --resume long --quiet & pid=$!
await $((steps + 8))
job=$(pgrep -P $pid -x "$(basename "$mpirun")" || echo $pid)
kill -USR1 "$job"
wait $pid || fail "status $? on four ranks"
grep -q '"ranks": 4' long/result.json || fail "result.json is not of the four ranks"
[ "$(sed 's/.*"step":\([0-9]*\),.*/\1/' long/metrics.jsonl)" = \
  "$(seq "$(wc -l <long/metrics.jsonl)")" ] || fail "steps lost"

if on 3 $options --out three; then fail "8 sequences on 3 ranks"; fi
grep -q "8 sequences cannot be divided evenly among 3 ranks" error || fail "no word of why"
echo "1, 2 and 4 ranks: one m"

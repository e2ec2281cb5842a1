#!/bin/sh
# `mpirun phibal train`: the same m, biases and loads on 1, 2 and 4 ranks, losses within a band, signals,
# a rank that dies, resumption on another number of ranks.
# usage: train_ranks.sh PHIBAL TENSOR_BYTES FOLDER SOURCE MPIRUN
set -eu
phibal=$(realpath "$1") tensor=$(realpath "$2") folder=$3 source=$(realpath "$4") mpirun=$5
. "$source/tests/moe/ranks.sh"
begin
options="--config tiny --data data/train.tokens --threads 1 --batch 8 --quiet --steps 4
  --set model.layers=3 --set model.width=32 --set model.sequence=32 --set balance.eta=0.3
  --set checkpoint.every=1 --set checkpoint.keep=4"

# After the first step, from the same weights: m, bias and loads to the bit, micro-batches or none; the
# loss is a sum of 256 binary64 numbers in another order, so within 256 * 2^-53. Later steps: the
# ranks' gradients, rounded once more when they are added up, move the losses apart; a share of tokens
# that was computed twice or not at all would change them by far more than the band of 1e-6.
"$phibal" train $options --out alone >log 2>error || fail "one process"
# The methods that set a bias: quantiles of all ranks' tokens, found by adding up counts.
method() { # NAME
  case $1 in
    bins) echo --method quantile --set balance.quantile_bins=100 ;;
    probabilities) echo --method quantile --set model.selection_score=probability ;;
    *) echo --method $1 ;;
  esac
}
for name in loss-free quantile bins probabilities; do
  "$phibal" train $options --out alone-$name $(method $name) >log 2>error || fail "$name"
done
cp -r alone-probabilities resumed
rm -r resumed/result.json resumed/checkpoints/step-00000000000[34]
"$phibal" train --resume resumed --quiet >log 2>error || fail "resume"
lines alone-probabilities >a; lines resumed >b; cmp a b || fail "a resumed run that selects by probabilities differs"
[ "$(step alone-quantile 4 | value loss)" != "$(step alone-probabilities 4 | value loss)" ] ||
  fail "probabilities are logits"
for ranks in 1 2 4; do
  on $ranks $options --out phi$ranks || fail "$ranks ranks"
  first=checkpoints/step-000000000001
  for run in alone phi$ranks; do
    "$tensor" $run/$first/training.safetensors balance.m >$run.m || fail "no m"
  done
  cmp alone.m phi$ranks.m || fail "$ranks ranks: another m"
  [ "$(step alone 1 | layers)" = "$(step phi$ranks 1 | layers)" ] || fail "$ranks ranks: other loads"
  near 2.9e-14 "$(step phi$ranks 1 | value loss)" "$(step alone 1 | value loss)" || fail "loss"
  near 1e-6 "$(step phi$ranks 4 | value loss)" "$(step alone 4 | value loss)" || fail "later loss"
  [ $ranks != 1 ] || continue
  for name in loss-free quantile bins probabilities; do
    on $ranks $options --out $name$ranks $(method $name) --micro 1 || fail "$ranks ranks, $name"
    for layer in 0 1 2; do
      bias=model.layers.$layer.mlp.gate.e_score_correction_bias
      "$tensor" alone-$name/$first/model.safetensors $bias >alone.bias
      "$tensor" $name$ranks/$first/model.safetensors $bias >ranks.bias
      cmp alone.bias ranks.bias || fail "$ranks ranks, $name: another bias"
      [ "$(tr -d '\0' <alone.bias | wc -c)" -gt 0 ] || fail "$name: no bias"
    done
  done
done
on 4 $options --micro 1 --out micro || fail "4 ranks, micro-batches"
"$tensor" micro/$first/training.safetensors balance.m >micro.m
cmp alone.m micro.m || fail "4 ranks, micro-batches: another m"
lines alone >a; lines phi1 >b; cmp a b || fail "one rank is not one process"
digests alone phi1 phi2 phi4
[ "$(digest alone)" = "$(digest phi1)" ] || fail "one rank has another digest than one process"
[ "$(step alone 4 | layers)" != "$(step alone 1 | layers)" ] || fail "nothing has moved"
grep -q '"ranks": 4' phi4/result.json || fail "result.json does not say how many ranks"

# Again the same bits on the same ranks, however often it is interrupted.
on 2 $options --out again2 || fail "again"
lines phi2 >a; lines again2 >b; cmp a b || fail "two runs on two ranks differ"
[ "$(digest phi2)" = "$(digest again2)" ] || fail "two runs on two ranks have two digests"

# SIGUSR1, which mpirun passes on, reaches every rank, and all stop at one step.
long="$options --steps 1000000 --set checkpoint.keep=3
  --validation data/train.tokens --set evaluation.final_sequences=8"
await() { # LINES: until metrics.jsonl of `long` has so many
  while [ "$(cat long/metrics.jsonl 2>/dev/null | wc -l)" -lt "$1" ]; do
    kill -0 $pid 2>/dev/null || fail "ended early"
    sleep 0.02
  done
}
stopped_by_usr1() { # PID: of mpirun, which has the ranks' status
  status=0
  wait "$1" || status=$?
  [ $status -eq 138 ] || fail "status $status after SIGUSR1"
}
on 2 $long --out long & pid=$!
await 3
find_job
kill -USR1 "$job"
stopped_by_usr1 $pid
grep -q '"stopped": true' long/result.json || fail "not stopped"
steps=$(wc -l <long/metrics.jsonl)
[ -d "long/checkpoints/step-$(printf %012d "$steps")" ] || fail "no checkpoint"

# A rank that dies ends the job, not well; the next job goes on, with more ranks.
on 2 --resume long --quiet & pid=$!
await $((steps + 3))
find_job
kill -KILL "$(ranks_of_job | tail -n 1)"
if wait $pid; then fail "a dead rank is not noticed"; fi
[ -s error ] || fail "a dead rank is not named"
on 4 --resume long --quiet & pid=$!
await $((steps + 8))
find_job
kill -USR1 "$job"
stopped_by_usr1 $pid
grep -q '"ranks": 4' long/result.json || fail "result.json is not of the four ranks"

# So does one that reaches a single rank, not the first; nothing is evaluated then, as for one process.
steps=$(wc -l <long/metrics.jsonl)
on 4 --resume long --quiet & pid=$!
await $((steps + 3))
find_job
kill -USR1 "$(ranks_of_job | tail -n 1)"
stopped_by_usr1 $pid
grep -q '"stopped": true' long/result.json || fail "one rank's signal stops nothing"
if grep -q '"validation"' long/result.json; then fail "evaluated after SIGUSR1"; fi
[ "$(sed 's/.*"step":\([0-9]*\),.*/\1/' long/metrics.jsonl)" = \
  "$(seq "$(wc -l <long/metrics.jsonl)")" ] || fail "steps lost"

if on 3 $options --out three; then fail "8 sequences on 3 ranks"; fi
grep -q "8 sequences cannot be divided evenly among 3 ranks" error || fail "no word of why"
echo "1, 2 and 4 ranks: one m"

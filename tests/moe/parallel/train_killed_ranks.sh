#!/bin/sh
# A job with divided experts and optimizer, of which one rank after another is killed at a random
# moment, ends with the metrics and weights of one that nothing interrupted.
# usage: train_killed_ranks.sh PHIBAL FOLDER SOURCE MPIRUN [KILLS]     (KILLS: $PHIBAL_KILLS, or 3)
set -eu
phibal=$(realpath "$1") folder=$2 source=$(realpath "$3") mpirun=$4 kills=${5:-${PHIBAL_KILLS:-3}}
. "$source/tests/moe/ranks.sh"
begin
options="--config tiny --data data/train.tokens --threads 1 --batch 2 --quiet --steps 12
  --set model.layers=2 --set model.width=32 --set model.sequence=32 --set checkpoint.every=1
  --expert-parallel 2 --shard-optimizer true"
same() { # as the job that nothing interrupted
  lines straight >a
  lines killed >b
  [ -s a ] && cmp a b || fail "other metrics"
  for file in model training; do
    cmp straight/checkpoints/step-000000000012/$file.safetensors \
      killed/checkpoints/step-000000000012/$file.safetensors || fail "another $file.safetensors"
  done
}
start=$(date +%s%N)
on 2 $options --out straight || fail "a run"
whole=$((($(date +%s%N) - start) / 1000000)) # ms

count=0 through=0 seed=0
while [ "$count" -lt "$kills" ]; do
  seed=$((seed + 1))
  wait=$(awk -v s=$seed -v t="$whole" 'BEGIN { srand(s); printf "%.3f", 0.9 * rand() * t / 1000 }')
  how="$options --out killed"
  [ ! -e killed/config.yaml ] || how="--resume killed --quiet"
  on 2 $how & pid=$!
  sleep "$wait"
  find_job
  victim=$(ranks_of_job | sed -n "$((seed % 2 + 1))p")
  struck=no
  if [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null; then struck=yes; fi
  if wait $pid; then
    same
    rm -rf killed
    through=$((through + 1))
  else
    [ $struck = yes ] || fail "a job ended by itself after $count kills"
    count=$((count + 1))
  fi
  if grep -q "skipped:" error; then fail "kill $count left a checkpoint that cannot be loaded"; fi
done
how="$options --out killed"
[ ! -e killed/config.yaml ] || how="--resume killed --quiet"
on 2 $how || fail "the job after $count kills"
same
echo "$kills ranks killed, $through jobs that got through between them: nothing lost"

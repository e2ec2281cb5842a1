#!/bin/sh
# `phibal train --device host-cuda` (or another device) in processes that something else than mpirun has
# started, by the variables of torchrun: one rank is as one process, to the bit; two give the same m; what
# ends one rank ends the other.
# usage: train_launched.sh PHIBAL TENSOR_BYTES FOLDER SOURCE [DEVICE [RANKS]]     RANKS: 1 or 2, of devices
set -eu
phibal=$(realpath "$1") tensor=$(realpath "$2") folder=$3 source=$(realpath "$4")
device=${5:-host-cuda} most=${6:-2}
. "$source/tests/moe/ranks.sh"
begin
unset PHIBAL_SECRET_FILE RANK WORLD_SIZE LOCAL_RANK TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE
export PHIBAL_SECRET=tests-only-0123456789abcdef MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000))
# On a device a row's bits may depend on the rows beside it: with the same micro-batches they are the same.
micro=
[ $device = host-cuda ] || micro="--micro 2"
options="--config tiny --data data/train.tokens --threads 1 --batch 4 $micro --quiet --steps 3
  --set model.layers=2 --set model.width=32 --set model.sequence=32 --set checkpoint.every=1 --set checkpoint.keep=3"
first=checkpoints/step-000000000001

# launch RANK RANKS ARGUMENT...: replaces a subshell, whose pid is then the rank's.
launch() {
  rank=$1 ranks=$2
  shift 2
  RANK=$rank WORLD_SIZE=$ranks LOCAL_RANK=$rank exec "$phibal" train "$@" >log.$rank 2>error.$rank
}

"$phibal" train $options --device $device --out alone >log 2>error || fail "one process"
(launch 0 1 $options --device $device --out one) || { cat error.0 >&2; fail "one rank"; }
lines alone >a; lines one >b; cmp a b || fail "one rank is not one process"
for file in model training; do
  cmp alone/checkpoints/step-000000000003/$file.safetensors one/checkpoints/step-000000000003/$file.safetensors ||
    fail "one rank has other weights"
done
[ $most -gt 1 ] || { echo "one rank by the environment: the bits of one process"; exit 0; }

# As in train_ranks.sh: m to the bit, the loss within 128 * 2^-53, later losses within its band.
(launch 1 2 $options --device $device --out two) & other=$!
(launch 0 2 $options --device $device --out two) || { cat error.0 >&2; fail "two ranks"; }
wait $other || { cat error.1 >&2; fail "rank 1 of two"; }
for run in alone two; do "$tensor" $run/$first/training.safetensors balance.m >$run.m || fail "no m"; done
cmp alone.m two.m || fail "two ranks: another m"
[ "$(step alone 1 | layers)" = "$(step two 1 | layers)" ] || fail "two ranks: other loads"
near 1.5e-14 "$(step two 1 | value loss)" "$(step alone 1 | value loss)" || fail "loss"
[ "$micro" ] || near 1e-6 "$(step two 3 | value loss)" "$(step alone 3 | value loss)" || fail "later loss"
[ "$(step two 1 | value gradient_norm)" != "$(step alone 1 | value gradient_norm)" ] || fail "one gradient"

# A signal to one rank stops both after the same step; a rank that is killed ends the other, by name.
long="$options --steps 1000000 --device $device --set checkpoint.every=0"
begin_long() {
  rm -rf long
  (launch 1 2 $long --out long) & other=$!
  (launch 0 2 $long --out long) & leader=$!
  until [ "$(cat long/metrics.jsonl 2>/dev/null | wc -l)" -ge 3 ]; do
    kill -0 $leader $other 2>/dev/null || { cat error.0 error.1 >&2; fail "ended early"; }
    sleep 0.05
  done
}
begin_long
kill -TERM $other
status=0; wait $other || status=$?
[ $status -eq 143 ] || fail "status $status of the rank that was told to stop"
status=0; wait $leader || status=$?
[ $status -eq 143 ] || fail "status $status of the other"
[ -d "long/checkpoints/step-$(printf %012d "$(wc -l <long/metrics.jsonl)")" ] || fail "no checkpoint"
for killed in 1 0; do
  begin_long
  [ $killed = 0 ] && { victim=$leader rest=$other; } || { victim=$other rest=$leader; }
  kill -KILL $victim
  if wait $rest; then fail "a dead rank is not noticed"; fi
  grep -q "rank $killed has ended" error.$((1 - killed)) || { cat error.? >&2; fail "the dead rank is not named"; }
  status=0; wait $victim || status=$?
  [ $status = 137 ] || fail "status $status of the rank that was killed"
done

(launch 1 2 $options --device $device --out no --expert-parallel 2) & other=$!
if (launch 0 2 $options --device $device --out no --expert-parallel 2); then fail "divided experts"; fi
if wait $other; then fail "divided experts of rank 1"; fi
grep -q "needs ranks started by mpirun" error.0 || { cat error.0 >&2; fail "no word of divided experts"; }
if (launch 0 2 $options --out cpu); then fail "the CPU is not refused"; fi
grep -q "are started by mpirun" error.0 || fail "no word of mpirun"
# Without the secret nobody begins; with another one, nobody joins, and the job does not end of it.
unset PHIBAL_SECRET
if (launch 0 2 $options --device $device --out no); then fail "ranks without a secret"; fi
grep -q "PHIBAL_SECRET" error.0 || fail "no word of the secret"
echo "two ranks by the environment: one m"

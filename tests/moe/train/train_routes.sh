#!/bin/sh
# Selections that are given to `phibal train`: a run's own routes, replayed, make it again to the bit; those of other
# weights are trained on, in other micro-batches, on several ranks, behind a checkpoint; other files are refused by
# name. And layers that route by hash.
# usage: train_routes.sh PHIBAL FOLDER SOURCE [MPIRUN]
set -eu
phibal=$(realpath "$1") folder=$2 source=$(realpath "$3") mpirun=${4:-}
. "$source/tests/moe/ranks.sh"
begin
awk 'BEGIN { srand(5); for (i = 0; i < 60; i++) { a = ""; for (n = 3 + int(9 * rand()); n; n--) a = a sprintf("%c", 97 + int(9 * rand()));
  printf "{\"prompt\": \"%s\", \"completion\": \"%s\"}\n", a, substr(a, 3) } }' >chats.jsonl
"$phibal" data build --instructions --out examples --validation 0 chats.jsonl >log 2>error || fail "examples"
some="--config tiny --threads 1 --quiet --batch 4 --set model.width=32 --set model.sequence=32 --set model.layers=3
  --set model.dense_layers=1 --set checkpoint.every=2 --set checkpoint.keep=9 --steps 5 --lr 1e-2"
text="--data data/train.tokens"
train() { "$phibal" train "$@" >log 2>error || fail "train $*"; }
counts() { lines "$1" | sed 's/"loss":[^[]*//; s/"maxvio_mean":[^,]*,//g; s/"gini_mean":[^,]*,//g; s/,"entropy_mean":[^}]*//g'; }
same_run() { # A B: numbers and weights
  lines $1 >a
  lines $2 >b
  [ -s a ] && cmp a b && [ "$(digest $1)" = "$(digest $2)" ] || fail "$2 is not $1"
}
same_counts() { # A B: of every step, in other weights
  counts $1 >a
  counts $2 >b
  [ "$(grep -c maxvio_loads a)" = 5 ] && cmp a b || fail "$2 has not the routes of $1"
  [ "$(digest $1)" != "$(digest $2)" ] || fail "$2 is $1"
}

# Weights that are not the initial ones, for routes that these would not choose.
train $some $text --seed 2 --out elsewhere

# With every gate, methods that price and that set biases, groups, probabilities, padding, recomputation, documents
# apart: again to the bit. The routes of a replay are those that it was given.
same_again() { # NAME OPTION...: records $name, replays it
  name=$1
  shift
  train $some "$@" --out $name --record-routes $name.routes
  train $some "$@" --out $name.again --replay-routes $name.routes --record-routes $name.again.routes
  same_run $name $name.again
  cmp $name.routes $name.again.routes || fail "$name: other routes"
}
same_again phi $text --micro 2
same_again free $text --micro 2 --method loss-free --set balance.bias_rate=0.1 --set model.gate=sigmoid \
  --set model.expert_groups=4 --set model.active_groups=2 --set data.boundaries=true
same_again quantile $text --method quantile --set model.selection_score=probability --set model.gate=probability \
  --set model.gate_normalisation=sum --set model.gate_floor=0.25 --set model.hash_layers=1
# other hashes give way, too
train $some $text --method quantile --set model.hash_layers=1 --set model.hash_seed=9 --replay-routes quantile.routes \
  --record-routes seeds.routes --out seeds
cmp quantile.routes seeds.routes || fail "hashes in the place of what was recorded"
same_again bias --data examples/train.tokens --micro 3 --method phi-bias --set training.recompute=layers \
  --set model.zero_experts=2
same_again limited --data examples/train.tokens --micro 2 --method sequence --set balance.capacity_factor=0.75 \
  --set model.gate=sqrt_softplus
grep -q '"dropped":0\.[0-9]*[1-9]' limited/metrics.jsonl || fail "nothing is dropped"

open="--set model.dense_layers=0 --set model.activation=silu --set model.embedding_scale=false"
train $some $text $open --out source
"$phibal" export --load source --out hf >log 2>error || fail "export"
same_again adapters $text $open --from hf --set lora.rank=2 --set lora.dropout=0.25 --micro 2

# With other weights: what was recorded, which these would not choose.
train $some $text --micro 2 --from elsewhere --out other
train $some $text --micro 2 --from elsewhere --replay-routes phi.routes --out other.replayed
same_counts phi other.replayed
counts other >a
! cmp -s a b || fail "other weights choose the same"
grep -q "replay_routes: ''" other/config.yaml || fail "routes that nobody asked for"
[ "$(step phi 1 | value loss)" != "$(step other.replayed 1 | value loss)" ] || fail "the same loss"
train $text --from other.replayed --steps 1 --quiet --out third
grep -q "replay_routes: ''" third/config.yaml || fail "a run begins with another's routes"

# In other micro-batches, recomputed, by ranks, by ranks that divide the experts.
train $some $text --micro 1 --replay-routes phi.routes --out micro
same_counts phi micro
train $some $text --micro 3 --set training.recompute=layers --replay-routes phi.routes --out recomputed \
  --record-routes recomputed.routes
same_counts phi recomputed
cmp phi.routes recomputed.routes || fail "other routes in other micro-batches"
if [ "$mpirun" ]; then
  on 2 $some $text --micro 2 --replay-routes phi.routes --record-routes ranks.routes --out ranks || fail "2 ranks"
  same_counts phi ranks
  cmp phi.routes ranks.routes || fail "2 ranks write other routes"
  on 4 $some $text --expert-parallel 2 --shard-optimizer true --replay-routes phi.routes --out divided || fail "4 ranks"
  same_counts phi divided
  on 2 $some $text --micro 1 --out two --record-routes two.routes || fail "2 ranks record"
  on 2 $some $text --micro 1 --out two.again --replay-routes two.routes || fail "2 ranks replay"
  same_run two two.again
fi

# Interrupted and resumed, recording and replaying. A file that was cut in a step behind the checkpoint goes on; one
# that lacks a step before it does not.
size=$(stat -c %s phi.routes) one=$(( ($(stat -c %s phi.routes) - 64) / 5 ))
back() { # RUN FROM: as after step 2
  cp -r $2 $1
  rm -r $1/result.json $1/checkpoints/step-000000000004 $1/checkpoints/step-000000000005
}
cut() { head -c $(( 64 + $1 )) phi.routes >$2; } # BYTES FILE
back resumed phi
cut $(( 3 * one + one / 2 )) resumed.routes
train --resume resumed --quiet --record-routes resumed.routes
same_run phi resumed
cmp phi.routes resumed.routes || fail "resumed: other routes"
back replayed phi.again
train --resume replayed --quiet --record-routes replayed.routes
same_run phi replayed
grep -q "'replayed.routes' is a new file, from step 3 on" error || fail "no word of a new file"
tail -c $(( 3 * one )) phi.routes >a
tail -c +65 replayed.routes | cmp - a || fail "a file from step 3 on"
train $some $text --micro 2 --steps 2 --replay-routes phi.routes --out stopped
refuses "steps 3 .. 5, and those of step 1 are needed" train $some $text --replay-routes replayed.routes --out none
refuses "steps 1 .. 5, and those of step 6 are needed" train --resume replayed --quiet --steps 6
refuses "replay_routes: '', but the run that is resumed has 'phi.routes'" train --resume replayed --quiet --replay-routes ''
if [ "$mpirun" ]; then
  back replayed2 phi.again
  on 2 --resume replayed2 --quiet --record-routes replayed2.routes || fail "resumed on 2 ranks"
  same_counts phi replayed2
  cmp replayed.routes replayed2.routes || fail "resumed on 2 ranks: other routes"
fi
back short phi
cut $(( one + one / 2 )) short.routes
refuses "steps 1 .. 1, and those of step 2 are needed" train --resume short --quiet --record-routes short.routes

# Files that are refused before a step, by name, and leave no run behind.
file() { # PATTERN FILE OPTION...
  pattern=$1 routes=$2
  shift 2
  refuses "$pattern" train $some $text --micro 2 --out none --replay-routes $routes "$@"
}
cut $(( 4 * one + 10 )) cut.routes
file "cut in step 5" cut.routes
cut -30 cut.routes
file "no file of recorded routes" cut.routes
file "no file of recorded routes" data/train.tokens
file "cannot read the routes 'nowhere': No such file" nowhere
file "not a regular file" .
{ head -c 24 phi.routes; printf '\001'; tail -c +26 phi.routes; } >bad.routes
file "the header's CRC-32" bad.routes
file "another model.experts: 8, here 4" phi.routes --set model.experts=4
file "another model.active: 2, here 1" phi.routes --set model.active=1
file "another layers with experts: 2, here 3" phi.routes --set model.dense_layers=0
file "another model.sequence: 32, here 16" phi.routes --set model.sequence=16
file "another batch.sequences: 4, here 2" phi.routes --batch 2
file "no layer has experts" phi.routes --method dense
file "'phi.routes' is the file that is read" phi.routes --record-routes phi.routes --overwrite
ln phi.routes linked.routes
file "'linked.routes' is the file that is read" phi.routes --record-routes linked.routes --overwrite
[ "$(stat -c %s phi.routes)" = "$size" ] || fail "what is read was cut"
refuses "'free.routes' is there" train $some $text --out none --record-routes free.routes
[ ! -e none ] || fail "a run is left behind"
train $some $text --micro 2 --out phi.more --record-routes free.routes --overwrite
cmp phi.routes free.routes || fail "--overwrite"
refuses "'phi' already holds a run" train $some $text --out phi --record-routes new.routes
[ ! -e new.routes ] || fail "routes of no run"

# Other data, or another order of them, at the first step; a broken sequence at its own.
file "step 1: .*other data, or of another order" phi.routes --seed 2
[ ! -e none/checkpoints ] || fail "something was trained on"
rm -r none
at=$(( 64 + 3 * one + one / 4 + 20 ))
{ head -c $at phi.routes; printf '\377'; tail -c +$(( at + 2 )) phi.routes; } >bad.routes
file "step 4: .*corrupt: the CRC-32 of sequence 2" bad.routes
rm -r none

# A disk that fills ends the run by name, and it goes on when there is room.
large="--batch 32 --set checkpoint.every=0" # more than a run's other files
train $some $text $large --out room --record-routes room.routes
( trap '' XFSZ
  ulimit -f 24 # 12 KiB, or 24
  "$phibal" train $some $text $large --out full --record-routes full.routes >log 2>error && exit 1
  [ $? -eq 2 ] ) || fail "a full disk: status"
grep -q "cannot write the routes 'full.routes': File too large" error || fail "a full disk: no word of it"
train --resume full --quiet
same_run room full
cmp room.routes full.routes || fail "a full disk: other routes"

# Layers that route by hash: no balancing loss there; a model with such layers evaluates as it was trained, begins no
# other one without them, and no architecture of transformers has them.
train $some --data data/train.tokens,data/train.tokens --set model.hash_layers=2 --set balance.alpha=1 --out hashed
! lines hashed | grep -v '"balance_loss":0.0,' || fail "hashes are balanced"
train $some $text --set model.hash_layers=1 --out hashed1
! lines hashed1 | grep '"balance_loss":0.0,' || fail "the other layer is not balanced"
refuses "model.hash_layers: 0, but the model of 'hashed/" train $some $text --from hashed --set model.hash_layers=0 --out none
refuses "model.hash_layers (2, there 0)" export --load hashed --out none
"$phibal" generate --load hashed --prompt ab --length 5 >log 2>error || fail "generate"
if [ "$mpirun" ]; then
  on 4 $some $text --set model.hash_layers=1 --expert-parallel 4 --out hashed4 || fail "hashes on 4 ranks"
  layers <hashed1/metrics.jsonl | head -1 >a
  layers <hashed4/metrics.jsonl | head -1 >b
  cmp a b || fail "hashes on 4 ranks: other loads"
fi

#!/bin/sh
# `phibal train` on shards of another program's files: mixed by domain, documents apart, resumed.
# usage: train_data.sh PHIBAL FOLDER SOURCE
set -eu
phibal=$(realpath "$1") folder=$2 source=$(realpath "$3")
. "$source/tests/moe/runs.sh"
rm -rf "$folder"
mkdir -p "$folder/shards"
cd "$folder"

# Tokens below 39 as nanoGPT has them, documents of 5 to 30 that end in 39.
tokens() { # SEED COUNT
  printf "$(awk -v s="$1" -v n="$2" 'BEGIN { srand(s)
    for (i = 0; i < n; i++) printf "\\%03o\\000", rand() < 0.06 ? 39 : int(39 * rand()) }')"
}
tokens 1 900 >shards/code.bin
tokens 2 2100 >shards/web.bin
options="--config tiny --data shards --validation shards/web.bin --threads 1 --batch 2 --quiet --steps 12
  --set model.vocabulary=40 --set model.layers=2 --set model.width=32 --set model.sequence=24
  --set data.end_of_document=39 --set checkpoint.every=3 --set checkpoint.keep=0"
run() { # NAME OPTION...
  name=$1
  shift
  "$phibal" train $options --out "$name" "$@" >log 2>error || fail "$name"
}
differ() { lines "$1" >a; lines "$2" >b; if cmp -s a b; then fail "$1 and $2 are the same"; fi; }
mixed="--set data.mixture=code=3,web=1 --set data.boundaries=true"
run plain
run apart --set data.boundaries=true
run weighted --set data.mixture=code=3,web=1
differ plain apart
# The run's own evaluation keeps documents apart as eval-model does.
run evaluated --set data.boundaries=true --set checkpoint.keep=1
evaluates_alike evaluated
differ plain weighted

# Half way, and on: the same bits.
keep="--set checkpoint.keep=4"
run straight $mixed $keep
cp -r straight half
rm -r half/checkpoints/step-000000000009 half/checkpoints/step-000000000012
"$phibal" train --resume half --quiet >log 2>error || fail "resumed"
lines straight >a; lines half >b
cmp a b || fail "resumed: other metrics"
cmp straight/checkpoints/step-000000000012/model.safetensors \
  half/checkpoints/step-000000000012/model.safetensors || fail "resumed: other weights"
# The domains change after 5 of 12 steps: the steps before are those of a run without a change, those
# after are not, and a run that goes on from before or after the change goes on with the same bits.
change="--set data.change_step=5 --set data.changed_mixture=web=1"
felt_from_step_6() { # RUN RUN
  lines "$1" >a; lines "$2" >b
  head -5 a >a5; head -5 b >b5
  cmp a5 b5 || fail "the change is felt before it"
  sed -n 6p a >a6; sed -n 6p b >b6
  if cmp -s a6 b6; then fail "the change comes too late"; fi
}
run single $mixed --batch 1
run single_changed $mixed --batch 1 $change
felt_from_step_6 single single_changed
run changed $mixed $keep $change
felt_from_step_6 changed straight
for from in 3 6; do
  rm -rf half2; cp -r changed half2
  for at in 12 09 06; do [ $at -le $from ] || rm -r half2/checkpoints/step-0000000000$at; done
  "$phibal" train --resume half2 --quiet >log 2>error || fail "resumed beside the change"
  lines half2 >b
  cmp a b || fail "resumed from step $from: other metrics"
done
refuses "data.change_step" train --resume half2 --quiet --set data.change_step=6
# Whichever of the two is given alone is refused, and what the trainer cannot change to.
refuses "data.change_step: what the data change to" train $options --set data.change_step=6 --out no
refuses "data.changed_mixture: when the data change" train $options --set data.changed_mixture=web=1 --out no
refuses "data.changed_mixture: .*no such domain" train $options --set data.change_step=6 --set data.changed_mixture=prose=1 --out no

# Shards elsewhere are the same data; what decides the order must stay.
mv shards moved
"$phibal" train --resume half --quiet --data moved/code.bin,moved/web.bin --validation moved/web.bin \
  >log 2>error || fail "moved shards"
there="--data moved --validation moved/web.bin"
refuses "data.mixture" train --resume half --validation moved/web.bin --data moved --set data.mixture=code=1
refuses "data.boundaries" train --resume half --validation moved/web.bin --data moved --set data.boundaries=false
refuses "has trained on data with" train --resume half --validation moved/web.bin --data moved/web.bin,moved/code.bin
refuses "no such domain" train $options $there --set data.mixture=prose=1 --out no
refuses "vocabulary of 40" train $options $there --set model.vocabulary=39 --out no
[ ! -e no ] || fail "a refused run has left a folder"
echo "shards, mixtures, boundaries: resumed to the bit"

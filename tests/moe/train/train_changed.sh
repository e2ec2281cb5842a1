#!/bin/sh
# Token files that change under `phibal train`: other bytes and a shorter file end the run by name, before
# anything that was learned from them is saved; a file that is touched, replaced or copied costs no bit.
# usage: train_changed.sh PHIBAL FOLDER SOURCE
set -eu
phibal=$(realpath "$1") folder=$2 source=$(realpath "$3")
. "$source/tests/moe/runs.sh"
rm -rf "$folder"
mkdir -p "$folder/text"
cd "$folder"
texts text/a.md text/b.md
"$phibal" data build --out built --domain text=text/ >log 2>error || fail "data build"
options="--config tiny --threads 1 --batch 2 --quiet --set model.layers=2 --set model.width=32
  --set model.sequence=32 --set checkpoint.every=4 --set checkpoint.keep=2 --set evaluation.every=0"
few="--steps 12"
"$phibal" train $options $few --data built/train.tokens --out plain >log 2>error || fail "plain"
weights=checkpoints/step-000000000012/model.safetensors

# A run that is under way, on a copy of the data.
begin() { # NAME OPTION...
  name=$1
  shift
  rm -rf "$name" data
  cp -r built data
  "$phibal" train $options --data data/train.tokens --out "$name" "$@" >log 2>error & run=$!
  until ls "$name"/checkpoints/step-* >/dev/null 2>&1; do
    kill -0 $run 2>/dev/null || fail "$name ended early"
    sleep 0.02
  done
}
ends() { # STATUS PATTERN
  status=0
  wait $run || status=$?
  [ $status -eq "$1" ] || fail "$name: status $status"
  grep -q -e "$2" error || fail "$name: no word of '$2'"
}
forever="--steps 1000000"

# Valid tokens in place of others: the run ends at the next checkpoint, which is not written.
begin changed $forever
dd if=/dev/zero of=data/train.tokens bs=1 seek=4096 count=2000 conv=notrunc 2>/dev/null
ends 2 "'data/train.tokens' was changed while it was read"
# Those that are there are from before: the bits of a run that nobody disturbed; and it goes on from them
# with the data as they were.
cp built/train.tokens data/train.tokens
newest=$(ls changed/checkpoints | tail -1)
begin undisturbed $forever --set checkpoint.keep=100
until [ -d undisturbed/checkpoints/$newest ]; do kill -0 $run || fail "undisturbed"; sleep 0.02; done
kill -KILL $run
status=0
wait $run || status=$?
[ $status -eq 137 ] || fail "undisturbed: status $status"
cmp undisturbed/checkpoints/$newest/model.safetensors changed/checkpoints/$newest/model.safetensors ||
  fail "what was changed is in the newest checkpoint"
"$phibal" train --resume changed --quiet --steps $(($(echo $newest | sed 's/step-0*//') + 4)) >log 2>error ||
  fail "going on"

begin shorter $forever
: >data/train.tokens
ends 2 "'data/train.tokens' \(has become shorter\|was changed\) while it was read"

# Touched: nothing is said. Replaced, or removed: said once, and the bits are those that were opened.
begin touched $few
touch data/train.tokens
wait $run || fail "a touched file"
[ ! -s error ] || fail "a word of a touched file"
cmp plain/$weights touched/$weights || fail "a touched file: other weights"
for change in replaced removed copied; do
  extra=
  [ $change != copied ] || extra="--set data.copy=true"
  begin $change --steps 400 $extra
  case $change in
  replaced) cp built/train.tokens data/new && printf x >>data/new && mv data/new data/train.tokens ;;
  removed) rm data/train.tokens ;;
  copied) : >data/train.tokens ;;
  esac
  wait $run || fail "$change: status $?"
  words=$(grep -c "was replaced or removed" error || true)
  [ "$words" = $([ $change = copied ] && echo 0 || echo 1) ] || fail "$change: $words lines"
done
"$phibal" train $options --steps 400 --data built/train.tokens --out long >log 2>error || fail "long"
for change in replaced removed copied; do
  cmp long/checkpoints/step-000000000400/model.safetensors $change/checkpoints/step-000000000400/model.safetensors ||
    fail "$change: other weights"
done
echo "token files that change are noticed, or do not matter"

#!/bin/sh
# `phibal train --resume` as a user meets it: signals, kills at random moments, damage, refusals. Every
# run that was interrupted ends with the lines of metrics.jsonl and the weights of one that was not.
# usage: train_resume.sh PHIBAL FOLDER SOURCE [KILLS]     (KILLS: $PHIBAL_KILLS, or 12)
set -eu
phibal=$(realpath "$1") folder=$2 source=$(realpath "$3") kills=${4:-${PHIBAL_KILLS:-12}}
. "$source/tests/moe/runs.sh"
rm -rf "$folder"
mkdir -p "$folder/text"
cd "$folder"

texts text/a.md text/b.md
"$phibal" data build --out data --domain text=text/ --validation 0 >log 2>&1 || { cat log >&2; fail "data build"; }

options="--config tiny --data data/train.tokens --threads 1 --batch 2 --quiet --steps 40
  --set model.layers=2 --set model.width=32 --set model.sequence=32 --set checkpoint.every=1"
same() { # FOLDER: as the run that nothing interrupted
  lines straight >a
  lines "$1" >b
  [ -s a ] && cmp a b || fail "$1: other metrics"
  for file in model training; do
    cmp straight/checkpoints/step-000000000040/$file.safetensors \
      "$1/checkpoints/step-000000000040/$file.safetensors" || fail "$1: another $file.safetensors"
  done
}
"$phibal" train $options --out straight >log 2>error || fail "a run"

# A signal: the step is finished and saved, the exit status says so, and the next start goes on.
signal() { # SIGNAL STATUS LINES COMMAND...: sends it when metrics.jsonl has so many lines
  signal=$1 expected=$2 wanted=$3
  shift 3
  "$@" >log 2>error & pid=$!
  while [ "$(cat long/metrics.jsonl 2>/dev/null | wc -l)" -lt "$wanted" ]; do
    kill -0 $pid 2>/dev/null || fail "ended before SIG$signal"
    sleep 0.01
  done
  kill -s "$signal" $pid
  status=0
  wait $pid || status=$?
  [ $status -eq "$expected" ] || fail "status $status after SIG$signal"
  grep -q '"stopped": true' long/result.json || fail "SIG$signal: not stopped"
  grep -q -e "--resume long" log || fail "SIG$signal: not said how to go on"
  steps=$(wc -l <long/metrics.jsonl)
  [ -d "long/checkpoints/step-$(printf %012d "$steps")" ] || fail "SIG$signal: no checkpoint"
}
signal TERM 143 2 "$phibal" train $options --set checkpoint.every=0 --steps 1000000 --out long
lines long >before
signal INT 130 $((steps + 2)) "$phibal" train --resume long --quiet
signal USR1 138 $((steps + 2)) "$phibal" train --resume long --quiet
lines long | head -n "$(wc -l <before)" | cmp - before || fail "lines have changed"
[ "$(sed 's/.*"step":\([0-9]*\),.*/\1/' long/metrics.jsonl)" = "$(seq "$steps")" ] || fail "steps lost"

# A sweep likewise; its last start ends well.
cat >sweep.yaml <<END
base: tiny
out: sweep
seeds: [1, 2]
set: {data.train: data/train.tokens, training.steps: 150, training.threads: 1, model.layers: 2, model.width: 32,
  model.sequence: 24, batch.sequences: 2, batch.micro_sequences: 2}
grid:
  balance.eta: [0.5, 1]
END
status=0
for pair in INT:130 TERM:143 USR1:138; do
  before=$(cat sweep/*/*/metrics.jsonl sweep/*/metrics.jsonl 2>/dev/null | wc -l)
  "$phibal" sweep sweep.yaml --quiet >log 2>error & pid=$!
  until [ "$(cat sweep/*/*/metrics.jsonl sweep/*/metrics.jsonl 2>/dev/null | wc -l)" -gt "$before" ]; do
    kill -0 $pid 2>/dev/null || fail "the sweep ended before SIG${pair%:*}"
    sleep 0.01
  done
  kill -s ${pair%:*} $pid
  status=0
  wait $pid || status=$?
  [ $status -eq ${pair#*:} ] || fail "status $status of a sweep after SIG${pair%:*}"
  grep -q "stopped; repeat the command to continue" error || fail "the sweep does not say that it has stopped"
done
"$phibal" sweep sweep.yaml --quiet >log 2>error || fail "status $? of a sweep that has ended"

# kill -9 at random moments of starting, training and saving. A run that got through is compared and
# begun again, until there have been as many kills as asked for.
start=$(date +%s%N)
"$phibal" train --resume straight --quiet >log 2>error || fail "a run that is done"
startup=$((($(date +%s%N) - start) / 1000000)) # ms
count=0 done=0 seed=$kills
while [ "$count" -lt "$kills" ]; do
  seed=$((seed + 1))
  wait=$(awk -v s=$seed -v t="$startup" 'BEGIN { srand(s); printf "%.3f", (0.05 + 3 * rand()) * t / 1000 }')
  status=0
  how="$options --out killed"
  [ ! -e killed/config.yaml ] || how="--resume killed --quiet"
  timeout -s KILL "$wait" "$phibal" train $how >log 2>error || status=$?
  ! grep -q "skipped:" error || fail "kill $count left a checkpoint that cannot be loaded"
  case $status in
  0) same killed && rm -rf killed && done=$((done + 1)) ;;
  137) count=$((count + 1)) ;;
  *) fail "status $status after $count kills" ;;
  esac
done
how="$options --out killed"
[ ! -e killed/config.yaml ] || how="--resume killed --quiet"
"$phibal" train $how >log 2>error || fail "the run after $count kills"
same killed

# Damage: the one before is used, and that is said; with none left the run ends in an error.
newest=killed/checkpoints/step-000000000040
truncate -s 1000 $newest/model.safetensors
"$phibal" train --resume killed --quiet >log 2>error || fail "the checkpoint before a damaged one is not used"
grep -q "skipped:.*step-000000000040/model.safetensors: truncated" error || fail "nothing said"
same killed
for step in killed/checkpoints/step-*; do truncate -s 0 "$step/checkpoint.json"; done
if "$phibal" train --resume killed --quiet >log 2>error; then fail "resumed from nothing"; fi
grep -q "no checkpoint can be used" error || fail "not said that no checkpoint can be used"

# A run as older programs left it, which knew neither the names of the data nor the plans of the schedule.
cp -r straight older
rm -r older/checkpoints/*40 older/result.json
at=older/checkpoints/step-000000000039
for file in older $at; do
  sed '/^  continued:/d; /^  parameters:/d' $file/config.yaml >old && mv old $file/config.yaml
  ! grep -q -e continued -e parameters: $file/config.yaml || fail "not an older config.yaml"
done
crc() { gzip -c "$1" | tail -c 8 | od -An -N4 -tu4 | tr -d ' '; }
sed '/^ "data": {/,/^ }/d' $at/checkpoint.json | awk -v bytes="$(wc -c <$at/config.yaml)" -v crc="$(crc $at/config.yaml)" '
  /"config.yaml"/ { here = 2 }
  here && /"bytes"/ { sub(/[0-9]+/, bytes); here-- }
  here && /"crc32"/ { n = index($0, ":"); $0 = substr($0, 1, n) " " crc; here-- }
  { print }' >old && mv old $at/checkpoint.json
! grep -q '"checksum"' $at/checkpoint.json || fail "not an older checkpoint"
"$phibal" train --resume older --quiet >log 2>error || fail "a run of an older program"
[ ! -s error ] || fail "something is said of a run of an older program"
same older

# Data that have changed or gone: the file, and what the run had.
"$phibal" data build --out other --domain text=text/ --validation 0.2 >log 2>&1 || fail "data build"
"$phibal" train $options --validation other/validation.tokens --set evaluation.final_sequences=4 --out depends >log 2>error || fail "a run with validation"
cp -r data was
cp other/train.tokens data/train.tokens
refuses "data.train: 'data/train.tokens' has .* the run has trained on data with 'data/train.tokens' of [0-9]* tokens, checksum" train --quiet --resume straight
rm data/train.tokens
refuses "data.train: data/train.tokens: .*the run that is resumed had 'data/train.tokens' of [0-9]* tokens" train --quiet --resume straight
[ "$(wc -l <error)" -eq 1 ] || fail "more than one line about the data"
"$phibal" train --resume straight --data was/train.tokens --quiet >log 2>error || fail "data in another place"
[ ! -s error ] || fail "something is said of data that are the same"
mv was/train.tokens data/
mv other/validation.tokens gone.tokens
refuses "data.validation: other/validation.tokens: .*had 'other/validation.tokens' of [0-9]* tokens.*--validation" train --quiet --resume depends
"$phibal" train --resume depends --validation gone.tokens --quiet >log 2>error || fail "validation in another place"
[ ! -s error ] || fail "something is said of a validation text that is the same"
cp data/train.tokens other/validation.tokens
"$phibal" train --resume depends --validation other/validation.tokens --quiet >log 2>error || fail "another validation text"
grep -q "data.validation 'other/validation.tokens' differs from the validation text before, '[a-z/.]*' of [0-9]* tokens" error || fail "nothing said of another validation text"
"$phibal" train --resume depends --validation '' --quiet >log 2>error || fail "without validation"

refuses "optimizer.peak_lr" train --resume straight --lr 1e-4
refuses "no --config" train --resume straight --config tiny
refuses "config.yaml" train --resume absent
refuses "already holds a run.*--resume" train --config tiny --data data/train.tokens --out straight
echo "$kills kills, $done runs that got through between them: nothing lost"

#!/bin/sh
# The deadline of bench/gpu.sh (bench/steps.sh), by a clock that only the steps move; at the end one step by the
# real clock.
# usage: gpu_steps.sh SOURCE FOLDER
set -eu
source=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
. "$source/bench/steps.sh"
fail() { echo "FAIL: $*" >&2; exit 1; }

# A step is `takes SECONDS STATUS`; it would go on past a limit, and is stopped there.
now() { cat "$folder/clock"; }
timeout() {
  [ "$1 $2" = "-k 2" ] || fail "timeout $*"
  given=$3 lasts=$5 ends=$6
  echo "$name $given" >>"$folder/limits"
  echo "said by $name"
  [ "$lasts" -le "$given" ] || lasts=$given ends=124
  echo $(($(now) + lasts)) >"$folder/clock"
  return "$ends"
}
afresh() {
  echo 1000 >"$folder/clock"
  : >"$folder/limits"
  steps_begin "$1" "$folder/results"
}
# expect STATUS LINE...: how the steps end, and what they printed in $folder/log.
expect() {
  expected=$1
  shift
  ended=0
  steps_end >>"$folder/log" || ended=$?
  printf '%s\n' "$@" >"$folder/expected"
  diff "$folder/expected" "$folder/log" || fail "lines differ"
  [ "$ended" -eq "$expected" ] || fail "status $ended, not $expected"
}

# All done: limits are the steps' own, then what is left of 600 - 5 seconds.
afresh 600
{
  step build 600 takes 195 0
  step check 60 takes 60 0
  step programs 240 takes 240 77
  step bench 200 takes 100 0
} >"$folder/log"
expect 0 "ok: build" "ok: check" "skipped: programs: said by programs" "ok: bench"
printf '%s\n' "build 595" "check 60" "programs 240" "bench 100" | diff - "$folder/limits" || fail "limits"
[ "$(now)" -le 1600 ] || fail "past the deadline"

# One stopped by the deadline and those after it are not done, which is no failure; one at the deadline does not begin.
afresh 105
{
  step first 60 takes 60 0
  step second 60 takes 50 0
  step third 60 takes 1 0
} >"$folder/log"
expect 3 "ok: first" "left out: no time: second (stopped after 40 of its 60 s)" "left out: no time: third" \
  "not done: second third"
[ "$(wc -l <"$folder/limits")" -eq 2 ] || fail "a step began at the deadline"

# What is left out leaves an earlier call's result as it was; one that ends by itself in less time than its own is done.
echo kept >"$folder/results/third.txt"
afresh 65
{
  step first 100 takes 60 0
  step third 60 takes 1 0
} >"$folder/log"
expect 3 "ok: first" "left out: no time: third" "not done: third"
[ "$(cat "$folder/results/third.txt")" = kept ] || fail "an earlier result is gone"

# A step at its own limit has failed, and failure comes before what was left out; so has one with another status.
afresh 105
step slow 60 takes 61 0 >"$folder/log"
step needs 60 takes 1 75 >>"$folder/log"
expect 1 "not ok: slow: status 124" "said by slow" "left out: needs: said by needs" "not done: needs"
afresh 105
step wrong 60 takes 1 1 >"$folder/log"
expect 1 "not ok: wrong: status 1" "said by wrong"

# By the real clock: a step and what it started end at the deadline. How much of the 10 - 5 seconds is left when it
# begins is the machine's.
unset -f timeout
now() { date +%s; }
afresh 10
from=$(now)
step real 60 sh -c 'sleep 30 & sleep 30' >"$folder/real"
sed 's/ after [1-5] of / after SOME of /' "$folder/real" >"$folder/log"
expect 3 "left out: no time: real (stopped after SOME of its 60 s)" "not done: real"
[ $(($(now) - from)) -le 9 ] || fail "a step went on past the deadline"

# One beside others: it ends before they do, and how it has ended comes where it is awaited; one that is not begun in
# time is left out there.
steps_begin 60 "$folder/beside"
{
  begin beside 50 sh -c "sleep 1; date +%s%N >$folder/one; echo short; exit 75"
  step other 50 sh -c "sleep 2; date +%s%N >$folder/two"
  await beside
  begin long 1 sleep 30
  step quick 50 true
  await long
  deadline=$(now)
  begin late 50 true
  await late
} >"$folder/log"
expect 1 "ok: other" "left out: beside: short" "ok: quick" "not ok: long: status 124" "left out: no time: late" \
  "not done: beside late"
[ "$(cat "$folder/one")" -lt "$(cat "$folder/two")" ] || fail "a step did not run beside the next one"
[ -z "$(ls "$folder"/beside/*.begun 2>/dev/null)" ] || fail "a step is begun for ever"
echo "deadlines: ok"

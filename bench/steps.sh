# shellcheck shell=sh
# Steps under one deadline, for gpu.sh: sourced, not run. `steps_begin SECONDS RESULTS`, then `step` for each,
# what is worth most first, or `begin` and, after others, `await`; then `steps_end`. $begun: the names of those that were.

now() { date +%s; }

# A step that is stopped has two seconds to end before it is killed, and the summary is printed after it.
steps_begin() { # SECONDS RESULTS
  deadline=$(($(now) + $1 - 5)) results=$2 begun='' failed='' left_out=''
  mkdir -p "$results"
  rm -f "$results"/*.begun # of a call that was stopped
}

# begin NAME LIMIT COMMAND...: at most LIMIT seconds, and no longer than the deadline, beside what the caller does next;
# nothing where the deadline has passed. What it prints goes to RESULTS/NAME.txt.
begin() {
  name=$1 limit=$2 left=$((deadline - $(now)))
  shift 2
  [ "$left" -ge 1 ] || return 0
  begun="$begun $name" least=$((left < limit ? left : limit))
  timeout -k 2 "$least" "$@" >"$results/$name.txt" 2>&1 &
  echo "$! $least $limit" >"$results/$name.begun"
}

# await NAME: until it has ended, and how goes to the terminal. Status 77: skipped for good; 75: it needs a step that is
# not done.
await() {
  name=$1 status=0
  if [ ! -e "$results/$name.begun" ]; then
    echo "left out: no time: $name"
    left_out="$left_out $name"
    return
  fi
  read -r process least limit <"$results/$name.begun"
  rm "$results/$name.begun"
  wait "$process" || status=$?
  [ "$status" -ne 137 ] || status=124
  if [ "$status" -eq 124 ] && [ "$least" -lt "$limit" ]; then
    echo "left out: no time: $name (stopped after $least of its $limit s)"
    left_out="$left_out $name"
    return
  fi
  case $status in
  0) echo "ok: $name" ;;
  75)
    echo "left out: $name: $(tail -n 1 "$results/$name.txt")"
    left_out="$left_out $name"
    ;;
  77) echo "skipped: $name: $(tail -n 1 "$results/$name.txt")" ;;
  *)
    echo "not ok: $name: status $status"
    tail -n 5 "$results/$name.txt"
    failed=yes
    ;;
  esac
}

step() { # NAME LIMIT COMMAND...: both
  begin "$@"
  await "$1"
}

# Status 1 if a step failed, 3 if none did but some are not done.
steps_end() {
  [ -z "$left_out" ] || echo "not done:$left_out"
  [ -z "$failed" ] || return 1
  [ -z "$left_out" ] || return 3
}

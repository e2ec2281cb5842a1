# shellcheck shell=sh
# Steps under one deadline, for gpu.sh: sourced, not run. `steps_begin SECONDS RESULTS`, then `step` for each,
# what is worth most first, then `steps_end`.

now() { date +%s; }

# A step that is stopped has two seconds to end before it is killed, and the summary is printed after it.
steps_begin() { # SECONDS RESULTS
  deadline=$(($(now) + $1 - 5)) results=$2 failed='' left_out=''
  mkdir -p "$results"
}

# step NAME LIMIT COMMAND...: at most LIMIT seconds, and no longer than the deadline. What it prints goes to
# RESULTS/NAME.txt, and its end to the terminal. Status 77: skipped for good; 75: it needs a step that is not done.
step() {
  name=$1 limit=$2 left=$((deadline - $(now)))
  shift 2
  if [ "$left" -lt 1 ]; then
    echo "left out: no time: $name"
    left_out="$left_out $name"
    return
  fi
  least=$((left < limit ? left : limit))
  status=0
  timeout -k 2 "$least" "$@" >"$results/$name.txt" 2>&1 || status=$?
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

# Status 1 if a step failed, 3 if none did but some are not done.
steps_end() {
  [ -z "$left_out" ] || echo "not done:$left_out"
  [ -z "$failed" ] || return 1
  [ -z "$left_out" ] || return 3
}

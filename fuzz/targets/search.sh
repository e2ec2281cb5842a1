#!/bin/sh
# Searches with every fuzz target in turn: usage: search.sh BUILD MINUTES [TARGET ...]
# BUILD was made with -Dlibfuzzer=true. What libFuzzer keeps goes to BUILD/corpus and is taken up
# again next time; an input that fails is left in BUILD/findings. Exit status 1 if there is any.
set -eu
build=$1 minutes=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -gt 0 ] || set -- $(cd "$root/fuzz/corpus" && ls)
findings=$build/findings
mkdir -p "$findings"
seconds=$((minutes * 60 / $#))
[ $seconds -gt 0 ] || seconds=1
failed=
for target in "$@"; do
  program=$build/fuzz/targets/fuzz_$target
  [ -x "$program" ] || { echo "$target: skipped, not in this build"; continue; }
  mkdir -p "$build/corpus/$target"
  log=$findings/$target.log
  if "$program" -max_total_time=$seconds -timeout=20 -rss_limit_mb=4096 -max_len=65536 \
    -print_final_stats=1 -artifact_prefix="$findings/$target-" "$build/corpus/$target" \
    "$root/fuzz/corpus/$target" >"$log" 2>&1; then
    echo "$target: $(sed -n 's/stat::number_of_executed_units: *//p' "$log") inputs in $seconds s," \
      "$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1) edges: no crash, no leak, no hang"
  else
    failed=yes
    echo "$target: FAILED"
    grep -E 'ERROR|SUMMARY|does not hold|runtime error|Test unit written' "$log" || tail -n 5 "$log"
  fi
done
[ -z "$failed" ]

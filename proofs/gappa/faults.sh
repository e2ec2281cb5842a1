#!/bin/sh
# Plants one fault at a time in a copy of the cores' headers and asks that check.py notices: that the
# bound no longer holds, or that the text is not the one the script was written for. An edit that
# changes nothing fails the run: then the list has fallen behind the code.
#   usage: faults.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v gappa >/dev/null || { echo "skipped: no gappa"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=0 missed=0

while read -r line; do
  case "$line" in '' | '#'*) continue ;; esac
  # The columns; a sed command may hold a | of its own, with no blank beside it.
  IFS='
'
  set -f
  set -- $(printf '%s\n' "$line" | sed 's/ | /\n/g')
  unset IFS
  set +f
  name=$1 header=$2 edit=$3 script=$4 how=$5
  cp "$here"/../../kernels/core/*.h "$work/"
  sed "$edit" "$here/../../kernels/core/$header" >"$work/$header"
  status=0
  CORE=$work python3 -B "$here/check.py" "$script" >"$work/log" 2>&1 || status=$?
  noticed=bound
  if grep -q Unmodelled "$work/log"; then noticed=text; fi
  if cmp -s "$here/../../kernels/core/$header" "$work/$header"; then
    echo "not ok: $name: the edit changes nothing in $header"
    missed=$((missed + 1))
  elif [ $status -eq 1 ] && grep -q "NOT PROVED" "$work/log" && [ $noticed = "$how" ]; then
    echo "ok: $name: $(grep -m 1 "NOT PROVED" "$work/log" | cut -c1-110)"
    found=$((found + 1))
  else
    echo "not ok: $name: status $status, $noticed"
    tail -n 4 "$work/log"
    missed=$((missed + 1))
  fi
done <"$here/faults.list"

echo "planted faults: $found found, $missed not"
[ $missed -eq 0 ] && [ $found -gt 0 ]

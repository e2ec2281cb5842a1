#!/bin/sh
# Each text from outside has a limit (formats/text_limits.h): what has as many bytes is read, for what it is,
# and one byte more is refused by the limit's name, with exit status 2, at once and in little memory.
#   text_limits.sh PHIBAL SOURCE
set -eu
phibal=$(realpath "$1")
source=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "text_limits: $*" >&2; exit 1; }

# filled FILE BYTES: spaces up to so many bytes
filled() { truncate -s "$2" "$1.spaces" && tr '\0' ' ' <"$1.spaces" | tail -c +$(($(wc -c <"$1") + 1)) >>"$1"; rm "$1.spaces"; }
# at the limit MESSAGE is not about size; above it the line names the limit
both() { # FILE MEBIBYTES WHAT COMMAND...
  file=$1 bytes=$(($2 * 1048576)) what="$3 has at most $2 MiB"
  shift 3
  filled "$file" $bytes
  status=0
  "$@" >out 2>&1 || status=$?
  [ $status -le 2 ] || fail "$file of $bytes bytes: exit status $status: $(head -c 300 out)"
  ! grep -q "has at most" out || fail "$file of $bytes bytes: $(cat out)"
  printf ' ' >>"$file"
  status=0
  (ulimit -v 3000000; "$@") >out 2>&1 || status=$?
  [ $status -eq 2 ] || fail "$file of $bytes bytes and one: exit status $status: $(head -c 300 out)"
  grep -q "$((bytes + 1)) bytes; $what" out || fail "$file: says $(head -c 300 out)"
}

printf '# a run\n' >run.yaml
both run.yaml 1 "a run file" "$phibal" train --config ./run.yaml --dry-run
printf 'base: x\n' >sweep.yaml
both sweep.yaml 1 "a sweep" "$phibal" sweep ./sweep.yaml
printf '{"format": "phibal-certificate"}' >certificate.json
both certificate.json 64 "a certificate" "$phibal" judge --certificate certificate.json
mkdir run && cp "$source/spec/vectors/ema.json" run/ema.json
cp "$source/spec/vectors/ema.safetensors" run/ema.safetensors
both run/ema.json 64 "a manifest" "$phibal" judge run/ema.safetensors run/ema.safetensors
mkdir model && printf '{}' >model/config.json
both model/config.json 64 "a JSON file of a model" "$phibal" eval-model --load model

# A line of JSON Lines: 16 MiB with the braces, and one byte more, in less than a gigabyte.
line() { printf '{"text": "'; head -c $(($1 - 12)) /dev/zero | tr '\0' a; printf '"}\n'; }
line 16777216 >lines.jsonl
"$phibal" data build lines.jsonl --out built >out 2>&1 || ! grep -q "has at most" out ||
  fail "a line of 16 MiB: $(head -c 300 out)"
line 16777217 >lines.jsonl
status=0
"$phibal" data build lines.jsonl --out built2 >out 2>&1 || status=$?
[ $status -eq 2 ] && grep -q "lines.jsonl:1: 16777217 bytes; a line of JSON has at most 16 MiB" out ||
  fail "a line beyond 16 MiB: exit status $status: $(head -c 300 out)"

# What the tests of `phibal train` share; read by them.
fail() { echo "FAIL: $*" >&2; [ ! -s error ] || cat error >&2; exit 1; }
texts() { # FILE FILE: invented text of 11 and of 21 kB
  awk -v seed=3 -v words=2050 -f "$source/tests/moe/words.awk" >"$1"
  awk -v seed=4 -v words=3800 -f "$source/tests/moe/words.awk" >"$2"
}
begin_with_corpus() { # OPTION...: $folder, empty but for a corpus of invented text; of `data build`
  rm -rf "$folder"
  mkdir -p "$folder/text"
  cd "$folder"
  texts text/a.md text/b.md
  "$phibal" data build --out data --domain text=text/ "$@" >log 2>error || fail "data build"
}
lines() { sed 's/"tokens_per_second":[^,]*,//; s/"seconds":[^,]*,//' "$1/metrics.jsonl"; }
step() { lines "$1" | sed -n "$2p"; }
value() { sed "s/.*\"$1\": *\\([-0-9.e]*\\).*/\\1/"; }
layers() { sed 's/.*"layers"//'; }
near() { # BAND A B: relative
  awk -v e="$1" -v a="$2" -v b="$3" 'BEGIN { d = (a - b) / b; exit !(d < e && -d < e) }'
}
refuses() { # PATTERN COMMAND ARGUMENT...: with the status of a usage or input error
  pattern=$1
  shift
  if "$phibal" "$@" >log 2>error; then fail "$* is not refused"; else [ $? -eq 2 ] || fail "status"; fi
  grep -q -e "$pattern" error || fail "$*: no word of '$pattern'"
}
evaluates_alike() { # RUN: eval-model finds what the run found
  "$phibal" eval-model --load "$1" --json >found 2>error || fail "eval-model of $1"
  for key in loss targets; do
    sed -n "s/.*\"$key\": *\([0-9.e-]*\).*/\1/p" found | head -1 >a
    grep '"type":"evaluation"' "$1/metrics.jsonl" | sed "s/[^{]*{[^{]*\"$key\":\([0-9.e-]*\).*/\1/" >b
    [ -s a ] && cmp a b || fail "eval-model finds another $key than the run $1"
  done
}
digest() { sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1/result.json"; }
digests() { # RUN...: are those of their newest checkpoints, where there is Python to say so
  ! command -v python3 >/dev/null || python3 -B "$source/tests/moe/train/digest.py" "$@" >found 2>error ||
    fail "digest"
}

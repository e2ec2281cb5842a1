# What the tests of `phibal train` on a device share, beside which the CPU trains; read by them. $device is host-cuda
# unless a test is told another.
# usage of a test: NAME.sh PHIBAL FOLDER [DEVICE]
phibal=$(realpath "$1") folder=$2 device=${3:-host-cuda} words=$(realpath "$(dirname "$0")/../words.awk")
rm -rf "$folder"
mkdir -p "$folder/text"
cd "$folder"
fail() { echo "FAIL: $*" >&2; exit 1; }

corpus() { # NAME OPTION... (of data build)
  name=$1
  shift
  "$phibal" data build --out "$name" "$@" >log 2>&1 || { cat log >&2; fail "data build $name"; }
}
# Documents of 1 to 80 bytes, so that windows have several.
corpus_of_pieces() {
  mkdir pieces
  fold -b -w 80 text/words.md | head -n 40 | awk '{ print substr($0, 1, 1 + NR * 37 % 80) >("pieces/" NR ".md") }'
  corpus documents --validation 0 --domain text=pieces/
}
awk -v seed=1 -v words=24000 -f "$words" >text/words.md
corpus data --domain text=text/

train() { # NAME OPTION...
  name=$1
  shift
  "$phibal" train --config tiny --data data/train.tokens --quiet --overwrite \
    --batch 3 --micro 2 --set model.layers=3 --set model.sequence=32 --set model.width=64 --set model.dense_layers=1 \
    --set model.shared_experts=1 --set model.hidden=24 --set model.head_width=16 --set model.key_value_heads=2 \
    --set model.qk_norm=true --set model.logit_softcap=20 --set balance.z_coefficient=1e-3 \
    --out "$name" "$@" >log 2>error || { cat error >&2; fail "train $name"; }
}
resume() { # NAME OPTION...
  name=$1
  shift
  "$phibal" train --resume "$name" --quiet "$@" >log 2>error || { cat error >&2; fail "resume $name"; }
}

# numbers NAME KEY: of all steps.
numbers() { sed -n 's/.*"type":"step".*"'"$2"'":\([-0-9.e]*\).*/\1/p' "$1/metrics.jsonl"; }
losses() { grep -o '"loss":[^,]*' "$1/metrics.jsonl"; }

# close A B KEY BAND STEPS: relatively, step for step.
close() {
  numbers "$1" "$3" >a
  numbers "$2" "$3" >b
  paste a b | awk -v band="$4" -v what="$3" -v steps="$5" '
    { n++; d = $1 - $2; if (d < 0) d = -d; s = $1 < 0 ? -$1 : $1; if (d > most * s && s > 0) most = d / s }
    END { printf "%s: %d steps, at most %.2g apart\n", what, n, most; exit !(n == steps && most <= band) }' ||
    fail "$3 of $1 and $2"
}
# differ A B KEY STEPS [BAND]: the option between them matters.
differ() {
  if (close "$1" "$2" "$3" "${5:-1e-4}" "$4") >/dev/null 2>&1; then fail "$3 of $1 and $2 is the same"; fi
}
# beside NAME STEPS OPTION...: runs NAME-cpu and NAME-$device, each number within 1e-5 of the other's.
beside() {
  case=$1 steps=$2
  shift 2
  train "$case-cpu" --steps $steps "$@"
  train "$case-$device" --steps $steps --device $device "$@"
  for key in loss gradient_norm balance_loss z_loss; do close "$case-cpu" "$case-$device" $key 1e-5 $steps; done
}

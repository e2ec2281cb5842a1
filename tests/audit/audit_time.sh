#!/bin/sh
# `phibal audit --seconds N` ends within N + 2 seconds whatever it is given, says what was not
# decided, in the text, in JSON and on the page alike, never passes, and leaves no process and no file.
#   usage: audit_time.sh PHIBAL FOLDER
set -eu
phibal=$(realpath "$1") folder=$2
rm -rf "$folder"
mkdir -p "$folder/tmp"
cd "$folder"
export TMPDIR="$PWD/tmp"
fail() { echo "FAIL: $*" >&2; exit 1; }
now() { date +%s%N | cut -c1-13; }

# bounded N STATUS ARGUMENTS: ends within N + 2 s with this status (or `any`); its output in `out`,
# `err`, its status in `got`
bounded() {
  n=$1 status=$2
  shift 2
  begun=$(now) got=0
  timeout -s KILL 60 "$phibal" audit "$@" --seconds "$n" >out 2>err || got=$?
  took=$(($(now) - begun))
  [ "$status" = any ] || [ $got -eq "$status" ] || fail "$*: status $got, not $status: $(cat err)"
  [ $took -le "$(awk "BEGIN { print int(1000 * ($n + 2)) }")" ] || fail "$*: $took ms for --seconds $n"
  [ -z "$(ls -A tmp)" ] || fail "$*: left behind $(ls -A tmp)"
}

# sum FILE COUNT TERM: COUNT times the term, % for the number, with + between
sum() {
  awk -v name="$1" -v n="$2" -v term="$3" -v between="$4" -v before="$5" -v after="$6" 'BEGIN {
    printf "potential %s\nvalue %s", name, before
    for (i = 1; i <= n; i++) { t = term; gsub("%", i + 1, t); printf "%s%s", (i > 1 ? between : ""), t }
    print after }' >"$1.phi"
}
sum kinks 60 "abs(x - %/62)" " + " "sum(" ")"
sum many 198 "abs(x - 1/%)" " + " "sum(" ")"
sum products 16 "sum(x^% + %)" " * " "" ""
sum nested 60 "exp(x/%)" " * log(1 + " "sum(x + " ")$(printf '%060d' 0 | sed 's/^0//; s/0/)/g')"
sum powers 12 "(x + 1/%)^%00000" " + " "sum(" ")"
cat >digits.phi <<END
potential digits
value sum(x^2 + x/1$(printf '%0900d' 0))
END

decided=
for file in kinks many products nested powers digits; do
  for n in 1 0.1; do
    bounded $n 0 $file.phi --quick
    if grep -q "^check:" out; then fail "$file: says --check without being asked"; fi
    # A machine may be quick enough for some of them: then all is decided, and nothing is late.
    bounded $n any $file.phi --check=quick
    if [ $got -eq 0 ] && ! grep -q "Time was up" out; then decided="$decided$file:$n "; continue; fi
    [ $got -eq 1 ] || fail "$file: status $got: $(cat out err)"
    grep -q "^check: no: " out || fail "$file: $(cat out)"
  done
done
case $decided in *:0.1*) fail "nothing was late: $decided" ;; esac

# What is late is named, everywhere.
bounded 1 1 kinks.phi --check=quick --json --html page.html
grep -q '"verdict": ".*Time was up in: [a-z, ]*dynamics (--seconds 1)\."' out || fail "JSON: $(cat out)"
grep -q '"passes": true' out && grep -q 'Time was up before this was decided (--seconds 1)' out || fail "JSON: $(cat out)"
grep -q '"why": "no: .*time was up before the dynamics were computed"' out || fail "JSON: $(cat out)"
grep -q 'Time was up in: [a-z, ]*dynamics (--seconds 1)\.' page.html || fail "the page does not say so"
# Dynamics are no claim, and yet what is late is no yes.
bounded 1 1 kinks.phi --check=quick --skip convexity,legendre,gradient,conjugate,core
grep -q '^check: no: time was up before the dynamics were computed' out || fail "$(cat out)"
# What was not late is decided as ever: it has no findings of that kind.
bounded 20 0 --potential euclid --check=quick
if grep -q "Time was up" out; then fail "$(cat out)"; fi
bounded 20 0 --all
[ "$(grep -c '^E = ' out)" -eq 4 ] || fail "--all: $(cat out)"

# A compiler that does not come back is ended, and what it has started: they are of no session that
# stays.
cat >slow <<END
#!/bin/sh
sleep 1234.5 & echo \$! >$PWD/pid
wait
END
chmod +x slow
CC="$PWD/slow" bounded 1.5 1 --potential euclid --check=quick --skip convexity,legendre,gradient,conjugate,dynamics
grep -q 'Time was up in: core' out || fail "$(cat out)"
sleep 0.5
if kill -0 "$(cat pid)" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$(cat pid)/status"; then fail "the compiler goes on"; fi

# A command that is ended ends all of it.
rm -f pid
CC="$PWD/slow" "$phibal" audit --potential euclid --quick >out 2>err &
command=$!
for i in $(seq 100); do [ -s pid ] && break; sleep 0.1; done
kill -TERM $command
got=0
wait $command || got=$?
[ $got -eq 143 ] || fail "SIGTERM: status $got"
sleep 0.5
if kill -0 "$(cat pid)" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$(cat pid)/status"; then fail "the compiler outlives the command"; fi
[ -z "$(ls -A tmp)" ] || fail "SIGTERM leaves $(ls -A tmp)"

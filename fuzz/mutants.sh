#!/bin/sh
# Plants one fault at a time in a copy of the sources and asks that `phibal verify`, or a unit test,
# notices.
#   usage: mutants.sh SOURCE_ROOT WORK_DIR LIST [SECONDS [TABLE]]
# with the compiler in CC, its flags in KERNEL_CFLAGS, and what makes `phibal verify`,
# test_model_gradient, test_bits, test_loads and test_gemm, less the faulty object, in VERIFY_LINK, MODEL_LINK,
# BITS_LINK, LOADS_LINK and GEMM_LINK.
# With SECONDS, an operation that its usual cases find nothing wrong with gets others (of another seed)
# for so long. TABLE is written in Markdown. In the list,
#
#   [edited file]  or  [edited file > compiled source]
#   name | kind | check that must fail | sed command
#
# where the check is an operation of `phibal verify`, or model-gradient, bits, test-loads or test-gemm, or some tests
# of one of these (model-gradient:*/capacity). A line
#
#   equivalent: why
#
# says that the mutant of the next line is no fault: then it must not be noticed. An edit that changes
# nothing, or that does not compile, fails the run: then the list has fallen behind the code.
set -u
root=$1 work=$2 list=$3 seconds=${4:-} table=${5:-}
rm -rf "$work"
mkdir -p "$work"
cp -r "$root/kernels" "$root/moe" "$root/verify" "$work/"
planted=
found=0 equivalent=0 failed=0

. "$(dirname "$0")/fault_list.sh"

# build NAME CHECK OBJECT...: the program that makes the check, OBJECT in the place of the library's own.
build() {
  program=$1
  case $(program_of "$2") in
  model-gradient) link=$MODEL_LINK ;;
  bits) link=$BITS_LINK ;;
  test-loads) link=$LOADS_LINK ;;
  test-gemm) link=$GEMM_LINK ;;
  *) link=$VERIFY_LINK ;;
  esac
  shift 2
  $CC -o "$work/$program" "$@" $link
}

# run NAME CHECK: its status, output in the log.
run() {
  pattern=$(pattern_of "$2")
  case $(program_of "$2") in
  model-gradient | bits | test-loads | test-gemm) "$work/$1" --fail-fast ${pattern:+--filter "$pattern"} ;;
  *) "$work/$1" verify --op "$2" --first-failure ;;
  esac >"$work/log" 2>&1
}

# run_on NAME CHECK: the same on other cases, for so many seconds; 124 if the time was over first. The
# limit is for slow machines: only what is no fault needs all of it, and so is given less.
run_on() {
  limit=$seconds
  [ -z "$why" ] || [ "$limit" -le 20 ] || limit=5
  case $(program_of "$2") in
  model-gradient | bits | test-loads | test-gemm) return 0 ;;
  *) timeout "$limit" "$work/$1" verify --op "$2" --seed 2 --cases 1000000000 --first-failure ;;
  esac >"$work/log" 2>&1
}

# What noticed it, in a few words.
finding() {
  sed -n 's/^  FAIL //p; s/^[a-z0-9-]*  *\(FAIL: .*\)/\1/p; s/.*: hash .*/&/p
    s/.*Assertion Failed.*/an assertion of the test/p' "$work/log" | head -n 1 | cut -c1-160
}

row() { [ -z "$table" ] || printf '| %s | %s | `%s` | %s | %s | %s |\n' "$@" >>"$work/rows"; }

# Compiles the mutant at hand, after taking the one before out of the copy; false if it changes nothing or does not build.
plant() {
  [ -z "$planted" ] || cp "$root/$planted" "$work/$planted"
  planted=$file
  sed "$edit" "$root/$file" >"$work/$file"
  if cmp -s "$root/$file" "$work/$file"; then
    not_ok "$name: the edit changes nothing in $file"
  elif ! $CC $KERNEL_CFLAGS -w -O1 -I"$root/spec/include" -iquote "$work" -iquote "$root" \
    -c "$work/${source:-$file}" -o "$work/fault.o" 2>"$work/log" ||
    ! build faulty "$check" "$work/fault.o" 2>>"$work/log"; then
    not_ok "$name: does not build"
  else
    return 0
  fi
  return 1
}

# Runs the check on it and says what became of it.
try() {
  status=0
  start=$(date +%s.%N)
  run faulty "$check" || status=$?
  if [ $status -eq 0 ] && [ -n "$seconds" ]; then run_on faulty "$check" || status=$?; fi
  took=$(echo "$(date +%s.%N) $start" | awk '{printf "%.1f", $1 - $2}')
  # A crash would be noticed too, but a verdict is what is asked for.
  if [ $status -eq 1 ] && grep -qi "fail" "$work/log"; then
    cases=$(sed -n 's/.*worst in case \([0-9]*\).*/\1/p' "$work/log" | head -n 1)
    cases=${cases:+$((cases + 1))}
    output=$(finding)
    if [ -n "$why" ]; then
      not_ok "$name: said to be equivalent, but noticed: $output"
    else
      echo "ok: $name: $output"
      found=$((found + 1))
      row "$name" "$kind" "$file" "$(echo "$output" | sed 's/:.*//')" "${cases:--}" "$took"
    fi
  elif [ -n "$why" ] && { [ $status -eq 0 ] || [ $status -eq 124 ]; }; then
    echo "ok: $name: not noticed, as it should be: $why"
    equivalent=$((equivalent + 1))
    row "$name" "$kind" "$file" "equivalent: $why" - "$took"
  else
    not_ok "$name: not noticed (status $status)"
    row "$name" "$kind" "$file" "**not found**" - "$took"
  fi
}

# Without a fault every check must pass: otherwise "it fails" says nothing.
for check in $(checks "$list"); do
  build sound "$check" 2>"$work/log" && run sound "$check" && ! grep -q "Tested: 0 " "$work/log" ||
    { not_ok "$check fails, or is empty, without a fault"; exit 1; }
done

plant_and_try() { plant && try; }
each_fault "$list" plant_and_try

echo "planted faults: $found found, $equivalent equivalent, $failed not as they should be"
if [ -n "$table" ]; then
  {
    cat <<HEAD
# Planted faults

One line of a kernel is changed at a time ([\`mutants.list\`](mutants.list)); \`phibal verify\` then runs
generated cases of one operation until an output exceeds its bound: its usual cases, then others for
$seconds seconds. \`./dev mutants\` regenerates this table. "Cases" is the number run until then; a dash is a unit test. Cases
and their order depend only on the seed, seconds on the machine.

**$found of $((found + failed)) faults found**, and $equivalent equivalent mutants, each with a reason.

| fault | kind | in | noticed by | cases | seconds |
| --- | --- | --- | --- | --- | --- |
HEAD
    cat "$work/rows"
  } >"$table"
fi
[ $failed -eq 0 ] && [ $found -gt 0 ]

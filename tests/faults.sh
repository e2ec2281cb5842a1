#!/bin/sh
# Plants one fault at a time in a copy of the sources and asks that `phibal verify`, or a unit test,
# notices.
#   usage: faults.sh SOURCE_ROOT WORK_DIR LIST
# with the compiler in CC, its flags in KERNEL_CFLAGS, and what makes `phibal verify`,
# test_model_gradient and test_bits, less the faulty object, in VERIFY_LINK, MODEL_LINK and BITS_LINK.
# A line of the list:
#
#   name | edited file | compiled source, if another | sed command | check that must fail
#
# where the check is an operation of `phibal verify`, or model-gradient, or bits. An edit that changes nothing, or
# that does not compile, fails the run: then the list has fallen behind the code.
set -u
root=$1 work=$2 list=$3
rm -rf "$work"
mkdir -p "$work"
passed=0 failed=0

trim() { printf '%s' "$1" | sed 's/^ *//; s/ *$//'; }

# build NAME CHECK OBJECT...: the program that makes the check, OBJECT in the place of the library's own.
build() {
  program=$1
  case $2 in
  model-gradient) link=$MODEL_LINK ;;
  bits) link=$BITS_LINK ;;
  *) link=$VERIFY_LINK ;;
  esac
  shift 2
  $CC -o "$work/$program" "$@" $link
}

# run NAME CHECK: its status, output in the log.
run() {
  case $2 in
  model-gradient | bits) "$work/$1" >"$work/log" 2>&1 ;;
  *) "$work/$1" verify --op "$2" --first-failure >"$work/log" 2>&1 ;;
  esac
}

not_ok() {
  echo "not ok: $1"
  tail -n 5 "$work/log"
  failed=$((failed + 1))
}

# Without a fault every check must pass: otherwise "it fails" says nothing.
for check in $(sed -n '/^[^#]/s/.*| *//p' "$list" | sort -u); do
  build sound "$check" 2>"$work/log" && run sound "$check" ||
    { not_ok "$check fails without a fault"; exit 1; }
done

while IFS='|' read -r name file source edit check; do
  case "$name" in '' | '#'*) continue ;; esac
  name=$(trim "$name") file=$(trim "$file") source=$(trim "$source")
  edit=$(trim "$edit") check=$(trim "$check")
  rm -rf "$work/kernels" "$work/moe"
  cp -r "$root/kernels" "$root/moe" "$work/"
  sed "$edit" "$root/$file" >"$work/$file"
  if cmp -s "$root/$file" "$work/$file"; then
    not_ok "$name: the edit changes nothing in $file"
  elif ! $CC $KERNEL_CFLAGS -w -O1 -I"$root/spec/include" -I"$work/moe" -c "$work/${source:-$file}" \
    -o "$work/fault.o" 2>"$work/log" || ! build faulty "$check" "$work/fault.o" 2>>"$work/log"; then
    not_ok "$name: does not build"
  else
    status=0
    run faulty "$check" || status=$?
    # A crash would be noticed too, but a verdict is what is asked for.
    if [ $status -eq 1 ] && grep -qi "fail" "$work/log"; then
      echo "ok: $name: $(sed -n 's/^  FAIL //p; s/.*: hash .*/&/p; s/.*Assertion Failed.*/an assertion of the test/p' \
        "$work/log" | head -n 1 | cut -c1-160)"
      passed=$((passed + 1))
    else
      not_ok "$name: not noticed (status $status)"
    fi
  fi
done <"$list"

echo "planted faults: $passed found, $failed not"
[ $failed -eq 0 ] && [ $passed -gt 0 ]

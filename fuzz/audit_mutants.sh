#!/bin/sh
# Plants one fault at a time in a copy of a source of `phibal audit` and asks that a unit test notices:
# most of them would let the audit call something proved that is false.
#   usage: audit_mutants.sh SOURCE_ROOT WORK_DIR LIST [NAME]
# with the compiler in CC, its flags in AUDIT_CFLAGS, the libraries in AUDIT_LINK and the folder of the
# unit tests, as static libraries NAME-test, in AUDIT_TESTS. With NAME only faults whose name holds it.
# In the list,
#
#   [edited file]
#   name | kind | test or test:filter | sed command
#
# where a filter is Criterion's. As in mutants.sh, a line `equivalent: why` is about the next one, and an
# edit that changes nothing, or does not compile, fails the run.
set -u
root=$1 work=$2 list=$3 only=${4:-}
rm -rf "$work"
mkdir -p "$work/objects"
found=0 equivalent=0 failed=0

. "$(dirname "$0")/fault_list.sh"

# build PROGRAM TEST [OBJECT]: the test, OBJECT in the place of the library's own.
build() {
  program=$1 test=$2
  shift 2
  # shellcheck disable=SC2086
  $CC -o "$work/$program" "$@" -Wl,--whole-archive "$AUDIT_TESTS/lib$test-test.a" \
    -Wl,--no-whole-archive $AUDIT_LINK
}

run() { timeout 300 "$work/$1" --fail-fast ${2:+--filter "$2"} >"$work/log" 2>&1; }

# Without a fault every test must pass: otherwise "it fails" says nothing.
for check in $(checks "$list"); do
  pattern=$(pattern_of "$check")
  build sound "$(program_of "$check")" 2>"$work/log" && run sound "$pattern" && grep -q 'Tested: [1-9]' "$work/log" ||
    { not_ok "$check fails, or is empty, without a fault"; exit 1; }
done

# Plants the fault at hand, runs its test, and says what became of it.
plant_and_try() {
  pattern=$(pattern_of "$check")
  case $name in *"$only"*) ;; *) return ;; esac
  sed "$edit" "$root/$file" >"$work/$(basename "$file")"
  status=0
  if cmp -s "$root/$file" "$work/$(basename "$file")"; then
    : >"$work/log"
    not_ok "$name: the edit changes nothing in $file"
  elif ! $CC $AUDIT_CFLAGS -w -O1 -iquote "$root/audit" -c "$work/$(basename "$file")" \
    -o "$work/objects/fault.o" 2>"$work/log" ||
    ! build faulty "$(program_of "$check")" "$work/objects/fault.o" 2>>"$work/log"; then
    not_ok "$name: does not build"
  else
    run faulty "$pattern" || status=$?
    if grep -q '\[FAIL\]' "$work/log" && [ $status -ne 0 ]; then
      if [ -n "$why" ]; then
        not_ok "$name: said to be equivalent, but noticed"
      else
        echo "ok: $name: $(sed -n 's/^\[FAIL\] \([^:]*::[^:]*\).*/\1/p' "$work/log" | head -n 1)"
        found=$((found + 1))
      fi
    elif [ -n "$why" ] && [ $status -eq 0 ]; then
      echo "ok: $name: not noticed, as it should be: $why"
      equivalent=$((equivalent + 1))
    else
      not_ok "$name: not noticed (status $status)"
    fi
  fi
}
each_fault "$list" plant_and_try

echo "planted faults in the audit: $found found, $equivalent equivalent, $failed not as they should be"
[ $failed -eq 0 ] && [ $found -gt 0 ]

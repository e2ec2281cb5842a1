#!/bin/sh
# Plants one fault at a time in a copy of the kernels and asks that `phibal verify` (or a unit test)
# notices. usage: faults.sh SOURCE_ROOT WORK_DIR LIST; the compiler, its flags and what to link come in
# CC, KERNEL_CFLAGS, VERIFY_LINK. A line of the list:
#
#   name | edited file | compiled source | sed command | operation that must fail
#
# A sed command that changes nothing, or a fault that does not compile, fails the run: the list has
# fallen behind the code.
set -u
root=$1 work=$2 list=$3
rm -rf "$work"
mkdir -p "$work"
passed=0 failed=0

# link NAME OBJECT...: the verify program, with OBJECT in the place of the library's own.
link() {
  name=$1
  shift
  $CC -o "$work/$name" "$@" $VERIFY_LINK
}

# Without a fault every operation of the list must pass: otherwise "it fails" says nothing.
link sound || exit 1
for operation in $(sed -n '/^[^#]/s/.*| *//p' "$list" | sort -u); do
  "$work/sound" verify --op "$operation" >"$work/log" 2>&1 ||
    { echo "not ok: $operation fails without a fault"; cat "$work/log"; exit 1; }
done

trim() { printf '%s' "$1" | sed 's/^ *//; s/ *$//'; }

while IFS='|' read -r name file source edit operation; do
  case "$name" in '' | '#'*) continue ;; esac
  name=$(trim "$name") file=$(trim "$file") source=$(trim "$source")
  edit=$(trim "$edit") operation=$(trim "$operation")
  rm -rf "$work/kernels"
  cp -r "$root/kernels" "$work/kernels"
  sed "$edit" "$root/$file" >"$work/$file"
  if cmp -s "$root/$file" "$work/$file"; then
    echo "not ok: $name: the edit changes nothing in $file"
    failed=$((failed + 1))
    continue
  fi
  if ! $CC $KERNEL_CFLAGS -I"$root/spec/include" -c "$work/$source" -o "$work/fault.o" \
    2>"$work/log" || ! link faulty "$work/fault.o" 2>>"$work/log"; then
    echo "not ok: $name does not build"
    cat "$work/log"
    failed=$((failed + 1))
    continue
  fi
  "$work/faulty" verify --op "$operation" >"$work/log" 2>&1
  status=$?
  # A crash would be noticed too, but is not what a verdict looks like.
  if [ $status -eq 1 ] && grep -q "FAIL $operation" "$work/log"; then
    echo "ok: $name: $(sed -n 's/^  FAIL //p' "$work/log" | head -n 1)"
    passed=$((passed + 1))
  else
    echo "not ok: $name was not noticed (status $status)"
    tail -n 5 "$work/log"
    failed=$((failed + 1))
  fi
done <"$list"

echo "planted faults: $passed found, $failed not"
[ $failed -eq 0 ] && [ $passed -gt 0 ]

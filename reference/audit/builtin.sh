#!/bin/sh
# Writes a C file that holds the texts of .phi files.   usage: builtin.sh OUTPUT FILE..
set -eu
output=$1
shift
{
  echo '#include "builtin.h"'
  echo '#include <string.h>'
  i=0
  for file in "$@"; do
    printf 'static const unsigned char text%d[] = {' $i
    od -An -v -tx1 "$file" | sed 's/ \(..\)/0x\1,/g'
    echo '0};'
    i=$((i + 1))
  done
  echo 'static const phi_builtin all[] = {'
  i=0
  for file in "$@"; do
    printf '  {"%s", (const char *)text%d, sizeof text%d - 1},\n' "$(basename "$file" .phi)" $i $i
    i=$((i + 1))
  done
  cat <<'C'
};
const phi_builtin *phi_builtin_at(size_t i) {
  return i < sizeof all / sizeof *all ? &all[i] : NULL;
}
const phi_builtin *phi_builtin_find(const char *name) {
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].name, name) == 0) return &all[i];
  return NULL;
}
C
} >"$output"

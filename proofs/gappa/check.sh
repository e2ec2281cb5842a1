#!/bin/sh
# Proves the error bounds that the headers of kernels/core claim; one line per bound, status 1 if one
# is not proved. Needs gappa and python3; about half a minute, with -c two.
#   usage: check.sh [-v] [-c] [SCRIPT...]
set -eu
command -v gappa >/dev/null || { echo "skipped: no gappa"; exit 77; }
exec python3 -B "$(dirname "$0")/check.py" "$@"

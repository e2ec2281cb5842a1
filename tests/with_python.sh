#!/bin/sh
# usage: with_python.sh PYTHON SCRIPT ARGUMENT...
# Runs a script with $PHIBAL_PYTHON if that is set, else with PYTHON.
python=${PHIBAL_PYTHON:-$1}
shift
exec "$python" "$@"

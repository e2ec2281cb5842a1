#!/bin/sh
# A C++ source that includes a .cu: compilers go by the suffix.  usage: as_cpp.sh SOURCE RESULT
printf '#include "%s"\n' "$(realpath "$1")" >"$2"

#!/bin/sh
# `pip install` of the repository into a new environment, as python/README.md says, and what was installed: one wheel for
# all versions of Python 3, from which the kernels, the command, the judge and the plugin work without the repository.
#   usage: wheel.sh PYTHON SOURCE_ROOT WORK_DIR
# PHIBAL_OTHER_PYTHON names an interpreter of another version that the wheel is tried with too.
set -eu
python=$1 root=$2 work=$3
unset PHIBAL_BUILD PYTHONPATH
rm -rf "$work"
mkdir -p "$work"
"$python" -m venv "$work/venv" >"$work/log" 2>&1 || { echo "skipped: no venv (apt-get install python3-venv)"; exit 77; }
"$work/venv/bin/pip" download -q --no-deps -d "$work" meson-python >>"$work/log" 2>&1 ||
  { echo "skipped: no package index is reachable"; exit 77; }
before=$(cd "$root" && ls -A)
(cd "$work" && nice venv/bin/pip wheel -q --no-deps -w . "$root") || { echo "not ok: pip wheel"; exit 1; }
[ "$(cd "$root" && ls -A)" = "$before" ] || { echo "not ok: the build leaves files in the repository"; exit 1; }
wheel=$(ls "$work"/phibal-*.whl)
case $wheel in *-py3-none-linux_*.whl) ;; *) echo "not ok: $wheel is not for every Python 3"; exit 1 ;; esac
# What it is linked with: neither Python nor PyTorch, and nothing that the manual does not name.
mkdir "$work/content"
"$python" -m zipfile -e "$wheel" "$work/content"
foreign=$(find "$work/content" -name '*.so.*' -o -path '*/scripts/phibal' | xargs -n1 readelf -d | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  sort -u | grep -v '^lib\(phibal\|m\|c\|gomp\|mpfr\|gmp\|jansson\|cyaml\|yaml-0\|z\|flint.*\|sodium\)\.so\|^ld-linux' || true)
[ -z "$foreign" ] || { echo "not ok: needs" $foreign; exit 1; }
for interpreter in "$work/venv/bin/python" ${PHIBAL_OTHER_PYTHON:+"$PHIBAL_OTHER_PYTHON"}; do
  environment=$work/of-$(basename "$interpreter")
  "$interpreter" -m venv "$environment"
  "$environment/bin/pip" install -q "$wheel" pytest
  version=$("$environment/bin/python" -c 'import sys; print(*sys.version_info[:2], sep=".")')
  (cd "$work" && "$environment/bin/phibal" eval --potential euclid --fn gradient --at 0.5 >/dev/null) || { echo "not ok: the command"; exit 1; }
  for test in numpy_functions plugin; do
    "$environment/bin/python" "$root/tests/python/$test.py" >"$work/$test.log" 2>&1 ||
      { tail -30 "$work/$test.log"; echo "not ok: $test with Python $version"; exit 1; }
  done
  echo "Python $version: ok"
done
echo "$(basename "$wheel"): $(wc -c <"$wheel") bytes"

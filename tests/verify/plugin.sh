#!/bin/sh
# Plugins: the example passes, with a fault it does not, and every way to be misused has a message.
#   usage: plugin.sh SOURCE_ROOT WORK_DIR PHIBAL
set -u
root=$1 work=$2 phibal=$3
rm -rf "$work"
mkdir -p "$work"
failed=0

compile() {
  so=$work/$1.so
  source=$2
  shift 2
  ${CC:-cc} -std=c17 -Wall -Wextra -Werror -O1 -fPIC -shared "$@" -I"$root/spec/include" \
    "$source" -o "$so" -lm || exit 1
}

# expect STATUS TEXT ARGUMENT...: of `phibal verify --plugin $so`.
expect() {
  wanted=$1 text=$2
  shift 2
  status=0
  "$phibal" verify --plugin "$so" "$@" >"$work/log" 2>&1 || status=$?
  if [ $status -eq "$wanted" ] && grep -q -- "$text" "$work/log"; then
    echo "ok: $(basename "$so"): $(grep -m 1 -- "$text" "$work/log" | cut -c1-150)"
  else
    echo "not ok: $(basename "$so"): wanted status $wanted and '$text', got $status and:"
    head -n 5 "$work/log"
    failed=$((failed + 1))
  fi
}

compile router "$root/examples/plugin/router.c"
expect 0 "all 2 operations are within their bounds" --cases 60
expect 2 "does not offer 'ema'" --op ema
compile fault "$root/examples/plugin/router.c" -DPLUGIN_FAULT
expect 1 "FAIL router-forward experts: .*worst in case" --op router-forward --first-failure
expect 0 "all 1 operations are within their bounds" --op loss-free
# Outputs left out are not judged, the others are, against bounds carried through from the inputs.
compile without "$root/examples/plugin/router.c" '-DPLUGIN_WITHOUT="loads logsumexp"'
expect 0 "loads  *-  *-  not given" --op router-forward --cases 60
expect 0 "experts  *60  *[0-9]*  exact" --op router-forward --cases 60
compile without-fault "$root/examples/plugin/router.c" -DPLUGIN_FAULT '-DPLUGIN_WITHOUT="loads"'
expect 1 "FAIL router-forward experts: .*worst in case" --op router-forward --first-failure

number=0
while IFS='|' read -r status text; do
  compile "misuse-$number" "$root/tests/verify/plugin_misuse.c" -DMISUSE=$number
  expect "$status" "$text" --cases 30
  number=$((number + 1))
done <<LIST
0|misuse, turned bits
1|wrote beyond the ends of the output 'bias'
1|wrote beyond the ends of the output 'bias'
1|changed the input 'bias'
1|another type is needed for the output bias
1|no parameter of that kind: eta
1|returned 7: not today
2|a plugin of version 2; this phibal takes 1
2|there is no operation 'loss-fre'
2|loss-free has no output 'biases' to be left out
2|3 of allocate, release, upload and download
1|its download fails
1|its allocate refuses
1|FAIL loss-free bias
2|router-forward leaves out every output
1|it ended its process, with exit status 0, while it computed the case
LIST

so=$work/nothing.so
expect 2 "cannot load the plugin"
echo 'int nothing;' >"$work/empty.c"
compile empty "$work/empty.c"
expect 2 "exports no phibal_plugin_get"

# Plugins that try to be believed. Each is named for what it did, costs `ema` alone, and no verdict, line,
# certificate or report of phibal's comes from it.
if [ "$(uname -m)" = x86_64 ]; then
  number=0
  while IFS='|' read -r status text; do
    compile "hostile-$number" "$root/tests/verify/plugin_hostile.c" -Wno-unused -DHOSTILE=$number
    rm -f "$work/certificate" "$work/junit"
    began=$(date +%s)
    expect "$status" "$text" --op ema --op loss-free --cases 30 --time-limit 2s \
      --certificate "$work/certificate" --junit "$work/junit"
    took=$(($(date +%s) - began))
    wrong=
    [ $took -le 20 ] || wrong="$took seconds"
    ! grep -q "^all .* operations are within" "$work/log" || [ "$status" = 0 ] || wrong="a claim of the plugin's"
    [ "$status" = 2 ] || grep -q '^loss-free  *bias  *30 .* ok$' "$work/log" || wrong="loss-free is not ok"
    ! grep -q "$(printf '\033')" "$work/log" || wrong="control characters"
    case $status in
    2) [ ! -e "$work/certificate" ] && [ ! -e "$work/junit" ] || wrong="files of a plugin that is not usable" ;;
    1) grep -q '"passed": false' "$work/certificate" && grep -q '<failure' "$work/junit" || wrong="files" ;;
    0) grep -q '"passed": true' "$work/certificate" || wrong="certificate" ;;
    esac
    ! pgrep -f "plugin-worker $so" >/dev/null || wrong="processes are left"
    [ -z "$wrong" ] || { echo "not ok: hostile-$number: $wrong"; failed=$((failed + 1)); }
    number=$((number + 1))
  done <<LIST
2|it ended its process, with exit status 0, while it was loaded
1|hostile?\[2J: it ended its process, with exit status 0, while it computed the case
1|it ended its process, with exit status 0, while it computed the case
1|1 of 2 operations exceeded a bound
1|its process died of signal 11 (Segmentation fault) while it computed the case
1|no answer within 2 s while it computed the case; --time-limit sets it
2|no answer within 2 s while it was loaded
1|it returned with the floating-point environment changed: flush-to-zero
1|it returned with the floating-point environment changed: rounding upward
2|loading it sets flush-to-zero for the whole process
1|it ended its process, with exit status 0, while it computed the case
1|it wrote beyond the ends of
0|all 2 operations are within their bounds
1|it wrote to phibal's pipe
1|it closed phibal's pipe
0|plugin: \[further output is omitted\]
1|its process died of signal 14
LIST
fi

# A GPU is not needed to compile for one.
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  if "$nvcc" -Xcompiler -fPIC -shared -I"$root/spec/include" "$root/examples/plugin/loss_free.cu" \
    -o "$work/loss_free.so" >"$work/log" 2>&1; then
    echo "ok: loss_free.cu compiles"
    if [ -e /dev/nvidia0 ]; then
      so=$work/loss_free.so
      expect 0 "all 1 operations are within their bounds" --cases 240
    else
      echo "skipped: loss_free.cu is not run: no GPU"
    fi
  else
    echo "not ok: loss_free.cu"
    head -n 5 "$work/log"
    failed=$((failed + 1))
  fi
else
  echo "skipped: loss_free.cu: no nvcc"
fi
[ $failed -eq 0 ]

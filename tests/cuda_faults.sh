#!/bin/sh
# Faults planted in the CUDA kernels, one at a time: `phibal verify --backend host-cuda` must notice.
#   usage: cuda_faults.sh SOURCE_ROOT WORK_DIR PHIBAL OBJECTS_OF_THE_HOST_LIBRARY
# with the C++ compiler in CXX. An edit that changes nothing fails: the list has fallen behind the code.
set -u
root=$1 work=$2 phibal=$3 objects=$4
rm -rf "$work"
mkdir -p "$work"
failed=0

not_ok() { echo "not ok: $1"; failed=$((failed + 1)); }

while IFS='|' read -r name file source operation message edit; do
  rm -rf "$work/kernels"
  cp -r "$root/kernels" "$work/"
  sed "$edit" "$root/kernels/cuda/$file" >"$work/kernels/cuda/$file"
  if cmp -s "$root/kernels/cuda/$file" "$work/kernels/cuda/$file"; then
    not_ok "$name: the edit changes nothing in $file"
    continue
  fi
  # shellcheck disable=SC2046 # one word an object
  ${CXX:-c++} -std=c++17 -x c++ -O0 -fPIC -ffp-contract=off -D_GNU_SOURCE -I"$root/spec/include" \
    -I"$root/tests/cuda_on_host" -c "$work/kernels/cuda/$source.cu" -o "$work/$source.o" 2>"$work/log" &&
    ${CXX:-c++} -shared -o "$work/faulty.so" "$work/$source.o" \
      $(find "$objects" -name '*.o' ! -name "*generated_$source.cpp.o") -lboost_context 2>"$work/log"
  if [ $? -ne 0 ]; then
    not_ok "$name: does not compile"
    tail -n 3 "$work/log"
    continue
  fi
  PHIBAL_CUDA_LIBRARY=$work/faulty.so "$phibal" verify --backend host-cuda --op "$operation" \
    --cases 60 >"$work/log" 2>&1
  if [ $? -eq 1 ] && grep -q -- "$message" "$work/log"; then
    echo "noticed: $name: $(sed -n 's/.*FAIL:* *//p' "$work/log" | head -n 1 | cut -c1-150)"
  else
    not_ok "$name: wanted '$message'"
    tail -n 3 "$work/log"
  fi
done <<'LIST'
counter moved before all have read it|permutation.cu|permutation|permutation|race|/all have read the counter/d
counters of warps overlap|permutation.cu|permutation|permutation|shared memory|s/counters + warp \* E, begin = counters + PERMUTATION_WARPS \* E/counters + warp * E, begin = counters + (PERMUTATION_WARPS - 1) * E/
shared memory one expert short|permutation.cu|permutation|permutation|beyond shared memory|s/sizeof(int32_t) \* (size_t)(PERMUTATION_WARPS \* experts_count)/sizeof(int32_t) * (size_t)(PERMUTATION_WARPS * experts_count - 1)/
last slot of a stretch|permutation.cu|permutation|permutation|element .* of 'row'|s/if (slot < end) a.row\[slot\] = place;/if (slot < end - 1) a.row[slot] = place;/
tree without its barrier|block.h|balance|price|race|s/^    n = s;$/    n = s;\n#define __syncthreads()\n/;s/^  core_dd sum = a\[0\];$/#undef __syncthreads\n  core_dd sum = a[0];/
slots in another order|combine.cu|combine|combine|other bits|s/for (int32_t s = 0; s < a.active; s++) {/for (int32_t s = a.active; s-- > 0;) {/
product rounded before it is added|vector.h|combine|combine|other bits|s/return __builtin_fmaf(a, b, c);/return a * b + c;/
limbs of the last block only|z_loss.cu|z_loss|z-loss|z-loss|s/if (block\[j\] != 0) atomicAdd(&sums->limb\[j\], (device_sum)block\[j\]);/sums->limb[j] = block[j];/
LIST
[ $failed -eq 0 ]

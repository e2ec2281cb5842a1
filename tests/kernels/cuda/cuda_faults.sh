#!/bin/sh
# Faults planted in the CUDA kernels, one at a time: `phibal verify --backend host-cuda` must notice, or
# where the operation reads SUITE/NAME, that unit test of the kernels. A file of moe/device is C, and its test that of
# training on a device, which a kernel's fault may have too: its suites are device and device_balance. cuda_context is
# context.cu and launch() as nvcc compiles them.
#   usage: cuda_faults.sh SOURCE_ROOT WORK_DIR PHIBAL OBJECTS_OF_THE_HOST_LIBRARY OBJECTS_OF_THE_TEST TEST_OF_A_DEVICE
#     OBJECTS_OF_CUBLAS_TEST
# with the compilers in CC and CXX, and in TEST_LINK and DEVICE_LINK what makes the tests of their objects. The file with the fault is compiled
# to be watched for races in global memory (kernels/cuda/host/races.h).
# An edit that changes nothing fails: the list has fallen behind the code.
set -u
root=$1 work=$2 phibal=$3 objects=$4 test_objects=$5 device_objects=$6 cublas_objects=$7
rm -rf "$work"
mkdir -p "$work"
cp -r "$root/kernels" "$root/moe" "$work/"
planted=
failed=0

not_ok() { echo "not ok: $1"; failed=$((failed + 1)); }

while IFS='|' read -r name file source operation message edit; do
  [ -z "$planted" ] || cp "$root/$planted" "$work/$planted"
  case $file in moe/*) path=$file ;; *) path=kernels/cuda/$file ;; esac
  planted=$path
  case $operation in products_cublas/*) of_test=$cublas_objects ;; *) of_test=$test_objects ;; esac
  sed "$edit" "$root/$path" >"$work/$path"
  if cmp -s "$root/$path" "$work/$path"; then
    not_ok "$name: the edit changes nothing in $file"
    continue
  fi
  case $path:$operation in
  *:cuda_context/*)
    # shellcheck disable=SC2086 # words of a command
    ${CXX:-c++} -std=c++17 -x c++ -O0 -D_GNU_SOURCE -D__CUDACC__ -I"$root/spec/include" \
      -I"$root/kernels/cuda/host/runtime" -iquote "$work" -iquote "$work/kernels/cuda" -iquote "$root" \
      "$work/kernels/cuda/context.cu" "$root/tests/kernels/cuda/test_cuda_context.cpp" -x none -o "$work/faulty" $TEST_LINK 2>"$work/log"
    ;;
  *.c:*)
    # shellcheck disable=SC2046 # one word an object
    ${CC:-cc} -std=c17 -O0 -D_GNU_SOURCE -I"$root/spec/include" -iquote "$work" -iquote "$root" \
      -iquote "$(dirname "$root/$path")" -c "$work/$path" -o "$work/device.o" 2>"$work/log" &&
      ${CC:-cc} -o "$work/faulty" "$work/device.o" $(find "$device_objects" -name '*.o') $DEVICE_LINK \
        $(pkg-config --libs ompi-c 2>/dev/null) 2>"$work/log"
    ;;
  *)
  # shellcheck disable=SC2046 # one word an object
  ${CXX:-c++} -std=c++17 -x c++ -O0 -fPIC -ffp-contract=off -fsanitize=thread -fno-threadsafe-statics -D_GNU_SOURCE -I"$root/spec/include" \
    -I"$root/kernels/cuda/host" -I"$root/kernels/cuda/host/cublas" -iquote "$work" -iquote "$root" -c "$work/kernels/cuda/$source.cu" -o "$work/$source.o" 2>"$work/log" &&
    case $operation in
    device*/*) ${CXX:-c++} -shared -o "$work/faulty.so" "$work/$source.o" \
      $(find "$objects" -name '*.o' ! -name "*generated_$source.cpp.o") -lboost_context ;;
    */*) ${CXX:-c++} -o "$work/faulty" "$work/$source.o" \
      $(find "$of_test" -name '*.o' ! -name "*generated_$source.cpp.o") $TEST_LINK ;;
    *) ${CXX:-c++} -shared -o "$work/faulty.so" "$work/$source.o" \
      $(find "$objects" -name '*.o' ! -name "*generated_$source.cpp.o") -lboost_context ;;
    esac 2>"$work/log"
  ;;
  esac
  if [ $? -ne 0 ]; then
    not_ok "$name: does not compile"
    tail -n 3 "$work/log"
    continue
  fi
  case $path:$operation in
  *.cu:device*/* | *.h:device*/*)
    PHIBAL_CUDA_LIBRARY=$work/faulty.so "${device_objects%.p}" -j1 --fail-fast --filter "$operation" ;;
  *:*/*) ASAN_OPTIONS=detect_leaks=0 "$work/faulty" -j1 --fail-fast --filter "$operation" ;;
  *) PHIBAL_CUDA_LIBRARY=$work/faulty.so "$phibal" verify --backend host-cuda --op "$operation" --cases 60 --first-failure ;;
  esac >"$work/log" 2>&1
  if [ $? -eq 1 ] && grep -q -- "$message" "$work/log"; then
    echo "noticed: $name: $(sed -n "s/.*FAIL:* *//p; /$message/p" "$work/log" | head -n 1 | cut -c1-150)"
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
required biases read before they are written|quantile.cu|quantile|quantile|nothing wrote|/tile\[thread \/ LANES/,/const int of = /s/__syncthreads();//
equal scores of one rank|row.h|quantile|quantile|FAIL|s/\*column = mine == winner ?/*column = best == most ?/
counts read before all have counted|order_statistic.h|quantile|quantile|nothing wrote|/count\[thread\] = all;/,/return nan/s/__syncthreads();//
warps added before all have counted|order_statistic.h|quantile|quantile|nothing wrote|/part\[thread \/ WARP/,/if (thread < ORDER/s/__syncthreads();//
fewer rounds|quantile.cu|quantile|quantile|other bits|s/round < ORDER_ROUNDS; round/round < ORDER_ROUNDS - 1; round/
numbers below a bound, not up to it|order_statistic.h|quantile|quantile|other bits|s/x <= bound\[j\]/x < bound[j]/
parts that leave the last keys out|order_statistic.h|quantile|quantile|other bits|s/(int64_t)r.high - r.low + ORDER_PARTS)/(int64_t)r.high - r.low)/
the part behind that of the place|order_statistic.h|quantile|quantile|too few|s/count\[j\] >= place/count[j] > place/
bounds of the round before|order_statistic.h|balance_trainer|cuda_trainer/quantiles_over*|FAIL|s/low = bound + 1;/low = bound;/
required of biased scores|quantile.cu|quantile|quantile|other bits|s/cut - ((double)score\[c\] + 0.0)/cut - ((double)score[c] + (a.bias \&\& e < experts ? (double)a.bias[e] : 0.0))/
cut-off of the last that is selected|quantile.cu|quantile|quantile|other bits|s/s <= rank; s++/s < rank; s++/
cut-off without the sign of its zero|quantile.cu|quantile|cuda_trainer/required*|E = |s/(double)score_of(a.router.gate, x\[last\]) + (a.bias/0.0 + (double)score_of(a.router.gate, x[last]) + (a.bias/
zeros of either sign from the last|row.h|quantile|cuda_trainer/required*|E = |s/if (key\[c\] > best) {/if (key[c] >= best) {/
padding's biases as any token's|quantile.cu|quantile|cuda_trainer/required*|a mask|s/= live ? difference : (float)CORE_INFINITY;/= difference;/
tokens beyond the last written|quantile.cu|quantile|cuda_trainer/required*|E = |s/if (e < experts \&\& first + of < a.tokens)/if (e < experts \&\& first + of < a.stride)/
equal gates of the round before|capacity.cu|capacity|capacity|other bits|s/^      order_count(n, gate, keys, count);$/      if (round < ORDER_ROUNDS) order_count(n, gate, keys, count);/
gate of the rank above|capacity.cu|capacity|capacity|other bits|s/n - a.limit + 1, count/n - a.limit + 2, count/
refusal overwritten before it is read|capacity.cu|capacity|capacity|race|/const bool stop/,/if (stop)/s/__syncthreads();//
warps' parts overwritten before they are read|capacity.cu|capacity|capacity|race|/int before = __popc/,/return before/s/__syncthreads();//
places begin again in each chunk|capacity.cu|capacity|capacity|other bits|s/place += all;/place = all;/
fewer rounds of the gates|capacity.cu|capacity|capacity|other bits|s/round <= ORDER_ROUNDS; round/round < ORDER_ROUNDS; round/
slots of a token confused|capacity.cu|capacity|capacity|other bits|s/route % a.active == s/route % a.active == a.active - 1 - s/
limbs of the last block only|z_loss.cu|z_loss|z-loss|z-loss|s/if (block\[j\] != 0) atomicAdd(&sums->limb\[j\], (device_sum)block\[j\]);/sums->limb[j] = block[j];/
product of a norm in another order|norm.cu|norm|cuda_trainer/norm*|RMSNorm, n|s/x.x\[l\] \* r \* w.x\[l\]/x.x[l] * (r * w.x[l])/
weight's gradient in binary32|norm.cu|norm|cuda_trainer/norm*|weight's gradient|s/sum += (double)(dy \* (x \* \(.*\)));/sum = (double)(float)(sum + (double)(dy * (x * \1)));/
norm's gradient before dy has been read|norm.cu|norm|cuda_trainer/norm*|weight's gradient|/status = launch(name, norm_shares_kernel/d
turned the other way|rope.cu|rope|cuda_trainer/rope*|bfloat16 0|s/c.x\[l\] + before \* turn/c.x[l] - before * turn/
sums read before they are written|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|nothing wrote|/has\[threadIdx.x . WARP\] = of_warp;/,/x = sum/s/__syncthreads();//
largest read before it is written|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|nothing wrote|/largest\[threadIdx.x . WARP\] = x;/,/x = largest/s/__syncthreads();//
next row's copies in another thread's places|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|race|s/if (more) r.copy(i, next);/if (more) r.copy(i ^ 1, next);/
next row not copied|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|loss|s/if (more) r.copy(i, next);//
last row's pieces in shared memory|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_of_long*|beyond shared memory|s/(size_t)a.held \* 16}/(size_t)a.held * 16 - 16}/
pieces behind the held ones left out|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_of_long*|loss|s/r.each_left(add);//
exponentials beyond binary64|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|row|s/largest - reference <= 500.0f/largest - reference <= 5000.0f/
one sum too few|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|beyond shared memory|s/SHARED_ARRAY(double, part, SUM_THREADS)/SHARED_ARRAY(double, part, SUM_THREADS - 1)/
sum of half of the threads|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|loss|s/x += __shfl_xor_sync(ALL_LANES, x, s);/if (s < 16) x += __shfl_xor_sync(ALL_LANES, x, s);/
last of the largest|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|correct, not|s/i \* N + l < target/i * N + l > target/
cap without its slope|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|row|s/e.gradient(value, 1.0 - t \* t)/e.gradient(value, 1.0)/
stretch that ends at a place|optimizer.cu|optimizer|cuda_trainer/optimizer*|other weights|s/SELDOM(i + l >= __ldg/SELDOM(i + l > __ldg/
tail of the norm|optimizer.cu|optimizer|cuda_trainer/optimizer*|norm|s/for (; i < end; i++) {/for (; i < end - 1; i++) {/
update in spite of a number that is none|optimizer.cu|optimizer|cuda_trainer/optimizer*|same(w2, before)|/if (!(core_abs(norm) < CORE_INFINITY)) return;/d
counts read before they are written|products.cu|products|cuda_products/forward*|AddressSanitizer|/part\[warp\] = __popc/,/if (!filled)/s/__syncthreads();//
pointers of experts without rows|products.cu|products|cuda_products/forward*|E = |s/const bool filled = .*/const bool filled = e < a.experts;/
weights not transposed|products.cu|products|expert-ffn|FAIL|s/return {true, false, p.out, rows, p.in, p.in, p.in, p.out};/return {false, false, p.out, rows, p.in, p.out, p.in, p.out};/
gradient overwritten, not added|products.cu|products|expert-ffn|FAIL|s/p.add ? 1.0f : 0.0f/0.0f/
gradient of the gate's weights alone|ffn.cu|ffn|expert-ffn|FAIL|s/b, w_up, x_gradient, true}/b, w_up, x_gradient, false}/
scores of the future|attention.cu|attention|cuda_attention/attention*|attention, element|s/row % a.sequence + 1;/a.sequence;/
documents not apart|attention.cu|attention|cuda_attention/documents*|attention, element|s/return a.starts ? a.starts.*/return 0;/
documents begin one position late|attention.cu|attention|cuda_attention/documents*|attention, element|s/\(return a.starts ? a.starts\[row % a.sequence\]\) :/\1 + (a.starts[row % a.sequence] < row % a.sequence) :/
documents begin one position early|attention.cu|attention|cuda_attention/documents*|attention, element|s/\(return a.starts ? a.starts\[row % a.sequence\]\) :/\1 - (a.starts[row % a.sequence] > 0) :/
documents of the first sequence for all|attention.cu|attention|cuda_attention/documents*|attention, element|s/at.shape->starts + sequence \* at.length/at.shape->starts/
documents apart in the sums alone|attention.cu|attention|cuda_attention/documents*|attention, element|s/j >= start \&\& j < n$/j < n/
scores' gradient without its mean|attention.cu|attention|cuda_attention/attention*|attention backward|s/((double)g\[j\] - along)/(double)g[j]/
last head of a group alone|attention.cu|attention|cuda_attention/attention*|attention backward|s/g > 0 ? 1.0f : 0.0f/0.0f/
narrow numbers over what is still to be read|attention.cu|attention|cuda_attention/attention*|race in global memory|s/__syncwarp();//
narrow rows end to end|attention.cu|attention|cuda_attention/attention*|bfloat16 1|s/(int64_t)sizeof(float) \/ at.size;/1;/
logsumexp without its scale|attention.cu|attention|cuda_attention/attention*|logsumexp|s/(double)largest \* a.scale + core_log64/(double)largest + core_log64/
embedding of a token's every row|embedding.cu|embedding|cuda_attention/embedding*|race in global memory|s/if (__any_sync(ALL_LANES, earlier)) return;//
embedding's list read before it is there|embedding.cu|embedding|cuda_attention/embedding*|race|/the list is there/d
embedding's rows over those that are still read|embedding.cu|embedding|cuda_attention/embedding*|race|/all have read the rows/d
norm's next numbers over those still added|optimizer.cu|optimizer|cuda_trainer/optimizer*|race|s/half = OPTIMIZER_THREADS - half;/half = 0;/
embedding of the last row alone|embedding.cu|embedding|cuda_attention/embedding*|memcmp(dw|s/more = sum->x\[l\] + a.scale/more = a.scale/
bfloat16 cut off instead of rounded|vector.h|embedding|cuda_trainer/rows*|numbers|s/return (uint16_t)((u + 0x7fffu + (u >> 16 \& 1u)) >> 16);/return (uint16_t)(u >> 16);/
rows of bfloat16 taken for binary32|combine.cu|combine|cuda_kernels/rows_there*|bfloat16 1|s/const S \*in = (const S \*)a.in + n \* a.width;/const S *in = (const S *)((const float *)a.in + n * a.width);/
rounded before it is added to the stream|products.cu|products|cuda_products/dense_products_of*|add 1|s/return {p.type, p.to, p.add ? 1.0f : 0.0f};/return {p.type, p.form == PRODUCT_FORWARD ? p.type : p.to, p.add ? 1.0f : 0.0f};/
gradients without the gate|activation.cu|activation|cuda_recompute/*|a's gradient, row|s/const real gradient = (real)gate \* (real)\*h_gradient/const real gradient = (real)*h_gradient/
gate of the token's first route|activation.cu|activation|cuda_recompute/*|row|s/__ldg(r.routes.gates + slot)/__ldg(r.routes.gates + slot \/ r.routes.active * r.routes.active)/
h without the gate|activation.cu|activation|cuda_recompute/*|gate h, row|s/(float)((real)gate \* h)/(float)h/
last number of a row left out|activation.cu|activation|cuda_recompute/*|row|s/left = r.hidden - j;/left = r.hidden - j - 1;/
gate's gradient times the gate|activation.cu|activation|cuda_recompute/kernel*|gate's gradient, row|s/= CORE_FMA(gradient, made, sum/= CORE_FMA((double)gate * gradient, made, sum/
bfloat16 rows in binary64|activation.cu|activation|cuda_recompute/*|width|/template <> struct arithmetic<bfloat16>/,/^};/{s/typedef float real/typedef double real/;s/core_activation32 of/core_activation of/;s/return activation32<SILU>(x)/return SILU ? core_silu64((double)x) : core_gelu64((double)x)/}
routes without rows left as they are|activation.cu|activation|cuda_recompute/*|without a row|s/if (lane == 0 \&\& slot < slots) r/if (lane == 0 \&\& n >= 0) r/
gates' sums in binary32|activation.cu|activation|cuda_recompute/*|of width|s/= CORE_FMA(gradient, made, sum/= (double)(float)CORE_FMA(gradient, made, sum/
rows' gradients over rows still to be read|ffn.cu|ffn|cuda_recompute/without*|bfloat16 0|/static phibal_status ffn_gradients/,/^}/{/a, w_gate, x_gradient, false/d;s/^ *{PRODUCT_WEIGHT_GRADIENT, type, PHIBAL_ROWS_F32, d, f, y_gradient, h/{PRODUCT_INPUT_GRADIENT, type, type, f, d, a, w_gate, x_gradient, false},\n&/}
no gradients of gates without rows|ffn.cu|ffn|cuda_recompute/*|a gate without|s/if (status == PHIBAL_OK) \/\* without rows too/if (status == PHIBAL_OK \&\& rows > 0) \/* without rows too/
chunks of one warp in another's places|products.cu|products|cuda_products/chunks*|FAIL|s/, chunk += chunks_of\[w\];/;/
what chunks leave from the expert's first row|products.cu|products|cuda_products/chunks*|other bits|s/chunk++, first += a.chunk)/chunk++)/
each by itself by the FLOPs of all products|products.cu|products|cuda_products/separate*|separate from|s/(double)count \* (double)library_separate_flops/(double)library_separate_flops/
binary32 each by itself|products.cu|products|cuda_products/separate*|binary32 is grouped|s/return p.type == PHIBAL_ROWS_BF16 \&\& 2.0/return 2.0/
grouped products of a type that cuBLAS does not group|products.cu|products|cuda_products/grouped*|library_groups|s/return types.in == types.out \&\& (/return (/
grouped bfloat16 that is not at 16 bytes|products.cu|products|cuda_products/every*|16 bytes|s/types.in == PHIBAL_ROWS_F32 || places % 16 == 0/true/
vectors of rows that are not aligned|combine.cu|combine|combine|misaligned vector|s/const bool four = a.width % 4 == 0 \&\&/const bool four = a.width >= 4 \&\&/
counts through the read-only cache|permutation.cu|permutation|permutation|what the kernel writes|s/? start\[first + i \* WARP\] : 0/? __ldg(start + first + i * WARP) : 0/
sums read that no fence has made known|load_levels.h|router_forward|router-forward|race in global memory|/sum_add(sums.failed, other\[1\]);/,/other\[LAST\] = atomicAdd/s/__threadfence();//
sums read without a fence before|load_levels.h|router_forward|router-forward|race in global memory|/if (other\[LAST\] == 0) return;/,/bool bad/s/__threadfence();//
sums added to without an atomic operation|load_levels.h|router_forward|router-forward|race in global memory|s/if (x != 0) atomicAdd(to, x);/if (x != 0) *to += x;/
blocks counted without an atomic operation|load_levels.h|router_forward|router-forward|race in global memory|s/atomicAdd(sums.finished, (device_sum)1) ==/(*sums.finished)++ ==/
block of the greatest number taken for the last|load_levels.h|router_forward|router-forward|race in global memory|s/other\[LAST\] = atomicAdd(sums.finished, (device_sum)1) == gridDim.x - 1/other[LAST] = blockIdx.x == gridDim.x - 1/
sums cleared before all have read them|load_levels.h|router_forward|router-forward|race in global memory|/everyone has read/d
a row's routes written by two blocks|router_forward.cu|router_forward|router-forward|race in global memory|s/stride = (int32_t)gridDim.x \* warps \* ROWS/stride = (int32_t)warps * ROWS/
near ties by the key without its last bits|router_forward.cu|router_forward|cuda_kernels/routes_of_logits*|other routes|s/(bits \& LAST) != 0/false/
the last route not compared with the next logit|router_forward.cu|router_forward|cuda_kernels/routes_of_logits*|other routes|s/s < NEEDED - 1 \&\& s < active/s < NEEDED - 1 \&\& s < active - 1/
eight routes not compared with the ninth logit|router_forward.cu|router_forward|cuda_kernels/routes_of_logits*|other routes|s/ || (NEEDED <= ROUTES \&\& active == FEW)//
the next logit not among the sorted keys|router_forward.cu|router_forward|cuda_kernels/routes_of_logits*|other routes|s/ROUTES < FEW ? ROUTES + 1 : FEW/ROUTES < FEW ? ROUTES : FEW/
the weight of another expert for a gate|router_forward.cu|router_forward|router-forward|other bits|s/column \& half ?/(column \& half) > 1 ?/
shares with weights beside the row's largest|row.h|router_forward|cuda_kernels/gates_of*|other gates|s/chosen, of_chosen, gate/chosen, largest, gate/
keys of another lane left out|router_forward.cu|router_forward|router-forward|other bits|s/mask < LANES; mask \*= 2) keys_merge/mask < LANES \/ 2; mask *= 2) keys_merge/
routes beyond two columns|router_forward.cu|router_forward|cuda_kernels/bfloat16*|FAIL|s/active > LANES \* FEWER/active > LANES * COLUMNS/
pieces of logits that are not aligned|row.h|router_forward|cuda_kernels/bfloat16*|misaligned vector|s/(experts, logits);/(experts, nullptr);/
pieces of probabilities that are not aligned|row.h|router_forward|cuda_kernels/bfloat16*|misaligned vector|s/(experts, to))/(experts, nullptr))/
eight bfloat16 logits read as binary32|row.h|router_backward|cuda_kernels/bfloat16*|FAIL|s/if (aligned \&\& type == PHIBAL_LOGITS_F32)/if (aligned)/
small probabilities cut at 2^-83|router_forward.cu|router_forward|router-forward|loads|s/levels_add(levels, experts, p);/for (int c = 0; c < COLUMNS; c++) p[c] = p[c] < 0x1p-31 ? 0.0 : p[c];\n  levels_add(levels, experts, p);/
warps that take their turns without a barrier|load_levels.h|router_forward|router-forward|reads what another wrote|s/if (turn > 0) __syncthreads();//
sums of warps read before all have written them|load_levels.h|router_forward|router-forward|which nothing wrote|/other\[2 \* warp + 1\] = failed;/,/device_sum sum = 0;/s/__syncthreads();//
small probabilities added twice|load_levels.h|router_forward|router-forward|loads|s/ - load_units(p\[c\]);/;/
a row's gradient written by two blocks|router_backward.cu|router_backward|router-backward|race in global memory|s/stride = (int64_t)gridDim.x \* BACKWARD_WARPS \* ROWS/stride = (int64_t)BACKWARD_WARPS * ROWS/
squares read that no fence has made known|z_loss.cu|z_loss|cuda_kernels/z_loss*|race in global memory|/if (block\[j\] != 0) atomicAdd/,/last\[0\] = atomicAdd/s/__threadfence();//
squares read without a fence before|z_loss.cu|z_loss|cuda_kernels/z_loss*|race in global memory|/if (last\[0\] == 0/,/uint64_t n = /s/__threadfence();//
squares added to without an atomic operation|z_loss.cu|z_loss|cuda_kernels/z_loss*|race in global memory|s/if (block\[j\] != 0) atomicAdd(&sums->limb\[j\], (device_sum)block\[j\]);/if (block[j] != 0) sums->limb[j] += block[j];/
correct rows counted without an atomic operation|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|race in global memory|s/atomicAdd(a.correct, correct);/*a.correct += correct;/
rows counted without an atomic operation|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|race in global memory|s/atomicAdd(a.counted, counted);/*a.counted += counted;/
rows combined by two blocks|device.h|combine|combine|race in global memory|s/i += (int64_t)gridDim.x \* ((threads)/i += ((threads)/
gradients of rows by two blocks|combine.cu|combine|combine|race in global memory|s/stride = (int64_t)gridDim.x \* OF_BLOCK/stride = OF_BLOCK/
rows of attention by two blocks|device.h|attention|cuda_attention/attention*|race in global memory|s/i += (int64_t)gridDim.x \* ((threads)/i += ((threads)/
activations by two blocks|activation.cu|activation|cuda_recompute/*|race in global memory|s/stride = (int64_t)gridDim.x \* OF_BLOCK/stride = OF_BLOCK/
pieces by two blocks|device.h|embedding|cuda_attention/embedding*|race in global memory|s/i += (int64_t)gridDim.x \* (threads)/i += (threads)/
shares of a norm's gradient by two blocks|norm.cu|norm|cuda_trainer/norm*|race in global memory|s/i < chunks \* across; i += gridDim.x/i < chunks * across; i++/
norm's terms read before they are there|norm.cu|norm|cuda_trainer/norm*|which nothing wrote|/all are there/d
norm's terms over those still to be read|norm.cu|norm|cuda_trainer/norm*|race|/all have read them/d
norm over numbers that are still to be read|norm.cu|norm|cuda_trainer/norm*|race in global memory|/all have read x,/d
norm's gradient over numbers that are still to be read|norm.cu|norm|cuda_trainer/norm*|race in global memory|/all have read dy,/d
sums of factors added to without an atomic operation|gate_factor.cu|gate_factor|gate-factor|race in global memory|s/atomicAdd(a.sum + (int64_t)e \* CORE_PRODUCT_SUM + j - d, (device_sum)digit\[d\]);/a.sum[(int64_t)e * CORE_PRODUCT_SUM + j - d] += (device_sum)digit[d];/
sums of factors that are not cleared|gate_factor.cu|gate_factor|gate-factor|FAIL|s/a.sum\[e \* CORE_PRODUCT_SUM + j\] = 0;//
tokens of identities by two blocks|zero_experts.cu|zero_experts|zero-experts|race in global memory|s/stride = (int64_t)gridDim.x \* of_block;/stride = of_block;/
half a warp's products not added up|zero_experts.cu|zero_experts|zero-experts|FAIL|s/for (int s = ZERO_LANES \/ 2; s >= 1; s \/= 2)/for (int s = ZERO_LANES \/ 4; s >= 1; s \/= 2)/
tokens of quantiles by two blocks|quantile.cu|quantile|quantile|race in global memory|s/first += (int64_t)gridDim.x \* TOKENS/first += TOKENS/
experts of quantiles by two blocks|quantile.cu|quantile|quantile|race in global memory|s/e < experts; e += (int)gridDim.x/e < experts; e++/
embedding's gradient by two blocks|embedding.cu|embedding|cuda_attention/embedding*|race in global memory|s/block_of(t\[s\], gridDim.x) != blockIdx.x/false/
weights updated by two blocks|optimizer.cu|optimizer|cuda_trainer/optimizer*|race in global memory|s/begin += (int64_t)gridDim.x \* UPDATE_CHUNK/begin += UPDATE_CHUNK/
first of a failure without an atomic operation|device.h|z_loss|cuda_kernels/z_loss*|race in global memory|s/^  if (failure)$/  if (failure \&\& *failure > 0)/
norm of rows that are not aligned|norm.cu|norm|cuda_trainer/norm*|misaligned vector|s/ x_stride % 4 == 0 \&\& y_stride % 4 == 0 \&\&//
heads that are not aligned|rope.cu|rope|cuda_trainer/rope*|misaligned vector|s/ a.head_stride % 4 == 0 \&\&/ true \&\&/
rows that are no whole pieces|cross_entropy.cu|cross_entropy|cuda_trainer/cross_entropy_is*|misaligned vector|s/bytes % 16 == 0/bytes >= 16/
embeddings that are not aligned|embedding.cu|embedding|cuda_attention/embedding*|misaligned vector|s/const bool four = width % 4 == 0 \&\&/const bool four = width >= 4 \&\&/
rows beyond the count gathered|combine.cu|combine|cuda_kernels/counted*|beyond the count|s/a.count ? __ldg(a.count) : a.rows/a.rows/
rows beyond the count activated|activation.cu|activation|cuda_kernels/counted*|beyond the count|s/s.count ? __ldg(s.count) \* s.hidden : s.n/s.n/
sizes of the rows for those of the weights|products.cu|products|cuda_products/ragged*|ragged|s/return {average, groups.experts, in, rows, out, in, out, in};/return {average, groups.experts, in, rows, in, in, out, in};/
blocks freed before they are copied|moe/device/device_memory.c|device|device/every*|FAIL|/RUN(check_call(d, l->wait(&d->call)));/d
frequencies of the call for those of the step|moe/device/device_balance.c|device|device_balance/switch*|FAIL|s/of_step.count = d->step_loads.count/of_step.count = d->call_loads.count/
means of loads for frequencies|moe/device/device_balance.c|device|device_balance/phi|FAIL|s/balance_tracks_frequency(&m->balance)/false/
prices at what is not corrected|moe/device/device_balance.c|device|device_balance/phi|FAIL|s/b.m = d->state;/b.m = next;/;s/, d->state, &d->call));/, d->mean, \&d->call));/
correction of one step earlier|moe/device/device.c|device|device_balance/phi|FAIL|s/m->steps = ++d->host->steps/m->steps = d->host->steps++/
a bias of prices that are not corrected|moe/device/device_balance.c|device|device_balance/phi_bias|FAIL|s/b.m = d->state;/b.m = next;/
required biases of the last call alone|moe/device/device.c|device|device_balance/quantile|FAIL|s/d->quantiles.tokens += /d->quantiles.tokens = /
required biases of the step before|moe/device/device.c|device|device_balance/quantile|FAIL|s/d->quantiles.tokens = 0;//
place of the tokens and the padding|moe/device/device_balance.c|device|device_balance/quantile|FAIL|s/m->config.active, m->global.tokens);/m->config.active, d->quantiles.tokens);/
quantiles of logits where probabilities select|moe/device/device_ffn.c|device|device_balance/quantile|FAIL|s/probabilities = balance_probabilities(m);/probabilities = NULL;/
ranges of the biases before|moe/device/device_balance.c|device|device_balance/quantile|FAIL|s/low = known ? m->bias/low = known ? d->mean/
counts of a round not over all tokens|balance_trainer.cu|balance_trainer|cuda_trainer/quantiles_over*|FAIL|s/if (thread < ORDER_BOUNDS) of_row/if (thread < ORDER_BOUNDS \&\& round < 7) of_row/
bins of the layer before|balance_trainer.cu|balance_trainer|cuda_trainer/quantiles_of*|FAIL|s/row\[i\] = 0;/row[i] += 0;/
stretch of bins that begins late|balance_trainer.cu|balance_trainer|cuda_trainer/quantiles_of*|FAIL|s/before += i < thread ? n : 0;/before += i <= thread ? n : 0;/
factors' gradient of the last call alone|moe/device/device_ffn.c|device|device_balance/gates*|FAIL|s/RUN(l->add(c->experts, PHIBAL_ROWS_F32, d->factor_gradient, g->factor, &d->call));/RUN(l->copy(g->factor, d->factor_gradient, sizeof(float) * (size_t)c->experts, \&d->call));/
gates without factors in the backward pass|moe/device/device_ffn.c|device|device_balance/gates*|FAIL|s/on->row, experts_gates(d, layer),$/on->row, on->gates,/
floor's gradient left out|moe/device/device_ffn.c|device|device_balance/gates*|FAIL|s/if (c->gate_floor > 0)/if (c->gate_floor > 2)/
identities counted twice|moe/device/device_ffn.c|device|device_balance/experts*|FAIL|s/if (c->zero_experts) \/\* x unrounded.*$/for (int i = 0; c->zero_experts \&\& i < 2; i++)/
identities' gradient overwritten|moe/device/device_ffn.c|device|device_balance/experts*|FAIL|s/float \*to = !c->zero_experts ?/float *to = true ?/
capacity of the whole step|moe/device/device_ffn.c|device|device_balance/capacity|FAIL|s/d->seen\[d->calls\], k, E/m->global.tokens, k, E/
capacity of padding too|moe/device/device_ffn.c|device|device_balance/capacity|FAIL|s/d->seen\[d->calls\], k, E/tokens, k, E/
kept routes of the last call|moe/device/device_ffn.c|device|device_balance/capacity|FAIL|s/d->kept + (int64_t)d->calls \* m->moe_layers + moe_layer/d->kept + moe_layer/
sum of gates rounded before they are divided|../core/gate_floor.h|gate_floor|cuda_trainer/gates*|FAIL|s/(double)floor : sum;/(double)floor : (double)rounded;/
first sequence's price for all|moe/device/device_ffn.c|device|device_balance/sequence|FAIL|s/on->price + first \/ rows \* c->experts/on->price/
sequences by their part of the call|moe/device/device.c|device|device_balance/sequence|FAIL|s/((double)tokens \/ (double)m->global.tokens)/d->shares[call]/
sequences of the call before|moe/device/device.c|device|device_balance/sequence|FAIL|/zero_loads(d, m->moe_layers \* d->parts/d
losses of the last call's sequences|moe/device/device_balance.c|device|device_balance/sequence|FAIL|s/d->sequence_losses + (int64_t)d->calls \* m->moe_layers \* d->parts/d->sequence_losses/
losses read before they are there|moe/device/device.c|device|device/every*|FAIL|s/phibal_status status = wait_for(d);/phibal_status status = PHIBAL_OK;/
a call that waits|moe/device/device.c|device|device/a_step_is*|no part of a graph|s/RUN(zero_loads(d, m->moe_layers, &d->call_loads));/&\n  RUN(l->wait(\&d->call));/
tokens copied from where the caller has them|moe/device/device.c|device|device/a_step_is*|not pinned|s/status = l->copy(d->tokens, in->tokens/status = l->copy(d->tokens, tokens/
results copied to memory that is not pinned|moe/device/device_memory.c|device|device/a_step_is*|not pinned|s/d->pinned = d->library.allocate_host(measured.used)/d->pinned = malloc(measured.used)/
one call's inputs for all|moe/device/device.c|device|device/a_step_is*|FAIL|s/in = &d->inputs\[d->calls\]/in = \&d->inputs[0]/
update in spite of a failure|moe/device/device.c|device|device/a_failure*|FAIL|/RUN(l->stop_on_failure(places/d
a failure that does not reach the adapters|moe/device/device.c|device|device/a_failure_with*|FAIL|s/d->failures, d->trained_gradients,/d->failures, m->gradients,/
norm of all weights' gradients|moe/device/device.c|device|device/adapters*|FAIL|s/float \*gradients = d->trained_gradients;/float *gradients = d->model.gradients;/
adapters rounded into the weights' copy|moe/device/device.c|device|device/adapters*|FAIL|s/d->lora ? NULL : d->narrow/d->narrow/
weights' copy not rounded again|moe/device/device_adapters.c|device|device/adapters*|FAIL|/^phibal_status device_adapters_apply/,/^}/s/RUN(l->narrow(/if (0) RUN(l->narrow(/
no scale in A's gradient|moe/device/device_adapters.c|device|device/adapters*|A's gradient|s/PHIBAL_ROWS_F32, scaled_b, gradient,/PHIBAL_ROWS_F32, d->trained + w->b, gradient,/
adapters added to the weights of the last step|moe/device/device_adapters.c|device|device/adapters*|a weight|s/of->base + w->base, PHIBAL_ROWS_F32/d->model.parameters + at, PHIBAL_ROWS_F32/
scale twice in the weights|moe/device/device_adapters.c|device|device/adapters*|a weight|s/b, scaled_a, of->base/scaled_b, scaled_a, of->base/
another matrix's weights|moe/device/device_adapters.c|device|device/adapters*|FAIL|s/of->base + w->base, PHIBAL_ROWS_F32/of->base, PHIBAL_ROWS_F32/
decay of A alone|moe/device/device_memory.c|device|device/adapters*|A and B|s/decays\[t\] = o->tensors\[t\].decay/decays[t] = t % 2 == 0 \&\& o->tensors[t].decay/
weights not made from the adapters at first|moe/device/device_adapters.c|device|device/adapters*|FAIL|s/  RUN(device_adapters_apply(d));//
adapters read before they are there|moe/device/device_adapters.c|device|device/adapters*|FAIL|/^phibal_status device_adapters_fetch/,/^}/s/RUN(d->library.wait(&d->call));//
failures of all layers in one place|moe/device/device.c|device|device/a_failure*|FAIL|/device_failures_in(d, layer);/d
first call's gradients added to the last step's|moe/device/device_ffn.c|device|device/every*|FAIL|s/d->calls > 0/1/
norms' gradients not cleared|moe/device/device.c|device|device/every*|FAIL|s/RUN(zero_gradients(d));//
second call's gradients over the first's|moe/device/device_attention.c|device|device/every*|FAIL|s/d->calls > 0/0/
gradients of experts without rows left as they are|ffn.cu|ffn|cuda_products/ragged*|ragged|s/status = products_clear(name, p, groups, call);/;/
offsets read before they are there|moe/device/device_ffn.c|device|device/every*|FAIL|/static phibal_status fetch_offsets/,/^}/s/RUN(device_result(d));//
weights read before they are there|moe/device/device.c|device|device/every*|FAIL|/^phibal_status device_fetch/,/^}/s/RUN(\(device_result(d)\|l->wait(&d->call)\));//
separate products before their operands|products_cublas.cu|products_cublas|products_cublas/separate*|is not|/error = cudaStreamWaitEvent(l->stream\[s\], l->begun, 0);/d
results of separate products not waited for|products_cublas.cu|products_cublas|products_cublas/separate_products*|does not wait for|s/error = cudaStreamWaitEvent(stream, l->done\[s\], 0);/;/
streams with one workspace|products_cublas.cu|products_cublas|products_cublas/separate*|one workspace at a time|s/(size_t)side \* SIDE_BYTES/(size_t)(side - side) * SIDE_BYTES/
an expert's product of the rounded rows|products_cublas.cu|products_cublas|products_cublas/separate*|FAIL|s/d.sizes(each\[i\]);/d.sizes(found_for);/
rows that another's algorithm does not take|products_cublas.cu|products_cublas|products_cublas/separate*|FAIL|s/status = by(each\[i\]);/;/
algorithms for far more rows|products_cublas.cu|products_cublas|products_cublas/separate*|for another product|s/while (8 \* step < rows)/while (step < rows)/
an algorithm for better aligned matrices|products_cublas.cu|products_cublas|products_cublas/dense|not aligned as|s/p.alignment == alignment &&//
an algorithm for another result|products_cublas.cu|products_cublas|products_cublas/dense|for another product|s/p.types.out == types.out &&//
sizes of transposed matrices|products_cublas.cu|products_cublas|products_cublas/ragged|ragged|s/one.a_transposed ? p.k : p.m,/one.a_transposed ? p.m : p.k,/
gradients always added to|products_cublas.cu|products_cublas|products_cublas/ragged|is not|s/l->scalars + (types.beta != 0.0f ? 1 : 0)/l->scalars + 1/
versions that spoil results|products_cublas.cu|products_cublas|products_cublas/ragged|version 130700|s/version >= 130700 && version < 130801/version >= 130701 \&\& version < 130801/
events that are not destroyed|products_cublas.cu|products_cublas|products_cublas/failures*|are left|/if (l->done\[s\]) cudaEventDestroy/d
failures cleared in another stream|context.cu|context|cuda_context/*|FAIL|/cudaMemsetAsync(failures/,/;/s/(cudaStream_t)call->stream/nullptr/
zeros in another stream|context.cu|context|cuda_context/*|FAIL|/cudaMemsetAsync(p, 0/s/(cudaStream_t)call->stream/nullptr/
a result that is not waited for|context.cu|context|cuda_context/*|FAIL|s/status = cuda_status("CUDA result", cudaStreamSynchronize.*/;/
rows of a copy at the other's steps|context.cu|context|cuda_context/*|FAIL|s/cudaMemcpy2DAsync(to, to_stride, from, from_stride/cudaMemcpy2DAsync(to, from_stride, from, to_stride/
a graph that is not destroyed|context.cu|context|cuda_context/*|FAIL|s/if (graph->graph) cudaGraphDestroy(graph->graph);//
a launch in the default stream|device.h|context|cuda_context/*|FAIL|s/config.stream = (cudaStream_t)call->stream;//
shared memory that is not asked for|device.h|context|cuda_context/*|FAIL|s/if (shape.shared_bytes > 48 \* 1024) \/\*/if (shape.shared_bytes > 480 * 1024) \/*/
blocks beyond those that fit|device.h|context|cuda_context/*|a grid of|s/if (fit > 0 \&\& shape.blocks/if (fit > 1000 \&\& shape.blocks/
result of a combination that is not aligned|combine.cu|combine|cuda_kernels/rows_that*|misaligned vector|s/aligned16(a.in) \&\& aligned16(a.out)/aligned16(a.in)/
gradient of a combination that is not aligned|combine.cu|combine|cuda_kernels/rows_that*|misaligned vector|s/ \&\& aligned16(y_gradient)//
factor of an activation that is not aligned|activation.cu|activation|cuda_kernels/rows_that*|misaligned vector|s/aligned16(s.b) \&\&//
routes' rows that are not aligned|activation.cu|activation|cuda_kernels/rows_that*|misaligned vector|s/aligned16(a) \&\& aligned16(b) \&\& aligned16(h_gradient)/aligned16(a) \&\& aligned16(b)/
norm's weights that are not aligned|norm.cu|norm|cuda_trainer/arrays*|misaligned vector|s/aligned16(x_gradient) \&\& aligned16(weight)/aligned16(x_gradient)/
table of angles that is not aligned|rope.cu|rope|cuda_trainer/arrays*|misaligned vector|s/ \&\& aligned16(cosine)//
gradient of embeddings that is not aligned|embedding.cu|embedding|cuda_trainer/arrays*|misaligned vector|s/ \&\& aligned16(weight_gradient)//
copy in bfloat16 that is not aligned|optimizer.cu|optimizer|cuda_trainer/arrays*|misaligned vector|s/ \&\& (uintptr_t)narrow % 8 == 0//
logits that are not aligned|cross_entropy.cu|cross_entropy|cuda_trainer/arrays*|misaligned vector|s/ \&\& aligned16(logits)//
source of a row in 32 bits|combine.cu|combine|cuda_kernels/rows_beyond*|FAIL|s/__ldg(a.row + n) \/ a.active \* a.width/(int32_t)(__ldg(a.row + n) \/ a.active * a.width)/
row of a route in 32 bits|combine.cu|combine|cuda_kernels/rows_beyond*|FAIL|s/(const S \*)a.in + n \* a.width + j/(const S *)a.in + (int32_t)(n * a.width) + j/
identity's row in 32 bits|zero_experts.cu|zero_experts|cuda_kernels/ident*|FAIL|s/const int64_t i = t \* a.width + j;/const int32_t i = (int32_t)(t * a.width + j);/
strides of a norm in 32 bits|norm.cu|norm|cuda_trainer/strides*|FAIL|s/int64_t x_stride, y_stride, gradient_stride/int32_t x_stride, y_stride, gradient_stride/
required bias's place in 32 bits|quantile.cu|quantile|cuda_trainer/strides*|FAIL|s/a.required\[e \* a.stride + first + of\]/a.required[(int32_t)(e * a.stride + first + of)]/
token's embedding in 32 bits|embedding.cu|embedding|cuda_trainer/strides*|FAIL|s/(token < 0 ? 0 : (int64_t)token \* a.width)/(token < 0 ? 0 : (int32_t)(token * a.width))/
stretches beyond a warp's not added|permutation.cu|permutation|cuda_kernels/permutation*|FAIL|s/sum += __shfl_sync(ALL_LANES, through\[i\], WARP - 1);/sum += i == 0 ? __shfl_sync(ALL_LANES, through[i], WARP - 1) : 0;/
stretches beyond four warps' left out|permutation.cu|permutation|cuda_kernels/permutation*|FAIL|s/first - lane < a.stretches; first += AHEAD/first < AHEAD * WARP; first += AHEAD/
refusal cleared after some have refused|capacity.cu|capacity|cuda_kernels/capacity*|which nothing wrote|/refused\[0\] = 0;/,/int32_t bad/s/__syncthreads();//
refusal read before all have refused|capacity.cu|capacity|cuda_kernels/capacity*|race|/if (bad) shared_add/,/const bool stop/s/__syncthreads();//
equal gates of a chunk counted from 0|capacity.cu|capacity|cuda_kernels/capacity*|case 1|s/equals += all;/equals = all;/
gates of tokens beyond the first blocks'|device.h|capacity|cuda_kernels/capacity*|case|s/i += (int64_t)gridDim.x \* (threads)/i += (int64_t)gridDim.x * 2 * (threads)/
routes beyond the first blocks' dispatched|device.h|zero_experts|cuda_kernels/capacity*|dispatch|s/i += (int64_t)gridDim.x \* (threads)/i += (int64_t)gridDim.x * 2 * (threads)/
every other block of the norm|optimizer.cu|optimizer|cuda_trainer/optimizer_norm*|FAIL|s/first += (int64_t)gridDim.x \* warps/first += (int64_t)gridDim.x * 2 * warps/
place of a failure in 32 bits|device.h|optimizer|cuda_trainer/optimizer*|FAIL|s/(device_sum)place << 16/(device_sum)((int32_t)place << 16)/
failure of the first of three launches|permutation.cu|permutation|device_balance/no_failure*|FAIL|s/if (status == PHIBAL_OK) status = launch(name, scan_kernel/status = launch(name, scan_kernel/
failure of the shares of a norm's gradient|norm.cu|norm|device_balance/no_failure*|FAIL|s/if (status == PHIBAL_OK) status = launch(name, norm_shares_kernel/status = launch(name, norm_shares_kernel/
failure of attention's softmax|attention.cu|attention|device_balance/no_failure*|FAIL|s/^    if (status == PHIBAL_OK) status = softmax(at, softmax_kernel<float>/    if (status == PHIBAL_OK) softmax(at, softmax_kernel<float>/
failure of an addition|moe/device/device_ffn.c|device|device_balance/no_failure*|FAIL|s/RUN(l->add(tokens \* d->model.config.width, d->rows, branch, out, &d->call));/l->add(tokens * d->model.config.width, d->rows, branch, out, \&d->call);/
workspace that is not 0 at first|moe/device/device_memory.c|device|device/every*|FAIL|s/RUN(check_call(d, l->zero(d->zeroed.workspace, zeroed, &d->call)));//
state that is not 0 at first|moe/device/device_memory.c|device|device_balance/quantile|FAIL|s/RUN(check_call(d, l->zero(d->memory\[0\], state.used, &d->call)));//
inputs of a step that is given up|moe/device/device.c|device|device/a_step_that*|FAIL|s/if (!d->waited) status = wait_for(d);//
routes taken from a call of as many sequences|moe/device/device.c|device|device/selections*|FAIL|s/model_take_routes(d->host, i, in->batch,/model_take_routes(d->host, i, m->batch,/
routes taken at the places of a full call|moe/device/device.c|device|device/selections*|FAIL|/^static void keep_routes/,/^}/s/(int64_t)in->batch \* m/(int64_t)m->batch * m/
a pointer of the device's for the host's|moe/device/device.c|device|device/the_hosts*|FAIL|s/const float \*all = come(d, d->losses);/const float *all = d->losses;/
failures read where they lie|moe/device/device.c|device|device/the_hosts*|FAIL|s/const uint64_t \*failures = come(d, d->failures);/const uint64_t *failures = d->failures;/
head's second block over the first|moe/device/device.c|device|device/head*|FAIL|s/d->calls > 0 || first > 0/d->calls > 0/
recomputed layers without factors|moe/device/device_ffn.c|device|device_balance/experts*|other weights|s/on->row, experts_gates(d, layer),$/on->row, c->recompute ? on->gates : experts_gates(d, layer),/
shared experts not made again|moe/device/device_ffn.c|device|device_balance/experts*|gradient of|s/if (!w->shared_gate) return status;/if (w->router) return status;/
factors' gradient of one call in bfloat16|moe/device/device_ffn.c|device|device_balance/experts*|gradient of|s/RUN(l->add(c->experts, PHIBAL_ROWS_F32, d->factor/if (d->rows == PHIBAL_ROWS_F32 || d->calls == 0) &/
no floor's gradient in bfloat16|moe/device/device_ffn.c|device|device_balance/gates*|gradient of|/gate_floor_backward/!s/if (c->gate_floor > 0)/if (c->gate_floor > 0 \&\& d->rows == PHIBAL_ROWS_F32)/
no floor's gradient where layers are recomputed|moe/device/device_ffn.c|device|device_balance/gates*|gradient of|s/if (c->gate_floor > 0)/if (c->gate_floor > 0 \&\& !c->recompute)/
LIST
[ $failed -eq 0 ]

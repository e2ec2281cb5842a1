/* The exact loads of a block while it runs, and their way into phibal_cuda_loads; how a probability
   is split is said at the head of router_forward.cu. */
#ifndef PHIBAL_CUDA_LOAD_LEVELS_H
#define PHIBAL_CUDA_LOAD_LEVELS_H

#include "kernels/core/exact_sum.h"
#include "row.h"

enum { LEVELS = 4 };

/* In the workspace: what all blocks have added, by units of 2^-40, 2^-80, 2^-120, 2^-160. */
typedef struct load_sums {
  device_sum *finished; /* blocks */
  device_sum *failed;   /* blocks that met a bad logit: then the loads stay as they are */
  device_sum *tokens;
  device_sum *level; /* [LEVELS][E] */
  device_sum *count; /* [E] */
} load_sums;

static inline size_t load_sums_bytes(int experts) {
  return sizeof(device_sum) * (size_t)(3 + (LEVELS + 1) * experts);
}

static inline load_sums load_sums_in(void *workspace, int experts) {
  device_sum *w = (device_sum *)workspace;
  load_sums s = {w, w + 1, w + 2, w + 3, w + 3 + LEVELS * experts};
  return s;
}

/* One thread's part. Up to 8 columns, sums of probabilities are 128-bit integers in registers, in
   units of 2^-83; what small probabilities leave of them, and all levels beyond 8 columns, are in
   shared memory. A thread's share of that is its own: nobody else touches it before the block's
   end. Up to 8 columns, the warps of a block add up what they have at the end, without atomic
   additions of 64 bits, which in shared memory are loops of compare and swap: each has a place, or
   in rows of a warp two have one, in turns. Beyond, where a warp fills the memory of a block, each
   adds for itself. */
template <int LANES, int COLUMNS> struct load_levels {
  static constexpr bool IN_REGISTERS = COLUMNS <= 8;
  static constexpr int WARPS = COLUMNS <= 8 ? 4 : COLUMNS == 16 ? 2 : 1;
  static constexpr int THREADS = WARP * WARPS;
  static constexpr int SHARED_LEVELS = IN_REGISTERS ? 2 : 4; /* the last ones */
  static constexpr int OWN = SHARED_LEVELS * COLUMNS * THREADS;
  static constexpr bool TOGETHER = COLUMNS <= 8;
  static constexpr int PLACES = TOGETHER && LANES == WARP ? WARPS / 2 : WARPS;
  static constexpr int RESIDENT = COLUMNS == 8 ? 3 : 1; /* blocks, at least */

  static constexpr int SUMS = IN_REGISTERS ? COLUMNS : 1;
  unsigned __int128 units[SUMS];
  int32_t count[COLUMNS];
  int32_t tokens, failed;

  static size_t shared_bytes(int experts) {
    return sizeof(device_sum) *
           (size_t)(OWN + (TOGETHER ? PLACES * (LEVELS + 1) * experts : 0) + 2 * WARPS + 1);
  }
};

/* Where this thread's sum of a column and level is; `level` counts from the first in memory. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ int own_place(int level, int column) {
  return (level * COLUMNS + column) * load_levels<LANES, COLUMNS>::THREADS + (int)threadIdx.x;
}

template <int LANES, int COLUMNS>
static __device__ __forceinline__ void levels_start(load_levels<LANES, COLUMNS> *l) {
  typedef load_levels<LANES, COLUMNS> levels;
  SHARED_DYNAMIC(device_sum, own);
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    if (levels::IN_REGISTERS) l->units[c % levels::SUMS] = 0;
    l->count[c] = 0;
    for (int j = 0; j < levels::SHARED_LEVELS; j++) own[own_place<LANES, COLUMNS>(j, c)] = 0;
  }
  l->tokens = l->failed = 0;
}

/* Units of `unit` in the low bits of x + shifter, for |x| below 2^11 units of the shifter's. */
static __device__ __forceinline__ int64_t level_units(double sum, double shifter) {
  return (int64_t)(core_bits64(sum) - core_bits64(shifter));
}

/* The last two levels of what the others leave of a probability. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ void levels_add_rest(double rest, int column) {
  typedef load_levels<LANES, COLUMNS> levels;
  SHARED_DYNAMIC(device_sum, own);
  double third = rest + 0x1.8p-68;
  double below = rest - (third - 0x1.8p-68);
  double fourth = below + 0x1.8p-108;
  int64_t units3 = level_units(fourth, 0x1.8p-108);
  if (fourth - 0x1.8p-108 > below) units3--; /* cut towards zero: load_sum.h says why */
  own[own_place<LANES, COLUMNS>(levels::SHARED_LEVELS - 2, column)] +=
      (device_sum)level_units(third, 0x1.8p-68);
  own[own_place<LANES, COLUMNS>(levels::SHARED_LEVELS - 1, column)] += (device_sum)units3;
}

/* The high word of 2^-31: the exponent 992 is 31 words of 32 bits. */
enum { LOAD_SMALL = 992 << 20 };

/* p 2^83 of a p from 2^-31 to 1: m 2^(e - 992), where m is the mantissa's integer and e the biased
   exponent, so that the shift is e modulo 32. Of another p some integer. */
static __device__ __forceinline__ unsigned __int128 load_units(double p) {
  uint32_t high = (uint32_t)(core_bits64(p) >> 32), low = (uint32_t)core_bits64(p);
  uint32_t m = (high & 0xfffff) | 0x100000, e = high >> 20;
  uint32_t word0 = __funnelshift_l(0, low, e), word1 = __funnelshift_l(low, m, e);
  uint32_t word2 = __funnelshift_l(m, 0, e);
  return (unsigned __int128)word2 << 64 | (uint64_t)word1 << 32 | word0;
}

/* Adds a row's probabilities. Those below 2^-31, which are few, are cut at 2^-83 in binary64, as
   kernels/cpu/load_sum.h cuts all, and what was added for them before is taken back. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ void levels_add(load_levels<LANES, COLUMNS> *l, int experts,
                                                  const double *p) {
  typedef load_levels<LANES, COLUMNS> levels;
  if constexpr (levels::IN_REGISTERS) {
    int32_t least = LOAD_SMALL;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      if (row_lane<LANES>() + LANES * c >= experts) continue;
      int32_t high = (int32_t)(core_bits64(p[c]) >> 32);
      least = high < least ? high : least;
      l->units[c] += load_units(p[c]);
    }
    if (!SELDOM(least < LOAD_SMALL)) return;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      if (row_lane<LANES>() + LANES * c >= experts || !(p[c] < 0x1p-31)) continue;
      double first = p[c] + 0x1p-31;
      l->units[c] += (uint64_t)level_units(first, 0x1p-31) - load_units(p[c]);
      double rest = p[c] - (first - 0x1p-31);
      if (rest != 0.0) levels_add_rest<LANES, COLUMNS>(rest, c);
    }
  } else {
    SHARED_DYNAMIC(device_sum, own);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      double first = p[c] + 0x1.8p12;
      double below = p[c] - (first - 0x1.8p12);
      double second = below + 0x1.8p-28;
      own[own_place<LANES, COLUMNS>(0, c)] += (device_sum)level_units(first, 0x1.8p12);
      own[own_place<LANES, COLUMNS>(1, c)] += (device_sum)level_units(second, 0x1.8p-28);
      double rest = below - (second - 0x1.8p-28);
      if (SELDOM(rest != 0.0)) levels_add_rest<LANES, COLUMNS>(rest, c); /* below 2^-28 */
    }
  }
}

/* x over the lanes of a warp that hold the same experts. */
template <int LANES, class T> static __device__ __forceinline__ T same_experts(T x) {
#pragma unroll
  for (int s = LANES; s < WARP; s *= 2) x += __shfl_xor_sync(ALL_LANES, x, s);
  return x;
}
template <int LANES>
static __device__ __forceinline__ unsigned __int128 same_experts(unsigned __int128 x) {
#pragma unroll
  for (int s = LANES; s < WARP; s *= 2)
    x += (unsigned __int128)__shfl_xor_sync(ALL_LANES, (uint64_t)(x >> 64), s) << 64 |
         __shfl_xor_sync(ALL_LANES, (uint64_t)x, s);
  return x;
}

/* What those lanes have added to a level, of the sums in registers, `units`, the digits of 2^-40,
   of 2^-80, and the three bits below, which go to the level of 2^-120. Small probabilities, whose
   levels are in memory, are few. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ device_sum level_sum(unsigned __int128 units, int level,
                                                       int column) {
  typedef load_levels<LANES, COLUMNS> levels;
  SHARED_DYNAMIC(device_sum, own);
  constexpr int first = LEVELS - levels::SHARED_LEVELS; /* in memory */
  device_sum sum = 0;
  if (level >= first) {
    sum = own[own_place<LANES, COLUMNS>(level - first, column)];
    if (__any_sync(ALL_LANES, sum != 0)) sum = same_experts<LANES>(sum);
  }
  if (level == 0) sum += (device_sum)(units >> 43);
  if (level == 1) sum += (device_sum)units >> 3 & 0xffffffffffu;
  if (level == 2) sum += ((device_sum)units & 7) << 37;
  return sum;
}

/* limb += units 2^(-40 (level + 1)), for |units| below 2^62. Limb j may become negative, which the
   carry mends: the sum of all levels is not negative. */
static __device__ __forceinline__ void digits_add(int64_t *digit, int64_t units, int level) {
  int shift = 120 - 40 * level; /* units of 2^-160 */
  int low = PHIBAL_LOAD_LIMBS - 1 - shift / 32;
  __int128 v = (__int128)units * ((int64_t)1 << shift % 32);
  digit[low] += (int64_t)((uint64_t)v & 0xffffffffu);
  digit[low - 1] += (int64_t)((uint64_t)(v >> 32) & 0xffffffffu);
  digit[low - 2] += (int64_t)(v >> 64);
}

/* What the last block does: loads += sums, and the workspace is zero again. All is read before
   anything is written, so that it takes the latency of one reading. */
static __device__ __forceinline__ void loads_merge(int e, int experts, load_sums sums,
                                                   phibal_cuda_loads loads) {
  device_sum level[LEVELS], count = sums.count[e];
  uint64_t limb[PHIBAL_LOAD_LIMBS], *to = loads.probability + (int64_t)e * PHIBAL_LOAD_LIMBS;
  const int64_t counted = loads.count[e];
  const bool failed = *sums.failed != 0;
#pragma unroll
  for (int j = 0; j < LEVELS; j++) level[j] = sums.level[j * experts + e];
#pragma unroll
  for (int j = 0; j < PHIBAL_LOAD_LIMBS; j++) limb[j] = to[j];
  int64_t digit[PHIBAL_LOAD_LIMBS] = {0};
#pragma unroll
  for (int j = 0; j < LEVELS; j++) {
    digits_add(digit, (int64_t)level[j], j);
    sums.level[j * experts + e] = 0;
#pragma unroll
    for (int i = PHIBAL_LOAD_LIMBS - 1; i > 0; i--) {
      digit[i - 1] += digit[i] >> 32;
      digit[i] &= 0xffffffff;
    }
  }
  sums.count[e] = 0;
  if (failed) return;
#pragma unroll
  for (int j = 0; j < PHIBAL_LOAD_LIMBS; j++) limb[j] += (uint64_t)digit[j];
  core_exact_carry(limb, PHIBAL_LOAD_LIMBS);
#pragma unroll
  for (int j = 0; j < PHIBAL_LOAD_LIMBS; j++) to[j] = limb[j];
  loads.count[e] = counted + (int64_t)count;
}

static __device__ __forceinline__ void sum_add(device_sum *to, device_sum x) {
  if (x != 0) atomicAdd(to, x);
}

/* The block's sums into the workspace, and for the last block to come those of all into the loads.
   Every thread of the block calls it, once, at the end. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ void levels_finish(load_levels<LANES, COLUMNS> *l, int experts,
                                                     load_sums sums, phibal_cuda_loads loads) {
  typedef load_levels<LANES, COLUMNS> levels;
  SHARED_DYNAMIC(device_sum, own);
  const int thread = (int)threadIdx.x, lane = thread % WARP, warp = thread / WARP;
  const int all = (LEVELS + 1) * experts;               /* levels, then counts */
  shared_pointer<device_sum> place = own + levels::OWN; /* [PLACES][all] */
  shared_pointer<device_sum> other = place + (levels::TOGETHER ? levels::PLACES * all : 0);
#pragma unroll
  for (int turn = 0; turn < levels::WARPS / levels::PLACES; turn++) {
    if (turn > 0) __syncthreads();
    if (warp / levels::PLACES != turn) continue;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      int e = lane % LANES + LANES * c;
      bool gives = lane < LANES && e < experts;
      const unsigned __int128 units = levels::IN_REGISTERS
                                          ? same_experts<LANES>(l->units[c % levels::SUMS])
                                          : (unsigned __int128)0;
      const int32_t count = same_experts<LANES>(l->count[c]);
#pragma unroll
      for (int j = 0; j <= LEVELS; j++) {
        device_sum sum = j == LEVELS ? (device_sum)count : level_sum<LANES, COLUMNS>(units, j, c);
        if (!gives) continue;
        const int at = warp % levels::PLACES * all + j * experts + e;
        if (levels::TOGETHER)
          place[at] = turn > 0 ? place[at] + sum : sum;
        else
          sum_add((j == LEVELS ? sums.count : sums.level + j * experts) + e, sum);
      }
    }
  }
  const device_sum tokens = (device_sum)same_experts<LANES>(l->tokens);
  const bool failed = __any_sync(ALL_LANES, l->failed != 0);
  if (lane == 0) {
    other[2 * warp] = tokens;
    other[2 * warp + 1] = failed;
  }
  __syncthreads();
  if (levels::TOGETHER)
    for (int i = thread; i < all; i += levels::THREADS) {
      device_sum sum = 0;
#pragma unroll
      for (int w = 0; w < levels::PLACES; w++) sum += place[w * all + i];
      sum_add((i < LEVELS * experts ? sums.level : sums.count - LEVELS * experts) + i, sum);
    }
  if (thread == 0) {
    for (int w = 1; w < levels::WARPS; w++) {
      other[0] += other[2 * w];
      other[1] += other[2 * w + 1];
    }
    sum_add(sums.tokens, other[0]);
    sum_add(sums.failed, other[1]);
  }
  __threadfence();
  __syncthreads();
  constexpr int LAST = 2 * levels::WARPS;
  if (thread == 0) other[LAST] = atomicAdd(sums.finished, (device_sum)1) == gridDim.x - 1;
  __syncthreads();
  if (other[LAST] == 0) return;
  __threadfence();
  device_sum sum = 0;
  bool bad = false;
  int64_t before = 0;
  if (thread == 0) sum = *sums.tokens, bad = *sums.failed != 0, before = *loads.tokens;
  for (int e = thread; e < experts; e += levels::THREADS) loads_merge(e, experts, sums, loads);
  __syncthreads(); /* everyone has read whether a block failed */
  if (thread != 0) return;
  if (!bad) *loads.tokens = before + (int64_t)sum;
  *sums.tokens = *sums.failed = *sums.finished = 0;
}

#endif

/* Cross-entropy and its gradient in place of the logits: probabilities exist a number at a time.

   A block of 1024 threads has a row, each thread every 1024th piece of it: 16 bytes, four logits in
   binary32 or eight in bfloat16. The pieces lie in shared memory as far as they fit (113 thousand
   logits in bfloat16 of the 227 KiB of compute capability 9), where each is only its thread's: the
   last pass, which is done with a piece, begins to copy the next row's into its place. What does
   not fit is read anew in each pass, first, from the cache: of 132 rows of 102400 logits in
   binary32 that is 24 MB. Rows with a cap, and such as are not made of whole pieces, are read
   number by number in each pass.

   Rows in bfloat16 take three passes: the largest logit m; the sum S of e^(z - m); the gradient.
   Binary64 has the room for e^(z - t) with the target's logit t, so that rows in binary32 take two:
   largest and sum; gradient. Where m is more than 500 above t, or something is not finite, they are
   added once more, with m.

   Errors of S, relative; d = z - m or z - t, p = e^d / S. A rounding of d counts by what it moves
   e^d. With m, sum p |d| = entropy - log S <= log V; with t at most m - t more.
   - binary32 rows, u = 2^-53: exponentials (7.2 + 0.13 |d|) u (exp_below64.h), d |d| u, a piece's
     tree 2 u, a thread's sum V / 4096 u (number by number V / 1024 u), ten steps of two trees 10 u:
     (V / 1024 + 20 + 1.2 log V + 1.2 a) u at most, where a is the lesser of m - t and 500. Terms
     below e^-700 count as that; S >= 1.
   - bfloat16 rows, u = 2^-24: d |d| u, its product with log2 e 1.23 |d| u, the power of two 4 u
     (power_of_2.h), two chains of four terms and their sum 4 u; all else is binary64, below u.
     Terms below 2^-126 are 0. Together (9 + 2.3 log V) u. Of a gradient in bfloat16: its
     exponential (4 + 2.23 |d|) u, factor = scale / S, the slope 1 - t^2 of a cap and two products
     4 u, and S: (17 + 2.3 |d| + 2.3 log V) u < 2^-15.9 with |d| <= 88. Then it is rounded to
     bfloat16. Devices of different kinds may have different bits.

   Largest logit and target. What is `correct` is the first of the largest: its target's logit is
   the largest, and none before it is as large. Only rows of the former kind are searched for the
   latter. With a cap the largest number's cap stands for the largest capped one, which rounding may
   move by a unit in the last place, and the whole row is searched.

   Bytes of a logit: 8 must move in binary32 and 4 in bfloat16. Arithmetic of one in bfloat16: 13
   instructions, and two powers of two, of which a multiprocessor makes 16 a clock; in binary32 30
   of binary64, 64 a clock. An H200 took for 2048 rows of 102400 logits in bfloat16, and 4096 in
   binary32, 1442 and 3135 us with a running maximum, core_exp64 for both, 512 threads a
   multiprocessor and the second reading from global memory; 333 and 1864 us with rows in shared
   memory, three passes, a polynomial in binary32 and core_exp64; 252 and 1414 us as here. */
#include "kernels/core/exp_below64.h"
#include "kernels/core/log64.h"
#include "kernels/core/softcap.h"
#include "power_of_2.h"
#include "trainer.h"
#include "vector.h"

enum {
  LOSS_THREADS = 1024,
  LOSS_WARPS = LOSS_THREADS / WARP,
  LOSS_PER_MULTIPROCESSOR = 1,
  LOSS_SHARED = LOSS_WARPS * 16 + 1024, /* the kernel's own, and what the device takes */
  SUM_THREADS = 256,
};

typedef struct loss_arguments {
  int64_t rows;
  int32_t vocabulary;
  int32_t held; /* pieces of a row in shared memory */
  double cap, scale;
  bool gradient;
  const int32_t *targets;
  void *logits;
  double *row_loss;
  double *loss;
  device_sum *correct, *counted;
  uint64_t *failure;
} loss_arguments;

/* A piece of a row: 16 bytes, or a number S. */
struct __attribute__((aligned(16))) piece16 {
  uint32_t x[4];
};
template <class S, int N> struct piece_of { typedef piece16 type; };
template <class S> struct piece_of<S, 1> { typedef S type; };

static __device__ __forceinline__ void unpack(piece16 p, floats<4> *x) {
#pragma unroll
  for (int i = 0; i < 4; i++) x->x[i] = core_float(p.x[i]);
}
static __device__ __forceinline__ void unpack(piece16 p, floats<8> *x) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    x->x[2 * i] = core_float(p.x[i] << 16);
    x->x[2 * i + 1] = core_float(p.x[i] & 0xffff0000u);
  }
}
template <class S> static __device__ __forceinline__ void unpack(S p, floats<1> *x) {
  x->x[0] = widen(p);
}

/* The larger; NaN if one is. */
static __device__ __forceinline__ float larger(float a, float b) {
#ifdef __CUDA_ARCH__
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return b > a || b != b ? b : a;
#endif
}

/* The largest that a thread has met: of bfloat16 pieces in each half of a word. */
template <int N> struct largest_so_far {
  float x = -__builtin_inff();
  template <class P> __device__ __forceinline__ void meet(P p) {
    floats<N> y;
    unpack(p, &y);
#pragma unroll
    for (int i = 0; i < N; i++) x = larger(x, y.x[i]);
  }
  __device__ __forceinline__ float number() const {
    return x;
  }
};
#ifdef __CUDA_ARCH__
template <> struct largest_so_far<8> {
  uint32_t x = 0xff80ff80u;
  __device__ __forceinline__ void meet(piece16 p) {
#pragma unroll
    for (int i = 0; i < 4; i++) asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(p.x[i]));
  }
  __device__ __forceinline__ float number() const {
    return larger(core_float(x << 16), core_float(x & 0xffff0000u));
  }
};
#endif

/* The block's largest; all threads get it. block_largest and block_sum are called in turn, so that
   each one's barrier is between the reads of the other's array and what is next written there. */
static __device__ __forceinline__ float block_largest(float x) {
  SHARED_ARRAY(float, largest, LOSS_WARPS);
  for (int s = WARP / 2; s >= 1; s /= 2) x = larger(x, __shfl_xor_sync(ALL_LANES, x, s));
  if (threadIdx.x % WARP == 0) largest[threadIdx.x / WARP] = x;
  __syncthreads();
  x = largest[threadIdx.x % LOSS_WARPS];
  for (int s = LOSS_WARPS / 2; s >= 1; s /= 2) x = larger(x, __shfl_xor_sync(ALL_LANES, x, s));
  return x;
}

/* Butterflies over the warps' lanes and over the warps: the two sides of an addition commute.
 *any: some thread's. */
static __device__ __forceinline__ double block_sum(double x, bool *any) {
  SHARED_ARRAY(double, sum, LOSS_WARPS);
  SHARED_ARRAY(int32_t, has, LOSS_WARPS);
  for (int s = WARP / 2; s >= 1; s /= 2) x += __shfl_xor_sync(ALL_LANES, x, s);
  const int32_t of_warp = __any_sync(ALL_LANES, *any);
  if (threadIdx.x % WARP == 0) {
    sum[threadIdx.x / WARP] = x;
    has[threadIdx.x / WARP] = of_warp;
  }
  __syncthreads();
  x = sum[threadIdx.x % LOSS_WARPS];
  *any = __any_sync(ALL_LANES, has[threadIdx.x % LOSS_WARPS]);
  for (int s = LOSS_WARPS / 2; s >= 1; s /= 2) x += __shfl_xor_sync(ALL_LANES, x, s);
  return x;
}

static __device__ __forceinline__ float capped(float z, double cap) {
  return cap > 0 ? core_softcap(z, cap) : z;
}

/* The exponentials e^(z - reference): what adds a piece of them to a thread's sum, and what makes
   of them the gradient factor e^(z - reference) slope. In binary64 for binary32 rows. */
template <class S> struct exponentials {
  double reference, factor;
  __device__ __forceinline__ exponentials(float reference_, double factor_)
      : reference(reference_), factor(factor_) {}
  template <int N> __device__ __forceinline__ double sum(floats<N> z) const {
    double e[N];
#pragma unroll
    for (int l = 0; l < N; l++) e[l] = core_exp_below64((double)z.x[l] - reference);
#pragma unroll
    for (int s = N / 2; s >= 1; s /= 2)
#pragma unroll
      for (int l = 0; l < s; l++) e[l] += e[l + s];
    return e[0];
  }
  __device__ __forceinline__ float gradient(float z, double slope) const {
    return (float)(factor * core_exp_below64_short((double)z - reference) * slope);
  }
};

/* In binary32 for bfloat16 rows; the sum in two chains. */
template <> struct exponentials<bfloat16> {
  float reference, factor;
  __device__ __forceinline__ exponentials(float reference_, double factor_)
      : reference(reference_), factor((float)factor_) {}
  __device__ __forceinline__ float of(float z) const {
    return power_of_2((z - reference) * 0x1.715476p+0f); /* log2 e */
  }
  template <int N> __device__ __forceinline__ double sum(floats<N> z) const {
    float chain[2] = {0.0f, 0.0f};
#pragma unroll
    for (int l = 0; l < N; l++) chain[l % 2] += of(z.x[l]);
    return (double)(chain[0] + chain[1]);
  }
  __device__ __forceinline__ float gradient(float z, double slope) const {
    return factor * of(z) * (float)slope;
  }
};

/* A row as a thread sees it, and what it does to each of its pieces. */
template <class S, int N> struct row_pieces {
  typedef typename piece_of<S, N>::type P;
  S *z;
  shared_pointer<piece16> held;
  int32_t pieces, held_pieces;

  __device__ __forceinline__ P global(int32_t i) const {
    return *vector_at<const P>((void *)(z + (int64_t)i * N));
  }
  __device__ __forceinline__ void store(int32_t i, floats<N> x) const {
    floats_store<N>(z + (int64_t)i * N, x);
  }
  /* The first piece of this thread that is not held. */
  __device__ __forceinline__ int32_t first_left() const {
    const int32_t me = (int32_t)threadIdx.x, before = held_pieces - me + LOSS_THREADS - 1;
    return before < 0 ? me : me + before / LOSS_THREADS * LOSS_THREADS;
  }
  template <class F> __device__ __forceinline__ void each_held(F f) const {
    if constexpr (N > 1)
#pragma unroll 2
      for (int32_t i = (int32_t)threadIdx.x; i < held_pieces; i += LOSS_THREADS) f(i, (P)held[i]);
  }
  /* Each is loaded one ahead. */
  template <class F> __device__ __forceinline__ void each_left(F f) const {
    int32_t i = first_left();
    if (i >= pieces) return;
    for (P next = global(i); i < pieces; i += LOSS_THREADS) {
      const P p = next;
      if (pieces - i > LOSS_THREADS) next = global(i + LOSS_THREADS);
      f(i, p);
    }
  }
  __device__ __forceinline__ float largest() const {
    largest_so_far<N> most;
    const int32_t first = first_left();
#pragma unroll 4
    for (int32_t i = first; i < pieces; i += LOSS_THREADS) most.meet(global(i));
    copies_wait();
    each_held([&](int32_t, P p) { most.meet(p); });
    return most.number();
  }

  /* Into shared memory, of the row at `from`; what this thread will read of it is there after
     copies_wait. */
  __device__ __forceinline__ void copy(int32_t i, const S *from) const {
    const piece16 *p = vector_at<const piece16>((void *)(from + (int64_t)i * N));
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(held + i)),
                 "l"(p)
                 : "memory");
#else
    held[i] = *p;
#endif
  }
  static __device__ __forceinline__ void copies_wait() {
#ifdef __CUDA_ARCH__
    if constexpr (N > 1) asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  }
  __device__ __forceinline__ void copy_all(const S *from) const {
    if constexpr (N > 1)
      for (int32_t i = (int32_t)threadIdx.x; i < held_pieces; i += LOSS_THREADS) copy(i, from);
  }
  __device__ __forceinline__ void zero() const {
    for (int32_t i = (int32_t)threadIdx.x; i < pieces; i += LOSS_THREADS) store(i, {});
  }
};

/* Whether a logit of this thread is larger than `kept`, or as large and before it. */
template <class S, int N>
static __device__ __forceinline__ bool beaten(row_pieces<S, N> r, int32_t target, float kept,
                                              double cap) {
  bool found = false;
  for (int32_t i = (int32_t)threadIdx.x; i < r.pieces; i += LOSS_THREADS) {
    if (!(cap > 0) && i > target / N) break;
    floats<N> z;
    unpack(r.global(i), &z);
#pragma unroll
    for (int l = 0; l < N; l++) {
      const float value = capped(z.x[l], cap);
      found |= value > kept || (value == kept && i * N + l < target);
    }
  }
  return found;
}

template <class S, int N>
static __global__ void __launch_bounds__(LOSS_THREADS) loss_kernel(loss_arguments a) {
  SHARED_DYNAMIC(piece16, held);
  constexpr bool BINARY64 = sizeof(S) == 4;
  const double cap = N == 1 ? a.cap : 0.0;
  const bool first_thread = threadIdx.x == 0;
  device_sum correct = 0, counted = 0;
  row_pieces<S, N> r = {(S *)a.logits + (int64_t)blockIdx.x * a.vocabulary, held, a.vocabulary / N,
                        a.held};
  const auto is_target = [&](int32_t t) { return t >= 0 && t < a.vocabulary; };
  int32_t target = blockIdx.x < a.rows ? __ldg(a.targets + blockIdx.x) : -1;
  float logit = 0.0f; /* the target's */
  if (is_target(target)) {
    logit = widen(r.z[target]);
    r.copy_all(r.z);
  }
  for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
    S *const next = r.z + (int64_t)gridDim.x * a.vocabulary;
    const int32_t next_target = a.rows - row > gridDim.x ? __ldg(a.targets + row + gridDim.x) : -1;
    const bool more = is_target(next_target);
    if (!is_target(target)) {
      if (first_thread) {
        a.row_loss[row] = 0.0;
        if (target != -1) failure_report(a.failure, row, 0, FAILURE_TARGET);
      }
      if (a.gradient) r.zero();
      if (more) {
        logit = widen(next[next_target]);
        r.copy_all(next);
      }
    } else {
      const float kept = capped(logit, cap);
      /* Binary64 has room for e^(z - reference) with the target's logit for reference, unless the
         largest is far above it. */
      float reference = kept, largest = kept;
      const bool copied = !BINARY64 && !a.gradient && more; /* no other pass follows */
      double sum = 0.0;
#pragma unroll 1
      for (int pass = 0; pass < 2; pass++) {
        largest_so_far<N> most;
        if constexpr (!BINARY64) reference = capped(block_largest(r.largest()), cap);
        const exponentials<S> terms(reference, 1.0);
        sum = 0.0;
        const auto add = [&](int32_t, typename row_pieces<S, N>::P p) {
          floats<N> z;
          unpack(p, &z);
          if constexpr (BINARY64) most.meet(p);
          if constexpr (N == 1) z.x[0] = capped(z.x[0], cap);
          sum += terms.sum(z);
        };
        r.each_left(add);
        r.copies_wait();
        r.each_held([&](int32_t i, typename row_pieces<S, N>::P p) {
          add(i, p);
          if (SELDOM(copied)) r.copy(i, next);
        });
        largest = BINARY64 ? capped(block_largest(most.number()), cap) : reference;
        if (!BINARY64 || largest - reference <= 500.0f) break;
        reference = largest;
        __syncthreads(); /* the largest has been read */
      }
      if (more) logit = widen(next[next_target]);
      bool earlier = kept >= largest && beaten(r, target, kept, cap);
      sum = block_sum(sum, &earlier);
      if (first_thread) {
        const double loss = core_log64(sum) + ((double)reference - (double)kept);
        a.row_loss[row] = loss;
        if (!(core_abs(sum) < CORE_INFINITY) || !(core_abs(loss) < CORE_INFINITY))
          failure_report(a.failure, row, 0, FAILURE_LOSS);
        correct += kept >= largest && !earlier;
        counted++;
      }
      if (a.gradient) {
        const exponentials<S> e(reference, a.scale / sum);
        const auto write = [&](int32_t i, typename row_pieces<S, N>::P p) {
          floats<N> z;
          unpack(p, &z);
#pragma unroll
          for (int l = 0; l < N; l++) {
            const float value = N == 1 ? capped(z.x[l], cap) : z.x[l];
            const double t = N == 1 && cap > 0 ? (double)value / cap : 0.0;
            z.x[l] = e.gradient(value, 1.0 - t * t);
          }
          r.store(i, z);
        };
        r.each_left(write); /* still in the cache */
        r.each_held([&](int32_t i, typename row_pieces<S, N>::P p) {
          write(i, p);
          if (more) r.copy(i, next);
        });
        /* The thread that has the target's piece overwrites one number of it. */
        if (target / N % LOSS_THREADS == (int32_t)threadIdx.x) {
          const double p = core_exp64((double)kept - (double)reference) / sum;
          const float at = (float)(a.scale * (p - 1.0));
          const double t = cap > 0 ? (double)kept / cap : 0.0;
          floats_store<1>(r.z + target, {{cap > 0 ? (float)((double)at * (1.0 - t * t)) : at}});
        }
      } else if (BINARY64 && more) {
        r.copy_all(next);
      }
    }
    r.z = next;
    target = next_target;
  }
  if (!first_thread || counted == 0) return;
  atomicAdd(a.correct, correct);
  atomicAdd(a.counted, counted);
}

/* One block: interleaved sums, then a halving tree. */
static __global__ void __launch_bounds__(SUM_THREADS) loss_sum_kernel(loss_arguments a) {
  SHARED_ARRAY(double, part, SUM_THREADS);
  const int me = (int)threadIdx.x;
  double sum = 0.0;
#pragma unroll 8
  for (int64_t i = me; i < a.rows; i += SUM_THREADS) sum += a.row_loss[i];
  part[me] = sum;
  for (int s = SUM_THREADS / 2; s >= 1; s /= 2) {
    __syncthreads();
    if (me < s) part[me] = part[me] + part[me + s];
  }
  if (me == 0) *a.loss += part[0];
}

phibal_status phibal_cuda_cross_entropy(const phibal_cuda_loss *shape, const int32_t *targets,
                                        void *logits, double *row_loss, double *loss,
                                        int64_t *correct, int64_t *counted,
                                        const phibal_cuda *call) {
  const char *name = "cross-entropy";
  if (!shape || shape->rows < 0 || shape->vocabulary < 1 || !(shape->softcap >= 0) ||
      (shape->type != PHIBAL_ROWS_F32 && shape->type != PHIBAL_ROWS_BF16))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null or invalid shape of the logits",
                             name);
  if (!loss || !correct || !counted || (shape->rows > 0 && (!targets || !logits || !row_loss)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null array", name);
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK || shape->rows == 0) return status;
  loss_arguments a = {};
  a.rows = shape->rows;
  a.vocabulary = shape->vocabulary;
  a.cap = (double)shape->softcap;
  a.scale = shape->scale;
  a.gradient = shape->gradient != 0;
  a.targets = targets;
  a.logits = logits;
  a.row_loss = row_loss;
  a.loss = loss;
  a.correct = (device_sum *)correct;
  a.counted = (device_sum *)counted;
  a.failure = call->failure;
  const int64_t bytes = (int64_t)a.vocabulary * (shape->type == PHIBAL_ROWS_F32 ? 4 : 2);
  const bool whole = bytes % 16 == 0 && aligned16(logits) && !(a.cap > 0);
  const int64_t fit = (int64_t)shared_most(LOSS_SHARED);
  a.held = whole ? (int32_t)((bytes < fit ? bytes : fit) / 16) : 0;
  launch_shape rows = {blocks_for(call, shape->rows, LOSS_PER_MULTIPROCESSOR), LOSS_THREADS,
                       (size_t)a.held * 16};
  void (*kernel)(loss_arguments) = shape->type == PHIBAL_ROWS_F32
                                       ? whole ? loss_kernel<float, 4> : loss_kernel<float, 1>
                                   : whole ? loss_kernel<bfloat16, 8>
                                           : loss_kernel<bfloat16, 1>;
  status = launch(name, kernel, rows, call, a);
  launch_shape one = {1, SUM_THREADS, 0};
  return status == PHIBAL_OK ? launch(name, loss_sum_kernel, one, call, a) : status;
}

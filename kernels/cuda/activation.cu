/* h = act(a) b of the gated FFN and its gradients (E2), (E3), element by element: rows in binary32
   with the CPU's operations in binary64 and its bits, rows in bfloat16 in binary32 (E2n), rounded
   once more.

   Bytes of an element: 12 forward, 20 backward, half of it in bfloat16; 67 and 77 instructions in
   binary32, 26 and 35 in bfloat16. An H200 reaches 92 to 97 % of a copy; with 62 and 80
   instructions in bfloat16 it reached 60 (forward) and 75 %.

   Backward where h was not kept, and with the gates: 24 of an element, half of it in bfloat16, and
   16 of a slot. gate_gradient is summed in binary64, in sixteen sums a slot: sum l of 16 adds the
   products of elements 4 (l + 16 i) .. 4 (l + 16 i) + 3 for i = 0, 1, ..., one fma each, and the
   sums are added in a tree of neighbours at distance 8, 4, 2, 1. */
#include "kernels/core/activation.h"
#include "kernels/core/activation32.h"
#include "trainer.h"
#include "vector.h"
#include <math.h>

typedef struct activation_arguments {
  int64_t n;
  const int64_t *count; /* null, or on the device: so many rows of `hidden` numbers instead */
  int64_t hidden;
  void *a, *b;
  const void *h_gradient;
  void *h;
} activation_arguments;

/* Rows of binary32 in binary64, and rows of bfloat16 in binary32 (E2n).

   These have the bits of core_silu32 and core_gelu32 for every x of bfloat16, in fewer of a
   device's instructions. y = -|w| is made without asking for w's sign. p 2^(k + 64), by an addition
   to its exponent, is normal, and its product with 2^-64 is rounded once, as that with the second
   of two powers is. 1 + E is in [1, 2], where a reciprocal needs no look at its range: one step
   from MUFU.RCP, as the compiler's own. NaN is lost in the clamped argument, but not in x and c. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
static __device__ __forceinline__ float at_least(float x, float low) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(low));
  return r;
}
static __device__ __forceinline__ float at_most(float x, float high) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(high));
  return r;
}
#else
static __device__ __forceinline__ float at_least(float x, float low) {
  return x < low ? low : x;
}
static __device__ __forceinline__ float at_most(float x, float high) {
  return x > high ? high : x;
}
#endif

/* 1 / x, x in [1, 2]. */
static __device__ __forceinline__ float reciprocal_of_sum(float x) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return fused(r, fused(-x, r, 1.0f), r);
#else
  return 1.0f / x;
#endif
}

template <bool SILU> static __device__ __forceinline__ core_activation32 activation32(float x) {
  const float most = SILU ? 105.0f : 16.0f, low = at_least(x, -most), c = at_most(low, most);
  const core_gelu_argument32 of_gelu = core_gelu_argument32_of(c);
  const float w = SILU ? c : of_gelu.w, g = SILU ? c : of_gelu.g;
  const float y = fmaxf(-fabsf(SILU ? x : w), -105.0f), shifter = 0x1.8p23f + 64.0f;
  const float s = y * 0x1.715476p+0f + shifter, p = core_exp2_rest32(y, s - shifter);
  const float e = core_float(core_bits32(p) + (core_bits32(s) << 23)) * 0x1p-64f;
  const bool below = x < 0.0f;
  const float one = reciprocal_of_sum(1.0f + e), other = e * one;
  const float sigma = below ? other : one;
  return {low * sigma, fused(sigma, g * (below ? one : other), sigma)};
}

template <class S> struct arithmetic {
  typedef double real;
  template <bool SILU> static __device__ __forceinline__ core_activation of(float x) {
    return SILU ? core_silu64((double)x) : core_gelu64((double)x);
  }
};
template <> struct arithmetic<bfloat16> {
  typedef float real;
  template <bool SILU> static __device__ __forceinline__ core_activation32 of(float x) {
    return activation32<SILU>(x);
  }
};

template <class S, int N, bool SILU>
static __global__ void __launch_bounds__(PIECE_THREADS) activate_kernel(activation_arguments s) {
  typedef typename arithmetic<S>::real real;
  const int64_t n = s.count ? __ldg(s.count) * s.hidden : s.n;
  EACH_PIECE(piece, n / N) {
    const int64_t i = piece * N;
    floats<N> a = floats_load<N>((S *)s.a + i), b = floats_load<N>((S *)s.b + i), h;
#pragma unroll
    for (int l = 0; l < N; l++)
      h.x[l] = (float)(arithmetic<S>::template of<SILU>(a.x[l]).value * (real)b.x[l]);
    floats_store<N>((S *)s.h + i, h);
  }
}

/* From a, b and dh, h's gradient without the gate, to dL/da, dL/db and gate h. Returns h. */
template <class S, bool SILU>
static __device__ __forceinline__ typename arithmetic<S>::real
recompute_activation(float gate, float *a, float *b, float *h_gradient) {
  typedef typename arithmetic<S>::real real;
  const auto act = arithmetic<S>::template of<SILU>(*a);
  const real gradient = (real)gate * (real)*h_gradient, h = act.value * (real)*b;
  *a = (float)(gradient * (real)*b * act.derivative);
  *b = (float)(gradient * act.value);
  *h_gradient = (float)((real)gate * h);
  return h;
}

template <class S, int N, bool SILU>
static __global__ void __launch_bounds__(PIECE_THREADS)
    activate_backward_kernel(activation_arguments s) {
  typedef typename arithmetic<S>::real real;
  EACH_PIECE(piece, s.n / N) {
    const int64_t i = piece * N;
    floats<N> a = floats_load<N>((S *)s.a + i), b = floats_load<N>((S *)s.b + i);
    floats<N> dh = floats_load<N>((const S *)s.h_gradient + i);
#pragma unroll
    for (int l = 0; l < N; l++) {
      const auto act = arithmetic<S>::template of<SILU>(a.x[l]);
      const real gradient = (real)dh.x[l];
      a.x[l] = (float)(gradient * (real)b.x[l] * act.derivative);
      b.x[l] = (float)(gradient * act.value);
    }
    floats_store<N>((S *)s.a + i, a);
    floats_store<N>((S *)s.b + i, b);
  }
}

/* The same, and h in place of its gradient. */
template <class S, int N, bool SILU>
static __global__ void __launch_bounds__(PIECE_THREADS) recompute_kernel(activation_arguments s) {
  EACH_PIECE(piece, s.n / N) {
    const int64_t i = piece * N;
    floats<N> a = floats_load<N>((S *)s.a + i), b = floats_load<N>((S *)s.b + i);
    floats<N> h = floats_load<N>((S *)s.h + i);
#pragma unroll
    for (int l = 0; l < N; l++) recompute_activation<S, SILU>(1.0f, &a.x[l], &b.x[l], &h.x[l]);
    floats_store<N>((S *)s.a + i, a);
    floats_store<N>((S *)s.b + i, b);
    floats_store<N>((S *)s.h + i, h);
  }
}

/* Sixteen sums of a slot, which 64 / N threads hold, N / 4 each: of N neighbours that a thread
   loads at once four belong to a sum. */
enum { ROUTE_SUMS = 16, ROUTE_THREADS = 256, ROUTE_PER_MULTIPROCESSOR = 8 };

typedef struct route_arguments {
  int64_t hidden;
  void *a, *b, *h;
  phibal_cuda_routes routes;
} route_arguments;

/* N neighbours of a row, of which `left` are in it; WHOLE: all, and aligned. */
template <int N, bool WHOLE, class S>
static __device__ __forceinline__ floats<N> route_load(const S *p, int64_t left) {
  if constexpr (WHOLE) {
    return floats_load<N>(p);
  } else {
    floats<N> r;
#pragma unroll
    for (int l = 0; l < N; l++) r.x[l] = l < left ? widen(p[l]) : 0.0f;
    return r;
  }
}
template <int N, bool WHOLE, class S>
static __device__ __forceinline__ void route_store(S *p, floats<N> v, int64_t left) {
  if constexpr (WHOLE) {
    floats_store<N>(p, v);
  } else {
#pragma unroll
    for (int l = 0; l < N; l++)
      if (l < left) floats_store<1>(p + l, floats<1>{{v.x[l]}});
  }
}

template <class S, int N, bool WHOLE, bool SILU>
static __global__ void __launch_bounds__(ROUTE_THREADS) route_kernel(route_arguments r) {
  constexpr int OF_SLOT = 4 * ROUTE_SUMS / N, OF_BLOCK = ROUTE_THREADS / OF_SLOT;
  constexpr int OF_WARP = WARP / OF_SLOT;
  const int lane = (int)threadIdx.x % OF_SLOT;
  const int64_t slots = r.routes.tokens * r.routes.active;
  const int64_t stride = (int64_t)gridDim.x * OF_BLOCK;
  int64_t slot = (int64_t)blockIdx.x * OF_BLOCK + threadIdx.x / OF_SLOT;
  /* All of a warp make as many rounds. */
  for (int64_t first = slot - threadIdx.x / OF_SLOT % OF_WARP; first < slots;
       first += stride, slot += stride) {
    const int64_t n = slot >= slots ? -1 : r.routes.row ? __ldg(r.routes.row + slot) : slot;
    double sum[N / 4] = {};
    if (n >= 0) {
      const float gate = __ldg(r.routes.gates + slot);
      for (int64_t j = N * lane; j < r.hidden; j += N * OF_SLOT) {
        const int64_t at = n * r.hidden + j, left = r.hidden - j;
        floats<N> a = route_load<N, WHOLE>((S *)r.a + at, left);
        floats<N> b = route_load<N, WHOLE>((S *)r.b + at, left);
        floats<N> h = route_load<N, WHOLE>((S *)r.h + at, left);
#pragma unroll
        for (int l = 0; l < N; l++) {
          const double gradient = (double)h.x[l];
          const double made =
              (double)recompute_activation<S, SILU>(gate, &a.x[l], &b.x[l], &h.x[l]);
          sum[l / 4] = CORE_FMA(gradient, made, sum[l / 4]);
        }
        route_store<N, WHOLE>((S *)r.a + at, a, left);
        route_store<N, WHOLE>((S *)r.b + at, b, left);
        route_store<N, WHOLE>((S *)r.h + at, h, left);
      }
    }
    /* The tree: between threads, and at the end within one. */
#pragma unroll
    for (int s = OF_SLOT / 2; s >= 1; s /= 2)
#pragma unroll
      for (int l = 0; l < N / 4; l++) sum[l] += __shfl_xor_sync(ALL_LANES, sum[l], s, OF_SLOT);
    if (N == 8) sum[0] += sum[N / 4 - 1];
    if (lane == 0 && slot < slots) r.routes.gate_gradient[slot] = n < 0 ? 0.0f : (float)sum[0];
  }
}

typedef void activation_function(activation_arguments);

static phibal_status activation_check(const char *name, phibal_activation activation,
                                      phibal_rows type, int64_t n, bool null,
                                      const phibal_cuda *call) {
  if (activation != PHIBAL_ACTIVATION_SILU && activation != PHIBAL_ACTIVATION_GELU)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no activation %d", name, (int)activation);
  if (type != PHIBAL_ROWS_F32 && type != PHIBAL_ROWS_BF16)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no type %d of rows", name, (int)type);
  if (n < 0 || (n > 0 && null))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld elements, or a null array", name,
                             (long long)n);
  return call_check(name, call, 0);
}

/* By type, by 16 bytes where everything lies so, and by activation. */
#define BY_ACTIVATION(kernel, ...)                                                                 \
  { kernel<__VA_ARGS__, false>, kernel<__VA_ARGS__, true> }
#define BY_TYPE(kernel)                                                                            \
  {                                                                                                \
    {BY_ACTIVATION(kernel, float, 1), BY_ACTIVATION(kernel, float, 4)}, {                          \
      BY_ACTIVATION(kernel, bfloat16, 1), BY_ACTIVATION(kernel, bfloat16, 8)                       \
    }                                                                                              \
  }

static phibal_status activation_launch(const char *name,
                                       activation_function *const kernels[2][2][2],
                                       phibal_activation activation, phibal_rows type,
                                       activation_arguments s, bool null, const phibal_cuda *call) {
  phibal_status status = activation_check(name, activation, type, s.n, null, call);
  if (status != PHIBAL_OK || s.n == 0) return status;
  const int64_t of_piece = type == PHIBAL_ROWS_F32 ? 4 : 8;
  const bool whole = (s.count ? s.hidden : s.n) % of_piece == 0 && aligned16(s.a) &&
                     aligned16(s.b) && aligned16(s.h_gradient) && aligned16(s.h);
  return launch(name, kernels[type][whole][activation == PHIBAL_ACTIVATION_SILU],
                pieces_shape(call, whole ? s.n / of_piece : s.n), call, s);
}

static phibal_status activate(phibal_activation activation, phibal_rows type,
                              activation_arguments s, const phibal_cuda *call) {
  static activation_function *const kernels[2][2][2] = BY_TYPE(activate_kernel);
  return activation_launch("activation", kernels, activation, type, s, !s.a || !s.b || !s.h, call);
}

phibal_status phibal_cuda_activate(phibal_activation activation, phibal_rows type, int64_t n,
                                   const void *a, const void *b, void *h, const phibal_cuda *call) {
  return activate(activation, type, {n, nullptr, 0, (void *)a, (void *)b, nullptr, h}, call);
}

phibal_status phibal_cuda_activate_counted(phibal_activation activation, phibal_rows type,
                                           const int64_t *count, int64_t most, int64_t hidden,
                                           const void *a, const void *b, void *h,
                                           const phibal_cuda *call) {
  if (!count || hidden < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "activation: no count, or rows of %lld numbers",
                             (long long)hidden);
  return activate(activation, type,
                  {most * hidden, count, hidden, (void *)a, (void *)b, nullptr, h}, call);
}

phibal_status phibal_cuda_activate_backward(phibal_activation activation, phibal_rows type,
                                            int64_t n, void *a, void *b, const void *h_gradient,
                                            const phibal_cuda *call) {
  static activation_function *const kernels[2][2][2] = BY_TYPE(activate_backward_kernel);
  activation_arguments s = {n, nullptr, 0, a, b, h_gradient, nullptr};
  return activation_launch("activation backward", kernels, activation, type, s,
                           !a || !b || !h_gradient, call);
}

static phibal_status route_launch(phibal_activation activation, phibal_rows type, int64_t hidden,
                                  const phibal_cuda_routes *routes, void *a, void *b,
                                  void *h_gradient, const phibal_cuda *call) {
  static void (*const kernels[2][2][2])(route_arguments) = {
      {BY_ACTIVATION(route_kernel, float, 4, false), BY_ACTIVATION(route_kernel, float, 4, true)},
      {BY_ACTIVATION(route_kernel, bfloat16, 4, false),
       BY_ACTIVATION(route_kernel, bfloat16, 8, true)}};
  const int64_t slots = routes->tokens * routes->active, of_piece = type == PHIBAL_ROWS_F32 ? 4 : 8;
  const bool whole =
      hidden % of_piece == 0 && aligned16(a) && aligned16(b) && aligned16(h_gradient);
  const route_arguments r = {hidden, a, b, h_gradient, *routes};
  const int64_t of_block = ROUTE_THREADS / (4 * ROUTE_SUMS / (whole ? of_piece : 4));
  const launch_shape shape = {
      blocks_for(call, (slots + of_block - 1) / of_block, ROUTE_PER_MULTIPROCESSOR), ROUTE_THREADS,
      0, true};
  return launch("activation backward", kernels[type][whole][activation == PHIBAL_ACTIVATION_SILU],
                shape, call, r);
}

phibal_status phibal_cuda_activate_backward_recompute(
    phibal_activation activation, phibal_rows type, int64_t rows, int64_t hidden,
    const phibal_cuda_routes *routes, void *a, void *b, void *h_gradient, const phibal_cuda *call) {
  const char *name = "activation backward";
  static activation_function *const kernels[2][2][2] = BY_TYPE(recompute_kernel);
  const activation_arguments s = {rows * hidden, nullptr, 0, a, b, nullptr, h_gradient};
  const bool null = !a || !b || !h_gradient;
  if (!routes) return activation_launch(name, kernels, activation, type, s, null, call);
  phibal_status status = activation_check(name, activation, type, s.n, null, call);
  if (status != PHIBAL_OK || routes->tokens == 0) return status;
  if (hidden < 1 || routes->tokens < 0 || routes->active < 1 || !routes->gates ||
      !routes->gate_gradient)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: rows of %lld numbers, %lld tokens, %d active, or a null array",
                             name, (long long)hidden, (long long)routes->tokens, routes->active);
  return route_launch(activation, type, hidden, routes, a, b, h_gradient, call);
}

/* h = act(a) b of the gated FFN and its gradients (E2), (E3), element by element: rows in binary32
   with the CPU's operations in binary64 and its bits, rows in bfloat16 in binary32 (E2n), rounded
   once more.

   Bytes of an element: 12 forward, 20 backward, half of it in bfloat16; about 25 and 30 operations.
   Not measured yet.

   Backward where h was not kept, and with the gates: 24 of an element, half of it in bfloat16, and
   16 of a slot. gate_gradient is summed in binary64, half a warp a slot: lane l of 16 adds the
   products of elements 4 (l + 16 i) .. 4 (l + 16 i) + 3 for i = 0, 1, ..., one fma each, and the
   lanes' sums are added in a tree of neighbours at distance 8, 4, 2, 1. */
#include "kernels/core/activation.h"
#include "kernels/core/activation32.h"
#include "trainer.h"
#include "vector.h"

typedef struct activation_arguments {
  bool silu;
  int64_t n;
  const int64_t *count; /* null, or on the device: so many rows of `hidden` numbers instead */
  int64_t hidden;
  void *a, *b;
  const void *h_gradient;
  void *h;
} activation_arguments;

/* Rows of binary32 in binary64, and rows of bfloat16 in binary32 (E2n). */
template <class S> struct arithmetic {
  typedef double real;
  static __device__ __forceinline__ core_activation of(bool silu, float x) {
    return silu ? core_silu64((double)x) : core_gelu64((double)x);
  }
};
template <> struct arithmetic<bfloat16> {
  typedef float real;
  static __device__ __forceinline__ core_activation32 of(bool silu, float x) {
    return silu ? core_silu32(x) : core_gelu32(x);
  }
};

template <class S, int N>
static __global__ void __launch_bounds__(PIECE_THREADS) activate_kernel(activation_arguments s) {
  typedef typename arithmetic<S>::real real;
  const int64_t n = s.count ? __ldg(s.count) * s.hidden : s.n;
  EACH_PIECE(piece, n / N) {
    const int64_t i = piece * N;
    floats<N> a = floats_load<N>((S *)s.a + i), b = floats_load<N>((S *)s.b + i), h;
#pragma unroll
    for (int l = 0; l < N; l++)
      h.x[l] = (float)(arithmetic<S>::of(s.silu, a.x[l]).value * (real)b.x[l]);
    floats_store<N>((S *)s.h + i, h);
  }
}

/* From a, b and dh, h's gradient without the gate, to dL/da, dL/db and gate h. Returns h. */
template <class S>
static __device__ __forceinline__ typename arithmetic<S>::real
recompute_activation(bool silu, float gate, float *a, float *b, float *h_gradient) {
  typedef typename arithmetic<S>::real real;
  const auto act = arithmetic<S>::of(silu, *a);
  const real gradient = (real)gate * (real)*h_gradient, h = act.value * (real)*b;
  *a = (float)(gradient * (real)*b * act.derivative);
  *b = (float)(gradient * act.value);
  *h_gradient = (float)((real)gate * h);
  return h;
}

template <class S, int N>
static __global__ void __launch_bounds__(PIECE_THREADS)
    activate_backward_kernel(activation_arguments s) {
  typedef typename arithmetic<S>::real real;
  EACH_PIECE(piece, s.n / N) {
    const int64_t i = piece * N;
    floats<N> a = floats_load<N>((S *)s.a + i), b = floats_load<N>((S *)s.b + i);
    floats<N> dh = floats_load<N>((const S *)s.h_gradient + i);
#pragma unroll
    for (int l = 0; l < N; l++) {
      const auto act = arithmetic<S>::of(s.silu, a.x[l]);
      const real gradient = (real)dh.x[l];
      a.x[l] = (float)(gradient * (real)b.x[l] * act.derivative);
      b.x[l] = (float)(gradient * act.value);
    }
    floats_store<N>((S *)s.a + i, a);
    floats_store<N>((S *)s.b + i, b);
  }
}

/* The same, and h in place of its gradient. */
template <class S, int N>
static __global__ void __launch_bounds__(PIECE_THREADS) recompute_kernel(activation_arguments s) {
  EACH_PIECE(piece, s.n / N) {
    const int64_t i = piece * N;
    floats<N> a = floats_load<N>((S *)s.a + i), b = floats_load<N>((S *)s.b + i);
    floats<N> h = floats_load<N>((S *)s.h + i);
#pragma unroll
    for (int l = 0; l < N; l++) recompute_activation<S>(s.silu, 1.0f, &a.x[l], &b.x[l], &h.x[l]);
    floats_store<N>((S *)s.a + i, a);
    floats_store<N>((S *)s.b + i, b);
    floats_store<N>((S *)s.h + i, h);
  }
}

enum { ROUTE_LANES = 16, ROUTE_THREADS = 256, ROUTE_PER_MULTIPROCESSOR = 8 };

typedef struct route_arguments {
  bool silu;
  int64_t hidden;
  void *a, *b, *h;
  phibal_cuda_routes routes;
} route_arguments;

/* Four neighbours of a row, of which `left` are in it; FOUR: all, and aligned. */
template <bool FOUR, class S>
static __device__ __forceinline__ floats<4> route_load(const S *p, int64_t left) {
  if constexpr (FOUR) {
    return floats_load<4>(p);
  } else {
    floats<4> r;
#pragma unroll
    for (int l = 0; l < 4; l++) r.x[l] = l < left ? widen(p[l]) : 0.0f;
    return r;
  }
}
template <bool FOUR, class S>
static __device__ __forceinline__ void route_store(S *p, floats<4> v, int64_t left) {
  if constexpr (FOUR) {
    floats_store<4>(p, v);
  } else {
#pragma unroll
    for (int l = 0; l < 4; l++)
      if (l < left) floats_store<1>(p + l, floats<1>{{v.x[l]}});
  }
}

template <class S, bool FOUR>
static __global__ void __launch_bounds__(ROUTE_THREADS) route_kernel(route_arguments r) {
  const int lane = (int)threadIdx.x % ROUTE_LANES;
  const int64_t slots = r.routes.tokens * r.routes.active, half_warps = ROUTE_THREADS / ROUTE_LANES;
  const int64_t stride = (int64_t)gridDim.x * half_warps;
  int64_t slot = (int64_t)blockIdx.x * half_warps + threadIdx.x / ROUTE_LANES;
  /* Both halves of a warp make as many rounds. */
  for (int64_t first = slot - (threadIdx.x / ROUTE_LANES) % 2; first < slots;
       first += stride, slot += stride) {
    const int64_t n = slot >= slots ? -1 : r.routes.row ? __ldg(r.routes.row + slot) : slot;
    double sum = 0.0;
    if (n >= 0) {
      const float gate = __ldg(r.routes.gates + slot);
      for (int64_t j = 4 * lane; j < r.hidden; j += 4 * ROUTE_LANES) {
        const int64_t at = n * r.hidden + j, left = r.hidden - j;
        floats<4> a = route_load<FOUR>((S *)r.a + at, left);
        floats<4> b = route_load<FOUR>((S *)r.b + at, left);
        floats<4> h = route_load<FOUR>((S *)r.h + at, left);
#pragma unroll
        for (int l = 0; l < 4; l++) {
          const double gradient = (double)h.x[l];
          const double made =
              (double)recompute_activation<S>(r.silu, gate, &a.x[l], &b.x[l], &h.x[l]);
          sum = CORE_FMA(gradient, made, sum);
        }
        route_store<FOUR>((S *)r.a + at, a, left);
        route_store<FOUR>((S *)r.b + at, b, left);
        route_store<FOUR>((S *)r.h + at, h, left);
      }
    }
#pragma unroll
    for (int s = ROUTE_LANES / 2; s >= 1; s /= 2)
      sum += __shfl_xor_sync(ALL_LANES, sum, s, ROUTE_LANES);
    if (lane == 0 && slot < slots) r.routes.gate_gradient[slot] = n < 0 ? 0.0f : (float)sum;
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

/* By type, and by four where everything lies so. */
static phibal_status activation_launch(const char *name, activation_function *const kernels[2][2],
                                       phibal_activation activation, phibal_rows type,
                                       activation_arguments s, bool null, const phibal_cuda *call) {
  phibal_status status = activation_check(name, activation, type, s.n, null, call);
  if (status != PHIBAL_OK || s.n == 0) return status;
  s.silu = activation == PHIBAL_ACTIVATION_SILU;
  const bool four = (s.count ? s.hidden : s.n) % 4 == 0 && aligned16(s.a) && aligned16(s.b) &&
                    aligned16(s.h_gradient) && aligned16(s.h);
  return launch(name, kernels[type][four], pieces_shape(call, four ? s.n / 4 : s.n), call, s);
}

static phibal_status activate(phibal_activation activation, phibal_rows type,
                              activation_arguments s, const phibal_cuda *call) {
  static activation_function *const kernels[2][2] = {
      {activate_kernel<float, 1>, activate_kernel<float, 4>},
      {activate_kernel<bfloat16, 1>, activate_kernel<bfloat16, 4>}};
  return activation_launch("activation", kernels, activation, type, s, !s.a || !s.b || !s.h, call);
}

phibal_status phibal_cuda_activate(phibal_activation activation, phibal_rows type, int64_t n,
                                   const void *a, const void *b, void *h, const phibal_cuda *call) {
  return activate(activation, type, {false, n, nullptr, 0, (void *)a, (void *)b, nullptr, h}, call);
}

phibal_status phibal_cuda_activate_counted(phibal_activation activation, phibal_rows type,
                                           const int64_t *count, int64_t most, int64_t hidden,
                                           const void *a, const void *b, void *h,
                                           const phibal_cuda *call) {
  if (!count || hidden < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "activation: no count, or rows of %lld numbers",
                             (long long)hidden);
  return activate(activation, type,
                  {false, most * hidden, count, hidden, (void *)a, (void *)b, nullptr, h}, call);
}

phibal_status phibal_cuda_activate_backward(phibal_activation activation, phibal_rows type,
                                            int64_t n, void *a, void *b, const void *h_gradient,
                                            const phibal_cuda *call) {
  static activation_function *const kernels[2][2] = {
      {activate_backward_kernel<float, 1>, activate_backward_kernel<float, 4>},
      {activate_backward_kernel<bfloat16, 1>, activate_backward_kernel<bfloat16, 4>}};
  activation_arguments s = {false, n, nullptr, 0, a, b, h_gradient, nullptr};
  return activation_launch("activation backward", kernels, activation, type, s,
                           !a || !b || !h_gradient, call);
}

static phibal_status route_launch(phibal_activation activation, phibal_rows type, int64_t hidden,
                                  const phibal_cuda_routes *routes, void *a, void *b,
                                  void *h_gradient, const phibal_cuda *call) {
  static void (*const kernels[2][2])(route_arguments) = {
      {route_kernel<float, false>, route_kernel<float, true>},
      {route_kernel<bfloat16, false>, route_kernel<bfloat16, true>}};
  const int64_t slots = routes->tokens * routes->active, of_block = ROUTE_THREADS / ROUTE_LANES;
  const bool four = hidden % 4 == 0 && aligned16(a) && aligned16(b) && aligned16(h_gradient);
  const route_arguments r = {
      activation == PHIBAL_ACTIVATION_SILU, hidden, a, b, h_gradient, *routes};
  const launch_shape shape = {
      blocks_for(call, (slots + of_block - 1) / of_block, ROUTE_PER_MULTIPROCESSOR), ROUTE_THREADS,
      0, true};
  return launch("activation backward", kernels[type][four], shape, call, r);
}

phibal_status phibal_cuda_activate_backward_recompute(
    phibal_activation activation, phibal_rows type, int64_t rows, int64_t hidden,
    const phibal_cuda_routes *routes, void *a, void *b, void *h_gradient, const phibal_cuda *call) {
  const char *name = "activation backward";
  static activation_function *const kernels[2][2] = {
      {recompute_kernel<float, 1>, recompute_kernel<float, 4>},
      {recompute_kernel<bfloat16, 1>, recompute_kernel<bfloat16, 4>}};
  const activation_arguments s = {false, rows * hidden, nullptr, 0, a, b, nullptr, h_gradient};
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

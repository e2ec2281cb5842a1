/* h = act(a) b of the gated FFN and its gradients (E2), (E3), element by element, with the CPU's
   operations in binary64 and its bits; rows in bfloat16 are rounded once more.

   Bytes of an element: 12 forward, 20 backward, half of it in bfloat16; about 25 and 30 binary64
   operations. Not measured yet. */
#include "../core/activation.h"
#include "vector.h"

typedef struct activation_arguments {
  bool silu;
  int64_t n;
  void *a, *b;
  const void *h_gradient;
  void *h;
} activation_arguments;

static __device__ __forceinline__ core_activation activation_of(bool silu, float x) {
  return silu ? core_silu64((double)x) : core_gelu64((double)x);
}

template <class S, int N>
static __global__ void __launch_bounds__(PIECE_THREADS) activate_kernel(activation_arguments s) {
  EACH_PIECE(piece, s.n / N) {
    const int64_t i = piece * N;
    floats<N> a = floats_load<N>((S *)s.a + i), b = floats_load<N>((S *)s.b + i), h;
#pragma unroll
    for (int l = 0; l < N; l++)
      h.x[l] = (float)(activation_of(s.silu, a.x[l]).value * (double)b.x[l]);
    floats_store<N>((S *)s.h + i, h);
  }
}

template <class S, int N>
static __global__ void __launch_bounds__(PIECE_THREADS)
    activate_backward_kernel(activation_arguments s) {
  EACH_PIECE(piece, s.n / N) {
    const int64_t i = piece * N;
    floats<N> a = floats_load<N>((S *)s.a + i), b = floats_load<N>((S *)s.b + i);
    floats<N> dh = floats_load<N>((const S *)s.h_gradient + i);
#pragma unroll
    for (int l = 0; l < N; l++) {
      core_activation act = activation_of(s.silu, a.x[l]);
      double gradient = (double)dh.x[l];
      a.x[l] = (float)(gradient * (double)b.x[l] * act.derivative);
      b.x[l] = (float)(gradient * act.value);
    }
    floats_store<N>((S *)s.a + i, a);
    floats_store<N>((S *)s.b + i, b);
  }
}

typedef void activation_function(activation_arguments);

/* By type, and by four where everything lies so. */
static phibal_status activation_launch(const char *name, activation_function *const kernels[2][2],
                                       phibal_activation activation, phibal_rows type,
                                       activation_arguments s, bool null, const phibal_cuda *call) {
  if (activation != PHIBAL_ACTIVATION_SILU && activation != PHIBAL_ACTIVATION_GELU)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no activation %d", name, (int)activation);
  if (type != PHIBAL_ROWS_F32 && type != PHIBAL_ROWS_BF16)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no type %d of rows", name, (int)type);
  if (s.n < 0 || (s.n > 0 && null))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld elements, or a null array", name,
                             (long long)s.n);
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK || s.n == 0) return status;
  s.silu = activation == PHIBAL_ACTIVATION_SILU;
  const bool four =
      s.n % 4 == 0 && aligned16(s.a) && aligned16(s.b) && aligned16(s.h_gradient) && aligned16(s.h);
  return launch(name, kernels[type][four], pieces_shape(call, four ? s.n / 4 : s.n), call, s);
}

phibal_status phibal_cuda_activate(phibal_activation activation, phibal_rows type, int64_t n,
                                   const void *a, const void *b, void *h, const phibal_cuda *call) {
  static activation_function *const kernels[2][2] = {
      {activate_kernel<float, 1>, activate_kernel<float, 4>},
      {activate_kernel<bfloat16, 1>, activate_kernel<bfloat16, 4>}};
  activation_arguments s = {false, n, (void *)a, (void *)b, nullptr, h};
  return activation_launch("activation", kernels, activation, type, s, !a || !b || !h, call);
}

phibal_status phibal_cuda_activate_backward(phibal_activation activation, phibal_rows type,
                                            int64_t n, void *a, void *b, const void *h_gradient,
                                            const phibal_cuda *call) {
  static activation_function *const kernels[2][2] = {
      {activate_backward_kernel<float, 1>, activate_backward_kernel<float, 4>},
      {activate_backward_kernel<bfloat16, 1>, activate_backward_kernel<bfloat16, 4>}};
  activation_arguments s = {false, n, a, b, h_gradient, nullptr};
  return activation_launch("activation backward", kernels, activation, type, s,
                           !a || !b || !h_gradient, call);
}

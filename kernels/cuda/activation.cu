/* h = act(a) b of the gated FFN and its gradients (E2), (E3), element by element, with the CPU's
   operations in binary64 and its bits.

   Bytes of an element: 12 forward, 20 backward; about 25 and 30 binary64 operations. Not measured
   yet. */
#include "../core/activation.h"
#include "vector.h"

enum { ACTIVATION_THREADS = 256, ACTIVATION_PER_MULTIPROCESSOR = 8 };

typedef struct activation_arguments {
  bool silu;
  int64_t n;
  float *a, *b;
  const float *h_gradient;
  float *h;
} activation_arguments;

static __device__ __forceinline__ core_activation activation_of(bool silu, float x) {
  return silu ? core_silu64((double)x) : core_gelu64((double)x);
}

#define EACH_PIECE(i, N, n)                                                                        \
  for (int64_t i = ((int64_t)blockIdx.x * ACTIVATION_THREADS + threadIdx.x) * (N); i < (n);        \
       i += (int64_t)gridDim.x * ACTIVATION_THREADS * (N))

template <int N>
static __global__ void __launch_bounds__(ACTIVATION_THREADS)
    activate_kernel(activation_arguments s) {
  EACH_PIECE(i, N, s.n) {
    floats<N> a = floats_load<N>(s.a + i), b = floats_load<N>(s.b + i), h;
#pragma unroll
    for (int l = 0; l < N; l++)
      h.x[l] = (float)(activation_of(s.silu, a.x[l]).value * (double)b.x[l]);
    floats_store<N>(s.h + i, h);
  }
}

template <int N>
static __global__ void __launch_bounds__(ACTIVATION_THREADS)
    activate_backward_kernel(activation_arguments s) {
  EACH_PIECE(i, N, s.n) {
    floats<N> a = floats_load<N>(s.a + i), b = floats_load<N>(s.b + i);
    floats<N> dh = floats_load<N>(s.h_gradient + i);
#pragma unroll
    for (int l = 0; l < N; l++) {
      core_activation act = activation_of(s.silu, a.x[l]);
      double gradient = (double)dh.x[l];
      a.x[l] = (float)(gradient * (double)b.x[l] * act.derivative);
      b.x[l] = (float)(gradient * act.value);
    }
    floats_store<N>(s.a + i, a);
    floats_store<N>(s.b + i, b);
  }
}

typedef void activation_function(activation_arguments);

static phibal_status activation_launch(const char *name, activation_function *by_four,
                                       activation_function *by_one, phibal_activation activation,
                                       const activation_arguments &s, bool four,
                                       const phibal_cuda *call) {
  if (activation != PHIBAL_ACTIVATION_SILU && activation != PHIBAL_ACTIVATION_GELU)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no activation %d", name, (int)activation);
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK || s.n == 0) return status;
  int64_t of_block = ACTIVATION_THREADS * (four ? 4 : 1);
  launch_shape shape = {
      blocks_for(call, (s.n + of_block - 1) / of_block, ACTIVATION_PER_MULTIPROCESSOR),
      ACTIVATION_THREADS, 0};
  return launch(name, four ? by_four : by_one, shape, call, s);
}

phibal_status phibal_cuda_activate(phibal_activation activation, int64_t n, const float *a,
                                   const float *b, float *h, const phibal_cuda *call) {
  const char *name = "activation";
  if (n < 0 || (n > 0 && (!a || !b || !h)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld elements, or a null array", name,
                             (long long)n);
  activation_arguments s = {
      activation == PHIBAL_ACTIVATION_SILU, n, (float *)a, (float *)b, nullptr, h};
  bool four = n % 4 == 0 && aligned16(a) && aligned16(b) && aligned16(h);
  return activation_launch(name, activate_kernel<4>, activate_kernel<1>, activation, s, four, call);
}

phibal_status phibal_cuda_activate_backward(phibal_activation activation, int64_t n, float *a,
                                            float *b, const float *h_gradient,
                                            const phibal_cuda *call) {
  const char *name = "activation backward";
  if (n < 0 || (n > 0 && (!a || !b || !h_gradient)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld elements, or a null array", name,
                             (long long)n);
  activation_arguments s = {activation == PHIBAL_ACTIVATION_SILU, n, a, b, h_gradient, nullptr};
  bool four = n % 4 == 0 && aligned16(a) && aligned16(b) && aligned16(h_gradient);
  return activation_launch(name, activate_backward_kernel<4>, activate_backward_kernel<1>,
                           activation, s, four, call);
}

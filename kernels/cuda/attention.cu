/* Causal attention in binary32 by the library's products, for each sequence: with Q, K, V the
   heads' rows and P the probabilities, S = Q K^T, P = softmax(S / sqrt(n)) over j <= i, O = P V; dP
   = dO V^T, dS = P (dP - sum_j P dP) / sqrt(n), dQ = dS K, dK = dS^T Q, dV = P^T dO. A warp has a
   row of scores; sums of it are binary64, in one order.

   Products are of whole squares: twice the FLOPs that the triangle needs, and S^2 memory for one
   sequence's heads. That is for the trainer's binary32 mode, which no fused attention of cuDNN has.
   Not measured yet. */
#include "../core/exp64.h"
#include "products.h"
#include "trainer.h"

#include <cmath>

enum { ATTENTION_THREADS = 128, ATTENTION_PER_MULTIPROCESSOR = 16 };

/* Operand i of product e lies at base[i] + e / divide[i] step[i]. */
typedef struct head_pointers {
  int32_t count;
  const float *base[3];
  int64_t step[3];
  int32_t divide[3];
  const float **pointers; /* [3][count] */
} head_pointers;

static __global__ void head_pointers_kernel(head_pointers a) {
  for (int e = (int)threadIdx.x; e < a.count; e += (int)blockDim.x)
    for (int i = 0; i < 3; i++)
      a.pointers[i * a.count + e] = a.base[i] + e / a.divide[i] * a.step[i];
}

typedef struct score_arguments {
  int64_t rows, sequence; /* rows: of all heads */
  double scale;
  float *scores, *gradient;
} score_arguments;

static __device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int s = WARP / 2; s >= 1; s /= 2) x += __shfl_xor_sync(ALL_LANES, x, s);
  return x;
}

#define EACH_ROW(row, a)                                                                           \
  for (int64_t row = ((int64_t)blockIdx.x * ATTENTION_THREADS + threadIdx.x) / WARP;               \
       row < (a).rows; row += (int64_t)gridDim.x * (ATTENTION_THREADS / WARP))

static __global__ void __launch_bounds__(ATTENTION_THREADS) softmax_kernel(score_arguments a) {
  const int lane = (int)threadIdx.x % WARP;
  EACH_ROW(row, a) {
    float *s = a.scores + row * a.sequence;
    const int64_t n = row % a.sequence + 1;
    float largest = -3.402823466e38f;
    for (int64_t j = lane; j < n; j += WARP) largest = s[j] > largest ? s[j] : largest;
#pragma unroll
    for (int w = WARP / 2; w >= 1; w /= 2) {
      const float other = __shfl_xor_sync(ALL_LANES, largest, w);
      largest = other > largest ? other : largest;
    }
    double sum = 0.0;
    for (int64_t j = lane; j < n; j += WARP)
      sum += core_exp64(((double)s[j] - (double)largest) * a.scale);
    sum = warp_sum(sum);
    for (int64_t j = lane; j < a.sequence; j += WARP)
      s[j] = j < n ? (float)(core_exp64(((double)s[j] - (double)largest) * a.scale) / sum) : 0.0f;
  }
}

static __global__ void __launch_bounds__(ATTENTION_THREADS)
    softmax_backward_kernel(score_arguments a) {
  const int lane = (int)threadIdx.x % WARP;
  EACH_ROW(row, a) {
    const float *p = a.scores + row * a.sequence;
    float *g = a.gradient + row * a.sequence;
    const int64_t n = row % a.sequence + 1;
    double along = 0.0;
    for (int64_t j = lane; j < n; j += WARP) along += (double)p[j] * (double)g[j];
    along = warp_sum(along);
    for (int64_t j = lane; j < a.sequence; j += WARP)
      g[j] = j < n ? (float)((double)p[j] * ((double)g[j] - along) * a.scale) : 0.0f;
  }
}

typedef struct attention {
  const char *name;
  const phibal_cuda_attention *shape;
  const phibal_cuda *call;
  int64_t length, n, group, stride, out_stride; /* numbers in a row of qkv, and of out */
  int64_t keys, values;                         /* where the first head of each starts */
  float *scores, *gradient;                     /* [heads][S][S] */
  const float **pointers;
} attention;

static int64_t pointer_bytes(const phibal_cuda_attention *shape) {
  return (3 * (int64_t)sizeof(void *) * shape->heads + 255) / 256 * 256;
}

size_t phibal_cuda_attention_workspace(const phibal_cuda_attention *shape) {
  if (!shape || shape->batch < 1) return 0;
  const int64_t square = (int64_t)shape->sequence * shape->sequence;
  return (size_t)(pointer_bytes(shape) + 2 * shape->heads * square * (int64_t)sizeof(float));
}

static phibal_status attention_create(const char *name, const phibal_cuda_attention *shape,
                                      bool null, const phibal_cuda *call, attention *at) {
  if (!shape || shape->batch < 0 || shape->sequence < 1 || shape->key_value_heads < 1 ||
      shape->head_width < 1 || shape->heads < 1 || shape->heads > PHIBAL_MAX_EXPERTS ||
      shape->heads % shape->key_value_heads || null)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: a null array, or a shape that is no grouped heads, at most %d "
                             "of them",
                             name, PHIBAL_MAX_EXPERTS);
  phibal_status status = products_check(name, call, phibal_cuda_attention_workspace(shape));
  if (status != PHIBAL_OK) return status;
  *at = {};
  at->name = name;
  at->shape = shape;
  at->call = call;
  at->length = shape->sequence;
  at->n = shape->head_width;
  at->group = shape->heads / shape->key_value_heads;
  at->keys = shape->heads * at->n;
  at->values = at->keys + shape->key_value_heads * at->n;
  at->stride = at->values + shape->key_value_heads * at->n;
  at->out_stride = at->keys;
  at->pointers = (const float **)call->workspace;
  if (shape->batch > 0) {
    at->scores = (float *)((unsigned char *)call->workspace + pointer_bytes(shape));
    at->gradient = at->scores + shape->heads * at->length * at->length;
  }
  return PHIBAL_OK;
}

/* `count` products of one shape, C = op(A) op(B) + beta C in columns. */
static phibal_status multiply(const attention &at, const library_product &p, head_pointers h,
                              float beta) {
  library_product each[PHIBAL_MAX_EXPERTS];
  for (int32_t i = 0; i < h.count; i++) each[i] = p;
  h.pointers = at.pointers;
  launch_shape one = {1, (h.count + WARP - 1) / WARP * WARP, 0};
  phibal_status status = launch(at.name, head_pointers_kernel, one, at.call, h);
  if (status != PHIBAL_OK) return status;
  return library_grouped(at.name, h.count, each, {PHIBAL_ROWS_F32, PHIBAL_ROWS_F32, beta},
                         (const void *const *)at.pointers,
                         (const void *const *)(at.pointers + h.count),
                         (void *const *)(at.pointers + 2 * h.count), at.call);
}

/* to [head][i][j] = <rows i of the head, rows j of its key or value head>. */
static phibal_status multiply_rows(const attention &at, const float *rows, int64_t rows_stride,
                                   const float *with, float *to) {
  const int64_t square = at.length * at.length;
  const library_product p = {true, false,     at.length,   at.length,
                             at.n, at.stride, rows_stride, at.length};
  return multiply(
      at, p,
      {at.shape->heads, {with, rows, to}, {at.n, at.n, square}, {(int32_t)at.group, 1, 1}, nullptr},
      0.0f);
}

/* to [head's rows] = squares times the rows of its key or value head. */
static phibal_status multiply_square(const attention &at, const float *square, const float *with,
                                     float *to, int64_t to_stride) {
  const library_product p = {false,     false,     at.n,      at.length,
                             at.length, at.stride, at.length, to_stride};
  return multiply(at, p,
                  {at.shape->heads,
                   {with, square, to},
                   {at.n, at.length * at.length, at.n},
                   {(int32_t)at.group, 1, 1},
                   nullptr},
                  0.0f);
}

/* to [key or value head's rows] = sum over its heads of squares^T times their rows, head by head.
 */
static phibal_status multiply_transposed(const attention &at, const float *square,
                                         const float *rows, int64_t rows_stride, float *to) {
  const int64_t size = at.length * at.length;
  const library_product p = {false,     true,        at.n,      at.length,
                             at.length, rows_stride, at.length, at.stride};
  phibal_status status = PHIBAL_OK;
  for (int64_t g = 0; g < at.group && status == PHIBAL_OK; g++)
    status = multiply(at, p,
                      {at.shape->key_value_heads,
                       {rows + g * at.n, square + g * size, to},
                       {at.group * at.n, at.group * size, at.n},
                       {1, 1, 1},
                       nullptr},
                      g > 0 ? 1.0f : 0.0f);
  return status;
}

static phibal_status softmax(const attention &at, void (*kernel)(score_arguments)) {
  score_arguments a = {at.shape->heads * at.length, at.length, 1.0 / std::sqrt((double)at.n),
                       at.scores, at.gradient};
  const int64_t of_block = ATTENTION_THREADS / WARP;
  launch_shape shape = {
      blocks_for(at.call, (a.rows + of_block - 1) / of_block, ATTENTION_PER_MULTIPROCESSOR),
      ATTENTION_THREADS, 0};
  return launch(at.name, kernel, shape, at.call, a);
}

phibal_status phibal_cuda_attention_forward(const phibal_cuda_attention *shape, const float *qkv,
                                            float *out, const phibal_cuda *call) {
  attention at;
  phibal_status status = attention_create("attention", shape, !qkv || !out, call, &at);
  for (int64_t b = 0; status == PHIBAL_OK && b < shape->batch; b++) {
    const float *q = qkv + b * at.length * at.stride;
    float *o = out + b * at.length * at.out_stride;
    status = multiply_rows(at, q, at.stride, q + at.keys, at.scores);
    if (status == PHIBAL_OK) status = softmax(at, softmax_kernel);
    if (status == PHIBAL_OK)
      status = multiply_square(at, at.scores, q + at.values, o, at.out_stride);
  }
  return status;
}

phibal_status phibal_cuda_attention_backward(const phibal_cuda_attention *shape, const float *qkv,
                                             const float *out_gradient, float *qkv_gradient,
                                             const phibal_cuda *call) {
  attention at;
  phibal_status status = attention_create("attention backward", shape,
                                          !qkv || !out_gradient || !qkv_gradient, call, &at);
  for (int64_t b = 0; status == PHIBAL_OK && b < shape->batch; b++) {
    const float *q = qkv + b * at.length * at.stride;
    const float *dout = out_gradient + b * at.length * at.out_stride;
    float *dq = qkv_gradient + b * at.length * at.stride;
    status = multiply_rows(at, q, at.stride, q + at.keys, at.scores);
    if (status == PHIBAL_OK) status = softmax(at, softmax_kernel);
    if (status == PHIBAL_OK)
      status = multiply_rows(at, dout, at.out_stride, q + at.values, at.gradient);
    if (status == PHIBAL_OK) /* before P's gradient becomes that of the scores */
      status = multiply_transposed(at, at.scores, dout, at.out_stride, dq + at.values);
    if (status == PHIBAL_OK) status = softmax(at, softmax_backward_kernel);
    if (status == PHIBAL_OK) status = multiply_square(at, at.gradient, q + at.keys, dq, at.stride);
    if (status == PHIBAL_OK)
      status = multiply_transposed(at, at.gradient, q, at.stride, dq + at.keys);
  }
  return status;
}

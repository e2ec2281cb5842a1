/* Causal attention by the library's products, for each sequence: with Q, K, V the heads' rows and P
   the probabilities, S = Q K^T, P = softmax(S / sqrt(n)) over start_i <= j <= i, O = P V; dP = dO
   V^T, dS = P (dP - sum_j P dP) / sqrt(n), dQ = dS K, dK = dS^T Q, dV = P^T dO. A warp has a row of
   scores; sums of it are binary64, in one order.

   S, P and dP are binary32. In bfloat16, P and dS are rounded to it where they are multiplied, and
   lie in the first half of the row that they were in; dK and dV are added up in binary32 over the
   heads of a group.

   Products are of whole squares: twice the FLOPs that the triangle needs, and S^2 memory for one
   sequence's heads. That is for the trainer's binary32 mode, which no fused attention of cuDNN has,
   and for bfloat16 where cuDNN has no plan (attention_library.h). On an H200 a twentieth
   of cuDNN's speed (bench/RESULTS.md). */
#include "kernels/core/exp64.h"
#include "kernels/core/log64.h"
#include "attention_library.h"
#include "products.h"
#include "vector.h"

#include <cmath>

enum { ATTENTION_THREADS = 128, ATTENTION_PER_MULTIPROCESSOR = 16 };

/* Operand i of product e lies at base[i] + e / divide[i] step[i]; steps in bytes. */
typedef struct head_pointers {
  int32_t count;
  const void *base[3];
  int64_t step[3];
  int32_t divide[3];
  const void **pointers; /* [3][count] */
} head_pointers;

static __global__ void head_pointers_kernel(head_pointers a) {
  for (int e = (int)threadIdx.x; e < a.count; e += (int)blockDim.x)
    for (int i = 0; i < 3; i++)
      a.pointers[i * a.count + e] = (const unsigned char *)a.base[i] + e / a.divide[i] * a.step[i];
}

typedef struct score_arguments {
  int64_t rows, sequence; /* rows: of all heads */
  double scale;
  float *scores, *gradient;
  float *logsumexp;      /* [rows], or null */
  const int32_t *starts; /* [sequence], or null */
} score_arguments;

static __device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int s = WARP / 2; s >= 1; s /= 2) x += __shfl_xor_sync(ALL_LANES, x, s);
  return x;
}

static __device__ __forceinline__ void narrow(float *p, float x) {
  *p = x;
}
static __device__ __forceinline__ void narrow(bfloat16 *p, float x) {
  p->bits = bfloat16_bits(x);
}

#define EACH_ROW(row, a) EACH_OF_WARP(row, (a).rows, ATTENTION_THREADS)

/* The first column that a row sees. */
static __device__ __forceinline__ int64_t start_of(const score_arguments &a, int64_t row) {
  return a.starts ? a.starts[row % a.sequence] : 0;
}

/* The columns of a row, 32 at a time: all lanes have read theirs before one writes narrower numbers
   over them, which end where those begin that are still to be read. */
#define EACH_COLUMN(j, lane, a) for (int64_t j = lane; j - lane < (a).sequence; j += WARP)

template <class T>
static __global__ void __launch_bounds__(ATTENTION_THREADS) softmax_kernel(score_arguments a) {
  const int lane = (int)threadIdx.x % WARP;
  EACH_ROW(row, a) {
    float *s = a.scores + row * a.sequence;
    T *p = (T *)s;
    const int64_t start = start_of(a, row), n = row % a.sequence + 1;
    float largest = -3.402823466e38f;
    for (int64_t j = start + lane; j < n; j += WARP) largest = s[j] > largest ? s[j] : largest;
#pragma unroll
    for (int w = WARP / 2; w >= 1; w /= 2) {
      const float other = __shfl_xor_sync(ALL_LANES, largest, w);
      largest = other > largest ? other : largest;
    }
    double sum = 0.0;
    for (int64_t j = start + lane; j < n; j += WARP)
      sum += core_exp64(((double)s[j] - (double)largest) * a.scale);
    sum = warp_sum(sum);
    if (a.logsumexp && lane == 0)
      a.logsumexp[row] = (float)((double)largest * a.scale + core_log64(sum));
    EACH_COLUMN(j, lane, a) {
      const float x = j >= start && j < n
                          ? (float)(core_exp64(((double)s[j] - (double)largest) * a.scale) / sum)
                          : 0.0f;
      __syncwarp();
      if (j < a.sequence) narrow(p + j, x);
    }
  }
}

/* P's gradient becomes that of the scores, and P what dV takes. */
template <class T>
static __global__ void __launch_bounds__(ATTENTION_THREADS)
    softmax_backward_kernel(score_arguments a) {
  const int lane = (int)threadIdx.x % WARP;
  EACH_ROW(row, a) {
    const float *p = a.scores + row * a.sequence, *g = a.gradient + row * a.sequence;
    T *p_narrow = (T *)p, *g_narrow = (T *)g;
    const int64_t start = start_of(a, row), n = row % a.sequence + 1;
    double along = 0.0;
    for (int64_t j = start + lane; j < n; j += WARP) along += (double)p[j] * (double)g[j];
    along = warp_sum(along);
    EACH_COLUMN(j, lane, a) {
      const bool seen = j >= start && j < n;
      const float x = seen ? p[j] : 0.0f;
      const float y = seen ? (float)((double)x * ((double)g[j] - along) * a.scale) : 0.0f;
      __syncwarp();
      if (j < a.sequence) {
        narrow(p_narrow + j, x);
        narrow(g_narrow + j, y);
      }
    }
  }
}

/* to [rows][to_stride] = sums [rows][columns], rounded. */
typedef struct narrow_arguments {
  int64_t rows, columns, to_stride;
  const float *sums;
  bfloat16 *to;
} narrow_arguments;

static __global__ void __launch_bounds__(PIECE_THREADS) narrow_kernel(narrow_arguments a) {
  EACH_PIECE(i, a.rows * a.columns)
  narrow(a.to + i / a.columns * a.to_stride + i % a.columns, a.sums[i]);
}

typedef struct attention {
  const char *name;
  const phibal_cuda_attention *shape;
  const phibal_cuda *call;
  int64_t length, n, group, size; /* size: bytes of a number of a row */
  int64_t stride, out_stride;     /* numbers in a row of qkv, and of out */
  int64_t keys, values;           /* where the first head of each starts */
  float *scores, *gradient;       /* [heads][S][S] */
  float *sums;                    /* bfloat16: [S][keys and values] */
  const void **pointers;
} attention;

static bool attention_narrow(const phibal_cuda_attention *shape) {
  return shape->type == PHIBAL_ROWS_BF16;
}

static int64_t pointer_bytes(const phibal_cuda_attention *shape) {
  return (3 * (int64_t)sizeof(void *) * shape->heads + 255) / 256 * 256;
}

size_t phibal_cuda_attention_workspace(const phibal_cuda_attention *shape,
                                       const phibal_cuda *call) {
  size_t of_library;
  if (!shape || shape->batch < 1) return 0;
  if (library_attention_has(shape, call, &of_library)) return of_library;
  const int64_t square = (int64_t)shape->sequence * shape->sequence;
  const int64_t sums = attention_narrow(shape) ? (int64_t)shape->sequence * 2 *
                                                     shape->key_value_heads * shape->head_width
                                               : 0;
  return (size_t)(pointer_bytes(shape) +
                  (2 * shape->heads * square + sums) * (int64_t)sizeof(float));
}

/* `kept`: there is a place for what the backward pass may want of the forward pass. */
static phibal_status attention_create(const char *name, const phibal_cuda_attention *shape,
                                      bool null, bool kept, const phibal_cuda *call,
                                      attention *at) {
  if (!shape || !attention_is_good(*shape) || null || (attention_narrow(shape) && !kept))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: a null array, or an invalid shape (grouped heads, at most %d)",
                             name, PHIBAL_MAX_EXPERTS);
  phibal_status status = products_check(name, call, phibal_cuda_attention_workspace(shape, call));
  if (status != PHIBAL_OK) return status;
  *at = {};
  at->name = name;
  at->shape = shape;
  at->call = call;
  at->length = shape->sequence;
  at->n = shape->head_width;
  at->group = shape->heads / shape->key_value_heads;
  at->size = attention_narrow(shape) ? 2 : 4;
  at->keys = shape->heads * at->n;
  at->values = at->keys + shape->key_value_heads * at->n;
  at->stride = at->values + shape->key_value_heads * at->n;
  at->out_stride = at->keys;
  at->pointers = (const void **)call->workspace;
  if (shape->batch > 0) {
    at->scores = (float *)((unsigned char *)call->workspace + pointer_bytes(shape));
    at->gradient = at->scores + shape->heads * at->length * at->length;
    at->sums = at->gradient + shape->heads * at->length * at->length;
  }
  return PHIBAL_OK;
}

/* Where column `column` of row `row` is. */
static const void *place(const attention &at, const void *rows, int64_t row, int64_t stride,
                         int64_t column) {
  return (const unsigned char *)rows + (row * stride + column) * at.size;
}

/* A square of a head: its bytes, and the numbers from one row to the next where they are narrow. */
static int64_t square_bytes(const attention &at) {
  return at.length * at.length * (int64_t)sizeof(float);
}
static int64_t square_stride(const attention &at) {
  return at.length * (int64_t)sizeof(float) / at.size;
}

/* `count` products of one shape, C = op(A) op(B) + beta C in columns, C being binary32 or a row's
   type. */
static phibal_status multiply(const attention &at, const library_product &p, head_pointers h,
                              phibal_rows to, float beta) {
  library_product each[PHIBAL_MAX_EXPERTS];
  const library_types types = {at.shape->type, to, beta};
  uintptr_t places = 0;
  for (int i = 0; i < 3; i++) places |= (uintptr_t)h.base[i] | (uintptr_t)h.step[i];
  for (int32_t i = 0; i < h.count; i++) each[i] = p;
  if (!library_groups(types, places)) {
    void *of[3][PHIBAL_MAX_EXPERTS];
    for (int i = 0; i < 3; i++)
      for (int32_t j = 0; j < h.count; j++)
        of[i][j] = (unsigned char *)h.base[i] + j / h.divide[i] * h.step[i];
    phibal_status status = library_separate_begin(at.name, at.call);
    if (status != PHIBAL_OK) return status;
    status = library_separate(at.name, h.count, each, types, of[0], of[1], of[2], at.call);
    const phibal_status ended = library_separate_end(at.name, at.call);
    return status != PHIBAL_OK ? status : ended;
  }
  h.pointers = at.pointers;
  launch_shape one = {1, (h.count + WARP - 1) / WARP * WARP, 0};
  phibal_status status = launch(at.name, head_pointers_kernel, one, at.call, h);
  if (status != PHIBAL_OK) return status;
  return library_grouped(at.name, h.count, each, types, at.pointers, at.pointers + h.count,
                         (void *const *)(at.pointers + 2 * h.count), at.call);
}

/* to [head][i][j] = <rows i of the head, rows j of its key or value head>. */
static phibal_status multiply_rows(const attention &at, const void *rows, int64_t rows_stride,
                                   const void *with, float *to) {
  const library_product p = {true, false,     at.length,   at.length,
                             at.n, at.stride, rows_stride, at.length};
  return multiply(at, p,
                  {at.shape->heads,
                   {with, rows, to},
                   {at.n * at.size, at.n * at.size, square_bytes(at)},
                   {(int32_t)at.group, 1, 1},
                   nullptr},
                  PHIBAL_ROWS_F32, 0.0f);
}

/* to [head's rows] = squares times the rows of its key or value head. */
static phibal_status multiply_square(const attention &at, const float *square, const void *with,
                                     const void *to, int64_t to_stride) {
  const library_product p = {
      false, false, at.n, at.length, at.length, at.stride, square_stride(at), to_stride};
  return multiply(at, p,
                  {at.shape->heads,
                   {with, square, to},
                   {at.n * at.size, square_bytes(at), at.n * at.size},
                   {(int32_t)at.group, 1, 1},
                   nullptr},
                  at.shape->type, 0.0f);
}

/* to [key or value head's rows], binary32, = sum over its heads of squares^T times their rows, head
   by head. */
static phibal_status multiply_transposed(const attention &at, const float *square, const void *rows,
                                         int64_t rows_stride, float *to, int64_t to_stride) {
  const library_product p = {
      false, true, at.n, at.length, at.length, rows_stride, square_stride(at), to_stride};
  phibal_status status = PHIBAL_OK;
  for (int64_t g = 0; g < at.group && status == PHIBAL_OK; g++)
    status = multiply(
        at, p,
        {at.shape->key_value_heads,
         {place(at, rows, 0, 0, g * at.n), square + g * at.length * at.length, to},
         {at.group * at.n * at.size, at.group * square_bytes(at), at.n * (int64_t)sizeof(float)},
         {1, 1, 1},
         nullptr},
        PHIBAL_ROWS_F32, g > 0 ? 1.0f : 0.0f);
  return status;
}

static phibal_status softmax(const attention &at, void (*kernel)(score_arguments), int64_t sequence,
                             float *logsumexp) {
  score_arguments a = {at.shape->heads * at.length,
                       at.length,
                       1.0 / std::sqrt((double)at.n),
                       at.scores,
                       at.gradient,
                       logsumexp ? logsumexp + sequence * at.length * at.shape->heads : nullptr,
                       at.shape->starts ? at.shape->starts + sequence * at.length : nullptr};
  const int64_t of_block = ATTENTION_THREADS / WARP;
  launch_shape shape = {
      blocks_for(at.call, (a.rows + of_block - 1) / of_block, ATTENTION_PER_MULTIPROCESSOR),
      ATTENTION_THREADS, 0};
  return launch(at.name, kernel, shape, at.call, a);
}

phibal_status phibal_cuda_attention_forward(const phibal_cuda_attention *shape, const void *qkv,
                                            void *out, float *logsumexp, const phibal_cuda *call) {
  attention at;
  phibal_status status = attention_create("attention", shape, !qkv || !out, logsumexp, call, &at);
  size_t bytes;
  if (status == PHIBAL_OK && library_attention_has(shape, call, &bytes))
    return library_attention_forward(shape, qkv, out, logsumexp, call);
  for (int64_t b = 0; status == PHIBAL_OK && b < shape->batch; b++) {
    const int64_t first = b * at.length;
    status = multiply_rows(at, place(at, qkv, first, at.stride, 0), at.stride,
                           place(at, qkv, first, at.stride, at.keys), at.scores);
    if (status == PHIBAL_OK)
      status =
          softmax(at, attention_narrow(shape) ? softmax_kernel<bfloat16> : softmax_kernel<float>, b,
                  logsumexp);
    if (status == PHIBAL_OK)
      status = multiply_square(at, at.scores, place(at, qkv, first, at.stride, at.values),
                               place(at, out, first, at.out_stride, 0), at.out_stride);
  }
  return status;
}

/* dK and dV of one sequence, `to` being their place in its rows. */
static phibal_status keys_and_values(const attention &at, const void *q, const void *dout,
                                     void *to) {
  const bool is_narrow = attention_narrow(at.shape);
  const int64_t columns = 2 * (at.values - at.keys), stride = is_narrow ? columns : at.stride;
  float *sums = is_narrow ? at.sums : (float *)to;
  phibal_status status = multiply_transposed(at, at.gradient, q, at.stride, sums, stride);
  if (status == PHIBAL_OK)
    status = multiply_transposed(at, at.scores, dout, at.out_stride, sums + columns / 2, stride);
  if (status != PHIBAL_OK || !is_narrow) return status;
  narrow_arguments a = {at.length, columns, at.stride, sums, (bfloat16 *)to};
  return launch(at.name, narrow_kernel, pieces_shape(at.call, a.rows * a.columns), at.call, a);
}

phibal_status phibal_cuda_attention_backward(const phibal_cuda_attention *shape, const void *qkv,
                                             const void *out, const float *logsumexp,
                                             const void *out_gradient, void *qkv_gradient,
                                             const phibal_cuda *call) {
  attention at;
  phibal_status status =
      attention_create("attention backward", shape, !qkv || !out_gradient || !qkv_gradient,
                       out && logsumexp, call, &at);
  size_t bytes;
  if (status == PHIBAL_OK && library_attention_has(shape, call, &bytes))
    return library_attention_backward(shape, qkv, out, logsumexp, out_gradient, qkv_gradient, call);
  for (int64_t b = 0; status == PHIBAL_OK && b < shape->batch; b++) {
    const int64_t first = b * at.length;
    const void *q = place(at, qkv, first, at.stride, 0), *k = place(at, q, 0, 0, at.keys);
    const void *dout = place(at, out_gradient, first, at.out_stride, 0);
    const void *dq = place(at, qkv_gradient, first, at.stride, 0);
    status = multiply_rows(at, q, at.stride, k, at.scores);
    if (status == PHIBAL_OK) status = softmax(at, softmax_kernel<float>, b, nullptr);
    if (status == PHIBAL_OK)
      status = multiply_rows(at, dout, at.out_stride, place(at, q, 0, 0, at.values), at.gradient);
    if (status == PHIBAL_OK)
      status = softmax(at,
                       attention_narrow(shape) ? softmax_backward_kernel<bfloat16>
                                               : softmax_backward_kernel<float>,
                       b, nullptr);
    if (status == PHIBAL_OK) status = multiply_square(at, at.gradient, k, dq, at.stride);
    if (status == PHIBAL_OK)
      status = keys_and_values(at, q, dout, (void *)place(at, dq, 0, 0, at.keys));
  }
  return status;
}

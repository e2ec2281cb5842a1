#include "attention.h"

#include "moe/machine/lanes.h"

#include "kernels/core/exp2.h"
#include "kernels/cpu/gemm.h"

#include <math.h>
#include <omp.h>
#include <stddef.h>

/* Rows of scores made at once: 64 rows of 2048 columns stay in a 512 KiB cache, and a
   panel of keys is packed for 64 rows. */
#define BLOCK_ROWS 64

typedef struct layout {
  int64_t n, v, stride, out_stride, heads, group;
  int64_t keys, values; /* where the first key and value head start in a row */
  double scale;
} layout;

static layout layout_of(const attention_shape *shape) {
  layout at = {.n = shape->head_width,
               .v = shape->value_width ? shape->value_width : shape->head_width,
               .heads = shape->heads,
               .group = shape->heads / shape->key_value_heads};
  at.keys = at.heads * at.n;
  at.values = at.keys + shape->key_value_heads * at.n;
  at.stride = at.values + shape->key_value_heads * at.v;
  at.out_stride = at.heads * at.v;
  at.scale = 1.0 / sqrt((double)at.n);
  if (shape->multiplier > 0) at.scale *= shape->multiplier;
  return at;
}

int64_t attention_row(const attention_shape *shape) {
  return layout_of(shape).stride;
}

/* A row of scores in memory: whole vectors. */
static int64_t padded(int64_t columns) {
  return (columns + LANES - 1) / LANES * LANES;
}

int64_t attention_scratch(const attention_shape *shape) {
  return 2 * BLOCK_ROWS * padded(shape->sequence);
}

/* The first position that row t of all sequences sees, which is at `position` of its own. */
static int64_t start_of(const attention_shape *shape, int64_t t, int64_t position) {
  const int64_t start = shape->starts ? shape->starts[t] : 0;
  const int64_t from = shape->window > 0 ? position - shape->window + 1 : 0;
  return start > from ? start : from;
}

/* exp(sink - largest scale), within 2^-50 and three roundings of its exponent. */
static double sink_weight(float sink, double scale, float largest) {
  const double t = ((double)sink - (double)largest * scale) * CORE_LOG2_E;
  return core_exp2(t < -1000.0 ? -1000.0 : t);
}

/* Of whole vectors of a row of scores, those that hold start <= j < n: what they hold besides
   becomes -inf. Returns where they begin; they end at padded(n). */
static int64_t seen_only(int64_t start, int64_t n, float *s) {
  const int64_t from = start / LANES * LANES;
  for (int64_t j = from; j < start; j++) s[j] = -INFINITY;
  for (int64_t j = n; j < padded(n); j++) s[j] = -INFINITY;
  return from;
}

/* p_j = w_j factor, w_j = exp((s_j - largest) scale), for from <= j < to, and 0 elsewhere up to
   padded(columns), in place; returns the sum of w_j. w_j is made in binary64, within 2^-50 and
   three roundings of its exponent, and p_j rounded once. */
static inline double exponentials(int64_t from, int64_t to, int64_t columns, double scale,
                                  float largest, double factor, float *restrict s) {
  const double binary = scale * CORE_LOG2_E;
  double sum[LANES] = {0};
  for (int64_t j = 0; j < from; j++) s[j] = 0.0f;
  for (int64_t j = from; j < to; j += LANES)
    for (int64_t l = 0; l < LANES; l++) {
      const double t = (double)(s[j + l] - largest) * binary;
      const double w = core_exp2(t < -1000.0 ? -1000.0 : t); /* 2^-1000 is 0 in sum and p */
      sum[l] += w;
      s[j + l] = (float)(w * factor);
    }
  for (int64_t j = to; j < padded(columns); j++) s[j] = 0.0f;
  return lanes_reduce(sum);
}

void attention_forward(const attention_shape *shape, const float *qkv, float *out, float *largest,
                       float *inverse_sum, int threads, float *scratch) {
  if (!omp_get_level()) {
#pragma omp parallel num_threads(threads)
    attention_forward(shape, qkv, out, largest, inverse_sum, threads, scratch);
    return;
  }
  layout at = layout_of(shape);
  const int64_t length = shape->sequence, each = attention_scratch(shape);
  const int64_t made = shape->rows ? shape->rows : length;
#pragma omp for collapse(3) schedule(dynamic)
  for (int64_t b = 0; b < shape->batch; b++)
    for (int64_t head = 0; head < at.heads; head++)
      for (int64_t row0 = 0; row0 < made; row0 += BLOCK_ROWS) {
        const int64_t first = shape->first + row0; /* its position */
        float *scores = scratch + omp_get_thread_num() * each;
        const float *base = qkv + b * length * at.stride;
        const float *q = base + head * at.n, *k = base + at.keys + head / at.group * at.n;
        const float *v = base + at.values + head / at.group * at.v;
        int64_t rows = smaller(BLOCK_ROWS, made - row0), columns = first + rows;
        int64_t stride = padded(columns);
        phibal_gemm_nt(rows, columns, at.n, q + first * at.stride, at.stride, k, at.stride, false,
                       scores, stride);
        for (int64_t i = 0; i < rows; i++) {
          float *row = scores + i * stride;
          int64_t t = (b * made + row0 + i) * at.heads + head;
          int64_t n = first + i + 1, to = padded(n);
          int64_t from = seen_only(start_of(shape, b * length + first + i, first + i), n, row);
          largest[t] = lanes_max(to - from, row + from);
          if (shape->sinks) {
            const float sink = (float)((double)shape->sinks[head] / at.scale);
            if (sink > largest[t]) largest[t] = sink;
          }
          double sum = exponentials(from, to, columns, at.scale, largest[t], 1.0, row);
          if (shape->sinks) sum += sink_weight(shape->sinks[head], at.scale, largest[t]);
          inverse_sum[t] = (float)(1.0 / sum);
        }
        float *o = out + (b * made + row0) * at.out_stride + head * at.v;
        phibal_gemm_nn(rows, at.v, columns, scores, stride, v, at.stride, false, o, at.out_stride);
        for (int64_t i = 0; i < rows; i++) {
          float inverse = inverse_sum[(b * made + row0 + i) * at.heads + head];
          for (int64_t j = 0; j < at.v; j++) o[i * at.out_stride + j] *= inverse;
        }
      }
}

/* The gradients of one block of rows of one head. With P the probabilities, dP = dO V^T and
   D_i = <dO_i, O_i> = sum_j P_ij dP_ij: dS = P (dP - D) scale, dQ = dS K,
   dV = P^T dO and dK = dS^T Q, or with `add` added to them. A sink, whose dP is 0, gets -P D of
   each row. `t` is the first row's number among those of all sequences. */
static void block_backward(const attention_shape *shape, const layout *at, int64_t rows,
                           int64_t first, bool add, int64_t t, int64_t head, const float *q,
                           const float *k, const float *v, const float *o, const float *largest,
                           const float *inverse_sum, const float *o_gradient, float *q_gradient,
                           float *k_gradient, float *v_gradient, float *sink_gradient,
                           float *scratch) {
  int64_t columns = first + rows, stride = padded(columns);
  float *p = scratch, *s_gradient = scratch + rows * stride;
  phibal_gemm_nt(rows, columns, at->n, q, at->stride, k, at->stride, false, p, stride);
  phibal_gemm_nt(rows, columns, at->v, o_gradient, at->out_stride, v, at->stride, false, s_gradient,
                 stride);
  for (int64_t i = 0; i < rows; i++) {
    float *row = p + i * stride;
    float *restrict gradient = s_gradient + i * stride;
    int64_t n = first + i + 1, from = seen_only(start_of(shape, t + i, first + i), n, row);
    exponentials(from, padded(n), columns, at->scale, largest[i * at->heads],
                 (double)inverse_sum[i * at->heads], row);
    float along = (float)lanes_dot(at->v, o + i * at->out_stride, o_gradient + i * at->out_stride);
    if (shape->sinks) {
      const double weight = sink_weight(shape->sinks[head], at->scale, largest[i * at->heads]);
      sink_gradient[i * at->heads] =
          (float)(-weight * (double)inverse_sum[i * at->heads] * (double)along);
    }
    float scale = (float)at->scale;
    for (int64_t j = 0; j < columns; j++) gradient[j] = row[j] * (gradient[j] - along) * scale;
  }
  phibal_gemm_tn(columns, at->v, rows, p, stride, o_gradient, at->out_stride, add, v_gradient,
                 at->stride);
  phibal_gemm_nn(rows, at->n, columns, s_gradient, stride, k, at->stride, false, q_gradient,
                 at->stride);
  phibal_gemm_tn(columns, at->n, rows, s_gradient, stride, q, at->stride, add, k_gradient,
                 at->stride);
}

void attention_backward(const attention_shape *shape, const float *qkv, const float *out,
                        const float *largest, const float *inverse_sum, const float *out_gradient,
                        float *qkv_gradient, float *sink_gradient, int threads, float *scratch) {
  if (!omp_get_level()) {
#pragma omp parallel num_threads(threads)
    attention_backward(shape, qkv, out, largest, inverse_sum, out_gradient, qkv_gradient,
                       sink_gradient, threads, scratch);
    return;
  }
  layout at = layout_of(shape);
  int64_t length = shape->sequence, each = attention_scratch(shape);
  /* A thread has a key and value head to itself, with all the query heads that read it: nothing is
     added to by two threads. */
#pragma omp for collapse(2) schedule(dynamic)
  for (int64_t b = 0; b < shape->batch; b++)
    for (int64_t shared = 0; shared < shape->key_value_heads; shared++) {
      int64_t k = at.keys + shared * at.n, v = at.values + shared * at.v;
      const float *base = qkv + b * length * at.stride;
      float *gradient = qkv_gradient + b * length * at.stride;
      for (int64_t head = shared * at.group; head < (shared + 1) * at.group; head++)
        for (int64_t first = (length - 1) / BLOCK_ROWS * BLOCK_ROWS; first >= 0;
             first -= BLOCK_ROWS) {
          /* From the last rows, which see every key: the first block sets, the others add. */
          const bool add = head != shared * at.group || first + BLOCK_ROWS < length;
          int64_t t = b * length + first, q = first * at.stride + head * at.n;
          int64_t o = t * at.out_stride + head * at.v;
          block_backward(shape, &at, smaller(BLOCK_ROWS, length - first), first, add, t, head,
                         base + q, base + k, base + v, out + o, largest + t * at.heads + head,
                         inverse_sum + t * at.heads + head, out_gradient + o, gradient + q,
                         gradient + k, gradient + v,
                         sink_gradient ? sink_gradient + t * at.heads + head : NULL,
                         scratch + omp_get_thread_num() * each);
        }
    }
}

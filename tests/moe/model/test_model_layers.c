/* The model's layers one by one against loops in binary64, at sizes with several blocks of rows.
   Each bound is the layer's own: u = 2^-24, gamma_n = n u / (1 - n u); terms of order u^2 are
   covered by the factor SECOND_ORDER, which at these sizes they stay far below. */
#include "moe/model/attention.h"
#include "moe/model/embedding.h"
#include "moe/model/head.h"
#include "moe/model/norm.h"
#include "moe/model/rope.h"

#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define U 0x1p-24
#define SECOND_ORDER 1.01

static uint64_t state = 3;

static float uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (float)((double)(state >> 11) * 0x1p-52 - 1.0);
}

static float *make(int64_t n, float size) {
  float *v = malloc((size_t)n * sizeof *v);
  for (int64_t i = 0; i < n; i++) v[i] = size > 0 ? size * uniform() : NAN;
  return v;
}

static double *zeros(int64_t n) {
  return calloc((size_t)n, sizeof(double));
}

static double gamma_of(int64_t n) {
  return (double)n * U / (1.0 - (double)n * U);
}

static void within(const char *what, int64_t i, double got, double exact, double bound) {
  cr_assert(fabs(got - exact) <= SECOND_ORDER * bound + 0x1p-140,
            "%s[%ld] is %.9g, not %.9g +- %.3g", what, (long)i, got, exact, bound);
}

/* One query head of one sequence: P, and the bounds of its elements. */
typedef struct probabilities {
  double *p, *bound;         /* [S][S] */
  double *sink, *sink_bound; /* [S] of the sink, or 0 */
} probabilities;

typedef struct attention_case {
  attention_shape shape;
  int64_t n, v, stride, out_stride, tokens;
  double scale;
  float *qkv, *out, *largest, *inverse_sum, *out_gradient, *qkv_gradient, *sink_gradient;
} attention_case;

static attention_case attention_make(attention_shape shape, int threads) {
  attention_case c = {.shape = shape, .n = shape.head_width};
  c.v = shape.value_width ? shape.value_width : c.n;
  c.scale = (shape.multiplier > 0 ? shape.multiplier : 1) / sqrt((double)c.n);
  c.stride = (shape.heads + shape.key_value_heads) * c.n + shape.key_value_heads * c.v;
  c.out_stride = shape.heads * c.v;
  cr_assert_eq(attention_row(&shape), c.stride);
  c.tokens = (int64_t)shape.batch * shape.sequence;
  state = 17;
  c.qkv = make(c.tokens * c.stride, 2.0f);
  c.out = make(c.tokens * c.out_stride, 0);
  c.largest = make(c.tokens * shape.heads, 0);
  c.inverse_sum = make(c.tokens * shape.heads, 0);
  c.out_gradient = make(c.tokens * c.out_stride, 1.0f);
  c.qkv_gradient = make(c.tokens * c.stride, 0);
  c.sink_gradient = make(c.tokens * shape.heads, 0);
  float *scratch = make(threads * attention_scratch(&shape), 0);
  omp_set_num_threads(threads);
  attention_forward(&shape, c.qkv, c.out, c.largest, c.inverse_sum, threads, scratch);
  attention_backward(&shape, c.qkv, c.out, c.largest, c.inverse_sum, c.out_gradient, c.qkv_gradient,
                     shape.sinks ? c.sink_gradient : NULL, threads, scratch);
  free(scratch);
  return c;
}

static void attention_free(attention_case *c) {
  float *all[] = {c->qkv,          c->out,          c->largest,      c->inverse_sum,
                  c->out_gradient, c->qkv_gradient, c->sink_gradient};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static const float *query(const attention_case *c, int64_t b, int64_t head, int64_t i) {
  return c->qkv + (b * c->shape.sequence + i) * c->stride + head * c->n;
}

static const float *key(const attention_case *c, int64_t b, int64_t head, int64_t i) {
  int64_t kv = head / (c->shape.heads / c->shape.key_value_heads);
  return query(c, b, c->shape.heads + kv, i);
}

static const float *value(const attention_case *c, int64_t b, int64_t head, int64_t i) {
  int64_t kv = head / (c->shape.heads / c->shape.key_value_heads);
  return query(c, b, c->shape.heads + c->shape.key_value_heads, i) + kv * c->v;
}

static double dot(int64_t n, const float *x, const float *y, double *size) {
  double sum = 0;
  *size = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += (double)x[i] * (double)y[i];
    *size += fabs((double)x[i] * (double)y[i]);
  }
  return sum;
}

/* The exponent (s_j - max) / sqrt n is off by twice the error gamma_n <|q|, |k|> of a score, and by
   the rounding of the difference; e^x turns that into a relative error, and the weight is rounded
   once. The sum has the same relative error; its inverse is rounded once, P once more. A sink's
   exponent has no error of a score; where it is the largest, so is what it is rounded to. */
static probabilities probabilities_of(const attention_case *c, int64_t b, int64_t head) {
  int64_t s = c->shape.sequence;
  probabilities of = {zeros(s * s), zeros(s * s), zeros(s), zeros(s)};
  for (int64_t i = 0; i < s; i++) {
    double most = -INFINITY, least = INFINITY, sum = 0, slack = 0, size;
    int64_t start = c->shape.starts ? c->shape.starts[b * s + i] : 0;
    if (c->shape.window && i - c->shape.window + 1 > start) start = i - c->shape.window + 1;
    if (c->shape.sinks) most = least = (double)c->shape.sinks[head];
    for (int64_t j = start; j <= i; j++) {
      double score = dot(c->n, query(c, b, head, i), key(c, b, head, j), &size);
      of.p[i * s + j] = score * c->scale;
      most = fmax(most, of.p[i * s + j]);
      least = fmin(least, of.p[i * s + j]);
      slack = fmax(slack, 2 * gamma_of(c->n) * size * c->scale);
    }
    for (int64_t j = start; j <= i; j++) sum += of.p[i * s + j] = exp(of.p[i * s + j] - most);
    const double part = 2 * (slack + (most - least + 1) * U) + 2 * U;
    if (c->shape.sinks) {
      of.sink[i] = exp((double)c->shape.sinks[head] - most);
      sum += of.sink[i];
      of.sink[i] /= sum;
      of.sink_bound[i] = of.sink[i] * part;
    }
    for (int64_t j = start; j <= i; j++) {
      of.p[i * s + j] /= sum;
      of.bound[i * s + j] = of.p[i * s + j] * part;
    }
  }
  return of;
}

static void check_forward(const attention_case *c, const probabilities *of, int64_t b,
                          int64_t head) {
  int64_t s = c->shape.sequence;
  for (int64_t i = 0; i < s; i++)
    for (int64_t l = 0; l < c->v; l++) {
      double sum = 0, bound = 0;
      for (int64_t j = 0; j <= i; j++) {
        double v = (double)value(c, b, head, j)[l];
        sum += of->p[i * s + j] * v;
        bound += (of->bound[i * s + j] + of->p[i * s + j] * gamma_of(i + 3)) * fabs(v);
      }
      within("out", i, (double)c->out[(b * s + i) * c->out_stride + head * c->v + l], sum, bound);
    }
}

/* dS with its bound, from dP = dO V^T (gamma_n), D = <dO, O> (O as computed, so within the bound of
   the forward pass: here through sum P dP, whose terms have the errors of P and of dP), and three
   roundings. Checks what the row adds to the sink's gradient, - P D, rounded once more. */
static void score_gradients(const attention_case *c, const probabilities *of, int64_t b,
                            int64_t head, double *ds, double *bound) {
  int64_t s = c->shape.sequence;
  double *dp = zeros(s), *dp_bound = zeros(s), scale = c->scale;
  for (int64_t i = 0; i < s; i++) {
    const float *gradient = c->out_gradient + (b * s + i) * c->out_stride + head * c->v;
    double along = 0, along_bound = 0, size;
    for (int64_t j = 0; j <= i; j++) {
      double p = of->p[i * s + j], error = of->bound[i * s + j];
      dp[j] = dot(c->v, gradient, value(c, b, head, j), &size);
      dp_bound[j] = gamma_of(c->v) * size;
      along += p * dp[j];
      along_bound += (error + p * gamma_of(i + 3)) * size + U * p * size;
    }
    if (c->shape.sinks)
      within("sink", i, (double)c->sink_gradient[(b * s + i) * c->shape.heads + head],
             -of->sink[i] * along,
             of->sink_bound[i] * fabs(along) + of->sink[i] * (along_bound + 2 * U * fabs(along)));
    for (int64_t j = 0; j <= i; j++) {
      double p = of->p[i * s + j], difference = fabs(dp[j] - along);
      double off = dp_bound[j] + along_bound + U * fabs(along);
      ds[i * s + j] = p * (dp[j] - along) * scale;
      bound[i * s + j] =
          scale * (of->bound[i * s + j] * difference + p * off + 4 * U * p * (difference + off));
    }
  }
  free(dp);
  free(dp_bound);
}

/* Adds one query head's part of the gradients of its keys and values, with bounds; checks dQ. */
static void add_head(const attention_case *c, int64_t b, int64_t head, double *dk, double *dv,
                     double *dk_bound, double *dv_bound) {
  int64_t s = c->shape.sequence, n = c->n;
  probabilities of = probabilities_of(c, b, head);
  double *ds = zeros(s * s), *ds_bound = zeros(s * s);
  check_forward(c, &of, b, head);
  score_gradients(c, &of, b, head, ds, ds_bound);
  double g = gamma_of(s * c->shape.heads + 1);
  for (int64_t i = 0; i < s; i++)
    for (int64_t l = 0; l < n; l++) {
      double dq = 0, bound = 0;
      double q = (double)query(c, b, head, i)[l];
      for (int64_t j = 0; j <= i; j++) {
        int64_t ij = i * s + j;
        double k = (double)key(c, b, head, j)[l];
        dq += ds[ij] * k;
        bound += (ds_bound[ij] + g * fabs(ds[ij])) * fabs(k);
        dk[j * n + l] += ds[ij] * q;
        dk_bound[j * n + l] += (ds_bound[ij] + g * fabs(ds[ij])) * fabs(q);
      }
      within("dq", i, (double)c->qkv_gradient[(b * s + i) * c->stride + head * n + l], dq, bound);
    }
  for (int64_t i = 0; i < s; i++)
    for (int64_t l = 0; l < c->v; l++) {
      double o = (double)c->out_gradient[(b * s + i) * c->out_stride + head * c->v + l];
      for (int64_t j = 0; j <= i; j++) {
        dv[j * c->v + l] += of.p[i * s + j] * o;
        dv_bound[j * c->v + l] += (of.bound[i * s + j] + g * of.p[i * s + j]) * fabs(o);
      }
    }
  free(of.p), free(of.bound), free(of.sink), free(of.sink_bound), free(ds), free(ds_bound);
}

static void check_attention(attention_shape shape) {
  attention_case c = attention_make(shape, 2);
  int64_t s = shape.sequence, n = c.n, v = c.v, group = shape.heads / shape.key_value_heads;
  for (int64_t b = 0; b < shape.batch; b++)
    for (int64_t kv = 0; kv < shape.key_value_heads; kv++) {
      double *dk = zeros(s * n), *dv = zeros(s * v), *dkb = zeros(s * n), *dvb = zeros(s * v);
      for (int64_t head = kv * group; head < (kv + 1) * group; head++)
        add_head(&c, b, head, dk, dv, dkb, dvb);
      for (int64_t i = 0; i < s * n; i++) {
        const float *row = c.qkv_gradient + (b * s + i / n) * c.stride;
        within("dk", i, (double)row[(shape.heads + kv) * n + i % n], dk[i], dkb[i]);
      }
      for (int64_t i = 0; i < s * v; i++) {
        const float *row = c.qkv_gradient + (b * s + i / v) * c.stride;
        int64_t at = (shape.heads + shape.key_value_heads) * n + kv * v + i % v;
        within("dv", i, (double)row[at], dv[i], dvb[i]);
      }
      free(dk), free(dv), free(dkb), free(dvb);
    }
  attention_free(&c);
}

Test(attention, within_bounds_over_blocks) {
  check_attention((attention_shape){2, 1, 2, 1, 4, 0, 0, NULL, 0, 0, 0, NULL});
  check_attention((attention_shape){1, 64, 1, 1, 8, 0, 0, NULL, 0, 0, 0, NULL});
  check_attention((attention_shape){2, 65, 4, 2, 6, 0, 0, NULL, 0, 0, 0, NULL});
  check_attention((attention_shape){1, 200, 6, 2, 16, 0, 0, NULL, 0, 0, 0, NULL});
  check_attention((attention_shape){2, 70, 4, 2, 6, 9, 0.7, NULL, 0, 0, 0, NULL});
  check_attention((attention_shape){1, 20, 2, 2, 12, 5, 1.6, NULL, 0, 0, 0, NULL});
}

/* Windows within a block of rows, of its size, across it and of one position, and sinks below,
   among and above the scores. */
Test(attention, windows_and_sinks) {
  static const float sinks[] = {-80.0f, 0.5f, 3.0f, 90.0f};
  check_attention((attention_shape){2, 70, 4, 2, 6, 0, 0, NULL, 0, 0, 1, NULL});
  check_attention((attention_shape){1, 200, 2, 1, 8, 0, 0, NULL, 0, 0, 64, NULL});
  check_attention((attention_shape){1, 150, 4, 4, 6, 0, 0, NULL, 0, 0, 65, sinks});
  check_attention((attention_shape){2, 70, 4, 2, 6, 9, 0.7, NULL, 0, 0, 17, sinks});
  check_attention((attention_shape){2, 66, 4, 1, 8, 0, 1.6, NULL, 0, 0, 0, sinks});
  check_attention((attention_shape){1, 20, 4, 2, 6, 0, 0, NULL, 0, 0, 20, sinks});
  /* A window and documents: the later of two beginnings. */
  int32_t starts[2 * 70];
  for (int i = 0; i < 2 * 70; i++) starts[i] = i % 70 < 30 ? 0 : 30;
  check_attention((attention_shape){2, 70, 4, 2, 6, 0, 0, starts, 0, 0, 12, sinks});
}

/* Documents of a sequence that do not see each other: within a block of rows, at its end, across
   it, of one position, and otherwise in each sequence. */
Test(attention, documents_apart) {
  enum { S = 150 };
  static const int32_t begins[2][6] = {{0, 3, 64, 65, 130, S}, {0, 70, 71, 72, 149, S}};
  int32_t starts[2 * S];
  for (int b = 0; b < 2; b++)
    for (int i = 0, d = 0; i < S; i++) {
      if (i == begins[b][d + 1]) d++;
      starts[b * S + i] = begins[b][d];
    }
  check_attention((attention_shape){2, S, 4, 2, 6, 0, 0, starts, 0, 0, 0, NULL});
  /* What an earlier document holds does not change a bit of a later one. */
  attention_shape shape = {1, S, 2, 1, 8, 0, 0, starts, 0, 0, 0, NULL};
  attention_case c = attention_make(shape, 1);
  float *out = make(c.tokens * c.out_stride, 0), *scratch = make(attention_scratch(&shape), 0);
  for (int64_t i = 0; i < 65 * c.stride; i++) c.qkv[i] += 1.0f;
  attention_forward(&shape, c.qkv, out, c.largest, c.inverse_sum, 1, scratch);
  cr_expect_eq(memcmp(out + 65 * c.out_stride, c.out + 65 * c.out_stride,
                      (size_t)((S - 65) * c.out_stride) * 4),
               0);
  cr_expect_neq(memcmp(out, c.out, (size_t)(65 * c.out_stride) * 4), 0);
  free(out), free(scratch);
  attention_free(&c);
}

Test(attention, threads_do_not_change_a_bit) {
  static const float sinks[] = {-1.0f, 0.5f, 1.0f, 2.0f};
  attention_shape shape = {3, 130, 4, 2, 12, 0, 0, NULL, 0, 0, 70, sinks};
  attention_case one = attention_make(shape, 1), many = attention_make(shape, 5);
  cr_assert_eq(memcmp(one.out, many.out, (size_t)(one.tokens * one.out_stride) * 4), 0);
  cr_assert_eq(memcmp(one.qkv_gradient, many.qkv_gradient, (size_t)(one.tokens * one.stride) * 4),
               0);
  attention_free(&one);
  attention_free(&many);
}

/* Scores of +-1e4: the largest decides, and nothing overflows. */
Test(attention, large_scores) {
  attention_shape shape = {1, 3, 1, 1, 2, 0, 0, NULL, 0, 0, 0, NULL};
  const float qkv[18] = {100, 0, 100, 0, 1, 2, 100, 0, -100, 0, 3, 4, 100, 0, 90, 0, 5, 6};
  float out[6], largest[3], inverse[3], gradient[18], scratch[4096];
  cr_assert_leq(attention_scratch(&shape), 4096);
  attention_forward(&shape, qkv, out, largest, inverse, 1, scratch);
  for (int i = 0; i < 3; i++) cr_assert(out[2 * i] == 1.0f && out[2 * i + 1] == 2.0f);
  attention_backward(&shape, qkv, out, largest, inverse, out, gradient, NULL, 1, scratch);
  for (int i = 0; i < 18; i++) cr_assert(isfinite(gradient[i]));
}

/* y: r, and two products, are rounded. dx: with a = r^2/n sum |w dy x|, every term of
   r (|w dy| + |x| a) goes through 8 roundings at most. dw: 3 a term, the sum in binary64. */
Test(norm, within_bounds_over_blocks) {
  enum { ROWS = 300, HEADS = 2, N = 37, STRIDE = HEADS * N + 5 };
  norm_shape shape = {ROWS, HEADS, N, 1e-3f};
  float *x = make(ROWS * STRIDE, 3.0f), *w = make(N, 2.0f), *y = make(ROWS * STRIDE, 0);
  float *dy = make(ROWS * STRIDE, 1.0f), *dx = make(ROWS * STRIDE, 1.0f), *dw = make(N, 1.0f);
  float *dx_before = malloc(ROWS * STRIDE * sizeof *dx_before), dw_before[N], inverse[ROWS * HEADS];
  memcpy(dx_before, dx, ROWS * STRIDE * sizeof *dx);
  memcpy(dw_before, dw, sizeof dw_before);
  double *scratch = zeros(norm_scratch(ROWS, N)), sum[N] = {0}, size[N] = {0};
  norm_forward(&shape, x, STRIDE, w, y, STRIDE, inverse);
  norm_backward(&shape, x, STRIDE, w, inverse, dy, STRIDE, 1, dx, STRIDE, dw, scratch);
  for (int i = 0; i < ROWS; i++)
    for (int h = 0; h < HEADS; h++) {
      int64_t at = i * STRIDE + h * N;
      double square = 0, along = 0, big = 0;
      for (int j = 0; j < N; j++) square += (double)x[at + j] * (double)x[at + j];
      double r = 1 / sqrt(square / N + (double)1e-3f);
      for (int j = 0; j < N; j++) {
        double term = (double)w[j] * (double)dy[at + j] * (double)x[at + j];
        along += term * r * r / N, big += fabs(term) * r * r / N;
        sum[j] += (double)dy[at + j] * (double)x[at + j] * r;
        size[j] += fabs((double)dy[at + j] * (double)x[at + j] * r);
      }
      for (int j = 0; j < N; j++) {
        double xj = (double)x[at + j], own = (double)w[j] * (double)dy[at + j];
        double exact = (double)dx_before[at + j] + r * (own - xj * along);
        within("y", at + j, (double)y[at + j], xj * r * (double)w[j],
               3 * U * fabs(xj * r * (double)w[j]));
        within("dx", at + j, (double)dx[at + j], exact,
               8 * U * r * (fabs(own) + fabs(xj) * big) + U * fabs(exact));
      }
    }
  for (int j = 0; j < N; j++)
    within("dw", j, (double)dw[j], (double)dw_before[j] + sum[j],
           3 * U * size[j] + U * fabs(sum[j]) + U * fabs((double)dw_before[j] + sum[j]));
  /* Not added, and in place of the incoming gradient: the same as added to zeros. */
  float *placed = malloc(ROWS * STRIDE * sizeof *placed);
  memcpy(placed, dy, ROWS * STRIDE * sizeof *placed);
  norm_backward(&shape, x, STRIDE, w, inverse, placed, STRIDE, 0, placed, STRIDE, dw, scratch);
  memset(dx, 0, ROWS * STRIDE * sizeof *dx);
  norm_backward(&shape, x, STRIDE, w, inverse, dy, STRIDE, 1, dx, STRIDE, dw, scratch);
  for (int64_t i = 0; i < ROWS * STRIDE; i++)
    if (i % STRIDE < HEADS * N) cr_assert_eq(placed[i], dx[i]);
  float *all[] = {x, w, y, dy, dx, dw, dx_before, placed};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  free(scratch);
}

/* Cosine and sine are rounded, and two products and a sum: 3 roundings a term. */
Test(rope, rotates_and_back) {
  enum { SEQUENCE = 70, ROWS = 2 * SEQUENCE, HEADS = 3, N = 10, STRIDE = HEADS * N + 2 };
  float *x = make(ROWS * STRIDE, 1.0f), *before = malloc(ROWS * STRIDE * sizeof *before);
  float cosine[SEQUENCE * N / 2], sine[SEQUENCE * N / 2];
  memcpy(before, x, ROWS * STRIDE * sizeof *before);
  const rope_frequencies frequencies = {.theta = 500.0};
  const rope_shape shape = {ROWS, SEQUENCE, HEADS, N, N, STRIDE, false};
  rope_table(SEQUENCE, N, &frequencies, cosine, sine);
  rope_apply(&shape, cosine, sine, 1.0f, x);
  for (int t = 0; t < ROWS; t++)
    for (int h = 0; h < HEADS; h++)
      for (int i = 0; i < N / 2; i++) {
        int64_t low = t * STRIDE + h * N + i, high = low + N / 2;
        double angle = (double)(t % SEQUENCE) / pow(500.0, 2.0 * i / N);
        double a = (double)before[low], b = (double)before[high],
               bound = 3 * U * (fabs(a) + fabs(b));
        within("low", low, (double)x[low], a * cos(angle) - b * sin(angle), bound);
        within("high", high, (double)x[high], a * sin(angle) + b * cos(angle), bound);
      }
  rope_apply(&shape, cosine, sine, -1.0f, x);
  for (int64_t i = 0; i < ROWS * STRIDE; i++)
    within("back", i, (double)x[i], (double)before[i], 12 * U * sqrt(2.0));
  free(x), free(before);
}

/* The frequencies of extended contexts: the angles of position 1, which are 1 at most; cosine and
   sine are rounded once, so that an angle is off by U sqrt(2). */
Test(rope, extended_contexts) {
  enum { N = 64, HALF = N / 2 };
  static const rope_frequencies cases[] = {
      {.theta = 1e4, .factor = 3, .scaling = ROPE_LINEAR},
      {.theta = 1e4, .factor = 8, .scaling = ROPE_LLAMA3, .original = 256, .fast = 4, .slow = 1},
      {.theta = 50, .factor = 2, .scaling = ROPE_LLAMA3, .original = 16, .fast = 1.5, .slow = 0.5}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const rope_frequencies *f = &cases[c];
    float cosine[2 * HALF], sine[2 * HALF];
    int kinds[3] = {0, 0, 0};
    rope_table(2, N, f, cosine, sine);
    for (int i = 0; i < HALF; i++) {
      const double plain = pow(f->theta, -2.0 * i / N), slowed = plain / f->factor;
      double expected = slowed;
      if (f->scaling == ROPE_LLAMA3) { /* as Llama 3.1 has it: by wavelengths */
        const double wavelength = 2 * acos(-1) / plain;
        const double smooth = (f->original / wavelength - f->slow) / (f->fast - f->slow);
        const int kind = wavelength < f->original / f->fast   ? 0
                         : wavelength > f->original / f->slow ? 1
                                                              : 2;
        expected = kind == 0 ? plain : kind == 1 ? slowed : (1 - smooth) * slowed + smooth * plain;
        kinds[kind]++;
      }
      within("angle", i, atan2((double)sine[HALF + i], (double)cosine[HALF + i]), expected, 2 * U);
    }
    for (int k = 0; k < 3 && f->scaling == ROPE_LLAMA3; k++)
      cr_expect(kinds[k] > 1, "case %zu: %d of kind %d", c, kinds[k], k);
  }
}

/* A logit is off by e = gamma_d <|x|, |w|>, and by its rounding where it is capped (a cap shrinks
   differences). So the loss is off by 2 e, a probability by 2 e of itself, the slope 1 - (z/cap)^2
   by 2 |z| e / cap^2; then a gradient is rounded once, and multiplied by x and w. */
static void check_head(int64_t rows, int32_t width, int32_t vocabulary, float cap, double scale) {
  head_shape shape = {rows, width, vocabulary, cap};
  state = 23;
  float *x = make(rows * width, 2.0f), *w = make((int64_t)vocabulary * width, 1.0f);
  float *dx = make(rows * width, 0), *dw = make((int64_t)vocabulary * width, 0.01f);
  float *logits = make(head_scratch(&shape), 0);
  int32_t *targets = malloc((size_t)rows * sizeof *targets);
  double *row_loss = zeros(rows), *z = zeros(vocabulary), *e = zeros(vocabulary);
  double *dw_exact = zeros((int64_t)vocabulary * width),
         *dw_bound = zeros((int64_t)vocabulary * width);
  for (int64_t i = 0; i < (int64_t)vocabulary * width; i++) {
    dw_exact[i] = (double)dw[i];
    dw_bound[i] = gamma_of(rows + 1) * fabs(dw_exact[i]);
  }
  for (int64_t i = 0; i < rows; i++)
    targets[i] = i % 5 == 2 ? -1 : (int32_t)((i * 7919) % vocabulary);
  double loss, exact_loss = 0, loss_bound = 0;
  int64_t correct, counted, exact_correct = 0, exact_counted = 0;
  head_loss(&shape, x, w, targets, scale, dx, dw, logits, row_loss, &loss, &correct, &counted);
  for (int64_t i = 0; i < rows; i++) {
    double dx_exact[64] = {0}, dx_bound[64] = {0}, sum = 0, most = 0, worst = 0;
    int32_t best = 0;
    if (targets[i] >= 0) {
      for (int32_t v = 0; v < vocabulary; v++) {
        z[v] = dot(width, x + i * width, w + (int64_t)v * width, &e[v]);
        e[v] *= gamma_of(width);
        if (cap > 0) z[v] = (double)cap * tanh(z[v] / (double)cap), e[v] += U * fabs(z[v]);
        if (z[v] > z[best]) best = v;
        worst = fmax(worst, e[v]);
        most = fmax(most, z[v]);
      }
      for (int32_t v = 0; v < vocabulary; v++) sum += exp(z[v] - most);
      exact_loss += log(sum) + most - z[targets[i]];
      loss_bound += 2 * worst;
      exact_correct += best == targets[i];
      exact_counted++;
      for (int32_t v = 0; v < vocabulary; v++) {
        double p = exp(z[v] - most) / sum, t = cap > 0 ? z[v] / (double)cap : 0;
        double slope = 1 - t * t, pull = p - (v == targets[i]);
        double g = scale * pull * slope;
        double off = scale * (p * 2 * worst * slope +
                              fabs(pull) * (cap > 0 ? 2 * fabs(t) / (double)cap * e[v] : 0)) +
                     2 * U * fabs(g);
        for (int32_t j = 0; j < width; j++) {
          int64_t vj = (int64_t)v * width + j;
          double wj = (double)w[vj], xj = (double)x[i * width + j];
          dx_exact[j] += g * wj;
          dx_bound[j] += (off + gamma_of(vocabulary) * (fabs(g) + off)) * fabs(wj);
          dw_exact[vj] += g * xj;
          dw_bound[vj] += (off + gamma_of(rows + 1) * (fabs(g) + off)) * fabs(xj);
        }
      }
    }
    for (int32_t j = 0; j < width; j++)
      within("dx", i * width + j, (double)dx[i * width + j], dx_exact[j], dx_bound[j]);
  }
  for (int64_t i = 0; i < (int64_t)vocabulary * width; i++)
    within("dw", i, (double)dw[i], dw_exact[i], dw_bound[i]);
  within("loss", 0, loss, exact_loss, loss_bound);
  cr_assert_eq(correct, exact_correct);
  cr_assert_eq(counted, exact_counted);
  double again;
  head_loss(&shape, x, w, targets, 0, NULL, NULL, logits, row_loss, &again, &correct, &counted);
  cr_assert_eq(again, loss, "evaluated alone, the loss is another");
  float *floats[] = {x, w, dx, dw, logits};
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) free(floats[i]);
  double *doubles[] = {row_loss, z, e, dw_exact, dw_bound};
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) free(doubles[i]);
  free(targets);
}

Test(head, within_bounds_over_blocks) {
  check_head(1, 3, 1, 0, 1.0);
  check_head(700, 12, 50, 2.0f, 0.01);
  check_head(700, 12, 257, 0, 0.01);
  head_shape large = {300, 4, 17000, 0};
  cr_assert_lt(head_block(&large), 300);
  check_head(300, 4, 17000, 5.0f, 0.5);
}

/* The first of the largest logits wins; a target that ties with an earlier one is not right. */
Test(head, ties) {
  head_shape shape = {2, 1, 3, 0};
  const float x[2] = {1, 1}, w[3] = {0.5f, 2, 2};
  const int32_t targets[2] = {1, 2};
  float logits[6];
  double row_loss[2], loss;
  int64_t correct, counted;
  head_loss(&shape, x, w, targets, 0, NULL, NULL, logits, row_loss, &loss, &correct, &counted);
  cr_assert_eq(correct, 1);
  cr_assert_eq(counted, 2);
}

Test(embedding, out_and_back) {
  enum { ROWS = 90, WIDTH = 71, VOCABULARY = 7 };
  float *w = make(VOCABULARY * WIDTH, 1.0f), *x = make(ROWS * WIDTH, 0),
        *dx = make(ROWS * WIDTH, 1.0f);
  float *dw = make(VOCABULARY * WIDTH, 1.0f);
  int32_t tokens[ROWS];
  double exact[VOCABULARY * WIDTH], bound[VOCABULARY * WIDTH];
  for (int i = 0; i < VOCABULARY * WIDTH; i++)
    exact[i] = (double)dw[i], bound[i] = gamma_of(ROWS) * fabs(exact[i]);
  for (int i = 0; i < ROWS; i++) tokens[i] = i % 9 == 8 ? -1 : i * i % VOCABULARY;
  embedding_forward(ROWS, WIDTH, tokens, 3.0f, w, x);
  embedding_backward(ROWS, WIDTH, tokens, 3.0f, dx, dw);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < WIDTH; j++) {
      cr_assert_eq(x[i * WIDTH + j], 3.0f * w[(tokens[i] < 0 ? 0 : tokens[i]) * WIDTH + j]);
      if (tokens[i] < 0) continue;
      double term = 3.0 * (double)dx[i * WIDTH + j];
      exact[tokens[i] * WIDTH + j] += term;
      bound[tokens[i] * WIDTH + j] += gamma_of(ROWS + 1) * fabs(term);
    }
  for (int i = 0; i < VOCABULARY * WIDTH; i++) within("dw", i, (double)dw[i], exact[i], bound[i]);
  free(w), free(x), free(dx), free(dw);
}

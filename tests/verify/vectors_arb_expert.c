/* Permutation, expert FFN, combine and metrics beside Arb. */
#include "vectors_arb_checks.h"
#include <stdlib.h>

/* Sums over rows, (E1b), (E4), (E5). */
void check_permutation(vector_case *c) {
  const safetensors_tensor *before = vector_in(c, "x-gradient");
  const safetensors_tensor *rows = vector_in(c, "gathered-gradient");
  const safetensors_tensor *row = vector_tensor(c, "expected", "row");
  int64_t T = row->shape[0], k = row->shape[1], d = before->shape[1];
  arb_t sum, x;
  arb_init(sum);
  arb_init(x);
  for (int64_t i = 0; i < T * d; i++) {
    arb_set_d(sum, vector_real(before, i));
    for (int64_t s = 0; s < k; s++) {
      int64_t place = vector_integer(row, i / d * k + s);
      if (place < 0) continue;
      arb_set_d(x, vector_real(rows, place * d + i % d));
      arb_add(sum, sum, x, ARB_BITS);
    }
    vector_check(c, "x-gradient", i, sum, NULL);
  }
  arb_clear(sum);
  arb_clear(x);
}

void check_combine(vector_case *c) {
  const safetensors_tensor *row = vector_in(c, "row"), *gates = vector_in(c, "gates");
  const safetensors_tensor *given = vector_in(c, "expert-output"), *y = vector_in(c, "y");
  const safetensors_tensor *up = vector_in(c, "y-gradient");
  int64_t T = row->shape[0], k = row->shape[1], d = y->shape[1];
  arb_t sum, g, x;
  arb_init(sum);
  arb_init(g);
  arb_init(x);
  for (int64_t i = 0; i < T * d; i++) {
    arb_set_d(sum, vector_real(y, i));
    for (int64_t s = 0; s < k; s++) {
      int64_t place = vector_integer(row, i / d * k + s);
      if (place < 0) continue;
      arb_set_d(g, vector_real(gates, i / d * k + s));
      arb_set_d(x, vector_real(given, place * d + i % d));
      arb_addmul(sum, g, x, ARB_BITS);
      arb_set_d(x, vector_real(up, i));
      arb_mul(x, x, g, ARB_BITS);
      vector_check(c, "expert-gradient", place * d + i % d, x, NULL);
    }
    vector_check(c, "y", i, sum, NULL);
  }
  for (int64_t i = 0; i < T * k; i++) {
    int64_t place = vector_integer(row, i);
    arb_zero(sum);
    for (int64_t j = 0; place >= 0 && j < d; j++) {
      arb_set_d(g, vector_real(up, i / k * d + j));
      arb_set_d(x, vector_real(given, place * d + j));
      arb_addmul(sum, g, x, ARB_BITS);
    }
    vector_check(c, "gate-gradient", i, sum, NULL);
  }
  arb_clear(sum);
  arb_clear(g);
  arb_clear(x);
}

/* The gated FFN. (E2) from the inputs; (E3) at the rounded a, b and h of the forward pass. */
typedef struct ffn {
  vector_case *c;
  int64_t n, d, f, first, expert; /* rows of the expert, and the first of them */
  bool silu;
  arb_ptr h, a1, b1; /* [n f]: rounded h; a' and b' */
  double *a, *b;     /* [n f] rounded */
} ffn;

/* (E2): act(x) = x sigma(v), with v = x for SiLU, and for GELU, since (1 + tanh u)/2 = sigma(2 u),
   v = 2 sqrt(2/pi) (x + 0.044715 x^3). The slope is sigma(v) + x sigma(v) sigma(-v) v'. */
static void activation(bool silu, const arb_t x, arb_t act, arb_t slope) {
  arb_t v, s, t;
  arb_init(v);
  arb_init(s);
  arb_init(t);
  arb_set(v, x);
  arb_one(slope); /* v' */
  if (!silu) {
    arb_const_pi(s, ARB_BITS);
    arb_ui_div(s, 8, s, ARB_BITS);
    arb_sqrt(s, s, ARB_BITS); /* 2 sqrt(2/pi) */
    arb_set_str(t, "0.044715", ARB_BITS);
    arb_mul(t, t, x, ARB_BITS);
    arb_mul(t, t, x, ARB_BITS);
    arb_addmul_si(slope, t, 3, ARB_BITS);
    arb_mul(slope, slope, s, ARB_BITS);
    arb_addmul(v, t, x, ARB_BITS);
    arb_mul(v, v, s, ARB_BITS);
  }
  arb_exp(s, v, ARB_BITS);
  arb_add_ui(s, s, 1, ARB_BITS);
  arb_inv(s, s, ARB_BITS); /* sigma(-v) */
  arb_neg(t, v);
  arb_exp(t, t, ARB_BITS);
  arb_add_ui(t, t, 1, ARB_BITS);
  arb_inv(t, t, ARB_BITS); /* sigma(v) */
  arb_mul(act, x, t, ARB_BITS);
  arb_mul(slope, slope, s, ARB_BITS);
  arb_mul(slope, slope, act, ARB_BITS);
  arb_add(slope, slope, t, ARB_BITS);
  arb_clear(v);
  arb_clear(s);
  arb_clear(t);
}

/* z = sum_i x[i xs] y[i ys] of two tensors */
static void dot(arb_t z, int64_t n, const safetensors_tensor *x, int64_t x0, int64_t xs,
                const safetensors_tensor *y, int64_t y0, int64_t ys) {
  arb_t u, v;
  arb_init(u);
  arb_init(v);
  arb_zero(z);
  for (int64_t i = 0; i < n; i++) {
    arb_set_d(u, vector_real(x, x0 + i * xs));
    arb_set_d(v, vector_real(y, y0 + i * ys));
    arb_addmul(z, u, v, ARB_BITS);
  }
  arb_clear(u);
  arb_clear(v);
}

static void ffn_forward(ffn *k) {
  vector_case *c = k->c;
  const safetensors_tensor *x = vector_in(c, "x"), *gate = vector_in(c, "w-gate");
  const safetensors_tensor *up = vector_in(c, "w-up"), *down = vector_in(c, "w-down");
  const safetensors_tensor *dy = vector_in(c, "y-gradient");
  int64_t d = k->d, f = k->f, w = k->expert * f * d;
  arb_ptr exact = _arb_vec_init(k->n * f);
  arb_t a, b, act, slope;
  arb_init(a);
  arb_init(b);
  arb_init(act);
  arb_init(slope);
  for (int64_t i = 0; i < k->n * f; i++) {
    int64_t row = k->first + i / f, place = k->first * f + i;
    dot(a, d, x, row * d, 1, gate, w + i % f * d, 1);
    dot(b, d, x, row * d, 1, up, w + i % f * d, 1);
    vector_check(c, "a", place, a, NULL);
    vector_check(c, "b", place, b, NULL);
    k->a[i] = vector_single(a);
    k->b[i] = vector_single(b);
    activation(k->silu, a, act, slope);
    arb_mul(exact + i, act, b, ARB_BITS);
    vector_check(c, "h", place, exact + i, NULL);
    arb_set_d(k->h + i, vector_single(exact + i));
    /* h', then a' and b' of the rounded a and b. */
    dot(b, d, dy, row * d, 1, down, w + i % f, f);
    vector_check(c, "h-gradient", place, b, NULL);
    arb_set_d(a, k->a[i]);
    activation(k->silu, a, act, slope);
    arb_mul(k->b1 + i, b, act, ARB_BITS);
    arb_set_d(a, k->b[i]);
    arb_mul(k->a1 + i, b, a, ARB_BITS);
    arb_mul(k->a1 + i, k->a1 + i, slope, ARB_BITS);
    vector_check(c, "a-gradient", place, k->a1 + i, NULL);
    vector_check(c, "b-gradient", place, k->b1 + i, NULL);
  }
  for (int64_t i = 0; i < k->n * d; i++) {
    arb_zero(a);
    for (int64_t j = 0; j < f; j++) {
      arb_set_d(b, vector_real(down, w + i % d * f + j));
      arb_addmul(a, b, exact + i / d * f + j, ARB_BITS);
    }
    vector_check(c, "y", k->first * d + i, a, NULL);
  }
  arb_clear(a);
  arb_clear(b);
  arb_clear(act);
  arb_clear(slope);
  _arb_vec_clear(exact, k->n * f);
}

/* before + sum over the rows of inner[i][j] (of width f) times a tensor's column. */
static void ffn_weight(ffn *k, const char *name, int64_t place, arb_srcptr inner, int64_t j,
                       const char *outer, int64_t column) {
  const safetensors_tensor *rows = vector_in(k->c, outer);
  arb_t sum, x;
  arb_init(sum);
  arb_init(x);
  arb_set_d(sum, vector_real(vector_in(k->c, name), place));
  for (int64_t i = 0; i < k->n; i++) {
    arb_set_d(x, vector_real(rows, (k->first + i) * k->d + column));
    arb_addmul(sum, x, inner + i * k->f + j, ARB_BITS);
  }
  vector_check(k->c, name, place, sum, NULL);
  arb_clear(sum);
  arb_clear(x);
}

static void ffn_backward(ffn *k) {
  vector_case *c = k->c;
  const safetensors_tensor *gate = vector_in(c, "w-gate"), *up = vector_in(c, "w-up");
  int64_t d = k->d, f = k->f, w = k->expert * f * d;
  arb_t sum, x;
  arb_init(sum);
  arb_init(x);
  for (int64_t i = 0; i < k->n * d; i++) {
    arb_zero(sum);
    for (int64_t j = 0; j < f; j++) {
      arb_set_d(x, vector_real(gate, w + j * d + i % d));
      arb_addmul(sum, x, k->a1 + i / d * f + j, ARB_BITS);
      arb_set_d(x, vector_real(up, w + j * d + i % d));
      arb_addmul(sum, x, k->b1 + i / d * f + j, ARB_BITS);
    }
    vector_check(c, "x-gradient", k->first * d + i, sum, NULL);
  }
  for (int64_t i = 0; i < f * d; i++) {
    ffn_weight(k, "w-gate-gradient", w + i, k->a1, i / d, "x", i % d);
    ffn_weight(k, "w-up-gradient", w + i, k->b1, i / d, "x", i % d);
    ffn_weight(k, "w-down-gradient", w + i, k->h, i % f, "y-gradient", i / f);
  }
  arb_clear(sum);
  arb_clear(x);
}

void check_expert_ffn(vector_case *c) {
  const safetensors_tensor *w = vector_in(c, "w-gate"), *offsets = vector_in(c, "offsets");
  for (int64_t e = 0; e < w->shape[0]; e++) {
    ffn k = {.c = c, .d = w->shape[2], .f = w->shape[1], .expert = e};
    k.first = vector_integer(offsets, e);
    k.n = vector_integer(offsets, e + 1) - k.first;
    k.silu = !strcmp(vector_text(c, "activation"), "silu");
    int64_t cells = k.n * k.f;
    k.h = _arb_vec_init(cells);
    k.a1 = _arb_vec_init(cells);
    k.b1 = _arb_vec_init(cells);
    k.a = calloc((size_t)cells + 1, sizeof *k.a);
    k.b = calloc((size_t)cells + 1, sizeof *k.b);
    ffn_forward(&k);
    ffn_backward(&k);
    _arb_vec_clear(k.h, cells);
    _arb_vec_clear(k.a1, cells);
    _arb_vec_clear(k.b1, cells);
    free(k.a);
    free(k.b);
  }
}

/* (V1) to (V4) */
void check_metrics(vector_case *c) {
  const safetensors_tensor *count = vector_in(c, "counts"), *mean = vector_in(c, "loads");
  const safetensors_tensor *x = vector_in(c, "x");
  int64_t E = count->elements, total = 0, most = 0;
  arb_t sum, t, u, largest, one;
  arb_init(sum);
  arb_init(t);
  arb_init(u);
  arb_init(largest);
  arb_init(one);
  arb_one(one);
  for (int64_t e = 0; e < E; e++) {
    total += vector_integer(count, e);
    if (vector_integer(count, e) > most) most = vector_integer(count, e);
    arb_set_d(t, vector_real(mean, e));
    arb_add(sum, sum, t, ARB_BITS);
    if (arb_gt(t, largest)) arb_set(largest, t);
  }
  arb_set_si(t, most);
  arb_mul_si(t, t, E, ARB_BITS);
  arb_div_si(t, t, total, ARB_BITS);
  arb_sub_ui(t, t, 1, ARB_BITS);
  vector_check(c, "maxvio-loads", 0, t, NULL);
  arb_mul_si(t, largest, E, ARB_BITS);
  arb_div(t, t, sum, ARB_BITS);
  arb_sub_ui(t, t, 1, ARB_BITS);
  vector_check(c, "maxvio-mean", 0, t, one);
  arb_zero(sum);
  arb_zero(u);
  for (int64_t e = 0; e < E; e++) {
    arb_set_d(t, vector_real(x, e));
    arb_add(sum, sum, t, ARB_BITS);
    for (int64_t j = 0; j < e; j++) {
      arb_set_d(largest, vector_real(x, j));
      arb_sub(largest, largest, t, ARB_BITS);
      arb_abs(largest, largest);
      arb_add(u, u, largest, ARB_BITS);
    }
  }
  arb_mul_si(t, sum, E, ARB_BITS);
  arb_div(t, u, t, ARB_BITS);
  vector_check(c, "gini", 0, t, one);
  arb_zero(u);
  for (int64_t e = 0; e < E; e++) {
    if (vector_real(x, e) == 0) continue;
    arb_set_d(t, vector_real(x, e));
    arb_div(t, t, sum, ARB_BITS);
    arb_log(largest, t, ARB_BITS);
    arb_submul(u, t, largest, ARB_BITS);
  }
  vector_check(c, "entropy", 0, u, one);
  arb_clear(sum);
  arb_clear(t);
  arb_clear(u);
  arb_clear(largest);
  arb_clear(one);
}

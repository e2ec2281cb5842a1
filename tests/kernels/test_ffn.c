/* phibal_ffn_forward and _backward against loops in binary64, within the bounds (E2b) and (E3b)
   that kernels/cpu/ffn.c derives, for groups that are empty, of one row, and of several tiles. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <phibal/expert.h>
#include <stdlib.h>
#include <string.h>

#define U 0x1p-24

typedef struct ffn_case {
  phibal_ffn ffn;
  const int64_t *offsets;
} ffn_case;

/* Empty first, inner and last groups; one row; exactly a tile; a tile and a bit. */
static const int64_t ragged[] = {0, 0, 1, 257, 257, 526, 531, 531};
static const int64_t dense[] = {0, 300};
static const int64_t nothing[] = {0, 0, 0};
static const int64_t single[] = {0, 1};
static const ffn_case cases[] = {
    {{7, 12, 20, PHIBAL_ACTIVATION_SILU}, ragged},
    {{7, 33, 70, PHIBAL_ACTIVATION_GELU}, ragged},
    {{1, 24, 17, PHIBAL_ACTIVATION_GELU}, dense},
    {{1, 5, 520, PHIBAL_ACTIVATION_SILU}, dense}, /* more hidden columns than a tile has */
    {{2, 3, 4, PHIBAL_ACTIVATION_SILU}, nothing},
    {{1, 1, 1, PHIBAL_ACTIVATION_GELU}, single},
};

typedef struct arrays {
  int64_t rows, weights; /* rows N; numbers in one of the three weights */
  float *x, *w_gate, *w_up, *w_down, *a, *b, *h, *y;
  float *y_gradient, *h_gradient, *x_gradient, *gate_gradient, *up_gradient, *down_gradient;
} arrays;

static uint64_t state = 1;

static double uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) * 0x1p-52 - 1.0;
}

/* n numbers, and a guard after them that must survive. */
static const float guard = 12345.0f;
static float *make(int64_t n, double size) {
  float *v = malloc((size_t)(n + 1) * sizeof *v);
  for (int64_t i = 0; i < n; i++) v[i] = size > 0 ? (float)(size * uniform()) : NAN;
  v[n] = guard;
  return v;
}

static arrays arrays_make(const ffn_case *c) {
  int64_t n = c->offsets[c->ffn.experts], d = c->ffn.width, f = c->ffn.hidden;
  int64_t w = c->ffn.experts * d * f;
  state = 99;
  return (arrays){n,
                  w,
                  make(n * d, 2.0),
                  make(w, 1.0),
                  make(w, 1.0),
                  make(w, 1.0),
                  make(n * f, 0),
                  make(n * f, 0),
                  make(n * f, 0),
                  make(n * d, 0),
                  make(n * d, 1.0),
                  make(n * f, 0),
                  make(n * d, 0),
                  make(w, 1.0),
                  make(w, 1.0),
                  make(w, 1.0)};
}

static void arrays_free(arrays *v) {
  float *all[] = {v->x,           v->w_gate,
                  v->w_up,        v->w_down,
                  v->a,           v->b,
                  v->h,           v->y,
                  v->y_gradient,  v->h_gradient,
                  v->x_gradient,  v->gate_gradient,
                  v->up_gradient, v->down_gradient};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static double gamma_of(double n) {
  return n * U / (1.0 - n * U);
}

/* Both activations are a sigmoid(z): z = a, or 2 sqrt(2/pi) (a + 0.044715 a^3), whose sigmoid is
   (1 + tanh(z/2)) / 2 without the cancellation at negative a. */
static double inner(phibal_activation kind, double a, double *slope) {
  double c = 2.0 * sqrt(2.0 / M_PI);
  *slope = kind == PHIBAL_ACTIVATION_SILU ? 1.0 : c * (1.0 + 3.0 * 0.044715 * a * a);
  return kind == PHIBAL_ACTIVATION_SILU ? a : c * (a + 0.044715 * a * a * a);
}

static double activation(phibal_activation kind, double a) {
  double unused;
  return a / (1.0 + exp(-inner(kind, a, &unused)));
}

static double slope(phibal_activation kind, double a) {
  double by, z = inner(kind, a, &by);
  return 1.0 / (1.0 + exp(-z)) + a * by / ((1.0 + exp(-z)) * (1.0 + exp(z)));
}

static void within(double got, double exact, double bound, const char *what, int64_t row,
                   int64_t column) {
  /* The loops below err by a few 2^-53 of sums of absolute values that the bounds hold too; and no
     sum here has more than 1041 terms that may underflow. */
  cr_assert(fabs(got - exact) <= bound * (1.0 + 1e-6) + 1042 * 0x1p-149,
            "%s[%ld][%ld] is %.9g, not %.9g +- %.3g", what, (long)row, (long)column, got, exact,
            bound);
}

/* One row forward: exact a, b, y and the bounds of h and y. */
static void check_row(const ffn_case *c, const arrays *v, int64_t e, int64_t row) {
  int64_t d = c->ffn.width, f = c->ffn.hidden;
  const float *x = v->x + row * d;
  double g = gamma_of((double)d), h[1024], hb[1024];
  for (int64_t j = 0; j < f; j++) {
    const float *gate = v->w_gate + (e * f + j) * d, *up = v->w_up + (e * f + j) * d;
    double a = 0, b = 0, big_a = 0, big_b = 0;
    for (int64_t i = 0; i < d; i++) {
      a += (double)gate[i] * (double)x[i], big_a += fabs((double)gate[i] * (double)x[i]);
      b += (double)up[i] * (double)x[i], big_b += fabs((double)up[i] * (double)x[i]);
    }
    double act = activation(c->ffn.activation, a);
    h[j] = act * b;
    hb[j] = 1.13 * g * big_a * (fabs(b) + g * big_b) + fabs(act) * g * big_b +
            (U + 0x1p-40) * (fabs(act) + 1.13 * g * big_a) * (fabs(b) + g * big_b);
    within(v->a[row * f + j], a, g * big_a, "a", row, j);
    within(v->b[row * f + j], b, g * big_b, "b", row, j);
    within(v->h[row * f + j], h[j], hb[j], "h", row, j);
  }
  for (int64_t i = 0; i < d; i++) {
    const float *down = v->w_down + (e * d + i) * f;
    double y = 0, bound = 0;
    for (int64_t j = 0; j < f; j++) {
      y += (double)down[j] * h[j];
      bound += fabs((double)down[j]) * (hb[j] + gamma_of((double)f) * (fabs(h[j]) + hb[j]));
    }
    within(v->y[row * d + i], y, bound, "y", row, i);
  }
}

static void run_forward(const ffn_case *c, arrays *v) {
  cr_assert_eq(phibal_ffn_forward(&c->ffn, c->offsets, v->x, v->w_gate, v->w_up, v->w_down, v->a,
                                  v->b, v->h, v->y),
               PHIBAL_OK);
}

static void run_backward(const ffn_case *c, arrays *v) {
  cr_assert_eq(phibal_ffn_backward(&c->ffn, c->offsets, v->x, v->w_gate, v->w_up, v->w_down, v->a,
                                   v->b, v->h, v->y_gradient, v->h_gradient, v->x_gradient,
                                   v->gate_gradient, v->up_gradient, v->down_gradient),
               PHIBAL_OK);
}

static void check_guards(const ffn_case *c, const arrays *v) {
  int64_t n = v->rows, d = c->ffn.width, f = c->ffn.hidden;
  cr_assert(v->a[n * f] == guard && v->b[n * f] == guard && v->h[n * f] == guard &&
            v->y[n * d] == guard && v->x_gradient[n * d] == guard &&
            v->gate_gradient[v->weights] == guard && v->up_gradient[v->weights] == guard &&
            v->down_gradient[v->weights] == guard);
}

Test(ffn, forward_is_within_its_bound) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    arrays v = arrays_make(&cases[i]);
    run_forward(&cases[i], &v);
    for (int64_t e = 0; e < cases[i].ffn.experts; e++)
      for (int64_t row = cases[i].offsets[e]; row < cases[i].offsets[e + 1]; row++)
        check_row(&cases[i], &v, e, row);
    check_guards(&cases[i], &v);
    arrays_free(&v);
  }
}

/* dL/da and dL/db of a row with their bounds, from the a, b, h that the backward pass is given;
   checks them and x_gradient. */
static void check_row_backward(const ffn_case *c, const arrays *v, const float *a_in,
                               const float *b_in, int64_t e, int64_t row, double *da, double *db,
                               double *bound_a, double *bound_b) {
  int64_t d = c->ffn.width, f = c->ffn.hidden;
  for (int64_t j = 0; j < f; j++) {
    double dh = 0, big = 0, a = (double)a_in[row * f + j], b = (double)b_in[row * f + j];
    for (int64_t i = 0; i < d; i++) {
      double term = (double)v->w_down[(e * d + i) * f + j] * (double)v->y_gradient[row * d + i];
      dh += term, big += fabs(term);
    }
    double act = activation(c->ffn.activation, a), by = slope(c->ffn.activation, a);
    big *= gamma_of((double)d);
    da[j] = dh * b * by;
    db[j] = dh * act;
    bound_b[j] = fabs(act) * big + (U + 0x1p-40) * fabs(act) * (fabs(dh) + big);
    bound_a[j] = fabs(b * by) * big + (U * fabs(by) + 0x1p-41) * fabs(b) * (fabs(dh) + big);
    within(v->h_gradient[row * f + j], dh, big, "h_gradient", row, j);
    within(v->a[row * f + j], da[j], bound_a[j], "a_gradient", row, j);
    within(v->b[row * f + j], db[j], bound_b[j], "b_gradient", row, j);
  }
  for (int64_t i = 0; i < d; i++) {
    double dx = 0, bound = 0;
    for (int64_t j = 0; j < f; j++) {
      double gate = v->w_gate[(e * f + j) * d + i], up = v->w_up[(e * f + j) * d + i];
      dx += gate * da[j] + up * db[j];
      bound += fabs(gate) * bound_a[j] + fabs(up) * bound_b[j] +
               gamma_of((double)(2 * f + 1)) * (fabs(gate) * (fabs(da[j]) + bound_a[j]) +
                                                fabs(up) * (fabs(db[j]) + bound_b[j]));
    }
    within(v->x_gradient[row * d + i], dx, bound, "x_gradient", row, i);
  }
}

/* [rows][m]^T [rows][n] on top of `before`, `bound` being the error of `left`. */
static void check_weight(const char *what, int64_t rows, int64_t m, int64_t n, const double *left,
                         const double *bound, const double *right, const float *before,
                         const float *got) {
  double g = gamma_of((double)(rows + 1));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = before[i * n + j], error = g * fabs(sum);
      for (int64_t r = 0; r < rows; r++) {
        double l = left[r * m + i], x = right[r * n + j];
        sum += l * x;
        error += fabs(x) * bound[r * m + i] + g * (fabs(l) + bound[r * m + i]) * fabs(x);
      }
      within(got[i * n + j], sum, error, what, i, j);
    }
}

static double *widen(int64_t n, const float *x) {
  double *wide = calloc((size_t)n + 1, sizeof *wide);
  for (int64_t i = 0; i < n; i++) wide[i] = x[i];
  return wide;
}

static float *copy(int64_t n, const float *x) {
  float *to = malloc((size_t)(n + 1) * sizeof *to);
  memcpy(to, x, (size_t)(n + 1) * sizeof *to);
  return to;
}

static void check_expert_backward(const ffn_case *c, const arrays *v, const float *a,
                                  const float *b, const float *before[3], int64_t e) {
  int64_t d = c->ffn.width, f = c->ffn.hidden, first = c->offsets[e];
  int64_t rows = c->offsets[e + 1] - first, w = e * d * f;
  double *da = calloc((size_t)(rows * f) + 1, 8), *db = calloc((size_t)(rows * f) + 1, 8);
  double *ba = calloc((size_t)(rows * f) + 1, 8), *bb = calloc((size_t)(rows * f) + 1, 8);
  double *exact = calloc((size_t)(rows * d) + 1, 8);
  for (int64_t r = 0; r < rows; r++)
    check_row_backward(c, v, a, b, e, first + r, da + r * f, db + r * f, ba + r * f, bb + r * f);
  double *x = widen(rows * d, v->x + first * d), *dy = widen(rows * d, v->y_gradient + first * d);
  double *h = widen(rows * f, v->h + first * f);
  check_weight("w_gate_gradient", rows, f, d, da, ba, x, before[0] + w, v->gate_gradient + w);
  check_weight("w_up_gradient", rows, f, d, db, bb, x, before[1] + w, v->up_gradient + w);
  check_weight("w_down_gradient", rows, d, f, dy, exact, h, before[2] + w, v->down_gradient + w);
  double *all[] = {da, db, ba, bb, exact, x, dy, h};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

Test(ffn, backward_is_within_its_bounds) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const ffn_case *c = &cases[i];
    arrays v = arrays_make(c);
    run_forward(c, &v);
    int64_t nf = v.rows * c->ffn.hidden;
    float *a = copy(nf, v.a), *b = copy(nf, v.b);
    float *before[3] = {copy(v.weights, v.gate_gradient), copy(v.weights, v.up_gradient),
                        copy(v.weights, v.down_gradient)};
    run_backward(c, &v);
    for (int64_t e = 0; e < c->ffn.experts; e++)
      check_expert_backward(c, &v, a, b, (const float **)before, e);
    check_guards(c, &v);
    float *all[] = {a, b, before[0], before[1], before[2]};
    for (size_t j = 0; j < 5; j++) free(all[j]);
    arrays_free(&v);
  }
}

Test(ffn, threads_do_not_change_a_bit) {
  int threads = omp_get_max_threads();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    arrays one = arrays_make(&cases[i]);
    omp_set_num_threads(1);
    run_forward(&cases[i], &one);
    size_t y_bytes = (size_t)(one.rows * cases[i].ffn.width) * sizeof(float);
    size_t w_bytes = (size_t)one.weights * sizeof(float);
    run_backward(&cases[i], &one);
    for (int n = 2; n <= 5; n++) {
      arrays many = arrays_make(&cases[i]);
      omp_set_num_threads(n);
      run_forward(&cases[i], &many);
      run_backward(&cases[i], &many);
      cr_assert_eq(memcmp(one.y, many.y, y_bytes), 0, "y, case %zu, %d threads", i, n);
      cr_assert_eq(memcmp(one.x_gradient, many.x_gradient, y_bytes), 0);
      cr_assert_eq(memcmp(one.gate_gradient, many.gate_gradient, w_bytes), 0);
      cr_assert_eq(memcmp(one.up_gradient, many.up_gradient, w_bytes), 0);
      cr_assert_eq(memcmp(one.down_gradient, many.down_gradient, w_bytes), 0);
      arrays_free(&many);
    }
    arrays_free(&one);
  }
  omp_set_num_threads(threads);
}

/* Far from 0 the activations are x or 0, never NaN. */
Test(ffn, activations_at_extremes) {
  for (int kind = 0; kind < 2; kind++) {
    phibal_ffn ffn = {1, 1, 1, (phibal_activation)kind};
    const int64_t offsets[] = {0, 6};
    const float x[6] = {1e30f, -1e30f, 0.0f, 200.0f, -200.0f, -1e4f}, one = 1.0f;
    const float want[6] = {1e30f, 0.0f, 0.0f, 200.0f, 0.0f, 0.0f};
    const float up = 0.0f, keep = 1.0f;
    float a[6], b[6], h[6], y[6], dh[6], dx[6], dg = 0, du = 0, dd = 0;
    cr_assert_eq(phibal_ffn_forward(&ffn, offsets, x, &one, &up, &keep, a, b, h, y), PHIBAL_OK);
    for (int i = 0; i < 6; i++) b[i] = 1.0f;
    const float dy[6] = {1, 1, 1, 1, 1, 1};
    cr_assert_eq(
        phibal_ffn_backward(&ffn, offsets, x, &one, &up, &keep, a, b, h, dy, dh, dx, &dg, &du, &dd),
        PHIBAL_OK);
    for (int i = 0; i < 6; i++) {
      cr_assert_eq(y[i], 0.0f);
      cr_assert_eq(b[i], want[i], "act(%g) is %g", (double)x[i], (double)b[i]);
      cr_assert_eq(a[i],
                   x[i] > 0   ? 1.0f
                   : x[i] < 0 ? 0.0f
                              : 0.5f,
                   "act'(%g) is %g", (double)x[i], (double)a[i]);
    }
  }
}

Test(ffn, bad_shapes_are_refused) {
  float v[4] = {0};
  const int64_t falling[] = {0, 2, 1}, shifted[] = {1, 1, 1};
  phibal_ffn ffn = {2, 1, 1, PHIBAL_ACTIVATION_SILU};
  cr_assert_eq(phibal_ffn_forward(&ffn, falling, v, v, v, v, v, v, v, v), PHIBAL_ERROR_ARGUMENT);
  cr_assert(strstr(phibal_status_message(), "expert 1"));
  cr_assert_eq(phibal_ffn_forward(&ffn, shifted, v, v, v, v, v, v, v, v), PHIBAL_ERROR_ARGUMENT);
  ffn.hidden = 0;
  cr_assert_eq(phibal_ffn_forward(&ffn, nothing, v, v, v, v, v, v, v, v), PHIBAL_ERROR_ARGUMENT);
}

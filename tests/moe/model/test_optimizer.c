/* AdamW against a long double rewriting of its definition; the norm, clipping, the schedule. */
#include "moe/model/optimizer.h"
#include "moe/config/config.h"
#include "moe/config/schedule.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const optimizer_config base = {.peak_lr = 3e-3,
                                      .final_lr = 0.1,
                                      .warmup = 0.1,
                                      .weight_decay = 0.25,
                                      .beta1 = 0.9,
                                      .beta2 = 0.95,
                                      .epsilon = 1e-8,
                                      .clip = 1.0};

/* Two tensors that do not lie in the order of the list, one with decay. */
enum { ROWS = 37, COLUMNS = 1013, NORM = 41, N = ROWS * COLUMNS + NORM };
static const model_tensor tensors[] = {
    {.name = "norm", .offset = ROWS * COLUMNS, .shape = {NORM}, .dimensions = 1, .decay = false},
    {.name = "matrix", .offset = 0, .shape = {ROWS, COLUMNS}, .dimensions = 2, .decay = true},
};

static uint64_t state = 1;
static double uniform(void) { /* in [-1, 1) */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)(state >> 11) * 0x1p-52 - 1.0;
}

/* Gradients over twelve orders of magnitude, zeros among them. */
static void draw(float *g) {
  for (int i = 0; i < N; i++)
    g[i] = i % 11 ? (float)(uniform() * pow(10.0, 6.0 * uniform() - 3.0)) : 0.0f;
}

/* Each step rounds m, v and theta once to binary32 (u = 2^-24) after a few binary64 operations
   (each 2^-53, together far below 2^-10 u and absorbed by the factor 1.01).
     |m_t - exact| <= e_m,  e_m <- b1 e_m + 1.01 u |m_t|          (same for v)
     theta's step s = lr m' / (sqrt(v') + eps), m' = m c1, v' = v c2: the error of s is at most
     lr c1 e_m / (sqrt(v')(1 - r) + eps) + |s| r / (1 - r), where r = e_v / v bounds the relative
     error of sqrt(v) (sqrt halves it) and the update's own decay shrinks old errors:
     e_theta <- e_theta (1 - lr decay) + error of s + 1.01 u |theta_t|.
   Subnormal rounding adds 2^-150 to each stored value. */
Test(optimizer, adamw_follows_its_definition) {
  optimizer o;
  cr_assert_eq(optimizer_create(&base, 2, tensors, N, &o), PHIBAL_OK);
  float *w = malloc(N * sizeof *w), *g = malloc(N * sizeof *g);
  long double *x = malloc(N * sizeof *x), *m = calloc(N, sizeof *m), *v = calloc(N, sizeof *v);
  double *em = calloc(N, sizeof *em), *ev = calloc(N, sizeof *ev), *ex = calloc(N, sizeof *ex);
  for (int i = 0; i < N; i++) x[i] = (long double)(w[i] = (float)uniform());
  const double u = 1.01 * 0x1p-24;
  for (int t = 1; t <= 6; t++) {
    const double lr = 1e-3 * t, scale = t % 2 ? 1.0 : 0.37;
    draw(g);
    optimizer_update(&o, lr, scale, g, w);
    const long double c1 = 1.0L / (1.0L - powl((long double)base.beta1, t));
    const long double c2 = 1.0L / (1.0L - powl((long double)base.beta2, t));
    for (int i = 0; i < N; i++) {
      const long double gradient = (long double)scale * (long double)g[i];
      const double decay = i < ROWS * COLUMNS ? base.weight_decay : 0.0;
      m[i] = (long double)base.beta1 * m[i] + (1.0L - (long double)base.beta1) * gradient;
      v[i] =
          (long double)base.beta2 * v[i] + (1.0L - (long double)base.beta2) * gradient * gradient;
      const long double root = sqrtl(v[i] * c2);
      const long double s = (long double)lr * m[i] * c1 / (root + (long double)base.epsilon);
      const long double old = x[i];
      x[i] = old - s - (long double)(lr * decay) * old;
      /* Errors that the stored, rounded moments bring into this step. */
      double carried_m = base.beta1 * em[i], carried_v = base.beta2 * ev[i];
      double r = v[i] > 0 ? carried_v / (double)v[i] : 0.0;
      cr_assert_lt(r, 0.5);
      double es = lr * (double)c1 * carried_m / ((double)root * (1 - r) + base.epsilon) +
                  (double)fabsl(s) * (r / (1 - r) + 0x1p-48);
      ex[i] = ex[i] * (1 - lr * decay) + es + u * (double)fabsl(x[i]) + 0x1p-149;
      em[i] = carried_m + u * (double)fabsl(m[i]) + 0x1p-149;
      ev[i] = carried_v + u * (double)v[i] + 0x1p-149;
      cr_assert_leq(fabsl((long double)w[i] - x[i]), (long double)ex[i],
                    "step %d, element %d: %.9g for %.12Lg", t, i, (double)w[i], x[i]);
    }
  }
  /* The bound is worth something: it stays below a thousandth of one step. */
  cr_expect_lt(ex[1], 1e-6);
  optimizer_destroy(&o);
  free(w), free(g), free(x), free(m), free(v), free(em), free(ev), free(ex);
}

/* Decay acts where there is no gradient, on decaying tensors only. */
Test(optimizer, decay_is_decoupled) {
  optimizer o;
  cr_assert_eq(optimizer_create(&base, 2, tensors, N, &o), PHIBAL_OK);
  float *w = malloc(N * sizeof *w), *g = calloc(N, sizeof *g);
  for (int i = 0; i < N; i++) w[i] = 2.0f;
  optimizer_update(&o, 0.5, 1.0, g, w);
  cr_expect_eq(w[0], 1.75f);
  cr_expect_eq(w[ROWS * COLUMNS - 1], 1.75f);
  cr_expect_eq(w[ROWS * COLUMNS], 2.0f);
  cr_expect_eq(w[N - 1], 2.0f);
  optimizer_destroy(&o);
  free(w), free(g);
}

Test(optimizer, same_bits_for_any_number_of_threads) {
  float *w[2], *g = malloc(N * sizeof *g);
  double norm[2];
  state = 7;
  draw(g);
  for (int k = 0; k < 2; k++) {
    omp_set_num_threads(k ? 3 : 1);
    optimizer o;
    cr_assert_eq(optimizer_create(&base, 2, tensors, N, &o), PHIBAL_OK);
    w[k] = malloc(N * sizeof *w[k]);
    for (int i = 0; i < N; i++) w[k][i] = (float)sin(i);
    cr_assert_eq(optimizer_norm(&o, g, &norm[k]), PHIBAL_OK);
    for (int t = 0; t < 3; t++) optimizer_update(&o, 1e-3, 0.5, g, w[k]);
    optimizer_destroy(&o);
  }
  cr_expect_arr_eq(w[0], w[1], N * sizeof *w[0]);
  cr_expect_arr_eq(&norm[0], &norm[1], sizeof norm[0]);
  free(w[0]), free(w[1]), free(g);
}

/* optimizer.h's bound, (n + 2) 2^-53 with n = 4096 + blocks. */
Test(optimizer, norm) {
  optimizer o;
  cr_assert_eq(optimizer_create(&base, 2, tensors, N, &o), PHIBAL_OK);
  float *g = malloc(N * sizeof *g);
  draw(g);
  g[N - 1] = 1e4f; /* the last element counts */
  long double sum = 0;
  for (int i = 0; i < N; i++) sum += (long double)g[i] * (long double)g[i];
  double norm;
  cr_assert_eq(optimizer_norm(&o, g, &norm), PHIBAL_OK);
  double bound = (4096.0 + N / 4096 + 3) * 0x1p-53;
  cr_expect_leq(fabsl((long double)norm / sqrtl(sum) - 1), (long double)bound);
  /* No overflow at the largest binary32, none lost at the smallest. */
  for (int i = 0; i < N; i++) g[i] = FLT_MAX;
  cr_assert_eq(optimizer_norm(&o, g, &norm), PHIBAL_OK);
  cr_expect_leq(fabs(norm / ((double)FLT_MAX * sqrt(N)) - 1), bound);
  for (int i = 0; i < N; i++) g[i] = 0.0f;
  g[N - 2] = 0x1p-149f;
  cr_assert_eq(optimizer_norm(&o, g, &norm), PHIBAL_OK);
  cr_expect_eq(norm, 0x1p-149);
  g[5] = NAN;
  cr_expect_eq(optimizer_norm(&o, g, &norm), PHIBAL_ERROR_NONFINITE);
  cr_expect(strstr(phibal_status_message(), "matrix") && strstr(phibal_status_message(), "5"), "%s",
            phibal_status_message());
  optimizer_destroy(&o);
  free(g);
}

Test(optimizer, clipping) {
  cr_expect_eq(clip_scale(1.0, 4.0), 0.25);
  cr_expect_eq(clip_scale(1.0, 1.0), 1.0);
  cr_expect_eq(clip_scale(1.0, 0.5), 1.0, "never enlarges");
  cr_expect_eq(clip_scale(0.0, 9.0), 1.0, "0 is no clipping");
}

Test(optimizer, schedule) {
  optimizer_config c = base; /* peak 3e-3, warm-up 10 of 100 steps, floor 3e-4 */
  const double step = 4 * DBL_EPSILON;
  cr_expect_float_eq(learning_rate(&c, 0, 100), 3e-4, 3e-4 * step);
  cr_expect_float_eq(learning_rate(&c, 4, 100), 1.5e-3, 1.5e-3 * step);
  cr_expect_float_eq(learning_rate(&c, 9, 100), 3e-3, 3e-3 * step);
  /* Half way down the cosine (45 of 90 steps) is the mean of peak and floor. */
  cr_expect_float_eq(learning_rate(&c, 54, 100), 1.65e-3, 1.65e-3 * step);
  cr_expect_float_eq(learning_rate(&c, 99, 100), 3e-4, 3e-3 * step);
  for (int t = 10; t < 99; t++)
    cr_expect_gt(learning_rate(&c, t, 100), learning_rate(&c, t + 1, 100));
  c.warmup = 0;
  cr_expect_float_eq(learning_rate(&c, 0, 1), 3e-4, 3e-3 * step, "one step is the last step");
  c.warmup = 1;
  cr_expect_float_eq(learning_rate(&c, 9, 10), 3e-3, 3e-3 * step, "warm-up only");
}

static phibal_status continue_plan(run_config *c, int64_t step, int64_t steps) {
  return schedule_continue(step, steps, &c->training.steps, c->training.continued,
                           sizeof c->training.continued);
}

static run_config planned(const char *continued, int64_t steps) {
  run_config c = {.optimizer = base, .training.steps = steps};
  strcpy(c.training.continued, continued);
  return c;
}

/* What a run remembers of its plans when it gets another, after whichever step. */
Test(optimizer, plans) {
  static const struct {
    const char *before;
    int64_t planned, step, steps;
    const char *after;
  } cases[] = {{"", 100, 100, 200, "100@100"},
               {"", 100, 40, 60, "100@40"},
               {"", 100, 0, 200, ""},   /* nothing was taken by the old plan */
               {"", 100, 100, 100, ""}, /* no other plan */
               {"100@100", 200, 150, 300, "100@100,200@150"},
               {"100@100", 200, 100, 300, "100@100"}, /* no step was taken by 200 */
               {"100@100", 200, 70, 300, "100@70"},   /* from an older checkpoint */
               {"100@50,200@150", 400, 90, 95, "100@50,200@90"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run_config c = planned(cases[i].before, cases[i].planned);
    cr_assert_eq(continue_plan(&c, cases[i].step, cases[i].steps), PHIBAL_OK, "%s",
                 phibal_status_message());
    cr_expect_str_eq(c.training.continued, cases[i].after);
    cr_expect_eq(c.training.steps, cases[i].steps);
    schedule s; /* what was written is read */
    cr_expect_eq(schedule_read(c.training.continued, c.training.steps, &s), PHIBAL_OK, "%s",
                 phibal_status_message());
  }
  run_config c = planned("", 100);
  cr_expect_eq(continue_plan(&c, 50, 49), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(c.training.steps, 100);
  static const char *const wrong[] = {"100",
                                      "100@",
                                      "@100",
                                      "100@50,",
                                      "x@5",
                                      "100@60 ",
                                      "100@0",
                                      "50@60",
                                      "100@300",
                                      "100@50,200@50",
                                      "100@50,200@40",
                                      "-5@2",
                                      "99999999999999999999@5"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    schedule s;
    cr_expect_neq(schedule_read(wrong[i], 250, &s), PHIBAL_OK, "%s", wrong[i]);
  }
}

/* Each step has the rate of the plan in force, and the first plan's warm-up. */
Test(optimizer, rates_of_plans) {
  schedule s;
  cr_assert_eq(schedule_read("100@60,400@200", 300, &s), PHIBAL_OK);
  cr_expect_eq(schedule_warmup(&s, &base), 10);
  optimizer_config ten400 = base, ten300 = base;
  ten400.warmup = 10 / 400.0, ten300.warmup = 10 / 300.0;
  for (int64_t step = 0; step < 300; step++) {
    const double wanted = step < 60    ? learning_rate(&base, step, 100)
                          : step < 200 ? learning_rate(&ten400, step, 400)
                                       : learning_rate(&ten300, step, 300);
    cr_expect_eq(schedule_rate(&s, &base, step), wanted, "step %lld", (long long)step);
  }
}

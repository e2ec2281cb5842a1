/* phibal_combine and _backward against loops in binary64, within their bounds. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <phibal/expert.h>
#include <stdlib.h>
#include <string.h>

#define U 0x1p-24
#define TOKENS 301
#define MOST 4
#define WIDE 37

static uint64_t state = 5;

static float uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (float)((double)(state >> 11) * 0x1p-52 - 1.0);
}

typedef struct combination {
  int64_t rows, width;
  int32_t active;
  int64_t row[TOKENS * MOST];
  float gates[TOKENS * MOST], output[TOKENS * MOST * WIDE], y[TOKENS * WIDE];
  float y_gradient[TOKENS * WIDE], output_gradient[TOKENS * MOST * WIDE];
  float gate_gradient[TOKENS * MOST];
} combination;

/* Rows are dealt backwards, so that a row number is never its route; every seventh token is
   padding, and so is the last slot of every eleventh. */
static combination *make(int32_t active, int64_t width) {
  combination *c = malloc(sizeof *c);
  *c = (combination){.width = width, .active = active};
  for (int64_t route = TOKENS * active - 1; route >= 0; route--) {
    int64_t t = route / active;
    bool padding = t % 7 == 3 || (t % 11 == 5 && route % active == active - 1);
    c->row[route] = padding ? -1 : c->rows++;
    c->gates[route] = uniform();
  }
  for (int64_t i = 0; i < c->rows * width; i++) {
    c->output[i] = uniform();
    c->output_gradient[i] = NAN;
  }
  for (int64_t i = 0; i < TOKENS * width; i++) c->y[i] = uniform(), c->y_gradient[i] = uniform();
  for (int64_t i = 0; i < TOKENS * active; i++) c->gate_gradient[i] = NAN;
  return c;
}

static void run(combination *c) {
  cr_assert_eq(phibal_combine(TOKENS, c->active, c->width, c->row, c->gates, c->output, c->y),
               PHIBAL_OK);
  cr_assert_eq(phibal_combine_backward(TOKENS, c->active, c->width, c->row, c->gates, c->output,
                                       c->y_gradient, c->output_gradient, c->gate_gradient),
               PHIBAL_OK);
}

static void check_token(const combination *c, const combination *before, int64_t t) {
  int64_t d = c->width;
  for (int64_t j = 0; j < d; j++) {
    double y = (double)before->y[t * d + j], size = fabs(y);
    for (int64_t route = t * c->active; route < (t + 1) * c->active; route++) {
      if (c->row[route] < 0) continue;
      double term = (double)c->gates[route] * (double)c->output[c->row[route] * d + j];
      y += term, size += fabs(term);
      cr_assert_eq(c->output_gradient[c->row[route] * d + j],
                   c->gates[route] * c->y_gradient[t * d + j]);
    }
    double bound = (c->active + 1) * U * size;
    cr_assert(fabs((double)c->y[t * d + j] - y) <= bound, "y[%ld][%ld]", (long)t, (long)j);
  }
  for (int64_t route = t * c->active; route < (t + 1) * c->active; route++) {
    double gradient = 0, size = 0;
    for (int64_t j = 0; j < d && c->row[route] >= 0; j++) {
      double term = (double)c->y_gradient[t * d + j] * (double)c->output[c->row[route] * d + j];
      gradient += term, size += fabs(term);
    }
    /* combine.c: rounded once, after a sum whose terms go through d/16 + 5 additions. */
    double bound = U * fabs(gradient) + ((double)d / 16 + 5) * 0x1p-52 * size;
    cr_assert(fabs((double)c->gate_gradient[route] - gradient) <= bound,
              "gate_gradient[%ld] is %g, not %g", (long)route, (double)c->gate_gradient[route],
              gradient);
  }
}

Test(combine, within_bounds_for_any_shape) {
  for (int32_t active = 1; active <= MOST; active++)
    for (int64_t width = 1; width <= WIDE; width += 4) {
      combination *c = make(active, width), *before = malloc(sizeof *before);
      *before = *c;
      run(c);
      for (int64_t t = 0; t < TOKENS; t++) check_token(c, before, t);
      free(c);
      free(before);
    }
}

Test(combine, threads_do_not_change_a_bit) {
  combination *one = make(3, WIDE), *many = malloc(sizeof *many);
  *many = *one;
  omp_set_num_threads(1);
  run(one);
  omp_set_num_threads(4);
  run(many);
  cr_assert_eq(memcmp(one, many, sizeof *one), 0);
  free(one);
  free(many);
}

Test(combine, no_tokens_and_bad_shapes) {
  cr_assert_eq(phibal_combine(0, 1, 1, NULL, NULL, NULL, NULL), PHIBAL_OK);
  cr_assert_eq(phibal_combine_backward(0, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL), PHIBAL_OK);
  cr_assert_eq(phibal_combine(1, 0, 1, NULL, NULL, NULL, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_combine(1, 1, 1, NULL, NULL, NULL, NULL), PHIBAL_ERROR_ARGUMENT);
}

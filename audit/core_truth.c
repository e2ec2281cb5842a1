/* Comparisons of one kernel with the truth. */
#include "core_truth.h"
#include "enclosure_text.h"
#include <math.h>
#include <phibal/environment.h>
#include <phibal/rounding.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRECISION = 320 };

static double raised(const core_subject *s, float m) {
  return s->floored && m < 0x1p-126f ? 0x1p-126 : (double)m;
}

/* x[0] = m, x[1 ..] the others. */
static phibal_enclosure *vector(const core_subject *s, float m) {
  phibal_enclosure *x = phibal_enclosure_vector((size_t)s->others + 1, PRECISION);
  if (!x) return NULL;
  phibal_enclosure_set_d(&x[0], raised(s, m));
  for (int i = 0; i < s->others; i++) phibal_enclosure_set_d(&x[i + 1], raised(s, s->rest[i]));
  return x;
}

/* Prices by the file's gradient, or by differentiation. */
static phibal_status gradient_of(const core_subject *s, size_t n, const phibal_enclosure *x,
                                 phibal_enclosure *gradient) {
  if (!s->given) return phi_gradient(s->phi, s->parameters, n, x, gradient);
  const phibal_status status = phi_given_gradient(s->phi, s->parameters, n, x, gradient);
  return status == PHIBAL_ERROR_UNDECIDED ? PHIBAL_ERROR_DOMAIN : status;
}

/* The price of the expert with load m; PHIBAL_ERROR_DOMAIN where there is none. */
static phibal_status truth(const core_subject *s, float m, phibal_enclosure *price) {
  size_t n = (size_t)s->others + 1;
  phibal_enclosure *x = vector(s, m), *gradient = phibal_enclosure_vector(n, PRECISION);
  phibal_status status = PHIBAL_ERROR_MEMORY;
  if (x && gradient) status = gradient_of(s, n, x, gradient);
  if (!status) phibal_enclosure_set(price, &gradient[0]);
  phibal_enclosure_vector_clear(x, n);
  phibal_enclosure_vector_clear(gradient, n);
  return status;
}

/* A lower bound of |high + low - t| for t in the enclosure; 0 where it may be among them. */
static double distance(double high, double low, const phibal_enclosure *t) {
  mpfr_t d;
  mpfr_init2(d, 2400); /* any difference of these is exact */
  double least = 0;
  for (int side = 0; side < 2; side++) {
    mpfr_set_d(d, high, MPFR_RNDN);
    mpfr_add_d(d, d, low, MPFR_RNDN);
    mpfr_sub(d, side ? t->lo : d, side ? d : t->hi, MPFR_RNDD);
    if (mpfr_sgn(d) > 0) least = mpfr_get_d(d, MPFR_RNDD);
  }
  mpfr_clear(d);
  return least;
}

/* `got` is what the kernel has, high and low part; null where it has nothing. */
static phibal_status fail(core_comparison *r, const phibal_enclosure *t, const double *got,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
static phibal_status fail(core_comparison *r, const phibal_enclosure *t, const double *got,
                          const char *format, ...) {
  if (r->wrong++) return PHIBAL_OK;
  phibal_enclosure kernel;
  phibal_enclosure_init(&kernel, 2400); /* any sum of two is exact */
  phibal_enclosure_set(&kernel, t);
  if (got && isfinite(got[0])) {
    phibal_enclosure_set_d(&kernel, got[0]);
    mpfr_add_d(kernel.lo, kernel.lo, got[1], MPFR_RNDN);
    mpfr_set(kernel.hi, kernel.lo, MPFR_RNDN);
  }
  audit_pair pair;
  audit_pair_text(&kernel, t, &pair);
  phibal_enclosure_clear(&kernel);
  char said[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(said, sizeof said, format, arguments);
  va_end(arguments);
  int made = got && isfinite(got[0])
                 ? asprintf(&r->counterexample, "%s: %s; the price is %s%s", said, pair.first,
                            pair.second, pair.apart)
                 : asprintf(&r->counterexample, "%s; the price is %s", said, pair.second);
  if (made >= 0) return PHIBAL_OK;
  r->counterexample = NULL;
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a counterexample");
}

/* The error of a price in ULP of the truth, up to the enclosure's width. */
static double ulps_off(float price, const phibal_enclosure *t) {
  double size = fmin(fabs(mpfr_get_d(t->lo, MPFR_RNDZ)), fabs(mpfr_get_d(t->hi, MPFR_RNDZ)));
  return distance((double)price, 0, t) / phibal_format_ulp(PHIBAL_FORMAT_BINARY32, size);
}

/* The rounded price: the nearest binary32 where the kernel says that its rounding is decided,
   within its bound elsewhere, and where it has no bound the right number all the same. */
static phibal_status compare_rounded(float m, float price, double ulps, unsigned char path,
                                     const phibal_enclosure *t, core_comparison *r) {
  double nearest;
  bool decided = phibal_round_enclosure(t, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, &nearest);
  bool bounded = ulps < HUGE_VAL;
  if (decided && (path < 2 || !bounded) && (double)price != nearest)
    return fail(r, t, (double[]){(double)price, 0},
                "load %a: the price rounds to %.9g (%a), the kernel's price is %.9g (%a)",
                (double)m, nearest, nearest, (double)price, (double)price);
  if (!bounded && !decided && !isfinite(price))
    return fail(r, t, NULL, "load %a: the kernel's price is %g", (double)m, (double)price);
  if (!bounded || !isfinite(price)) return PHIBAL_OK;
  double off = ulps_off(price, t);
  if (off > ulps * (1 + 0x1p-40))
    return fail(r, t, (double[]){(double)price, 0},
                "load %a: the kernel's price %.9g (%a) is off by %.6g ULP, its bound %.6g ULP",
                (double)m, (double)price, (double)price, off, ulps);
  /* of equal ones the least load, whichever thread comes first */
  if (off > r->worst || (off == r->worst && m < r->worst_load)) {
    r->worst = off;
    r->worst_load = m;
  }
  return PHIBAL_OK;
}

typedef struct kernel_answer {
  double fast, fast_error, high, low, error, off, ulps;
  float price;
  unsigned char path;
} kernel_answer;

static phibal_status compare_one(const core_subject *s, float m, core_comparison *r) {
  kernel_answer a;
  phibal_enclosure t;
  phibal_enclosure_init(&t, PRECISION);
  phibal_status status = truth(s, m, &t);
  if (status == PHIBAL_ERROR_DOMAIN || (!status && (mpfr_inf_p(t.lo) || mpfr_inf_p(t.hi)))) {
    r->undefined++;
    phibal_enclosure_clear(&t);
    return PHIBAL_OK;
  }
  if (!status && (s->kernel->examine(1, &m, s->others, s->rest, &a.fast, &a.fast_error, &a.high,
                                     &a.low, &a.error) ||
                  s->kernel->sweep(1, &m, s->others, s->rest, &a.price, &a.off, &a.ulps, &a.path)))
    status = fail(r, &t, NULL, "load %a is refused", (double)m);
  else if (!status) {
    r->compared++;
    /* Without a bound, that is where it is infinite or NaN, nothing is said. */
    if (isfinite(a.fast_error) && distance(a.fast, 0, &t) > a.fast_error)
      status = fail(r, &t, (double[]){a.fast, 0},
                    "load %a: in binary64 the kernel's price, with an error of %.3g at most, is %a",
                    (double)m, a.fast_error, a.fast);
    else if (isfinite(a.error) && distance(a.high, a.low, &t) > a.error)
      status = fail(r, &t, (double[]){a.high, a.low},
                    "load %a: in double-double the kernel's price, with an error of %.3g at most, "
                    "is %a %+a",
                    (double)m, a.error, a.high, a.low);
    else
      status = compare_rounded(m, a.price, a.ulps, a.path, &t, r);
  }
  phibal_enclosure_clear(&t);
  return status;
}

static void join(core_comparison *to, core_comparison *from) {
  to->compared += from->compared;
  to->undefined += from->undefined;
  to->wrong += from->wrong;
  if (from->worst > to->worst || (from->worst == to->worst && from->worst_load < to->worst_load)) {
    to->worst = from->worst;
    to->worst_load = from->worst_load;
  }
  if (to->counterexample) {
    free(from->counterexample);
  } else {
    to->counterexample = from->counterexample;
  }
  from->counterexample = NULL;
}

phibal_status core_compare(const core_subject *s, int n, const float *m, core_comparison *result) {
  phibal_status first = PHIBAL_OK;
#pragma omp parallel
  {
    core_comparison mine = {0};
    phibal_status status = PHIBAL_OK;
#pragma omp for schedule(dynamic, 64)
    for (int i = 0; i < n; i++)
      if (!status) status = compare_one(s, m[i], &mine);
    phibal_environment_watch("a generated kernel");
    mpfr_free_cache();
#pragma omp critical
    {
      join(result, &mine);
      if (status) first = status;
    }
  }
  return first ? first : phibal_environment_check("a comparison with the truth");
}

/* q[e] = q[e] - mean of q. */
static phibal_status centre(int n, phibal_enclosure *q) {
  phibal_enclosure mean, count;
  phibal_enclosure_init(&mean, PRECISION);
  phibal_enclosure_init(&count, PRECISION);
  phibal_enclosure_set_si(&count, n);
  phibal_status status = phibal_enclosure_sum(&mean, (size_t)n, q);
  if (!status) status = phibal_enclosure_div(&mean, &mean, &count);
  for (int e = 0; e < n && !status; e++) status = phibal_enclosure_sub(&q[e], &q[e], &mean);
  phibal_enclosure_clear(&mean);
  phibal_enclosure_clear(&count);
  return status;
}

typedef struct centred_answer {
  double high[CORE_MOST_OTHERS + 1], low[CORE_MOST_OTHERS + 1], error[CORE_MOST_OTHERS + 1];
  float centred[CORE_MOST_OTHERS + 1];
} centred_answer;

static phibal_status compare_centred(const core_subject *s, int n, const float *m,
                                     const phibal_enclosure *q, centred_answer *a,
                                     core_comparison *r, double *lost) {
  if (s->kernel->examine_centred(n, m, a->high, a->low, a->error) ||
      s->kernel->price_centred(n, m, a->centred, NULL))
    return fail(r, &q[0], NULL, "the centred price of a vector of %d loads is refused", n);
  phibal_environment_watch("a generated kernel");
  double largest = 0, error = 0;
  phibal_status status = PHIBAL_OK;
  r->compared++;
  for (int e = 0; e < n && !status; e++) {
    if (!isfinite(a->error[e])) continue;
    largest = fmax(largest, fabs(a->high[e]));
    error = fmax(error, a->error[e]);
    double rounding = 0.501 * phibal_format_ulp(PHIBAL_FORMAT_BINARY32, fabs(a->high[e]));
    if (distance(a->high[e], a->low[e], &q[e]) > a->error[e])
      status = fail(
          r, &q[e], (double[]){a->high[e], a->low[e]},
          "expert %d of %d, load %a: the kernel's centred price, with an error of %.3g at most, "
          "is",
          e, n, (double)m[e], a->error[e]);
    else if (isfinite(a->centred[e]) &&
             distance((double)a->centred[e], 0, &q[e]) > rounding + a->error[e])
      status = fail(r, &q[e], (double[]){(double)a->centred[e], 0},
                    "expert %d of %d, load %a: the kernel's centred price is", e, n, (double)m[e]);
  }
  if (largest > 0) *lost = fmax(*lost, log2(error / largest));
  return status;
}

phibal_status core_compare_centred(const core_subject *s, int n, const float *m,
                                   core_comparison *result, double *lost) {
  phibal_enclosure *x = phibal_enclosure_vector((size_t)n, PRECISION);
  phibal_enclosure *q = phibal_enclosure_vector((size_t)n, PRECISION);
  centred_answer *answer = malloc(sizeof *answer);
  phibal_status status = PHIBAL_ERROR_MEMORY;
  if (x && q && answer) {
    for (int e = 0; e < n; e++) phibal_enclosure_set_d(&x[e], raised(s, m[e]));
    status = gradient_of(s, (size_t)n, x, q);
    if (!status) status = centre(n, q);
    if (!status) {
      status = compare_centred(s, n, m, q, answer, result, lost);
    } else if (status == PHIBAL_ERROR_DOMAIN) {
      result->undefined++;
      status = PHIBAL_OK;
    }
  }
  free(answer);
  phibal_enclosure_vector_clear(x, (size_t)n);
  phibal_enclosure_vector_clear(q, (size_t)n);
  if (status == PHIBAL_ERROR_MEMORY)
    return phibal_status_set(status, "out of memory for a vector of %d loads", n);
  return status;
}

/* H_00 = diagonal_0 + sum_ij second_ij slope_i0 slope_j0. */
static phibal_status stiffness(const core_subject *s, float m, phibal_enclosure *h) {
  const size_t n = (size_t)s->others + 1, sums = (size_t)s->phi->value.sums;
  phibal_enclosure *x = vector(s, m), *diagonal = phibal_enclosure_vector(n, PRECISION);
  phibal_enclosure *second = phibal_enclosure_vector(sums * sums, PRECISION);
  phibal_enclosure *slope = phibal_enclosure_vector(sums * n, PRECISION);
  phibal_enclosure term;
  phibal_enclosure_init(&term, PRECISION);
  phibal_status status = PHIBAL_ERROR_MEMORY;
  if (x && diagonal && second && slope)
    status = phi_hessian(s->phi, s->parameters, n, x, diagonal, second, slope);
  if (!status) phibal_enclosure_set(h, &diagonal[0]);
  for (size_t i = 0; i < sums * sums && !status; i++) {
    status = phibal_enclosure_mul(&term, &slope[i / sums * n], &slope[i % sums * n]);
    if (!status) status = phibal_enclosure_mul(&term, &term, &second[i]);
    if (!status) status = phibal_enclosure_add(h, h, &term);
  }
  phibal_enclosure_clear(&term);
  phibal_enclosure_vector_clear(x, n);
  phibal_enclosure_vector_clear(diagonal, n);
  phibal_enclosure_vector_clear(second, sums * sums);
  phibal_enclosure_vector_clear(slope, sums * n);
  return status;
}

double core_condition(const core_subject *s, float x) {
  phibal_enclosure g, h;
  phibal_enclosure_init(&g, PRECISION);
  phibal_enclosure_init(&h, PRECISION);
  double condition = NAN;
  if (!s->given && truth(s, x, &g) == PHIBAL_OK && stiffness(s, x, &h) == PHIBAL_OK &&
      !phibal_enclosure_contains_zero(&g))
    condition = fabs((double)x * mpfr_get_d(h.lo, MPFR_RNDN) / mpfr_get_d(g.lo, MPFR_RNDN));
  phibal_enclosure_clear(&g);
  phibal_enclosure_clear(&h);
  return condition;
}

/* From points to intervals: the range of a function over [lo, hi] from its values at the ends, by
   the shape of its graph. */
#include "potentials.h"
#include <stdio.h>

void workspace_init(workspace *w, mpfr_prec_t precision) {
  phibal_enclosure_init(&w->point, precision);
  phibal_enclosure_init(&w->near, precision);
  phibal_enclosure_init(&w->far, precision);
  for (int i = 0; i < SCRATCH; i++) phibal_enclosure_init(&w->scratch[i], precision);
}

void workspace_clear(workspace *w) {
  phibal_enclosure_clear(&w->point);
  phibal_enclosure_clear(&w->near);
  phibal_enclosure_clear(&w->far);
  for (int i = 0; i < SCRATCH; i++) phibal_enclosure_clear(&w->scratch[i]);
}

static mpfr_prec_t larger(mpfr_prec_t a, mpfr_prec_t b) {
  return a > b ? a : b;
}

mpfr_prec_t working_precision(const phibal_enclosure *z, size_t n, const phibal_enclosure *x) {
  mpfr_prec_t precision = mpfr_get_prec(z->lo);
  for (size_t i = 0; i < n; i++)
    precision = larger(precision, larger(mpfr_get_prec(x[i].lo), mpfr_get_prec(x[i].hi)));
  return precision + GUARD_BITS;
}

static graph_shape shape_of(scalar_family s, scalar_function f) {
  bool entropy = s == FAMILY_NEGENTROPY || s == FAMILY_TSALLIS, softplus = s == FAMILY_SOFTPLUS;
  switch (f) {
  case FUNCTION_VALUE:
    return entropy ? SHAPE_CONVEX : softplus ? SHAPE_MONOTONE : SHAPE_EVEN;
  case FUNCTION_SECOND:
    return entropy ? SHAPE_MONOTONE : SHAPE_EVEN;
  case FUNCTION_CONJUGATE:
    return entropy ? SHAPE_MONOTONE : softplus ? SHAPE_CONVEX : SHAPE_EVEN;
  case FUNCTION_GRADIENT:
  case FUNCTION_CONJUGATE_GRADIENT:
    break;
  }
  return SHAPE_MONOTONE;
}

static phibal_status value_at(scalar_family s, scalar_function f, phibal_enclosure *z,
                              mpfr_srcptr x, const phibal_enclosure *a, workspace *w) {
  phibal_enclosure_set_fr(&w->point, x);
  return point_at(s, f, z, &w->point, a, w->scratch);
}

/* The status of values at two points of x: outside the domain if both are, else open if one is. */
static phibal_status join(phibal_status near, phibal_status far) {
  if ((near == PHIBAL_ERROR_DOMAIN) == (far == PHIBAL_ERROR_DOMAIN))
    return near != PHIBAL_OK ? near : far;
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "too near the end of the domain to tell");
}

/* The hull of the values at two points: the range between them of a function that is monotone
   there for each parameter, whichever way. */
static phibal_status over_points(scalar_family s, scalar_function f, phibal_enclosure *z,
                                 mpfr_srcptr lo, mpfr_srcptr hi, const phibal_enclosure *a,
                                 workspace *w) {
  if (mpfr_equal_p(lo, hi)) {
    TRY(value_at(s, f, &w->near, lo, a, w));
    phibal_enclosure_set(z, &w->near);
    return PHIBAL_OK;
  }
  phibal_status near = value_at(s, f, &w->near, lo, a, w);
  TRY(join(near, value_at(s, f, &w->far, hi, a, w)));
  phibal_enclosure_hull(z, &w->near, &w->far);
  return PHIBAL_OK;
}

/* Between 0 and the end farther from it, when x has members of both signs. */
static phibal_status over_even(scalar_family s, scalar_function f, phibal_enclosure *z,
                               const phibal_enclosure *x, const phibal_enclosure *a, workspace *w) {
  if (mpfr_sgn(x->lo) >= 0 || mpfr_sgn(x->hi) <= 0) return over_points(s, f, z, x->lo, x->hi, a, w);
  mpfr_t zero;
  mpfr_init2(zero, MPFR_PREC_MIN);
  mpfr_set_zero(zero, 1);
  phibal_status status =
      over_points(s, f, z, zero, mpfr_cmpabs(x->lo, x->hi) > 0 ? x->lo : x->hi, a, w);
  mpfr_clear(zero);
  return status;
}

/* Convexity: greatest at an end; least at an end too, unless the minimiser may lie between. */
static phibal_status over_convex(scalar_family s, scalar_function f, phibal_enclosure *z,
                                 const phibal_enclosure *x, const phibal_enclosure *a,
                                 workspace *w) {
  TRY(over_points(s, f, z, x->lo, x->hi, a, w));
  if (phibal_enclosure_is_exact(x)) return PHIBAL_OK;
  phibal_enclosure_set_si(&w->point, 0);
  bool value = f == FUNCTION_VALUE;
  TRY(point_at(s, value ? FUNCTION_CONJUGATE_GRADIENT : FUNCTION_GRADIENT, &w->near, &w->point, a,
               w->scratch));
  if (mpfr_less_p(x->hi, w->near.lo) || mpfr_greater_p(x->lo, w->near.hi)) return PHIBAL_OK;
  TRY(point_at(s, value ? FUNCTION_CONJUGATE : FUNCTION_VALUE, &w->near, &w->point, a, w->scratch));
  phibal_enclosure_neg(&w->near, &w->near);
  mpfr_min(z->lo, z->lo, w->near.lo, MPFR_RNDD);
  return PHIBAL_OK;
}

phibal_status graph_over(scalar_family s, scalar_function f, phibal_enclosure *z,
                         const phibal_enclosure *x, const phibal_enclosure *a, workspace *w) {
  switch (shape_of(s, f)) {
  case SHAPE_EVEN:
    return over_even(s, f, z, x, a, w);
  case SHAPE_CONVEX:
    return over_convex(s, f, z, x, a, w);
  case SHAPE_MONOTONE:
    break;
  }
  return over_points(s, f, z, x->lo, x->hi, a, w);
}

phibal_status outside_domain(const char *domain) {
  return phibal_status_set(PHIBAL_ERROR_DOMAIN, "outside the domain %s", domain);
}

phibal_status name_coordinate(phibal_status status, const char *function, const char *potential,
                              size_t i, size_t n, const phibal_enclosure *x) {
  enum { DIGITS = 6 };
  char lo[PHIBAL_DECIMAL_SIZE(DIGITS)], hi[PHIBAL_DECIMAL_SIZE(DIGITS)], reason[400];
  phibal_enclosure_get_decimal(x, DIGITS, lo, hi, sizeof lo);
  snprintf(reason, sizeof reason, "%s", phibal_status_message());
  if (phibal_enclosure_is_exact(x))
    return phibal_status_set(status, "%s of %s: coordinate %zu of %zu (%s) is %s", function,
                             potential, i + 1, n, mpfr_sgn(x->lo) < 0 ? hi : lo, reason);
  return phibal_status_set(status, "%s of %s: coordinate %zu of %zu (in [%s, %s]) is %s", function,
                           potential, i + 1, n, lo, hi, reason);
}

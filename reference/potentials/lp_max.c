/* (P2.inf) phi(x) = max_e |x_e|, the limit p = inf of the norm whose power lp is. It is not
   strictly convex. Its conjugate is the indicator of the unit ball of the 1-norm. Where several
   |x_e| are greatest the gradient is the one subgradient that treats them alike: sgn(x_e) divided
   by their number; at x = 0, 1/n everywhere. */
#include "potentials.h"

static const char name[] = "lp (p = inf)";

/* An upper bound (lower, for `least`) of max_e |x_e|. */
static void bound_maximum(mpfr_ptr bound, size_t n, const phibal_enclosure *x, bool least,
                          phibal_enclosure *t) {
  mpfr_set_zero(bound, 1);
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_abs(t, &x[e]);
    if (least)
      mpfr_max(bound, bound, t->lo, MPFR_RNDD);
    else
      mpfr_max(bound, bound, t->hi, MPFR_RNDU);
  }
}

phibal_status lp_max_value(size_t n, const phibal_enclosure *x, phibal_enclosure *value) {
  phibal_enclosure t;
  phibal_enclosure_init(&t, working_precision(value, n, x));
  bound_maximum(value->lo, n, x, true, &t);
  bound_maximum(value->hi, n, x, false, &t);
  phibal_enclosure_clear(&t);
  return PHIBAL_OK;
}

/* Whether |x_e| may be greatest, given a lower bound of the maximum. */
static bool may_be_maximum(const phibal_enclosure *x, mpfr_srcptr maximum, phibal_enclosure *t) {
  phibal_enclosure_abs(t, x);
  return mpfr_greaterequal_p(t->hi, maximum) != 0;
}

/* How many may be greatest, and whether it is certain that all of these are (points, all equal:
   an upper end above the lower bound of the maximum is not known to be reached). */
static size_t count_maxima(size_t n, const phibal_enclosure *x, mpfr_srcptr maximum, bool *certain,
                           phibal_enclosure *t) {
  size_t count = 0;
  *certain = true;
  for (size_t e = 0; e < n; e++)
    if (may_be_maximum(&x[e], maximum, t)) {
      count++;
      *certain = *certain && mpfr_equal_p(t->lo, maximum) && mpfr_equal_p(t->hi, maximum);
    }
  if (count == 1) *certain = true;
  return count;
}

/* z = +1, -1, or all between where the sign is open. */
static void set_sign(phibal_enclosure *z, const phibal_enclosure *x) {
  mpfr_set_si(z->lo, mpfr_sgn(x->lo) >= 0 ? 1 : -1, MPFR_RNDD);
  mpfr_set_si(z->hi, mpfr_sgn(x->hi) >= 0 ? 1 : -1, MPFR_RNDU);
}

static void gradient_of_one(phibal_enclosure *z, const phibal_enclosure *x, bool possible,
                            bool certain, size_t count) {
  if (!possible) {
    phibal_enclosure_set_si(z, 0);
    return;
  }
  set_sign(z, x);
  if (certain) {
    mpfr_div_ui(z->lo, z->lo, count, MPFR_RNDD);
    mpfr_div_ui(z->hi, z->hi, count, MPFR_RNDU);
  } else { /* one of several, or not among them */
    if (mpfr_sgn(z->lo) > 0) mpfr_set_zero(z->lo, 1);
    if (mpfr_sgn(z->hi) < 0) mpfr_set_zero(z->hi, 1);
  }
}

phibal_status lp_max_gradient(size_t n, const phibal_enclosure *x, phibal_enclosure *gradient) {
  phibal_enclosure t, maximum;
  phibal_enclosure_init(&t, working_precision(gradient, n, x));
  phibal_enclosure_init(&maximum, working_precision(gradient, n, x));
  bound_maximum(maximum.lo, n, x, true, &t);
  bool certain;
  size_t count = count_maxima(n, x, maximum.lo, &certain, &t);
  for (size_t e = 0; e < n; e++)
    gradient_of_one(&gradient[e], &x[e], may_be_maximum(&x[e], maximum.lo, &t), certain, count);
  phibal_enclosure_clear(&t);
  phibal_enclosure_clear(&maximum);
  return PHIBAL_OK;
}

/* 0 where one |x_e| > 0 is greatest; the gradient jumps elsewhere. */
phibal_status lp_max_hessian(size_t n, const phibal_enclosure *x, phibal_enclosure *hessian) {
  phibal_enclosure t, maximum;
  phibal_enclosure_init(&t, working_precision(hessian, n, x));
  phibal_enclosure_init(&maximum, working_precision(hessian, n, x));
  bound_maximum(maximum.lo, n, x, true, &t);
  bool certain, positive = mpfr_sgn(maximum.lo) > 0;
  size_t count = count_maxima(n, x, maximum.lo, &certain, &t);
  phibal_enclosure_clear(&t);
  phibal_enclosure_clear(&maximum);
  if (count > 1 || !positive)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                             "hessian of %s: outside the domain: exactly one |x_e| greatest, and "
                             "not 0",
                             name);
  for (size_t e = 0; e < n; e++) phibal_enclosure_set_si(&hessian[e], 0);
  return PHIBAL_OK;
}

/* z = sum |y_e|. */
static phibal_status one_norm(phibal_enclosure *z, size_t n, const phibal_enclosure *y,
                              phibal_enclosure *t) {
  phibal_enclosure_set_si(z, 0);
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_abs(t, &y[e]);
    TRY(phibal_enclosure_add(z, z, t));
  }
  return PHIBAL_OK;
}

phibal_status lp_max_conjugate(size_t n, const phibal_enclosure *y, phibal_enclosure *value) {
  phibal_enclosure norm, t;
  phibal_enclosure_init(&norm, working_precision(value, n, y));
  phibal_enclosure_init(&t, working_precision(value, n, y));
  phibal_status status = one_norm(&norm, n, y, &t);
  if (status == PHIBAL_OK) {
    phibal_enclosure_set_si(value, 0);
    if (mpfr_cmp_si(norm.hi, 1) > 0) mpfr_set_inf(value->hi, 1);
    if (mpfr_cmp_si(norm.lo, 1) > 0) mpfr_set_inf(value->lo, 1);
  }
  phibal_enclosure_clear(&norm);
  phibal_enclosure_clear(&t);
  return status;
}

static phibal_status require_inside_ball(const phibal_enclosure *norm) {
  if (mpfr_cmp_si(norm->hi, 1) < 0) return PHIBAL_OK;
  bool certain = mpfr_cmp_si(norm->lo, 1) >= 0;
  return phibal_status_set(certain ? PHIBAL_ERROR_DOMAIN : PHIBAL_ERROR_UNDECIDED,
                           "conjugate-gradient of %s: the vector y is %s the domain sum |y_e| < 1",
                           name, certain ? "outside" : "too near the end of");
}

phibal_status lp_max_conjugate_gradient(size_t n, const phibal_enclosure *y,
                                        phibal_enclosure *gradient) {
  phibal_enclosure norm, t;
  phibal_enclosure_init(&norm, working_precision(gradient, n, y));
  phibal_enclosure_init(&t, working_precision(gradient, n, y));
  phibal_status status = one_norm(&norm, n, y, &t);
  if (status == PHIBAL_OK) status = require_inside_ball(&norm);
  if (status == PHIBAL_OK)
    for (size_t e = 0; e < n; e++) phibal_enclosure_set_si(&gradient[e], 0);
  phibal_enclosure_clear(&norm);
  phibal_enclosure_clear(&t);
  return status;
}

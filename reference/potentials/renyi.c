/* (P6) phi(x) = log(sum_e x_e^a) / (a-1) on x >= 0, x != 0, for 0 < a < 1; not separable. Write
   b = a-1 < 0 and S = sum_e x_e^a.

   Monotony, used to carry points to intervals: S increases with each x_e and b < 0, so phi falls
   with each; every entry of the Hessian is positive, so each gradient component grows with each
   x_e; and grad phi* > 0, so phi* grows with each y_e. */
#include "potentials.h"

static const char name[] = "renyi";

/* Scalars of one evaluation. */
typedef struct renyi_work {
  phibal_enclosure point, b, sum, excess, total, t[2];
} renyi_work;

static void renyi_work_init(renyi_work *w, mpfr_prec_t precision) {
  phibal_enclosure_init(&w->point, precision);
  phibal_enclosure_init(&w->b, precision);
  phibal_enclosure_init(&w->sum, precision);
  phibal_enclosure_init(&w->excess, precision);
  phibal_enclosure_init(&w->total, precision);
  for (int i = 0; i < 2; i++) phibal_enclosure_init(&w->t[i], precision);
}

static void renyi_work_clear(renyi_work *w) {
  phibal_enclosure_clear(&w->point);
  phibal_enclosure_clear(&w->b);
  phibal_enclosure_clear(&w->sum);
  phibal_enclosure_clear(&w->excess);
  phibal_enclosure_clear(&w->total);
  for (int i = 0; i < 2; i++) phibal_enclosure_clear(&w->t[i]);
}

/* w->point = one end of x, exactly. */
static void take_end(renyi_work *w, const phibal_enclosure *x, bool upper) {
  phibal_enclosure_set_fr(&w->point, upper ? x->hi : x->lo);
}

/* Adds the point x >= 0 to w->sum = sum x^a and to w->excess = sum x (x^b - 1) + (sum x - 1), which
   is S - 1 without the cancellation that S - 1 has as a -> 1. */
static phibal_status add_expert(renyi_work *w, const phibal_enclosure *a) {
  if (phibal_enclosure_is_zero(&w->point)) return PHIBAL_OK;
  TRY(phibal_enclosure_pow(&w->t[0], &w->point, a));
  TRY(phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]));
  TRY(phibal_enclosure_log(&w->t[0], &w->point));
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->b));
  phibal_enclosure_expm1(&w->t[0], &w->t[0]);
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->point));
  TRY(phibal_enclosure_add(&w->excess, &w->excess, &w->t[0]));
  return phibal_enclosure_add(&w->total, &w->total, &w->point);
}

/* z = phi at the lower (upper) ends of x, all >= 0. A sum that is a point has lost nothing. */
static phibal_status value_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                   const phibal_enclosure *x, bool upper, renyi_work *w) {
  add_integer(&w->b, a, -1);
  phibal_enclosure_set_si(&w->sum, 0);
  phibal_enclosure_set_si(&w->excess, 0);
  phibal_enclosure_set_si(&w->total, -1);
  for (size_t e = 0; e < n; e++) {
    take_end(w, &x[e], upper);
    TRY(add_expert(w, a));
  }
  TRY(phibal_enclosure_add(&w->excess, &w->excess, &w->total));
  if (!phibal_enclosure_is_exact(&w->sum) && is_between(&w->excess, -0.5, 1.0))
    TRY(phibal_enclosure_log1p(&w->t[0], &w->excess));
  else
    TRY(phibal_enclosure_log(&w->t[0], &w->sum));
  return phibal_enclosure_div(z, &w->t[0], &w->b);
}

/* Whether some x_e is certain (possible) to be negative. */
static bool has_negative(size_t n, const phibal_enclosure *x, bool possibly) {
  for (size_t e = 0; e < n; e++)
    if (mpfr_sgn(possibly ? x[e].lo : x[e].hi) < 0) return true;
  return false;
}

static phibal_status value_over(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                const phibal_enclosure *x, renyi_work *w) {
  if (has_negative(n, x, false)) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  TRY(value_at_ends(&w->t[1], a, n, x, true, w));
  mpfr_set(z->lo, w->t[1].lo, MPFR_RNDD);
  if (has_negative(n, x, true)) {
    mpfr_set_inf(z->hi, 1);
    return PHIBAL_OK;
  }
  TRY(value_at_ends(&w->t[1], a, n, x, false, w));
  mpfr_set(z->hi, w->t[1].hi, MPFR_RNDU);
  return PHIBAL_OK;
}

phibal_status renyi_value(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                          phibal_enclosure *value) {
  renyi_work w;
  renyi_work_init(&w, working_precision(value, n, x));
  phibal_status status = value_over(value, a, n, x, &w);
  renyi_work_clear(&w);
  return status;
}

/* The failure of coordinate e, known to be outside the domain, or only not known to be inside. */
static phibal_status refuse(bool outside, const char *domain, const char *function, size_t e,
                            size_t n, const phibal_enclosure *x) {
  phibal_status status =
      outside ? outside_domain(domain)
              : phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                                  "too near the end of the domain %s to tell", domain);
  return name_coordinate(status, function, name, e, n, &x[e]);
}

static phibal_status require_positive(const char *function, size_t n, const phibal_enclosure *x) {
  for (size_t e = 0; e < n; e++)
    if (mpfr_sgn(x[e].lo) <= 0) return refuse(mpfr_sgn(x[e].hi) <= 0, "x > 0", function, e, n, x);
  return PHIBAL_OK;
}

/* z = sum x^a at the lower (upper) ends of x. */
static phibal_status power_sum_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *x, bool upper, renyi_work *w) {
  phibal_enclosure_set_si(z, 0);
  for (size_t e = 0; e < n; e++) {
    take_end(w, &x[e], upper);
    TRY(phibal_enclosure_pow(&w->t[0], &w->point, a));
    TRY(phibal_enclosure_add(z, z, &w->t[0]));
  }
  return PHIBAL_OK;
}

/* w->t[0] = a x^b / (b S) at the point, with S in w->sum and b in w->b. */
static phibal_status gradient_of_one(const phibal_enclosure *a, renyi_work *w) {
  TRY(phibal_enclosure_pow(&w->t[0], &w->point, &w->b));
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], a));
  TRY(phibal_enclosure_div(&w->t[0], &w->t[0], &w->b));
  return phibal_enclosure_div(&w->t[0], &w->t[0], &w->sum);
}

/* The lower (upper) ends of z from the lower (upper) ends of x. */
static phibal_status gradient_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                   const phibal_enclosure *x, bool upper, renyi_work *w) {
  TRY(power_sum_at_ends(&w->sum, a, n, x, upper, w));
  for (size_t e = 0; e < n; e++) {
    take_end(w, &x[e], upper);
    TRY(gradient_of_one(a, w));
    if (upper)
      mpfr_set(z[e].hi, w->t[0].hi, MPFR_RNDU);
    else
      mpfr_set(z[e].lo, w->t[0].lo, MPFR_RNDD);
  }
  return PHIBAL_OK;
}

static phibal_status gradient_over(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                   const phibal_enclosure *x, renyi_work *w) {
  add_integer(&w->b, a, -1);
  TRY(gradient_ends(z, a, n, x, false, w));
  return gradient_ends(z, a, n, x, true, w);
}

phibal_status renyi_gradient(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                             phibal_enclosure *gradient) {
  TRY(require_positive("gradient", n, x));
  renyi_work w;
  renyi_work_init(&w, working_precision(gradient, n, x));
  phibal_status status = gradient_over(gradient, a, n, x, &w);
  renyi_work_clear(&w);
  return status;
}

/* Vectors of one Hessian, in x: diagonal_e = a x_e^(a-2) / S, ray_e = x_e^b / S; the Hessian (P6.h)
   is diag(diagonal) + rank_one ray ray^T with rank_one = a^2/(1-a). */
typedef struct renyi_hessian_parts {
  phibal_enclosure *diagonal, *ray, rank_one;
} renyi_hessian_parts;

static phibal_status hessian_parts(renyi_hessian_parts *h, const phibal_enclosure *a, size_t n,
                                   const phibal_enclosure *x, renyi_work *w) {
  TRY(power_sum_at_ends(&w->sum, a, n, x, false, w));
  TRY(power_sum_at_ends(&w->t[1], a, n, x, true, w));
  phibal_enclosure_hull(&w->sum, &w->sum, &w->t[1]);
  subtract_from_integer(&w->t[0], 1, a);
  TRY(phibal_enclosure_mul(&w->t[1], a, a));
  TRY(phibal_enclosure_div(&h->rank_one, &w->t[1], &w->t[0]));
  for (size_t e = 0; e < n; e++) {
    add_integer(&w->t[0], a, -2);
    TRY(phibal_enclosure_pow(&w->t[1], &x[e], &w->t[0]));
    TRY(phibal_enclosure_mul(&w->t[1], &w->t[1], a));
    TRY(phibal_enclosure_div(&h->diagonal[e], &w->t[1], &w->sum));
    add_integer(&w->b, a, -1);
    TRY(phibal_enclosure_pow(&w->t[1], &x[e], &w->b));
    TRY(phibal_enclosure_div(&h->ray[e], &w->t[1], &w->sum));
  }
  return PHIBAL_OK;
}

/* z = entry (e, j). */
static phibal_status hessian_entry(phibal_enclosure *z, const renyi_hessian_parts *h, size_t e,
                                   size_t j, renyi_work *w) {
  TRY(phibal_enclosure_mul(&w->t[0], &h->ray[e], &h->ray[j]));
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &h->rank_one));
  if (e == j) TRY(phibal_enclosure_add(&w->t[0], &w->t[0], &h->diagonal[e]));
  phibal_enclosure_set(z, &w->t[0]);
  return PHIBAL_OK;
}

static phibal_status hessian_matrix(phibal_enclosure *z, const renyi_hessian_parts *h, size_t n,
                                    renyi_work *w) {
  for (size_t e = 0; e < n; e++)
    for (size_t j = 0; j < n; j++) TRY(hessian_entry(&z[e * n + j], h, e, j, w));
  return PHIBAL_OK;
}

/* product_e = diagonal_e v_e + rank_one ray_e <ray, v>. */
static phibal_status hessian_times(phibal_enclosure *product, const renyi_hessian_parts *h,
                                   size_t n, const phibal_enclosure *v, renyi_work *w) {
  phibal_enclosure_set_si(&w->sum, 0);
  for (size_t e = 0; e < n; e++) {
    TRY(phibal_enclosure_mul(&w->t[0], &h->ray[e], &v[e]));
    TRY(phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]));
  }
  TRY(phibal_enclosure_mul(&w->sum, &w->sum, &h->rank_one));
  for (size_t e = 0; e < n; e++) {
    TRY(phibal_enclosure_mul(&w->t[0], &h->diagonal[e], &v[e]));
    TRY(phibal_enclosure_mul(&w->t[1], &h->ray[e], &w->sum));
    TRY(phibal_enclosure_add(&product[e], &w->t[0], &w->t[1]));
  }
  return PHIBAL_OK;
}

/* The matrix if v is null, else its product with v. */
static phibal_status hessian_with(renyi_hessian_parts *h, const phibal_enclosure *a, size_t n,
                                  const phibal_enclosure *x, const phibal_enclosure *v,
                                  phibal_enclosure *result, mpfr_prec_t precision) {
  renyi_work w;
  renyi_work_init(&w, precision);
  phibal_enclosure_init(&h->rank_one, precision);
  phibal_status status = hessian_parts(h, a, n, x, &w);
  if (status == PHIBAL_OK)
    status = v ? hessian_times(result, h, n, v, &w) : hessian_matrix(result, h, n, &w);
  phibal_enclosure_clear(&h->rank_one);
  renyi_work_clear(&w);
  return status;
}

static phibal_status hessian_of(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                const phibal_enclosure *v, phibal_enclosure *result) {
  TRY(require_positive("hessian", n, x));
  mpfr_prec_t precision = working_precision(result, n, x);
  renyi_hessian_parts h;
  h.diagonal = phibal_enclosure_vector(n, precision);
  h.ray = phibal_enclosure_vector(n, precision);
  phibal_status status =
      h.diagonal && h.ray ? hessian_with(&h, a, n, x, v, result, precision)
                          : phibal_status_set(PHIBAL_ERROR_MEMORY,
                                              "hessian of %s: no memory for %zu experts", name, n);
  phibal_enclosure_vector_clear(h.diagonal, n);
  phibal_enclosure_vector_clear(h.ray, n);
  return status;
}

phibal_status renyi_hessian(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                            phibal_enclosure *hessian) {
  return hessian_of(a, n, x, NULL, hessian);
}

phibal_status renyi_hessian_product(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                    const phibal_enclosure *v, phibal_enclosure *product) {
  return hessian_of(a, n, x, v, product);
}

/* w->excess = c = a/(1-a), and w->b = r = y_0's lower end: the prices are measured by it. */
static phibal_status set_scale(renyi_work *w, const phibal_enclosure *a,
                               const phibal_enclosure *y) {
  subtract_from_integer(&w->t[0], 1, a);
  TRY(phibal_enclosure_div(&w->excess, a, &w->t[0]));
  phibal_enclosure_set_fr(&w->b, y[0].lo);
  return PHIBAL_OK;
}

/* w->t[0] = (r/y)^c for y < 0 in w->point. c grows without bound as a -> 1, and with it what an
   error of the ratio does; near a ratio of 1, where prices then lie, log1p((r - y)/y) has none to
   speak of. */
static phibal_status weight_of_one(renyi_work *w) {
  TRY(phibal_enclosure_div(&w->t[0], &w->b, &w->point));
  if (!is_between(&w->t[0], 0.5, 2.0)) return phibal_enclosure_pow(&w->t[0], &w->t[0], &w->excess);
  add_integer(&w->t[1], &w->t[0], -1);
  TRY(phibal_enclosure_sub(&w->t[0], &w->b, &w->point));
  TRY(phibal_enclosure_div(&w->t[0], &w->t[0], &w->point));
  /* The ratio's enclosure, which has y once, bounds this one, which has it twice. */
  mpfr_max(w->t[0].lo, w->t[0].lo, w->t[1].lo, MPFR_RNDD);
  mpfr_min(w->t[0].hi, w->t[0].hi, w->t[1].hi, MPFR_RNDU);
  TRY(phibal_enclosure_log1p(&w->t[0], &w->t[0]));
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->excess));
  phibal_enclosure_exp(&w->t[0], &w->t[0]);
  return PHIBAL_OK;
}

/* z = phi* at the lower (upper) ends of y, all negative:
   c (log c - 1) + log sum_e (-y_e)^(-c) = c (log(c/(-r)) - 1) + log sum_e (r/y_e)^c. */
static phibal_status conjugate_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *y, bool upper, renyi_work *w) {
  TRY(set_scale(w, a, y));
  phibal_enclosure_set_si(&w->sum, 0);
  for (size_t e = 0; e < n; e++) {
    take_end(w, &y[e], upper);
    TRY(weight_of_one(w));
    TRY(phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]));
  }
  TRY(phibal_enclosure_log(&w->sum, &w->sum));
  phibal_enclosure_neg(&w->t[0], &w->b);
  TRY(phibal_enclosure_div(&w->t[0], &w->excess, &w->t[0]));
  TRY(phibal_enclosure_log(&w->t[0], &w->t[0]));
  add_integer(&w->t[0], &w->t[0], -1);
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->excess));
  return phibal_enclosure_add(z, &w->t[0], &w->sum);
}

/* Whether some y_e is certain (possible) not to be negative. */
static bool has_nonnegative(size_t n, const phibal_enclosure *y, bool possibly) {
  for (size_t e = 0; e < n; e++)
    if (mpfr_sgn(possibly ? y[e].hi : y[e].lo) >= 0) return true;
  return false;
}

static phibal_status conjugate_over(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                    const phibal_enclosure *y, renyi_work *w) {
  if (has_nonnegative(n, y, false)) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  TRY(conjugate_at_ends(&w->total, a, n, y, false, w));
  mpfr_set(z->lo, w->total.lo, MPFR_RNDD);
  if (has_nonnegative(n, y, true)) {
    mpfr_set_inf(z->hi, 1);
    return PHIBAL_OK;
  }
  TRY(conjugate_at_ends(&w->total, a, n, y, true, w));
  mpfr_set(z->hi, w->total.hi, MPFR_RNDU);
  return PHIBAL_OK;
}

phibal_status renyi_conjugate(const phibal_enclosure *a, size_t n, const phibal_enclosure *y,
                              phibal_enclosure *value) {
  renyi_work w;
  renyi_work_init(&w, working_precision(value, n, y));
  phibal_status status = conjugate_over(value, a, n, y, &w);
  renyi_work_clear(&w);
  return status;
}

/* (c/(-y_e)) (r/y_e)^c / sum_j (r/y_j)^c. Interval arithmetic as it stands: it grows with y_e and
   falls with the others, so that ends do not pair. */
static phibal_status conjugate_gradient_over(phibal_enclosure *z, const phibal_enclosure *a,
                                             size_t n, const phibal_enclosure *y, renyi_work *w) {
  TRY(set_scale(w, a, y));
  phibal_enclosure_set_si(&w->sum, 0);
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_set(&w->point, &y[e]);
    TRY(weight_of_one(w));
    TRY(phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]));
  }
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_set(&w->point, &y[e]);
    TRY(weight_of_one(w));
    phibal_enclosure_neg(&w->t[1], &w->point);
    TRY(phibal_enclosure_div(&w->t[1], &w->excess, &w->t[1]));
    TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->t[1]));
    TRY(phibal_enclosure_div(&z[e], &w->t[0], &w->sum));
  }
  return PHIBAL_OK;
}

phibal_status renyi_conjugate_gradient(const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *y, phibal_enclosure *gradient) {
  for (size_t e = 0; e < n; e++)
    if (mpfr_sgn(y[e].hi) >= 0)
      return refuse(mpfr_sgn(y[e].lo) >= 0, "y < 0", "conjugate-gradient", e, n, y);
  renyi_work w;
  renyi_work_init(&w, working_precision(gradient, n, y));
  phibal_status status = conjugate_gradient_over(gradient, a, n, y, &w);
  renyi_work_clear(&w);
  return status;
}

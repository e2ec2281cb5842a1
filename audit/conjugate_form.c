/* Two conjugates in closed form, with their dual domains decided exactly where y is rational.

   log-sum-exp: with u = rate x and p = y/total, <x, y> - phi(x) is
   (total/rate) (<u, p> - log(sum_e exp(u_e))) - level. Along u = (1, .., 1) it grows by
   (total/rate) (sum_e p_e - 1), to +inf one way unless sum_e p_e = 1; along -u_e where p_e < 0 too.
   Else the supremum is Gibbs's: (total/rate) sum_e p_e log p_e - level.

   norm: with K = factor, q the dual exponent and x >= 0 (y for |y| where phi is even),
   <x, y> - K |x|_p is linear along x, so that its supremum is 0 or +inf. For p > 1 it is 0 where
   |max(y, 0)|_q <= K, by Hoelder. For p < 1, K < 0, it is 0 where u = -y >= 0 and
   <x, u> >= |K| |x|_p for all x; the least of <x, u>/|x|_p is |u|_q, by the reversed inequality, so
   where sum_e u_e^q <= |K|^q for 0 < p < 1 (q < 0, u > 0), and >= for p < 0 (0 < q < 1). */
#include "conjugate_sums.h"
#include "functions.h"
#include "rational.h"
#include <stdlib.h>

bool conjugate_price_init(conjugate_price *price, size_t n, const phibal_enclosure *y,
                          const mpq_t *exact) {
  *price = (conjugate_price){.y = y, .n = n};
  price->exact = calloc(n ? n : 1, sizeof *price->exact);
  price->known = calloc(n ? n : 1, sizeof *price->known);
  if (!price->exact || !price->known) {
    free(price->exact);
    free(price->known);
    *price = (conjugate_price){.n = 0};
    return false;
  }
  for (size_t e = 0; e < n; e++) {
    mpq_init(price->exact[e]);
    price->known[e] = exact || (phibal_enclosure_is_exact(&y[e]) && mpfr_number_p(y[e].lo));
    if (exact)
      mpq_set(price->exact[e], exact[e]);
    else if (price->known[e])
      mpfr_get_q(price->exact[e], y[e].lo);
  }
  return true;
}

void conjugate_price_clear(conjugate_price *price) {
  for (size_t e = 0; e < price->n; e++) mpq_clear(price->exact[e]);
  free(price->exact);
  free(price->known);
}

int conjugate_price_sign(const conjugate_price *price, size_t e) {
  if (price->known[e]) return mpq_sgn(price->exact[e]);
  const phibal_enclosure *y = &price->y[e];
  return phibal_enclosure_is_positive(y) ? 1 : phibal_enclosure_is_negative(y) ? -1 : 2;
}

static bool all_known(const conjugate_price *price) {
  for (size_t e = 0; e < price->n; e++)
    if (!price->known[e]) return false;
  return true;
}

typedef enum membership { INSIDE, OUTSIDE, UNCERTAIN } membership;

static membership worse(membership a, membership b) {
  return a == OUTSIDE || b == OUTSIDE ? OUTSIDE : a == INSIDE ? b : a;
}

/* value is the conjugate inside, and a bound from below elsewhere. */
static void judge(membership m, phibal_enclosure *value) {
  if (m != INSIDE) mpfr_set_inf(value->hi, 1);
  if (m == OUTSIDE) mpfr_set_inf(value->lo, 1);
}

/* ---- log-sum-exp ---- */

/* sum_e y_e = total */
static membership adds_up(const conjugate_shape *shape, const conjugate_price *price) {
  membership result = UNCERTAIN;
  if (shape->total_is_exact && all_known(price)) {
    mpq_t sum;
    mpq_init(sum);
    for (size_t e = 0; e < price->n; e++) mpq_add(sum, sum, price->exact[e]);
    result = mpq_equal(sum, shape->exact_total) ? INSIDE : OUTSIDE;
    mpq_clear(sum);
    return result;
  }
  phibal_enclosure sum;
  phibal_enclosure_init(&sum, mpfr_get_prec(shape->total.lo));
  bool defined = true;
  for (size_t e = 0; e < price->n && defined; e++)
    defined = phibal_enclosure_add(&sum, &sum, &price->y[e]) == PHIBAL_OK;
  if (defined && !phibal_enclosure_overlaps(&sum, &shape->total)) result = OUTSIDE;
  phibal_enclosure_clear(&sum);
  return result;
}

static phibal_status log_sum_exp(const conjugate_shape *shape, const conjugate_price *price,
                                 phibal_enclosure *value) {
  const mpfr_prec_t precision = mpfr_get_prec(shape->total.lo);
  const int way = phibal_enclosure_is_positive(&shape->total) ? 1 : -1;
  membership m = adds_up(shape, price);
  phibal_enclosure share, sum;
  phibal_enclosure_init(&share, precision);
  phibal_enclosure_init(&sum, precision);
  phibal_status status = PHIBAL_OK;
  for (size_t e = 0; e < price->n && !status; e++) {
    const int sign = conjugate_price_sign(price, e);
    if (sign == 2) m = worse(m, UNCERTAIN);
    if (sign == -way) m = OUTSIDE;
    status = phibal_enclosure_div(&share, &price->y[e], &shape->total);
    if (mpfr_sgn(share.hi) < 0) phibal_enclosure_set_si(&share, 0);
    if (mpfr_sgn(share.lo) < 0) mpfr_set_zero(share.lo, 1);
    if (!status) status = function_xlogx(&share, &share);
    if (!status) status = phibal_enclosure_add(&sum, &sum, &share);
  }
  if (!status) status = phibal_enclosure_mul(&sum, &sum, &shape->total);
  if (!status) status = phibal_enclosure_div(&sum, &sum, &shape->rate);
  if (!status) status = phibal_enclosure_sub(value, &sum, &shape->level);
  if (!status) judge(m, value);
  phibal_enclosure_clear(&share);
  phibal_enclosure_clear(&sum);
  return status;
}

/* ---- norms ---- */

/* A norm, and the price at which its conjugate is asked for. */
typedef struct norm {
  const conjugate_shape *shape;
  const conjugate_price *price;
  bool above_one, below_zero; /* the exponent p */
} norm;

/* What y_e counts as: |y_e|, max(y_e, 0), or -y_e; not negative. */
static void part(const norm *a, mpq_ptr u, mpq_srcptr y) {
  if (!a->above_one)
    mpq_neg(u, y);
  else if (a->shape->loads == SHAPE_EVEN)
    mpq_abs(u, y);
  else if (mpq_sgn(y) > 0)
    mpq_set(u, y);
  else
    mpq_set_ui(u, 0, 1);
}

/* `order`: the sign of sum_e u_e^q - |K|^q. */
static membership within(const norm *a, int order) {
  return (a->below_zero ? order >= 0 : order <= 0) ? INSIDE : OUTSIDE;
}

static bool compare_exactly(const norm *a, membership *result) {
  const long q = a->shape->exact_dual;
  if (q == 0 || !all_known(a->price) || !phibal_enclosure_is_exact(&a->shape->factor)) return false;
  mpq_t sum, u, bound;
  mpq_inits(sum, u, bound, (mpq_ptr)0);
  mpfr_get_q(bound, a->shape->factor.lo);
  mpq_abs(bound, bound);
  bool good = rational_power(bound, q, bound);
  for (size_t e = 0; e < a->price->n && good; e++) {
    part(a, u, a->price->exact[e]);
    good = rational_power(u, q, u);
    if (good) mpq_add(sum, sum, u);
  }
  if (good) *result = within(a, mpq_cmp(sum, bound));
  mpq_clears(sum, u, bound, (mpq_ptr)0);
  return good;
}

static membership compare_enclosed(const norm *a) {
  const mpfr_prec_t precision = mpfr_get_prec(a->shape->factor.lo);
  phibal_enclosure sum, u, bound;
  phibal_enclosure *all[] = {&sum, &u, &bound};
  for (int i = 0; i < 3; i++) phibal_enclosure_init(all[i], precision);
  phibal_enclosure_abs(&bound, &a->shape->factor);
  phibal_status status = phibal_enclosure_pow(&bound, &bound, &a->shape->dual);
  for (size_t e = 0; e < a->price->n && !status; e++) {
    phibal_enclosure_set(&u, &a->price->y[e]);
    if (!a->above_one) phibal_enclosure_neg(&u, &u);
    if (a->above_one && a->shape->loads == SHAPE_EVEN) phibal_enclosure_abs(&u, &u);
    if (mpfr_sgn(u.hi) < 0) mpfr_set_zero(u.hi, 1);
    if (mpfr_sgn(u.lo) < 0) mpfr_set_zero(u.lo, 1);
    status = phibal_enclosure_pow(&u, &u, &a->shape->dual);
    if (!status) status = phibal_enclosure_add(&sum, &sum, &u);
  }
  membership result = UNCERTAIN;
  if (!status && phibal_enclosure_is_less(&sum, &bound)) result = within(a, -1);
  if (!status && phibal_enclosure_is_less(&bound, &sum)) result = within(a, 1);
  if (!status && phibal_enclosure_is_exact(&sum) && phibal_enclosure_is_exact(&bound) &&
      mpfr_equal_p(sum.lo, bound.lo))
    result = within(a, 0);
  for (int i = 0; i < 3; i++) phibal_enclosure_clear(all[i]);
  return result;
}

/* For p < 1: where one y_e makes it infinite by itself. */
static membership signs_of(const norm *a) {
  membership m = INSIDE;
  for (size_t e = 0; e < a->price->n && !a->above_one; e++) {
    int sign = conjugate_price_sign(a->price, e);
    if (a->shape->loads == SHAPE_EVEN && sign == -1) sign = 1;
    if (sign == 1 || (sign == 0 && !a->below_zero)) m = OUTSIDE;
    if (sign == 2) m = worse(m, UNCERTAIN);
  }
  return m;
}

static void norm_conjugate(const conjugate_shape *shape, const conjugate_price *price,
                           phibal_enclosure *value) {
  const norm a = {.shape = shape,
                  .price = price,
                  .above_one = phibal_enclosure_is_positive(&shape->factor),
                  .below_zero = phibal_enclosure_is_negative(&shape->power)};
  membership m = signs_of(&a), within_bound = UNCERTAIN;
  if (m == INSIDE && !compare_exactly(&a, &within_bound)) within_bound = compare_enclosed(&a);
  phibal_enclosure_neg(value, &shape->offset);
  judge(worse(m, within_bound), value);
}

phibal_status conjugate_by_form(const conjugate_shape *shape, const conjugate_price *price,
                                phibal_enclosure *value) {
  if (shape->form == SHAPE_LOG_SUM_EXP) return log_sum_exp(shape, price, value);
  norm_conjugate(shape, price, value);
  return PHIBAL_OK;
}

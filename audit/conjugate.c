/* The conjugate: of a separable potential, one coordinate after the other.

   h(x) = x y - psi(x) is concave. A search by the sign of its slope leaves l and r, where h rises
   and falls; between them h is at most its tangents at any point, and at least its values: so
   single points suffice, and nothing is asked of enclosures over whole intervals. */
#include "conjugate.h"
#include "conditions.h"
#include "conjugate_sums.h"
#include <stdlib.h>

/* Points of the first search: -POINT 2^FURTHEST .. -POINT 2^-FURTHEST, POINT 2^-FURTHEST ..
   POINT 2^FURTHEST, by number from 0. POINT is no number that one writes, so that a kink of psi is
   hardly ever met. */
enum { FURTHEST = 1100, POINTS = 4 * FURTHEST + 2, MIDDLE = 3 * FURTHEST + 1 };
#define POINT 0x1.1d9f5p+0

/* The slope of h at a point, for all members of y and the parameters; LEVEL where its sign is not
   certain. BEFORE and BEHIND: psi, or its derivative, is not defined there. */
typedef enum slope { BEFORE, RISES, LEVEL, FALLS, BEHIND } slope;

typedef struct maximum {
  const expression *psi;
  const phi_section *section; /* of the value: its conditions */
  bool positive;              /* psi has no value at 0: x > 0 alone counts */
  const phibal_enclosure *parameters, *y;
  mpfr_prec_t precision;
  mpfr_t inside;                  /* a point where psi is defined */
  phi_jet jet;                    /* of psi at the last point */
  phibal_enclosure at, value, h1; /* the point, h and h' there */
  mpfr_t l, r;                    /* the maximum is between them */
  phibal_enclosure sup;
  bool attained;
} maximum;

static void maximum_init(maximum *m, const phi_potential *phi, const expression *psi,
                         const phibal_enclosure *parameters, const phibal_enclosure *y,
                         mpfr_prec_t precision) {
  *m = (maximum){
      .psi = psi, .section = &phi->value, .parameters = parameters, .y = y, .precision = precision};
  mpfr_inits2(precision, m->inside, m->l, m->r, (mpfr_ptr)0);
  phi_jet_init(&m->jet, precision);
  phibal_enclosure_init(&m->at, precision);
  phibal_enclosure_init(&m->value, precision);
  phibal_enclosure_init(&m->h1, precision);
  phibal_enclosure_init(&m->sup, precision);
}

static void maximum_clear(maximum *m) {
  mpfr_clears(m->inside, m->l, m->r, (mpfr_ptr)0);
  phi_jet_clear(&m->jet);
  phibal_enclosure_clear(&m->at);
  phibal_enclosure_clear(&m->value);
  phibal_enclosure_clear(&m->h1);
  phibal_enclosure_clear(&m->sup);
}

/* h and h' at m->at; whether they are there. */
static bool evaluate(maximum *m, bool *sloped) {
  *sloped = false;
  if (m->positive && mpfr_sgn(m->at.lo) < 0) return false;
  conditions_standing standing;
  if (conditions_at(m->section, m->parameters, 1, &m->at, NULL, m->precision, &standing) ||
      standing != CONDITIONS_HOLD)
    return false;
  phi_jet_eval(m->psi, m->parameters, NULL, &m->at, &m->jet);
  *sloped = m->jet.known >= 2 && phibal_enclosure_sub(&m->h1, m->y, &m->jet.d[1]) == PHIBAL_OK;
  return m->jet.known >= 1 && phibal_enclosure_mul(&m->value, &m->at, m->y) == PHIBAL_OK &&
         phibal_enclosure_sub(&m->value, &m->value, &m->jet.d[0]) == PHIBAL_OK;
}

static slope slope_at(maximum *m, mpfr_srcptr x) {
  bool sloped;
  phibal_enclosure_set_fr(&m->at, x);
  if (!evaluate(m, &sloped) || !sloped) return mpfr_less_p(x, m->inside) ? BEFORE : BEHIND;
  if (phibal_enclosure_is_positive(&m->h1)) return RISES;
  return phibal_enclosure_is_negative(&m->h1) ? FALLS : LEVEL;
}

static void point(mpfr_ptr x, int number) {
  bool negative = number <= 2 * FURTHEST;
  int k = negative ? FURTHEST - number : number - MIDDLE;
  mpfr_set_d(x, negative ? -POINT : POINT, MPFR_RNDN);
  mpfr_mul_2si(x, x, k, MPFR_RNDN);
}

static slope slope_at_number(maximum *m, int number) {
  mpfr_t x;
  mpfr_init2(x, 53);
  point(x, number);
  slope s = slope_at(m, x);
  mpfr_clear(x);
  return s;
}

/* A point where psi and its derivative are defined: near +-1, then further away. */
static bool find_inside(maximum *m) {
  bool sloped;
  for (int k = 0; k <= 200; k++)
    for (int way = 0; way < 4; way++) {
      int number = MIDDLE + (way % 2 ? -k : k);
      point(m->inside, way < 2 ? number : POINTS - 1 - number);
      phibal_enclosure_set_fr(&m->at, m->inside);
      if (evaluate(m, &sloped) && sloped) return true;
    }
  return false;
}

/* The first number whose slope is `least` or later in order; POINTS if there is none. */
static int find_first(maximum *m, slope least) {
  int low = -1, high = POINTS;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (slope_at_number(m, middle) >= least)
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* Between the smallest points of both signs 0 alone is looked at: psi may begin there, or h be
   largest. */
static void settle_zero(maximum *m) {
  if (mpfr_sgn(m->l) >= 0 || mpfr_sgn(m->r) <= 0) return;
  bool begins = slope_at(m, m->l) == BEFORE, sloped;
  phibal_enclosure_set_si(&m->at, 0);
  if (!evaluate(m, &sloped)) return;
  if (begins || (sloped && phibal_enclosure_is_zero(&m->h1))) mpfr_set_zero(m->l, 1);
  if (sloped &&
      (phibal_enclosure_is_zero(&m->h1) || (begins && phibal_enclosure_is_negative(&m->h1))))
    mpfr_set_zero(m->r, 1);
}

/* Takes x in as an end, by the slope there; false where its sign is not certain. Where the slope is
   exactly 0 the maximum is attained: l = r = x. */
static bool split(maximum *m, mpfr_srcptr x) {
  if (mpfr_lessequal_p(x, m->l) || mpfr_greaterequal_p(x, m->r)) return true;
  slope s = slope_at(m, x);
  if (s == LEVEL && !phibal_enclosure_is_zero(&m->h1)) return false;
  if (s <= LEVEL) mpfr_set(m->l, x, MPFR_RNDN);
  if (s >= LEVEL) mpfr_set(m->r, x, MPFR_RNDN);
  return true;
}

/* With h and its derivatives at the middle: Newton's point and a neighbour to each side of it, as
   far as 2^-trust of the step. */
static bool newton(maximum *m, mpfr_ptr middle, int trust) {
  if (m->jet.known < 3 || !phibal_enclosure_is_positive(&m->jet.d[2])) return true;
  mpfr_t step, x;
  mpfr_inits2(m->precision, step, x, (mpfr_ptr)0);
  mpfr_div(step, m->h1.lo, m->jet.d[2].lo, MPFR_RNDN);
  mpfr_add(middle, middle, step, MPFR_RNDN);
  mpfr_abs(step, step, MPFR_RNDN);
  mpfr_div_2ui(step, step, (unsigned long)trust, MPFR_RNDN);
  bool certain = true;
  if (mpfr_number_p(step)) {
    mpfr_sub(x, middle, step, MPFR_RNDN);
    certain = split(m, x);
    mpfr_add(x, middle, step, MPFR_RNDN);
    certain = certain && split(m, x);
  }
  mpfr_clears(step, x, (mpfr_ptr)0);
  return certain;
}

/* Whether r - l is below 2^-bits of the larger. */
static bool narrow(const maximum *m, mpfr_prec_t bits) {
  mpfr_t width, size;
  mpfr_inits2(64, width, size, (mpfr_ptr)0);
  mpfr_sub(width, m->r, m->l, MPFR_RNDU);
  mpfr_set(size, mpfr_cmpabs(m->l, m->r) > 0 ? m->l : m->r, MPFR_RNDZ);
  mpfr_abs(size, size, MPFR_RNDN);
  mpfr_mul_2si(size, size, -(long)bits, MPFR_RNDD);
  bool yes = mpfr_lessequal_p(width, size);
  mpfr_clears(width, size, (mpfr_ptr)0);
  return yes;
}

/* Narrows [l, r] to `bits`, or as far as the slope's sign is certain: halves it, and trusts
   Newton's step the more the better it does. */
static void narrow_down(maximum *m, mpfr_prec_t bits) {
  mpfr_t middle, before;
  mpfr_inits2(m->precision, middle, before, (mpfr_ptr)0);
  int trust = 4;
  for (mpfr_prec_t i = 0; i < bits + 2 * FURTHEST && !narrow(m, bits); i++) {
    mpfr_sub(before, m->r, m->l, MPFR_RNDN);
    mpfr_add(middle, m->l, m->r, MPFR_RNDN);
    mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
    if (!split(m, middle) || !newton(m, middle, trust)) break;
    mpfr_div_2ui(before, before, 2, MPFR_RNDN);
    mpfr_sub(middle, m->r, m->l, MPFR_RNDN);
    trust = mpfr_less_p(middle, before) ? 2 * trust : 4;
    if (trust > 1000) trust = 1000;
  }
  mpfr_clears(middle, before, (mpfr_ptr)0);
}

/* A bound of h between `from` and `to`: the larger end of its tangent at `from`. The supremum is
   at least h there. */
static void tangent(maximum *m, mpfr_srcptr from, mpfr_srcptr to, mpfr_ptr bound) {
  bool sloped;
  mpfr_set_inf(bound, 1);
  phibal_enclosure_set_fr(&m->at, from);
  if (!evaluate(m, &sloped)) return;
  mpfr_max(m->sup.lo, m->sup.lo, m->value.lo, MPFR_RNDD);
  if (!sloped) return;
  phibal_enclosure reach;
  phibal_enclosure_init(&reach, m->precision);
  phibal_enclosure_set_fr(&reach, to);
  if (phibal_enclosure_sub(&reach, &reach, &m->at) == PHIBAL_OK &&
      phibal_enclosure_mul(&reach, &reach, &m->h1) == PHIBAL_OK &&
      phibal_enclosure_add(&reach, &reach, &m->value) == PHIBAL_OK)
    mpfr_max(bound, reach.hi, m->value.hi, MPFR_RNDU);
  phibal_enclosure_clear(&reach);
}

/* The supremum from the tangents at both ends, at the middle to both sides, and at 0. */
static void enclose(maximum *m) {
  mpfr_t middle, left, right;
  mpfr_inits2(m->precision, middle, left, right, (mpfr_ptr)0);
  tangent(m, m->l, m->r, left);
  mpfr_min(m->sup.hi, m->sup.hi, left, MPFR_RNDU);
  tangent(m, m->r, m->l, right);
  mpfr_min(m->sup.hi, m->sup.hi, right, MPFR_RNDU);
  mpfr_add(middle, m->l, m->r, MPFR_RNDN);
  mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
  if (mpfr_sgn(m->l) < 0 && mpfr_sgn(m->r) > 0) mpfr_set_zero(middle, 1);
  tangent(m, middle, m->l, left);
  tangent(m, middle, m->r, right);
  mpfr_max(left, left, right, MPFR_RNDU);
  mpfr_min(m->sup.hi, m->sup.hi, left, MPFR_RNDU);
  mpfr_clears(middle, left, right, (mpfr_ptr)0);
}

/* h rises, or may, as far out as is looked: +inf where it certainly goes on, else what it reaches
   or more. */
static void without_end(maximum *m, int number) {
  bool sloped, right = number == POINTS - 1;
  mpfr_t far, bound;
  mpfr_init2(far, 53);
  mpfr_init2(bound, 53);
  point(far, number);
  tangent(m, far, far, bound);
  phibal_enclosure_set_fr(&m->at, far);
  mpfr_set_inf(right ? m->at.hi : m->at.lo, right ? 1 : -1);
  evaluate(m, &sloped);
  if (sloped &&
      (right ? phibal_enclosure_is_positive(&m->h1) : phibal_enclosure_is_negative(&m->h1)))
    mpfr_set_inf(m->sup.lo, 1);
  m->attained = false;
  mpfr_clears(far, bound, (mpfr_ptr)0);
}

/* Slopes of h in the order that concavity has; a sample of them, so that a potential that is not
   convex is mostly noticed. */
static phibal_status require_order(maximum *m) {
  slope last = BEFORE;
  for (int number = 0; number < POINTS; number += 41) {
    slope s = slope_at_number(m, number);
    if (s < last)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "the potential is not convex where it is defined (near x = 2^%d%s): "
                               "say 'where x >= 0' behind its value if that is meant",
                               abs(number - 2 * FURTHEST) - FURTHEST,
                               number <= 2 * FURTHEST ? ", negative" : "");
    last = s;
  }
  return PHIBAL_OK;
}

static phibal_status maximise(maximum *m, mpfr_prec_t bits) {
  mpfr_set_inf(m->sup.lo, -1);
  mpfr_set_inf(m->sup.hi, 1);
  m->attained = true;
  phibal_enclosure_set_si(&m->at, 0);
  m->positive = phi_eval(m->psi, m->parameters, NULL, &m->at, &m->value) != PHIBAL_OK ||
                !mpfr_number_p(m->value.lo) || !mpfr_number_p(m->value.hi);
  if (!find_inside(m))
    return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                             "no point is found where the potential has a derivative");
  phibal_status status = require_order(m);
  if (status) return status;
  int rising = find_first(m, LEVEL) - 1, falling = find_first(m, FALLS);
  if (falling == POINTS || rising < 0) {
    without_end(m, falling == POINTS ? POINTS - 1 : 0);
    return PHIBAL_OK;
  }
  point(m->l, rising);
  point(m->r, falling);
  settle_zero(m);
  narrow_down(m, bits);
  enclose(m);
  return PHIBAL_OK;
}

/* The constant that psi leaves out: the value at sums of 0. */
static phibal_status constant(const phi_potential *phi, const phibal_enclosure *parameters,
                              phibal_enclosure *value) {
  const size_t n = (size_t)phi->value.sums;
  const mpfr_prec_t precision = mpfr_get_prec(value->lo);
  phibal_enclosure *zero = phibal_enclosure_vector(n, precision);
  phibal_status status = PHIBAL_ERROR_MEMORY;
  if (zero) status = phi_eval(phi->value.expression, parameters, zero, NULL, value);
  phibal_enclosure_vector_clear(zero, n);
  return status;
}

/* So that what the far points cancel is there. */
static mpfr_prec_t working(mpfr_prec_t precision) {
  return precision + FURTHEST + 128;
}

static phibal_status separable_eval(const phi_potential *phi, const expression *psi,
                                    const phibal_enclosure *parameters, size_t n,
                                    const phibal_enclosure *y, phibal_enclosure *value) {
  const mpfr_prec_t bits = mpfr_get_prec(value->lo), precision = working(bits);
  phibal_enclosure total;
  phibal_enclosure_init(&total, precision);
  phibal_status status = constant(phi, parameters, &total);
  phibal_enclosure_neg(&total, &total);
  for (size_t e = 0; e < n && !status; e++) {
    maximum m;
    maximum_init(&m, phi, psi, parameters, &y[e], precision);
    status = maximise(&m, bits);
    if (!status) status = phibal_enclosure_add(&total, &total, &m.sup);
    maximum_clear(&m);
  }
  if (!status) phibal_enclosure_set(value, &total);
  phibal_enclosure_clear(&total);
  return status;
}

phibal_status audit_conjugate_eval(phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                                   const phibal_enclosure *y, const mpq_t *exact,
                                   phibal_enclosure *value) {
  const expression *psi = phi_separable(phi);
  bool attained;
  return psi ? separable_eval(phi, psi, parameters, n, y, value)
             : conjugate_of_sums(phi, parameters, n, y, exact, value, NULL, &attained);
}

static phibal_status separable_gradient(const phi_potential *phi, const expression *psi,
                                        const phibal_enclosure *parameters, size_t n,
                                        const phibal_enclosure *y, phibal_enclosure *x) {
  phibal_status status = PHIBAL_OK;
  for (size_t e = 0; e < n && !status; e++) {
    maximum m;
    const mpfr_prec_t bits = mpfr_get_prec(x[e].lo);
    maximum_init(&m, phi, psi, parameters, &y[e], working(bits));
    status = maximise(&m, bits);
    if (!status && !m.attained)
      status = phibal_status_set(PHIBAL_ERROR_DOMAIN,
                                 "coordinate %zu: the supremum is not attained at |x| <= 2^%d", e,
                                 (int)FURTHEST);
    if (!status) {
      mpfr_set(x[e].lo, m.l, MPFR_RNDD);
      mpfr_set(x[e].hi, m.r, MPFR_RNDU);
    }
    maximum_clear(&m);
  }
  return status;
}

phibal_status audit_conjugate_gradient_eval(phi_potential *phi, const phibal_enclosure *parameters,
                                            size_t n, const phibal_enclosure *y,
                                            phibal_enclosure *x) {
  const expression *psi = phi_separable(phi);
  if (psi || n == 0) return psi ? separable_gradient(phi, psi, parameters, n, y, x) : PHIBAL_OK;
  phibal_enclosure value;
  bool attained;
  phibal_enclosure_init(&value, mpfr_get_prec(x[0].lo));
  phibal_status status = conjugate_of_sums(phi, parameters, n, y, NULL, &value, x, &attained);
  phibal_enclosure_clear(&value);
  if (!status && !attained)
    status = phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "the supremum of <x, y> - phi(x) is not attained there, or not at "
                               "one x, or that was not proved");
  return status;
}

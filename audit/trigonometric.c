/* sin and cos of an interval. Their extremes lie at multiples of pi (cos) and half a period behind
   these (sin): which of them are members is decided from x/pi with as many bits as x has before the
   point, and where that leaves a doubt the extreme counts as reached, which is then so within the
   rounding of x/pi. */
#include "functions.h"

/* Beyond 2^MOST_EXPONENT nothing finer than [-1, 1] is tried. */
enum { MOST_EXPONENT = 16384, GUARD = 32 };

typedef int (*trigonometric)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

/* A lower or an upper bound of t/pi - shift/2, as a whole number: its ceiling or its floor. */
static void multiple_of_pi(mpz_ptr m, mpfr_srcptr t, unsigned long shift, bool ceiling) {
  const mpfr_exp_t bits = mpfr_zero_p(t) || mpfr_get_exp(t) < 0 ? 0 : mpfr_get_exp(t);
  mpfr_t q, pi;
  mpfr_init2(q, mpfr_get_prec(t) + bits + GUARD);
  mpfr_init2(pi, mpfr_get_prec(t) + bits + GUARD);
  /* towards the side on which more multiples are counted */
  const mpfr_rnd_t out = ceiling ? MPFR_RNDD : MPFR_RNDU;
  const bool pi_up = ceiling == (mpfr_sgn(t) > 0);
  mpfr_const_pi(pi, pi_up ? MPFR_RNDU : MPFR_RNDD);
  mpfr_div(q, t, pi, out);
  mpfr_mul_2ui(q, q, 1, out);
  mpfr_sub_ui(q, q, shift, out);
  mpfr_div_2ui(q, q, 1, out);
  mpfr_get_z(m, q, ceiling ? MPFR_RNDU : MPFR_RNDD);
  mpfr_clear(q);
  mpfr_clear(pi);
}

/* z joined with the extreme of the multiple: 1 if it is even, -1 if odd. */
static void join_extreme(phibal_enclosure *z, mpz_srcptr multiple) {
  if (mpz_odd_p(multiple))
    mpfr_set_si(z->lo, -1, MPFR_RNDD);
  else
    mpfr_set_si(z->hi, 1, MPFR_RNDU);
}

static void ends(phibal_enclosure *z, trigonometric f, const phibal_enclosure *x) {
  phibal_enclosure a, b;
  phibal_enclosure_init(&a, mpfr_get_prec(z->lo));
  phibal_enclosure_init(&b, mpfr_get_prec(z->lo));
  f(a.lo, x->lo, MPFR_RNDD);
  f(a.hi, x->lo, MPFR_RNDU);
  f(b.lo, x->hi, MPFR_RNDD);
  f(b.hi, x->hi, MPFR_RNDU);
  phibal_enclosure_hull(z, &a, &b);
  phibal_enclosure_clear(&a);
  phibal_enclosure_clear(&b);
}

static void whole_range(phibal_enclosure *z) {
  mpfr_set_si(z->lo, -1, MPFR_RNDD);
  mpfr_set_si(z->hi, 1, MPFR_RNDU);
}

static bool is_far(mpfr_srcptr t) {
  return !mpfr_zero_p(t) && mpfr_get_exp(t) > MOST_EXPONENT;
}

static phibal_status enclose(phibal_enclosure *z, trigonometric f, const phibal_enclosure *x,
                             unsigned long shift) {
  /* An infinite end may be a member, as +inf is one of 0^[-1, 1], and has no sine. */
  if (mpfr_inf_p(x->lo) || mpfr_inf_p(x->hi)) {
    function_forget(z);
    return phibal_status_set(PHIBAL_ERROR_DOMAIN, "sin or cos of infinity");
  }
  if (is_far(x->lo) || is_far(x->hi)) {
    whole_range(z);
    return PHIBAL_OK;
  }
  mpz_t first, last;
  mpz_inits(first, last, NULL);
  multiple_of_pi(first, x->lo, shift, true);
  multiple_of_pi(last, x->hi, shift, false);
  ends(z, f, x);
  if (mpz_cmp(first, last) <= 0) join_extreme(z, first);
  if (mpz_cmp(first, last) < 0) whole_range(z);
  mpz_clears(first, last, NULL);
  return PHIBAL_OK;
}

phibal_status function_sin(phibal_enclosure *z, const phibal_enclosure *x) {
  return enclose(z, mpfr_sin, x, 1);
}

phibal_status function_cos(phibal_enclosure *z, const phibal_enclosure *x) {
  return enclose(z, mpfr_cos, x, 0);
}

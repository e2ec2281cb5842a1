/* A bracket, then bisection. Only a certain comparison ever moves an end of the bracket. */
#include "mirror_search.h"

#define TRY(call)                                                                                  \
  do {                                                                                             \
    phibal_status try_status = (call);                                                             \
    if (try_status != PHIBAL_OK) return try_status;                                                \
  } while (0)

/* Doublings from the first guess until the bracket is given up; a factor of 2^64 by which a
   midpoint leaves a zero end, since zero has no exponent to meet half-way. */
enum { MOST_DOUBLINGS = 4096, ZERO_END_SHIFT = 64 };

typedef struct bracket {
  mpfr_t lo, hi, middle, inner;
  const phibal_enclosure *start;
  mpfr_prec_t precision;
  search_probe *probe;
  void *context;
} bracket;

/* Outside the domain, the side is that on which q lies of a point inside. */
static phibal_status probe_at(const bracket *b, mpfr_srcptr q, search_side *side) {
  TRY(b->probe(b->context, q, side));
  if (*side != SEARCH_OUTSIDE) return PHIBAL_OK;
  *side = SEARCH_UNKNOWN;
  if (mpfr_greater_p(q, b->start->hi)) *side = SEARCH_ABOVE;
  if (mpfr_less_p(q, b->start->lo)) *side = SEARCH_BELOW;
  return PHIBAL_OK;
}

/* Doubles the distance from the first guess, downward or upward, until `wanted` is certain. */
static phibal_status find_end(const bracket *b, mpfr_ptr end, search_side wanted) {
  mpfr_srcptr guess = wanted == SEARCH_BELOW ? b->start->lo : b->start->hi;
  mpfr_exp_t exponent = mpfr_regular_p(guess) ? mpfr_get_exp(guess) - 4 : -4;
  for (int i = 0; i < MOST_DOUBLINGS; i++) {
    mpfr_set_si_2exp(end, wanted == SEARCH_BELOW ? -1 : 1, exponent + i, MPFR_RNDN);
    mpfr_add(end, guess, end, MPFR_RNDN);
    search_side side;
    TRY(probe_at(b, end, &side));
    if (side == wanted) return PHIBAL_OK;
  }
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "mirror argmax: no price is certain to lie %s the argmax: the average "
                           "load is at the boundary of the domain, or cannot be told from it",
                           wanted == SEARCH_BELOW ? "below" : "above");
}

/* middle between a < b: 0 between signs, then half-way in the exponents, then in the numbers. */
static void set_middle(mpfr_ptr middle, mpfr_srcptr a, mpfr_srcptr b) {
  if (mpfr_sgn(a) < 0 && mpfr_sgn(b) > 0) {
    mpfr_set_zero(middle, 1);
    return;
  }
  if (mpfr_zero_p(a) || mpfr_zero_p(b)) {
    mpfr_div_2ui(middle, mpfr_zero_p(a) ? b : a, ZERO_END_SHIFT, MPFR_RNDN);
    return;
  }
  mpfr_exp_t ea = mpfr_get_exp(a), eb = mpfr_get_exp(b);
  if (ea - eb > 2 || eb - ea > 2) {
    mpfr_exp_t half = ea + (eb - ea) / 2;
    mpfr_set_si_2exp(middle, mpfr_sgn(a), half - 1, MPFR_RNDN);
    return;
  }
  mpfr_add(middle, a, b, MPFR_RNDN);
  mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
}

/* At most two units in the last place of `precision` bits lie between a and c. */
static bool is_narrow(const bracket *b, mpfr_srcptr a, mpfr_srcptr c, mpfr_ptr scratch) {
  mpfr_srcptr larger = mpfr_cmpabs(a, c) > 0 ? a : c;
  if (mpfr_zero_p(larger)) return true;
  mpfr_sub(scratch, c, a, MPFR_RNDU);
  return mpfr_zero_p(scratch) ||
         mpfr_get_exp(scratch) <= mpfr_get_exp(larger) - (mpfr_exp_t)b->precision + 2;
}

/* Moves `end` towards `inner`, which is not certain to lie on end's side, while `side` is certain:
   bisection of the place where certainty ends. */
static phibal_status refine_end(bracket *b, mpfr_ptr end, search_side side) {
  for (mpfr_prec_t i = 0; i < 4 * b->precision; i++) {
    bool below = side == SEARCH_BELOW;
    if (is_narrow(b, below ? end : b->inner, below ? b->inner : end, b->middle)) return PHIBAL_OK;
    set_middle(b->middle, below ? end : b->inner, below ? b->inner : end);
    search_side found;
    TRY(probe_at(b, b->middle, &found));
    mpfr_swap(b->middle, found == side ? end : b->inner);
  }
  return PHIBAL_OK;
}

/* Bisects while the middle is certain to lie on one side; then both ends towards it. */
static phibal_status refine(bracket *b) {
  for (mpfr_prec_t i = 0; i < 4 * b->precision; i++) {
    if (is_narrow(b, b->lo, b->hi, b->middle)) return PHIBAL_OK;
    set_middle(b->middle, b->lo, b->hi);
    search_side side;
    TRY(probe_at(b, b->middle, &side));
    if (side == SEARCH_BELOW) {
      mpfr_swap(b->middle, b->lo);
    } else if (side == SEARCH_ABOVE) {
      mpfr_swap(b->middle, b->hi);
    } else {
      mpfr_t uncertain;
      mpfr_init2(uncertain, mpfr_get_prec(b->middle));
      mpfr_set(uncertain, b->middle, MPFR_RNDN);
      mpfr_set(b->inner, uncertain, MPFR_RNDN);
      phibal_status status = refine_end(b, b->lo, SEARCH_BELOW);
      mpfr_set(b->inner, uncertain, MPFR_RNDN);
      if (status == PHIBAL_OK) status = refine_end(b, b->hi, SEARCH_ABOVE);
      mpfr_clear(uncertain);
      return status;
    }
  }
  return PHIBAL_OK;
}

/* An exact root at 0 has no relative precision to be found to; it is tried first. */
static phibal_status search(bracket *b, phibal_enclosure *root) {
  search_side side;
  mpfr_set_zero(b->middle, 1);
  TRY(probe_at(b, b->middle, &side));
  if (side == SEARCH_EQUAL) {
    phibal_enclosure_set_si(root, 0);
    return PHIBAL_OK;
  }
  TRY(find_end(b, b->lo, SEARCH_BELOW));
  TRY(find_end(b, b->hi, SEARCH_ABOVE));
  TRY(refine(b));
  mpfr_set(root->lo, b->lo, MPFR_RNDD);
  mpfr_set(root->hi, b->hi, MPFR_RNDU);
  return PHIBAL_OK;
}

phibal_status search_root(phibal_enclosure *root, const phibal_enclosure *start,
                          mpfr_prec_t precision, search_probe *probe, void *context) {
  bracket b = {.start = start, .precision = precision, .probe = probe, .context = context};
  mpfr_inits2(precision, b.lo, b.hi, b.middle, b.inner, (mpfr_ptr)0);
  phibal_status status = search(&b, root);
  mpfr_clears(b.lo, b.hi, b.middle, b.inner, (mpfr_ptr)0);
  return status;
}

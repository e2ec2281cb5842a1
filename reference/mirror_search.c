/* A bracket; false position in it, which converges fast; then the two places where certainty ends,
   close to the root. Only a certain comparison ever moves an end of the bracket, so that rounding
   in the guesses costs time and never truth. */
#include "mirror_search.h"

#define TRY(call)                                                                                  \
  do {                                                                                             \
    phibal_status try_status = (call);                                                             \
    if (try_status != PHIBAL_OK) return try_status;                                                \
  } while (0)

enum { GALLOP_SHIFT = 4, MOST_FALSE_POSITIONS = 200 };

/* Doublings from the first guess until the bracket is given up; a factor of 2^64 by which a
   midpoint leaves a zero end, since zero has no exponent to meet half-way. */
enum { MOST_DOUBLINGS = 4096, ZERO_END_SHIFT = 64 };

typedef struct bracket {
  mpfr_t lo, hi, middle, inner;
  mpfr_t below, above, residual; /* about f - target at lo, hi and the last probe, or NaN */
  const phibal_enclosure *start;
  mpfr_prec_t precision;
  search_probe *probe;
  void *context;
} bracket;

/* Outside the domain, the side is that on which q lies of a point inside. */
static phibal_status probe_at(bracket *b, mpfr_srcptr q, search_side *side) {
  mpfr_set_nan(b->residual);
  TRY(b->probe(b->context, q, side, b->residual));
  if (*side != SEARCH_OUTSIDE) return PHIBAL_OK;
  *side = SEARCH_UNKNOWN;
  if (mpfr_greater_p(q, b->start->hi)) *side = SEARCH_ABOVE;
  if (mpfr_less_p(q, b->start->lo)) *side = SEARCH_BELOW;
  return PHIBAL_OK;
}

/* Doubles the distance from the first guess, downward or upward, until `wanted` is certain. */
static phibal_status find_end(bracket *b, mpfr_ptr end, search_side wanted) {
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

/* Moves the end on the side of the middle, just probed, to it. False if it is on neither. */
static bool move_end(bracket *b, search_side side) {
  if (side == SEARCH_BELOW) {
    mpfr_swap(b->lo, b->middle);
    mpfr_swap(b->below, b->residual);
  } else if (side == SEARCH_ABOVE) {
    mpfr_swap(b->hi, b->middle);
    mpfr_swap(b->above, b->residual);
  }
  return side == SEARCH_BELOW || side == SEARCH_ABOVE;
}

/* Whether the ends agree in sign and to a few bits, so that chords between them mean something. */
static bool is_close(bracket *b) {
  if (mpfr_sgn(b->lo) * mpfr_sgn(b->hi) <= 0) return false;
  mpfr_sub(b->inner, b->hi, b->lo, MPFR_RNDU);
  mpfr_exp_t size = mpfr_cmpabs(b->lo, b->hi) > 0 ? mpfr_get_exp(b->lo) : mpfr_get_exp(b->hi);
  return mpfr_zero_p(b->inner) || mpfr_get_exp(b->inner) < size - 2;
}

/* Bisects until the ends are close; *found when the middle is not certain to be on a side. */
static phibal_status approach(bracket *b, bool *found) {
  *found = false;
  for (mpfr_prec_t i = 0; i < 4 * b->precision && !*found && !is_close(b); i++) {
    search_side side;
    set_middle(b->middle, b->lo, b->hi);
    TRY(probe_at(b, b->middle, &side));
    *found = !move_end(b, side);
  }
  return PHIBAL_OK;
}

/* middle = where the chord between the ends crosses 0, inside (lo, hi); half-way without residuals.
 */
static void set_crossing(bracket *b) {
  mpfr_sub(b->inner, b->hi, b->lo, MPFR_RNDN);
  mpfr_sub(b->residual, b->above, b->below, MPFR_RNDN);
  mpfr_div(b->residual, b->below, b->residual, MPFR_RNDN);
  mpfr_mul(b->inner, b->inner, b->residual, MPFR_RNDN);
  mpfr_sub(b->middle, b->lo, b->inner, MPFR_RNDN);
  if (!mpfr_number_p(b->middle)) {
    set_middle(b->middle, b->lo, b->hi);
  } else if (mpfr_lessequal_p(b->middle, b->lo)) {
    mpfr_set(b->middle, b->lo, MPFR_RNDN);
    mpfr_nextabove(b->middle);
  } else if (mpfr_greaterequal_p(b->middle, b->hi)) {
    mpfr_set(b->middle, b->hi, MPFR_RNDN);
    mpfr_nextbelow(b->middle);
  }
}

/* False position in the Illinois form: the residual of an end that stays is halved, so that the
   other side is reached too; plain bisection if that does not end soon. *found as above. */
static phibal_status follow_chords(bracket *b, bool *found) {
  search_side last = SEARCH_UNKNOWN;
  for (mpfr_prec_t i = 0; i < MOST_FALSE_POSITIONS + 4 * b->precision && !*found; i++) {
    if (is_narrow(b, b->lo, b->hi, b->inner)) return PHIBAL_OK;
    search_side side;
    if (i < MOST_FALSE_POSITIONS)
      set_crossing(b);
    else
      set_middle(b->middle, b->lo, b->hi);
    TRY(probe_at(b, b->middle, &side));
    *found = !move_end(b, side);
    if (!*found && side == last) {
      mpfr_ptr stays = side == SEARCH_BELOW ? b->above : b->below;
      mpfr_div_2ui(stays, stays, 1, MPFR_RNDN);
    }
    last = side;
  }
  return PHIBAL_OK;
}

/* Brings `end` close to the uncertain place b->inner != 0 by steps away from it that grow. */
static phibal_status gallop_end(bracket *b, mpfr_ptr end, search_side wanted) {
  mpfr_exp_t step = mpfr_get_exp(b->inner) - (mpfr_exp_t)b->precision + 2;
  for (mpfr_prec_t i = 0; i < b->precision; i++, step += GALLOP_SHIFT) {
    mpfr_set_si_2exp(b->middle, wanted == SEARCH_BELOW ? -1 : 1, step, MPFR_RNDN);
    mpfr_add(b->middle, b->inner, b->middle, MPFR_RNDN);
    bool beyond = wanted == SEARCH_BELOW ? mpfr_lessequal_p(b->middle, end) != 0
                                         : mpfr_greaterequal_p(b->middle, end) != 0;
    if (beyond) return PHIBAL_OK;
    search_side side;
    TRY(probe_at(b, b->middle, &side));
    mpfr_swap(b->middle, side == wanted ? end : b->inner);
    if (side == wanted) return PHIBAL_OK;
  }
  return PHIBAL_OK;
}

static phibal_status close_end(bracket *b, mpfr_ptr end, search_side side, mpfr_srcptr uncertain) {
  mpfr_set(b->inner, uncertain, MPFR_RNDN);
  if (!mpfr_zero_p(uncertain)) TRY(gallop_end(b, end, side));
  return refine_end(b, end, side);
}

/* Both ends towards the uncertain middle. */
static phibal_status close_in(bracket *b) {
  mpfr_t uncertain;
  mpfr_init2(uncertain, mpfr_get_prec(b->middle));
  mpfr_set(uncertain, b->middle, MPFR_RNDN);
  phibal_status status = close_end(b, b->lo, SEARCH_BELOW, uncertain);
  if (status == PHIBAL_OK) status = close_end(b, b->hi, SEARCH_ABOVE, uncertain);
  mpfr_clear(uncertain);
  return status;
}

static phibal_status refine(bracket *b) {
  bool found;
  TRY(approach(b, &found));
  TRY(follow_chords(b, &found));
  return found ? close_in(b) : PHIBAL_OK;
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
  mpfr_swap(b->below, b->residual);
  TRY(find_end(b, b->hi, SEARCH_ABOVE));
  mpfr_swap(b->above, b->residual);
  TRY(refine(b));
  mpfr_set(root->lo, b->lo, MPFR_RNDD);
  mpfr_set(root->hi, b->hi, MPFR_RNDU);
  return PHIBAL_OK;
}

phibal_status search_root(phibal_enclosure *root, const phibal_enclosure *start,
                          mpfr_prec_t precision, search_probe *probe, void *context) {
  bracket b = {.start = start, .precision = precision, .probe = probe, .context = context};
  mpfr_inits2(precision, b.lo, b.hi, b.middle, b.inner, b.below, b.above, b.residual, (mpfr_ptr)0);
  phibal_status status = search(&b, root);
  mpfr_clears(b.lo, b.hi, b.middle, b.inner, b.below, b.above, b.residual, (mpfr_ptr)0);
  return status;
}

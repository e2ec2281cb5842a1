/* A bracket; false position in it, which converges fast; then the two places where certainty ends,
   close to the root. All of that only guesses: at the end both ends are asked about once more, and
   only a certain answer to that makes them ends of the root's enclosure. So rounding, infinities
   and NaN among the guesses cost time and never truth. */
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
  mpfr_t uncertain;              /* a place that is not certain to be on a side */
  mpfr_t below, above, residual; /* about f - target at lo, hi and the last probe, or NaN */
} bracket;

#include <phibal/acsl/contracts/inside/mirror_search_static.h>

/* -1, 0, 1; 0 for NaN. */
static int sign_of(mpfr_srcptr x) {
  return mpfr_number_p(x) ? mpfr_sgn(x) : 0;
}

/* The exponent of a number that has one, else 0. */
static mpfr_exp_t exponent_of(mpfr_srcptr x) {
  return mpfr_regular_p(x) ? mpfr_get_exp(x) : 0;
}

static bool is_larger(mpfr_srcptr x, mpfr_srcptr y) {
  return mpfr_number_p(x) && mpfr_number_p(y) && mpfr_cmpabs(x, y) > 0;
}

/* The residual is not known. */
static void forget_residual(bracket *b) {
  //@ assert open_enclosure;
  mpfr_set_nan(b->residual);
}

/* On which side of the first guess q lies. */
static search_side side_of_start(const phibal_enclosure *start, mpfr_srcptr q) {
  //@ assert open_enclosure;
  if (mpfr_less_p(q, start->lo)) return SEARCH_BELOW;
  return mpfr_greater_p(q, start->hi) ? SEARCH_ABOVE : SEARCH_UNKNOWN;
}

/* What is believed: nothing but comparisons of images with the target. */
static phibal_status probe_at(bracket *b, const step_probe *p, mpfr_srcptr q, search_side *side) {
  //@ assert use_enclosure && use_probe && use_search;
  forget_residual(b);
  *side = SEARCH_UNKNOWN;
  //@ assert same: probe_same{Pre, Here}(p) && q->number == \at(q->number, Pre);
  //@ assert vectors: probe_vectors(p);
  //@ assert shapes: probe_separated(p) && bracket_apart(b, p) && probe_apart(p, q);
  //@ assert inputs: inputs_same{Pre, Here}(p);
  //@ assert open: open_shape;
  //@ assert residual: probe_apart(p, &b->residual[0]);
  if (!mpfr_number_p(q)) return PHIBAL_OK;
  return step_probe_at(p, q, side, b->residual);
}

/* The middle of the bracket, asked about to guide the search: outside the domain, the side is that
   on which it lies of the first guess. */
static phibal_status probe_middle(bracket *b, const step_probe *p, search_side *side) {
  //@ assert open_shape;
  TRY(probe_at(b, p, b->middle, side));
  if (*side == SEARCH_OUTSIDE) *side = side_of_start(p->start, b->middle);
  return PHIBAL_OK;
}

/* end = guess -+ 2^exponent. */
static void step_away(mpfr_ptr end, mpfr_srcptr guess, bool below, mpfr_exp_t exponent) {
  mpfr_set_si_2exp(end, below ? -1 : 1, exponent, MPFR_RNDN);
  mpfr_add(end, guess, end, MPFR_RNDN);
}

/* middle between a < b: 0 between signs, then half-way in the exponents, then in the numbers. */
static void set_middle(mpfr_ptr middle, mpfr_srcptr a, mpfr_srcptr b) {
  if (sign_of(a) < 0 && sign_of(b) > 0) {
    mpfr_set_zero(middle, 1);
    return;
  }
  if (mpfr_zero_p(a) || mpfr_zero_p(b)) {
    mpfr_div_2ui(middle, mpfr_zero_p(a) ? b : a, ZERO_END_SHIFT, MPFR_RNDN);
    return;
  }
  mpfr_exp_t ea = exponent_of(a), eb = exponent_of(b);
  if (ea - eb > 2 || eb - ea > 2) {
    mpfr_exp_t half = ea + (eb - ea) / 2;
    mpfr_set_si_2exp(middle, sign_of(a), half - 1, MPFR_RNDN);
    return;
  }
  mpfr_add(middle, a, b, MPFR_RNDN);
  mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
}

/* At most two units in the last place of `precision` bits lie between a and c. */
static bool is_narrow(mpfr_srcptr a, mpfr_srcptr c, mpfr_prec_t precision, mpfr_ptr difference) {
  mpfr_srcptr larger = is_larger(a, c) ? a : c;
  if (mpfr_zero_p(larger)) return true;
  mpfr_sub(difference, c, a, MPFR_RNDU);
  return mpfr_zero_p(difference) ||
         exponent_of(difference) <= exponent_of(larger) - (mpfr_exp_t)precision + 2;
}

/* Moves the end on the side of the middle, just probed, to it. False if it is on neither. */
static bool move_end(bracket *b, search_side side) {
  //@ assert open_enclosure;
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
  //@ assert open_enclosure;
  if (sign_of(b->lo) * sign_of(b->hi) <= 0) return false;
  mpfr_sub(b->inner, b->hi, b->lo, MPFR_RNDU);
  mpfr_exp_t size = is_larger(b->lo, b->hi) ? exponent_of(b->lo) : exponent_of(b->hi);
  return mpfr_zero_p(b->inner) || exponent_of(b->inner) < size - 2;
}

/* middle = where the chord between the ends crosses 0, inside (lo, hi); half-way without residuals.
 */
static void set_crossing(bracket *b) {
  //@ assert open_enclosure;
  mpfr_sub(b->inner, b->hi, b->lo, MPFR_RNDN);
  mpfr_sub(b->residual, b->above, b->below, MPFR_RNDN);
  mpfr_div(b->residual, b->below, b->residual, MPFR_RNDN);
  mpfr_mul(b->inner, b->inner, b->residual, MPFR_RNDN);
  mpfr_sub(b->middle, b->lo, b->inner, MPFR_RNDN);
  if (!mpfr_number_p(b->middle)) {
    set_middle(b->middle, b->lo, b->hi);
  } else if (mpfr_lessequal_p(b->middle, b->lo)) {
    mpfr_set(b->middle, b->lo, MPFR_RNDN);
    if (mpfr_number_p(b->middle)) mpfr_nextabove(b->middle);
  } else if (mpfr_greaterequal_p(b->middle, b->hi)) {
    mpfr_set(b->middle, b->hi, MPFR_RNDN);
    if (mpfr_number_p(b->middle)) mpfr_nextbelow(b->middle);
  }
}

/* The middle of the bracket becomes its middle point. */
static void bisect(bracket *b) {
  //@ assert open_enclosure;
  set_middle(b->middle, b->lo, b->hi);
}

/* The residual of the end that stays counts half from now on. */
static void halve_other_residual(bracket *b, search_side side) {
  //@ assert open_enclosure;
  mpfr_ptr stays = side == SEARCH_BELOW ? b->above : b->below;
  mpfr_div_2ui(stays, stays, 1, MPFR_RNDN);
}

/* Whether the ends are as near as is wanted. */
static bool is_done(bracket *b, mpfr_prec_t precision) {
  //@ assert open_enclosure;
  return is_narrow(b->lo, b->hi, precision, b->inner);
}

/* The middle goes between the end on this side and b->inner; false if these two are as near as is
   wanted. */
static bool bisect_to_inner(bracket *b, search_side side, mpfr_prec_t precision) {
  //@ assert open_enclosure;
  mpfr_srcptr low = side == SEARCH_BELOW ? b->lo : b->inner;
  mpfr_srcptr high = side == SEARCH_BELOW ? b->inner : b->hi;
  if (is_narrow(low, high, precision, b->middle)) return false;
  set_middle(b->middle, low, high);
  return true;
}

/* The middle takes the place of the end on this side, or of b->inner. */
static void take_middle(bracket *b, search_side side, bool as_end) {
  //@ assert open_enclosure;
  mpfr_ptr end = side == SEARCH_BELOW ? b->lo : b->hi;
  mpfr_swap(b->middle, as_end ? end : b->inner);
}

/* The middle goes 2^step away from b->inner; false if that is beyond the end. */
static bool gallop(bracket *b, search_side side, mpfr_exp_t step) {
  //@ assert open_enclosure;
  step_away(b->middle, b->inner, side == SEARCH_BELOW, step);
  return side == SEARCH_BELOW ? !mpfr_lessequal_p(b->middle, b->lo)
                              : !mpfr_greaterequal_p(b->middle, b->hi);
}

/* middle = guess -+ 2^(exponent of guess - 4 + doublings), where guess is the end of the first
   guess on that side. */
static void leave_start(bracket *b, const phibal_enclosure *start, bool below, int doublings) {
  //@ assert open_enclosure;
  mpfr_srcptr guess = below ? start->lo : start->hi;
  step_away(b->middle, guess, below, exponent_of(guess) - 4 + doublings);
}

/* Doubles the distance from the first guess, downward or upward, until `wanted` is certain. */
static phibal_status find_end(bracket *b, const step_probe *p, search_side wanted) {
  //@ assert use_enclosure && use_probe && use_search && open_shape;
  bool below = wanted == SEARCH_BELOW;
  /*@ loop invariant range: 0 <= i <= MOST_DOUBLINGS;
      loop invariant ready: search_ready(b, p) && probe_same{Pre, Here}(p);
      loop invariant frame: only_search_written{Pre, Here}(b, p);
      loop assigns i, *b, \at(p->point, Pre)[0 .. \at(p->n, Pre) - 1],
        \at(p->image, Pre)[0 .. \at(p->n, Pre) - 1];
      loop variant MOST_DOUBLINGS - i; */
  for (int i = 0; i < MOST_DOUBLINGS; i++) {
    search_side side;
    leave_start(b, p->start, below, i);
    TRY(probe_middle(b, p, &side));
    if (side == wanted) {
      move_end(b, side);
      //@ assert moved: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
      //@ assert moved_vectors: probe_vectors(p);
      return PHIBAL_OK;
    }
  }
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "mirror argmax: no price is certain to lie %s the argmax: the average "
                           "load is at the boundary of the domain, or cannot be told from it",
                           below ? "below" : "above");
}

/* Moves the end on this side towards b->inner, which is not certain to lie there, while its side is
   certain: bisection of the place where certainty ends. */
static phibal_status refine_end(bracket *b, const step_probe *p, mpfr_prec_t precision,
                                search_side side) {
  //@ assert use_enclosure && use_probe && use_search && open_shape;
  /*@ loop invariant range: 0 <= i <= 4 * precision;
      loop invariant ready: search_ready(b, p) && probe_same{Pre, Here}(p);
      loop invariant frame: only_search_written{Pre, Here}(b, p);
      loop assigns i, *b, \at(p->point, Pre)[0 .. \at(p->n, Pre) - 1],
        \at(p->image, Pre)[0 .. \at(p->n, Pre) - 1];
      loop variant 4 * precision - i; */
  for (mpfr_prec_t i = 0; i < 4 * precision; i++) {
    search_side found;
    if (!bisect_to_inner(b, side, precision)) return PHIBAL_OK;
    //@ assert ready: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert vectors: probe_vectors(p);
    TRY(probe_middle(b, p, &found));
    take_middle(b, side, found == side);
    //@ assert moved: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert moved_vectors: probe_vectors(p);
  }
  return PHIBAL_OK;
}

/* Bisects until the ends are close; *found when the middle is not certain to be on a side. */
static phibal_status approach(bracket *b, const step_probe *p, mpfr_prec_t precision, bool *found) {
  //@ assert use_enclosure && use_probe && use_search && open_shape;
  *found = false;
  /*@ loop invariant range: 0 <= i <= 4 * precision;
      loop invariant ready: search_ready(b, p) && probe_same{Pre, Here}(p);
      loop invariant frame: only_search_written{Pre, Here}(b, p);
      loop assigns i, *b, \at(p->point, Pre)[0 .. \at(p->n, Pre) - 1],
        \at(p->image, Pre)[0 .. \at(p->n, Pre) - 1], *found;
      loop variant 4 * precision - i; */
  for (mpfr_prec_t i = 0; i < 4 * precision; i++) {
    search_side side;
    bool close = is_close(b);
    //@ assert checked: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert checked_vectors: probe_vectors(p);
    if (close) return PHIBAL_OK;
    bisect(b);
    //@ assert ready: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert vectors: probe_vectors(p);
    TRY(probe_middle(b, p, &side));
    *found = !move_end(b, side);
    //@ assert moved: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert moved_vectors: probe_vectors(p);
    if (*found) return PHIBAL_OK;
  }
  return PHIBAL_OK;
}

/* False position in the Illinois form: the residual of an end that stays is halved, so that the
   other side is reached too; plain bisection if that does not end soon. *found as above. */
static phibal_status follow_chords(bracket *b, const step_probe *p, mpfr_prec_t precision,
                                   bool *found) {
  //@ assert use_enclosure && use_probe && use_search && open_shape;
  search_side last = SEARCH_UNKNOWN;
  if (*found) return PHIBAL_OK;
  /*@ loop invariant range: 0 <= i <= MOST_FALSE_POSITIONS + 4 * precision;
      loop invariant ready: search_ready(b, p) && probe_same{Pre, Here}(p);
      loop invariant frame: only_search_written{Pre, Here}(b, p);
      loop assigns i, *b, \at(p->point, Pre)[0 .. \at(p->n, Pre) - 1],
        \at(p->image, Pre)[0 .. \at(p->n, Pre) - 1], last, *found;
      loop variant MOST_FALSE_POSITIONS + 4 * precision - i; */
  for (mpfr_prec_t i = 0; i < MOST_FALSE_POSITIONS + 4 * precision; i++) {
    search_side side;
    bool narrow = is_done(b, precision);
    //@ assert checked: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert checked_vectors: probe_vectors(p);
    if (narrow) return PHIBAL_OK;
    if (i < MOST_FALSE_POSITIONS)
      set_crossing(b);
    else
      bisect(b);
    //@ assert ready: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert vectors: probe_vectors(p);
    TRY(probe_middle(b, p, &side));
    *found = !move_end(b, side);
    if (!*found && side == last) halve_other_residual(b, side);
    //@ assert moved: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert moved_vectors: probe_vectors(p);
    if (*found) return PHIBAL_OK;
    last = side;
  }
  return PHIBAL_OK;
}

/* Brings the end on this side close to the uncertain place b->inner != 0 by steps away from it that
   grow. */
static phibal_status gallop_end(bracket *b, const step_probe *p, mpfr_prec_t precision,
                                search_side wanted) {
  //@ assert use_enclosure && use_probe && use_search && open_shape;
  mpfr_exp_t first = exponent_of(b->inner) - (mpfr_exp_t)precision + 2;
  /*@ loop invariant range: 0 <= i <= precision;
      loop invariant ready: search_ready(b, p) && probe_same{Pre, Here}(p);
      loop invariant frame: only_search_written{Pre, Here}(b, p);
      loop assigns i, *b, \at(p->point, Pre)[0 .. \at(p->n, Pre) - 1],
        \at(p->image, Pre)[0 .. \at(p->n, Pre) - 1];
      loop variant precision - i; */
  for (mpfr_prec_t i = 0; i < precision; i++) {
    search_side side;
    if (!gallop(b, wanted, first + GALLOP_SHIFT * i)) return PHIBAL_OK;
    //@ assert ready: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert vectors: probe_vectors(p);
    TRY(probe_middle(b, p, &side));
    take_middle(b, wanted, side == wanted);
    //@ assert moved: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
    //@ assert moved_vectors: probe_vectors(p);
    if (side == wanted) return PHIBAL_OK;
  }
  return PHIBAL_OK;
}

/* b->uncertain = b->middle. */
static void keep_uncertain(bracket *b) {
  //@ assert open_enclosure;
  mpfr_set(b->uncertain, b->middle, MPFR_RNDN);
}

/* b->inner = b->uncertain. False if that is 0. */
static bool leave_uncertain(bracket *b) {
  //@ assert open_enclosure;
  mpfr_set(b->inner, b->uncertain, MPFR_RNDN);
  return !mpfr_zero_p(b->uncertain);
}

/* Brings the end on this side close to b->uncertain. */
static phibal_status close_end(bracket *b, const step_probe *p, mpfr_prec_t precision,
                               search_side side) {
  //@ assert use_enclosure;
  bool steps = leave_uncertain(b);
  //@ assert same: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
  //@ assert vectors: probe_vectors(p);
  if (steps) TRY(gallop_end(b, p, precision, side));
  return refine_end(b, p, precision, side);
}

/* Both ends towards the uncertain middle. */
static phibal_status close_in(bracket *b, const step_probe *p, mpfr_prec_t precision) {
  //@ assert use_enclosure;
  keep_uncertain(b);
  //@ assert same: probe_same{Pre, Here}(p) && bracket_apart(b, p) && probe_separated(p);
  //@ assert vectors: probe_vectors(p);
  TRY(close_end(b, p, precision, SEARCH_BELOW));
  return close_end(b, p, precision, SEARCH_ABOVE);
}

/* Narrows the bracket: bisection, false position, then bisection towards a middle that is not
   certain to be on a side. */
static phibal_status refine(bracket *b, const step_probe *p, mpfr_prec_t precision) {
  //@ assert use_enclosure;
  bool found;
  TRY(approach(b, p, precision, &found));
  TRY(follow_chords(b, p, precision, &found));
  return found ? close_in(b, p, precision) : PHIBAL_OK;
}

/* Both ends are asked about, and are certain: what the search is believed for. */
static phibal_status confirm_ends(bracket *b, const step_probe *p) {
  //@ assert use_enclosure && use_probe && use_search && open_shape;
  //@ assert elsewhere: probe_apart(p, &b->lo[0]) && probe_apart(p, &b->hi[0]);
  search_side lower, upper;
  TRY(probe_at(b, p, b->lo, &lower));
  //@ assert inputs: inputs_same{Pre, Here}(p);
  TRY(probe_at(b, p, b->hi, &upper));
  if (lower == SEARCH_BELOW && upper == SEARCH_ABOVE) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "mirror argmax: an end of the search is not "
                                                   "certain when it is asked about again");
}

/* middle = 0. */
static void set_middle_to_zero(bracket *b) {
  //@ assert open_enclosure;
  mpfr_set_zero(b->middle, 1);
}

/* Whether 0 is certain to be the root. It has no relative precision to be found to, so it is tried
   first. */
static phibal_status try_zero(bracket *b, const step_probe *p, bool *is_root) {
  //@ assert use_enclosure && use_probe && use_search;
  *is_root = false;
  set_middle_to_zero(b);
  //@ assert same: probe_same{Pre, Here}(p) && probe_separated(p) && bracket_apart(b, p);
  //@ assert vectors: probe_vectors(p);
  //@ assert inputs: inputs_same{Pre, Here}(p);
  //@ assert elsewhere: open_shape && probe_apart(p, &b->middle[0]);
  search_side side;
  TRY(probe_at(b, p, b->middle, &side));
  *is_root = side == SEARCH_EQUAL;
  return PHIBAL_OK;
}

/* root = [lo, hi]. */
static phibal_status set_root(phibal_enclosure *root, const bracket *b) {
  //@ assert open_enclosure;
  if (mpfr_greater_p(b->lo, b->hi))
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "mirror argmax: nothing solves the step");
  mpfr_set(root->lo, b->lo, MPFR_RNDD);
  mpfr_set(root->hi, b->hi, MPFR_RNDU);
  return PHIBAL_OK;
}

/* The ends of the root: certain, and apart by little. */
static phibal_status locate(bracket *b, const step_probe *p, mpfr_prec_t precision) {
  //@ assert use_enclosure && use_probe && use_search;
  TRY(find_end(b, p, SEARCH_BELOW));
  TRY(find_end(b, p, SEARCH_ABOVE));
  TRY(refine(b, p, precision));
  //@ assert located: only_search_written{Pre, Here}(b, p);
  //@ assert inputs: inputs_same{Pre, Here}(p);
  return confirm_ends(b, p);
}

/* root is 0, or what lies between the ends. */
static phibal_status search(bracket *b, const step_probe *p, mpfr_prec_t precision,
                            phibal_enclosure *root) {
  //@ assert use_enclosure && use_probe && use_search && open_shape;
  bool is_zero;
  phibal_status status = try_zero(b, p, &is_zero);
  //@ assert zero_inputs: inputs_same{Pre, Here}(p);
  //@ assert same: probe_same{Pre, Here}(p);
  //@ assert zero_root: output(root) && probe_writes_apart(p, root);
  if (status != PHIBAL_OK) return status;
  if (is_zero) {
    //@ assert zero_before: probe_temporaries(p);
    phibal_enclosure_set_si(root, 0);
    //@ assert zero_temporaries: probe_temporaries(p);
    //@ assert zero_same: probe_same{Pre, Here}(p);
    //@ assert bracket: bracket_ready(b);
    return PHIBAL_OK;
  }
  status = locate(b, p, precision);
  //@ assert inputs: inputs_same{Pre, Here}(p);
  //@ assert root: output(root) && probe_writes_apart(p, root);
  if (status != PHIBAL_OK) return status;
  //@ assert before: probe_temporaries(p);
  status = set_root(root, b);
  //@ assert temporaries: probe_temporaries(p);
  //@ assert found_bracket: bracket_ready(b);
  return status;
}

static void bracket_init(bracket *b, mpfr_prec_t precision) {
  //@ assert open_enclosure;
  mpfr_init2(b->lo, precision);
  mpfr_init2(b->hi, precision);
  mpfr_init2(b->middle, precision);
  mpfr_init2(b->inner, precision);
  mpfr_init2(b->below, precision);
  mpfr_init2(b->above, precision);
  mpfr_init2(b->residual, precision);
  mpfr_init2(b->uncertain, precision);
}

static void bracket_clear(bracket *b) {
  //@ assert open_enclosure;
  mpfr_clear(b->lo);
  mpfr_clear(b->hi);
  mpfr_clear(b->middle);
  mpfr_clear(b->inner);
  mpfr_clear(b->below);
  mpfr_clear(b->above);
  mpfr_clear(b->residual);
  mpfr_clear(b->uncertain);
}

phibal_status search_root(phibal_enclosure *root, const step_probe *p, mpfr_prec_t precision) {
  //@ assert use_enclosure && use_probe && use_search;
  bracket b;
  bracket_init(&b, precision);
  //@ assert same: probe_same{Pre, Here}(p) && probe_separated(p);
  //@ assert elsewhere: bracket_apart(&b, p);
  //@ assert place: open_shape && output(root) && \separated(root, &b);
  //@ assert vectors: probe_vectors(p);
  //@ assert inputs: inputs_same{Pre, Here}(p);
  phibal_status status = search(&b, p, precision, root);
  //@ assert before: probe_temporaries(p) && bracket_apart(&b, p);
  bracket_clear(&b);
  //@ assert temporaries: probe_temporaries(p);
  return status;
}

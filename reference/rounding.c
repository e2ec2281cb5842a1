/* Correct rounding to the formats of the product: of one MPFR number, of all of an enclosure, and
   of a real number through ever tighter enclosures. */
#include "enclosure_internal.h"
#include <phibal/rounding.h>
#include <math.h>
#include <string.h>
#ifdef __FRAMAC__
#include <model_math.h>
#endif

/* Values are integers n 2^lsb with |n| <= 2^precision and lsb >= least, below 2^limit. */
typedef struct format_shape {
  const char *name;
  int precision, least, limit;
} format_shape;

static const format_shape shapes[] = {
    [PHIBAL_FORMAT_BINARY64] = {"binary64", 53, -1074, 1024},
    [PHIBAL_FORMAT_BINARY32] = {"binary32", 24, -149, 128},
    [PHIBAL_FORMAT_BFLOAT16] = {"bfloat16", 8, -133, 128},
    [PHIBAL_FORMAT_BINARY16] = {"binary16", 11, -24, 16},
};
/*@ predicate good_shape{L}(format_shape *s) =
      \valid_read(s) && 2 <= s->precision <= 53 && -1074 <= s->least <= -24 && 16 <= s->limit <=
   1024;
*/
enum { FORMAT_COUNT = sizeof shapes / sizeof *shapes };

static const struct {
  const char *name;
  mpfr_rnd_t rounding;
} directions[] = {
    [PHIBAL_ROUND_NEAREST] = {"nearest", MPFR_RNDN},
    [PHIBAL_ROUND_DOWN] = {"down", MPFR_RNDD},
    [PHIBAL_ROUND_UP] = {"up", MPFR_RNDU},
    [PHIBAL_ROUND_ZERO] = {"zero", MPFR_RNDZ},
};
enum { DIRECTION_COUNT = sizeof directions / sizeof *directions };

/*@ requires 0 <= format < FORMAT_COUNT;
    terminates \true;
    exits \false;
    assigns \result \from format;
    ensures good_shape(\result); */
static const format_shape *shape_of(phibal_format format) {
  return &shapes[format];
}

/*@ requires 0 <= direction < DIRECTION_COUNT;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures direction == PHIBAL_ROUND_NEAREST ==> \result == MPFR_RNDN;
    ensures direction == PHIBAL_ROUND_DOWN ==> \result == MPFR_RNDD;
    ensures direction == PHIBAL_ROUND_UP ==> \result == MPFR_RNDU;
    ensures direction == PHIBAL_ROUND_ZERO ==> \result == MPFR_RNDZ; */
static mpfr_rnd_t rounding_of(phibal_direction direction) {
  return directions[direction].rounding;
}

/* The exponent of the last place of a number in [2^(e-1), 2^e). */
/*@ requires good_shape(shape) && -4611686018427387903 <= e <= 1024;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == \max(e - shape->precision, shape->least);
    ensures -1074 <= \result <= 1022; */
static int last_place(const format_shape *shape, long e) {
  long lsb = e - shape->precision;
  return lsb < shape->least ? shape->least : (int)lsb;
}

/* Where a magnitude of 2^limit or more goes: to infinity away from zero and to nearest, else to the
   largest number. */
/*@ requires good_shape(shape);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures !\is_NaN(\result); */
static double overflow(const format_shape *shape, phibal_direction direction, int sign) {
  double largest = ldexp(ldexp(1.0, shape->precision) - 1.0, shape->limit - shape->precision);
  bool away = direction == PHIBAL_ROUND_NEAREST ||
              direction == (sign < 0 ? PHIBAL_ROUND_DOWN : PHIBAL_ROUND_UP);
  double magnitude = away ? (double)INFINITY : largest;
  return sign < 0 ? -magnitude : magnitude;
}

/* a, finite and not 0, below 2^limit: a 2^-lsb is exact, its rounding to an integer n is the only
   one (mpfr_get_si rounds ties to even), and |n| <= 2^53 makes both the conversion and the scaling
   back exact. A subnormal is nothing special: its lsb is the least one. */
/*@ requires readable_number(a) && mkind(a->number) == 0 && mval(a->number) != 0.0;
    requires good_shape(shape) && mexponent(a->number) <= shape->limit;
    terminates \true;
    exits \false;
    assigns \nothing; */
static double round_scaled(mpfr_srcptr a, const format_shape *shape, mpfr_rnd_t rounding) {
  int lsb = last_place(shape, mpfr_get_exp(a));
  mpfr_t scaled;
  mpfr_init2(scaled, mpfr_get_prec(a));
  mpfr_mul_2si(scaled, a, -(long)lsb, MPFR_RNDN);
  double n = (double)mpfr_get_si(scaled, rounding);
  mpfr_clear(scaled);
  return copysign(ldexp(fabs(n), lsb), mpfr_sgn(a));
}

/*@ requires readable_number(a) && 0 <= format < FORMAT_COUNT && 0 <= direction < DIRECTION_COUNT;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures mreal(a->number, 0.0) ==> \is_finite(\result) && (real)\result == 0.0; */
static double round_number(mpfr_srcptr a, phibal_format format, phibal_direction direction) {
  const format_shape *shape = shape_of(format);
  int sign = mpfr_sgn(a);
  if (sign == 0) return 0.0;
  if (mpfr_inf_p(a)) return sign < 0 ? -(double)INFINITY : (double)INFINITY;
  if (mpfr_get_exp(a) > shape->limit) return overflow(shape, direction, sign);
  double r = round_scaled(a, shape, rounding_of(direction));
  /* Rounded up to 2^limit, which is one past the largest number. */
  return fabs(r) >= ldexp(0.5, shape->limit) * 2.0 ? overflow(shape, direction, sign) : r;
}

bool phibal_round_enclosure(const phibal_enclosure *x, phibal_format format,
                            phibal_direction direction, double *result) {
  //@ assert open_enclosure;
  /* Rounding increases, so when both ends agree all between them do. The sign of a zero agrees too:
     members of both signs, or a negative one and 0, come from ends that differ. */
  double lo = round_number(x->lo, format, direction);
  double hi = round_number(x->hi, format, direction);
  if (lo != hi || signbit(lo) != signbit(hi)) return false;
  *result = lo;
  return true;
}

/* One trial; *decided says whether it settled the matter. */
/*@ requires \valid(result) && \valid(decided) && \separated(result, decided);
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX / 2;
    requires 0 <= format < FORMAT_COUNT && 0 <= direction < DIRECTION_COUNT;
    terminates \true;
    exits \false;
    assigns *result, *decided;
    ensures *decided == 0 || *decided == 1;
    ensures *decided == 1 ==> \result == PHIBAL_OK;
    ensures *decided == 0 ==> *result == \old(*result); */
static phibal_status round_at(phibal_evaluator evaluate, void *context, mpfr_prec_t precision,
                              phibal_format format, phibal_direction direction, double *result,
                              bool *decided) {
  phibal_enclosure value;
  phibal_enclosure_init(&value, precision);
#ifdef __FRAMAC__
  phibal_status status = phibal_evaluate(evaluate, context, precision, &value);
#else
  phibal_status status = evaluate(context, precision, &value);
#endif
  *decided = status == PHIBAL_OK && phibal_round_enclosure(&value, format, direction, result);
  phibal_enclosure_clear(&value);
  return status;
}

/* Failures that a narrower enclosure may cure: a divisor that holds 0 only by its width, say. */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == 1 <==> status == PHIBAL_OK || status == PHIBAL_ERROR_DOMAIN ||
      status == PHIBAL_ERROR_UNDECIDED;
    ensures \result == 0 || \result == 1; */
static bool may_be_cured(phibal_status status) {
  return status == PHIBAL_OK || status == PHIBAL_ERROR_DOMAIN || status == PHIBAL_ERROR_UNDECIDED;
}

phibal_status phibal_round_correctly(phibal_evaluator evaluate, void *context, mpfr_prec_t cap,
                                     phibal_format format, phibal_direction direction,
                                     double *result) {
  if (!evaluate || !result || cap < MPFR_PREC_MIN || cap > MPFR_PREC_MAX / 2 ||
      (unsigned)format >= FORMAT_COUNT || (unsigned)direction >= DIRECTION_COUNT)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "phibal_round_correctly: null argument, no such format or direction, "
                             "or a cap of %ld bits",
                             (long)cap);
  mpfr_prec_t precision = cap < 64 ? cap : 64;
  /*@ loop invariant range: MPFR_PREC_MIN <= precision <= cap;
      loop invariant unchanged: *result == \at(*result, Pre);
      loop assigns precision, *result;
      loop variant cap - precision; */
  for (;;) {
    bool decided;
    phibal_status status =
        round_at(evaluate, context, precision, format, direction, result, &decided);
    if (decided) return PHIBAL_OK;
    if (!may_be_cured(status)) return status;
    if (precision == cap) {
      if (status != PHIBAL_OK) return status;
      return phibal_status_set(
          PHIBAL_ERROR_UNDECIDED,
          "undecided at the cap of %ld bits: the value may lie exactly between two roundings to "
          "%s (%s); raise the cap, or ask for an enclosure",
          (long)cap, shapes[format].name, directions[direction].name);
    }
    precision = precision > cap / 2 ? cap : 2 * precision;
  }
}

double phibal_format_ulp(phibal_format format, double x) {
  const format_shape *shape = shape_of(format);
  if (!isfinite(x)) return isnan(x) ? x : (double)INFINITY;
  int e;
  if (frexp(x, &e) == 0.0) return ldexp(1.0, shape->least);
  return ldexp(1.0, last_place(shape, e < shape->limit ? e : shape->limit));
}

phibal_status phibal_format_find(const char *name, phibal_format *format) {
  for (int i = 0; name && format && i < FORMAT_COUNT; i++)
    if (strcmp(name, shapes[i].name) == 0) {
      *format = (phibal_format)i;
      return PHIBAL_OK;
    }
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "unknown format '%s'; there are binary64, binary32, bfloat16, binary16",
                           name ? name : "(null)");
}

phibal_status phibal_direction_find(const char *name, phibal_direction *direction) {
  for (int i = 0; name && direction && i < DIRECTION_COUNT; i++)
    if (strcmp(name, directions[i].name) == 0) {
      *direction = (phibal_direction)i;
      return PHIBAL_OK;
    }
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "unknown direction '%s'; there are nearest, down, up, zero",
                           name ? name : "(null)");
}

/* Correct rounding to the formats of the product: of one MPFR number, of all of an enclosure, and
   of a real number through ever tighter enclosures. */
#include "enclosure_internal.h"
#include <phibal/rounding.h>
#include <math.h>
#include <string.h>
#ifdef __FRAMAC__
#include <model_math.h>
#include <model_string.h>
#endif

/* Values are integers n 2^lsb with |n| <= most = 2^precision and lsb >= least, below 2^limit. */
typedef struct format_shape {
  const char *name;
  int precision, least, limit;
  long most;
} format_shape;

static const format_shape shapes[] = {
    [PHIBAL_FORMAT_BINARY64] = {"binary64", 53, -1074, 1024, 1L << 53},
    [PHIBAL_FORMAT_BINARY32] = {"binary32", 24, -149, 128, 1L << 24},
    [PHIBAL_FORMAT_BFLOAT16] = {"bfloat16", 8, -133, 128, 1L << 8},
    [PHIBAL_FORMAT_BINARY16] = {"binary16", 11, -24, 16, 1L << 11},
};
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

#include <phibal/acsl/contracts/inside/rounding_static.h>

static const format_shape *shape_of(phibal_format format) {
  return &shapes[format];
}

static mpfr_rnd_t rounding_of(phibal_direction direction) {
  return directions[direction].rounding;
}

/* The exponent of the last place of a number in [2^(e-1), 2^e). */
static int last_place(phibal_format format, long e) {
  const format_shape *shape = shape_of(format);
  long lsb = e - shape->precision;
  return lsb < shape->least ? shape->least : (int)lsb;
}

/* n 2^k, exactly. */
static double scaled_back(long n, int k) {
  //@ assert use_whole_doubles && use_two && open_two;
  double d = (double)n;
  //@ assert whole: \is_finite(d) && (real)d == n;
  return ldexp(d, k);
}

/* Also a zero takes the sign. */
static double with_sign(double magnitude, int sign) {
  return sign < 0 ? -magnitude : magnitude;
}

/* e, where 2^(e-1) <= |a| < 2^e. */
static long binade(mpfr_srcptr a) {
  //@ assert use_two;
  long e = mpfr_get_exp(a);
  //@ assert small: e <= 0 ==> in_units(\abs(mval(a->number)), e) < 1.0;
  //@ assert below: \abs(mval(a->number)) < two(e);
  //@ assert large: e <= 1 ==> in_units(\abs(mval(a->number)), e - 1) >= 1.0;
  //@ assert above: \abs(mval(a->number)) >= two(e - 1);
  return e;
}

/* The same for a double; 0 has none, for which the answer is least. */
static int binade_of_double(double x, int least) {
  //@ assert use_two && use_whole_doubles;
  int e;
  if (frexp(x, &e) == 0.0) return least;
  //@ assert (real)x != 0.0;
  //@ assert small: e <= 0 ==> in_units(\abs((real)x), e) < 1.0;
  //@ assert below: \abs((real)x) < two(e);
  //@ assert large: e <= 1 ==> in_units(\abs((real)x), e - 1) >= 1.0;
  //@ assert above: \abs((real)x) >= two(e - 1);
  return e;
}

/* Where a magnitude of 2^limit or more goes: to infinity away from zero and to nearest, else to the
   largest number. */
static double overflow(phibal_format format, phibal_direction direction, int sign) {
  //@ assert use_places && use_two && open_largest;
  const format_shape *shape = shape_of(format);
  int lsb = shape->limit - shape->precision;
  //@ assert within: -two(shape->limit) < at_place(shape->most - 1, lsb) < two(shape->limit);
  //@ assert two(shape->limit) <= two(1024);
  bool away = direction == PHIBAL_ROUND_NEAREST ||
              direction == (sign < 0 ? PHIBAL_ROUND_DOWN : PHIBAL_ROUND_UP);
  return with_sign(away ? HUGE_VAL : scaled_back(shape->most - 1, lsb), sign);
}

/* a 2^-lsb, rounded to a whole number: exact but for this rounding (mpfr_get_si rounds ties to
   even). */
static long whole_units(mpfr_srcptr a, int lsb, phibal_direction direction) {
  //@ assert use_two;
  mpfr_t scaled;
  mpfr_init2(scaled, mpfr_get_prec(a));
  mpfr_mul_2si(scaled, a, -(long)lsb, MPFR_RNDN);
  //@ assert exact: mreal(scaled[0].number, in_units(mval(a->number), lsb));
  long n = mpfr_get_si(scaled, rounding_of(direction));
  mpfr_clear(scaled);
  return n;
}

/* a, finite and not 0, below 2^limit: the only rounding is that to an integer n, and |n| <= 2^53
   makes both the conversion and the scaling back exact. A subnormal is nothing special: its lsb is
   the least one. */
static double round_scaled(mpfr_srcptr a, phibal_format format, phibal_direction direction) {
  //@ assert use_two && use_places && use_rounding && use_whole_doubles;
  const format_shape *shape = shape_of(format);
  long e = binade(a);
  int lsb = last_place(format, e), sign = mpfr_sgn(a);
  //@ assert \abs(in_units(mval(a->number), lsb)) <= format_most(format);
  long n = whole_units(a, lsb, direction);
  //@ assert fits: -format_most(format) <= n <= format_most(format);
  //@ assert rounding(format, direction, mval(a->number), at_place(n, lsb));
  long magnitude = n < 0 ? -n : n;
  /*@ assert sign: at_place(n, lsb) ==
        (sign < 0 ? -at_place(magnitude, lsb) : at_place(magnitude, lsb)); */
  /* Rounded up to 2^limit, which is one past the largest number. */
  if (magnitude == shape->most && lsb == shape->limit - shape->precision) {
    //@ assert limit: at_place(magnitude, lsb) == two(format_limit(format));
    /*@ assert up: sign > 0 ==>
          rounding(format, direction, mval(a->number), two(format_limit(format))); */
    /*@ assert down: sign < 0 ==>
          rounding(format, direction, mval(a->number), -two(format_limit(format))); */
    double infinite = overflow(format, direction, sign);
    //@ assert plus: sign > 0 ==> \is_plus_infinity(infinite);
    //@ assert minus: sign < 0 ==> \is_minus_infinity(infinite);
    //@ assert sides: sign != 0 && !\is_NaN(infinite);
    return infinite;
  }
  //@ assert within: -two(shape->limit) < at_place(magnitude, lsb) < two(shape->limit);
  //@ assert two(shape->limit) <= two(1024);
  double r = with_sign(scaled_back(magnitude, lsb), sign);
  //@ assert value: \is_finite(r) && (real)r == at_place(n, lsb);
  //@ assert kind: !\is_NaN(r) && !\is_plus_infinity(r) && !\is_minus_infinity(r);
  return r;
}

/* a, which is not NaN, rounded to a format. */
static double round_number(mpfr_srcptr a, phibal_format format, phibal_direction direction) {
  //@ assert use_two && use_places && use_rounding && use_beyond && use_whole_doubles;
  int sign = mpfr_sgn(a);
  if (sign == 0) {
    //@ assert zero: mkind(a->number) == 0 && rounding(format, direction, mval(a->number), 0.0);
    return 0.0;
  }
  if (mpfr_inf_p(a)) return with_sign(HUGE_VAL, sign);
  long e = binade(a);
  if (e <= shape_of(format)->limit) return round_scaled(a, format, direction);
  //@ assert beyond: two(format_limit(format)) <= two(e - 1);
  //@ assert above: sign > 0 ==> two(format_limit(format)) <= mval(a->number);
  //@ assert below: sign < 0 ==> mval(a->number) <= -two(format_limit(format));
  double r = overflow(format, direction, sign);
  /*@ assert plus: sign > 0 && (direction == PHIBAL_ROUND_NEAREST || direction == PHIBAL_ROUND_UP)
     ==> rounding(format, direction, mval(a->number), two(format_limit(format))); */
  /*@ assert most: sign > 0 && (direction == PHIBAL_ROUND_DOWN || direction == PHIBAL_ROUND_ZERO)
     ==> rounding(format, direction, mval(a->number), largest_number(format)); */
  /*@ assert minus: sign < 0 &&
        (direction == PHIBAL_ROUND_NEAREST || direction == PHIBAL_ROUND_DOWN) ==>
        rounding(format, direction, mval(a->number), -two(format_limit(format))); */
  /*@ assert least: sign < 0 && (direction == PHIBAL_ROUND_UP || direction == PHIBAL_ROUND_ZERO) ==>
        rounding(format, direction, mval(a->number), -largest_number(format)); */
  /*@ assert within: -two(format_limit(format)) < largest_number(format) <
        two(format_limit(format)); */
  //@ assert positive: sign > 0 ==> rounded_to(format, direction, mval(a->number), r);
  //@ assert negative: sign < 0 ==> rounded_to(format, direction, mval(a->number), r);
  //@ assert both: rounded_to(format, direction, mval(a->number), r);
  return r;
}

bool phibal_round_enclosure(const phibal_enclosure *x, phibal_format format,
                            phibal_direction direction, double *result) {
  //@ assert open_enclosure && use_rounding && use_whole_doubles;
  /* Rounding increases, so when both ends agree all between them do. The sign of a zero agrees too:
     members of both signs, or a negative one and 0, come from ends that differ. */
  double lo = round_number(x->lo, format, direction);
  double hi = round_number(x->hi, format, direction);
  if (lo != hi || signbit(lo) != signbit(hi)) return false;
  /*@ assert finite: \is_finite(lo) ==> \forall real a; in(x, a) ==>
        rounding(format, direction, a, (real)lo); */
  /*@ assert plus: \is_plus_infinity(lo) ==> \forall real a; in(x, a) ==>
        rounding(format, direction, a, two(format_limit(format))); */
  /*@ assert upper_end: \is_minus_infinity(lo) && mkind(x->hi[0].number) == 0 ==>
        rounding(format, direction, mval(x->hi[0].number), -two(format_limit(format))); */
  /*@ assert lower_end: \is_minus_infinity(lo) && mkind(x->lo[0].number) == 0 ==>
        rounding(format, direction, mval(x->lo[0].number), -two(format_limit(format))); */
  /*@ assert below: \is_minus_infinity(lo) && mkind(x->lo[0].number) == -1 &&
        mkind(x->hi[0].number) == 0 ==> \forall real a; a <= mval(x->hi[0].number) ==>
        rounding(format, direction, a, -two(format_limit(format))); */
  /*@ assert between: \is_minus_infinity(lo) && mkind(x->lo[0].number) == 0 &&
        mkind(x->hi[0].number) == 0 ==> \forall real a;
        mval(x->lo[0].number) <= a <= mval(x->hi[0].number) ==>
        rounding(format, direction, a, -two(format_limit(format))); */
  /*@ assert minus: \is_minus_infinity(lo) ==> \forall real a; in(x, a) ==>
        rounding(format, direction, a, -two(format_limit(format))); */
  //@ assert all: \forall real a; in(x, a) ==> rounded_to(format, direction, a, lo);
  *result = lo;
  return true;
}

/* One trial; *decided says whether it settled the matter. */
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
  //@ assert use_two && use_places && use_whole_doubles;
  const format_shape *shape = shape_of(format);
  if (!isfinite(x)) return fabs(x); /* NaN or infinity */
  int e = binade_of_double(x, shape->least);
  int lsb = last_place(format, e < shape->limit ? e : shape->limit);
  //@ assert within: -two(shape->limit) < at_place(1, lsb) < two(shape->limit);
  //@ assert two(shape->limit) <= two(1024);
  return scaled_back(1, lsb);
}

phibal_status phibal_format_find(const char *name, phibal_format *format) {
  /*@ loop invariant 0 <= i <= FORMAT_COUNT;
      loop assigns i;
      loop variant FORMAT_COUNT - i; */
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
  /*@ loop invariant 0 <= i <= DIRECTION_COUNT;
      loop assigns i;
      loop variant DIRECTION_COUNT - i; */
  for (int i = 0; name && direction && i < DIRECTION_COUNT; i++)
    if (strcmp(name, directions[i].name) == 0) {
      *direction = (phibal_direction)i;
      return PHIBAL_OK;
    }
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "unknown direction '%s'; there are nearest, down, up, zero",
                           name ? name : "(null)");
}

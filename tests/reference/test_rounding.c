/* Correct rounding held against the formats' bit patterns: neighbours, the point halfway between
   them, and points just beside, in every direction. For the two 16-bit formats all of them. */
#include <phibal/rounding.h>
#include "verify/random.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

static const phibal_direction directions[] = {PHIBAL_ROUND_NEAREST, PHIBAL_ROUND_DOWN,
                                              PHIBAL_ROUND_UP, PHIBAL_ROUND_ZERO};

/* The number with this pattern, by the definition of the interchange formats (IEEE 754, 3.4). */
static double decode(uint64_t bits, int exponent_bits, int fraction_bits) {
  uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
  int biased = (int)(bits >> fraction_bits), bias = (1 << (exponent_bits - 1)) - 1;
  if (biased == 0) return ldexp((double)fraction, 1 - bias - fraction_bits);
  return ldexp((double)(fraction + (UINT64_C(1) << fraction_bits)), biased - bias - fraction_bits);
}

typedef struct layout {
  phibal_format format;
  int exponent_bits, fraction_bits;
} layout;

static const layout binary16 = {PHIBAL_FORMAT_BINARY16, 5, 10};
static const layout bfloat16 = {PHIBAL_FORMAT_BFLOAT16, 8, 7};
static const layout binary32 = {PHIBAL_FORMAT_BINARY32, 8, 23};
static const layout binary64 = {PHIBAL_FORMAT_BINARY64, 11, 52};

/* The pattern of +infinity: all finite positive patterns are below. */
static uint64_t infinity_pattern(const layout *l) {
  return ((UINT64_C(1) << l->exponent_bits) - 1) << l->fraction_bits;
}

static double value_of(const layout *l, uint64_t pattern) {
  return pattern == infinity_pattern(l) ? (double)INFINITY
                                        : decode(pattern, l->exponent_bits, l->fraction_bits);
}

static bool same_bits(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

/* x must round to `want`, zero's sign included. */
static void check_point(const layout *l, mpfr_srcptr x, phibal_direction direction, double want) {
  phibal_enclosure e;
  phibal_enclosure_init(&e, mpfr_get_prec(x));
  phibal_enclosure_set_fr(&e, x);
  double got = (double)NAN;
  bool decided = phibal_round_enclosure(&e, l->format, direction, &got);
  if (!decided || !same_bits(got, want)) {
    char text[256];
    mpfr_snprintf(text, sizeof text, "%Ra", x);
    cr_assert_fail("format %d direction %d: %s to %a, not %a", (int)l->format, (int)direction, text,
                   got, want);
  }
  phibal_enclosure_clear(&e);
}

/* Where a number lies between the value of a pattern (AT) and the next one. */
enum position { AT, BEFORE_MIDDLE, MIDDLE, AFTER_MIDDLE };

static double expected(const layout *l, uint64_t below, enum position position, int sign,
                       phibal_direction direction) {
  bool away = false;
  if (position != AT) switch (direction) {
    case PHIBAL_ROUND_NEAREST:
      away = position == AFTER_MIDDLE || (position == MIDDLE && (below & 1));
      break;
    case PHIBAL_ROUND_DOWN:
      away = sign < 0;
      break;
    case PHIBAL_ROUND_UP:
      away = sign > 0;
      break;
    case PHIBAL_ROUND_ZERO:
      break;
    }
  double magnitude = value_of(l, below + away);
  /* The exact zero is +0; every other zero keeps its number's sign. */
  if (position == AT && below == 0) return 0.0;
  return sign < 0 ? -magnitude : magnitude;
}

/* x = sign (low + part (high - low)), exactly; above the largest number, high is as far as the one
   below it. */
static void between(mpfr_ptr x, const layout *l, uint64_t below, double part, int sign) {
  mpfr_t low, gap;
  mpfr_inits2(400, low, gap, (mpfr_ptr)0);
  mpfr_set_d(low, value_of(l, below), MPFR_RNDN);
  if (below + 1 == infinity_pattern(l)) {
    mpfr_set_d(gap, value_of(l, below - 1), MPFR_RNDN);
    mpfr_sub(gap, low, gap, MPFR_RNDN);
  } else {
    mpfr_set_d(gap, value_of(l, below + 1), MPFR_RNDN);
    mpfr_sub(gap, gap, low, MPFR_RNDN);
  }
  mpfr_mul_d(gap, gap, part, MPFR_RNDN);
  cr_assert_eq(mpfr_add(x, low, gap, MPFR_RNDN), 0);
  if (sign < 0) mpfr_neg(x, x, MPFR_RNDN);
  mpfr_clears(low, gap, (mpfr_ptr)0);
}

static const struct {
  double part;
  enum position position;
} places[] = {
    {0, AT},
    {0x1p-70, BEFORE_MIDDLE},
    {0.25, BEFORE_MIDDLE},
    {0.5 - 0x1p-50, BEFORE_MIDDLE},
    {0.5, MIDDLE},
    {0.5 + 0x1p-50, AFTER_MIDDLE},
    {1 - 0x1p-50, AFTER_MIDDLE},
};
enum { PLACES = sizeof places / sizeof *places };

static void check_above(const layout *l, uint64_t below) {
  mpfr_t x;
  mpfr_init2(x, 140);
  for (int p = 0; p < PLACES; p++)
    for (int sign = -1; sign <= 1; sign += 2)
      for (int d = 0; d < 4; d++) {
        between(x, l, below, places[p].part, sign);
        check_point(l, x, directions[d],
                    expected(l, below, places[p].position, sign, directions[d]));
      }
  mpfr_clear(x);
}

static void check_all(const layout *l) {
  for (uint64_t below = 0; below < infinity_pattern(l); below++) check_above(l, below);
}

Test(rounding, every_binary16) {
  check_all(&binary16);
}

Test(rounding, every_bfloat16) {
  check_all(&bfloat16);
}

/* Random patterns, and those around zero, the least normal and the largest number. */
static void check_some(const layout *l, int count) {
  uint64_t top = infinity_pattern(l), normal = UINT64_C(1) << l->fraction_bits;
  random_stream r = random_start(1, 2, (uint64_t)l->format);
  for (uint64_t i = 0; i < 4; i++) {
    check_above(l, i);
    check_above(l, normal - 2 + i);
    check_above(l, top - 1 - i);
  }
  for (int i = 0; i < count; i++) {
    check_above(l, random_next(&r) % top);
    check_above(l, random_next(&r) % normal);
  }
}

Test(rounding, some_binary32) {
  check_some(&binary32, 5000);
}

Test(rounding, some_binary64) {
  check_some(&binary64, 5000);
}

/* Another implementation of the same: MPFR's conversions to C's types. */
Test(rounding, agrees_with_conversions_of_mpfr) {
  static const mpfr_rnd_t roundings[] = {MPFR_RNDN, MPFR_RNDD, MPFR_RNDU, MPFR_RNDZ};
  random_stream r = random_start(3, 4, 5);
  mpfr_t x;
  mpfr_init2(x, 64);
  for (int i = 0; i < 100000; i++) {
    bool wide = i % 2;
    long span = wide ? 1100 : 160;
    mpfr_set_ui(x, random_next(&r) >> random_integer(&r, 0, 63), MPFR_RNDN);
    mpfr_mul_2si(x, x, (long)random_integer(&r, -span - 40, span - 60), MPFR_RNDN);
    if (random_next(&r) & 1) mpfr_neg(x, x, MPFR_RNDN);
    if (mpfr_zero_p(x)) continue;
    for (int d = 0; d < 4; d++)
      check_point(wide ? &binary64 : &binary32, x, directions[d],
                  wide ? mpfr_get_d(x, roundings[d]) : (double)mpfr_get_flt(x, roundings[d]));
  }
  mpfr_clear(x);
}

/* Numbers whose exponents no format has. */
Test(rounding, far_beyond_every_format) {
  static const layout *all[] = {&binary16, &bfloat16, &binary32, &binary64};
  mpfr_t x;
  mpfr_init2(x, 64);
  for (int f = 0; f < 4; f++)
    for (int d = 0; d < 4; d++)
      for (int sign = -1; sign <= 1; sign += 2) {
        uint64_t top = infinity_pattern(all[f]);
        mpfr_set_inf(x, sign);
        check_point(all[f], x, directions[d], sign * (double)INFINITY);
        sign < 0 ? mpfr_nextabove(x) : mpfr_nextbelow(x);
        check_point(all[f], x, directions[d],
                    expected(all[f], top - 1, AFTER_MIDDLE, sign, directions[d]));
        mpfr_set_zero(x, sign);
        check_point(all[f], x, directions[d], 0.0);
        sign < 0 ? mpfr_nextbelow(x) : mpfr_nextabove(x);
        check_point(all[f], x, directions[d],
                    expected(all[f], 0, BEFORE_MIDDLE, sign, directions[d]));
      }
  mpfr_clear(x);
}

typedef struct wide_case {
  double lo, hi;
  phibal_format format;
  phibal_direction direction;
  double want; /* NaN: undecided */
} wide_case;

static const wide_case wide_cases[] = {
    {1, 1 + 0x1p-25, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, 1},
    {1, 1 + 0x1p-24, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, 1},
    {1, 1 + 0x1.1p-24, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, NAN},
    {1 - 0x1p-40, 1, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, 1},
    {1 - 0x1p-40, 1, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_DOWN, NAN},
    {1 - 0x1p-40, 1, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_UP, 1},
    {1 - 0x1p-40, 1 + 0x1p-40, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_UP, NAN},
    {1 - 0x1p-40, 1 + 0x1p-40, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_ZERO, NAN},
    {1, 1 + 0x1p-24, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_ZERO, 1},
    {-1 - 0x1p-24, -1, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_ZERO, -1},
    {-1 - 0x1p-24, -1, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_UP, -1},
    {-1 - 0x1p-24, -1, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_DOWN, NAN},
    {0, 1e-99, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, 0.0},
    {0, 1e-99, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_DOWN, 0.0},
    {0, 1e-99, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_UP, NAN},
    {1e-99, 2e-99, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_UP, 0x1p-149},
    {-2e-99, -1e-99, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, -0.0},
    {-2e-99, -1e-99, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_UP, -0.0},
    {-2e-99, -1e-99, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_ZERO, -0.0},
    {-2e-99, -1e-99, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_DOWN, -0x1p-149},
    {-1e-99, 0, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, NAN},
    {-1e-99, 0, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_UP, NAN},
    {-1e-99, 0, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_ZERO, NAN},
    {-1e-99, 1e-99, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, NAN},
    {-0.0, 0.0, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, 0.0},
    {-0.0, -0.0, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_DOWN, 0.0},
    {1e300, INFINITY, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_NEAREST, INFINITY},
    {1e300, INFINITY, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_UP, INFINITY},
    {1e300, INFINITY, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_DOWN, NAN},
    {-INFINITY, -1e300, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_DOWN, -INFINITY},
    {-INFINITY, -1e300, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_UP, NAN},
    {-INFINITY, INFINITY, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_NEAREST, NAN},
    {65519, 65519.5, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_NEAREST, 65504},
    {65519, 65520, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_NEAREST, NAN},
    {65520, 1e9, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_NEAREST, INFINITY},
    {65504, 1e9, PHIBAL_FORMAT_BINARY16, PHIBAL_ROUND_ZERO, 65504},
};

Test(rounding, wide_enclosures) {
  phibal_enclosure x;
  phibal_enclosure_init(&x, 53);
  for (size_t i = 0; i < sizeof wide_cases / sizeof *wide_cases; i++) {
    const wide_case *c = &wide_cases[i];
    mpfr_set_d(x.lo, c->lo, MPFR_RNDN);
    mpfr_set_d(x.hi, c->hi, MPFR_RNDN);
    double got = 777;
    bool decided = phibal_round_enclosure(&x, c->format, c->direction, &got);
    cr_expect_eq(decided, !isnan(c->want), "case %zu: [%a, %a]", i, c->lo, c->hi);
    cr_expect(same_bits(got, decided ? c->want : 777), "case %zu: %a, not %a", i, got, c->want);
  }
  phibal_enclosure_clear(&x);
}

/* An evaluator that notes the precisions it is asked for. */
typedef struct record {
  mpfr_prec_t asked[32];
  int count;
  mpfr_prec_t needs;     /* fails below this precision, */
  phibal_status failure; /* in this way */
} record;

static bool is_refused(record *r, mpfr_prec_t precision) {
  r->asked[r->count++] = precision;
  return precision < r->needs;
}

/* exp(-2^-200) = 1 - 2^-200 + ...: told from 1 with more than 200 bits only. */
static phibal_status near_one(void *context, mpfr_prec_t precision, phibal_enclosure *value) {
  if (is_refused(context, precision)) return ((record *)context)->failure;
  cr_assert_eq(mpfr_get_prec(value->lo), precision);
  phibal_enclosure_set_d(value, -0x1p-200);
  phibal_enclosure_exp(value, value);
  return PHIBAL_OK;
}

/* sqrt(2)^2: a number of every format, by enclosures that never shrink to it. */
static phibal_status square_of_root(void *context, mpfr_prec_t precision, phibal_enclosure *value) {
  is_refused(context, precision);
  phibal_enclosure_set_si(value, 2);
  phibal_status status = phibal_enclosure_sqrt(value, value);
  return status == PHIBAL_OK ? phibal_enclosure_mul(value, value, value) : status;
}

static void check_asked(const record *r, int count, const mpfr_prec_t *asked) {
  cr_assert_eq(r->count, count);
  for (int i = 0; i < count; i++) cr_assert_eq(r->asked[i], asked[i]);
}

Test(rounding, precision_rises_until_decided) {
  record r = {0};
  double got;
  cr_assert_eq(
      phibal_round_correctly(near_one, &r, 1000, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_DOWN, &got),
      PHIBAL_OK);
  cr_assert_eq(got, 1 - 0x1p-53);
  check_asked(&r, 3, (mpfr_prec_t[]){64, 128, 256});
  r = (record){0};
  cr_assert_eq(phibal_round_correctly(near_one, &r, 1000, PHIBAL_FORMAT_BINARY64,
                                      PHIBAL_ROUND_NEAREST, &got),
               PHIBAL_OK);
  cr_assert_eq(got, 1.0);
  check_asked(&r, 1, (mpfr_prec_t[]){64});
}

Test(rounding, cap_leaves_undecided) {
  record r = {0};
  double got = 777;
  cr_assert_eq(phibal_round_correctly(square_of_root, &r, 300, PHIBAL_FORMAT_BINARY32,
                                      PHIBAL_ROUND_UP, &got),
               PHIBAL_ERROR_UNDECIDED);
  check_asked(&r, 4, (mpfr_prec_t[]){64, 128, 256, 300});
  cr_assert_eq(got, 777);
  cr_assert(strstr(phibal_status_message(), "300 bits"));
  cr_assert(strstr(phibal_status_message(), "binary32"));
  r = (record){0};
  cr_assert_eq(phibal_round_correctly(square_of_root, &r, 300, PHIBAL_FORMAT_BINARY32,
                                      PHIBAL_ROUND_NEAREST, &got),
               PHIBAL_OK);
  cr_assert_eq(got, 2.0);
  r = (record){0};
  cr_assert_eq(phibal_round_correctly(square_of_root, &r, 20, PHIBAL_FORMAT_BINARY32,
                                      PHIBAL_ROUND_NEAREST, &got),
               PHIBAL_ERROR_UNDECIDED);
  check_asked(&r, 1, (mpfr_prec_t[]){20});
}

Test(rounding, failures_of_the_evaluator) {
  double got;
  record r = {.needs = 512, .failure = PHIBAL_ERROR_DOMAIN};
  cr_assert_eq(
      phibal_round_correctly(near_one, &r, 1000, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_DOWN, &got),
      PHIBAL_OK);
  check_asked(&r, 4, (mpfr_prec_t[]){64, 128, 256, 512});
  r = (record){.needs = 512, .failure = PHIBAL_ERROR_DOMAIN};
  cr_assert_eq(
      phibal_round_correctly(near_one, &r, 256, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_DOWN, &got),
      PHIBAL_ERROR_DOMAIN);
  r = (record){.needs = 512, .failure = PHIBAL_ERROR_MEMORY};
  cr_assert_eq(
      phibal_round_correctly(near_one, &r, 1000, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_DOWN, &got),
      PHIBAL_ERROR_MEMORY);
  check_asked(&r, 1, (mpfr_prec_t[]){64});
  cr_assert_eq(
      phibal_round_correctly(NULL, &r, 256, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_DOWN, &got),
      PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(
      phibal_round_correctly(near_one, &r, 0, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_DOWN, &got),
      PHIBAL_ERROR_ARGUMENT);
}

Test(rounding, leaves_exponents_of_mpfr_alone) {
  mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  check_above(&binary16, 3);
  check_above(&binary64, infinity_pattern(&binary64) - 1);
  cr_assert_eq(mpfr_get_emin(), emin);
  cr_assert_eq(mpfr_get_emax(), emax);
  /* A caller's narrow range does not show either, as long as the numbers fit it. */
  mpfr_t x;
  mpfr_init2(x, 20);
  mpfr_set_emin(-160);
  mpfr_set_emax(130);
  mpfr_set_si_2exp(x, -5, -151, MPFR_RNDN);
  check_point(&binary32, x, PHIBAL_ROUND_NEAREST, -0x1p-149);
  check_point(&binary32, x, PHIBAL_ROUND_DOWN, -0x1p-148);
  mpfr_set_si_2exp(x, 3, 127, MPFR_RNDN);
  check_point(&binary32, x, PHIBAL_ROUND_ZERO, 0x1.fffffep127);
  check_point(&binary32, x, PHIBAL_ROUND_NEAREST, (double)INFINITY);
  cr_assert_eq(mpfr_get_emin(), -160);
  cr_assert_eq(mpfr_get_emax(), 130);
  mpfr_clear(x);
}

static void check_ulps(const layout *l, uint64_t step) {
  uint64_t top = infinity_pattern(l);
  for (uint64_t b = 0; b < top - 1; b += step) {
    double v = value_of(l, b), ulp = value_of(l, b + 1) - v;
    cr_assert_eq(phibal_format_ulp(l->format, v), ulp);
    cr_assert_eq(phibal_format_ulp(l->format, -v), ulp);
    if (l->fraction_bits < 52) {
      cr_assert_eq(phibal_format_ulp(l->format, v + 0.75 * ulp), ulp);
    }
  }
  double last = value_of(l, top - 1) - value_of(l, top - 2);
  cr_assert_eq(phibal_format_ulp(l->format, value_of(l, top - 1)), last);
  cr_assert_eq(phibal_format_ulp(l->format, DBL_MAX), last);
  cr_assert_eq(phibal_format_ulp(l->format, -(double)INFINITY), (double)INFINITY);
  cr_assert(isnan(phibal_format_ulp(l->format, (double)NAN)));
}

Test(rounding, units_in_the_last_place) {
  check_ulps(&binary16, 1);
  check_ulps(&bfloat16, 1);
  check_ulps(&binary32, 99991);
  check_ulps(&binary64, UINT64_C(0x100000000fff1));
}

Test(rounding, names) {
  phibal_format format;
  phibal_direction direction;
  static const char *formats[] = {"binary64", "binary32", "bfloat16", "binary16"};
  static const char *ways[] = {"nearest", "down", "up", "zero"};
  for (int i = 0; i < 4; i++) {
    cr_assert_eq(phibal_format_find(formats[i], &format), PHIBAL_OK);
    cr_assert_eq((int)format, i);
    cr_assert_eq(phibal_direction_find(ways[i], &direction), PHIBAL_OK);
    cr_assert_eq((int)direction, i);
  }
  cr_assert_eq(phibal_format_find("float", &format), PHIBAL_ERROR_ARGUMENT);
  cr_assert(strstr(phibal_status_message(), "float") &&
            strstr(phibal_status_message(), "bfloat16"));
  cr_assert_eq(phibal_direction_find("", &direction), PHIBAL_ERROR_ARGUMENT);
  cr_assert(strstr(phibal_status_message(), "nearest, down, up, zero"));
  cr_assert_eq(phibal_direction_find(NULL, &direction), PHIBAL_ERROR_ARGUMENT);
}

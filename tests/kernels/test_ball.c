/* The running error bounds of kernels/core/ball*.h: for arguments anywhere within their bounds, the
   exact result lies within the result's; and the bounds are tight enough to be of use. */
#include "kernels/core/ball_dd.h"
#include "verify/random.h"
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>

enum { PRECISION = 600, DRAWS = 12000 };

typedef int (*mpfr_unary)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
typedef int (*mpfr_binary)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

static int truth_sigmoid(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_neg(z, x, r);
  mpfr_exp(z, z, r);
  mpfr_add_ui(z, z, 1, r);
  return mpfr_ui_div(z, 1, z, r);
}
static int truth_softplus(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_exp(z, x, r);
  return mpfr_log1p(z, z, r);
}
static int truth_logcosh(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_div_2ui(z, x, 1, r);
  mpfr_sinh(z, z, r);
  mpfr_sqr(z, z, r);
  mpfr_mul_2ui(z, z, 1, r);
  return mpfr_log1p(z, z, r);
}
static int truth_sgn(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t r) {
  return mpfr_set_si(z, mpfr_sgn(x), r);
}
static int truth_cube(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t r) {
  return mpfr_pow_si(z, x, 3, r);
}
static int truth_minus_seventh(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t r) {
  return mpfr_pow_si(z, x, -7, r);
}
static int truth_xlogx(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_log(z, x, r);
  return mpfr_mul(z, z, x, r);
}
static core_ball64 cube64(core_ball64 a) {
  return core_ball64_power_integer(a, 3);
}
static core_ball_dd cube_dd(core_ball_dd a) {
  return core_ball_dd_power_integer(a, 3);
}
static core_ball64 minus_seventh64(core_ball64 a) {
  return core_ball64_power_integer(a, -7);
}
static core_ball_dd minus_seventh_dd(core_ball_dd a) {
  return core_ball_dd_power_integer(a, -7);
}

/* Arguments have sizes 2^low .. 2^high. For exact arguments the bound is at most `tight64` u, or
   `tight_dd` u^2, of max(result, floor): `floor` is for functions whose bounds are absolute. */
typedef struct unary_case {
  const char *name;
  core_ball64 (*f64)(core_ball64);
  core_ball_dd (*dd)(core_ball_dd);
  mpfr_unary truth;
  int low, high;
  double least; /* of the argument */
  double tight64, tight_dd, floor;
} unary_case;

#define UNARY(f, truth, low, high, least, tight64, tight_dd, floor)                                \
  { #f, core_ball64_##f, core_ball_dd_##f, truth, low, high, least, tight64, tight_dd, floor }

static const unary_case unary_cases[] = {
    UNARY(exp, mpfr_exp, -60, 9, -640, 4, 12, 0),
    UNARY(expm1, mpfr_expm1, -200, 9, -640, 8, 30, 0),
    UNARY(log, mpfr_log, -900, 900, 0, 4, 54, 0.07),
    UNARY(log1p, mpfr_log1p, -200, 200, -1, 12, 60, 0),
    UNARY(sqrt, mpfr_sqrt, -900, 900, 0, 3, 5, 0),
    UNARY(abs, mpfr_abs, -900, 900, -HUGE_VAL, 1, 1, 0),
    UNARY(sgn, truth_sgn, -900, 900, -HUGE_VAL, 1, 1, 0),
    UNARY(sin, mpfr_sin, -100, 20, -HUGE_VAL, 3, 40, 0.01),
    UNARY(cos, mpfr_cos, -100, 20, -HUGE_VAL, 3, 40, 0.01),
    UNARY(tanh, mpfr_tanh, -200, 12, -HUGE_VAL, 30, 120, 0),
    UNARY(sinh, mpfr_sinh, -200, 9, -HUGE_VAL, 40, 120, 0),
    UNARY(cosh, mpfr_cosh, -200, 9, -HUGE_VAL, 12, 40, 0),
    UNARY(logcosh, truth_logcosh, -100, 20, -HUGE_VAL, 120, 400, 0),
    UNARY(sigmoid, truth_sigmoid, -60, 9, -640, 12, 50, 0),
    UNARY(softplus, truth_softplus, -60, 9, -640, 30, 100, 0),
    UNARY(xlogx, truth_xlogx, -100, 100, 0, 5, 60, 0.07),
    {"cube", cube64, cube_dd, truth_cube, -200, 200, -HUGE_VAL, 5, 20, 0},
    {"minus_seventh", minus_seventh64, minus_seventh_dd, truth_minus_seventh, -100, 100, -HUGE_VAL,
     12, 60, 0},
};

static double draw(random_stream *r, int low, int high) {
  double x = ldexp(1 + random_unit(r), (int)random_integer(r, low, high - 1));
  switch (random_integer(r, 0, 7)) {
  case 0: /* near a multiple of log 2 or of pi/2 */
    x = 0.5 * (random_integer(r, 0, 1) ? M_LN2 : M_PI) * (double)random_integer(r, 1, 40) *
        (1 + 0x1p-50 * (double)random_integer(r, -4, 4));
    break;
  case 1:
    x = 1 + ldexp(random_unit(r) - 0.5, (int)random_integer(r, -52, -1));
    break;
  default:
    break;
  }
  if (x >= ldexp(1, high)) x = ldexp(1.5, high - 1);
  return random_integer(r, 0, 1) ? -x : x;
}

/* How far an argument may be off: often nothing, else from far below an ULP up to all of it. */
static double draw_error(random_stream *r, double size) {
  return random_integer(r, 0, 2) ? fabs(size) * ldexp(1, (int)random_integer(r, -120, 0)) : 0.0;
}

/* A number within `error` of hi + lo: an end, or anywhere. */
static void draw_within(random_stream *r, double hi, double lo, double error, mpfr_ptr x) {
  mpfr_t part;
  mpfr_init2(part, PRECISION);
  double t =
      random_integer(r, 0, 2) ? (random_integer(r, 0, 1) ? 1 : -1) : random_uniform(r, -1, 1);
  mpfr_set_d(part, t, MPFR_RNDN);
  mpfr_mul_d(part, part, error, MPFR_RNDZ);
  mpfr_set_d(x, hi, MPFR_RNDN);
  mpfr_add_d(x, x, lo, MPFR_RNDN);
  mpfr_add(x, x, part, MPFR_RNDN);
  mpfr_clear(part);
}

/* |hi + lo - truth|, to 53 bits. */
static double distance(double hi, double lo, mpfr_srcptr truth) {
  mpfr_t d;
  mpfr_init2(d, PRECISION);
  mpfr_sub_d(d, truth, hi, MPFR_RNDN);
  mpfr_sub_d(d, d, lo, MPFR_RNDN);
  double r = fabs(mpfr_get_d(d, MPFR_RNDN));
  mpfr_clear(d);
  return r;
}

static void check_unary(const unary_case *c, bool dd) {
  mpfr_t x, y;
  mpfr_inits2(PRECISION, x, y, (mpfr_ptr)0);
  random_stream r = random_start(11, dd, (uint64_t)(c - unary_cases));
  int bounded = 0, exact = 0;
  for (int i = 0; i < DRAWS; i++) {
    double hi = draw(&r, c->low, c->high), error = draw_error(&r, hi);
    if (hi < c->least) hi = -hi;
    double lo = dd ? hi * 0x1p-53 * random_uniform(&r, -0.99, 0.99) : 0;
    draw_within(&r, hi, lo, error, x);
    if (mpfr_cmp_d(x, c->least) <= 0) continue;
    c->truth(y, x, MPFR_RNDN);
    core_dd value;
    double bound;
    if (dd) {
      core_ball_dd b = c->dd(core_ball_dd_make(core_dd_make(hi, lo), error));
      value = b.value;
      bound = b.error;
    } else {
      core_ball64 b = c->f64(core_ball64_make(hi, error));
      value = core_dd_from(b.value);
      bound = b.error;
    }
    exact += error == 0;
    if (!(bound < HUGE_VAL)) {
      cr_assert(error > 0 || !mpfr_number_p(y) || fabs(mpfr_get_d(y, MPFR_RNDN)) > 0x1p900,
                "%s(%a): no bound for an exact argument", c->name, hi);
      continue;
    }
    bounded++;
    double off = distance(value.hi, value.lo, y);
    cr_assert(off <= bound, "%s%s(%a %+a +- %a): off by %a, bound %a", c->name, dd ? " dd" : "", hi,
              lo, error, off, bound);
    double size = fmax(fabs(mpfr_get_d(y, MPFR_RNDN)), c->floor);
    if (error > 0 || size < 0x1p-800) continue;
    double tight = dd ? c->tight_dd * 0x1p-106 : c->tight64 * 0x1p-53;
    cr_assert(bound <= tight * size, "%s%s(%a %+a): bound %a of a result %a", c->name,
              dd ? " dd" : "", hi, lo, bound / size, value.hi);
  }
  cr_assert_gt(bounded, DRAWS / 4, "%s: %d of %d results have a bound", c->name, bounded, DRAWS);
  cr_assert_gt(exact, DRAWS / 8);
  mpfr_clears(x, y, (mpfr_ptr)0);
}

Test(ball, functions_keep_their_bounds) {
  for (size_t i = 0; i < sizeof unary_cases / sizeof *unary_cases; i++) {
    check_unary(&unary_cases[i], false);
    check_unary(&unary_cases[i], true);
  }
}

typedef struct binary_case {
  const char *name;
  core_ball64 (*f64)(core_ball64, core_ball64);
  core_ball_dd (*dd)(core_ball_dd, core_ball_dd);
  mpfr_binary truth;
  int low, high;
  double least; /* of the first */
} binary_case;

static const binary_case binary_cases[] = {
    {"add", core_ball64_add, core_ball_dd_add, mpfr_add, -60, 60, -HUGE_VAL},
    {"sub", core_ball64_sub, core_ball_dd_sub, mpfr_sub, -60, 60, -HUGE_VAL},
    {"mul", core_ball64_mul, core_ball_dd_mul, mpfr_mul, -540, 400, -HUGE_VAL},
    {"div", core_ball64_div, core_ball_dd_div, mpfr_div, -540, 500, -HUGE_VAL},
    {"max", core_ball64_max, core_ball_dd_max, mpfr_max, -3, 3, -HUGE_VAL},
    {"power", core_ball64_power, core_ball_dd_power, mpfr_pow, -9, 9, 0},
};

static void check_binary(const binary_case *c, bool dd) {
  mpfr_t x, y, z;
  mpfr_inits2(PRECISION, x, y, z, (mpfr_ptr)0);
  random_stream r = random_start(12, dd, (uint64_t)(c - binary_cases));
  int bounded = 0;
  for (int i = 0; i < DRAWS; i++) {
    double a = draw(&r, c->low, c->high), b = draw(&r, c->low, c->high);
    if (a < c->least) a = -a;
    if (random_integer(&r, 0, 3) == 0) b = -a * (1 + 0x1p-52 * (double)random_integer(&r, -3, 3));
    double a_error = draw_error(&r, a), b_error = draw_error(&r, b);
    double a_lo = dd ? a * 0x1p-53 * random_uniform(&r, -0.99, 0.99) : 0;
    double b_lo = dd ? b * 0x1p-53 * random_uniform(&r, -0.99, 0.99) : 0;
    draw_within(&r, a, a_lo, a_error, x);
    draw_within(&r, b, b_lo, b_error, y);
    if (mpfr_cmp_d(x, c->least) <= 0) continue;
    c->truth(z, x, y, MPFR_RNDN);
    core_dd value;
    double bound;
    if (dd) {
      core_ball_dd s = c->dd(core_ball_dd_make(core_dd_make(a, a_lo), a_error),
                             core_ball_dd_make(core_dd_make(b, b_lo), b_error));
      value = s.value;
      bound = s.error;
    } else {
      core_ball64 s = c->f64(core_ball64_make(a, a_error), core_ball64_make(b, b_error));
      value = core_dd_from(s.value);
      bound = s.error;
    }
    if (!(bound < HUGE_VAL)) continue;
    bounded++;
    double off = distance(value.hi, value.lo, z);
    cr_assert(off <= bound, "%s%s(%a %+a +- %a, %a %+a +- %a): off by %a, bound %a", c->name,
              dd ? " dd" : "", a, a_lo, a_error, b, b_lo, b_error, off, bound);
  }
  cr_assert_gt(bounded, DRAWS / 4, "%s: %d of %d results have a bound", c->name, bounded, DRAWS);
  mpfr_clears(x, y, z, (mpfr_ptr)0);
}

Test(ball, operations_keep_their_bounds) {
  for (size_t i = 0; i < sizeof binary_cases / sizeof *binary_cases; i++) {
    check_binary(&binary_cases[i], false);
    check_binary(&binary_cases[i], true);
  }
}

/* What has no meaning must not come out as a number with a bound. */
Test(ball, undefined_results_have_no_bound) {
  core_ball64 none[] = {
      core_ball64_div(core_ball64_point(1), core_ball64_point(0)),
      core_ball64_div(core_ball64_point(1), core_ball64_make(1e-3, 1e-2)),
      core_ball64_log(core_ball64_point(0)),
      core_ball64_log(core_ball64_point(-1)),
      core_ball64_log(core_ball64_make(1, 1)),
      core_ball64_log1p(core_ball64_point(-1)),
      core_ball64_log1p(core_ball64_point(-2)),
      core_ball64_sqrt(core_ball64_point(-1)),
      core_ball64_exp(core_ball64_point(710)),
      core_ball64_exp(core_ball64_make(0, 1e9)),
      core_ball64_power(core_ball64_point(0), core_ball64_point(-1)),
      core_ball64_power(core_ball64_point(-2), core_ball64_point(0.5)),
      core_ball64_sin(core_ball64_point(0x1p40)),
      core_ball64_mul(core_ball64_point(1e200), core_ball64_point(1e200)),
      core_ball64_div(core_ball64_point(1), core_ball64_exp(core_ball64_point(1000))),
      core_ball64_max(core_ball64_log(core_ball64_point(-1)), core_ball64_point(3)),
      core_ball64_max(core_ball64_point(3), core_ball64_log(core_ball64_point(-1))),
      core_ball64_tanh(core_ball64_log(core_ball64_point(-1))),
      core_ball64_abs(core_ball64_point(NAN)),
  };
  for (size_t i = 0; i < sizeof none / sizeof *none - 1; i++) {
    cr_assert(!(none[i].error < HUGE_VAL), "%zu: %g +- %g", i, none[i].value, none[i].error);
    float f;
    cr_assert_not(core_ball64_rounds(none[i], &f), "%zu rounds to %g", i, (double)f);
  }
  core_ball_dd none_dd[] = {
      core_ball_dd_div(core_ball_dd_point(1), core_ball_dd_point(0)),
      core_ball_dd_log(core_ball_dd_point(0)),
      core_ball_dd_log1p(core_ball_dd_point(-1)),
      core_ball_dd_log1p(core_ball_dd_point(-2)),
      core_ball_dd_sqrt(core_ball_dd_point(-1)),
      core_ball_dd_exp(core_ball_dd_point(710)),
      core_ball_dd_power(core_ball_dd_point(0), core_ball_dd_point(-1)),
      core_ball_dd_cos(core_ball_dd_point(0x1p40)),
      core_ball_dd_mul(core_ball_dd_point(1e200), core_ball_dd_point(1e200)),
      core_ball_dd_div(core_ball_dd_point(1), core_ball_dd_exp(core_ball_dd_point(1000))),
      core_ball_dd_max(core_ball_dd_log(core_ball_dd_point(-1)), core_ball_dd_point(3)),
  };
  for (size_t i = 0; i < sizeof none_dd / sizeof *none_dd; i++) {
    cr_assert(!(none_dd[i].error < HUGE_VAL), "dd %zu: %g", i, none_dd[i].value.hi);
    float f;
    cr_assert_not(core_ball_dd_rounds(none_dd[i], &f), "dd %zu rounds to %g", i, (double)f);
  }
}

/* A number "rounds" only if all its neighbours within the bound do. */
Test(ball, rounding_is_certain_or_refused) {
  random_stream r = random_start(13, 0, 0);
  int refused = 0;
  for (int i = 0; i < 200000; i++) {
    float f = (float)draw(&r, -140, 120);
    double half = 0.5 * ((double)nextafterf(fabsf(f), HUGE_VALF) - (double)fabsf(f));
    /* Around the midpoint above |f|. */
    double middle = (double)fabsf(f) + half,
           gap = half * ldexp(1, (int)random_integer(&r, -26, -1));
    double x = middle - gap, error = gap * random_uniform(&r, 0.5, 1.5);
    float result, result_dd;
    bool one = core_ball64_rounds(core_ball64_make(x, error), &result);
    bool two = core_ball_dd_rounds(core_ball_dd_make(core_dd_from(x), error), &result_dd);
    if (one)
      cr_assert(error < gap && result == fabsf(f), "%a +- %a rounds to %a", x, error,
                (double)result);
    if (two) cr_assert(error < gap && result_dd == fabsf(f), "%a +- %a (dd)", x, error);
    /* The binary64 test gives away 4 u of the value. */
    if (error < gap - 8 * 0x1p-53 * x) cr_assert(one, "%a +- %a is refused", x, error);
    if (error < gap * (1 - 0x1p-20)) cr_assert(two, "%a +- %a (dd) is refused", x, error);
    refused += !one;
  }
  cr_assert_gt(refused, 50000);
}

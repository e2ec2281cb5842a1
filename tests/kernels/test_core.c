/* The cores against MPFR: every error bound that a comment in kernels/core derives is measured
   here, on random and adversarial arguments, and must hold. */
#include "kernels/core/activation.h"
#include "kernels/core/activation32.h"
#include "kernels/core/cos_turn64.h"
#include "kernels/core/dd_sine.h"
#include "kernels/core/exact_sum.h"
#include "kernels/core/exp.h"
#include "kernels/core/exp_below64.h"
#include "kernels/core/expm1.h"
#include "kernels/core/log.h"
#include "kernels/core/log1p.h"
#include "kernels/core/router.h"
#include "kernels/core/sigmoid.h"
#include "kernels/core/sqrt_softplus.h"
#include "kernels/core/tanh.h"
#include "verify/random.h"
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>

enum { PRECISION = 320 };
#define U2 0x1p-106 /* u^2 */

/* |hi + lo - truth| / |truth|; 0 where both are 0. */
static double relative_error(double hi, double lo, mpfr_srcptr truth) {
  mpfr_t e;
  mpfr_init2(e, 2400); /* holds any sum of two binary64 exactly */
  mpfr_set_d(e, hi, MPFR_RNDN);
  mpfr_add_d(e, e, lo, MPFR_RNDN);
  mpfr_sub(e, e, truth, MPFR_RNDN);
  double r =
      mpfr_zero_p(e) ? 0.0 : (mpfr_div(e, e, truth, MPFR_RNDN), fabs(mpfr_get_d(e, MPFR_RNDU)));
  mpfr_clear(e);
  return r;
}

/* Arguments of both signs, of every size in 2^low .. 2^high, and now and then next to a multiple of
   log 2, of 1/2 log 2, or of 1, where reductions change branch. */
static double draw(random_stream *r, int low, int high) {
  double x = ldexp(1 + random_unit(r), (int)random_integer(r, low, high - 1));
  switch (random_integer(r, 0, 7)) {
  case 0:
    x = 0.5 * M_LN2 * (double)random_integer(r, 1, 40) *
        (1 + 0x1p-50 * (double)random_integer(r, -4, 4));
    break;
  case 1:
    x = 1 + ldexp(random_unit(r), (int)random_integer(r, -52, -1));
    break;
  default:
    break;
  }
  if (x >= ldexp(1, high)) x = ldexp(1.5, high - 1);
  return random_integer(r, 0, 1) ? -x : x;
}

typedef int (*mpfr_function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

static int mpfr_sigmoid(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_neg(z, x, rounding);
  mpfr_exp(z, z, rounding);
  mpfr_add_ui(z, z, 1, rounding);
  return mpfr_ui_div(z, 1, z, rounding);
}

static int mpfr_sqrt_softplus(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_exp(z, x, rounding);
  mpfr_log1p(z, z, rounding);
  return mpfr_sqrt(z, z, rounding);
}

/* sigma(x) / (2 softplus(x)) */
static int mpfr_sqrt_softplus_slope(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_t softplus;
  mpfr_init2(softplus, mpfr_get_prec(z));
  mpfr_exp(softplus, x, rounding);
  mpfr_log1p(softplus, softplus, rounding);
  mpfr_sigmoid(z, x, rounding);
  mpfr_div(z, z, softplus, rounding);
  mpfr_clear(softplus);
  return mpfr_div_2ui(z, z, 1, rounding);
}

/* The weight of x beside itself where x < 0: sqrt(softplus(x)) e^(-x/2). */
static double sqrt_softplus_own_weight(double x) {
  return core_sqrt_softplus_weight(x, x);
}

static int mpfr_sqrt_softplus_own_weight(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_t root;
  mpfr_init2(root, mpfr_get_prec(z));
  mpfr_set_ui(root, 1, rounding);
  if (mpfr_sgn(x) < 0) {
    mpfr_div_2ui(root, x, 1, rounding);
    mpfr_exp(root, root, rounding);
  }
  mpfr_sqrt_softplus(z, x, rounding);
  const int inexact = mpfr_div(z, z, root, rounding);
  mpfr_clear(root);
  return inexact;
}

typedef enum argument_kind { ANY, POSITIVE, BINARY32_ABOVE_MINUS_ONE } argument_kind;

typedef struct function_case {
  const char *name;
  double (*binary64)(double);
  core_dd (*dd)(core_dd);
  core_dd (*dd_of_double)(double);
  mpfr_function truth;
  int low, high; /* sizes 2^low .. 2^high */
  argument_kind kind;
  double bound;
} function_case;

static double worst_error(const function_case *f, double *worst_x) {
  mpfr_t x, y;
  mpfr_inits2(PRECISION, x, y, (mpfr_ptr)0);
  random_stream r = random_start(7, 1, 0);
  double worst = 0;
  for (int i = 0; i < 60000; i++) {
    double d = draw(&r, f->low, f->high);
    if (f->kind == POSITIVE) d = fabs(d);
    if (f->kind == BINARY32_ABOVE_MINUS_ONE) {
      d = (double)(float)d;
      if (d <= -1) d = -1 / d;
      if (d == -1 || d == 1) d = -0.5;
      d = (double)(float)d;
    }
    mpfr_set_d(x, d, MPFR_RNDN);
    f->truth(y, x, MPFR_RNDN);
    core_dd got = f->binary64 ? core_dd_from(f->binary64(d))
                  : f->dd     ? f->dd(core_dd_from(d))
                              : f->dd_of_double(d);
    double e = relative_error(got.hi, got.lo, y);
    if (!(e <= worst)) {
      worst = e;
      *worst_x = d;
    }
  }
  mpfr_clears(x, y, (mpfr_ptr)0);
  return worst;
}

static double log_of_size(double x) {
  return core_log64(exp2(x));
}
static int mpfr_log_of_size(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_set_d(z, exp2(mpfr_get_d(x, MPFR_RNDN)), rounding);
  return mpfr_log(z, z, rounding);
}
static int mpfr_log_ratio(mpfr_ptr z, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_atanh(z, x, rounding);
  return mpfr_mul_ui(z, z, 2, rounding);
}
static core_dd dd_log_of_size(double x) {
  return core_dd_log(exp2(x));
}

Test(core, functions_keep_their_bounds) {
  /* Bounds: the comments above each function. exp's arguments stay where e^x is at least 2^-960. */
  static const function_case cases[] = {
      {"exp64", core_exp64, 0, 0, mpfr_exp, -60, 9, ANY, 0x1.ap-53},
      {"exp2", core_exp2, 0, 0, mpfr_exp2, -60, 9, ANY, 0x1.cp-51},
      {"expm164", core_expm164, 0, 0, mpfr_expm1, -300, 9, ANY, 0x1p-51},
      {"log64", core_log64, 0, 0, mpfr_log, -1000, 1000, POSITIVE, 0x1.fp-53},
      {"log64 near 1", core_log64, 0, 0, mpfr_log, -2, 1, POSITIVE, 0x1.fp-53},
      {"log64 by size", log_of_size, 0, 0, mpfr_log_of_size, -30, 9, ANY, 0x1.fp-53},
      {"log1p64", core_log1p64, 0, 0, mpfr_log1p, -140, 126, BINARY32_ABOVE_MINUS_ONE, 0x1p-52},
      {"log1p64 small", core_log1p64, 0, 0, mpfr_log1p, -40, 1, BINARY32_ABOVE_MINUS_ONE, 0x1p-52},
      {"tanh64", core_tanh64, 0, 0, mpfr_tanh, -300, 8, POSITIVE, 0x1.9p-51},
      {"sigmoid64", core_sigmoid64, 0, 0, mpfr_sigmoid, -60, 9, ANY, 0x1.2p-51},
      {"sqrt_softplus64", core_sqrt_softplus64, 0, 0, mpfr_sqrt_softplus, -60, 9, ANY,
       4.9 * 0x1p-53},
      {"sqrt_softplus64 far", core_sqrt_softplus64, 0, 0, mpfr_sqrt_softplus, 3, 9, ANY,
       4.9 * 0x1p-53},
      {"sqrt_softplus weight", sqrt_softplus_own_weight, 0, 0, mpfr_sqrt_softplus_own_weight, -60,
       9, ANY, 0x1p-50},
      {"sqrt_softplus slope", core_sqrt_softplus_slope, 0, 0, mpfr_sqrt_softplus_slope, -60, 9, ANY,
       0x1p-50},
      {"dd_exp", 0, core_dd_exp, 0, mpfr_exp, -60, 9, ANY, 9 * U2},
      {"dd_expm1", 0, core_dd_expm1, 0, mpfr_expm1, -300, 9, ANY, 25 * U2},
      {"dd_tanh", 0, core_dd_tanh, 0, mpfr_tanh, -300, 8, POSITIVE, 40 * U2},
      {"dd_log", 0, 0, core_dd_log, mpfr_log, -1000, 1000, POSITIVE, 27 * U2},
      {"dd_log near 1", 0, 0, core_dd_log, mpfr_log, -2, 1, POSITIVE, 27 * U2},
      {"dd_log by size", 0, 0, dd_log_of_size, mpfr_log_of_size, -30, 9, ANY, 27 * U2},
      {"dd_log1p", 0, 0, core_dd_log1p, mpfr_log1p, -140, 126, BINARY32_ABOVE_MINUS_ONE, 35 * U2},
      {"dd_log1p small", 0, 0, core_dd_log1p, mpfr_log1p, -40, 1, BINARY32_ABOVE_MINUS_ONE,
       35 * U2},
      {"dd_sigmoid", 0, 0, core_dd_sigmoid, mpfr_sigmoid, -60, 9, ANY, 24 * U2},
      {"dd_sqrt_softplus", 0, 0, core_dd_sqrt_softplus, mpfr_sqrt_softplus, -60, 9, ANY, 30 * U2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double x = 0, worst = worst_error(&cases[i], &x);
    cr_expect(worst <= cases[i].bound, "%s(%a): error 2^%.2f, promised 2^%.2f", cases[i].name, x,
              log2(worst), log2(cases[i].bound));
    /* A bound that nothing comes near to would hide a test that looks at nothing. */
    cr_expect(worst > 0x1p-14 * cases[i].bound, "%s: error 2^%.2f is too good", cases[i].name,
              log2(worst));
  }
}

Test(core, series_are_long_enough_for_their_whole_interval) {
  mpfr_t x, y;
  mpfr_inits2(PRECISION, x, y, (mpfr_ptr)0);
  double worst_expm1 = 0, worst_ratio = 0;
  for (int i = -2000; i <= 2000; i++) {
    if (i == 0) continue;
    double r = 0.36 * i / 2000, s = 0.1716 * i / 2000;
    core_dd got = core_dd_expm1_reduced(core_dd_from(r));
    mpfr_set_d(x, r, MPFR_RNDN);
    mpfr_expm1(y, x, MPFR_RNDN);
    worst_expm1 = fmax(worst_expm1, relative_error(got.hi, got.lo, y));
    got = core_dd_log_ratio(core_dd_from(s));
    mpfr_set_d(x, s, MPFR_RNDN);
    mpfr_log_ratio(y, x, MPFR_RNDN);
    worst_ratio = fmax(worst_ratio, relative_error(got.hi, got.lo, y));
  }
  cr_expect(worst_expm1 <= 9.6 * U2, "%g u^2", worst_expm1 / U2);
  cr_expect(worst_ratio <= 7.2 * U2, "%g u^2", worst_ratio / U2);
  mpfr_clears(x, y, (mpfr_ptr)0);
}

Test(core, odd_reciprocals_are_what_the_division_makes_of_them) {
  for (int j = 1; j <= 22; j++) {
    core_dd want = core_dd_div_d(core_dd_from(1.0), (double)(2 * j + 1));
    core_dd got = core_dd_odd_reciprocal(j);
    cr_expect(got.hi == want.hi && got.lo == want.lo, "1 / %d: %a + %a, not %a + %a", 2 * j + 1,
              got.hi, got.lo, want.hi, want.lo);
  }
}

Test(core, polynomials_and_constants_are_what_their_comments_say) {
  mpfr_t x, y, z;
  mpfr_inits2(PRECISION, x, y, z, (mpfr_ptr)0);
  double worst_exp = 0, worst_log = 0;
  for (int i = -2000; i <= 2000; i++) {
    double r = 0.34658 * i / 2000;
    if (i == 0) continue;
    mpfr_set_d(x, r, MPFR_RNDN);
    mpfr_expm1(y, x, MPFR_RNDN);
    mpfr_sub_d(y, y, r, MPFR_RNDN);
    mpfr_div(y, y, x, MPFR_RNDN);
    mpfr_div(y, y, x, MPFR_RNDN);
    /* r^2 |q - exact| / e^r, q's own roundings (below 1.6 u / 2) taken off */
    mpfr_d_sub(z, core_exp_tail(r), y, MPFR_RNDN);
    double e = (fabs(mpfr_get_d(z, MPFR_RNDN)) - 0.8 * 0x1p-53) * r * r / exp(r);
    if (e > worst_exp) worst_exp = e;
    double s = 0.1716 * i / 2000;
    mpfr_set_d(x, s, MPFR_RNDN);
    mpfr_atanh(y, x, MPFR_RNDN);
    mpfr_mul_ui(y, y, 2, MPFR_RNDN);
    mpfr_sub_d(y, y, 2 * s, MPFR_RNDN);
    mpfr_div_d(y, y, s * s, MPFR_RNDN);
    mpfr_div(y, y, x, MPFR_RNDN);
    mpfr_d_sub(z, core_log_tail(s * s), y, MPFR_RNDN);
    e = (fabs(mpfr_get_d(z, MPFR_RNDN)) - 2.0 * 0x1p-53) * s * s / 2;
    if (e > worst_log) worst_log = e;
  }
  cr_expect(worst_exp <= 0x1.4p-56, "exp: 2^%.2f", log2(worst_exp)); /* 2^-55.7 */
  cr_expect(worst_log <= 0x1.6p-58, "log: 2^%.2f", log2(worst_log)); /* 2^-57.5 */

  mpfr_const_log2(x, MPFR_RNDN);
  cr_expect_eq(mpfr_get_d(x, MPFR_RNDN), 0x1.62e42fefa39efp-1);
  mpfr_sub_d(y, x, 0x1.62e42fefa39efp-1, MPFR_RNDN);
  cr_expect_eq(mpfr_get_d(y, MPFR_RNDN), 0x1.abc9e3b39803fp-56);
  mpfr_sub_d(y, x, 0x1.62e42fefa3800p-1, MPFR_RNDN);
  cr_expect_eq(mpfr_get_d(y, MPFR_RNDN), 0x1.ef35793c76730p-45);
  mpfr_sub_d(y, x, CORE_LOG2_HIGH, MPFR_RNDN);
  mpfr_sub_d(y, y, CORE_LOG2_MIDDLE, MPFR_RNDN);
  mpfr_sub_d(y, y, CORE_LOG2_LOW, MPFR_RNDN);
  cr_expect(fabs(mpfr_get_d(y, MPFR_RNDN)) <= 0x1p-140);
  mpfr_ui_div(y, 1, x, MPFR_RNDN);
  cr_expect_eq(mpfr_get_d(y, MPFR_RNDN), 0x1.71547652b82fep+0);
  mpfr_const_pi(x, MPFR_RNDN);
  mpfr_ui_div(x, 8, x, MPFR_RNDN);
  mpfr_sqrt(x, x, MPFR_RNDN);
  cr_expect_eq(mpfr_get_d(x, MPFR_RNDN), 0x1.9884533d43651p+0); /* 2 sqrt(2 / pi), for gelu */
  mpfr_clears(x, y, z, (mpfr_ptr)0);
}

static core_dd draw_dd(random_stream *r) {
  double hi = ldexp(random_uniform(r, -2, 2), (int)random_integer(r, -60, 60));
  double lo = random_integer(r, 0, 3) ? hi * 0x1p-53 * random_uniform(r, -1, 1) : 0;
  return core_fast_two_sum(hi, lo);
}

static void set_dd(mpfr_ptr z, core_dd x) {
  mpfr_set_d(z, x.hi, MPFR_RNDN);
  mpfr_add_d(z, z, x.lo, MPFR_RNDN);
}

Test(core, double_double_arithmetic_keeps_its_bounds) {
  enum { ADD, ADD_D, MUL, MUL_D, DIV, DIV_D, SQRT, OPERATIONS };
  static const double bound[OPERATIONS] = {3.0001, 2, 4, 2, 12.2, 3, 3.125};
  double worst[OPERATIONS] = {0};
  mpfr_t x, y, z;
  mpfr_inits2(1200, x, y, z, (mpfr_ptr)0);
  random_stream r = random_start(7, 2, 0);
  for (int i = 0; i < 200000; i++) {
    core_dd a = draw_dd(&r), b = draw_dd(&r);
    if (random_integer(&r, 0, 3) == 0) { /* nearly opposite: cancellation */
      b = core_dd_neg(a);
      b.lo += 0x1p-60 * b.hi * random_uniform(&r, -1, 1);
      b = core_fast_two_sum(b.hi, b.lo);
    }
    core_dd got[OPERATIONS] = {core_dd_add(a, b),
                               core_dd_add_d(a, b.hi),
                               core_dd_mul(a, b),
                               core_dd_mul_d(a, b.hi),
                               core_dd_div(a, b),
                               core_dd_div_d(a, b.hi),
                               core_dd_sqrt(a.hi < 0 ? core_dd_neg(a) : a)};
    for (int o = 0; o < OPERATIONS; o++) {
      set_dd(x, a);
      if (o == ADD_D || o == MUL_D || o == DIV_D)
        mpfr_set_d(y, b.hi, MPFR_RNDN);
      else
        set_dd(y, b);
      if (o <= ADD_D)
        mpfr_add(z, x, y, MPFR_RNDN);
      else if (o <= MUL_D)
        mpfr_mul(z, x, y, MPFR_RNDN);
      else if (o <= DIV_D)
        mpfr_div(z, x, y, MPFR_RNDN);
      else
        mpfr_abs(z, x, MPFR_RNDN), mpfr_sqrt(z, z, MPFR_RNDN);
      double e = relative_error(got[o].hi, got[o].lo, z) / U2;
      if (!(e <= worst[o])) worst[o] = e;
    }
  }
  for (int o = 0; o < OPERATIONS; o++) {
    cr_expect(worst[o] <= bound[o], "operation %d: %g u^2, promised %g", o, worst[o], bound[o]);
    cr_expect(worst[o] > 0.2, "operation %d: %g u^2 is too good", o, worst[o]);
  }
  mpfr_clears(x, y, z, (mpfr_ptr)0);
}

Test(core, double_double_rounds_once) {
  /* Ties of binary32, and what lies 2^-80 beside them; normal, subnormal, at the overflow, at the
     smallest number. The nearest binary32 is written down, not computed. */
  static const struct {
    double hi, lo;
    float nearest;
  } cases[] = {
      {0x1.000001p0, 0, 0x1p0f},
      {0x1.000001p0, 0x1p-80, 0x1.000002p0f},
      {0x1.000001p0, -0x1p-80, 0x1p0f},
      {0x1.000003p0, 0, 0x1.000004p0f},
      {0x1.000003p0, -0x1p-80, 0x1.000002p0f},
      {-0x1.000001p0, -0x1p-80, -0x1.000002p0f},
      {-0x1.000001p0, 0x1p-80, -0x1p0f},
      {1, -0x1p-54, 1}, /* hi a power of two: the numbers below are denser */
      {0x1.fffffep127, 0, 0x1.fffffep127f},
      {0x1.ffffffp127, -0x1p40, 0x1.fffffep127f},
      {0x1.ffffffp127, 0, INFINITY},
      {-0x1.ffffffp127, 0x1p40, -0x1.fffffep127f},
      {0x1p-150, 0, 0},
      {0x1p-150, 0x1p-210, 0x1p-149f},
      {-0x1p-150, -0x1p-210, -0x1p-149f},
      {0x1.8p-149, 0, 0x1p-148f},
      {0x1.8p-149, -0x1p-230, 0x1p-149f},
      {0, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    core_dd x = {cases[i].hi, cases[i].lo};
    cr_expect_eq(core_bits32(core_dd_to_float(x)), core_bits32(cases[i].nearest), "case %zu: %a", i,
                 (double)core_dd_to_float(x));
    core_dd y = core_dd_scale(x, 0x1p300);
    cr_expect_eq(core_bits32(core_dd_to_float_scaled(y, -300)), core_bits32(cases[i].nearest),
                 "case %zu, scaled", i);
  }
  core_dd one = {1, 0};
  cr_expect_eq(core_dd_to_float_scaled(one, 5000), INFINITY);
  cr_expect_eq(core_dd_to_float_scaled(one, -5000), 0.0f);
  cr_expect_eq(core_dd_to_float_scaled(one, 127), 0x1p127f);
  cr_expect_eq(core_dd_to_float_scaled(one, -149), 0x1p-149f);
}

Test(core, special_values) {
  const float nan = core_nan(), inf = INFINITY;
  const struct {
    float (*f)(float);
    float minus_inf, minus_zero, zero, inf;
  } cases[] = {
      {core_exp, 0, 1, 1, inf},
      {core_expm1, -1, -0.0f, 0, inf},
      {core_log, nan, -inf, -inf, inf},
      {core_log1p, nan, -0.0f, 0, inf},
      {core_tanh, -1, -0.0f, 0, 1},
      {core_sigmoid, 0, 0.5f, 0.5f, 1},
      {core_sqrt_softplus, 0, 0x1.aa449ap-1f, 0x1.aa449ap-1f, inf},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cr_expect_eq(core_bits32(cases[i].f(-inf)), core_bits32(cases[i].minus_inf), "%zu", i);
    cr_expect_eq(core_bits32(cases[i].f(-0.0f)), core_bits32(cases[i].minus_zero), "%zu", i);
    cr_expect_eq(core_bits32(cases[i].f(0.0f)), core_bits32(cases[i].zero), "%zu", i);
    cr_expect_eq(core_bits32(cases[i].f(inf)), core_bits32(cases[i].inf), "%zu", i);
    cr_expect_eq(core_bits32(cases[i].f(nan)), core_bits32(nan), "%zu", i);
    cr_expect_eq(core_bits32(cases[i].f(core_float(0xffffffffu))), core_bits32(nan), "%zu", i);
  }
  cr_expect_eq(core_log1p(-1), -inf);
  cr_expect_eq(core_log(1), 0);
  cr_expect_eq(core_bits32(core_log1p(-2)), core_bits32(nan));
  cr_expect_eq(core_exp64(-709), 0);
  cr_expect_eq(core_exp64(-INFINITY), 0);
  cr_expect_eq(core_exp64(0), 1);
  cr_expect_eq(core_exp2(0), 1);
  cr_expect(isnan(core_exp2(NAN)));
}

/* Activations: relative for the values, absolute for the derivatives, as their comments say. */
/* Angles up to 2^31, half of them as near to a multiple of pi/4 as a binary64 or its neighbours
   are, and those that are nearest to one of pi/2 of all. */
static double draw_angle(random_stream *r, int i, mpfr_srcptr pi) {
  static const double nearest[] = {
      0x1.6c6cbc45dc8dep+5,  0x1.6c6cbc45dc8dep+6,  0x1.6c6cbc45dc8dep+9,
      0x1.b951f1572eba5p+23, 0x1.b951f1572eba5p+24, 0x1p31,
      0x1.921fb54442d18p+0,  0x1.921fb54442d18p+1,  0x1.921fb54442d18p-1};
  if (i < (int)(sizeof nearest / sizeof *nearest)) return nearest[i];
  double x = ldexp(1 + random_unit(r), (int)random_integer(r, -40, 30));
  if (random_integer(r, 0, 1)) {
    mpfr_t y;
    mpfr_init2(y, PRECISION);
    mpfr_mul_d(y, pi, 0.25 * ceil(ldexp(random_unit(r), (int)random_integer(r, 0, 31))), MPFR_RNDN);
    x = mpfr_get_d(y, MPFR_RNDN);
    for (int64_t n = random_integer(r, -2, 2); n; n += n < 0 ? 1 : -1)
      x = nextafter(x, n < 0 ? -INFINITY : INFINITY);
    mpfr_clear(y);
  }
  return random_integer(r, 0, 1) ? -x : x;
}

Test(core, sine_and_cosine_keep_their_bound_up_to_2_31) {
  mpfr_t x, y, pi;
  mpfr_inits2(PRECISION, x, y, pi, (mpfr_ptr)0);
  mpfr_const_pi(pi, MPFR_RNDN);
  random_stream r = random_start(7, 6, 0);
  double worst = 0, worst_x = 0;
  int not_nearest = 0;
  for (int i = 0; i < 60000; i++) {
    const double angle = draw_angle(&r, i, pi);
    mpfr_set_d(x, angle, MPFR_RNDN);
    for (int cosine = 0; cosine <= 1; cosine++) {
      (cosine ? mpfr_cos : mpfr_sin)(y, x, MPFR_RNDN);
      core_dd got = cosine ? core_dd_cos(angle) : core_dd_sin(angle);
      double e = relative_error(got.hi, got.lo, y);
      if (!(e <= worst)) worst = e, worst_x = angle;
      not_nearest += got.hi != mpfr_get_d(y, MPFR_RNDN);
    }
  }
  cr_expect(worst <= 12.2 * U2, "%a: %g u^2", worst_x, worst / U2);
  cr_expect(worst > U2, "%g u^2 is too good", worst / U2);
  cr_expect_eq(not_nearest, 0);
  cr_expect(core_dd_sin(0).hi == 0 && core_dd_cos(0).hi == 1);

  /* The parts of pi/2. */
  static const double part[] = {CORE_HALF_PI_1, CORE_HALF_PI_2, CORE_HALF_PI_3, CORE_HALF_PI_4};
  mpfr_div_2ui(pi, pi, 1, MPFR_RNDN);
  for (int i = 0; i < 4; i++) {
    cr_expect_eq(mpfr_get_d(pi, MPFR_RNDN), part[i], "part %d", i);
    mpfr_sub_d(pi, pi, part[i], MPFR_RNDN);
  }
  cr_expect(fabs(mpfr_get_d(pi, MPFR_RNDN)) <= 0x1p-217);
  mpfr_clears(x, y, pi, (mpfr_ptr)0);
}

Test(core, cosine_of_turns_keeps_its_bound) {
  mpfr_t x, y;
  mpfr_inits2(PRECISION, x, y, (mpfr_ptr)0);
  random_stream r = random_start(7, 7, 0);
  double worst[2] = {0}; /* sines, and cosines */
  for (int i = 0; i < 200000; i++) {
    double t = random_unit(&r);
    if (i % 4 == 1) t = ldexp(t, (int)random_integer(&r, -60, 40));
    if (i % 4 == 2) t = ldexp((double)random_integer(&r, -64, 64), -3) + ldexp(t, -(i / 4 % 50));
    if (i % 8 >= 4) t = -t;
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_mul_d(x, x, 2 * t, MPFR_RNDN);
    mpfr_cos(y, x, MPFR_RNDN);
    if (4 * t == rint(4 * t)) continue; /* whole quarters are below */
    double e = relative_error(core_cos_turn64(t), 0, y);
    int cosine = fabs(4 * t - rint(4 * t)) <= 0.5 && !((int64_t)rint(4 * t) & 1);
    if (!(e <= worst[cosine])) worst[cosine] = e;
  }
  for (int c = 0; c <= 1; c++) {
    cr_expect(worst[c] <= (c ? 1.8 : 2.4) * 0x1p-53, "%d: %g u", c, worst[c] * 0x1p53);
    cr_expect(worst[c] > 0x1p-53, "%d: %g u is too good", c, worst[c] * 0x1p53);
  }
  static const double whole[] = {1, 0, -1, 0};
  for (int i = -9; i <= 9; i++) cr_expect_eq(core_cos_turn64(0.25 * i), whole[i & 3]);
  mpfr_clears(x, y, (mpfr_ptr)0);
}

Test(core, powers_keep_their_bound) {
  mpfr_t x, y, z;
  mpfr_inits2(PRECISION, x, y, z, (mpfr_ptr)0);
  random_stream r = random_start(7, 8, 0);
  double worst = 0;
  for (int i = 0; i < 30000; i++) {
    /* As rotary positions have them, and any of which the result is no smaller than 2^-900. */
    double base = i % 2 ? 1e4 * (double)random_integer(&r, 1, 1000) : draw(&r, -40, 40);
    double exponent = i % 2 ? -2.0 * (double)random_integer(&r, 0, 63) / 128 : draw(&r, -30, 4);
    base = fabs(base);
    mpfr_set_d(x, base, MPFR_RNDN);
    mpfr_set_d(y, exponent, MPFR_RNDN);
    mpfr_pow(z, x, y, MPFR_RNDN);
    core_dd got = core_dd_power(base, exponent);
    double e = relative_error(got.hi, got.lo, z) / (9 + 29.1 * fabs(exponent * log(base)));
    if (!(e <= worst)) worst = e;
  }
  cr_expect(worst <= U2, "%g of the bound", worst / U2);
  cr_expect(worst > 0.02 * U2, "%g of the bound is too good", worst / U2);
  mpfr_clears(x, y, z, (mpfr_ptr)0);
}

/* FNV-1a of what training has in libm's place, on a fixed sample: the same on every processor. */
Test(core, bits_in_place_of_libm) {
  uint64_t hash = 0xcbf29ce484222325u;
  random_stream r = random_start(7, 9, 0);
  for (int i = 0; i < 20000; i++) {
    const double t = random_unit(&r), angle = ldexp(t, i % 32), base = 1e5 * t + 1;
    const core_dd all[] = {core_dd_sin(angle),
                           core_dd_cos(angle),
                           core_dd_power(base, -random_unit(&r)),
                           core_dd_log(base),
                           core_dd_exp(core_dd_from(20 * t)),
                           {core_cos_turn64(t), core_log64(1 - t)}};
    for (size_t f = 0; f < sizeof all / sizeof *all; f++) {
      hash = (hash ^ core_bits64(all[f].hi)) * 0x100000001b3u;
      hash = (hash ^ core_bits64(all[f].lo)) * 0x100000001b3u;
    }
  }
  cr_expect(hash == 0x0c2f89df33e85269u, "%016llx", (unsigned long long)hash);
}

Test(core, activations_keep_their_bounds) {
  mpfr_t x, v, s, t;
  mpfr_inits2(PRECISION, x, v, s, t, (mpfr_ptr)0);
  random_stream r = random_start(7, 3, 0);
  for (int i = 0; i < 40000; i++) {
    double d = (double)(float)draw(&r, -40, 7);
    for (int gelu = 0; gelu <= 1; gelu++) {
      mpfr_set_d(x, d, MPFR_RNDN);
      mpfr_set(v, x, MPFR_RNDN);    /* the argument of sigma */
      mpfr_set_ui(t, 1, MPFR_RNDN); /* and its derivative */
      if (gelu) {
        mpfr_const_pi(s, MPFR_RNDN);
        mpfr_ui_div(s, 8, s, MPFR_RNDN);
        mpfr_sqrt(s, s, MPFR_RNDN);
        mpfr_sqr(v, x, MPFR_RNDN);
        mpfr_mul_ui(v, v, 44715, MPFR_RNDN);
        mpfr_div_ui(v, v, 1000000, MPFR_RNDN);
        mpfr_mul_ui(t, v, 3, MPFR_RNDN);
        mpfr_add_ui(t, t, 1, MPFR_RNDN);
        mpfr_mul(t, t, s, MPFR_RNDN);
        mpfr_add_ui(v, v, 1, MPFR_RNDN);
        mpfr_mul(v, v, x, MPFR_RNDN);
        mpfr_mul(v, v, s, MPFR_RNDN);
      }
      mpfr_sigmoid(s, v, MPFR_RNDN);
      double size = fabs(mpfr_get_d(v, MPFR_RNDN));
      core_activation got = gelu ? core_gelu64(d) : core_silu64(d);
      mpfr_mul(v, s, x, MPFR_RNDN);
      double e = relative_error(got.value, 0, v);
      double near = gelu ? 0x1.5p-44 : 0x1p-45, far = gelu ? 0x1.fp-43 : 0x1.5p-44;
      if (d > 0) near = far = gelu ? 0x1.6p-50 : 0x1.4p-50;
      if (d >= (gelu ? -16 : -320))
        cr_assert(e <= (size <= 110 ? near : far), "%s(%a): 2^%.2f", gelu ? "gelu" : "silu", d,
                  log2(e));
      mpfr_ui_sub(x, 1, s, MPFR_RNDN); /* sigma + x sigma (1 - sigma) t */
      mpfr_mul(v, v, x, MPFR_RNDN);
      mpfr_mul(v, v, t, MPFR_RNDN);
      mpfr_add(v, v, s, MPFR_RNDN);
      mpfr_d_sub(v, got.derivative, v, MPFR_RNDN);
      e = fabs(mpfr_get_d(v, MPFR_RNDN));
      cr_assert(e <= (gelu ? 0x1p-47 : 0x1p-48), "%s'(%a): 2^%.2f", gelu ? "gelu" : "silu", d,
                log2(e));
    }
  }
  cr_expect_eq(core_silu(-INFINITY), 0);
  cr_expect_eq(core_gelu(-INFINITY), 0);
  cr_expect_eq(core_silu(INFINITY), INFINITY);
  cr_expect_eq(core_silu_derivative(INFINITY), 1);
  cr_expect_eq(core_gelu_derivative(INFINITY), 1);
  cr_expect_eq(core_gelu_derivative(-INFINITY), 0);
  cr_expect(isnan(core_silu(NAN)) && isnan(core_gelu(NAN)));
  mpfr_clears(x, v, s, t, (mpfr_ptr)0);
}

/* (E2n), for every number of bfloat16: beside the functions above, which are known to 2^-42. */
/* Of d that are spread evenly and such as lie beside the places where k changes. */
Test(core, exponentials_below_1_keep_their_bounds) {
  mpfr_t exact, difference;
  mpfr_init2(exact, 120);
  mpfr_init2(difference, 120);
  double worst = 0, worst_short = 0;
  for (int32_t i = 0; i < 200000; i++) {
    const double d = i % 2 ? -700.0 * i / 200000 : -(i % 1000 + 0.5) * 0.693147 * (1 + i * 1e-12);
    mpfr_set_d(exact, d, MPFR_RNDN);
    mpfr_exp(exact, exact, MPFR_RNDN);
    const double got[] = {core_exp_below64(d), core_exp_below64_short(d)};
    double off[2];
    for (int j = 0; j < 2; j++) {
      mpfr_sub_d(difference, exact, got[j], MPFR_RNDN);
      mpfr_div(difference, difference, exact, MPFR_RNDN);
      off[j] = fabs(mpfr_get_d(difference, MPFR_RNDN));
    }
    const double bound = (7.2 - 0.13 * d) * 0x1p-53;
    cr_assert(off[0] <= bound && off[1] <= 0x1.3ap-39, "%a: %a, %a", d, off[0], off[1]);
    worst = fmax(worst, off[0] / bound);
    worst_short = fmax(worst_short, off[1]);
  }
  cr_expect(worst > 0.5 && worst_short > 0x1p-39, "%g of the bound, %a", worst, worst_short);
  cr_expect_eq(core_exp_below64(0.0), 1.0);
  cr_expect_eq(core_exp_below64_short(0.0), 1.0);
  cr_expect(core_exp_below64(-INFINITY) < 0x1p-1009 && core_exp_below64(-1e300) < 0x1p-1009);
  mpfr_clear(exact);
  mpfr_clear(difference);
}

Test(core, activations_of_bfloat16_keep_their_bounds) {
  const double u = 0x1p-24;
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    const float x = core_float(bits << 16);
    if (!(x - x == 0)) continue;
    const double d = (double)x, w = 1.5957691216057308 * d * (1 + 0.044715 * d * d);
    for (int gelu = 0; gelu <= 1; gelu++) {
      const core_activation want = gelu ? core_gelu64(d) : core_silu64(d);
      const core_activation32 got = gelu ? core_gelu32(x) : core_silu32(x);
      const double relative = gelu ? (d < 0 ? 16 + 5 * fabs(w) : 8) : d < 0 ? 14.5 : 6.5;
      const double least = gelu ? 0x1p-144 : 0x1p-142, of_slope = gelu ? 35 : 14;
      cr_assert_leq(fabs((double)got.value - want.value),
                    (relative * u + 0x1p-41) * fabs(want.value) + least, "%s(%a): %a, not %a",
                    gelu ? "gelu" : "silu", d, (double)got.value, want.value);
      cr_assert_leq(fabs((double)got.derivative - want.derivative), of_slope * u + 0x1p-46,
                    "%s'(%a): %a, not %a", gelu ? "gelu" : "silu", d, (double)got.derivative,
                    want.derivative);
    }
  }
  const float infinity = core_float(0x7f800000u);
  cr_expect(core_silu32(-infinity).value == 0 && core_gelu32(-infinity).value == 0);
  cr_expect(core_silu32(infinity).value == infinity && core_gelu32(infinity).value == infinity);
  cr_expect(core_silu32(infinity).derivative == 1 && core_gelu32(infinity).derivative == 1);
  cr_expect(core_silu32(-infinity).derivative == 0 && core_gelu32(-infinity).derivative == 0);
  cr_expect(isnan(core_silu32(NAN).value) && isnan(core_gelu32(NAN).value));
  cr_expect(isnan(core_silu32(NAN).derivative) && isnan(core_gelu32(NAN).derivative));
}

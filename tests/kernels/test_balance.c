/* The balance kernels against the reference, on what breaks formulas: alphas next to 1, vectors
   next to uniform, zeros, one expert, odd numbers of experts, extreme parameters; and against
   written-down answers where the mathematics is exact. `phibal verify` has the generated cases. */
#include "verify/random.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <phibal/balance.h>
#include <phibal/reference_moe.h>
#include <phibal/rounding.h>
#include <string.h>

/* Enough for tsallis with alpha = 1e300, whose price -1e-300 the reference finds by a subtraction
   from 1. */
enum { PRECISION = 1200, MOST = PHIBAL_MAX_EXPERTS };

/* got against [lo, hi]: the error's upper bound over the ULP of the truth, after `slack`
   absolutely. */
static double error_ulp(const phibal_enclosure *truth, double slack, float got) {
  if (isinf(got)) { /* right if the truth rounds to it */
    double rounded;
    bool sure =
        phibal_round_enclosure(truth, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, &rounded);
    return sure && rounded == (double)got ? 0 : INFINITY;
  }
  mpfr_t d;
  mpfr_init2(d, PRECISION);
  mpfr_sub_d(d, truth->lo, (double)got, MPFR_RNDN);
  double low = fabs(mpfr_get_d(d, MPFR_RNDA));
  mpfr_sub_d(d, truth->hi, (double)got, MPFR_RNDN);
  double high = fabs(mpfr_get_d(d, MPFR_RNDA));
  mpfr_clear(d);
  double error = (low > high ? low : high) - slack;
  if (error <= 0) return 0;
  return error / phibal_format_ulp(PHIBAL_FORMAT_BINARY32, mpfr_get_d(truth->lo, MPFR_RNDZ));
}

/* Price and centred price within what balance.h promises. 1/2 + 2^-40 ULP: where no price is
   near 0 the double-double is known to 2^-60 ULP, so that anything beyond 1/2 is an error of the
   rounding. */
static void check_prices(phibal_potential p, int32_t E, const float *m, const char *what) {
  float price[MOST], centred[MOST];
  int32_t floored = -1, expected = -2;
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E + 1, PRECISION);
  cr_assert_eq(phibal_price(&p, E, m, price, &floored), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(phibal_reference_price(&p, E, m, PRECISION, truth, &expected), PHIBAL_OK, "%s",
               phibal_status_message());
  cr_assert_eq(floored, expected);
  for (int32_t e = 0; e < E; e++) {
    double error = error_ulp(&truth[e], 0, price[e]);
    cr_assert(error <= 0.5 + 0x1p-40, "%s: %s(%.17g), m = %a: price %a is off by %g ULP", what,
              phibal_potential_describe(p.id)->name, p.parameter, (double)m[e], (double)price[e],
              error);
  }
  cr_assert_eq(phibal_price_centred(&p, E, m, centred, NULL), PHIBAL_OK);
  cr_assert_eq(phibal_reference_price_centred(&p, E, m, PRECISION, truth, &truth[E], NULL),
               PHIBAL_OK, "%s", phibal_status_message());
  double slack = 0x1p-90 * mpfr_get_d(truth[E].hi, MPFR_RNDD);
  for (int32_t e = 0; e < E; e++) {
    double error = error_ulp(&truth[e], slack, centred[e]);
    cr_assert(error <= 0.5 + 0x1p-40, "%s: %s(%.17g), m = %a: centred price %a is off by %g ULP",
              what, phibal_potential_describe(p.id)->name, p.parameter, (double)m[e],
              (double)centred[e], error);
  }
  phibal_enclosure_vector_clear(truth, (size_t)E + 1);
}

static const phibal_potential potentials[] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  {PHIBAL_POTENTIAL_##ID, fallback},
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
    {PHIBAL_POTENTIAL_LP, 1},
    {PHIBAL_POTENTIAL_LP, 1 + 0x1p-52},
    {PHIBAL_POTENTIAL_LP, 1.001},
    {PHIBAL_POTENTIAL_LP, 2},
    {PHIBAL_POTENTIAL_LP, 27},
    {PHIBAL_POTENTIAL_LP, 1e17},
    {PHIBAL_POTENTIAL_LP, DBL_MAX},
    {PHIBAL_POTENTIAL_LP, INFINITY},
    {PHIBAL_POTENTIAL_SOFT_L1, 1e-12},
    {PHIBAL_POTENTIAL_SOFT_L1, 0x1p-1074},
    {PHIBAL_POTENTIAL_SOFT_L1, DBL_MAX},
    {PHIBAL_POTENTIAL_TSALLIS, 0x1p-1074},
    {PHIBAL_POTENTIAL_TSALLIS, 0.5},
    {PHIBAL_POTENTIAL_TSALLIS, 0.999},
    {PHIBAL_POTENTIAL_TSALLIS, 1 - 0x1p-53},
    {PHIBAL_POTENTIAL_TSALLIS, 1 + 0x1p-52},
    {PHIBAL_POTENTIAL_TSALLIS, 1.001},
    {PHIBAL_POTENTIAL_TSALLIS, 2},
    {PHIBAL_POTENTIAL_TSALLIS, 2.5},
    {PHIBAL_POTENTIAL_TSALLIS, 40},
    {PHIBAL_POTENTIAL_TSALLIS, 1e300},
    {PHIBAL_POTENTIAL_RENYI, 1e-6},
    {PHIBAL_POTENTIAL_RENYI, 0.5},
    {PHIBAL_POTENTIAL_RENYI, 0.999},
    {PHIBAL_POTENTIAL_RENYI, 1 - 0x1p-53},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, 1e-30},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, 1e-200},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, 1e200},
    {PHIBAL_POTENTIAL_LOG_COSH, 300},
    {PHIBAL_POTENTIAL_LOG_COSH, 1e-300},
    {PHIBAL_POTENTIAL_LOG_COSH, DBL_MAX},
};
enum { POTENTIALS = sizeof potentials / sizeof *potentials };

Test(balance, prices_of_every_potential_on_what_breaks_formulas) {
  random_stream r = random_start(9, 1, 0);
  static const int32_t sizes[] = {1, 2, 3, 8, 13, 64};
  for (int i = 0; i < POTENTIALS; i++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      int32_t E = sizes[s];
      float m[64];
      for (int32_t e = 0; e < E; e++) m[e] = (float)fmin(1, random_unit(&r) * 2 / E);
      check_prices(potentials[i], E, m, "ordinary");
      for (int32_t e = 0; e < E; e++)
        m[e] = fminf(1, 1.0f / (float)E * (1 + 0x1p-23f * (float)random_integer(&r, -3, 3)));
      check_prices(potentials[i], E, m, "near uniform");
      for (int32_t e = 0; e < E; e++) m[e] = e == E / 2 ? 1.0f : 0.0f;
      check_prices(potentials[i], E, m, "one hot");
      for (int32_t e = 0; e < E; e++)
        m[e] = (float)ldexp(1 + random_unit(&r), (int)random_integer(&r, -149, -100));
      check_prices(potentials[i], E, m, "tiny");
      for (int32_t e = 0; e < E; e++)
        m[e] = (float)ldexp(1 + random_unit(&r), (int)random_integer(&r, -149, -1));
      check_prices(potentials[i], E, m, "wide");
      memset(m, 0, sizeof m);
      check_prices(potentials[i], E, m, "zeros");
    }
}

Test(balance, the_largest_number_of_experts) {
  random_stream r = random_start(9, 2, 0);
  static float m[MOST];
  for (int e = 0; e < MOST; e++) m[e] = (float)((1 + 1e-3 * random_normal(&r)) / MOST);
  check_prices((phibal_potential){PHIBAL_POTENTIAL_RENYI, 0.999}, MOST, m, "E = 1024");
  check_prices((phibal_potential){PHIBAL_POTENTIAL_NEGENTROPY, 0}, MOST - 1, m, "E = 1023");
}

Test(balance, equal_loads_and_one_expert_centre_to_exactly_zero) {
  for (int i = 0; i < POTENTIALS; i++)
    for (int32_t E = 1; E <= 67; E += 3) {
      float m[67], centred[67];
      for (int32_t e = 0; e < E; e++) m[e] = 1.0f / (float)E;
      memset(centred, 0xff, sizeof centred);
      cr_assert_eq(phibal_price_centred(&potentials[i], E, m, centred, NULL), PHIBAL_OK);
      for (int32_t e = 0; e < E; e++) cr_assert(centred[e] == 0.0f && !signbit(centred[e]));
    }
}

Test(balance, tsallis_prices_that_are_exactly_zero) {
  static const struct {
    double alpha;
    float m;
  } zeros[] = {{2, 0.5f}, {0.5, 0.25f}, {0.75, 0x1.44p-2f}, {0.875, 5764801.0f / 16777216.0f}};
  for (size_t i = 0; i < 4; i++) {
    phibal_potential p = {PHIBAL_POTENTIAL_TSALLIS, zeros[i].alpha};
    float m[3] = {zeros[i].m, nextafterf(zeros[i].m, 0), nextafterf(zeros[i].m, 1)}, price[3];
    cr_assert_eq(phibal_price(&p, 3, m, price, NULL), PHIBAL_OK);
    cr_expect_eq(price[0], 0.0f, "alpha = %g: %a", zeros[i].alpha, (double)price[0]);
    cr_expect(price[1] < 0 && price[2] > 0); /* and the neighbours are not */
    check_prices(p, 3, m, "at the zero");
  }
}

Test(balance, prices_beyond_binary32_are_infinite_and_centre_to_infinities) {
  phibal_potential p = {PHIBAL_POTENTIAL_LP, 100};
  float m[4] = {0x1p20f, 0x1p19f, 0x1p20f, 0.5f}, price[4], centred[4];
  cr_assert_eq(phibal_price(&p, 4, m, price, NULL), PHIBAL_OK);
  cr_expect(price[0] == INFINITY && price[1] == INFINITY && price[3] == 0x1p-99f);
  cr_assert_eq(phibal_price_centred(&p, 4, m, centred, NULL), PHIBAL_OK);
  cr_expect(centred[0] == INFINITY && centred[1] == -INFINITY && centred[2] == INFINITY &&
            centred[3] == -INFINITY);
  float loads[4] = {0, 0, 0, 1}, loss;
  cr_assert_eq(phibal_balance_loss(&p, 4, 1, loads, m, &loss), PHIBAL_OK);
  cr_expect_eq(loss, 0x1p-97f); /* 4 2^-99; infinite prices without loads count nothing */
  loads[1] = 1;
  cr_assert_eq(phibal_balance_loss(&p, 4, -1, loads, m, &loss), PHIBAL_OK);
  cr_expect_eq(loss, -INFINITY);
}

Test(balance, price_limits) {
  float m[4] = {0.5f, 0.25f, 0.5f, 0}, price[4];
  phibal_potential p = {PHIBAL_POTENTIAL_LP, INFINITY};
  cr_assert_eq(phibal_price(&p, 4, m, price, NULL), PHIBAL_OK);
  cr_expect(price[0] == 0.5f && price[1] == 0 && price[2] == 0.5f && price[3] == 0);
  p.parameter = 1;
  cr_assert_eq(phibal_price(&p, 4, m, price, NULL), PHIBAL_OK);
  cr_expect(price[0] == 1 && price[1] == 1 && price[2] == 1 && price[3] == 0);
  int32_t floored = -1;
  p = (phibal_potential){PHIBAL_POTENTIAL_NEGENTROPY, 0};
  m[1] = 0x1p-149f;
  cr_assert_eq(phibal_price(&p, 4, m, price, &floored), PHIBAL_OK);
  cr_expect_eq(floored, 2);
  cr_expect_eq(price[1], price[3]);
  cr_expect_float_eq(price[3], 1 - 126 * (float)M_LN2, 1e-4f);
}

Test(balance, ema_is_correctly_rounded) {
  random_stream r = random_start(9, 3, 0);
  enum { E = 64 };
  float m[E], loads[E], next[E];
  phibal_enclosure *truth = phibal_enclosure_vector(E, 1200);
  for (int i = 0; i < 300; i++) {
    static const float etas[] = {1, 0.5f, 0x1p-24f, 0x1p-25f, 0x1p-149f, 0x1.fffffep-1f, 0.1f};
    float eta = i % 2 ? etas[(i / 2) % 7] : (float)random_uniform(&r, 1e-6, 1);
    for (int e = 0; e < E; e++) {
      int low = e % 3 ? -149 : -3;
      m[e] = (float)ldexp(1 + random_unit(&r), (int)random_integer(&r, low, 0));
      loads[e] = (float)ldexp(1 + random_unit(&r), (int)random_integer(&r, low, 0));
      if (e % 7 == 0) m[e] = 0;
      if (e % 5 == 0) loads[e] = 0;
    }
    cr_assert_eq(phibal_reference_ema(E, eta, m, loads, 1200, truth), PHIBAL_OK);
    cr_assert_eq(phibal_ema(E, eta, m, loads, next), PHIBAL_OK);
    cr_assert_eq(phibal_ema(E, eta, m, loads, m), PHIBAL_OK); /* in place */
    cr_assert(memcmp(m, next, sizeof m) == 0);
    for (int e = 0; e < E; e++) {
      double expected;
      cr_assert(phibal_round_enclosure(&truth[e], PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST,
                                       &expected));
      cr_assert((double)next[e] == expected, "eta %a, element %d: %a, not %a", (double)eta, e,
                (double)next[e], expected);
    }
  }
  phibal_enclosure_vector_clear(truth, E);
}

Test(balance, ema_sees_what_lies_far_below_a_tie) {
  /* (1 - eta) m + eta P = 1 + 2^-23 + 2^-24 - 2^-100 (1 + 2^-23): a tie but for the last term. */
  float m[2] = {0x1.000002p0f, 0x1.000002p0f}, loads[2] = {0x1p76f, 0x1.000002p76f}, next[2];
  cr_assert_eq(phibal_ema(2, 0x1p-100f, m, loads, next), PHIBAL_OK);
  cr_expect_eq(next[0], 0x1.000002p0f);
  cr_expect_eq(next[1], 0x1.000004p0f); /* above the tie */
}

Test(balance, frequencies_centre_to_the_last_bit) {
  random_stream r = random_start(9, 6, 0);
  enum { E = 50 };
  phibal_enclosure *truth = phibal_enclosure_vector(E, 1024);
  for (int i = 0; i < 200; i++) {
    float f[E], centred[E];
    int32_t n = (int32_t)random_integer(&r, 1, E);
    int low = i % 2 ? -12 : -149;
    for (int e = 0; e < n; e++)
      f[e] = (float)ldexp(random_uniform(&r, -1, 1), (int)random_integer(&r, low, 0));
    cr_assert_eq(phibal_frequency_centred(n, f, centred), PHIBAL_OK);
    cr_assert_eq(phibal_reference_frequency_centred(n, f, 1024, truth), PHIBAL_OK);
    for (int e = 0; e < n; e++) {
      double error = error_ulp(&truth[e], 0, centred[e]);
      cr_assert(error <= 0.5 + 0x1p-40, "element %d of %d: %a is off by %g ULP", e, (int)n,
                (double)centred[e], error);
    }
  }
  phibal_enclosure_vector_clear(truth, E);
}

Test(balance, frequencies_centre_exactly) {
  float f[5] = {0x1p100f, -0x1p100f, 0x1p-149f, 0x1p-149f, 0x1.8p-148f}, centred[5];
  cr_assert_eq(phibal_frequency_centred(5, f, centred), PHIBAL_OK);
  /* The two large ones cancel in the sum to nothing: it is 5 2^-149, the mean 2^-149. */
  cr_expect_eq(centred[0], 0x1p100f);
  cr_expect_eq(centred[1], -0x1p100f);
  cr_expect_eq(centred[2], 0.0f);
  cr_expect_eq(centred[4], 0x1p-148f);
  float same[3] = {0.1f, 0.1f, 0.1f};
  cr_assert_eq(phibal_frequency_centred(3, same, centred), PHIBAL_OK);
  for (int e = 0; e < 3; e++) cr_expect_eq(centred[e], 0.0f);
}

static void check_loss(float got, const phibal_enclosure *truth, double slack, const char *what,
                       double alpha, double parameter) {
  double error = error_ulp(truth, slack, got);
  cr_assert(error <= 0.5 + 0x1p-40, "%s(%g), alpha %g: %a is off by %g ULP", what, parameter, alpha,
            (double)got, error);
}

Test(balance, losses_with_extreme_coefficients) {
  static const double alphas[] = {1, -0.01, 0, 1e-300, 1e300, 0x1p-1074, 3e-45};
  random_stream r = random_start(9, 4, 0);
  phibal_enclosure truth, terms;
  phibal_enclosure_init(&truth, PRECISION);
  phibal_enclosure_init(&terms, PRECISION);
  for (int i = 0; i < 7; i++)
    for (int32_t E = 1; E <= 40; E += 13) {
      float m[40], loads[40], loss;
      for (int32_t e = 0; e < E; e++) {
        m[e] = (float)(random_unit(&r) / E);
        loads[e] =
            e % 4 == 1 ? 0.0f : (float)ldexp(random_unit(&r), (int)random_integer(&r, -40, 0));
      }
      cr_assert_eq(phibal_switch_loss(E, alphas[i], m, loads, &loss), PHIBAL_OK);
      cr_assert_eq(phibal_reference_switch_loss(E, alphas[i], m, loads, PRECISION, &truth, NULL),
                   PHIBAL_OK);
      check_loss(loss, &truth, 0, "switch", alphas[i], 0);
      for (int p = 0; p < POTENTIALS; p += 3) {
        cr_assert_eq(phibal_balance_loss(&potentials[p], E, alphas[i], loads, m, &loss), PHIBAL_OK);
        cr_assert_eq(phibal_reference_balance_loss(&potentials[p], E, alphas[i], loads, m,
                                                   PRECISION, &truth, &terms),
                     PHIBAL_OK);
        check_loss(loss, &truth, 0x1p-90 * mpfr_get_d(terms.hi, MPFR_RNDD),
                   phibal_potential_describe(potentials[p].id)->name, alphas[i],
                   potentials[p].parameter);
      }
    }
  phibal_enclosure_clear(&truth);
  phibal_enclosure_clear(&terms);
}

Test(balance, z_loss_does_not_see_the_order) {
  enum { T = 4000 };
  random_stream r = random_start(9, 5, 0);
  static float x[T], y[T];
  static uint8_t mask[T], reversed[T];
  for (int wide = 0; wide <= 1; wide++) {
    for (int t = 0; t < T; t++) {
      int size = (int)random_integer(&r, wide ? -149 : -10, wide ? 127 : 7);
      x[t] = (float)ldexp(random_uniform(&r, -1, 1), size);
      mask[t] = random_integer(&r, 0, 4) > 0;
      if (!mask[t]) x[t] = NAN; /* padding may hold anything */
    }
    for (int t = 0; t < T; t++) {
      y[t] = x[T - 1 - t];
      reversed[t] = mask[T - 1 - t];
    }
    float loss, other;
    phibal_enclosure truth;
    phibal_enclosure_init(&truth, 1024);
    cr_assert_eq(phibal_z_loss(T, 1e-30, x, mask, &loss), PHIBAL_OK);
    cr_assert_eq(phibal_z_loss(T, 1e-30, y, reversed, &other), PHIBAL_OK);
    cr_expect_eq(loss, other);
    cr_assert_eq(phibal_reference_z_loss(T, 1e-30, x, mask, 1024, &truth), PHIBAL_OK, "%s",
                 phibal_status_message());
    check_loss(loss, &truth, 0, "z", 1e-30, 0);
    phibal_enclosure_clear(&truth);
  }
  float loss = -1;
  cr_expect_eq(phibal_z_loss(0, 1, NULL, NULL, &loss), PHIBAL_OK);
  cr_expect_eq(loss, 0);
  memset(mask, 0, sizeof mask);
  cr_expect_eq(phibal_z_loss(T, 1, x, mask, &loss), PHIBAL_OK);
  cr_expect_eq(loss, 0);
  float least[3] = {0x1p-149f, 0, -0x1p-149f}; /* squares of 2^-298 count */
  cr_expect_eq(phibal_z_loss(3, 0x1.8p220, least, NULL, &loss), PHIBAL_OK);
  cr_expect_eq(loss, 0x1p-78f);
  float one[2] = {3, -2};
  cr_expect_eq(phibal_z_loss(2, 0.5, one, NULL, &loss), PHIBAL_OK);
  cr_expect_eq(loss, 3.25f);
}

Test(balance, loss_free_compares_in_integers) {
  /* mean 2^51 + 1/3: in binary64 the count 2^51 would still be seen, in binary32 nothing would. */
  int64_t count[3] = {INT64_C(1) << 51, INT64_C(1) << 51, (INT64_C(1) << 51) + 1};
  float bias[3] = {1, 0, 0.25f};
  cr_assert_eq(phibal_loss_free_update(3, 0.001f, count, bias), PHIBAL_OK);
  cr_expect_eq(bias[0], 1.0f + 0.001f);
  cr_expect_eq(bias[1], 0.001f);
  cr_expect_eq(bias[2], 0.25f - 0.001f);
  int64_t equal[3] = {5, 5, 5};
  cr_assert_eq(phibal_loss_free_update(3, 0.5f, equal, bias), PHIBAL_OK);
  cr_expect_eq(bias[1], 0.001f);
}

Test(balance, errors_name_what_is_wrong) {
  phibal_potential p = {PHIBAL_POTENTIAL_NEGENTROPY, 0};
  float m[3] = {0.5f, -0.25f, 0.25f}, out[3];
  int64_t count[2] = {1, -1};
  cr_expect_eq(phibal_price(&p, 3, m, out, NULL), PHIBAL_ERROR_DOMAIN);
  cr_expect_not_null(strstr(phibal_status_message(), "expert 1"));
  cr_expect_eq(phibal_price_centred(&p, 0, m, out, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_price(&p, MOST + 1, m, out, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_price(NULL, 3, m, out, NULL), PHIBAL_ERROR_ARGUMENT);
  m[1] = NAN;
  cr_expect_eq(phibal_price_centred(&p, 3, m, out, NULL), PHIBAL_ERROR_DOMAIN);
  cr_expect_eq(phibal_ema(3, 0.5f, m, m, out), PHIBAL_ERROR_DOMAIN);
  m[1] = 0.25f;
  cr_expect_eq(phibal_ema(3, 0.0f, m, m, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_ema(3, NAN, m, m, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_ema(3, 1.5f, m, m, out), PHIBAL_ERROR_ARGUMENT);
  p = (phibal_potential){PHIBAL_POTENTIAL_TSALLIS, 1};
  cr_expect_eq(phibal_price(&p, 3, m, out, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_balance_loss(&p, 3, 1, m, m, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_switch_loss(3, INFINITY, m, m, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_loss_free_update(2, 0.1f, count, out), PHIBAL_ERROR_DOMAIN);
  cr_expect_not_null(strstr(phibal_status_message(), "expert 1"));
  m[2] = INFINITY;
  cr_expect_eq(phibal_z_loss(3, 1, m, NULL, out), PHIBAL_ERROR_NONFINITE);
  cr_expect_not_null(strstr(phibal_status_message(), "token 2"));
  cr_expect_eq(phibal_frequency_centred(3, m, out), PHIBAL_ERROR_DOMAIN);
  cr_expect_eq(phibal_z_loss(-1, 1, m, NULL, out), PHIBAL_ERROR_ARGUMENT);
}

/* The reference's average, prices, phi loss and loss-free update (M1) to (M3), (L1), (L6) against
   Arb. */
#include "arb_formula.h"
#include "reference_oracle.h"
#include <float.h>

enum { BITS = 192 };

static const phibal_potential potentials[] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  {PHIBAL_POTENTIAL_##ID, fallback},
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
    {PHIBAL_POTENTIAL_LP, 1.5},        {PHIBAL_POTENTIAL_LP, 2.0},
    {PHIBAL_POTENTIAL_LP, 7.0},        {PHIBAL_POTENTIAL_TSALLIS, 0.5},
    {PHIBAL_POTENTIAL_TSALLIS, 0.999}, {PHIBAL_POTENTIAL_TSALLIS, 3.0},
    {PHIBAL_POTENTIAL_RENYI, 0.3},     {PHIBAL_POTENTIAL_RENYI, 0.999},
    {PHIBAL_POTENTIAL_LOG_COSH, 2.0},
};
enum { POTENTIALS = sizeof potentials / sizeof *potentials };

static bool raises(const phibal_potential *phi) {
  return phi->id == PHIBAL_POTENTIAL_NEGENTROPY || phi->id == PHIBAL_POTENTIAL_RENYI ||
         (phi->id == PHIBAL_POTENTIAL_TSALLIS && phi->parameter < 1.0);
}

/* sum_e x_e^a */
static void oracle_power_sum(arb_t z, int32_t n, arb_srcptr x, const arb_t a) {
  arb_t t;
  arb_init(t);
  arb_zero(z);
  for (int32_t e = 0; e < n; e++) {
    arb_pow(t, x + e, a, ORACLE_PRECISION);
    arb_add(z, z, t, ORACLE_PRECISION);
  }
  arb_clear(t);
}

/* x^b for x >= 0 and b > -1 where x = 0 only if b > 0. */
static void oracle_power(arb_t z, const arb_t x, const arb_t b) {
  if (arb_is_zero(x))
    arb_zero(z);
  else
    arb_pow(z, x, b, ORACLE_PRECISION);
}

/* q = grad phi(x)_e from the table of potentials: x one coordinate, a the parameter, s = sum x^a.
 */
static void oracle_gradient(phibal_potential_id id, arb_t q, const arb_t x, const arb_t a,
                            const arb_t s) {
  const slong P = ORACLE_PRECISION;
  arb_t t, b;
  arb_init(t);
  arb_init(b);
  arb_sub_si(b, a, 1, P); /* a - 1 */
  switch (id) {
  case PHIBAL_POTENTIAL_LP:
    oracle_power(q, x, b);
    break;
  case PHIBAL_POTENTIAL_NEGENTROPY:
    arb_log(q, x, P);
    arb_add_si(q, q, 1, P);
    break;
  case PHIBAL_POTENTIAL_TSALLIS:
    oracle_power(q, x, b);
    arb_mul(q, q, a, P);
    arb_sub_si(q, q, 1, P);
    arb_div(q, q, b, P);
    break;
  case PHIBAL_POTENTIAL_RENYI:
    oracle_power(q, x, b);
    arb_mul(q, q, a, P);
    arb_div(q, q, b, P);
    arb_div(q, q, s, P);
    break;
#define POTENTIAL_FORMULAS CASES_OF_POTENTIAL_FORMULAS
#include "potential_formulas.def"
#undef POTENTIAL_FORMULAS
    formula_evaluate(q, potential_formulas[id][1], x, a, P);
    break;
  case PHIBAL_POTENTIAL_COUNT:
    cr_assert_fail("no such potential");
  }
  arb_clear(b);
  arb_clear(t);
}

/* Prices by the kernels' conventions; returns how many m_e were raised. */
static int32_t oracle_price(const phibal_potential *phi, int32_t n, const float *m, arb_ptr q) {
  int32_t raised = 0;
  arb_ptr x = _arb_vec_init(n);
  arb_t a, s;
  arb_init(a);
  arb_init(s);
  for (int32_t e = 0; e < n; e++) {
    bool low = raises(phi) && m[e] < FLT_MIN;
    raised += low;
    arb_set_d(x + e, low ? (double)FLT_MIN : (double)m[e]);
  }
  arb_set_d(a, phi->parameter);
  if (phi->id == PHIBAL_POTENTIAL_RENYI) oracle_power_sum(s, n, x, a);
  for (int32_t e = 0; e < n; e++) oracle_gradient(phi->id, q + e, x + e, a, s);
  arb_clear(s);
  arb_clear(a);
  _arb_vec_clear(x, n);
  return raised;
}

typedef enum state_pattern {
  STATE_SIMPLEX, /* like an average of loads */
  STATE_EQUAL,
  STATE_ONE_HOT, /* one 1, the others 0 */
  STATE_SMALL,   /* down to subnormals, with a zero */
  STATE_NEAR,    /* neighbours of 1/n */
  STATE_PATTERNS
} state_pattern;

static void state_generate(state_pattern pattern, int32_t n, float *m, uint64_t *seed) {
  for (int32_t e = 0; e < n; e++) {
    double u = random_uniform(seed);
    if (pattern == STATE_EQUAL) m[e] = 1.0f / (float)n;
    if (pattern == STATE_ONE_HOT) m[e] = e == n / 2 ? 1.0f : 0.0f;
    if (pattern == STATE_SMALL) m[e] = e == 0 ? 0.0f : (float)exp2(-150.0 * u);
    if (pattern == STATE_NEAR) m[e] = nextafterf(1.0f / (float)n, u < 0.5 ? 0.0f : 1.0f);
    if (pattern == STATE_SIMPLEX) m[e] = (float)(2.0 * u / n);
  }
}

static const int32_t sizes[] = {1, 2, 5, 16, 67};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 67 };

static void check_prices(const phibal_potential *phi, int32_t n, const float *m, const float *loads,
                         const char *what) {
  phibal_enclosure *q = phibal_enclosure_vector((size_t)n, BITS);
  phibal_enclosure largest, loss, condition;
  phibal_enclosure_init(&largest, BITS);
  phibal_enclosure_init(&loss, BITS);
  phibal_enclosure_init(&condition, BITS);
  arb_ptr truth = _arb_vec_init(n);
  arb_t mean, sum, t, magnitude;
  arb_init(mean);
  arb_init(sum);
  arb_init(t);
  arb_init(magnitude);
  int32_t floored = -1, raised = oracle_price(phi, n, m, truth);
  cr_assert_eq(phibal_reference_price(phi, n, m, BITS, q, &floored), PHIBAL_OK, "%s: %s", what,
               phibal_status_message());
  cr_assert_eq(floored, raised, "%s", what);
  for (int32_t e = 0; e < n; e++)
    cr_assert(oracle_contains(&q[e], truth + e), "%s: price %d", what, (int)e);

  cr_assert_eq(phibal_reference_price_centred(phi, n, m, BITS, q, &largest, NULL), PHIBAL_OK);
  oracle_sum(mean, n, truth);
  arb_div_si(mean, mean, n, ORACLE_PRECISION);
  for (int32_t e = 0; e < n; e++) {
    arb_sub(t, truth + e, mean, ORACLE_PRECISION);
    cr_assert(oracle_contains(&q[e], t), "%s: centred price %d", what, (int)e);
    arb_abs(t, truth + e);
    cr_assert(oracle_compare_lower(largest.hi, t) >= 0, "%s: largest", what);
    /* The price itself is known within 2^10 units of the working precision (parameters such as
       1/(alpha - 1) = 1000 included), and so is its mean. */
    arb_set_si(magnitude, 0);
    for (int32_t i = 0; i < n; i++) {
      arb_abs(t, truth + i);
      arb_add(magnitude, magnitude, t, ORACLE_PRECISION);
    }
    arb_add_si(magnitude, magnitude, 1, ORACLE_PRECISION);
    cr_assert(oracle_is_narrow(&q[e], ldexp(1.0, 20 - BITS), magnitude), "%s: width", what);
  }

  cr_assert_eq(phibal_reference_balance_loss(phi, n, -0.3, loads, m, BITS, &loss, &condition),
               PHIBAL_OK);
  arb_zero(sum);
  arb_zero(magnitude);
  for (int32_t e = 0; e < n; e++) {
    arb_set_d(t, (double)loads[e]);
    arb_mul(t, t, truth + e, ORACLE_PRECISION);
    arb_add(sum, sum, t, ORACLE_PRECISION);
    arb_abs(t, t);
    arb_add(magnitude, magnitude, t, ORACLE_PRECISION);
  }
  arb_set_d(t, -0.3);
  arb_mul_si(t, t, n, ORACLE_PRECISION);
  arb_mul(sum, sum, t, ORACLE_PRECISION);
  arb_abs(t, t);
  arb_mul(magnitude, magnitude, t, ORACLE_PRECISION);
  cr_assert(oracle_contains(&loss, sum), "%s: loss", what);
  cr_assert(oracle_contains(&condition, magnitude), "%s: condition", what);

  arb_clear(magnitude);
  arb_clear(t);
  arb_clear(sum);
  arb_clear(mean);
  _arb_vec_clear(truth, n);
  phibal_enclosure_clear(&condition);
  phibal_enclosure_clear(&loss);
  phibal_enclosure_clear(&largest);
  phibal_enclosure_vector_clear(q, (size_t)n);
}

Test(reference_balance, prices_and_losses_agree_with_arb) {
  float m[LARGEST], loads[LARGEST];
  char what[96];
  for (int i = 0; i < POTENTIALS; i++)
    for (int s = 0; s < SIZES; s++)
      for (int pattern = 0; pattern < STATE_PATTERNS; pattern++) {
        uint64_t seed = 100u * (unsigned)i + 10u * (unsigned)s + (unsigned)pattern;
        state_generate((state_pattern)pattern, sizes[s], m, &seed);
        state_generate(STATE_SIMPLEX, sizes[s], loads, &seed);
        snprintf(what, sizeof what, "potential %d (%g), E = %d, pattern %d", (int)potentials[i].id,
                 potentials[i].parameter, (int)sizes[s], pattern);
        check_prices(&potentials[i], sizes[s], m, loads, what);
      }
}

/* lp at its ends, where there is no gradient everywhere but a documented price. */
Test(reference_balance, lp_at_one_and_infinity) {
  const float m[5] = {0.25f, 0.0f, 0.5f, -0.0f, 0.5f};
  phibal_enclosure *q = phibal_enclosure_vector(5, 64);
  phibal_potential one = {PHIBAL_POTENTIAL_LP, 1.0}, infinite = {PHIBAL_POTENTIAL_LP, INFINITY};
  const double signs[5] = {1.0, 0.0, 1.0, 0.0, 1.0}, shares[5] = {0.0, 0.0, 0.5, 0.0, 0.5};
  cr_assert_eq(phibal_reference_price(&one, 5, m, 64, q, NULL), PHIBAL_OK);
  for (int e = 0; e < 5; e++)
    cr_assert(phibal_enclosure_is_exact(&q[e]) && mpfr_cmp_d(q[e].lo, signs[e]) == 0);
  cr_assert_eq(phibal_reference_price(&infinite, 5, m, 64, q, NULL), PHIBAL_OK);
  for (int e = 0; e < 5; e++)
    cr_assert(phibal_enclosure_is_exact(&q[e]) && mpfr_cmp_d(q[e].lo, shares[e]) == 0);
  phibal_enclosure_vector_clear(q, 5);
}

/* (M1), with eta that is not 1/2, so that eta and 1 - eta swapped are seen. */
Test(reference_balance, ema_agrees_with_arb) {
  const float etas[] = {1.0f, 0.3f, 1e-3f, 0x1p-149f, 1.0f - 0x1p-24f};
  float m[LARGEST], loads[LARGEST];
  phibal_enclosure *next = phibal_enclosure_vector(LARGEST, 96);
  arb_t truth, t, eta;
  arb_init(truth);
  arb_init(t);
  arb_init(eta);
  for (int i = 0; i < 5; i++)
    for (int pattern = 0; pattern < STATE_PATTERNS; pattern++) {
      uint64_t seed = 9u * (unsigned)i + (unsigned)pattern;
      state_generate((state_pattern)pattern, LARGEST, m, &seed);
      state_generate(STATE_SIMPLEX, LARGEST, loads, &seed);
      cr_assert_eq(phibal_reference_ema(LARGEST, etas[i], m, loads, 96, next), PHIBAL_OK);
      for (int e = 0; e < LARGEST; e++) {
        arb_set_d(eta, (double)etas[i]);
        arb_set_d(truth, (double)loads[e]);
        arb_mul(truth, truth, eta, ORACLE_PRECISION);
        arb_sub_si(eta, eta, 1, ORACLE_PRECISION);
        arb_neg(eta, eta);
        arb_set_d(t, (double)m[e]);
        arb_addmul(truth, t, eta, ORACLE_PRECISION);
        cr_assert(oracle_contains(&next[e], truth), "eta %g, expert %d", (double)etas[i], e);
        /* three roundings of nonnegative terms: at most 4 units */
        cr_assert(oracle_is_narrow(&next[e], ldexp(8.0, -96), truth));
      }
    }
  arb_clear(eta);
  arb_clear(t);
  arb_clear(truth);
  phibal_enclosure_vector_clear(next, LARGEST);
}

/* (L6): up for the starved, down for the crowded, nothing at the mean; one rounding. Binary32
   addition in hardware is the independent implementation. */
Test(reference_balance, loss_free_update) {
  const int64_t count[5] = {10, 0, 6, 6, 8};
  const int64_t middle = INT64_C(1) << 61;
  const int64_t large[5] = {middle, middle - 1, middle + 1, middle, middle};
  const float bias[5] = {0.1f, -0.1f, 1.0f, 1e-3f, -0.0f};
  const float rates[3] = {1e-3f, 0x1p-149f, 1e30f};
  float next[5];
  for (int r = 0; r < 3; r++) {
    cr_assert_eq(phibal_reference_loss_free_update(5, rates[r], count, bias, next), PHIBAL_OK);
    for (int e = 0; e < 5; e++) { /* the mean is 6 */
      volatile float up = bias[e] + rates[r], down = bias[e] - rates[r];
      float expected = count[e] < 6 ? up : count[e] > 6 ? down : bias[e];
      cr_assert_eq(next[e], expected, "rate %g, expert %d", (double)rates[r], e);
    }
  }
  /* Counts that binary64 cannot tell from their mean, with a sum beyond 64 bits. */
  cr_assert_eq(phibal_reference_loss_free_update(5, 1.0f, large, bias, next), PHIBAL_OK);
  cr_assert(next[0] == bias[0] && next[1] > bias[1] && next[2] < bias[2] && next[3] == bias[3]);
}

Test(reference_balance, wrong_arguments_are_refused) {
  const float m[2] = {0.5f, -0.5f}, good[2] = {0.5f, 0.5f};
  phibal_potential phi = {PHIBAL_POTENTIAL_NEGENTROPY, 0.0}, bad = {PHIBAL_POTENTIAL_TSALLIS, 1.0};
  phibal_enclosure *q = phibal_enclosure_vector(2, 64);
  cr_assert_eq(phibal_reference_price(&phi, 2, m, 64, q, NULL), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_reference_price(&bad, 2, good, 64, q, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_price(&phi, 0, good, 64, q, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_ema(2, 0.0f, good, good, 64, q), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_ema(2, NAN, good, good, 64, q), PHIBAL_ERROR_ARGUMENT);
  phibal_enclosure_vector_clear(q, 2);
}

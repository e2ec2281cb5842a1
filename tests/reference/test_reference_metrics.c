/* The reference's balance metrics (V1) to (V5) against exact rationals and Arb. */
#include "reference_oracle.h"
#include <string.h>

enum { LARGEST = 67 };
static const int32_t sizes[] = {1, 2, 5, 16, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef enum load_pattern {
  LOADS_RANDOM,
  LOADS_EQUAL,
  LOADS_ONE_HOT,
  LOADS_SPARSE,
  LOADS_UNEQUAL_SCALES,
  LOADS_PATTERNS
} load_pattern;

/* binary32 numbers, so that the same loads serve every metric */
static void loads_generate(load_pattern pattern, int32_t n, double *x, uint64_t *seed) {
  for (int32_t e = 0; e < n; e++) {
    float u = (float)random_uniform(seed);
    if (pattern == LOADS_EQUAL) u = 0.3f;
    if (pattern == LOADS_ONE_HOT) u = e == n - 1 ? 0.7f : 0.0f;
    if (pattern == LOADS_SPARSE && e % 2) u = 0.0f;
    if (pattern == LOADS_UNEQUAL_SCALES) u = (float)exp2(-140.0 * (double)u);
    x[e] = (double)u;
  }
}

/* (V2) from the definition max / mean - 1. */
static void oracle_maxvio(int32_t n, const double *x, arb_t z) {
  arb_t t, mean;
  arb_init(t);
  arb_init(mean);
  arb_zero(z);
  for (int32_t e = 0; e < n; e++) {
    arb_set_d(t, x[e]);
    arb_max(z, z, t, ORACLE_PRECISION);
    arb_add(mean, mean, t, ORACLE_PRECISION);
  }
  arb_div_si(mean, mean, n, ORACLE_PRECISION);
  arb_div(z, z, mean, ORACLE_PRECISION);
  arb_sub_si(z, z, 1, ORACLE_PRECISION);
  arb_clear(mean);
  arb_clear(t);
}

/* (V3) by the sorted form: sum_i (2 i - n + 1) x_(i) / (n sum x), i from 0, x_(i) rising. */
static int double_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void oracle_gini(int32_t n, const double *x, arb_t z) {
  double sorted[LARGEST];
  memcpy(sorted, x, (size_t)n * sizeof *x);
  qsort(sorted, (size_t)n, sizeof *sorted, double_compare);
  arb_t t, sum;
  arb_init(t);
  arb_init(sum);
  arb_zero(z);
  for (int32_t i = 0; i < n; i++) {
    arb_set_d(t, sorted[i]);
    arb_add(sum, sum, t, ORACLE_PRECISION);
    arb_mul_si(t, t, 2 * i - n + 1, ORACLE_PRECISION);
    arb_add(z, z, t, ORACLE_PRECISION);
  }
  arb_div(z, z, sum, ORACLE_PRECISION);
  arb_div_si(z, z, n, ORACLE_PRECISION);
  arb_clear(sum);
  arb_clear(t);
}

/* (V4) by log(s) - sum x log x / s. */
static void oracle_entropy(int32_t n, const double *x, arb_t z) {
  arb_t t, log, sum;
  arb_init(t);
  arb_init(log);
  arb_init(sum);
  arb_zero(z);
  for (int32_t e = 0; e < n; e++) {
    arb_set_d(t, x[e]);
    arb_add(sum, sum, t, ORACLE_PRECISION);
    if (x[e] == 0.0) continue;
    arb_log(log, t, ORACLE_PRECISION);
    arb_addmul(z, t, log, ORACLE_PRECISION);
  }
  arb_div(z, z, sum, ORACLE_PRECISION);
  arb_log(log, sum, ORACLE_PRECISION);
  arb_sub(z, log, z, ORACLE_PRECISION);
  arb_clear(sum);
  arb_clear(log);
  arb_clear(t);
}

/* Widths are held to 2^12 units of the working precision (n <= 67 additions of terms that are known
   within a few) times 1 + the value's largest possible size, n. */
static void check_metrics(int32_t n, const double *x, const char *what) {
  enum { BITS = 160 };
  float single[LARGEST];
  for (int32_t e = 0; e < n; e++) single[e] = (float)x[e];
  phibal_enclosure z;
  phibal_enclosure_init(&z, BITS);
  arb_t truth, scale;
  arb_init(truth);
  arb_init(scale);
  arb_set_si(scale, n + 1);
  double limit = ldexp(1.0, 12 - BITS);
  cr_assert_eq(phibal_reference_maxvio_mean(n, single, BITS, &z), PHIBAL_OK);
  oracle_maxvio(n, x, truth);
  cr_assert(oracle_contains(&z, truth) && oracle_is_narrow(&z, limit, scale), "MaxVio: %s", what);
  cr_assert_eq(phibal_reference_gini(n, x, BITS, &z), PHIBAL_OK);
  oracle_gini(n, x, truth);
  cr_assert(oracle_contains(&z, truth) && oracle_is_narrow(&z, limit, scale), "Gini: %s", what);
  cr_assert_eq(phibal_reference_entropy(n, x, BITS, &z), PHIBAL_OK);
  oracle_entropy(n, x, truth);
  cr_assert(oracle_contains(&z, truth) && oracle_is_narrow(&z, limit, scale), "entropy: %s", what);
  arb_clear(scale);
  arb_clear(truth);
  phibal_enclosure_clear(&z);
}

Test(reference_metrics, metrics_agree_with_arb) {
  double x[LARGEST];
  char what[64];
  for (int s = 0; s < SIZES; s++)
    for (int pattern = 0; pattern < LOADS_PATTERNS; pattern++) {
      uint64_t seed = 10u * (unsigned)s + (unsigned)pattern;
      loads_generate((load_pattern)pattern, sizes[s], x, &seed);
      snprintf(what, sizeof what, "E = %d, pattern %d", (int)sizes[s], pattern);
      check_metrics(sizes[s], x, what);
    }
}

/* Known values: balance is 0, 0 and log E; one expert for all is E - 1, 1 - 1/E and 0. */
Test(reference_metrics, balance_and_collapse) {
  const double equal[4] = {0.5, 0.5, 0.5, 0.5}, hot[4] = {0.0, 0.0, 2.0, 0.0};
  const float single_equal[4] = {0.5f, 0.5f, 0.5f, 0.5f}, single_hot[4] = {0.0f, 0.0f, 2.0f, 0.0f};
  const int64_t count_equal[4] = {7, 7, 7, 7}, count_hot[4] = {0, 0, 9, 0};
  phibal_enclosure z;
  phibal_enclosure_init(&z, 64);
  cr_assert_eq(phibal_reference_maxvio_counts(4, count_equal, 64, &z), PHIBAL_OK);
  cr_assert(phibal_enclosure_is_zero(&z));
  cr_assert_eq(phibal_reference_maxvio_mean(4, single_equal, 64, &z), PHIBAL_OK);
  cr_assert(phibal_enclosure_is_zero(&z));
  cr_assert_eq(phibal_reference_gini(4, equal, 64, &z), PHIBAL_OK);
  cr_assert(phibal_enclosure_is_zero(&z));
  cr_assert_eq(phibal_reference_maxvio_counts(4, count_hot, 64, &z), PHIBAL_OK);
  cr_assert(phibal_enclosure_is_exact(&z) && mpfr_cmp_si(z.lo, 3) == 0);
  cr_assert_eq(phibal_reference_maxvio_mean(4, single_hot, 64, &z), PHIBAL_OK);
  cr_assert(phibal_enclosure_is_exact(&z) && mpfr_cmp_si(z.lo, 3) == 0);
  cr_assert_eq(phibal_reference_gini(4, hot, 64, &z), PHIBAL_OK);
  cr_assert(phibal_enclosure_is_exact(&z) && mpfr_cmp_d(z.lo, 0.75) == 0);
  cr_assert_eq(phibal_reference_entropy(4, hot, 64, &z), PHIBAL_OK);
  cr_assert(phibal_enclosure_is_zero(&z));
  phibal_enclosure_clear(&z);
}

/* (V1) exactly: (E max - sum) / sum, with sums that binary64 cannot hold. */
Test(reference_metrics, counts_are_exact) {
  const int64_t large = INT64_C(1) << 52;
  const int64_t counts[3][3] = {
      {3, 0, 2}, {large, large - 1, large + 1}, {large, large, large - 1}};
  for (int i = 0; i < 3; i++) {
    phibal_enclosure z;
    phibal_enclosure_init(&z, 100);
    cr_assert_eq(phibal_reference_maxvio_counts(3, counts[i], 100, &z), PHIBAL_OK);
    int64_t most = 0, sum = 0;
    for (int e = 0; e < 3; e++) {
      sum += counts[i][e];
      if (counts[i][e] > most) most = counts[i][e];
    }
    arb_t truth;
    arb_init(truth);
    arb_set_si(truth, 3 * most - sum);
    arb_div_si(truth, truth, sum, ORACLE_PRECISION);
    cr_assert(oracle_contains(&z, truth), "case %d", i);
    cr_assert(oracle_width_in_ulps(&z) <= 1.0, "case %d", i);
    arb_clear(truth);
    phibal_enclosure_clear(&z);
  }
}

/* The routed-token ratio of a domain is its frequency: 7 tokens, k = 2. */
Test(reference_metrics, routed_token_ratio) {
  const int64_t count[3] = {7, 3, 4};
  phibal_enclosure *z = phibal_enclosure_vector(3, 80);
  cr_assert_eq(phibal_reference_frequency(3, 2, 7, count, z), PHIBAL_OK);
  cr_assert(mpfr_cmp_d(z[0].lo, 0.5) == 0 && phibal_enclosure_is_exact(&z[0]));
  arb_t truth;
  arb_init(truth);
  for (int e = 1; e < 3; e++) {
    arb_set_si(truth, count[e]);
    arb_div_si(truth, truth, 14, ORACLE_PRECISION);
    cr_assert(oracle_contains(&z[e], truth) && oracle_width_in_ulps(&z[e]) <= 1.0);
  }
  arb_clear(truth);
  cr_assert_eq(phibal_reference_frequency(3, 2, 0, count, z), PHIBAL_ERROR_ARGUMENT);
  phibal_enclosure_vector_clear(z, 3);
}

Test(reference_metrics, loads_without_a_mean_are_refused) {
  const double none[2] = {0.0, 0.0}, negative[2] = {1.0, -1.0}, unbounded[2] = {1.0, INFINITY};
  const double unknown[2] = {1.0, NAN};
  const float single[2] = {0.0f, 0.0f};
  const float refused[4][2] = {
      {1.0f, INFINITY}, {1.0f, -INFINITY}, {1.0f, NAN}, {1.0f, -0x1p-149f}};
  const int64_t count[2] = {0, 0}, below[2] = {3, -1};
  phibal_enclosure z;
  phibal_enclosure_init(&z, 64);
  cr_assert_eq(phibal_reference_gini(2, none, 64, &z), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_reference_entropy(2, none, 64, &z), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_reference_entropy(2, negative, 64, &z), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_reference_gini(2, unbounded, 64, &z), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_reference_entropy(2, unknown, 64, &z), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_reference_maxvio_mean(2, single, 64, &z), PHIBAL_ERROR_DOMAIN);
  for (int i = 0; i < 4; i++) {
    cr_assert_eq(phibal_reference_maxvio_mean(2, refused[i], 64, &z), PHIBAL_ERROR_DOMAIN);
    cr_assert_not_null(strstr(phibal_status_message(), "the load of expert 1 is"), "%s",
                       phibal_status_message());
  }
  cr_assert_eq(phibal_reference_maxvio_counts(2, count, 64, &z), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_reference_maxvio_counts(2, below, 64, &z), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_reference_maxvio_counts(0, count, 64, &z), PHIBAL_ERROR_ARGUMENT);
  phibal_enclosure_clear(&z);
}

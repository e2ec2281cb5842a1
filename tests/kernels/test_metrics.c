/* The balance metrics against MPFR, within the bounds derived beside them. */
#include "router_oracle.h"
#include <criterion/criterion.h>
#include <phibal/metrics.h>

#define BITS                                                                                       \
  400 /* sums of binary32 from 2^-149 to 1024 and products of binary64 are near exact              \
       */

static const int32_t sizes[] = {1, 2, 3, 5, 8, 17, 64, 333, 1024};
enum { SIZES = sizeof sizes / sizeof *sizes };

Test(metrics, maxvio_counts_is_correctly_rounded) {
  mpfr_t exact;
  mpfr_init2(exact, BITS);
  uint64_t state = 1;
  int64_t count[1024];
  for (int i = 0; i < 3000; i++) {
    int32_t E = sizes[i % SIZES];
    int shift = 21 + (int)(random_bits(&state) % 40); /* sums below 2^53 */
    int64_t sum = 0, most = 0;
    for (int32_t e = 0; e < E; e++) {
      count[e] = (int64_t)(random_bits(&state) >> shift);
      if (i % 7 == 3) count[e] = e == E - 1 ? ((int64_t)1 << 52) + i : i % 2; /* one takes all */
      sum += count[e];
      most = count[e] > most ? count[e] : most;
    }
    double maxvio;
    if (sum == 0) continue;
    cr_assert_eq(phibal_maxvio_counts(E, count, &maxvio), PHIBAL_OK, "%s", phibal_status_message());
    mpfr_set_si(exact, most, MPFR_RNDN);
    mpfr_mul_si(exact, exact, E, MPFR_RNDN);
    mpfr_sub_si(exact, exact, sum, MPFR_RNDN);
    mpfr_div_si(exact, exact, sum, MPFR_RNDN);
    cr_assert_eq(maxvio, mpfr_get_d(exact, MPFR_RNDN), "E %d: %a", E, maxvio);
  }
  mpfr_clear(exact);
}

/* Quotients that exceed a tie between two binary64 numbers by 2^-105: n 2^53 = odd d + 1 with
   odd = -1/d modulo 2^53, so that only the last remainder tells. */
Test(metrics, maxvio_counts_just_above_a_tie) {
  uint64_t state = 9;
  for (int tried = 0; tried < 100;) {
    uint64_t d = ((uint64_t)1 << 52) + (random_bits(&state) >> 12 | 1);
    uint64_t inverse = d;
    for (int i = 0; i < 6; i++) inverse *= 2 - d * inverse;
    uint64_t odd = ((uint64_t)1 << 53) + ((0 - inverse) & (((uint64_t)1 << 53) - 1));
    uint64_t n = (uint64_t)(((unsigned __int128)odd * d + 1) >> 53);
    if (n < (uint64_t)1 << 53 || (n + d) % 3 != 0) continue;
    int64_t count[3] = {0, (int64_t)((n + d) / 3), 0};
    count[0] = (int64_t)d - count[1];
    double maxvio;
    cr_assert_eq(phibal_maxvio_counts(3, count, &maxvio), PHIBAL_OK, "%s", phibal_status_message());
    cr_assert_eq(maxvio, (double)(odd / 2 + 1) * 0x1p-52);
    tried++;
  }
}

Test(metrics, maxvio_mean_within_its_bound) {
  mpfr_t exact, sum;
  mpfr_inits2(BITS, exact, sum, (mpfr_ptr)0);
  uint64_t state = 2;
  float mean[1024];
  for (int i = 0; i < 3000; i++) {
    int32_t E = sizes[i % SIZES];
    float most = 0;
    mpfr_set_zero(sum, 1);
    for (int32_t e = 0; e < E; e++) {
      double u = 0.5 + random_unit(&state) / 2;
      if (i % 4 == 1) u = 1 + u * 0x1p-20; /* close to balance */
      if (i % 4 == 2) u = exp(-90 * u);    /* far from it */
      if (i % 4 == 3) u = e == E / 2 ? 1 : 0x1p-149;
      mean[e] = (float)u;
      most = fmaxf(most, mean[e]);
      mpfr_add_d(sum, sum, (double)mean[e], MPFR_RNDN);
    }
    double maxvio;
    cr_assert_eq(phibal_maxvio_mean(E, mean, &maxvio), PHIBAL_OK);
    mpfr_set_d(exact, (double)most, MPFR_RNDN);
    mpfr_mul_si(exact, exact, E, MPFR_RNDN);
    mpfr_sub(exact, exact, sum, MPFR_RNDN);
    mpfr_div(exact, exact, sum, MPFR_RNDN);
    double truth = mpfr_get_d(exact, MPFR_RNDN);
    mpfr_sub_d(exact, exact, maxvio, MPFR_RNDN);
    /* Half an ULP is at most 2^-53 of a number; where terms cancel, 2^-90 besides. */
    cr_assert_leq(fabs(mpfr_get_d(exact, MPFR_RNDN)), fabs(truth) * 0x1.01p-53 + 0x1p-90,
                  "E %d: %a not %a", E, maxvio, truth);
  }
  mpfr_clears(exact, sum, (mpfr_ptr)0);
}

static double random_load(uint64_t *state, int kind, int32_t e) {
  double u = 0.5 + random_unit(state) / 2;
  switch (kind) {
  case 1:
    return 1 + u * 0x1p-40; /* close to balance */
  case 2:
    return exp(-600 * u);
  case 3:
    return e == 3 ? 1 : 0;
  case 4:
    return floor(u * 4); /* ties and zeros */
  case 5:
    return e == 0 ? 1e300 : u;
  default:
    return u;
  }
}

Test(metrics, gini_and_entropy_within_their_bounds) {
  mpfr_t exact, sum, a;
  mpfr_inits2(BITS, exact, sum, a, (mpfr_ptr)0);
  uint64_t state = 3;
  double x[1024];
  for (int i = 0; i < 6 * SIZES; i++) {
    int32_t E = sizes[i % SIZES];
    mpfr_set_zero(sum, 1);
    for (int32_t e = 0; e < E; e++) {
      x[e] = random_load(&state, i / SIZES, e) + (E < 4 && e == 0 ? 1 : 0);
      mpfr_add_d(sum, sum, x[e], MPFR_RNDN);
    }
    double gini, entropy;
    cr_assert_eq(phibal_gini(E, x, &gini), PHIBAL_OK, "%s", phibal_status_message());
    cr_assert_eq(phibal_entropy(E, x, &entropy), PHIBAL_OK);
    mpfr_set_zero(exact, 1);
    for (int32_t e = 0; e < E; e++) {
      for (int32_t j = 0; j < e; j++) {
        mpfr_set_d(a, x[e], MPFR_RNDN);
        mpfr_sub_d(a, a, x[j], MPFR_RNDN);
        mpfr_abs(a, a, MPFR_RNDN);
        mpfr_add(exact, exact, a, MPFR_RNDN);
      }
    }
    mpfr_div(exact, exact, sum, MPFR_RNDN);
    mpfr_div_si(exact, exact, E, MPFR_RNDN);
    double truth = mpfr_get_d(exact, MPFR_RNDN);
    mpfr_sub_d(exact, exact, gini, MPFR_RNDN);
    cr_assert_leq(fabs(mpfr_get_d(exact, MPFR_RNDN)), 23 * 0x1p-53 * truth, "gini E %d: %a not %a",
                  E, gini, truth);
    mpfr_set_zero(exact, 1);
    for (int32_t e = 0; e < E; e++) {
      if (x[e] == 0) continue;
      mpfr_d_div(a, x[e], sum, MPFR_RNDN);
      mpfr_log(a, a, MPFR_RNDN);
      mpfr_mul_d(a, a, x[e], MPFR_RNDN);
      mpfr_div(a, a, sum, MPFR_RNDN);
      mpfr_sub(exact, exact, a, MPFR_RNDN);
    }
    truth = mpfr_get_d(exact, MPFR_RNDN);
    mpfr_sub_d(exact, exact, entropy, MPFR_RNDN);
    cr_assert_leq(fabs(mpfr_get_d(exact, MPFR_RNDN)), 0x1p-53 * (11 + 24 * truth),
                  "entropy E %d: %a not %a", E, entropy, truth);
  }
  mpfr_clears(exact, sum, a, (mpfr_ptr)0);
}

Test(metrics, know_balance_and_collapse) {
  for (int i = 0; i < SIZES; i++) {
    int32_t E = sizes[i];
    int64_t count[1024];
    float mean[1024];
    double x[1024], result;
    for (int32_t e = 0; e < E; e++) {
      count[e] = 12345;
      mean[e] = 0.3f;
      x[e] = 0.7;
    }
    cr_assert_eq(phibal_maxvio_counts(E, count, &result), PHIBAL_OK);
    cr_assert_eq(result, 0.0);
    cr_assert_eq(phibal_maxvio_mean(E, mean, &result), PHIBAL_OK);
    cr_assert_eq(result, 0.0);
    cr_assert_eq(phibal_gini(E, x, &result), PHIBAL_OK);
    cr_assert_eq(result, 0.0);
    cr_assert_eq(phibal_entropy(E, x, &result), PHIBAL_OK);
    cr_assert_leq(fabs(result - log((double)E)), 0x1p-45);
    for (int32_t e = 0; e < E - 1; e++) {
      count[e] = 0;
      x[e] = mean[e] = 0;
    }
    cr_assert_eq(phibal_maxvio_counts(E, count, &result), PHIBAL_OK);
    cr_assert_eq(result, (double)(E - 1));
    cr_assert_eq(phibal_maxvio_mean(E, mean, &result), PHIBAL_OK);
    cr_assert_eq(result, (double)(E - 1));
    cr_assert_eq(phibal_gini(E, x, &result), PHIBAL_OK);
    cr_assert_leq(fabs(result - (1 - 1.0 / E)), 0x1p-50);
    cr_assert_eq(phibal_entropy(E, x, &result), PHIBAL_OK);
    cr_assert_eq(result, 0.0);
  }
}

Test(metrics, refuse_what_has_no_answer) {
  int64_t count[3] = {0, 0, 0};
  float mean[3] = {0, 0, 0};
  double x[3] = {0, 0, 0}, result;
  cr_assert_eq(phibal_maxvio_counts(3, count, &result), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_maxvio_mean(3, mean, &result), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_gini(3, x, &result), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_entropy(3, x, &result), PHIBAL_ERROR_DOMAIN);
  count[0] = 5;
  count[2] = -1;
  mean[1] = NAN;
  x[0] = 1;
  x[2] = -0x1p-1074;
  cr_assert_eq(phibal_maxvio_counts(3, count, &result), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_maxvio_mean(3, mean, &result), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_gini(3, x, &result), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_entropy(3, x, &result), PHIBAL_ERROR_DOMAIN);
  x[2] = INFINITY;
  cr_assert_eq(phibal_gini(3, x, &result), PHIBAL_ERROR_DOMAIN);
  count[2] = (int64_t)1 << 53;
  cr_assert_eq(phibal_maxvio_counts(3, count, &result), PHIBAL_ERROR_DOMAIN);
  cr_assert_eq(phibal_maxvio_counts(0, count, &result), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_maxvio_mean(1025, mean, &result), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_gini(3, NULL, &result), PHIBAL_ERROR_ARGUMENT);
}

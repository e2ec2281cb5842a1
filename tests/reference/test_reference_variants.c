/* What the references of quantiles (L7), capacity (E7) to (E9), experts without weights (E10) and
   Sinkhorn (L10) refuse, and their ends: sums that are 0 or may be, padding, no tokens. Their
   values are what verify compares kernels with; the limit is compared with GMP's rationals here. */
#include <criterion/criterion.h>
#include <float.h>
#include <gmp.h>
#include <math.h>
#include <phibal/reference_capacity.h>
#include <phibal/reference_quantile.h>
#include <phibal/reference_sinkhorn.h>
#include <phibal/reference_zero_experts.h>
#include <string.h>

enum { PRECISION = 96 };

static void ok(phibal_status status) {
  cr_assert_eq(status, PHIBAL_OK, "%s", phibal_status_message());
}

static void refused(phibal_status status, phibal_status expected, const char *text) {
  cr_assert_eq(status, expected, "%d: %s", (int)status, phibal_status_message());
  cr_assert(strstr(phibal_status_message(), text), "%s", phibal_status_message());
}

static bool holds(const phibal_enclosure *x, double number) {
  return mpfr_cmp_d(x->lo, number) <= 0 && mpfr_cmp_d(x->hi, number) >= 0;
}

static bool is(const phibal_enclosure *x, double number) {
  return mpfr_cmp_d(x->lo, number) == 0 && mpfr_cmp_d(x->hi, number) == 0;
}

/* The enclosure holds n / d, and is narrow. */
static bool is_quotient(const phibal_enclosure *x, long n, long d) {
  mpfr_t lo, hi;
  mpfr_inits2(PRECISION, lo, hi, NULL);
  mpfr_mul_si(lo, x->lo, d, MPFR_RNDD);
  mpfr_mul_si(hi, x->hi, d, MPFR_RNDU);
  bool holds = mpfr_cmp_si(lo, n) <= 0 && mpfr_cmp_si(hi, n) >= 0;
  mpfr_sub(hi, hi, lo, MPFR_RNDU);
  holds = holds && mpfr_cmp_d(hi, 0x1p-80) < 0;
  mpfr_clears(lo, hi, NULL);
  return holds;
}

Test(capacity, limit_is_the_rational_numbers_ceiling) {
  static const float factors[] = {0, 0x1p-149f, 1.0f / 3, 0.1f, 1, 1.25f, 1.1f, 2, 1e-7f, 1024};
  static const int64_t tokens[] = {0, 1, 7, 4096, ((int64_t)1 << 38) / 128};
  static const int32_t active[] = {1, 3, 128}, experts[] = {1, 3, 8, 1023};
  mpq_t exact, part;
  mpz_t ceiling;
  mpq_inits(exact, part, NULL);
  mpz_init(ceiling);
  for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
    for (size_t t = 0; t < sizeof tokens / sizeof *tokens; t++)
      for (size_t a = 0; a < sizeof active / sizeof *active; a++)
        for (size_t e = 0; e < sizeof experts / sizeof *experts; e++) {
          mpq_set_d(exact, (double)factors[f]);
          mpq_set_si(part, tokens[t] * active[a], (unsigned long)experts[e]);
          mpq_canonicalize(part);
          mpq_mul(exact, exact, part);
          mpz_cdiv_q(ceiling, mpq_numref(exact), mpq_denref(exact));
          for (int64_t minimum = 0; minimum <= 4; minimum += 4) {
            const int64_t expected =
                mpz_cmp_si(ceiling, minimum) > 0 ? mpz_get_si(ceiling) : minimum;
            int64_t limit = -1;
            ok(phibal_reference_capacity_limit(factors[f], minimum, tokens[t], active[a],
                                               experts[e], &limit));
            cr_assert_eq(limit, expected, "factor %a, %lld tokens, %d of %d: %lld",
                         (double)factors[f], (long long)tokens[t], (int)active[a], (int)experts[e],
                         (long long)limit);
          }
        }
  mpq_clears(exact, part, NULL);
  mpz_clear(ceiling);
}

Test(capacity, limit_refuses_what_it_does_not_know) {
  int64_t limit;
  const phibal_status argument = PHIBAL_ERROR_ARGUMENT;
  refused(phibal_reference_capacity_limit(NAN, 0, 1, 1, 1, &limit), argument, "factor");
  refused(phibal_reference_capacity_limit(-1, 0, 1, 1, 1, &limit), argument, "factor");
  refused(phibal_reference_capacity_limit(1025, 0, 1, 1, 1, &limit), argument, "factor");
  refused(phibal_reference_capacity_limit(1, -1, 1, 1, 1, &limit), argument, "factor");
  refused(phibal_reference_capacity_limit(1, 0, INT64_MAX / 2, 2, 1, &limit), argument, "tokens");
  refused(phibal_reference_capacity_limit(1, 0, 1, 1, 1, NULL), argument, "null");
}

/* A token of three slots, of which one is dropped. */
typedef struct token_results {
  phibal_enclosure *gates, *gradient, *condition;
} token_results;

static token_results results_init(void) {
  return (token_results){phibal_enclosure_vector(3, PRECISION),
                         phibal_enclosure_vector(3, PRECISION),
                         phibal_enclosure_vector(3, PRECISION)};
}

static void results_clear(token_results *r) {
  phibal_enclosure_vector_clear(r->gates, 3);
  phibal_enclosure_vector_clear(r->gradient, 3);
  phibal_enclosure_vector_clear(r->condition, 3);
}

static phibal_status gates_of(const int32_t *kept, const float *gates, const float *gradient,
                              bool renormalise, token_results *r) {
  const phibal_reference_result none = {NULL, NULL}, back = {r->gradient, r->condition};
  return phibal_reference_capacity_gates(3, renormalise, kept, gates, gradient, PRECISION, r->gates,
                                         gradient ? back : none);
}

Test(capacity, dropped_slots_are_zero_and_not_looked_at) {
  static const int32_t kept[] = {4, -1, 0};
  static const float gates[] = {0.25f, NAN, 0.5f}, gradient[] = {3, INFINITY, -1};
  token_results r = results_init();
  ok(gates_of(kept, gates, gradient, false, &r));
  cr_assert(is(&r.gates[0], 0.25) && is(&r.gates[1], 0) && is(&r.gates[2], 0.5));
  cr_assert(is(&r.gradient[0], 3) && is(&r.gradient[1], 0) && is(&r.gradient[2], -1));
  cr_assert(is(&r.condition[0], 3) && is(&r.condition[1], 0) && is(&r.condition[2], 1));
  ok(gates_of(kept, gates, gradient, true, &r));
  /* The sum is 3/4, that of products 1/4, of their absolute values 5/4. */
  cr_assert(is_quotient(&r.gates[0], 1, 3) && is_quotient(&r.gates[2], 2, 3));
  cr_assert(is_quotient(&r.gradient[0], 32, 9) && is_quotient(&r.gradient[2], -16, 9));
  cr_assert(is_quotient(&r.condition[0], 56, 9) && is_quotient(&r.condition[2], 32, 9));
  cr_assert(is(&r.gates[1], 0) && is(&r.gradient[1], 0) && is(&r.condition[1], 0));
  results_clear(&r);
}

Test(capacity, gates_that_are_not_finite_are_named) {
  static const int32_t kept[] = {4, -1, 0};
  static const float gates[] = {0.25f, 1, 0.5f}, bad[] = {0.25f, 1, NAN};
  token_results r = results_init();
  refused(gates_of(kept, bad, NULL, false, &r), PHIBAL_ERROR_NONFINITE, "a kept gate");
  refused(gates_of(kept, gates, bad, true, &r), PHIBAL_ERROR_NONFINITE, "gradient");
  const phibal_reference_result value = {r.gradient, NULL}, condition = {NULL, r.condition};
  refused(phibal_reference_capacity_gates(3, true, kept, gates, NULL, PRECISION, NULL, value),
          PHIBAL_ERROR_ARGUMENT, "null");
  refused(phibal_reference_capacity_gates(3, true, kept, gates, NULL, PRECISION, NULL, condition),
          PHIBAL_ERROR_ARGUMENT, "null");
  results_clear(&r);
}

Test(capacity, a_sum_of_zero_leaves_zeros_and_one_that_may_be_is_refused) {
  static const int32_t kept[] = {4, 2, 0}, none[] = {-1, -1, -1};
  static const float zeros[] = {0, -0.0f, 0}, gradient[] = {3, 2, 1};
  token_results r = results_init();
  ok(gates_of(kept, zeros, gradient, true, &r));
  for (int s = 0; s < 3; s++)
    cr_assert(is(&r.gates[s], 0) && is(&r.gradient[s], 0) && is(&r.condition[s], 0));
  ok(gates_of(none, gradient, gradient, true, &r));
  for (int s = 0; s < 3; s++)
    cr_assert(is(&r.gates[s], 0) && is(&r.gradient[s], 0) && is(&r.condition[s], 0));
  /* 1 + 2^-100 is not one of 96 bits: without the 1, its enclosure holds 0. */
  static const float close[] = {0x1p-100f, 1, -1};
  refused(gates_of(kept, close, NULL, true, &r), PHIBAL_ERROR_UNDECIDED, "may be 0");
  ok(gates_of(kept, close, NULL, false, &r));
  results_clear(&r);
}

Test(zero_experts, an_output_that_is_none_and_missing_results_are_refused) {
  static const int32_t experts[] = {3};
  static const float number[] = {1};
  phibal_enclosure *z = phibal_enclosure_vector(6, PRECISION);
  const phibal_reference_zero_token token = {.active = 1,
                                             .first_zero = 2,
                                             .width = 1,
                                             .experts = experts,
                                             .gates = number,
                                             .x = number,
                                             .y = number,
                                             .y_gradient = number,
                                             .x_gradient = number};
  const phibal_reference_zero_results results = {{z, z + 1}, {z + 2, z + 3}, {z + 4, z + 5}};
  refused(phibal_reference_zero_experts((phibal_zero_output)((int)PHIBAL_ZERO_IDENTITY + 1), token,
                                        PRECISION, results),
          PHIBAL_ERROR_ARGUMENT, "output");
  for (size_t i = 0; i < 6; i++) { /* each place left out */
    phibal_enclosure *places[6];
    for (size_t j = 0; j < 6; j++) places[j] = j == i ? NULL : z + j;
    const phibal_reference_zero_results missing = {
        {places[0], places[1]}, {places[2], places[3]}, {places[4], places[5]}};
    refused(phibal_reference_zero_experts(PHIBAL_ZERO_IDENTITY, token, PRECISION, missing),
            PHIBAL_ERROR_ARGUMENT, "null result");
  }
  phibal_reference_zero_token without[] = {token, token, token, token, token, token};
  without[0].experts = NULL;
  without[1].gates = NULL;
  without[2].x = NULL;
  without[3].y = NULL;
  without[4].y_gradient = NULL;
  without[5].x_gradient = NULL;
  for (size_t i = 0; i < 6; i++)
    refused(phibal_reference_zero_experts(PHIBAL_ZERO_IDENTITY, without[i], PRECISION, results),
            PHIBAL_ERROR_ARGUMENT, "null argument");
  ok(phibal_reference_zero_experts(PHIBAL_ZERO_IDENTITY, token, PRECISION, results));
  for (int i = 0; i < 6; i++) cr_assert(is(&z[i], i < 4 ? 2 : 1), "%d", i);
  ok(phibal_reference_zero_experts(PHIBAL_ZERO_NULL, token, PRECISION, results));
  for (int i = 0; i < 6; i++) cr_assert(is(&z[i], i < 4 ? 1 : 0), "%d", i);
  phibal_enclosure_vector_clear(z, 6);
}

Test(sinkhorn, padding_is_not_looked_at_and_a_logit_is_named) {
  static const float logits[] = {1, 2, NAN, INFINITY, 2, 1};
  static const uint8_t mask[] = {1, 0, 1}, padding[] = {0, 0, 0};
  phibal_enclosure *plan = phibal_enclosure_vector(6, PRECISION);
  refused(phibal_reference_sinkhorn(3, 2, 4, logits, NULL, PRECISION, plan), PHIBAL_ERROR_NONFINITE,
          "logit 0 of token 1 is nan");
  ok(phibal_reference_sinkhorn(3, 2, 4, logits, mask, PRECISION, plan));
  cr_assert(is(&plan[2], 0) && is(&plan[3], 0));
  phibal_enclosure sum;
  phibal_enclosure_init(&sum, PRECISION);
  ok(phibal_enclosure_add(&sum, &plan[0], &plan[4])); /* a column of two */
  cr_assert(holds(&sum, 0.5));
  phibal_enclosure_clear(&sum);
  ok(phibal_reference_sinkhorn(3, 2, 4, logits, padding, PRECISION, plan));
  for (int i = 0; i < 6; i++) cr_assert(is(&plan[i], 0));
  ok(phibal_reference_sinkhorn(0, 2, 4, logits, NULL, PRECISION, plan));
  phibal_enclosure_vector_clear(plan, 6);
}

static phibal_router router_of(int32_t active, int32_t experts) {
  return (phibal_router){.experts = experts, .active = active, .scale = 1};
}

Test(quantile, the_cut_off_is_the_selection_score_that_k_others_precede) {
  const phibal_router router = router_of(1, 3);
  /* With the bias: 4, 4, 2, so that expert 0 is selected and expert 1 cut off; then padding, which
     is not looked at; then 0x1p60 and two that are 0 beside it. */
  const float logits[] = {4, 1, 2, NAN, INFINITY, 0, 0x1p60f, 0x1p-30f, -1}, bias[] = {0, 3, 0};
  const uint8_t mask[] = {1, 0, 1};
  float required[9];
  ok(phibal_reference_quantile_required(&router, 3, logits, bias, mask, required));
  const float first[] = {0, 3, 2}, last[] = {-0x1p60f, 3, 4};
  for (int e = 0; e < 3; e++) {
    cr_expect_eq(required[3 * e], first[e], "expert %d: %g", e, (double)required[3 * e]);
    cr_expect(isinf(required[3 * e + 1]) && required[3 * e + 1] > 0);
    cr_expect_eq(required[3 * e + 2], last[e], "expert %d: %g", e, (double)required[3 * e + 2]);
  }
  ok(phibal_reference_quantile_required(&router, 1, logits, NULL, NULL, required));
  const float plain[] = {-2, 1, 0};
  for (int e = 0; e < 3; e++) cr_expect_eq(required[e], plain[e]);
}

Test(quantile, what_has_no_cut_off_or_no_number_is_refused) {
  phibal_router router = router_of(0, 2);
  const float logits[] = {1, 2}, wide[] = {FLT_MAX, -FLT_MAX}, nan[] = {0, NAN};
  const float infinite[] = {0, INFINITY};
  float required[2];
  const int32_t unfit[] = {-1, 0, 2, 3, INT32_MAX};
  for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
    router.active = unfit[i];
    refused(phibal_reference_quantile_required(&router, 1, logits, NULL, NULL, required),
            PHIBAL_ERROR_ARGUMENT, "of 2 experts");
  }
  router = router_of(1, 2);
  refused(phibal_reference_quantile_required(&router, -1, logits, NULL, NULL, required),
          PHIBAL_ERROR_ARGUMENT, "-1 tokens");
  refused(phibal_reference_quantile_required(&router, 1, nan, NULL, NULL, required),
          PHIBAL_ERROR_NONFINITE, "element 1 of the logits");
  refused(phibal_reference_quantile_required(&router, 1, logits, infinite, NULL, required),
          PHIBAL_ERROR_NONFINITE, "element 1 of the bias");
  refused(phibal_reference_quantile_required(&router, 1, wide, NULL, NULL, required),
          PHIBAL_ERROR_NONFINITE, "expert 0");
  router.group_score = PHIBAL_GROUP_LARGEST;
  router.groups = 2, router.active_groups = 1;
  refused(phibal_reference_quantile_required(&router, 1, logits, NULL, NULL, required),
          PHIBAL_ERROR_UNSUPPORTED, "groups");
}

/* The reference's router (R1) to (R8) against Arb. */
#include "reference_routing.h"
#include <omp.h>
#include <string.h>

static void check_forward(const routing_case *c, mpfr_prec_t precision, const char *what) {
  int32_t n = c->router.experts, k = c->router.active;
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, n, k, precision), PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_forward(&t, &c->router, c->logits, c->bias), PHIBAL_OK,
               "%s: %s", what, phibal_status_message());
  arb_ptr x = _arb_vec_init(n), p = _arb_vec_init(n), g = _arb_vec_init(k);
  arb_t lse;
  arb_init(lse);
  int32_t *selection = malloc((size_t)k * sizeof *selection);
  oracle_set_floats(x, n, c->logits);
  oracle_probabilities(c->router.gate, n, x, p, lse);
  oracle_select(&c->router, c->logits, c->bias, selection);
  double limit = ldexp(relative_units(c), 1 - (int)precision);
  for (int32_t e = 0; e < n; e++) {
    cr_assert(oracle_contains(&t.probability[e], p + e), "%s: probability %d", what, e);
    if (limit < 0.5)
      cr_assert(oracle_is_narrow(&t.probability[e], limit, p + e), "%s: width of %d", what, e);
  }
  for (int32_t s = 0; s < k; s++)
    cr_assert_eq(t.selection[s], selection[s], "%s: slot %d is %d, not %d", what, s, t.selection[s],
                 selection[s]);
  oracle_gates(&c->router, x, selection, g);
  for (int32_t s = 0; s < k; s++) {
    cr_assert(oracle_contains(&t.gate[s], g + s), "%s: gate %d", what, s);
    if (limit < 0.5)
      cr_assert(oracle_is_narrow(&t.gate[s], limit, g + s), "%s: width of gate %d", what, s);
  }
  if (c->router.gate != PHIBAL_GATE_SIGMOID) {
    cr_assert(oracle_contains(&t.logsumexp, lse), "%s: logsumexp", what);
    oracle_logsumexp_terms(n, x, lse, lse);
    cr_assert(oracle_contains(&t.logsumexp_terms, lse), "%s: terms of logsumexp", what);
  }
  free(selection);
  arb_clear(lse);
  _arb_vec_clear(x, n);
  _arb_vec_clear(p, n);
  _arb_vec_clear(g, k);
  phibal_reference_token_clear(&t);
}

Test(reference_router, forward_agrees_with_arb) {
  check_everywhere(check_forward);
}

Test(reference_router, forward_at_1024_experts) {
  for (size_t g = 0; g < 3; g++) {
    routing_case c =
        routing_case_create(1024, 8, all_gates[g], LOGITS_ORDINARY, g == 1, 77u + (unsigned)g);
    check_forward(&c, 96, "E = 1024");
    routing_case_destroy(&c);
  }
}

Test(reference_router, ties_go_to_the_lower_index) {
  const float logits[6] = {-0.0f, 1.0f, 0.0f, 1.0f, -0.0f, 0.0f};
  const int32_t expected[6] = {1, 3, 0, 2, 4, 5};
  phibal_router router = {6, 6, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, 6, 6, 64), PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, NULL), PHIBAL_OK);
  cr_assert_arr_eq(t.selection, expected, sizeof expected);
  phibal_reference_token_clear(&t);
}

/* Logits above 17.33 all have the score 1 after rounding to binary32: a tie for sigmoid routers,
   not for softmax routers. */
Test(reference_router, sigmoid_scores_tie_after_rounding) {
  const float logits[3] = {20.0f, 40.0f, 30.0f};
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, 3, 2, 64), PHIBAL_OK);
  phibal_router router = {3, 2, PHIBAL_GATE_SIGMOID, 1.0f};
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, NULL), PHIBAL_OK);
  cr_assert(t.selection[0] == 0 && t.selection[1] == 1);
  router.gate = PHIBAL_GATE_TOPK_SOFTMAX;
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, NULL), PHIBAL_OK);
  cr_assert(t.selection[0] == 1 && t.selection[1] == 2);
  phibal_reference_token_clear(&t);
}

/* The bias is added in binary64: 2^-30 decides between equal logits of 1, and would be lost in
   binary32. */
Test(reference_router, bias_is_added_in_binary64) {
  const float logits[2] = {1.0f, 1.0f}, bias[2] = {0.0f, 0x1p-30f};
  phibal_router router = {2, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, 2, 1, 64), PHIBAL_OK);
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, bias), PHIBAL_OK);
  cr_assert_eq(t.selection[0], 1);
  phibal_reference_token_clear(&t);
}

/* A bias can select logits so far below the largest of the row that exp(x - max) is 0 in any range
   of exponents; their gates are still 1/2 each. */
Test(reference_router, gates_do_not_see_the_rest_of_the_row) {
  const float logits[3] = {3e38f, -3e38f, -3e38f}, bias[3] = {-3.2e38f, 3e38f, 3e38f};
  for (size_t g = 0; g < 3; g += 2) {
    phibal_router router = {3, 2, all_gates[g], 1.0f};
    phibal_reference_token t;
    cr_assert_eq(phibal_reference_token_init(&t, 3, 2, 64), PHIBAL_OK);
    cr_assert_eq(phibal_reference_token_forward(&t, &router, logits, bias), PHIBAL_OK);
    cr_assert(t.selection[0] == 1 && t.selection[1] == 2);
    for (int s = 0; s < 2; s++) {
      cr_assert(mpfr_cmp_d(t.gate[s].lo, 0.4999999) > 0);
      cr_assert(mpfr_cmp_d(t.gate[s].hi, 0.5000001) < 0);
    }
    phibal_reference_token_clear(&t);
  }
}

/* (R6), (R7) with a padding mask; every token weighs the same, padding nothing. */
static void check_loads(phibal_gate gate, int64_t tokens, int32_t n, int32_t k, bool masked) {
  phibal_router router = {n, k, gate, 1.0f};
  float *logits = malloc((size_t)(tokens * n) * sizeof *logits);
  uint8_t *mask = calloc((size_t)tokens, 1);
  uint64_t seed = 31u + (uint64_t)tokens;
  int64_t *count = calloc((size_t)n, sizeof *count), *expected = calloc((size_t)n, sizeof *count);
  int64_t counted = 0, unmasked = 0;
  int32_t *selection = malloc((size_t)k * sizeof *selection);
  arb_ptr x = _arb_vec_init(n), p = _arb_vec_init(n), sum = _arb_vec_init(n);
  for (int64_t i = 0; i < tokens; i++) {
    float *row = logits + i * n;
    logits_generate((logit_pattern)(i % LOGITS_HUGE), n, row, &seed);
    mask[i] = !masked || i % 3 != 1 || i == tokens - 1;
    if (!mask[i]) continue;
    unmasked++;
    oracle_set_floats(x, n, row);
    oracle_probabilities(gate, n, x, p, NULL);
    _arb_vec_add(sum, sum, p, n, ORACLE_PRECISION);
    oracle_select(&router, row, NULL, selection);
    for (int32_t s = 0; s < k; s++) expected[selection[s]]++;
  }
  phibal_enclosure *mean = phibal_enclosure_vector((size_t)n, 96);
  cr_assert_eq(
      phibal_reference_loads((phibal_reference_batch){&router, logits, NULL, masked ? mask : NULL},
                             tokens, 96, mean, count, &counted),
      PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(counted, unmasked);
  for (int32_t e = 0; e < n; e++) {
    arb_div_si(sum + e, sum + e, unmasked, ORACLE_PRECISION);
    cr_assert(oracle_contains(&mean[e], sum + e), "T = %d, E = %d: expert %d", (int)tokens, (int)n,
              (int)e);
    /* Terms are known within 2 (4 * 2e4 + E + 16) units (the patterns' spread), and T are added. */
    cr_assert(oracle_is_narrow(&mean[e], ldexp(2.0 * (8e4 + n + 16.0) + (double)tokens + 4.0, -95),
                               sum + e));
    cr_assert_eq(count[e], expected[e]);
  }
  phibal_enclosure *frequency = phibal_enclosure_vector((size_t)n, 96);
  cr_assert_eq(phibal_reference_frequency(n, k, counted, count, frequency), PHIBAL_OK);
  for (int32_t e = 0; e < n; e++) {
    arb_set_si(x + e, expected[e]);
    arb_div_si(x + e, x + e, unmasked, ORACLE_PRECISION);
    arb_div_si(x + e, x + e, k, ORACLE_PRECISION);
    cr_assert(oracle_contains(&frequency[e], x + e));
    cr_assert(oracle_width_in_ulps(&frequency[e]) <= 1.0);
  }
  phibal_enclosure_vector_clear(frequency, (size_t)n);
  phibal_enclosure_vector_clear(mean, (size_t)n);
  _arb_vec_clear(sum, n);
  _arb_vec_clear(p, n);
  _arb_vec_clear(x, n);
  free(selection);
  free(expected);
  free(count);
  free(mask);
  free(logits);
}

Test(reference_router, loads_agree_with_arb) {
  for (size_t g = 0; g < 3; g++) {
    check_loads(all_gates[g], 1, 1, 1, false);
    check_loads(all_gates[g], 1, 5, 5, true);
    check_loads(all_gates[g], 63, 7, 2, true);
    check_loads(all_gates[g], 200, 3, 1, false);
  }
}

Test(reference_router, loads_do_not_depend_on_the_threads) {
  enum { N = 5, T = 150 };
  float logits[N * T];
  uint64_t seed = 71u;
  for (int i = 0; i < T; i++) logits_generate(LOGITS_ORDINARY, N, logits + i * N, &seed);
  phibal_router router = {N, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  phibal_enclosure *one = phibal_enclosure_vector(N, 64), *more = phibal_enclosure_vector(N, 64);
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  cr_assert_eq(phibal_reference_loads((phibal_reference_batch){&router, logits, NULL, NULL}, T, 64,
                                      one, NULL, NULL),
               PHIBAL_OK);
  omp_set_num_threads(3);
  cr_assert_eq(phibal_reference_loads((phibal_reference_batch){&router, logits, NULL, NULL}, T, 64,
                                      more, NULL, NULL),
               PHIBAL_OK);
  omp_set_num_threads(threads);
  for (int e = 0; e < N; e++) {
    cr_assert(mpfr_equal_p(one[e].lo, more[e].lo) && mpfr_equal_p(one[e].hi, more[e].hi));
    cr_assert_not(phibal_enclosure_is_exact(&one[e]));
  }
  phibal_enclosure_vector_clear(one, N);
  phibal_enclosure_vector_clear(more, N);
}

Test(reference_router, wrong_arguments_are_refused) {
  phibal_reference_token t;
  cr_assert_eq(phibal_reference_token_init(&t, 4, 5, 64), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_token_init(&t, PHIBAL_MAX_EXPERTS + 1, 1, 64),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_token_init(&t, 4, 2, 8), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_token_init(&t, 4, 2, 64), PHIBAL_OK);
  float logits[4] = {0.0f, 1.0f, NAN, 2.0f};
  const int32_t experts[2] = {0, 4};
  phibal_router router = {4, 2, PHIBAL_GATE_SIGMOID, 1.0f};
  cr_assert_eq(phibal_reference_token_forward(&t, &router, logits, NULL), PHIBAL_ERROR_NONFINITE);
  cr_assert(strstr(phibal_status_message(), "2"));
  logits[2] = INFINITY;
  cr_assert_eq(phibal_reference_token_select(&t, &router, logits, NULL), PHIBAL_ERROR_NONFINITE);
  logits[2] = 0.0f;
  cr_assert_eq(phibal_reference_token_backward(&t, &router, logits, experts, NULL, NULL, 1.0, 0.0),
               PHIBAL_ERROR_ARGUMENT);
  const int32_t good[2] = {0, 3};
  cr_assert_eq(phibal_reference_token_backward(&t, &router, logits, good, NULL, NULL, 1.0, 0.5),
               PHIBAL_ERROR_ARGUMENT);
  router.experts = 3;
  cr_assert_eq(phibal_reference_token_forward(&t, &router, logits, NULL), PHIBAL_ERROR_ARGUMENT);
  phibal_reference_token_clear(&t);
  const uint8_t padding[1] = {0};
  phibal_enclosure mean[4];
  for (int e = 0; e < 4; e++) phibal_enclosure_init(&mean[e], 64);
  router.experts = 4;
  cr_assert_eq(phibal_reference_loads((phibal_reference_batch){&router, logits, NULL, padding}, 1,
                                      64, mean, NULL, NULL),
               PHIBAL_ERROR_ARGUMENT);
  for (int e = 0; e < 4; e++) phibal_enclosure_clear(&mean[e]);
}

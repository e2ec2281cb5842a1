/* Routers with groups, other normalisations of gates and given selections: by hand, replayed, and
   what is refused. */
#include "router_oracle.h"
#include <criterion/criterion.h>
#include <math.h>
#include <phibal/quantile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 96 };

typedef struct routes {
  int32_t experts[MOST];
  float gates[MOST];
} routes;

static phibal_status route(const phibal_router *router, int64_t tokens, const float *logits,
                           const float *bias, const uint8_t *mask, routes *out) {
  phibal_loads loads;
  phibal_router plain = {router->experts, router->active, PHIBAL_GATE_PROBABILITY, 1};
  cr_assert_eq(phibal_loads_create(&plain, &loads), PHIBAL_OK);
  phibal_status status = phibal_router_forward(router, tokens, logits, bias, mask, NULL,
                                               out->experts, out->gates, NULL, &loads);
  phibal_loads_destroy(&loads);
  return status;
}

/* Groups of four: the first has the largest score, the second the two largest together, the third
   the three. All scores are negative, so that a group that is masked by 0 would win. */
Test(described_router, groups_are_ranked_as_described) {
  static const float logits[] = {-1, -9, -9, -9, -2, -2, -9, -9, -3, -3, -3, -9};
  static const struct {
    phibal_group_score score;
    int32_t active, first;
  } cases[] = {{PHIBAL_GROUP_LARGEST, 3, 0},
               {PHIBAL_GROUP_TWO_LARGEST, 3, 4},
               {PHIBAL_GROUP_SHARE, 1, 0},
               {PHIBAL_GROUP_SHARE, 2, 4},
               {PHIBAL_GROUP_SHARE, 3, 8}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    phibal_router router = {.experts = 12,
                            .active = cases[i].active,
                            .gate = PHIBAL_GATE_TOPK_SOFTMAX,
                            .scale = 1,
                            .group_score = cases[i].score,
                            .groups = 3,
                            .active_groups = 1};
    routes out;
    cr_assert_eq(route(&router, 1, logits, NULL, NULL, &out), PHIBAL_OK);
    for (int32_t s = 0; s < router.active; s++)
      cr_expect_eq(out.experts[s], cases[i].first + s, "case %zu, slot %d: %d", i, s,
                   out.experts[s]);
  }
}

/* Sums that are equal go to the lower group: 1 + 2^-53 + 2^-53 is 1 from the largest down, and more
   than 1 from the smallest up. */
Test(described_router, sums_are_from_the_largest_down) {
  float logits[] = {0, 1, 0, 0x1p-53f, 1, 0x1p-53f};
  phibal_router router = {.experts = 6,
                          .active = 3,
                          .gate = PHIBAL_GATE_TOPK_SOFTMAX,
                          .scale = 1,
                          .group_score = PHIBAL_GROUP_SHARE,
                          .groups = 2,
                          .active_groups = 1};
  routes out;
  cr_assert_eq(route(&router, 1, logits, NULL, NULL, &out), PHIBAL_OK);
  cr_expect_eq(out.experts[0], 1);
  logits[3] = 0x1p-52f;
  cr_assert_eq(route(&router, 1, logits, NULL, NULL, &out), PHIBAL_OK);
  cr_expect_eq(out.experts[0], 4);
}

/* Eight sigmoids of -50 over their sum and 1e-20. */
Test(described_router, an_epsilon_shows_where_all_scores_are_small) {
  float logits[8];
  for (int i = 0; i < 8; i++) logits[i] = -50;
  phibal_router router = {.experts = 8,
                          .active = 8,
                          .gate = PHIBAL_GATE_SIGMOID,
                          .scale = 1,
                          .normalisation = PHIBAL_NORMALISATION_SUM,
                          .epsilon = 1e-20f};
  routes out;
  cr_assert_eq(route(&router, 1, logits, NULL, NULL, &out), PHIBAL_OK);
  double sum = 0;
  for (int i = 0; i < 8; i++) sum += (double)out.gates[i];
  const double y = 8 * exp(-50), expected = y / (y + (double)1e-20f);
  cr_expect(fabs(sum - expected) < 1e-7 * expected, "%g", sum);
  cr_expect(sum > 0.1336 && sum < 0.1338, "%g", sum);
  router.epsilon = 0;
  cr_assert_eq(route(&router, 1, logits, NULL, NULL, &out), PHIBAL_OK);
  for (int i = 0; i < 8; i++) cr_expect_eq(out.gates[i], 0.125f);
}

typedef struct replay {
  phibal_loads loads;
  int32_t *experts;
  float *gates, *gradient;
} replay;

static replay replayed(const phibal_router *router, int64_t T, const float *logits,
                       const float *bias, const uint8_t *mask, const float *dg,
                       const int32_t *given) {
  const size_t slots = (size_t)(T * router->active);
  replay r = {.experts = malloc(slots * sizeof *r.experts),
              .gates = malloc(slots * sizeof *r.gates),
              .gradient = malloc((size_t)(T * router->experts) * sizeof *r.gradient)};
  if (given) memcpy(r.experts, given, slots * sizeof *given);
  cr_assert_eq(phibal_loads_create(router, &r.loads), PHIBAL_OK);
  cr_assert_eq(phibal_router_forward(router, T, logits, bias, mask, NULL, r.experts, r.gates, NULL,
                                     &r.loads),
               PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(
      phibal_router_backward(router, T, logits, mask, r.experts, dg, NULL, 0, 0, r.gradient),
      PHIBAL_OK);
  return r;
}

static void replay_destroy(replay *r) {
  phibal_loads_destroy(&r->loads);
  free(r->experts);
  free(r->gates);
  free(r->gradient);
}

/* Recorded routes, of padding too: gates, loads and gradients with the bits of the selection that
   they were recorded of, which groups and a bias made. */
Test(described_router, a_replay_has_the_bits_of_what_was_recorded) {
  static const int32_t sizes[] = {8, 40, 72, 260};
  static const struct {
    phibal_gate gate;
    phibal_normalisation normalisation;
    float epsilon;
  } forms[] = {{PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_NORMALISATION_OF_GATE, 0},
               {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_OF_GATE, 0},
               {PHIBAL_GATE_SIGMOID, PHIBAL_NORMALISATION_OF_GATE, 0},
               {PHIBAL_GATE_SIGMOID, PHIBAL_NORMALISATION_NONE, 0},
               {PHIBAL_GATE_SIGMOID, PHIBAL_NORMALISATION_SUM, 1e-9f},
               {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_SUM, 0.25f}};
  uint64_t state = 77;
  for (int i = 0; i < 24; i++) {
    const int32_t E = sizes[i % 4], k = 3;
    const int64_t T = 37;
    phibal_router router = {.experts = E,
                            .active = k,
                            .gate = forms[i % 6].gate,
                            .scale = 1.5f,
                            .group_score = PHIBAL_GROUP_LARGEST,
                            .groups = 4,
                            .active_groups = 2,
                            .normalisation = forms[i % 6].normalisation,
                            .epsilon = forms[i % 6].epsilon};
    float *logits = malloc((size_t)(T * E) * sizeof *logits), bias[260], dg[37 * 3];
    uint8_t mask[37];
    random_logits(&state, LOGITS_ORDINARY, T * E, logits);
    random_logits(&state, LOGITS_ORDINARY, E, bias);
    random_logits(&state, LOGITS_ORDINARY, T * k, dg);
    for (int64_t t = 0; t < T; t++) mask[t] = t % 5 != 3;
    replay recorded = replayed(&router, T, logits, bias, mask, dg, NULL);
    router.group_score = PHIBAL_GROUP_NONE;
    router.groups = router.active_groups = 0;
    router.selection = PHIBAL_SELECTION_GIVEN;
    replay again = replayed(&router, T, logits, NULL, mask, dg, recorded.experts);
    cr_expect_arr_eq(again.experts, recorded.experts, (size_t)(T * k) * sizeof(int32_t));
    cr_expect_arr_eq(again.gates, recorded.gates, (size_t)(T * k) * sizeof(float));
    cr_expect_arr_eq(again.gradient, recorded.gradient, (size_t)(T * E) * sizeof(float));
    cr_expect_arr_eq(again.loads.count, recorded.loads.count, (size_t)E * sizeof(int64_t));
    cr_expect_arr_eq(again.loads.probability, recorded.loads.probability,
                     (size_t)E * PHIBAL_LOAD_LIMBS * sizeof(uint64_t));
    replay_destroy(&recorded);
    replay_destroy(&again);
    free(logits);
  }
}

/* Another order of slots is another order of gates, and the same gradient but for rounding. */
Test(described_router, given_slots_keep_their_order) {
  static const float logits[] = {3, 2, 1, 0};
  phibal_router router = {.experts = 4,
                          .active = 2,
                          .gate = PHIBAL_GATE_PROBABILITY,
                          .scale = 1,
                          .selection = PHIBAL_SELECTION_GIVEN};
  routes out = {.experts = {3, 0}};
  cr_assert_eq(route(&router, 1, logits, NULL, NULL, &out), PHIBAL_OK);
  cr_expect_eq(out.experts[0], 3);
  cr_expect_eq(out.experts[1], 0);
  cr_expect(out.gates[0] < out.gates[1]);
}

Test(described_router, a_given_selection_is_of_different_experts) {
  static const int32_t sizes[] = {8, 72};
  static const int32_t bad[] = {-1, 8000, 1};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++) {
      float logits[40 * 72] = {0};
      uint8_t mask[40];
      routes out;
      phibal_router router = {.experts = sizes[i],
                              .active = 2,
                              .gate = PHIBAL_GATE_SIGMOID,
                              .scale = 1,
                              .selection = PHIBAL_SELECTION_GIVEN};
      for (int t = 0; t < 40; t++) {
        out.experts[2 * t] = 1;
        out.experts[2 * t + 1] = 0;
        mask[t] = 1;
      }
      out.experts[2 * 23 + 1] = bad[j];
      cr_expect_eq(route(&router, 40, logits, NULL, mask, &out), PHIBAL_ERROR_ARGUMENT);
      cr_expect(strstr(phibal_status_message(), "token 23 "), "%s", phibal_status_message());
      mask[23] = 0;
      cr_expect_eq(route(&router, 40, logits, NULL, mask, &out), PHIBAL_OK);
      cr_expect_eq(out.experts[2 * 23], -1);
      cr_expect_eq(out.gates[2 * 23], 0.0f);
      float bias[72] = {0};
      cr_expect_eq(route(&router, 40, logits, bias, mask, &out), PHIBAL_ERROR_ARGUMENT);
      cr_expect(strstr(phibal_status_message(), "bias"), "%s", phibal_status_message());
    }
}

static const struct {
  phibal_router router;
  const char *message;
} refused[] = {
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_NONE, 2, 1}, "no score of a group"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_NONE, 0, 1}, "no score of a group"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, (phibal_group_score)9, 2, 1}, "no such score"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_LARGEST, 3, 1}, "does not divide"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_LARGEST, 0, 1}, "does not divide"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_LARGEST, -2, 1}, "does not divide"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_LARGEST, 2, 0}, "1 to the number of groups"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_LARGEST, 2, 3}, "1 to the number of groups"},
    {{8, 5, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_LARGEST, 2, 1}, "fewer experts than are active"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_TWO_LARGEST, 8, 2}, "they have one expert"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_SHARE, 4, 3}, "more active groups than active"},
    {{8, 2, PHIBAL_GATE_PROBABILITY, 1, PHIBAL_GROUP_TWO_LARGEST, 2, 1}, "sums of a group's"},
    {{8, 2, PHIBAL_GATE_PROBABILITY, 1, PHIBAL_GROUP_SHARE, 2, 1}, "sums of a group's"},
    {{8, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1, .normalisation = PHIBAL_NORMALISATION_SUM}, "its own"},
    {{8, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1, .normalisation = PHIBAL_NORMALISATION_NONE}, "its own"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .normalisation = (phibal_normalisation)3}, "no such norm"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .epsilon = 1e-20f}, "epsilon without"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .normalisation = PHIBAL_NORMALISATION_NONE, .epsilon = 1},
     "epsilon without"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .normalisation = PHIBAL_NORMALISATION_SUM, .epsilon = -1},
     "not negative"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .normalisation = PHIBAL_NORMALISATION_SUM, .epsilon = NAN},
     "finite"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .selection = (phibal_selection)2}, "no such selection"},
    {{8, 2, (phibal_gate)4, 1}, "no gate kind 4"},
    {{8, 2, (phibal_gate)-1, 1}, "no gate kind -1"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .score = (phibal_score)2}, "no such score"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .score = PHIBAL_SCORE_PROBABILITY}, "by probabilities is"},
    {{8, 2, PHIBAL_GATE_SQRT_SOFTPLUS, 1, .score = PHIBAL_SCORE_PROBABILITY},
     "by probabilities is"},
    {{8, 2, PHIBAL_GATE_PROBABILITY, 1, .selection = PHIBAL_SELECTION_GIVEN,
      .score = PHIBAL_SCORE_PROBABILITY},
     "take no part where the selection"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .zero_experts = 9}, "compute nothing must be 0 to all"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .zero_experts = -1}, "compute nothing must be 0 to all"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .zero_gates = (phibal_zero_gates)2}, "no such treatment"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, .zero_gates = PHIBAL_ZERO_GATES_LEFT_OUT}, "there are none"},
    {{8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_LARGEST, 2, 1,
      .selection = PHIBAL_SELECTION_GIVEN},
     "groups of experts take no part"},
};

Test(described_router, contradictions_are_refused_by_name) {
  float logits[8] = {0}, dg[2] = {0}, gradient[8];
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    routes out = {.experts = {0, 1}};
    cr_expect_eq(route(&refused[i].router, 1, logits, NULL, NULL, &out), PHIBAL_ERROR_ARGUMENT,
                 "row %zu", i);
    cr_expect(strstr(phibal_status_message(), refused[i].message), "row %zu: %s", i,
              phibal_status_message());
    cr_expect_eq(phibal_router_backward(&refused[i].router, 1, logits, NULL, out.experts, dg, NULL,
                                        0, 0, gradient),
                 PHIBAL_ERROR_ARGUMENT, "row %zu", i);
  }
}

/* DeepSeek-V4's gates by hand: sqrt(log 2) of the logit 0, and far below their ratios are those of
   e^(x/2): 1 to e^-1. The bias selects by the scores 0.8326 and 1.1455, not by the logits 0 and 1.
 */
Test(described_router, gates_of_square_roots_of_softplus) {
  phibal_router router = {3, 2, PHIBAL_GATE_SQRT_SOFTPLUS, 1};
  routes out;
  const float far[] = {-3e38f, -402, -400};
  cr_assert_eq(route(&router, 1, far, NULL, NULL, &out), PHIBAL_OK);
  cr_expect(out.experts[0] == 0 && out.experts[1] == 1); /* their binary32 scores are all 0 */
  cr_expect(out.gates[0] == 0.0f && out.gates[1] == 1.0f);
  router.selection = PHIBAL_SELECTION_GIVEN;
  out.experts[0] = 2;
  cr_assert_eq(route(&router, 1, far, NULL, NULL, &out), PHIBAL_OK);
  const double larger = 1 / (1 + exp(-1));
  cr_expect_eq(out.gates[0], (float)larger);
  cr_expect_eq(out.gates[1], (float)(1 - larger));
  router.selection = PHIBAL_SELECTION_OF_SCORES;
  router.normalisation = PHIBAL_NORMALISATION_NONE;
  const float near[] = {0, 1, -1}, bias[] = {0.3125f, 0, -1};
  cr_assert_eq(route(&router, 1, near, bias, NULL, &out), PHIBAL_OK);
  cr_expect(out.experts[0] == 1 && out.experts[1] == 0);
  cr_expect_eq(out.gates[1], (float)sqrt(log(2)));
  const float more[] = {0.3135f, 0, -1};
  cr_assert_eq(route(&router, 1, near, more, NULL, &out), PHIBAL_OK);
  cr_expect(out.experts[0] == 0 && out.experts[1] == 1);
  float gradient[3], dg[2] = {1, 1};
  cr_expect_eq(
      phibal_router_backward(&router, 1, near, NULL, out.experts, dg, NULL, 0, 0.5, gradient),
      PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "sqrt(softplus)"), "%s", phibal_status_message());
}

/* The scores compared are the probabilities returned: a bias of their difference decides, where one
   of the logits' would be needed, and a tie of it goes to the lower index. Probabilities that
   vanish tie. */
Test(described_router, probabilities_that_are_returned_are_compared) {
  enum { E = 4, TOKENS = 20 };
  uint64_t state = 5;
  for (int many = 0; many < 2; many++) { /* tokens side by side, and one by one */
    const int32_t experts = many ? 80 : E;
    float *logits = malloc(sizeof(float) * TOKENS * 80), *p = malloc(sizeof(float) * TOKENS * 80);
    float *bias = calloc(80, sizeof(float)), gates[TOKENS];
    int32_t selected[TOKENS];
    for (int32_t i = 0; i < TOKENS * experts; i++) logits[i] = 0.3f * (float)random_unit(&state);
    phibal_router router = {experts, 1, PHIBAL_GATE_PROBABILITY, 1};
    router.score = PHIBAL_SCORE_PROBABILITY;
    for (int32_t t = 0; t < TOKENS; t++)
      for (int32_t e = 2; e < experts; e++) logits[t * experts + e] = -2;
    for (int32_t t = 0; t < TOKENS; t++) { /* each token has its own bias */
      phibal_loads loads;
      cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
      cr_assert_eq(phibal_router_forward(&router, TOKENS, logits, NULL, NULL, p, selected, gates,
                                         NULL, &loads),
                   PHIBAL_OK);
      const float *own = p + t * experts;
      const int high = own[1] > own[0], low = 1 - high;
      cr_expect_eq(selected[t], high);
      bias[low] = own[high] - own[low]; /* exact: neither is twice the other */
      cr_assert(own[high] <= 2 * own[low]);
      phibal_router_forward(&router, TOKENS, logits, bias, NULL, p, selected, gates, NULL, &loads);
      cr_expect_eq(selected[t], 0, "a tie of token %d", (int)t);
      bias[low] = nextafterf(bias[low], 1);
      phibal_router_forward(&router, TOKENS, logits, bias, NULL, p, selected, gates, NULL, &loads);
      cr_expect_eq(selected[t], low);
      cr_expect_eq(gates[t], own[low]);
      bias[low] = 0;
      phibal_loads_destroy(&loads);
    }
    free(logits), free(p), free(bias);
  }
  phibal_router router = {3, 2, PHIBAL_GATE_PROBABILITY, 1};
  router.score = PHIBAL_SCORE_PROBABILITY;
  const float far[] = {-2000, 0, -1000};
  routes out;
  cr_assert_eq(route(&router, 1, far, NULL, NULL, &out), PHIBAL_OK);
  cr_expect(out.experts[0] == 1 && out.experts[1] == 0);
}

/* Experts that compute nothing: out of the sum, and all gates 0 where a token has only such. */
Test(described_router, gates_without_experts_that_compute_nothing) {
  static const phibal_gate gates[] = {PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_GATE_SIGMOID,
                                      PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_GATE_PROBABILITY};
  const float logits[] = {1, 2, 700, 800, -3000, -2000, 3, 4};
  const float dg[] = {5, 7, 11, 13};
  for (size_t g = 0; g < sizeof gates / sizeof *gates; g++) {
    phibal_router router = {4, 2, gates[g], 1};
    if (gates[g] == PHIBAL_GATE_PROBABILITY) router.normalisation = PHIBAL_NORMALISATION_SUM;
    router.zero_experts = 2;
    router.zero_gates = PHIBAL_ZERO_GATES_LEFT_OUT;
    routes out;
    float gradient[8];
    cr_assert_eq(route(&router, 2, logits, NULL, NULL, &out), PHIBAL_OK);
    cr_assert_eq(
        phibal_router_backward(&router, 2, logits, NULL, out.experts, dg, NULL, 0, 0, gradient),
        PHIBAL_OK);
    for (int i = 0; i < 4; i++) cr_expect_eq(out.gates[i], 0.0f, "gate %d, %d", (int)gates[g], i);
    for (int i = 0; i < 8; i++) cr_expect_eq(gradient[i], 0.0f, "gate %d, %d", (int)gates[g], i);
    router.selection = PHIBAL_SELECTION_GIVEN;
    const int32_t mixed[] = {3, 1, 0, 2};
    memcpy(out.experts, mixed, sizeof mixed);
    cr_assert_eq(route(&router, 2, logits, NULL, NULL, &out), PHIBAL_OK);
    cr_expect(out.gates[0] == 0.0f &&
              out.gates[1] == 1.0f); /* the one that is left, however small */
    cr_expect(out.gates[2] == 1.0f && out.gates[3] == 0.0f);
    router.zero_gates = PHIBAL_ZERO_GATES_COUNTED;
    cr_assert_eq(route(&router, 2, logits, NULL, NULL, &out), PHIBAL_OK);
    cr_expect(out.gates[0] > 0.4f);
  }
}

/* A bias or a logit that is not finite, with groups. */
Test(described_router, numbers_that_are_not_finite_are_named) {
  float logits[16] = {0}, bias[8] = {0};
  phibal_router router = {8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_TWO_LARGEST, 2, 1};
  routes out;
  bias[5] = NAN;
  cr_expect_eq(route(&router, 2, logits, bias, NULL, &out), PHIBAL_ERROR_NONFINITE);
  cr_expect(strstr(phibal_status_message(), "bias of expert 5"), "%s", phibal_status_message());
  logits[8 + 6] = INFINITY;
  cr_expect_eq(route(&router, 2, logits, NULL, NULL, &out), PHIBAL_ERROR_NONFINITE);
  cr_expect(strstr(phibal_status_message(), "token 1 for expert 6"), "%s", phibal_status_message());
}

Test(described_router, quantiles_know_no_groups) {
  float logits[8] = {0}, required[8];
  phibal_router router = {8, 2, PHIBAL_GATE_SIGMOID, 1, PHIBAL_GROUP_TWO_LARGEST, 2, 1};
  cr_expect_eq(phibal_quantile_required(&router, 1, logits, NULL, NULL, 1, required),
               PHIBAL_ERROR_UNSUPPORTED);
  router =
      (phibal_router){.experts = 8, .active = 2, .scale = 1, .selection = PHIBAL_SELECTION_GIVEN};
  cr_expect_eq(phibal_quantile_required(&router, 1, logits, NULL, NULL, 1, required),
               PHIBAL_ERROR_UNSUPPORTED);
  router.selection = PHIBAL_SELECTION_OF_SCORES;
  router.score = PHIBAL_SCORE_PROBABILITY;
  cr_expect_eq(phibal_quantile_required(&router, 1, logits, NULL, NULL, 1, required),
               PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "probabilities"), "%s", phibal_status_message());
}

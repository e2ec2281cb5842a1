/* Routers of any description, forward and backward: selection in groups (R2g), gates as they are
   (R5n) or over a sum with epsilon (R5e), and selections that are given.

   Its field cases are those of routers that came later, in blocks of 49 in which features meet as
   in the paired cases: gates of square roots of softplus (R5s), selection by probabilities (R2p),
   and experts that compute nothing (R5z), with both.

   An implementation compares its own probabilities (R2p), which are within 0.501 ULP. So a token in
   which one lies so near to the middle of two binary32 numbers that this leaves a choice is drawn
   again: all that keep the promise compare the same numbers. */
#include "bounds.h"
#include "cases.h"
#include "judgement.h"
#include "paired.h"
#include "random.h"
#include "selection.h"
#include "vectors.h"
#include <math.h>
#include <phibal/reference_router.h>
#include <phibal/rounding.h>
#include <phibal/router.h>
#include <stdlib.h>
#include <string.h>

/* As for the other routing operations (operation_router.c). */
enum { PRECISION = 256, MOST_PRECISION = 4096 };
enum { STREAM_DESCRIBED = 116 };

/* What a case is made of, a column each, of paired cases and of others; the rest is drawn. */
enum { OF_GROUPS, OF_GATES, OF_GROUP_SCORE, OF_BIAS, OF_LOGITS, OF_ACTIVE, OF_EXPERTS, OF_MASK };

static const char *const logit_kinds[] = {"ordinary",   "ties",           "near-ties", "within-80",
                                          "within-1e4", "near-underflow", "all-equal"};
enum { LOGIT_KINDS = 7 };
enum { BIAS_NONE, BIAS_SOME, BIAS_TIES, BIAS_BELOW, BIAS_ABOVE, BIASES };

static const int values[PAIRED_COLUMNS] = {7, 7, 3, BIASES, LOGIT_KINDS, 4, 7, 3};

/* The block of a field case; NO_BLOCK of others. */
typedef enum field_block {
  NO_BLOCK = -1,
  BLOCK_SQRT_SOFTPLUS,
  BLOCK_PROBABILITY,
  BLOCK_ZERO_EXPERTS,
  BLOCKS
} field_block;

_Static_assert(DESCRIBED_FIELD_CASES == BLOCKS * PAIRED_ROWS, "each block is run once");

static field_block block_of(uint64_t number) {
  if (!case_is_field(number)) return NO_BLOCK;
  return (field_block)((case_base(number) - FIELD_CASES) / PAIRED_ROWS % BLOCKS);
}

static bool is_paired(uint64_t number) {
  return case_is_paired(number) || case_is_field(number);
}

/* Logits go by turns. */
static int logits_level(uint64_t number) {
  return is_paired(number) ? paired_level(number, OF_LOGITS, LOGIT_KINDS)
                           : (int)(number % LOGIT_KINDS);
}

const char *operation_kind_described(uint64_t number) {
  return logit_kinds[logits_level(number)];
}

/* The value of each column: from the array, or drawn. */
static void choose(uint64_t number, random_stream *r, int level[PAIRED_COLUMNS]) {
  for (int i = 0; i < PAIRED_COLUMNS; i++)
    level[i] = is_paired(number) ? paired_level(number, i, values[i])
                                 : (int)random_integer(r, 0, values[i] - 1);
  level[OF_LOGITS] = logits_level(number);
}

static const char *const normalisation_names[] = {"of-gate", "none", "sum"};
static const char *const selection_names[] = {"of-scores", "given"};
static const char *const zero_gates_names[] = {"counted", "left-out"};

static float draw_logit(const operation_case *c, random_stream *r, float base) {
  static const float few[] = {-1.5f, -0.0f, 0.0f, 0.0f, 2.0f};
  switch (logits_level(c->number)) {
  case 1:
    return few[random_integer(r, 0, 4)];
  case 2: { /* so near, if probabilities are compared, that these are one binary32 number */
    float x = block_of(c->number) == BLOCK_PROBABILITY ? base / 64 : base;
    for (int64_t steps = random_integer(r, 0, 2); steps > 0; steps--) x = nextafterf(x, INFINITY);
    return x;
  }
  case 3: /* all sigmoids small: an epsilon beside them is seen */
    return (float)random_uniform(r, -52, -46);
  case 4:
    return (float)random_uniform(r, -1e4, 1e4);
  case 5: /* a square root halves the exponent; and where e^x vanishes in binary64 too */
    if (block_of(c->number) != BLOCK_SQRT_SOFTPLUS) return (float)random_uniform(r, -105, -85);
    return (float)random_uniform(r, -210, -170) - (base < 0 ? 1300 : 0);
  case 6:
    return base;
  default:
    return (float)(2 * random_normal(r));
  }
}

static float draw_bias(int kind, random_stream *r) {
  static const float few[] = {-0.5f, -0.0f, 0.0f, 0.5f};
  if (kind == BIAS_TIES) return few[random_integer(r, 0, 3)];
  if (kind == BIAS_BELOW) return (float)random_uniform(r, -15, -11);
  if (kind == BIAS_ABOVE) return (float)random_uniform(r, 9, 13);
  return (float)random_normal(r);
}

typedef struct gates_kind {
  phibal_gate gate;
  phibal_normalisation normalisation;
  bool epsilon;
} gates_kind;

/* Gates by their level: of usual cases, and of a block's. */
static const gates_kind usual_gates[] = {
    {PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_NORMALISATION_OF_GATE, false},
    {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_OF_GATE, false},
    {PHIBAL_GATE_SIGMOID, PHIBAL_NORMALISATION_OF_GATE, false},
    {PHIBAL_GATE_SIGMOID, PHIBAL_NORMALISATION_NONE, false},
    {PHIBAL_GATE_SIGMOID, PHIBAL_NORMALISATION_SUM, true},
    {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_SUM, true},
    {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_SUM, false}};
static const gates_kind block_gates[BLOCKS][7] = {
    {{PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_NORMALISATION_NONE, false},
     {PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_NORMALISATION_SUM, true},
     {PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_NORMALISATION_NONE, false},
     {PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_NORMALISATION_SUM, true},
     {PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_NORMALISATION_SUM, false}},
    {{PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_SUM, true},
     {PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_SUM, false},
     {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_SUM, true}},
    {{PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_SIGMOID, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_SIGMOID, PHIBAL_NORMALISATION_NONE, false},
     {PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_NORMALISATION_OF_GATE, false},
     {PHIBAL_GATE_SQRT_SOFTPLUS, PHIBAL_NORMALISATION_SUM, true},
     {PHIBAL_GATE_PROBABILITY, PHIBAL_NORMALISATION_SUM, true}}};

static bool is_softmax(phibal_gate gate) {
  return gate == PHIBAL_GATE_TOPK_SOFTMAX || gate == PHIBAL_GATE_PROBABILITY;
}

/* What the later blocks add to a router. */
static void draw_later_members(field_block block, random_stream *r, phibal_router *router) {
  const int32_t E = router->experts, zero[] = {1, E / 4, E / 2, E - 1, E};
  if (block == BLOCK_PROBABILITY) router->selection = PHIBAL_SELECTION_OF_SCORES;
  if (block == BLOCK_PROBABILITY) router->score = PHIBAL_SCORE_PROBABILITY;
  if (block != BLOCK_ZERO_EXPERTS) return;
  const bool by_probability = random_integer(r, 0, 1);
  if (by_probability && is_softmax(router->gate) && router->selection == PHIBAL_SELECTION_OF_SCORES)
    router->score = PHIBAL_SCORE_PROBABILITY;
  router->zero_experts = zero[random_integer(r, 0, 4)];
  if (random_integer(r, 0, 3)) router->zero_gates = PHIBAL_ZERO_GATES_LEFT_OUT;
}

/* The router of a case. Where a level is no router, the nearest one that is. */
static phibal_router draw_router(field_block block, const int *level, random_stream *r) {
  static const int32_t experts[] = {4, 8, 12, 32, 64, 72, 260};
  static const float epsilons[] = {1e-20f, 1e-9f, 0.02f, 1};
  const int groups = level[OF_GROUPS];
  const gates_kind of_gates =
      block == NO_BLOCK ? usual_gates[level[OF_GATES]] : block_gates[block][level[OF_GATES]];
  const int32_t E = experts[level[OF_EXPERTS]];
  const bool tiny = level[OF_LOGITS] == 3;
  phibal_router router = {.experts = E,
                          .gate = of_gates.gate,
                          .normalisation = of_gates.normalisation,
                          .scale = random_integer(r, 0, 1) ? 1 : (float)random_uniform(r, 0.5, 3)};
  if (of_gates.epsilon) router.epsilon = epsilons[tiny ? 0 : random_integer(r, 0, 3)];
  static const int32_t of[][2] = {{0, 0}, {2, 1}, {4, 2}, {4, 3}, {4, 1}, {1, 1}, {0, 0}};
  router.groups = groups == 5 && random_integer(r, 0, 1) ? E : of[groups][0];
  router.active_groups = router.groups == E && E > 4 ? E / 2 : of[groups][1];
  if (groups == 6) router.selection = PHIBAL_SELECTION_GIVEN;
  draw_later_members(block, r, &router);
  const int32_t room = router.groups ? router.active_groups * (E / router.groups) : E;
  const int32_t active[] = {1, room < 2 ? room : 2, room < 7 ? room : 7, room < 24 ? room : 24};
  router.active = active[level[OF_ACTIVE]];
  if (!router.groups) return router;
  router.group_score = (phibal_group_score)(PHIBAL_GROUP_LARGEST + level[OF_GROUP_SCORE]);
  if (router.group_score == PHIBAL_GROUP_SHARE) { /* k that g does not divide, too */
    router.active += (int32_t)random_integer(r, 0, router.active_groups - 1);
    if (router.active > room) router.active = room;
  }
  const int32_t summed =
      router.group_score == PHIBAL_GROUP_SHARE ? router.active / router.active_groups : 2;
  if (router.group_score != PHIBAL_GROUP_LARGEST &&
      (summed < 1 || summed > E / router.groups ||
       (summed > 1 && router.gate == PHIBAL_GATE_PROBABILITY &&
        router.score == PHIBAL_SCORE_OF_GATE)))
    router.group_score = PHIBAL_GROUP_LARGEST;
  return router;
}

static void add_flags(operation_case *c, const phibal_router *router, int bias, bool mask) {
  if (router->active == 1) case_flag(c, FLAG_K_ONE);
  if (router->scale != 1) case_flag(c, FLAG_SCALE);
  if (router->gate == PHIBAL_GATE_SIGMOID) case_flag(c, FLAG_SIGMOID);
  if (router->gate == PHIBAL_GATE_SQRT_SOFTPLUS) case_flag(c, FLAG_SQRT_SOFTPLUS);
  if (bias) case_flag(c, FLAG_BIAS);
  if (bias == BIAS_BELOW) case_flag(c, FLAG_NEGATIVE_BIAS);
  if (mask) case_flag(c, FLAG_PADDING);
  if (router->active_groups < router->groups) case_flag(c, FLAG_GROUPS);
  if (router->active_groups < router->groups && router->group_score != PHIBAL_GROUP_LARGEST &&
      (router->group_score == PHIBAL_GROUP_TWO_LARGEST ||
       router->active / router->active_groups != 2))
    case_flag(c, FLAG_GROUP_SUM);
  if (router->epsilon > 0 && router->active > 1) case_flag(c, FLAG_GATE_EPSILON);
  if (router->normalisation == PHIBAL_NORMALISATION_NONE) case_flag(c, FLAG_GATES_AS_THEY_ARE);
  if (router->selection == PHIBAL_SELECTION_GIVEN) case_flag(c, FLAG_GIVEN_SELECTION);
  if (router->score == PHIBAL_SCORE_PROBABILITY) case_flag(c, FLAG_PROBABILITY_SCORES);
  if (router->score == PHIBAL_SCORE_OF_GATE && is_softmax(router->gate) && bias)
    case_flag(c, FLAG_LOGIT_SCORES);
  if (router->zero_gates == PHIBAL_ZERO_GATES_LEFT_OUT)
    case_flag(c, FLAG_ZERO_GATES);
  else if (router->zero_experts > 0)
    case_flag(c, FLAG_ZERO_GATES_COUNTED);
}

/* Any k different experts of each token, in any order; -1 of padding. */
static void draw_experts(const phibal_router *router, int64_t T, const uint8_t *mask,
                         random_stream *r, int32_t *experts) {
  const int32_t E = router->experts, k = router->active;
  int32_t order[PHIBAL_MAX_EXPERTS];
  for (int64_t t = 0; t < T; t++) {
    for (int32_t e = 0; e < E; e++) order[e] = e;
    for (int32_t s = 0; s < k; s++) {
      const int32_t at = (int32_t)random_integer(r, s, E - 1), swap = order[at];
      order[at] = order[s];
      order[s] = swap;
      experts[t * k + s] = mask && !mask[t] ? -1 : swap;
    }
  }
}

/* Whether every binary32 number within 0.501 ULP of a probability is the nearest one, for all of a
   token's: 0.00102 ULP to either side round to the same. */
static phibal_status scores_are_certain(phibal_reference_token *token, const float *logits,
                                        bool *certain) {
  const phibal_router plain = {token->experts, token->active, PHIBAL_GATE_PROBABILITY, 1};
  phibal_status status = phibal_reference_token_forward(token, &plain, logits, NULL);
  *certain = true;
  for (int32_t e = 0; status == PHIBAL_OK && e < token->experts; e++) {
    double p = 0;
    int exponent;
    *certain = *certain && phibal_round_enclosure(&token->probability[e], PHIBAL_FORMAT_BINARY64,
                                                  PHIBAL_ROUND_NEAREST, &p);
    frexp(p * (1 + 0x1p-30), &exponent);
    const double ulp = p > 0x1p-126 ? ldexp(1, exponent - 24) : 0x1p-149;
    *certain = *certain && (float)(p - 0.00102 * ulp) == (float)(p + 0.00102 * ulp);
  }
  return status;
}

static void draw_token(const operation_case *c, random_stream *r, int64_t E, float *logits) {
  const float base = (float)(3 * random_normal(r));
  for (int64_t e = 0; e < E; e++) logits[e] = draw_logit(c, r, base);
}

/* As drawn the first time, or, where probabilities are compared that are not certain, again. */
static phibal_status draw_logits(const operation_case *c, const phibal_router *router, int64_t T,
                                 random_stream *r, float *logits) {
  const int64_t E = router->experts;
  phibal_reference_token token;
  if (router->score == PHIBAL_SCORE_OF_GATE) {
    for (int64_t t = 0; t < T; t++) draw_token(c, r, E, logits + t * E);
    return PHIBAL_OK;
  }
  phibal_status status = phibal_reference_token_init(&token, router->experts, 1, PRECISION);
  if (status != PHIBAL_OK) return status;
  for (int64_t t = 0; status == PHIBAL_OK && t < T; t++) {
    bool certain = false;
    while (status == PHIBAL_OK && !certain) {
      draw_token(c, r, E, logits + t * E);
      status = scores_are_certain(&token, logits + t * E, &certain);
    }
  }
  phibal_reference_token_clear(&token);
  return status;
}

phibal_status operation_described_router_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_DESCRIBED, c->number);
  int level[PAIRED_COLUMNS];
  choose(c->number, &r, level);
  const phibal_router router = draw_router(block_of(c->number), level, &r);
  const int64_t T = random_integer(&r, 1, case_is_small(c->number) ? 3 : 24);
  const int64_t E = router.experts, k = router.active;
  const bool given = router.selection == PHIBAL_SELECTION_GIVEN;
  const int bias_kind = given ? BIAS_NONE : level[OF_BIAS];
  const int mask_kind = level[OF_MASK];
  case_integer(c, "k", k);
  case_text(c, "gate", selection_gates[router.gate]);
  case_real(c, "scale", (double)router.scale);
  case_integer(c, "groups", router.groups);
  case_integer(c, "active-groups", router.active_groups);
  case_text(c, "group-score", selection_group_scores[router.group_score]);
  case_text(c, "normalisation", normalisation_names[router.normalisation]);
  case_real(c, "epsilon", (double)router.epsilon);
  case_text(c, "selection", selection_names[router.selection]);
  if (router.score != PHIBAL_SCORE_OF_GATE || router.zero_experts > 0) {
    case_text(c, "score", selection_scores[router.score]);
    case_integer(c, "zero-experts", router.zero_experts);
    case_text(c, "zero-gates", zero_gates_names[router.zero_gates]);
  }
  case_real(c, "price-scale", random_uniform(&r, 0.001, 2) / (double)(T + 1));
  const bool z = is_softmax(router.gate) && random_integer(&r, 0, 1);
  case_real(c, "z-scale", z ? random_uniform(&r, 0, 0.1) : 0);
  const bool priced = random_integer(&r, 0, 1);
  float *logits = case_add_input(c, "logits", TENSOR_F32, 2, T, E);
  float *bias = bias_kind ? case_add_input(c, "bias", TENSOR_F32, 1, E) : NULL;
  uint8_t *mask = mask_kind ? case_add_input(c, "mask", TENSOR_U8, 1, T) : NULL;
  int32_t *experts = given ? case_add_input(c, "given", TENSOR_I32, 2, T, k) : NULL;
  float *gradient = case_add_input(c, "gate-gradient", TENSOR_F32, 2, T, k);
  float *price = priced ? case_add_input(c, "price", TENSOR_F32, 1, E) : NULL;
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  const phibal_status drawn = draw_logits(c, &router, T, &r, logits);
  if (drawn != PHIBAL_OK) return drawn;
  for (int64_t e = 0; bias && e < E; e++) bias[e] = draw_bias(bias_kind, &r);
  if (router.score == PHIBAL_SCORE_PROBABILITY) /* of the size of what it is added to */
    for (int64_t e = 0; bias && e < E; e++) bias[e] /= 16;
  for (int64_t t = 0; mask && t < T; t++) {
    mask[t] = t == 0 || random_integer(&r, 0, 2) > 0;
    if (!mask[t] && mask_kind == 1) logits[t * E] = t % 2 ? NAN : INFINITY;
  }
  if (experts) draw_experts(&router, T, mask, &r, experts);
  for (int64_t i = 0; i < T * k; i++) gradient[i] = (float)random_normal(&r);
  for (int64_t e = 0; price && e < E; e++) price[e] = (float)(random_normal(&r) * 3);
  add_flags(c, &router, bias_kind, mask != NULL);
  case_add_output(c, OUTPUT_DESCRIBED_EXPERTS, "experts", TENSOR_I32, 2, T, k);
  case_add_output(c, OUTPUT_DESCRIBED_GATES, "gates", TENSOR_F32, 2, T, k);
  case_add_output(c, OUTPUT_DESCRIBED_COUNTS, "counts", TENSOR_I64, 1, E);
  case_add_output(c, OUTPUT_DESCRIBED_GRADIENT, "logit-gradient", TENSOR_F32, 2, T, E);
  return PHIBAL_OK;
}

static phibal_router router_of(const operation_case *c) {
  const bool later = case_get_text(c, "score") != NULL;
  return (phibal_router){
      .experts = (int32_t)case_input(c, "logits")->shape[1],
      .active = (int32_t)case_get_integer(c, "k"),
      .gate = case_get_gate(c),
      .scale = (float)case_get_real(c, "scale"),
      .group_score =
          (phibal_group_score)case_get_choice(c, "group-score", selection_group_scores, 4),
      .groups = (int32_t)case_get_integer(c, "groups"),
      .active_groups = (int32_t)case_get_integer(c, "active-groups"),
      .normalisation =
          (phibal_normalisation)case_get_choice(c, "normalisation", normalisation_names, 3),
      .epsilon = (float)case_get_real(c, "epsilon"),
      .selection = (phibal_selection)case_get_choice(c, "selection", selection_names, 2),
      .score = later ? (phibal_score)case_get_choice(c, "score", selection_scores, 2)
                     : PHIBAL_SCORE_OF_GATE,
      .zero_experts = later ? (int32_t)case_get_integer(c, "zero-experts") : 0,
      .zero_gates = later ? (phibal_zero_gates)case_get_choice(c, "zero-gates", zero_gates_names, 2)
                          : PHIBAL_ZERO_GATES_COUNTED};
}

/* In two calls, as micro-batches are; the loads are of both. */
phibal_status operation_described_router_cpu(operation_case *c) {
  const phibal_router router = router_of(c);
  const int64_t T = case_input(c, "logits")->shape[0], E = router.experts, k = router.active;
  const float *logits = case_input_data(c, "logits"), *bias = case_input_data(c, "bias");
  const uint8_t *mask = case_input_data(c, "mask");
  const int32_t *given = case_input_data(c, "given");
  int32_t *experts = case_output_data(c, "experts");
  float *gates = case_output_data(c, "gates");
  if (given) memcpy(experts, given, sizeof *experts * (size_t)(T * k));
  phibal_loads loads;
  phibal_status status = phibal_loads_create(&router, &loads);
  if (status != PHIBAL_OK) return status;
  for (int64_t first = 0, n = T / 3; status == PHIBAL_OK && first < T; first += n, n = T - first)
    status = phibal_router_forward(&router, n, logits + first * E, bias, mask ? mask + first : NULL,
                                   NULL, experts + first * k, gates + first * k, NULL, &loads);
  if (status == PHIBAL_OK)
    memcpy(case_output_data(c, "counts"), loads.count, sizeof(int64_t) * (size_t)E);
  phibal_loads_destroy(&loads);
  if (status != PHIBAL_OK) return status;
  return phibal_router_backward(&router, T, logits, mask, experts,
                                case_input_data(c, "gate-gradient"), case_input_data(c, "price"),
                                case_get_real(c, "price-scale"), case_get_real(c, "z-scale"),
                                case_output_data(c, "logit-gradient"));
}

/* The router itself, or for a case with a selection to judge by in the place of (R2)'s the one that
   is given it: gates and gradients are the same functions of the logits and the slots. */
static phibal_router judged_router(const operation_case *c, const int32_t **given) {
  phibal_router router = router_of(c);
  *given = case_input_data(c, "experts");
  if (!*given) *given = case_input_data(c, "given");
  if (!*given) return router;
  router.selection = PHIBAL_SELECTION_GIVEN;
  router.score = PHIBAL_SCORE_OF_GATE;
  router.group_score = PHIBAL_GROUP_NONE;
  router.groups = router.active_groups = 0;
  return router;
}

static phibal_status judge_token(judgement *j, const operation_case *c, const phibal_router *router,
                                 const int32_t *given, int64_t t, mpfr_prec_t precision,
                                 int64_t *count, bool *wide) {
  const int64_t E = router->experts, k = router->active;
  const float *logits = (const float *)case_input_data(c, "logits") + t * E;
  const float *gradient = case_input_data(c, "gate-gradient");
  phibal_reference_token truth;
  phibal_status status =
      phibal_reference_token_init(&truth, router->experts, router->active, precision);
  if (status != PHIBAL_OK) return status;
  status = phibal_reference_router_forward(&truth, router, logits,
                                           given ? NULL : case_input_data(c, "bias"),
                                           given ? given + t * k : NULL);
  if (status == PHIBAL_OK)
    status = phibal_reference_router_backward(
        &truth, router, logits, truth.selection, gradient + t * k, case_input_data(c, "price"),
        case_get_real(c, "price-scale"), case_get_real(c, "z-scale"));
  *wide = status == PHIBAL_OK && precision < MOST_PRECISION &&
          (any_is_wide(truth.gate, NULL, k) || any_is_wide(truth.gradient, truth.condition, E));
  if (status == PHIBAL_OK && !*wide) {
    for (int64_t s = 0; s < k; s++) {
      const int32_t expert = truth.selection[s];
      count[expert]++;
      judge_integer(j, OUTPUT_DESCRIBED_EXPERTS, case_output(c, "experts"), t * k + s, expert);
      judge_real(j, OUTPUT_DESCRIBED_GATES, case_output(c, "gates"), t * k + s, &truth.gate[s],
                 NULL);
    }
    for (int64_t e = 0; e < E; e++)
      judge_real(j, OUTPUT_DESCRIBED_GRADIENT, case_output(c, "logit-gradient"), t * E + e,
                 &truth.gradient[e], &truth.condition[e]);
  }
  phibal_reference_token_clear(&truth);
  return status;
}

phibal_status operation_described_router_expected(const operation_case *c, judgement *j) {
  const int32_t *given;
  const phibal_router router = judged_router(c, &given);
  const int64_t T = case_input(c, "logits")->shape[0], E = router.experts, k = router.active;
  const uint8_t *mask = case_input_data(c, "mask");
  int64_t count[PHIBAL_MAX_EXPERTS] = {0};
  phibal_status status = PHIBAL_OK;
  for (int64_t t = 0; status == PHIBAL_OK && t < T; t++) {
    if (mask && !mask[t]) {
      for (int64_t s = 0; s < k; s++) {
        judge_integer(j, OUTPUT_DESCRIBED_EXPERTS, case_output(c, "experts"), t * k + s, -1);
        judge_exact(j, OUTPUT_DESCRIBED_GATES, case_output(c, "gates"), t * k + s, 0);
      }
      for (int64_t e = 0; e < E; e++)
        judge_exact(j, OUTPUT_DESCRIBED_GRADIENT, case_output(c, "logit-gradient"), t * E + e, 0);
      continue;
    }
    bool wide = true;
    for (mpfr_prec_t p = PRECISION; status == PHIBAL_OK && wide && p <= MOST_PRECISION; p *= 4)
      status = judge_token(j, c, &router, given, t, p, count, &wide);
  }
  for (int64_t e = 0; status == PHIBAL_OK && e < E; e++)
    judge_integer(j, OUTPUT_DESCRIBED_COUNTS, case_output(c, "counts"), e, count[e]);
  return status;
}

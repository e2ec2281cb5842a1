/* Shapes first, then logits, by kind. */
#include "cases.h"
#include "paired.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int32_t odd_experts[] = {3, 5, 7, 11, 13, 29, 61, 97, 127, 251, 509, 1021};

const char *case_kind_name(case_kind kind) {
  static const char *const names[] = {
#define CASE(ID, name, what) name,
      ROUTE_CASES(CASE)
#undef CASE
  };
  return (unsigned)kind < CASE_KINDS ? names[kind] : "?";
}

/* The round of a field case, and its kind. */
static int field_round(uint64_t number, int *kind) {
  const int place = (int)((case_base(number) - FIELD_CASES) % ROUTE_FIELD_CASES);
  const bool by_turns = place < FIELD_FIRST_KINDS * FIELD_ROUNDS;
  *kind = by_turns ? place % FIELD_FIRST_KINDS : place / FIELD_ROUNDS;
  return by_turns ? place / FIELD_FIRST_KINDS : place % FIELD_ROUNDS;
}

int field_kind_of(uint64_t number) {
  int kind = -1;
  if (case_is_field(number)) field_round(number, &kind);
  return kind;
}

const char *field_kind_name(int field) {
  static const char *const names[] = {
#define FIELD(ID, name, what) name,
      ROUTE_FIELD(FIELD)
#undef FIELD
  };
  return names[field];
}

/* What a paired case is made of, a column each. */
enum {
  PAIR_GATE,
  PAIR_SCALE,
  PAIR_K,
  PAIR_BIAS,
  PAIR_MASK,
  PAIR_LOGITS,
  PAIR_EXPERTS,
  PAIR_TOKENS,
};
enum { BIAS_NONE, BIAS_SOME, BIAS_EQUAL, BIAS_SMALL, BIAS_BELOW, BIAS_ABOVE, BIASES };
enum { MASK_NONE, MASK_NAN, MASK_FINITE, MASKS };

case_kind case_kind_of(uint64_t number) {
  static const case_kind logits[] = {CASE_ORDINARY,   CASE_TIES,      CASE_NEAR_TIES,
                                     CASE_WITHIN_1E4, CASE_WITHIN_80, CASE_NEAR_UNDERFLOW,
                                     CASE_DEAD_EXPERT};
  if (case_is_paired(number)) return logits[paired_level(number, PAIR_LOGITS, 7)];
  if (case_is_field(number)) return CASE_ORDINARY;
  case_kind kind = (case_kind)(number % CASE_KINDS);
  bool large = kind == CASE_MOST_EXPERTS || kind == CASE_MANY_TOKENS || kind == CASE_E128_K8;
  return large && case_is_small(number) ? CASE_ORDINARY : kind;
}

static void choose_paired(route_case *c, uint64_t number) {
  static const int32_t experts[] = {2, 3, 8, 12, 33, 64, 130};
  static const float scales[] = {1, 2.5f, 0.75f};
  phibal_router *router = &c->router;
  router->experts = experts[paired_level(number, PAIR_EXPERTS, 7)];
  const int32_t E = router->experts, active[] = {1, 2, E < 8 ? E : 8, E < 12 ? E : 12};
  router->active = active[paired_level(number, PAIR_K, 4)];
  router->gate = (phibal_gate)paired_level(number, PAIR_GATE, 3);
  router->scale = scales[paired_level(number, PAIR_SCALE, 3)];
  c->tokens = 3 + 6 * paired_level(number, PAIR_TOKENS, 7);
  c->mask_kind = paired_level(number, PAIR_MASK, MASKS);
}

static void choose_field(route_case *c, uint64_t number) {
  static const int32_t negative[] = {5, 12, 40}, zeros[] = {16, 64, 256};
  int kind;
  const int round = field_round(number, &kind);
  const bool halves = c->field == FIELD_BFLOAT16 || c->field == FIELD_FLOAT16;
  phibal_router *router = &c->router;
  router->experts = 16;
  router->gate = PHIBAL_GATE_SIGMOID;
  if (c->field == FIELD_NEGATIVE || c->field == FIELD_SIGNED_ZEROS) {
    router->experts = (c->field == FIELD_NEGATIVE ? negative : zeros)[round];
    router->gate = (phibal_gate)(round % 2);
  } else if (halves || c->field == FIELD_BIAS_PRECISION) {
    router->experts = 64;
    router->gate = (phibal_gate)((round + 2) % 3);
  }
  router->active = c->field == FIELD_NEGATIVE ? 1 + round : router->experts >= 64 ? 8 : 4;
  router->scale = round == 1 ? 2.5f : 1;
  c->tokens = 12;
}

static void choose_shape(route_case *c, uint64_t number) {
  if (c->field >= 0) {
    choose_field(c, number);
    return;
  }
  if (case_is_paired(number)) {
    choose_paired(c, number);
    return;
  }
  random_stream *r = &c->random;
  bool first = number < CASE_KINDS, small = case_is_small(number);
  phibal_router *router = &c->router;
  router->experts = (int32_t)random_integer(r, 2, small ? 5 : 64);
  c->tokens = random_integer(r, 2, small ? 3 : 40);
  switch (c->kind) {
  case CASE_ONE_EXPERT:
    router->experts = 1;
    break;
  case CASE_ODD_EXPERTS:
    router->experts = odd_experts[random_integer(r, 0, small ? 1 : 11)];
    c->tokens = random_integer(r, 2, small ? 3 : 12);
    break;
  case CASE_MOST_EXPERTS:
    router->experts = PHIBAL_MAX_EXPERTS;
    c->tokens = first ? 35 : 3;
    break;
  case CASE_E128_K8:
    router->experts = 128;
    if (first) c->tokens += 100;
    break;
  case CASE_ONE_TOKEN:
    c->tokens = 1;
    break;
  case CASE_NO_TOKEN:
    c->tokens = 0;
    break;
  case CASE_MANY_TOKENS:
    router->experts = 8;
    c->tokens = first ? 100000 : 1000;
    break;
  default:
    break;
  }
  int32_t most = router->experts < 8 ? router->experts : 8;
  router->active = (int32_t)random_integer(r, 1, most);
  if (c->kind == CASE_E128_K8) router->active = 8;
  if (c->kind == CASE_K_EQUALS_E) router->active = router->experts;
  router->gate = (phibal_gate)random_integer(r, 0, 2);
  router->scale = random_integer(r, 0, 1) ? 1.0f : (float)random_uniform(r, 0.5, 3);
}

enum { BIAS_ORDINARY, BIAS_TIES, BIAS_TINY, BIAS_TURNS, BIAS_NEGATIVE, BIAS_POSITIVE };

/* By turns; after its first turn the ordinary one is by turns negative and positive throughout. */
static int bias_variant(const route_case *c) {
  if (case_is_paired(c->number)) {
    static const int variants[BIASES] = {0,         BIAS_ORDINARY, BIAS_TIES,
                                         BIAS_TINY, BIAS_NEGATIVE, BIAS_POSITIVE};
    return variants[paired_level(c->number, PAIR_BIAS, BIASES)];
  }
  uint64_t round = c->number / CASE_KINDS;
  int turn = (int)(round % BIAS_TURNS);
  if (turn != BIAS_ORDINARY || round == 0) return turn;
  return round / BIAS_TURNS % 2 ? BIAS_NEGATIVE : BIAS_POSITIVE;
}

/* To the nearest number of so many bits, ties away: x is far from the ends of the format's range.
 */
static float round_bits(double x, int bits) {
  int exponent;
  const double fraction = frexp(x, &exponent);
  return (float)ldexp(round(ldexp(fraction, bits)), exponent - bits);
}

static float one_field_logit(route_case *c) {
  const double x = random_normal(&c->random);
  switch (c->field) {
  case FIELD_EPSILON_46:
    return (float)(-46 + x / 2);
  case FIELD_EPSILON_50:
    return (float)(-50 + x / 2);
  case FIELD_EPSILON_105:
    return (float)(-107 + x / 4);
  case FIELD_NEGATIVE:
    return (float)(-9 + x);
  case FIELD_BIAS_PRECISION:
    return (float)(x / 64);
  case FIELD_BIASED_GATES:
    return (float)(-14 + x / 2);
  case FIELD_BFLOAT16:
    return round_bits(2 * x, 8);
  case FIELD_SIGNED_ZEROS:
    return x < -1 ? -1.0f : random_integer(&c->random, 0, 1) ? -0.0f : 0.0f;
  default:
    return round_bits(2 * x, 11);
  }
}

static float one_logit(route_case *c, int32_t expert, int32_t favourite, float base) {
  random_stream *r = &c->random;
  if (c->field >= 0) return one_field_logit(c);
  /* Of the paired ones, all sigmoids small: an epsilon beside them is seen. */
  if (case_is_paired(c->number) && c->kind == CASE_WITHIN_80)
    return (float)random_uniform(r, -80, -50);
  switch (c->kind) {
  case CASE_TIES: {
    static const float values[] = {-1.5f, -0.0f, 0.0f, 0.0f, 2.0f};
    return values[random_integer(r, 0, 4)];
  }
  case CASE_NEAR_TIES: {
    float x = base;
    for (int64_t steps = random_integer(r, 0, 2); steps > 0; steps--) x = nextafterf(x, INFINITY);
    return x;
  }
  case CASE_ONE_HOT:
    return expert == favourite ? (float)random_uniform(r, 20, 100) : 0.0f;
  case CASE_ALL_EQUAL:
    return base;
  case CASE_WITHIN_80:
    return (float)random_uniform(r, -80, 80);
  case CASE_WITHIN_1E4:
    return (float)random_uniform(r, -1e4, 1e4);
  case CASE_SUBNORMAL:
    return (float)(random_uniform(r, -1, 1) * 0x1p-126);
  case CASE_NEAR_UNDERFLOW:
    return expert == favourite ? 0.0f : (float)random_uniform(r, -105, -85);
  case CASE_DEAD_EXPERT:
    return expert == 0 ? -90.0f + (float)random_normal(r) : (float)random_normal(r);
  case CASE_BIAS: {
    /* By turns, logits whose order the bias alone decides. */
    static const float values[] = {-1.0f, -0.0f, 0.0f, 1.0f};
    if (bias_variant(c) != BIAS_TIES && bias_variant(c) != BIAS_TINY) break;
    return values[random_integer(r, 0, 3)];
  }
  default:
    break;
  }
  return (float)(2 * random_normal(r));
}

/* Zeros of both signs keep ties; biases 2^30 times smaller than the logits are lost in a sum of
   binary32, and where they are 2^46 times smaller, in what an integer key holds of one of binary64.
 */
static float one_bias(route_case *c) {
  random_stream *r = &c->random;
  if (c->field == FIELD_BIAS_PRECISION) return 7.25f + (float)random_integer(r, 0, 1023) / 16384;
  if (c->field == FIELD_BIASED_GATES) return (float)random_uniform(r, 7, 12);
  if (c->field == FIELD_SIGNED_ZEROS) return random_integer(r, 0, 1) ? -0.0f : 0.0f;
  static const float values[] = {-0.5f, -0.0f, 0.0f, 0.5f};
  switch (bias_variant(c)) {
  case BIAS_TIES:
    return values[random_integer(r, 0, 3)];
  case BIAS_TINY:
    return (float)(random_uniform(r, -1, 1) * (random_integer(r, 0, 1) ? 0x1p-30 : 0x1p-46));
  case BIAS_NEGATIVE: /* no score is as large as 0, */
    return (float)random_uniform(r, -15, -11);
  case BIAS_POSITIVE: /* and all are larger */
    return (float)random_uniform(r, 9, 13);
  default:
    return (float)random_uniform(r, -3, 1);
  }
}

phibal_status route_case_create(uint64_t seed, uint64_t operation, uint64_t number, route_case *c) {
  memset(c, 0, sizeof *c);
  c->random = random_start(seed, operation, number);
  c->kind = case_kind_of(number);
  c->number = number;
  c->field = field_kind_of(number);
  choose_shape(c, number);
  int32_t E = c->router.experts;
  c->logits = malloc(sizeof(float) * (size_t)(c->tokens * E + 1));
  const bool paired = case_is_paired(number);
  const bool biased = c->field >= 0
                          ? c->field == FIELD_BIAS_PRECISION || c->field == FIELD_BIASED_GATES ||
                                (c->field == FIELD_SIGNED_ZEROS && E == 256) /* its last round */
                      : paired ? paired_level(number, PAIR_BIAS, BIASES) != BIAS_NONE
                               : c->kind == CASE_BIAS;
  if (c->kind == CASE_PADDING) c->mask_kind = MASK_NAN;
  if (biased) c->bias = malloc(sizeof(float) * (size_t)E);
  if (c->mask_kind) c->mask = malloc((size_t)c->tokens);
  if (!c->logits || (biased && !c->bias) || (c->mask_kind && !c->mask)) {
    route_case_destroy(c);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "a case of %lld tokens: out of memory",
                             (long long)c->tokens);
  }
  for (int64_t t = 0; t < c->tokens; t++) {
    int32_t favourite = (int32_t)random_integer(&c->random, 0, E - 1);
    float base = (float)(3 * random_normal(&c->random));
    for (int32_t e = 0; e < E; e++) c->logits[t * E + e] = one_logit(c, e, favourite, base);
  }
  if (c->bias)
    for (int32_t e = 0; e < E; e++) c->bias[e] = one_bias(c);
  /* At least one token is real, at least one is padding. */
  if (c->mask) {
    for (int64_t t = 0; t < c->tokens; t++) c->mask[t] = random_integer(&c->random, 0, 2) > 0;
    c->mask[0] = 1;
    c->mask[c->tokens - 1] = 0;
    for (int64_t t = 0; t < c->tokens; t++)
      if (!c->mask[t] && c->mask_kind == MASK_NAN)
        c->logits[t * E] = t % 2 ? NAN : INFINITY;
      else if (!c->mask[t]) /* finite: another token, which wants the last expert */
        c->logits[t * E + E - 1] += 9;
  }
  return PHIBAL_OK;
}

void route_case_destroy(route_case *c) {
  free(c->logits);
  free(c->bias);
  free(c->mask);
  c->logits = c->bias = NULL;
  c->mask = NULL;
}

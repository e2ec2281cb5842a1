/* Generated inputs for the routing operations: each case is a function of (seed, case number), so
   two numbers identify a failure. The kinds cover what breaks routers; `verify` cycles through
   them. */
#ifndef PHIBAL_VERIFY_CASES_H
#define PHIBAL_VERIFY_CASES_H

#include "random.h"
#include "case_number.h"
#include <phibal/router.h>
#include <stdbool.h>

/* CASE(ID, "name", what it is) */
#define ROUTE_CASES(CASE)                                                                          \
  CASE(ORDINARY, "ordinary", "bell-shaped logits")                                                 \
  CASE(TIES, "ties", "logits from a few values, +0 and -0 among them")                             \
  CASE(NEAR_TIES, "near-ties", "logits one unit in the last place apart")                          \
  CASE(ONE_HOT, "one-hot", "one logit far above the rest")                                         \
  CASE(ALL_EQUAL, "all-equal", "every logit the same")                                             \
  CASE(WITHIN_80, "within-80", "logits up to 80 in size")                                          \
  CASE(WITHIN_1E4, "within-1e4", "logits up to ten thousand in size")                              \
  CASE(SUBNORMAL, "subnormal", "subnormal logits")                                                 \
  CASE(NEAR_UNDERFLOW, "near-underflow", "probabilities around the smallest subnormal")            \
  CASE(DEAD_EXPERT, "dead-expert", "one expert that no token wants")                               \
  CASE(ONE_EXPERT, "one-expert", "E = 1")                                                          \
  CASE(ODD_EXPERTS, "odd-experts", "E a multiple of nothing")                                      \
  CASE(MOST_EXPERTS, "most-experts", "E = 1024")                                                   \
  CASE(E128_K8, "e128-k8", "E = 128, k = 8")                                                       \
  CASE(K_EQUALS_E, "k-equals-e", "every expert selected")                                          \
  CASE(ONE_TOKEN, "one-token", "T = 1")                                                            \
  CASE(NO_TOKEN, "no-token", "T = 0")                                                              \
  CASE(PADDING, "padding", "masked tokens, NaN among their logits")                                \
  CASE(BIAS, "bias", "a selection bias, negative, zero or tiny for some experts")                  \
  CASE(MANY_TOKENS, "many-tokens", "T = 100000")

typedef enum case_kind {
#define CASE(ID, name, what) CASE_##ID,
  ROUTE_CASES(CASE)
#undef CASE
      CASE_KINDS
} case_kind;

/* FIELD(ID, "name", what it is): cases of the field's bugs (case_number.h). */
#define ROUTE_FIELD(FIELD)                                                                         \
  FIELD(EPSILON_46, "sigmoid-epsilon", "all logits near -46")                                      \
  FIELD(EPSILON_50, "sigmoid-epsilon", "all logits near -50")                                      \
  FIELD(EPSILON_105, "sigmoid-epsilon", "all logits near -105: in binary32 all sigmoids are 0")    \
  FIELD(NEGATIVE, "all-negative", "all logits negative, E no multiple of 32")                      \
  FIELD(BIAS_PRECISION, "bias-precision", "biases that 8 bits do not tell apart")                  \
  FIELD(BIASED_GATES, "biased-gates", "large biases beside small sigmoids")                        \
  FIELD(BFLOAT16, "half-logits", "logits that bfloat16 holds")                                     \
  FIELD(FLOAT16, "half-logits", "logits that binary16 holds")                                      \
  FIELD(SIGNED_ZEROS, "ties", "the largest scores zeros of both signs")

enum {
#define FIELD(ID, name, what) FIELD_##ID,
  ROUTE_FIELD(FIELD)
#undef FIELD
      FIELD_KINDS,
  FIELD_FIRST_KINDS = 8, /* these take turns; all rounds of each later one follow one another */
  FIELD_ROUNDS = 3,
  ROUTE_FIELD_CASES = FIELD_KINDS * FIELD_ROUNDS,
  DESCRIBED_FIELD_CASES = 3 * 49 /* those of operation_described_router.c */
};

/* -1 if it is none. */
int field_kind_of(uint64_t number);
const char *field_kind_name(int field);

typedef struct route_case {
  case_kind kind;
  int field;
  uint64_t number;
  int64_t tokens;
  phibal_router router;
  int mask_kind;        /* of padding: none, with NaN and infinities, with finite logits */
  float *logits;        /* [T][E] */
  float *bias;          /* [E], or null */
  uint8_t *mask;        /* [T], or null */
  random_stream random; /* for what else an operation needs: gradients, prices */
} route_case;

/* Case `number` of the operation; numbers below CASE_KINDS hold each kind once at its full size,
   later ones keep T small, small cases (case_number.h) E too. */
phibal_status route_case_create(uint64_t seed, uint64_t operation, uint64_t number, route_case *c);
void route_case_destroy(route_case *c);
case_kind case_kind_of(uint64_t number);
const char *case_kind_name(case_kind kind);

#endif

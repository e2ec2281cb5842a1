/* EMA, prices, losses and biases against the reference: vectors over the experts. */
#include "random.h"
#include "verify.h"
#include <math.h>
#include <phibal/reference_moe.h>
#include <stdlib.h>

/* Centred prices are differences of nearly equal numbers, so the reference works with enough bits
   to see 2^-90 of the largest price with 2^-60 of relative width to spare. */
enum { PRECISION = 256 };

enum {
  OPERATION_EMA = 16,
  OPERATION_PRICE,
  OPERATION_LOSS,
  OPERATION_SWITCH,
  OPERATION_Z,
  OPERATION_LOSS_FREE
};

/* VECTOR(ID, "name") */
#define VECTOR_CASES(VECTOR)                                                                       \
  VECTOR(ORDINARY, "ordinary")                                                                     \
  VECTOR(NEAR_UNIFORM, "near-uniform")                                                             \
  VECTOR(UNIFORM, "uniform")                                                                       \
  VECTOR(ONE_ULP_OFF, "one-ulp-off")                                                               \
  VECTOR(ONE_HOT, "one-hot")                                                                       \
  VECTOR(ZEROS, "zeros")                                                                           \
  VECTOR(TINY, "tiny")                                                                             \
  VECTOR(WIDE, "wide")                                                                             \
  VECTOR(SUBNORMAL, "subnormal")                                                                   \
  VECTOR(ONE_EXPERT, "one-expert")                                                                 \
  VECTOR(ODD_EXPERTS, "odd-experts")                                                               \
  VECTOR(MOST_EXPERTS, "most-experts")

typedef enum vector_kind {
#define VECTOR(ID, name) VECTOR_##ID,
  VECTOR_CASES(VECTOR)
#undef VECTOR
      VECTOR_KINDS
} vector_kind;

const char *verify_vector_kind(uint64_t number) {
  static const char *const names[] = {
#define VECTOR(ID, name) name,
      VECTOR_CASES(VECTOR)
#undef VECTOR
  };
  return names[number % VECTOR_KINDS];
}

static int32_t choose_experts(vector_kind kind, random_stream *r) {
  static const int32_t odd[] = {3, 5, 7, 13, 61, 127, 509};
  switch (kind) {
  case VECTOR_ONE_EXPERT:
    return 1;
  case VECTOR_ODD_EXPERTS:
    return odd[random_integer(r, 0, 6)];
  case VECTOR_MOST_EXPERTS:
    return PHIBAL_MAX_EXPERTS;
  default:
    return (int32_t)random_integer(r, 2, 64);
  }
}

/* A vector of mean loads: nonnegative, near the simplex where the kind allows. */
static void choose_loads(vector_kind kind, random_stream *r, int32_t E, float *m) {
  double sum = 0, draw[PHIBAL_MAX_EXPERTS];
  for (int32_t e = 0; e < E; e++) sum += draw[e] = random_unit(r) * random_unit(r) + 1e-3;
  float uniform = 1.0f / (float)E;
  int32_t favourite = (int32_t)random_integer(r, 0, E - 1);
  for (int32_t e = 0; e < E; e++) {
    m[e] = (float)(draw[e] / sum);
    switch (kind) {
    case VECTOR_NEAR_UNIFORM:
      m[e] = (float)((double)uniform * (1 + 1e-5 * random_normal(r)));
      break;
    case VECTOR_UNIFORM:
      m[e] = uniform;
      break;
    case VECTOR_ONE_ULP_OFF:
      m[e] = e == favourite ? nextafterf(uniform, random_integer(r, 0, 1) ? 0.0f : 1.0f) : uniform;
      break;
    case VECTOR_ONE_HOT:
      m[e] = e == favourite ? 1.0f : 0.0f;
      break;
    case VECTOR_ZEROS:
      if (random_integer(r, 0, 2) == 0) m[e] = 0;
      break;
    case VECTOR_TINY:
      m[e] *= 0x1p-60f;
      break;
    case VECTOR_WIDE:
      m[e] = (float)ldexp(1 + random_unit(r), (int)random_integer(r, -126, -1));
      break;
    case VECTOR_SUBNORMAL:
      m[e] = (float)ldexp(random_unit(r), -127);
      break;
    default:
      break;
    }
  }
}

typedef struct vector_case {
  random_stream random;
  int32_t experts;
  float m[PHIBAL_MAX_EXPERTS], loads[PHIBAL_MAX_EXPERTS];
} vector_case;

static void vector_case_start(uint64_t seed, uint64_t operation, uint64_t number, vector_case *c) {
  c->random = random_start(seed, operation, number);
  vector_kind kind = (vector_kind)(number % VECTOR_KINDS);
  c->experts = choose_experts(kind, &c->random);
  choose_loads(kind, &c->random, c->experts, c->m);
  choose_loads(kind, &c->random, c->experts, c->loads);
}

/* Every potential in turn, with parameters from the places where formulas cancel or overflow. */
static phibal_potential choose_potential(uint64_t number, random_stream *r) {
  static const double lp[] = {1, 1.5, 2, 3, 10, 100, INFINITY};
  static const double tsallis[] = {0.05, 0.5, 0.999, 0.999999, 1.000001, 1.001, 1.1, 2, 20};
  static const double renyi[] = {0.05, 0.5, 0.95, 0.999, 0.999999};
  static const double scale[] = {1e-6, 0.01, 0.1, 1, 10, 1e4};
  phibal_potential p = {(phibal_potential_id)((number / VECTOR_KINDS) % PHIBAL_POTENTIAL_COUNT), 0};
  switch (p.id) {
  case PHIBAL_POTENTIAL_LP:
    p.parameter = lp[random_integer(r, 0, 6)];
    break;
  case PHIBAL_POTENTIAL_TSALLIS:
    p.parameter = tsallis[random_integer(r, 0, 8)];
    break;
  case PHIBAL_POTENTIAL_RENYI:
    p.parameter = renyi[random_integer(r, 0, 4)];
    break;
  case PHIBAL_POTENTIAL_SOFT_L1:
  case PHIBAL_POTENTIAL_PSEUDO_HUBER:
  case PHIBAL_POTENTIAL_LOG_COSH:
    p.parameter = scale[random_integer(r, 0, 5)];
    break;
  default:
    break;
  }
  return p;
}

static phibal_status out_of_memory(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "verify: out of memory for a case");
}

static void compare_vector(tally *t, int32_t n, const phibal_enclosure *truth,
                           const phibal_enclosure *terms, const float *got) {
  for (int32_t e = 0; e < n; e++) tally_real(t, e, &truth[e], terms, (double)got[e]);
}

phibal_status verify_ema(uint64_t seed, uint64_t number, tally *tallies) {
  vector_case c;
  vector_case_start(seed, OPERATION_EMA, number, &c);
  float eta = random_integer(&c.random, 0, 3) ? (float)random_uniform(&c.random, 1e-6, 1) : 1.0f;
  if (random_integer(&c.random, 0, 7) == 0) eta = 0x1p-40f;
  float next[PHIBAL_MAX_EXPERTS];
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)c.experts, PRECISION);
  if (!truth) return out_of_memory();
  phibal_status status = phibal_ema(c.experts, eta, c.m, c.loads, next);
  if (status == PHIBAL_OK)
    status = phibal_reference_ema(c.experts, eta, c.m, c.loads, PRECISION, truth);
  if (status == PHIBAL_OK) compare_vector(&tallies[OUTPUT_EMA], c.experts, truth, NULL, next);
  phibal_enclosure_vector_clear(truth, (size_t)c.experts);
  return status;
}

phibal_status verify_price(uint64_t seed, uint64_t number, tally *tallies) {
  vector_case c;
  vector_case_start(seed, OPERATION_PRICE, number, &c);
  phibal_potential potential = choose_potential(number, &c.random);
  float price[PHIBAL_MAX_EXPERTS], centred[PHIBAL_MAX_EXPERTS];
  int32_t floored = -1, centred_floored = -1, expected_floored = -2;
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)c.experts + 1, PRECISION);
  if (!truth) return out_of_memory();
  phibal_enclosure *largest = &truth[c.experts];
  phibal_status status = phibal_price(&potential, c.experts, c.m, price, &floored);
  if (status == PHIBAL_OK)
    status = phibal_price_centred(&potential, c.experts, c.m, centred, &centred_floored);
  if (status == PHIBAL_OK)
    status =
        phibal_reference_price(&potential, c.experts, c.m, PRECISION, truth, &expected_floored);
  if (status == PHIBAL_OK) {
    compare_vector(&tallies[OUTPUT_PRICE], c.experts, truth, NULL, price);
    tally_integer(&tallies[OUTPUT_PRICE_FLOORED], 0, expected_floored, floored);
    tally_integer(&tallies[OUTPUT_PRICE_FLOORED], 1, expected_floored, centred_floored);
    status =
        phibal_reference_price_centred(&potential, c.experts, c.m, PRECISION, truth, largest, NULL);
  }
  if (status == PHIBAL_OK)
    compare_vector(&tallies[OUTPUT_PRICE_CENTRED], c.experts, truth, largest, centred);
  phibal_enclosure_vector_clear(truth, (size_t)c.experts + 1);
  return status;
}

phibal_status verify_balance_loss(uint64_t seed, uint64_t number, tally *tallies) {
  vector_case c;
  vector_case_start(seed, OPERATION_LOSS, number, &c);
  phibal_potential potential = choose_potential(number, &c.random);
  double alpha = random_uniform(&c.random, 0.001, 1);
  float loss;
  phibal_enclosure truth, terms;
  phibal_enclosure_init(&truth, PRECISION);
  phibal_enclosure_init(&terms, PRECISION);
  phibal_status status = phibal_balance_loss(&potential, c.experts, alpha, c.loads, c.m, &loss);
  if (status == PHIBAL_OK)
    status = phibal_reference_balance_loss(&potential, c.experts, alpha, c.loads, c.m, PRECISION,
                                           &truth, &terms);
  if (status == PHIBAL_OK)
    tally_real(&tallies[OUTPUT_BALANCE_LOSS], 0, &truth, &terms, (double)loss);
  phibal_enclosure_clear(&truth);
  phibal_enclosure_clear(&terms);
  return status;
}

phibal_status verify_switch_loss(uint64_t seed, uint64_t number, tally *tallies) {
  vector_case c;
  vector_case_start(seed, OPERATION_SWITCH, number, &c);
  double alpha = random_uniform(&c.random, 0.001, 1);
  float loss, centred[PHIBAL_MAX_EXPERTS];
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)c.experts, PRECISION);
  if (!truth) return out_of_memory();
  phibal_status status = phibal_switch_loss(c.experts, alpha, c.m, c.loads, &loss);
  if (status == PHIBAL_OK)
    status = phibal_reference_switch_loss(c.experts, alpha, c.m, c.loads, PRECISION, truth, NULL);
  if (status == PHIBAL_OK) {
    tally_real(&tallies[OUTPUT_SWITCH_LOSS], 0, truth, NULL, (double)loss);
    status = phibal_frequency_centred(c.experts, c.m, centred);
  }
  if (status == PHIBAL_OK)
    status = phibal_reference_frequency_centred(c.experts, c.m, PRECISION, truth);
  if (status == PHIBAL_OK)
    compare_vector(&tallies[OUTPUT_SWITCH_PRICE], c.experts, truth, NULL, centred);
  phibal_enclosure_vector_clear(truth, (size_t)c.experts);
  return status;
}

phibal_status verify_z_loss(uint64_t seed, uint64_t number, tally *tallies) {
  random_stream r = random_start(seed, OPERATION_Z, number);
  static const double sizes[] = {1e-3, 1, 10, 1e4, 1e30};
  int64_t tokens = number == 3 ? 100000 : random_integer(&r, 0, 300);
  double size = sizes[random_integer(&r, 0, 4)], coefficient = random_uniform(&r, 1e-4, 1);
  float *logsumexp = malloc(sizeof(float) * (size_t)(tokens + 1)), loss;
  uint8_t *mask = malloc((size_t)tokens + 1);
  if (!logsumexp || !mask) {
    free(logsumexp);
    free(mask);
    return out_of_memory();
  }
  for (int64_t t = 0; t < tokens; t++) {
    logsumexp[t] = (float)(size * random_normal(&r));
    mask[t] = random_integer(&r, 0, 3) > 0;
  }
  const uint8_t *used = number % 2 ? mask : NULL;
  phibal_enclosure truth;
  phibal_enclosure_init(&truth, PRECISION);
  phibal_status status = phibal_z_loss(tokens, coefficient, logsumexp, used, &loss);
  if (status == PHIBAL_OK)
    status = phibal_reference_z_loss(tokens, coefficient, logsumexp, used, PRECISION, &truth);
  if (status == PHIBAL_OK) tally_real(&tallies[OUTPUT_Z_LOSS], 0, &truth, NULL, (double)loss);
  phibal_enclosure_clear(&truth);
  free(logsumexp);
  free(mask);
  return status;
}

phibal_status verify_loss_free(uint64_t seed, uint64_t number, tally *tallies) {
  vector_case c;
  vector_case_start(seed, OPERATION_LOSS_FREE, number, &c);
  int64_t count[PHIBAL_MAX_EXPERTS];
  float bias[PHIBAL_MAX_EXPERTS], expected[PHIBAL_MAX_EXPERTS];
  float rate = (float)random_uniform(&c.random, 1e-5, 1e-2);
  bool large = random_integer(&c.random, 0, 3) == 0;
  for (int32_t e = 0; e < c.experts; e++) {
    count[e] = random_integer(&c.random, 0, 4);
    if (large) count[e] += INT64_C(1) << 40;
    bias[e] = (float)random_normal(&c.random);
  }
  phibal_status status = phibal_reference_loss_free_update(c.experts, rate, count, bias, expected);
  if (status == PHIBAL_OK) status = phibal_loss_free_update(c.experts, rate, count, bias);
  if (status != PHIBAL_OK) return status;
  for (int32_t e = 0; e < c.experts; e++)
    tally_integer(&tallies[OUTPUT_LOSS_FREE], e, 1, expected[e] == bias[e]);
  return PHIBAL_OK;
}

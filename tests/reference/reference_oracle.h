/* The router in Arb, written from the equations in their plainest form (no shift by the largest
   logit, Jacobians written out), to hold the reference against; and generated rows of logits. */
#ifndef PHIBAL_TESTS_REFERENCE_ORACLE_H
#define PHIBAL_TESTS_REFERENCE_ORACLE_H

#include "arb_oracle.h"
#include <phibal/reference_moe.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Arb works with so many bits; the reference under test with 64 to 128. */
enum { ORACLE_PRECISION = 640 };

static inline uint64_t random_next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline double random_uniform(uint64_t *state) {
  return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* Uniform in [-scale, scale], as a binary32. */
static inline float random_float(uint64_t *state, double scale) {
  return (float)(scale * (2.0 * random_uniform(state) - 1.0));
}

typedef enum logit_pattern {
  LOGITS_ORDINARY,
  LOGITS_TIES,      /* three different values */
  LOGITS_NEAR_TIES, /* neighbouring binary32 numbers */
  LOGITS_EQUAL,
  LOGITS_ONE_HOT,   /* one +80, the others -80 */
  LOGITS_EIGHTY,    /* around +80 and -80 */
  LOGITS_THOUSANDS, /* up to 1e4 in size */
  LOGITS_SUBNORMAL,
  LOGITS_ZEROS,    /* +0 and -0 */
  LOGITS_NEGATIVE, /* all around -200: every sigmoid is tiny */
  LOGITS_HUGE,     /* up to 3e38 */
  LOGITS_PATTERNS
} logit_pattern;

static inline float logit_generate(logit_pattern pattern, int32_t e, int32_t hot, uint64_t *state) {
  switch (pattern) {
  case LOGITS_TIES:
    return (float)(random_next(state) % 3) - 1.0f;
  case LOGITS_NEAR_TIES:
    return nextafterf(1.5f, random_next(state) & 1 ? 2.0f : 1.0f);
  case LOGITS_EQUAL:
    return 0.7f;
  case LOGITS_ONE_HOT:
    return e == hot ? 80.0f : -80.0f;
  case LOGITS_EIGHTY:
    return (random_next(state) & 1 ? 80.0f : -80.0f) + random_float(state, 1.0);
  case LOGITS_THOUSANDS:
    return random_float(state, 1e4);
  case LOGITS_SUBNORMAL:
    return random_float(state, 1.0) * 0x1p-130f;
  case LOGITS_ZEROS:
    return random_next(state) & 1 ? 0.0f : -0.0f;
  case LOGITS_NEGATIVE:
    return -200.0f + random_float(state, 30.0);
  case LOGITS_HUGE:
    return random_float(state, 3e38);
  default:
    return random_float(state, 4.0);
  }
}

static inline void logits_generate(logit_pattern pattern, int32_t experts, float *logits,
                                   uint64_t *state) {
  int32_t hot = (int32_t)(random_next(state) % (uint64_t)experts);
  for (int32_t e = 0; e < experts; e++) logits[e] = logit_generate(pattern, e, hot, state);
}

/* z = sigma(x) = 1 / (1 + exp(-x)). */
static inline void oracle_sigmoid(arb_t z, const arb_t x) {
  arb_neg(z, x);
  arb_exp(z, z, ORACLE_PRECISION);
  arb_add_si(z, z, 1, ORACLE_PRECISION);
  arb_inv(z, z, ORACLE_PRECISION);
}

/* u_j = exp(x_j) or sigma(x_j): the probabilities and gates are these, normalised. */
static inline void oracle_weights(phibal_gate gate, int32_t n, arb_srcptr x, arb_ptr u) {
  for (int32_t j = 0; j < n; j++) {
    if (gate == PHIBAL_GATE_SIGMOID)
      oracle_sigmoid(u + j, x + j);
    else
      arb_exp(u + j, x + j, ORACLE_PRECISION);
  }
}

static inline void oracle_sum(arb_t z, int32_t n, arb_srcptr u) {
  arb_zero(z);
  for (int32_t j = 0; j < n; j++) arb_add(z, z, u + j, ORACLE_PRECISION);
}

/* (R1), (R1s): p_j = u_j / sum u; lse = log sum exp x (softmax). */
static inline void oracle_probabilities(phibal_gate gate, int32_t n, arb_srcptr x, arb_ptr p,
                                        arb_t lse) {
  arb_t sum;
  arb_init(sum);
  oracle_weights(gate, n, x, p);
  oracle_sum(sum, n, p);
  for (int32_t j = 0; j < n; j++) arb_div(p + j, p + j, sum, ORACLE_PRECISION);
  if (lse) arb_log(lse, sum, ORACLE_PRECISION);
  arb_clear(sum);
}

/* (R3) to (R5) for the given selection. */
static inline void oracle_gates(const phibal_router *router, arb_srcptr x, const int32_t *selection,
                                arb_ptr gates) {
  int32_t n = router->experts, k = router->active;
  arb_ptr u = _arb_vec_init(n);
  arb_t sum, scale;
  arb_init(sum);
  arb_init(scale);
  arb_set_d(scale, (double)router->scale);
  oracle_weights(router->gate, n, x, u);
  bool whole = router->gate == PHIBAL_GATE_PROBABILITY ||
               (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && k == 1);
  if (whole) oracle_sum(sum, n, u);
  for (int32_t s = 0; s < k && !whole; s++) arb_add(sum, sum, u + selection[s], ORACLE_PRECISION);
  for (int32_t s = 0; s < k; s++) {
    arb_div(gates + s, u + selection[s], sum, ORACLE_PRECISION);
    arb_mul(gates + s, gates + s, scale, ORACLE_PRECISION);
  }
  arb_clear(scale);
  arb_clear(sum);
  _arb_vec_clear(u, n);
}

/* sigma(x) rounded to binary32 by MPFR's own conversion. */
static inline float oracle_sigmoid_single(float x) {
  arb_t a;
  mpfr_t m;
  arb_init(a);
  mpfr_init2(m, ORACLE_PRECISION);
  arb_set_d(a, (double)x);
  oracle_sigmoid(a, a);
  arf_get_mpfr(m, arb_midref(a), MPFR_RNDN);
  float score = mpfr_get_flt(m, MPFR_RNDN);
  mpfr_clear(m);
  arb_clear(a);
  return score;
}

/* (R2) by counting: expert e is at place #{j before e}. */
static inline void oracle_select(const phibal_router *router, const float *logits,
                                 const float *bias, int32_t *selection) {
  int32_t n = router->experts;
  double *score = malloc((size_t)n * sizeof *score);
  for (int32_t e = 0; e < n; e++) {
    float x = router->gate == PHIBAL_GATE_SIGMOID ? oracle_sigmoid_single(logits[e]) : logits[e];
    score[e] = (double)x + (bias ? (double)bias[e] : 0.0);
  }
  for (int32_t e = 0; e < n; e++) {
    int32_t place = 0;
    for (int32_t j = 0; j < n; j++)
      if (score[j] > score[e] || (j < e && score[j] == score[e])) place++;
    if (place < router->active) selection[place] = e;
  }
  free(score);
}

static inline void oracle_set_floats(arb_ptr z, int64_t n, const float *x) {
  for (int64_t i = 0; i < n; i++) arb_set_d(z + i, (double)x[i]);
}

/* width(z) <= limit times the magnitude of scale. */
static inline bool oracle_is_narrow(const phibal_enclosure *z, double limit, const arb_t scale) {
  mpfr_t width, allowed;
  mpfr_inits2(64, width, allowed, (mpfr_ptr)0);
  phibal_enclosure_width(width, z);
  oracle_upper_end(allowed, scale, MPFR_RNDU);
  mpfr_abs(allowed, allowed, MPFR_RNDU);
  mpfr_mul_d(allowed, allowed, limit, MPFR_RNDU);
  bool narrow = mpfr_lessequal_p(width, allowed);
  mpfr_clears(width, allowed, (mpfr_ptr)0);
  return narrow;
}

#endif

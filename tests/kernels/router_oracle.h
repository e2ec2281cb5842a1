/* The router in MPFR, straight from its equations (R1 to R8, G2), for the tests of the kernels. It
   shares no code with the kernels or with phibal's reference. 220 bits, so that its own error is
   nothing beside binary32's. */
#ifndef PHIBAL_TEST_ROUTER_ORACLE_H
#define PHIBAL_TEST_ROUTER_ORACLE_H

#include <math.h>
#include <mpfr.h>
#include <phibal/router.h>
#include <stdbool.h>
#include <stdlib.h>

#define ORACLE_BITS 220

typedef struct oracle {
  int32_t experts, active;
  mpfr_t *p;         /* [E] probabilities */
  mpfr_t *gate;      /* [k] scaled gates of `selected` */
  mpfr_t *gradient;  /* [E] */
  mpfr_t *condition; /* [E] sum of the absolute values of the terms */
  mpfr_t lse, a, b, c;
  int32_t *selected;
  double *score;
} oracle;

static inline mpfr_t *oracle_vector(int32_t n) {
  mpfr_t *v = malloc(sizeof *v * (size_t)n);
  for (int32_t i = 0; i < n; i++) mpfr_init2(v[i], ORACLE_BITS);
  return v;
}

static inline void oracle_vector_free(mpfr_t *v, int32_t n) {
  for (int32_t i = 0; i < n; i++) mpfr_clear(v[i]);
  free(v);
}

static inline void oracle_create(oracle *o, const phibal_router *router) {
  o->experts = router->experts;
  o->active = router->active;
  o->p = oracle_vector(o->experts);
  o->gate = oracle_vector(o->active);
  o->gradient = oracle_vector(o->experts);
  o->condition = oracle_vector(o->experts);
  mpfr_inits2(ORACLE_BITS, o->lse, o->a, o->b, o->c, (mpfr_ptr)0);
  o->selected = malloc(sizeof *o->selected * (size_t)o->active);
  o->score = malloc(sizeof *o->score * (size_t)o->experts);
}

static inline void oracle_destroy(oracle *o) {
  oracle_vector_free(o->p, o->experts);
  oracle_vector_free(o->gate, o->active);
  oracle_vector_free(o->gradient, o->experts);
  oracle_vector_free(o->condition, o->experts);
  mpfr_clears(o->lse, o->a, o->b, o->c, (mpfr_ptr)0);
  free(o->selected);
  free(o->score);
}

/* z = sigma(x) = 1 / (1 + e^-x) */
static inline void oracle_sigmoid(mpfr_t z, double x) {
  mpfr_set_d(z, -x, MPFR_RNDN);
  mpfr_exp(z, z, MPFR_RNDN);
  mpfr_add_ui(z, z, 1, MPFR_RNDN);
  mpfr_ui_div(z, 1, z, MPFR_RNDN);
}

static inline bool oracle_has_scores(phibal_gate gate) {
  return gate == PHIBAL_GATE_SIGMOID || gate == PHIBAL_GATE_SQRT_SOFTPLUS;
}

/* z = log(1 + e^x) */
static inline void oracle_softplus(mpfr_t z, double x) {
  mpfr_set_d(z, x, MPFR_RNDN);
  mpfr_exp(z, z, MPFR_RNDN);
  mpfr_log1p(z, z, MPFR_RNDN);
}

/* z = the score of a gate that has some. */
static inline void oracle_score(mpfr_t z, phibal_gate gate, double x) {
  if (gate == PHIBAL_GATE_SIGMOID) {
    oracle_sigmoid(z, x);
    return;
  }
  oracle_softplus(z, x);
  mpfr_sqrt(z, z, MPFR_RNDN);
}

/* z = the derivative of its logarithm; c is overwritten. */
static inline void oracle_slope(mpfr_t z, mpfr_t c, phibal_gate gate, double x) {
  oracle_sigmoid(z, gate == PHIBAL_GATE_SIGMOID ? -x : x);
  if (gate == PHIBAL_GATE_SIGMOID) return;
  oracle_softplus(c, x);
  mpfr_div(z, z, c, MPFR_RNDN);
  mpfr_div_ui(z, z, 2, MPFR_RNDN);
}

/* Probabilities and logsumexp of one token. The exponents of MPFR reach far enough that exp(x)
   needs no shift by the maximum. */
static inline void oracle_probabilities(oracle *o, phibal_gate gate, const float *x) {
  mpfr_set_zero(o->lse, 1);
  for (int32_t e = 0; e < o->experts; e++) {
    mpfr_set_d(o->a, (double)x[e], MPFR_RNDN);
    mpfr_exp(o->p[e], o->a, MPFR_RNDN);
    mpfr_add(o->lse, o->lse, o->p[e], MPFR_RNDN);
  }
  if (oracle_has_scores(gate)) {
    mpfr_set_zero(o->b, 1);
    for (int32_t e = 0; e < o->experts; e++) {
      oracle_score(o->p[e], gate, (double)x[e]);
      mpfr_add(o->b, o->b, o->p[e], MPFR_RNDN);
    }
  } else {
    mpfr_set(o->b, o->lse, MPFR_RNDN);
  }
  for (int32_t e = 0; e < o->experts; e++) mpfr_div(o->p[e], o->p[e], o->b, MPFR_RNDN);
  mpfr_log(o->lse, o->lse, MPFR_RNDN);
}

/* (R2) by k searches for the best score not yet taken. */
static inline void oracle_select(oracle *o, phibal_gate gate, const float *x, const float *bias) {
  for (int32_t e = 0; e < o->experts; e++) {
    o->score[e] = (double)x[e];
    if (oracle_has_scores(gate)) {
      oracle_score(o->a, gate, (double)x[e]);
      o->score[e] = (double)mpfr_get_flt(o->a, MPFR_RNDN);
    }
    if (bias) o->score[e] += (double)bias[e];
  }
  for (int32_t s = 0; s < o->active; s++) {
    int32_t best = -1;
    for (int32_t e = 0; e < o->experts; e++) {
      bool taken = false;
      for (int32_t r = 0; r < s; r++) taken |= o->selected[r] == e;
      if (!taken && (best < 0 || o->score[e] > o->score[best])) best = e;
    }
    o->selected[s] = best;
  }
}

/* (R3) to (R5) for o->selected, times the scale, after oracle_probabilities. */
static inline void oracle_gates(oracle *o, const phibal_router *router, const float *x,
                                double scale) {
  bool probability = router->gate == PHIBAL_GATE_PROBABILITY ||
                     (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && o->active == 1);
  mpfr_set_zero(o->a, 1);
  for (int32_t s = 0; s < o->active; s++) {
    if (oracle_has_scores(router->gate)) {
      oracle_score(o->gate[s], router->gate, (double)x[o->selected[s]]);
    } else if (probability) {
      mpfr_set(o->gate[s], o->p[o->selected[s]], MPFR_RNDN);
    } else {
      mpfr_set_d(o->b, (double)x[o->selected[s]], MPFR_RNDN);
      mpfr_exp(o->gate[s], o->b, MPFR_RNDN);
    }
    mpfr_add(o->a, o->a, o->gate[s], MPFR_RNDN);
  }
  for (int32_t s = 0; s < o->active; s++) {
    if (!probability) mpfr_div(o->gate[s], o->gate[s], o->a, MPFR_RNDN);
    mpfr_mul_d(o->gate[s], o->gate[s], scale, MPFR_RNDN);
  }
}

static inline void oracle_forward(oracle *o, const phibal_router *router, const float *x,
                                  const float *bias) {
  oracle_probabilities(o, router->gate, x);
  oracle_select(o, router->gate, x, bias);
  oracle_gates(o, router, x, (double)router->scale);
}

/* gradient += factor (v - mean), condition += |factor| (|v| + magnitude); mean is in a, magnitude
   in b. */
static inline void oracle_add_centred(oracle *o, int32_t j, mpfr_t factor, double v) {
  mpfr_d_sub(o->c, v, o->a, MPFR_RNDN);
  mpfr_fma(o->gradient[j], factor, o->c, o->gradient[j], MPFR_RNDN);
  mpfr_add_d(o->c, o->b, fabs(v), MPFR_RNDN);
  mpfr_mul(o->c, o->c, factor, MPFR_RNDN);
  mpfr_abs(o->c, o->c, MPFR_RNDN);
  mpfr_add(o->condition[j], o->condition[j], o->c, MPFR_RNDN);
}

/* (G2) for the experts of `selected` (copied in). */
static inline void oracle_backward(oracle *o, const phibal_router *router, const float *x,
                                   const int32_t *selected, const float *gate_gradient,
                                   const float *price, double price_scale, double z_scale) {
  bool scores = oracle_has_scores(router->gate);
  bool probability = router->gate == PHIBAL_GATE_PROBABILITY ||
                     (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && o->active == 1);
  mpfr_t factor, slope;
  mpfr_inits2(ORACLE_BITS, factor, slope, (mpfr_ptr)0);
  oracle_probabilities(o, router->gate, x);
  float largest = x[0];
  for (int32_t e = 0; e < o->experts; e++) {
    mpfr_set_zero(o->gradient[e], 1);
    mpfr_set_zero(o->condition[e], 1);
    largest = x[e] > largest ? x[e] : largest;
  }
  if (price) {
    mpfr_set_zero(o->a, 1);
    mpfr_set_zero(o->b, 1);
    for (int32_t e = 0; e < o->experts; e++) {
      mpfr_mul_d(o->c, o->p[e], (double)price[e], MPFR_RNDN);
      mpfr_add(o->a, o->a, o->c, MPFR_RNDN);
      mpfr_abs(o->c, o->c, MPFR_RNDN);
      mpfr_add(o->b, o->b, o->c, MPFR_RNDN);
    }
    for (int32_t j = 0; j < o->experts; j++) {
      mpfr_mul_d(factor, o->p[j], price_scale, MPFR_RNDN);
      if (scores) {
        oracle_slope(slope, o->c, router->gate, (double)x[j]);
        mpfr_mul(factor, factor, slope, MPFR_RNDN);
      }
      oracle_add_centred(o, j, factor, (double)price[j]);
    }
  }
  if (z_scale != 0) {
    for (int32_t j = 0; j < o->experts; j++) {
      mpfr_mul_d(factor, o->p[j], z_scale, MPFR_RNDN);
      mpfr_fma(o->gradient[j], factor, o->lse, o->gradient[j], MPFR_RNDN);
      /* |max| + (lse - max) */
      mpfr_set_d(o->c, fabs((double)largest) - (double)largest, MPFR_RNDN);
      mpfr_add(o->c, o->c, o->lse, MPFR_RNDN);
      mpfr_mul(o->c, o->c, factor, MPFR_RNDN);
      mpfr_abs(o->c, o->c, MPFR_RNDN);
      mpfr_add(o->condition[j], o->condition[j], o->c, MPFR_RNDN);
    }
  }
  if (gate_gradient) {
    for (int32_t s = 0; s < o->active; s++) o->selected[s] = selected[s];
    oracle_gates(o, router, x, 1.0);
    mpfr_set_zero(o->a, 1);
    mpfr_set_zero(o->b, 1);
    for (int32_t s = 0; s < o->active; s++) {
      mpfr_mul_d(o->c, o->gate[s], (double)gate_gradient[s], MPFR_RNDN);
      mpfr_add(o->a, o->a, o->c, MPFR_RNDN);
      mpfr_abs(o->c, o->c, MPFR_RNDN);
      mpfr_add(o->b, o->b, o->c, MPFR_RNDN);
    }
    if (probability) {
      for (int32_t j = 0; j < o->experts; j++) {
        double incoming = 0;
        for (int32_t s = 0; s < o->active; s++)
          if (selected[s] == j) incoming = (double)gate_gradient[s];
        mpfr_mul_d(factor, o->p[j], (double)router->scale, MPFR_RNDN);
        oracle_add_centred(o, j, factor, incoming);
      }
    } else {
      for (int32_t s = 0; s < o->active; s++) {
        mpfr_mul_d(factor, o->gate[s], (double)router->scale, MPFR_RNDN);
        if (scores) {
          oracle_slope(slope, o->c, router->gate, (double)x[selected[s]]);
          mpfr_mul(factor, factor, slope, MPFR_RNDN);
        }
        oracle_add_centred(o, selected[s], factor, (double)gate_gradient[s]);
      }
    }
  }
  mpfr_clears(factor, slope, (mpfr_ptr)0);
}

/* |got - exact| in units in the last place of binary32 at the exact value. */
static inline double oracle_ulps(float got, mpfr_t exact) {
  mpfr_t difference;
  mpfr_init2(difference, ORACLE_BITS);
  mpfr_sub_d(difference, exact, (double)got, MPFR_RNDN);
  long exponent = mpfr_zero_p(exact) ? -149 : mpfr_get_exp(exact) - 24;
  if (exponent < -149) exponent = -149;
  mpfr_mul_2si(difference, difference, -exponent, MPFR_RNDN);
  double ulps = fabs(mpfr_get_d(difference, MPFR_RNDN));
  mpfr_clear(difference);
  return ulps;
}

/* Random numbers: splitmix64. */
static inline uint64_t random_bits(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline double random_unit(uint64_t *state) { /* in [-1, 1) */
  return (double)(int64_t)random_bits(state) * 0x1p-63;
}

/* What logits may look like. */
enum {
  LOGITS_ORDINARY,
  LOGITS_TIES, /* small integers and both zeros */
  LOGITS_ONE_HOT,
  LOGITS_EQUAL,
  LOGITS_80,
  LOGITS_10000,
  LOGITS_SUBNORMAL,
  LOGITS_LOW, /* all far below 0 */
  LOGITS_KINDS,
};

static inline void random_logits(uint64_t *state, int kind, int64_t n, float *x) {
  for (int64_t i = 0; i < n; i++) {
    double u = random_unit(state);
    switch (kind) {
    case LOGITS_TIES:
      x[i] = (float)(int)(u * 3) * (u < 0.3 ? -0.0f : 1.0f);
      break;
    case LOGITS_ONE_HOT:
      x[i] = random_bits(state) % 8 == 0 ? 60.0f : 0.0f;
      break;
    case LOGITS_EQUAL:
      x[i] = 0.37f;
      break;
    case LOGITS_80:
      x[i] = (float)(u * 80);
      break;
    case LOGITS_10000:
      x[i] = (float)(u * 1e4);
      break;
    case LOGITS_SUBNORMAL:
      x[i] = (float)(u * 0x1p-130);
      break;
    case LOGITS_LOW:
      x[i] = (float)(u * 200 - 500);
      break;
    default:
      x[i] = (float)(u * 4);
      break;
    }
  }
}

#endif

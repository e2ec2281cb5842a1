/* Routing cases for the reference's router, forward and backward, and how tight its results are. */
#ifndef PHIBAL_TESTS_REFERENCE_ROUTING_H
#define PHIBAL_TESTS_REFERENCE_ROUTING_H

#include "reference_oracle.h"

typedef struct routing_case {
  phibal_router router;
  float *logits, *bias, *gate_gradient, *price;
  double price_scale, z_scale;
} routing_case;

static const phibal_gate all_gates[] = {PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_GATE_PROBABILITY,
                                        PHIBAL_GATE_SIGMOID};

static inline routing_case routing_case_create(int32_t experts, int32_t active, phibal_gate gate,
                                               logit_pattern pattern, bool biased, uint64_t seed) {
  size_t e = (size_t)experts;
  routing_case c = {.router = {experts, active, gate, 1.75f},
                    .logits = malloc(e * sizeof(float)),
                    .bias = biased ? malloc(e * sizeof(float)) : NULL,
                    .gate_gradient = malloc(e * sizeof(float)),
                    .price = malloc(e * sizeof(float)),
                    .price_scale = 0.037,
                    .z_scale = gate == PHIBAL_GATE_SIGMOID ? 0.0 : 0.011};
  logits_generate(pattern, experts, c.logits, &seed);
  for (int32_t i = 0; i < experts; i++) {
    if (biased) c.bias[i] = random_float(&seed, i % 3 ? 6.0 : 0.5);
    c.gate_gradient[i] = random_float(&seed, 2.0);
    c.price[i] = random_float(&seed, 5.0);
  }
  return c;
}

static inline void routing_case_destroy(routing_case *c) {
  free(c->logits);
  free(c->bias);
  free(c->gate_gradient);
  free(c->price);
}

/* max |x_j - x_e|: exp(x_j - max) is known within (|x_j - max| + 1) units, since the difference was
   rounded to the working precision. For sigmoids 0 counts as a logit; where exp(x) is beyond MPFR's
   exponents this is so large that no width is asked for. */
static inline double logits_spread(const routing_case *c) {
  bool sigmoid = c->router.gate == PHIBAL_GATE_SIGMOID;
  double low = sigmoid ? 0.0 : HUGE_VAL, high = sigmoid ? 0.0 : -HUGE_VAL;
  for (int32_t e = 0; e < c->router.experts; e++) {
    low = fmin(low, (double)c->logits[e]);
    high = fmax(high, (double)c->logits[e]);
  }
  return high - low;
}

/* Relative width of probabilities and gates in units of 2^(1-precision): exp of both ends of an
   argument of size `spread` costs 2 spread + 2, a sum of E such terms as much plus E, the division,
   the sigmoid's factor and the scale a few more; twice over for the two roundings outward. */
static inline double relative_units(const routing_case *c) {
  return 2.0 * (4.0 * logits_spread(c) + c->router.experts + 16.0);
}

/* terms = |max x| + log sum exp(x - max x), the difference of two logarithms in the plain form. */
static inline void oracle_logsumexp_terms(int32_t n, arb_srcptr x, const arb_t lse, arb_t terms) {
  arb_t largest;
  arb_init(largest);
  arb_set(largest, x);
  for (int32_t e = 1; e < n; e++) arb_max(largest, largest, x + e, ORACLE_PRECISION);
  arb_sub(terms, lse, largest, ORACLE_PRECISION);
  arb_abs(largest, largest);
  arb_add(terms, terms, largest, ORACLE_PRECISION);
  arb_clear(largest);
}

static const int32_t shapes[][2] = {{1, 1}, {2, 1}, {3, 3}, {5, 2}, {8, 2}, {13, 13}, {37, 4}};

/* Runs `check` on every shape, gate and pattern, with and without a bias. */
static inline void check_everywhere(void (*check)(const routing_case *, mpfr_prec_t,
                                                  const char *)) {
  char what[128];
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (size_t g = 0; g < 3; g++)
      for (int pattern = 0; pattern < LOGITS_PATTERNS; pattern++)
        for (int biased = 0; biased < 2; biased++) {
          routing_case c =
              routing_case_create(shapes[s][0], shapes[s][1], all_gates[g], (logit_pattern)pattern,
                                  biased, 1000u * s + 100u * g + 2u * (unsigned)pattern);
          snprintf(what, sizeof what, "E = %d, k = %d, gate %d, pattern %d, bias %d",
                   (int)shapes[s][0], (int)shapes[s][1], (int)all_gates[g], pattern, biased);
          check(&c, (s & 1) ? 64 : 128, what);
          routing_case_destroy(&c);
        }
}

#endif

/* What the routers of all backends compute for one logit, and the order that they select by. */
#ifndef PHIBAL_CORE_ROUTER_H
#define PHIBAL_CORE_ROUTER_H

#include "sigmoid.h"
#include "sqrt_softplus.h"
#include <phibal/router.h>

/* Order of binary32 numbers as order of integers: monotone, and finite exactly between the two
   infinities. */
CORE_FUNCTION int32_t core_float_key(float x) {
  int32_t bits = (int32_t)core_bits32(x);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

CORE_FUNCTION float core_float_from_key(int32_t key) {
  return core_float((uint32_t)(key ^ ((key >> 31) & 0x7fffffff)));
}

/* The same of a finite score in binary64; -0 counts as +0. */
CORE_FUNCTION int64_t core_score_key(double score) {
  int64_t bits = (int64_t)core_bits64(score + 0.0);
  return bits ^ ((bits >> 63) & INT64_MAX);
}

CORE_FUNCTION double core_score_from_key(int64_t key) {
  return core_double((uint64_t)(key ^ ((key >> 63) & INT64_MAX)));
}

/* sigma(x) e^-m, m = min(largest, 0): all sigmoids of a row divided by one number, so that they
   cannot all underflow: exp(min(x, 0) - m) / (1 + exp(-|x|)). */
CORE_FUNCTION double core_sigmoid_weight(double x, double largest) {
  double m = largest < 0.0 ? largest : 0.0;
  double above = x < 0.0 ? x : 0.0;
  double magnitude = x < 0.0 ? x : -x;
  return core_exp64(above - m) / (1.0 + core_exp64(magnitude));
}

/* 1 - sigma(x), with no difference. */
CORE_FUNCTION double core_one_minus_sigmoid(double x) {
  double e = core_exp64(x < 0.0 ? x : -x);
  return (x < 0.0 ? 1.0 : e) / (1.0 + e);
}

/* sqrt(log(1 + e^x)) e^(-m/2), m = min(largest, 0): the same of square roots of softplus. For x < 0
   the square is e^(x-m) times log(1 + e) / e, e = e^x, which is 1 where e vanishes; the quotient
   and the product add 2 u to the 7.3 u of their parts, and the root halves that: within 2^-50
   beside the rounding of x - m. */
CORE_FUNCTION double core_sqrt_softplus_weight(double x, double largest) {
  double m = largest < 0.0 ? largest : 0.0;
  double e = core_exp64(x < 0.0 ? x : -x);
  double l = core_log1p_of_weight(e);
  double below = core_exp64((x < 0.0 ? x : 0.0) - m) * (e > 0.0 ? l / (e > 0.0 ? e : 1.0) : 1.0);
  return CORE_SQRT(x < 0.0 ? below : x + l);
}

/* sigma(x) / (2 log(1 + e^x)): the derivative of that score's logarithm, from 1/2 down to 0, with
   no difference. */
CORE_FUNCTION double core_sqrt_softplus_slope(double x) {
  double e = core_exp64(x < 0.0 ? x : -x);
  double l = core_log1p_of_weight(e);
  double of_score = x < 0.0 ? (e > 0.0 ? l / (e > 0.0 ? e : 1.0) : 1.0) : x + l;
  return 0.5 / ((1.0 + e) * of_score);
}

/* Whether a router's scores are each a function of one logit, their weights normalised, rather than
   softmax probabilities: (R5), (R5s). */
CORE_FUNCTION int core_gate_has_scores(phibal_gate gate) {
  return gate == PHIBAL_GATE_SIGMOID || gate == PHIBAL_GATE_SQRT_SOFTPLUS;
}

/* The binary32 number nearest to such a score, which the selection compares (R2). */
CORE_FUNCTION float core_gate_score(phibal_gate gate, float x) {
  return gate == PHIBAL_GATE_SQRT_SOFTPLUS ? core_sqrt_softplus(x) : core_sigmoid(x);
}

/* Its weight beside the largest of the row, and the derivative of its logarithm. */
CORE_FUNCTION double core_gate_weight(phibal_gate gate, double x, double largest) {
  return gate == PHIBAL_GATE_SQRT_SOFTPLUS ? core_sqrt_softplus_weight(x, largest)
                                           : core_sigmoid_weight(x, largest);
}

CORE_FUNCTION double core_gate_slope(phibal_gate gate, double x) {
  return gate == PHIBAL_GATE_SQRT_SOFTPLUS ? core_sqrt_softplus_slope(x)
                                           : core_one_minus_sigmoid(x);
}

/* Below this |logsumexp|, 1 + (the sum of the others) has lost what the result consists of. */
#define CORE_LOGSUMEXP_SMALL 0x1p-20

/* largest + log(1 + r) for r = sum of exp(x - largest) without the largest's own 1: with u = 1 + r
   rounded, log(1 + r) = log(u) + (r - (u - 1)) / u to within a few 2^-53 of itself, and r - (u - 1)
   is exact. */
CORE_FUNCTION double core_logsumexp_small(double largest, double r) {
  double u = 1.0 + r;
  return largest + (core_log64(u) + (r - (u - 1.0)) / u);
}

#endif

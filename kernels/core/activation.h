/* The activations of the gated FFN and their derivatives, in binary64, without branches.
   u = 2^-53; errors are absolute where a function crosses zero. */
#ifndef PHIBAL_CORE_ACTIVATION_H
#define PHIBAL_CORE_ACTIVATION_H

#include "sigmoid.h"

typedef struct core_activation {
  double value, derivative;
} core_activation;

/* Keeps -inf sigma(-inf) from being NaN; beyond it the value is x or 0 to the last bit. */
CORE_FUNCTION double core_activation_clamp(double x) {
  return x < -750.0 ? -750.0 : x;
}

/* silu(x) = x sigma(x), relative error <= 6.8 u < 2^-50.2 for x >= -708, below which it is 0. With
   e (1.63 u), the sum and the quotient, q is off by 3 u; e q rounds once more, 5.7 u; the product
   with x once.

   silu'(x) = sigma + x sigma (1 - sigma), absolute error <= 2^-49: the factors as above, and
   |x| sigma (1 - sigma) <= 0.37; the slope's product and the last fma round once each. The factor
   (1 - sigma) is sigma(-x), not a difference, so that large x lose nothing. Zero at x = -1.2785:
   there the error is not small beside the value, only beside 1. (proofs/gappa/silu.gappa.) */
CORE_FUNCTION core_activation core_silu64(double x) {
  double c = core_activation_clamp(x);
  double e = core_exp64(c < 0 ? c : -c);
  double q = 1.0 / (1.0 + e);
  double s = c < 0 ? e * q : q;          /* sigma(x) */
  double complement = c < 0 ? q : e * q; /* sigma(-x) */
  double slope = c > 750.0 ? 0.0 : c * complement;
  core_activation r;
  r.value = c * s;
  r.derivative = CORE_FMA(s, slope, s);
  return r;
}

/* gelu(x) = x / 2 (1 + tanh v) = x sigma(2 v), v = sqrt(2 / pi) (x + 0.044715 x^3): the tanh form.
   2 v has a relative error of 5 u: the two constants (together below u), the square, the fma and
   two products. So e = e^-|2 v| is off by 5 u |2 v|, 2^-43.66 where the result is not below
   binary32's range (|2 v| <= 130), and by 1.63 u of its own: 2^-43.6 for the value. Where x > 0
   that counts e times, and |2 v| e <= 0.37: 5 u for the value.

   The derivative sigma + x sigma (1 - sigma) 2 v' has an absolute error <= 2^-47: |x 2 v'| is at
   most 3 |2 v|, so that x (1 - sigma) sigma 2 v' stays below 1.11, and the error of e in it is 5 u
   3 |2 v|^2 e <= 8.2 u. (proofs/gappa/gelu_argument.gappa, gelu.gappa.) */
CORE_FUNCTION core_activation core_gelu64(double x) {
  const double a = 0x1.9884533d43651p+0; /* 2 sqrt(2 / pi), to nearest */
  const double b = 0x1.6e4e26d4801f7p-5; /* 0.044715, to nearest */
  double c = x < -30.0 ? -30.0 : x;
  double square = c * c;
  double w = a * c * CORE_FMA(b, square, 1.0);          /* 2 v */
  double gradient = a * CORE_FMA(3.0 * b, square, 1.0); /* 2 v' */
  double e = core_exp64(w < 0 ? w : -w);
  double q = 1.0 / (1.0 + e);
  double s = w < 0 ? e * q : q;
  double complement = w < 0 ? q : e * q;
  double slope = c > 30.0 ? 0.0 : c * complement * gradient;
  core_activation r;
  r.value = c * s;
  r.derivative = CORE_FMA(s, slope, s);
  return r;
}

/* Rounded once to binary32: silu and gelu within 0.5 + 2^-19 ULP; the derivatives within 2^-24
   |value| + 2^-46. */
CORE_FUNCTION float core_silu(float x) {
  return (float)core_silu64((double)x).value;
}

CORE_FUNCTION float core_silu_derivative(float x) {
  return (float)core_silu64((double)x).derivative;
}

CORE_FUNCTION float core_gelu(float x) {
  return (float)core_gelu64((double)x).value;
}

CORE_FUNCTION float core_gelu_derivative(float x) {
  return (float)core_gelu64((double)x).derivative;
}

#endif

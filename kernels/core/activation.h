/* The activations of the gated FFN and their derivatives, in binary64, without branches.
   u = 2^-53; errors are absolute where a function crosses zero.

   Both are x sigma(w), w = x or 2 v. With E = e^-w, sigma(w) = 1 / (1 + E) and
   1 - sigma(w) = E / (1 + E), for either sign of w. Where x is so negative that |x sigma(w)| <
   2^-450, the least such x stands for it: binary32 holds neither, not even times its largest
   number. Where x is as large, sigma(w) is 1. */
#ifndef PHIBAL_CORE_ACTIVATION_H
#define PHIBAL_CORE_ACTIVATION_H

#include "exp2.h"

typedef struct core_activation {
  double value, derivative;
} core_activation;

CORE_FUNCTION double core_not_below(double x, double low) {
  return x < low ? low : x;
}

CORE_FUNCTION double core_not_above(double x, double high) {
  return x > high ? high : x;
}

/* silu(x) = x sigma(x). E = 2^t is off by t's 2 u |x| (log2 e and one product) and by exp2's 7 u.
   For x >= 0 that counts E / (1 + E) times, and x E <= 0.37: 10 u for the value, with the sum, the
   quotient and the product. For x < 0 it counts at most once: 2^-45 where binary32 holds the value
   (|x| <= 110), 2^-43.6 down to -320, which stands for x below.

   silu'(x) = sigma + x sigma (1 - sigma), absolute error <= 2^-48: |x| sigma (1 - sigma) <= 0.37
   and x^2 sigma (1 - sigma) <= 0.55 meet the relative errors of E. Zero at x = -1.2785: there the
   error is not small beside the value, only beside 1. (proofs/gappa/silu.gappa.) */
CORE_FUNCTION core_activation core_silu64(double x) {
  double low = core_not_below(x, -320.0);
  double c = core_not_above(low, 320.0);
  double t = -CORE_LOG2_E * c;
  double e = core_exp2(t);
  double s = 1.0 / (1.0 + e); /* sigma(x) */
  double slope = e * s * c;   /* x sigma(-x) */
  core_activation r;
  r.value = low * s;
  r.derivative = CORE_FMA(s, slope, s);
  return r;
}

/* gelu(x) = x / 2 (1 + tanh v) = x sigma(2 v), v = sqrt(2 / pi) (x + 0.044715 x^3): the tanh form.
   t has a relative error of 6 u: the constants, the square, the fma and two products. So E = 2^t is
   off by 6 u |2 v| and by exp2's 7 u. For x >= 0 that counts E / (1 + E) times, and |2 v| E <=
   0.37: 11 u for the value. For x < 0: 2^-43.6 where binary32 holds the value (|2 v| <= 110), 2^-42
   down to -16, which stands for x below.

   The derivative sigma + x sigma (1 - sigma) 2 v' has an absolute error <= 2^-47: |x 2 v'|, with a
   relative error of 5 u, is at most 3 |2 v|, so that x sigma (1 - sigma) 2 v' stays below 1.11, and
   the error of t in it is 6 u 3 |2 v|^2 e^-|2 v| <= 9.8 u.
   (proofs/gappa/gelu_argument.gappa, gelu.gappa.) */
CORE_FUNCTION core_activation core_gelu64(double x) {
  const double a = 0x1.9884533d43651p+0; /* 2 sqrt(2 / pi), to nearest */
  const double b = 0x1.6e4e26d4801f7p-5; /* 0.044715, to nearest */
  double low = core_not_below(x, -16.0);
  double c = core_not_above(low, 16.0);
  double square = c * c;
  double linear = a * c;
  double t = linear * CORE_FMA(-CORE_LOG2_E * b, square, -CORE_LOG2_E); /* -2 v log2 e */
  double gradient = linear * CORE_FMA(3.0 * b, square, 1.0);            /* x 2 v' */
  double e = core_exp2(t);
  double s = 1.0 / (1.0 + e); /* sigma(2 v) */
  double slope = e * s * gradient;
  core_activation r;
  r.value = low * s;
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

/* cos(2 pi t) in binary64: no table, no library. For random numbers and schedules, whose angles are
   fractions of a turn: the reduction is then exact. */
#ifndef PHIBAL_CORE_COS_TURN64_H
#define PHIBAL_CORE_COS_TURN64_H

#include "core.h"

/* S(z) ~ sin(2 pi r) / r and C(z) ~ (cos(2 pi r) - 1) / r^2 for z = r^2 <= 1/64: the polynomials of
   degree 6 that agree with them at the 7 Chebyshev nodes of [0, 1/64], coefficients rounded to
   nearest. There they are off by at most 2^-54.3 and 2^-53.7 of themselves
   (proofs/gappa/approximation.py, in rational arithmetic). */
CORE_FUNCTION double core_sin_turn_tail(double z) {
  double p = 0x1.e3f38399551bfp+1;
  p = CORE_FMA(p, z, -0x1.e30071afc3e59p+3);
  p = CORE_FMA(p, z, 0x1.50782fda12d96p+5);
  p = CORE_FMA(p, z, -0x1.32d2cce2e5b19p+6);
  p = CORE_FMA(p, z, 0x1.466bc677587f8p+6);
  p = CORE_FMA(p, z, -0x1.4abbce625be41p+5);
  return CORE_FMA(p, z, 0x1.921fb54442d18p+2);
}

CORE_FUNCTION double core_cos_turn_tail(double z) {
  double p = -0x1.b2f3eb054afcdp+0;
  p = CORE_FMA(p, z, 0x1.f9ce245cada0bp+2);
  p = CORE_FMA(p, z, -0x1.a6d1eef479be1p+4);
  p = CORE_FMA(p, z, 0x1.e1f5068688d5bp+5);
  p = CORE_FMA(p, z, -0x1.55d3c7e3cb241p+6);
  p = CORE_FMA(p, z, 0x1.03c1f081b5ac0p+6);
  return CORE_FMA(p, z, -0x1.3bd3cc9be45dep+4);
}

/* cos(2 pi t) for |t| <= 2^49, with relative error <= 2.5 u < 2^-51.6, u = 2^-53.

   t = k / 4 + r for the integer k nearest to 4 t, |r| <= 1/8: k and r are exact. z = r^2 rounds, by
   u. Relative errors, with w the weight of a polynomial's other terms beside its constant:
   - S, 5.63 .. 6.29 in size: 0.42 u from the polynomial; the last fma rounds by 4 u absolutely,
     0.72 u; the other terms, w <= 0.115, are off by z's u and by 1.1 u of their own: 0.25 u. r S
     rounds once more: 2.39 u.
   - C, 18.7 .. 19.8 in size: 0.62 u from the polynomial, 16 u absolutely or 0.86 u from the last
     fma, w <= 0.055 times 2.1 u: 1.6 u. z C, at most 0.293, is off by 2.6 u: 0.77 u absolutely; the
     sum with 1, in 0.707 .. 1, rounds by u / 2: 1.8 u. */
CORE_FUNCTION double core_cos_turn64(double t) {
  const double shifter = 0x1.8p52;
  double k = (4.0 * t + shifter) - shifter;
  double r = t - 0.25 * k;
  double z = r * r;
  int quadrant = (int)((int64_t)k & 3);
  double c = quadrant & 1 ? -r * core_sin_turn_tail(z) : CORE_FMA(z, core_cos_turn_tail(z), 1.0);
  return quadrant & 2 ? -c : c;
}

#endif

/* sin x and cos x in double-double, for the angles of rotary positions: x is a binary64 of any size
   up to 2^31, so that the reduction by pi/2 has to be right where x is close to a multiple of it.
   u = 2^-53; bounds are relative. */
#ifndef PHIBAL_CORE_DD_SINE_H
#define PHIBAL_CORE_DD_SINE_H

#include "dd.h"

/* pi/2 = the sum of the four within 2^-217: each is the binary64 nearest to what the ones before it
   leave. The first is a multiple of 2^-52, the second of 2^-106. */
#define CORE_HALF_PI_1 0x1.921fb54442d18p+0
#define CORE_HALF_PI_2 0x1.1a62633145c07p-54
#define CORE_HALF_PI_3 -0x1.f1976b7ed8fbcp-110
#define CORE_HALF_PI_4 0x1.4cf98e804177dp-164

/* r = x - k pi/2 for the integer k nearest to 2 x / pi, or next to it; |x| <= 2^31, |r| <= 0.7855,
   error <= 3.1 u^2.
   Where k = 0, r is x. Elsewhere |x| >= 0.78 is a multiple of 2^-53, and so is d = x - k P_1, which
   is below 1 in size: a binary64, so that the fma does not round. d - k P_2 is a multiple of 2^-106
   and below 1: a double-double; the product is exact as one, the high parts' sum is, and what is
   left of both, again a multiple of 2^-106 and below 2^-53, does not round.
   k (P_3 + P_4) is below 2^-78. It is off by 2 u^2 of itself, and what the four parts leave of pi/2
   makes 2^-186. No |x| of 2^-1 .. 2^31 comes closer to a multiple of pi/2 than 2^-60.49 (by the
   continued fractions of 2^j / pi: 0x1.6c6cbc45dc8dep+5 does): both are below 2^-16 u^2 of r, and
   the last sum makes 3 u^2. */
CORE_FUNCTION core_dd core_dd_reduce_half_pi(double x, int64_t *quarters) {
  const double shifter = 0x1.8p52;
  double k = CORE_FMA(x, 0x1.45f306dc9c883p-1, shifter) - shifter; /* 2 / pi */
  *quarters = (int64_t)k;
  double d = CORE_FMA(-k, CORE_HALF_PI_1, x);
  core_dd second = core_two_product(-k, CORE_HALF_PI_2);
  core_dd r = core_dd_add_d(core_two_sum(d, second.hi), second.lo);
  return core_dd_add(r, core_dd_mul_d(core_dd_make(CORE_HALF_PI_3, CORE_HALF_PI_4), -k));
}

/* B_1 = 1 - z / (n (n + 1)) B_2, B_j with n + 2 j - 2 in place of n, B_15 = 1: cos r for n = 1, sin
   r / r for n = 2, z = r^2 <= 0.6171. The series cut there leaves z^15 / 30! < 2^-117.
   Error <= 8.8 u^2 for n = 1, 4 u^2 for n = 2, beside that of r. A step: z's error and the
   product's, 5 u^2 each, the division's 3.07 u^2 and the error b_(j+1) of B_(j+1), all times the
   term's weight in B_j, plus the sum's 2 u^2. The weights are (1 - B_j) / B_j: for n = 1 0.415,
   0.055, 0.021, .., for n = 2 0.115, 0.032, 0.015, ..; b_3 <= 2.4. So b_2 <= 2 + 0.055 (13.07
   + 2.4) <= 2.9 and b_1 <= 2 + 0.415 (13.07 + 2.9) <= 8.7; or b_2 <= 2.5 and b_1 <= 2 + 0.115
   (13.07 + 2.5) <= 3.8. */
CORE_FUNCTION core_dd core_dd_alternating(core_dd z, int n) {
  core_dd b = core_dd_from(1.0);
  for (int j = 14; j >= 1; j--) {
    double divisor = (double)((n + 2 * j - 2) * (n + 2 * j - 1));
    b = core_dd_add_d(core_dd_neg(core_dd_div_d(core_dd_mul(z, b), divisor)), 1.0);
  }
  return b;
}

/* sin(x + quarters pi/2), x = 0 or 2^-400 <= |x| <= 2^31: error <= 12.2 u^2. The error of r, 3.1
   u^2, counts |r cot r| <= 1 times for sin r and |r tan r| <= 0.79 times for cos r; sin r = r B_1
   makes 5 u^2 more: 12.1 and 11.3 u^2. So the high part is off by at most half an ULP + 2^-49.3
   ULP: it is the nearest binary64 unless the exact value is that close to the middle of two. */
CORE_FUNCTION core_dd core_dd_sine(double x, int quarters) {
  int64_t k;
  core_dd r = core_dd_reduce_half_pi(x, &k);
  int quadrant = (int)((k + quarters) & 3);
  core_dd z = core_dd_mul(r, r);
  core_dd s = quadrant & 1 ? core_dd_alternating(z, 1) : core_dd_mul(r, core_dd_alternating(z, 2));
  return quadrant & 2 ? core_dd_neg(s) : s;
}

CORE_FUNCTION core_dd core_dd_sin(double x) {
  return core_dd_sine(x, 0);
}

CORE_FUNCTION core_dd core_dd_cos(double x) {
  return core_dd_sine(x, 1);
}

#endif

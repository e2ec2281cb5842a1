/* Elementary functions in double-double: plain series after an argument reduction, because E values
   a step are asked for. u = 2^-53; bounds are relative unless said. They follow from those of dd.h;
   proofs/gappa/double_double.py adds them up. */
#ifndef PHIBAL_CORE_DD_ELEMENTARY_H
#define PHIBAL_CORE_DD_ELEMENTARY_H

#include "dd.h"

/* log 2 = HIGH + MIDDLE + LOW within 2^-140. HIGH and MIDDLE are cut after 42 and 41 bits: their
   products with an integer of at most 11 bits are exact. */
#define CORE_LOG2_HIGH 0x1.62e42fefa3800p-1
#define CORE_LOG2_MIDDLE 0x1.ef35793c76000p-45
#define CORE_LOG2_LOW 0x1.cc01f97b57a08p-87

/* x - k log 2, |k| <= 1100. Each sum's error is 2 u^2 of the partial result, which is at most
   |x - k log 2| + 2^-33 in size (and where the result is small beside 1, x cancels k HIGH and the
   first sum is exact): 6.01 u^2 |result| + |k| 2^-138 in all, absolutely, |k| 2^-138 for the
   rounding of k LOW and what LOW leaves out. */
CORE_FUNCTION core_dd core_dd_sub_log2(core_dd x, double k) {
  x = core_dd_add_d(x, -k * CORE_LOG2_HIGH);
  x = core_dd_add_d(x, -k * CORE_LOG2_MIDDLE);
  return core_dd_add_d(x, -k * CORE_LOG2_LOW);
}

/* e^r - 1 for |r| <= 0.36, error <= 9.6 u^2: r B_1, where B_j = 1 + r / (j + 1) B_(j+1) and B_25
   = 1. The series cut there leaves r^25 / 26! < 2^-125. A step's error: division 3.07 u^2, product
   5 u^2 and the error b_(j+1) of B_(j+1), all times the term's weight in B_j, plus the sum's 2 u^2.
   The weight is at most (|r| / (j + 1)) / (1 - |r| / (j + 1)), for negative r: 0.22 for j = 1, 0.14
   for j = 2. So b_3 <= 3.1, b_2 <= 2 + 0.14 (8.07 + b_3) <= 3.6, b_1 <= 2 + 0.22 (8.07 + b_2)
   <= 4.6 u^2; then the last product's 5 u^2. */
CORE_FUNCTION core_dd core_dd_expm1_reduced(core_dd r) {
  core_dd b = core_dd_from(1.0);
  for (int j = 24; j >= 1; j--)
    b = core_dd_add_d(core_dd_mul(core_dd_div_d(r, (double)(j + 1)), b), 1.0);
  return core_dd_mul(r, b);
}

/* The integer nearest to x / log 2, or next to it, for |x| <= 1000. */
CORE_FUNCTION double core_nearest_log2(double x) {
  const double shifter = 0x1.8p52;
  return CORE_FMA(x, 0x1.71547652b82fep+0, shifter) - shifter;
}

/* e^y, error <= 9 u^2 + the absolute error of y for y >= -660 (below, the low part loses bits to
   underflow); 0 for y < -708 and +inf for y > 709.
   With y = k log 2 + r: r is off by 2.1 u^2 (6.01 u^2 |r|), e^r - 1 by 10 u^2 |e^r - 1|, at
   most 4.2 u^2 of e^r, the sum with 1 by 2 u^2 of itself: below 8.4 u^2. */
CORE_FUNCTION core_dd core_dd_exp(core_dd y) {
  if (y.hi < -708.0) return core_dd_from(0.0);
  if (y.hi > 709.0) return core_dd_from(CORE_INFINITY);
  double k = core_nearest_log2(y.hi);
  core_dd t = core_dd_add_d(core_dd_expm1_reduced(core_dd_sub_log2(y, k)), 1.0);
  return core_dd_scale(t, core_power_of_two((int)k));
}

/* e^y - 1, error <= 25 u^2 + the error that a relative error of y makes (y e^y / (e^y - 1) times
   it); -1 for y < -708 and +inf for y > 709. For k = 0 it is the reduced function. Else 2^k t +
   (2^k - 1), the difference exact, the sum 3.1 u^2. t = e^r - 1 is off by 2.1 u^2 e^r + 10 u^2 |t|
   absolutely: for k = 1 and e^r = 0.7071, where the result is 0.207 2^k, by 4.4 u^2: 21.4 u^2; for
   k = -1 and e^r = 1.4143, where it is 0.29, 2^k t by 3.6 u^2: 12.3 u^2. */
CORE_FUNCTION core_dd core_dd_expm1(core_dd y) {
  if (y.hi < -708.0) return core_dd_from(-1.0);
  if (y.hi > 709.0) return core_dd_from(CORE_INFINITY);
  double k = core_nearest_log2(y.hi);
  if (k == 0.0) return core_dd_expm1_reduced(y);
  double scale = core_power_of_two((int)k);
  core_dd t = core_dd_scale(core_dd_expm1_reduced(core_dd_sub_log2(y, k)), scale);
  return core_dd_add(core_two_sum(scale, -1.0), t);
}

/* 1 / (2 j + 1) for 1 <= j <= 22, error <= u^2 / 4: what core_dd_div_d makes of it. A table,
   because a device's division of two binary64 takes as many instructions as the rest of a
   logarithm's step. */
CORE_FUNCTION core_dd core_dd_odd_reciprocal(int j) {
  static const double part[22][2] = {
      {0x1.5555555555555p-2, 0x1.5555555555555p-56},
      {0x1.999999999999ap-3, -0x1.999999999999ap-57},
      {0x1.2492492492492p-3, 0x1.2492492492492p-57},
      {0x1.c71c71c71c71cp-4, 0x1.c71c71c71c71cp-58},
      {0x1.745d1745d1746p-4, -0x1.745d1745d1746p-59},
      {0x1.3b13b13b13b14p-4, -0x1.3b13b13b13b14p-58},
      {0x1.1111111111111p-4, 0x1.1111111111111p-60},
      {0x1.e1e1e1e1e1e1ep-5, 0x1.e1e1e1e1e1e1ep-61},
      {0x1.af286bca1af28p-5, 0x1.af286bca1af28p-59},
      {0x1.8618618618618p-5, 0x1.8618618618618p-59},
      {0x1.642c8590b2164p-5, 0x1.642c8590b2164p-60},
      {0x1.47ae147ae147bp-5, -0x1.eb851eb851eb8p-61},
      {0x1.2f684bda12f68p-5, 0x1.2f684bda12f68p-59},
      {0x1.1a7b9611a7b96p-5, 0x1.1a7b9611a7b96p-61},
      {0x1.0842108421084p-5, 0x1.0842108421084p-60},
      {0x1.f07c1f07c1f08p-6, -0x1.f07c1f07c1f08p-61},
      {0x1.d41d41d41d41dp-6, 0x1.0750750750750p-60},
      {0x1.bacf914c1bad0p-6, -0x1.bacf914c1bad0p-60},
      {0x1.a41a41a41a41ap-6, 0x1.0690690690690p-60},
      {0x1.8f9c18f9c18fap-6, -0x1.f3831f3831f38p-61},
      {0x1.7d05f417d05f4p-6, 0x1.7d05f417d05f4p-62},
      {0x1.6c16c16c16c17p-6, -0x1.f49f49f49f49fp-61},
  };
  return core_dd_make(part[j - 1][0], part[j - 1][1]);
}

/* log((1 + s) / (1 - s)) for |s| <= 0.1716, error <= 7.2 u^2 + the error of s: 2 s A_0 with
   A_j = 1 / (2 j + 1) + s^2 A_(j+1), cut after s^44: the rest is below s^46 / 47 (1 - s^2)^-1 <
   2^-122. A step: z's error and the product's, 5 u^2 each, weighted, the constant's, and the sum's
   3 u^2: A_1 is good to 6.4 u^2. z A_1 is 0.01 of A_0: 2 + 0.01 (5 + 5 + 6.4) < 2.2 u^2; the last
   product makes 5 u^2. */
CORE_FUNCTION core_dd core_dd_log_ratio(core_dd s) {
  core_dd z = core_dd_mul(s, s);
  core_dd a = core_dd_from(0.0);
  for (int j = 22; j >= 1; j--) a = core_dd_add(core_dd_mul(z, a), core_dd_odd_reciprocal(j));
  a = core_dd_add_d(core_dd_mul(z, a), 1.0);
  return core_dd_scale(core_dd_mul(s, a), 2.0);
}

/* log x for a normal binary64 x > 0, error <= 27 u^2; log 1 = 0 exactly. x = 2^k (1 + f), sqrt(1/2)
   <= 1 + f < sqrt 2, f exact: s = f / (2 + f) is off by 12.2 u^2 (2 + f is exact as a
   double-double) and counts at most 1 / (1 - s^2) times: log(1 + f) is off by 19.9 u^2, and |log(1
   + f)| <= 0.34658; k log 2 leaves a result of at least 0.34657, and three sums: 19.9 + 6.01 u^2.
 */
CORE_FUNCTION core_dd core_dd_log(double x) {
  uint64_t u = core_bits64(x);
  int64_t k = (int64_t)(u - 0x3fe6a09e667f3bcdu) >> 52; /* the bits of sqrt(1/2), rounded up */
  double f = core_double(u - ((uint64_t)k << 52)) - 1.0;
  core_dd s = core_dd_div(core_dd_from(f), core_two_sum(2.0, f));
  return core_dd_sub_log2(core_dd_log_ratio(s), (double)-k);
}

/* log(1 + x) for x > -1 with 1 + x below 2^1000, error <= 35 u^2. Where 1 + x is within [sqrt(1/2),
   sqrt 2] as for log, with s = x / (2 + x). Elsewhere 1 + x = h + l exactly, |l| <= u h, and
   log(h + l) = log h + l / h - .., the quotient's rounding below u^2, the next term below u^2 / 2,
   the result at least 0.34: 27 + 4.5 u^2, and the sum's 2 u^2. */
CORE_FUNCTION core_dd core_dd_log1p(double x) {
  if (x > -0.2928 && x < 0.4142)
    return core_dd_log_ratio(core_dd_div(core_dd_from(x), core_two_sum(2.0, x)));
  core_dd t = core_two_sum(1.0, x);
  return core_dd_add_d(core_dd_log(t.hi), t.lo / t.hi);
}

/* tanh y = t / (t + 2) with t = e^2y - 1, for y >= 0: error <= 40 u^2 + that of y (t's error counts
   2 / (t + 2) <= 1 times, the sum 2 u^2, the quotient 12.2 u^2). Beyond 350, where tanh is 1 -
   2^-1000, 1.
 */
CORE_FUNCTION core_dd core_dd_tanh(core_dd y) {
  if (y.hi > 350.0) return core_dd_from(1.0);
  core_dd t = core_dd_expm1(core_dd_scale(y, 2.0));
  return core_dd_div(t, core_dd_add_d(t, 2.0));
}

/* x^y for a normal x > 0, as e^(y log x), |y log x| <= 660: error <= (9 + 29.1 |y log x|) u^2. The
   logarithm's 27 u^2 and the product's 2 u^2 are relative to y log x, and e^w has w's absolute
   error as a relative one. */
CORE_FUNCTION core_dd core_dd_power(double x, double y) {
  return core_dd_exp(core_dd_mul_d(core_dd_log(x), y));
}

#endif

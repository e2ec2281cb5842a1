/* Double-double arithmetic: an unevaluated sum hi + lo of two binary64 with hi = round(hi + lo),
   about 106 bits. For the price functions, of which there are E values a step, and for the hard
   cases of the one-argument functions: exactness matters here, speed does not.

   u = 2^-53. Bounds are relative to the exact result, for normalised arguments and as long as no
   intermediate result overflows or falls below 2^-960. The algorithms are those of Joldes, Muller
   and Popescu, "Tight and rigorous error bounds for basic building blocks of double-word
   arithmetic", ACM TOMS 44(2), 2017 (proved again in Coq by Muller and Rideau, 2022). The bounds
   are proved here, from the exactness of 2Sum, Fast2Sum and the product's fma, by
   proofs/gappa/dd_*.gappa; where the literature's are a little lower, both are given, and what is
   built on them uses the higher. */
#ifndef PHIBAL_CORE_DD_H
#define PHIBAL_CORE_DD_H

#include "tree.h"

typedef struct core_dd {
  double hi, lo;
} core_dd;

CORE_FUNCTION core_dd core_dd_make(double hi, double lo) {
  core_dd r;
  r.hi = hi;
  r.lo = lo;
  return r;
}

CORE_FUNCTION core_dd core_dd_from(double x) {
  return core_dd_make(x, 0.0);
}

CORE_FUNCTION core_dd core_dd_neg(core_dd x) {
  return core_dd_make(-x.hi, -x.lo);
}

/* x 2^k, exact for a power of two in range. */
CORE_FUNCTION core_dd core_dd_scale(core_dd x, double power_of_two) {
  return core_dd_make(x.hi * power_of_two, x.lo * power_of_two);
}

/* a + b exactly (2Sum; any magnitudes). */
CORE_FUNCTION core_dd core_two_sum(double a, double b) {
  double s = a + b;
  double t = s - a;
  return core_dd_make(s, (a - (s - t)) + (b - t));
}

/* a + b exactly, for |a| >= |b| or a = 0 (Fast2Sum). */
CORE_FUNCTION core_dd core_fast_two_sum(double a, double b) {
  double s = a + b;
  return core_dd_make(s, b - (s - a));
}

/* a b exactly, if it is at least 2^-960. */
CORE_FUNCTION core_dd core_two_product(double a, double b) {
  double p = a * b;
  return core_dd_make(p, CORE_FMA(a, b, -p));
}

/* x + b, error <= 2 u^2 (their algorithm 4). One rounding, of x.lo + s.lo. Where b cancels half of
   x.hi or more, s.lo is 0 and nothing rounds; elsewhere the sum is at least half the greater of
   |x.hi| and |b|, and what rounds at most 1.5 u of it. */
CORE_FUNCTION core_dd core_dd_add_d(core_dd x, double b) {
  core_dd s = core_two_sum(x.hi, b);
  return core_fast_two_sum(s.hi, x.lo + s.lo);
}

/* x + y, error <= 3 u^2 / (1 - 4 u), cancellation included (their algorithm 6). Two roundings: s.lo
   + t.hi, exact where the high parts cancel, and t.lo + v.lo, at most u (u |v.hi| + |t.lo|). */
CORE_FUNCTION core_dd core_dd_add(core_dd x, core_dd y) {
  core_dd s = core_two_sum(x.hi, y.hi);
  core_dd t = core_two_sum(x.lo, y.lo);
  core_dd v = core_fast_two_sum(s.hi, s.lo + t.hi);
  return core_fast_two_sum(v.hi, t.lo + v.lo);
}

CORE_FUNCTION core_dd core_dd_sub(core_dd x, core_dd y) {
  return core_dd_add(x, core_dd_neg(y));
}

/* x b, error <= 2 u^2 (their algorithm 9): one rounding, of at most 3 u |p.hi|. */
CORE_FUNCTION core_dd core_dd_mul_d(core_dd x, double b) {
  core_dd p = core_two_product(x.hi, b);
  return core_fast_two_sum(p.hi, CORE_FMA(x.lo, b, p.lo));
}

/* x y, error <= 5 u^2 (their algorithm 12; 4 u^2 by Muller and Rideau, close to 1 by a finer
   argument). For x.hi and y.hi in 1 .. 2 and a product below 2: x.lo y.lo, u^3; the inner fma, of
   about u y.hi, u^2; the outer, of 2 u or more, 2 u^2; the last sum, of 3 u or more, 2 u^2. */
CORE_FUNCTION core_dd core_dd_mul(core_dd x, core_dd y) {
  core_dd p = core_two_product(x.hi, y.hi);
  double cross = CORE_FMA(x.hi, y.lo, CORE_FMA(x.lo, y.hi, x.lo * y.lo));
  return core_fast_two_sum(p.hi, p.lo + cross);
}

/* x / b, error <= 3.07 u^2 (3 u^2 for their algorithm 15). x.hi - q b, a division's remainder, is a
   binary64, and no step on the way to it rounds; x.lo added to it does, by u^2 where x.hi and b are
   in 1 .. 2, and the quotient once more. */
CORE_FUNCTION core_dd core_dd_div_d(core_dd x, double b) {
  double q = x.hi / b;
  core_dd p = core_two_product(q, b);
  double rest = (x.hi - p.hi) - p.lo + x.lo;
  return core_fast_two_sum(q, rest / b);
}

/* x / y, error <= 12.2 u^2 (15 u^2 for their algorithm 17, and a product of 2 u^2 inside). x.hi -
   p.hi is exact. The product's error is 2 u^2; x.lo - p.lo, at most 3 u, the sum and the last
   quotient round; and the correction is divided by y.hi for y, which is off by u of at most 3 u. */
CORE_FUNCTION core_dd core_dd_div(core_dd x, core_dd y) {
  double q = x.hi / y.hi;
  core_dd p = core_dd_mul_d(y, q);
  double rest = (x.hi - p.hi) + (x.lo - p.lo);
  return core_fast_two_sum(q, rest / y.hi);
}

/* sqrt x for x >= 0, error <= 3.13 u^2 (25/8 u^2: Lefevre, Louvet, Muller, Picot and Rideau,
   "Accurate calculation of Euclidean norms using double-word arithmetic", 2022). x.hi - s^2 is a
   binary64, so that the fma is exact; rest and the quotient round; Newton's step leaves (s - sqrt
   x)^2 / (2 s), with s off by u from its own rounding and by u / 2 from x.lo. */
CORE_FUNCTION core_dd core_dd_sqrt(core_dd x) {
  if (x.hi == 0.0) return core_dd_from(0.0);
  double s = CORE_SQRT(x.hi);
  double rest = x.lo + CORE_FMA(-s, s, x.hi);
  return core_fast_two_sum(s, rest / (2.0 * s));
}

/* Sum of a[0..n-1] in the order of tree.h, n >= 1; a is overwritten. Error <= 3.1 h u^2 sum |a| for
   n <= 2^h. */
CORE_FUNCTION core_dd core_dd_tree_sum(core_dd *a, int n) {
  for (int s = core_tree_width(n) / 2; s >= 1; s /= 2) {
    for (int i = 0; i < n - s; i++) a[i] = core_dd_add(a[i], a[i + s]);
    n = s;
  }
  return a[0];
}

/* hi + lo rounded to odd: to a binary64 that lies on the same side of, or on, every number of at
   most 52 bits that hi + lo does. Any further rounding to at most 51 bits is then as if it were the
   only one. The value is cut towards zero, and the last bit remembers that something was cut. */
CORE_FUNCTION double core_dd_to_odd(core_dd x) {
  if (x.lo == 0.0) return x.hi;
  uint64_t u = core_bits64(x.hi);
  if ((x.hi < 0) != (x.lo < 0)) u--; /* the next number towards zero; hi is not 0 where lo is not */
  return core_double(u | 1);
}

/* The nearest binary32, ties to even; subnormals and overflow as IEEE 754 has them. */
CORE_FUNCTION float core_dd_to_float(core_dd x) {
  return (float)core_dd_to_odd(x);
}

/* The binary32 nearest to x 2^k. The odd binary64 is scaled in two steps of one sign: a result that
   falls below 2^-1022 on the way is far below binary32's smallest, and rounds to a zero of its
   sign. */
CORE_FUNCTION float core_dd_to_float_scaled(core_dd x, int k) {
  if (k > 2000) k = 2000;
  if (k < -2000) k = -2000;
  int half = k / 2;
  return (float)(core_dd_to_odd(x) * core_power_of_two(half) * core_power_of_two(k - half));
}

#endif

/* The end of every generated kernel: what its callers see. It is included after the generated part,
   which defines

     PHI_SUMS        the number of sums over experts that a price takes
     PHI_FLOORED     1 if loads below 2^-126 are raised to it, because the price is unbounded at 0
     phi_price_ball64, phi_price_ball_dd(x, sums)     the price of an expert with load x
     phi_reduced_ball_dd(x, sums)                     the same minus something that is the same for
                                                      all experts
     phi_term_ball64, phi_term_ball_dd(i, x)          the term of sum i

   Loads are binary32, finite, >= 0; n is 1 .. 1024. Functions return 0, or -1 for a bad n, or e + 1
   where load e is none. */
#ifndef PHIBAL_AUDIT_KERNEL_ENTRY_H
#define PHIBAL_AUDIT_KERNEL_ENTRY_H

#ifdef __cplusplus
#define PHI_LINKAGE extern "C"
#else
#define PHI_LINKAGE
#endif
#ifdef __CUDACC__
#define PHI_EXPORT PHI_LINKAGE __host__ __device__
#else
#define PHI_EXPORT PHI_LINKAGE __attribute__((visibility("default")))
#endif

#define PHI_MOST_EXPERTS 1024
#define PHI_SMALLEST_LOAD 0x1p-126

typedef struct phi_sums {
  core_ball_dd dd[PHI_SUMS + 1];
  core_ball64 f64[PHI_SUMS + 1];
} phi_sums;

CORE_FUNCTION double phi_load(float m) {
  return PHI_FLOORED && (double)m < PHI_SMALLEST_LOAD ? PHI_SMALLEST_LOAD : (double)m;
}

CORE_FUNCTION int phi_check(int n, const float *m, int *floored) {
  if (n < 1 || n > PHI_MOST_EXPERTS) return -1;
  int raised = 0;
  for (int e = 0; e < n; e++) {
    if (!(m[e] >= 0.0f && (double)m[e] < CORE_INFINITY)) return e + 1;
    raised += phi_load(m[e]) != (double)m[e];
  }
  if (floored) *floored = raised;
  return 0;
}

/* The halving tree of tree.h, errors carried along; a is overwritten. */
CORE_FUNCTION core_ball_dd phi_tree_sum(core_ball_dd *a, int n) {
  for (int s = core_tree_width(n) / 2; s >= 1; s /= 2) {
    for (int i = 0; i < n - s; i++) a[i] = core_ball_dd_add(a[i], a[i + s]);
    n = s;
  }
  return a[0];
}

CORE_FUNCTION void phi_sums_set(phi_sums *sums, int i, core_ball_dd sum) {
  sums->dd[i] = sum;
  sums->f64[i] = core_ball64_from_dd(sum);
}

CORE_FUNCTION void phi_sums_take(phi_sums *sums, int n, const float *m, core_ball_dd *scratch) {
  for (int i = 0; i < PHI_SUMS; i++) {
    for (int e = 0; e < n; e++)
      scratch[e] = phi_term_ball_dd(i, core_ball_dd_point(phi_load(m[e])));
    phi_sums_set(sums, i, phi_tree_sum(scratch, n));
  }
}

/* The price in binary64 where that decides its rounding to binary32; else in double-double. */
CORE_FUNCTION float phi_price_one(float m, const phi_sums *sums) {
  double x = phi_load(m);
  float price;
  if (core_ball64_rounds(phi_price_ball64(core_ball64_point(x), sums->f64), &price)) return price;
  return core_dd_to_float(phi_price_ball_dd(core_ball_dd_point(x), sums->dd).value);
}

/* (M2). *floored, if not null, is the number of loads raised. */
PHI_EXPORT int phi_price(int n, const float *m, float *price, int *floored) {
  core_ball_dd scratch[PHI_SUMS ? PHI_MOST_EXPERTS : 1];
  phi_sums sums;
  int bad = phi_check(n, m, floored);
  if (bad) return bad;
  phi_sums_take(&sums, n, m, scratch);
  for (int e = 0; e < n; e++) price[e] = phi_price_one(m[e], &sums);
  return 0;
}

/* The reduced prices of all experts minus that of the first, exactly 0 where loads are equal; then
   minus their mean. */
CORE_FUNCTION void phi_centre(int n, const float *m, core_ball_dd *difference,
                              core_ball_dd *scratch) {
  phi_sums sums;
  phi_sums_take(&sums, n, m, scratch);
  core_ball_dd first = phi_reduced_ball_dd(core_ball_dd_point(phi_load(m[0])), sums.dd);
  for (int e = 0; e < n; e++) {
    double x = phi_load(m[e]);
    difference[e] = core_ball_dd_point(0.0);
    if (x != phi_load(m[0]))
      difference[e] = core_ball_dd_sub(phi_reduced_ball_dd(core_ball_dd_point(x), sums.dd), first);
    scratch[e] = difference[e];
  }
  core_ball_dd mean = core_ball_dd_div(phi_tree_sum(scratch, n), core_ball_dd_point((double)n));
  for (int e = 0; e < n; e++) difference[e] = core_ball_dd_sub(difference[e], mean);
}

/* (M3) */
PHI_EXPORT int phi_price_centred(int n, const float *m, float *centred, int *floored) {
  core_ball_dd difference[PHI_MOST_EXPERTS], scratch[PHI_MOST_EXPERTS];
  int bad = phi_check(n, m, floored);
  if (bad) return bad;
  phi_centre(n, m, difference, scratch);
  for (int e = 0; e < n; e++) centred[e] = core_dd_to_float(difference[e].value);
  return 0;
}

/* For tests of the bounds. The centred prices as double-doubles with their bounds. */
PHI_EXPORT int phi_examine_centred(int n, const float *m, double *high, double *low,
                                   double *error) {
  core_ball_dd difference[PHI_MOST_EXPERTS], scratch[PHI_MOST_EXPERTS];
  int bad = phi_check(n, m, (int *)0);
  if (bad) return bad;
  phi_centre(n, m, difference, scratch);
  for (int e = 0; e < n; e++) {
    high[e] = difference[e].value.hi;
    low[e] = difference[e].value.lo;
    error[e] = difference[e].error;
  }
  return 0;
}

/* The sums that an expert of load x sees among others whose sums are `around`. */
CORE_FUNCTION void phi_sums_join64(core_ball64 *sums, const phi_sums *around, double x) {
  for (int i = 0; i < PHI_SUMS; i++)
    sums[i] = core_ball64_add(phi_term_ball64(i, core_ball64_point(x)), around->f64[i]);
}

CORE_FUNCTION void phi_sums_join_dd(core_ball_dd *sums, const phi_sums *around, double x) {
  for (int i = 0; i < PHI_SUMS; i++)
    sums[i] = core_ball_dd_add(phi_term_ball_dd(i, core_ball_dd_point(x)), around->dd[i]);
}

CORE_FUNCTION int phi_sums_around(phi_sums *around, int others, const float *rest) {
  core_ball_dd scratch[PHI_SUMS ? PHI_MOST_EXPERTS : 1];
  if (others < 0 || others >= PHI_MOST_EXPERTS) return -1;
  if (others) {
    int bad = phi_check(others, rest, (int *)0);
    if (bad) return bad;
    phi_sums_take(around, others, rest, scratch);
    return 0;
  }
  for (int i = 0; i < PHI_SUMS; i++) phi_sums_set(around, i, core_ball_dd_point(0.0));
  return 0;
}

/* The price of an expert with load m[i], i < n, among `others` more with loads rest[], for each i
   by itself: in binary64 with its bound, and high + low in double-double with its bound. */
PHI_EXPORT int phi_examine(int n, const float *m, int others, const float *rest, double *fast,
                           double *fast_error, double *high, double *low, double *error) {
  phi_sums around, sums;
  int bad = phi_sums_around(&around, others, rest);
  if (bad) return bad;
  sums = around;
  for (int k = 0; k < n; k++) {
    double x = phi_load(m[k]);
    phi_sums_join64(sums.f64, &around, x);
    phi_sums_join_dd(sums.dd, &around, x);
    core_ball64 quick = phi_price_ball64(core_ball64_point(x), sums.f64);
    core_ball_dd slow = phi_price_ball_dd(core_ball_dd_point(x), sums.dd);
    fast[k] = quick.value;
    fast_error[k] = quick.error;
    high[k] = slow.value.hi;
    low[k] = slow.value.lo;
    error[k] = slow.error;
  }
  return 0;
}

/* 1 over the unit in the last place (N2) of binary32 at a number of size value - error or more:
   that difference rounds, and just below a power of two the unit is half of that above. */
CORE_FUNCTION double phi_per_ulp(double value, double error) {
  double least = (core_abs(value) - error) * 0x1.ffffffffffffep-1;
  double exponent = core_double(core_bits64(least) & 0x7ff0000000000000u);
  return 0x1p23 / (least > 0x1p-126 ? exponent : 0x1p-126);
}

/* The same prices as phi_price has them, with a bound `off` of each one's error, and in ULP. path:
   0 where binary64 decides the rounding, so that the price is the correctly rounded one, 1 where
   double-double does, 2 where neither does. */
PHI_EXPORT int phi_sweep(int n, const float *m, int others, const float *rest, float *price,
                         double *off, double *ulps, unsigned char *path) {
  phi_sums around, sums;
  int bad = phi_sums_around(&around, others, rest);
  if (bad) return bad;
  sums = around;
  for (int k = 0; k < n; k++) {
    double x = phi_load(m[k]);
    phi_sums_join64(sums.f64, &around, x);
    core_ball64 quick = phi_price_ball64(core_ball64_point(x), sums.f64);
    path[k] = !core_ball64_rounds(quick, &price[k]);
    off[k] = core_ball_up(core_abs((double)price[k] - quick.value) + quick.error);
    ulps[k] = off[k] * phi_per_ulp(quick.value, quick.error);
  }
  for (int k = 0; k < n; k++) {
    if (!path[k]) continue;
    double x = phi_load(m[k]);
    phi_sums_join_dd(sums.dd, &around, x);
    core_ball_dd slow = phi_price_ball_dd(core_ball_dd_point(x), sums.dd);
    path[k] = core_ball_dd_rounds(slow, &price[k]) ? 1 : 2;
    if (path[k] == 2) price[k] = core_dd_to_float(slow.value);
    off[k] = core_abs(((double)price[k] - slow.value.hi) - slow.value.lo) + slow.error;
    off[k] = core_ball_up(off[k]);
    ulps[k] = off[k] * phi_per_ulp(slow.value.hi, slow.error);
  }
  return 0;
}

#endif

/* The two ways of adding: the halving tree's order, and exact sums. */
#include "kernels/core/dd.h"
#include "kernels/core/exact_sum.h"
#include "verify/random.h"
#include <criterion/criterion.h>
#include <gmp.h>
#include <math.h>
#include <string.h>

/* The definition, with the padding written out. */
static double padded_tree(const double *a, int n) {
  double b[2048] = {0};
  memcpy(b, a, sizeof *a * (size_t)n);
  int width = 1;
  while (width < n) width *= 2;
  for (int s = width / 2; s >= 1; s /= 2)
    for (int i = 0; i < s; i++) b[i] += b[i + s];
  return b[0];
}

Test(core_sum, tree_adds_in_the_specified_order) {
  random_stream r = random_start(8, 1, 0);
  int differs_from_running_sum = 0;
  for (int i = 0; i < 3000; i++) {
    int n = (int)random_integer(&r, 1, i < 200 ? 1024 : 70);
    double a[1024], b[1024], running = 0;
    core_dd c[1024];
    for (int e = 0; e < n; e++) {
      a[e] = ldexp(random_uniform(&r, -1, 1), (int)random_integer(&r, -30, 30));
      if (random_integer(&r, 0, 9) == 0) a[e] = -0.0;
      b[e] = a[e];
      running += a[e];
      c[e] = core_dd_from(a[e]);
    }
    double expected = padded_tree(a, n), got = core_tree_sum(b, n);
    cr_assert_eq(core_bits64(got), core_bits64(expected), "n = %d", n);
    differs_from_running_sum += got != running;
    double exact = core_dd_tree_sum(c, n).hi;
    double size = 0;
    for (int e = 0; e < n; e++) size += fabs(a[e]);
    cr_assert(fabs(got - exact) <= 11 * 0x1p-53 * size);
  }
  cr_expect(differs_from_running_sum > 1000); /* the order is visible in these data */
  double minus_zeros[3] = {-0.0, -0.0, -0.0};
  cr_expect_eq(core_bits64(core_tree_sum(minus_zeros, 3)), 0);
  double one = -0.0;
  cr_expect_eq(core_bits64(core_tree_sum(&one, 1)), core_bits64(-0.0));
}

/* z = sum of the limbs in units of the last one. */
static void limbs_value(mpz_t z, const uint64_t *limb, int limbs) {
  mpz_set_ui(z, 0);
  for (int j = 0; j < limbs; j++) {
    mpz_mul_2exp(z, z, 32);
    mpz_add_ui(z, z, limb[j]);
  }
}

/* x cut to a multiple of 2^unit, in those units. */
static void cut(mpz_t z, double x, int unit) {
  mpq_t q;
  mpq_init(q);
  mpq_set_d(q, x);
  if (unit < 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)-unit);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)unit);
  mpz_fdiv_q(z, mpq_numref(q), mpq_denref(q));
  mpq_clear(q);
}

typedef struct layout {
  int limbs, top, smallest, largest; /* sizes of the summands: 2^smallest .. 2^largest */
} layout;

static void check_layout(layout l, uint64_t number) {
  enum { N = 500 };
  random_stream r = random_start(8, 2, number);
  uint64_t forward[24] = {0}, backward[24] = {0};
  double x[N];
  mpz_t sum, term, got;
  mpz_inits(sum, term, got, (mpz_ptr)0);
  int last = l.top - 32 * (l.limbs - 1);
  for (int i = 0; i < N; i++) {
    x[i] = ldexp(1 + random_unit(&r), (int)random_integer(&r, l.smallest, l.largest - 1));
    if (i % 16 == 0) x[i] = i % 32 ? 0.0 : ldexp(1, l.largest);
    cut(term, x[i], last);
    mpz_add(sum, sum, term);
    core_exact_add(forward, l.limbs, l.top, x[i]);
  }
  for (int i = N - 1; i >= 0; i--) {
    core_exact_add(backward, l.limbs, l.top, x[i]);
    if (i % 7 == 0) core_exact_carry(backward, l.limbs); /* grouping must not show */
  }
  core_exact_carry(forward, l.limbs);
  core_exact_carry(backward, l.limbs);
  limbs_value(got, forward, l.limbs);
  cr_assert(mpz_cmp(got, sum) == 0, "layout %d/%d", l.limbs, l.top);
  cr_assert(memcmp(forward, backward, sizeof forward) == 0);
  for (int j = 1; j < l.limbs; j++) cr_assert(forward[j] >> 32 == 0);
  cr_assert(forward[l.limbs] == 0); /* nothing beyond the end */
  /* The value, in units of the last limb: |value - sum| <= 2^-95 sum. */
  core_dd value = core_exact_value(forward, l.limbs, l.top);
  mpq_t v, lo;
  mpq_inits(v, lo, (mpq_ptr)0);
  mpq_set_d(v, value.hi);
  mpq_set_d(lo, value.lo);
  mpq_add(v, v, lo);
  if (last < 0)
    mpq_mul_2exp(v, v, (mp_bitcnt_t)-last);
  else
    mpq_div_2exp(v, v, (mp_bitcnt_t)last);
  mpq_set_z(lo, sum);
  mpq_sub(v, v, lo);
  mpq_abs(v, v);
  mpq_mul_2exp(v, v, 95);
  cr_assert(mpq_cmp(v, lo) <= 0);
  mpq_clears(v, lo, (mpq_ptr)0);
  mpz_clears(sum, term, got, (mpz_ptr)0);
}

Test(core_sum, exact_sums_are_exact_in_any_order) {
  static const layout layouts[] = {
      {6, 0, -60, 0},       {6, 0, -200, 0}, {6, 0, -1074, -900},   {19, 256, -298, 255},
      {10, 128, -160, 138}, {3, 0, -80, 31}, {10, 128, -149, -140},
  };
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    for (uint64_t n = 0; n < 20; n++) check_layout(layouts[i], n);
}

Test(core_sum, two_to_the_32_minus_1_largest_digits_fit) {
  /* The promise about carries: limbs hold 2^32 - 1 additions of 2^32 - 1 each. */
  uint64_t limb[3] = {0, 0, 0xffffffffu * (uint64_t)0xffffffffu};
  core_exact_carry(limb, 3);
  cr_expect_eq(limb[2], 1);
  cr_expect_eq(limb[1], 0xfffffffeu);
  cr_expect_eq(limb[0], 0);
}

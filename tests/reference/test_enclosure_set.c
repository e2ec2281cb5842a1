/* Enclosures as sets: numbers that enter, hulls, widths, sums, and what comparisons may claim. Held
   against exact rational arithmetic. */
#include <phibal/enclosure.h>
#include <criterion/criterion.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* z is the tightest enclosure of q: each end on its side, and the next number inward not. */
static void check_tightest(const phibal_enclosure *z, mpq_srcptr q, const char *what) {
  mpfr_t inward;
  mpfr_init2(inward, mpfr_get_prec(z->lo));
  cr_assert(mpfr_cmp_q(z->lo, q) <= 0 && mpfr_cmp_q(z->hi, q) >= 0, "%s: left out", what);
  mpfr_set(inward, z->lo, MPFR_RNDN);
  mpfr_nextabove(inward);
  cr_assert(mpfr_cmp_q(inward, q) > 0, "%s: low end too low", what);
  mpfr_set(inward, z->hi, MPFR_RNDN);
  mpfr_nextbelow(inward);
  cr_assert(mpfr_cmp_q(inward, q) < 0, "%s: high end too high", what);
  mpfr_clear(inward);
}

static const mpfr_prec_t precisions[] = {1, 2, 5, 24, 53, 64, 200};
enum { PRECISIONS = sizeof precisions / sizeof *precisions };

Test(enclosure_set, integers_and_doubles_enter_outward) {
  static const long integers[] = {0, 1, -1, 7, -7, 1000001, -1000001, LONG_MAX, LONG_MIN + 1};
  static const double doubles[] = {0.1,       -0.1, 1.5, DBL_MAX, -DBL_MAX, 0x1.23456789p-1060,
                                   -0x1p-1074};
  mpq_t q;
  mpq_init(q);
  for (int p = 0; p < PRECISIONS; p++) {
    phibal_enclosure z;
    phibal_enclosure_init(&z, precisions[p]);
    cr_assert(phibal_enclosure_is_zero(&z));
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
      mpq_set_si(q, integers[i], 1);
      phibal_enclosure_set_si(&z, integers[i]);
      check_tightest(&z, q, "integer");
    }
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
      mpq_set_d(q, doubles[i]);
      phibal_enclosure_set_d(&z, doubles[i]);
      check_tightest(&z, q, "double");
    }
    phibal_enclosure_set_d(&z, -(double)INFINITY);
    cr_assert(mpfr_inf_p(z.lo) && mpfr_inf_p(z.hi) && mpfr_sgn(z.hi) < 0);
    phibal_enclosure_clear(&z);
  }
  mpq_clear(q);
}

Test(enclosure_set, rationals_and_numbers_enter_outward) {
  static const long pairs[][2] = {{1, 3}, {-1, 3}, {22, 7}, {-7, 9}, {5, 4}, {123456789, 1000}};
  mpq_t q;
  mpfr_t wide;
  mpq_init(q);
  mpfr_init2(wide, 250);
  for (int p = 0; p < PRECISIONS; p++)
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
      phibal_enclosure z, copy;
      phibal_enclosure_init(&z, precisions[p]);
      phibal_enclosure_init(&copy, precisions[p] + 1);
      mpq_set_si(q, pairs[i][0], (unsigned long)pairs[i][1]);
      phibal_enclosure_set_q(&z, q);
      check_tightest(&z, q, "rational");
      mpfr_set_q(wide, q, MPFR_RNDN);
      mpfr_get_q(q, wide);
      phibal_enclosure_set_si(&z, 0);
      phibal_enclosure_set_fr(&z, wide);
      check_tightest(&z, q, "MPFR number");
      phibal_enclosure_set_fr(&copy, wide);
      phibal_enclosure_set_si(&z, 0);
      phibal_enclosure_set(&z, &copy);
      cr_assert(mpfr_lessequal_p(z.lo, copy.lo) && mpfr_greaterequal_p(z.hi, copy.hi));
      phibal_enclosure_set_fr(&copy, copy.hi);
      cr_assert(phibal_enclosure_is_exact(&copy));
      phibal_enclosure_set(&copy, &z);
      phibal_enclosure_set_fr(&copy, copy.lo);
      cr_assert(phibal_enclosure_is_exact(&copy));
      phibal_enclosure_clear(&z);
      phibal_enclosure_clear(&copy);
    }
  mpq_clear(q);
  mpfr_clear(wide);
}

static void set_ends(phibal_enclosure *x, double lo, double hi) {
  mpfr_set_d(x->lo, lo, MPFR_RNDN);
  mpfr_set_d(x->hi, hi, MPFR_RNDN);
}

static bool has_ends(const phibal_enclosure *x, double lo, double hi) {
  return mpfr_cmp_d(x->lo, lo) == 0 && mpfr_cmp_d(x->hi, hi) == 0;
}

Test(enclosure_set, hull) {
  phibal_enclosure x, y, z;
  phibal_enclosure_init(&x, 53);
  phibal_enclosure_init(&y, 53);
  phibal_enclosure_init(&z, 3);
  set_ends(&x, 1.0625, 2.0625);
  set_ends(&y, -1.0625, 1.5);
  phibal_enclosure_hull(&z, &x, &y);
  cr_assert(has_ends(&z, -1.25, 2.5));
  phibal_enclosure_hull(&z, &y, &x);
  cr_assert(has_ends(&z, -1.25, 2.5));
  set_ends(&y, 1.25, 1.5);
  phibal_enclosure_hull(&z, &y, &x);
  cr_assert(has_ends(&z, 1, 2.5));
  set_ends(&y, -INFINITY, -4);
  phibal_enclosure_hull(&x, &x, &y);
  cr_assert(has_ends(&x, -INFINITY, 2.0625));
  set_ends(&x, 7, 8);
  phibal_enclosure_swap(&x, &z);
  cr_assert(has_ends(&x, 1, 2.5) && has_ends(&z, 7, 8));
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&y);
  phibal_enclosure_clear(&z);
}

Test(enclosure_set, width_is_an_upper_bound) {
  phibal_enclosure x;
  mpfr_t width;
  phibal_enclosure_init(&x, 53);
  mpfr_init2(width, 4);
  set_ends(&x, -1, 0x1.0000001p0);
  phibal_enclosure_width(width, &x);
  cr_assert_eq(mpfr_cmp_d(width, 2.25), 0); /* 2.000.. up to 4 bits */
  set_ends(&x, 3, 3);
  phibal_enclosure_width(width, &x);
  cr_assert(mpfr_zero_p(width));
  set_ends(&x, INFINITY, INFINITY);
  phibal_enclosure_width(width, &x);
  cr_assert(mpfr_zero_p(width));
  set_ends(&x, 3, INFINITY);
  phibal_enclosure_width(width, &x);
  cr_assert(mpfr_inf_p(width) && mpfr_sgn(width) > 0);
  set_ends(&x, -INFINITY, 3);
  phibal_enclosure_width(width, &x);
  cr_assert(mpfr_inf_p(width) && mpfr_sgn(width) > 0);
  phibal_enclosure_clear(&x);
  mpfr_clear(width);
}

/* Each predicate on every pair of intervals of a grid, against all pairs of members. */
static const double grid[] = {-INFINITY, -1, -0.0, 0.0, 1, 2, INFINITY};
enum { GRID = sizeof grid / sizeof *grid };

static void check_predicates(const phibal_enclosure *x, int xl, int xh, const phibal_enclosure *y,
                             int yl, int yh) {
  bool less = true, overlaps = false, positive = true, negative = true, has_zero = false;
  for (int i = xl; i <= xh; i++) {
    positive = positive && grid[i] > 0;
    negative = negative && grid[i] < 0;
    has_zero = has_zero || grid[i] == 0;
    for (int j = yl; j <= yh; j++) {
      less = less && grid[i] < grid[j];
      overlaps = overlaps || grid[i] == grid[j];
    }
  }
  cr_assert_eq(phibal_enclosure_is_less(x, y), less);
  cr_assert_eq(phibal_enclosure_overlaps(x, y), overlaps);
  cr_assert_eq(phibal_enclosure_is_positive(x), positive);
  cr_assert_eq(phibal_enclosure_is_negative(x), negative);
  cr_assert_eq(phibal_enclosure_contains_zero(x), has_zero);
  cr_assert_eq(phibal_enclosure_is_zero(x), grid[xl] == 0 && grid[xh] == 0);
  cr_assert_eq(phibal_enclosure_is_exact(x), grid[xl] == grid[xh]);
}

Test(enclosure_set, comparisons) {
  phibal_enclosure x, y;
  phibal_enclosure_init(&x, 2);
  phibal_enclosure_init(&y, 2);
  for (int i = 0; i < GRID * GRID; i++)
    for (int j = 0; j < GRID * GRID; j++) {
      int xl = i / GRID, xh = i % GRID, yl = j / GRID, yh = j % GRID;
      if (xl > xh || yl > yh) continue;
      set_ends(&x, grid[xl], grid[xh]);
      set_ends(&y, grid[yl], grid[yh]);
      check_predicates(&x, xl, xh, &y, yl, yh);
    }
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&y);
}

/* Terms of changing sign and size, 1/(i+1) 4^(i mod 5) (-1)^i. The partial sums of the ends lie
   below 2^9 in magnitude, so each of the n additions and n terms moves an end by less than 2^(9-p).
 */
Test(enclosure_set, sum_holds_the_exact_sum) {
  enum { TERMS = 100, PRECISION = 40 };
  phibal_enclosure *v = phibal_enclosure_vector(TERMS, PRECISION), z;
  phibal_enclosure_init(&z, PRECISION);
  cr_assert_not_null(v);
  mpq_t total, term;
  mpq_inits(total, term, NULL);
  for (unsigned i = 0; i < TERMS; i++) {
    cr_assert(phibal_enclosure_is_zero(&v[i]) && mpfr_get_prec(v[i].hi) == PRECISION);
    mpq_set_si(term, (i % 2 ? -1L : 1L) * (1L << 2 * (i % 5)), i + 1);
    mpq_canonicalize(term);
    phibal_enclosure_set_q(&v[i], term);
    mpq_add(total, total, term);
    cr_assert_eq(phibal_enclosure_sum(&z, i + 1, v), PHIBAL_OK);
    cr_assert(mpfr_cmp_q(z.lo, total) <= 0 && mpfr_cmp_q(z.hi, total) >= 0);
  }
  mpfr_t width;
  mpfr_init2(width, 53);
  phibal_enclosure_width(width, &z);
  cr_assert(mpfr_cmp_d(width, 4.0 * TERMS * ldexp(1, 9 - PRECISION)) < 0);
  cr_assert_eq(phibal_enclosure_sum(&z, 0, v), PHIBAL_OK);
  cr_assert(phibal_enclosure_is_zero(&z));
  mpfr_clear(width);
  mpq_clears(total, term, NULL);
  phibal_enclosure_vector_clear(v, TERMS);
  phibal_enclosure_clear(&z);
}

Test(enclosure_set, sum_of_opposite_infinities) {
  phibal_enclosure *v = phibal_enclosure_vector(4, 20), z;
  phibal_enclosure_init(&z, 20);
  set_ends(&v[0], 1, INFINITY);
  set_ends(&v[3], 1, INFINITY);
  cr_assert_eq(phibal_enclosure_sum(&z, 4, v), PHIBAL_OK);
  cr_assert(has_ends(&z, 2, INFINITY));
  set_ends(&v[3], -INFINITY, 1);
  cr_assert_eq(phibal_enclosure_sum(&z, 4, v), PHIBAL_ERROR_DOMAIN);
  cr_assert(has_ends(&z, -INFINITY, INFINITY));
  phibal_enclosure_vector_clear(v, 4);
  phibal_enclosure_clear(&z);
}

Test(enclosure_set, vectors) {
  phibal_enclosure *none = phibal_enclosure_vector(0, 20);
  cr_assert_not_null(none);
  phibal_enclosure_vector_clear(none, 0);
  phibal_enclosure_vector_clear(NULL, 5);
  cr_assert_null(phibal_enclosure_vector(SIZE_MAX, 20));
  cr_assert_null(phibal_enclosure_vector(SIZE_MAX / sizeof(phibal_enclosure), 20));
}

/* The reference evaluates in several threads at once. */
Test(enclosure_set, mpfr_is_thread_safe) {
  cr_assert(mpfr_buildopt_tls_p());
}

static void check_message(phibal_status status, const char *first, const char *second) {
  cr_assert_eq(status, PHIBAL_ERROR_DOMAIN);
  cr_assert(strstr(phibal_status_message(), first), "%s", phibal_status_message());
  cr_assert(strstr(phibal_status_message(), second), "%s", phibal_status_message());
}

Test(enclosure_set, messages_name_function_and_arguments) {
  phibal_enclosure x, y;
  phibal_enclosure_init(&x, 40);
  phibal_enclosure_init(&y, 40);
  set_ends(&x, -2, 3);
  set_ends(&y, 0.25, INFINITY);
  check_message(phibal_enclosure_log(&y, &x), "enclosure_log: [-2, 3]", "negative");
  set_ends(&y, 0.25, INFINITY);
  check_message(phibal_enclosure_mul(&x, &x, &y), "enclosure_mul: [-2, 3] and [0.25, inf]",
                "0 and an infinity");
  set_ends(&x, -2, 3);
  check_message(phibal_enclosure_div(&x, &y, &x), "enclosure_div: [-2, 3]", "divisor");
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&y);
}

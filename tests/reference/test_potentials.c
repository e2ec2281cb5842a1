/* The reference's potentials against Arb, at points. What ties the five functions of a potential
   together, boundaries and intervals are in test_potential_laws.c. */
#include "potential_cases.h"
#include "potential_oracle.h"
#include "reference/names.h"
#include "reference/potentials/potentials.h"
#include <criterion/criterion.h>

enum { POINTS = 60, COORDINATES = 3, LEAST_PRECISION = 24, MORE_PRECISIONS = 200 };

typedef phibal_status vector_function(const phibal_reference_potential *phi, size_t n,
                                      const phibal_enclosure *x, phibal_enclosure *z);

static vector_function *const functions[ORACLE_FUNCTIONS] = {
    phibal_reference_value, phibal_reference_gradient, phibal_reference_hessian,
    phibal_reference_conjugate, phibal_reference_conjugate_gradient};
static const char *const names[ORACLE_FUNCTIONS] = {"value", "gradient", "hessian", "conjugate",
                                                    "conjugate-gradient"};

/* What the parameter is, to the oracle's precision. */
static void oracle_parameter(arb_ptr a, const char *text) {
  phibal_enclosure z;
  arb_t hi;
  arb_init(hi);
  phibal_enclosure_init(&z, ORACLE_PRECISION);
  cr_assert_eq(phibal_enclosure_set_str(&z, text), PHIBAL_OK);
  oracle_set_fr(a, z.lo);
  oracle_set_fr(hi, z.hi);
  arb_union(a, a, hi, ORACLE_PRECISION);
  phibal_enclosure_clear(&z);
  arb_clear(hi);
}

static bool gives_scalar(oracle_function f) {
  return f == ORACLE_VALUE || f == ORACLE_CONJUGATE;
}

static size_t count_results(phibal_potential_id id, oracle_function f, size_t n) {
  if (gives_scalar(f)) return 1;
  return f == ORACLE_SECOND && id == PHIBAL_POTENTIAL_RENYI ? n * n : n;
}

static void oracle_vector(arb_ptr z, phibal_potential_id id, oracle_function f, slong n,
                          arb_srcptr x, arb_srcptr a, arb_ptr t) {
  if (id == PHIBAL_POTENTIAL_RENYI) {
    oracle_renyi(z, f, n, x, a, t);
  } else if (gives_scalar(f)) {
    arb_zero(z);
    for (slong e = 0; e < n; e++) {
      oracle_at(t + ORACLE_SCRATCH - 1, id, f, x + e, a, t);
      arb_add(z, z, t + ORACLE_SCRATCH - 1, ORACLE_PRECISION);
    }
  } else {
    for (slong e = 0; e < n; e++) oracle_at(z + e, id, f, x + e, a, t);
  }
}

/* The magnitude of what cancels in a result, where something may: a constant 1 against a logarithm
   (and 1/(a-1) never: the deformed logarithm does not hold it), c against log sum, or the sum of
   loads against 1 in Renyi's value (log of 1 + a difference, divided by 1-a; see take_primal for
   loads that sum to 1, where nothing cancels). */
static double cancelling(phibal_potential_id id, oracle_function f, double a, bool simplex) {
  if (id == PHIBAL_POTENTIAL_RENYI) {
    if (f == ORACLE_VALUE) return simplex ? 0.0 : 1.0 / (1.0 - a);
    if (f == ORACLE_CONJUGATE) return 40.0 * a / (1.0 - a);
  }
  if (id == PHIBAL_POTENTIAL_TSALLIS && f == ORACLE_GRADIENT) return 1.0 + a;
  if (id == PHIBAL_POTENTIAL_NEGENTROPY && f == ORACLE_GRADIENT) return 1.0;
  /* Sums of values of either sign: three coordinates below 8. */
  if (f == ORACLE_VALUE && (id == PHIBAL_POTENTIAL_NEGENTROPY || id == PHIBAL_POTENTIAL_TSALLIS))
    return 100.0;
  return 0.0;
}

/* A result z of an exact argument: rounded outward from an enclosure computed with 32 more bits. A
   dozen roundings (4 bits) and exponents up to 1e6 in powers with parameters near 1 (20 bits) leave
   that inner enclosure 2^-8 units in the last place of z wide at most. Rounding its ends outward
   then leaves 1 unit, or 2 where it holds a number of z's precision. Where terms cancel, 2^-8 is
   in units of the larger terms; 2^-6 allows for four of these. */
static bool is_narrow(const phibal_enclosure *z, double cancelled) {
  double magnitude = fabs(mpfr_get_d(z->hi, MPFR_RNDZ));
  return oracle_width_in_ulps(z) <= 2.0 + (cancelled > 0 ? 0x1p-6 * cancelled / magnitude : 0.0);
}

static void check_results(const potential_case *c, oracle_function f, size_t count,
                          const phibal_enclosure *z, arb_srcptr truth, double cancelled,
                          const double *x) {
  for (size_t i = 0; i < count; i++) {
    cr_assert(oracle_contains(&z[i], truth + i),
              "%s of %s(%s), result %zu at (%a, %a, %a): [%.17g, %.17g] misses %.17g", names[f],
              phibal_potential_describe(c->id)->name, c->parameter, i, x[0], x[1], x[2],
              mpfr_get_d(z[i].lo, MPFR_RNDD), mpfr_get_d(z[i].hi, MPFR_RNDU),
              arf_get_d(arb_midref(truth + i), ARF_RND_NEAR));
    cr_assert(is_narrow(&z[i], cancelled),
              "%s of %s(%s), result %zu at (%a, %a, %a): %g units wide", names[f],
              phibal_potential_describe(c->id)->name, c->parameter, i, x[0], x[1], x[2],
              oracle_width_in_ulps(&z[i]));
  }
}

/* Loads; for Renyi half the time exactly on the simplex, which is then reported. */
static bool take_primal(phibal_potential_id id, size_t n, double *x, uint64_t *state) {
  for (size_t e = 0; e < n; e++) x[e] = random_primal(id, state);
  if (id != PHIBAL_POTENTIAL_RENYI || n < 2 || next_random(state) % 2) return false;
  /* Multiples of 2^-40 below 1/3: their sum and its distance to 1 are binary64 numbers. */
  x[0] = 1.0;
  for (size_t e = 1; e < n; e++) {
    x[e] = ldexp(1.0 + (double)(next_random(state) % (UINT64_C(1) << 38)), -40);
    x[0] -= x[e];
  }
  return true;
}

static void check_case(const potential_case *c, oracle_function f, uint64_t *state) {
  mpfr_prec_t precision = LEAST_PRECISION + (mpfr_prec_t)(next_random(state) % MORE_PRECISIONS);
  size_t n = 1 + next_random(state) % COORDINATES, count = count_results(c->id, f, n);
  phibal_reference_potential phi;
  /* The parameter is known far better than the result, as a kernel's exact one is. */
  case_init(&phi, c, precision + 128);
  double a = mpfr_get_d(phi.parameter.lo, MPFR_RNDN), point[COORDINATES] = {0};
  phibal_enclosure *x = phibal_enclosure_vector(n, 53), *z = phibal_enclosure_vector(9, precision);
  arb_ptr X = _arb_vec_init(COORDINATES), Z = _arb_vec_init(9), A = _arb_vec_init(1),
          T = _arb_vec_init(ORACLE_SCRATCH);
  bool simplex = false;
  if (f <= ORACLE_SECOND)
    simplex = take_primal(c->id, n, point, state);
  else
    for (size_t e = 0; e < n; e++) point[e] = random_dual(c->id, a, state);
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_set_d(&x[e], point[e]);
    arb_set_d(X + e, point[e]);
  }
  oracle_parameter(A, c->parameter);
  oracle_vector(Z, c->id, f, (slong)n, X, A, T);
  phibal_status status = functions[f](&phi, n, x, z);
  cr_assert_eq(status, PHIBAL_OK, "%s", phibal_status_message());
  check_results(c, f, count, z, Z, cancelling(c->id, f, a, simplex), point);
  _arb_vec_clear(T, ORACLE_SCRATCH);
  _arb_vec_clear(A, 1);
  _arb_vec_clear(Z, 9);
  _arb_vec_clear(X, COORDINATES);
  phibal_enclosure_vector_clear(z, 9);
  phibal_enclosure_vector_clear(x, n);
  case_clear(&phi);
}

static void check_function(oracle_function f) {
  uint64_t state = 0x9e3779b97f4a7c15u + (uint64_t)f;
  for (int c = 0; c < POTENTIAL_CASES; c++)
    for (int i = 0; i < POINTS; i++) check_case(&potential_cases[c], f, &state);
  flint_cleanup();
}

Test(potentials, values) {
  check_function(ORACLE_VALUE);
}

Test(potentials, gradients) {
  check_function(ORACLE_GRADIENT);
}

Test(potentials, second_derivatives) {
  check_function(ORACLE_SECOND);
}

Test(potentials, conjugates) {
  check_function(ORACLE_CONJUGATE);
}

Test(potentials, conjugate_gradients) {
  check_function(ORACLE_CONJUGATE_GRADIENT);
}

/* The functions at points without guard bits, so that a rounding in the wrong direction inside them
   shows. x has 53 bits: no precision here makes it other than a point. */

static bool find_scalar_family(phibal_potential_id id, scalar_family *s) {
  static const scalar_family families[PHIBAL_POTENTIAL_COUNT] = {
#define ROW_0(ID)
#define ROW_1(ID) [PHIBAL_POTENTIAL_##ID] = FAMILY_##ID,
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  ROW_##separable(ID)
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  };
  *s = families[id];
  return phibal_potential_describe(id)->separable;
}

static scalar_function scalar_function_of(oracle_function f) {
  static const scalar_function rows[ORACLE_FUNCTIONS] = {FUNCTION_VALUE, FUNCTION_GRADIENT,
                                                         FUNCTION_SECOND, FUNCTION_CONJUGATE,
                                                         FUNCTION_CONJUGATE_GRADIENT};
  return rows[f];
}

/* A dozen roundings, 2 units each at most, some doubled by a square: 64 units. The error of the
   exponent of a power, relative to it, is one of the result times its logarithm. */
static bool is_point_narrow(const phibal_enclosure *z, double cancelled) {
  double magnitude = fabs(mpfr_get_d(z->hi, MPFR_RNDZ)),
         logarithm = mpfr_regular_p(z->hi) ? fabs((double)mpfr_get_exp(z->hi)) : 0.0;
  return oracle_width_in_ulps(z) <=
         64.0 * (1.0 + logarithm + (cancelled > 0 ? cancelled / magnitude : 0.0));
}

static void check_point(const potential_case *c, scalar_family family, oracle_function f,
                        uint64_t *state) {
  mpfr_prec_t precision = 53 + (mpfr_prec_t)(next_random(state) % 100);
  phibal_reference_potential phi;
  case_init(&phi, c, precision + 128);
  workspace w;
  workspace_init(&w, precision);
  arb_ptr V = _arb_vec_init(3), T = _arb_vec_init(ORACLE_SCRATCH);
  double a = mpfr_get_d(phi.parameter.lo, MPFR_RNDN),
         x = f <= ORACLE_SECOND ? random_primal(c->id, state) : random_dual(c->id, a, state);
  phibal_enclosure_set_d(&w.point, x);
  arb_set_d(V, x);
  oracle_parameter(V + 1, c->parameter);
  oracle_at(V + 2, c->id, f, V, V + 1, T);
  phibal_status status =
      point_at(family, scalar_function_of(f), &w.near, &w.point, &phi.parameter, w.scratch);
  cr_assert_eq(status, PHIBAL_OK, "%s", phibal_status_message());
  cr_assert(oracle_contains(&w.near, V + 2), "%s of %s(%s) at %a, %ld bits", names[f],
            phibal_potential_describe(c->id)->name, c->parameter, x, (long)precision);
  cr_assert(is_point_narrow(&w.near, cancelling(c->id, f, a, false)),
            "%s of %s(%s) at %a, %ld bits: %g units wide", names[f],
            phibal_potential_describe(c->id)->name, c->parameter, x, (long)precision,
            oracle_width_in_ulps(&w.near));
  _arb_vec_clear(T, ORACLE_SCRATCH);
  _arb_vec_clear(V, 3);
  workspace_clear(&w);
  case_clear(&phi);
}

Test(potentials, points_without_guard_bits) {
  uint64_t state = 31337;
  scalar_family family;
  for (int c = 0; c < POTENTIAL_CASES; c++)
    for (int f = 0; f < ORACLE_FUNCTIONS && find_scalar_family(potential_cases[c].id, &family); f++)
      for (int i = 0; i < 2 * POINTS; i++)
        check_point(&potential_cases[c], family, (oracle_function)f, &state);
  flint_cleanup();
}

/* s - log(1+s) is taken with bits enough to make its ends nearly the closest: with delta = 1
   nothing else is rounded, and the rare points show where an end would lie on the wrong side. Just
   below 2^-61 the series takes over. */
Test(potentials, soft_l1_remainder) {
  uint64_t state = 5;
  workspace w;
  phibal_enclosure delta;
  arb_ptr V = _arb_vec_init(3), T = _arb_vec_init(ORACLE_SCRATCH);
  workspace_init(&w, 53);
  phibal_enclosure_init(&delta, 53);
  phibal_enclosure_set_si(&delta, 1);
  arb_one(V + 1);
  for (int i = 0; i < 12000; i++) {
    /* Powers of two have exact squares: only the cube then tells the ends from the square. */
    double x = ldexp(i % 8 < 4 ? 1.0 : 1.0 + random_unit(&state),
                     i % 2 ? -(int)(next_random(&state) % 8) : -63);
    oracle_function f = i % 4 < 2 || x >= 1 ? ORACLE_VALUE : ORACLE_CONJUGATE;
    phibal_enclosure_set_d(&w.point, x);
    arb_set_d(V, x);
    oracle_at(V + 2, PHIBAL_POTENTIAL_SOFT_L1, f, V, V + 1, T);
    cr_assert_eq(
        point_at(FAMILY_SOFT_L1, scalar_function_of(f), &w.near, &w.point, &delta, w.scratch),
        PHIBAL_OK);
    cr_assert(oracle_contains(&w.near, V + 2), "%s at %a", names[f], x);
    /* The series rounds twice at each end, and adds 2 |s|^3 = 2^-7 units. */
    cr_assert_leq(oracle_width_in_ulps(&w.near), 5.0, "%s at %a: %g units wide", names[f], x,
                  oracle_width_in_ulps(&w.near));
  }
  phibal_enclosure_clear(&delta);
  workspace_clear(&w);
  _arb_vec_clear(T, ORACLE_SCRATCH);
  _arb_vec_clear(V, 3);
  flint_cleanup();
}

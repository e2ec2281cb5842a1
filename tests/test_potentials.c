/* The reference's potentials against Arb, at points. What ties the five functions of a potential
   together, boundaries and intervals are in test_potential_laws.c. */
#include "potential_cases.h"
#include "potential_oracle.h"
#include <criterion/criterion.h>

enum { POINTS = 60, COORDINATES = 3 };

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
   (and 1/(a-1) never: the deformed logarithm does not hold it), or c against log sum. */
static double cancelling(phibal_potential_id id, oracle_function f, double a) {
  if (id == PHIBAL_POTENTIAL_RENYI) {
    if (f == ORACLE_VALUE) return 1.0 / (1.0 - a);
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
                          const phibal_enclosure *z, arb_srcptr truth, double a, const double *x) {
  for (size_t i = 0; i < count; i++) {
    cr_assert(oracle_contains(&z[i], truth + i),
              "%s of %s(%s), result %zu at (%a, %a, %a): [%.17g, %.17g] misses %.17g", names[f],
              phibal_potential_describe(c->id)->name, c->parameter, i, x[0], x[1], x[2],
              mpfr_get_d(z[i].lo, MPFR_RNDD), mpfr_get_d(z[i].hi, MPFR_RNDU),
              arf_get_d(arb_midref(truth + i), ARF_RND_NEAR));
    cr_assert(is_narrow(&z[i], cancelling(c->id, f, a)),
              "%s of %s(%s), result %zu at (%a, %a, %a): %g units wide", names[f],
              phibal_potential_describe(c->id)->name, c->parameter, i, x[0], x[1], x[2],
              oracle_width_in_ulps(&z[i]));
  }
}

static void check_case(const potential_case *c, oracle_function f, uint64_t *state) {
  mpfr_prec_t precision = 24 + (mpfr_prec_t)(next_random(state) % 200);
  size_t n = COORDINATES, count = count_results(c->id, f, n);
  phibal_reference_potential phi;
  /* The parameter is known far better than the result, as a kernel's exact one is. */
  case_init(&phi, c, precision + 128);
  double a = mpfr_get_d(phi.parameter.lo, MPFR_RNDN), point[COORDINATES];
  phibal_enclosure *x = phibal_enclosure_vector(n, 53), *z = phibal_enclosure_vector(9, precision);
  arb_ptr X = _arb_vec_init(COORDINATES), Z = _arb_vec_init(9), A = _arb_vec_init(1),
          T = _arb_vec_init(ORACLE_SCRATCH);
  for (size_t e = 0; e < n; e++) {
    point[e] = f <= ORACLE_SECOND ? random_primal(c->id, state) : random_dual(c->id, a, state);
    phibal_enclosure_set_d(&x[e], point[e]);
    arb_set_d(X + e, point[e]);
  }
  oracle_parameter(A, c->parameter);
  oracle_vector(Z, c->id, f, COORDINATES, X, A, T);
  phibal_status status = functions[f](&phi, n, x, z);
  cr_assert_eq(status, PHIBAL_OK, "%s", phibal_status_message());
  check_results(c, f, count, z, Z, a, point);
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

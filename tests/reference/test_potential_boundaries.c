/* Boundaries, limits and errors of the reference's potentials: what is exactly known. */
#include <phibal/reference.h>
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { PRECISION = 128 };

typedef phibal_status vector_function(const phibal_reference_potential *phi, size_t n,
                                      const phibal_enclosure *x, phibal_enclosure *z);

#define VALUE phibal_reference_value
#define GRADIENT phibal_reference_gradient
#define HESSIAN phibal_reference_hessian
#define CONJUGATE phibal_reference_conjugate
#define CONJUGATE_GRADIENT phibal_reference_conjugate_gradient

/* f at x, one coordinate: the exact result as text (a fraction, inf), or "log 2/<number>", or null
   for PHIBAL_ERROR_DOMAIN with `domain` in the message. */
typedef struct boundary {
  phibal_potential_id id;
  const char *parameter;
  vector_function *f;
  const char *x, *expected, *domain;
} boundary;

static const boundary boundaries[] = {
    {PHIBAL_POTENTIAL_EUCLID, "0", VALUE, "-3", "9/2", NULL},
    {PHIBAL_POTENTIAL_LP, "3", VALUE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "3", GRADIENT, "-2", "-4", NULL},
    {PHIBAL_POTENTIAL_LP, "3", GRADIENT, "0", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "3", HESSIAN, "0", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "2", HESSIAN, "0", "1", NULL},
    {PHIBAL_POTENTIAL_LP, "3/2", HESSIAN, "0", "inf", NULL},
    {PHIBAL_POTENTIAL_LP, "3", CONJUGATE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "3", CONJUGATE_GRADIENT, "-4", "-2", NULL},
    {PHIBAL_POTENTIAL_LP, "1", VALUE, "-3", "3", NULL},
    {PHIBAL_POTENTIAL_LP, "1", GRADIENT, "-3", "-1", NULL},
    {PHIBAL_POTENTIAL_LP, "1", GRADIENT, "0", NULL, "x != 0"},
    {PHIBAL_POTENTIAL_LP, "1", HESSIAN, "2", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "1", HESSIAN, "0", NULL, "x != 0"},
    {PHIBAL_POTENTIAL_LP, "1", CONJUGATE, "1", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "1", CONJUGATE, "-1.0000001", "inf", NULL},
    {PHIBAL_POTENTIAL_LP, "1", CONJUGATE_GRADIENT, "1/2", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "1", CONJUGATE_GRADIENT, "-1", NULL, "|y| < 1"},
    {PHIBAL_POTENTIAL_LP, "inf", VALUE, "-3", "3", NULL},
    {PHIBAL_POTENTIAL_LP, "inf", GRADIENT, "-3", "-1", NULL},
    {PHIBAL_POTENTIAL_LP, "inf", HESSIAN, "-3", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "inf", HESSIAN, "0", NULL, "greatest"},
    {PHIBAL_POTENTIAL_LP, "inf", CONJUGATE, "-1", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "inf", CONJUGATE, "1.5", "inf", NULL},
    {PHIBAL_POTENTIAL_LP, "inf", CONJUGATE_GRADIENT, "1/2", "0", NULL},
    {PHIBAL_POTENTIAL_LP, "inf", CONJUGATE_GRADIENT, "1", NULL, "sum |y_e| < 1"},
    {PHIBAL_POTENTIAL_SOFT_L1, "1/4", VALUE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_SOFT_L1, "1/4", GRADIENT, "-3/4", "-3/4", NULL},
    {PHIBAL_POTENTIAL_SOFT_L1, "1/4", HESSIAN, "0", "4", NULL},
    {PHIBAL_POTENTIAL_SOFT_L1, "1/4", CONJUGATE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_SOFT_L1, "1/4", CONJUGATE, "1", "inf", NULL},
    {PHIBAL_POTENTIAL_SOFT_L1, "1/4", CONJUGATE, "-1", "inf", NULL},
    {PHIBAL_POTENTIAL_SOFT_L1, "1/4", CONJUGATE, "7", "inf", NULL},
    {PHIBAL_POTENTIAL_SOFT_L1, "1/4", CONJUGATE_GRADIENT, "-3/4", "-3/4", NULL},
    {PHIBAL_POTENTIAL_SOFT_L1, "1/4", CONJUGATE_GRADIENT, "1", NULL, "|y| < 1"},
    {PHIBAL_POTENTIAL_NEGENTROPY, "0", VALUE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_NEGENTROPY, "0", VALUE, "1", "0", NULL},
    {PHIBAL_POTENTIAL_NEGENTROPY, "0", VALUE, "-0.001", "inf", NULL},
    {PHIBAL_POTENTIAL_NEGENTROPY, "0", GRADIENT, "1", "1", NULL},
    {PHIBAL_POTENTIAL_NEGENTROPY, "0", GRADIENT, "0", NULL, "x > 0"},
    {PHIBAL_POTENTIAL_NEGENTROPY, "0", GRADIENT, "-1", NULL, "x > 0"},
    {PHIBAL_POTENTIAL_NEGENTROPY, "0", HESSIAN, "0", NULL, "x > 0"},
    {PHIBAL_POTENTIAL_NEGENTROPY, "0", HESSIAN, "1/4", "4", NULL},
    {PHIBAL_POTENTIAL_NEGENTROPY, "0", CONJUGATE, "1", "1", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", VALUE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", VALUE, "1/4", "-3/16", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", VALUE, "-1/4", "inf", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", VALUE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", VALUE, "-1", "inf", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", GRADIENT, "1/2", "0", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", GRADIENT, "0", "-1", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "3/2", GRADIENT, "0", "-2", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", GRADIENT, "-1", NULL, "x >= 0"},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", GRADIENT, "0", NULL, "x > 0"},
    {PHIBAL_POTENTIAL_TSALLIS, "2", HESSIAN, "0", "2", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "3", HESSIAN, "0", "0", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "3/2", HESSIAN, "0", "inf", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", HESSIAN, "0", NULL, "x > 0"},
    {PHIBAL_POTENTIAL_TSALLIS, "2", CONJUGATE, "-1", "0", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", CONJUGATE, "-5", "0", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", CONJUGATE, "3", "4", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", CONJUGATE_GRADIENT, "-5", "0", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", CONJUGATE_GRADIENT, "-1", "0", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "2", CONJUGATE_GRADIENT, "3", "2", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", CONJUGATE, "2", "inf", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", CONJUGATE, "9", "inf", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", CONJUGATE, "0", "1/2", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", CONJUGATE_GRADIENT, "0", "1/4", NULL},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", CONJUGATE_GRADIENT, "2", NULL, "y < 1/(1 - alpha)"},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2", CONJUGATE_GRADIENT, "9", NULL, "y < 1/(1 - alpha)"},
    {PHIBAL_POTENTIAL_RENYI, "1/2", VALUE, "1", "0", NULL},
    {PHIBAL_POTENTIAL_RENYI, "1/2", VALUE, "0", "inf", NULL},
    {PHIBAL_POTENTIAL_RENYI, "1/2", VALUE, "-1", "inf", NULL},
    {PHIBAL_POTENTIAL_RENYI, "1/2", GRADIENT, "1/4", "-4", NULL},
    {PHIBAL_POTENTIAL_RENYI, "1/2", GRADIENT, "0", NULL, "x > 0"},
    {PHIBAL_POTENTIAL_RENYI, "1/2", HESSIAN, "1/4", "16", NULL},
    {PHIBAL_POTENTIAL_RENYI, "1/2", HESSIAN, "0", NULL, "x > 0"},
    {PHIBAL_POTENTIAL_RENYI, "1/2", CONJUGATE, "-1", "-1", NULL},
    {PHIBAL_POTENTIAL_RENYI, "1/2", CONJUGATE, "0", "inf", NULL},
    {PHIBAL_POTENTIAL_RENYI, "1/2", CONJUGATE, "1", "inf", NULL},
    {PHIBAL_POTENTIAL_RENYI, "1/2", CONJUGATE_GRADIENT, "-4", "1/4", NULL},
    {PHIBAL_POTENTIAL_RENYI, "1/2", CONJUGATE_GRADIENT, "0", NULL, "y < 0"},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "3/4", VALUE, "-1", "1/2", NULL},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "3/4", GRADIENT, "-1", "-4/5", NULL},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "3/4", HESSIAN, "1", "36/125", NULL},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "3/4", CONJUGATE, "1", "3/4", NULL},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "3/4", CONJUGATE, "-1", "3/4", NULL},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "3/4", CONJUGATE, "1.0000001", "inf", NULL},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "3/4", CONJUGATE, "0.6", "3/20", NULL},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "3/4", CONJUGATE_GRADIENT, "-0.6", "-9/16", NULL},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "3/4", CONJUGATE_GRADIENT, "1", NULL, "|y| < 1"},
    {PHIBAL_POTENTIAL_LOG_COSH, "4", VALUE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_LOG_COSH, "4", GRADIENT, "0", "0", NULL},
    {PHIBAL_POTENTIAL_LOG_COSH, "4", HESSIAN, "0", "4", NULL},
    {PHIBAL_POTENTIAL_LOG_COSH, "4", CONJUGATE, "1", "log 2/4", NULL},
    {PHIBAL_POTENTIAL_LOG_COSH, "4", CONJUGATE, "-1", "log 2/4", NULL},
    {PHIBAL_POTENTIAL_LOG_COSH, "4", CONJUGATE, "-1.0000001", "inf", NULL},
    {PHIBAL_POTENTIAL_LOG_COSH, "4", CONJUGATE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_LOG_COSH, "4", CONJUGATE_GRADIENT, "0", "0", NULL},
    {PHIBAL_POTENTIAL_LOG_COSH, "4", CONJUGATE_GRADIENT, "-1", NULL, "|y| < 1"},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", VALUE, "0", "log 2/1", NULL},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", GRADIENT, "0", "1/2", NULL},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", HESSIAN, "0", "1/4", NULL},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", CONJUGATE, "0", "0", NULL},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", CONJUGATE, "1", "0", NULL},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", CONJUGATE, "1/2", "log 2/-1", NULL},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", CONJUGATE, "-0.0001", "inf", NULL},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", CONJUGATE, "1.0001", "inf", NULL},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", CONJUGATE_GRADIENT, "1/2", "0", NULL},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", CONJUGATE_GRADIENT, "0", NULL, "0 < y < 1"},
    {PHIBAL_POTENTIAL_SOFTPLUS, "0", CONJUGATE_GRADIENT, "1", NULL, "0 < y < 1"},
};

static void set(phibal_enclosure *z, const char *text) {
  cr_assert_eq(phibal_enclosure_set_str(z, text), PHIBAL_OK, "%s", phibal_status_message());
}

static void set_expected(phibal_enclosure *z, const char *text) {
  if (strncmp(text, "log 2/", 6) != 0) {
    set(z, text);
    return;
  }
  phibal_enclosure divisor;
  phibal_enclosure_init(&divisor, PRECISION);
  set(&divisor, text + 6);
  phibal_enclosure_set_si(z, 2);
  cr_assert_eq(phibal_enclosure_log(z, z), PHIBAL_OK);
  cr_assert_eq(phibal_enclosure_div(z, z, &divisor), PHIBAL_OK);
  phibal_enclosure_clear(&divisor);
}

/* An exact 0 or inf must come out as such; anything else to 2^-120. */
static bool is_expected(const phibal_enclosure *z, const phibal_enclosure *expected) {
  if (mpfr_inf_p(expected->lo) || phibal_enclosure_is_zero(expected))
    return mpfr_equal_p(z->lo, expected->lo) && mpfr_equal_p(z->hi, expected->hi);
  mpfr_t width;
  mpfr_init2(width, 53);
  phibal_enclosure_width(width, z);
  double w = mpfr_get_d(width, MPFR_RNDU), size = fabs(mpfr_get_d(z->lo, MPFR_RNDN));
  mpfr_clear(width);
  return phibal_enclosure_overlaps(z, expected) && w <= 0x1p-120 * size;
}

static void check_boundary(size_t i, const boundary *b) {
  phibal_reference_potential phi = {.id = b->id};
  phibal_enclosure x, z, expected;
  phibal_enclosure_init(&phi.parameter, PRECISION);
  phibal_enclosure_init(&x, PRECISION);
  phibal_enclosure_init(&z, PRECISION);
  phibal_enclosure_init(&expected, PRECISION);
  set(&phi.parameter, b->parameter);
  set(&x, b->x);
  const char *name = phibal_potential_describe(b->id)->name;
  phibal_status status = b->f(&phi, 1, &x, &z);
  if (b->expected) {
    cr_assert_eq(status, PHIBAL_OK, "row %zu, %s at %s: %s", i, name, b->x,
                 phibal_status_message());
    set_expected(&expected, b->expected);
    cr_assert(is_expected(&z, &expected), "row %zu, %s(%s) at %s: [%.17g, %.17g], not %s", i, name,
              b->parameter, b->x, mpfr_get_d(z.lo, MPFR_RNDD), mpfr_get_d(z.hi, MPFR_RNDU),
              b->expected);
  } else {
    cr_assert_eq(status, PHIBAL_ERROR_DOMAIN, "row %zu, %s at %s: status %d", i, name, b->x,
                 (int)status);
    cr_assert_not_null(strstr(phibal_status_message(), b->domain), "row %zu: '%s'", i,
                       phibal_status_message());
  }
  phibal_enclosure_clear(&expected);
  phibal_enclosure_clear(&z);
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&phi.parameter);
}

Test(potential_boundaries, table) {
  for (size_t i = 0; i < sizeof boundaries / sizeof *boundaries; i++)
    check_boundary(i, &boundaries[i]);
}

/* Vectors of three, from text. */
typedef struct trio {
  phibal_reference_potential phi;
  phibal_enclosure x[3], z[9];
} trio;

static void trio_init(trio *t, phibal_potential_id id, const char *parameter, const char *a,
                      const char *b, const char *c) {
  const char *text[] = {a, b, c};
  t->phi.id = id;
  phibal_enclosure_init(&t->phi.parameter, PRECISION);
  set(&t->phi.parameter, parameter);
  for (int e = 0; e < 3; e++) {
    phibal_enclosure_init(&t->x[e], PRECISION);
    set(&t->x[e], text[e]);
  }
  for (int e = 0; e < 9; e++) phibal_enclosure_init(&t->z[e], PRECISION);
}

static void trio_clear(trio *t) {
  phibal_enclosure_clear(&t->phi.parameter);
  for (int e = 0; e < 3; e++) phibal_enclosure_clear(&t->x[e]);
  for (int e = 0; e < 9; e++) phibal_enclosure_clear(&t->z[e]);
}

static void expect(const trio *t, int i, const char *text) {
  phibal_enclosure expected;
  phibal_enclosure_init(&expected, PRECISION);
  set(&expected, text);
  cr_assert(is_expected(&t->z[i], &expected), "element %d is %.17g, not %s", i,
            mpfr_get_d(t->z[i].lo, MPFR_RNDN), text);
  phibal_enclosure_clear(&expected);
}

Test(potential_boundaries, messages_name_coordinate_and_domain) {
  static const struct {
    phibal_potential_id id;
    const char *parameter, *x[3];
    vector_function *f;
    const char *message;
  } rows[] = {
      {PHIBAL_POTENTIAL_NEGENTROPY,
       "0",
       {"0.5", "0", "0.5"},
       GRADIENT,
       "gradient of negentropy: coordinate 2 of 3 (0) is outside the domain x > 0"},
      {PHIBAL_POTENTIAL_RENYI,
       "1/2",
       {"0.5", "0.5", "-0.25"},
       HESSIAN,
       "hessian of renyi: coordinate 3 of 3 (-0.25) is outside the domain x > 0"},
      {PHIBAL_POTENTIAL_LOG_COSH,
       "1",
       {"-1.5", "0", "0.5"},
       CONJUGATE_GRADIENT,
       "conjugate-gradient of log-cosh: coordinate 1 of 3 (-1.5) is outside the domain |y| < 1"},
      {PHIBAL_POTENTIAL_EUCLID,
       "0",
       {"1", "2", "inf"},
       VALUE,
       "value of euclid: coordinate 3 of 3 (inf) is not bounded; it must be a real number"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    trio t;
    trio_init(&t, rows[i].id, rows[i].parameter, rows[i].x[0], rows[i].x[1], rows[i].x[2]);
    cr_assert_eq(rows[i].f(&t.phi, 3, t.x, t.z), PHIBAL_ERROR_DOMAIN);
    cr_assert_str_eq(phibal_status_message(), rows[i].message);
    trio_clear(&t);
  }
}

Test(potential_boundaries, one_bad_coordinate_makes_the_sum_infinite) {
  trio t;
  trio_init(&t, PHIBAL_POTENTIAL_NEGENTROPY, "0", "0.5", "-0.5", "1");
  cr_assert_eq(VALUE(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  expect(&t, 0, "inf");
  trio_clear(&t);
  trio_init(&t, PHIBAL_POTENTIAL_SOFT_L1, "1", "0.5", "0.5", "1");
  cr_assert_eq(CONJUGATE(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  expect(&t, 0, "inf");
  trio_clear(&t);
  trio_init(&t, PHIBAL_POTENTIAL_RENYI, "1/2", "-1", "-2", "0");
  cr_assert_eq(CONJUGATE(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  expect(&t, 0, "inf");
  trio_clear(&t);
}

Test(potential_boundaries, renyi_with_zeros_has_a_value_unless_all_are) {
  trio t;
  trio_init(&t, PHIBAL_POTENTIAL_RENYI, "1/2", "0", "1/4", "1/4");
  cr_assert_eq(VALUE(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  expect(&t, 0, "0"); /* S = 1/2 + 1/2 */
  trio_clear(&t);
  trio_init(&t, PHIBAL_POTENTIAL_RENYI, "1/2", "0", "0", "0");
  cr_assert_eq(VALUE(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  expect(&t, 0, "inf");
  trio_clear(&t);
}

/* |x|/delta is too great for MPFR, and phi(x) just below |x|: the upper end may be lost. */
Test(potential_boundaries, soft_l1_of_a_ratio_beyond_all_exponents) {
  trio t;
  trio_init(&t, PHIBAL_POTENTIAL_SOFT_L1, "1", "1", "0", "0");
  mpfr_exp_t exponent = mpfr_get_emax() / 2 + 1;
  phibal_enclosure *x = &t.x[0], *delta = &t.phi.parameter;
  mpfr_mul_2si(x->lo, x->lo, exponent, MPFR_RNDN);
  mpfr_set(x->hi, x->lo, MPFR_RNDN);
  mpfr_mul_2si(delta->lo, delta->lo, -exponent, MPFR_RNDN);
  mpfr_set(delta->hi, delta->lo, MPFR_RNDN);
  cr_assert_eq(VALUE(&t.phi, 1, t.x, t.z), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert(mpfr_sgn(t.z[0].lo) > 0 && mpfr_lessequal_p(t.z[0].lo, x->lo));
  cr_assert(mpfr_greaterequal_p(t.z[0].hi, x->lo));
  trio_clear(&t);
}

Test(potential_boundaries, lp_infinity) {
  trio t;
  trio_init(&t, PHIBAL_POTENTIAL_LP, "inf", "1/4", "-1/2", "1/2");
  cr_assert_eq(VALUE(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  expect(&t, 0, "1/2");
  cr_assert_eq(GRADIENT(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  expect(&t, 0, "0");
  expect(&t, 1, "-1/2");
  expect(&t, 2, "1/2");
  cr_assert_eq(HESSIAN(&t.phi, 3, t.x, t.z), PHIBAL_ERROR_DOMAIN);
  /* An end that may or may not reach the maximum leaves the answer open, not wrong. */
  mpfr_set_d(t.x[0].hi, 0.75, MPFR_RNDU);
  cr_assert_eq(GRADIENT(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  cr_assert(mpfr_cmp_d(t.z[0].lo, 0.0) <= 0 && mpfr_cmp_d(t.z[0].hi, 1.0) >= 0);
  cr_assert(mpfr_cmp_d(t.z[1].lo, -0.5) <= 0 && mpfr_cmp_d(t.z[1].hi, 0.0) >= 0);
  cr_assert_eq(HESSIAN(&t.phi, 3, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  mpfr_set_zero(t.x[0].lo, 1); /* [0, 3/4] alone: 0 is outside, the rest inside */
  cr_assert_eq(HESSIAN(&t.phi, 1, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  trio_clear(&t);
  trio_init(&t, PHIBAL_POTENTIAL_LP, "inf", "0", "0", "0");
  cr_assert_eq(GRADIENT(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  for (int e = 0; e < 3; e++) expect(&t, e, "1/3");
  cr_assert_eq(HESSIAN(&t.phi, 3, t.x, t.z), PHIBAL_ERROR_DOMAIN);
  trio_clear(&t);
  trio_init(&t, PHIBAL_POTENTIAL_LP, "inf", "1/2", "-1/4", "1/4");
  cr_assert_eq(CONJUGATE(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  expect(&t, 0, "0");
  trio_clear(&t);
  trio_init(&t, PHIBAL_POTENTIAL_LP, "inf", "1/2", "-1/2", "1/4");
  cr_assert_eq(CONJUGATE(&t.phi, 3, t.x, t.z), PHIBAL_OK);
  expect(&t, 0, "inf");
  trio_clear(&t);
}

/* Enclosures that straddle the end of a domain. */
Test(potential_boundaries, straddling) {
  trio t;
  trio_init(&t, PHIBAL_POTENTIAL_NEGENTROPY, "0", "-1/4", "1", "1");
  mpfr_set_d(t.x[0].hi, 1.0, MPFR_RNDU);
  cr_assert_eq(VALUE(&t.phi, 1, t.x, t.z), PHIBAL_OK);
  /* The least value, -1/e at 1/e, is inside; members below 0 have +inf. */
  cr_assert(mpfr_inf_p(t.z[0].hi) && mpfr_cmp_d(t.z[0].lo, -0.36787944117144228) <= 0 &&
            mpfr_cmp_d(t.z[0].lo, -0.3678794411714424) >= 0);
  cr_assert_eq(GRADIENT(&t.phi, 1, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  trio_clear(&t);
  trio_init(&t, PHIBAL_POTENTIAL_LOG_COSH, "4", "1/2", "1", "1");
  mpfr_set_d(t.x[0].hi, 1.5, MPFR_RNDU);
  cr_assert_eq(CONJUGATE(&t.phi, 1, t.x, t.z), PHIBAL_OK);
  cr_assert(mpfr_inf_p(t.z[0].hi) && mpfr_cmp_d(t.z[0].lo, 0.0327) > 0 &&
            mpfr_cmp_d(t.z[0].lo, 0.0328) < 0);
  cr_assert_eq(CONJUGATE_GRADIENT(&t.phi, 1, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  trio_clear(&t);
  trio_init(&t, PHIBAL_POTENTIAL_RENYI, "1/2", "-1/4", "1", "1");
  mpfr_set_d(t.x[0].hi, 1.0, MPFR_RNDU);
  cr_assert_eq(VALUE(&t.phi, 2, t.x, t.z), PHIBAL_OK);
  cr_assert(mpfr_inf_p(t.z[0].hi) && mpfr_cmp_d(t.z[0].lo, -1.39) > 0 &&
            mpfr_cmp_d(t.z[0].lo, -1.38) < 0); /* log(2)/(-1/2) */
  cr_assert_eq(GRADIENT(&t.phi, 2, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  trio_clear(&t);
}

/* lp with p = 1 has no gradient at 0, which lies between the ends here, not at one. */
Test(potential_boundaries, straddling_a_jump) {
  trio t;
  trio_init(&t, PHIBAL_POTENTIAL_LP, "1", "-1/4", "1", "1");
  mpfr_set_d(t.x[0].hi, 1.0, MPFR_RNDU);
  cr_assert_eq(VALUE(&t.phi, 1, t.x, t.z), PHIBAL_OK);
  cr_assert(mpfr_zero_p(t.z[0].lo) && mpfr_cmp_si(t.z[0].hi, 1) == 0);
  cr_assert_eq(GRADIENT(&t.phi, 1, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  cr_assert_eq(HESSIAN(&t.phi, 1, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  mpfr_set_zero(t.x[0].lo, 1);
  cr_assert_eq(GRADIENT(&t.phi, 1, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  mpfr_set_d(t.x[0].lo, 0x1p-200, MPFR_RNDD);
  cr_assert_eq(GRADIENT(&t.phi, 1, t.x, t.z), PHIBAL_OK);
  cr_assert(mpfr_cmp_si(t.z[0].lo, 1) == 0 && mpfr_cmp_si(t.z[0].hi, 1) == 0);
  trio_clear(&t);
}

Test(potential_boundaries, parameters_are_checked) {
  static const struct {
    phibal_potential_id id;
    const char *parameter;
    phibal_status status;
  } rows[] = {
      {PHIBAL_POTENTIAL_LP, "0.9999999999999999999999999", PHIBAL_ERROR_ARGUMENT},
      {PHIBAL_POTENTIAL_LP, "1", PHIBAL_OK},
      {PHIBAL_POTENTIAL_LP, "-inf", PHIBAL_ERROR_ARGUMENT},
      {PHIBAL_POTENTIAL_TSALLIS, "1", PHIBAL_ERROR_ARGUMENT},
      {PHIBAL_POTENTIAL_TSALLIS, "0", PHIBAL_ERROR_ARGUMENT},
      {PHIBAL_POTENTIAL_TSALLIS, "inf", PHIBAL_ERROR_ARGUMENT},
      {PHIBAL_POTENTIAL_RENYI, "1", PHIBAL_ERROR_ARGUMENT},
      {PHIBAL_POTENTIAL_RENYI, "2", PHIBAL_ERROR_ARGUMENT},
      {PHIBAL_POTENTIAL_RENYI, "0.5", PHIBAL_OK},
      {PHIBAL_POTENTIAL_SOFT_L1, "0", PHIBAL_ERROR_ARGUMENT},
      {PHIBAL_POTENTIAL_PSEUDO_HUBER, "-1", PHIBAL_ERROR_ARGUMENT},
      {PHIBAL_POTENTIAL_LOG_COSH, "inf", PHIBAL_ERROR_ARGUMENT},
      /* 1 + 10^-60 has no 128 bits of its own: [1, 1 + 2^-127]. */
      {PHIBAL_POTENTIAL_TSALLIS, "1.000000000000000000000000000000000000000000000000000000000001",
       PHIBAL_ERROR_UNDECIDED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    trio t;
    trio_init(&t, rows[i].id, rows[i].parameter, "1/2", "1/4", "1/4");
    cr_assert_eq(VALUE(&t.phi, 3, t.x, t.z), rows[i].status, "row %zu", i);
    trio_clear(&t);
  }
}

/* Some members of the parameter are valid and some are not, or they are of two formulas. */
Test(potential_boundaries, parameters_may_be_undecided) {
  trio t;
  trio_init(&t, PHIBAL_POTENTIAL_LP, "1", "1/2", "1/4", "1/4");
  mpfr_set_d(t.phi.parameter.lo, 0.5, MPFR_RNDD);
  cr_assert_eq(VALUE(&t.phi, 3, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  mpfr_set_d(t.phi.parameter.lo, 1.0, MPFR_RNDD);
  mpfr_set_d(t.phi.parameter.hi, 2.0, MPFR_RNDU);
  cr_assert_eq(VALUE(&t.phi, 3, t.x, t.z), PHIBAL_ERROR_UNDECIDED);
  trio_clear(&t);
}

Test(potential_boundaries, arguments_are_checked) {
  trio t;
  trio_init(&t, PHIBAL_POTENTIAL_LP, "3", "1/2", "1/4", "1/4");
  cr_assert_eq(VALUE(NULL, 3, t.x, t.z), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(VALUE(&t.phi, 0, t.x, t.z), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(GRADIENT(&t.phi, 3, NULL, t.z), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(CONJUGATE(&t.phi, 3, t.x, NULL), PHIBAL_ERROR_ARGUMENT);
  t.phi.id = PHIBAL_POTENTIAL_COUNT;
  cr_assert_eq(VALUE(&t.phi, 3, t.x, t.z), PHIBAL_ERROR_ARGUMENT);
  trio_clear(&t);
}

/* Potentials at points: F with its derivatives in the sums against Arb along lines, and from it the
   gradient and the Hessian of the whole; conditions. */
#include "phi_text.h"
#include "phi_oracle.h"
#include "tests/reference/potential_cases.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { PRECISION = 200, ROUNDS = 40, MOST_SUMS = 3, EXPERTS = 4 };

/* F of up to three sums; a, b, c are sum(x), sum(x^2), sum(x^3), all positive. */
static const char *const outers[] = {
    "a",
    "3*a - b/2",
    "p*(a + b)",
    "a*b",
    "a^2",
    "-a^2 - a*c*b",
    "a/b",
    "a/(1 + b*c)",
    "b/p",
    "a^p",
    "(a + b)^(1/2)*c",
    "a^b",
    "2^(a - c)",
    "a^-3",
    "log(a)",
    "log(a)/(p - 1) + c",
    "exp(-a)*sqrt(b)",
    "log1p(a*b) - expm1(a - b)",
    "tanh(a - 1/2)*sigmoid(b)",
    "softplus(a - b) + logcosh(a*c)",
    "xlogx(a) + xlogx(b + c)",
    "sin(a)*cos(b)",
    "sinh(a) - cosh(a - b)",
    "abs(a - 100)*sgn(b)",
    "max(a, b - 100)*c",
    "max(a - 100, b)*c",
    "-(-a)",
    "a - a",
};

static phi_potential *read_outer(const char *f) {
  char text[256];
  snprintf(text, sizeof text,
           "potential t\nparameter p in (1, 9) = 5/2\nlet a = sum(x)\nlet b = sum(x^2)\n"
           "let c = sum(x^3)\nvalue %s",
           f);
  return phi_of_text(text);
}

/* The derivative of F along v at s, of that order, as Arb has it. */
static void along(arb_t z, const phi_section *section, const double *s, const int *v, slong order) {
  arb_poly_struct line[MOST_SUMS];
  arb_poly_t series;
  arb_t c;
  arb_init(c);
  arb_poly_init(series);
  for (int i = 0; i < section->sums; i++) {
    arb_poly_init(&line[i]);
    arb_set_d(c, s[i]);
    arb_poly_set_coeff_arb(&line[i], 0, c);
    arb_poly_set_coeff_si(&line[i], 1, v[i]);
  }
  arb_set_d(c, 2.5);
  const phi_oracle_names names = {.parameters = c, .sums = line};
  phi_oracle(series, section->expression, &names);
  phi_oracle_derivative(z, series, order);
  for (int i = 0; i < section->sums; i++) arb_poly_clear(&line[i]);
  arb_poly_clear(series);
  arb_clear(c);
}

/* F_ij from the second derivatives along e_i, e_j and e_i + e_j. */
static void mixed(arb_t z, const phi_section *section, const double *s, int i, int j) {
  int v[MOST_SUMS] = {0};
  arb_t t;
  arb_init(t);
  v[i] = 1;
  along(z, section, s, v, 2);
  if (i != j) {
    arb_neg(z, z);
    v[j] = 1;
    along(t, section, s, v, 2);
    arb_add(z, z, t, PHI_ORACLE_PRECISION);
    v[i] = 0;
    along(t, section, s, v, 2);
    arb_sub(z, z, t, PHI_ORACLE_PRECISION);
    arb_mul_2exp_si(z, z, -1);
  }
  arb_clear(t);
}

static void check(const phibal_enclosure *z, const arb_t truth, const char *f, const char *what) {
  cr_assert(oracle_contains(z, truth), "%s: %s is wrong", f, what);
  cr_assert(phi_oracle_is_tight(PRECISION, z), "%s: %s is wide", f, what);
}

static void check_outer(const char *f, uint64_t *state) {
  phi_potential *phi = read_outer(f);
  const phi_section *section = &phi->value;
  const int r = section->sums;
  double s[MOST_SUMS];
  int known;
  arb_t truth;
  phibal_enclosure p, value;
  phibal_enclosure *sums = phibal_enclosure_vector(MOST_SUMS, 53);
  phibal_enclosure *d = phibal_enclosure_vector(MOST_SUMS, PRECISION);
  phibal_enclosure *h = phibal_enclosure_vector(MOST_SUMS * MOST_SUMS, PRECISION);
  phibal_enclosure_init(&p, 53);
  phibal_enclosure_init(&value, PRECISION);
  phibal_enclosure_set_d(&p, 2.5);
  arb_init(truth);
  for (int i = 0; i < r; i++) {
    s[i] = 0.01 + 3.0 * random_unit(state);
    phibal_enclosure_set_d(&sums[i], s[i]);
  }
  phi_outer_eval(section, &p, sums, &value, d, h, &known);
  cr_assert_eq(known, 3, "%s: known %d", f, known);
  along(truth, section, s, (int[MOST_SUMS]){0}, 0);
  check(&value, truth, f, "the value");
  for (int i = 0; i < r; i++) {
    int v[MOST_SUMS] = {0};
    v[i] = 1;
    along(truth, section, s, v, 1);
    check(&d[i], truth, f, "a partial derivative");
    for (int j = 0; j < r; j++) {
      mixed(truth, section, s, i, j);
      check(&h[i * r + j], truth, f, "a second derivative");
    }
  }
  arb_clear(truth);
  phibal_enclosure_clear(&p);
  phibal_enclosure_clear(&value);
  phibal_enclosure_vector_clear(sums, MOST_SUMS);
  phibal_enclosure_vector_clear(d, MOST_SUMS);
  phibal_enclosure_vector_clear(h, MOST_SUMS * MOST_SUMS);
  phi_destroy(phi);
}

Test(phi_value, derivatives_in_the_sums_agree_with_series) {
  uint64_t state = 21;
  for (size_t i = 0; i < sizeof outers / sizeof *outers; i++)
    for (int k = 0; k < ROUNDS; k++) check_outer(outers[i], &state);
}

Test(phi_value, what_f_has_no_derivatives_of) {
  static const struct {
    const char *f;
    double sum;
    int known;
  } cases[] = {{"log(a - 1)", 0.5, 0}, {"log(a - 1)", 1.0, 3},  {"abs(a - 1)", 1.0, 1},
               {"abs(a - 1)", 2.0, 3}, {"max(a, 1)", 1.0, 1},   {"max(a, 1)", 1.5, 3},
               {"sqrt(a)^2", 0.0, 1},  {"1/(a - 1)", 1.0, 0},   {"a^a", 0.0, 1},
               {"sgn(a)", 0.0, 1},     {"max(1, 1)*a", 1.0, 3}, {"sqrt(a)", -1.0, 0}};
  phibal_enclosure sum, value, d, h;
  phibal_enclosure_init(&sum, 53);
  phibal_enclosure_init(&value, 53);
  phibal_enclosure_init(&d, 53);
  phibal_enclosure_init(&h, 53);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int known;
    phi_potential *phi = read_outer(cases[i].f);
    phibal_enclosure_set_d(&sum, cases[i].sum);
    phi_outer_eval(&phi->value, NULL, &sum, &value, &d, &h, &known);
    cr_expect_eq(known, cases[i].known, "%s at %g: %d", cases[i].f, cases[i].sum, known);
    if (known < 1) cr_expect(mpfr_inf_p(value.lo) && mpfr_inf_p(value.hi));
    if (known < 2) cr_expect(mpfr_inf_p(d.lo) && mpfr_inf_p(d.hi));
    if (known < 3) cr_expect(mpfr_inf_p(h.lo) && mpfr_inf_p(h.hi));
    phi_destroy(phi);
  }
  phibal_enclosure_clear(&sum);
  phibal_enclosure_clear(&value);
  phibal_enclosure_clear(&d);
  phibal_enclosure_clear(&h);
}

/* The whole of phi(x + t v) in Arb: the sums as series, then F of them. */
static void whole(arb_t z, const phi_potential *phi, const double *x, const int *v, slong order) {
  arb_poly_struct sums[MOST_SUMS];
  arb_poly_t series, line;
  arb_t c, p;
  arb_init(c);
  arb_init(p);
  arb_set_d(p, 2.5);
  arb_poly_init(series);
  arb_poly_init(line);
  for (int i = 0; i < phi->value.sums; i++) {
    arb_poly_init(&sums[i]);
    for (int e = 0; e < EXPERTS; e++) {
      arb_set_d(c, x[e]);
      arb_poly_zero(line);
      arb_poly_set_coeff_arb(line, 0, c);
      arb_poly_set_coeff_si(line, 1, v[e]);
      const phi_oracle_names names = {.parameters = p, .x = line};
      phi_oracle(series, phi->value.sum[i], &names);
      arb_poly_add(&sums[i], &sums[i], series, PHI_ORACLE_PRECISION);
    }
  }
  const phi_oracle_names names = {.parameters = p, .sums = sums};
  phi_oracle(series, phi->value.expression, &names);
  phi_oracle_derivative(z, series, order);
  for (int i = 0; i < phi->value.sums; i++) arb_poly_clear(&sums[i]);
  arb_poly_clear(series);
  arb_poly_clear(line);
  arb_clear(c);
  arb_clear(p);
}

/* v H v = sum_e diagonal_e v_e^2 + sum_ij second_ij (slope_i v) (slope_j v) */
static void quadratic_form(phibal_enclosure *z, int r, const int *v,
                           const phibal_enclosure *diagonal, const phibal_enclosure *second,
                           const phibal_enclosure *slope) {
  phibal_enclosure t, s[MOST_SUMS], factor;
  phibal_enclosure_init(&t, PRECISION);
  phibal_enclosure_init(&factor, PRECISION);
  phibal_enclosure_set_si(z, 0);
  for (int i = 0; i < r; i++) {
    phibal_enclosure_init(&s[i], PRECISION);
    for (int e = 0; e < EXPERTS; e++) {
      phibal_enclosure_set_si(&factor, v[e]);
      phibal_enclosure_mul(&t, &slope[i * EXPERTS + e], &factor);
      phibal_enclosure_add(&s[i], &s[i], &t);
    }
  }
  for (int e = 0; e < EXPERTS; e++) {
    phibal_enclosure_set_si(&factor, v[e] * v[e]);
    phibal_enclosure_mul(&t, &diagonal[e], &factor);
    phibal_enclosure_add(z, z, &t);
  }
  for (int i = 0; i < r; i++)
    for (int j = 0; j < r; j++) {
      phibal_enclosure_mul(&t, &s[i], &s[j]);
      phibal_enclosure_mul(&t, &t, &second[i * r + j]);
      phibal_enclosure_add(z, z, &t);
    }
  for (int i = 0; i < r; i++) phibal_enclosure_clear(&s[i]);
  phibal_enclosure_clear(&t);
  phibal_enclosure_clear(&factor);
}

typedef struct place {
  phibal_enclosure *x, *gradient, *diagonal, *second, *slope;
  phibal_enclosure p, value;
} place;

static void place_init(place *at) {
  at->x = phibal_enclosure_vector(EXPERTS, 53);
  at->gradient = phibal_enclosure_vector(EXPERTS, PRECISION);
  at->diagonal = phibal_enclosure_vector(EXPERTS, PRECISION);
  at->second = phibal_enclosure_vector(MOST_SUMS * MOST_SUMS, PRECISION);
  at->slope = phibal_enclosure_vector(MOST_SUMS * EXPERTS, PRECISION);
  phibal_enclosure_init(&at->p, 53);
  phibal_enclosure_init(&at->value, PRECISION);
  phibal_enclosure_set_d(&at->p, 2.5);
}

static void place_clear(place *at) {
  phibal_enclosure_vector_clear(at->x, EXPERTS);
  phibal_enclosure_vector_clear(at->gradient, EXPERTS);
  phibal_enclosure_vector_clear(at->diagonal, EXPERTS);
  phibal_enclosure_vector_clear(at->second, MOST_SUMS * MOST_SUMS);
  phibal_enclosure_vector_clear(at->slope, MOST_SUMS * EXPERTS);
  phibal_enclosure_clear(&at->p);
  phibal_enclosure_clear(&at->value);
}

static void check_whole(const char *f, uint64_t *state) {
  phi_potential *phi = read_outer(f);
  place at;
  double x[EXPERTS];
  int v[EXPERTS] = {0};
  arb_t truth;
  arb_init(truth);
  place_init(&at);
  for (int e = 0; e < EXPERTS; e++) {
    x[e] = 0.01 + 0.5 * random_unit(state);
    phibal_enclosure_set_d(&at.x[e], x[e]);
  }
  cr_assert(phi_value(phi, &at.p, EXPERTS, at.x, &at.value) == PHIBAL_OK);
  whole(truth, phi, x, v, 0);
  check(&at.value, truth, f, "the value");
  cr_assert(phi_gradient(phi, &at.p, EXPERTS, at.x, at.gradient) == PHIBAL_OK);
  for (int e = 0; e < EXPERTS; e++) {
    v[e] = 1;
    whole(truth, phi, x, v, 1);
    check(&at.gradient[e], truth, f, "the gradient");
    v[e] = 0;
  }
  cr_assert(phi_hessian(phi, &at.p, EXPERTS, at.x, at.diagonal, at.second, at.slope) == PHIBAL_OK);
  for (int k = 0; k < 4; k++) {
    for (int e = 0; e < EXPERTS; e++) v[e] = (int)(next_random(state) % 5) - 2;
    whole(truth, phi, x, v, 2);
    quadratic_form(&at.value, phi->value.sums, v, at.diagonal, at.second, at.slope);
    cr_assert(oracle_contains(&at.value, truth), "%s: the Hessian is wrong", f);
  }
  arb_clear(truth);
  place_clear(&at);
  phi_destroy(phi);
}

Test(phi_value, gradient_and_hessian_agree_with_series) {
  uint64_t state = 22;
  for (size_t i = 0; i < sizeof outers / sizeof *outers; i++)
    for (int k = 0; k < 5; k++) check_whole(outers[i], &state);
}

static void set_all(place *at, const char *x) {
  for (int e = 0; e < EXPERTS; e++) cr_assert(phibal_enclosure_set_str(&at->x[e], x) == PHIBAL_OK);
}

Test(phi_value, conditions_decide_what_is_defined) {
  static const struct {
    const char *at;
    phibal_status status;
    bool infinite;
  } cases[] = {
      {"0", PHIBAL_OK, false},      {"1", PHIBAL_OK, false},   {"1.0000000001", PHIBAL_OK, true},
      {"-1e-300", PHIBAL_OK, true}, {"1/3", PHIBAL_OK, false}, {"-5", PHIBAL_OK, true},
  };
  phi_potential *phi =
      phi_of_text("potential t\nvalue sum(x^2) where x > 0\ngradient 2*x where x > 0\n"
                  "conjugate sum(sqrt(y)) where 0 <= y <= 1");
  place at;
  place_init(&at);
  set_all(&at, "1/2");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    phibal_enclosure_set_str(&at.x[2], cases[i].at);
    cr_expect(phi_given_conjugate(phi, NULL, EXPERTS, at.x, &at.value) == cases[i].status, "%s",
              cases[i].at);
    cr_expect_eq(mpfr_inf_p(at.value.lo) && mpfr_sgn(at.value.lo) > 0, cases[i].infinite, "%s",
                 cases[i].at);
  }
  /* members on both sides */
  mpfr_set_d(at.x[2].lo, 0.5, MPFR_RNDD);
  mpfr_set_d(at.x[2].hi, 1.5, MPFR_RNDU);
  cr_expect(phi_given_conjugate(phi, NULL, EXPERTS, at.x, &at.value) == PHIBAL_ERROR_UNDECIDED);
  /* but another coordinate is certainly outside */
  phibal_enclosure_set_si(&at.x[3], 7);
  cr_expect(phi_given_conjugate(phi, NULL, EXPERTS, at.x, &at.value) == PHIBAL_OK);
  cr_expect(mpfr_inf_p(at.value.lo));
  set_all(&at, "0");
  cr_expect(phi_value(phi, NULL, EXPERTS, at.x, &at.value) == PHIBAL_ERROR_DOMAIN);
  cr_expect(phi_gradient(phi, NULL, EXPERTS, at.x, at.gradient) == PHIBAL_ERROR_DOMAIN);
  cr_expect(phi_given_gradient(phi, NULL, EXPERTS, at.x, at.gradient) == PHIBAL_ERROR_DOMAIN);
  set_all(&at, "0x1p-1000");
  cr_expect(phi_value(phi, NULL, EXPERTS, at.x, &at.value) == PHIBAL_OK);
  cr_expect(phi_gradient(phi, NULL, EXPERTS, at.x, at.gradient) == PHIBAL_OK);
  cr_expect(phi_given_gradient(phi, NULL, EXPERTS, at.x, at.gradient) == PHIBAL_OK);
  place_clear(&at);
  phi_destroy(phi);
}

Test(phi_value, failures_name_coordinate_and_place) {
  phi_potential *phi = phi_of_text("potential t\nvalue log(sum(log(x)))");
  place at;
  place_init(&at);
  set_all(&at, "2");
  cr_expect(phi_given_gradient(phi, NULL, EXPERTS, at.x, at.gradient) == PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(phi_given_conjugate(phi, NULL, EXPERTS, at.x, &at.value) == PHIBAL_ERROR_UNSUPPORTED);
  phibal_enclosure_set_si(&at.x[1], -1);
  cr_expect(phi_value(phi, NULL, EXPERTS, at.x, &at.value) == PHIBAL_ERROR_DOMAIN);
  cr_expect(!strncmp(phibal_status_message(), "coordinate 2 of 4: 2:15: ", 25), "%s",
            phibal_status_message());
  set_all(&at, "1/2");
  cr_expect(phi_value(phi, NULL, EXPERTS, at.x, &at.value) == PHIBAL_ERROR_DOMAIN);
  cr_expect(!strncmp(phibal_status_message(), "2:7: ", 5), "%s", phibal_status_message());
  place_clear(&at);
  phi_destroy(phi);
}

Test(phi_value, gradients_that_do_not_exist) {
  static const char *const values[] = {"sum(xlogx(x))",    "-sum(sqrt(x))", "sum(abs(x - 1/2))",
                                       "sum(max(x, 1/2))", "-sum(log(x))",  "log(sum(x^(1/2)))",
                                       "sum(sgn(x - 1/2))"};
  place at;
  place_init(&at);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char text[128];
    snprintf(text, sizeof text, "potential t\nvalue %s", values[i]);
    phi_potential *phi = phi_of_text(text);
    set_all(&at, "1/3");
    cr_expect(phi_gradient(phi, NULL, EXPERTS, at.x, at.gradient) == PHIBAL_OK, "%s", values[i]);
    phibal_enclosure_set_str(&at.x[1], i == 2 || i == 3 || i == 6 ? "1/2" : "0");
    cr_expect(phi_gradient(phi, NULL, EXPERTS, at.x, at.gradient) == PHIBAL_ERROR_DOMAIN, "%s",
              values[i]);
    cr_expect(!strncmp(phibal_status_message(), "coordinate 2 of 4: ", 19), "%s",
              phibal_status_message());
    phi_destroy(phi);
  }
  place_clear(&at);
}

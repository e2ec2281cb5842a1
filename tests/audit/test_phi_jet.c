/* Jets of expressions, and derivatives in their sums: against power series in Arb at points, and
   against their own members over intervals. */
#include "phi_oracle.h"
#include "tests/reference/potential_cases.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { PRECISION = 220, POINTS = 60 };

/* x in (0, 1) only, x > 0, or x of either sign. */
typedef enum domain { UNIT, POSITIVE, LINE } domain;

static const struct {
  const char *text;
  domain domain;
} terms[] = {
    {"x", LINE},
    {"3/7", LINE},
    {"p*x^2 + 2*x - 1/3", LINE},
    {"x*x*x", LINE},
    {"x^5 - 4*x^3", LINE},
    {"x^-3", LINE},
    {"(x - 2)^4*(x + 3)", LINE},
    {"x^p", POSITIVE},
    {"x^(1/3)", POSITIVE},
    {"x^(-p)", POSITIVE},
    {"x^x", POSITIVE},
    {"(1 + x)^sin(x)", POSITIVE},
    {"2^(x^2)", UNIT},
    {"abs(x)^p", LINE},
    {"(1 + x)/(3 - x/2)", UNIT},
    {"1/x", LINE},
    {"p/(1 + x^2)", LINE},
    {"exp(-x^2)", LINE},
    {"expm1(x)", LINE},
    {"expm1(x)/(1 + x^2)", LINE},
    {"log(x)", POSITIVE},
    {"log1p(x)", POSITIVE},
    {"log1p(-x)", UNIT},
    {"log(2 + sin(x))", LINE},
    {"sqrt(x)", POSITIVE},
    {"sqrt(1 + x^2)", LINE},
    {"abs(x)*sgn(x)", LINE},
    {"abs(x - 1/3)", LINE},
    {"sgn(x)*x^2", LINE},
    {"sin(3*x)", LINE},
    {"cos(x)", LINE},
    {"cos(x^2) - sin(x)", LINE},
    {"tanh(x)", LINE},
    {"tanh(5*x)^3", LINE},
    {"sinh(x)", LINE},
    {"cosh(x)", LINE},
    {"logcosh(x)", LINE},
    {"logcosh(20/3*x)/p", LINE},
    {"sigmoid(x)", LINE},
    {"sigmoid(-7*x)", LINE},
    {"softplus(x)", LINE},
    {"softplus(-9*x)", LINE},
    {"xlogx(x)", POSITIVE},
    {"xlogx(1 - x)", UNIT},
    {"max(x, 2/5)", LINE},
    {"max(x^2, x)^3", POSITIVE},
    {"-(-x)", LINE},
    {"exp(exp(x))", UNIT},
    {"log(log(2 + x))", POSITIVE},
};
enum { TERMS = sizeof terms / sizeof *terms };

static phi_potential *read_term(const char *term) {
  char text[256];
  phi_potential *phi;
  snprintf(text, sizeof text, "potential t\nparameter p in (-inf, inf) = 5/2\nvalue sum(%s)", term);
  cr_assert(phi_read("t", text, strlen(text), &phi) == PHIBAL_OK, "%s", phibal_status_message());
  return phi;
}

static double random_argument(domain where, uint64_t *state) {
  const double x = where == UNIT ? random_unit(state) : random_positive(state);
  /* nothing is lost to subnormal sizes, but terms of very different sizes lose what is small */
  if (x < 0x1p-40) return random_argument(where, state);
  return where == LINE && next_random(state) % 2 ? -x : x;
}

static void check_point(const char *text, const expression *e, const phibal_enclosure *parameters,
                        double at) {
  phibal_enclosure x;
  phi_jet j;
  arb_t c, p;
  arb_poly_t series, argument;
  phibal_enclosure_init(&x, 53);
  phi_jet_init(&j, PRECISION);
  arb_init(c);
  arb_init(p);
  arb_poly_init(series);
  arb_poly_init(argument);
  phibal_enclosure_set_d(&x, at);
  phi_jet_eval(e, parameters, NULL, &x, &j);
  arb_set_d(c, at);
  arb_poly_set_coeff_arb(argument, 0, c);
  arb_poly_set_coeff_si(argument, 1, 1);
  arb_set_d(p, 2.5);
  const phi_oracle_names names = {.parameters = p, .x = argument};
  phi_oracle(series, e, &names);
  cr_assert(j.known == 4, "%s at %a: %d derivatives", text, at, j.known);
  for (int i = 0; i < 4; i++) {
    phi_oracle_derivative(c, series, i);
    cr_assert(oracle_contains(&j.d[i], c), "%s at %a: derivative %d is wrong", text, at, i);
    cr_assert(phi_oracle_is_tight(PRECISION, &j.d[i]), "%s at %a: derivative %d is wide", text, at,
              i);
    cr_assert(i <= j.degree || phibal_enclosure_is_zero(&j.d[i]), "%s: degree %d", text, j.degree);
  }
  arb_poly_clear(argument);
  arb_poly_clear(series);
  arb_clear(p);
  arb_clear(c);
  phi_jet_clear(&j);
  phibal_enclosure_clear(&x);
}

Test(phi_jet, points_agree_with_power_series) {
  uint64_t state = 11;
  phibal_enclosure p;
  phibal_enclosure_init(&p, 53);
  phibal_enclosure_set_d(&p, 2.5);
  for (int i = 0; i < TERMS; i++) {
    phi_potential *phi = read_term(terms[i].text);
    for (int k = 0; k < POINTS; k++)
      check_point(terms[i].text, phi->value.sum[0], &p, random_argument(terms[i].domain, &state));
    phi_destroy(phi);
  }
  phibal_enclosure_clear(&p);
}

static void note(const expression *e, bool *seen) {
  seen[e->kind] = true;
  for (int i = 0; i < expression_arguments(e->kind); i++) note(e->argument[i], seen);
}

Test(phi_jet, every_kind_of_node_is_tested) {
  bool seen[EXPRESSION_KINDS] = {false};
  for (int i = 0; i < TERMS; i++) {
    phi_potential *phi = read_term(terms[i].text);
    note(phi->value.expression, seen);
    phi_destroy(phi);
  }
  for (int kind = 0; kind < EXPRESSION_KINDS; kind++) cr_assert(seen[kind], "kind %d", kind);
}

/* An interval of any width around, and a point of it. */
static void random_interval(phibal_enclosure *x, double *inside, domain where, uint64_t *state) {
  double a = random_argument(where, state), b = random_argument(where, state);
  if (next_random(state) % 2)
    b = a * (1.0 + ldexp(random_unit(state), -(int)(next_random(state) % 40)));
  if (where == UNIT && b >= 1.0) b = 0.5;
  mpfr_set_d(x->lo, fmin(a, b), MPFR_RNDD);
  mpfr_set_d(x->hi, fmax(a, b), MPFR_RNDU);
  const uint64_t choice = next_random(state) % 4;
  *inside = choice == 0 ? a : choice == 1 ? b : a + random_unit(state) * (b - a);
  *inside = fmin(fmax(*inside, fmin(a, b)), fmax(a, b));
}

static void check_interval(const char *text, const expression *e, const phibal_enclosure *p,
                           domain where, uint64_t *state) {
  double inside;
  phibal_enclosure x, point;
  phi_jet wide, narrow;
  phibal_enclosure_init(&x, 53);
  phibal_enclosure_init(&point, 53);
  phi_jet_init(&wide, 60);
  phi_jet_init(&narrow, PRECISION);
  random_interval(&x, &inside, where, state);
  phibal_enclosure_set_d(&point, inside);
  phi_jet_eval(e, p, NULL, &x, &wide);
  phi_jet_eval(e, p, NULL, &point, &narrow);
  for (int i = 0; i < wide.known; i++) {
    cr_assert(narrow.known > i, "%s: derivative %d is not known at %a", text, i, inside);
    cr_assert(phibal_enclosure_overlaps(&wide.d[i], &narrow.d[i]),
              "%s: derivative %d at %a is outside that over [%a, %a]", text, i, inside,
              mpfr_get_d(x.lo, MPFR_RNDN), mpfr_get_d(x.hi, MPFR_RNDN));
  }
  for (int i = wide.known; i < 4; i++)
    cr_assert(mpfr_inf_p(wide.d[i].lo) && mpfr_inf_p(wide.d[i].hi), "%s: a claim", text);
  phi_jet_clear(&wide);
  phi_jet_clear(&narrow);
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&point);
}

Test(phi_jet, intervals_hold_their_members) {
  uint64_t state = 12;
  phibal_enclosure p;
  phibal_enclosure_init(&p, 53);
  phibal_enclosure_set_d(&p, 2.5);
  for (int i = 0; i < TERMS; i++) {
    phi_potential *phi = read_term(terms[i].text);
    for (int k = 0; k < 400; k++)
      check_interval(terms[i].text, phi->value.sum[0], &p, terms[i].domain, &state);
    phi_destroy(phi);
  }
  phibal_enclosure_clear(&p);
}

/* Sets x to [lo, hi], each read exactly. */
static void set_interval(phibal_enclosure *x, const char *lo, const char *hi) {
  phibal_enclosure end;
  phibal_enclosure_init(&end, PRECISION);
  cr_assert(phibal_enclosure_set_str(&end, lo) == PHIBAL_OK);
  mpfr_set(x->lo, end.lo, MPFR_RNDD);
  cr_assert(phibal_enclosure_set_str(&end, hi) == PHIBAL_OK);
  mpfr_set(x->hi, end.hi, MPFR_RNDU);
  phibal_enclosure_clear(&end);
}

/* Are both ends those, but for the last few bits? */
static bool is_interval(const phibal_enclosure *z, const char *lo, const char *hi) {
  phibal_enclosure wanted;
  mpfr_t off;
  bool same = true;
  phibal_enclosure_init(&wanted, PRECISION);
  mpfr_init2(off, 53);
  set_interval(&wanted, lo, hi);
  for (int side = 0; side < 2; side++) {
    mpfr_srcptr a = side ? z->hi : z->lo, b = side ? wanted.hi : wanted.lo;
    if (mpfr_equal_p(a, b)) continue;
    mpfr_sub(off, a, b, MPFR_RNDA);
    same = same && mpfr_number_p(off) && mpfr_cmpabs(off, a) < 0 &&
           mpfr_get_exp(off) < mpfr_get_exp(a) - 60;
  }
  mpfr_clear(off);
  phibal_enclosure_clear(&wanted);
  return same;
}

/* What one variable is used in once has its exact range, whatever its extremes are. */
Test(phi_jet, ranges_are_tight) {
  static const char *const cases[][5] = {
      {"x^2", "-1", "2", "0", "4"},
      {"x^3", "-1", "2", "-1", "8"},
      {"x^-2", "-2", "-1", "1/4", "1"},
      {"x^-3", "-2", "-1", "-1", "-1/8"},
      {"x^-1", "0", "2", "1/2", "inf"},
      {"x^-2", "-1", "2", "1/4", "inf"},
      {"x^p", "0", "4", "0", "32"},
      {"x^(-p)", "0", "4", "1/32", "inf"},
      {"x*x", "-3", "2", "0", "9"},
      {"abs(x)", "-3", "2", "0", "3"},
      {"sgn(x)", "-3", "2", "-1", "1"},
      {"sgn(x)", "0", "2", "0", "1"},
      {"cosh(x)", "0", "0", "1", "1"},
      {"cos(x)", "0", "0", "1", "1"},
      {"cos(x)", "-1e-30", "1e-40",
       "0.9999999999999999999999999999999999999999999999999999999999995", "1"},
      {"cos(x)", "3", "4", "-1", "-0.65364362086361191463916818309775038142413669664621"},
      {"cos(x)", "1", "6", "-1", "0.96017028665036602054565229922292440545193767924541"},
      {"cos(x)", "1", "7", "-1", "1"},
      {"sin(x)", "1", "2", "0.84147098480789650665250232163029899962256306079837", "1"},
      {"sin(x)", "-2", "1", "-1", "0.84147098480789650665250232163029899962256306079837"},
      {"sin(x)", "3", "4", "-0.75680249530792825137263909451182909413591288733647",
       "0.14112000805986722210074480280811027984693326425227"},
      {"sin(x)", "0", "100", "-1", "1"},
      {"sin(x)", "1e4000", "1.1e4000", "-1", "1"},
      {"xlogx(x)", "0", "1", "-0.36787944117144232159552377016146086744581113103177", "0"},
      {"xlogx(x)", "0", "1/4", "-0.34657359027997265470861606072908828403775006718013", "0"},
      {"xlogx(x)", "1/2", "2", "-0.34657359027997265470861606072908828403775006718013",
       "1.3862943611198906188344642429163531361510002687205"},
      {"logcosh(x)", "-1e300", "0", "0", "1e300"},
      {"softplus(x)", "1e300", "1e300", "1e300", "1e300"},
      {"sigmoid(x)", "-inf", "inf", "0", "1"},
      {"tanh(x)", "-inf", "1e300", "-1", "1"},
      {"max(x, 1)", "-3", "2", "1", "2"},
      {"log(x)", "0", "1", "-inf", "0"},
      {"sqrt(x)", "0", "4", "0", "2"},
  };
  phibal_enclosure x, p, value;
  phibal_enclosure_init(&x, PRECISION);
  phibal_enclosure_init(&p, 53);
  phibal_enclosure_init(&value, PRECISION);
  phibal_enclosure_set_d(&p, 2.5);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *const *c = cases[i];
    phi_potential *phi = read_term(c[0]);
    set_interval(&x, c[1], c[2]);
    cr_assert(phi_eval(phi->value.sum[0], &p, NULL, &x, &value) == PHIBAL_OK, "%s", c[0]);
    cr_assert(is_interval(&value, c[3], c[4]), "%s over [%s, %s]", c[0], c[1], c[2]);
    phi_destroy(phi);
  }
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&p);
  phibal_enclosure_clear(&value);
}

/* known over an interval: 0 not defined, 1 a kink or an end without derivatives, 4 smooth. */
Test(phi_jet, what_is_not_known_is_said) {
  static const struct {
    const char *text, *lo, *hi;
    int known;
  } cases[] = {
      {"log(x)", "-1", "2", 0},
      {"log(x)", "-2", "-1", 0},
      {"log(x)", "0", "2", 4}, /* limits: -inf, +inf, ... */
      {"log(x - 1)", "1", "1", 4},
      {"sqrt(x)", "-1e-300", "1", 0},
      {"sqrt(x)", "0", "0", 4},
      {"sqrt(x^2)", "0", "1", 1}, /* inf times 0 */
      {"1/x", "0", "1", 0},
      {"1/x", "-1", "1", 0},
      {"1/x", "1e-300", "1", 4},
      {"x^-1", "0", "1", 4},
      {"x^-1", "-1", "1", 0},
      {"x^-1", "-1", "0", 0},
      {"x^-2", "-1", "1", 1},
      {"x^(1/2)", "-1", "1", 0},
      {"x^p", "-1", "1", 0},
      {"x^p", "0", "1", 4},
      {"x^3", "-1", "1", 4},
      {"x^0", "-1", "1", 4},
      {"x^x", "0", "1", 1},
      {"xlogx(x)", "-1e-9", "1", 0},
      {"xlogx(x)", "0", "1", 4},
      {"x*log(x)", "0", "1", 0}, /* 0 times -inf */
      {"log1p(x)", "-2", "1", 0},
      {"log1p(x)", "-1", "1", 4},
      {"abs(x)", "-1", "1", 1},
      {"abs(x)", "-1", "0", 1},
      {"abs(x)", "0", "1", 4}, /* loads are not negative */
      {"abs(x)", "0", "0", 4},
      {"abs(x)", "-2", "-1", 4},
      {"abs(x - 1/2)", "1/2", "1", 1}, /* a kink inside (0, 1) is never missed */
      {"abs(x - 1/2)", "0", "1/2", 1},
      {"abs(-x)", "0", "1", 1},
      {"abs(2*x)", "0", "1", 1},
      {"sgn(x)", "0", "1", 1},
      {"sgn(x)", "1", "2", 4},
      {"max(x, 1/2)", "0", "1", 1},
      {"max(x, 1/2)", "1/2", "1", 1},
      {"max(x, 1/2)", "0.6", "1", 4},
      {"max(0, x)", "0", "1", 1},
      {"max(1, 2)", "0", "1", 4},
      {"max(p, 5/2)*x", "0", "1", 4}, /* equal, but constant */
      {"abs(p - 5/2)*x", "0", "1", 4},
      {"exp(log(x))", "0", "1", 1}, /* e^-inf times inf */
      {"abs(x)^p", "0", "1", 4},
      {"(x - x)^(-1)", "0", "1", 0},
      {"cos(1/x)", "0", "1", 0},
  };
  phibal_enclosure x, p;
  phi_jet j;
  phibal_enclosure_init(&x, PRECISION);
  phibal_enclosure_init(&p, 53);
  phi_jet_init(&j, PRECISION);
  phibal_enclosure_set_d(&p, 2.5);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    phi_potential *phi = read_term(cases[i].text);
    set_interval(&x, cases[i].lo, cases[i].hi);
    phi_jet_eval(phi->value.sum[0], &p, NULL, &x, &j);
    cr_expect(j.known == cases[i].known, "%s over [%s, %s]: %d derivatives are known, not %d",
              cases[i].text, cases[i].lo, cases[i].hi, j.known, cases[i].known);
    const phibal_status status = phi_eval(phi->value.sum[0], &p, NULL, &x, &j.d[0]);
    cr_expect(status == (cases[i].known ? PHIBAL_OK : PHIBAL_ERROR_DOMAIN), "%s", cases[i].text);
    phi_destroy(phi);
  }
  phi_jet_clear(&j);
  phibal_enclosure_clear(&p);
  phibal_enclosure_clear(&x);
}

/* At the end 0 of the loads derivatives are limits from within. */
Test(phi_jet, limits_at_zero) {
  static const struct {
    const char *text;
    const char *d[4];
  } cases[] = {
      {"x^p", {"0", "0", "0", "inf"}},
      {"x^2", {"0", "0", "2", "0"}},
      {"x^(7/2)", {"0", "0", "0", "0"}},
      {"-sqrt(x)", {"0", "-inf", "inf", "-inf"}},
      {"xlogx(x)", {"0", "-inf", "inf", "-inf"}},
      {"-log(x)", {"inf", "-inf", "inf", "-inf"}},
      {"x^(1/2)/2 - 3", {"-3", "inf", "-inf", "inf"}},
      {"abs(x)", {"0", "1", "0", "0"}},
      {"logcosh(x)", {"0", "0", "1", "0"}},
      {"tanh(x)", {"0", "1", "0", "-2"}},
      {"sinh(x)", {"0", "1", "0", "1"}},
  };
  phibal_enclosure x, p;
  phi_jet j;
  phibal_enclosure_init(&x, PRECISION);
  phibal_enclosure_init(&p, 53);
  phi_jet_init(&j, PRECISION);
  phibal_enclosure_set_d(&p, 2.5);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    phi_potential *phi = read_term(cases[i].text);
    phi_jet_eval(phi->value.sum[0], &p, NULL, &x, &j);
    for (int k = 0; k < 4; k++)
      cr_expect(is_interval(&j.d[k], cases[i].d[k], cases[i].d[k]), "%s: derivative %d at 0",
                cases[i].text, k);
    phi_destroy(phi);
  }
  phi_jet_clear(&j);
  phibal_enclosure_clear(&p);
  phibal_enclosure_clear(&x);
}

Test(phi_jet, a_failure_names_its_place) {
  phibal_enclosure x, value;
  phibal_enclosure_init(&x, 53);
  phibal_enclosure_init(&value, 53);
  phibal_enclosure_set_si(&x, -4);
  phi_potential *phi = read_term("1 + exp(sqrt(x))");
  cr_assert(phi_eval(phi->value.sum[0], NULL, NULL, &x, &value) == PHIBAL_ERROR_DOMAIN);
  cr_assert(!strncmp(phibal_status_message(), "3:19: ", 6), "%s", phibal_status_message());
  cr_assert(mpfr_inf_p(value.lo) && mpfr_inf_p(value.hi));
  phi_destroy(phi);
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&value);
}

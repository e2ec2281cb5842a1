/* What the audit says about convexity: verdicts on potentials whose truth is known, every
   counterexample evaluated again, and every proof against random points. */
#include "phi_text.h"
#include "random_expression.h"
#include "audit/audit.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { PRECISION = 256, EXPERTS_MOST = 3000 };

typedef struct audited {
  phi_potential *phi;
  certificate c;
} audited;

static audited audit_potential(phi_potential *phi, const phibal_enclosure *parameters, int least,
                               int most, double seconds) {
  audited a = {.phi = phi};
  audit_request r = {.parameters = parameters,
                     .ranges = parameters == NULL,
                     .seconds = seconds,
                     .least_experts = least,
                     .most_experts = most};
  cr_assert(audit_convexity(phi, &r, &a.c) == PHIBAL_OK, "%s", phibal_status_message());
  return a;
}

static void audited_clear(audited *a) {
  certificate_clear(&a->c);
  phi_destroy(a->phi);
}

/* ---------- counterexamples are evaluated again ---------- */

static void read_number(const json_t *text, phibal_enclosure *z) {
  cr_assert(json_is_string(text));
  cr_assert(phibal_enclosure_set_str(z, json_string_value(text)) == PHIBAL_OK, "%s",
            json_string_value(text));
}

/* phi at the array of fractions; they must be exact, not negative, and sum to 1. */
static void value_of(const phi_potential *phi, const phibal_enclosure *parameters,
                     const json_t *point, phibal_enclosure *value) {
  static phibal_enclosure x[64], sum;
  size_t n = json_array_size(point);
  cr_assert(n >= 2 && n <= 64);
  phibal_enclosure_init(&sum, PRECISION);
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_init(&x[e], PRECISION);
    read_number(json_array_get(point, e), &x[e]);
    cr_assert(phibal_enclosure_is_exact(&x[e]) && mpfr_sgn(x[e].lo) >= 0);
  }
  phibal_enclosure_sum(&sum, n, x);
  cr_assert(phibal_enclosure_is_exact(&sum) && mpfr_cmp_ui(sum.lo, 1) == 0, "no loads");
  cr_assert(phi_value(phi, parameters, n, x, value) == PHIBAL_OK, "%s", phibal_status_message());
  for (size_t e = 0; e < n; e++) phibal_enclosure_clear(&x[e]);
  phibal_enclosure_clear(&sum);
}

/* (a + b)/2 as fractions */
static json_t *midpoint(const json_t *a, const json_t *b) {
  json_t *m = json_array();
  mpq_t p, q;
  mpq_init(p);
  mpq_init(q);
  for (size_t e = 0; e < json_array_size(a); e++) {
    mpq_set_str(p, json_string_value(json_array_get(a, e)), 10);
    mpq_set_str(q, json_string_value(json_array_get(b, e)), 10);
    mpq_add(p, p, q);
    mpq_div_2exp(p, p, 1);
    char *text = mpq_get_str(NULL, 10, p);
    json_array_append_new(m, json_string(text));
    free(text);
  }
  mpq_clear(p);
  mpq_clear(q);
  return m;
}

static void check_counterexample(const phi_potential *phi, const audit_finding *f) {
  cr_assert(f->counterexample && f->data, "a refutation without a counterexample");
  const json_t *c = json_object_get(f->data, "counterexample");
  const json_t *a = json_object_get(c, "a"), *b = json_object_get(c, "b");
  cr_assert(json_array_size(a) && !json_equal(a, b));
  phibal_enclosure parameters[PHI_MAX_PARAMETERS], v[3];
  for (int i = 0; i < 3; i++) phibal_enclosure_init(&v[i], PRECISION);
  for (int i = 0; i < phi->parameters; i++) {
    const json_t *p = json_object_get(json_object_get(c, "parameters"), phi->parameter[i].name);
    phibal_enclosure_init(&parameters[i], PRECISION);
    read_number(json_array_get(p, 0), &parameters[i]);
  }
  json_t *m = midpoint(a, b);
  value_of(phi, parameters, a, &v[0]);
  value_of(phi, parameters, b, &v[1]);
  value_of(phi, parameters, m, &v[2]);
  cr_assert(phibal_enclosure_add(&v[0], &v[0], &v[1]) == PHIBAL_OK);
  mpfr_mul_2ui(v[2].lo, v[2].lo, 1, MPFR_RNDN);
  if (json_is_true(json_object_get(c, "constant"))) /* proved by an identity, not by the values */
    mpfr_mul_2ui(v[2].hi, v[2].hi, 1, MPFR_RNDN);
  if (json_is_true(json_object_get(c, "constant")))
    cr_assert(phibal_enclosure_overlaps(&v[0], &v[2]), "not constant: %s", f->counterexample);
  else
    cr_assert(mpfr_cmp(v[2].lo, v[0].lo) >= 0, "the counterexample is none: %s", f->counterexample);
  json_decref(m);
  for (int i = 0; i < 3; i++) phibal_enclosure_clear(&v[i]);
  for (int i = 0; i < phi->parameters; i++) phibal_enclosure_clear(&parameters[i]);
}

/* ---------- proofs against points ---------- */

static void random_loads(size_t n, uint64_t *state, double *x) {
  double sum = 0;
  for (size_t e = 0; e < n; e++) {
    x[e] = random_unit(state) * ldexp(1, -(int)random_below(state, 12));
    sum += x[e];
  }
  double rest = 1;
  for (size_t e = 1; e < n; e++) {
    x[e] = ldexp(floor(ldexp(x[e] / sum, 44)) + 1, -44);
    rest -= x[e];
  }
  x[0] = rest;
}

/* Nowhere a midpoint that is certainly not below the mean. */
static void check_proof(const phi_potential *phi, uint64_t *state, const char *text) {
  enum { MOST = 5, ROUNDS = 30 };
  double a[MOST], b[MOST];
  phibal_enclosure parameters[PHI_MAX_PARAMETERS], x[MOST], v[3];
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) phibal_enclosure_init(&parameters[i], PRECISION);
  for (int i = 0; i < MOST; i++) phibal_enclosure_init(&x[i], PRECISION);
  for (int i = 0; i < 3; i++) phibal_enclosure_init(&v[i], PRECISION);
  for (int round = 0; round < ROUNDS; round++) {
    size_t n = 2 + random_below(state, MOST - 1);
    for (int i = 0; i < phi->parameters; i++)
      random_member(&phi->parameter[i].range[0], state, &parameters[i]);
    random_loads(n, state, a);
    random_loads(n, state, b);
    bool good = a[0] > 0 && b[0] > 0;
    for (int k = 0; good && k < 3; k++) {
      for (size_t e = 0; e < n; e++)
        phibal_enclosure_set_d(&x[e], k == 0 ? a[e] : k == 1 ? b[e] : (a[e] + b[e]) / 2);
      good = phi_value(phi, parameters, n, x, &v[k]) == PHIBAL_OK;
    }
    if (!good || phibal_enclosure_add(&v[0], &v[0], &v[1]) != PHIBAL_OK) continue;
    mpfr_mul_2ui(v[2].lo, v[2].lo, 1, MPFR_RNDN);
    cr_assert(!mpfr_number_p(v[2].lo) || mpfr_cmp(v[2].lo, v[0].hi) < 0,
              "proved, but not convex between points: %s", text);
  }
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) phibal_enclosure_clear(&parameters[i]);
  for (int i = 0; i < MOST; i++) phibal_enclosure_clear(&x[i]);
  for (int i = 0; i < 3; i++) phibal_enclosure_clear(&v[i]);
}

static void check_findings(const audited *a, uint64_t *state, const char *text) {
  bool proved = certificate_verdict(&a->c, AUDIT_CONVEX) == AUDIT_PROVED;
  for (size_t i = 0; i < a->c.findings; i++)
    if (a->c.finding[i].claim == AUDIT_CONVEX && a->c.finding[i].verdict == AUDIT_REFUTED)
      check_counterexample(a->phi, &a->c.finding[i]);
  if (proved) check_proof(a->phi, state, text);
}

/* ---------- known potentials ---------- */

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Test(audit_convexity, the_catalogue_is_proved_on_its_whole_ranges) {
  static const char *const names[] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored) name,
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  };
  double start = seconds_now();
  uint64_t state = 5;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    audited a = audit_potential(phi_of_catalogue(names[i]), NULL, 2, 4096, 20);
    static const audit_claim claims[] = {AUDIT_SYMMETRIC, AUDIT_DIFFERENTIABLE, AUDIT_CONVEX,
                                         AUDIT_MINIMISER};
    for (size_t k = 0; k < sizeof claims / sizeof *claims; k++)
      cr_assert(certificate_verdict(&a.c, claims[k]) == AUDIT_PROVED, "%s: %s", names[i],
                audit_claim_id(claims[k]));
    check_findings(&a, &state, names[i]);
    audited_clear(&a);
  }
  cr_assert(seconds_now() - start < 30, "the catalogue takes longer than it may");
}

Test(audit_convexity, the_limits_of_lp_are_refuted) {
  static const char *const at[] = {"1", "inf"};
  for (int i = 0; i < 2; i++) {
    phibal_enclosure p;
    phibal_enclosure_init(&p, PRECISION);
    phibal_enclosure_set_str(&p, at[i]);
    audited a = audit_potential(phi_of_catalogue("lp"), &p, 2, 64, 10);
    uint64_t state = 1;
    cr_assert(certificate_verdict(&a.c, AUDIT_CONVEX) == AUDIT_REFUTED, "p = %s", at[i]);
    cr_assert(certificate_verdict(&a.c, AUDIT_MINIMISER) == AUDIT_REFUTED, "p = %s", at[i]);
    check_findings(&a, &state, "lp");
    audited_clear(&a);
    phibal_enclosure_clear(&p);
  }
}

typedef struct known {
  const char *value;
  audit_verdict differentiable, convex;
} known;

#define P AUDIT_PROVED
#define R AUDIT_REFUTED
#define U AUDIT_UNDECIDED
static const known potentials[] = {
    {"sum(x^4 + x^2)", P, P},
    {"sum(exp(x^2))", P, P},
    {"sum(-sqrt(x))", P, P},
    {"sum(-log(x))", P, P},
    {"sum(x^3)", P, P},                           /* psi''(0) = 0 */
    {"sum((x - 1/2)^4)", P, P},                   /* psi''(1/2) = 0 */
    {"sum(x*log(x) + (1 - x)*log(1 - x))", P, P}, /* the end at 1 */
    {"sum(exp(x) - 0.499*x^2 + sin(x)/1000)", P, P},
    {"sum(exp(x) - x^2/2)", P, P}, /* psi''(0) = 0, by monotonicity */
    {"sum(x^2 - (13/12)*x^3 + x^4/2)", P, P},
    {"sum(-cos(x))", P, P},
    {"sum(x^x)", P, P},
    {"sum(x^2)^2", P, P},
    {"sum(x^3)^(2/3)", P, P},
    {"log(sum(exp(x)))", P, P},  /* not strictly along 1: only on the simplex */
    {"-(sum(sqrt(x)))^2", P, P}, /* homogeneous: only on the simplex */
    {"-log(1 - sum(x^2))", P, P},
    {"sum(x^2) + sum(x)^2", P, P},
    {"log(sum(x^2))", P, R}, /* D > 0, but the sum of h_e is 2 */
    {"log(sum(x^6))", P, R},
    {"sum(x^4)^(1/8)", P, R},
    {"-1/sum(x^4)", P, R},
    {"log(sum(1/x))", P, P},
    {"sum(x^2 - x^3)", P, R},
    {"sum(cos(x))", P, R},
    {"sum(x)", P, R}, /* constant */
    {"sum(log(exp(x)))", P, R},
    {"sum(x) + 3", P, R},
    {"sum(max(x, 1/4))", R, R},
    {"sum(abs(x - 1/3))", R, R},
    {"sum(x^2)/3 - sum(x^3)", P, R},
    {"-sum(x^2)^2", P, R},
    {"sum(x^2 + sgn(x - 1/3)/9)", R, R},
    {"sum(x^2 + max(x, 1/3))", R, P}, /* kinks that are convex */
    {"sum(x^2 + abs(x - 1/3) + 2*abs(x - 1/7))", R, P},
    {"sum(max(x^2, 3*x/4 - 1/8))", R, R}, /* affine between 1/4 and 1/2 */
    {"sum(max(x^2, x^3 + 1/16))", R, P},
    {"sum(exp(max(x, 1/5)) + x^2)", R, P},
    {"sum(x^2 - abs(x - 1/3)/100)", R, R},
    {"sum(x^2 + sgn(x - 1/3)*x)", R, R},
    {"sum(abs((x - 1/4)*(x - 3/4)) + 3*x^2)", R, P}, /* two zeros */
    {"sum(3*x^2 - abs((x - 1/4)*(x - 3/4)))", R, R},
    {"sum(log(x - 1/10))", U, R}, /* not defined everywhere */
    {"exp(sum(x^4)) - sum(x^2)", P, R},
    {"sum(x^2)*(5/2 - sum(x + 1))", P, R}, /* sum(x + 1) is 1 + E */
    {"sum(x^2)*(sum(x + 1) - 5/2)", P, P},
    {"sum(x^2 - 100*max(0, 1/1000 - x)^2)", U, R}, /* concave near 0 only */
    {"sum(x^3 - x^2/1000000)", P, R},
    {"sum(x^2 + sgn(x - 1/3)*x + abs(x - 2))", R, R}, /* a jump up with a steeper slope */
    {"sum(x^2 - x^3 + max(0, x - 1/4))", R, R},       /* concave behind its kink */
    {"sum(x^2)*sum(x^3)", P, U},                      /* (F_ij) is indefinite: not proved, */
    {"sum(x^(-8))*sum(x^6)", P, U}, /* and for this one not true, for three experts and more */
    /* concave before it; and beyond a second zero of the same term the kink turns down */
    {"sum(max((x - 1/2)^3, 1/1000 + 2*(x - 3/5) + (x - 3/5)^2))", R, R},
    {"sum(5*x^2 + abs((x - 1/4)*(x - 3/4))*(1/2 - x))", R, R},
};

Test(audit_convexity, known_potentials_come_out_right) {
  uint64_t state = 11;
  for (size_t i = 0; i < sizeof potentials / sizeof *potentials; i++) {
    char text[256];
    snprintf(text, sizeof text, "potential known\nvalue %s\n", potentials[i].value);
    audited a = audit_potential(phi_of_text(text), NULL, 2, 4096, 10);
    cr_assert(certificate_verdict(&a.c, AUDIT_CONVEX) == potentials[i].convex,
              "convexity of %s: %s", potentials[i].value,
              audit_verdict_name(certificate_verdict(&a.c, AUDIT_CONVEX)));
    cr_assert(certificate_verdict(&a.c, AUDIT_DIFFERENTIABLE) == potentials[i].differentiable,
              "differentiability of %s", potentials[i].value);
    cr_assert((certificate_verdict(&a.c, AUDIT_MINIMISER) == P) == (potentials[i].convex == P));
    check_findings(&a, &state, potentials[i].value);
    audited_clear(&a);
  }
}

/* x^2 + a x^3 is convex on (0,1) for a >= -1/3 exactly. */
Test(audit_convexity, a_range_that_is_convex_in_part_is_refuted_with_the_part) {
  uint64_t state = 3;
  audited a = audit_potential(
      phi_of_text("potential q\nparameter a in [-1, 1] = 0\nvalue sum(x^2 + a*x^3)\n"), NULL, 2, 64,
      10);
  cr_assert(certificate_verdict(&a.c, AUDIT_CONVEX) == R);
  check_findings(&a, &state, "x^2 + a x^3");
  const audit_finding *f = NULL;
  for (size_t i = 0; i < a.c.findings; i++)
    if (a.c.finding[i].claim == AUDIT_CONVEX) f = &a.c.finding[i];
  cr_assert(f && strstr(f->how, "proved, for a in [-21/64, 1]"), "%s", f ? f->how : "");
  const json_t *proved = json_object_get(f->data, "proved for");
  cr_assert(json_array_size(proved) >= 1);
  audited_clear(&a);
}

/* At a point, an interval, and a range the same potential is audited for that set alone. */
Test(audit_convexity, parameters_are_points_intervals_or_ranges) {
  const char *text = "potential q\nparameter a in (0, 3) = 2\nvalue sum(x^a)\n";
  static const struct {
    const char *lo, *hi;
    audit_verdict verdict;
  } sets[] = {
      {"2", "2", P}, {"1.1", "2.9", P}, {"0.5", "0.5", R}, {"1/3", "1/2", R}, {"1", "1", R}};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    phibal_enclosure p, hi;
    phibal_enclosure_init(&p, PRECISION);
    phibal_enclosure_init(&hi, PRECISION);
    phibal_enclosure_set_str(&p, sets[i].lo);
    phibal_enclosure_set_str(&hi, sets[i].hi);
    phibal_enclosure_hull(&p, &p, &hi);
    audited a = audit_potential(phi_of_text(text), &p, 2, 64, 10);
    cr_assert(certificate_verdict(&a.c, AUDIT_CONVEX) == sets[i].verdict, "a in [%s, %s]",
              sets[i].lo, sets[i].hi);
    audited_clear(&a);
    phibal_enclosure_clear(&p);
    phibal_enclosure_clear(&hi);
  }
}

/* A potential, a parameter's range in it, and what is said of its convexity over that range. */
typedef struct ranged {
  const char *range, *value;
  audit_verdict verdict;
} ranged;

static void check_ranged(const ranged *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char text[200];
    snprintf(text, sizeof text, "potential q\nparameter a in %s\nvalue %s\n", rows[i].range,
             rows[i].value);
    audited a = audit_potential(phi_of_text(text), NULL, 2, 64, 10);
    cr_assert(certificate_verdict(&a.c, AUDIT_CONVEX) == rows[i].verdict, "%s, a in %s: %s",
              rows[i].value, rows[i].range,
              audit_verdict_name(certificate_verdict(&a.c, AUDIT_CONVEX)));
    audited_clear(&a);
  }
}

/* A zero of psi'' in x is isolated; one in a parameter holds for all x. */
Test(audit_convexity, a_parameter_that_flattens_is_not_passed_over) {
  static const ranged rows[] = {
      {"[0, 1] = 1", "sum(a*x^2)", R},
      {"(0, 1] = 1", "sum(a*x^2)", P},
      {"[0, 1] = 1", "sum(a*x^3)", R},
      {"[0, 1] = 1", "sum(x^4 + a*x^2)", P},
      {"[0, 1] = 1", "sum((1 - a)*xlogx(x))", R},
      {"[0, 1) = 1/2", "sum((1 - a)*xlogx(x))", P},
      {"[-1, 1] = 1", "sum((a*x)^2)", R},
      {"[0, 1] = 1", "sum(a*x^2)*sum(a*x^2)", R},
      /* by how it is composed, wherever the kink is */
      {"[0, 1) = 1/2", "sum((1 - a)*(x^2 + max(0, x - 1/4)))", P},
      {"[0, 1] = 1/2", "sum((1 - a)*(x^2 + max(0, x - 1/4)))", R},
      {"(0, 1] = 1/2", "sum(x/3 + a*(x^2 + max(0, x - 1/4))/1e70)", P},
  };
  check_ranged(rows, sizeof rows / sizeof *rows);
}

/* Not proved, and at the end of the range that is left out it would be refuted. */
Test(audit_convexity, an_open_end_refutes_nothing) {
  static const ranged rows[] = {
      {"[0, 1) = 1/2", "sum((1 - a)*(3*x^2 + abs((x - 1/4)*(x - 3/4))))", U},
      {"(0, 1] = 1/2", "sum(a*(3*x^2 + abs((x - 1/4)*(x - 3/4))))", U},
  };
  check_ranged(rows, sizeof rows / sizeof *rows);
}

/* So flat that enclosures cannot tell: that is no violation either. */
Test(audit_convexity, what_enclosures_cannot_tell_is_no_violation) {
  static const ranged rows[] = {
      {"(0, 1] = 1/2", "sum(x/3 + a*(3*x^2 + abs((x - 1/4)*(x - 3/4)))/1e70)", U},
  };
  check_ranged(rows, sizeof rows / sizeof *rows);
}

/* Where a condition of the value fails it has no value, and nothing is proved. */
Test(audit_convexity, a_condition_must_hold_on_the_simplex) {
  static const struct {
    const char *value;
    audit_verdict verdict;
  } rows[] = {{"sum(x^2)  where x < 1/2", U}, {"sum(x^2)  where x <= 1", P},
              {"sum(x^2)  where x > 0", P},   {"sum(x^2)  where x >= 1/100", U},
              {"sum(x^2)  where x < 1", P},   {"log(sum(exp(x)))  where x < 1/2", U}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[200];
    snprintf(text, sizeof text, "potential q\nvalue %s\n", rows[i].value);
    audited a = audit_potential(phi_of_text(text), NULL, 2, 64, 5);
    cr_expect(certificate_verdict(&a.c, AUDIT_CONVEX) == rows[i].verdict, "%s: %s", rows[i].value,
              audit_verdict_name(certificate_verdict(&a.c, AUDIT_CONVEX)));
    audited_clear(&a);
  }
}

/* psi'' < 0 beyond 1/2 may be outweighed by the other shares, for two experts or for all. */
Test(audit_convexity, negative_curvature_beyond_a_half_depends_on_the_experts) {
  static const struct {
    const char *value;
    audit_verdict two, three, many;
  } rows[] = {
      {"sum(3*x^2/2 - 2*x^3/3)", P, U, R},     /* 3 - 4x: together 2 for two experts */
      {"sum(xlogx(x) - 0.6*x^2)", P, P, P},    /* 1/x - 1.2 */
      {"sum(xlogx(x) - 1.99*x^2/2)", P, P, P}, /* 1/x - 1.99 */
      {"sum(xlogx(x) - 2.01*x^2/2)", R, R, R}, /* negative at a half itself */
      {"sum(-log(x)/10 - x^3/8)", P, P, P},    /* 1/(10 x^2) - 3x/4 */
      {"sum(x^2/2 - x^4/4)", R, R, R},         /* 1 - 3 x^2: together -1 at the ends */
  };
  uint64_t state = 2;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[200];
    snprintf(text, sizeof text, "potential q\nvalue %s\n", rows[i].value);
    const int experts[] = {2, 3, 4096};
    const audit_verdict verdict[] = {rows[i].two, rows[i].three, rows[i].many};
    for (int k = 0; k < 3; k++) {
      audited a = audit_potential(phi_of_text(text), NULL, k == 1 ? 3 : 2, experts[k], 10);
      cr_assert(certificate_verdict(&a.c, AUDIT_CONVEX) == verdict[k], "%s with %d experts: %s",
                rows[i].value, experts[k],
                audit_verdict_name(certificate_verdict(&a.c, AUDIT_CONVEX)));
      if (k == 2) check_findings(&a, &state, rows[i].value);
      audited_clear(&a);
    }
  }
}

Test(audit_convexity, nothing_random_is_proved_or_refuted_wrongly) {
  enum { ROUNDS = 80 };
  int proved = 0, refuted = 0;
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t state = 31000 + (uint64_t)i;
    char *text = random_potential(&state, 1 + i % 3);
    audited a = audit_potential(phi_of_text(text), NULL, 2, 64, 0.3);
    audit_verdict v = certificate_verdict(&a.c, AUDIT_CONVEX);
    proved += v == P;
    refuted += v == R;
    check_findings(&a, &state, text);
    audited_clear(&a);
    free(text);
  }
  cr_log_info("%d proved, %d refuted of %d", proved, refuted, ROUNDS);
  cr_assert(proved > 8 && refuted > 30, "%d proved, %d refuted", proved, refuted);
}

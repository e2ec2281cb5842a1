/* The gradient at the boundary, its range, and the mirror step: known potentials, and every range
   that is claimed against the gradient at points. */
#include "phi_text.h"
#include "random_expression.h"
#include "audit/audit.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { PRECISION = 256 };

typedef struct audited {
  phi_potential *phi;
  certificate c;
} audited;

static audited audit_potential(phi_potential *phi, const phibal_enclosure *parameters) {
  audited a = {.phi = phi};
  audit_request r = {.parameters = parameters,
                     .ranges = parameters == NULL,
                     .seconds = 5,
                     .least_experts = 2,
                     .most_experts = 4096};
  cr_assert(audit_legendre(phi, &r, &a.c) == PHIBAL_OK, "%s", phibal_status_message());
  return a;
}

static void audited_clear(audited *a) {
  certificate_clear(&a->c);
  phi_destroy(a->phi);
}

/* The n-th finding about a claim. */
static const audit_finding *finding(const certificate *c, audit_claim claim, int n) {
  for (size_t i = 0; i < c->findings; i++)
    if (c->finding[i].claim == claim && n-- == 0) return &c->finding[i];
  return NULL;
}

static const char *end_text(const audit_finding *f, const char *key) {
  const json_t *end = json_object_get(f->data, key);
  return json_string_value(json_is_string(end) ? end : json_object_get(end, "value"));
}

/* w x log x + (1 - w) x^2/2 has an infinite price of an empty expert for every w but 0: each part
   of the range of w is said by itself, all of it once, and the mirror step stays one claim. A
   parameter that makes no difference is not divided. */
Test(audit_legendre, an_end_of_a_parameter_that_differs) {
  static const char *const parts[][2] = {
      {"for v in [1, 2], w in (0, 1): ", "tends to -inf as a share goes to 0"},
      {"for v in [1, 2], w = 1: ", "tends to -inf as a share goes to 0"},
      {"for v in [1, 2], w = 0: ",
       "tends to 0 as a share goes to 0, where the price of an unused"}};
  audited a = audit_potential(
      phi_of_text("potential t\nparameter v in [1, 2] = 1\nparameter w in [0, 1] = 1/2\n"
                  "value sum(w*xlogx(x) + v*(1 - w)*x^2/2)\n"),
      NULL);
  for (int i = 0; i < 3; i++) {
    const audit_finding *boundary = finding(&a.c, AUDIT_BOUNDARY, i),
                        *range = finding(&a.c, AUDIT_DUAL_DOMAIN, i);
    cr_assert(boundary && range);
    cr_assert(boundary->verdict == AUDIT_PROVED && range->verdict == AUDIT_PROVED);
    cr_expect_eq(strncmp(boundary->how, parts[i][0], strlen(parts[i][0])), 0, "%s", boundary->how);
    cr_expect_eq(strncmp(range->how, parts[i][0], strlen(parts[i][0])), 0, "%s", range->how);
    cr_expect_not_null(strstr(boundary->how, parts[i][1]), "%s", boundary->how);
  }
  cr_assert_null(finding(&a.c, AUDIT_BOUNDARY, 3));
  cr_assert_null(finding(&a.c, AUDIT_MIRROR, 1));
  audited_clear(&a);
  /* where no end helps, it is said of which limit nothing is known */
  a = audit_potential(phi_of_text("potential t\nparameter w in [0, 1] = 1/2\n"
                                  "value sum(x^2 + w*max(0, x - 1/3))\n"),
                      NULL);
  bool said = false;
  for (int i = 0; finding(&a.c, AUDIT_BOUNDARY, i); i++)
    said = said ||
           strstr(finding(&a.c, AUDIT_BOUNDARY, i)->how, "the limit of psi' at 0 was not found");
  cr_assert(said);
  audited_clear(&a);
}

/* On whole ranges: set, range of psi', psi'(0+), per range of the parameter. */
Test(audit_legendre, the_catalogue_has_the_ranges_of_the_design) {
  static const struct {
    const char *name;
    int range;
    const char *set, *lo, *hi, *zero;
  } rows[] = {
      {"euclid", 0, "(-inf, inf)", "-inf", "inf", "0"},
      {"lp", 0, "(-inf, inf)", "-inf", "inf", "0"},
      {"soft-l1", 0, "(-inf, inf)", "-1", "1", "0"},
      {"negentropy", 0, "(0, inf)", "-inf", "inf", "-inf"},
      {"tsallis", 0, "(0, inf)", "-inf", "-1/(alpha-1)", "-inf"},
      {"tsallis", 1, "(0, inf)", "-1/(alpha-1)", "inf", "-1/(alpha-1)"},
      {"pseudo-huber", 0, "(-inf, inf)", "-1", "1", "0"},
      {"log-cosh", 0, "(-inf, inf)", "-1", "1", "0"},
      {"softplus", 0, "(-inf, inf)", "0", "1", "1/2"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    audited a = audit_potential(phi_of_catalogue(rows[i].name), NULL);
    const audit_finding *range = finding(&a.c, AUDIT_DUAL_DOMAIN, rows[i].range),
                        *boundary = finding(&a.c, AUDIT_BOUNDARY, rows[i].range),
                        *mirror = finding(&a.c, AUDIT_MIRROR, rows[i].range);
    cr_assert(range && range->verdict == AUDIT_PROVED && boundary && mirror, "%s", rows[i].name);
    cr_assert(boundary->verdict == AUDIT_PROVED && mirror->verdict == AUDIT_PROVED, "%s",
              rows[i].name);
    cr_assert_str_eq(end_text(range, "domain of psi"), rows[i].set, "%s", rows[i].name);
    cr_assert_str_eq(end_text(range, "lo"), rows[i].lo, "%s", rows[i].name);
    cr_assert_str_eq(end_text(range, "hi"), rows[i].hi, "%s", rows[i].name);
    cr_assert_str_eq(end_text(boundary, "psi'(0+)"), rows[i].zero, "%s", rows[i].name);
    /* the condition on loads belongs to those whose domain is not all of R */
    cr_assert((strstr(mirror->how, "eta < 1") != NULL) == (rows[i].set[1] == '0'), "%s",
              rows[i].name);
    audited_clear(&a);
  }
}

Test(audit_legendre, renyi_maps_the_orthant_onto_the_negative_one) {
  audited a = audit_potential(phi_of_catalogue("renyi"), NULL);
  const audit_finding *range = finding(&a.c, AUDIT_DUAL_DOMAIN, 0);
  cr_assert(range && range->verdict == AUDIT_PROVED);
  cr_assert_str_eq(end_text(range, "lo"), "-inf");
  cr_assert_str_eq(end_text(range, "hi"), "0");
  cr_assert(certificate_verdict(&a.c, AUDIT_MIRROR) == AUDIT_PROVED);
  cr_assert(certificate_verdict(&a.c, AUDIT_BOUNDARY) == AUDIT_PROVED);
  audited_clear(&a);
}

Test(audit_legendre, known_potentials_come_out_right) {
  static const struct {
    const char *value;
    audit_verdict mirror, range;
    const char *set, *lo, *hi;
    const char *says; /* of the mirror step */
  } rows[] = {
      {"sum(x^3)", AUDIT_PROVED, AUDIT_PROVED, "(0, inf)", "0", "inf", "eta < 1"},
      {"sum(abs(x)^3)", AUDIT_PROVED, AUDIT_PROVED, "(-inf, inf)", "-inf", "inf", "every state"},
      {"sum(abs(x)^3 + abs(x))", AUDIT_PROVED, AUDIT_PROVED, "(0, inf)", "1", "inf", "eta < 1"},
      {"sum(-log(x))", AUDIT_PROVED, AUDIT_PROVED, "(0, inf)", "-inf", "0", "eta < 1"},
      {"sum(x*log(x) + (1 - x)*log(1 - x))", AUDIT_PROVED, AUDIT_PROVED, "(0, 1)", "-inf", "inf",
       "eta < 1"},
      {"sum(-sqrt(1 - x^2))", AUDIT_PROVED, AUDIT_PROVED, "(0, 1)", "0", "inf", "eta < 1"},
      {"sum(x^2 + sgn(x)^2)", AUDIT_PROVED, AUDIT_PROVED, "(0, inf)", "0", "inf", "eta < 1"},
      {"sum(exp(x) - x)", AUDIT_PROVED, AUDIT_PROVED, "(-inf, inf)", "-1", "inf", "every state"},
      {"sum(x^2 - x^3)", AUDIT_UNDECIDED, AUDIT_UNDECIDED, NULL, NULL, NULL, "not proved"},
      {"sum(x)", AUDIT_REFUTED, AUDIT_UNDECIDED, NULL, NULL, NULL, "does not determine"},
      {"log(sum(exp(x)))", AUDIT_PROVED, AUDIT_UNDECIDED, NULL, NULL, NULL, "restricted"},
      {"-(sum(sqrt(x)))^2", AUDIT_PROVED, AUDIT_UNDECIDED, NULL, NULL, NULL, "restricted"},
      {"sum(x^3)^(2/3)", AUDIT_PROVED, AUDIT_PROVED, NULL, "0", "inf", "eta < 1"},
      {"log(sum(x^2))", AUDIT_UNDECIDED, AUDIT_UNDECIDED, NULL, NULL, NULL, "not proved"},
      {"sum(x^2)^(1/2)", AUDIT_PROVED, AUDIT_UNDECIDED, NULL, NULL, NULL, "restricted"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    snprintf(text, sizeof text, "potential known\nvalue %s\n", rows[i].value);
    audited a = audit_potential(phi_of_text(text), NULL);
    const audit_finding *range = finding(&a.c, AUDIT_DUAL_DOMAIN, 0),
                        *mirror = finding(&a.c, AUDIT_MIRROR, 0);
    cr_assert(mirror->verdict == rows[i].mirror, "%s: %s", rows[i].value, mirror->how);
    cr_assert(range->verdict == rows[i].range, "%s: %s", rows[i].value, range->how);
    cr_assert(strstr(mirror->how, rows[i].says), "%s: %s", rows[i].value, mirror->how);
    cr_assert(mirror->verdict != AUDIT_REFUTED || mirror->counterexample);
    if (rows[i].set)
      cr_assert_str_eq(end_text(range, "domain of psi"), rows[i].set, "%s", rows[i].value);
    if (rows[i].lo) {
      cr_assert_str_eq(end_text(range, "lo"), rows[i].lo, "%s", rows[i].value);
      cr_assert_str_eq(end_text(range, "hi"), rows[i].hi, "%s", rows[i].value);
    }
    audited_clear(&a);
  }
}

/* ---------- ranges against points ---------- */

/* False where the end is known and v is certainly beyond it. */
static bool within(const json_t *end, const phibal_enclosure *v, bool low) {
  const json_t *enclosure = json_object_get(end, "enclosure");
  if (!enclosure) return true;
  phibal_enclosure z;
  phibal_enclosure_init(&z, PRECISION);
  phibal_enclosure_set_str(&z, json_string_value(json_array_get(enclosure, low ? 0 : 1)));
  bool good = low ? mpfr_cmp(v->hi, z.lo) >= 0 : mpfr_cmp(v->lo, z.hi) <= 0;
  phibal_enclosure_clear(&z);
  return good;
}

static double random_argument(const char *set, uint64_t *state) {
  double x = random_unit(state);
  if (random_below(state, 3) == 0) x = ldexp(x, -(int)random_below(state, 80));
  if (strcmp(set, "(0, 1)") == 0) return x;
  if (random_below(state, 2)) x = 1 / x;
  return set[1] == '-' && random_below(state, 2) ? -x : x;
}

static int check_range(const audited *a, const phibal_enclosure *parameters, uint64_t *state,
                       const char *text) {
  const audit_finding *f = finding(&a->c, AUDIT_DUAL_DOMAIN, 0);
  if (!f || f->verdict != AUDIT_PROVED || !json_object_get(f->data, "domain of psi")) return 0;
  const expression *psi = phi_separable(a->phi);
  const char *set = end_text(f, "domain of psi");
  phibal_enclosure x;
  phi_jet jet;
  phibal_enclosure_init(&x, PRECISION);
  phi_jet_init(&jet, PRECISION);
  for (int i = 0; i < 30; i++) {
    phibal_enclosure_set_d(&x, random_argument(set, state));
    phi_jet_eval(psi, parameters, NULL, &x, &jet);
    if (jet.known < 2) continue;
    cr_assert(within(json_object_get(f->data, "lo"), &jet.d[1], true) &&
                  within(json_object_get(f->data, "hi"), &jet.d[1], false),
              "psi' beyond its range at x = %a:\n%s", mpfr_get_d(x.lo, MPFR_RNDN), text);
    cr_assert(jet.known < 3 || !phibal_enclosure_is_negative(&jet.d[2]),
              "psi' falls at x = %a:\n%s", mpfr_get_d(x.lo, MPFR_RNDN), text);
  }
  phibal_enclosure_clear(&x);
  phi_jet_clear(&jet);
  return 1;
}

Test(audit_legendre, random_ranges_hold_the_gradient) {
  int proved = 0;
  for (int i = 0; i < 400; i++) {
    uint64_t state = 77000 + (uint64_t)i;
    char *text = random_potential(&state, 1 + i % 3);
    phi_potential *phi = phi_of_text(text);
    phibal_enclosure parameters[PHI_MAX_PARAMETERS];
    for (int k = 0; k < PHI_MAX_PARAMETERS; k++) phibal_enclosure_init(&parameters[k], PRECISION);
    for (int k = 0; k < phi->parameters; k++)
      random_member(&phi->parameter[k].range[0], &state, &parameters[k]);
    audited a = {.phi = phi};
    audit_request r = {
        .parameters = parameters, .seconds = 0, .least_experts = 2, .most_experts = 64};
    cr_assert(audit_legendre(phi, &r, &a.c) == PHIBAL_OK);
    proved += check_range(&a, parameters, &state, text);
    audited_clear(&a);
    for (int k = 0; k < PHI_MAX_PARAMETERS; k++) phibal_enclosure_clear(&parameters[k]);
    free(text);
  }
  cr_log_info("%d ranges", proved);
  cr_assert(proved > 60, "%d ranges", proved);
}

/* audit_gradient: the gradient that the file gives against differentiation of its value. */
#include "audit_points.h"
#include <stdio.h>
#include <stdlib.h>

enum { BITS = 200, LEAST_PRECISION = 320, MOST_PRECISION = 2560, OTHERS = 3, WIDEST = 1 + OTHERS };

typedef struct comparison {
  phi_potential *phi;
  const audit_request *request;
  size_t n; /* experts of a vector: 1 if the gradient is taken coordinate by coordinate */
  uint64_t compared, undefined; /* coordinates */
  uint64_t missing;             /* the value has a derivative there, the file no gradient */
  uint64_t blunt;               /* enclosures stayed too wide */
  bool refuted;
  char *counterexample;
} comparison;

/* The enclosures are so narrow, or both so small, that their overlap says something. */
static bool narrow(const phibal_enclosure *x) {
  mpfr_t width, size;
  mpfr_init2(width, 64);
  mpfr_init2(size, 64);
  phibal_enclosure_width(width, x);
  mpfr_abs(size, x->lo, MPFR_RNDD);
  bool yes = mpfr_cmp_si_2exp(width, 1, -4 * BITS) <= 0;
  mpfr_mul_2si(size, size, -BITS, MPFR_RNDD);
  yes = yes || mpfr_lessequal_p(width, size);
  mpfr_clears(width, size, (mpfr_ptr)0);
  return yes;
}

static phibal_status describe(comparison *c, const audit_points *x, size_t e,
                              const phibal_enclosure *given, const phibal_enclosure *derived) {
  enum { DIGITS = 25 };
  char text[4][PHIBAL_DECIMAL_SIZE(DIGITS)];
  phibal_enclosure_get_decimal(given, DIGITS, text[0], text[1], sizeof text[0]);
  phibal_enclosure_get_decimal(derived, DIGITS, text[2], text[3], sizeof text[2]);
  char *at = audit_rational_text(x->x[e]), *where = audit_parameters_text(c->phi, c->request);
  char *others = NULL;
  size_t length;
  FILE *file = open_memstream(&others, &length);
  if (file && x->n > 1) {
    fputs(" beside", file);
    for (size_t i = 0; i < x->n; i++) {
      char *other = i == e ? NULL : audit_rational_text(x->x[i]);
      if (other) fprintf(file, " %s", other);
      free(other);
    }
  }
  if (file) fclose(file);
  int made = asprintf(
      &c->counterexample,
      "x_e = %s%s%s: the gradient given is in [%s, %s], the derivative of the value "
      "in [%s, %s]",
      at ? at : "?", others ? others : "", where ? where : "", text[0], text[1], text[2], text[3]);
  free(at);
  free(others);
  free(where);
  if (made >= 0) return PHIBAL_OK;
  c->counterexample = NULL;
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a counterexample");
}

typedef enum outcome { AGREE, DIFFER, BLUNT, MISSING, UNDEFINED } outcome;

/* Both gradients at one precision; *e is a coordinate at which they certainly differ. */
static outcome compare_at(const comparison *c, const audit_points *at, mpfr_prec_t precision,
                          phibal_enclosure *given, phibal_enclosure *derived, size_t *e) {
  phibal_enclosure *x = phibal_enclosure_vector(at->n, precision);
  phibal_enclosure *parameters = audit_parameters(c->phi, c->request, precision);
  outcome result = UNDEFINED;
  if (x && parameters) {
    for (size_t i = 0; i < at->n; i++) phibal_enclosure_set_q(&x[i], at->x[i]);
    if (phi_gradient(c->phi, parameters, at->n, x, derived) == PHIBAL_OK)
      result = phi_given_gradient(c->phi, parameters, at->n, x, given) ? MISSING : AGREE;
  }
  for (size_t i = 0; i < at->n && (result == AGREE || result == BLUNT); i++) {
    *e = i;
    if (!phibal_enclosure_overlaps(&given[i], &derived[i]))
      result = DIFFER;
    else if (!narrow(&given[i]) || !narrow(&derived[i]))
      result = BLUNT;
  }
  phibal_enclosure_vector_clear(x, at->n);
  phibal_enclosure_vector_clear(parameters, PHI_MAX_PARAMETERS);
  return result;
}

/* At a load of 0 derivatives are those from the right. Where that from the left is another, a
   gradient of all reals, as sgn(x) is one, has no right value to take there. */
static bool kink_at_zero(const comparison *c, const audit_points *at, size_t e,
                         const phibal_enclosure *derived) {
  if (mpq_sgn(at->x[e])) return false;
  const mpfr_prec_t precision = LEAST_PRECISION;
  phibal_enclosure *x = phibal_enclosure_vector(at->n, precision);
  phibal_enclosure *left = phibal_enclosure_vector(at->n, precision);
  phibal_enclosure *parameters = audit_parameters(c->phi, c->request, precision);
  bool kink = false;
  if (x && left && parameters) {
    for (size_t i = 0; i < at->n; i++) phibal_enclosure_set_q(&x[i], at->x[i]);
    phibal_enclosure_set_d(&x[e], -0x1p-900);
    if (phi_gradient(c->phi, parameters, at->n, x, left) == PHIBAL_OK &&
        phibal_enclosure_sub(&x[e], &left[e], derived) == PHIBAL_OK) {
      phibal_enclosure_abs(&x[e], &x[e]);
      kink = mpfr_cmp_si_2exp(x[e].lo, 1, -100) > 0;
    }
  }
  phibal_enclosure_vector_clear(x, at->n);
  phibal_enclosure_vector_clear(left, at->n);
  phibal_enclosure_vector_clear(parameters, PHI_MAX_PARAMETERS);
  return kink;
}

static phibal_status compare(comparison *c, const audit_points *at) {
  phibal_status status = PHIBAL_OK;
  outcome result = BLUNT;
  for (mpfr_prec_t p = LEAST_PRECISION; p <= MOST_PRECISION && result == BLUNT; p *= 2) {
    phibal_enclosure *given = phibal_enclosure_vector(at->n, p);
    phibal_enclosure *derived = phibal_enclosure_vector(at->n, p);
    size_t e = 0;
    result = given && derived ? compare_at(c, at, p, given, derived, &e) : UNDEFINED;
    if (result == DIFFER && kink_at_zero(c, at, e, &derived[e])) result = UNDEFINED;
    if (result == DIFFER) {
      c->refuted = true;
      status = describe(c, at, e, &given[e], &derived[e]);
    }
    phibal_enclosure_vector_clear(given, at->n);
    phibal_enclosure_vector_clear(derived, at->n);
  }
  if (result == AGREE) c->compared += at->n;
  if (result == BLUNT) c->blunt += at->n;
  if (result == MISSING) c->missing += at->n;
  if (result == UNDEFINED) c->undefined += at->n;
  return status;
}

/* The point alone, or beside others, or among its like, or the only one that is not 0. */
static phibal_status compare_point(comparison *c, mpq_srcptr x) {
  static const double others[3][OTHERS] = {{0.5, 0.25, 0x1p-10}, {0, 0, 0}, {0, 0, 0}};
  phibal_status status = PHIBAL_OK;
  for (int kind = 0; kind < (c->n == 1 ? 1 : 3) && !status && !c->refuted; kind++) {
    audit_points at = {0};
    status = audit_points_add(&at, x);
    for (size_t i = 1; i < c->n && !status; i++)
      status = kind == 1 ? audit_points_add(&at, x) : audit_points_add_d(&at, others[kind][i - 1]);
    if (!status) status = compare(c, &at);
    audit_points_clear(&at);
  }
  return status;
}

static phibal_status report(comparison *c, certificate *to) {
  json_t *data =
      json_pack("{s:I, s:I, s:I, s:i}", "compared", (json_int_t)c->compared, "undefined",
                (json_int_t)c->undefined, "undecided", (json_int_t)c->blunt, "bits", (int)BITS);
  if (c->refuted) {
    audit_finding *f = certificate_add(to, AUDIT_GRADIENT, AUDIT_REFUTED, data,
                                       "The gradient given is not the derivative of the value: "
                                       "their enclosures are disjoint.");
    return audit_counterexample(f, "%s", c->counterexample ? c->counterexample : "");
  }
  bool checked = c->compared > 0 && c->blunt == 0 && c->missing == 0;
  char undefined[80] = "", missing[120] = "", blunt[80] = "";
  if (c->undefined)
    snprintf(undefined, sizeof undefined, " %llu more have no derivative, and were left out.",
             (unsigned long long)c->undefined);
  if (c->missing)
    snprintf(missing, sizeof missing,
             " At %llu there is a derivative, and the gradient given has no value.",
             (unsigned long long)c->missing);
  if (c->blunt)
    snprintf(blunt, sizeof blunt, " At %llu the enclosures stayed too wide to tell.",
             (unsigned long long)c->blunt);
  audit_finding *f = certificate_add(
      to, AUDIT_GRADIENT, checked ? AUDIT_CHECKED : AUDIT_UNDECIDED, data,
      "The gradient given and the derivative of the value, both enclosed, agree to %d bits at %llu "
      "coordinates: 0, powers of two down to 2^-1074, 1/E, ties, one expert alone, both sides of "
      "where an argument changes its sign, and at random.%s%s%s",
      (int)BITS, (unsigned long long)c->compared, undefined, missing, blunt);
  return audit_added(f);
}

phibal_status audit_gradient(phi_potential *phi, const audit_request *request, certificate *c) {
  if (!phi->gradient.expression)
    return audit_added(
        certificate_add(c, AUDIT_GRADIENT, AUDIT_ABSENT, NULL,
                        "The file gives no gradient: it is derived from the value."));
  comparison k = {.phi = phi, .request = request, .n = WIDEST};
  if (phi_separable(phi) && phi->gradient.sums == 0) k.n = 1;
  audit_points points[2] = {0};
  phibal_status status = audit_points_make(phi->gradient.expression, request->parameters,
                                           request->quick ? 200 : 1000, request->seed, &points[0]);
  if (!status)
    status =
        audit_points_make(phi->value.expression, request->parameters, 0, request->seed, &points[1]);
  for (int i = 0; i < 2; i++)
    for (size_t j = 0; j < points[i].n && !status && !k.refuted; j++)
      status = compare_point(&k, points[i].x[j]);
  if (!status) status = report(&k, c);
  free(k.counterexample);
  for (int i = 0; i < 2; i++) audit_points_clear(&points[i]);
  return status;
}

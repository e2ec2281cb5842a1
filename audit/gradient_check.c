/* audit_gradient: the gradient that the file gives against differentiation of its value, by exact
   algebra and at points. */
#include "audit_points.h"
#include "domain_walk.h"
#include "enclosure_text.h"
#include "gradient.h"
#include <stdio.h>
#include <stdlib.h>

enum {
  BITS = 200,
  LEAST_PRECISION = 320,
  MOST_PRECISION = 2560,
  INSISTENT_PRECISION = 10240,
  OTHERS = 3,
  WIDEST = 1 + OTHERS
};

typedef struct comparison {
  phi_potential *phi;
  mpq_t parameter[PHI_MAX_PARAMETERS];
  mpfr_prec_t least; /* bits to begin with */
  size_t n;          /* experts of a vector: 1 if the gradient is taken coordinate by coordinate */
  uint64_t compared, undefined; /* coordinates */
  uint64_t missing;             /* the value has a derivative there, the file no gradient */
  uint64_t blunt;               /* enclosures stayed too wide */
  bool refuted;
  char *counterexample;
} comparison;

static phibal_enclosure *parameters_at(const comparison *c, mpfr_prec_t precision) {
  phibal_enclosure *at = phibal_enclosure_vector(PHI_MAX_PARAMETERS, precision);
  for (int i = 0; i < c->phi->parameters && at; i++)
    phibal_enclosure_set_q(&at[i], c->parameter[i]);
  return at;
}

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
  audit_pair pair;
  audit_pair_text(given, derived, &pair);
  char *at = audit_rational_text(x->x[e]), *where = NULL;
  for (int i = 0; i < c->phi->parameters; i++) {
    char *value = audit_rational_text(c->parameter[i]);
    audit_say(&where, "%s, %s = %s", where ? where : "", c->phi->parameter[i].name,
              value ? value : "?");
    free(value);
  }
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
  int made = asprintf(&c->counterexample,
                      "x_e = %s%s%s: the gradient given is %s, the derivative of the value %s%s",
                      at ? at : "?", others ? others : "", where ? where : "", pair.first,
                      pair.second, pair.apart);
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
  phibal_enclosure *parameters = parameters_at(c, precision);
  outcome result = UNDEFINED;
  if (x && parameters) {
    for (size_t i = 0; i < at->n; i++) phibal_enclosure_set_q(&x[i], at->x[i]);
    if (phi_gradient(c->phi, parameters, at->n, x, derived) == PHIBAL_OK)
      result = phi_given_gradient(c->phi, parameters, at->n, x, given) ? MISSING : AGREE;
    bool told = result == UNDEFINED || (result == AGREE && narrow(&given[0]));
    if (at->n == 1 && !told && gradient_given_at(c->phi, c->parameter, at->x[0], &given[0]))
      result = AGREE;
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
  phibal_enclosure *parameters = parameters_at(c, precision);
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
  const mpfr_prec_t most = c->least > MOST_PRECISION ? c->least : MOST_PRECISION;
  for (mpfr_prec_t p = c->least; p <= most && result == BLUNT; p *= 2) {
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

/* ---------- for all loads and parameters ---------- */

typedef struct proofs {
  int domains, proved; /* domains in all, and those where it is proved for loads in (0, 1) */
  bool zero, one;      /* at 0 and at 1 too */
  bool no_derivative;  /* somewhere there is none at 0 */
  char *how, *where;   /* the argument for the last domain; the domains where it is proved */
  char *why;           /* there is none for one of the domains */
} proofs;

/* A member of the range: the default, or one of a few others. */
static void choose_member(const phi_range *range, mpq_srcptr fallback, unsigned which, mpq_t at) {
  static const int tenths[] = {5, 1, 9, 3, 7, 10, 0};
  enum { TENTHS = sizeof tenths / sizeof *tenths };
  mpq_t width;
  mpq_init(width);
  mpq_set_si(at, 1L << which % 8, 1 + which % 3);
  mpq_canonicalize(at);
  if (!range->lo.infinite && !range->hi.infinite) {
    mpq_sub(width, range->hi.value, range->lo.value);
    mpq_set_si(at, tenths[which % TENTHS], 10);
    mpq_canonicalize(at);
    mpq_mul(at, at, width);
    mpq_add(at, at, range->lo.value);
  } else if (!range->lo.infinite) {
    mpq_add(at, range->lo.value, at);
  } else if (!range->hi.infinite) {
    mpq_sub(at, range->hi.value, at);
  }
  bool open_end = (!range->lo.infinite && !range->lo.closed && mpq_equal(at, range->lo.value)) ||
                  (!range->hi.infinite && !range->hi.closed && mpq_equal(at, range->hi.value));
  int lo = range->lo.infinite ? 1 : mpq_cmp(fallback, range->lo.value),
      hi = range->hi.infinite ? -1 : mpq_cmp(fallback, range->hi.value);
  bool member =
      (lo > 0 || (lo == 0 && range->lo.closed)) && (hi < 0 || (hi == 0 && range->hi.closed));
  if (member && (which == 0 || open_end)) mpq_set(at, fallback);
  if (!member && open_end) { /* the middle */
    mpq_add(at, range->lo.value, range->hi.value);
    mpq_div_2exp(at, at, 1);
  }
  mpq_clear(width);
}

/* Not proved: a point where they differ is looked for at other parameters too, and where algebra
   has found two functions to more bits than elsewhere. */
static phibal_status insist(comparison *c, const audit_domain *domain, mpfr_prec_t precision) {
  static const unsigned points[][2] = {{1, 2}, {1, 3}, {5, 7}, {1, 1000}, {99, 100}};
  enum { TRIES = 8 };
  phibal_status status = PHIBAL_OK;
  mpq_t x;
  mpq_init(x);
  comparison other = {.phi = c->phi, .n = c->n, .least = precision};
  for (int i = 0; i < c->phi->parameters; i++) mpq_init(other.parameter[i]);
  for (unsigned k = 0; k < (c->phi->parameters ? TRIES : 1) && !other.refuted && !status; k++) {
    for (int i = 0; i < c->phi->parameters; i++)
      choose_member(&domain->parameter[i], c->phi->parameter[i].fallback,
                    k ? k + 3u * (unsigned)i : 0, other.parameter[i]);
    for (size_t i = 0; i < sizeof points / sizeof *points && !other.refuted && !status; i++) {
      mpq_set_ui(x, points[i][0], points[i][1]);
      status = compare_point(&other, x);
    }
  }
  c->refuted = other.refuted;
  c->counterexample = other.counterexample;
  for (int i = 0; i < c->phi->parameters; i++) mpq_clear(other.parameter[i]);
  mpq_clear(x);
  return status;
}

static void note_domain(proofs *p, const audit_domain *domain, const gradient_proof *proof) {
  p->domains++;
  if (!proof->proved) {
    audit_say(&p->why, "%s", proof->how ? proof->how : "memory is exhausted");
    return;
  }
  p->proved++;
  p->zero = (p->zero || p->proved == 1) && proof->zero != GRADIENT_ZERO_OPEN;
  p->one = (p->one || p->proved == 1) && proof->one;
  p->no_derivative = p->no_derivative || proof->zero == GRADIENT_ZERO_NONE;
  audit_say(&p->how, "%s", proof->how ? proof->how : "");
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return;
  domain_parameters_print(out, domain);
  fclose(out);
  audit_say(&p->where, "%s%s%s", p->where ? p->where : "", p->where ? " or " : "", text);
  free(text);
}

static phibal_status prove(comparison *c, const audit_request *request, proofs *p) {
  domain_walk walk;
  phibal_status status = PHIBAL_OK;
  if (!domain_walk_start(&walk, c->phi, request)) {
    audit_say(&p->why, "a parameter is infinite");
    p->domains = 1;
  } else {
    while (!status && !c->refuted && domain_walk_next(&walk)) {
      gradient_proof proof;
      gradient_by_algebra(c->phi, &walk.domain, &proof);
      note_domain(p, &walk.domain, &proof);
      if (!proof.proved)
        status = insist(c, &walk.domain, proof.differs ? INSISTENT_PRECISION : LEAST_PRECISION);
      gradient_proof_clear(&proof);
    }
  }
  domain_walk_end(&walk);
  return status;
}

/* ---------- what is said ---------- */

static json_t *data_of(const comparison *c, const proofs *p) {
  return json_pack("{s:I, s:I, s:I, s:i, s:s*}", "compared", (json_int_t)c->compared, "undefined",
                   (json_int_t)c->undefined, "undecided", (json_int_t)c->blunt, "bits", (int)BITS,
                   "proved for", p->proved == p->domains ? p->where : NULL);
}

static phibal_status report_points(const comparison *c, const proofs *p, const char *what,
                                   certificate *to) {
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
      to, AUDIT_GRADIENT, checked ? AUDIT_CHECKED : AUDIT_UNDECIDED, data_of(c, p),
      "%sThe gradient given and the derivative of the value, both enclosed, agree to %d bits at "
      "%llu coordinates: 0, powers of two down to 2^-1074, 1/E, ties, one expert alone, both sides "
      "of where an argument changes its sign, and at random.%s%s%s%s%s%s",
      what, (int)BITS, (unsigned long long)c->compared, undefined, missing, blunt,
      p->why ? " Not proved: " : "", p->why ? p->why : "", p->why ? "." : "");
  return audit_added(f);
}

static phibal_status report(const comparison *c, const proofs *p, certificate *to) {
  static const char *const intervals[2][2] = {{"(0, 1)", "(0, 1]"}, {"[0, 1)", "[0, 1]"}};
  if (c->refuted) {
    audit_finding *f = certificate_add(to, AUDIT_GRADIENT, AUDIT_REFUTED, data_of(c, p),
                                       "The gradient given is not the derivative of the value: "
                                       "their enclosures are disjoint.");
    return audit_counterexample(f, "%s", c->counterexample ? c->counterexample : "");
  }
  if (p->proved < p->domains) return report_points(c, p, "", to);
  audit_finding *f = certificate_add(
      to, AUDIT_GRADIENT, AUDIT_PROVED, data_of(c, p),
      "for all loads in %s%s%s, and any number of experts: %s%s; compared at %llu coordinates "
      "besides, to %d bits",
      intervals[p->zero][p->one], p->where && *p->where ? ", " : "", p->where ? p->where : "",
      p->how ? p->how : "",
      p->zero && p->no_derivative ? "; where that is infinite at a load of 0, there is no gradient"
                                  : "",
      (unsigned long long)c->compared, (int)BITS);
  phibal_status status = audit_added(f);
  if (status || (p->zero && p->one && c->missing == 0)) return status;
  return report_points(c, p,
                       p->zero  ? "At a load of 1 it is compared only. "
                       : p->one ? "At a load of 0 it is compared only. "
                                : "At loads of 0 and 1 it is compared only. ",
                       to);
}

/* ---------- together ---------- */

static phibal_status compare_points(comparison *c, const audit_request *request) {
  audit_points points[2] = {0};
  phibal_enclosure *parameters = parameters_at(c, LEAST_PRECISION);
  if (!parameters) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for parameters");
  phibal_status status = audit_points_make(c->phi->gradient.expression, parameters,
                                           request->quick ? 200 : 1000, request->seed, &points[0]);
  if (!status)
    status = audit_points_make(c->phi->value.expression, parameters, 0, request->seed, &points[1]);
  for (int i = 0; i < 2; i++)
    for (size_t j = 0; j < points[i].n && !status && !c->refuted; j++)
      status = compare_point(c, points[i].x[j]);
  for (int i = 0; i < 2; i++) audit_points_clear(&points[i]);
  phibal_enclosure_vector_clear(parameters, PHI_MAX_PARAMETERS);
  return status;
}

/* The default if it was asked about; an end that is a number where not. */
static bool set_parameters(comparison *c, const audit_request *request) {
  bool finite = true;
  for (int i = 0; i < c->phi->parameters; i++) {
    const phibal_enclosure *asked = &request->parameters[i];
    mpq_srcptr fallback = c->phi->parameter[i].fallback;
    mpq_init(c->parameter[i]);
    if (mpfr_cmp_q(asked->lo, fallback) <= 0 && mpfr_cmp_q(asked->hi, fallback) >= 0)
      mpq_set(c->parameter[i], fallback);
    else if (mpfr_number_p(asked->lo) || mpfr_number_p(asked->hi))
      mpfr_get_q(c->parameter[i], mpfr_number_p(asked->lo) ? asked->lo : asked->hi);
    else
      finite = false;
  }
  return finite;
}

phibal_status audit_gradient(phi_potential *phi, const audit_request *request, certificate *c) {
  if (!phi->gradient.expression)
    return audit_added(
        certificate_add(c, AUDIT_GRADIENT, AUDIT_ABSENT, NULL,
                        "The file gives no gradient: it is derived from the value."));
  comparison k = {.phi = phi, .n = WIDEST, .least = LEAST_PRECISION};
  proofs p = {.domains = 0};
  if (phi_separable(phi) && phi->gradient.sums == 0) k.n = 1;
  phibal_status status = PHIBAL_OK;
  if (!set_parameters(&k, request)) {
    status = audit_added(certificate_add(
        c, AUDIT_GRADIENT, AUDIT_UNDECIDED, NULL,
        "a parameter is infinite: phi is its limit, whose derivative was not compared"));
  } else {
    status = compare_points(&k, request);
    if (!status && !k.refuted) status = prove(&k, request, &p);
    if (!status) status = report(&k, &p, c);
  }
  for (int i = 0; i < phi->parameters; i++) mpq_clear(k.parameter[i]);
  free(k.counterexample);
  free(p.how);
  free(p.where);
  free(p.why);
  return status;
}

void gradient_proof_clear(gradient_proof *proof) {
  free(proof->how);
}

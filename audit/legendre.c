/* The boundary, the range of the gradient, and whether the mirror step is the moving average.

   Lemma 2 is proved in proofs/coq/Mirror.v (mirror_ascent_is_ema) for Legendre pairs: a gradient
   that is a bijection of an open set X^E onto an open set. For states in X^E it needs nothing else.

   Where that is not so, there is a weaker statement, for phi restricted to the simplex: let phi be
   differentiable and strictly convex on the open simplex, phi_s = phi there, its limits on the
   boundary, and +inf elsewhere. The simplex is compact, so phi_s* is finite and, the maximum being
   attained at one point only, differentiable everywhere, its gradient that point. For q0 = grad
   phi(m0) and q1 = grad phi(m1) at points of the open simplex, grad phi_s*(q0) = m0 and
   grad phi_s*(q1) = m1, as these satisfy the first-order condition. The mirror objective is concave
   and its gradient at q is p - m0 - (grad phi_s*(q) - m0)/eta: 0 exactly where grad phi_s*(q) =
   (1 - eta) m0 + eta p, so at q1 for m1 the moving average. Any two such q differ by a multiple of
   (1, .., 1), which no router sees. */
#include "legendre.h"
#include "convexity_internal.h"
#include "domain_walk.h"
#include <stdlib.h>

enum { PRECISION = 128, DIGITS = 12 };

void legendre_proof_init(legendre_proof *proof) {
  *proof = (legendre_proof){.set = LEGENDRE_NONE};
  legendre_end *ends[] = {&proof->at_zero, &proof->at_one, &proof->lo, &proof->hi};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    phibal_enclosure_init(&ends[i]->value, PRECISION);
}

void legendre_proof_clear(legendre_proof *proof) {
  legendre_end *ends[] = {&proof->at_zero, &proof->at_one, &proof->lo, &proof->hi};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    phibal_enclosure_clear(&ends[i]->value);
    free(ends[i]->text);
  }
  free(proof->slope);
  free(proof->how);
}

/* "-1/(alpha-1)", or its enclosure with it */
static json_t *end_json(const legendre_end *end) {
  if (!end->enclosed) return json_pack("{s:s?}", "value", end->text);
  char lo[PHIBAL_DECIMAL_SIZE(DIGITS)], hi[PHIBAL_DECIMAL_SIZE(DIGITS)];
  phibal_enclosure_get_decimal(&end->value, DIGITS, lo, hi, sizeof lo);
  return json_pack("{s:s?, s:[s, s]}", "value", end->text, "enclosure", lo, hi);
}

static const char *text_of(const legendre_end *end) {
  return end->text ? end->text : "?";
}

static char *where_of(const audit_domain *domain) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  if (domain->parameters) fputs("for ", out);
  domain_parameters_print(out, domain);
  if (domain->parameters) fputs(": ", out);
  fclose(out);
  return text;
}

static phibal_status report_boundary(const legendre_proof *p, bool separable, const char *where,
                                     certificate *c) {
  if (!separable && p->at_zero.kind != END_UNKNOWN)
    return audit_added(certificate_add(
        c, AUDIT_BOUNDARY, AUDIT_PROVED, json_pack("{s:s?}", "component", p->at_zero.text),
        "%sas one share goes to 0 and the others stay, its component of the gradient %s%s", where,
        p->at_zero.kind == END_FINITE ? "stays finite" : "tends to ",
        p->at_zero.kind == END_FINITE ? "" : text_of(&p->at_zero)));
  if (!separable)
    return audit_added(
        certificate_add(c, AUDIT_BOUNDARY, AUDIT_UNDECIDED, NULL,
                        "%sphi is neither separable nor a function of one sum of positive "
                        "terms: the gradient near the boundary was not examined",
                        where));
  bool both = p->at_zero.kind != END_UNKNOWN && p->at_one.kind != END_UNKNOWN;
  if (!both)
    return audit_added(certificate_add(
        c, AUDIT_BOUNDARY, AUDIT_UNDECIDED, NULL,
        "%sthe limit of psi' at 0 %s%s, the one at 1 %s%s", where,
        p->at_zero.text ? "is " : "was not found", p->at_zero.text ? p->at_zero.text : "",
        p->at_one.text ? "is " : "was not found", p->at_one.text ? p->at_one.text : ""));
  json_t *data = json_pack("{s:o, s:o, s:s?}", "psi'(0+)", end_json(&p->at_zero), "psi'(1-)",
                           end_json(&p->at_one), "psi'", p->slope);
  return audit_added(certificate_add(c, AUDIT_BOUNDARY, AUDIT_PROVED, data,
                                     "%spsi' = %s tends to %s as a share goes to 0%s, and "
                                     "to %s as it goes to 1",
                                     where, p->slope ? p->slope : "?", text_of(&p->at_zero),
                                     p->at_zero.kind == END_FINITE
                                         ? ", where the price of an unused expert is finite"
                                         : ": the price of an expert without load is infinite",
                                     text_of(&p->at_one)));
}

static phibal_status report_range(const legendre_proof *p, const char *where, certificate *c) {
  static const char *const sets[] = {
      [LEGENDRE_LINE] = "(-inf, inf)", [LEGENDRE_HALF] = "(0, inf)", [LEGENDRE_UNIT] = "(0, 1)"};
  if (p->set == LEGENDRE_ORTHANT)
    return audit_added(certificate_add(c, AUDIT_DUAL_DOMAIN, AUDIT_PROVED,
                                       json_pack("{s:s, s:s}", "lo", p->orthant > 0 ? "0" : "-inf",
                                                 "hi", p->orthant > 0 ? "inf" : "0"),
                                       "%s%s", where, p->how ? p->how : ""));
  if (p->set == LEGENDRE_NONE || p->lo.kind == END_UNKNOWN || p->hi.kind == END_UNKNOWN)
    return audit_added(certificate_add(c, AUDIT_DUAL_DOMAIN, AUDIT_UNDECIDED, NULL, "%s%s", where,
                                       p->set == LEGENDRE_NONE && p->how
                                           ? p->how
                                           : "the limits of psi' at the ends were not both found"));
  json_t *data =
      json_pack("{s:s, s:o, s:o, s:b, s:b}", "domain of psi", sets[p->set], "lo", end_json(&p->lo),
                "hi", end_json(&p->hi), "lo closed", 0, "hi closed", 0);
  return audit_added(certificate_add(
      c, AUDIT_DUAL_DOMAIN, AUDIT_PROVED, data,
      "%sfor x in %s psi' increases strictly, and its limits at the ends are %s and %s: every "
      "component of the gradient has the open range (%s, %s)%s",
      where, sets[p->set], text_of(&p->lo), text_of(&p->hi), text_of(&p->lo), text_of(&p->hi),
      p->set == LEGENDRE_UNIT
          ? "; beyond (0, 1) psi is not proved to be defined and strictly convex"
      : p->set == LEGENDRE_HALF
          ? "; for x < 0 psi is not proved to be defined and strictly convex, or to go on smoothly"
          : ""));
}

/* On the simplex alone. */
static phibal_status report_restricted(phi_potential *phi, const expression *psi,
                                       const audit_request *request, const audit_domain *domain,
                                       const legendre_proof *p, double deadline, const char *where,
                                       certificate *c) {
  convexity_search s = {.phi = phi,
                        .psi = psi,
                        .least = request->least_experts,
                        .most = request->most_experts,
                        .deadline = deadline};
  for (int i = 0; i < phi->parameters; i++) s.names[i] = phi->parameter[i].name;
  bool convex = convexity_search_run(&s, domain) == PIECE_PROVED, strict = convex && s.all_smooth;
  bool constant = s.counterexample.found && s.proof.constant;
  phibal_status status;
  if (strict) {
    status = audit_added(certificate_add(
        c, AUDIT_MIRROR, AUDIT_PROVED, NULL,
        "%sfor phi restricted to the simplex, states with positive entries, and prices up to a "
        "constant common to all experts: by strict convexity there%s%s",
        where, p->how ? "; beyond the simplex not, as " : "", p->how ? p->how : ""));
  } else if (constant) {
    audit_finding *f =
        certificate_add(c, AUDIT_MIRROR, AUDIT_REFUTED, NULL,
                        "%sthe gradient is the same at all loads, up to a constant common to all "
                        "experts, so that a price does not determine the state",
                        where);
    status = audit_added(f);
    if (status == PHIBAL_OK) status = audit_counterexample(f, "%s", s.counterexample.text);
  } else if (convex) {
    status = audit_added(
        certificate_add(c, AUDIT_MIRROR, AUDIT_UNDECIDED, NULL,
                        "%sphi is strictly convex, but not proved to be differentiable", where));
  } else {
    status = audit_added(
        certificate_add(c, AUDIT_MIRROR, AUDIT_UNDECIDED, NULL,
                        "%sstrict convexity, which the equivalence rests on, is not "
                        "proved here%s%s",
                        where, s.proof.how ? ": " : "", s.proof.how ? s.proof.how : ""));
  }
  convexity_search_clear(&s);
  return status;
}

static phibal_status report_mirror(const legendre_proof *p, const char *where, certificate *c) {
  static const char *const lemma =
      "by Lemma 2 (proofs/coq/Mirror.v, mirror_ascent_is_ema) for the Legendre pair that phi is on";
  if (p->set == LEGENDRE_LINE)
    return audit_added(certificate_add(c, AUDIT_MIRROR, AUDIT_PROVED, NULL,
                                       "%s%s R^E: for every state and every load", where, lemma));
  return audit_added(certificate_add(
      c, AUDIT_MIRROR, AUDIT_PROVED, NULL,
      "%s%s %s: for every state with positive entries, as long as eta < 1 or no load is 0, so that "
      "the average has positive entries too",
      where, lemma, p->set == LEGENDRE_UNIT ? "(0, 1)^E" : "x > 0"));
}

static void prove(phi_potential *phi, const expression *psi, const audit_domain *domain,
                  legendre_proof *p) {
  legendre_proof_init(p);
  if (phi->value.conditions)
    audit_say(&p->how, "the value has a condition, which was not examined");
  else
    legendre_by_algebra(phi, psi, domain, p);
}

/* How many limits were not found. */
static int count_unknown(const legendre_proof *p, bool separable) {
  int unknown = p->at_zero.kind == END_UNKNOWN;
  if (!separable) return unknown;
  unknown += p->at_one.kind == END_UNKNOWN;
  if (p->set == LEGENDRE_NONE || p->set == LEGENDRE_ORTHANT) return unknown;
  return unknown + (p->lo.kind == END_UNKNOWN) + (p->hi.kind == END_UNKNOWN);
}

/* End number `end` of the parameters' ranges, two for each: where it belongs to a range that has
   more than it, the domain at this end alone, and the domain without it. */
static bool part_at(const audit_domain *domain, int end, audit_domain *at, audit_domain *rest) {
  const phi_range *range = &domain->parameter[end / 2];
  const phi_end *cut = end % 2 ? &range->hi : &range->lo;
  if (cut->infinite || !cut->closed ||
      (!range->lo.infinite && !range->hi.infinite && mpq_equal(range->lo.value, range->hi.value)))
    return false;
  domain_copy(at, domain);
  domain_copy(rest, domain);
  domain_end_set(end % 2 ? &at->parameter[end / 2].lo : &at->parameter[end / 2].hi, cut);
  (end % 2 ? &rest->parameter[end / 2].hi : &rest->parameter[end / 2].lo)->closed = false;
  return true;
}

/* The end of a parameter's range without which the most limits are found, of fewer than `unknown`
   that are not; -1: there is none. */
static int choose_end(phi_potential *phi, const expression *psi, const audit_domain *domain,
                      int unknown) {
  int best = -1;
  audit_domain at, rest;
  domain_init(&at);
  domain_init(&rest);
  for (int end = 0; end < 2 * domain->parameters && unknown > 0; end++) {
    if (!part_at(domain, end, &at, &rest)) continue;
    legendre_proof p;
    prove(phi, psi, &rest, &p);
    int left = count_unknown(&p, psi != NULL);
    if (left < unknown) best = end, unknown = left;
    legendre_proof_clear(&p);
  }
  domain_clear(&at);
  domain_clear(&rest);
  return best;
}

/* The boundary and the range of the gradient. What differs between the ends of the parameters'
   ranges and the rest, as between 0 and what is above it, is said of each by itself; `cuts` more
   times. */
static phibal_status report_limits(phi_potential *phi, const expression *psi,
                                   const audit_domain *domain, int cuts, certificate *c) {
  legendre_proof p;
  prove(phi, psi, domain, &p);
  phibal_status status = PHIBAL_OK;
  int end = cuts > 0 ? choose_end(phi, psi, domain, count_unknown(&p, psi != NULL)) : -1;
  if (end >= 0) {
    audit_domain at, rest;
    domain_init(&at);
    domain_init(&rest);
    part_at(domain, end, &at, &rest);
    status = report_limits(phi, psi, &rest, cuts - 1, c);
    if (status == PHIBAL_OK) status = report_limits(phi, psi, &at, cuts - 1, c);
    domain_clear(&at);
    domain_clear(&rest);
  } else {
    char *where = where_of(domain);
    status = report_boundary(&p, psi != NULL, where ? where : "", c);
    if (status == PHIBAL_OK) status = report_range(&p, where ? where : "", c);
    free(where);
  }
  legendre_proof_clear(&p);
  return status;
}

static phibal_status one_domain(phi_potential *phi, const expression *psi,
                                const audit_request *request, const audit_domain *domain,
                                double deadline, certificate *c) {
  enum { MOST_CUTS = 3 };
  phibal_status status = report_limits(phi, psi, domain, MOST_CUTS, c);
  if (status != PHIBAL_OK) return status;
  legendre_proof p;
  prove(phi, psi, domain, &p);
  char *where = where_of(domain);
  const char *at = where ? where : "";
  status = p.set == LEGENDRE_NONE
               ? report_restricted(phi, psi, request, domain, &p, deadline, at, c)
               : report_mirror(&p, at, c);
  free(where);
  legendre_proof_clear(&p);
  return status;
}

phibal_status audit_legendre(phi_potential *phi, const audit_request *request, certificate *c) {
  static const audit_claim claims[] = {AUDIT_BOUNDARY, AUDIT_DUAL_DOMAIN, AUDIT_MIRROR};
  double deadline = audit_clock() + request->seconds;
  const expression *psi = phi_separable(phi);
  phibal_status status = PHIBAL_OK;
  domain_walk walk;
  if (!domain_walk_start(&walk, phi, request)) {
    for (size_t i = 0; status == PHIBAL_OK && i < sizeof claims / sizeof *claims; i++)
      status = audit_added(certificate_add(c, claims[i], AUDIT_UNDECIDED, NULL,
                                           "a parameter is infinite: phi is its limit"));
    domain_walk_end(&walk);
    return status;
  }
  while (status == PHIBAL_OK && domain_walk_next(&walk))
    status = one_domain(phi, psi, request, &walk.domain, deadline, c);
  domain_walk_end(&walk);
  return status;
}

/* Symmetric, differentiable, strictly convex, uniform as the unique minimiser. */
#include "convexity_internal.h"
#include "domain_walk.h"
#include "kink.h"
#include <stdlib.h>

enum { PRECISION = 192 };

static char *printed(void (*print)(FILE *, const void *), const void *what) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  print(out, what);
  fclose(out);
  return text;
}

static void print_domain(FILE *out, const void *what) {
  const audit_domain *domain = what;
  fprintf(out, "for x in (0, 1)%s", domain->parameters ? ", " : "");
  domain_parameters_print(out, domain);
  fputs(", ", out);
  domain_named_print(out, "E", &domain->experts);
}

static void print_pieces(FILE *out, const void *what) {
  const convexity_search *s = what;
  fputs("; strictly convex, proved, for ", out);
  convexity_search_print(out, s, PIECE_PROVED);
}

static int count(const convexity_search *s, piece_verdict verdict) {
  int n = 0;
  for (int i = 0; i < s->pieces; i++) n += s->piece[i].verdict == verdict;
  return n;
}

static json_t *pieces_json(const convexity_search *s, piece_verdict verdict) {
  json_t *array = json_array();
  for (int i = 0; i < s->pieces; i++)
    if (s->piece[i].verdict == verdict)
      json_array_append_new(array, domain_parameters_json(&s->piece[i].domain));
  return array;
}

static json_t *data(const convexity_search *s, const audit_domain *domain) {
  json_t *object = json_pack("{s:o, s:b, s:I}", "parameters", domain_parameters_json(domain),
                             "separable", s->psi != NULL, "boxes", (json_int_t)s->proof.boxes);
  if (object && s->pieces > 1) {
    json_object_set_new(object, "proved for", pieces_json(s, PIECE_PROVED));
    json_object_set_new(object, "not proved for", pieces_json(s, PIECE_OPEN));
    json_object_set_new(object, "refuted for", pieces_json(s, PIECE_REFUTED));
  }
  if (object && s->counterexample.data)
    json_object_set(object, "counterexample", s->counterexample.data);
  return object;
}

static phibal_status report_convexity(const convexity_search *s, const audit_domain *domain,
                                      piece_verdict verdict, certificate *c) {
  static const audit_verdict names[] = {[PIECE_PROVED] = AUDIT_PROVED,
                                        [PIECE_REFUTED] = AUDIT_REFUTED,
                                        [PIECE_OPEN] = AUDIT_UNDECIDED};
  char *where = printed(print_domain, domain),
       *pieces = count(s, PIECE_PROVED) && s->pieces > 1 ? printed(print_pieces, s) : NULL;
  audit_finding *f =
      certificate_add(c, AUDIT_CONVEX, names[verdict], data(s, domain), "%s: %s%s%s",
                      where ? where : "", s->proof.how ? s->proof.how : "no argument was found",
                      verdict == PIECE_PROVED && !s->psi
                          ? "; on the open simplex (on its boundary phi is the limit, and convex)"
                      : verdict == PIECE_PROVED ? " (an entry of 0 by the limit of psi there)"
                                                : "",
                      pieces ? pieces : "");
  phibal_status status = audit_added(f);
  if (status == PHIBAL_OK && s->counterexample.text)
    status = audit_counterexample(f, "%s", s->counterexample.text);
  free(where);
  free(pieces);
  return status;
}

/* lower: a point with a value not above that of uniform loads, or null */
static phibal_status report_minimiser(piece_verdict verdict, const char *lower, certificate *c) {
  if (verdict == PIECE_PROVED)
    return audit_added(certificate_add(
        c, AUDIT_MINIMISER, AUDIT_PROVED, NULL,
        "by Lemma 1 (proofs/coq/Uniform.v, uniform_unique_minimiser_symmetric): symmetric and "
        "strictly convex on the open simplex, and convex up to its boundary"));
  if (lower) {
    audit_finding *f =
        certificate_add(c, AUDIT_MINIMISER, AUDIT_REFUTED, NULL,
                        "other loads have a value that is not above that of uniform ones");
    phibal_status status = audit_added(f);
    return status == PHIBAL_OK ? audit_counterexample(f, "%s", lower) : status;
  }
  return audit_added(certificate_add(c, AUDIT_MINIMISER, AUDIT_UNDECIDED, NULL,
                                     "Lemma 1 asks for strict convexity, which is %s",
                                     verdict == PIECE_REFUTED ? "refuted" : "undecided"));
}

static phibal_status report_smooth(phi_potential *phi, const convexity_search *s,
                                   const audit_domain *domain, certificate *c) {
  if (s->all_smooth) {
    char *where = printed(print_domain, domain);
    audit_finding *f =
        certificate_add(c, AUDIT_DIFFERENTIABLE, AUDIT_PROVED, NULL,
                        "%s: every term is defined, and is differentiated %s", where ? where : "",
                        s->proof.analytic ? "as often as one likes, by exact algebra"
                                          : "twice in enclosures on boxes that cover it");
    free(where);
    return audit_added(f);
  }
  char *where_not = s->psi ? kink_refute(phi, s->psi, domain) : NULL;
  audit_finding *f =
      where_not
          ? certificate_add(c, AUDIT_DIFFERENTIABLE, AUDIT_REFUTED, NULL,
                            "one-sided derivatives differ where a term has its kink")
          : certificate_add(c, AUDIT_DIFFERENTIABLE, AUDIT_UNDECIDED, NULL,
                            "not proved on all of (0, 1): %s", s->proof.how ? s->proof.how : "");
  phibal_status status = audit_added(f);
  if (status == PHIBAL_OK && where_not) status = audit_counterexample(f, "%s", where_not);
  free(where_not);
  return status;
}

static phibal_status one_domain(phi_potential *phi, const expression *psi,
                                const audit_request *request, const audit_domain *domain,
                                double deadline, certificate *c) {
  convexity_search s = {.phi = phi,
                        .psi = psi,
                        .least = request->least_experts,
                        .most = request->most_experts,
                        .deadline = deadline,
                        .divide = true};
  for (int i = 0; i < phi->parameters; i++) s.names[i] = phi->parameter[i].name;
  piece_verdict verdict = convexity_search_run(&s, domain);
  phibal_status status = report_smooth(phi, &s, domain, c);
  if (status == PHIBAL_OK) status = report_convexity(&s, domain, verdict, c);
  if (status == PHIBAL_OK) status = report_minimiser(verdict, s.counterexample.lower, c);
  convexity_search_clear(&s);
  return status;
}

/* Parameters at infinity are limits: nothing is proved there, but a counterexample counts. */
static phibal_status at_infinity(phi_potential *phi, const audit_request *request, double deadline,
                                 certificate *c) {
  const char *names[PHI_MAX_PARAMETERS];
  for (int i = 0; i < phi->parameters; i++) names[i] = phi->parameter[i].name;
  convexity_counterexample found;
  convexity_refute(phi, request->parameters, names, request->least_experts, request->most_experts,
                   0, true, deadline, &found);
  audit_finding *f = certificate_add(
      c, AUDIT_CONVEX, found.found ? AUDIT_REFUTED : AUDIT_UNDECIDED,
      found.data ? json_pack("{s:O}", "counterexample", found.data) : NULL,
      "a parameter is infinite: phi is its limit, of which nothing can be proved here%s",
      found.found ? ", but a counterexample is one" : "");
  phibal_status status = audit_added(f);
  if (status == PHIBAL_OK && found.text) status = audit_counterexample(f, "%s", found.text);
  if (status == PHIBAL_OK)
    status = audit_added(certificate_add(c, AUDIT_DIFFERENTIABLE, AUDIT_UNDECIDED, NULL,
                                         "a parameter is infinite: phi is its limit"));
  if (status == PHIBAL_OK)
    status = report_minimiser(found.found ? PIECE_REFUTED : PIECE_OPEN, found.lower, c);
  convexity_counterexample_clear(&found);
  return status;
}

phibal_status audit_convexity(phi_potential *phi, const audit_request *request, certificate *c) {
  double deadline = audit_clock() + request->seconds;
  phibal_status status = audit_added(certificate_add(
      c, AUDIT_SYMMETRIC, AUDIT_PROVED, NULL,
      "by the form of the language: a function of sums over the experts of one and the same term"));
  const expression *psi = phi_separable(phi);
  domain_walk walk;
  bool finite = domain_walk_start(&walk, phi, request);
  if (status == PHIBAL_OK && !finite) status = at_infinity(phi, request, deadline, c);
  while (finite && status == PHIBAL_OK && domain_walk_next(&walk))
    status = one_domain(phi, psi, request, &walk.domain, deadline, c);
  domain_walk_end(&walk);
  return status;
}

/* First the whole box, by algebra and by boxes in x; then a counterexample at some parameters in
   it; then halves. A counterexample anywhere refutes the whole, but the division goes on for a
   while, to say where the potential is convex after all. */
#include "convexity_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 192, DEEPEST = 7, BOXES = 6000, BOXES_OF_PIECE = 300 };

void convexity_proof_clear(convexity_proof *proof) {
  free(proof->how);
  *proof = (convexity_proof){.boxes = 0};
}

void convexity_search_clear(convexity_search *s) {
  convexity_proof_clear(&s->proof);
  convexity_proof_clear(&s->whole);
  convexity_counterexample_clear(&s->counterexample);
  for (int i = 0; i < s->pieces; i++) domain_clear(&s->piece[i].domain);
  s->pieces = 0;
}

/* ---------- proofs ---------- */

/* Takes a proof in, if it is one. */
static bool replace(convexity_search *s, convexity_proof *found) {
  if (!found->strict) {
    convexity_proof_clear(found);
    return false;
  }
  convexity_proof_clear(&s->proof);
  s->proof = *found;
  return true;
}

static bool prove(convexity_search *s, const audit_domain *domain, long most) {
  convexity_proof_clear(&s->proof);
  convexity_by_algebra(s->phi, s->psi, domain, &s->proof);
  if (s->proof.strict || s->proof.constant) return s->proof.strict;
  convexity_proof boxes;
  const expression *value = s->phi->value.expression;
  if (!s->proof.analytic &&
      (expression_holds(value, EXPRESSION_ABS) || expression_holds(value, EXPRESSION_MAX))) {
    if (s->psi) {
      convexity_by_pieces(s->phi, s->psi, domain, s->deadline, &boxes);
      if (replace(s, &boxes)) return true;
    }
    convexity_by_composition(s->phi, domain, &boxes);
    if (replace(s, &boxes)) return true;
  }
  if (!s->psi) return false;
  convexity_by_boxes(s->phi, s->psi, domain, s->deadline, most, &boxes);
  boxes.smooth = boxes.smooth || s->proof.smooth;
  boxes.analytic = s->proof.analytic;
  char *both = NULL;
  if (!boxes.strict && s->proof.how && boxes.how &&
      asprintf(&both, "%s; %s", s->proof.how, boxes.how) >= 0) {
    free(boxes.how);
    boxes.how = both;
  }
  convexity_proof_clear(&s->proof);
  s->proof = boxes;
  return s->proof.strict;
}

/* ---------- counterexamples ---------- */

enum { FIRST = 0, MIDDLE = 4, LAST = 8 };

/* A rational in the range: its ends, and short numbers between, by `which` from FIRST to LAST;
   false where there is none. */
static bool inside(const phi_range *r, int which, mpq_t value) {
  static const double far[] = {0, 1e-6, 0.03125, 0.25, 0.5, 0.75, 0.96875, 1 - 1e-6, 1};
  double lo = r->lo.infinite ? -64 : mpq_get_d(r->lo.value),
         hi = r->hi.infinite ? 64 : mpq_get_d(r->hi.value);
  if (r->lo.infinite && !r->hi.infinite) lo = hi - 64;
  if (r->hi.infinite && !r->lo.infinite) hi = lo + 64;
  if (which == FIRST && (r->lo.infinite || !r->lo.closed)) return false;
  if (which == LAST && (r->hi.infinite || !r->hi.closed)) return false;
  double v = lo + (hi - lo) * far[which],
         grid = ldexp(hi - lo, which == FIRST + 1 || which == LAST - 1 ? -24 : -6);
  if (grid > 0) {
    grid = ldexp(1, ilogb(grid));
    v = round(v / grid) * grid;
  }
  mpq_set_d(value, v);
  if (which == FIRST) mpq_set(value, r->lo.value);
  if (which == LAST) mpq_set(value, r->hi.value);
  bool above = r->lo.infinite || mpq_cmp(value, r->lo.value) > 0 ||
               (r->lo.closed && mpq_equal(value, r->lo.value));
  bool below = r->hi.infinite || mpq_cmp(value, r->hi.value) < 0 ||
               (r->hi.closed && mpq_equal(value, r->hi.value));
  return above && below;
}

static bool refute_at(convexity_search *s, const audit_domain *domain, int which, double hint,
                      bool many) {
  phibal_enclosure *p = phibal_enclosure_vector((size_t)(domain->parameters + 1), PRECISION);
  mpq_t value;
  mpq_init(value);
  bool possible = p != NULL;
  for (int i = 0; possible && i < domain->parameters; i++) {
    possible = inside(&domain->parameter[i], which, value);
    phibal_enclosure_set_q(&p[i], value);
  }
  double lo = s->proof.constant ? 0 : s->proof.flat_lo,
         hi = s->proof.constant ? 1 : s->proof.flat_hi;
  if (possible)
    convexity_refute(s->phi, p, s->names, s->least, s->most, hint, many, s->deadline,
                     &s->counterexample);
  if (possible && !s->counterexample.found && lo < hi)
    convexity_refute_flat(s->phi, p, s->names, s->least, s->most, lo, hi, &s->counterexample);
  mpq_clear(value);
  phibal_enclosure_vector_clear(p, (size_t)(domain->parameters + 1));
  return s->counterexample.found;
}

static bool refute(convexity_search *s, const audit_domain *domain, double hint) {
  static const int order[] = {MIDDLE, FIRST, LAST, 3, 5, 2, 6, 1, 7};
  if (s->counterexample.found) return false;
  for (int many = 0; many < 2; many++)
    for (size_t i = 0; i < (domain->parameters ? sizeof order / sizeof *order : 1); i++)
      if (refute_at(s, domain, order[i], hint, many)) return true;
  return false;
}

/* ---------- division ---------- */

/* Where a range is cut: in the middle, or far out; false for a point. */
static bool cut(const phi_range *r, mpq_t at) {
  mpq_t one;
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  bool good = true;
  if (r->lo.infinite && r->hi.infinite) {
    mpq_set_ui(at, 0, 1);
  } else if (r->lo.infinite || r->hi.infinite) { /* away from the end, doubling */
    const phi_end *end = r->lo.infinite ? &r->hi : &r->lo;
    mpq_abs(at, end->value);
    if (mpq_cmp(at, one) < 0) mpq_set(at, one);
    if (r->lo.infinite) mpq_neg(at, at);
    mpq_add(at, at, end->value);
  } else {
    good = mpq_cmp(r->lo.value, r->hi.value) < 0;
    mpq_add(at, r->lo.value, r->hi.value);
    mpq_div_2exp(at, at, 1);
  }
  mpq_clear(one);
  return good;
}

static void keep(convexity_search *s, const audit_domain *domain, piece_verdict verdict) {
  if (s->pieces == SEARCH_PIECES) return;
  search_piece *p = &s->piece[s->pieces++];
  p->verdict = verdict;
  domain_init(&p->domain);
  domain_copy(&p->domain, domain);
}

/* The parameters are cut in turn. */
static int next_cut(const audit_domain *domain, int depth, mpq_t at) {
  for (int i = 0; i < domain->parameters; i++) {
    int k = (depth + i) % domain->parameters;
    if (cut(&domain->parameter[k], at)) return k;
  }
  return -1;
}

static piece_verdict worse(piece_verdict a, piece_verdict b) {
  if (a == PIECE_REFUTED || b == PIECE_REFUTED) return PIECE_REFUTED;
  return a == PIECE_OPEN || b == PIECE_OPEN ? PIECE_OPEN : PIECE_PROVED;
}

/* psi''(u) < 0 for an u <= 1/2 and all parameters of the piece: with two shares of u, three experts
   make a direction of negative curvature. */
static bool everywhere_concave(const convexity_search *s) {
  return s->proof.constant || (s->proof.negative && s->proof.doubt <= 0.5 && s->most >= 3);
}

static piece_verdict explore(convexity_search *s, const audit_domain *domain, int depth) {
  if (prove(s, domain, depth ? BOXES_OF_PIECE : BOXES)) {
    keep(s, domain, PIECE_PROVED);
    if (!s->proof.smooth) s->all_smooth = false;
    return PIECE_PROVED;
  }
  bool smooth = s->proof.smooth;
  /* a counterexample for a part is one for the whole: one is enough */
  bool refuted = refute(s, domain, s->proof.doubt);
  piece_verdict verdict = refuted || everywhere_concave(s) ? PIECE_REFUTED : PIECE_OPEN;
  if (depth == 0) s->whole = s->proof, s->proof = (convexity_proof){.boxes = 0};
  mpq_t at;
  mpq_init(at);
  int k = depth < DEEPEST && s->divide && s->pieces < SEARCH_PIECES - 2 &&
                  audit_clock() < s->deadline && (verdict == PIECE_OPEN || refuted)
              ? next_cut(domain, depth, at)
              : -1;
  if (k < 0) {
    keep(s, domain, verdict);
    if (!smooth) s->all_smooth = false;
  } else {
    audit_domain half;
    domain_init(&half);
    domain_copy(&half, domain);
    mpq_set(half.parameter[k].hi.value, at);
    half.parameter[k].hi.infinite = 0;
    half.parameter[k].hi.closed = true;
    piece_verdict low = explore(s, &half, depth + 1);
    domain_copy(&half, domain);
    mpq_set(half.parameter[k].lo.value, at);
    half.parameter[k].lo.infinite = 0;
    half.parameter[k].lo.closed = true;
    verdict = refuted ? PIECE_REFUTED : PIECE_PROVED;
    verdict = worse(verdict, worse(low, explore(s, &half, depth + 1)));
    domain_clear(&half);
  }
  mpq_clear(at);
  return verdict;
}

piece_verdict convexity_search_run(convexity_search *s, const audit_domain *domain) {
  s->all_smooth = true;
  piece_verdict verdict = explore(s, domain, 0);
  if (s->whole.smooth) s->all_smooth = true;
  if (s->whole.how && verdict != PIECE_PROVED) { /* why the whole was not proved says most */
    convexity_proof last = s->proof;
    s->proof = s->whole;
    s->whole = last;
  }
  if (s->counterexample.found) return PIECE_REFUTED;
  return verdict == PIECE_REFUTED ? PIECE_OPEN : verdict; /* nothing is refuted without points */
}

void convexity_search_print(FILE *out, const convexity_search *s, piece_verdict verdict) {
  bool first = true;
  audit_domain joined;
  domain_init(&joined);
  for (int i = 0; i < s->pieces; i++) {
    if (s->piece[i].verdict != verdict) continue;
    domain_copy(&joined, &s->piece[i].domain);
    /* with one parameter the pieces are in order, and touch */
    while (joined.parameters == 1 && i + 1 < s->pieces && s->piece[i + 1].verdict == verdict)
      domain_end_set(&joined.parameter[0].hi, &s->piece[++i].domain.parameter[0].hi);
    if (!first) fputs("; ", out);
    domain_parameters_print(out, &joined);
    first = false;
  }
  domain_clear(&joined);
}

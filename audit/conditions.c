/* Conditions: exactly where the numbers are rational, by their enclosures elsewhere. */
#include "conditions.h"
#include "evaluation.h"
#include "rational.h"
#include <stdlib.h>

static conditions_standing standing(bool holds, bool fails) {
  return holds ? CONDITIONS_HOLD : fails ? CONDITIONS_FAIL : CONDITIONS_OPEN;
}

static conditions_standing compare(phi_relation relation, const phibal_enclosure *a,
                                   const phibal_enclosure *b) {
  switch (relation) {
  case PHI_LESS:
    return standing(mpfr_less_p(a->hi, b->lo), mpfr_greaterequal_p(a->lo, b->hi));
  case PHI_LESS_EQUAL:
    return standing(mpfr_lessequal_p(a->hi, b->lo), mpfr_greater_p(a->lo, b->hi));
  case PHI_EQUAL:
    return standing(phibal_enclosure_is_exact(a) && phibal_enclosure_is_exact(b) &&
                        mpfr_equal_p(a->lo, b->lo),
                    !phibal_enclosure_overlaps(a, b));
  case PHI_GREATER:
    return compare(PHI_LESS, b, a);
  default:
    return compare(PHI_LESS_EQUAL, b, a);
  }
}

static conditions_standing compare_exactly(phi_relation relation, mpq_srcptr a, mpq_srcptr b) {
  const int order = mpq_cmp(a, b);
  const bool holds = relation == PHI_LESS         ? order < 0
                     : relation == PHI_LESS_EQUAL ? order <= 0
                     : relation == PHI_EQUAL      ? order == 0
                     : relation == PHI_GREATER    ? order > 0
                                                  : order >= 0;
  return holds ? CONDITIONS_HOLD : CONDITIONS_FAIL;
}

/* The sums that conditions hold, enclosed and, as far as they are rational, exact. */
typedef struct sums {
  int n;
  phibal_enclosure *enclosed;
  mpq_t *exact;
  bool all_exact;
} sums;

static void sums_clear(sums *s) {
  phibal_enclosure_vector_clear(s->enclosed, (size_t)s->n);
  for (int i = 0; s->exact && i < s->n; i++) mpq_clear(s->exact[i]);
  free(s->exact);
}

static phibal_status sum_enclosed(const expression *term, const phibal_enclosure *parameters,
                                  size_t n, const phibal_enclosure *x, phibal_enclosure *sum) {
  phibal_enclosure value;
  phibal_enclosure_init(&value, mpfr_get_prec(sum->lo));
  phibal_status status = PHIBAL_OK;
  for (size_t e = 0; e < n && status == PHIBAL_OK; e++) {
    status = phi_eval(term, parameters, NULL, &x[e], &value);
    if (status == PHIBAL_OK) status = phibal_enclosure_add(sum, sum, &value);
  }
  phibal_enclosure_clear(&value);
  return status;
}

static phibal_status sums_find(const phi_section *section, const phibal_enclosure *parameters,
                               size_t n, const phibal_enclosure *x, const conditions_exact *exact,
                               mpfr_prec_t precision, sums *s) {
  const size_t count = (size_t)section->condition_sums;
  *s = (sums){.n = section->condition_sums, .all_exact = exact != NULL};
  s->enclosed = phibal_enclosure_vector(count, precision);
  s->exact = calloc(count ? count : 1, sizeof *s->exact);
  if (!s->enclosed || !s->exact)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for the sums of conditions");
  for (int i = 0; i < s->n; i++) mpq_init(s->exact[i]);
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < s->n && status == PHIBAL_OK; i++) {
    status = sum_enclosed(section->condition_sum[i], parameters, n, x, &s->enclosed[i]);
    s->all_exact = s->all_exact && rational_sum(section->condition_sum[i], exact->parameters, n,
                                                exact->x, s->exact[i]);
  }
  return status;
}

/* True, and decided, where both sides are known to be rational. */
static bool decided_exactly(const phi_condition *c, const sums *s, const conditions_exact *exact,
                            size_t e, conditions_standing *result) {
  if (!exact || !s->all_exact) return false;
  mpq_t left, right;
  mpq_inits(left, right, (mpq_ptr)0);
  const mpq_t *all = (const mpq_t *)s->exact;
  const bool known = rational_eval(c->left, exact->parameters, all, exact->x[e], left) &&
                     rational_eval(c->right, exact->parameters, all, exact->x[e], right);
  if (known) *result = compare_exactly(c->relation, left, right);
  mpq_clears(left, right, (mpq_ptr)0);
  return known;
}

static phibal_status decide_enclosed(const phi_condition *c, const sums *s,
                                     const phibal_enclosure *parameters, const phibal_enclosure *x,
                                     mpfr_prec_t precision, conditions_standing *result) {
  phibal_enclosure left, right;
  phibal_enclosure_init(&left, precision);
  phibal_enclosure_init(&right, precision);
  phibal_status status = phi_eval(c->left, parameters, s->enclosed, x, &left);
  if (status == PHIBAL_OK) status = phi_eval(c->right, parameters, s->enclosed, x, &right);
  if (status == PHIBAL_OK) *result = compare(c->relation, &left, &right);
  phibal_enclosure_clear(&left);
  phibal_enclosure_clear(&right);
  return status;
}

phibal_status conditions_at(const phi_section *section, const phibal_enclosure *parameters,
                            size_t n, const phibal_enclosure *x, const conditions_exact *exact,
                            mpfr_prec_t precision, conditions_standing *result) {
  *result = CONDITIONS_HOLD;
  if (section->conditions == 0) return PHIBAL_OK;
  sums s;
  phibal_status status = sums_find(section, parameters, n, x, exact, precision, &s);
  for (size_t e = 0; e < n && status == PHIBAL_OK; e++)
    for (int i = 0; i < section->conditions && *result != CONDITIONS_FAIL; i++) {
      const phi_condition *c = &section->condition[i];
      conditions_standing one = CONDITIONS_OPEN;
      if (!decided_exactly(c, &s, exact, e, &one))
        status = decide_enclosed(c, &s, parameters, &x[e], precision, &one);
      if (status != PHIBAL_OK) {
        status = evaluation_name_coordinate(status, e, n);
        break;
      }
      if (one != CONDITIONS_HOLD) *result = one;
    }
  sums_clear(&s);
  return status;
}

/* A potential at a point: its sums, value, gradient and Hessian, and the gradient and the conjugate
   as its file gives them. */
#include "conditions.h"
#include "evaluation.h"

static phibal_status out_of_memory(const phi_potential *phi) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", phi->name);
}

/* For sections that are not defined outside their conditions. */
static phibal_status require_conditions(const phi_section *section,
                                        const phibal_enclosure *parameters, size_t n,
                                        const phibal_enclosure *x, mpfr_prec_t precision) {
  conditions_standing result;
  const phibal_status status = conditions_at(section, parameters, n, x, NULL, precision, &result);
  if (status != PHIBAL_OK || result == CONDITIONS_HOLD) return status;
  return result == CONDITIONS_FAIL
             ? phibal_status_set(PHIBAL_ERROR_DOMAIN, "outside the conditions behind 'where'")
             : phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                                 "some members only meet the conditions behind 'where'");
}

static phibal_status one_sum(const expression *term, const phibal_enclosure *parameters, size_t n,
                             const phibal_enclosure *x, phibal_enclosure *sum) {
  const mpfr_prec_t precision = evaluation_precision(sum, NULL);
  phibal_status status = PHIBAL_OK;
  phibal_enclosure total, value;
  phibal_enclosure_init(&total, precision);
  phibal_enclosure_init(&value, precision);
  for (size_t e = 0; e < n && status == PHIBAL_OK; e++) {
    status = phi_eval(term, parameters, NULL, &x[e], &value);
    if (status == PHIBAL_OK) status = phibal_enclosure_add(&total, &total, &value);
    if (status != PHIBAL_OK) status = evaluation_name_coordinate(status, e, n);
  }
  phibal_enclosure_set(sum, &total);
  phibal_enclosure_clear(&total);
  phibal_enclosure_clear(&value);
  return status;
}

phibal_status phi_sums(const phi_section *section, const phibal_enclosure *parameters, size_t n,
                       const phibal_enclosure *x, phibal_enclosure *sums) {
  for (int i = 0; i < section->sums; i++) {
    const phibal_status status = one_sum(section->sum[i], parameters, n, x, &sums[i]);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

/* F(S_1, .., S_r) of a section without a coordinate outside its sums. */
static phibal_status value_of(const phi_potential *phi, const phi_section *section,
                              const phibal_enclosure *parameters, size_t n,
                              const phibal_enclosure *x, phibal_enclosure *value) {
  phibal_enclosure *sums =
      phibal_enclosure_vector((size_t)section->sums, evaluation_precision(value, NULL));
  if (!sums) return out_of_memory(phi);
  phibal_status status = phi_sums(section, parameters, n, x, sums);
  if (status == PHIBAL_OK) status = phi_eval(section->expression, parameters, sums, NULL, value);
  phibal_enclosure_vector_clear(sums, (size_t)section->sums);
  return status;
}

phibal_status phi_value(const phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                        const phibal_enclosure *x, phibal_enclosure *value) {
  const mpfr_prec_t precision = evaluation_precision(value, NULL);
  const phibal_status status = require_conditions(&phi->value, parameters, n, x, precision);
  return status != PHIBAL_OK ? status : value_of(phi, &phi->value, parameters, n, x, value);
}

/* F and its derivatives at x, of the working precision for results like `result`. */
typedef struct outer {
  int r, known;
  mpfr_prec_t precision;
  phibal_enclosure *sums, *partials, *second;
  phibal_enclosure value;
} outer;

static void outer_clear(outer *o) {
  phibal_enclosure_vector_clear(o->sums, (size_t)o->r);
  phibal_enclosure_vector_clear(o->partials, (size_t)o->r);
  phibal_enclosure_vector_clear(o->second, (size_t)(o->r * o->r));
  phibal_enclosure_clear(&o->value);
}

static phibal_status outer_init(const phi_potential *phi, const phibal_enclosure *parameters,
                                size_t n, const phibal_enclosure *x, mpfr_prec_t precision,
                                outer *o) {
  const size_t r = (size_t)phi->value.sums;
  *o = (outer){.r = phi->value.sums, .precision = precision};
  o->sums = phibal_enclosure_vector(r, precision);
  o->partials = phibal_enclosure_vector(r, precision);
  o->second = phibal_enclosure_vector(r * r, precision);
  phibal_enclosure_init(&o->value, precision);
  if (!o->sums || !o->partials || !o->second) return out_of_memory(phi);
  phibal_status status = require_conditions(&phi->value, parameters, n, x, precision);
  if (status == PHIBAL_OK) status = phi_sums(&phi->value, parameters, n, x, o->sums);
  if (status != PHIBAL_OK) return status;
  return phi_outer_eval(&phi->value, parameters, o->sums, &o->value, o->partials, o->second,
                        &o->known);
}

/* The jet of f_i at a coordinate, known up to `order`. */
static phibal_status inner_jet(const phi_potential *phi, int i, const phibal_enclosure *parameters,
                               const phibal_enclosure *x, int order, phi_jet *j) {
  evaluation_jet(phi->value.sum[i], parameters, NULL, x, order, j);
  if (j->known > order) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s has no derivative of order %d there", phi->name,
                           j->known ? j->known : order);
}

/* An infinite derivative is none. */
static phibal_status require_finite(const phi_potential *phi, const phibal_enclosure *gradient) {
  if (!mpfr_inf_p(gradient->lo) || !phibal_enclosure_is_exact(gradient)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_DOMAIN, "the gradient of %s is infinite there", phi->name);
}

/* z = sum_i F_i f_i^(order)(x_e) */
static phibal_status component(const phi_potential *phi, const outer *o,
                               const phibal_enclosure *parameters, const phibal_enclosure *x,
                               int order, phibal_enclosure *z) {
  phibal_status status = PHIBAL_OK;
  phibal_enclosure total;
  phi_jet j;
  phibal_enclosure_init(&total, o->precision);
  phi_jet_init(&j, o->precision);
  for (int i = 0; i < o->r && status == PHIBAL_OK; i++) {
    status = inner_jet(phi, i, parameters, x, order, &j);
    if (status == PHIBAL_OK &&
        !evaluation_add_products(&total, 1, &o->partials[i], &j.d[order], NULL))
      status = PHIBAL_ERROR_DOMAIN;
  }
  phibal_enclosure_set(z, &total);
  phi_jet_clear(&j);
  phibal_enclosure_clear(&total);
  return status;
}

static phibal_status require_outer(const phi_potential *phi, const outer *o, int order) {
  if (o->known > order) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                           "%s has no derivative of order %d there: that of "
                           "the expression in its sums does not exist",
                           phi->name, order);
}

phibal_status phi_gradient(const phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                           const phibal_enclosure *x, phibal_enclosure *gradient) {
  outer o;
  phibal_status status =
      outer_init(phi, parameters, n, x, evaluation_precision(&gradient[0], NULL), &o);
  if (status == PHIBAL_OK) status = require_outer(phi, &o, 1);
  for (size_t e = 0; e < n && status == PHIBAL_OK; e++) {
    status = component(phi, &o, parameters, &x[e], 1, &gradient[e]);
    if (status == PHIBAL_OK) status = require_finite(phi, &gradient[e]);
    if (status != PHIBAL_OK) evaluation_name_coordinate(status, e, n);
  }
  outer_clear(&o);
  return status;
}

/* slope[i n + e] = f_i'(x_e) */
static phibal_status slopes(const phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                            const phibal_enclosure *x, mpfr_prec_t precision,
                            phibal_enclosure *slope) {
  phibal_status status = PHIBAL_OK;
  phi_jet j;
  phi_jet_init(&j, precision);
  for (int i = 0; i < phi->value.sums; i++)
    for (size_t e = 0; e < n && status == PHIBAL_OK; e++) {
      status = inner_jet(phi, i, parameters, &x[e], 1, &j);
      phibal_enclosure_set(&slope[(size_t)i * n + e], &j.d[1]);
      if (status != PHIBAL_OK) evaluation_name_coordinate(status, e, n);
    }
  phi_jet_clear(&j);
  return status;
}

phibal_status phi_hessian(const phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                          const phibal_enclosure *x, phibal_enclosure *diagonal,
                          phibal_enclosure *second, phibal_enclosure *slope) {
  outer o;
  const phibal_enclosure *any = diagonal ? diagonal : second ? second : slope;
  if (!any) return PHIBAL_OK;
  phibal_status status = outer_init(phi, parameters, n, x, evaluation_precision(any, NULL), &o);
  if (status == PHIBAL_OK) status = require_outer(phi, &o, 2);
  for (size_t e = 0; e < n && diagonal && status == PHIBAL_OK; e++) {
    status = component(phi, &o, parameters, &x[e], 2, &diagonal[e]);
    if (status != PHIBAL_OK) evaluation_name_coordinate(status, e, n);
  }
  for (int i = 0; i < o.r * o.r && second && status == PHIBAL_OK; i++)
    phibal_enclosure_set(&second[i], &o.second[i]);
  if (slope && status == PHIBAL_OK) status = slopes(phi, parameters, n, x, o.precision, slope);
  outer_clear(&o);
  return status;
}

static phibal_status not_given(const phi_potential *phi, const char *what) {
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: the file gives no %s", phi->name, what);
}

phibal_status phi_given_gradient(const phi_potential *phi, const phibal_enclosure *parameters,
                                 size_t n, const phibal_enclosure *x, phibal_enclosure *gradient) {
  const phi_section *section = &phi->gradient;
  if (!section->expression) return not_given(phi, "gradient");
  const mpfr_prec_t precision = evaluation_precision(&gradient[0], NULL);
  phibal_enclosure *sums = phibal_enclosure_vector((size_t)section->sums, precision);
  if (!sums) return out_of_memory(phi);
  phibal_status status = require_conditions(section, parameters, n, x, precision);
  if (status == PHIBAL_OK) status = phi_sums(section, parameters, n, x, sums);
  for (size_t e = 0; e < n && status == PHIBAL_OK; e++) {
    status = phi_eval(section->expression, parameters, sums, &x[e], &gradient[e]);
    if (status == PHIBAL_OK) status = require_finite(phi, &gradient[e]);
    if (status != PHIBAL_OK) evaluation_name_coordinate(status, e, n);
  }
  phibal_enclosure_vector_clear(sums, (size_t)section->sums);
  return status;
}

static phibal_status conjugate_at(const phi_potential *phi, const phibal_enclosure *parameters,
                                  size_t n, const phibal_enclosure *y,
                                  const conditions_exact *exact, phibal_enclosure *value) {
  const phi_section *section = &phi->conjugate;
  if (!section->expression) return not_given(phi, "conjugate");
  conditions_standing result;
  const phibal_status status =
      conditions_at(section, parameters, n, y, exact, evaluation_precision(value, NULL), &result);
  if (status != PHIBAL_OK) return status;
  if (result == CONDITIONS_OPEN)
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                             "some members only meet the conditions behind 'where'");
  if (result == CONDITIONS_HOLD) return value_of(phi, section, parameters, n, y, value);
  mpfr_set_inf(value->lo, 1);
  mpfr_set_inf(value->hi, 1);
  return PHIBAL_OK;
}

phibal_status phi_given_conjugate(const phi_potential *phi, const phibal_enclosure *parameters,
                                  size_t n, const phibal_enclosure *y, phibal_enclosure *value) {
  return conjugate_at(phi, parameters, n, y, NULL, value);
}

phibal_status phi_given_conjugate_exactly(const phi_potential *phi,
                                          const phibal_enclosure *parameters,
                                          const mpq_t *exact_parameters, size_t n,
                                          const phibal_enclosure *y, const mpq_t *exact_y,
                                          phibal_enclosure *value) {
  const conditions_exact exact = {exact_parameters, exact_y};
  return conjugate_at(phi, parameters, n, y, &exact, value);
}

phibal_status phi_conjugate_formula(const phi_potential *phi, const phibal_enclosure *parameters,
                                    size_t n, const phibal_enclosure *y, phibal_enclosure *value) {
  if (!phi->conjugate.expression) return not_given(phi, "conjugate");
  return value_of(phi, &phi->conjugate, parameters, n, y, value);
}

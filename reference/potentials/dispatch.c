/* The public functions of the potentials: arguments checked, coordinates walked, sums taken. */
#include "potentials.h"
#include <stddef.h>

static const phibal_enclosure *parameter_of(const phibal_reference_potential *phi) {
  return &phi->parameter;
}

static bool is_point(const phibal_enclosure *x, double d) {
  return mpfr_cmp_d(x->lo, d) == 0 && mpfr_cmp_d(x->hi, d) == 0;
}

static bool is_lp_infinity(const phibal_reference_potential *phi) {
  return phi->id == PHIBAL_POTENTIAL_LP && mpfr_inf_p(phi->parameter.lo);
}

/* Whether the potential, its parameter valid, is a sum of one family's functions; which family. */
static bool find_family(const phibal_reference_potential *phi, scalar_family *s) {
  switch (phi->id) {
  case PHIBAL_POTENTIAL_EUCLID:
    *s = FAMILY_EUCLID;
    return true;
  case PHIBAL_POTENTIAL_LP:
    *s = is_point(&phi->parameter, 1) ? FAMILY_LP_ONE : FAMILY_LP;
    return !is_lp_infinity(phi);
  case PHIBAL_POTENTIAL_SOFT_L1:
    *s = FAMILY_SOFT_L1;
    return true;
  case PHIBAL_POTENTIAL_NEGENTROPY:
    *s = FAMILY_NEGENTROPY;
    return true;
  case PHIBAL_POTENTIAL_TSALLIS:
    *s = FAMILY_TSALLIS;
    return true;
  case PHIBAL_POTENTIAL_PSEUDO_HUBER:
    *s = FAMILY_PSEUDO_HUBER;
    return true;
  case PHIBAL_POTENTIAL_LOG_COSH:
    *s = FAMILY_LOG_COSH;
    return true;
  case PHIBAL_POTENTIAL_SOFTPLUS:
    *s = FAMILY_SOFTPLUS;
    return true;
  case PHIBAL_POTENTIAL_RENYI:
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
  return false;
}

typedef enum membership { INSIDE, OUTSIDE, UNSURE } membership;

static membership in_open_interval(const phibal_enclosure *a, double low, double high) {
  if (mpfr_cmp_d(a->lo, low) > 0 && mpfr_cmp_d(a->hi, high) < 0) return INSIDE;
  if (mpfr_cmp_d(a->hi, low) <= 0 || mpfr_cmp_d(a->lo, high) >= 0) return OUTSIDE;
  return UNSURE;
}

static membership parameter_membership(const phibal_reference_potential *phi,
                                       const phibal_potential_info *row) {
  const phibal_enclosure *a = parameter_of(phi);
  if (phi->id == PHIBAL_POTENTIAL_LP &&
      (is_point(a, 1) || (mpfr_inf_p(a->lo) && mpfr_sgn(a->lo) > 0)))
    return INSIDE;
  if (phi->id == PHIBAL_POTENTIAL_TSALLIS && mpfr_cmp_si(a->lo, 1) <= 0 &&
      mpfr_cmp_si(a->hi, 1) >= 0)
    return is_point(a, 1) ? OUTSIDE : UNSURE;
  return in_open_interval(a, row->low, row->high);
}

/* One of phibal_potential_check's messages, or UNDECIDED where the enclosure is too wide to say. */
static phibal_status check_parameter(const phibal_reference_potential *phi,
                                     const phibal_potential_info *row) {
  if (!row->parameter[0]) return PHIBAL_OK;
  switch (parameter_membership(phi, row)) {
  case INSIDE:
    return PHIBAL_OK;
  case OUTSIDE: {
    /* Away from the interval, whose ends are binary64 numbers, so that it stays outside. */
    bool below = mpfr_cmp_d(phi->parameter.hi, row->low) <= 0;
    phibal_potential rounded = {phi->id, below ? mpfr_get_d(phi->parameter.hi, MPFR_RNDD)
                                               : mpfr_get_d(phi->parameter.lo, MPFR_RNDU)};
    return phibal_potential_check(&rounded);
  }
  case UNSURE:
    break;
  }
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "%s: the enclosure of %s is too wide to tell whether it is valid",
                           row->name, row->parameter);
}

static bool is_bounded(const phibal_enclosure *x) {
  return mpfr_number_p(x->lo) && mpfr_number_p(x->hi);
}

/* Arguments that all functions share; *name is the potential's. */
static phibal_status check(const char *function, const phibal_reference_potential *phi, size_t n,
                           const phibal_enclosure *x, const void *result, const char **name) {
  const phibal_potential_info *row = phi ? phibal_potential_describe(phi->id) : NULL;
  if (!row || !x || !result || n == 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "phibal_reference %s: a null argument, no coordinates, or an unknown "
                             "potential",
                             function);
  *name = row->name;
  TRY(check_parameter(phi, row));
  for (size_t e = 0; e < n; e++)
    if (!is_bounded(&x[e])) {
      phibal_status_set(PHIBAL_ERROR_DOMAIN, "not bounded; it must be a real number");
      return name_coordinate(PHIBAL_ERROR_DOMAIN, function, row->name, e, n, &x[e]);
    }
  return PHIBAL_OK;
}

/* result_e = f(x_e) for each coordinate. */
static phibal_status map_coordinates(scalar_family s, scalar_function f, const char *function,
                                     const char *name, const phibal_enclosure *a, size_t n,
                                     const phibal_enclosure *x, phibal_enclosure *result) {
  workspace w;
  workspace_init(&w, working_precision(result, n, x));
  phibal_status status = PHIBAL_OK;
  for (size_t e = 0; e < n && status == PHIBAL_OK; e++) {
    status = graph_over(s, f, &result[e], &x[e], a, &w);
    if (status != PHIBAL_OK) status = name_coordinate(status, function, name, e, n, &x[e]);
  }
  workspace_clear(&w);
  return status;
}

/* sum = sum_e f(x_e); term is a temporary of the workspace's precision, as is sum. */
static phibal_status add_coordinates(scalar_family s, scalar_function f, const char *function,
                                     const char *name, const phibal_enclosure *a, size_t n,
                                     const phibal_enclosure *x, phibal_enclosure *sum,
                                     phibal_enclosure *term, workspace *w) {
  for (size_t e = 0; e < n; e++) {
    phibal_status status = graph_over(s, f, term, &x[e], a, w);
    if (status == PHIBAL_OK) status = phibal_enclosure_add(sum, sum, term);
    if (status != PHIBAL_OK) return name_coordinate(status, function, name, e, n, &x[e]);
  }
  return PHIBAL_OK;
}

static phibal_status sum_coordinates(scalar_family s, scalar_function f, const char *function,
                                     const char *name, const phibal_enclosure *a, size_t n,
                                     const phibal_enclosure *x, phibal_enclosure *result) {
  mpfr_prec_t precision = working_precision(result, n, x);
  workspace w;
  phibal_enclosure sum, term;
  workspace_init(&w, precision);
  phibal_enclosure_init(&sum, precision);
  phibal_enclosure_init(&term, precision);
  phibal_status status = add_coordinates(s, f, function, name, a, n, x, &sum, &term, &w);
  if (status == PHIBAL_OK) phibal_enclosure_set(result, &sum);
  phibal_enclosure_clear(&term);
  phibal_enclosure_clear(&sum);
  workspace_clear(&w);
  return status;
}

phibal_status phibal_reference_value(const phibal_reference_potential *phi, size_t n,
                                     const phibal_enclosure *x, phibal_enclosure *value) {
  const char *name;
  TRY(check("value", phi, n, x, value, &name));
  scalar_family s;
  if (find_family(phi, &s))
    return sum_coordinates(s, FUNCTION_VALUE, "value", name, parameter_of(phi), n, x, value);
  if (is_lp_infinity(phi)) return lp_max_value(n, x, value);
  return renyi_value(parameter_of(phi), n, x, value);
}

phibal_status phibal_reference_gradient(const phibal_reference_potential *phi, size_t n,
                                        const phibal_enclosure *x, phibal_enclosure *gradient) {
  const char *name;
  TRY(check("gradient", phi, n, x, gradient, &name));
  scalar_family s;
  if (find_family(phi, &s))
    return map_coordinates(s, FUNCTION_GRADIENT, "gradient", name, parameter_of(phi), n, x,
                           gradient);
  if (is_lp_infinity(phi)) return lp_max_gradient(n, x, gradient);
  return renyi_gradient(parameter_of(phi), n, x, gradient);
}

phibal_status phibal_reference_hessian(const phibal_reference_potential *phi, size_t n,
                                       const phibal_enclosure *x, phibal_enclosure *hessian) {
  const char *name;
  TRY(check("hessian", phi, n, x, hessian, &name));
  scalar_family s;
  if (find_family(phi, &s))
    return map_coordinates(s, FUNCTION_SECOND, "hessian", name, parameter_of(phi), n, x, hessian);
  if (is_lp_infinity(phi)) return lp_max_hessian(n, x, hessian);
  return renyi_hessian(parameter_of(phi), n, x, hessian);
}

/* product_e times= v_e. */
static phibal_status scale_coordinates(const char *name, size_t n, const phibal_enclosure *x,
                                       const phibal_enclosure *v, phibal_enclosure *product) {
  for (size_t e = 0; e < n; e++) {
    phibal_status status = phibal_enclosure_mul(&product[e], &product[e], &v[e]);
    if (status != PHIBAL_OK) return name_coordinate(status, "hessian product", name, e, n, &x[e]);
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_hessian_product(const phibal_reference_potential *phi, size_t n,
                                               const phibal_enclosure *x, const phibal_enclosure *v,
                                               phibal_enclosure *product) {
  const char *name;
  TRY(check("hessian product", phi, n, v, product, &name));
  TRY(check("hessian product", phi, n, x, product, &name));
  if (phi->id == PHIBAL_POTENTIAL_RENYI)
    return renyi_hessian_product(parameter_of(phi), n, x, v, product);
  TRY(phibal_reference_hessian(phi, n, x, product));
  return scale_coordinates(name, n, x, v, product);
}

phibal_status phibal_reference_conjugate(const phibal_reference_potential *phi, size_t n,
                                         const phibal_enclosure *y, phibal_enclosure *value) {
  const char *name;
  TRY(check("conjugate", phi, n, y, value, &name));
  scalar_family s;
  if (find_family(phi, &s))
    return sum_coordinates(s, FUNCTION_CONJUGATE, "conjugate", name, parameter_of(phi), n, y,
                           value);
  if (is_lp_infinity(phi)) return lp_max_conjugate(n, y, value);
  return renyi_conjugate(parameter_of(phi), n, y, value);
}

phibal_status phibal_reference_conjugate_gradient(const phibal_reference_potential *phi, size_t n,
                                                  const phibal_enclosure *y,
                                                  phibal_enclosure *gradient) {
  const char *name;
  TRY(check("conjugate-gradient", phi, n, y, gradient, &name));
  scalar_family s;
  if (find_family(phi, &s))
    return map_coordinates(s, FUNCTION_CONJUGATE_GRADIENT, "conjugate-gradient", name,
                           parameter_of(phi), n, y, gradient);
  if (is_lp_infinity(phi)) return lp_max_conjugate_gradient(n, y, gradient);
  return renyi_conjugate_gradient(parameter_of(phi), n, y, gradient);
}

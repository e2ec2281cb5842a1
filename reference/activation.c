/* SiLU and GELU's tanh form. With sigma the logistic function, 1/2 (1 + tanh(w)) = sigma(2 w): both
   are a sigma(v), with v = a or v = 2 sqrt(2/pi) (a + 0.044715 a^3), and nothing cancels where tanh
   is near -1. */
#include "activation.h"
#include <phibal/acsl/contracts/inside/activation_static.h>

/* z holds pi. */
static void enclose_pi(phibal_enclosure *z) {
  //@ assert open_enclosure && use_pi;
  mpfr_const_pi(z->lo, MPFR_RNDD);
  mpfr_const_pi(z->hi, MPFR_RNDU);
}

/* slope = 2 sqrt(2/pi); v is a temporary. */
static phibal_status activation_slope(activation_work *w) {
  //@ assert use_enclosure && use_pi;
  enclose_pi(&w->v);
  phibal_enclosure_set_si(&w->slope, 2);
  TRY(phibal_enclosure_div(&w->slope, &w->slope, &w->v));
  TRY(phibal_enclosure_sqrt(&w->slope, &w->slope));
  return phibal_enclosure_add(&w->slope, &w->slope, &w->slope);
}

/* cubic = 0.044715, a quotient of integers that are exact; v is a temporary. */
static phibal_status activation_cubic(activation_work *w) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&w->cubic, 44715);
  phibal_enclosure_set_si(&w->v, 1000000);
  return phibal_enclosure_div(&w->cubic, &w->cubic, &w->v);
}

phibal_status activation_work_init(const char *name, activation_work *w,
                                   phibal_activation activation, mpfr_prec_t precision) {
  if (activation != PHIBAL_ACTIVATION_SILU && activation != PHIBAL_ACTIVATION_GELU)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no such activation: %d", name,
                             (int)activation);
  //@ assert use_enclosure;
  w->activation = activation;
  phibal_enclosure_init(&w->slope, precision);
  phibal_enclosure_init(&w->cubic, precision);
  phibal_enclosure_init(&w->one, precision);
  phibal_enclosure_init(&w->v, precision);
  phibal_enclosure_init(&w->v_slope, precision);
  phibal_enclosure_init(&w->sigma, precision);
  phibal_enclosure_init(&w->complement, precision);
  phibal_enclosure_init(&w->square, precision);
  //@ assert places: work_places(w) && work_kept{Pre, Here}(w);
  phibal_enclosure_set_si(&w->one, 1);
  phibal_status status = activation_slope(w);
  if (status == PHIBAL_OK) status = activation_cubic(w);
  if (status != PHIBAL_OK) activation_work_clear(w);
  return status;
}

void activation_work_clear(activation_work *w) {
  //@ assert use_enclosure;
  phibal_enclosure_clear(&w->slope);
  phibal_enclosure_clear(&w->cubic);
  phibal_enclosure_clear(&w->one);
  phibal_enclosure_clear(&w->v);
  phibal_enclosure_clear(&w->v_slope);
  phibal_enclosure_clear(&w->sigma);
  phibal_enclosure_clear(&w->complement);
  phibal_enclosure_clear(&w->square);
}

/* v = slope (a + cubic a^3), v_slope = slope (1 + 3 cubic a^2). */
static phibal_status gelu_argument(activation_work *w, const phibal_enclosure *a) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_mul(&w->square, a, a));
  TRY(phibal_enclosure_mul(&w->square, &w->square, &w->cubic));
  //@ assert square: \forall real r; in{Pre}(a, r) ==> in(&w->square, r * r * gelu_cubic);
  TRY(phibal_enclosure_add(&w->v, &w->square, &w->one));
  TRY(phibal_enclosure_mul(&w->v, &w->v, a));
  TRY(phibal_enclosure_mul(&w->v, &w->v, &w->slope));
  /*@ assert v_form: \forall real r; in{Pre}(a, r) ==>
        in(&w->v, (r * r * gelu_cubic + 1.0) * r * gelu_slope); */
  //@ assert v_kept: work_ready(w) && work_kept{Pre, Here}(w);
  phibal_enclosure_set_si(&w->v_slope, 3);
  //@ assert three: in(&w->v_slope, 3.0);
  TRY(phibal_enclosure_mul(&w->v_slope, &w->v_slope, &w->square));
  //@ assert cubic: \forall real r; in{Pre}(a, r) ==> in(&w->v_slope, 3.0 * (r * r * gelu_cubic));
  TRY(phibal_enclosure_add(&w->v_slope, &w->v_slope, &w->one));
  /*@ assert plus_one: \forall real r; in{Pre}(a, r) ==>
        in(&w->v_slope, 3.0 * (r * r * gelu_cubic) + 1.0); */
  //@ assert slope: in(&w->slope, gelu_slope);
  TRY(phibal_enclosure_mul(&w->v_slope, &w->v_slope, &w->slope));
  /*@ assert slope_form: \forall real r; in{Pre}(a, r) ==>
        in(&w->v_slope, (3.0 * (r * r * gelu_cubic) + 1.0) * gelu_slope); */
  /*@ assert v_still: \forall real r; in{Pre}(a, r) ==>
        in(&w->v, (r * r * gelu_cubic + 1.0) * r * gelu_slope); */
  //@ assert ready: work_ready(w);
  return PHIBAL_OK;
}

/* v, where the activation is a sigma(v), and v_slope = dv/da. For SiLU v = a. */
static phibal_status activation_argument(activation_work *w, const phibal_enclosure *a) {
  //@ assert use_enclosure;
  if (w->activation == PHIBAL_ACTIVATION_GELU) return gelu_argument(w, a);
  phibal_enclosure_set(&w->v, a);
  phibal_enclosure_set_si(&w->v_slope, 1);
  return PHIBAL_OK;
}

/* z = sigma(v) (1 + x v' sigma(-v)). */
static phibal_status activation_derivative(activation_work *w, const phibal_enclosure *x,
                                           phibal_enclosure *z) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_mul(z, x, &w->v_slope));
  TRY(phibal_enclosure_mul(z, z, &w->complement));
  TRY(phibal_enclosure_add(z, z, &w->one));
  return phibal_enclosure_mul(z, z, &w->sigma);
}

/* sigma = sigma(v), complement = sigma(-v), and v_slope, at a. */
static phibal_status activation_factors(activation_work *w, const phibal_enclosure *a) {
  //@ assert use_enclosure;
  TRY(activation_argument(w, a));
  TRY(operation_sigmoid_negated(&w->complement, &w->v, &w->one));
  phibal_enclosure_neg(&w->v, &w->v);
  return operation_sigmoid_negated(&w->sigma, &w->v, &w->one);
}

phibal_status activation_evaluate(activation_work *w, const phibal_enclosure *a,
                                  phibal_enclosure *value, phibal_enclosure *derivative,
                                  phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(activation_factors(w, a));
  if (value) TRY(phibal_enclosure_mul(value, a, &w->sigma));
  if (derivative) TRY(activation_derivative(w, a, derivative));
  if (!condition) return PHIBAL_OK;
  phibal_enclosure_abs(&w->square, a);
  return activation_derivative(w, &w->square, condition);
}

phibal_status phibal_reference_activation(phibal_activation activation, float a,
                                          mpfr_prec_t precision, phibal_enclosure *value,
                                          phibal_enclosure *derivative,
                                          phibal_enclosure *derivative_condition) {
  const char *name = "phibal_reference_activation";
  //@ assert use_enclosure;
  TRY(operation_check_precision(name, precision));
  TRY(operation_check_finite(name, "a", 1, &a));
  activation_work work;
  TRY(activation_work_init(name, &work, activation, precision));
  phibal_enclosure x;
  phibal_enclosure_init(&x, precision);
  operation_set_float(&x, a);
  /*@ assert x_set: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{Pre, Here}(r) && \valid_read(r) && \separated(r, &x) && \separated(r, &work); */
  phibal_status status = activation_evaluate(&work, &x, value, derivative, derivative_condition);
  phibal_enclosure_clear(&x);
  /*@ assert x_cleared: \forall phibal_enclosure *r; \valid_read{Pre}(r) && optional_apart(r, value)
     && optional_apart(r, derivative) && optional_apart(r, derivative_condition) ==> same{Pre,
     Here}(r); */
  activation_work_clear(&work);
  return status;
}

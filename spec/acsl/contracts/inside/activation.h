/* What the functions of reference/activation.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ACTIVATION_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ACTIVATION_H

#ifdef __FRAMAC__
#include <phibal/acsl/activation.h>
#endif

/*@ predicate work_places{L}(activation_work *w) =
      output(&w->slope) && output(&w->cubic) && output(&w->one) && output(&w->v) &&
      output(&w->v_slope) && output(&w->sigma) && output(&w->complement) && output(&w->square);
    // set up: the constants are in their places
    predicate work_ready{L}(activation_work *w) =
      work_places(w) && in(&w->one, 1.0) && in(&w->slope, gelu_slope) &&
      in(&w->cubic, gelu_cubic) &&
      (w->activation == PHIBAL_ACTIVATION_SILU || w->activation == PHIBAL_ACTIVATION_GELU);
    // of the enclosures outside w nothing was written
    predicate work_kept{A, B}(activation_work *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, w) ==> same{A, B}(r);
    // the factors are those at a
    predicate work_at{L}(activation_work *w, phibal_enclosure *a) =
      \forall real r; in(a, r) ==>
        in(&w->sigma, logistic(activation_argument(w->activation, r))) &&
        in(&w->complement, logistic(-activation_argument(w->activation, r))) &&
        in(&w->v_slope, activation_argument_slope(w->activation, r));
    // a place for a result, if it is wanted
    predicate optional_output{L}(phibal_enclosure *z, activation_work *w, phibal_enclosure *a) =
      z == \null || (output(z) && \separated(z, w) && \separated(z, a));
*/

/*@ requires \valid(work) && working_precision(precision);
    terminates \true;
    exits \false;
    assigns *work;
    ensures work_kept{Pre, Here}(work);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT ||
            \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> work_ready(work) && work->activation == activation; */
phibal_status activation_work_init(const char *name, activation_work *work,
                                   phibal_activation activation, mpfr_prec_t precision);

/*@ requires work_places(work);
    terminates \true;
    exits \false;
    assigns *work;
    ensures work_kept{Pre, Here}(work);
    ensures work->activation == \old(work->activation); */
void activation_work_clear(activation_work *work);

/*@ requires \valid(work) && work_ready(work) && input(a) && \separated(a, work);
    requires optional_output(value, work, a) && optional_output(derivative, work, a) &&
             optional_output(condition, work, a);
    requires optional_apart(value, derivative) && optional_apart(value, condition) &&
             optional_apart(derivative, condition);
    terminates \true;
    exits \false;
    assigns work->v, work->v_slope, work->sigma, work->complement, work->square, *value,
            *derivative, *condition;
    ensures work_ready(work);
    ensures optional_output(value, work, a) && optional_output(derivative, work, a) &&
            optional_output(condition, work, a);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      optional_apart(r, value) && optional_apart(r, derivative) && optional_apart(r, condition) ==>
        same{Pre, Here}(r);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK && value != \null ==> \forall real r; in{Pre}(a, r) ==>
      in(value, activation_value(work->activation, r));
    ensures \result == PHIBAL_OK && derivative != \null ==> \forall real r; in{Pre}(a, r) ==>
      in(derivative, activation_derivative(work->activation, r));
    ensures \result == PHIBAL_OK && condition != \null ==> \forall real r; in{Pre}(a, r) ==>
      in(condition, activation_condition(work->activation, r)); */
phibal_status activation_evaluate(activation_work *work, const phibal_enclosure *a,
                                  phibal_enclosure *value, phibal_enclosure *derivative,
                                  phibal_enclosure *condition);

#endif

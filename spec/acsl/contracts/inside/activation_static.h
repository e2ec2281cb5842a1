/* What the static functions of reference/activation.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ACTIVATION_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ACTIVATION_STATIC_H

/*@ requires output(z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && in(z, pi);
    ensures only_written{Pre, Here}(z); */
static void enclose_pi(phibal_enclosure *z);

/*@ requires \valid(w) && work_places(w);
    terminates \true;
    exits \false;
    assigns w->slope, w->v;
    ensures enclosure(&w->slope) && enclosure(&w->v);
    ensures only_two_written{Pre, Here}(&w->slope, &w->v);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(&w->slope, gelu_slope); */
static phibal_status activation_slope(activation_work *w);

/*@ requires \valid(w) && work_places(w);
    terminates \true;
    exits \false;
    assigns w->cubic, w->v;
    ensures enclosure(&w->cubic) && enclosure(&w->v);
    ensures only_two_written{Pre, Here}(&w->cubic, &w->v);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(&w->cubic, gelu_cubic); */
static phibal_status activation_cubic(activation_work *w);

/*@ requires \valid(w) && work_ready(w) && input(a) && \separated(a, w);
    requires w->activation == PHIBAL_ACTIVATION_GELU;
    terminates \true;
    exits \false;
    assigns w->square, w->v, w->v_slope;
    ensures work_ready(w);
    ensures work_kept{Pre, Here}(w);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall real r; in{Pre}(a, r) ==>
      in(&w->v, activation_argument(PHIBAL_ACTIVATION_GELU, r)) &&
      in(&w->v_slope, activation_argument_slope(PHIBAL_ACTIVATION_GELU, r)); */
static phibal_status gelu_argument(activation_work *w, const phibal_enclosure *a);

/*@ requires \valid(w) && work_ready(w) && input(a) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->square, w->v, w->v_slope;
    ensures work_ready(w);
    ensures work_kept{Pre, Here}(w);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall real r; in{Pre}(a, r) ==>
      in(&w->v, activation_argument(w->activation, r)) &&
      in(&w->v_slope, activation_argument_slope(w->activation, r)); */
static phibal_status activation_argument(activation_work *w, const phibal_enclosure *a);

/*@ requires \valid(w) && work_ready(w) && input(x) && output(z);
    requires \separated(z, w) && \separated(z, x);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && only_written{Pre, Here}(z);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall real r, d, s, c; in{Pre}(x, r) &&
      in{Pre}(&w->v_slope, d) && in{Pre}(&w->sigma, s) && in{Pre}(&w->complement, c) ==>
        in(z, s * (1.0 + r * d * c)); */
static phibal_status activation_derivative(activation_work *w, const phibal_enclosure *x,
                                           phibal_enclosure *z);

/*@ requires \valid(w) && work_ready(w) && input(a) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->v, w->v_slope, w->sigma, w->complement, w->square;
    ensures work_ready(w);
    ensures work_kept{Pre, Here}(w);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> work_at(w, a); */
static phibal_status activation_factors(activation_work *w, const phibal_enclosure *a);

#endif

/* What the static functions of reference/potentials/pseudo_huber.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_PSEUDO_HUBER_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_PSEUDO_HUBER_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/point_steps.h>
#endif

/*@ requires input(x) && input(delta) && scratch(t) && z == t + 2;
    requires apart_from_scratch(x, t) && apart_from_scratch(delta, t);
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 1];
    ensures enclosure(z) && scratch(t) && only_scratch_written{Pre, Here}(t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, r;
      in{Pre}(delta, p) && in{Pre}(x, r) ==>
        in(z, \sqrt(r * r + p * p)) && in(t, r * r + p * p) && in(t + 1, p * p);
    ensures success: point{Pre}(x) && positive{Pre}(delta) ==>
      \result == PHIBAL_OK && nonnegative(z) && nonnegative(t); */
static phibal_status hypotenuse(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *delta, phibal_enclosure *t);

/*@ terminates always;
    ensures success: positive{Pre}(delta) ==>
      \result == PHIBAL_OK || in(t + 2, 0.0) || !bounded(t); */
phibal_status pseudo_huber_value(phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *delta, phibal_enclosure *t);

/*@ terminates always;
    ensures success: positive{Pre}(delta) ==> \result == PHIBAL_OK || in(t + 2, 0.0); */
phibal_status pseudo_huber_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                    const phibal_enclosure *delta, phibal_enclosure *t);

/*@ terminates always;
    ensures success: positive{Pre}(delta) ==>
      \result == PHIBAL_OK || in(t + 2, 0.0) || !bounded(t + 1); */
phibal_status pseudo_huber_second(phibal_enclosure *z, const phibal_enclosure *x,
                                  const phibal_enclosure *delta, phibal_enclosure *t);

/*@ requires input(y) && scratch(t) && z == t + 2 && apart_from_scratch(y, t);
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 1];
    ensures enclosure(z) && scratch(t) && only_scratch_written{Pre, Here}(t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r;
      in{Pre}(y, r) && \abs(r) <= 1.0 ==> in(z, \sqrt(1.0 - r * r)); */
static phibal_status cosine(phibal_enclosure *z, const phibal_enclosure *y, phibal_enclosure *t);

/*@ requires point_arguments(z, y, delta, t);
    requires \forall real r; in(y, r) ==> \abs(r) <= 1.0;
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 4];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, r;
      in{Pre}(delta, p) && in{Pre}(y, r) ==> in(z, pseudo_huber_conjugate(p, r)); */
static phibal_status conjugate_inside(phibal_enclosure *z, const phibal_enclosure *y,
                                      const phibal_enclosure *delta, phibal_enclosure *t);

#endif

/* What the static functions of reference/potentials/softplus.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_SOFTPLUS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_SOFTPLUS_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/point_steps.h>
#endif

/*@ requires input(x) && scratch(t) && z == t + 1 && apart_from_scratch(x, t);
    terminates \true;
    exits \false;
    assigns *z, t[0];
    ensures enclosure(z) && scratch(t) && only_scratch_written{Pre, Here}(t);
    ensures meaning: \forall real r; in{Pre}(x, r) ==> in(z, decay(r));
    ensures sign: nonnegative(z); */
static void decay(phibal_enclosure *z, const phibal_enclosure *x, phibal_enclosure *t);

/*@ requires input(x) && point(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall real r; in(x, r) ==> (\result < 0 <==> r < 1.0) && (\result > 0 <==> r > 1.0);
 */
static int compare_with_one(const phibal_enclosure *x);

/*@ requires point_arguments(z, y, y, t);
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 4];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r; in{Pre}(y, r) && 0.0 < r < 1.0 ==>
      in(z, r * \log(r) + (1.0 - r) * \log(1.0 + -r)); */
static phibal_status binary_entropy(phibal_enclosure *z, const phibal_enclosure *y,
                                    phibal_enclosure *t);

/*@ requires point_arguments(z, y, y, t);
    requires \forall real r; in(y, r) ==> 0.0 < r < 1.0;
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 4];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real a, r; in{Pre}(y, r) ==>
      in(z, softplus_conjugate_gradient(a, r)); */
static phibal_status logit_near_half(phibal_enclosure *z, const phibal_enclosure *y,
                                     phibal_enclosure *t);

/*@ requires point_arguments(z, y, y, t);
    requires \forall real r; in(y, r) ==> 0.0 < r < 1.0;
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 4];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real a, r; in{Pre}(y, r) ==>
      in(z, softplus_conjugate_gradient(a, r)); */
static phibal_status logit_split(phibal_enclosure *z, const phibal_enclosure *y,
                                 phibal_enclosure *t);

#endif

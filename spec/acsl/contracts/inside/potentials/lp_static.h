/* What the static functions of reference/potentials/lp.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_LP_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_LP_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/point_steps.h>
#endif

/*@ requires point_arguments(z, x, x, t);
    terminates \true;
    exits \false;
    assigns *z, t[0];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real q, r;
      in{Pre}(t + 1, q) && in{Pre}(x, r) && q > 0.0 ==> in(z, odd_power(r, q)); */
static phibal_status odd_power(phibal_enclosure *z, const phibal_enclosure *x,
                               phibal_enclosure *t);

/*@ requires point_arguments(z, y, p, t);
    requires \forall real q; in(p, q) ==> lp_valid(q);
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 2];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==>
      (\forall real q; in{Pre}(p, q) ==> in(t + 1, q - 1.0)) &&
      (\forall real q, r; in{Pre}(p, q) && in{Pre}(y, r) ==>
         in(z, power(\abs(r), q / (q - 1.0)))); */
static phibal_status conjugate_power(phibal_enclosure *z, const phibal_enclosure *y,
                                     const phibal_enclosure *p, phibal_enclosure *t);

#endif

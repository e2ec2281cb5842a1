/* What the static functions of reference/potentials/soft_l1.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_SOFT_L1_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_SOFT_L1_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/point_steps.h>
#endif

/*@ requires output(z) && readable_number(s) && \separated(z, s);
    requires mkind(s->number) == 0 && \abs(mval(s->number)) < 0.5;
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && only_written{Pre, Here}(z);
    ensures meaning: \forall real r; mreal(\old(s->number), r) ==> in(z, remainder(r)); */
static void remainder_of_small(phibal_enclosure *z, mpfr_srcptr s);

/*@ requires output(z) && readable_number(s) && \separated(z, s);
    requires mkind(s->number) == 0 && mval(s->number) > -1.0;
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && only_written{Pre, Here}(z);
    ensures meaning: \forall real r; mreal(\old(s->number), r) ==> in(z, remainder(r)); */
static void remainder_by_log1p(phibal_enclosure *z, mpfr_srcptr s, mpfr_prec_t precision);

/*@ requires output(z) && readable_number(s) && \separated(z, s);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && only_written{Pre, Here}(z);
    ensures meaning: \forall real r; mreal(\old(s->number), r) && r > -1.0 ==> in(z, remainder(r));
    ensures limit: mkind(\old(s->number)) != 0 || mval(\old(s->number)) <= -1.0 ==> in_plus(z); */
static void remainder_at(phibal_enclosure *z, mpfr_srcptr s);

/*@ requires output(z) && output(t) && input(s);
    requires \separated(z, s) && \separated(t, s) && \separated(z, t);
    requires nonnegative(s) || nonpositive(s);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z) && enclosure(t) && only_two_written{Pre, Here}(z, t);
    ensures meaning: \forall real r; in{Pre}(s, r) && r > -1.0 ==> in(z, remainder(r)); */
static void remainder_of_log1p(phibal_enclosure *z, const phibal_enclosure *s,
                               phibal_enclosure *t);

/*@ terminates always;
    ensures success: positive{Pre}(delta) && bounded{Pre}(delta) ==> \result == PHIBAL_OK; */
phibal_status soft_l1_value(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *delta, phibal_enclosure *t);

/*@ terminates always;
    ensures success: positive{Pre}(delta) ==> \result == PHIBAL_OK || in(t + 0, 0.0); */
phibal_status soft_l1_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *delta, phibal_enclosure *t);

/*@ terminates always;
    ensures success: positive{Pre}(delta) && bounded{Pre}(delta) ==>
      \result == PHIBAL_OK || in(t + 0, 0.0) || !bounded(t + 0); */
phibal_status soft_l1_second(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *delta, phibal_enclosure *t);

/*@ terminates always;
    ensures success: positive{Pre}(delta) && bounded{Pre}(delta) ==> \result == PHIBAL_OK; */
phibal_status soft_l1_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                const phibal_enclosure *delta, phibal_enclosure *t);

/*@ terminates always;
    ensures success: positive{Pre}(delta) && bounded{Pre}(delta) &&
      (\forall real r; in{Pre}(y, r) ==> \abs(r) < 1.0) ==>
        \result == PHIBAL_OK || in(t + 1, 0.0) || !bounded(t + 1); */
phibal_status soft_l1_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                         const phibal_enclosure *delta, phibal_enclosure *t);

#endif

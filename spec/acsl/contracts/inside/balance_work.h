/* What the functions of reference/balance_work.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_BALANCE_WORK_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_BALANCE_WORK_H

#ifdef __FRAMAC__
#include <phibal/acsl/balance.h>
#include <phibal/acsl/floating.h>
#endif

/*@ requires n >= 0 && \valid_read(x + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==>
      finite_floats(x, n) && (\forall integer i; 0 <= i < n ==> 0.0 <= (real)x[i]); */
phibal_status balance_loads_check(const char *name, const char *what, int32_t n, const float *x);

/*@ requires potential == \null || \valid_read(potential);
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && m != \null ==>
      \valid_read(m + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> potential != \null && m != \null && output != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS && precision >= OPERATION_PRECISION;
    ensures \result == PHIBAL_OK ==> finite_floats(m, experts) &&
      (\forall integer i; 0 <= i < experts ==> 0.0 <= (real)m[i]); */
phibal_status balance_price_check(const char *name, const phibal_potential *potential,
                                  int32_t experts, const float *m, mpfr_prec_t precision,
                                  const phibal_enclosure *output);

/*@ requires 0 <= n && \valid_read(x + (0 .. n - 1)) && finite_floats(x, n) && vector_output(z, n);
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1];
    ensures vector_output(z, n) && only_vector_written{Pre, Here}(z, n);
    ensures \forall sequence s; floats_are(x, n, s) ==> members(z, n, s); */
void balance_vector_set(int32_t n, const float *x, phibal_enclosure *z);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && vector_input(x, experts);
    requires vector_output(t, 2) && vector_output(centred, experts);
    requires vector_apart(t + 0, x, experts) && vector_apart(t + 1, x, experts) &&
             vector_apart(t + 0, centred, experts) && vector_apart(t + 1, centred, experts);
    requires vectors_apart(centred, experts, x, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], centred[0 .. experts - 1];
    ensures enclosure(t + 0) && enclosure(t + 1);
    ensures vector_output(centred, experts);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 2) &&
      vector_apart(r, centred, experts) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> \forall sequence s, integer e;
      members{Pre}(x, experts, s) && 0 <= e < experts ==>
        in(centred + e, centred(s, experts, e)); */
phibal_status balance_vector_centre(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
                                    phibal_enclosure *centred);

#endif

/* What the static functions of reference/ffn_work.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_WORK_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_WORK_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/ffn_results.h>
#endif

/*@ requires 0 <= n && (to != \null ==> vector_input(from, n) && vector_output(to, n) &&
      vectors_apart(to, n, from, n));
    terminates \true;
    exits \false;
    assigns to[0 .. n - 1];
    ensures outputs: optional_vector(to, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      optional_vector_apart(r, to, n) ==> same{Pre, Here}(r);
    ensures values: to != \null ==> \forall integer i, real a; 0 <= i < n && in{Pre}(from + i, a)
      ==> in(to + i, a); */
static void vector_copy(int64_t n, const phibal_enclosure *from, phibal_enclosure *to);

/*@ requires 0 <= n && result_given(from, n);
    requires result_there(to, n) && results_apart(to, n, from, n);
    terminates \true;
    exits \false;
    assigns to.value[0 .. n - 1], to.condition[0 .. n - 1];
    ensures outputs: result_there(to, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && result_apart(r, to, n) ==>
      same{Pre, Here}(r);
    ensures values: copied{Pre, Here}(from, to, n); */
static void result_copy(int64_t n, phibal_reference_result from, phibal_reference_result to);

#endif

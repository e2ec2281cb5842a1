/* What the static functions of reference/potentials/tsallis.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_TSALLIS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_TSALLIS_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/point_steps.h>
#endif

/*@ requires point_arguments(z, x, x, t);
    terminates \true;
    exits \false;
    assigns *z, t[1 .. 2];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real b, r;
      in{Pre}(t, b) && in{Pre}(x, r) && b != 0.0 && r > 0.0 ==> in(z, deformed_log(b, r)); */
static phibal_status deformed_log(phibal_enclosure *z, const phibal_enclosure *x,
                                  phibal_enclosure *t);

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> \forall real r; in(x, r) ==> r > 1.0; */
static bool is_above_one(const phibal_enclosure *x);

/*@ requires output(x);
    terminates \true;
    exits \false;
    assigns *x;
    ensures enclosure(x) && nonnegative(x) && only_written{Pre, Here}(x);
    ensures \forall real r; in{Pre}(x, r) ==> in(x, r > 0.0 ? r : 0.0); */
static void cut_off(phibal_enclosure *x);

/*@ // t[0] and t[1] hold b and s, for the parameter a and the point y of state A
    predicate conjugate_base{A, B}(phibal_enclosure *y, phibal_enclosure *a, phibal_enclosure *t) =
      (\forall real p; in{A}(a, p) ==> in{B}(t, p - 1.0)) &&
      (\forall real p, r; in{A}(a, p) && in{A}(y, r) ==> in{B}(t + 1, cut_base(p, r))); */

/*@ requires input(y) && input(a) && scratch(t);
    requires apart_from_scratch(y, t) && apart_from_scratch(a, t);
    requires \forall real p; in(a, p) ==> tsallis_valid(p);
    terminates \true;
    exits \false;
    assigns t[0 .. 1];
    ensures scratch_kept{Pre, Here}(t);
    ensures meaning: \result == PHIBAL_OK ==>
      nonnegative(t + 1) && conjugate_base{Pre, Here}(y, a, t); */
static phibal_status conjugate_base(const phibal_enclosure *y, const phibal_enclosure *a,
                                    phibal_enclosure *t);

/*@ requires point_arguments(z, y, a, t);
    requires \forall real p; in(a, p) ==> tsallis_valid(p);
    requires conjugate_base{Here, Here}(y, a, t);
    terminates \true;
    exits \false;
    assigns *z, t[3];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, r;
      in{Pre}(a, p) && in{Pre}(t + 2, q) && in{Pre}(y, r) ==>
        (cut_base(p, r) > 0.0 || q >= 0.0 ? in(z, power(cut_base(p, r), q)) : in_plus(z)); */
static phibal_status conjugate_power(phibal_enclosure *z, const phibal_enclosure *y,
                                     const phibal_enclosure *a, phibal_enclosure *t);

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> \forall real r; in(x, r) ==> r < 1.0;
    ensures !\result ==> \forall real r; in(x, r) && r < 1.0 ==> in(x, 1.0); */
static bool is_below_one(const phibal_enclosure *x);

/*@ requires input(x) && nonnegative(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures !\result ==> positive(x); */
static bool begins_at_zero(const phibal_enclosure *x);

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing; */
static bool ends_at_zero(const phibal_enclosure *x);

#endif

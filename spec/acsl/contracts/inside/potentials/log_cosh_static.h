/* What the static functions of reference/potentials/log_cosh.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_LOG_COSH_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_LOG_COSH_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/point_steps.h>
#endif

/*@ requires scratch(t);
    terminates \true;
    exits \false;
    assigns t[1];
    ensures enclosure(t + 1) && only_written{Pre, Here}(t + 1);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r; in{Pre}(t, r) ==>
      in(t + 1, \log(1.0 + e(-(r * 2.0)))); */
static phibal_status log_of_one_plus_decay(phibal_enclosure *t);

/*@ requires output(z) && scratch(t) && apart_from_scratch(z, t);
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 4];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r; in{Pre}(t, r) ==>
      in(z, log_of_cosh(r)); */
static phibal_status log_of_cosh_far(phibal_enclosure *z, phibal_enclosure *t);

/*@ requires scratch(t);
    terminates \true;
    exits \false;
    assigns t[1 .. 2];
    ensures scratch_kept{Pre, Here}(t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r; in{Pre}(t, r) ==>
      in(t + 1, cosh_excess(r) / 2.0); */
static phibal_status cosh_less_one(phibal_enclosure *t);

/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing; */
static bool is_above_two(const phibal_enclosure *x);

/*@ requires output(z) && scratch(t) && apart_from_scratch(z, t);
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 4];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r; in{Pre}(t, r) ==>
      in(z, log_of_cosh(r)); */
static phibal_status log_of_cosh(phibal_enclosure *z, phibal_enclosure *t);

/*@ requires input(x) && input(beta) && scratch(t);
    requires apart_from_scratch(x, t) && apart_from_scratch(beta, t);
    terminates \true;
    exits \false;
    assigns t[0];
    ensures scratch_kept{Pre, Here}(t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, r;
      in{Pre}(beta, p) && in{Pre}(x, r) ==> in(t, log_cosh_decay(p, r)); */
static phibal_status decay(phibal_enclosure *t, const phibal_enclosure *x,
                           const phibal_enclosure *beta);

/*@ requires point_arguments(z, y, y, t);
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 4];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r; in{Pre}(y, r) && \abs(r) < 1.0 ==>
      in(z, twice_artanh(r)); */
static phibal_status twice_artanh(phibal_enclosure *z, const phibal_enclosure *y,
                                  phibal_enclosure *t);

/*@ requires point_arguments(z, y, y, t);
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 4];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r; in{Pre}(y, r) && \abs(r) < 1.0 ==>
      in(z, symmetric_entropy(r)); */
static phibal_status entropy_near_zero(phibal_enclosure *z, const phibal_enclosure *y,
                                       phibal_enclosure *t);

/*@ requires output(z) && input(t) && input(t + 1) && \separated(z, t) && \separated(z, t + 1);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && only_written{Pre, Here}(z);
    ensures meaning: \result == PHIBAL_OK ==> \forall real s; in{Pre}(t, s) &&
      (s == 0.0 ? point{Pre}(t) : s > 0.0 && in{Pre}(t + 1, \log(s))) ==> in(z, x_log_x(s)); */
static phibal_status times_log(phibal_enclosure *z, const phibal_enclosure *t);

/*@ requires point_arguments(z, y, y, t);
    terminates \true;
    exits \false;
    assigns *z, t[0 .. 4];
    ensures enclosure(z) && scratch(t) && only_point_written{Pre, Here}(z, t);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r; in{Pre}(y, r) && \abs(r) <= 1.0 ==>
      in(z, symmetric_entropy(r)); */
static phibal_status entropy(phibal_enclosure *z, const phibal_enclosure *y, phibal_enclosure *t);

#endif

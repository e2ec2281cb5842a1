/* What the static functions of reference/metrics.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_METRICS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_METRICS_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/floating.h>
#include <phibal/acsl/metrics.h>
#endif

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==> !null && 1 <= experts <= PHIBAL_MAX_EXPERTS &&
      precision >= OPERATION_PRECISION; */
static phibal_status metric_check(const char *name, bool null, int32_t experts,
                                  mpfr_prec_t precision);

/*@ // a is the load of expert e; s is the loads: of the first vector where there is one
    predicate load_is{L}(float *single, double *wide, integer e, real a) =
      (single != \null ==> a == (real)single[e]) && (single == \null ==> a == (real)wide[e]);
    predicate loads_are{L}(float *single, double *wide, integer n, sequence s) =
      (single != \null ==> floats_are(single, n, s)) &&
      (single == \null ==> doubles_are(wide, n, s));
*/

/*@ requires output(x) && \valid(largest) && \is_finite(*largest) && 0 <= e;
    requires single != \null ==> \valid_read(single + e);
    requires single == \null ==> \valid_read(wide + e);
    terminates \true;
    exits \false;
    assigns *x, *largest;
    ensures enclosure(x) && only_written{Pre, Here}(x);
    ensures \is_finite(*largest) && (real)\old(*largest) <= (real)*largest;
    ensures load: \result == PHIBAL_OK ==> \forall real a; load_is{Pre}(single, wide, e, a) ==>
      0.0 <= a && in(x, a) && (a == 0.0 ==> point(x)) &&
      (real)*largest == ((real)\old(*largest) < a ? a : (real)\old(*largest)); */
static phibal_status metric_load(const char *name, int32_t e, const float *single,
                                 const double *wide, phibal_enclosure *x, double *largest);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS;
    requires single != \null ==> \valid_read(single + (0 .. experts - 1));
    requires single == \null ==> \valid_read(wide + (0 .. experts - 1));
    requires vector_output(x, experts) && output(total) && vector_apart(total, x, experts);
    requires \valid(largest) && \separated(largest, wide + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns x[0 .. experts - 1], *total, *largest;
    ensures vector_output(x, experts) && enclosure(total);
    ensures only_with_vector_written{Pre, Here}(total, x, experts);
    ensures \result == PHIBAL_OK ==> \is_finite(*largest);
    ensures \result == PHIBAL_OK ==> \forall sequence s; loads_are(single, wide, experts, s) ==>
      members(x, experts, s) && in(total, sum(s, experts)) && all_nonnegative(s, experts) &&
      (real)*largest == largest(s, experts) && 0.0 < largest(s, experts) <= sum(s, experts);
    ensures \result == PHIBAL_OK ==> \forall sequence s; loads_are(single, wide, experts, s) ==>
      (\forall integer i; 0 <= i < experts && term(s, i) == 0.0 ==> point(x + i)); */
static phibal_status metric_loads(const char *name, int32_t experts, const float *single,
                                  const double *wide, phibal_enclosure *x, phibal_enclosure *total,
                                  double *largest);

/*@ requires 1 <= experts && output(t) && output(maxvio) && input(largest) && input(total);
    requires \separated(t, largest) && \separated(t, total) && \separated(t, maxvio);
    requires \separated(maxvio, total) && \separated(maxvio, largest);
    terminates \true;
    exits \false;
    assigns *t, *maxvio;
    ensures enclosure(t) && enclosure(maxvio) && only_two_written{Pre, Here}(t, maxvio);
    ensures \result == PHIBAL_OK ==> \forall real a, b;
      in{Pre}(largest, a) && in{Pre}(total, b) && b > 0.0 ==>
        in(maxvio, violation(a, b, experts)); */
static phibal_status maxvio_compute(int32_t experts, const phibal_enclosure *largest,
                                    const phibal_enclosure *total, phibal_enclosure *t,
                                    phibal_enclosure *maxvio);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(count + (0 .. experts - 1));
    requires vector_output(t, 3) && output(maxvio) && vector_apart(maxvio, t, 3);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], *maxvio;
    ensures vector_output(t, 3) && enclosure(maxvio);
    ensures only_with_vector_written{Pre, Here}(maxvio, t, 3);
    ensures \result == PHIBAL_OK ==> \forall sequence s; counts_are(count, experts, s) ==>
      all_nonnegative(s, experts) && 0.0 < largest(s, experts) &&
      in(maxvio, maxvio(s, experts)); */
static phibal_status maxvio_counts(const char *name, int32_t experts, const int64_t *count,
                                   phibal_enclosure *t, phibal_enclosure *maxvio);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(mean + (0 .. experts - 1));
    requires mean != \null;
    requires vector_output(t, 3) && vector_output(v, experts) && output(maxvio);
    requires vector_apart(maxvio, t, 3) && vector_apart(maxvio, v, experts) &&
             vector_apart(t + 0, v, experts) && vector_apart(t + 1, v, experts) &&
             vector_apart(t + 2, v, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], v[0 .. experts - 1], *maxvio;
    ensures vector_output(t, 3);
    ensures vector_output(v, experts) && enclosure(maxvio);
    ensures only_with_vectors_written{Pre, Here}(maxvio, t, 3, v, experts);
    ensures \result == PHIBAL_OK ==> \forall sequence s; floats_are(mean, experts, s) ==>
      all_nonnegative(s, experts) && 0.0 < largest(s, experts) &&
      in(maxvio, maxvio(s, experts)); */
static phibal_status maxvio_mean(const char *name, int32_t experts, const float *mean,
                                 phibal_enclosure *t, phibal_enclosure *v,
                                 phibal_enclosure *maxvio);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && vector_input(x, experts);
    requires output(t + 0) && output(t + 2);
    requires vector_apart(t + 0, x, experts) && vector_apart(t + 2, x, experts);
    terminates \true;
    exits \false;
    assigns t[0], t[2];
    ensures enclosure(t + 0) && enclosure(t + 2) && only_two_written{Pre, Here}(t + 0, t + 2);
    ensures \result == PHIBAL_OK ==> \forall sequence s; members{Pre}(x, experts, s) ==>
      in(t + 0, all_gaps(s, experts, experts) / 2.0); */
static phibal_status gini_pairs(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(x + (0 .. experts - 1));
    requires vector_output(t, 3) && vector_output(v, experts) && output(gini);
    requires vector_apart(gini, t, 3) && vector_apart(gini, v, experts) &&
             vector_apart(t + 0, v, experts) && vector_apart(t + 1, v, experts) &&
             vector_apart(t + 2, v, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], v[0 .. experts - 1], *gini;
    ensures vector_output(t, 3);
    ensures vector_output(v, experts) && enclosure(gini);
    ensures only_with_vectors_written{Pre, Here}(gini, t, 3, v, experts);
    ensures \result == PHIBAL_OK ==> \forall sequence s; doubles_are(x, experts, s) ==>
      all_nonnegative(s, experts) && 0.0 < largest(s, experts) && in(gini, gini(s, experts)); */
static phibal_status gini_compute(const char *name, int32_t experts, const double *x,
                                  phibal_enclosure *t, phibal_enclosure *v,
                                  phibal_enclosure *gini);

/*@ requires vector_output(t, 4) && input(x) && input(total);
    requires \separated(x, t + 0) && \separated(x, t + 2) && \separated(x, t + 3);
    requires \separated(total, t + 0) && \separated(total, t + 2) && \separated(total, t + 3);
    terminates \true;
    exits \false;
    assigns t[0], t[2], t[3];
    ensures enclosure(t + 0) && enclosure(t + 2) && enclosure(t + 3);
    ensures only_three_written{Pre, Here}(t + 0, t + 2, t + 3);
    ensures \result == PHIBAL_OK ==> \forall real c, a, b;
      in{Pre}(t + 0, c) && in{Pre}(x, a) && in{Pre}(total, b) && 0.0 < b && 0.0 <= a &&
      (a == 0.0 ==> point{Pre}(x)) ==> in(t + 0, c - information(a, b)); */
static phibal_status entropy_subtract(const phibal_enclosure *x, const phibal_enclosure *total,
                                      phibal_enclosure *t);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && vector_input(x, experts) && input(total);
    requires vector_output(t, 4);
    requires vector_apart(t + 0, x, experts) && vector_apart(t + 2, x, experts) &&
             vector_apart(t + 3, x, experts);
    requires \separated(total, t + 0) && \separated(total, t + 2) && \separated(total, t + 3);
    terminates \true;
    exits \false;
    assigns t[0], t[2], t[3];
    ensures enclosure(t + 0) && enclosure(t + 2) && enclosure(t + 3);
    ensures only_three_written{Pre, Here}(t + 0, t + 2, t + 3);
    ensures \result == PHIBAL_OK ==> \forall sequence s, real b;
      members{Pre}(x, experts, s) && all_nonnegative(s, experts) && in{Pre}(total, b) && 0.0 < b &&
      (\forall integer i; 0 <= i < experts && term(s, i) == 0.0 ==> point{Pre}(x + i)) ==>
        in(t + 0, entropy_of(s, b, experts)); */
static phibal_status entropy_sum(int32_t experts, const phibal_enclosure *x,
                                 const phibal_enclosure *total, phibal_enclosure *t);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(x + (0 .. experts - 1));
    requires vector_output(t, 4) && vector_output(v, experts) && output(entropy);
    requires vector_apart(entropy, t, 4) && vector_apart(entropy, v, experts) &&
             vector_apart(t + 0, v, experts) && vector_apart(t + 1, v, experts) &&
             vector_apart(t + 2, v, experts) && vector_apart(t + 3, v, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 3], v[0 .. experts - 1], *entropy;
    ensures vector_output(t, 4);
    ensures vector_output(v, experts) && enclosure(entropy);
    ensures only_with_vectors_written{Pre, Here}(entropy, t, 4, v, experts);
    ensures \result == PHIBAL_OK ==> \forall sequence s; doubles_are(x, experts, s) ==>
      all_nonnegative(s, experts) && 0.0 < largest(s, experts) &&
      in(entropy, entropy(s, experts)); */
static phibal_status entropy_compute(const char *name, int32_t experts, const double *x,
                                     phibal_enclosure *t, phibal_enclosure *v,
                                     phibal_enclosure *entropy);

#endif

/* What the static functions of reference/balance.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_BALANCE_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_BALANCE_STATIC_H

/*@ requires vector_output(t, 4) && output(next) && vector_apart(next, t, 4);
    requires \is_finite(m) && \is_finite(load);
    terminates \true;
    exits \false;
    assigns t[2], t[3], *next;
    ensures enclosure(t + 2) && enclosure(t + 3) && enclosure(next);
    ensures only_three_written{Pre, Here}(next, t + 2, t + 3);
    ensures \result == PHIBAL_OK ==> \forall real a, b; in{Pre}(t + 0, a) && in{Pre}(t + 1, b) ==>
      in(next, weighted((real)m, a, (real)load, b)); */
static phibal_status ema_element(float m, float load, phibal_enclosure *t, phibal_enclosure *next);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(eta);
    requires \valid_read(m + (0 .. experts - 1)) && finite_floats(m, experts);
    requires \valid_read(loads + (0 .. experts - 1)) && finite_floats(loads, experts);
    requires vector_output(t, 4) && vector_output(next, experts);
    requires \forall integer e; 0 <= e < experts ==> vector_apart(next + e, t, 4);
    terminates \true;
    exits \false;
    assigns t[0 .. 3], next[0 .. experts - 1];
    ensures vector_output(t, 4);
    ensures vector_output(next, experts);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 4) &&
      vector_apart(r, next, experts) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> \forall integer e; 0 <= e < experts ==>
      in(next + e, moving_average((real)eta, (real)m[e], (real)loads[e])); */
static phibal_status ema_vector(int32_t experts, float eta, const float *m, const float *loads,
                                phibal_enclosure *t, phibal_enclosure *next);

/*@ // the mean of counts that sum to `total`
    predicate mean_is(mean_count mean, integer experts, integer total) =
      0 <= mean.rest < experts && mean.whole * experts + mean.rest == total;
*/

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && 0 <= mean.rest < experts;
    requires experts * INT64_MIN <= mean.whole * experts + mean.rest + count <=
      experts * INT64_MAX;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures 0 <= \result.rest < experts;
    ensures \result.whole * experts + \result.rest == mean.whole * experts + mean.rest + count; */
static mean_count mean_count_add(mean_count mean, int32_t experts, int64_t count);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(count + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures mean_is(\result, experts, count_sum(count, experts)); */
static mean_count mean_count_compute(int32_t experts, const int64_t *count);

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures -1 <= \result <= 1;
    ensures \forall integer experts, total; mean_is(mean, experts, total) ==>
      \result == sign_of(total - experts * count); */
static int loss_free_sign(mean_count mean, int64_t count);

/*@ requires \is_finite(bias) && \is_finite(rate) && (sign == 1 || sign == -1);
    requires vector_output(t, 2) && \valid(next);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *next;
    ensures enclosure(t + 0) && enclosure(t + 1) && only_two_written{Pre, Here}(t + 0, t + 1);
    ensures rounded: \result == PHIBAL_OK ==> rounded_to(PHIBAL_FORMAT_BINARY32,
      PHIBAL_ROUND_NEAREST, (real)bias + (real)rate * sign, (double)*next); */
static phibal_status loss_free_move(float bias, int sign, float rate, phibal_enclosure *t,
                                    float *next);

/*@ requires \is_finite(rate) && \is_finite(bias) && vector_output(t, 2) && \valid(next);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *next;
    ensures enclosure(t + 0) && enclosure(t + 1) && only_two_written{Pre, Here}(t + 0, t + 1);
    ensures \result == PHIBAL_OK ==> \forall integer experts, total;
      mean_is(mean, experts, total) ==>
        bias_moved((real)bias, (real)rate, sign_of(total - experts * count), *next); */
static phibal_status loss_free_element(mean_count mean, float rate, int64_t count, float bias,
                                       phibal_enclosure *t, float *next);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(rate);
    requires \valid_read(count + (0 .. experts - 1));
    requires \valid_read(bias + (0 .. experts - 1)) && finite_floats(bias, experts);
    requires \valid(next + (0 .. experts - 1)) && vector_output(t, 2);
    requires \separated(next + (0 .. experts - 1), bias + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns t[0 .. 1], next[0 .. experts - 1];
    ensures enclosure(t + 0) && enclosure(t + 1) && only_two_written{Pre, Here}(t + 0, t + 1);
    ensures moved: \result == PHIBAL_OK ==> \forall integer e; 0 <= e < experts ==>
      bias_moved((real)bias[e], (real)rate, load_sign{Pre}(count, experts, e), next[e]); */
static phibal_status loss_free_vector(int32_t experts, float rate, const int64_t *count,
                                      const float *bias, phibal_enclosure *t, float *next);

#endif

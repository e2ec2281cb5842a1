/* The state of balancing and its biases: the average (M1) and the loss-free update (L6). */
#include "balance_work.h"
#include <phibal/rounding.h>
#include <phibal/acsl/contracts/inside/balance_update.h>

/* A sum of two binary32 numbers is a multiple of 2^-149 below 2^129: exact in so many bits. */
#define EXACT_BINARY32_SUM 288

/* The mean of the counts is whole + rest / experts with 0 <= rest < experts; no sum of them that
   could overflow is formed. */
typedef struct mean_count {
  int64_t whole, rest;
} mean_count;

#include <phibal/acsl/contracts/inside/balance_static.h>

/* next = (1 - eta) m + eta load; t[0] = 1 - eta, t[1] = eta, t[2..3] free. */
static phibal_status ema_element(float m, float load, phibal_enclosure *t, phibal_enclosure *next) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t[2], (double)m);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[0]));
  //@ assert kept: \forall real a; in{Pre}(t + 0, a) ==> in(t + 2, (real)m * a);
  phibal_enclosure_set_d(&t[3], (double)load);
  TRY(phibal_enclosure_mul(&t[3], &t[3], &t[1]));
  //@ assert added: \forall real b; in{Pre}(t + 1, b) ==> in(t + 3, (real)load * b);
  return phibal_enclosure_add(next, &t[2], &t[3]);
}

/* (M1) for every expert. */
static phibal_status ema_vector(int32_t experts, float eta, const float *m, const float *loads,
                                phibal_enclosure *t, phibal_enclosure *next) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t[1], (double)eta);
  phibal_enclosure_set_si(&t[0], 1);
  phibal_status subtracted = phibal_enclosure_sub(&t[0], &t[0], &t[1]);
  //@ assert scratch: vector_output(t, 4);
  //@ assert places: vector_output(next, experts);
  /*@ assert places_apart: \forall integer i; 0 <= i < experts ==>
        \separated(next + i, t + 2) && \separated(next + i, t + 3); */
  if (subtracted != PHIBAL_OK) return subtracted;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant weights: in(t + 0, 1.0 - (real)eta) && in(t + 1, (real)eta);
      loop invariant scratch: vector_output(t, 4);
      loop invariant outputs: vector_output(next, experts);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 4) && vector_apart(r, next, experts) ==> same{Pre, Here}(r);
      loop invariant averages: \forall integer i; 0 <= i < e ==>
        in(next + i, moving_average((real)eta, (real)m[i], (real)loads[i]));
      loop assigns e, t[2 .. 3], next[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    //@ assert others_apart: \forall integer i; 0 <= i < e ==> \separated(next + i, next + e);
    phibal_status status = ema_element(m[e], loads[e], t, &next[e]);
    //@ assert scratch: vector_output(t, 4);
    //@ assert outputs: vector_output(next, experts);
    //@ assert left: \forall integer i; 0 <= i < e ==> same{LoopCurrent, Here}(next + i);
    if (status != PHIBAL_OK) return status;
    //@ assert average: in(next + e, moving_average((real)eta, (real)m[e], (real)loads[e]));
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_ema(int32_t experts, float eta, const float *m, const float *loads,
                                   mpfr_prec_t precision, phibal_enclosure *next) {
  //@ assert use_enclosure && use_floating;
  const char *name = "phibal_reference_ema";
  if (!m || !loads || !next)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(operation_check_experts(name, experts, precision));
  if (!(isfinite(eta) && eta > 0.0f && eta <= 1.0f))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: eta = %g; it must be in (0, 1]", name,
                             (double)eta);
  TRY(operation_check_finite(name, "m", experts, m));
  TRY(operation_check_finite(name, "the loads", experts, loads));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 4, precision, &t));
  phibal_status status = ema_vector(experts, eta, m, loads, t, next);
  operation_scratch_clear(t, 4);
  return status;
}

/* mean + count / experts. */
static mean_count mean_count_add(mean_count mean, int32_t experts, int64_t count) {
  int64_t whole = count / experts, rest = count % experts;
  //@ assert divided: whole * experts + rest == count && -experts < rest < experts;
  if (rest < 0) {
    rest += experts;
    whole--;
  }
  rest += mean.rest;
  if (rest >= experts) {
    rest -= experts;
    whole++;
  }
  //@ assert rest: 0 <= rest < experts;
  /*@ assert sum: (mean.whole + whole) * experts + rest ==
        mean.whole * experts + mean.rest + count; */
  //@ assert above: 0 < (mean.whole + whole - INT64_MIN + 1) * experts;
  /*@ assert below: mean.whole + whole - INT64_MIN + 1 <= 0 ==>
        (mean.whole + whole - INT64_MIN + 1) * experts <= 0; */
  //@ assert low: INT64_MIN <= mean.whole + whole;
  //@ assert high: mean.whole + whole <= INT64_MAX;
  return (mean_count){mean.whole + whole, rest};
}

static mean_count mean_count_compute(int32_t experts, const int64_t *count) {
  mean_count mean = {0, 0};
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant rest: 0 <= mean.rest < experts;
      loop invariant sum: mean.whole * experts + mean.rest == count_sum(count, e);
      loop invariant bounds: e * INT64_MIN <= count_sum(count, e) <= e * INT64_MAX;
      loop assigns e, mean;
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    //@ assert next: count_sum(count, e + 1) == count_sum(count, e) + count[e];
    mean = mean_count_add(mean, experts, count[e]);
  }
  return mean;
}

/* sign(mean(count) - count_e), in integers. */
static int loss_free_sign(mean_count mean, int64_t count) {
  if (mean.whole != count) return mean.whole > count ? 1 : -1;
  return mean.rest > 0;
}

/* *next = the binary32 nearest to bias + sign rate for a sign of 1 or -1, from the exact sum.
   t[0..1] hold EXACT_BINARY32_SUM bits. No conversion of a rounded sum to float changes it; proofs
   know that from the comparison. */
static phibal_status loss_free_move(float bias, int sign, float rate, phibal_enclosure *t,
                                    float *next) {
  //@ assert use_enclosure && use_floating && use_whole_doubles;
  double rounded;
  operation_set_float(&t[0], bias);
  if (sign > 0)
    operation_set_float(&t[1], rate);
  else
    operation_set_negated(&t[1], rate);
  //@ assert step: in(t + 1, (real)rate * sign);
  TRY(phibal_enclosure_add(&t[0], &t[0], &t[1]));
  //@ assert member: in(t + 0, (real)bias + (real)rate * sign);
  if (!phibal_round_enclosure(&t[0], PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, &rounded) ||
      (double)(float)rounded != rounded)
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "the sum of %a and %d times %a is not exact",
                             (double)bias, sign, (double)rate);
  *next = (float)rounded;
  return PHIBAL_OK;
}

/* next = bias + sign(mean(count) - count) rate. */
static phibal_status loss_free_element(mean_count mean, float rate, int64_t count, float bias,
                                       phibal_enclosure *t, float *next) {
  //@ assert use_enclosure;
  int sign = loss_free_sign(mean, count);
  *next = bias;
  if (sign == 0) return PHIBAL_OK;
  return loss_free_move(bias, sign, rate, t, next);
}

/* (L6) for every expert. */
static phibal_status loss_free_vector(int32_t experts, float rate, const int64_t *count,
                                      const float *bias, phibal_enclosure *t, float *next) {
  //@ assert use_enclosure;
  mean_count mean = mean_count_compute(experts, count);
  //@ assert mean: mean_is(mean, experts, count_sum{Pre}(count, experts));
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: enclosure(t + 0) && enclosure(t + 1);
      loop invariant frame: only_two_written{Pre, Here}(t + 0, t + 1);
      loop invariant biases: \forall integer i; 0 <= i < experts ==> bias[i] == \at(bias[i], Pre);
      loop invariant moved: \forall integer i; 0 <= i < e ==>
        bias_moved((real)bias[i], (real)rate, load_sign{Pre}(count, experts, i), next[i]);
      loop assigns e, t[0 .. 1], next[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    //@ assert bias: \is_finite(bias[e]);
    phibal_status status = loss_free_element(mean, rate, count[e], bias[e], t, &next[e]);
    /*@ assert earlier: \forall integer i; 0 <= i < e ==>
          next[i] == \at(next[i], LoopCurrent) && bias[i] == \at(bias[i], LoopCurrent); */
    /*@ assert now: status == PHIBAL_OK ==>
          bias_moved((real)bias[e], (real)rate, load_sign{Pre}(count, experts, e), next[e]); */
    /*@ assert moved: \forall integer i; 0 <= i < e ==>
          bias_moved((real)bias[i], (real)rate, load_sign{Pre}(count, experts, i), next[i]); */
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_loss_free_update(int32_t experts, float rate, const int64_t *count,
                                                const float *bias, float *next) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_loss_free_update";
  if (!count || !bias || !next || !isfinite(rate))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or rate %g", name,
                             (double)rate);
  TRY(operation_check_experts(name, experts, OPERATION_PRECISION));
  TRY(operation_check_finite(name, "the bias", experts, bias));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 2, EXACT_BINARY32_SUM, &t));
  phibal_status status = loss_free_vector(experts, rate, count, bias, t, next);
  operation_scratch_clear(t, 2);
  return status;
}

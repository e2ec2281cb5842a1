/* Balancing losses: scaled products of loads and prices (L1) or frequencies (L3). */
#include "balance_work.h"
#include <phibal/acsl/contracts/inside/balance_price.h>
#include <phibal/acsl/contracts/inside/balance_loss_static.h>

/* t[0] += weight x, t[1] += weight |x|; t[2..3] are temporaries. */
static phibal_status loss_add_term(const phibal_enclosure *x, float weight, phibal_enclosure *t) {
  //@ assert use_enclosure;
  operation_set_float(&t[2], weight);
  //@ assert weight: \forall real b; weight_is(weight, b) ==> in(t + 2, b);
  //@ assert set: same{Pre, Here}(t + 0) && same{Pre, Here}(t + 1) && same{Pre, Here}(x);
  /*@ assert members: \forall real c, a, b;
        in{Pre}(t + 0, c) && in{Pre}(x, a) && weight_is(weight, b) ==>
          in(t + 0, c) && in(x, a) && in(t + 2, b); */
  TRY(operation_add_product(&t[0], x, &t[2], &t[3]));
  /*@ assert product: \forall real c, a, b;
        in{Pre}(t + 0, c) && in{Pre}(x, a) && weight_is(weight, b) ==>
          in(t + 0, c + a * b); */
  //@ assert factors: \forall real b; weight_is(weight, b) ==> in(t + 2, b);
  //@ assert left: same{Pre, Here}(t + 1) && same{Pre, Here}(x);
  //@ ghost first:;
  phibal_status status = operation_add_magnitude(&t[1], x, &t[2], &t[3]);
  //@ assert product_left: same{first, Here}(t + 0);
  return status;
}

/* t[0] = sum_e weight_e x_e, t[1] = the same with |x_e|; t[2..3] are temporaries. */
static phibal_status loss_sums(int32_t experts, const float *weight, const phibal_enclosure *x,
                               phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&t[0], 0);
  phibal_enclosure_set_si(&t[1], 0);
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(t, 4);
      loop invariant frame: only_vector_written{Pre, Here}(t, 4);
      loop invariant dot: \forall sequence s, w;
        members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==> in(t + 0, dot(s, w, e));
      loop invariant absolute: \forall sequence s, w;
        members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
          in(t + 1, absolute_dot(s, w, e));
      loop assigns e, t[0 .. 3];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    /*@ assert terms: \forall sequence s, w;
          members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
            in(x + e, term(s, e)) && weight_is(weight[e], term(w, e)); */
    /*@ assert unfold: \forall sequence s, w;
          dot(s, w, e + 1) == dot(s, w, e) + term(s, e) * term(w, e) &&
          absolute_dot(s, w, e + 1) == absolute_dot(s, w, e) + \abs(term(s, e)) * term(w, e); */
    //@ assert place: input(x + e) && vector_apart(x + e, t, 4) && \is_finite(weight[e]);
    TRY(loss_add_term(&x[e], weight[e], t));
    /*@ assert summed: \forall sequence s, w;
          members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
            in(t + 0, dot(s, w, e) + term(s, e) * term(w, e)) &&
            in(t + 1, absolute_dot(s, w, e) + \abs(term(s, e)) * term(w, e)); */
  }
  return PHIBAL_OK;
}

/* loss = scale E t[0], condition = |scale E| t[1]; t[2..3] are temporaries. */
static phibal_status loss_scale(int32_t experts, double scale, phibal_enclosure *t,
                                phibal_enclosure *loss, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_enclosure_set_d(&t[2], scale);
  phibal_enclosure_set_si(&t[3], experts);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[3]));
  //@ assert factor: in(t + 2, (real)scale * (real)experts);
  TRY(phibal_enclosure_mul(loss, &t[2], &t[0]));
  if (!condition) return PHIBAL_OK;
  phibal_enclosure_abs(&t[2], &t[2]);
  //@ assert size: in(t + 2, \abs((real)scale * (real)experts));
  return phibal_enclosure_mul(condition, &t[2], &t[1]);
}

/* loss = scale E sum_e weight_e x_e with weights >= 0, condition with |scale| and |x_e|. t[0..3]
   are temporaries. */
static phibal_status loss_dot(int32_t experts, double scale, const float *weight,
                              const phibal_enclosure *x, phibal_enclosure *t,
                              phibal_enclosure *loss, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(loss_sums(experts, weight, x, t));
  return loss_scale(experts, scale, t, loss, condition);
}

static phibal_status loss_check(const char *name, double alpha, int32_t experts,
                                const float *weight, bool null) {
  if (!weight || null) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (!isfinite(alpha))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: alpha = %g; it must be finite", name,
                             alpha);
  return balance_loads_check(name, "the loads", experts, weight);
}

phibal_status phibal_reference_balance_loss(const phibal_potential *potential, int32_t experts,
                                            double alpha, const float *loads, const float *m,
                                            mpfr_prec_t precision, phibal_enclosure *loss,
                                            phibal_enclosure *condition) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_balance_loss";
  TRY(balance_price_check(name, potential, experts, m, precision, loss));
  TRY(loss_check(name, alpha, experts, loads, loss == NULL));
  phibal_enclosure *t, *x;
  TRY(operation_scratch(name, 4, precision, &t));
  //@ assert scratch: vector_output(t, 4) && vector_in_use(t, 4);
  phibal_status status = operation_scratch(name, (size_t)experts, precision, &x);
  //@ assert kept: vector_output(t, 4) && vector_in_use(t, 4);
  if (status == PHIBAL_OK) {
    //@ assert apart: vectors_apart(t, 4, x, experts);
    status = phibal_reference_price(potential, experts, m, precision, x, NULL);
    /*@ assert any: status == PHIBAL_OK ==> \forall sequence v, s;
          prices_at(potential, m, experts, v, s) ==> members(x, experts, s); */
    //@ assert scratch_kept: vector_output(t, 4);
    //@ assert places: output(loss) && optional(condition);
    /*@ assert places_apart: vector_apart(loss, t, 4) &&
          (condition == \null || vector_apart(condition, t, 4)); */
    /*@ assert prices_apart: vector_apart(loss, x, experts) &&
          (condition == \null || vector_apart(condition, x, experts)); */
    /*@ assert prices_left: \forall integer i; 0 <= i < experts ==>
          \separated(x + i, loss) && optional_apart(x + i, condition) &&
          vector_apart(x + i, t, 4); */
    if (status == PHIBAL_OK) status = loss_dot(experts, alpha, loads, x, t, loss, condition);
    //@ assert used: vector_output(t, 4);
    //@ assert prices_used: vector_output(x, experts);
    //@ assert results: output(loss) && optional(condition);
    operation_scratch_clear(x, (size_t)experts);
    //@ assert left: vector_output(t, 4);
  }
  operation_scratch_clear(t, 4);
  return status;
}

phibal_status phibal_reference_switch_loss(int32_t experts, double alpha, const float *frequency,
                                           const float *loads, mpfr_prec_t precision,
                                           phibal_enclosure *loss, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_switch_loss";
  TRY(operation_check_experts(name, experts, precision));
  TRY(loss_check(name, alpha, experts, loads, loss == NULL));
  TRY(loss_check(name, alpha, experts, frequency, loss == NULL));
  phibal_enclosure *t, *x;
  TRY(operation_scratch(name, 4, precision, &t));
  //@ assert scratch: vector_output(t, 4) && vector_in_use(t, 4);
  phibal_status status = operation_scratch(name, (size_t)experts, precision, &x);
  //@ assert kept: vector_output(t, 4) && vector_in_use(t, 4);
  if (status == PHIBAL_OK) {
    //@ assert apart: vectors_apart(t, 4, x, experts);
    balance_vector_set(experts, frequency, x);
    //@ assert scratch_kept: vector_output(t, 4);
    //@ assert places: output(loss) && optional(condition);
    /*@ assert places_apart: vector_apart(loss, t, 4) &&
          (condition == \null || vector_apart(condition, t, 4)); */
    /*@ assert prices_apart: vector_apart(loss, x, experts) &&
          (condition == \null || vector_apart(condition, x, experts)); */
    /*@ assert prices_left: \forall integer i; 0 <= i < experts ==>
          \separated(x + i, loss) && optional_apart(x + i, condition) &&
          vector_apart(x + i, t, 4); */
    status = loss_dot(experts, alpha, loads, x, t, loss, condition);
    //@ assert used: vector_output(t, 4);
    //@ assert prices_used: vector_output(x, experts);
    //@ assert results: output(loss) && optional(condition);
    operation_scratch_clear(x, (size_t)experts);
    //@ assert left: vector_output(t, 4);
  }
  operation_scratch_clear(t, 4);
  return status;
}

/* The gates' term of the router's gradient (G2) where gates are probabilities of all experts. */
#include "router_gradient_work.h"
#include <phibal/acsl/contracts/inside/router_gradient_probability_static.h>

/* gradient -= scale p mean, where p is an expert's probability, and its condition likewise. */
static phibal_status gradient_subtract_term(phibal_reference_token *t, float scale,
                                            const phibal_enclosure *probability,
                                            phibal_enclosure *gradient,
                                            phibal_enclosure *condition) {
  //@ assert use_enclosure;
  operation_set_negated(&t->factor, scale);
  TRY(phibal_enclosure_mul(&t->factor, &t->factor, probability));
  /*@ assert factor: \forall real p; in{Pre}(probability, p) ==>
        in(&t->factor, -(real)scale * p); */
  TRY(operation_add_product(gradient, &t->factor, &t->mean, &t->term));
  return operation_add_magnitude(condition, &t->factor, &t->magnitude, &t->term);
}

/* gradient_e -= scale p_e mean for every expert e, and the condition likewise. */
static phibal_status gradient_subtract_mean(phibal_reference_token *t, float scale,
                                            const phibal_enclosure *probability,
                                            phibal_enclosure *gradient,
                                            phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= e <= t->experts;
      loop invariant scratch: token_scratch(t);
      loop invariant places: gradient_places(t, gradient, condition);
      loop invariant frame: only_gradient_written{Pre, Here}(t, gradient, condition);
      loop invariant kept: means_kept{Pre, Here}(t) && logsumexp_kept{Pre, Here}(t);
      loop invariant left: \forall integer i; e <= i < t->experts ==>
        same{Pre, Here}(gradient + i) && same{Pre, Here}(condition + i);
      loop invariant weights: \forall integer i; 0 <= i < t->experts ==>
        same{Pre, Here}(probability + i);
      loop invariant value: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->mean, a) ==>
        gained{Pre, Here}(gradient + i, (-(real)scale * p) * a);
      loop invariant terms: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->magnitude, a) ==>
        gained{Pre, Here}(condition + i, \abs(-(real)scale * p) * a);
      loop assigns e, status, gradient[0 .. t->experts - 1],
                   condition[0 .. t->experts - 1], t->term, t->factor;
      loop variant t->experts - e; */
  for (int32_t e = 0; e < t->experts && status == PHIBAL_OK; e++) {
    status = gradient_subtract_term(t, scale, &probability[e], &gradient[e], &condition[e]);
    //@ assert others: others_kept{LoopCurrent, Here}(t, gradient, condition, e);
    /*@ assert value_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->mean, a) ==>
          gained{Pre, Here}(gradient + e, (-(real)scale * p) * a); */
    /*@ assert terms_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->magnitude, a) ==>
          gained{Pre, Here}(condition + e, \abs(-(real)scale * p) * a); */
  }
  return status;
}

/* gradient += scale p x, where p is an expert's probability, and its condition likewise. */
static phibal_status gradient_add_term(phibal_reference_token *t, float scale,
                                       const phibal_enclosure *probability, float x,
                                       phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  operation_set_float(&t->factor, scale);
  TRY(phibal_enclosure_mul(&t->factor, &t->factor, probability));
  /*@ assert factor: \forall real p; in{Pre}(probability, p) ==>
        in(&t->factor, (real)scale * p); */
  operation_set_float(&t->term, x);
  TRY(operation_add_product(gradient, &t->factor, &t->term, &t->total));
  operation_set_magnitude(&t->term, x);
  return operation_add_magnitude(condition, &t->factor, &t->term, &t->total);
}

/* gradient_e += scale p_e x_s for each slot s, e its expert, and the condition likewise. */
static phibal_status gradient_add_selected(phibal_reference_token *t, float scale, int32_t n,
                                           const int32_t *experts,
                                           const phibal_enclosure *probability, const float *x,
                                           phibal_enclosure *gradient,
                                           phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= s <= n;
      loop invariant scratch: token_scratch(t);
      loop invariant places: gradient_places(t, gradient, condition);
      loop invariant frame: only_gradient_written{Pre, Here}(t, gradient, condition);
      loop invariant kept: same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms);
      loop invariant weights: \forall integer e; 0 <= e < t->experts ==>
        same{Pre, Here}(probability + e);
      loop invariant value: status == PHIBAL_OK ==> \forall real p, integer e;
        0 <= e < t->experts && in{Pre}(probability + e, p) ==>
          gained{Pre, Here}(gradient + e, selected_gain(experts, (real)scale * p, x, s, e));
      loop invariant terms: status == PHIBAL_OK ==> \forall real p, integer e;
        0 <= e < t->experts && in{Pre}(probability + e, p) ==>
          gained{Pre, Here}(condition + e,
                            selected_gain_magnitude(experts, (real)scale * p, x, s, e));
      loop assigns s, status, gradient[0 .. t->experts - 1],
                   condition[0 .. t->experts - 1], t->term, t->factor, t->total;
      loop variant n - s; */
  for (int32_t s = 0; s < n && status == PHIBAL_OK; s++) {
    int32_t e = experts[s];
    /*@ assert value_next: \forall real a, integer f; selected_gain(experts, a, x, s + 1, f) ==
          selected_gain(experts, a, x, s, f) + (e == f ? a * (real)x[s] : 0.0); */
    /*@ assert terms_next: \forall real a, integer f;
          selected_gain_magnitude(experts, a, x, s + 1, f) ==
          selected_gain_magnitude(experts, a, x, s, f) +
            (e == f ? \abs(a) * \abs((real)x[s]) : 0.0); */
    status = gradient_add_term(t, scale, &probability[e], x[s], &gradient[e], &condition[e]);
    //@ assert others: others_kept{LoopCurrent, Here}(t, gradient, condition, e);
    /*@ assert value_sum: status == PHIBAL_OK ==> \forall real p, g;
          in{Pre}(probability + e, p) && in{Pre}(gradient + e, g) ==>
          in(gradient + e, (g + selected_gain(experts, (real)scale * p, x, s, e)) +
                             ((real)scale * p) * (real)x[s]); */
    /*@ assert value_here: status == PHIBAL_OK ==> \forall real p; in{Pre}(probability + e, p) ==>
          gained{Pre, Here}(gradient + e, selected_gain(experts, (real)scale * p, x, s + 1, e)); */
    /*@ assert terms_here: status == PHIBAL_OK ==> \forall real p; in{Pre}(probability + e, p) ==>
          gained{Pre, Here}(condition + e,
                            selected_gain_magnitude(experts, (real)scale * p, x, s + 1, e)); */
  }
  return status;
}

/* t->mean = the mean of x over the selection, by probabilities, and t->magnitude. */
static phibal_status token_mean(phibal_reference_token *t, const int32_t *experts, const float *x) {
  //@ assert use_enclosure && use_token;
  //@ ghost token_opened_up(t);
  phibal_status status = router_gradient_mean(t, t->active, t->probability, experts, x);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ ghost token_put_together(t);
  return status;
}

/* t->gradient -= scale t->probability t->mean, and t->condition likewise. */
static phibal_status token_subtract_mean(phibal_reference_token *t, float scale) {
  //@ assert use_enclosure && use_token;
  //@ ghost token_opened_up(t);
  //@ ghost token_beside_gradient(t);
  //@ assert places: gradient_places(t, t->gradient, t->condition);
  /*@ assert weight_inputs: \forall integer i; 0 <= i < t->experts ==>
        weight_input(t, t->gradient, t->condition, t->probability + i); */
  phibal_status status =
      gradient_subtract_mean(t, scale, t->probability, t->gradient, t->condition);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert probability_kept: vector_same{Pre, Here}(t->probability, t->experts);
  //@ assert lies: token_lies(t);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ ghost token_put_together(t);
  return status;
}

/* t->gradient += scale t->probability x of the slots, and t->condition likewise. */
static phibal_status token_add_selected(phibal_reference_token *t, float scale,
                                        const int32_t *experts, const float *x) {
  //@ assert use_enclosure && use_token;
  //@ ghost token_opened_up(t);
  //@ ghost token_beside_gradient(t);
  //@ assert places: gradient_places(t, t->gradient, t->condition);
  /*@ assert weight_inputs: \forall integer i; 0 <= i < t->experts ==>
        weight_input(t, t->gradient, t->condition, t->probability + i); */
  phibal_status status = gradient_add_selected(t, scale, t->active, experts, t->probability, x,
                                               t->gradient, t->condition);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert probability_kept: vector_same{Pre, Here}(t->probability, t->experts);
  //@ assert lies: token_lies(t);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ ghost token_put_together(t);
  return status;
}

/* (G1) through gates that are probabilities: scale p_j ([j selected] dg_j - sum_e p_e dg_e), e over
   the selection, j over all experts. */
phibal_status router_gradient_add_probability(phibal_reference_token *t,
                                              const phibal_router *router, const int32_t *experts,
                                              const float *gate_gradient) {
  //@ assert use_enclosure;
  TRY(token_mean(t, experts, gate_gradient));
  //@ assert mean_frame: only_token_written{Pre, Here}(t) && token_same{Pre, Here}(t);
  TRY(token_subtract_mean(t, router->scale));
  //@ assert subtracted_frame: only_token_written{Pre, Here}(t) && token_same{Pre, Here}(t);
  //@ assert probabilities: vector_same{Pre, Here}(t->probability, t->experts);
  /*@ assert subtracted: \forall sequence q, real p, integer e;
        (\forall integer s; 0 <= s < t->active ==>
           in{Pre}(t->probability + experts[s], term(q, s))) &&
        0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
          gained{Pre, Here}(t->gradient + e, (-(real)router->scale * p) *
                                               weighted_mean(q, gate_gradient, t->active)); */
  /*@ assert subtracted_terms: \forall sequence q, real p, integer e;
        (\forall integer s; 0 <= s < t->active ==>
           in{Pre}(t->probability + experts[s], term(q, s))) &&
        0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
          gained{Pre, Here}(t->condition + e, \abs(-(real)router->scale * p) *
                                               weighted_magnitude(q, gate_gradient, t->active)); */
  phibal_status status = token_add_selected(t, router->scale, experts, gate_gradient);
  /*@ assert added: status == PHIBAL_OK ==> \forall sequence q, real p, integer e;
        (\forall integer s; 0 <= s < t->active ==>
           in{Pre}(t->probability + experts[s], term(q, s))) &&
        0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
          gained{Pre, Here}(t->gradient + e, (-(real)router->scale * p) *
                                               weighted_mean(q, gate_gradient, t->active) +
            selected_gain(experts, (real)router->scale * p, gate_gradient, t->active, e)); */
  /*@ assert added_terms: status == PHIBAL_OK ==> \forall sequence q, real p, integer e;
        (\forall integer s; 0 <= s < t->active ==>
           in{Pre}(t->probability + experts[s], term(q, s))) &&
        0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
          gained{Pre, Here}(t->condition + e, \abs(-(real)router->scale * p) *
                                               weighted_magnitude(q, gate_gradient, t->active) +
            selected_gain_magnitude(experts, (real)router->scale * p, gate_gradient, t->active,
                                    e)); */
  return status;
}

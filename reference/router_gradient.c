/* The gradient of the router in the logits (G2) of one token, term by term, each with the sum of
   the absolute values of its terms (the condition). In this order: the derivative of a softmax
   or of normalised sigmoids, which the price and normalised gates need; that of gates that are
   probabilities of all experts; that of the z-loss; and their sum. */
#include "operation.h"

/* Slots 0 .. n - 1: their experts (null: slot i is expert i), weights, and the numbers weighed. */
typedef struct gradient_slots {
  int32_t n;
  const int32_t *experts;
  const phibal_enclosure *weight;
  const float *x;
} gradient_slots;

#include <phibal/acsl/contracts/inside/router_gradient_static.h>

/* mean += weight x, magnitude += weight |x|. */
static phibal_status gradient_add_mean(phibal_reference_token *t, const phibal_enclosure *weight,
                                       float x) {
  //@ assert use_enclosure;
  operation_set_float(&t->factor, x);
  TRY(operation_add_product(&t->mean, weight, &t->factor, &t->term));
  /*@ assert mean: \forall real a, w; in{Pre}(&t->mean, a) && in{Pre}(weight, w) ==>
        in(&t->mean, a + w * (real)x); */
  operation_set_magnitude(&t->factor, x);
  //@ assert kept: same{Pre, Here}(&t->magnitude) && same{Pre, Here}(weight);
  return operation_add_product(&t->magnitude, weight, &t->factor, &t->term);
}

/* mean = sum_i weight[at(i)] x_i and magnitude = sum_i weight[at(i)] |x_i|, weights >= 0; `experts`
   null: at(i) = i. */
static phibal_status router_gradient_mean(phibal_reference_token *t, int32_t n,
                                          const phibal_enclosure *weight, const int32_t *experts,
                                          const float *x) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&t->mean, 0);
  phibal_enclosure_set_si(&t->magnitude, 0);
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant scratch: token_scratch(t);
      loop invariant frame: only_mean_written{Pre, Here}(t);
      loop invariant sums: status == PHIBAL_OK ==> \forall sequence w;
        (\forall integer j; 0 <= j < n ==>
           in{Pre}(weight + slot_expert{Pre}(experts, j), term(w, j))) ==>
        in(&t->mean, weighted_mean(w, x, i)) && in(&t->magnitude, weighted_magnitude(w, x, i));
      loop assigns i, status, t->mean, t->magnitude, t->term, t->factor;
      loop variant n - i; */
  for (int32_t i = 0; i < n && status == PHIBAL_OK; i++) {
    const phibal_enclosure *w = &weight[experts ? experts[i] : i];
    //@ assert weight: w == weight + slot_expert(experts, i) && same{Pre, Here}(w);
    status = gradient_add_mean(t, w, x[i]);
    /*@ assert mean_next: \forall sequence w;
          weighted_mean(w, x, i + 1) == weighted_mean(w, x, i) + term(w, i) * (real)x[i] &&
          weighted_magnitude(w, x, i + 1) ==
            weighted_magnitude(w, x, i) + term(w, i) * \abs((real)x[i]); */
  }
  return status;
}

/* factor = weight scale, for sigmoid routers times 1 - sigma(x) = sigma(-x): what a softmax or a
   normalised sigmoid differentiates to, in front of (x_j - mean). */
static phibal_status gradient_factor(phibal_reference_token *t, const phibal_router *router,
                                     const phibal_enclosure *weight, double scale, float logit) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t->factor, scale);
  TRY(phibal_enclosure_mul(&t->factor, &t->factor, weight));
  /*@ assert scaled: \forall real w; in{Pre}(weight, w) ==>
        in(&t->factor, (real)scale * w); */
  if (router->gate != PHIBAL_GATE_SIGMOID) return PHIBAL_OK;
  operation_set_float(&t->term, logit);
  TRY(operation_sigmoid_negated(&t->total, &t->term, &t->one));
  return phibal_enclosure_mul(&t->factor, &t->factor, &t->total);
}

/* gradient += weight scale (x - mean) and condition += |weight scale| (|x| + magnitude), for
   sigmoid times 1 - sigma(logit). */
static phibal_status gradient_add_slot(phibal_reference_token *t, const phibal_router *router,
                                       const phibal_enclosure *weight, float x, double scale,
                                       float logit, phibal_enclosure *gradient,
                                       phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(gradient_factor(t, router, weight, scale, logit));
  //@ assert scratch: token_scratch(t) && same{Pre, Here}(gradient) && same{Pre, Here}(condition);
  //@ assert means: same{Pre, Here}(&t->mean) && same{Pre, Here}(&t->magnitude);
  operation_set_float(&t->term, x);
  TRY(phibal_enclosure_sub(&t->term, &t->term, &t->mean));
  TRY(operation_add_product(gradient, &t->factor, &t->term, &t->total));
  operation_set_magnitude(&t->term, x);
  TRY(phibal_enclosure_add(&t->term, &t->term, &t->magnitude));
  //@ assert kept: same{Pre, Here}(condition);
  /*@ assert factor: \forall real w; in{Pre}(weight, w) ==>
        in(&t->factor, gate_slope(router->gate, (real)scale, w, (real)logit)); */
  /*@ assert sum: \forall real b; in{Pre}(&t->magnitude, b) ==>
        in(&t->term, \abs((real)x) + b); */
  return operation_add_magnitude(condition, &t->factor, &t->term, &t->total);
}

/* For each slot i, with e its expert: gradient_e += scale weight_i (x_i - mean), for sigmoid times
   1 - sigma_e, and its condition likewise; mean and magnitude are over these slots. This is (L2)
   with experts null, and (G1) for normalised gates. */
static phibal_status router_gradient_add_slots(phibal_reference_token *t,
                                               const phibal_router *router, gradient_slots s,
                                               double scale, const float *logits,
                                               phibal_reference_result gradient) {
  //@ assert use_enclosure;
  phibal_status status = router_gradient_mean(t, s.n, s.weight, NULL, s.x);
  //@ assert places_kept: gradient_places(t, gradient.value, gradient.condition);
  /*@ assert weights_kept: \forall integer i; 0 <= i < s.n ==> same{Pre, Here}(s.weight + i); */
  /*@ assert gradient_kept: \forall integer e; 0 <= e < t->experts ==>
        same{Pre, Here}(gradient.value + e) && same{Pre, Here}(gradient.condition + e); */
  /*@ loop invariant index: 0 <= i <= s.n;
      loop invariant scratch: token_scratch(t);
      loop invariant places: gradient_places(t, gradient.value, gradient.condition);
      loop invariant frame: only_gradient_written{Pre, Here}(t, gradient.value, gradient.condition);
      loop invariant kept: same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms);
      loop invariant means: status == PHIBAL_OK ==> \forall sequence w;
        members{Pre}(s.weight, s.n, w) ==>
        in(&t->mean, weighted_mean(w, s.x, s.n)) &&
        in(&t->magnitude, weighted_magnitude(w, s.x, s.n));
      loop invariant weights: \forall integer j; 0 <= j < s.n ==> same{Pre, Here}(s.weight + j);
      loop invariant value: status == PHIBAL_OK ==> \forall sequence w, integer e;
        members{Pre}(s.weight, s.n, w) && 0 <= e < t->experts ==>
        gained{Pre, Here}(gradient.value + e, centred_gain(router->gate, logits, s.experts, w, s.x,
          (real)scale, weighted_mean(w, s.x, s.n), i, e));
      loop invariant terms: status == PHIBAL_OK ==> \forall sequence w, integer e;
        members{Pre}(s.weight, s.n, w) && 0 <= e < t->experts ==>
        gained{Pre, Here}(gradient.condition + e, centred_gain_magnitude(router->gate, logits,
          s.experts, w, s.x, (real)scale, weighted_magnitude(w, s.x, s.n), i, e));
      loop assigns i, status, gradient.value[0 .. t->experts - 1],
                   gradient.condition[0 .. t->experts - 1], t->term, t->factor, t->total;
      loop variant s.n - i; */
  for (int32_t i = 0; i < s.n && status == PHIBAL_OK; i++) {
    int32_t e = s.experts ? s.experts[i] : i;
    //@ assert expert: e == slot_expert(s.experts, i) && 0 <= e < t->experts;
    /*@ assert value_next: \forall sequence w, integer f;
          centred_gain(router->gate, logits, s.experts, w, s.x, (real)scale,
            weighted_mean(w, s.x, s.n), i + 1, f) ==
          centred_gain(router->gate, logits, s.experts, w, s.x, (real)scale,
            weighted_mean(w, s.x, s.n), i, f) + (e == f ? centred_term(gate_slope(router->gate,
       (real)scale, term(w, i), (real)logits[f]), (real)s.x[i], weighted_mean(w, s.x, s.n)) : 0.0);
     */
    /*@ assert terms_next: \forall sequence w, integer f;
          centred_gain_magnitude(router->gate, logits, s.experts, w, s.x, (real)scale,
            weighted_magnitude(w, s.x, s.n), i + 1, f) ==
          centred_gain_magnitude(router->gate, logits, s.experts, w, s.x, (real)scale,
            weighted_magnitude(w, s.x, s.n), i, f) + (e == f ?
              centred_magnitude(gate_slope(router->gate, (real)scale, term(w, i),
                (real)logits[f]), (real)s.x[i], weighted_magnitude(w, s.x, s.n)) : 0.0); */
    status = gradient_add_slot(t, router, &s.weight[i], s.x[i], scale, logits[e],
                               &gradient.value[e], &gradient.condition[e]);
    //@ assert others: others_kept{LoopCurrent, Here}(t, gradient.value, gradient.condition, e);
    /*@ assert value_gain: status == PHIBAL_OK ==>
          \forall sequence w; members{Pre}(s.weight, s.n, w) ==>
            gained{LoopCurrent, Here}(gradient.value + e,
              centred_term(gate_slope(router->gate, (real)scale, term(w, i), (real)logits[e]),
                           (real)s.x[i], weighted_mean(w, s.x, s.n))); */
    /*@ assert value_here: status == PHIBAL_OK ==>
          \forall sequence w; members{Pre}(s.weight, s.n, w) ==>
            gained{Pre, Here}(gradient.value + e, centred_gain(router->gate, logits, s.experts, w,
              s.x, (real)scale, weighted_mean(w, s.x, s.n), i + 1, e)); */
    /*@ assert terms_gain: status == PHIBAL_OK ==>
          \forall sequence w; members{Pre}(s.weight, s.n, w) ==>
            gained{LoopCurrent, Here}(gradient.condition + e,
              centred_magnitude(gate_slope(router->gate, (real)scale, term(w, i),
                (real)logits[e]), (real)s.x[i], weighted_magnitude(w, s.x, s.n))); */
    /*@ assert terms_sum: \forall sequence w;
          centred_gain_magnitude(router->gate, logits, s.experts, w, s.x, (real)scale,
            weighted_magnitude(w, s.x, s.n), i + 1, e) ==
          centred_gain_magnitude(router->gate, logits, s.experts, w, s.x, (real)scale,
            weighted_magnitude(w, s.x, s.n), i, e) +
              centred_magnitude(gate_slope(router->gate, (real)scale, term(w, i),
                (real)logits[e]), (real)s.x[i], weighted_magnitude(w, s.x, s.n)); */
    /*@ assert terms_here: status == PHIBAL_OK ==>
          \forall sequence w; members{Pre}(s.weight, s.n, w) ==>
            gained{Pre, Here}(gradient.condition + e, centred_gain_magnitude(router->gate, logits,
              s.experts, w, s.x, (real)scale, weighted_magnitude(w, s.x, s.n), i + 1, e)); */
    /*@ assert value_there: status == PHIBAL_OK ==> \forall sequence w, integer f;
          members{Pre}(s.weight, s.n, w) && 0 <= f < t->experts && f != e ==>
            gained{Pre, Here}(gradient.value + f, centred_gain(router->gate, logits, s.experts, w,
              s.x, (real)scale, weighted_mean(w, s.x, s.n), i + 1, f)); */
    /*@ assert terms_there: status == PHIBAL_OK ==> \forall sequence w, integer f;
          members{Pre}(s.weight, s.n, w) && 0 <= f < t->experts && f != e ==>
            gained{Pre, Here}(gradient.condition + f, centred_gain_magnitude(router->gate, logits,
              s.experts, w, s.x, (real)scale, weighted_magnitude(w, s.x, s.n), i + 1, f)); */
  }
  return status;
}

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
static phibal_status router_gradient_add_probability(phibal_reference_token *t,
                                                     const phibal_router *router,
                                                     const int32_t *experts,
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

/* gradient_e += total p and condition_e += |factor| p, where p is expert e's probability. */
static phibal_status gradient_add_z_term(phibal_reference_token *t,
                                         const phibal_enclosure *probability, int32_t e,
                                         phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(operation_add_product(&gradient[e], &t->total, probability, &t->term));
  return operation_add_magnitude(&condition[e], &t->factor, probability, &t->term);
}

/* The z-loss's term: gradient_e += scale logsumexp p_e and condition_e += |scale logsumexp_terms|
   p_e for every expert e. */
static phibal_status gradient_add_z(phibal_reference_token *t, double scale,
                                    const phibal_enclosure *probability, phibal_enclosure *gradient,
                                    phibal_enclosure *condition) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t->factor, scale);
  phibal_status status = phibal_enclosure_mul(&t->total, &t->factor, &t->logsumexp);
  /*@ assert total: status == PHIBAL_OK ==> \forall real a; in{Pre}(&t->logsumexp, a) ==>
        in(&t->total, (real)scale * a); */
  if (status == PHIBAL_OK)
    status = phibal_enclosure_mul(&t->factor, &t->factor, &t->logsumexp_terms);
  //@ assert places: gradient_places(t, gradient, condition);
  /*@ assert kept: \forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(gradient + e) &&
        same{Pre, Here}(condition + e) && same{Pre, Here}(probability + e); */
  /*@ loop invariant index: 0 <= e <= t->experts;
      loop invariant scratch: token_scratch(t);
      loop invariant places: gradient_places(t, gradient, condition);
      loop invariant frame: only_gradient_written{Pre, Here}(t, gradient, condition);
      loop invariant kept: logsumexp_kept{Pre, Here}(t);
      loop invariant total: status == PHIBAL_OK ==> \forall real a;
        in{Pre}(&t->logsumexp, a) ==> in(&t->total, (real)scale * a);
      loop invariant factor: status == PHIBAL_OK ==> \forall real a;
        in{Pre}(&t->logsumexp_terms, a) ==> in(&t->factor, (real)scale * a);
      loop invariant weights: \forall integer i; 0 <= i < t->experts ==>
        same{Pre, Here}(probability + i);
      loop invariant left: \forall integer i; e <= i < t->experts ==>
        same{Pre, Here}(gradient + i) && same{Pre, Here}(condition + i);
      loop invariant value: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->logsumexp, a) ==>
        gained{Pre, Here}(gradient + i, ((real)scale * a) * p);
      loop invariant terms: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->logsumexp_terms, a) ==>
        gained{Pre, Here}(condition + i, \abs((real)scale * a) * p);
      loop assigns e, status, gradient[0 .. t->experts - 1],
                   condition[0 .. t->experts - 1], t->term;
      loop variant t->experts - e; */
  for (int32_t e = 0; e < t->experts && status == PHIBAL_OK; e++) {
    status = gradient_add_z_term(t, &probability[e], e, gradient, condition);
    /*@ assert value_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp, a) ==>
          gained{Pre, Here}(gradient + e, ((real)scale * a) * p); */
    /*@ assert terms_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp_terms, a) ==>
          gained{Pre, Here}(condition + e, \abs((real)scale * a) * p); */
  }
  return status;
}

/* The z-loss's term, nothing where scale is 0. */
static phibal_status router_gradient_add_z(phibal_reference_token *t, double scale) {
  //@ assert use_enclosure && use_floating;
  //@ ghost token_opened_up(t);
  if (scale == 0.0) return PHIBAL_OK;
  //@ ghost token_beside_gradient(t);
  //@ assert places: gradient_places(t, t->gradient, t->condition);
  phibal_status status = gradient_add_z(t, scale, t->probability, t->gradient, t->condition);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert probability_kept: vector_same{Pre, Here}(t->probability, t->experts);
  //@ assert lies: token_lies(t);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ ghost token_put_together(t);
  return status;
}

static phibal_status gradient_check(const phibal_reference_token *t, const phibal_router *router,
                                    const int32_t *experts, const float *gate_gradient,
                                    const float *price, double price_scale, double z_scale) {
  //@ assert use_floating;
  const char *name = "phibal_reference_token_backward";
  if (!experts) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null experts", name);
  /*@ loop invariant index: 0 <= s <= t->active;
      loop invariant checked: \forall integer i; 0 <= i < s ==> 0 <= experts[i] < t->experts;
      loop assigns s;
      loop variant t->active - s; */
  for (int32_t s = 0; s < t->active; s++)
    if (experts[s] < 0 || experts[s] >= t->experts)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s: slot %d has expert %d; it must be 0 to %d", name, (int)s,
                               (int)experts[s], (int)t->experts - 1);
  if (gate_gradient)
    TRY(operation_check_finite(name, "the gates' gradient", t->active, gate_gradient));
  if (price) TRY(operation_check_finite(name, "the price", t->experts, price));
  if (!isfinite(price_scale) || !isfinite(z_scale))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: scales %g and %g; they must be finite",
                             name, price_scale, z_scale);
  if (z_scale != 0.0 && router->gate == PHIBAL_GATE_SIGMOID)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: z_scale %g with sigmoid gates, which have no logsumexp; pass 0",
                             name, z_scale);
  return PHIBAL_OK;
}

/* (G1) through normalised gates g (t->part, unscaled): scale g_s (dg_s - sum_r g_r dg_r), for
   sigmoid times 1 - sigma_s. Experts that are not selected get nothing. */
static phibal_status gradient_add_normalised(phibal_reference_token *t, const phibal_router *router,
                                             const float *logits, const int32_t *experts,
                                             const float *gate_gradient) {
  //@ assert use_enclosure && use_token;
  //@ ghost token_opened_up(t);
  //@ ghost token_beside_gradient(t);
  const gradient_slots slots = {t->active, experts, t->part, gate_gradient};
  const phibal_reference_result gradient = {t->gradient, t->condition};
  phibal_status status =
      router_gradient_add_slots(t, router, slots, (double)router->scale, logits, gradient);
  //@ assert same: token_same{Pre, Here}(t);
  //@ ghost token_put_together(t);
  return status;
}

/* (G1): the gates' term. */
static phibal_status gradient_add_gates(phibal_reference_token *t, const phibal_router *router,
                                        const float *logits, const int32_t *experts,
                                        const float *gate_gradient) {
  //@ assert use_enclosure;
  bool plain = router->gate == PHIBAL_GATE_PROBABILITY ||
               (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && t->active == 1);
  phibal_status status;
  if (plain) {
    status = router_gradient_add_probability(t, router, experts, gate_gradient);
    /*@ assert selected: probabilities_held{Pre}(t, router->gate, logits) ==> \forall sequence q;
          selected_are(q, router->gate, logits, t->experts, experts, t->active) ==>
            \forall integer s; 0 <= s < t->active ==>
              in{Pre}(\at(t->probability, Pre) + experts[s], term(q, s)); */
    /*@ assert plain: status == PHIBAL_OK && probabilities_held{Pre}(t, router->gate, logits) ==>
          \forall sequence p, q, integer e;
            probabilities_are(p, router->gate, logits, t->experts) &&
            selected_are(q, router->gate, logits, t->experts, experts, t->active) &&
            0 <= e < t->experts ==>
              gained{Pre, Here}(t->gradient + e, plain_gradient(experts, t->active, term(p, e), q,
                gate_gradient, (real)router->scale, e)); */
    /*@ assert plain_terms: status == PHIBAL_OK &&
          probabilities_held{Pre}(t, router->gate, logits) ==> \forall sequence p, q, integer e;
            probabilities_are(p, router->gate, logits, t->experts) &&
            selected_are(q, router->gate, logits, t->experts, experts, t->active) &&
            0 <= e < t->experts ==>
              gained{Pre, Here}(t->condition + e, plain_gradient_size(experts, t->active,
                term(p, e), q, gate_gradient, (real)router->scale, e)); */
    return status;
  }
  TRY(reference_token_gates(t, router, logits, experts));
  //@ assert gated: only_token_written{Pre, Here}(t) && token_same{Pre, Here}(t);
  //@ assert gradient_kept: vector_same{Pre, Here}(t->gradient, t->experts);
  //@ assert condition_kept: vector_same{Pre, Here}(t->condition, t->experts);
  /*@ assert gates: probabilities_held{Pre}(t, router->gate, logits) &&
        weights_held{Pre}(t, router->gate, logits) ==> \forall sequence g;
          gates_are(g, router->gate, logits, experts, t->active) ==>
            members(t->part, t->active, g); */
  status = gradient_add_normalised(t, router, logits, experts, gate_gradient);
  /*@ assert normalised: status == PHIBAL_OK && probabilities_held{Pre}(t, router->gate, logits) &&
        weights_held{Pre}(t, router->gate, logits) ==> \forall sequence g, integer e;
          gates_are(g, router->gate, logits, experts, t->active) && 0 <= e < t->experts ==>
            gained{Pre, Here}(t->gradient + e, gates_gradient(router->gate, logits, experts,
              t->active, g, gate_gradient, (real)router->scale, e)); */
  /*@ assert normalised_terms: status == PHIBAL_OK &&
        probabilities_held{Pre}(t, router->gate, logits) &&
        weights_held{Pre}(t, router->gate, logits) ==> \forall sequence g, integer e;
          gates_are(g, router->gate, logits, experts, t->active) && 0 <= e < t->experts ==>
            gained{Pre, Here}(t->condition + e, gates_gradient_size(router->gate, logits, experts,
              t->active, g, gate_gradient, (real)router->scale, e)); */
  return status;
}

/* gradient = condition = 0. */
static void gradient_clear(int32_t n, phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(gradient, n) && vector_output(condition, n);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, gradient, n) && vector_apart(r, condition, n) ==> same{Pre, Here}(r);
      loop invariant cleared: \forall integer i; 0 <= i < e ==>
        in(gradient + i, 0.0) && in(condition + i, 0.0);
      loop assigns e, gradient[0 .. n - 1], condition[0 .. n - 1];
      loop variant n - e; */
  for (int32_t e = 0; e < n; e++) {
    phibal_enclosure_set_si(&gradient[e], 0);
    //@ assert conditions: vector_output(condition, n);
    phibal_enclosure_set_si(&condition[e], 0);
    //@ assert cleared: in(gradient + e, 0.0) && in(condition + e, 0.0);
    /*@ assert left: \forall integer i; 0 <= i < e ==>
          same{LoopCurrent, Here}(gradient + i) && same{LoopCurrent, Here}(condition + i); */
    //@ assert outputs: vector_output(gradient, n) && vector_output(condition, n);
  }
}

static void token_clear_gradient(phibal_reference_token *t) {
  //@ assert use_enclosure && use_token;
  //@ ghost token_opened_up(t);
  //@ ghost token_beside_gradient(t);
  gradient_clear(t->experts, t->gradient, t->condition);
  //@ assert lies: token_lies(t);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ ghost token_put_together(t);
}

/* The balancing term: p_j price_scale (c_j - sum_e p_e c_e), for sigmoid times 1 - sigma_j. */
static phibal_status token_add_price(phibal_reference_token *t, const phibal_router *router,
                                     const float *logits, const float *price, double scale) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  if (!price) return PHIBAL_OK;
  //@ ghost token_beside_gradient(t);
  //@ assert places: gradient_places(t, t->gradient, t->condition);
  /*@ assert weights: \forall integer i; 0 <= i < t->experts ==>
        weight_input(t, t->gradient, t->condition, t->probability + i); */
  /*@ assert gradient_apart: \separated(t, t->gradient + (0 .. t->experts - 1)); */
  /*@ assert condition_apart: \separated(t, t->condition + (0 .. t->experts - 1)); */
  const gradient_slots all = {t->experts, NULL, t->probability, price};
  const phibal_reference_result gradient = {t->gradient, t->condition};
  phibal_status status = router_gradient_add_slots(t, router, all, scale, logits, gradient);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert probability_kept: vector_same{Pre, Here}(t->probability, t->experts);
  //@ assert gate_kept: vector_same{Pre, Here}(t->gate, t->active);
  //@ assert weight_kept: vector_same{Pre, Here}(t->weight, t->experts);
  //@ assert part_kept: vector_same{Pre, Here}(t->part, t->active);
  //@ assert scratch: token_scratch(t);
  //@ assert lies: token_lies(t);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}

phibal_status phibal_reference_token_backward(phibal_reference_token *token,
                                              const phibal_router *router, const float *logits,
                                              const int32_t *experts, const float *gate_gradient,
                                              const float *price, double price_scale,
                                              double z_scale) {
  //@ assert use_enclosure;
  TRY(reference_token_check("phibal_reference_token_backward", token, router, logits));
  TRY(gradient_check(token, router, experts, gate_gradient, price, price_scale, z_scale));
  TRY(reference_token_probabilities(token, router, logits));
  token_clear_gradient(token);
  //@ ghost token_opened_up(token);
  TRY(token_add_price(token, router, logits, price, price_scale));
  /*@ assert priced: \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->gradient + e, price_term(router->gate, logits, token->experts, p, price,
                                             (real)price_scale, e)); */
  /*@ assert priced_terms: \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->condition + e, price_size(router->gate, logits, token->experts, p, price,
                                              (real)price_scale, e)); */
  /*@ assert logsumexp_input: (real)z_scale != 0.0 ==>
        in(&token->logsumexp, logsumexp(logits, token->experts)); */
  /*@ assert logsumexp_terms_input: (real)z_scale != 0.0 ==>
        in(&token->logsumexp_terms, logsumexp_size(logits, token->experts)); */
  /*@ assert probability_inputs: \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->probability + e, term(p, e)); */
  //@ ghost before_z: ;
  TRY(router_gradient_add_z(token, z_scale));
  /*@ assert z_gained: (real)z_scale != 0.0 ==> \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          gained{before_z, Here}(token->gradient + e,
            z_gradient(term(p, e), logsumexp(logits, token->experts), (real)z_scale)); */
  /*@ assert z_gained_terms: (real)z_scale != 0.0 ==> \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          gained{before_z, Here}(token->condition + e, z_gradient_size(term(p, e),
            logsumexp_size(logits, token->experts), (real)z_scale)); */
  /*@ assert held: weights_held(token, router->gate, logits) &&
        probabilities_held(token, router->gate, logits); */
  /*@ assert without_z: (real)z_scale == 0.0 ==> \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->gradient + e, price_term(router->gate, logits, token->experts, p, price,
            (real)price_scale, e) + 0.0); */
  /*@ assert some_z: (real)z_scale != 0.0 ==> \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->gradient + e, price_term(router->gate, logits, token->experts, p, price,
            (real)price_scale, e) +
            z_gradient(term(p, e), logsumexp(logits, token->experts), (real)z_scale)); */
  /*@ assert with_z: \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->gradient + e, price_term(router->gate, logits, token->experts, p, price,
            (real)price_scale, e) + z_term(logits, token->experts, p, (real)z_scale, e)); */
  /*@ assert without_z_terms: (real)z_scale == 0.0 ==> \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->condition + e, price_size(router->gate, logits, token->experts, p, price,
            (real)price_scale, e) + 0.0); */
  /*@ assert some_z_terms: (real)z_scale != 0.0 ==> \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->condition + e, price_size(router->gate, logits, token->experts, p, price,
            (real)price_scale, e) + z_gradient_size(term(p, e),
              logsumexp_size(logits, token->experts), (real)z_scale)); */
  /*@ assert with_z_terms: \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->condition + e, price_size(router->gate, logits, token->experts, p, price,
            (real)price_scale, e) + z_size(logits, token->experts, p, (real)z_scale, e)); */
  if (!gate_gradient) return PHIBAL_OK;
  return gradient_add_gates(token, router, logits, experts, gate_gradient);
}

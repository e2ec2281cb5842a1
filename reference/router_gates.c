/* The gates (R3) to (R5) of the experts selected, before the router's scale. */
#include "router_work.h"

/* Weights [experts] of a row's logits, relative to the logit `reference`. */
typedef struct row_weights {
  const phibal_enclosure *weight;
  float reference;
} row_weights;

#include <phibal/acsl/contracts/inside/router_gates_static.h>

/* Which logit it is matters only to how tight results are; that it is finite, to whether they hold.
 */
static float logits_largest_selected(int32_t active, const int32_t *experts, const float *logits) {
  float largest = logits[experts[0]];
  /*@ loop invariant 1 <= s <= active;
      loop invariant \is_finite(largest);
      loop assigns s, largest;
      loop variant active - s; */
  for (int32_t s = 1; s < active; s++)
    if (logits[experts[s]] > largest) largest = logits[experts[s]];
  return largest;
}

/* part[s] = x[experts[s]] */
static void vector_pick(int32_t active, const int32_t *experts, const phibal_enclosure *x,
                        phibal_enclosure *part) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= s <= active;
      loop invariant frame: only_vector_written{Pre, Here}(part, active);
      loop invariant outputs: vector_output(part, active);
      loop invariant inputs: \forall integer i; 0 <= i < active ==>
        same{Pre, Here}(x + experts[i]);
      loop invariant picked: \forall integer i, real a; 0 <= i < s &&
        in{Pre}(x + experts[i], a) ==> in(part + i, a);
      loop assigns s, part[0 .. active - 1];
      loop variant active - s; */
  for (int32_t s = 0; s < active; s++) {
    //@ assert kept: same{Pre, Here}(x + experts[s]);
    phibal_enclosure_set(&part[s], &x[experts[s]]);
    /*@ assert others: \forall integer i; 0 <= i < active && i != s ==>
          same{LoopCurrent, Here}(part + i); */
    //@ assert one: \forall real a; in{Pre}(x + experts[s], a) ==> in(part + s, a);
  }
}

/* part[0..active-1] = the weights of the experts given, relative to `reference`. */
static phibal_status selected_weights(phibal_reference_token *t, const phibal_router *router,
                                      const float *logits, float reference, int32_t active,
                                      const int32_t *experts, phibal_enclosure *part) {
  //@ assert use_enclosure;
  /*@ assert apart: \forall integer j; 0 <= j < active ==>
        \separated(part + j, &t->factor) && \separated(part + j, &t->term); */
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= s <= active;
      loop invariant status: status == PHIBAL_OK || status == PHIBAL_ERROR_DOMAIN;
      loop invariant frame: only_weights_written{Pre, Here}(t, part, active);
      loop invariant outputs: vector_output(part, active);
      loop invariant scratch: token_scratch(t);
      loop invariant weights: status == PHIBAL_OK ==> \forall integer j; 0 <= j < s ==>
        in(part + j, times(logit_weight(router->gate, (real)logits[experts[j]]),
                           shrink((real)reference)));
      loop assigns s, status, part[0 .. active - 1], t->factor, t->term;
      loop variant active - s; */
  for (int32_t s = 0; s < active && status == PHIBAL_OK; s++) {
    status = router_weight(t, router, logits[experts[s]], reference, &part[s]);
    /*@ assert others: \forall integer j; 0 <= j < active && j != s ==>
          same{LoopCurrent, Here}(part + j); */
  }
  return status;
}

/* The same, from the row's weights where those are relative to the same logit. */
static phibal_status gates_weights(phibal_reference_token *t, const phibal_router *router,
                                   const float *logits, float reference, int32_t active,
                                   const int32_t *experts, row_weights row,
                                   phibal_enclosure *part) {
  //@ assert use_enclosure && use_floating;
  if (row.reference == reference) {
    vector_pick(active, experts, row.weight, part);
    return PHIBAL_OK;
  }
  return selected_weights(t, router, logits, reference, active, experts, part);
}

/* The weights of the experts given, relative to `reference`, in t->part. */
static phibal_status token_weigh_selected(phibal_reference_token *t, const phibal_router *router,
                                          const float *logits, float row, float reference,
                                          const int32_t *experts) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  const row_weights weights = {t->weight, row};
  phibal_status status =
      gates_weights(t, router, logits, reference, t->active, experts, weights, t->part);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
  /*@ assert kept: \forall integer i; 0 <= i < t->experts ==>
        same{Pre, Here}(t->weight + i); */
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert gradients: vector_output(t->gradient, t->experts);
  //@ assert conditions: vector_output(t->condition, t->experts);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}

/* t->part divided by its sum. */
static phibal_status token_normalise_part(phibal_reference_token *t) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  phibal_status status = router_weights_normalise(t->active, t->part, &t->total, t->part);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert gradients: vector_output(t->gradient, t->experts);
  //@ assert conditions: vector_output(t->condition, t->experts);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}

/* (R3), (R5): weights of the experts given, normalised among themselves. They are taken relative to
   the largest among them, which a bias can put far below the largest of the row. */
static phibal_status gates_normalised(phibal_reference_token *t, const phibal_router *router,
                                      const float *logits, const int32_t *experts) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  float row = router_reference(router, router_logits_largest(t->experts, logits));
  float reference = router_reference(router, logits_largest_selected(t->active, experts, logits));
  TRY(token_weigh_selected(t, router, logits, row, reference, experts));
  //@ ghost router_selected_sum(router->gate, logits, experts, t->active);
  //@ ghost router_shrink_positive();
  /*@ assert relative: use_quotient &&
        (weights_held{Pre}(t, router->gate, logits) ==> members(t->part, t->active,
          relative_selected(router->gate, logits, experts, t->active, shrink((real)reference)))); */
  /*@ assert total: open_times && 0.0 < shrink((real)reference) &&
        0.0 < selected_sum(router->gate, logits, experts, t->active) &&
        sum(relative_selected(router->gate, logits, experts, t->active, shrink((real)reference)),
            t->active) ==
          times(selected_sum(router->gate, logits, experts, t->active), shrink((real)reference)) &&
        0.0 < times(selected_sum(router->gate, logits, experts, t->active),
                    shrink((real)reference)); */
  /*@ assert terms: \forall integer s; 0 <= s < t->active ==>
        term(relative_selected(router->gate, logits, experts, t->active, shrink((real)reference)),
             s) == times(logit_weight(router->gate, (real)logits[experts[s]]),
                         shrink((real)reference)); */
  /*@ assert any_quotient: \forall real w; times(w, shrink((real)reference)) /
        times(selected_sum(router->gate, logits, experts, t->active), shrink((real)reference)) ==
          w / selected_sum(router->gate, logits, experts, t->active); */
  /*@ assert quotient: \forall integer s; 0 <= s < t->active ==>
        times(logit_weight(router->gate, (real)logits[experts[s]]), shrink((real)reference)) /
            times(selected_sum(router->gate, logits, experts, t->active),
                  shrink((real)reference)) ==
          normalised_gate(router->gate, logits, experts, t->active, s); */
  /*@ assert ratios: \forall integer s; 0 <= s < t->active ==>
        term(relative_selected(router->gate, logits, experts, t->active, shrink((real)reference)),
             s) / sum(relative_selected(router->gate, logits, experts, t->active,
                                        shrink((real)reference)), t->active) ==
          normalised_gate(router->gate, logits, experts, t->active, s); */
  phibal_status status = token_normalise_part(t);
  //@ assert part: t->part == \at(t->part, Pre) && t->active == \at(t->active, Pre);
  /*@ assert instance: status == PHIBAL_OK && weights_held{Pre}(t, router->gate, logits) ==>
        \forall integer s; 0 <= s < t->active ==> in(t->part + s,
          term(relative_selected(router->gate, logits, experts, t->active,
                                 shrink((real)reference)), s) /
            sum(relative_selected(router->gate, logits, experts, t->active,
                                  shrink((real)reference)), t->active)); */
  return status;
}

phibal_status reference_token_gates(phibal_reference_token *t, const phibal_router *router,
                                    const float *logits, const int32_t *experts) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  bool plain = router->gate == PHIBAL_GATE_PROBABILITY ||
               (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && t->active == 1);
  if (!plain) return gates_normalised(t, router, logits, experts);
  /* (R4), and (R3) for k = 1: the probabilities of the experts given */
  vector_pick(t->active, experts, t->probability, t->part);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert gradients: vector_output(t->gradient, t->experts);
  //@ assert conditions: vector_output(t->condition, t->experts);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return PHIBAL_OK;
}

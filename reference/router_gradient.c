/* The gradient of the router in the logits (G2) of one token, term by term, each with the sum of
   the absolute values of its terms (the condition). */
#include "router_gradient_work.h"
#include <phibal/acsl/contracts/inside/router_gradient_static.h>

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

/* The router forward, one token at a time: probabilities (R1), (R1s), logsumexp (R8), and with the
   selection (R2) the scaled gates (R3) to (R5). */
#include "router_work.h"
#include <phibal/acsl/contracts/inside/router_scores.h>
#include <phibal/acsl/contracts/inside/router_static.h>

phibal_status reference_token_check(const char *name, const phibal_reference_token *token,
                                    const phibal_router *router, const float *logits) {
  if (!token || !router || !logits)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (router->experts != token->experts || router->active != token->active)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: the token was initialised for %d experts, %d active; the router "
                             "has %d and %d",
                             name, (int)token->experts, (int)token->active, (int)router->experts,
                             (int)router->active);
  if (router->gate == PHIBAL_GATE_SQRT_SOFTPLUS)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: gates of sqrt(softplus) are those of "
                             "<phibal/reference_router.h>",
                             name);
  if (router->gate != PHIBAL_GATE_TOPK_SOFTMAX && router->gate != PHIBAL_GATE_PROBABILITY &&
      router->gate != PHIBAL_GATE_SIGMOID)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no such gate: %d", name,
                             (int)router->gate);
  if (!isfinite(router->scale))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: router scale %g; it must be finite", name,
                             (double)router->scale);
  if (router->normalisation != PHIBAL_NORMALISATION_OF_GATE || router->epsilon != 0.0f ||
      router->selection != PHIBAL_SELECTION_OF_SCORES || router->score != PHIBAL_SCORE_OF_GATE ||
      router->zero_gates != PHIBAL_ZERO_GATES_COUNTED)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: another normalisation or score than the gate's, given "
                             "selections and gates that are left out are those of "
                             "<phibal/reference_router.h>",
                             name);
  return operation_check_finite(name, "the logits", token->experts, logits);
}

/* (R8) from the sum of exp(x - largest) in t->total. */
static phibal_status token_logsumexp(phibal_reference_token *t, float largest) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_log(&t->logsumexp, &t->total));
  operation_set_magnitude(&t->factor, largest);
  /*@ assert logarithm: \forall real a; 0.0 < a && in{Pre}(&t->total, a) ==>
        in(&t->logsumexp, \log(a)); */
  TRY(phibal_enclosure_add(&t->logsumexp_terms, &t->logsumexp, &t->factor));
  /*@ assert terms: \forall real a; 0.0 < a && in{Pre}(&t->total, a) ==>
        in(&t->logsumexp_terms, \log(a) + \abs((real)largest)); */
  operation_set_float(&t->factor, largest);
  /*@ assert sum: \forall real a; 0.0 < a && in{Pre}(&t->total, a) ==>
        in(&t->logsumexp, \log(a)) && in(&t->factor, (real)largest); */
  return phibal_enclosure_add(&t->logsumexp, &t->logsumexp, &t->factor);
}

/* weight[0..n-1] = the logits' weights, relative to `reference`. */
static phibal_status router_weights(phibal_reference_token *t, const phibal_router *router,
                                    int32_t n, const float *logits, float reference,
                                    phibal_enclosure *weight) {
  //@ assert use_enclosure;
  /*@ assert apart: \forall integer j; 0 <= j < n ==>
        \separated(weight + j, &t->factor) && \separated(weight + j, &t->term); */
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant status: status == PHIBAL_OK || status == PHIBAL_ERROR_DOMAIN;
      loop invariant frame: only_weights_written{Pre, Here}(t, weight, n);
      loop invariant outputs: vector_output(weight, n);
      loop invariant scratch: token_scratch(t);
      loop invariant weights: status == PHIBAL_OK ==> \forall integer j; 0 <= j < i ==>
        in(weight + j,
           times(logit_weight(router->gate, (real)logits[j]), shrink((real)reference)));
      loop assigns i, status, weight[0 .. n - 1], t->factor, t->term;
      loop variant n - i; */
  for (int32_t i = 0; i < n && status == PHIBAL_OK; i++) {
    status = router_weight(t, router, logits[i], reference, &weight[i]);
    /*@ assert others: \forall integer j; 0 <= j < n && j != i ==>
          same{LoopCurrent, Here}(weight + j); */
  }
  return status;
}

/* The row's weights, in t->weight. */
static phibal_status token_weigh(phibal_reference_token *t, const phibal_router *router,
                                 const float *logits, float reference) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  /*@ assert parts_apart: \forall integer i; 0 <= i < t->active ==>
        vector_apart(t->part + i, t->weight, t->experts) && \separated(t->part + i, t); */
  phibal_status status = router_weights(t, router, t->experts, logits, reference, t->weight);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
  //@ assert parts_kept: \forall integer i; 0 <= i < t->active ==> same{Pre, Here}(t->part + i);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert gradients: vector_output(t->gradient, t->experts);
  //@ assert conditions: vector_output(t->condition, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}

/* t->probability = t->weight divided by its sum, which is left in t->total. */
static phibal_status token_normalise(phibal_reference_token *t) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  phibal_status status = router_weights_normalise(t->experts, t->weight, &t->total, t->probability);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
  //@ assert kept: \forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(t->weight + e);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert gradients: vector_output(t->gradient, t->experts);
  //@ assert conditions: vector_output(t->condition, t->experts);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}

/* (R8), where there is one, and what cancels in it; else 0. */
static phibal_status token_set_logsumexp(phibal_reference_token *t, const phibal_router *router,
                                         float largest) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  phibal_status status = PHIBAL_OK;
  if (router->gate != PHIBAL_GATE_SIGMOID) {
    status = token_logsumexp(t, largest);
  } else {
    phibal_enclosure_set_si(&t->logsumexp, 0);
    phibal_enclosure_set_si(&t->logsumexp_terms, 0);
  }
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
  //@ assert frame: only_token_struct_written{Pre, Here}(t);
  //@ assert probabilities_kept: vector_same{Pre, Here}(t->probability, t->experts);
  //@ assert gates_kept: vector_same{Pre, Here}(t->gate, t->active);
  //@ assert gradients_kept: vector_same{Pre, Here}(t->gradient, t->experts);
  //@ assert conditions_kept: vector_same{Pre, Here}(t->condition, t->experts);
  //@ assert weights_kept: vector_same{Pre, Here}(t->weight, t->experts);
  //@ assert parts_kept: vector_same{Pre, Here}(t->part, t->active);
  //@ assert probabilities: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert gradients: vector_output(t->gradient, t->experts);
  //@ assert conditions: vector_output(t->condition, t->experts);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}

phibal_status reference_token_probabilities(phibal_reference_token *t, const phibal_router *router,
                                            const float *logits) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  float largest = router_logits_largest(t->experts, logits);
  float reference = router_reference(router, largest);
  TRY(token_weigh(t, router, logits, reference));
  //@ ghost router_weights_sum(router->gate, logits, t->experts);
  //@ ghost router_softmax_sum(router->gate, logits, t->experts);
  //@ ghost router_shrink_positive();
  /*@ assert members: use_quotient && members(t->weight, t->experts,
        relative_weights(router->gate, logits, t->experts, shrink((real)reference))); */
  //@ assert weights: weights_held(t, router->gate, logits);
  TRY(token_normalise(t));
  //@ assert weights_kept: weights_held(t, router->gate, logits);
  /*@ assert total: in(&t->total,
        times(weight_sum(router->gate, logits, t->experts), shrink((real)reference))); */
  /*@ assert terms: \forall integer e; 0 <= e < t->experts ==>
        term(relative_weights(router->gate, logits, t->experts, shrink((real)reference)), e) ==
        times(logit_weight(router->gate, (real)logits[e]), shrink((real)reference)); */
  /*@ assert summed: sum(relative_weights(router->gate, logits, t->experts,
                                          shrink((real)reference)), t->experts) ==
        times(weight_sum(router->gate, logits, t->experts), shrink((real)reference)); */
  /*@ assert quotient_terms: \forall integer e; 0 <= e < t->experts ==> in(t->probability + e,
        term(relative_weights(router->gate, logits, t->experts, shrink((real)reference)), e) /
          sum(relative_weights(router->gate, logits, t->experts, shrink((real)reference)),
              t->experts)); */
  /*@ assert quotients: \forall integer e; 0 <= e < t->experts ==>
        times(logit_weight(router->gate, (real)logits[e]), shrink((real)reference)) /
          times(weight_sum(router->gate, logits, t->experts), shrink((real)reference)) ==
        logit_weight(router->gate, (real)logits[e]) /
          weight_sum(router->gate, logits, t->experts); */
  /*@ assert same_quotients: \forall integer e; 0 <= e < t->experts ==>
        term(relative_weights(router->gate, logits, t->experts, shrink((real)reference)), e) /
          sum(relative_weights(router->gate, logits, t->experts, shrink((real)reference)),
              t->experts) ==
        logit_weight(router->gate, (real)logits[e]) /
          weight_sum(router->gate, logits, t->experts); */
  //@ assert probabilities: probabilities_held(t, router->gate, logits);
  //@ assert ready: token_ready(t);
  phibal_status status = token_set_logsumexp(t, router, largest);
  /*@ assert logsumexp: status == PHIBAL_OK && router->gate != PHIBAL_GATE_SIGMOID ==>
        logsumexp_held(t, logits); */
  //@ assert weights_last: weights_held(t, router->gate, logits);
  //@ assert probabilities_last: probabilities_held(t, router->gate, logits);
  return status;
}

/* gate[0..n-1] = scale part[0..n-1] */
static phibal_status gates_scale(int32_t n, float scale, const phibal_enclosure *part,
                                 phibal_enclosure *factor, phibal_enclosure *gate) {
  //@ assert use_enclosure;
  operation_set_float(factor, scale);
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= s <= n;
      loop invariant frame: only_with_vector_written{Pre, Here}(factor, gate, n);
      loop invariant outputs: vector_output(gate, n) && enclosure(factor);
      loop invariant inputs: in(factor, (real)scale) && vector_same{Pre, Here}(part, n);
      loop invariant scaled: status == PHIBAL_OK ==> \forall integer i, real a;
        0 <= i < s && in{Pre}(part + i, a) ==> in(gate + i, times(a, (real)scale));
      loop assigns s, status, gate[0 .. n - 1];
      loop variant n - s; */
  for (int32_t s = 0; s < n && status == PHIBAL_OK; s++) {
    status = phibal_enclosure_mul(&gate[s], &part[s], factor);
    /*@ assert others: \forall integer i; 0 <= i < n && i != s ==>
          same{LoopCurrent, Here}(gate + i); */
    /*@ assert one: open_times && (\forall real a; in{Pre}(part + s, a) ==>
          in(gate + s, times(a, (real)scale))); */
  }
  return status;
}

/* t->gate = scale t->part. */
static phibal_status token_scale(phibal_reference_token *t, const phibal_router *router) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  //@ assert apart: vectors_apart(t->part, t->active, t->gate, t->active);
  /*@ assert factor_apart: vector_apart(&t->factor, t->part, t->active) &&
        vector_apart(&t->factor, t->gate, t->active); */
  phibal_status status = gates_scale(t->active, router->scale, t->part, &t->factor, t->gate);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gradients: vector_output(t->gradient, t->experts);
  //@ assert conditions: vector_output(t->condition, t->experts);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}

phibal_status phibal_reference_token_forward(phibal_reference_token *token,
                                             const phibal_router *router, const float *logits,
                                             const float *bias) {
  //@ assert use_enclosure && use_token;
  /*@ assert elsewhere: token != \null ==> \forall phibal_enclosure *r; token_apart(token, r) ==>
        \separated(r, token); */
  /*@ assert beside: token != \null ==> \forall phibal_enclosure *r; token_apart(token, r) ==>
        \separated(r, &token->term) && \separated(r, &token->factor); */
  TRY(phibal_reference_token_select(token, router, logits, bias));
  //@ assert selected: only_token_written{Pre, Here}(token) && token_same{Pre, Here}(token);
  TRY(reference_token_probabilities(token, router, logits));
  //@ assert weighed: only_token_written{Pre, Here}(token) && token_same{Pre, Here}(token);
  TRY(reference_token_gates(token, router, logits, token->selection));
  //@ assert gated: only_token_written{Pre, Here}(token) && token_same{Pre, Here}(token);
  phibal_status status = token_scale(token, router);
  //@ assert scaled: only_token_written{Pre, Here}(token) && token_same{Pre, Here}(token);
  return status;
}

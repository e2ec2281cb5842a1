/* What the functions of reference/router_gradient_work.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_WORK_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_WORK_H

#ifdef __FRAMAC__
#include <phibal/acsl/router_gradient_condition.h>
#endif

/*@ // nothing but a mean's places was written between A and B
    predicate only_mean_written{A, B}(phibal_reference_token *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, \at(&t->mean, A)) &&
        \separated(r, \at(&t->magnitude, A)) && \separated(r, \at(&t->term, A)) &&
        \separated(r, \at(&t->factor, A)) ==> same{A, B}(r);
    // the weight of slot i, where it is one of a selection
    predicate slots{L}(int32_t *experts, integer n) =
      experts == \null || \valid_read(experts + (0 .. n - 1));
*/

/*@ requires token_scratch(t) && 0 <= n && slots(experts, n);
    requires \valid_read(x + (0 .. n - 1)) && finite_floats(x, n);
    requires \forall integer i; 0 <= i < n ==>
      input(weight + slot_expert(experts, i)) && \separated(weight + slot_expert(experts, i), t);
    terminates \true;
    exits \false;
    assigns t->mean, t->magnitude, t->term, t->factor;
    ensures token_scratch(t);
    ensures only_mean_written{Pre, Here}(t);
    ensures \result == PHIBAL_OK ==> \forall sequence w;
      (\forall integer i; 0 <= i < n ==>
         in{Pre}(weight + slot_expert{Pre}(experts, i), term(w, i))) ==>
      in(&t->mean, weighted_mean(w, x, n)) && in(&t->magnitude, weighted_magnitude(w, x, n)); */
phibal_status router_gradient_mean(phibal_reference_token *t, int32_t n,
                                   const phibal_enclosure *weight, const int32_t *experts,
                                   const float *x);

/*@ // places for a gradient and its condition, apart from the token and each other
    predicate gradient_places{L}(phibal_reference_token *t, phibal_enclosure *gradient,
                                 phibal_enclosure *condition) =
      0 <= t->experts <= PHIBAL_MAX_EXPERTS && vector_output(gradient, t->experts) &&
      vector_output(condition, t->experts) &&
      (\forall integer e; 0 <= e < t->experts ==>
         \separated(t, gradient + e) && \separated(t, condition + e)) &&
      vectors_apart(gradient, t->experts, condition, t->experts);
    predicate apart_from_gradient{L}(phibal_reference_token *t, phibal_enclosure *gradient,
                                     phibal_enclosure *condition, phibal_enclosure *r) =
      vector_apart(r, gradient, t->experts) && vector_apart(r, condition, t->experts);
    // of enclosures, nothing but the token's temporaries, gradient and condition was written
    predicate only_gradient_written{A, B}(phibal_reference_token *t, phibal_enclosure *gradient,
                                          phibal_enclosure *condition) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, t) &&
        apart_from_gradient{A}(t, gradient, condition, r) ==> same{A, B}(r);
    // of gradient and condition, only those of expert e were written
    predicate others_kept{A, B}(phibal_reference_token *t, phibal_enclosure *gradient,
                                phibal_enclosure *condition, integer e) =
      \forall integer f; 0 <= f < \at(t->experts, A) && f != e ==>
        same{A, B}(gradient + f) && same{A, B}(condition + f);
    // what the terms of a gradient are computed from
    predicate means_kept{A, B}(phibal_reference_token *t) =
      same{A, B}(\at(&t->mean, A)) && same{A, B}(\at(&t->magnitude, A));
    predicate logsumexp_kept{A, B}(phibal_reference_token *t) =
      same{A, B}(\at(&t->logsumexp, A)) && same{A, B}(\at(&t->logsumexp_terms, A));
    // a weight: apart from the token, and from gradient and condition
    predicate weight_input{L}(phibal_reference_token *t, phibal_enclosure *gradient,
                              phibal_enclosure *condition, phibal_enclosure *w) =
      input(w) && \separated(w, t) && apart_from_gradient(t, gradient, condition, w);
    // a vector of the token that terms of the gradient leave alone
    predicate beside_gradient{L}(phibal_reference_token *t, phibal_enclosure *v, integer n) =
      \forall integer i; 0 <= i < n ==>
        \separated(v + i, t) && apart_from_gradient(t, t->gradient, t->condition, v + i);
    // z plus a
    predicate gained{A, B}(phibal_enclosure *z, real a) =
      \forall real g; in{A}(z, g) ==> in{B}(z, g + a);
*/

/*@ ghost
  /@ requires token_ready(t);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures probability: beside_gradient(t, t->probability, t->experts);
     ensures gate: beside_gradient(t, t->gate, t->active);
     ensures weight: beside_gradient(t, t->weight, t->experts);
     ensures part: beside_gradient(t, t->part, t->active); @/
  void token_beside_gradient(const phibal_reference_token *t) {
    token_opened_up(t);
  }
*/

/*@ requires token_scratch(t) && \valid_read(router) && 0 <= s.n && slots(s.experts, s.n);
    requires gradient_places(t, gradient.value, gradient.condition);
    requires \forall integer i; 0 <= i < s.n ==>
      weight_input(t, gradient.value, gradient.condition, s.weight + i);
    requires \valid_read(s.x + (0 .. s.n - 1)) && finite_floats(s.x, s.n) && \is_finite(scale);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires \forall integer i; 0 <= i < s.n ==> 0 <= slot_expert(s.experts, i) < t->experts;
    terminates \true;
    exits \false;
    assigns gradient.value[0 .. t->experts - 1], gradient.condition[0 .. t->experts - 1], t->mean,
            t->magnitude, t->term, t->factor, t->total;
    ensures token_scratch(t) && gradient_places(t, gradient.value, gradient.condition);
    ensures same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms);
    ensures only_gradient_written{Pre, Here}(t, gradient.value, gradient.condition);
    ensures value: \result == PHIBAL_OK ==> \forall sequence w, integer e;
      members{Pre}(s.weight, s.n, w) && 0 <= e < t->experts ==>
      gained{Pre, Here}(gradient.value + e, centred_gain{Pre}(router->gate, logits, s.experts, w,
        s.x, (real)scale, weighted_mean{Pre}(w, s.x, s.n), s.n, e));
    ensures terms: \result == PHIBAL_OK ==> \forall sequence w, integer e;
      members{Pre}(s.weight, s.n, w) && 0 <= e < t->experts ==>
      gained{Pre, Here}(gradient.condition + e, centred_gain_magnitude{Pre}(router->gate, logits,
        s.experts, w, s.x, (real)scale, weighted_magnitude{Pre}(w, s.x, s.n), s.n, e)); */
phibal_status router_gradient_add_slots(phibal_reference_token *t, const phibal_router *router,
                                        gradient_slots s, double scale, const float *logits,
                                        phibal_reference_result gradient);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(router->scale);
    requires selected_experts(experts, t->active, t->experts);
    requires \valid_read(gate_gradient + (0 .. t->active - 1)) &&
             finite_floats(gate_gradient, t->active);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1], t->mean,
            t->magnitude, t->term, t->factor, t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall sequence q, real p, integer e;
      (\forall integer s; 0 <= s < t->active ==>
         in{Pre}(t->probability + experts[s], term(q, s))) &&
      0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
        gained{Pre, Here}(t->gradient + e, plain_gradient(experts, t->active, p, q, gate_gradient,
                                                          (real)router->scale, e));
    ensures terms: \result == PHIBAL_OK ==> \forall sequence q, real p, integer e;
      (\forall integer s; 0 <= s < t->active ==>
         in{Pre}(t->probability + experts[s], term(q, s))) &&
      0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
        gained{Pre, Here}(t->condition + e, plain_gradient_size(experts, t->active, p, q,
                                              gate_gradient, (real)router->scale, e)); */
phibal_status router_gradient_add_probability(phibal_reference_token *t,
                                              const phibal_router *router, const int32_t *experts,
                                              const float *gate_gradient);

/*@ // what the terms of a gradient are computed from
    predicate inputs_kept{A, B}(phibal_reference_token *t) =
      same{A, B}(\at(&t->logsumexp, A)) && same{A, B}(\at(&t->logsumexp_terms, A)) &&
      (\forall integer e; 0 <= e < \at(t->experts, A) ==>
         same{A, B}(\at(t->probability, A) + e) && same{A, B}(\at(t->weight, A) + e));
*/

/*@ requires token_ready(t) && \is_finite(scale);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1], t->term,
            t->factor, t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures kept: inputs_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      ((real)scale != 0.0 ==> in{Pre}(t->probability + e, p) && in{Pre}(&t->logsumexp, a)) ==>
      gained{Pre, Here}(t->gradient + e,
                        (real)scale == 0.0 ? 0.0 : z_gradient(p, a, (real)scale));
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      ((real)scale != 0.0 ==> in{Pre}(t->probability + e, p) && in{Pre}(&t->logsumexp_terms, a)) ==>
      gained{Pre, Here}(t->condition + e,
                        (real)scale == 0.0 ? 0.0 : z_gradient_size(p, a, (real)scale)); */
phibal_status router_gradient_add_z(phibal_reference_token *t, double scale);

/*@ terminates \true;
    ensures condition: \result == PHIBAL_OK ==> \forall sequence p, q, g, integer e;
      probabilities_are(p, router->gate, logits, token->experts) &&
      selected_are(q, router->gate, logits, token->experts, experts, token->active) &&
      gates_are(g, router->gate, logits, experts, token->active) && 0 <= e < token->experts ==>
        in(token->condition + e,
          (price_size(router->gate, logits, token->experts, p, price, (real)price_scale, e) +
           z_size(logits, token->experts, p, (real)z_scale, e)) +
          gate_size(router->gate, logits, token->experts, experts, token->active, p, q, g,
                    gate_gradient, (real)router->scale, e)); */
phibal_status phibal_reference_token_backward(phibal_reference_token *token,
                                              const phibal_router *router, const float *logits,
                                              const int32_t *experts, const float *gate_gradient,
                                              const float *price, double price_scale,
                                              double z_scale);

#endif

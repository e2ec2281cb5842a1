/* What the functions of reference/router_gradient.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_STATIC_H

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
static phibal_status router_gradient_mean(phibal_reference_token *t, int32_t n,
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
static phibal_status router_gradient_add_slots(phibal_reference_token *t,
                                               const phibal_router *router, gradient_slots s,
                                               double scale, const float *logits,
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
static phibal_status router_gradient_add_probability(phibal_reference_token *t,
                                                     const phibal_router *router,
                                                     const int32_t *experts,
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
static phibal_status router_gradient_add_z(phibal_reference_token *t, double scale);

/*@ requires token_scratch(t) && input(weight) && \separated(weight, t) && \is_finite(x);
    terminates \true;
    exits \false;
    assigns t->mean, t->magnitude, t->term, t->factor;
    ensures scratch: token_scratch(t);
    ensures frame: only_mean_written{Pre, Here}(t);
    ensures mean: \result == PHIBAL_OK ==> \forall real a, w;
      in{Pre}(&t->mean, a) && in{Pre}(weight, w) ==> in(&t->mean, a + w * (real)x);
    ensures magnitude: \result == PHIBAL_OK ==> \forall real a, w;
      in{Pre}(&t->magnitude, a) && in{Pre}(weight, w) ==>
        in(&t->magnitude, a + w * \abs((real)x)); */
static phibal_status gradient_add_mean(phibal_reference_token *t, const phibal_enclosure *weight,
                                       float x);

/*@ requires token_scratch(t) && \valid_read(router) && input(weight) && \separated(weight, t);
    requires \is_finite(scale) && \is_finite(logit);
    terminates \true;
    exits \false;
    assigns t->factor, t->term, t->total;
    ensures enclosure(&t->factor) && enclosure(&t->term) && enclosure(&t->total);
    ensures only_three_written{Pre, Here}(&t->factor, &t->term, &t->total);
    ensures \result == PHIBAL_OK ==> \forall real w; in{Pre}(weight, w) ==>
      in(&t->factor, gate_slope(router->gate, (real)scale, w, (real)logit)); */
static phibal_status gradient_factor(phibal_reference_token *t, const phibal_router *router,
                                     const phibal_enclosure *weight, double scale, float logit);

/*@ requires token_scratch(t) && \valid_read(router) && input(weight) && \separated(weight, t);
    requires output(gradient) && output(condition);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    requires \separated(weight, gradient) && \separated(weight, condition);
    requires \is_finite(x) && \is_finite(scale) && \is_finite(logit);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->factor, t->term, t->total;
    ensures outputs: enclosure(&t->factor) && enclosure(&t->term) && enclosure(&t->total) &&
      enclosure(gradient) && enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, gradient) &&
      \separated(r, condition) && \separated(r, &t->factor) && \separated(r, &t->term) &&
      \separated(r, &t->total) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==> \forall real g, w, b;
      in{Pre}(gradient, g) && in{Pre}(weight, w) && in{Pre}(&t->mean, b) ==>
        in(gradient,
           g + centred_term(gate_slope(router->gate, (real)scale, w, (real)logit), (real)x, b));
    ensures terms: \result == PHIBAL_OK ==> \forall real c, w, b;
      in{Pre}(condition, c) && in{Pre}(weight, w) && in{Pre}(&t->magnitude, b) ==>
        in(condition, c + centred_magnitude(gate_slope(router->gate, (real)scale, w, (real)logit),
                                            (real)x, b)); */
static phibal_status gradient_add_slot(phibal_reference_token *t, const phibal_router *router,
                                       const phibal_enclosure *weight, float x, double scale,
                                       float logit, phibal_enclosure *gradient,
                                       phibal_enclosure *condition);

/*@ requires token_scratch(t) && input(probability) && \separated(probability, t);
    requires output(gradient) && output(condition) && \is_finite(scale);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    requires \separated(probability, gradient) && \separated(probability, condition);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->term, t->factor;
    ensures outputs: enclosure(&t->term) && enclosure(&t->factor) && enclosure(gradient) &&
      enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, gradient) &&
      \separated(r, condition) && \separated(r, &t->factor) && \separated(r, &t->term) ==>
        same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, p;
      in{Pre}(gradient, g) && in{Pre}(&t->mean, a) && in{Pre}(probability, p) ==>
        in(gradient, g + (-(real)scale * p) * a);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, p;
      in{Pre}(condition, c) && in{Pre}(&t->magnitude, a) && in{Pre}(probability, p) ==>
        in(condition, c + \abs(-(real)scale * p) * a); */
static phibal_status gradient_subtract_term(phibal_reference_token *t, float scale,
                                            const phibal_enclosure *probability,
                                            phibal_enclosure *gradient,
                                            phibal_enclosure *condition);

/*@ requires token_scratch(t) && \is_finite(scale);
    requires gradient_places(t, gradient, condition);
    requires \forall integer e; 0 <= e < t->experts ==>
      weight_input(t, gradient, condition, probability + e);
    terminates \true;
    exits \false;
    assigns gradient[0 .. t->experts - 1], condition[0 .. t->experts - 1], t->term, t->factor;
    ensures token_scratch(t) && gradient_places(t, gradient, condition);
    ensures only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures kept: same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms);
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->mean, a) ==>
      gained{Pre, Here}(gradient + e, (-(real)scale * p) * a);
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->magnitude, a) ==>
      gained{Pre, Here}(condition + e, \abs(-(real)scale * p) * a); */
static phibal_status gradient_subtract_mean(phibal_reference_token *t, float scale,
                                            const phibal_enclosure *probability,
                                            phibal_enclosure *gradient,
                                            phibal_enclosure *condition);

/*@ requires token_scratch(t) && input(probability) && \separated(probability, t);
    requires output(gradient) && output(condition) && \is_finite(x) && \is_finite(scale);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    requires \separated(probability, gradient) && \separated(probability, condition);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->term, t->factor, t->total;
    ensures outputs: enclosure(&t->factor) && enclosure(&t->term) && enclosure(&t->total) &&
      enclosure(gradient) && enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, gradient) &&
      \separated(r, condition) && \separated(r, &t->factor) && \separated(r, &t->term) &&
      \separated(r, &t->total) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==> \forall real g, p;
      in{Pre}(gradient, g) && in{Pre}(probability, p) ==>
        in(gradient, g + ((real)scale * p) * (real)x);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, p;
      in{Pre}(condition, c) && in{Pre}(probability, p) ==>
        in(condition, c + \abs((real)scale * p) * \abs((real)x)); */
static phibal_status gradient_add_term(phibal_reference_token *t, float scale,
                                       const phibal_enclosure *probability, float x,
                                       phibal_enclosure *gradient, phibal_enclosure *condition);

/*@ requires token_scratch(t) && \is_finite(scale) && 0 <= n;
    requires selected_experts(experts, n, t->experts);
    requires gradient_places(t, gradient, condition);
    requires \forall integer e; 0 <= e < t->experts ==>
      weight_input(t, gradient, condition, probability + e);
    requires \valid_read(x + (0 .. n - 1)) && finite_floats(x, n);
    terminates \true;
    exits \false;
    assigns gradient[0 .. t->experts - 1], condition[0 .. t->experts - 1], t->term, t->factor,
            t->total;
    ensures token_scratch(t) && gradient_places(t, gradient, condition);
    ensures only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures kept: same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms);
    ensures value: \result == PHIBAL_OK ==> \forall real p, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) ==> gained{Pre, Here}(gradient + e,
        selected_gain{Pre}(experts, (real)scale * p, x, n, e));
    ensures terms: \result == PHIBAL_OK ==> \forall real p, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) ==> gained{Pre, Here}(condition + e,
        selected_gain_magnitude{Pre}(experts, (real)scale * p, x, n, e)); */
static phibal_status gradient_add_selected(phibal_reference_token *t, float scale, int32_t n,
                                           const int32_t *experts,
                                           const phibal_enclosure *probability, const float *x,
                                           phibal_enclosure *gradient, phibal_enclosure *condition);

/*@ requires token_ready(t) && selected_experts(experts, t->active, t->experts);
    requires \valid_read(x + (0 .. t->active - 1)) && finite_floats(x, t->active);
    terminates \true;
    exits \false;
    assigns t->mean, t->magnitude, t->term, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures probabilities: vector_same{Pre, Here}(t->probability, t->experts);
    ensures gradients: vector_same{Pre, Here}(t->gradient, t->experts);
    ensures conditions: vector_same{Pre, Here}(t->condition, t->experts);
    ensures mean: \result == PHIBAL_OK ==> \forall sequence q;
      (\forall integer s; 0 <= s < t->active ==>
         in{Pre}(t->probability + experts[s], term(q, s))) ==>
      in(&t->mean, weighted_mean(q, x, t->active));
    ensures magnitude: \result == PHIBAL_OK ==> \forall sequence q;
      (\forall integer s; 0 <= s < t->active ==>
         in{Pre}(t->probability + experts[s], term(q, s))) ==>
      in(&t->magnitude, weighted_magnitude(q, x, t->active)); */
static phibal_status token_mean(phibal_reference_token *t, const int32_t *experts, const float *x);

/*@ requires token_ready(t) && \is_finite(scale);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1], t->term, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures probabilities: vector_same{Pre, Here}(t->probability, t->experts);
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e;
      0 <= e < t->experts && in{Pre}(t->probability + e, p) && in{Pre}(&t->mean, a) ==>
      gained{Pre, Here}(t->gradient + e, (-(real)scale * p) * a);
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e;
      0 <= e < t->experts && in{Pre}(t->probability + e, p) && in{Pre}(&t->magnitude, a) ==>
      gained{Pre, Here}(t->condition + e, \abs(-(real)scale * p) * a); */
static phibal_status token_subtract_mean(phibal_reference_token *t, float scale);

/*@ requires token_ready(t) && selected_experts(experts, t->active, t->experts);
    requires \is_finite(scale);
    requires \valid_read(x + (0 .. t->active - 1)) && finite_floats(x, t->active);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1], t->term, t->factor,
            t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures probabilities: vector_same{Pre, Here}(t->probability, t->experts);
    ensures value: \result == PHIBAL_OK ==> \forall real p, integer e;
      0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
      gained{Pre, Here}(t->gradient + e,
                        selected_gain(experts, (real)scale * p, x, t->active, e));
    ensures terms: \result == PHIBAL_OK ==> \forall real p, integer e;
      0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
      gained{Pre, Here}(t->condition + e,
                        selected_gain_magnitude(experts, (real)scale * p, x, t->active, e)); */
static phibal_status token_add_selected(phibal_reference_token *t, float scale,
                                        const int32_t *experts, const float *x);

/*@ requires token_scratch(t);
    requires gradient_places(t, gradient, condition) && 0 <= e < t->experts;
    requires weight_input(t, gradient, condition, probability);
    terminates \true;
    exits \false;
    assigns gradient[e], condition[e], t->term;
    ensures scratch: token_scratch(t);
    ensures places: gradient_places(t, gradient, condition);
    ensures frame: only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures others: others_kept{Pre, Here}(t, gradient, condition, e);
    ensures factors: same{Pre, Here}(&t->total) && same{Pre, Here}(&t->factor);
    ensures kept: logsumexp_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, p;
      in{Pre}(gradient + e, g) && in{Pre}(&t->total, a) && in{Pre}(probability, p) ==>
        in(gradient + e, g + a * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, p;
      in{Pre}(condition + e, c) && in{Pre}(&t->factor, a) && in{Pre}(probability, p) ==>
        in(condition + e, c + \abs(a) * p); */
static phibal_status gradient_add_z_term(phibal_reference_token *t,
                                         const phibal_enclosure *probability, int32_t e,
                                         phibal_enclosure *gradient, phibal_enclosure *condition);

/*@ requires token_scratch(t) && \is_finite(scale);
    requires gradient_places(t, gradient, condition);
    requires \forall integer e; 0 <= e < t->experts ==>
      weight_input(t, gradient, condition, probability + e);
    terminates \true;
    exits \false;
    assigns gradient[0 .. t->experts - 1], condition[0 .. t->experts - 1], t->term, t->factor,
            t->total;
    ensures token_scratch(t) && gradient_places(t, gradient, condition);
    ensures only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures kept: logsumexp_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp, a) ==>
      gained{Pre, Here}(gradient + e, ((real)scale * a) * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp_terms, a) ==>
      gained{Pre, Here}(condition + e, \abs((real)scale * a) * p); */
static phibal_status gradient_add_z(phibal_reference_token *t, double scale,
                                    const phibal_enclosure *probability, phibal_enclosure *gradient,
                                    phibal_enclosure *condition);

/*@ requires \valid_read(t) && \valid_read(router) && 0 <= t->active;
    requires experts != \null ==> \valid_read(experts + (0 .. t->active - 1));
    requires gate_gradient != \null ==> \valid_read(gate_gradient + (0 .. t->active - 1));
    requires price != \null ==> \valid_read(price + (0 .. t->experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> experts != \null &&
      selected_experts(experts, t->active, t->experts);
    ensures \result == PHIBAL_OK && gate_gradient != \null ==>
      finite_floats(gate_gradient, t->active);
    ensures \result == PHIBAL_OK && price != \null ==> finite_floats(price, t->experts);
    ensures \result == PHIBAL_OK ==> \is_finite(price_scale) && \is_finite(z_scale);
    ensures \result == PHIBAL_OK && router->gate == PHIBAL_GATE_SIGMOID ==>
      (real)z_scale == 0.0; */
static phibal_status gradient_check(const phibal_reference_token *t, const phibal_router *router,
                                    const int32_t *experts, const float *gate_gradient,
                                    const float *price, double price_scale, double z_scale);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(router->scale);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
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
    ensures value: \result == PHIBAL_OK ==> \forall sequence g, integer e;
      members{Pre}(t->part, t->active, g) && 0 <= e < t->experts ==>
        gained{Pre, Here}(t->gradient + e, gates_gradient(router->gate, logits, experts, t->active,
          g, gate_gradient, (real)router->scale, e));
    ensures terms: \result == PHIBAL_OK ==> \forall sequence g, integer e;
      members{Pre}(t->part, t->active, g) && 0 <= e < t->experts ==>
        gained{Pre, Here}(t->condition + e, gates_gradient_size(router->gate, logits, experts,
          t->active, g, gate_gradient, (real)router->scale, e)); */
static phibal_status gradient_add_normalised(phibal_reference_token *t, const phibal_router *router,
                                             const float *logits, const int32_t *experts,
                                             const float *gate_gradient);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(router->scale);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires selected_experts(experts, t->active, t->experts);
    requires \valid_read(gate_gradient + (0 .. t->active - 1)) &&
             finite_floats(gate_gradient, t->active);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1],
            t->part[0 .. t->active - 1], t->mean, t->magnitude, t->term, t->factor, t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK && probabilities_held{Pre}(t, router->gate, logits) &&
      weights_held{Pre}(t, router->gate, logits) ==> \forall sequence p, q, g, integer e;
        probabilities_are(p, router->gate, logits, t->experts) &&
        selected_are(q, router->gate, logits, t->experts, experts, t->active) &&
        gates_are(g, router->gate, logits, experts, t->active) && 0 <= e < t->experts ==>
          gained{Pre, Here}(t->gradient + e, gate_term(router->gate, logits, t->experts, experts,
            t->active, p, q, g, gate_gradient, (real)router->scale, e));
    ensures terms: \result == PHIBAL_OK && probabilities_held{Pre}(t, router->gate, logits) &&
      weights_held{Pre}(t, router->gate, logits) ==> \forall sequence p, q, g, integer e;
        probabilities_are(p, router->gate, logits, t->experts) &&
        selected_are(q, router->gate, logits, t->experts, experts, t->active) &&
        gates_are(g, router->gate, logits, experts, t->active) && 0 <= e < t->experts ==>
          gained{Pre, Here}(t->condition + e, gate_size(router->gate, logits, t->experts, experts,
            t->active, p, q, g, gate_gradient, (real)router->scale, e)); */
static phibal_status gradient_add_gates(phibal_reference_token *t, const phibal_router *router,
                                        const float *logits, const int32_t *experts,
                                        const float *gate_gradient);

/*@ requires 0 <= n && vector_output(gradient, n) && vector_output(condition, n);
    requires vectors_apart(gradient, n, condition, n);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1], condition[0 .. n - 1];
    ensures vector_output(gradient, n) && vector_output(condition, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, gradient, n) && vector_apart(r, condition, n) ==> same{Pre, Here}(r);
    ensures \forall integer e; 0 <= e < n ==> in(gradient + e, 0.0) && in(condition + e, 0.0); */
static void gradient_clear(int32_t n, phibal_enclosure *gradient, phibal_enclosure *condition);

/*@ requires token_ready(t);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1];
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures kept: inputs_kept{Pre, Here}(t);
    ensures \forall integer e; 0 <= e < t->experts ==>
      in(t->gradient + e, 0.0) && in(t->condition + e, 0.0); */
static void token_clear_gradient(phibal_reference_token *t);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(scale);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires price != \null ==>
      \valid_read(price + (0 .. t->experts - 1)) && finite_floats(price, t->experts);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1], t->mean,
            t->magnitude, t->term, t->factor, t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures kept: inputs_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall sequence p, integer e;
      members{Pre}(t->probability, t->experts, p) && 0 <= e < t->experts ==>
        gained{Pre, Here}(t->gradient + e, price_term(router->gate, logits, t->experts, p, price,
                                                      (real)scale, e));
    ensures terms: \result == PHIBAL_OK ==> \forall sequence p, integer e;
      members{Pre}(t->probability, t->experts, p) && 0 <= e < t->experts ==>
        gained{Pre, Here}(t->condition + e, price_size(router->gate, logits, t->experts, p, price,
                                                       (real)scale, e)); */
static phibal_status token_add_price(phibal_reference_token *t, const phibal_router *router,
                                     const float *logits, const float *price, double scale);

/* Adds the condition to the contract in reference_moe.h. It stands here because nearly every unit
   reads that header, and would have to be proved again. */
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

/* The gradient of the router in the logits (G2) of one token, term by term, each with the sum of
   the absolute values of its terms (the condition). */
#include "operation.h"
#ifdef __FRAMAC__
#include <phibal/acsl/router_gradient.h>
#endif

/*@ // nothing but the token's temporaries was written between A and B, and places p and q
    predicate only_temporaries_written{A, B}(phibal_reference_token *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, t) ==> same{A, B}(r);
    // nothing but a mean's places
    predicate only_mean_written{A, B}(phibal_reference_token *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, \at(&t->mean, A)) &&
        \separated(r, \at(&t->magnitude, A)) && \separated(r, \at(&t->term, A)) &&
        \separated(r, \at(&t->factor, A)) ==> same{A, B}(r);
    // the weight of slot i, where it is one of a selection
    predicate slots{L}(int32_t *experts, integer n) =
      experts == \null || \valid_read(experts + (0 .. n - 1));
*/

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

/* mean += weight x, magnitude += weight |x|. */
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
static phibal_status gradient_mean(phibal_reference_token *t, int32_t n,
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

/* factor *= sigma(-x) */
/*@ requires token_scratch(t) && \is_finite(logit);
    terminates \true;
    exits \false;
    assigns t->factor, t->term, t->total;
    ensures enclosure(&t->factor) && enclosure(&t->term) && enclosure(&t->total);
    ensures only_three_written{Pre, Here}(&t->factor, &t->term, &t->total);
    ensures \result == PHIBAL_OK ==> \forall real a; in{Pre}(&t->factor, a) ==>
      in(&t->factor, a * logistic(-(real)logit)); */
static phibal_status gradient_times_sigmoid(phibal_reference_token *t, float logit) {
  //@ assert use_enclosure;
  operation_set_float(&t->term, logit);
  TRY(operation_sigmoid_negated(&t->total, &t->term, &t->one));
  return phibal_enclosure_mul(&t->factor, &t->factor, &t->total);
}

/* factor = weight scale, for sigmoid routers times 1 - sigma(x) = sigma(-x): what a softmax or a
   normalised sigmoid differentiates to, in front of (x_j - mean). */
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
                                     const phibal_enclosure *weight, double scale, float logit) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t->factor, scale);
  TRY(phibal_enclosure_mul(&t->factor, &t->factor, weight));
  /*@ assert scaled: \forall real w; in{Pre}(weight, w) ==>
        in(&t->factor, (real)scale * w); */
  if (router->gate != PHIBAL_GATE_SIGMOID) return PHIBAL_OK;
  return gradient_times_sigmoid(t, logit);
}

/* gradient += factor (x - mean) */
/*@ requires token_scratch(t) && output(gradient) && \separated(t, gradient) && \is_finite(x);
    terminates \true;
    exits \false;
    assigns *gradient, t->term, t->total;
    ensures outputs: enclosure(&t->term) && enclosure(&t->total) && enclosure(gradient);
    ensures frame: only_three_written{Pre, Here}(gradient, &t->term, &t->total);
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, b;
      in{Pre}(gradient, g) && in{Pre}(&t->factor, a) && in{Pre}(&t->mean, b) ==>
        in(gradient, g + centred_term(a, (real)x, b)); */
static phibal_status gradient_add_difference(phibal_reference_token *t, float x,
                                             phibal_enclosure *gradient) {
  //@ assert use_enclosure;
  operation_set_float(&t->term, x);
  TRY(phibal_enclosure_sub(&t->term, &t->term, &t->mean));
  return operation_add_product(gradient, &t->factor, &t->term, &t->total);
}

/* condition += |factor| (|x| + magnitude) */
/*@ requires token_scratch(t) && output(condition) && \separated(t, condition) && \is_finite(x);
    terminates \true;
    exits \false;
    assigns *condition, t->term, t->total;
    ensures outputs: enclosure(&t->term) && enclosure(&t->total) && enclosure(condition);
    ensures frame: only_three_written{Pre, Here}(condition, &t->term, &t->total);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, b;
      in{Pre}(condition, c) && in{Pre}(&t->factor, a) && in{Pre}(&t->magnitude, b) ==>
        in(condition, c + centred_magnitude(a, (real)x, b)); */
static phibal_status gradient_add_difference_terms(phibal_reference_token *t, float x,
                                                   phibal_enclosure *condition) {
  //@ assert use_enclosure;
  operation_set_magnitude(&t->term, x);
  TRY(phibal_enclosure_add(&t->term, &t->term, &t->magnitude));
  //@ assert kept: same{Pre, Here}(&t->factor) && same{Pre, Here}(condition);
  /*@ assert sum: \forall real b; in{Pre}(&t->magnitude, b) ==>
        in(&t->term, \abs((real)x) + b); */
  return operation_add_magnitude(condition, &t->factor, &t->term, &t->total);
}

/* gradient += factor (x - mean), condition += |factor| (|x| + magnitude). */
/*@ requires token_scratch(t) && output(gradient) && output(condition) && \is_finite(x);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->term, t->total;
    ensures outputs: enclosure(&t->term) && enclosure(&t->total) && enclosure(gradient) &&
      enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, gradient) &&
      \separated(r, condition) && \separated(r, &t->term) && \separated(r, &t->total) ==>
        same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, b;
      in{Pre}(gradient, g) && in{Pre}(&t->factor, a) && in{Pre}(&t->mean, b) ==>
        in(gradient, g + centred_term(a, (real)x, b));
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, b;
      in{Pre}(condition, c) && in{Pre}(&t->factor, a) && in{Pre}(&t->magnitude, b) ==>
        in(condition, c + centred_magnitude(a, (real)x, b)); */
static phibal_status gradient_add_centred(phibal_reference_token *t, float x,
                                          phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(gradient_add_difference(t, x, gradient));
  //@ assert scratch: token_scratch(t) && same{Pre, Here}(condition);
  //@ assert factors: same{Pre, Here}(&t->factor) && same{Pre, Here}(&t->magnitude);
  return gradient_add_difference_terms(t, x, condition);
}

/* gradient += weight scale (x - mean), for sigmoid times 1 - sigma(logit), and the condition
   likewise. */
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
                                       phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(gradient_factor(t, router, weight, scale, logit));
  //@ assert scratch: token_scratch(t) && same{Pre, Here}(gradient) && same{Pre, Here}(condition);
  //@ assert means: same{Pre, Here}(&t->mean) && same{Pre, Here}(&t->magnitude);
  return gradient_add_centred(t, x, gradient, condition);
}

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
    // z plus a
    predicate gained{A, B}(phibal_enclosure *z, real a) =
      \forall real g; in{A}(z, g) ==> in{B}(z, g + a);
*/

/* The same for gradient_e and condition_e. */
/*@ requires token_scratch(t) && \valid_read(router);
    requires gradient_places(t, gradient, condition) && 0 <= e < t->experts;
    requires weight_input(t, gradient, condition, weight);
    requires \is_finite(x) && \is_finite(scale) && \is_finite(logit);
    terminates \true;
    exits \false;
    assigns gradient[e], condition[e], t->factor, t->term, t->total;
    ensures scratch: token_scratch(t);
    ensures places: gradient_places(t, gradient, condition);
    ensures frame: only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures others: others_kept{Pre, Here}(t, gradient, condition, e);
    ensures kept: means_kept{Pre, Here}(t) && logsumexp_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall real g, w, b;
      in{Pre}(gradient + e, g) && in{Pre}(weight, w) && in{Pre}(&t->mean, b) ==>
        in(gradient + e,
           g + centred_term(gate_slope(router->gate, (real)scale, w, (real)logit), (real)x, b));
    ensures terms: \result == PHIBAL_OK ==> \forall real c, w, b;
      in{Pre}(condition + e, c) && in{Pre}(weight, w) && in{Pre}(&t->magnitude, b) ==>
        in(condition + e, c + centred_magnitude(gate_slope(router->gate, (real)scale, w,
                                                           (real)logit), (real)x, b)); */
static phibal_status gradient_add_slot_at(phibal_reference_token *t, const phibal_router *router,
                                          const phibal_enclosure *weight, float x, double scale,
                                          float logit, int32_t e, phibal_enclosure *gradient,
                                          phibal_enclosure *condition) {
  //@ assert use_enclosure;
  return gradient_add_slot(t, router, weight, x, scale, logit, &gradient[e], &condition[e]);
}

/* For each slot i of n, with e its expert: gradient_e += scale weight_i (x_i - mean), for sigmoid
   times 1 - sigma_e, and condition_e likewise; mean and magnitude are over these slots. This is
   (L2) with experts null, which makes slot i expert i, and (G1) for normalised gates. */
/*@ requires token_scratch(t) && \valid_read(router) && 0 <= n && slots(experts, n);
    requires gradient_places(t, gradient, condition);
    requires \forall integer i; 0 <= i < n ==>
      weight_input(t, gradient, condition, weight + i);
    requires \valid_read(x + (0 .. n - 1)) && finite_floats(x, n) && \is_finite(scale);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires \forall integer i; 0 <= i < n ==> 0 <= slot_expert(experts, i) < t->experts;
    terminates \true;
    exits \false;
    assigns gradient[0 .. t->experts - 1], condition[0 .. t->experts - 1], t->mean, t->magnitude,
            t->term, t->factor, t->total;
    ensures token_scratch(t) && gradient_places(t, gradient, condition);
    ensures same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms);
    ensures only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures value: \result == PHIBAL_OK ==> \forall sequence w, integer e;
      members{Pre}(weight, n, w) && 0 <= e < t->experts ==>
      gained{Pre, Here}(gradient + e, centred_gain{Pre}(router->gate, logits, experts, w, x,
        (real)scale, weighted_mean{Pre}(w, x, n), n, e));
    ensures terms: \result == PHIBAL_OK ==> \forall sequence w, integer e;
      members{Pre}(weight, n, w) && 0 <= e < t->experts ==>
      gained{Pre, Here}(condition + e, centred_gain_magnitude{Pre}(router->gate, logits, experts, w,
        x, (real)scale, weighted_magnitude{Pre}(w, x, n), n, e)); */
static phibal_status gradient_add_slots(phibal_reference_token *t, const phibal_router *router,
                                        int32_t n, const int32_t *experts,
                                        const phibal_enclosure *weight, const float *x,
                                        double scale, const float *logits,
                                        phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_status status = gradient_mean(t, n, weight, NULL, x);
  //@ assert places_kept: gradient_places(t, gradient, condition);
  /*@ assert weights_kept: \forall integer i; 0 <= i < n ==> same{Pre, Here}(weight + i); */
  /*@ assert gradient_kept: \forall integer e; 0 <= e < t->experts ==>
        same{Pre, Here}(gradient + e) && same{Pre, Here}(condition + e); */
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant scratch: token_scratch(t);
      loop invariant places: gradient_places(t, gradient, condition);
      loop invariant frame: only_gradient_written{Pre, Here}(t, gradient, condition);
      loop invariant kept: same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms);
      loop invariant means: status == PHIBAL_OK ==> \forall sequence w;
        members{Pre}(weight, n, w) ==>
        in(&t->mean, weighted_mean(w, x, n)) && in(&t->magnitude, weighted_magnitude(w, x, n));
      loop invariant weights: \forall integer j; 0 <= j < n ==> same{Pre, Here}(weight + j);
      loop invariant value: status == PHIBAL_OK ==> \forall sequence w, integer e;
        members{Pre}(weight, n, w) && 0 <= e < t->experts ==>
        gained{Pre, Here}(gradient + e, centred_gain(router->gate, logits, experts, w, x,
          (real)scale, weighted_mean(w, x, n), i, e));
      loop invariant terms: status == PHIBAL_OK ==> \forall sequence w, integer e;
        members{Pre}(weight, n, w) && 0 <= e < t->experts ==>
        gained{Pre, Here}(condition + e, centred_gain_magnitude(router->gate, logits, experts, w, x,
          (real)scale, weighted_magnitude(w, x, n), i, e));
      loop assigns i, status, gradient[0 .. t->experts - 1],
                   condition[0 .. t->experts - 1], t->term, t->factor, t->total;
      loop variant n - i; */
  for (int32_t i = 0; i < n && status == PHIBAL_OK; i++) {
    int32_t e = experts ? experts[i] : i;
    //@ assert expert: e == slot_expert(experts, i) && 0 <= e < t->experts;
    /*@ assert value_next: \forall sequence w, integer f;
          centred_gain(router->gate, logits, experts, w, x, (real)scale, weighted_mean(w, x, n),
            i + 1, f) ==
          centred_gain(router->gate, logits, experts, w, x, (real)scale, weighted_mean(w, x, n),
            i, f) + (e == f ? centred_term(gate_slope(router->gate, (real)scale, term(w, i),
              (real)logits[f]), (real)x[i], weighted_mean(w, x, n)) : 0.0); */
    /*@ assert terms_next: \forall sequence w, integer f;
          centred_gain_magnitude(router->gate, logits, experts, w, x, (real)scale,
            weighted_magnitude(w, x, n), i + 1, f) ==
          centred_gain_magnitude(router->gate, logits, experts, w, x, (real)scale,
            weighted_magnitude(w, x, n), i, f) + (e == f ?
              centred_magnitude(gate_slope(router->gate, (real)scale, term(w, i),
                (real)logits[f]), (real)x[i], weighted_magnitude(w, x, n)) : 0.0); */
    status =
        gradient_add_slot_at(t, router, &weight[i], x[i], scale, logits[e], e, gradient, condition);
    /*@ assert value_here: status == PHIBAL_OK ==>
          \forall sequence w; members{Pre}(weight, n, w) ==>
            gained{Pre, Here}(gradient + e, centred_gain(router->gate, logits, experts, w, x,
              (real)scale, weighted_mean(w, x, n), i + 1, e)); */
    /*@ assert terms_here: status == PHIBAL_OK ==>
          \forall sequence w; members{Pre}(weight, n, w) ==>
            gained{Pre, Here}(condition + e, centred_gain_magnitude(router->gate, logits, experts,
              w, x, (real)scale, weighted_magnitude(w, x, n), i + 1, e)); */
    /*@ assert value_there: status == PHIBAL_OK ==> \forall sequence w, integer f;
          members{Pre}(weight, n, w) && 0 <= f < t->experts && f != e ==>
            gained{Pre, Here}(gradient + f, centred_gain(router->gate, logits, experts, w, x,
              (real)scale, weighted_mean(w, x, n), i + 1, f)); */
    /*@ assert terms_there: status == PHIBAL_OK ==> \forall sequence w, integer f;
          members{Pre}(weight, n, w) && 0 <= f < t->experts && f != e ==>
            gained{Pre, Here}(condition + f, centred_gain_magnitude(router->gate, logits, experts,
              w, x, (real)scale, weighted_magnitude(w, x, n), i + 1, f)); */
  }
  return status;
}

/* gradient += total probability, condition += |factor| probability. */
/*@ requires token_scratch(t) && input(probability) && \separated(probability, t);
    requires output(gradient) && output(condition);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    requires \separated(probability, gradient) && \separated(probability, condition);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->term;
    ensures outputs: enclosure(&t->term) && enclosure(gradient) && enclosure(condition);
    ensures frame: only_three_written{Pre, Here}(gradient, condition, &t->term);
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, p;
      in{Pre}(gradient, g) && in{Pre}(&t->total, a) && in{Pre}(probability, p) ==>
        in(gradient, g + a * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, p;
      in{Pre}(condition, c) && in{Pre}(&t->factor, a) && in{Pre}(probability, p) ==>
        in(condition, c + \abs(a) * p); */
static phibal_status gradient_add_z_term(phibal_reference_token *t,
                                         const phibal_enclosure *probability,
                                         phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(operation_add_product(gradient, &t->total, probability, &t->term));
  return operation_add_magnitude(condition, &t->factor, probability, &t->term);
}

/* The same for gradient_e and condition_e. */
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
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, p;
      in{Pre}(gradient + e, g) && in{Pre}(&t->total, a) && in{Pre}(probability, p) ==>
        in(gradient + e, g + a * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, p;
      in{Pre}(condition + e, c) && in{Pre}(&t->factor, a) && in{Pre}(probability, p) ==>
        in(condition + e, c + \abs(a) * p); */
static phibal_status gradient_add_z_at(phibal_reference_token *t,
                                       const phibal_enclosure *probability, int32_t e,
                                       phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  return gradient_add_z_term(t, probability, &gradient[e], &condition[e]);
}

/* gradient_e += total p_e and condition_e += |factor| p_e for every expert e. */
/*@ requires token_scratch(t) && gradient_places(t, gradient, condition);
    requires \forall integer e; 0 <= e < t->experts ==>
      weight_input(t, gradient, condition, probability + e);
    terminates \true;
    exits \false;
    assigns gradient[0 .. t->experts - 1], condition[0 .. t->experts - 1], t->term;
    ensures scratch: token_scratch(t);
    ensures places: gradient_places(t, gradient, condition);
    ensures frame: only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->total, a) ==>
      gained{Pre, Here}(gradient + e, a * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->factor, a) ==>
      gained{Pre, Here}(condition + e, \abs(a) * p); */
static phibal_status gradient_add_z_terms(phibal_reference_token *t,
                                          const phibal_enclosure *probability,
                                          phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= e <= t->experts;
      loop invariant scratch: token_scratch(t);
      loop invariant places: gradient_places(t, gradient, condition);
      loop invariant frame: only_gradient_written{Pre, Here}(t, gradient, condition);
      loop invariant factors: same{Pre, Here}(&t->total) && same{Pre, Here}(&t->factor);
      loop invariant weights: \forall integer i; 0 <= i < t->experts ==>
        same{Pre, Here}(probability + i);
      loop invariant left: \forall integer i; e <= i < t->experts ==>
        same{Pre, Here}(gradient + i) && same{Pre, Here}(condition + i);
      loop invariant value: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->total, a) ==>
        gained{Pre, Here}(gradient + i, a * p);
      loop invariant terms: status == PHIBAL_OK ==> \forall real p, a, integer i; 0 <= i < e &&
        in{Pre}(probability + i, p) && in{Pre}(&t->factor, a) ==>
        gained{Pre, Here}(condition + i, \abs(a) * p);
      loop assigns e, status, gradient[0 .. t->experts - 1],
                   condition[0 .. t->experts - 1], t->term;
      loop variant t->experts - e; */
  for (int32_t e = 0; e < t->experts && status == PHIBAL_OK; e++) {
    status = gradient_add_z_at(t, &probability[e], e, gradient, condition);
    /*@ assert value_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->total, a) ==>
          gained{Pre, Here}(gradient + e, a * p); */
    /*@ assert terms_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->factor, a) ==>
          gained{Pre, Here}(condition + e, \abs(a) * p); */
  }
  return status;
}

/* total = scale logsumexp and factor = scale times what cancels in it. */
/*@ requires token_scratch(t) && \is_finite(scale);
    terminates \true;
    exits \false;
    assigns t->factor, t->total;
    ensures scratch: token_scratch(t);
    ensures frame: only_two_written{Pre, Here}(&t->factor, &t->total);
    ensures total: \result == PHIBAL_OK ==> \forall real a; in{Pre}(&t->logsumexp, a) ==>
      in(&t->total, (real)scale * a);
    ensures factor: \result == PHIBAL_OK ==> \forall real a; in{Pre}(&t->logsumexp_terms, a) ==>
      in(&t->factor, (real)scale * a); */
static phibal_status gradient_z_factors(phibal_reference_token *t, double scale) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t->factor, scale);
  TRY(phibal_enclosure_mul(&t->total, &t->factor, &t->logsumexp));
  /*@ assert total: \forall real a; in{Pre}(&t->logsumexp, a) ==>
        in(&t->total, (real)scale * a); */
  return phibal_enclosure_mul(&t->factor, &t->factor, &t->logsumexp_terms);
}

/* The z-loss's term: p_j z_scale logsumexp. */
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
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp, a) ==>
      gained{Pre, Here}(gradient + e, ((real)scale * a) * p);
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->logsumexp_terms, a) ==>
      gained{Pre, Here}(condition + e, \abs((real)scale * a) * p); */
static phibal_status gradient_add_z(phibal_reference_token *t, double scale,
                                    const phibal_enclosure *probability, phibal_enclosure *gradient,
                                    phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_status status = gradient_z_factors(t, scale);
  //@ assert places: gradient_places(t, gradient, condition);
  /*@ assert kept: \forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(gradient + e) &&
        same{Pre, Here}(condition + e) && same{Pre, Here}(probability + e); */
  if (status != PHIBAL_OK) return status;
  return gradient_add_z_terms(t, probability, gradient, condition);
}

/* gradient += factor x, condition += |factor x|. */
/*@ requires token_scratch(t) && output(gradient) && output(condition) && \is_finite(x);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->term, t->total;
    ensures enclosure(&t->term) && enclosure(&t->total) && enclosure(gradient) &&
            enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, gradient) &&
      \separated(r, condition) && \separated(r, &t->term) && \separated(r, &t->total) ==>
        same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> \forall real g, a;
      in{Pre}(gradient, g) && in{Pre}(&t->factor, a) ==> in(gradient, g + a * (real)x);
    ensures \result == PHIBAL_OK ==> \forall real c, a;
      in{Pre}(condition, c) && in{Pre}(&t->factor, a) ==>
        in(condition, c + \abs(a) * \abs((real)x)); */
static phibal_status gradient_add_term(phibal_reference_token *t, float x,
                                       phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  operation_set_float(&t->term, x);
  TRY(operation_add_product(gradient, &t->factor, &t->term, &t->total));
  operation_set_magnitude(&t->term, x);
  return operation_add_magnitude(condition, &t->factor, &t->term, &t->total);
}

/* gradient -= scale probability mean, and the condition likewise. */
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
static phibal_status gradient_subtract_one(phibal_reference_token *t, float scale,
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

/* The same for gradient_e and condition_e. */
/*@ requires token_scratch(t) && \is_finite(scale);
    requires gradient_places(t, gradient, condition) && 0 <= e < t->experts;
    requires weight_input(t, gradient, condition, probability);
    terminates \true;
    exits \false;
    assigns gradient[e], condition[e], t->term, t->factor;
    ensures scratch: token_scratch(t);
    ensures places: gradient_places(t, gradient, condition);
    ensures frame: only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures others: others_kept{Pre, Here}(t, gradient, condition, e);
    ensures kept: means_kept{Pre, Here}(t) && logsumexp_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, p;
      in{Pre}(gradient + e, g) && in{Pre}(&t->mean, a) && in{Pre}(probability, p) ==>
        in(gradient + e, g + (-(real)scale * p) * a);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, p;
      in{Pre}(condition + e, c) && in{Pre}(&t->magnitude, a) && in{Pre}(probability, p) ==>
        in(condition + e, c + \abs(-(real)scale * p) * a); */
static phibal_status gradient_subtract_at(phibal_reference_token *t, float scale,
                                          const phibal_enclosure *probability, int32_t e,
                                          phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_status status = gradient_subtract_one(t, scale, probability, &gradient[e], &condition[e]);
  //@ assert others: others_kept{Pre, Here}(t, gradient, condition, e);
  return status;
}

/* gradient_e -= scale p_e mean for every expert e, and the condition likewise. */
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
    status = gradient_subtract_at(t, scale, &probability[e], e, gradient, condition);
    /*@ assert value_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->mean, a) ==>
          gained{Pre, Here}(gradient + e, (-(real)scale * p) * a); */
    /*@ assert terms_here: status == PHIBAL_OK ==> \forall real p, a;
          in{Pre}(probability + e, p) && in{Pre}(&t->magnitude, a) ==>
          gained{Pre, Here}(condition + e, \abs(-(real)scale * p) * a); */
  }
  return status;
}

/* gradient += scale probability x, and the condition likewise. */
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
static phibal_status gradient_add_one(phibal_reference_token *t, float scale,
                                      const phibal_enclosure *probability, float x,
                                      phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  operation_set_float(&t->factor, scale);
  TRY(phibal_enclosure_mul(&t->factor, &t->factor, probability));
  /*@ assert factor: \forall real p; in{Pre}(probability, p) ==>
        in(&t->factor, (real)scale * p); */
  return gradient_add_term(t, x, gradient, condition);
}

/* The same for gradient_e and condition_e. */
/*@ requires token_scratch(t) && \is_finite(x) && \is_finite(scale);
    requires gradient_places(t, gradient, condition) && 0 <= e < t->experts;
    requires weight_input(t, gradient, condition, probability);
    terminates \true;
    exits \false;
    assigns gradient[e], condition[e], t->term, t->factor, t->total;
    ensures scratch: token_scratch(t);
    ensures places: gradient_places(t, gradient, condition);
    ensures frame: only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures others: others_kept{Pre, Here}(t, gradient, condition, e);
    ensures kept: logsumexp_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall real g, p;
      in{Pre}(gradient + e, g) && in{Pre}(probability, p) ==>
        in(gradient + e, g + ((real)scale * p) * (real)x);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, p;
      in{Pre}(condition + e, c) && in{Pre}(probability, p) ==>
        in(condition + e, c + \abs((real)scale * p) * \abs((real)x)); */
static phibal_status gradient_add_one_at(phibal_reference_token *t, float scale,
                                         const phibal_enclosure *probability, float x, int32_t e,
                                         phibal_enclosure *gradient, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_status status = gradient_add_one(t, scale, probability, x, &gradient[e], &condition[e]);
  //@ assert others: others_kept{Pre, Here}(t, gradient, condition, e);
  return status;
}

/* gradient_e += scale p_e x_s for each slot s, e its expert, and the condition likewise. */
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
    status = gradient_add_one_at(t, scale, &probability[e], x[s], e, gradient, condition);
    /*@ assert value_here: status == PHIBAL_OK ==> \forall real p; in{Pre}(probability + e, p) ==>
          gained{Pre, Here}(gradient + e, selected_gain(experts, (real)scale * p, x, s + 1, e)); */
    /*@ assert terms_here: status == PHIBAL_OK ==> \forall real p; in{Pre}(probability + e, p) ==>
          gained{Pre, Here}(condition + e,
                            selected_gain_magnitude(experts, (real)scale * p, x, s + 1, e)); */
  }
  return status;
}

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
                                                          (real)router->scale, e)); */
static phibal_status gradient_add_probability(phibal_reference_token *t,
                                              const phibal_router *router, const int32_t *experts,
                                              const float *gate_gradient) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  /* (G1) through gates that are probabilities: scale p_j ([j selected] dg_j - sum_e p_e dg_e), e
     over the selection, j over all experts. */
  phibal_status status = gradient_mean(t, t->active, t->probability, experts, gate_gradient);
  //@ assert same_mean: token_same{Pre, Here}(t);
  //@ assert scratch_mean: token_scratch(t);
  //@ assert lies_mean: token_lies(t);
  //@ assert probabilitys_mean: vector_output(t->probability, t->experts);
  //@ assert gates_mean: vector_output(t->gate, t->active);
  //@ assert weights_mean: vector_output(t->weight, t->experts);
  //@ assert parts_mean: vector_output(t->part, t->active);
  //@ assert outputs_mean: token_outputs(t);
  //@ ghost token_put_together(t);
  /*@ assert kept_mean: \forall integer i; 0 <= i < t->experts ==>
        same{Pre, Here}(t->probability + i) && same{Pre, Here}(t->gradient + i); */
  if (status != PHIBAL_OK) return status;
  status = gradient_subtract_mean(t, router->scale, t->probability, t->gradient, t->condition);
  //@ assert same_subtracted: token_same{Pre, Here}(t);
  //@ assert scratch_subtracted: token_scratch(t);
  //@ assert lies_subtracted: token_lies(t);
  //@ assert probabilitys_subtracted: vector_output(t->probability, t->experts);
  //@ assert gates_subtracted: vector_output(t->gate, t->active);
  //@ assert weights_subtracted: vector_output(t->weight, t->experts);
  //@ assert parts_subtracted: vector_output(t->part, t->active);
  //@ assert outputs_subtracted: token_outputs(t);
  //@ ghost token_put_together(t);
  /*@ assert kept_subtracted: \forall integer i; 0 <= i < t->experts ==>
        same{Pre, Here}(t->probability + i); */
  /*@ assert subtracted: status == PHIBAL_OK ==> \forall sequence q, real p, integer e;
        (\forall integer s; 0 <= s < t->active ==>
           in{Pre}(t->probability + experts[s], term(q, s))) &&
        0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
          gained{Pre, Here}(t->gradient + e, (-(real)router->scale * p) *
                                               weighted_mean(q, gate_gradient, t->active)); */
  if (status != PHIBAL_OK) return status;
  status = gradient_add_selected(t, router->scale, t->active, experts, t->probability,
                                 gate_gradient, t->gradient, t->condition);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}

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
            t->active, p, q, g, gate_gradient, (real)router->scale, e)); */
static phibal_status gradient_add_gates(phibal_reference_token *t, const phibal_router *router,
                                        const float *logits, const int32_t *experts,
                                        const float *gate_gradient) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  bool plain = router->gate == PHIBAL_GATE_PROBABILITY ||
               (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && t->active == 1);
  if (plain) return gradient_add_probability(t, router, experts, gate_gradient);
  /* (G1) through normalised gates g (token->part, unscaled): scale g_s (dg_s - sum_r g_r dg_r), for
     sigmoid times 1 - sigma_s. Experts that are not selected get nothing. */
  TRY(reference_token_gates(t, router, logits, experts));
  //@ ghost token_opened_up(t);
  /*@ assert gates: probabilities_held{Pre}(t, router->gate, logits) &&
        weights_held{Pre}(t, router->gate, logits) ==> \forall sequence g;
          gates_are(g, router->gate, logits, experts, t->active) ==>
            members(t->part, t->active, g); */
  phibal_status status =
      gradient_add_slots(t, router, t->active, experts, t->part, gate_gradient,
                         (double)router->scale, logits, t->gradient, t->condition);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  return status;
}

/*@ requires 0 <= n && vector_output(gradient, n) && vector_output(condition, n);
    requires vectors_apart(gradient, n, condition, n);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1], condition[0 .. n - 1];
    ensures vector_output(gradient, n) && vector_output(condition, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, gradient, n) && vector_apart(r, condition, n) ==> same{Pre, Here}(r);
    ensures \forall integer e; 0 <= e < n ==> in(gradient + e, 0.0) && in(condition + e, 0.0); */
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
    phibal_enclosure_set_si(&condition[e], 0);
  }
}

/*@ // what the terms of a gradient are computed from
    predicate inputs_kept{A, B}(phibal_reference_token *t) =
      same{A, B}(\at(&t->logsumexp, A)) && same{A, B}(\at(&t->logsumexp_terms, A)) &&
      (\forall integer e; 0 <= e < \at(t->experts, A) ==>
         same{A, B}(\at(t->probability, A) + e) && same{A, B}(\at(t->weight, A) + e));
*/

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
static void token_clear_gradient(phibal_reference_token *t) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  gradient_clear(t->experts, t->gradient, t->condition);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert scratch: token_scratch(t);
  //@ assert lies: token_lies(t);
  //@ assert probabilitys: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
}

/* The balancing term: p_j price_scale (c_j - sum_e p_e c_e), for sigmoid times 1 - sigma_j. */
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
                                                      (real)scale, e)); */
static phibal_status token_add_price(phibal_reference_token *t, const phibal_router *router,
                                     const float *logits, const float *price, double scale) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  if (!price) return PHIBAL_OK;
  phibal_status status = gradient_add_slots(t, router, t->experts, NULL, t->probability, price,
                                            scale, logits, t->gradient, t->condition);
  //@ assert same: token_same{Pre, Here}(t);
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
                        (real)scale == 0.0 ? 0.0 : z_gradient(p, a, (real)scale)); */
static phibal_status token_add_z(phibal_reference_token *t, double scale) {
  //@ assert use_enclosure && use_floating;
  //@ ghost token_opened_up(t);
  if (scale == 0.0) return PHIBAL_OK;
  phibal_status status = gradient_add_z(t, scale, t->probability, t->gradient, t->condition);
  //@ assert same: token_same{Pre, Here}(t);
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
  TRY(token_add_z(token, z_scale));
  /*@ assert held: weights_held(token, router->gate, logits) &&
        probabilities_held(token, router->gate, logits); */
  /*@ assert with_z: \forall sequence p, integer e;
        probabilities_are(p, router->gate, logits, token->experts) && 0 <= e < token->experts ==>
          in(token->gradient + e, price_term(router->gate, logits, token->experts, p, price,
            (real)price_scale, e) + z_term(logits, token->experts, p, (real)z_scale, e)); */
  if (!gate_gradient) return PHIBAL_OK;
  return gradient_add_gates(token, router, logits, experts, gate_gradient);
}

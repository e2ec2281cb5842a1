/* Terms of the router's gradient (G2) that a softmax or a normalised sigmoid over some experts
   gives: each expert's share of how far its factor is from the mean, which the gates and the price
   need. */
#include "router_gradient_work.h"
#include <phibal/acsl/contracts/inside/router_gradient_slots_static.h>

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

phibal_status router_gradient_mean(phibal_reference_token *t, int32_t n,
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

phibal_status router_gradient_add_slots(phibal_reference_token *t, const phibal_router *router,
                                        gradient_slots s, double scale, const float *logits,
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

/* The weights of logits: exp(x) or sigma(x), relative to one of them so that their sum stays away
   from 0, and shares of that sum. */
#include "router_work.h"
#include <phibal/acsl/contracts/inside/router_weights_static.h>

/* z = x - y. */
static phibal_status logit_difference(phibal_enclosure *z, float x, float y, phibal_enclosure *t) {
  //@ assert use_enclosure;
  operation_set_float(z, x);
  operation_set_float(t, y);
  return phibal_enclosure_sub(z, z, t);
}

/* z = exp(x - reference): a softmax weight. */
static phibal_status softmax_weight(phibal_reference_token *t, float x, float reference,
                                    phibal_enclosure *z) {
  //@ assert use_enclosure && use_exp && use_relative && open_times;
  TRY(logit_difference(z, x, reference, &t->factor));
  phibal_enclosure_exp(z, z);
  //@ assert weight: in(z, e((real)x - (real)reference));
  //@ assert e((real)x - (real)reference) == times(e((real)x), shrink((real)reference));
  return PHIBAL_OK;
}

phibal_status router_sigmoid(phibal_reference_token *t, float x, phibal_enclosure *z) {
  //@ assert use_enclosure;
  operation_set_negated(&t->factor, x);
  return operation_sigmoid_negated(z, &t->factor, &t->one);
}

/* z = sigma(x) exp(-reference), reference <= 0 the largest min(x, 0) in a sum of such weights.
   Where all logits are very negative every sigma is near 0, but these are not: sigma(x)
   exp(-reference) = exp(x - reference) / (1 + exp(x)). */
static phibal_status sigmoid_weight(phibal_reference_token *t, float x, float reference,
                                    phibal_enclosure *z) {
  //@ assert use_enclosure && use_exp && use_relative && open_times;
  if (reference == 0.0f) {
    //@ assert zero: (real)reference == 0.0 && shrink((real)reference) == 1.0;
    //@ assert times(logistic((real)x), shrink((real)reference)) == logistic((real)x);
    return router_sigmoid(t, x, z);
  }
  operation_set_float(&t->term, x);
  TRY(operation_sigmoid_negated(&t->factor, &t->term, &t->one));
  TRY(logit_difference(z, x, reference, &t->term));
  phibal_enclosure_exp(z, z);
  //@ assert exponential: in(z, e((real)x - (real)reference));
  //@ assert factor: in(&t->factor, logistic(-(real)x));
  //@ assert quotient: logistic(-(real)x) == 1.0 / (1.0 + e((real)x));
  /*@ assert relative: e((real)x - (real)reference) * (1.0 / (1.0 + e((real)x))) ==
        times(logistic((real)x), shrink((real)reference)); */
  return phibal_enclosure_mul(z, z, &t->factor);
}

phibal_status router_weight(phibal_reference_token *t, const phibal_router *router, float x,
                            float reference, phibal_enclosure *z) {
  //@ assert use_enclosure;
  if (router->gate == PHIBAL_GATE_SIGMOID) return sigmoid_weight(t, x, reference, z);
  return softmax_weight(t, x, reference, z);
}

float router_reference(const phibal_router *router, float largest) {
  //@ assert use_floating;
  return router->gate == PHIBAL_GATE_SIGMOID && largest > 0.0f ? 0.0f : largest;
}

float router_logits_largest(int32_t experts, const float *logits) {
  //@ assert use_floating;
  float largest = logits[0];
  /*@ loop invariant index: 1 <= e <= experts;
      loop invariant finite: \is_finite(largest);
      loop invariant largest: (real)largest == largest_logit(logits, e);
      loop assigns e, largest;
      loop variant experts - e; */
  for (int32_t e = 1; e < experts; e++)
    if (logits[e] > largest) largest = logits[e];
  return largest;
}

/* part[0..n-1] = weight[0..n-1] / total. */
static phibal_status weights_divide(int32_t n, const phibal_enclosure *weight,
                                    const phibal_enclosure *total, phibal_enclosure *part) {
  //@ assert use_enclosure;
  /*@ loop invariant 0 <= i <= n;
      loop invariant frame: only_vector_written{Pre, Here}(part, n);
      loop invariant places: vector_output(part, n);
      loop invariant left: \forall integer j; i <= j < n ==> same{Pre, Here}(weight + j);
      loop invariant done: \forall integer j, real w, s; 0 <= j < i && s != 0.0 &&
        in{Pre}(weight + j, w) && in{Pre}(total, s) ==> in(part + j, w / s);
      loop assigns i, part[0 .. n - 1];
      loop variant n - i; */
  for (int32_t i = 0; i < n; i++) {
    TRY(phibal_enclosure_div(&part[i], &weight[i], total));
    /*@ assert one: \forall real w, s; s != 0.0 && in{Pre}(weight + i, w) && in{Pre}(total, s) ==>
          in(part + i, w / s); */
    /*@ assert others: \forall integer j; 0 <= j < n && j != i ==>
          same{LoopCurrent, Here}(part + j); */
  }
  return PHIBAL_OK;
}

phibal_status router_weights_normalise(int32_t n, const phibal_enclosure *weight,
                                       phibal_enclosure *total, phibal_enclosure *part) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_sum(total, (size_t)n, weight));
  /*@ assert summed: \forall sequence s; members{Pre}(weight, n, s) ==>
        members(weight, n, s) && in(total, sum(s, n)); */
  TRY(weights_divide(n, weight, total, part));
  /*@ assert total_kept: \forall sequence s; members{Pre}(weight, n, s) ==> in(total, sum(s, n)); */
  /*@ assert divided: \forall sequence s, integer i; members{Pre}(weight, n, s) &&
        sum(s, n) != 0.0 && 0 <= i < n ==> in(part + i, term(s, i) / sum(s, n)); */
  return PHIBAL_OK;
}

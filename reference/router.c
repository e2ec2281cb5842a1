/* The router forward, one token at a time: probabilities (R1), (R1s), selection (R2), gates (R3) to
   (R5), logsumexp (R8). */
#include "operation.h"
#include <phibal/rounding.h>
#include <stdlib.h>

#ifdef __FRAMAC__
#include <phibal/acsl/selection.h>
#endif

/* A binary32 sigmoid is never closer to a rounding boundary than its 24 digits and the 2^-150 scale
   make it; 1024 bits are far beyond both. */
#define SIGMOID_CAP 1024

static void token_clear_parts(phibal_reference_token *t) {
  size_t e = (size_t)t->experts, k = (size_t)t->active;
  if (t->probability) phibal_enclosure_vector_clear(t->probability, e);
  if (t->gate) phibal_enclosure_vector_clear(t->gate, k);
  if (t->gradient) phibal_enclosure_vector_clear(t->gradient, e);
  if (t->condition) phibal_enclosure_vector_clear(t->condition, e);
  if (t->weight) phibal_enclosure_vector_clear(t->weight, e);
  if (t->part) phibal_enclosure_vector_clear(t->part, k);
  free(t->selection);
  free(t->score);
}

phibal_status phibal_reference_token_init(phibal_reference_token *token, int32_t experts,
                                          int32_t active, mpfr_prec_t precision) {
  const char *name = "phibal_reference_token_init";
  if (!token) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null token", name);
  TRY(operation_check_experts(name, experts, precision));
  if (active < 1 || active > experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d active experts; there must be 1 to %d",
                             name, (int)active, (int)experts);
  size_t e = (size_t)experts, k = (size_t)active;
  *token = (phibal_reference_token){
      .experts = experts,
      .active = active,
      .precision = precision,
      .probability = phibal_enclosure_vector(e, precision),
      .selection = calloc(k, sizeof(int32_t)),
      .gate = phibal_enclosure_vector(k, precision),
      .gradient = phibal_enclosure_vector(e, precision),
      .condition = phibal_enclosure_vector(e, precision),
      .weight = phibal_enclosure_vector(e, precision),
      .part = phibal_enclosure_vector(k, precision),
      .score = calloc(e, sizeof(double)),
  };
  if (!token->probability || !token->selection || !token->gate || !token->gradient ||
      !token->condition || !token->weight || !token->part || !token->score) {
    token_clear_parts(token);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for %d experts", name,
                             (int)experts);
  }
  phibal_enclosure_init(&token->logsumexp, precision);
  phibal_enclosure_init(&token->logsumexp_terms, precision);
  phibal_enclosure_init(&token->total, precision);
  phibal_enclosure_init(&token->mean, precision);
  phibal_enclosure_init(&token->magnitude, precision);
  phibal_enclosure_init(&token->term, precision);
  phibal_enclosure_init(&token->factor, precision);
  phibal_enclosure_init(&token->one, precision);
  phibal_enclosure_set_si(&token->one, 1);
  return PHIBAL_OK;
}

void phibal_reference_token_clear(phibal_reference_token *token) {
  token_clear_parts(token);
  phibal_enclosure_clear(&token->logsumexp);
  phibal_enclosure_clear(&token->logsumexp_terms);
  phibal_enclosure_clear(&token->total);
  phibal_enclosure_clear(&token->mean);
  phibal_enclosure_clear(&token->magnitude);
  phibal_enclosure_clear(&token->term);
  phibal_enclosure_clear(&token->factor);
  phibal_enclosure_clear(&token->one);
}

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
  if (router->gate != PHIBAL_GATE_TOPK_SOFTMAX && router->gate != PHIBAL_GATE_PROBABILITY &&
      router->gate != PHIBAL_GATE_SIGMOID)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no such gate: %d", name,
                             (int)router->gate);
  if (!isfinite(router->scale))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: router scale %g; it must be finite", name,
                             (double)router->scale);
  return operation_check_finite(name, "the logits", token->experts, logits);
}

/* z = x - y. */
/*@ requires output(z) && output(t) && \separated(z, t) && \is_finite(x) && \is_finite(y);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z) && enclosure(t);
    ensures only_two_written{Pre, Here}(z, t);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, (real)x - (real)y); */
static phibal_status logit_difference(phibal_enclosure *z, float x, float y, phibal_enclosure *t) {
  //@ assert use_enclosure;
  operation_set_float(z, x);
  operation_set_float(t, y);
  return phibal_enclosure_sub(z, z, t);
}

/* z = exp(x - reference): a softmax weight. */
/*@ requires token_scratch(t) && output(z) && \separated(z, t);
    requires \is_finite(x) && \is_finite(reference);
    terminates \true;
    exits \false;
    assigns *z, t->factor;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, e((real)x) * shrink((real)reference)); */
static phibal_status softmax_weight(phibal_reference_token *t, float x, float reference,
                                    phibal_enclosure *z) {
  //@ assert use_enclosure && use_exp && use_relative;
  TRY(logit_difference(z, x, reference, &t->factor));
  phibal_enclosure_exp(z, z);
  //@ assert weight: in(z, e((real)x - (real)reference));
  //@ assert e((real)x - (real)reference) == e((real)x) * shrink((real)reference);
  return PHIBAL_OK;
}

/* z = sigma(x) = 1 / (1 + exp(-x)), x occurring once. */
/*@ requires token_scratch(t) && output(z) && \separated(z, t);
    requires \is_finite(x);
    terminates \true;
    exits \false;
    assigns *z, t->factor;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, logistic((real)x)); */
static phibal_status logit_sigmoid(phibal_reference_token *t, float x, phibal_enclosure *z) {
  //@ assert use_enclosure;
  operation_set_negated(&t->factor, x);
  return operation_sigmoid_negated(z, &t->factor, &t->one);
}

/* z = sigma(x) exp(-reference), reference <= 0 the largest min(x, 0) in a sum of such weights.
   Where all logits are very negative every sigma is near 0, but these are not: sigma(x)
   exp(-reference) = exp(x - reference) / (1 + exp(x)). */
/*@ requires token_scratch(t) && output(z) && \separated(z, t);
    requires \is_finite(x) && \is_finite(reference);
    terminates \true;
    exits \false;
    assigns *z, t->factor, t->term;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, logistic((real)x) * shrink((real)reference)); */
static phibal_status sigmoid_weight(phibal_reference_token *t, float x, float reference,
                                    phibal_enclosure *z) {
  //@ assert use_enclosure && use_exp && use_relative;
  if (reference == 0.0f) {
    //@ assert zero: (real)reference == 0.0 && shrink((real)reference) == 1.0;
    return logit_sigmoid(t, x, z);
  }
  operation_set_float(&t->term, x);
  TRY(operation_sigmoid_negated(&t->factor, &t->term, &t->one));
  TRY(logit_difference(z, x, reference, &t->term));
  phibal_enclosure_exp(z, z);
  //@ assert exponential: in(z, e((real)x - (real)reference));
  //@ assert factor: in(&t->factor, logistic(-(real)x));
  //@ assert quotient: logistic(-(real)x) == 1.0 / (1.0 + e((real)x));
  /*@ assert relative: e((real)x - (real)reference) * (1.0 / (1.0 + e((real)x))) ==
        logistic((real)x) * shrink((real)reference); */
  return phibal_enclosure_mul(z, z, &t->factor);
}

/*@ requires token_scratch(t) && output(z) && \separated(z, t) &&
             \valid_read(router);
    requires \is_finite(x) && \is_finite(reference);
    terminates \true;
    exits \false;
    assigns *z, t->factor, t->term;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK && router->gate == PHIBAL_GATE_SIGMOID ==>
      in(z, logistic((real)x) * shrink((real)reference));
    ensures \result == PHIBAL_OK && router->gate != PHIBAL_GATE_SIGMOID ==>
      in(z, e((real)x) * shrink((real)reference)); */
static phibal_status router_weight(phibal_reference_token *t, const phibal_router *router, float x,
                                   float reference, phibal_enclosure *z) {
  //@ assert use_enclosure;
  if (router->gate == PHIBAL_GATE_SIGMOID) return sigmoid_weight(t, x, reference, z);
  return softmax_weight(t, x, reference, z);
}

/* The logit that keeps a sum of weights of logits no larger than `largest` away from 0. */
/*@ requires \valid_read(router) && \is_finite(largest);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result); */
static float router_reference(const phibal_router *router, float largest) {
  return router->gate == PHIBAL_GATE_SIGMOID && largest > 0.0f ? 0.0f : largest;
}

/* Which logit it is matters only to how tight results are; that it is finite, to whether they hold.
 */
/*@ requires 1 <= experts && \valid_read(logits + (0 .. experts - 1));
    requires finite_floats(logits, experts);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result); */
static float logits_largest(int32_t experts, const float *logits) {
  float largest = logits[0];
  /*@ loop invariant 1 <= e <= experts;
      loop invariant \is_finite(largest);
      loop assigns e, largest;
      loop variant experts - e; */
  for (int32_t e = 1; e < experts; e++)
    if (logits[e] > largest) largest = logits[e];
  return largest;
}

/*@ requires 1 <= active && \valid_read(experts + (0 .. active - 1));
    requires \forall integer s; 0 <= s < active ==>
      \valid_read(logits + experts[s]) && \is_finite(logits[experts[s]]);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result); */
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

/* part[0..n-1] = weight[0..n-1] / total. */
/*@ requires 0 <= n && vector_input(weight, n) && vector_output(part, n) && input(total);
    requires part == weight || vectors_apart(part, n, weight, n);
    requires \forall integer i; 0 <= i < n ==> \separated(total, part + i);
    terminates \true;
    exits \false;
    assigns part[0 .. n - 1];
    ensures vector_output(part, n);
    ensures only_vector_written{Pre, Here}(part, n);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall integer i, real w, s; 0 <= i < n && s != 0.0 &&
      in{Pre}(weight + i, w) && in{Pre}(total, s) ==> in(part + i, w / s); */
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
  for (int32_t i = 0; i < n; i++) TRY(phibal_enclosure_div(&part[i], &weight[i], total));
  return PHIBAL_OK;
}

/* part[0..n-1] = weight[0..n-1] / their sum, which is left in total. */
/*@ requires 0 <= n && vector_input(weight, n) && vector_output(part, n) && output(total);
    requires part == weight || vectors_apart(part, n, weight, n);
    requires \forall integer i; 0 <= i < n ==>
      \separated(total, part + i) && \separated(total, weight + i);
    terminates \true;
    exits \false;
    assigns *total, part[0 .. n - 1];
    ensures vector_output(part, n) && enclosure(total);
    ensures only_with_vector_written{Pre, Here}(total, part, n);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==>
      \forall sequence s; members{Pre}(weight, n, s) && sum(s, n) != 0.0 ==> in(total, sum(s, n)) &&
        (\forall integer i; 0 <= i < n ==> in(part + i, term(s, i) / sum(s, n))); */
static phibal_status weights_normalise(int32_t n, const phibal_enclosure *weight,
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

/* (R8) from the sum of exp(x - largest) in t->total. */
/*@ requires token_scratch(t) && \is_finite(largest);
    terminates \true;
    exits \false;
    assigns t->logsumexp, t->logsumexp_terms, t->factor;
    ensures enclosure(&t->logsumexp) && enclosure(&t->logsumexp_terms) && enclosure(&t->factor);
    ensures only_three_written{Pre, Here}(&t->logsumexp, &t->logsumexp_terms, &t->factor);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall real a; 0.0 < a && in{Pre}(&t->total, a) ==>
      in(&t->logsumexp, \log(a) + (real)largest);
    ensures \result == PHIBAL_OK ==> \forall real a; 0.0 < a && in{Pre}(&t->total, a) ==>
      in(&t->logsumexp_terms, \log(a) + \abs((real)largest)); */
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

phibal_status reference_token_probabilities(phibal_reference_token *t, const phibal_router *router,
                                            const float *logits) {
  float largest = logits_largest(t->experts, logits);
  float reference = router_reference(router, largest);
  for (int32_t e = 0; e < t->experts; e++)
    TRY(router_weight(t, router, logits[e], reference, &t->weight[e]));
  TRY(weights_normalise(t->experts, t->weight, &t->total, t->probability));
  if (router->gate != PHIBAL_GATE_SIGMOID) return token_logsumexp(t, largest);
  phibal_enclosure_set_si(&t->logsumexp, 0);
  phibal_enclosure_set_si(&t->logsumexp_terms, 0);
  return PHIBAL_OK;
}

/* (R4), and (R3) for k = 1: the probabilities of the experts given. */
static void gates_probability(phibal_reference_token *t, const int32_t *experts) {
  for (int32_t s = 0; s < t->active; s++)
    phibal_enclosure_set(&t->part[s], &t->probability[experts[s]]);
}

/* (R3), (R5): weights of the experts given, normalised among themselves. They are taken relative to
   the largest among them, which a bias can put far below the largest of the row. */
static phibal_status gates_normalised(phibal_reference_token *t, const phibal_router *router,
                                      const float *logits, const int32_t *experts) {
  float row = router_reference(router, logits_largest(t->experts, logits));
  float reference = router_reference(router, logits_largest_selected(t->active, experts, logits));
  for (int32_t s = 0; s < t->active; s++) {
    if (row == reference)
      phibal_enclosure_set(&t->part[s], &t->weight[experts[s]]);
    else
      TRY(router_weight(t, router, logits[experts[s]], reference, &t->part[s]));
  }
  return weights_normalise(t->active, t->part, &t->total, t->part);
}

phibal_status reference_token_gates(phibal_reference_token *t, const phibal_router *router,
                                    const float *logits, const int32_t *experts) {
  bool plain = router->gate == PHIBAL_GATE_PROBABILITY ||
               (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && t->active == 1);
  if (!plain) return gates_normalised(t, router, logits, experts);
  gates_probability(t, experts);
  return PHIBAL_OK;
}

/* gate = scale part. */
static phibal_status gates_scale(phibal_reference_token *t, const phibal_router *router) {
  phibal_enclosure_set_d(&t->factor, (double)router->scale);
  for (int32_t s = 0; s < t->active; s++)
    TRY(phibal_enclosure_mul(&t->gate[s], &t->part[s], &t->factor));
  return PHIBAL_OK;
}

static phibal_status sigmoid_evaluate(void *context, mpfr_prec_t precision,
                                      phibal_enclosure *value) {
  phibal_enclosure x, one;
  phibal_enclosure_init(&x, precision);
  phibal_enclosure_init(&one, precision);
  phibal_enclosure_set_si(&one, 1);
  phibal_enclosure_set_d(&x, -(double)*(const float *)context);
  phibal_status status = operation_sigmoid_negated(value, &x, &one);
  phibal_enclosure_clear(&one);
  phibal_enclosure_clear(&x);
  return status;
}

/* The score that sigmoid routers compare: sigma(x) correctly rounded to binary32. The token's
   precision decides nearly always. */
static phibal_status sigmoid_score(phibal_reference_token *t, float x, double *score) {
  TRY(logit_sigmoid(t, x, &t->term));
  if (phibal_round_enclosure(&t->term, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, score))
    return PHIBAL_OK;
  return phibal_round_correctly(sigmoid_evaluate, &x, SIGMOID_CAP, PHIBAL_FORMAT_BINARY32,
                                PHIBAL_ROUND_NEAREST, score);
}

static phibal_status token_scores(phibal_reference_token *t, const phibal_router *router,
                                  const float *logits, const float *bias) {
  for (int32_t e = 0; e < t->experts; e++) {
    t->score[e] = (double)logits[e];
    if (router->gate == PHIBAL_GATE_SIGMOID) TRY(sigmoid_score(t, logits[e], &t->score[e]));
    if (bias) t->score[e] += (double)bias[e];
  }
  return PHIBAL_OK;
}

/* Does expert i come before expert j: higher score, or the same and the lower index? */
/*@ requires \valid_read(score + i) && \valid_read(score + j);
    requires \is_finite(score[i]) && \is_finite(score[j]);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> precedes(score, i, j); */
static bool score_precedes(const double *score, int32_t i, int32_t j) {
  return score[i] > score[j] || (score[i] == score[j] && i < j);
}

/* The expert that comes first among those after `previous` (-1: among all). */
/*@ requires 0 <= experts && -1 <= previous < experts;
    requires \valid_read(score + (0 .. experts - 1)) && scores_finite(score, experts);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == -1 || next(score, experts, previous, \result);
    ensures \result == -1 ==> \forall integer e; 0 <= e < experts ==>
      previous >= 0 && !precedes(score, previous, e); */
static int32_t score_next(int32_t experts, const double *score, int32_t previous) {
  int32_t best = -1;
  /*@ loop invariant 0 <= e <= experts && -1 <= best < e;
      loop invariant best == -1 ==> \forall integer f; 0 <= f < e ==>
        previous >= 0 && !precedes(score, previous, f);
      loop invariant best >= 0 ==> next(score, e, previous, best);
      loop assigns e, best;
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    if (previous >= 0 && !score_precedes(score, previous, e)) continue;
    if (best < 0 || score_precedes(score, e, best)) best = e;
  }
  return best;
}

/* (R2) */
/*@ requires 1 <= active <= experts;
    requires \valid_read(score + (0 .. experts - 1)) && scores_finite(score, experts);
    requires \valid(selected + (0 .. active - 1));
    terminates \true;
    exits \false;
    assigns selected[0 .. active - 1];
    ensures selection(score, experts, active, selected); */
static void score_select(int32_t experts, int32_t active, const double *score, int32_t *selected) {
  int32_t previous = -1;
  //@ ghost selection_none(score, experts);
  /*@ loop invariant 0 <= s <= active && previous == (s == 0 ? -1 : selected[s - 1]);
      loop invariant up_to(score, previous, experts) == s;
      loop invariant \forall integer t; 0 <= t < s ==> 0 <= selected[t] < experts;
      loop invariant \forall integer t, u; 0 <= t < u < s ==>
        precedes(score, selected[t], selected[u]);
      loop invariant \forall integer e; 0 <= e < experts ==>
        (\exists integer t; 0 <= t < s && selected[t] == e) ||
        (previous >= 0 ==> precedes(score, previous, e));
      loop assigns s, previous, selected[0 .. active - 1];
      loop variant active - s; */
  for (int32_t s = 0; s < active; s++) {
    int32_t following = score_next(experts, score, previous);
    /*@ ghost
      if (previous >= 0 && following < 0) selection_all(score, previous, experts); */
    //@ assert following >= 0;
    //@ ghost selection_next(score, experts, previous, following);
    selected[s] = following;
    previous = following;
  }
  /*@ assert \forall integer t; 0 <= t < active ==>
        selected[t] == previous || precedes(score, selected[t], previous); */
  /*@ assert \forall integer e, t; 0 <= t < active && precedes(score, previous, e) ==>
        precedes(score, selected[t], e); */
}

phibal_status phibal_reference_token_select(phibal_reference_token *token,
                                            const phibal_router *router, const float *logits,
                                            const float *bias) {
  const char *name = "phibal_reference_token_select";
  TRY(reference_token_check(name, token, router, logits));
  if (bias) TRY(operation_check_finite(name, "the bias", token->experts, bias));
  TRY(token_scores(token, router, logits, bias));
  score_select(token->experts, token->active, token->score, token->selection);
  return PHIBAL_OK;
}

phibal_status phibal_reference_token_forward(phibal_reference_token *token,
                                             const phibal_router *router, const float *logits,
                                             const float *bias) {
  TRY(phibal_reference_token_select(token, router, logits, bias));
  TRY(reference_token_probabilities(token, router, logits));
  TRY(reference_token_gates(token, router, logits, token->selection));
  return gates_scale(token, router);
}

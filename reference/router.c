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
#define SIGMOID_START 64
#define SIGMOID_CAP 1024

/*@ predicate only_token_struct_written{A, B}(phibal_reference_token *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, t) ==> same{A, B}(r);
    // nothing but v[0..n-1], t->factor, t->term and t->total was written between A and B
    predicate only_gates_written{A, B}(phibal_reference_token *t, phibal_enclosure *v,
                                       integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, v, n) &&
        \separated(r, \at(&t->factor, A)) && \separated(r, \at(&t->term, A)) &&
        \separated(r, \at(&t->total, A)) ==> same{A, B}(r);
    // nothing but v[0..n-1], t->factor and t->term was written between A and B
    predicate only_weights_written{A, B}(phibal_reference_token *t, phibal_enclosure *v,
                                         integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, v, n) &&
        \separated(r, \at(&t->factor, A)) && \separated(r, \at(&t->term, A)) ==> same{A, B}(r);
*/

/* Zeroed memory for n indices and for n scores, null when memory is out. Proofs know it as
   <phibal/acsl/token.h> says. */
#ifdef __FRAMAC__
/*@ terminates \true;
    exits \false;
    assigns \result \from n, index_heap;
    assigns index_heap[0 .. INDEX_HEAP_SIZE - 1];
    ensures \result == \null || (\valid(\result + (0 .. n - 1)) &&
      (\exists integer i; 0 <= i && i + n <= INDEX_HEAP_SIZE && \result == index_heap + i)); */
static int32_t *indices_new(size_t n);
/*@ terminates \true;
    exits \false;
    assigns \result \from n, score_heap;
    assigns score_heap[0 .. INDEX_HEAP_SIZE - 1];
    ensures \result == \null || (\valid(\result + (0 .. n - 1)) &&
      (\exists integer i; 0 <= i && i + n <= INDEX_HEAP_SIZE && \result == score_heap + i)); */
static double *scores_new(size_t n);
/*@ terminates \true;
    exits \false;
    assigns \nothing; */
static void indices_free(int32_t *indices);
/*@ terminates \true;
    exits \false;
    assigns \nothing; */
static void scores_free(double *scores);
#else
static int32_t *indices_new(size_t n) {
  return calloc(n, sizeof(int32_t));
}

static double *scores_new(size_t n) {
  return calloc(n, sizeof(double));
}

static void indices_free(int32_t *indices) {
  free(indices);
}

static void scores_free(double *scores) {
  free(scores);
}
#endif

/*@ axiomatic RangeApart {
      predicate use_range;
      axiom range_used: use_range;
      // apart from each element, so also from the one where r begins, if r lies among them
      lemma apart_all: \forall phibal_enclosure *r, *x, integer n; vector_apart(r, x, n) &&
        (0 <= r - x < n ==> \separated(r, x + (r - x))) ==> \separated(r, x + (0 .. n - 1));
    }
*/
/* y[0..n-1] are the elements of x[0..m-1] from k on. */
/*@ ghost
  /@ requires 0 <= k && k + n <= m && vector_output(x, m);
     requires \forall integer i; 0 <= i < n ==> y + i == x + (k + i);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures vector_output(y, n); @/
  void vector_piece(const phibal_enclosure *y, int n, const phibal_enclosure *x, int k, int m) {}
*/
/* Where a token's vectors lie in new memory, which begins at `first`. */
/*@ ghost
  /@ requires token_lies(t) && 1 <= t->active <= t->experts && 0 <= first;
     requires first + (4 * t->experts + 2 * t->active) <= ENCLOSURE_HEAP_SIZE;
     requires t->probability == enclosure_heap + first;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures in_heap(t->probability, t->experts) && in_heap(t->gate, t->active) &&
       in_heap(t->gradient, t->experts) && in_heap(t->condition, t->experts) &&
       in_heap(t->weight, t->experts) && in_heap(t->part, t->active); @/
  void token_places_in_heap(const phibal_reference_token *t, long first) {
    /@ assert open_token; @/
    /@ assert t->gradient == enclosure_heap + (first + t->experts); @/
    /@ assert t->condition == enclosure_heap + (first + 2 * t->experts); @/
    /@ assert t->weight == enclosure_heap + (first + 3 * t->experts); @/
    /@ assert t->gate == enclosure_heap + (first + 4 * t->experts); @/
    /@ assert t->part == enclosure_heap + (first + (4 * t->experts + t->active)); @/
  }

  /@ requires token_lies(t) && 1 <= t->active <= t->experts;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall phibal_enclosure *r; \separated(r, t) &&
       vector_apart(r, t->probability, 4 * t->experts + 2 * t->active) ==> token_apart(t, r); @/
  void token_apart_from_all(const phibal_reference_token *t) {
    /@ assert use_range; @/
    /@ assert \forall phibal_enclosure *r;
         vector_apart(r, t->probability, 4 * t->experts + 2 * t->active) ==>
           \separated(r, t->probability + (0 .. 4 * t->experts + 2 * t->active - 1)); @/
    /@ assert open_token; @/
  }
*/

/* The vectors of enclosures lie one behind the other: so many. */
/*@ requires 0 <= experts <= PHIBAL_MAX_EXPERTS && 0 <= active <= PHIBAL_MAX_EXPERTS;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == 4 * experts + 2 * active; */
static size_t token_enclosures(int32_t experts, int32_t active) {
  return 4 * (size_t)experts + 2 * (size_t)active;
}

/*@ requires \valid(token) && 1 <= active <= experts <= PHIBAL_MAX_EXPERTS;
    requires \separated(token, vectors + (0 .. 4 * experts + 2 * active - 1));
    terminates \true;
    exits \false;
    assigns token->experts, token->active, token->precision, token->probability,
            token->selection, token->gate, token->gradient, token->condition, token->weight,
            token->part, token->score \from experts, active, precision, vectors, selection, score;
    ensures sizes: token->experts == experts && token->active == active;
    ensures others: token->probability == vectors && token->selection == selection &&
      token->score == score;
    ensures vectors: token->gradient == vectors + experts &&
      token->condition == vectors + 2 * experts && token->weight == vectors + 3 * experts &&
      token->gate == vectors + 4 * experts && token->part == vectors + (4 * experts + active);
    ensures frame: only_token_struct_written{Pre, Here}(token); */
static void token_set_fields(phibal_reference_token *token, int32_t experts, int32_t active,
                             mpfr_prec_t precision, phibal_enclosure *vectors, int32_t *selection,
                             double *score) {
  //@ assert open_enclosure;
  token->experts = experts;
  token->active = active;
  token->precision = precision;
  token->probability = vectors;
  token->gradient = vectors + experts;
  token->condition = vectors + 2 * experts;
  token->weight = vectors + 3 * experts;
  token->gate = vectors + 4 * experts;
  token->part = vectors + 4 * experts + active;
  token->selection = selection;
  token->score = score;
}

/*@ requires \valid(token) && 1 <= active <= experts <= PHIBAL_MAX_EXPERTS;
    requires \valid(selection + (0 .. active - 1)) && \valid(score + (0 .. experts - 1));
    requires vector_output(vectors, 4 * experts + 2 * active);
    requires \separated(token, vectors + (0 .. 4 * experts + 2 * active - 1));
    requires \separated(token, selection + (0 .. active - 1));
    terminates \true;
    exits \false;
    assigns token->experts, token->active, token->precision, token->probability,
            token->selection, token->gate, token->gradient, token->condition, token->weight,
            token->part, token->score \from experts, active, precision, vectors, selection, score;
    ensures token->experts == experts && token->active == active;
    ensures token->probability == vectors && token->selection == selection &&
            token->score == score;
    ensures lies: token_lies(token);
    ensures vectors: token_vectors(token);
    ensures frame: only_token_struct_written{Pre, Here}(token); */
static void token_set(phibal_reference_token *token, int32_t experts, int32_t active,
                      mpfr_prec_t precision, phibal_enclosure *vectors, int32_t *selection,
                      double *score) {
  //@ assert use_enclosure;
  /*@ assert apart: \forall integer i; 0 <= i < 4 * experts + 2 * active ==>
        \separated(vectors + i, token); */
  token_set_fields(token, experts, active, precision, vectors, selection, score);
  /*@ assert same: \forall integer i; 0 <= i < 4 * experts + 2 * active ==>
        same{Pre, Here}(vectors + i); */
  //@ assert kept: vector_output(vectors, 4 * experts + 2 * active);
  //@ assert lies: open_token && token_lies(token);
  //@ ghost vector_piece(token->probability, experts, vectors, 0, 4 * experts + 2 * active);
  //@ ghost vector_piece(token->gradient, experts, vectors, experts, 4 * experts + 2 * active);
  //@ ghost vector_piece(token->condition, experts, vectors, 2 * experts, 4 * experts + 2 * active);
  //@ ghost vector_piece(token->weight, experts, vectors, 3 * experts, 4 * experts + 2 * active);
  //@ ghost vector_piece(token->gate, active, vectors, 4 * experts, 4 * experts + 2 * active);
  /*@ ghost vector_piece(token->part, active, vectors, 4 * experts + active,
                         4 * experts + 2 * active); */
  //@ assert all_outputs: token_outputs(token);
  //@ ghost token_put_together(token);
}

/*@ requires \valid(token) && 1 <= active <= experts <= PHIBAL_MAX_EXPERTS;
    requires \separated(token, enclosure_heap + (0 .. ENCLOSURE_HEAP_SIZE - 1)) &&
             \separated(token, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns token->experts, token->active, token->precision, token->probability,
            token->selection, token->gate, token->gradient, token->condition, token->weight,
            token->part, token->score \from experts, active, precision, enclosure_heap,
            enclosure_heap_used, index_heap, score_heap;
    assigns TOKEN_ALLOCATED;
    ensures \result ==> token_lies(token) && token_vectors(token) &&
      \valid(token->selection + (0 .. active - 1)) && \valid(token->score + (0 .. experts - 1));
    ensures \result ==> token->experts == experts && token->active == active;
    ensures \result ==> token_in_heap(token);
    ensures still_in_use{Pre, Here};
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      \separated(r, token) ==> same{Pre, Here}(r);
    ensures new: \result ==> \forall phibal_enclosure *r;
      in_use{Pre}(r) && \separated(r, token) ==> token_apart(token, r); */
static bool token_allocate(phibal_reference_token *token, int32_t experts, int32_t active,
                           mpfr_prec_t precision) {
  //@ assert use_enclosure;
  //@ ghost long first = enclosure_heap_used;
  size_t n = token_enclosures(experts, active);
  phibal_enclosure *vectors = phibal_enclosure_vector(n, precision);
  int32_t *selection = indices_new((size_t)active);
  double *score = scores_new((size_t)experts);
  if (vectors && selection && score) {
    token_set(token, experts, active, precision, vectors, selection, score);
    //@ ghost token_places_in_heap(token, first);
    //@ ghost token_apart_from_all(token);
    return true;
  }
  phibal_enclosure_vector_clear(vectors, n);
  indices_free(selection);
  scores_free(score);
  return false;
}

/*@ requires \valid(token) && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    requires token_lies(token) && token_vectors(token);
    terminates \true;
    exits \false;
    assigns token->logsumexp, token->logsumexp_terms, token->total, token->mean, token->magnitude,
            token->term, token->factor, token->one;
    ensures scratch: token_scratch(token);
    ensures same: token_same{Pre, Here}(token);
    ensures vectors: token_vectors(token);
    ensures frame: only_token_struct_written{Pre, Here}(token); */
static void token_init_scratch(phibal_reference_token *token, mpfr_prec_t precision) {
  //@ assert use_enclosure && use_token;
  /*@ assert places: \forall phibal_enclosure *r; token_part(token, r) ==>
        output(r) && \separated(r, token); */
  phibal_enclosure_init(&token->logsumexp, precision);
  phibal_enclosure_init(&token->logsumexp_terms, precision);
  phibal_enclosure_init(&token->total, precision);
  phibal_enclosure_init(&token->mean, precision);
  phibal_enclosure_init(&token->magnitude, precision);
  phibal_enclosure_init(&token->term, precision);
  phibal_enclosure_init(&token->factor, precision);
  phibal_enclosure_init(&token->one, precision);
  phibal_enclosure_set_si(&token->one, 1);
  //@ assert written: only_token_struct_written{Pre, Here}(token);
  //@ assert addresses: token_same{Pre, Here}(token);
}

phibal_status phibal_reference_token_init(phibal_reference_token *token, int32_t experts,
                                          int32_t active, mpfr_prec_t precision) {
  //@ assert use_enclosure && use_token;
  const char *name = "phibal_reference_token_init";
  if (!token) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null token", name);
  TRY(operation_check_experts(name, experts, precision));
  if (active < 1 || active > experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d active experts; there must be 1 to %d",
                             name, (int)active, (int)experts);
  if (!token_allocate(token, experts, active, precision))
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for %d experts", name,
                             (int)experts);
  //@ assert lies: token_lies(token) && token_in_heap(token);
  //@ assert vectors: token_vectors(token);
  token_init_scratch(token, precision);
  //@ assert kept: token_lies(token) && token_in_heap(token);
  return PHIBAL_OK;
}

void phibal_reference_token_clear(phibal_reference_token *token) {
  //@ assert use_enclosure;
  //@ ghost token_as_one_vector(token);
  phibal_enclosure_vector_clear(token->probability,
                                token_enclosures(token->experts, token->active));
  //@ assert same: token_same{Pre, Here}(token);
  //@ assert results: output(&token->logsumexp) && output(&token->logsumexp_terms);
  //@ assert sums: output(&token->total) && output(&token->mean) && output(&token->magnitude);
  //@ assert others: output(&token->term) && output(&token->factor);
  //@ assert constant: output(&token->one) && in(&token->one, 1.0);
  //@ assert scratch: token_scratch(token);
  //@ assert frame: only_token_written{Pre, Here}(token);
  indices_free(token->selection);
  scores_free(token->score);
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
    ensures \result == PHIBAL_OK ==> in(z, times(e((real)x), shrink((real)reference))); */
static phibal_status softmax_weight(phibal_reference_token *t, float x, float reference,
                                    phibal_enclosure *z) {
  //@ assert use_enclosure && use_exp && use_relative && open_times;
  TRY(logit_difference(z, x, reference, &t->factor));
  phibal_enclosure_exp(z, z);
  //@ assert weight: in(z, e((real)x - (real)reference));
  //@ assert e((real)x - (real)reference) == times(e((real)x), shrink((real)reference));
  return PHIBAL_OK;
}

/* z = sigma(x) = 1 / (1 + exp(-x)), x occurring once. */
/*@ requires token_scratch(t) && output(z) && \separated(z, &t->factor) && \separated(z, &t->one);
    requires apart(z, &t->term);
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
    ensures \result == PHIBAL_OK ==>
      in(z, times(logistic((real)x), shrink((real)reference))); */
static phibal_status sigmoid_weight(phibal_reference_token *t, float x, float reference,
                                    phibal_enclosure *z) {
  //@ assert use_enclosure && use_exp && use_relative && open_times;
  if (reference == 0.0f) {
    //@ assert zero: (real)reference == 0.0 && shrink((real)reference) == 1.0;
    //@ assert times(logistic((real)x), shrink((real)reference)) == logistic((real)x);
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
        times(logistic((real)x), shrink((real)reference)); */
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
    ensures \result == PHIBAL_OK ==>
      in(z, times(logit_weight(router->gate, (real)x), shrink((real)reference))); */
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
    ensures \is_finite(\result);
    ensures (real)\result == weight_reference(router->gate, (real)largest); */
static float router_reference(const phibal_router *router, float largest) {
  //@ assert use_floating;
  return router->gate == PHIBAL_GATE_SIGMOID && largest > 0.0f ? 0.0f : largest;
}

/*@ requires 1 <= experts && \valid_read(logits + (0 .. experts - 1));
    requires finite_floats(logits, experts);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result);
    ensures (real)\result == largest_logit(logits, experts); */
static float logits_largest(int32_t experts, const float *logits) {
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

/* Which logit it is matters only to how tight results are; that it is finite, to whether they hold.
 */
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
  for (int32_t i = 0; i < n; i++) {
    TRY(phibal_enclosure_div(&part[i], &weight[i], total));
    /*@ assert one: \forall real w, s; s != 0.0 && in{Pre}(weight + i, w) && in{Pre}(total, s) ==>
          in(part + i, w / s); */
    /*@ assert others: \forall integer j; 0 <= j < n && j != i ==>
          same{LoopCurrent, Here}(part + j); */
  }
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

/* weight[0..n-1] = the logits' weights, relative to `reference`. */
/*@ requires token_scratch(t) && \valid_read(router) && \is_finite(reference) && 0 <= n;
    requires \valid_read(logits + (0 .. n - 1)) && finite_floats(logits, n);
    requires vector_output(weight, n) &&
             (\forall integer i; 0 <= i < n ==> \separated(t, weight + i));
    terminates \true;
    exits \false;
    assigns weight[0 .. n - 1], t->factor, t->term;
    ensures vector_output(weight, n) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_weights_written{Pre, Here}(t, weight, n);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall integer i; 0 <= i < n ==>
      in(weight + i,
         times(logit_weight(router->gate, (real)logits[i]), shrink((real)reference))); */
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
/*@ requires token_ready(t) && \valid_read(router) && \is_finite(reference);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    terminates \true;
    exits \false;
    assigns t->weight[0 .. t->experts - 1], t->factor, t->term;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures weights: \result == PHIBAL_OK ==> \forall integer e; 0 <= e < t->experts ==>
      in(t->weight + e, times(logit_weight(router->gate, (real)logits[e]),
                              shrink((real)reference))); */
static phibal_status token_weigh(phibal_reference_token *t, const phibal_router *router,
                                 const float *logits, float reference) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  phibal_status status = router_weights(t, router, t->experts, logits, reference, t->weight);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
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
/*@ requires token_ready(t);
    terminates \true;
    exits \false;
    assigns t->probability[0 .. t->experts - 1], t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures weights: \forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(t->weight + e);
    ensures quotients: \result == PHIBAL_OK ==> \forall sequence s;
      members{Pre}(t->weight, t->experts, s) && sum(s, t->experts) != 0.0 ==>
        in(&t->total, sum(s, t->experts)) && (\forall integer e; 0 <= e < t->experts ==>
          in(t->probability + e, term(s, e) / sum(s, t->experts))); */
static phibal_status token_normalise(phibal_reference_token *t) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  phibal_status status = weights_normalise(t->experts, t->weight, &t->total, t->probability);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert lies: token_lies(t);
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
/*@ requires token_scratch(t) && \valid_read(router) && \is_finite(largest);
    terminates \true;
    exits \false;
    assigns t->logsumexp, t->logsumexp_terms, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures frame: only_token_struct_written{Pre, Here}(t);
    ensures logsumexp: \result == PHIBAL_OK && router->gate != PHIBAL_GATE_SIGMOID ==>
      \forall real a; 0.0 < a && in{Pre}(&t->total, a) ==>
        in(&t->logsumexp, \log(a) + (real)largest) &&
        in(&t->logsumexp_terms, \log(a) + \abs((real)largest)); */
static phibal_status token_set_logsumexp(phibal_reference_token *t, const phibal_router *router,
                                         float largest) {
  //@ assert use_enclosure;
  if (router->gate != PHIBAL_GATE_SIGMOID) return token_logsumexp(t, largest);
  phibal_enclosure_set_si(&t->logsumexp, 0);
  phibal_enclosure_set_si(&t->logsumexp_terms, 0);
  return PHIBAL_OK;
}

phibal_status reference_token_probabilities(phibal_reference_token *t, const phibal_router *router,
                                            const float *logits) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  float largest = logits_largest(t->experts, logits);
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
  /*@ assert relative: \forall integer e; 0 <= e < t->experts ==> in(t->probability + e,
        times(logit_weight(router->gate, (real)logits[e]), shrink((real)reference)) /
          times(weight_sum(router->gate, logits, t->experts), shrink((real)reference))); */
  /*@ assert quotients: \forall integer e; 0 <= e < t->experts ==>
        times(logit_weight(router->gate, (real)logits[e]), shrink((real)reference)) /
          times(weight_sum(router->gate, logits, t->experts), shrink((real)reference)) ==
        logit_weight(router->gate, (real)logits[e]) /
          weight_sum(router->gate, logits, t->experts); */
  //@ assert probabilities: probabilities_held(t, router->gate, logits);
  //@ assert ready: token_ready(t);
  //@ ghost token_opened_up(t);
  phibal_status status = token_set_logsumexp(t, router, largest);
  //@ assert probability_outputs: vector_output(t->probability, t->experts);
  //@ assert gate_outputs: vector_output(t->gate, t->active);
  //@ assert gradient_outputs: vector_output(t->gradient, t->experts);
  //@ assert condition_outputs: vector_output(t->condition, t->experts);
  //@ assert weight_outputs: vector_output(t->weight, t->experts);
  //@ assert part_outputs: vector_output(t->part, t->active);
  //@ assert outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  /*@ assert logsumexp: status == PHIBAL_OK && router->gate != PHIBAL_GATE_SIGMOID ==>
        logsumexp_held(t, logits); */
  //@ assert weights_last: weights_held(t, router->gate, logits);
  //@ assert probabilities_last: probabilities_held(t, router->gate, logits);
  return status;
}

/* part[s] = x[experts[s]] */
/*@ requires 0 <= active && \valid_read(experts + (0 .. active - 1));
    requires vector_output(part, active) && (\forall integer s; 0 <= s < active ==>
      input(x + experts[s]) && vector_apart(x + experts[s], part, active));
    terminates \true;
    exits \false;
    assigns part[0 .. active - 1];
    ensures vector_output(part, active);
    ensures only_vector_written{Pre, Here}(part, active);
    ensures \forall integer s, real a; 0 <= s < active && in{Pre}(x + experts[s], a) ==>
      in(part + s, a); */
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
/*@ requires token_scratch(t) && \valid_read(router) && \is_finite(reference);
    requires 0 <= active && \valid_read(experts + (0 .. active - 1));
    requires \forall integer s; 0 <= s < active ==>
      \valid_read(logits + experts[s]) && \is_finite(logits[experts[s]]);
    requires vector_output(part, active) &&
             (\forall integer s; 0 <= s < active ==> \separated(t, part + s));
    terminates \true;
    exits \false;
    assigns part[0 .. active - 1], t->factor, t->term;
    ensures vector_output(part, active) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_weights_written{Pre, Here}(t, part, active);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall integer s; 0 <= s < active ==>
      in(part + s, times(logit_weight(router->gate, (real)logits[experts[s]]),
                         shrink((real)reference))); */
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
/*@ requires token_scratch(t) && \valid_read(router) && \is_finite(row) && \is_finite(reference);
    requires 0 <= active && \valid_read(experts + (0 .. active - 1));
    requires \forall integer s; 0 <= s < active ==>
      \valid_read(logits + experts[s]) && \is_finite(logits[experts[s]]);
    requires vector_output(part, active) &&
             (\forall integer s; 0 <= s < active ==> \separated(t, part + s));
    requires \forall integer s; 0 <= s < active ==>
      input(weight + experts[s]) && vector_apart(weight + experts[s], part, active);
    terminates \true;
    exits \false;
    assigns part[0 .. active - 1], t->factor, t->term;
    ensures outputs: vector_output(part, active) && enclosure(&t->factor) && enclosure(&t->term);
    ensures frame: only_weights_written{Pre, Here}(t, part, active);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures weights: \result == PHIBAL_OK &&
      ((real)row == (real)reference ==> \forall integer s; 0 <= s < active ==>
         in{Pre}(weight + experts[s], times(logit_weight(router->gate, (real)logits[experts[s]]),
                                            shrink((real)row)))) ==>
      \forall integer s; 0 <= s < active ==>
        in(part + s, times(logit_weight(router->gate, (real)logits[experts[s]]),
                           shrink((real)reference))); */
static phibal_status gates_weights(phibal_reference_token *t, const phibal_router *router,
                                   const float *logits, float row, float reference, int32_t active,
                                   const int32_t *experts, const phibal_enclosure *weight,
                                   phibal_enclosure *part) {
  //@ assert use_enclosure && use_floating;
  if (row == reference) {
    vector_pick(active, experts, weight, part);
    return PHIBAL_OK;
  }
  return selected_weights(t, router, logits, reference, active, experts, part);
}

/* The weights of the experts given, relative to `reference`, in t->part. */
/*@ requires token_ready(t) && \valid_read(router) && \is_finite(row) && \is_finite(reference);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires selected_experts(experts, t->active, t->experts);
    terminates \true;
    exits \false;
    assigns t->part[0 .. t->active - 1], t->factor, t->term;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_gates_written{Pre, Here}(t, \old(t->part), \old(t->active));
    ensures weights: \result == PHIBAL_OK &&
      ((real)row == (real)reference ==> \forall integer e; 0 <= e < t->experts ==>
         in{Pre}(t->weight + e, times(logit_weight(router->gate, (real)logits[e]),
                                      shrink((real)row)))) ==>
      \forall integer s; 0 <= s < t->active ==>
        in(t->part + s, times(logit_weight(router->gate, (real)logits[experts[s]]),
                              shrink((real)reference))); */
static phibal_status token_weigh_selected(phibal_reference_token *t, const phibal_router *router,
                                          const float *logits, float row, float reference,
                                          const int32_t *experts) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  phibal_status status =
      gates_weights(t, router, logits, row, reference, t->active, experts, t->weight, t->part);
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

/* t->part divided by its sum. */
/*@ requires token_ready(t);
    terminates \true;
    exits \false;
    assigns t->part[0 .. t->active - 1], t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_gates_written{Pre, Here}(t, \old(t->part), \old(t->active));
    ensures quotients: \result == PHIBAL_OK ==> \forall sequence s, integer i;
      members{Pre}(t->part, t->active, s) && sum(s, t->active) != 0.0 && 0 <= i < t->active ==>
        in(t->part + i, term(s, i) / sum(s, t->active)); */
static phibal_status token_normalise_part(phibal_reference_token *t) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  phibal_status status = weights_normalise(t->active, t->part, &t->total, t->part);
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
/*@ requires token_ready(t) && \valid_read(router);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires selected_experts(experts, t->active, t->experts);
    terminates \true;
    exits \false;
    assigns t->part[0 .. t->active - 1], t->total, t->term, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_gates_written{Pre, Here}(t, \old(t->part), \old(t->active));
    ensures gates: \result == PHIBAL_OK && weights_held{Pre}(t, router->gate, logits) ==>
      \forall integer s; 0 <= s < t->active ==>
        in(t->part + s, normalised_gate(router->gate, logits, experts, t->active, s)); */
static phibal_status gates_normalised(phibal_reference_token *t, const phibal_router *router,
                                      const float *logits, const int32_t *experts) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  float row = router_reference(router, logits_largest(t->experts, logits));
  float reference = router_reference(router, logits_largest_selected(t->active, experts, logits));
  TRY(token_weigh_selected(t, router, logits, row, reference, experts));
  //@ ghost router_selected_sum(router->gate, logits, experts, t->active);
  //@ ghost router_shrink_positive();
  /*@ assert relative: use_quotient &&
        (weights_held{Pre}(t, router->gate, logits) ==> members(t->part, t->active,
          relative_selected(router->gate, logits, experts, t->active, shrink((real)reference)))); */
  return token_normalise_part(t);
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

/* gate[0..n-1] = scale part[0..n-1] */
/*@ requires 0 <= n && \is_finite(scale);
    requires vector_input(part, n) && vector_output(gate, n) && output(factor);
    requires vectors_apart(part, n, gate, n) && vector_apart(factor, part, n) &&
             vector_apart(factor, gate, n);
    terminates \true;
    exits \false;
    assigns gate[0 .. n - 1], *factor;
    ensures vector_output(gate, n) && enclosure(factor);
    ensures only_with_vector_written{Pre, Here}(factor, gate, n);
    ensures \result == PHIBAL_OK ==> \forall integer s, real a; 0 <= s < n &&
      in{Pre}(part + s, a) ==> in(gate + s, times(a, (real)scale)); */
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

/* Is sigma(x), computed with so many bits, certain to round to *score? */
/*@ requires \is_finite(x) && \valid(score) && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *score;
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==> same{Pre, Here}(r);
    ensures \result ==> rounded_to(PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, logistic((real)x),
                                   *score); */
static bool sigmoid_rounds(float x, mpfr_prec_t precision, double *score) {
  //@ assert use_enclosure;
  phibal_enclosure value, negated, one;
  phibal_enclosure_init(&value, precision);
  phibal_enclosure_init(&negated, precision);
  phibal_enclosure_init(&one, precision);
  phibal_enclosure_set_si(&one, 1);
  operation_set_negated(&negated, x);
  bool decided =
      operation_sigmoid_negated(&value, &negated, &one) == PHIBAL_OK &&
      phibal_round_enclosure(&value, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, score);
  phibal_enclosure_clear(&one);
  phibal_enclosure_clear(&negated);
  phibal_enclosure_clear(&value);
  return decided;
}

/* The score that sigmoid routers compare: sigma(x) correctly rounded to binary32. The token's
   precision decides nearly always. */
/*@ requires token_scratch(t) && \is_finite(x) && \valid(score);
    terminates \true;
    exits \false;
    assigns *score, t->term, t->factor;
    ensures enclosure(&t->factor) && enclosure(&t->term);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures \result == PHIBAL_OK ==> rounded_to(PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST,
                                                logistic((real)x), *score); */
static phibal_status sigmoid_score(phibal_reference_token *t, float x, double *score) {
  //@ assert use_enclosure;
  TRY(logit_sigmoid(t, x, &t->term));
  if (phibal_round_enclosure(&t->term, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, score))
    return PHIBAL_OK;
  /*@ loop invariant precision: SIGMOID_START <= precision <= 2 * SIGMOID_CAP;
      loop invariant enclosures: enclosure(&t->factor) && enclosure(&t->term);
      loop invariant frame: only_two_written{Pre, Here}(&t->term, &t->factor);
      loop assigns precision, *score;
      loop variant 2 * SIGMOID_CAP - precision; */
  for (mpfr_prec_t precision = SIGMOID_START; precision <= SIGMOID_CAP; precision *= 2)
    if (sigmoid_rounds(x, precision, score)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "the sigmoid of %a: its rounding is undecided at %d bits", (double)x,
                           SIGMOID_CAP);
}

/* *score = what the selection compares of one expert; `bias` is null where there is none. */
/*@ requires token_scratch(t) && \valid_read(router) && \valid(score);
    requires \is_finite(x) && (bias != \null ==> \valid_read(bias) && \is_finite(*bias));
    terminates \true;
    exits \false;
    assigns *score, t->term, t->factor;
    ensures enclosure(&t->factor) && enclosure(&t->term);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures \result == PHIBAL_OK ==> \is_finite(*score);
    ensures unbiased: \result == PHIBAL_OK && bias == \null ==>
      unbiased_score(router->gate, (real)x, *score); */
static phibal_status token_score(phibal_reference_token *t, const phibal_router *router, float x,
                                 const float *bias, double *score) {
  //@ assert use_enclosure && use_floating;
  double sum = (double)x;
  if (router->gate == PHIBAL_GATE_SIGMOID) TRY(sigmoid_score(t, x, &sum));
  if (bias) sum += (double)*bias;
  *score = sum;
  if (isfinite(sum)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_NONFINITE, "the score of the logit %g is %g", (double)x,
                           sum);
}

/*@ requires token_scratch(t) && \valid_read(router) && 0 <= n;
    requires \valid_read(logits + (0 .. n - 1)) && finite_floats(logits, n);
    requires bias != \null ==> \valid_read(bias + (0 .. n - 1)) && finite_floats(bias, n);
    requires \valid(score + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns score[0 .. n - 1], t->term, t->factor;
    ensures enclosure(&t->factor) && enclosure(&t->term);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures \result == PHIBAL_OK ==> scores_finite(score, n);
    ensures unbiased: \result == PHIBAL_OK && bias == \null ==> \forall integer i; 0 <= i < n ==>
      unbiased_score(router->gate, (real)logits[i], score[i]); */
static phibal_status token_scores(phibal_reference_token *t, const phibal_router *router, int32_t n,
                                  const float *logits, const float *bias, double *score) {
  //@ assert use_enclosure;
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant frame: only_two_written{Pre, Here}(&t->term, &t->factor);
      loop invariant scratch: token_scratch(t);
      loop invariant finite: status == PHIBAL_OK ==> scores_finite(score, e);
      loop invariant unbiased: status == PHIBAL_OK && bias == \null ==>
        \forall integer i; 0 <= i < e ==>
          unbiased_score(router->gate, (real)logits[i], score[i]);
      loop assigns e, status, score[0 .. n - 1], t->term, t->factor;
      loop variant n - e; */
  for (int32_t e = 0; e < n && status == PHIBAL_OK; e++)
    status = token_score(t, router, logits[e], bias ? bias + e : NULL, &score[e]);
  return status;
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
    ensures selection(score, experts, active, selected);
    ensures \forall integer s; 0 <= s < active ==> 0 <= selected[s] < experts; */
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

/*@ requires token_ready(t) && \valid_read(router);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires bias != \null ==>
      \valid_read(bias + (0 .. t->experts - 1)) && finite_floats(bias, t->experts);
    terminates \true;
    exits \false;
    assigns t->selection[0 .. t->active - 1], t->score[0 .. t->experts - 1], t->term, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures ranking: \result == PHIBAL_OK ==>
      selection(t->score, t->experts, t->active, t->selection) &&
      (\forall integer s; 0 <= s < t->active ==> 0 <= t->selection[s] < t->experts);
    ensures unbiased: \result == PHIBAL_OK && bias == \null ==> \forall integer e;
      0 <= e < t->experts ==> unbiased_score(router->gate, (real)logits[e], t->score[e]); */
static phibal_status token_select(phibal_reference_token *t, const phibal_router *router,
                                  const float *logits, const float *bias) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  phibal_status status = token_scores(t, router, t->experts, logits, bias, t->score);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert scratch: token_scratch(t);
  //@ assert lies: token_lies(t);
  //@ assert all_outputs: token_outputs(t);
  //@ ghost token_put_together(t);
  if (status == PHIBAL_OK) score_select(t->experts, t->active, t->score, t->selection);
  //@ assert same_selected: token_same{Pre, Here}(t);
  return status;
}

phibal_status phibal_reference_token_select(phibal_reference_token *token,
                                            const phibal_router *router, const float *logits,
                                            const float *bias) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_token_select";
  TRY(reference_token_check(name, token, router, logits));
  if (bias) TRY(operation_check_finite(name, "the bias", token->experts, bias));
  return token_select(token, router, logits, bias);
}

/* t->gate = scale t->part. */
/*@ requires token_ready(t) && \valid_read(router) && \is_finite(router->scale);
    terminates \true;
    exits \false;
    assigns t->gate[0 .. t->active - 1], t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures kept: same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms) &&
      (\forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(t->probability + e));
    ensures scaled: \result == PHIBAL_OK ==> \forall integer s, real a; 0 <= s < t->active &&
      in{Pre}(t->part + s, a) ==> in(t->gate + s, times(a, (real)router->scale)); */
static phibal_status token_scale(phibal_reference_token *t, const phibal_router *router) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
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
  //@ assert use_enclosure;
  TRY(phibal_reference_token_select(token, router, logits, bias));
  TRY(reference_token_probabilities(token, router, logits));
  TRY(reference_token_gates(token, router, logits, token->selection));
  //@ ghost token_opened_up(token);
  return token_scale(token, router);
}

/* The logic of phibal_reference_token: where its parts lie and what they are. ACSL only; included
   by <phibal/reference_moe.h> behind the struct.

   Proofs see where things lie as predicates of addresses alone, so that no write can disturb them;
   `assert use_token` shows what follows from them (proved in proofs/frama-c/token_lemmas.c), `assert
   open_token` what they are. */
#ifndef PHIBAL_ACSL_TOKEN_H
#define PHIBAL_ACSL_TOKEN_H

#include <phibal/acsl/heap.h>
#include <phibal/acsl/router_gradient.h>
#include <phibal/acsl/selection.h>
#include <phibal/rounding.h>
#include <phibal/acsl/rounding.h>

/* Memory for indices and for scores, apart from all other memory: see heap.h. That two tokens have
   different pieces of it is not said. */
/*@ ghost int32_t *index_heap; */
/*@ ghost double *score_heap; */
#define INDEX_HEAP_SIZE 0x4000000000000000
#define TOKEN_ALLOCATED                                                                            \
  ALLOCATED, index_heap[0 .. INDEX_HEAP_SIZE - 1], score_heap[0 .. INDEX_HEAP_SIZE - 1]

#define TOKEN_ADDRESSES                                                                            \
  integer experts, integer active, phibal_enclosure *probability, phibal_enclosure *gate,          \
      phibal_enclosure *gradient, phibal_enclosure *condition, phibal_enclosure *weight,           \
      phibal_enclosure *part
#define TOKEN_NAMES experts, active, probability, gate, gradient, condition, weight, part
#define TOKEN_FIELDS(t)                                                                            \
  (t)->experts, (t)->active, (t)->probability, (t)->gate, (t)->gradient, (t)->condition,           \
      (t)->weight, (t)->part

/*@ axiomatic Token {
      // r is an element of one of the vectors of enclosures
      predicate token_place(phibal_enclosure *r, TOKEN_ADDRESSES);
      // the vectors lie one behind the other, apart from the token
      predicate token_shape(phibal_reference_token *t, int32_t *selection, TOKEN_ADDRESSES);
      // r is apart from the token and its vectors
      predicate token_elsewhere(phibal_enclosure *r, phibal_reference_token *t, TOKEN_ADDRESSES);
    }
    axiomatic TokenDefinition {
      predicate open_token;
      axiom token_opened: open_token;
      axiom token_place_is: \forall phibal_enclosure *r, TOKEN_ADDRESSES;
        token_place(r, TOKEN_NAMES) <==>
          (\exists integer i; 0 <= i < experts && r == probability + i) ||
          (\exists integer i; 0 <= i < active && r == gate + i) ||
          (\exists integer i; 0 <= i < experts && r == gradient + i) ||
          (\exists integer i; 0 <= i < experts && r == condition + i) ||
          (\exists integer i; 0 <= i < experts && r == weight + i) ||
          (\exists integer i; 0 <= i < active && r == part + i);
      axiom token_shape_is: \forall phibal_reference_token *t, int32_t *selection, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) <==>
          0 < active && 0 < experts && \separated(t, selection + (0 .. active - 1)) &&
          \separated(t, probability + (0 .. 4 * experts + 2 * active - 1)) &&
          gradient == probability + experts && condition == probability + 2 * experts &&
          weight == probability + 3 * experts && gate == probability + 4 * experts &&
          part == probability + (4 * experts + active);
      axiom token_elsewhere_is: \forall phibal_enclosure *r, phibal_reference_token *t,
        TOKEN_ADDRESSES; token_elsewhere(r, t, TOKEN_NAMES) <==>
          \separated(r, t) && \separated(r, probability + (0 .. experts - 1)) &&
          \separated(r, gate + (0 .. active - 1)) && \separated(r, gradient + (0 .. experts - 1)) &&
          \separated(r, condition + (0 .. experts - 1)) &&
          \separated(r, weight + (0 .. experts - 1)) && \separated(r, part + (0 .. active - 1));
    }
    axiomatic TokenUse {
      predicate use_token;
      axiom token_used: use_token;
      LEMMA place_probability: GIVEN(open_token) \forall TOKEN_ADDRESSES, integer i;
        0 <= i < experts ==> token_place(probability + i, TOKEN_NAMES);
      LEMMA place_gate: GIVEN(open_token) \forall TOKEN_ADDRESSES, integer i;
        0 <= i < active ==> token_place(gate + i, TOKEN_NAMES);
      LEMMA place_gradient: GIVEN(open_token) \forall TOKEN_ADDRESSES, integer i;
        0 <= i < experts ==> token_place(gradient + i, TOKEN_NAMES);
      LEMMA place_condition: GIVEN(open_token) \forall TOKEN_ADDRESSES, integer i;
        0 <= i < experts ==> token_place(condition + i, TOKEN_NAMES);
      LEMMA place_weight: GIVEN(open_token) \forall TOKEN_ADDRESSES, integer i;
        0 <= i < experts ==> token_place(weight + i, TOKEN_NAMES);
      LEMMA place_part: GIVEN(open_token) \forall TOKEN_ADDRESSES, integer i;
        0 <= i < active ==> token_place(part + i, TOKEN_NAMES);
      LEMMA vectors_apart_each: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, TOKEN_ADDRESSES; token_shape(t, selection, TOKEN_NAMES) ==>
          \separated(t, selection + (0 .. active - 1)) &&
          \separated(t, probability + (0 .. experts - 1), gate + (0 .. active - 1),
                     gradient + (0 .. experts - 1), condition + (0 .. experts - 1),
                     weight + (0 .. experts - 1), part + (0 .. active - 1));
      // the vectors, as one
      LEMMA place_any: GIVEN(open_token) \forall phibal_reference_token *t, int32_t *selection,
        TOKEN_ADDRESSES, integer i; token_shape(t, selection, TOKEN_NAMES) &&
        0 <= i < 4 * experts + 2 * active ==>
          gradient + (i - experts) == probability + i &&
          condition + (i - 2 * experts) == probability + i &&
          weight + (i - 3 * experts) == probability + i &&
          gate + (i - 4 * experts) == probability + i &&
          part + (i - (4 * experts + active)) == probability + i &&
          token_place(probability + i, TOKEN_NAMES);
      LEMMA elsewhere_any: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, phibal_enclosure *r, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_elsewhere(r, t, TOKEN_NAMES) ==>
          \separated(r, probability + (0 .. 4 * experts + 2 * active - 1));
      LEMMA any_apart_token: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, TOKEN_ADDRESSES; token_shape(t, selection, TOKEN_NAMES) ==>
          \separated(t, probability + (0 .. 4 * experts + 2 * active - 1));
      LEMMA place_apart_token: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, phibal_enclosure *r, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_place(r, TOKEN_NAMES) ==>
          \separated(r, t);
      LEMMA probability_or_apart: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, phibal_enclosure *r, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_place(r, TOKEN_NAMES) ==>
          \separated(r, probability + (0 .. experts - 1)) ||
          (\exists integer i; 0 <= i < experts && r == probability + i);
      LEMMA gate_or_apart: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, phibal_enclosure *r, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_place(r, TOKEN_NAMES) ==>
          \separated(r, gate + (0 .. active - 1)) ||
          (\exists integer i; 0 <= i < active && r == gate + i);
      LEMMA gradient_or_apart: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, phibal_enclosure *r, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_place(r, TOKEN_NAMES) ==>
          \separated(r, gradient + (0 .. experts - 1)) ||
          (\exists integer i; 0 <= i < experts && r == gradient + i);
      LEMMA condition_or_apart: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, phibal_enclosure *r, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_place(r, TOKEN_NAMES) ==>
          \separated(r, condition + (0 .. experts - 1)) ||
          (\exists integer i; 0 <= i < experts && r == condition + i);
      LEMMA weight_or_apart: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, phibal_enclosure *r, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_place(r, TOKEN_NAMES) ==>
          \separated(r, weight + (0 .. experts - 1)) ||
          (\exists integer i; 0 <= i < experts && r == weight + i);
      LEMMA part_or_apart: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, phibal_enclosure *r, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_place(r, TOKEN_NAMES) ==>
          \separated(r, part + (0 .. active - 1)) ||
          (\exists integer i; 0 <= i < active && r == part + i);
      LEMMA elsewhere_apart: GIVEN(open_token) \forall phibal_reference_token *t,
        phibal_enclosure *r, TOKEN_ADDRESSES; token_elsewhere(r, t, TOKEN_NAMES) ==>
          \separated(r, t) &&
          vector_apart(r, probability, experts) &&
          vector_apart(r, gate, active) &&
          vector_apart(r, gradient, experts) &&
          vector_apart(r, condition, experts) &&
          vector_apart(r, weight, experts) &&
          vector_apart(r, part, active);
    }
    axiomatic TokenElements {
      predicate use_elements;
      axiom elements_used: use_elements;
      // the same, element by element
      LEMMA vectors_apart_each_other: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, TOKEN_ADDRESSES; token_shape(t, selection, TOKEN_NAMES) ==>
          (\forall integer i; 0 <= i < experts ==> \separated(t, probability + i)) &&
          (\forall integer i; 0 <= i < active ==> \separated(t, gate + i)) &&
          (\forall integer i; 0 <= i < experts ==> \separated(t, gradient + i)) &&
          (\forall integer i; 0 <= i < experts ==> \separated(t, condition + i)) &&
          (\forall integer i; 0 <= i < experts ==> \separated(t, weight + i)) &&
          (\forall integer i; 0 <= i < active ==> \separated(t, part + i)) &&
          vectors_apart(probability, experts, gate, active) &&
          vectors_apart(probability, experts, gradient, experts) &&
          vectors_apart(probability, experts, condition, experts) &&
          vectors_apart(probability, experts, weight, experts) &&
          vectors_apart(probability, experts, part, active) &&
          vectors_apart(gate, active, gradient, experts) &&
          vectors_apart(gate, active, condition, experts) &&
          vectors_apart(gate, active, weight, experts) &&
          vectors_apart(gate, active, part, active) &&
          vectors_apart(gradient, experts, condition, experts) &&
          vectors_apart(gradient, experts, weight, experts) &&
          vectors_apart(gradient, experts, part, active) &&
          vectors_apart(condition, experts, weight, experts) &&
          vectors_apart(condition, experts, part, active) &&
          vectors_apart(weight, experts, part, active);
      LEMMA range_apart: \forall phibal_enclosure *r, *x, integer n;
        \separated(r, x + (0 .. n - 1)) ==> vector_apart(r, x, n);
    }

    predicate token_part{L}(phibal_reference_token *t, phibal_enclosure *r) =
      token_place(r, TOKEN_FIELDS(t));
    predicate token_lies{L}(phibal_reference_token *t) =
      token_shape(t, t->selection, TOKEN_FIELDS(t));
    predicate token_apart{L}(phibal_reference_token *t, phibal_enclosure *r) =
      token_elsewhere(r, t, TOKEN_FIELDS(t));
    // the temporaries and the constant
    predicate token_scratch{L}(phibal_reference_token *t) =
      \valid(t) && output(&t->logsumexp) && output(&t->logsumexp_terms) && output(&t->total) &&
      output(&t->mean) && output(&t->magnitude) && output(&t->term) && output(&t->factor) &&
      output(&t->one) && in(&t->one, 1.0);
    predicate token_vectors{L}(phibal_reference_token *t) =
      \forall phibal_enclosure *r; token_part(t, r) ==> output(r);
    // a token that was initialised
    predicate token_ready{L}(phibal_reference_token *t) =
      token_scratch(t) && 1 <= t->active <= t->experts <= PHIBAL_MAX_EXPERTS && token_lies(t) &&
      token_vectors(t) && \valid(t->selection + (0 .. t->active - 1)) &&
      \valid(t->score + (0 .. t->experts - 1));
    // sizes and addresses
    predicate token_same{A, B}(phibal_reference_token *t) =
      \at(t->experts, A) == \at(t->experts, B) && \at(t->active, A) == \at(t->active, B) &&
      \at(t->probability, A) == \at(t->probability, B) &&
      \at(t->selection, A) == \at(t->selection, B) && \at(t->gate, A) == \at(t->gate, B) &&
      \at(t->gradient, A) == \at(t->gradient, B) && \at(t->condition, A) == \at(t->condition, B) &&
      \at(t->weight, A) == \at(t->weight, B) && \at(t->part, A) == \at(t->part, B) &&
      \at(t->score, A) == \at(t->score, B);
    // of enclosures, none but the token's was written between A and B
    predicate only_token_written{A, B}(phibal_reference_token *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && token_apart{A}(t, r) ==> same{A, B}(r);

    // the score of a logit x before the bias (R2)
    predicate unbiased_score(integer gate, real x, double score) =
      gate == PHIBAL_GATE_SIGMOID
        ? rounded_to(PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, logistic(x), score)
        : (real)score == x;

    // What the parts enclose for the logits x: weights, relative to a logit; (R1) or (R1s); (R8) and
    // what cancels in it; (R3) to (R5), before and after the scale.
    predicate weights_held{L}(phibal_reference_token *t, integer gate, float *x) =
      \forall integer e; 0 <= e < t->experts ==>
        in(t->weight + e, times(logit_weight(gate, (real)x[e]),
          shrink(weight_reference(gate, largest_logit(x, t->experts)))));
    predicate probabilities_held{L}(phibal_reference_token *t, integer gate, float *x) =
      \forall integer e; 0 <= e < t->experts ==>
        in(t->probability + e, probability(gate, x, t->experts, e));
    predicate logsumexp_held{L}(phibal_reference_token *t, float *x) =
      in(&t->logsumexp, logsumexp(x, t->experts)) &&
      in(&t->logsumexp_terms, (logsumexp(x, t->experts) - largest_logit(x, t->experts)) +
                                \abs(largest_logit(x, t->experts)));
    predicate parts_held{L}(phibal_reference_token *t, integer gate, float *x, int32_t *experts) =
      \forall integer s; 0 <= s < t->active ==>
        in(t->part + s, token_gate(gate, x, t->experts, experts, t->active, s));
    predicate gates_held{L}(phibal_reference_token *t, integer gate, real scale, float *x,
                            int32_t *experts) =
      \forall integer s; 0 <= s < t->active ==>
        in(t->gate + s, times(token_gate(gate, x, t->experts, experts, t->active, s), scale));
    // n enclosures of the memory that is given out
    predicate in_heap{L}(phibal_enclosure *x, integer n) =
      \exists integer i; 0 <= i && i + n <= ENCLOSURE_HEAP_SIZE && x == enclosure_heap + i;
    predicate token_in_heap{L}(phibal_reference_token *t) =
      in_heap(t->probability, t->experts) && in_heap(t->gate, t->active) &&
      in_heap(t->gradient, t->experts) && in_heap(t->condition, t->experts) &&
      in_heap(t->weight, t->experts) && in_heap(t->part, t->active) &&
      (\exists integer i; 0 <= i && i + t->active <= INDEX_HEAP_SIZE &&
         t->selection == index_heap + i) &&
      (\exists integer i; 0 <= i && i + t->experts <= INDEX_HEAP_SIZE &&
         t->score == score_heap + i);

    axiomatic TokenQuotient {
      predicate use_quotient;
      axiom quotient_used: use_quotient;
      // a quotient of weights does not depend on what they are relative to
      LEMMA relative_quotient: GIVEN(open_times) \forall real w, s, c; 0.0 < s && 0.0 < c ==>
        times(w, c) / times(s, c) == w / s && 0.0 < times(s, c);
      LEMMA relative_log: GIVEN(open_times && use_relative) \forall real s, r; 0.0 < s ==>
        \log(times(s, shrink(r))) + r == \log(s) && 0.0 < times(s, shrink(r));
      LEMMA relative_weight_term{L}: GIVEN(open_times)
        \forall integer gate, float *x, integer n, real c, integer i; 0 <= i < n ==>
          term(relative_weights(gate, x, n, c), i) == times(logit_weight(gate, (real)x[i]), c);
      LEMMA relative_selected_term{L}: GIVEN(open_times)
        \forall integer gate, float *x, int32_t *experts, integer n, real c, integer i;
          0 <= i < n ==> term(relative_selected(gate, x, experts, n, c), i) ==
                           times(logit_weight(gate, (real)x[experts[i]]), c);
    }
*/

/* What weights are relative to is not 0. */
/*@ ghost
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall real r; 0.0 < shrink(r); @/
  void router_shrink_positive(void) {
    /@ assert use_relative; @/
  }
*/

/* Softmax weights are the same for both gates of softmax routers. */
/*@ ghost
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures gate != PHIBAL_GATE_SIGMOID ==>
       weight_sum(gate, x, n) == weight_sum(PHIBAL_GATE_TOPK_SOFTMAX, x, n); @/
  void router_softmax_sum(phibal_gate gate, const float *x, int n) {
    int i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant gate != PHIBAL_GATE_SIGMOID ==>
         weight_sum(gate, x, i) == weight_sum(PHIBAL_GATE_TOPK_SOFTMAX, x, i);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) i++;
  }
*/

/* What follows from where a token lies, for proofs that do not look at it themselves. */
/*@ predicate token_outputs{L}(phibal_reference_token *t) =
      vector_output(t->probability, t->experts) &&
      vector_output(t->gate, t->active) &&
      vector_output(t->gradient, t->experts) &&
      vector_output(t->condition, t->experts) &&
      vector_output(t->weight, t->experts) &&
      vector_output(t->part, t->active);
    predicate token_ranges_apart{L}(phibal_reference_token *t) =
      \separated(t, t->selection + (0 .. t->active - 1)) &&
      \separated(t, t->probability + (0 .. t->experts - 1),
                 t->gate + (0 .. t->active - 1),
                 t->gradient + (0 .. t->experts - 1),
                 t->condition + (0 .. t->experts - 1),
                 t->weight + (0 .. t->experts - 1),
                 t->part + (0 .. t->active - 1));
    predicate token_elements_apart{L}(phibal_reference_token *t) =
      (\forall integer i; 0 <= i < t->experts ==> \separated(t, t->probability + i)) &&
      (\forall integer i; 0 <= i < t->active ==> \separated(t, t->gate + i)) &&
      (\forall integer i; 0 <= i < t->experts ==> \separated(t, t->gradient + i)) &&
      (\forall integer i; 0 <= i < t->experts ==> \separated(t, t->condition + i)) &&
      (\forall integer i; 0 <= i < t->experts ==> \separated(t, t->weight + i)) &&
      (\forall integer i; 0 <= i < t->active ==> \separated(t, t->part + i));
    predicate token_pairs_apart{L}(phibal_reference_token *t) =
      vectors_apart(t->probability, t->experts, t->gate, t->active) &&
      vectors_apart(t->probability, t->experts, t->gradient, t->experts) &&
      vectors_apart(t->probability, t->experts, t->condition, t->experts) &&
      vectors_apart(t->probability, t->experts, t->weight, t->experts) &&
      vectors_apart(t->probability, t->experts, t->part, t->active) &&
      vectors_apart(t->gate, t->active, t->gradient, t->experts) &&
      vectors_apart(t->gate, t->active, t->condition, t->experts) &&
      vectors_apart(t->gate, t->active, t->weight, t->experts) &&
      vectors_apart(t->gate, t->active, t->part, t->active) &&
      vectors_apart(t->gradient, t->experts, t->condition, t->experts) &&
      vectors_apart(t->gradient, t->experts, t->weight, t->experts) &&
      vectors_apart(t->gradient, t->experts, t->part, t->active) &&
      vectors_apart(t->condition, t->experts, t->weight, t->experts) &&
      vectors_apart(t->condition, t->experts, t->part, t->active) &&
      vectors_apart(t->weight, t->experts, t->part, t->active);
    predicate token_elsewhere_apart{L}(phibal_reference_token *t) =
      \forall phibal_enclosure *r; token_apart(t, r) ==> \separated(r, t) &&
        vector_apart(r, t->probability, t->experts) &&
        vector_apart(r, t->gate, t->active) &&
        vector_apart(r, t->gradient, t->experts) &&
        vector_apart(r, t->condition, t->experts) &&
        vector_apart(r, t->weight, t->experts) &&
        vector_apart(r, t->part, t->active);
*/
/*@ ghost
  /@ requires token_ready(t);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures outputs: token_outputs(t);
     ensures ranges: token_ranges_apart(t);
     ensures elements: token_elements_apart(t);
     ensures pairs: token_pairs_apart(t);
     ensures elsewhere: token_elsewhere_apart(t); @/
  void token_opened_up(const phibal_reference_token *t) {
    /@ assert use_token && use_elements; @/
  }

  /@ requires token_lies(t) && token_outputs(t);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures token_vectors(t); @/
  void token_put_together(const phibal_reference_token *t) {
    /@ assert open_token; @/
  }

  /@ requires token_ready(t);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures vector: vector_output(t->probability, 4 * t->experts + 2 * t->active);
     ensures apart: \separated(t, t->probability + (0 .. 4 * t->experts + 2 * t->active - 1));
     ensures elements: \forall integer i; 0 <= i < 4 * t->experts + 2 * t->active ==>
       \separated(t, t->probability + i);
     ensures elsewhere: \forall phibal_enclosure *r; token_apart(t, r) ==>
       \separated(r, t) && vector_apart(r, t->probability, 4 * t->experts + 2 * t->active); @/
  void token_as_one_vector(const phibal_reference_token *t) {
    /@ assert use_token && use_elements; @/
  }
*/

#endif

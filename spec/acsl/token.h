/* The logic of phibal_reference_token: where its parts lie and what they are. ACSL only; included
   by <phibal/reference_moe.h> behind the struct.

   Proofs see where things lie as predicates of addresses alone, so that no write can disturb them;
   `assert use_token` shows what follows from them (proved in proofs/frama-c/token_lemmas.c), `assert
   open_token` what they are. */
#ifndef PHIBAL_ACSL_TOKEN_H
#define PHIBAL_ACSL_TOKEN_H

#include <phibal/acsl/heap.h>

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
      // the vectors are apart from the token and from each other
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
          \separated(t, selection + (0 .. active - 1)) &&
          \separated(t, probability + (0 .. experts - 1), gate + (0 .. active - 1),
                     gradient + (0 .. experts - 1), condition + (0 .. experts - 1),
                     weight + (0 .. experts - 1), part + (0 .. active - 1));
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
      LEMMA places_apart: GIVEN(open_token) \forall phibal_reference_token *t, int32_t *selection,
        phibal_enclosure *r, *s, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_place(r, TOKEN_NAMES) &&
        token_place(s, TOKEN_NAMES) ==> r == s || \separated(r, s);
      LEMMA place_apart_token: GIVEN(open_token) \forall phibal_reference_token *t,
        int32_t *selection, phibal_enclosure *r, TOKEN_ADDRESSES;
        token_shape(t, selection, TOKEN_NAMES) && token_place(r, TOKEN_NAMES) ==>
          \separated(r, t);
      LEMMA elsewhere_apart: GIVEN(open_token) \forall phibal_reference_token *t,
        phibal_enclosure *r, *s, TOKEN_ADDRESSES;
        token_elsewhere(r, t, TOKEN_NAMES) && token_place(s, TOKEN_NAMES) ==> \separated(r, s);
      LEMMA elsewhere_apart_token: GIVEN(open_token) \forall phibal_reference_token *t,
        phibal_enclosure *r, TOKEN_ADDRESSES;
        token_elsewhere(r, t, TOKEN_NAMES) ==> \separated(r, t);
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
*/

#endif

/* What the static functions of reference/token.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_TOKEN_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_TOKEN_STATIC_H

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

/*@ requires 0 <= experts <= PHIBAL_MAX_EXPERTS && 0 <= active <= PHIBAL_MAX_EXPERTS;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == 4 * experts + 2 * active; */
static size_t token_enclosures(int32_t experts, int32_t active);

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
                             double *score);

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
                      double *score);

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
                           mpfr_prec_t precision);

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
static void token_init_scratch(phibal_reference_token *token, mpfr_prec_t precision);

#endif

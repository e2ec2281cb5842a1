/* A token's memory: vectors of enclosures one behind the other, indices, scores, and enclosures for
   scratch. */
#include "router_work.h"
#include <stdlib.h>

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

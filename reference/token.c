/* A token's memory: vectors of enclosures one behind the other, indices, scores, and enclosures for
   scratch. */
#include "router_work.h"
#include <stdlib.h>
#include <phibal/acsl/contracts/inside/token_static.h>

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

/* The vectors of enclosures lie one behind the other: so many. */
static size_t token_enclosures(int32_t experts, int32_t active) {
  return 4 * (size_t)experts + 2 * (size_t)active;
}

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

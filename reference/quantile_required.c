/* The biases that tokens require of experts (L7): of one token, cut-off less score. */
#include "operation.h"
#include <phibal/reference_quantile.h>
#ifdef __FRAMAC__
#include <model_infinity.h>
#endif
#include <phibal/acsl/contracts/inside/product.h>
#include <phibal/acsl/contracts/inside/router_ranks.h>
#include <phibal/acsl/contracts/inside/token_heap.h>
#include <phibal/acsl/contracts/inside/quantile_required_static.h>

/* Enough bits for the scores of nearly all sigmoids (reference/router_selection.c). */
#define REQUIRED_PRECISION 64

/* *cutoff = the selection score of the expert that t->active - 1 others precede. */
static phibal_status token_cutoff(phibal_reference_token *t, const phibal_router *router,
                                  const float *logits, const float *bias, double *cutoff) {
  TRY(phibal_reference_token_select(t, router, logits, bias));
  //@ ghost scores_of_router(router->gate, t->experts, logits, bias, t->score);
  const int32_t last = t->selection[t->active - 1];
  //@ ghost selection_slots(t->score, t->selection, t->active, t->experts);
  //@ ghost selection_rank(t->score, router->gate, logits, bias, last, t->experts);
  //@ assert rank: rank(router->gate, logits, bias, last, t->experts) == t->active - 1;
  *cutoff = t->score[last];
  return PHIBAL_OK;
}

/* required[e][i] = cut-off less the score of expert e without a bias. */
static phibal_status set_differences(int32_t experts, double cutoff, const double *score,
                                     int64_t tokens, int64_t i, float *required) {
  //@ assert use_floating && use_place && open_place && use_narrowing;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant others: only_token_required{Pre, Here}(required, experts, tokens, i);
      loop invariant value: \forall integer f; 0 <= f < e ==>
        \is_finite(required[element(f, tokens, i)]) &&
        (real)required[element(f, tokens, i)] == rounded_difference((real)cutoff, (real)score[f]);
      loop assigns e, required[0 .. place(experts, tokens) - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    const double wide = cutoff - score[e];
    const float difference = (float)wide;
    if (!isfinite(wide) || !isfinite(difference))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE, "expert %d would require the bias %g",
                               (int)e, (double)difference);
    //@ assert wide: (real)wide == (real)\round_double(\NearestEven, (real)cutoff - (real)score[e]);
    //@ assert narrow: (real)difference == (real)\round_float(\NearestEven, (real)wide);
    //@ assert rounded: (real)difference == rounded_difference((real)cutoff, (real)score[e]);
    /*@ assert inside: e * tokens + i == element(e, tokens, i) && 0 <= e * tokens &&
          element(e, tokens, i) < place(experts, tokens); */
    /*@ assert distinct: \forall integer f, j; 0 <= f < experts && 0 <= j < tokens &&
          (f != e || j != i) ==> element(f, tokens, j) != element(e, tokens, i); */
    required[e * tokens + i] = difference;
  }
  return PHIBAL_OK;
}

/* Token i, of these logits: t is of k + 1 experts, the last of which is cut off. */
static phibal_status token_required(phibal_reference_token *t, const phibal_router *router,
                                    const float *logits, const float *bias, int64_t tokens,
                                    int64_t i, float *required) {
  //@ assert use_enclosure;
  double cutoff = 0;
  phibal_status status = token_cutoff(t, router, logits, bias, &cutoff);
  //@ ghost cut:;
  //@ assert frame_cut: only_two_written{Pre, cut}(&t->term, &t->factor);
  if (status) return status;
  /*@ assert cut: \exists integer j; 0 <= j < t->experts &&
        rank{Pre}(router->gate, logits, bias, j, t->experts) == t->active - 1 &&
        (real)cutoff == router_score{Pre}(router->gate, logits, bias, j); */
  status = phibal_reference_token_select(t, router, logits, NULL);
  //@ assert frame_plain: only_two_written{cut, Here}(&t->term, &t->factor);
  //@ assert frame: only_two_written{Pre, Here}(&t->term, &t->factor);
  if (status) return status;
  //@ ghost scores_of_router(router->gate, t->experts, logits, NULL, t->score);
  /*@ assert scores: \forall integer e; 0 <= e < t->experts ==>
        (real)t->score[e] == router_score{Pre}(router->gate, logits, \null, e); */
  /*@ assert each: \forall integer e; 0 <= e < t->experts ==>
        required_is{Pre}(router->gate, logits, bias, t->experts, t->active - 1, e,
                         rounded_difference((real)cutoff, (real)t->score[e])); */
  return set_differences(t->experts, cutoff, t->score, tokens, i, required);
}

/* required[e][i] = +infinity: token i is padding. */
static void set_infinite(int32_t experts, int64_t tokens, int64_t i, float *required) {
  //@ assert use_place && open_place;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant others: only_token_required{Pre, Here}(required, experts, tokens, i);
      loop invariant value: \forall integer f; 0 <= f < e ==>
        \is_plus_infinity(required[element(f, tokens, i)]);
      loop assigns e, required[0 .. place(experts, tokens) - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    /*@ assert inside: e * tokens + i == element(e, tokens, i) && 0 <= e * tokens &&
          element(e, tokens, i) < place(experts, tokens); */
    /*@ assert distinct: \forall integer f, j; 0 <= f < experts && 0 <= j < tokens &&
          (f != e || j != i) ==> element(f, tokens, j) != element(e, tokens, i); */
    required[e * tokens + i] = INFINITY;
  }
}

/* All tokens; required [E][tokens]. */
static phibal_status tokens_required(phibal_reference_token *t, phibal_router router,
                                     int64_t tokens, const float *logits, const float *bias,
                                     const uint8_t *mask, float *required) {
  //@ assert use_enclosure && use_place && open_place;
  const int32_t experts = t->experts;
  /*@ loop invariant index: 0 <= i <= tokens;
      loop invariant token: token_ready(t) && token_same{Pre, Here}(t);
      loop invariant frame: only_two_written{Pre, Here}(&t->term, &t->factor);
      loop invariant padding: \forall integer j, e; 0 <= j < i && unmasked(mask, j) != 1 &&
        0 <= e < experts ==> \is_plus_infinity(required[element(e, tokens, j)]);
      loop invariant value: \forall integer j, e; 0 <= j < i && unmasked(mask, j) == 1 &&
        0 <= e < experts ==>
          \is_finite(required[element(e, tokens, j)]) &&
          required_is{Pre}(router.gate, logits + place(j, experts), bias, experts,
                           \at(t->active, Pre) - 1, e,
                           (real)\at(required[element(e, tokens, j)], Here));
      loop assigns i, required[0 .. place(tokens, experts) - 1],
                   t->selection[0 .. \at(t->active, Pre) - 1],
                   t->score[0 .. \at(t->experts, Pre) - 1], t->term, t->factor;
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++) {
    //@ assert row: 0 <= place(i, experts) && place(i, experts) + experts <= place(tokens, experts);
    //@ assert here: i * experts == place(i, experts);
    //@ assert turned: place(experts, tokens) == place(tokens, experts);
    if (mask && !mask[i]) {
      set_infinite(experts, tokens, i, required);
      //@ assert padded: unmasked(mask, i) != 1;
      continue;
    }
    //@ assert counted: unmasked(mask, i) == 1;
    /*@ assert scores: \forall integer e; 0 <= e < experts ==>
          score_same{Pre, Here}(router.gate, logits + place(i, experts), bias, e) &&
          score_same{Pre, Here}(router.gate, logits + place(i, experts), \null, e); */
    /*@ ghost
      /@ loop invariant expert: 0 <= j <= experts;
         loop invariant ranks: \forall integer f; 0 <= f < j ==>
           ranks_same{Pre, Here}(router.gate, logits + place(i, experts), bias, f, experts);
         loop assigns j;
         loop variant experts - j; @/
      for (int32_t j = 0; j < experts; j++) {
        /@ loop invariant other: 0 <= n <= experts;
           loop invariant rank:
             ranks_same{Pre, Here}(router.gate, logits + place(i, experts), bias, j, n);
           loop assigns n;
           loop variant experts - n; @/
        for (int32_t n = 0; n < experts; n++) ;
      }
    */
    //@ ghost before: ;
    TRY(token_required(t, &router, logits + i * experts, bias, tokens, i, required));
    /*@ assert mine: \forall integer e; 0 <= e < experts ==>
          required_is{before}(router.gate, logits + place(i, experts), bias, experts,
                              \at(t->active, Pre) - 1, e,
                              (real)\at(required[element(e, tokens, i)], Here)); */
    /*@ assert numbers: \forall integer j, e; 0 <= j < experts && 0 <= e < experts ==>
          required_number{before}(router.gate, logits + place(i, experts), bias, j, e) ==
            required_number{Pre}(router.gate, logits + place(i, experts), bias, j, e); */
    /*@ assert ranks: \forall integer j; 0 <= j < experts ==>
          rank{before}(router.gate, logits + place(i, experts), bias, j, experts) ==
            rank{Pre}(router.gate, logits + place(i, experts), bias, j, experts); */
    /*@ assert own: \forall integer e; 0 <= e < experts ==>
          \is_finite(required[element(e, tokens, i)]) &&
          required_is{Pre}(router.gate, logits + place(i, experts), bias, experts,
                           \at(t->active, Pre) - 1, e,
                           (real)\at(required[element(e, tokens, i)], Here)); */
  }
  return PHIBAL_OK;
}

/* As tokens_required, and allocates the token. */
static phibal_status tokens_required_allocating(phibal_router router, int64_t tokens,
                                                const float *logits, const float *bias,
                                                const uint8_t *mask, float *required) {
  //@ assert use_enclosure;
  phibal_reference_token t;
  TRY(phibal_reference_token_init(&t, router.experts, router.active, REQUIRED_PRECISION));
  /*@ assert elsewhere: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        token_apart(&t, r) && \separated(r, &t) && same{Pre, Here}(r); */
  /*@ assert fields: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        \valid_read(r) && \separated(r, &t.term) && \separated(r, &t.factor); */
  //@ ghost before: ;
  const phibal_status status = tokens_required(&t, router, tokens, logits, bias, mask, required);
  /*@ assert same: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        same{before, Here}(r); */
  /*@ assert left: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        token_apart(&t, r) && same{Pre, Here}(r); */
  //@ ghost token_whole(&t);
  phibal_reference_token_clear(&t);
  return status;
}

phibal_status phibal_reference_quantile_required(const phibal_router *router, int64_t tokens,
                                                 const float *logits, const float *bias,
                                                 const uint8_t *mask, float *required) {
  //@ assert use_enclosure && use_place && open_place;
  const char *name = "phibal_reference_quantile_required";
  if (!router || !logits || !required)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (tokens < 0 || tokens > PHIBAL_REFERENCE_QUANTILE_TOKENS || router->active < 1 ||
      router->active >= router->experts || router->experts > PHIBAL_MAX_EXPERTS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d of %d experts, %lld tokens", name,
                             (int)router->active, (int)router->experts, (long long)tokens);
  if (router->group_score != PHIBAL_GROUP_NONE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: groups of experts", name);
  phibal_router beyond = *router;
  beyond.active++;
  /*@ assert fields: beyond.gate == router->gate && beyond.experts == router->experts &&
        beyond.active == router->active + 1; */
  //@ ghost product_ordered(tokens, PHIBAL_REFERENCE_QUANTILE_TOKENS, router->experts);
  //@ assert size: place(tokens, router->experts) == tokens * router->experts;
  const phibal_status status =
      tokens_required_allocating(beyond, tokens, logits, bias, mask, required);
  /*@ assert rows: \forall integer i; place(i, \at(router->experts, Pre)) ==
        i * \at(router->experts, Pre); */
  /*@ assert value: status == PHIBAL_OK ==> \forall integer i, e; 0 <= i < tokens &&
        unmasked(mask, i) == 1 && 0 <= e < \at(router->experts, Pre) ==>
          \is_finite(required[element(e, tokens, i)]) &&
          required_is{Pre}(\at(router->gate, Pre), logits + i * \at(router->experts, Pre), bias,
                           \at(router->experts, Pre), \at(router->active, Pre), e,
                           (real)\at(required[element(e, tokens, i)], Here)); */
  return status;
}

/* Losses over the tokens that a mask counts: of sequences (L4) and of logsumexps (L5). */
#include "balance_work.h"
#include "loads_results.h"
#include "product.h"

/* t[0] += sum_e count_e mean_e, which is k n_b sum_e f_e P_e of one sequence; t[1..2] are
   temporaries. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(count + (0 .. experts - 1));
    requires vector_input(mean, experts) && vector_output(t, 3);
    requires vectors_apart(mean, experts, t, 3);
    terminates \true;
    exits \false;
    assigns t[0 .. 2];
    ensures vector_output(t, 3) && only_vector_written{Pre, Here}(t, 3);
    ensures \result == PHIBAL_OK ==> \forall sequence s, w, real a;
      members{Pre}(mean, experts, s) && counts_are(count, experts, w) && in{Pre}(t + 0, a) ==>
        in(t + 0, a + dot(s, w, experts)); */
static phibal_status sequence_add(int32_t experts, const int64_t *count,
                                  const phibal_enclosure *mean, phibal_enclosure *t) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(t, 3);
      loop invariant frame: only_vector_written{Pre, Here}(t, 3);
      loop invariant sum: \forall sequence s, w, real a;
        members{Pre}(mean, experts, s) && counts_are(count, experts, w) && in{Pre}(t + 0, a) ==>
          in(t + 0, a + dot(s, w, e));
      loop assigns e, t[0 .. 2];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_set_si(&t[1], (long)count[e]);
    //@ assert mean: same{Pre, Here}(mean + e) && input(mean + e) && vector_apart(mean + e, t, 3);
    /*@ assert terms: \forall sequence s, w, real a;
          members{Pre}(mean, experts, s) && counts_are(count, experts, w) && in{Pre}(t + 0, a) ==>
            in(mean + e, term(s, e)) && in(t + 1, term(w, e)) && in(t + 0, a + dot(s, w, e)); */
    /*@ assert next: \forall sequence s, w, real a;
          a + dot(s, w, e + 1) == a + dot(s, w, e) + term(s, e) * term(w, e); */
    TRY(operation_add_product(&t[0], &mean[e], &t[1], &t[2]));
    /*@ assert summed: \forall sequence s, w, real a;
          members{Pre}(mean, experts, s) && counts_are(count, experts, w) && in{Pre}(t + 0, a) ==>
            in(t + 0, a + dot(s, w, e) + term(s, e) * term(w, e)); */
  }
  return PHIBAL_OK;
}

/*@ // a product that does not overflow; provers match the predicate where they would not a product
    predicate product_fits(integer a, integer b) = a * b <= INT64_MAX;
*/
/* What is needed of products of sizes. */
/*@ ghost
  /@ requires 0 <= sequences && 0 <= length && 1 <= experts;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures 0 <= sequences * length <= sequences * length * experts; @/
  void product_size(int64_t sequences, int64_t length, int32_t experts) {
    /@ assert 0 <= sequences * length; @/
    /@ assert 0 <= (sequences * length) * (experts - 1); @/
  }
*/

/*@ requires tokens >= 0 && (mask != \null ==> \valid_read(mask + (0 .. tokens - 1)));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == tokens_counted(mask, tokens) && 0 <= \result <= tokens; */
static int64_t mask_count(int64_t tokens, const uint8_t *mask) {
  int64_t n = 0;
  /*@ loop invariant index: 0 <= i <= tokens;
      loop invariant counted: n == tokens_counted(mask, i) && 0 <= n <= i;
      loop assigns i, n;
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++) n += !mask || mask[i];
  return n;
}

/* t[0] += k n sum_e f_e P_e of one sequence, *counted = n, its unmasked tokens; mean [E], count [E]
   and t[1..2] are temporaries. */
/*@ requires \valid_read(router) && 1 <= router->experts <= PHIBAL_MAX_EXPERTS;
    requires \separated(router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires token_rows(logits, mask, length, router->experts);
    requires bias != \null ==> \valid_read(bias + (0 .. router->experts - 1));
    requires precision <= MPFR_PREC_MAX;
    requires \valid(count + (0 .. router->experts - 1)) &&
             \separated(count + (0 .. router->experts - 1),
                        count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    requires vector_output(t, 3) && vector_in_use(t, 3);
    requires vector_output(mean, router->experts) && vector_in_use(mean, router->experts);
    requires vectors_apart(t, 3, mean, router->experts) &&
             vectors_apart(mean, router->experts, t, 3);
    requires \valid(counted) && \separated(counted, count + (0 .. router->experts - 1)) &&
             \separated(counted, count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    terminates \true;
    exits \false;
    assigns t[0 .. 2], mean[0 .. router->experts - 1], count[0 .. router->experts - 1], *counted,
            LOADS_ALLOCATED;
    ensures vector_output(t, 3) && still_in_use{Pre, Here};
    ensures vector_output(mean, router->experts);
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, t, 3) && vector_apart(r, mean, router->experts) ==> same{Pre, Here}(r);
    ensures *counted == tokens_counted(mask, length) && 0 <= *counted <= length;
    ensures \result == PHIBAL_OK && 0 < *counted ==> 1 <= router->active <= router->experts; */
static phibal_status sequence_one(const phibal_router *router, int64_t length, const float *logits,
                                  const float *bias, const uint8_t *mask, mpfr_prec_t precision,
                                  int64_t *count, phibal_enclosure *t, phibal_enclosure *mean,
                                  int64_t *counted) {
  //@ assert use_enclosure;
  *counted = mask_count(length, mask);
  if (*counted == 0) return PHIBAL_OK;
  phibal_status status =
      phibal_reference_loads(router, length, logits, bias, mask, precision, mean, count, NULL);
  //@ assert scratch: vector_output(t, 3);
  //@ assert mean: vector_output(mean, router->experts);
  if (status != PHIBAL_OK) return status;
  status = sequence_add(router->experts, count, mean, t);
  //@ assert mean_left: vector_output(mean, router->experts);
  return status;
}

/* Sums (L4) over sequences into t[0], without alpha E / (k n); mean [E], count [E] and t[1..2] are
   temporaries. *counted becomes n. */
/*@ requires \valid_read(router) && 1 <= router->experts <= PHIBAL_MAX_EXPERTS;
    requires \separated(router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires 0 <= sequences && 0 <= length;
    requires 0 < sequences && 0 < length ==>
      token_rows(logits, mask, sequences * length, router->experts);
    requires bias != \null ==> \valid_read(bias + (0 .. router->experts - 1));
    requires precision <= MPFR_PREC_MAX;
    requires \valid(count + (0 .. router->experts - 1)) &&
             \separated(count + (0 .. router->experts - 1),
                        count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    requires vector_output(t, 3) && vector_in_use(t, 3);
    requires vector_output(mean, router->experts) && vector_in_use(mean, router->experts);
    requires vectors_apart(t, 3, mean, router->experts) &&
             vectors_apart(mean, router->experts, t, 3);
    requires \valid(counted) && \separated(counted, count + (0 .. router->experts - 1)) &&
             \separated(counted, count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    terminates \true;
    exits \false;
    assigns t[0 .. 2], mean[0 .. router->experts - 1], count[0 .. router->experts - 1], *counted,
            LOADS_ALLOCATED;
    ensures vector_output(t, 3) && still_in_use{Pre, Here};
    ensures vector_output(mean, router->experts);
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, t, 3) && vector_apart(r, mean, router->experts) ==> same{Pre, Here}(r);
    ensures 0 <= *counted && product_fits(*counted, router->experts);
    ensures \result == PHIBAL_OK && 0 < *counted ==> 1 <= router->active <= router->experts; */
static phibal_status sequence_sum(const phibal_router *router, int64_t sequences, int64_t length,
                                  const float *logits, const float *bias, const uint8_t *mask,
                                  mpfr_prec_t precision, int64_t *count, phibal_enclosure *t,
                                  phibal_enclosure *mean, int64_t *counted) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&t[0], 0);
  //@ assert places: vector_output(t, 3);
  //@ assert mean: vector_output(mean, router->experts);
  *counted = 0;
  //@ assert none: product_fits(*counted, router->experts);
  if (length == 0 || sequences == 0) return PHIBAL_OK;
  const int32_t experts = router->experts;
  //@ ghost product_size(sequences, length, experts);
  //@ ghost int64_t tokens = sequences * length;
  //@ assert rows: token_rows(logits, mask, tokens, experts) && tokens <= TOKEN_LOGITS_MAX;
  //@ assert rows_size: tokens * experts <= TOKEN_LOGITS_MAX;
  /*@ loop invariant index: 0 <= b <= sequences && 0 <= *counted <= b * length;
      loop invariant scratch: vector_output(t, 3) && vector_in_use(t, 3);
      loop invariant mean: vector_output(mean, router->experts) &&
        vector_in_use(mean, router->experts);
      loop invariant used: still_in_use{Pre, Here};
      loop invariant kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
        vector_apart(r, t, 3) && vector_apart(r, mean, router->experts) ==> same{Pre, Here}(r);
      loop invariant experts: router->experts == experts;
      loop invariant fits: product_fits(*counted, experts);
      loop invariant active: 0 < *counted ==> 1 <= router->active <= router->experts;
      loop assigns b, t[0 .. 2], mean[0 .. router->experts - 1], count[0 .. router->experts - 1],
        *counted, LOADS_ALLOCATED;
      loop variant sequences - b; */
  for (int64_t b = 0; b < sequences; b++) {
    //@ ghost product_ordered(b, b + 1, length);
    //@ ghost product_ordered(b + 1, sequences, length);
    //@ assert before: 0 <= b * length && b * length + length <= tokens;
    int64_t n, first = b * length;
    //@ ghost product_ordered(first, first + length, experts);
    //@ ghost product_ordered(first + length, tokens, experts);
    //@ ghost product_ordered(length, tokens, experts);
    /*@ assert row: 0 <= first * experts && first * experts + length * experts <=
          tokens * experts <= TOKEN_LOGITS_MAX; */
    /*@ assert row_there: token_rows(logits + first * experts,
          mask == \null ? mask : mask + first, length, experts); */
    phibal_status status = sequence_one(router, length, logits + first * experts, bias,
                                        mask ? mask + first : NULL, precision, count, t, mean, &n);
    /*@ assert left: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
          vector_apart(r, t, 3) && vector_apart(r, mean, router->experts) ==>
            in_use(r) && same{Pre, Here}(r); */
    //@ assert experts: router->experts == experts;
    if (status != PHIBAL_OK) return status;
    *counted += n;
    //@ ghost product_ordered(*counted, tokens, experts);
    //@ assert fits: product_fits(*counted, experts);
  }
  return PHIBAL_OK;
}

/* loss = alpha E t[0] / (k n). */
/*@ requires \valid_read(router) && 0 < counted && 1 <= router->active <= router->experts;
    requires product_fits(counted, router->experts) && \is_finite(alpha);
    requires vector_output(t, 2) && output(loss) && vector_apart(loss, t, 2);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *loss;
    ensures enclosure(t + 0) && enclosure(t + 1) && enclosure(loss);
    ensures only_three_written{Pre, Here}(loss, t + 0, t + 1);
    ensures \result == PHIBAL_OK ==> \forall real a; in{Pre}(t + 0, a) ==>
      in(loss, (a * (real)alpha * router->experts) / (counted * router->active)); */
static phibal_status sequence_scale(const phibal_router *router, double alpha, int64_t counted,
                                    phibal_enclosure *t, phibal_enclosure *loss) {
  //@ assert use_enclosure;
  phibal_enclosure_set_d(&t[1], alpha);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  //@ assert scaled: \forall real a; in{Pre}(t + 0, a) ==> in(t + 0, a * (real)alpha);
  phibal_enclosure_set_si(&t[1], router->experts);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  /*@ assert product: \forall real a; in{Pre}(t + 0, a) ==>
        in(t + 0, a * (real)alpha * (real)router->experts); */
  //@ ghost product_ordered(1, router->active, counted);
  //@ ghost product_ordered(router->active, router->experts, counted);
  //@ assert positive: 0 < counted * router->active <= counted * router->experts;
  phibal_enclosure_set_si(&t[1], (long)counted * router->active);
  return phibal_enclosure_div(loss, &t[0], &t[1]);
}

phibal_status phibal_reference_sequence_loss(const phibal_router *router, int64_t sequences,
                                             int64_t length, const float *logits, const float *bias,
                                             const uint8_t *mask, double alpha,
                                             mpfr_prec_t precision, phibal_enclosure *loss) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_sequence_loss";
  if (!router || !loss || sequences < 0 || length < 0 || (!logits && sequences > 0 && length > 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or negative shape", name);
  TRY(operation_check_experts(name, router->experts, precision));
  if (!isfinite(alpha))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: alpha = %g; it must be finite", name,
                             alpha);
  int64_t count[PHIBAL_MAX_EXPERTS], counted;
  phibal_enclosure *t, *mean;
  TRY(operation_scratch(name, 3, precision, &t));
  //@ assert scratch: vector_output(t, 3) && vector_in_use(t, 3);
  phibal_status status = operation_scratch(name, (size_t)router->experts, precision, &mean);
  //@ assert kept: vector_output(t, 3) && vector_in_use(t, 3);
  if (status == PHIBAL_OK) {
    //@ assert apart: vectors_apart(t, 3, mean, router->experts);
    //@ assert apart_back: vectors_apart(mean, router->experts, t, 3);
    status = sequence_sum(router, sequences, length, logits, bias, mask, precision, count, t, mean,
                          &counted);
    //@ assert place: output(loss);
    //@ assert place_apart: vector_apart(loss, t, 3) && vector_apart(loss, mean, router->experts);
    /*@ assert apart_loss: \forall integer i; 0 <= i < router->experts ==>
          \separated(mean + i, loss); */
    //@ assert sums: vector_output(t, 3);
    //@ assert means: vector_output(mean, router->experts);
    if (status == PHIBAL_OK && counted > 0)
      status = sequence_scale(router, alpha, counted, t, loss);
    else if (status == PHIBAL_OK)
      phibal_enclosure_set_si(loss, 0);
    //@ assert used: vector_output(t, 3);
    //@ assert means_used: vector_output(mean, router->experts);
    /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
          \separated(r, loss) ==> same{Pre, Here}(r) && vector_apart(r, t, 3) &&
            vector_apart(r, mean, router->experts); */
    operation_scratch_clear(mean, (size_t)router->experts);
    //@ assert left: vector_output(t, 3);
  }
  operation_scratch_clear(t, 3);
  return status;
}

/* t[0] = sum of logsumexp_t^2 over the unmasked tokens; t[1] is a temporary. */
/*@ requires 0 <= tokens && (0 < tokens ==> \valid_read(logsumexp + (0 .. tokens - 1)));
    requires mask != \null ==> \valid_read(mask + (0 .. tokens - 1));
    requires vector_output(t, 2);
    terminates \true;
    exits \false;
    assigns t[0 .. 1];
    ensures enclosure(t + 0) && enclosure(t + 1) && only_two_written{Pre, Here}(t + 0, t + 1);
    ensures \result == PHIBAL_OK ==> in(t + 0, squares(logsumexp, mask, tokens)); */
static phibal_status z_sum(int64_t tokens, const float *logsumexp, const uint8_t *mask,
                           phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&t[0], 0);
  /*@ loop invariant index: 0 <= i <= tokens;
      loop invariant outputs: enclosure(t + 0) && enclosure(t + 1);
      loop invariant frame: only_two_written{Pre, Here}(t + 0, t + 1);
      loop invariant sum: in(t + 0, squares(logsumexp, mask, i));
      loop assigns i, t[0 .. 1];
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++) {
    /*@ assert next: squares(logsumexp, mask, i + 1) == squares(logsumexp, mask, i) +
          (unmasked(mask, i) == 1 ? (real)logsumexp[i] * (real)logsumexp[i] : 0.0); */
    if (mask && !mask[i]) {
      //@ assert skipped: squares(logsumexp, mask, i + 1) == squares(logsumexp, mask, i);
      continue;
    }
    //@ assert unmasked: unmasked(mask, i) == 1;
    if (!isfinite(logsumexp[i]))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "phibal_reference_z_loss: logsumexp of token %lld is %g; it must be "
                               "finite",
                               (long long)i, (double)logsumexp[i]);
    phibal_enclosure_set_d(&t[1], operation_exact_product(logsumexp[i], logsumexp[i]));
    TRY(phibal_enclosure_add(&t[0], &t[0], &t[1]));
    /*@ assert added: in(t + 0, squares(logsumexp, mask, i) +
          (real)logsumexp[i] * (real)logsumexp[i]); */
    //@ assert summed: in(t + 0, squares(logsumexp, mask, i + 1));
  }
  return PHIBAL_OK;
}

/*@ requires vector_output(t, 2) && output(loss) && vector_apart(loss, t, 2);
    requires \is_finite(coefficient) && 0 < n;
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *loss;
    ensures enclosure(t + 0) && enclosure(t + 1) && enclosure(loss);
    ensures only_three_written{Pre, Here}(loss, t + 0, t + 1);
    ensures \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(t + 0, a) ==> in(loss, (a * (real)coefficient) / n); */
static phibal_status z_scale(double coefficient, int64_t n, phibal_enclosure *t,
                             phibal_enclosure *loss) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t[1], coefficient);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  phibal_enclosure_set_si(&t[1], (long)n);
  return phibal_enclosure_div(loss, &t[0], &t[1]);
}

phibal_status phibal_reference_z_loss(int64_t tokens, double coefficient, const float *logsumexp,
                                      const uint8_t *mask, mpfr_prec_t precision,
                                      phibal_enclosure *loss) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_z_loss";
  if (!loss || tokens < 0 || (!logsumexp && tokens > 0) || !isfinite(coefficient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: null argument, %lld tokens or coefficient %g", name,
                             (long long)tokens, coefficient);
  TRY(operation_check_precision(name, precision));
  int64_t n = mask_count(tokens, mask);
  phibal_enclosure *t;
  TRY(operation_scratch(name, 2, precision, &t));
  phibal_status status = z_sum(tokens, logsumexp, mask, t);
  if (status == PHIBAL_OK && n > 0) status = z_scale(coefficient, n, t, loss);
  if (status == PHIBAL_OK && n == 0) phibal_enclosure_set_si(loss, 0);
  //@ assert apart: vector_apart(loss, t, 2);
  /*@ assert value: status == PHIBAL_OK && n > 0 ==>
        in(loss, z_loss((real)coefficient, logsumexp, mask, tokens)); */
  //@ ghost before:;
  operation_scratch_clear(t, 2);
  //@ assert left: same{before, Here}(loss);
  //@ assert counted: n == tokens_counted(mask, tokens);
  /*@ assert value_left: status == PHIBAL_OK && n > 0 ==>
        in(loss, z_loss((real)coefficient, logsumexp, mask, tokens)); */
  return status;
}

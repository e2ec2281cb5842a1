/* Losses over the tokens that a mask counts: of sequences (L4) and of logsumexps (L5). */
#include "balance_work.h"
#include <phibal/acsl/contracts/inside/loads_results.h>
#include <phibal/acsl/contracts/inside/product.h>
#include <phibal/acsl/contracts/inside/sequence_results.h>

/* Temporaries of (L4): counts [E] and mean probabilities [E] of one sequence, and t [3]. */
typedef struct sequence_work {
  int64_t *count;
  phibal_enclosure *mean, *t;
} sequence_work;

#include <phibal/acsl/contracts/inside/token_loss_static.h>

/* t[0] += sum_e count_e mean_e, which is k n_b sum_e f_e P_e of one sequence; t[1..2] are
   temporaries. */
static phibal_status sequence_add(int32_t experts, const int64_t *count,
                                  const phibal_enclosure *mean, phibal_enclosure *t) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(t, 3);
      loop invariant frame: only_vector_written{Pre, Here}(t, 3);
      loop invariant sum:
        \forall integer gate, float *x, float *bias, uint8_t *mask, integer active, length, real a;
          means_held{Pre}(mean, gate, x, mask, experts, length) &&
          counts_held{Pre}(count, gate, x, bias, mask, experts, active, length) && in{Pre}(t + 0,
              a) ==>
            in(t + 0, a + count_dot(gate, x, bias, mask, experts, active, length, e));
      loop assigns e, t[0 .. 2];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_set_si(&t[1], (long)count[e]);
    //@ assert mean: same{Pre, Here}(mean + e) && input(mean + e) && vector_apart(mean + e, t, 3);
    //@ assert count: in(t + 1, (real)count[e]);
    /*@ assert terms:
          \forall integer gate, float *x, float *bias, uint8_t *mask, integer active, length;
            means_held{Pre}(mean, gate, x, mask, experts, length) &&
            counts_held{Pre}(count, gate, x, bias, mask, experts, active, length) ==>
              in(mean + e, mean_probability(gate, x, mask, experts, e, length)) &&
              in(t + 1, (real)selected_count(gate, x, bias, mask, experts, active, e, length)); */
    /*@ assert before:
          \forall integer gate, float *x, float *bias, uint8_t *mask, integer active, length,
            real a;
            means_held{Pre}(mean, gate, x, mask, experts, length) &&
            counts_held{Pre}(count, gate, x, bias, mask, experts, active, length) &&
            in{Pre}(t + 0, a) ==>
              in(t + 0, a + count_dot(gate, x, bias, mask, experts, active, length, e)); */
    /*@ assert next:
          \forall integer gate, float *x, float *bias, uint8_t *mask, integer active, length;
            count_dot(gate, x, bias, mask, experts, active, length, e + 1) ==
              count_dot(gate, x, bias, mask, experts, active, length, e) +
                count_term(selected_count(gate, x, bias, mask, experts, active, e, length),
                           mean_probability(gate, x, mask, experts, e, length)); */
    //@ ghost member: ;
    TRY(operation_add_product(&t[0], &mean[e], &t[1], &t[2]));
    /*@ assert product: \forall real c, m, n; in{member}(t + 0, c) && in{member}(mean + e, m) &&
          in{member}(t + 1, n) ==> in(t + 0, c + m * n); */
    /*@ assert term: \forall integer n, real c, m; in{member}(t + 0, c) &&
          in{member}(mean + e, m) && in{member}(t + 1, (real)n) ==>
            in(t + 0, c + count_term(n, m)); */
    /*@ assert summed:
          \forall integer gate, float *x, float *bias, uint8_t *mask, integer active, length,
            real a;
            means_held{Pre}(mean, gate, x, mask, experts, length) &&
            counts_held{Pre}(count, gate, x, bias, mask, experts, active, length) &&
            in{Pre}(t + 0, a) ==>
              in(t + 0, a + count_dot(gate, x, bias, mask, experts, active, length, e) +
                        count_term(selected_count(gate, x, bias, mask, experts, active, e, length),
                                   mean_probability(gate, x, mask, experts, e, length))); */
  }
  return PHIBAL_OK;
}

static int64_t mask_count(int64_t tokens, const uint8_t *mask) {
  int64_t n = 0;
  /*@ loop invariant index: 0 <= i <= tokens;
      loop invariant counted: n == tokens_counted(mask, i) && 0 <= n <= i;
      loop assigns i, n;
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++) n += !mask || mask[i];
  return n;
}

/* w.t[0] += k n sum_e f_e P_e of one sequence, *counted = n, its unmasked tokens. */
static phibal_status sequence_one(phibal_reference_batch batch, int64_t length,
                                  mpfr_prec_t precision, sequence_work w, int64_t *counted) {
  const phibal_router *router = batch.router;
  //@ assert use_enclosure;
  *counted = mask_count(length, batch.mask);
  if (*counted == 0) return PHIBAL_OK;
  phibal_status status = phibal_reference_loads(batch, length, precision, w.mean, w.count, NULL);
  //@ assert scratch: vector_output(w.t, 3);
  //@ assert mean: vector_output(w.mean, router->experts);
  //@ assert sum_left: same{Pre, Here}(w.t + 0);
  if (status != PHIBAL_OK) return status;
  /*@ assert router_left: router->experts == \at(batch.router->experts, Pre) &&
        router->active == \at(batch.router->active, Pre); */
  /*@ assert held: means_held(w.mean, \at(batch.router->gate, Pre), batch.logits, batch.mask,
        \at(batch.router->experts, Pre), length); */
  /*@ assert counts_held: \at(batch.router->group_score, Pre) == PHIBAL_GROUP_NONE ==>
        counts_held(w.count, \at(batch.router->gate, Pre), batch.logits, batch.bias, batch.mask,
                    \at(batch.router->experts, Pre), \at(batch.router->active, Pre), length); */
  status = sequence_add(router->experts, w.count, w.mean, w.t);
  //@ assert mean_left: vector_output(w.mean, router->experts);
  return status;
}

/* Sums (L4) over sequences into w.t[0], without alpha E / (k n). *counted becomes n. */
static phibal_status sequence_sum(phibal_reference_batch batch, int64_t sequences, int64_t length,
                                  mpfr_prec_t precision, sequence_work w, int64_t *counted) {
  const phibal_router *router = batch.router;
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&w.t[0], 0);
  //@ assert places: vector_output(w.t, 3);
  //@ assert mean: vector_output(w.mean, router->experts);
  *counted = 0;
  //@ assert none: product_fits(*counted, router->experts);
  //@ assert no_length: length == 0 ==> sequences * length == 0;
  //@ assert no_sequences: sequences == 0 ==> sequences * length == 0;
  /*@ assert no_tokens: length == 0 || sequences == 0 ==>
        tokens_counted(batch.mask, sequences * length) == 0; */
  if (length == 0 || sequences == 0) return PHIBAL_OK;
  const int32_t experts = router->experts;
  //@ ghost const int32_t active = router->active;
  //@ ghost const phibal_gate gate = router->gate;
  //@ ghost const phibal_group_score groups = router->group_score;
  //@ ghost product_size(sequences, length, experts);
  //@ ghost int64_t tokens = sequences * length;
  /*@ assert rows: token_rows(batch.logits, batch.mask, tokens, experts) &&
        tokens <= TOKEN_LOGITS_MAX; */
  //@ assert rows_size: tokens * experts <= TOKEN_LOGITS_MAX;
  /*@ loop invariant index: 0 <= b <= sequences && 0 <= *counted <= b * length;
      loop invariant scratch: vector_output(w.t, 3) && vector_in_use(w.t, 3);
      loop invariant mean: vector_output(w.mean, router->experts) &&
        vector_in_use(w.mean, router->experts);
      loop invariant used: still_in_use{Pre, Here};
      loop invariant kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
        vector_apart(r, w.t, 3) && vector_apart(r, w.mean, router->experts) ==> same{Pre, Here}(r);
      loop invariant experts: router->experts == experts;
      loop invariant fits: product_fits(*counted, experts);
      loop invariant active: 0 < *counted ==> 1 <= router->active <= router->experts;
      loop invariant router: router->active == active && router->gate == gate &&
        router->group_score == groups;
      loop invariant tokens: *counted == tokens_counted(batch.mask, b * length);
      loop invariant sum: groups == PHIBAL_GROUP_NONE ==>
        in(w.t + 0, count_shares(gate, batch.logits, batch.bias, batch.mask, experts, active,
                                 length, b));
      loop assigns b, w.t[0 .. 2], w.mean[0 .. router->experts - 1],
        w.count[0 .. router->experts - 1], *counted, LOADS_ALLOCATED;
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
    /*@ assert row_there: token_rows(batch.logits + first * experts,
          batch.mask == \null ? batch.mask : batch.mask + first, length, experts); */
    //@ ghost tokens_joined(batch.mask, first, length);
    /*@ assert next:
          count_shares(gate, batch.logits, batch.bias, batch.mask, experts, active, length,
                       b + 1) ==
          count_shares(gate, batch.logits, batch.bias, batch.mask, experts, active, length, b) +
            count_share(gate, batch.logits + first * experts, batch.bias,
                        mask_from(batch.mask, first), experts, active, length); */
    const phibal_reference_batch sequence = {router, batch.logits + first * experts, batch.bias,
                                             batch.mask ? batch.mask + first : NULL};
    phibal_status status = sequence_one(sequence, length, precision, w, &n);
    /*@ assert left: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
          vector_apart(r, w.t, 3) && vector_apart(r, w.mean, router->experts) ==>
            in_use(r) && same{Pre, Here}(r); */
    //@ assert experts: router->experts == experts;
    /*@ assert router: router->active == active && router->gate == gate &&
          router->group_score == groups; */
    if (status != PHIBAL_OK) return status;
    /*@ assert sum: groups == PHIBAL_GROUP_NONE ==>
          in(w.t + 0, count_shares(gate, batch.logits, batch.bias, batch.mask, experts, active,
                                   length, b + 1)); */
    *counted += n;
    //@ assert tokens: *counted == tokens_counted(batch.mask, (b + 1) * length);
    //@ ghost product_ordered(*counted, tokens, experts);
    //@ assert fits: product_fits(*counted, experts);
  }
  //@ assert all: *counted == tokens_counted(batch.mask, sequences * length);
  return PHIBAL_OK;
}

/* loss = alpha E t[0] / (k n). */
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
  //@ assert divisor: in(t + 1, (real)counted * (real)router->active);
  //@ assert divisor_positive: 0.0 < (real)counted * (real)router->active;
  return phibal_enclosure_div(loss, &t[0], &t[1]);
}

phibal_status phibal_reference_sequence_loss(phibal_reference_batch batch, int64_t sequences,
                                             int64_t length, double alpha, mpfr_prec_t precision,
                                             phibal_enclosure *loss) {
  //@ assert use_enclosure;
  const phibal_router *router = batch.router;
  const char *name = "phibal_reference_sequence_loss";
  if (!router || !loss || sequences < 0 || length < 0 ||
      (!batch.logits && sequences > 0 && length > 0))
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
    status = sequence_sum(batch, sequences, length, precision, (sequence_work){count, mean, t},
                          &counted);
    //@ assert place: output(loss);
    //@ assert place_apart: vector_apart(loss, t, 3) && vector_apart(loss, mean, router->experts);
    /*@ assert apart_loss: \forall integer i; 0 <= i < router->experts ==>
          \separated(mean + i, loss); */
    //@ assert sums: vector_output(t, 3);
    //@ assert means: vector_output(mean, router->experts);
    //@ assert router_left: router->experts == \at(batch.router->experts, Pre);
    if (status == PHIBAL_OK && counted > 0)
      status = sequence_scale(router, alpha, counted, t, loss);
    else if (status == PHIBAL_OK)
      phibal_enclosure_set_si(loss, 0);
    /*@ ghost if (status == PHIBAL_OK && counted > 0)
      shares_scaled(router->gate, batch.logits, batch.bias, batch.mask, router->experts,
                    router->active, length, counted, sequences); */
    //@ ghost sum_unscaled();
    /*@ assert none: status == PHIBAL_OK && counted == 0 ==> in(loss, 0.0); */
    /*@ assert scaled: status == PHIBAL_OK && 0 < counted &&
        \at(batch.router->group_score, Pre) == PHIBAL_GROUP_NONE ==>
            in(loss, summed_loss(count_shares(\at(batch.router->gate, Pre), batch.logits,
                                              batch.bias, batch.mask,
                                              \at(batch.router->experts, Pre),
                                              \at(batch.router->active, Pre), length, sequences),
                                 (real)alpha, \at(batch.router->experts, Pre), counted,
                                 \at(batch.router->active, Pre))); */
    /*@ assert value: status == PHIBAL_OK && 0 < counted &&
        \at(batch.router->group_score, Pre) == PHIBAL_GROUP_NONE ==>
            in(loss, sequence_loss((real)alpha, \at(batch.router->gate, Pre), batch.logits,
                                   batch.bias, batch.mask, \at(batch.router->experts, Pre),
                                   \at(batch.router->active, Pre), length, sequences)); */
    //@ ghost computed: ;
    //@ assert used: vector_output(t, 3);
    //@ assert means_used: vector_output(mean, router->experts);
    /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
          \separated(r, loss) ==> same{Pre, Here}(r) && vector_apart(r, t, 3) &&
            vector_apart(r, mean, router->experts); */
    operation_scratch_clear(mean, (size_t)router->experts);
    //@ assert left: vector_output(t, 3);
    //@ assert loss_left: same{computed, Here}(loss);
  }
  //@ ghost divided: ;
  operation_scratch_clear(t, 3);
  //@ assert loss_same: same{divided, Here}(loss);
  return status;
}

/* t[0] = sum of logsumexp_t^2 over the unmasked tokens; t[1] is a temporary. */
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

/* (L5) loss = coefficient t[0] / n, t[0] the sum of squares; t[1] is a temporary. */
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

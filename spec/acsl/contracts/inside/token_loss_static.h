/* What the static functions of reference/token_loss.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_TOKEN_LOSS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_TOKEN_LOSS_STATIC_H

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(count + (0 .. experts - 1));
    requires vector_input(mean, experts) && vector_output(t, 3);
    requires vectors_apart(mean, experts, t, 3);
    terminates \true;
    exits \false;
    assigns t[0 .. 2];
    ensures vector_output(t, 3) && only_vector_written{Pre, Here}(t, 3);
    ensures sum: \result == PHIBAL_OK ==>
      \forall integer gate, float *x, float *bias, uint8_t *mask, integer active, length,
        real a;
        means_held{Pre}(mean, gate, x, mask, experts, length) &&
        counts_held{Pre}(count, gate, x, bias, mask, experts, active, length) && in{Pre}(t + 0,
            a) ==>
          in(t + 0, a + count_dot(gate, x, bias, mask, experts, active, length, experts)); */
static phibal_status sequence_add(int32_t experts, const int64_t *count,
                                  const phibal_enclosure *mean, phibal_enclosure *t);

/*@ // a product that does not overflow; provers match the predicate where they would not a product
    predicate product_fits(integer a, integer b) = a * b <= INT64_MAX;
    // y is k t x; and what becomes of a sum of counts and means in the end
    predicate is_scaled(real k, real t, real x, real y) = k * (t * x) == y;
    logic real summed_loss(real sum, real alpha, real experts, real total, real active) =
      (sum * alpha * experts) / (total * active);
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
static int64_t mask_count(int64_t tokens, const uint8_t *mask);

/* The unmasked tokens of two parts add up. A sum of counts and means is k T of one of frequencies
   and means, for sequences one by one and together; the loss (L4) comes of it. */
/*@ ghost
  /@ requires 0 <= first && 0 <= length;
     requires mask != \null ==> \valid_read(mask + (first .. first + length - 1));
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures tokens_counted(mask, first + length) ==
       tokens_counted(mask, first) + tokens_counted(mask_from(mask, first), length); @/
  void tokens_joined(const uint8_t *mask, int64_t first, int64_t length) {
    int64_t i = 0;
    /@ loop invariant 0 <= i <= length;
       loop invariant tokens_counted(mask, first + i) ==
         tokens_counted(mask, first) + tokens_counted(mask_from(mask, first), i);
       loop assigns i;
       loop variant length - i; @/
    while (i < length) {
      /@ assert same: unmasked(mask_from(mask, first), i) == unmasked(mask, first + i); @/
      i++;
    }
  }

  /@ requires 0 <= length;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall uint8_t *mask; 0 <= tokens_counted(mask, length); @/
  void tokens_none(int64_t length) {
    int64_t i = 0;
    /@ loop invariant 0 <= i <= length;
       loop invariant \forall uint8_t *mask; 0 <= tokens_counted(mask, i);
       loop assigns i;
       loop variant length - i; @/
    while (i < length) i++;
  }

  /@ requires 1 <= active && 0 <= experts;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall float *x, uint8_t *mask; 0 < tokens_counted(mask, length) ==>
       is_scaled(active, tokens_counted(mask, length),
                 frequency_dot(gate, x, bias, mask, experts, active, length, experts),
                 count_dot(gate, x, bias, mask, experts, active, length, experts)); @/
  void frequencies_scaled(phibal_gate gate, const float *bias, int32_t experts, int32_t active,
                          int64_t length) {
    int32_t e = 0;
    /@ assert none: \forall integer k, t; is_scaled(k, t, 0.0, 0.0); @/
    /@ assert sums: \forall integer k, t, real x, y, u, v; is_scaled(k, t, x, y) &&
         is_scaled(k, t, u, v) ==> is_scaled(k, t, x + u, y + v); @/
    /@ assert quotient: \forall real k, t, c, p; 0.0 < k && 0.0 < t ==>
         k * (t * (c / (t * k) * p)) == c * p; @/
    /@ assert term: \forall integer k, t, c, real p; 0 < k && 0 < t ==>
         is_scaled(k, t, frequency_term(c, k, t, p), count_term(c, p)); @/
    /@ loop invariant 0 <= e <= experts;
       loop invariant \forall float *x, uint8_t *mask; 0 < tokens_counted(mask, length) ==>
         is_scaled(active, tokens_counted(mask, length),
                   frequency_dot(gate, x, bias, mask, experts, active, length, e),
                   count_dot(gate, x, bias, mask, experts, active, length, e));
       loop assigns e;
       loop variant experts - e; @/
    while (e < experts) {
      /@ assert next: \forall float *x, uint8_t *mask; 0 < tokens_counted(mask, length) ==>
           is_scaled(active, tokens_counted(mask, length),
                     frequency_term(selected_count(gate, x, bias, mask, experts, active, e, length),
                                    active, tokens_counted(mask, length),
                                    mean_probability(gate, x, mask, experts, e, length)),
                     count_term(selected_count(gate, x, bias, mask, experts, active, e, length),
                                mean_probability(gate, x, mask, experts, e, length))); @/
      e++;
    }
  }

  /@ requires 1 <= active && 0 <= experts && 0 <= sequences && 0 <= length && 0 < total;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures is_scaled(active, total,
                       sequence_shares(gate, x, bias, mask, experts, active, length, total,
                                       sequences),
                       count_shares(gate, x, bias, mask, experts, active, length, sequences)); @/
  void shares_scaled(phibal_gate gate, const float *x, const float *bias, const uint8_t *mask,
                     int32_t experts, int32_t active, int64_t length, int64_t total,
                     int64_t sequences) {
    int64_t b = 0;
    frequencies_scaled(gate, bias, experts, active, length);
    tokens_none(length);
    /@ assert none: \forall integer k, t; is_scaled(k, t, 0.0, 0.0); @/
    /@ assert sums: \forall integer k, t, real x, y, u, v; is_scaled(k, t, x, y) &&
         is_scaled(k, t, u, v) ==> is_scaled(k, t, x + u, y + v); @/
    /@ assert quotient: \forall real t, n, d; 0.0 < t ==> t * (n / t * d) == n * d; @/
    /@ assert part: \forall integer k, t, n, real d, y; 0 < t && is_scaled(k, n, d, y) ==>
         is_scaled(k, t, part_of(n, t, d), y); @/
    /@ assert empty: \forall integer k, t, real d; 0 < t ==>
         is_scaled(k, t, part_of(0, t, d), 0.0); @/
    /@ assert share_some: \forall float *x, uint8_t *mask; 0 < tokens_counted(mask, length) ==>
         is_scaled(active, total,
                   sequence_share(gate, x, bias, mask, experts, active, length, total),
                   count_share(gate, x, bias, mask, experts, active, length)); @/
    /@ assert share_none: \forall float *x, uint8_t *mask; tokens_counted(mask, length) == 0 ==>
         is_scaled(active, total,
                   sequence_share(gate, x, bias, mask, experts, active, length, total),
                   count_share(gate, x, bias, mask, experts, active, length)); @/
    /@ assert share: \forall float *x, uint8_t *mask;
         is_scaled(active, total,
                   sequence_share(gate, x, bias, mask, experts, active, length, total),
                   count_share(gate, x, bias, mask, experts, active, length)); @/
    /@ loop invariant 0 <= b <= sequences;
       loop invariant is_scaled(active, total,
                                sequence_shares(gate, x, bias, mask, experts, active, length,
                                                total, b),
                                count_shares(gate, x, bias, mask, experts, active, length, b));
       loop assigns b;
       loop variant sequences - b; @/
    while (b < sequences) {
      /@ assert next: is_scaled(active, total,
           sequence_share(gate, x + b * length * experts, bias, mask_from(mask, b * length),
                          experts, active, length, total),
           count_share(gate, x + b * length * experts, bias, mask_from(mask, b * length),
                       experts, active, length)); @/
      b++;
    }
  }

  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall integer k, t, experts, real x, y, alpha; 0 < k && 0 < t &&
       is_scaled(k, t, x, y) ==>
         summed_loss(y, alpha, experts, t, k) == scaled_sum(alpha, experts, x); @/
  void sum_unscaled(void) {
    /@ assert scaled: \forall real k, t, x, y, a, m; 0.0 < k && 0.0 < t && is_scaled(k, t, x, y) ==>
         summed_loss(y, a, m, t, k) == a * m * x; @/
  }
*/

/*@ requires \valid_read(batch.router) && 1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS;
    requires \separated(batch.router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires token_rows(batch.logits, batch.mask, length, batch.router->experts);
    requires batch.bias != \null ==> \valid_read(batch.bias + (0 .. batch.router->experts - 1));
    requires precision <= MPFR_PREC_MAX;
    requires \valid(w.count + (0 .. batch.router->experts - 1)) &&
             \separated(w.count + (0 .. batch.router->experts - 1),
                        count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    requires vector_output(w.t, 3) && vector_in_use(w.t, 3);
    requires vector_output(w.mean, batch.router->experts) &&
             vector_in_use(w.mean, batch.router->experts);
    requires vectors_apart(w.t, 3, w.mean, batch.router->experts) &&
             vectors_apart(w.mean, batch.router->experts, w.t, 3);
    requires \valid(counted) && \separated(counted, w.count + (0 .. batch.router->experts - 1)) &&
             \separated(counted, count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    terminates \true;
    exits \false;
    assigns w.t[0 .. 2], w.mean[0 .. batch.router->experts - 1],
            w.count[0 .. batch.router->experts - 1], *counted, LOADS_ALLOCATED;
    ensures vector_output(w.t, 3) && still_in_use{Pre, Here};
    ensures vector_output(w.mean, batch.router->experts);
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, w.t, 3) && vector_apart(r, w.mean, batch.router->experts) ==>
        same{Pre, Here}(r);
    ensures *counted == tokens_counted(batch.mask, length) && 0 <= *counted <= length;
    ensures \result == PHIBAL_OK && 0 < *counted ==>
      1 <= batch.router->active <= batch.router->experts;
    ensures sum: \result == PHIBAL_OK && \old(batch.router->group_score) == PHIBAL_GROUP_NONE ==>
      \forall real a; in{Pre}(w.t + 0, a) ==>
        in(w.t + 0, a + count_share(\old(batch.router->gate), batch.logits, batch.bias, batch.mask,
                                    \old(batch.router->experts), \old(batch.router->active),
                                    length)); */
static phibal_status sequence_one(phibal_reference_batch batch, int64_t length,
                                  mpfr_prec_t precision, sequence_work w, int64_t *counted);

/*@ requires \valid_read(batch.router) && 1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS;
    requires \separated(batch.router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires 0 <= sequences && 0 <= length;
    requires 0 < sequences && 0 < length ==>
      token_rows(batch.logits, batch.mask, sequences * length, batch.router->experts);
    requires batch.bias != \null ==> \valid_read(batch.bias + (0 .. batch.router->experts - 1));
    requires precision <= MPFR_PREC_MAX;
    requires \valid(w.count + (0 .. batch.router->experts - 1)) &&
             \separated(w.count + (0 .. batch.router->experts - 1),
                        count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    requires vector_output(w.t, 3) && vector_in_use(w.t, 3);
    requires vector_output(w.mean, batch.router->experts) &&
             vector_in_use(w.mean, batch.router->experts);
    requires vectors_apart(w.t, 3, w.mean, batch.router->experts) &&
             vectors_apart(w.mean, batch.router->experts, w.t, 3);
    requires \valid(counted) && \separated(counted, w.count + (0 .. batch.router->experts - 1)) &&
             \separated(counted, count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    terminates \true;
    exits \false;
    assigns w.t[0 .. 2], w.mean[0 .. batch.router->experts - 1],
            w.count[0 .. batch.router->experts - 1], *counted, LOADS_ALLOCATED;
    ensures vector_output(w.t, 3) && still_in_use{Pre, Here};
    ensures vector_output(w.mean, batch.router->experts);
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, w.t, 3) && vector_apart(r, w.mean, batch.router->experts) ==>
        same{Pre, Here}(r);
    ensures 0 <= *counted && product_fits(*counted, batch.router->experts);
    ensures \result == PHIBAL_OK && 0 < *counted ==>
      1 <= batch.router->active <= batch.router->experts;
    ensures tokens: \result == PHIBAL_OK ==>
      *counted == tokens_counted(batch.mask, sequences * length);
    ensures sum: \result == PHIBAL_OK && 0 < *counted &&
      \old(batch.router->group_score) == PHIBAL_GROUP_NONE ==>
        in(w.t + 0, count_shares(\old(batch.router->gate), batch.logits, batch.bias, batch.mask,
                                 \old(batch.router->experts), \old(batch.router->active), length,
                                 sequences)); */
static phibal_status sequence_sum(phibal_reference_batch batch, int64_t sequences, int64_t length,
                                  mpfr_prec_t precision, sequence_work w, int64_t *counted);

/*@ requires \valid_read(router) && 0 < counted && 1 <= router->active <= router->experts;
    requires product_fits(counted, router->experts) && \is_finite(alpha);
    requires vector_output(t, 2) && output(loss) && vector_apart(loss, t, 2);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *loss;
    ensures enclosure(t + 0) && enclosure(t + 1) && enclosure(loss);
    ensures only_three_written{Pre, Here}(loss, t + 0, t + 1);
    ensures \result == PHIBAL_OK ==> \forall real a; in{Pre}(t + 0, a) ==>
      in(loss, summed_loss(a, (real)alpha, router->experts, counted, router->active)); */
static phibal_status sequence_scale(const phibal_router *router, double alpha, int64_t counted,
                                    phibal_enclosure *t, phibal_enclosure *loss);

/*@ requires 0 <= tokens && (0 < tokens ==> \valid_read(logsumexp + (0 .. tokens - 1)));
    requires mask != \null ==> \valid_read(mask + (0 .. tokens - 1));
    requires vector_output(t, 2);
    terminates \true;
    exits \false;
    assigns t[0 .. 1];
    ensures enclosure(t + 0) && enclosure(t + 1) && only_two_written{Pre, Here}(t + 0, t + 1);
    ensures \result == PHIBAL_OK ==> in(t + 0, squares(logsumexp, mask, tokens)); */
static phibal_status z_sum(int64_t tokens, const float *logsumexp, const uint8_t *mask,
                           phibal_enclosure *t);

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
                             phibal_enclosure *loss);

#endif

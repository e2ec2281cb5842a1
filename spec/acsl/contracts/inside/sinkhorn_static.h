/* What the static functions of reference/sinkhorn.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_SINKHORN_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_SINKHORN_STATIC_H

/*@ requires 0 <= tokens && (mask == \null || \valid_read(mask + (0 .. tokens - 1)));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == tokens_counted(mask, tokens) && 0 <= \result <= tokens;
    ensures \result == 0 ==> \forall integer i; 0 <= i < tokens ==> !live(mask, i); */
static int64_t count_live(int64_t tokens, const uint8_t *mask);

/*@ requires 0 <= tokens && 1 <= experts && place(tokens, experts) <= ROUTING_MAX_SLOTS;
    requires \valid_read(logits + (0 .. place(tokens, experts) - 1));
    requires mask == \null || \valid_read(mask + (0 .. tokens - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==>
      logits_real(logits, mask, experts, place(tokens, experts)); */
static phibal_status check_logits(const char *name, int64_t tokens, int32_t experts,
                                  const float *logits, const uint8_t *mask);

/*@ requires 0 <= tokens && 1 <= experts && place(tokens, experts) <= ROUTING_MAX_SLOTS;
    requires \valid_read(logits + (0 .. place(tokens, experts) - 1));
    requires mask == \null || \valid_read(mask + (0 .. tokens - 1));
    requires logits_real(logits, mask, experts, place(tokens, experts));
    requires output(t) && vector_output(plan, place(tokens, experts)) &&
      vector_apart(t, plan, place(tokens, experts));
    terminates \true;
    exits \false;
    assigns *t, plan[0 .. place(tokens, experts) - 1];
    ensures outputs: enclosure(t) && vector_output(plan, place(tokens, experts));
    ensures frame: only_with_vector_written{Pre, Here}(t, plan, place(tokens, experts));
    ensures value: exponentials_held(plan, place(tokens, experts), logits, mask, experts); */
static void set_exponentials(int64_t tokens, int32_t experts, const float *logits,
                             const uint8_t *mask, phibal_enclosure *t, phibal_enclosure *plan);

/*@ requires 0 <= terms && (mask == \null || \valid_read(mask + (0 .. terms - 1)));
    requires line_there(x, first, stride, terms) &&
      line_held(x, first, stride, mask, terms, logits);
    requires vector_input(y, terms) && vector_output(t, 2);
    requires line_apart(t, x, first, stride, terms) && line_apart(t + 1, x, first, stride, terms) &&
      vectors_apart(t, 2, y, terms);
    terminates \true;
    exits \false;
    assigns t[0 .. 1];
    ensures outputs: vector_output(t, 2);
    ensures frame: only_vector_written{Pre, Here}(t, 2);
    ensures sum: \result == PHIBAL_OK ==> \forall sequence s, integer k;
      live_members{Pre}(y, mask, terms, s, k) ==>
        in(t, scaled_sum(logits, first, stride, mask, s, k, terms)); */
static phibal_status sum_line(int64_t terms, const phibal_enclosure *x, int64_t first,
                              int64_t stride, const phibal_enclosure *y, const uint8_t *mask,
                              phibal_enclosure *t) /*@ ghost (const float *logits) */;

/*@ requires vector_output(t, 2) && output(z) && vector_apart(z, t, 2);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *z;
    ensures outputs: vector_output(t, 2) && enclosure(z);
    ensures frame: only_with_vector_written{Pre, Here}(z, t, 2);
    ensures value: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(t, a) ==> in(z, 1.0 / (a * n)); */
static phibal_status invert(int64_t n, phibal_enclosure *t, phibal_enclosure *z);

/*@ requires 0 <= tokens && 1 <= experts && place(tokens, experts) <= ROUTING_MAX_SLOTS;
    requires mask == \null || \valid_read(mask + (0 .. tokens - 1));
    requires vector_output(plan, place(tokens, experts)) &&
      exponentials_held(plan, place(tokens, experts), logits, mask, experts);
    requires vector_output(d, experts) && vector_output(t, 2) && vector_output(r, tokens);
    requires vectors_apart(plan, place(tokens, experts), t, 2) &&
      vectors_apart(t, 2, plan, place(tokens, experts)) &&
      vectors_apart(plan, place(tokens, experts), r, tokens) && vectors_apart(d, experts, t, 2) &&
      vectors_apart(t, 2, d, experts) && vectors_apart(d, experts, r, tokens) &&
      vectors_apart(r, tokens, t, 2) && vectors_apart(t, 2, r, tokens);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], r[0 .. tokens - 1];
    ensures outputs: vector_output(t, 2) && vector_output(r, tokens);
    ensures frame: \forall phibal_enclosure *x; \valid_read{Pre}(x) && vector_apart(x, t, 2) &&
      vector_apart(x, r, tokens) ==> same{Pre, Here}(x);
    ensures value: \result == PHIBAL_OK ==> \forall sequence s, integer k, i;
      members_from{Pre}(d, experts, s, k) && 0 <= i < tokens && live(mask, i) ==>
        in(r + i, scaling(logits, place(i, experts), 1, \null, s, k, experts, live)); */
static phibal_status scale_rows(int64_t live, int64_t tokens, int32_t experts, const uint8_t *mask,
                                const phibal_enclosure *plan, const phibal_enclosure *d,
                                phibal_enclosure *t, phibal_enclosure *r)
/*@ ghost (const float *logits) */;

/*@ requires 0 <= tokens && 1 <= experts && place(tokens, experts) <= ROUTING_MAX_SLOTS;
    requires mask == \null || \valid_read(mask + (0 .. tokens - 1));
    requires vector_output(plan, place(tokens, experts)) &&
      exponentials_held(plan, place(tokens, experts), logits, mask, experts);
    requires vector_output(r, tokens) && vector_output(t, 2) && vector_output(d, experts);
    requires vectors_apart(plan, place(tokens, experts), t, 2) &&
      vectors_apart(t, 2, plan, place(tokens, experts)) &&
      vectors_apart(plan, place(tokens, experts), d, experts) && vectors_apart(r, tokens, t, 2) &&
      vectors_apart(t, 2, r, tokens) && vectors_apart(r, tokens, d, experts) &&
      vectors_apart(d, experts, t, 2) && vectors_apart(t, 2, d, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], d[0 .. experts - 1];
    ensures outputs: vector_output(t, 2) && vector_output(d, experts);
    ensures frame: \forall phibal_enclosure *x; \valid_read{Pre}(x) && vector_apart(x, t, 2) &&
      vector_apart(x, d, experts) ==> same{Pre, Here}(x);
    ensures value: \result == PHIBAL_OK ==> \forall sequence s, integer k, e;
      live_members{Pre}(r, mask, tokens, s, k) && 0 <= e < experts ==>
        in(d + e, scaling(logits, e, experts, mask, s, k, tokens, experts)); */
static phibal_status scale_columns(int64_t tokens, int32_t experts, const uint8_t *mask,
                                   const phibal_enclosure *plan, const phibal_enclosure *r,
                                   phibal_enclosure *t, phibal_enclosure *d)
/*@ ghost (const float *logits) */;

/* What the scratch of sinkhorn_rounds is: r, d, and two temporaries. */
/*@ predicate sinkhorn_scratch{L}(phibal_enclosure *r, integer tokens, phibal_enclosure *d,
                                  integer experts, phibal_enclosure *t, phibal_enclosure *plan,
                                  integer n) =
      vector_output(r, tokens) && vector_output(d, experts) && vector_output(t, 2) &&
      vector_output(plan, n);
    predicate sinkhorn_apart(phibal_enclosure *r, integer tokens, phibal_enclosure *d,
                             integer experts, phibal_enclosure *t, phibal_enclosure *plan,
                             integer n) =
      vectors_apart(plan, n, t, 2) && vectors_apart(t, 2, plan, n) &&
      vectors_apart(plan, n, r, tokens) && vectors_apart(plan, n, d, experts) &&
      vectors_apart(d, experts, t, 2) && vectors_apart(t, 2, d, experts) &&
      vectors_apart(r, tokens, t, 2) && vectors_apart(t, 2, r, tokens) &&
      vectors_apart(d, experts, r, tokens) && vectors_apart(r, tokens, d, experts); */

/*@ requires 0 <= tokens && 1 <= experts && place(tokens, experts) <= ROUTING_MAX_SLOTS;
    requires mask == \null || \valid_read(mask + (0 .. tokens - 1));
    requires sinkhorn_scratch(r, tokens, d, experts, t, plan, place(tokens, experts)) &&
      sinkhorn_apart(r, tokens, d, experts, t, plan, place(tokens, experts));
    requires exponentials_held(plan, place(tokens, experts), logits, mask, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], r[0 .. tokens - 1], d[0 .. experts - 1];
    ensures outputs: vector_output(t, 2) && vector_output(r, tokens) && vector_output(d, experts);
    ensures frame: \forall phibal_enclosure *x; \valid_read{Pre}(x) && vector_apart(x, t, 2) &&
      vector_apart(x, r, tokens) && vector_apart(x, d, experts) ==> same{Pre, Here}(x);
    ensures rows: \result == PHIBAL_OK ==> \forall sequence u, v, integer round;
      members_from{Pre}(d, experts, u, place(round, experts)) &&
      rows_follow(u, v, logits, mask, tokens, experts, live, round) ==>
        live_members(r, mask, tokens, v, place(round, tokens));
    ensures columns: \result == PHIBAL_OK ==> \forall sequence u, v, integer round;
      members_from{Pre}(d, experts, u, place(round, experts)) &&
      rows_follow(u, v, logits, mask, tokens, experts, live, round) &&
      columns_follow(u, v, logits, mask, tokens, experts, round) ==>
        members_from(d, experts, u, place(round + 1, experts)); */
static phibal_status sinkhorn_round(int64_t live, int64_t tokens, int32_t experts,
                                    const uint8_t *mask, const phibal_enclosure *plan,
                                    phibal_enclosure *t, phibal_enclosure *r, phibal_enclosure *d)
/*@ ghost (const float *logits) */;

/*@ requires 0 <= tokens && 1 <= experts && place(tokens, experts) <= ROUTING_MAX_SLOTS;
    requires mask == \null || \valid_read(mask + (0 .. tokens - 1));
    requires vector_output(plan, place(tokens, experts)) && vector_output(r, tokens) &&
      vector_output(d, experts);
    requires vectors_apart(r, tokens, plan, place(tokens, experts)) &&
      vectors_apart(d, experts, plan, place(tokens, experts)) &&
      vectors_apart(plan, place(tokens, experts), r, tokens) &&
      vectors_apart(plan, place(tokens, experts), d, experts);
    requires exponentials_held(plan, place(tokens, experts), logits, mask, experts);
    terminates \true;
    exits \false;
    assigns plan[0 .. place(tokens, experts) - 1];
    ensures outputs: vector_output(plan, place(tokens, experts));
    ensures frame: only_vector_written{Pre, Here}(plan, place(tokens, experts));
    ensures padding: \result == PHIBAL_OK ==> \forall integer m;
      0 <= m < place(tokens, experts) && !live(mask, m / experts) ==> in(plan + m, 0.0);
    ensures value: \result == PHIBAL_OK ==> \forall sequence u, v, integer k, l;
      live_members{Pre}(r, mask, tokens, v, k) && members_from{Pre}(d, experts, u, l) ==>
        plan_held(plan, place(tokens, experts), u, v, logits, mask, experts, k, l); */
static phibal_status scale_plan(int64_t tokens, int32_t experts, const uint8_t *mask,
                                const phibal_enclosure *r, const phibal_enclosure *d,
                                phibal_enclosure *plan) /*@ ghost (const float *logits) */;

/*@ requires 0 <= tokens && 1 <= experts && 1 <= rounds &&
      place(tokens, experts) <= ROUTING_MAX_SLOTS;
    requires mask == \null || \valid_read(mask + (0 .. tokens - 1));
    requires sinkhorn_scratch(r, tokens, d, experts, t, plan, place(tokens, experts)) &&
      sinkhorn_apart(r, tokens, d, experts, t, plan, place(tokens, experts));
    requires exponentials_held(plan, place(tokens, experts), logits, mask, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], r[0 .. tokens - 1], d[0 .. experts - 1],
            plan[0 .. place(tokens, experts) - 1];
    ensures outputs: vector_output(plan, place(tokens, experts));
    ensures scratch: vector_output(t, 2) && vector_output(r, tokens) && vector_output(d, experts);
    ensures frame: \forall phibal_enclosure *x; \valid_read{Pre}(x) && vector_apart(x, t, 2) &&
      vector_apart(x, r, tokens) && vector_apart(x, d, experts) &&
      vector_apart(x, plan, place(tokens, experts)) ==> same{Pre, Here}(x);
    ensures value: \result == PHIBAL_OK ==> \forall sequence p, q;
      scalings(p, q, logits, mask, tokens, experts, tokens_counted(mask, tokens), rounds) ==>
        plan_held(plan, place(tokens, experts), p, q, logits, mask, experts,
                  place(rounds - 1, tokens), place(rounds, experts)); */
static phibal_status sinkhorn_rounds(int64_t tokens, int32_t experts, int32_t rounds,
                                     const uint8_t *mask, phibal_enclosure *plan,
                                     phibal_enclosure *t, phibal_enclosure *r, phibal_enclosure *d)
/*@ ghost (const float *logits) */;

#endif

/* Sinkhorn's scaling (L10): the equation, round by round. */
#include "operation.h"
#include <phibal/reference_sinkhorn.h>
#include <phibal/acsl/contracts/inside/sinkhorn_static.h>

/* How many tokens are no padding. */
static int64_t count_live(int64_t tokens, const uint8_t *mask) {
  int64_t count = 0;
  /*@ loop invariant index: 0 <= i <= tokens;
      loop invariant count: count == tokens_counted(mask, i) && 0 <= count <= i;
      loop invariant none: count == 0 ==> \forall integer j; 0 <= j < i ==> !live(mask, j);
      loop assigns i, count;
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++)
    if (!mask || mask[i]) count++;
  return count;
}

/* The logits of tokens that are no padding are finite. */
static phibal_status check_logits(const char *name, int64_t tokens, int32_t experts,
                                  const float *logits, const uint8_t *mask) {
  //@ assert use_place && open_place;
  const int64_t n = tokens * experts;
  //@ assert n: n == place(tokens, experts);
  /*@ loop invariant index: 0 <= m <= n;
      loop invariant finite: logits_real(logits, mask, experts, m);
      loop assigns m;
      loop variant n - m; */
  for (int64_t m = 0; m < n; m++) {
    //@ assert token: 0 <= m / experts < tokens && 0 <= m % experts < experts;
    if ((!mask || mask[m / experts]) && !isfinite(logits[m]))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "%s: logit %d of token %lld is %g; it must be finite", name,
                               (int)(m % experts), (long long)(m / experts), (double)logits[m]);
  }
  return PHIBAL_OK;
}

/* plan = exp(logits), but for padding. */
static void set_exponentials(int64_t tokens, int32_t experts, const float *logits,
                             const uint8_t *mask, phibal_enclosure *t, phibal_enclosure *plan) {
  //@ assert use_enclosure && use_place && open_place;
  const int64_t n = tokens * experts;
  //@ assert n: n == place(tokens, experts);
  /*@ loop invariant index: 0 <= m <= n;
      loop invariant outputs: enclosure(t) && vector_output(plan, n);
      loop invariant frame: only_with_vector_written{Pre, Here}(t, plan, n);
      loop invariant value: exponentials_held(plan, m, logits, mask, experts);
      loop assigns m, *t, plan[0 .. n - 1];
      loop variant n - m; */
  for (int64_t m = 0; m < n; m++) {
    //@ assert token: 0 <= m / experts < tokens && 0 <= m % experts < experts;
    if (mask && !mask[m / experts]) continue;
    operation_set_float(t, logits[m]);
    phibal_enclosure_exp(&plan[m], t);
    //@ assert before: \forall integer j; 0 <= j < m ==> same{LoopCurrent, Here}(plan + j);
  }
}

/* t[0] = the sum of the products of x, from `first` on stride by stride, and y, over those that are
   no padding; t[1] is a temporary. */
static phibal_status sum_line(int64_t terms, const phibal_enclosure *x, int64_t first,
                              int64_t stride, const phibal_enclosure *y, const uint8_t *mask,
                              phibal_enclosure *t) /*@ ghost (const float *logits) */ {
  //@ assert use_enclosure && use_place && open_place;
  //@ assert one: output(t + 0);
  //@ assert two: output(t + 1);
  //@ assert apart: vector_apart(t + 0, y, terms) && vector_apart(t + 1, y, terms);
  phibal_enclosure_set_si(t, 0);
  /*@ loop invariant index: 0 <= i <= terms;
      loop invariant outputs: enclosure(t + 0) && enclosure(t + 1);
      loop invariant frame: only_two_written{Pre, Here}(t + 0, t + 1);
      loop invariant sum: \forall sequence s, integer k; live_members{Pre}(y, mask, terms, s, k) ==>
        in(t + 0, scaled_sum(logits, first, stride, mask, s, k, i));
      loop assigns i, t[0 .. 1];
      loop variant terms - i; */
  for (int64_t i = 0; i < terms; i++) {
    if (mask && !mask[i]) continue;
    //@ assert there: input(x + (first + place(i, stride))) && address(first + place(i, stride));
    //@ assert given: same{Pre, Here}(x + (first + place(i, stride))) && same{Pre, Here}(y + i);
    /*@ assert number: in(x + (first + place(i, stride)),
                          exponential_at(logits, first + place(i, stride))); */
    TRY(phibal_enclosure_mul(t + 1, x + (first + i * stride), y + i));
    /*@ assert product: \forall sequence s, integer k; live_members{Pre}(y, mask, terms, s, k) ==>
          in(t + 1, exponential_at(logits, first + place(i, stride)) * term(s, k + i)); */
    TRY(phibal_enclosure_add(t, t, t + 1));
  }
  return PHIBAL_OK;
}

/* z = 1 / (n t[0]); t[1] is a temporary. PHIBAL_ERROR_UNDECIDED where t[0] may be 0. */
static phibal_status invert(int64_t n, phibal_enclosure *t, phibal_enclosure *z) {
  //@ assert use_enclosure;
  //@ assert one: output(t + 0);
  //@ assert two: output(t + 1);
  phibal_enclosure_set_si(t + 1, n);
  TRY(phibal_enclosure_mul(t, t, t + 1));
  //@ assert divisor: \forall real a; in{Pre}(t, a) ==> in(t + 0, a * n);
  if (phibal_enclosure_contains_zero(t))
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "a row or column of the plan may be 0");
  //@ assert some: \forall real a; in(t + 0, a) ==> a != 0.0;
  //@ ghost divisor:;
  phibal_enclosure_set_si(t + 1, 1);
  //@ assert kept: same{divisor, Here}(t + 0);
  return phibal_enclosure_div(z, t + 1, t);
}

/* (L10): r of each token that is no padding, from d. */
static phibal_status scale_rows(int64_t live, int64_t tokens, int32_t experts, const uint8_t *mask,
                                const phibal_enclosure *plan, const phibal_enclosure *d,
                                phibal_enclosure *t, phibal_enclosure *r)
/*@ ghost (const float *logits) */ {
  //@ assert use_enclosure && use_place && open_place;
  /*@ loop invariant index: 0 <= i <= tokens;
      loop invariant outputs: vector_output(t, 2) && vector_output(r, tokens);
      loop invariant frame: \forall phibal_enclosure *x; \valid_read{Pre}(x) &&
        vector_apart(x, t, 2) && vector_apart(x, r, tokens) ==> same{Pre, Here}(x);
      loop invariant value: \forall sequence s, integer k, j;
        members_from{Pre}(d, experts, s, k) && 0 <= j < i && live(mask, j) ==>
          in(r + j, scaling(logits, place(j, experts), 1, \null, s, k, experts, live));
      loop assigns i, t[0 .. 1], r[0 .. tokens - 1];
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++) {
    if (mask && !mask[i]) continue;
    //@ assert row: 0 <= place(i, experts) && place(i, experts) + experts <= place(tokens, experts);
    //@ assert place: i * experts == place(i, experts);
    //@ assert given: vector_same{Pre, Here}(plan, place(tokens, experts));
    //@ assert columns: vector_same{Pre, Here}(d, experts) && vector_input(d, experts);
    /*@ assert inside: \forall integer j; 0 <= j < experts ==>
          0 <= place(i, experts) + j < place(tokens, experts); */
    /*@ assert whole: \forall integer j; 0 <= j < experts ==>
          place((place(i, experts) + j) / experts, experts) + (place(i, experts) + j) % experts ==
            place(i, experts) + j; */
    /*@ assert quotient: \forall integer j; 0 <= j < experts ==>
          (place(i, experts) + j) / experts == i; */
    /*@ assert each: \forall integer j; 0 <= j < experts ==>
          input(plan + (place(i, experts) + j)) &&
          in(plan + (place(i, experts) + j), exponential_at(logits, place(i, experts) + j)); */
    //@ assert there: line_there(plan, place(i, experts), 1, experts);
    //@ assert held: line_held(plan, place(i, experts), 1, \null, experts, logits);
    /*@ assert apart: line_apart(t + 0, plan, place(i, experts), 1, experts) &&
          line_apart(t + 1, plan, place(i, experts), 1, experts); */
    /*@ assert members: \forall sequence s, integer k; members_from{Pre}(d, experts, s, k) ==>
          live_members(d, \null, experts, s, k); */
    TRY(sum_line(experts, plan, i * experts, 1, d, NULL, t) /*@ ghost (logits) */);
    TRY(invert(live, t, &r[i]));
    /*@ assert now: \forall sequence s, integer k; members_from{Pre}(d, experts, s, k) ==>
          in(r + i, scaling(logits, place(i, experts), 1, \null, s, k, experts, live)); */
    /*@ assert before: \forall integer j; 0 <= j < tokens && j != i ==>
          same{LoopCurrent, Here}(r + j); */
  }
  return PHIBAL_OK;
}

/* (L10): d of each expert, from r. */
static phibal_status scale_columns(int64_t tokens, int32_t experts, const uint8_t *mask,
                                   const phibal_enclosure *plan, const phibal_enclosure *r,
                                   phibal_enclosure *t, phibal_enclosure *d)
/*@ ghost (const float *logits) */ {
  //@ assert use_enclosure && use_place && open_place;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(t, 2) && vector_output(d, experts);
      loop invariant frame: \forall phibal_enclosure *x; \valid_read{Pre}(x) &&
        vector_apart(x, t, 2) && vector_apart(x, d, experts) ==> same{Pre, Here}(x);
      loop invariant value: \forall sequence s, integer k, j;
        live_members{Pre}(r, mask, tokens, s, k) && 0 <= j < e ==>
          in(d + j, scaling(logits, j, experts, mask, s, k, tokens, experts));
      loop assigns e, t[0 .. 1], d[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    //@ assert given: vector_same{Pre, Here}(plan, place(tokens, experts));
    //@ assert rows: vector_same{Pre, Here}(r, tokens) && vector_input(r, tokens);
    /*@ assert ends: \forall integer i; 0 <= i < tokens ==>
          0 <= place(i, experts) && place(i, experts) + experts <= place(tokens, experts); */
    /*@ assert inside: \forall integer i; 0 <= i < tokens ==>
          0 <= e + place(i, experts) < place(tokens, experts); */
    /*@ assert whole: \forall integer i; 0 <= i < tokens ==>
          place((e + place(i, experts)) / experts, experts) + (e + place(i, experts)) % experts ==
            e + place(i, experts); */
    /*@ assert quotient: \forall integer i; 0 <= i < tokens ==>
          (e + place(i, experts)) / experts == i; */
    /*@ assert each: \forall integer i; 0 <= i < tokens && live(mask, i) ==>
          in(plan + (e + place(i, experts)), exponential_at(logits, e + place(i, experts))); */
    //@ assert there: line_there(plan, e, experts, tokens);
    //@ assert held: line_held(plan, e, experts, mask, tokens, logits);
    /*@ assert apart: line_apart(t + 0, plan, e, experts, tokens) &&
          line_apart(t + 1, plan, e, experts, tokens); */
    /*@ assert members: \forall sequence s, integer k; live_members{Pre}(r, mask, tokens, s, k) ==>
          live_members(r, mask, tokens, s, k); */
    TRY(sum_line(tokens, plan, e, experts, r, mask, t) /*@ ghost (logits) */);
    TRY(invert(experts, t, &d[e]));
    /*@ assert now: \forall sequence s, integer k; live_members{Pre}(r, mask, tokens, s, k) ==>
          in(d + e, scaling(logits, e, experts, mask, s, k, tokens, experts)); */
    /*@ assert before: \forall integer j; 0 <= j < experts && j != e ==>
          same{LoopCurrent, Here}(d + j); */
  }
  return PHIBAL_OK;
}

/* One round: r from d, then d from r. */
static phibal_status sinkhorn_round(int64_t live, int64_t tokens, int32_t experts,
                                    const uint8_t *mask, const phibal_enclosure *plan,
                                    phibal_enclosure *t, phibal_enclosure *r, phibal_enclosure *d)
/*@ ghost (const float *logits) */ {
  //@ assert use_enclosure && use_place && open_place;
  phibal_status status =
      scale_rows(live, tokens, experts, mask, plan, d, t, r) /*@ ghost (logits) */;
  //@ ghost one:;
  //@ assert plan_one: vector_same{Pre, one}(plan, place(tokens, experts));
  //@ assert columns_one: vector_same{Pre, one}(d, experts) && vector_output(d, experts);
  /*@ assert plan_there: vector_output(plan, place(tokens, experts)) &&
        exponentials_held(plan, place(tokens, experts), logits, mask, experts); */
  /*@ assert rows_one: status == PHIBAL_OK ==> \forall sequence u, v, integer round;
        members_from{Pre}(d, experts, u, place(round, experts)) &&
        rows_follow(u, v, logits, mask, tokens, experts, live, round) ==>
          live_members(r, mask, tokens, v, place(round, tokens)); */
  if (status) return status;
  status = scale_columns(tokens, experts, mask, plan, r, t, d) /*@ ghost (logits) */;
  //@ assert rows_two: vector_same{one, Here}(r, tokens) && vector_output(r, tokens);
  return status;
}

/* plan = r plan d, row by row and column by column, and 0 for padding. */
static phibal_status scale_plan(int64_t tokens, int32_t experts, const uint8_t *mask,
                                const phibal_enclosure *r, const phibal_enclosure *d,
                                phibal_enclosure *plan) /*@ ghost (const float *logits) */ {
  //@ assert use_enclosure && use_place && open_place;
  const int64_t n = tokens * experts;
  //@ assert n: n == place(tokens, experts);
  /*@ loop invariant index: 0 <= m <= n;
      loop invariant outputs: vector_output(plan, n);
      loop invariant frame: only_vector_written{Pre, Here}(plan, n);
      loop invariant value: \forall sequence u, v, integer k, l;
        live_members{Pre}(r, mask, tokens, v, k) && members_from{Pre}(d, experts, u, l) ==>
          plan_held(plan, m, u, v, logits, mask, experts, k, l);
      loop invariant padding: \forall integer j; 0 <= j < m && !live(mask, j / experts) ==>
        in(plan + j, 0.0);
      loop invariant later: \forall integer j; m <= j < n ==> same{Pre, Here}(plan + j);
      loop assigns m, plan[0 .. n - 1];
      loop variant n - m; */
  for (int64_t m = 0; m < n; m++) {
    //@ assert token: 0 <= m / experts < tokens && 0 <= m % experts < experts;
    //@ assert row: same{Pre, Here}(r + m / experts) && input(r + m / experts);
    //@ assert column: same{Pre, Here}(d + m % experts) && input(d + m % experts);
    /*@ assert apart: \separated(plan + m, r + m / experts) &&
          \separated(plan + m, d + m % experts); */
    if (mask && !mask[m / experts])
      phibal_enclosure_set_si(&plan[m], 0);
    else {
      //@ assert exponential: in(plan + m, exponential_at(logits, m));
      TRY(phibal_enclosure_mul(&plan[m], &plan[m], &r[m / experts]));
      /*@ assert scaled: \forall sequence v, integer k; live_members{Pre}(r, mask, tokens, v, k) ==>
            in(plan + m, exponential_at(logits, m) * term(v, k + m / experts)); */
      //@ assert column_kept: same{Pre, Here}(d + m % experts) && input(d + m % experts);
      TRY(phibal_enclosure_mul(&plan[m], &plan[m], &d[m % experts]));
    }
    /*@ assert now: \forall sequence u, v, integer k, l;
          live_members{Pre}(r, mask, tokens, v, k) && members_from{Pre}(d, experts, u, l) ==>
            in(plan + m, plan_at(u, v, logits, mask, experts, k, l, m)); */
    /*@ assert before: \forall integer j; 0 <= j < n && j != m ==>
          same{LoopCurrent, Here}(plan + j); */
  }
  return PHIBAL_OK;
}

/* plan, which holds exponentials, is scaled by so many rounds; t [2], r [T], d [E] are scratch. */
static phibal_status sinkhorn_rounds(int64_t tokens, int32_t experts, int32_t rounds,
                                     const uint8_t *mask, phibal_enclosure *plan,
                                     phibal_enclosure *t, phibal_enclosure *r, phibal_enclosure *d)
/*@ ghost (const float *logits) */ {
  //@ assert use_enclosure && use_place && open_place;
  const int64_t live = count_live(tokens, mask);
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(d, experts);
      loop invariant frame: only_vector_written{Pre, Here}(d, experts);
      loop invariant ones: \forall integer j; 0 <= j < e ==> in(d + j, 1.0);
      loop assigns e, d[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_set_si(&d[e], 1);
    //@ assert before: \forall integer j; 0 <= j < e ==> same{LoopCurrent, Here}(d + j);
  }
  //@ ghost begun:;
  //@ assert plan_begun: vector_same{Pre, begun}(plan, place(tokens, experts));
  //@ assert temporaries_begun: vector_same{Pre, begun}(t, 2) && vector_output(t, 2);
  //@ assert rows_begun: vector_same{Pre, begun}(r, tokens) && vector_output(r, tokens);
  //@ assert ones: \forall integer e; 0 <= e < experts ==> in(d + e, 1.0);
  /*@ assert columns_each: \forall sequence p, integer e; columns_begin(p, experts) &&
        0 <= e < experts ==>
          term(p, place(0, experts) + e) == 1.0 && in(d + e, term(p, place(0, experts) + e)); */
  /*@ assert columns_begun: \forall sequence p; columns_begin(p, experts) ==>
        members_from(d, experts, p, place(0, experts)); */
  /*@ loop invariant index: 0 <= round <= rounds;
      loop invariant temporaries: vector_output(t, 2);
      loop invariant rows: vector_output(r, tokens);
      loop invariant columns: vector_output(d, experts);
      loop invariant frame: \forall phibal_enclosure *x; \valid_read{Pre}(x) &&
        vector_apart(x, t, 2) && vector_apart(x, r, tokens) && vector_apart(x, d, experts) ==>
          same{Pre, Here}(x);
      loop invariant held: \forall sequence p, q;
        scalings(p, q, logits, mask, tokens, experts, live, rounds) ==>
          members_from(d, experts, p, place(round, experts));
      loop invariant held_rows: 0 < round ==> \forall sequence p, q;
        scalings(p, q, logits, mask, tokens, experts, live, rounds) ==>
          live_members(r, mask, tokens, q, place(round - 1, tokens));
      loop assigns round, t[0 .. 1], r[0 .. tokens - 1], d[0 .. experts - 1];
      loop variant rounds - round; */
  for (int32_t round = 0; live > 0 && round < rounds; round++) {
    //@ assert plan_same: vector_same{Pre, Here}(plan, place(tokens, experts));
    //@ assert plan_there: vector_output(plan, place(tokens, experts));
    //@ assert plan_held: exponentials_held(plan, place(tokens, experts), logits, mask, experts);
    /*@ assert follow: \forall sequence p, q;
          scalings(p, q, logits, mask, tokens, experts, live, rounds) ==>
            rows_follow(p, q, logits, mask, tokens, experts, live, round) &&
            columns_follow(p, q, logits, mask, tokens, experts, round); */
    TRY(sinkhorn_round(live, tokens, experts, mask, plan, t, r, d) /*@ ghost (logits) */);
  }
  //@ ghost scaled:;
  //@ assert plan_same: vector_same{Pre, Here}(plan, place(tokens, experts));
  //@ assert plan_there: vector_output(plan, place(tokens, experts));
  //@ assert plan_held: exponentials_held(plan, place(tokens, experts), logits, mask, experts);
  phibal_status status = scale_plan(tokens, experts, mask, r, d, plan) /*@ ghost (logits) */;
  //@ assert temporaries_kept: vector_same{scaled, Here}(t, 2) && vector_output(t, 2);
  //@ assert rows_kept: vector_same{scaled, Here}(r, tokens) && vector_output(r, tokens);
  //@ assert columns_kept: vector_same{scaled, Here}(d, experts) && vector_output(d, experts);
  return status;
}

phibal_status phibal_reference_sinkhorn(int64_t tokens, int32_t experts, int32_t rounds,
                                        const float *logits, const uint8_t *mask,
                                        mpfr_prec_t precision, phibal_enclosure *plan) {
  const char *name = "phibal_reference_sinkhorn";
  //@ assert use_enclosure && use_place && open_place;
  if (tokens < 0 || rounds < 1 || !logits || !plan)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %lld tokens, %d rounds, or a null argument", name,
                             (long long)tokens, (int)rounds);
  TRY(operation_check_experts(name, experts, precision));
  TRY(check_logits(name, tokens, experts, logits, mask));
  //@ assert none: place(0, experts) == 0;
  if (tokens == 0) return PHIBAL_OK;
  //@ assert tokens: tokens <= place(tokens, experts);
  phibal_enclosure *t, *r, *d;
  TRY(operation_scratch(name, 2, precision, &t));
  //@ ghost with_t:;
  //@ assert t_given: vector_output(t, 2) && vector_in_use(t, 2);
  //@ assert t_fresh: \forall phibal_enclosure *x; in_use{Pre}(x) ==> vector_apart(x, t, 2);
  /*@ assert plan_t: vector_output(plan, place(tokens, experts)) &&
        vector_in_use(plan, place(tokens, experts)); */
  phibal_status status = operation_scratch(name, (size_t)tokens, precision, &r);
  if (status == PHIBAL_OK) {
    //@ ghost with_r:;
    //@ assert r_given: vector_output(r, tokens) && vector_in_use(r, tokens);
    /*@ assert r_fresh: \forall phibal_enclosure *x; in_use{with_t}(x) ==>
          vector_apart(x, r, tokens); */
    //@ assert t_r: vector_output(t, 2) && vector_in_use(t, 2);
    /*@ assert plan_r: vector_output(plan, place(tokens, experts)) &&
          vector_in_use(plan, place(tokens, experts)); */
    status = operation_scratch(name, (size_t)experts, precision, &d);
    if (status == PHIBAL_OK) {
      //@ assert d_given: vector_output(d, experts);
      /*@ assert d_fresh: \forall phibal_enclosure *x; in_use{with_r}(x) ==>
            vector_apart(x, d, experts); */
      //@ assert t_d: vector_output(t, 2);
      //@ assert r_d: vector_output(r, tokens);
      //@ assert plan_d: vector_output(plan, place(tokens, experts));
      /*@ assert plan_apart_t: vectors_apart(plan, place(tokens, experts), t, 2) &&
            vectors_apart(t, 2, plan, place(tokens, experts)); */
      /*@ assert plan_apart_r: vectors_apart(plan, place(tokens, experts), r, tokens) &&
            vectors_apart(r, tokens, plan, place(tokens, experts)); */
      /*@ assert plan_apart_d: vectors_apart(plan, place(tokens, experts), d, experts) &&
            vectors_apart(d, experts, plan, place(tokens, experts)); */
      //@ assert d_apart_t: vectors_apart(d, experts, t, 2) && vectors_apart(t, 2, d, experts);
      //@ assert r_apart_t: vectors_apart(r, tokens, t, 2) && vectors_apart(t, 2, r, tokens);
      /*@ assert d_apart_r: vectors_apart(d, experts, r, tokens) &&
            vectors_apart(r, tokens, d, experts); */
      set_exponentials(tokens, experts, logits, mask, t, plan);
      //@ assert r_there: vector_output(r, tokens);
      //@ assert d_there: vector_output(d, experts);
      //@ assert t_there: vector_output(t, 2);
      status = sinkhorn_rounds(tokens, experts, rounds, mask, plan, t, r, d) /*@ ghost (logits) */;
      //@ ghost done:;
      operation_scratch_clear(d, (size_t)experts);
      //@ assert plan_after_d: vector_same{done, Here}(plan, place(tokens, experts));
    }
    //@ ghost before_r:;
    operation_scratch_clear(r, (size_t)tokens);
    //@ assert plan_after_r: vector_same{before_r, Here}(plan, place(tokens, experts));
  }
  //@ ghost before_t:;
  operation_scratch_clear(t, 2);
  //@ assert plan_after_t: vector_same{before_t, Here}(plan, place(tokens, experts));
  return status;
}

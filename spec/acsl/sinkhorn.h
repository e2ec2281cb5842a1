/* The logic of Sinkhorn's scaling (L10). ACSL only; definitions and no axiom.

   What the rounds make are two sequences, quantified over: of n tokens and E experts, r_i after round
   k is term(r, k n + i), and d_e before it term(d, k E + e). */
#ifndef PHIBAL_ACSL_SINKHORN_H
#define PHIBAL_ACSL_SINKHORN_H

#include <phibal/acsl/balance.h>
#include <phibal/acsl/expert.h>
#include <stdint.h>

/*@ // token i is no padding
    predicate live{L}(uint8_t *mask, integer i) = unmasked(mask, i) == 1;

    // sum of exp(x) s_(k+j) over those that are no padding, x from `first` on stride by stride; and
    // 1 / (m times it)
    logic real exponential_at{L}(float *x, integer i) = \exp((real)x[i]);
    logic real scaled_sum{L}(float *x, integer first, integer stride, uint8_t *mask, sequence s,
                             integer k, integer n) =
      n <= 0 ? 0.0 : scaled_sum(x, first, stride, mask, s, k, n - 1) +
        (unmasked(mask, n - 1) == 1
           ? exponential_at(x, first + place(n - 1, stride)) * term(s, k + (n - 1)) : 0.0);
    logic real scaling{L}(float *x, integer first, integer stride, uint8_t *mask, sequence s,
                          integer k, integer n, integer m) =
      1.0 / (scaled_sum(x, first, stride, mask, s, k, n) * m);

    // (L10): d begins as 1; r follows from d, and the next d from r
    predicate columns_begin(sequence d, integer experts) =
      \forall integer e; 0 <= e < experts ==> term(d, place(0, experts) + e) == 1.0;
    predicate rows_follow{L}(sequence d, sequence r, float *logits, uint8_t *mask, integer tokens,
                             integer experts, integer count, integer round) =
      \forall integer i; 0 <= i < tokens && live(mask, i) ==>
        term(r, place(round, tokens) + i) ==
          scaling(logits, place(i, experts), 1, \null, d, place(round, experts), experts, count);
    predicate columns_follow{L}(sequence d, sequence r, float *logits, uint8_t *mask,
                                integer tokens, integer experts, integer round) =
      \forall integer e; 0 <= e < experts ==>
        term(d, place(round + 1, experts) + e) ==
          scaling(logits, e, experts, mask, r, place(round, tokens), tokens, experts);
    predicate scalings{L}(sequence d, sequence r, float *logits, uint8_t *mask, integer tokens,
                          integer experts, integer count, integer rounds) =
      columns_begin(d, experts) &&
      \forall integer round; 0 <= round < rounds ==>
        rows_follow(d, r, logits, mask, tokens, experts, count, round) &&
        columns_follow(d, r, logits, mask, tokens, experts, round);

    // the plan, by r from term k on and d from term l on
    logic real plan_at{L}(sequence d, sequence r, float *logits, uint8_t *mask, integer experts,
                          integer k, integer l, integer m) =
      unmasked(mask, m / experts) == 1
        ? exponential_at(logits, m) * term(r, k + m / experts) * term(d, l + m % experts) : 0.0;
    predicate plan_held{L}(phibal_enclosure *plan, integer n, sequence d, sequence r, float *logits,
                           uint8_t *mask, integer experts, integer k, integer l) =
      \forall integer m; 0 <= m < n ==>
        in(plan + m, plan_at(d, r, logits, mask, experts, k, l, m));

    // the logits of tokens that are no padding: finite, and their exponentials
    predicate logits_real{L}(float *logits, uint8_t *mask, integer experts, integer n) =
      \forall integer m; 0 <= m < n && live(mask, m / experts) ==> \is_finite(logits[m]);
    predicate exponentials_held{L}(phibal_enclosure *plan, integer n, float *logits, uint8_t *mask,
                                   integer experts) =
      \forall integer m; 0 <= m < n && live(mask, m / experts) ==>
        in(plan + m, exponential_at(logits, m));
    // the same of one row or column, which begins at `first`
    predicate line_held{L}(phibal_enclosure *x, integer first, integer stride, uint8_t *mask,
                           integer n, float *logits) =
      \forall integer j; 0 <= j < n && live(mask, j) ==>
        in(x + (first + place(j, stride)), exponential_at(logits, first + place(j, stride)));
    predicate line_there{L}(phibal_enclosure *x, integer first, integer stride, integer n) =
      \forall integer j; 0 <= j < n ==> input(x + (first + place(j, stride))) &&
        address(place(j, stride)) && address(first + place(j, stride));
    predicate line_apart(phibal_enclosure *z, phibal_enclosure *x, integer first, integer stride,
                         integer n) =
      \forall integer j; 0 <= j < n ==> \separated(z, x + (first + place(j, stride)));

    // y_j holds s_(k+j); where j is no padding
    predicate members_from{L}(phibal_enclosure *y, integer n, sequence s, integer k) =
      \forall integer j; 0 <= j < n ==> in(y + j, term(s, k + j));
    predicate live_members{L}(phibal_enclosure *y, uint8_t *mask, integer n, sequence s,
                              integer k) =
      \forall integer j; 0 <= j < n && live(mask, j) ==> in(y + j, term(s, k + j));
*/
#endif

/* The logic of routes: what the contracts of selection and permutation say. ACSL only; seen by
   Frama-C, not by compilers. Definitions, and consequences of them proved by induction in ghost
   code; no axiom. */
#ifndef PHIBAL_ACSL_ROUTING_H
#define PHIBAL_ACSL_ROUTING_H

#include <stdint.h>

/* Sizes of arrays that exist: their products do not overflow. */
#define ROUTING_MAX_SLOTS (INT64_MAX / 16)

/*@ // the slots before n that are routed to expert e
    logic integer routed{L}(int32_t *x, integer e, integer n) =
      n <= 0 ? 0 : routed(x, e, n - 1) + (x[n - 1] == e ? 1 : 0);
    // the slots before n that are routed to an expert before e
    logic integer routed_before{L}(int32_t *x, integer e, integer n) =
      n <= 0 ? 0 : routed_before(x, e, n - 1) + (0 <= x[n - 1] < e ? 1 : 0);

    // every slot has one of the experts 0 .. experts - 1, or -1 for padding
    predicate routes{L}(int32_t *x, integer experts, integer slots) =
      \forall integer i; 0 <= i < slots ==> -1 <= x[i] < experts;

    // (E1): expert e's rows begin after those of the experts before it
    predicate expert_offsets{L}(int32_t *x, integer experts, integer slots, int64_t *offsets) =
      \forall integer e; 0 <= e <= experts ==> offsets[e] == routed_before(x, e, slots);
    // (E1): a slot's row comes after those of its expert's earlier slots; padding has none
    predicate slot_rows{L}(int32_t *x, integer slots, int64_t *offsets, int64_t *row) =
      \forall integer i; 0 <= i < slots ==>
        row[i] == (x[i] < 0 ? -1 : offsets[x[i]] + routed(x, x[i], i));
    // (E1): each row of each expert has one of its slots as its source
    predicate row_sources{L}(int32_t *x, integer experts, integer slots, int64_t *offsets,
                             int64_t *source, int64_t *row) =
      \forall integer e, n; 0 <= e < experts && offsets[e] <= n < offsets[e + 1] ==>
        0 <= source[n] < slots && x[source[n]] == e && row[source[n]] == n;
    // the two are inverse
    predicate slots_kept{L}(int32_t *x, integer slots, int64_t *source, int64_t *row) =
      \forall integer i; 0 <= i < slots && 0 <= x[i] ==> source[row[i]] == i;
    // the rows of an expert are in the order of its slots
    predicate rows_stable{L}(integer experts, int64_t *offsets, int64_t *source) =
      \forall integer e, m, n; 0 <= e < experts && offsets[e] <= m < n < offsets[e + 1] ==>
        source[m] < source[n];

    predicate permutation{L}(int32_t *x, integer experts, integer slots, int64_t *offsets,
                             int64_t *source, int64_t *row) =
      offsets[0] == 0 && offsets[experts] <= slots &&
      expert_offsets(x, experts, slots, offsets) &&
      (\forall integer e; 0 <= e < experts ==>
         offsets[e + 1] - offsets[e] == routed(x, e, slots)) &&
      slot_rows(x, slots, offsets, row) &&
      (\forall integer i; 0 <= i < slots && 0 <= x[i] ==> 0 <= row[i] < offsets[experts]) &&
      row_sources(x, experts, slots, offsets, source, row) &&
      slots_kept(x, slots, source, row) && rows_stable(experts, offsets, source);
*/

/* What follows about counts, by induction on the slots. */
/*@ predicate counts_between{L}(int32_t *x, integer n) =
      \forall integer e; 0 <= routed(x, e, n) && 0 <= routed_before(x, e, n) <= n;
    predicate counts_add{L}(int32_t *x, integer n) =
      \forall integer e; 0 <= e ==>
        routed_before(x, e + 1, n) == routed_before(x, e, n) + routed(x, e, n);
    predicate counts_ordered{L}(int32_t *x, integer n) =
      \forall integer e, f; 0 <= e < f ==>
        routed_before(x, e, n) + routed(x, e, n) <= routed_before(x, f, n);
    predicate counts_grow{L}(int32_t *x, integer n) =
      \forall integer e, m; 0 <= m <= n ==> routed(x, e, m) <= routed(x, e, n);
    predicate counts_start{L}(int32_t *x, integer n) = routed_before(x, 0, n) == 0;
*/
/*@ ghost
  /@ requires 0 <= n;
     assigns \nothing;
     ensures counts_between(x, n) && counts_add(x, n) && counts_ordered(x, n);
     ensures counts_grow(x, n) && counts_start(x, n); @/
  void routing_counts(const int32_t *x, int64_t n) {
    int64_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant counts_between(x, i);
       loop invariant counts_add(x, i);
       loop invariant counts_ordered(x, i);
       loop invariant counts_grow(x, i);
       loop invariant counts_start(x, i);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) i++;
  }
*/

#endif
